//! What the server claims to have stored, and what it has: `--verify`, `--audit` and
//! `springload audit`, against a stand-in that lies, and one that does not.

use crate::servers::Server;
use crate::springload::{
    BINARY, Finished, Running, binary, failures, measure, measure_after, number, springload,
};
use serde_json::Value;
use springload::embedded::{Delay, Fault, Faults, Lie, Occurrence, Options};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const MIX: [&str; 6] = ["--docs", "1k", "--batch", "100", "-c", "4"];

/// A server that tells this lie about this fraction of the documents.
fn lying(lie: Lie, fraction: f64) -> Server {
    let fault = Fault::Lie(lie);
    let named = vec![Occurrence { fault, fraction, from_ns: 0, until_ns: None }];
    let faults = Faults { named, seed: 7, ..Faults::default() };
    Server::stand_in(Options { faults, ..Options::default() })
}

/// The number of lies the server told.
fn times_lied(server: &Server, lie: Lie) -> u64 {
    let counters = get(&format!("{}/_springload/counters", server.url));
    let (name, _) = Fault::NAMES.iter().find(|(_, it)| *it == Fault::Lie(lie)).expect("a name");
    number(&counters["faults"][*name])
}

fn get(url: &str) -> Value {
    let mut answer = ureq::get(url).call().expect("an answer");
    let text = answer.body_mut().read_to_string().expect("UTF-8");
    serde_json::from_str(&text).expect("JSON")
}

fn run(server: &Server, more: &[&str]) -> Finished {
    let words = [&["run", &server.url, "--ops", "6k"], &MIX[..], more].concat();
    measure(words)
}

/// A third of the usual run, for a server that lies three times as often.
fn short_run(server: &Server, more: &[&str]) -> Finished {
    measure([&["run", &server.url, "--ops", "2k"], &MIX[..], more].concat())
}

/// The classes of errors in a stage.
fn wrong(run: &Finished, stage: &str) -> BTreeMap<String, u64> {
    let verify = run.operation(stage, "verify");
    let failures = verify["failures"].as_object().cloned().unwrap_or_default();
    failures.into_iter().map(|(class, count)| (class, number(&count))).collect()
}

#[test]
fn a_lie_about_a_document_in_the_answer_to_ones_own_operation_is_found_each_time() {
    let own = [
        "--op",
        "one=get {{key}}",
        "--op",
        r#"some=bulk_get ["{{key zipfian}}"]"#,
        "--mix",
        "update=2,one=1,some=1",
        "--verify",
    ];
    for (lie, class) in [
        (Lie::WrongBody, "wrong_body"),
        (Lie::OldRevision, "stale"),
        (Lie::OtherDocument, "wrong_document"),
    ] {
        let server = lying(lie, 0.03);
        let run = short_run(&server, &own);
        let lies = times_lied(&server, lie);
        assert!(lies > 3, "{lies}");
        assert_eq!(run.code, 6, "{}", run.stderr);
        assert_eq!(wrong(&run, "crud"), BTreeMap::from([(class.to_owned(), lies)]));
    }
    // At a rate, documents are shared by all connections.
    for rate in [&[][..], &["-r", "4k"]] {
        let honest = Server::stand_in(Options::default());
        let run = run(&honest, &[&own[..], rate].concat());
        assert!(matches!(run.code, 0 | 4 | 5), "{}", run.stderr);
        let ok = |name: &str| number(&run.operation("crud", name)["ok"]);
        assert_eq!((ok("verify"), wrong(&run, "crud")), (ok("one") + ok("some"), BTreeMap::new()));
    }
}

#[test]
fn a_lie_about_a_read_is_found_by_verify_each_time() {
    for (lie, class) in [
        (Lie::WrongBody, "wrong_body"),
        (Lie::OldRevision, "stale"),
        (Lie::OtherDocument, "wrong_document"),
    ] {
        let server = lying(lie, 0.03);
        let run = short_run(&server, &["--verify"]);
        let lies = times_lied(&server, lie);
        assert!(lies > 3, "{lies}");
        assert_eq!(run.code, 6, "{}", run.stderr);
        assert_eq!(wrong(&run, "crud"), BTreeMap::from([(class.to_owned(), lies)]));
        // The first ten findings include their documents.
        let verify = run.operation("crud", "verify");
        let findings = verify["findings"].as_array().expect("findings");
        assert_eq!(findings.len() as u64, lies.min(10));
        for finding in findings {
            let of = |key: &str| finding[key].as_str().expect("text").to_owned();
            assert_eq!(of("class"), class);
            assert!(of("id").parse::<u64>().is_ok(), "{finding}");
            assert!(of("expected").starts_with("version "), "{finding}");
            let found = if lie == Lie::OtherDocument { "another one" } else { "revision " };
            assert!(of("found").starts_with(found), "{finding}");
        }
        let report = run.report("text").stdout;
        let first = report.lines().next().expect("a line");
        assert!(first.starts_with("✗ FAILED  data wrong: "), "{report}");
    }
}

#[test]
fn a_lie_about_a_write_is_found_by_the_audit_each_time() {
    let cases = [
        (Lie::DropAcknowledged, 0.015, &["lost", "stale"][..]),
        (Lie::DropDelete, 0.06, &["resurrected"]),
        (Lie::UndoDelete, 0.15, &["resurrected"]),
    ];
    for (lie, fraction, classes) in cases {
        let server = lying(lie, fraction);
        let run = short_run(&server, &["--audit"]);
        let lies = times_lied(&server, lie);
        assert!(lies > 1, "{lie:?}: {lies}");
        assert_eq!(run.code, 6, "{}", run.stderr);
        let found = wrong(&run, "audit");
        assert!(found.keys().all(|class| classes.contains(&class.as_str())), "{found:?}");
        // Two lies may concern the same document.
        let sum: u64 = found.values().sum();
        assert!(sum <= lies && sum + 1 >= lies, "{lie:?}: {sum} of {lies}");
        let report = run.report("text").stdout;
        let line = report.lines().find(|line| line.starts_with("audit  ")).expect("a line");
        assert!(classes.iter().any(|class| line.contains(class)), "{line}");
    }
}

#[test]
fn there_is_no_false_alarm() {
    for workload in ["mixed", "hot"] {
        let server = Server::stand_in(Options::default());
        let run = run(&server, &["--audit", "--verify", "--workload", workload]).passed();
        let stage = if workload == "mixed" { "crud" } else { workload };
        let reads = number(&run.operation(stage, "read")["ok"]);
        assert_eq!(number(&run.operation(stage, "verify")["ok"]), reads);
        let written = run.sum("bulk_insert", "ok") + number(&run.operation(stage, "create")["ok"]);
        assert_eq!(number(&run.operation("audit", "verify")["ok"]), written);
        let report = run.report("text").stdout;
        assert!(report.contains(" · all as acknowledged"), "{report}");
        // The database is gone, so the journal is of no more use.
        assert!(!run.output().join("journal").exists());
    }
}

/// Command lines of verbs that write, each with the stage that reads, if they verify.
fn writers(url: &str) -> Vec<(Vec<String>, Option<&'static str>)> {
    let lines = [
        ("burst {url} -c 4 -d 300ms --both --audit --verify", Some("burst_read")),
        ("burst {url} -c 4 -d 300ms --both --wire-size --audit --verify", Some("burst_read")),
        ("burst {url} -c 4 -d 300ms --both --conditional --audit --verify", None),
        ("ycsb load couchdb -P workloads/workloada -p couchdb.url={url} --audit", None),
        ("ycsb run couchdb -P workloads/workloada -p couchdb.url={url} --audit -threads 4", None),
        ("bulk-perf 100 2000 4 {url} --audit", None),
    ];
    let words = |line: &str| line.replace("{url}", url).split(' ').map(str::to_owned).collect();
    lines.into_iter().map(|(line, reads)| (words(line), reads)).collect()
}

#[test]
fn every_verb_that_writes_can_be_audited() {
    let honest = Server::stand_in(Options::default());
    for (line, reads) in writers(&honest.url) {
        let run = measure(line.iter().map(String::as_str));
        assert!(matches!(run.code, 0 | 5), "{line:?}: {}", run.stderr);
        assert!(number(&run.operation("audit", "verify")["ok"]) > 0, "{line:?}");
        assert_eq!(wrong(&run, "audit"), BTreeMap::new(), "{line:?}");
        if line[0] == "ycsb" {
            let report = run.report("ycsb").stdout;
            let reported = report.lines().any(|line| {
                line.starts_with("# audit: ") && line.ends_with(" documents, all as acknowledged")
            });
            assert!(reported, "{report}");
        }
        let Some(stage) = reads else { continue };
        let read = number(&run.operation(stage, "read")["ok"]);
        assert!(read > 0);
        assert_eq!(number(&run.operation(stage, "verify")["ok"]), read);
    }
    let server = lying(Lie::DropAcknowledged, 0.01);
    for (line, _) in writers(&server.url) {
        let run = measure(line.iter().map(String::as_str));
        assert_eq!(run.code, 6, "{line:?}: {}", run.stderr);
        assert!(!wrong(&run, "audit").is_empty(), "{line:?}: {}", run.stderr);
    }
}

#[test]
fn what_had_no_answer_is_no_alarm() {
    let faults = Faults { drop_fraction: 0.01, seed: 7, ..Faults::default() };
    let server = Server::stand_in(Options { faults, ..Options::default() });
    let more = ["--audit", "--verify", "--timeout", "300ms", "--keep"];
    let url = format!("{}/dropping", server.url);
    let words = [&["run", &url, "--ops", "2k"], &MIX[..], &more].concat();
    let run = measure(words);
    assert!(failures(&run.operation("crud", "read")) > 0, "{}", run.stderr);
    for stage in ["crud", "audit"] {
        let wrong = wrong(&run, stage);
        assert!(wrong.is_empty(), "{stage}: {wrong:?}");
    }
}

/// Waits until `path` has at least this many bytes.
fn grows_to(path: &Path, bytes: u64) {
    for _ in 0..3_000 {
        if std::fs::metadata(path).map_or(0, |data| data.len()) >= bytes {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("{} stays small", path.display());
}

/// A run that was killed in its second stage, some thousand writes into it.
fn killed(server: &Server, out: &Path, mix: &[&str]) {
    let mut command = binary();
    command.args(["run", &server.url, "-d", "60s", "--audit", "-q"]).args(MIX).args(mix);
    command.arg("-o").arg(out).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("it runs");
    grows_to(&out.join("journal/0001-0000.journal"), 64_000);
    child.kill().expect("it runs");
    child.wait().expect("it ends");
}

#[test]
fn a_run_that_was_killed_can_be_audited() {
    let server = Server::stand_in(Options::default());
    let folder = tempfile::tempdir().expect("a temporary folder");
    let out = folder.path().join("out");
    killed(&server, &out, &[]);
    let out = out.to_str().expect("UTF-8");
    let audited = measure(["audit", out]).passed();
    let checked = number(&audited.operation("audit", "verify")["ok"]);
    assert!(checked > 1_000, "{checked}");
    // Now one more acknowledged document is lost.
    let database = audited.database();
    let url = format!("{}/{database}", server.url);
    let listing = get(&format!("{url}/_all_docs?limit=1"));
    let row = &listing["rows"][0];
    let (id, rev) = (row["id"].as_str().expect("an id"), &row["value"]["rev"]);
    let rev = rev.as_str().expect("a revision");
    ureq::delete(format!("{url}/{id}?rev={rev}")).call().expect("it is deleted");
    let audited = measure(["audit", out, &server.url]);
    assert_eq!(audited.code, 6, "{}", audited.stderr);
    assert_eq!(wrong(&audited, "audit"), BTreeMap::from([("lost".to_owned(), 1)]));
    let finding = &audited.operation("audit", "verify")["findings"][0];
    assert_eq!(finding["id"], id);
}

/// Deletes all documents of a database, and returns how many there were.
fn empty(server: &Server, database: &str) -> u64 {
    let url = format!("{}/{database}", server.url);
    let listing = get(&format!("{url}/_all_docs"));
    let rows = listing["rows"].as_array().expect("rows");
    let gone = |row: &Value| serde_json::json!({"_id": row["id"], "_rev": row["value"]["rev"], "_deleted": true});
    let docs: Vec<Value> = rows.iter().map(gone).collect();
    let body = serde_json::json!({ "docs": docs }).to_string();
    let request = ureq::post(format!("{url}/_bulk_docs")).content_type("application/json");
    request.send(body).expect("an answer");
    rows.len() as u64
}

#[test]
fn each_document_that_is_gone_is_found_after_a_run_that_ended_by_the_clock() {
    let server = Server::stand_in(Options::default());
    let folder = tempfile::tempdir().expect("a temporary folder");
    let out = folder.path().join("out").into_os_string().into_string().expect("UTF-8");
    // Many connections and many deletions: when time is up, some have one ready to send.
    let mix = ["--mix", "create=1,delete=1", "-c", "50", "-d", "500ms", "--docs", "2k"];
    let words = [&["run", &server.url, "--audit", "--keep", "-q", "-o", &out], &mix[..]].concat();
    let run = springload(words);
    assert!(matches!(run.code, 0 | 5), "{}", run.stderr);
    let audited = measure(["audit", &out]).passed();
    let report = audited.report("text").stdout;
    assert!(report.starts_with("✓ PASSED  "), "{report}");
    assert!(report.contains(" documents, all as acknowledged"), "{report}");
    // Should it end early, it knows how many it should have looked for.
    let created = number(&audited.record["plan"]["stages"][0]["created"]);
    assert!(created >= 2_000, "{created}");
    let stored = empty(&server, audited.database());
    assert!(stored > 100, "{stored}");
    let audited = measure(["audit", &out]);
    assert_eq!(audited.code, 6, "{}", audited.stderr);
    assert_eq!(wrong(&audited, "audit"), BTreeMap::from([("lost".to_owned(), stored)]));
}

#[test]
fn an_audit_that_was_interrupted_does_not_count_the_rest() {
    let delay = Delay::Constant { ns: 50_000_000 };
    let faults = Faults { delay, ..Faults::default() };
    let server = Server::stand_in(Options { faults, ..Options::default() });
    let folder = tempfile::tempdir().expect("a temporary folder");
    let [out, again] = ["out", "again"].map(|name| folder.path().join(name));
    let mut run = binary();
    run.args(["run", &server.url, "--docs", "40k", "--ops", "20", "--audit", "--keep", "-q", "-o"]);
    run.arg(&out).stdout(Stdio::null()).stderr(Stdio::null()).status().expect("it runs");
    // It would take half a minute, and gets eight seconds.
    let mut audit = Command::new("timeout");
    audit.args(["-s", "INT", "8", BINARY, "audit", "-c", "1", "-q", "-o"]).arg(&again).arg(&out);
    audit.stdout(Stdio::null()).stderr(Stdio::null()).status().expect("it runs");
    let text = std::fs::read_to_string(again.join("run.json")).expect("a record");
    let record: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(record["ended"]["by"], "user", "{text}");
    assert_eq!(record["extra_documents"], Value::Null);
}

#[test]
fn what_nobody_has_written_is_counted() {
    let server = Server::stand_in(Options::default());
    let folder = tempfile::tempdir().expect("a temporary folder");
    let out = folder.path().join("out").into_os_string().into_string().expect("UTF-8");
    let words = ["run", &server.url, "--docs", "50", "--ops", "50", "--audit", "--keep"];
    let run = springload([&words[..], &["-q", "-o", &out]].concat());
    assert!(matches!(run.code, 0 | 5), "{}", run.stderr);
    let audited = measure(["audit", &out]).passed();
    assert_eq!(number(&audited.record["extra_documents"]), 0);
    let database = audited.database();
    for name in ["one", "two"] {
        ureq::put(format!("{}/{database}/{name}", server.url)).send("{}").expect("it is stored");
    }
    let audited = measure(["audit", &out]);
    assert_eq!(audited.code, 6, "{}", audited.stderr);
    assert_eq!(number(&audited.record["extra_documents"]), 2);
    let report = audited.report("text").stdout;
    assert!(
        report.starts_with("✗ FAILED  data wrong: 2 documents that this run did not write"),
        "{report}"
    );
    // If the database has other documents, they cannot be counted.
    let words = ["run", &format!("{}/{database}", server.url), "--use-existing", "--id", "uuid"];
    let run = measure([&words[..], &["--docs", "50", "--ops", "50", "--audit"]].concat());
    assert_eq!(run.record["extra_documents"], Value::Null);
}

#[test]
fn a_journal_that_cannot_be_written_makes_the_audit_incomplete() {
    // A file size limit instead of a full disk: record and page are smaller than it.
    let limit = "trap '' XFSZ; ulimit -f 5000";
    let server = Server::stand_in(Options::default());
    let words = ["run", &server.url, "--docs", "60k", "--batch", "1k", "--ops", "20", "-c", "2"];
    let run = measure_after(limit, [&words[..], &["-t", "1", "--keep", "--audit"]].concat());
    assert_eq!(run.code, 5, "{}", run.stderr);
    let message = "audit incomplete: notes of writes are missing: ";
    assert!(run.stderr.contains(message), "{}", run.stderr);
    assert!(run.record["journal_broken"].is_string(), "{}", run.record["journal_broken"]);
    assert!(wrong(&run, "audit").is_empty());
    assert_eq!(run.record["extra_documents"], Value::Null);
    // Nor does it become complete later.
    let again = measure(["audit", run.output().to_str().expect("UTF-8")]);
    assert_eq!(again.code, 5, "{}", again.stderr);
    assert!(again.stderr.contains(message), "{}", again.stderr);
}

#[test]
fn with_a_database_that_is_gone_all_its_documents_are() {
    let server = Server::stand_in(Options::default());
    let more = ["--mix", "read=1,update=1", "--keep", "--audit"];
    let run = short_run(&server, &more).passed();
    let audit = || measure(["audit", run.output().to_str().expect("UTF-8")]);
    audit().passed();
    ureq::delete(format!("{}/{}", server.url, run.database())).call().expect("it is removed");
    let gone = format!(
        "there is no database {:?} on {}: it is gone, and with it all 1,000 acknowledged documents \
         of the run; ",
        run.database(),
        server.url,
    );
    audit().refused(3, &[&gone[..], "if another server has it, give that as TARGET"]);
}

/// Only half of its notes are written: later writes would look wrong.
#[test]
fn a_run_that_goes_on_is_not_audited() {
    let server = Server::stand_in(Options::default());
    let words = ["run", &server.url, "--docs", "50", "-d", "30s", "--rate", "50", "--audit"];
    let mut run = Running::start(words);
    let notes = run.output().join("journal/0001-0000.journal");
    while !std::fs::metadata(&notes).is_ok_and(|it| it.len() > 8) {
        assert!(!run.ended(), "{}", run.stderr());
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let audit = measure(["audit", run.output().to_str().expect("UTF-8")]);
    audit.refused(2, &["RUN", "is still going on", "wait for its end"]);
    run.interrupt();
    run.finish();
}

/// Half of the notes are missing, as after a power failure: documents deleted in that half look
/// lost.
#[test]
fn a_journal_that_was_cut_accuses_nobody() {
    let server = Server::stand_in(Options::default());
    let words = ["run", &server.url, "--docs", "400", "--ops", "2000", "-c", "4", "-t", "1"];
    let more = ["--mix", "create=1,update=2,delete=1", "--keep", "--audit"];
    let run = measure([&words[..], &more].concat()).passed();
    let again = || measure(["audit", run.output().to_str().expect("UTF-8")]);
    again().passed();
    let notes = run.output().join("journal/0001-0000.journal");
    let bytes = std::fs::read(&notes).expect("notes");
    std::fs::write(&notes, &bytes[..8 + 32 * (bytes.len() / 64)]).expect("written");
    let audit = again();
    assert_eq!(audit.code, 5, "{}", audit.stderr);
    let message = "audit incomplete: notes of writes are missing: 0001-0000.journal has ";
    assert!(audit.stderr.contains(message), "{}", audit.stderr);
    assert!(wrong(&audit, "audit").is_empty());
}

/// The same if the run could not close its notes.
#[test]
fn a_journal_of_a_killed_run_that_was_cut_accuses_nobody() {
    let server = Server::stand_in(Options::default());
    let folder = tempfile::tempdir().expect("a temporary folder");
    let out = folder.path().join("out");
    killed(&server, &out, &["-t", "1", "--mix", "create=1,update=2,delete=1"]);
    let notes = out.join("journal/0001-0000.journal");
    let bytes = std::fs::read(&notes).expect("notes");
    let half = 8 + 32 * (bytes.len() / 64);
    let mut zeroed = bytes.clone();
    zeroed[half..].fill(0);
    let audit = || measure(["audit", out.to_str().expect("UTF-8")]);
    for (left, why) in [
        (Some(&bytes[..half]), "0001-0000.journal has "),
        (Some(&zeroed[..]), "0001-0000.journal is not as it was written"),
        (None, "0001-0000.journal is missing"),
    ] {
        match left {
            Some(left) => std::fs::write(&notes, left).expect("written"),
            None => std::fs::remove_file(&notes).expect("removed"),
        }
        let audit = audit();
        assert_eq!(audit.code, 5, "{why}: {}", audit.stderr);
        let message = format!("audit incomplete: notes of writes are missing: {why}");
        assert!(audit.stderr.contains(&message), "{}", audit.stderr);
        assert!(wrong(&audit, "audit").is_empty());
    }
    std::fs::write(&notes, &bytes).expect("written");
    audit().passed();
}

#[test]
fn writes_that_could_not_be_noted_accuse_nobody() {
    let limit = "trap '' XFSZ; ulimit -f 3000";
    let server = Server::stand_in(Options::default());
    let words = ["run", &server.url, "--docs", "1k", "--ops", "40k", "-c", "4", "-t", "1"];
    // Documents are changed, deleted and created without any note of it.
    let more = ["--mix", "create=1,update=2,delete=1", "--keep", "--audit"];
    let run = measure_after(limit, [&words[..], &more].concat());
    let message = "audit incomplete: notes of writes are missing: ";
    assert!(run.code == 5 && run.stderr.contains(message), "{} {}", run.code, run.stderr);
    let again = measure(["audit", run.output().to_str().expect("UTF-8")]);
    assert!(again.code == 5 && again.stderr.contains(message), "{} {}", again.code, again.stderr);
    for run in [run, again] {
        assert!(wrong(&run, "audit").is_empty());
    }
}

#[test]
fn what_cannot_be_looked_for_is_refused() {
    let refuse = |words: &[&str], parts: &[&str]| {
        springload(words).refused(2, parts);
    };
    refuse(&["run", "basic", "--verify"], &["--verify: basic does not return documents;"]);
    refuse(&["run", "basic", "--audit"], &["--audit: basic does not return documents;"]);
    let message = springload(["run", "--workload", "bulk-insert", "--verify"]).stderr;
    assert!(message.starts_with("error: --verify: "), "{message}");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let out = folder.path().to_str().expect("UTF-8");
    refuse(&["audit", out], &["RUN", "run.json"]);
    let run = measure(["run", "--docs", "20", "--ops", "20"]);
    let out = run.output();
    refuse(&["audit", out.to_str().expect("UTF-8")], &["RUN", "--audit"]);
    // An empty journal, or one of another run in the same folder, proves nothing.
    let audited = measure(["run", "--docs", "20", "--ops", "20", "--audit"]);
    let out = audited.output();
    std::fs::create_dir(out.join("journal")).expect("a folder");
    refuse(&["audit", out.to_str().expect("UTF-8")], &["RUN", "no journal of writes"]);
    std::fs::write(out.join("journal/0000-0000.journal"), "").expect("a file");
    std::fs::copy(out.join("run.json"), out.join("run-1.json")).expect("a copy");
    let aside = out.join("run-1.json");
    refuse(&["audit", aside.to_str().expect("UTF-8")], &["RUN", "no journal of writes"]);
}
