//! What must not pass: servers that go away, clients that freeze, meaningless requests.

use std::sync::mpsc;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;
use springload::embedded::Options;

use crate::outage::relay;
use crate::proxy::Proxy;
use crate::servers::Server;
use crate::springload::{BINARY, Finished, Running, measure, number, springload};

/// Formats for people and programs, all of which have the result in the same words.
const FORMATS: [&str; 6] = ["text", "cushion", "html", "ycsb", "hlog", "siege"];

/// Asserts the same result everywhere: in the record, as exit status, and in every format.
#[track_caller]
fn came_to(run: &Finished, kind: &str, status: i32, words: &[&str]) {
    let result = &run.record["result"];
    assert_eq!(result["kind"], kind, "{result}, stderr: {}", run.stderr);
    assert_eq!((run.code, &result["exit_status"]), (status, &Value::from(status)));
    let reason = result["reason"].as_str().unwrap_or_default();
    for word in words {
        assert!(reason.contains(word), "no {word:?} in {reason:?}");
    }
    let named = kind.replace('_', " ");
    let sentence = if reason.is_empty() { named } else { format!("{named}: {reason}") };
    for format in FORMATS {
        let rendered = run.report(format).stdout;
        let rendered = rendered.replace("&#39;", "'").replace("&gt;", ">").replace("&quot;", "\"");
        // Text is wrapped.
        let [rendered, sentence] =
            [&rendered, &sentence].map(|it| it.split_whitespace().collect::<Vec<_>>().join(" "));
        assert!(rendered.contains(&sentence), "no {sentence:?} in {format}");
    }
}

fn seconds(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no time"))
}

#[test]
fn a_server_that_was_away_is_reported_and_spoils_a_closed_loop() {
    let server = Server::stand_in(Options::default());
    let relay = relay(&server.url, 3, Duration::from_millis(1_500));
    let flags = ["-c", "2", "--docs", "400", "--batch", "20", "--ops", "0"];
    let run = measure([&["run", &*relay, "--wait-for-server", "1m"][..], &flags].concat());
    let stage = run.stage("bulk_insert");
    let outage = &stage["outage"];
    let total_s = seconds(&outage["total_s"]);
    assert!(total_s >= 1.0 && total_s <= seconds(&stage["elapsed_s"]), "{outage}");
    let longest = outage["spans"].as_array().expect("a list").iter();
    let longest = longest.map(|span| seconds(&span["length_s"])).fold(0.0, f64::max);
    assert!(longest >= 1.0, "{outage}");
    assert!(number(&outage["waits"]["samples"]) >= 1, "{outage}");
    let report = run.full_report();
    assert!(report.contains("waits for the server"), "{report}");
    assert!(report.contains(&format!(" {longest:.1} s from")), "{report}");
    assert!(run.stdout.contains(&format!("s: no answer for {longest:.1} s")), "{}", run.stdout);
    came_to(&run, "not_trustworthy", 5, &["degraded", "no answer for"]);
    let page = run.report("html").stdout;
    assert!(page.contains("\"what\":\"outage\""), "the charts show it");
    assert!(page.contains(" waits for the server</th>"), "it stands beside the percentiles");
}

#[test]
fn a_server_that_stays_away_leaves_the_report_of_what_was_measured() {
    let server = Server::stand_in(Options::default());
    let relay = relay(&server.url, 3, Duration::from_secs(600));
    let flags = ["-c=2", "--docs=400", "--batch=20", "--timeout=1s", "--give-up=1s"];
    let run = measure([&["run", &*relay][..], &flags].concat());
    assert_eq!(run.record["ended"]["by"], "unreachable", "{}", run.stderr);
    assert!(seconds(&run.record["ended"]["at_s"]) >= 1.0);
    assert!(number(&run.operation("bulk_insert", "bulk_insert")["ok"]) >= 40);
    // It was never seen again.
    let stage = run.stage("bulk_insert");
    let last = stage["outage"]["spans"].as_array().expect("a list").last().expect("an outage");
    let away_until_s = seconds(&last["from_s"]) + seconds(&last["length_s"]);
    assert!(away_until_s > seconds(&stage["elapsed_s"]) - 0.3, "{stage}");
    let report = run.full_report();
    assert!(report.contains("bulk_insert response"), "{report}");
    came_to(&run, "failed", 3, &["the server no longer answers; gave up after"]);
}

/// A relay that reports the path of each request.
fn watched(server: &Server) -> (Proxy, mpsc::Receiver<String>) {
    let (tell, paths) = mpsc::channel();
    let tell = std::sync::Mutex::new(tell);
    // The receiver is dropped once it has enough.
    let hook = move |_: &str, path: &str| {
        let _ = tell.lock().expect("no panic").send(path.to_owned());
    };
    (Proxy::with_hook(&server.url, Box::new(hook)), paths)
}

/// A run that is stopped for `length` once it has sent a few requests.
fn stopped_client(flags: &[&str], length: Duration) -> Finished {
    let server = Server::stand_in(Options::default());
    let (proxy, paths) = watched(&server);
    let run = Running::start([&["run", &*proxy.url][..], flags].concat());
    let begun = std::iter::from_fn(|| paths.recv_timeout(Duration::from_secs(60)).ok());
    let reads = begun.filter(|path| path.starts_with("/springload_"));
    assert_eq!(reads.take(100).count(), 100, "requests come");
    run.signal(Signal::STOP);
    std::thread::sleep(length);
    run.signal(Signal::CONT);
    run.finish()
}

/// Whether the client was stopped for long while it still had operations to begin.
fn was_stopped_early(run: &Finished) -> bool {
    let client = &run.stage("crud")["client"];
    let mut pauses = client["pauses"].as_array().expect("pauses").iter();
    pauses.any(|span| seconds(&span["length_s"]) >= 1.4 && seconds(&span["from_s"]) <= 1.5)
}

#[test]
fn a_client_that_was_stopped_does_not_blame_the_server() {
    let loops: [&[&str]; 2] = [&[], &["--rate", "200"]];
    for pace in loops {
        let flags = ["-c", "4", "--docs", "40", "-d", "3s", "--mix", "read=1"];
        let flags = [&flags[..], pace].concat();
        let runs = (0..9).map(|_| stopped_client(&flags, Duration::from_millis(1_500)));
        // On a busy machine, the stage may be almost over by then, and nothing is lost.
        let run = runs.into_iter().find(was_stopped_early).expect("a run that was stopped early");
        let client = &run.stage("crud")["client"];
        assert!(seconds(&client["hiccup_max_us"]) >= 1_400e3, "{client}");
        assert!(run.stdout.contains("s: springload itself stood still for"), "{}", run.stdout);
        let report = run.full_report();
        assert!(report.contains("springload itself was paused for"), "{report}");
        came_to(&run, "not_trustworthy", 5, &["mixed: client-bound", "stood still"]);
    }
}

/// A run whose client was not the limit: on a busy machine that may take several attempts.
fn unbound(mut run: impl FnMut() -> Finished) -> Finished {
    let bound = |it: &Finished| it.stages().any(|it| it["verdict"]["kind"] == "client_bound");
    (0..9).map(|_| run()).find(|it| !bound(it)).unwrap_or_else(run)
}

#[test]
fn a_database_that_is_deleted_fails_the_run() {
    let run = deleted_in_mid_run();
    came_to(&run, "failed", 4, &["operations of the mixed stage failed", "not_found"]);
    let report = run.full_report();
    assert!(report.contains(" result: failed: "), "{report}");
    assert!(!run.report("html").stdout.contains("badge good\">mixed"), "nothing green");
}

fn deleted_in_mid_run() -> Finished {
    let server = Server::stand_in(Options::default());
    let (proxy, paths) = watched(&server);
    // The failures are certain, even on a busy machine.
    let flags = ["-c=2", "--docs=200", "-d=2s", "--mix=create=1,read=1", "--noise=warn"];
    let run = Running::start([&["run", &*proxy.url][..], &flags].concat());
    let reads = std::iter::from_fn(|| paths.recv_timeout(Duration::from_secs(60)).ok());
    let read = reads.filter(|it| it.starts_with("/springload_")).nth(50).expect("reads");
    let database = read.split('/').nth(1).expect("a database");
    ureq::delete(format!("{}/{database}", server.url)).call().expect("it is there");
    run.finish()
}

#[test]
fn a_page_over_refusals_alone_is_not_green() {
    let server = Server::stand_in(Options::default());
    let url = format!("{}/nowhere", server.url);
    let run = unbound(|| measure(["http", &url, "-c", "2", "--ops", "50"]));
    came_to(&run, "failed", 3, &["no operation of the URLs stage succeeded: 50 not_found"]);
    let page = run.report("html").stdout;
    assert!(page.contains("badge bad") && !page.contains("badge good"), "nothing green");
}

#[test]
fn a_report_that_cannot_be_written_fails_a_run_that_passed() {
    let command = "\"$0\" run --docs 20 --ops 20 -c 1 -q --noise warn -o \"$1\" >/dev/full";
    let folder = tempfile::tempdir().expect("a temporary folder");
    let output = std::process::Command::new("sh")
        .args(["-c", command, BINARY])
        .arg(folder.path().join("out"))
        .output()
        .expect("a shell");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("error: the report cannot be written: "), "{stderr}");
    assert!(folder.path().join("out/run.json").exists());
}

#[test]
fn a_folder_that_is_taken_away_costs_nothing_of_what_was_measured() {
    let server = Server::stand_in(Options::default());
    for lost_for_good in [false, true] {
        let (proxy, paths) = watched(&server);
        let flags = ["-c", "2", "--docs", "20", "-d", "1s"];
        let run = Running::start([&["run", &*proxy.url][..], &flags].concat());
        for _ in 0..50 {
            paths.recv_timeout(Duration::from_secs(60)).expect("requests");
        }
        let out = run.output();
        // A stage may be saved meanwhile.
        while out.exists() {
            let _ = std::fs::remove_dir_all(&out);
        }
        if lost_for_good {
            std::fs::write(&out, b"in the way").expect("a file");
        }
        let run = run.finish();
        assert!(run.stdout.contains("result: "), "{}", run.stderr);
        if lost_for_good {
            assert!(run.stderr.contains("run.json: "), "{}", run.stderr);
            let rescued = run.stderr.lines().find_map(|line| line.strip_prefix("record: "));
            let rescued = std::path::Path::new(rescued.expect("another place"));
            let record = std::fs::read_to_string(rescued).expect("a record");
            assert!(record.contains("\"result\""));
            std::fs::remove_dir_all(rescued.parent().expect("a folder")).expect("it is ours");
            assert_ne!(run.code, 0);
        } else {
            assert_eq!(run.record["partial"], false, "{}", run.stderr);
        }
    }
}

#[test]
fn a_reader_of_messages_that_leaves_ends_nothing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let command = "\"$0\" run --docs 20 --ops 20 -c 1 -o \"$1\" 2>&1 >/dev/null | true";
    let output = std::process::Command::new("bash")
        .args(["-c", &format!("{command}; exit ${{PIPESTATUS[0]}}"), BINARY])
        .arg(folder.path().join("out"))
        .output()
        .expect("a shell");
    assert!(matches!(output.status.code(), Some(0 | 5)), "{:?}", output.status);
    assert!(folder.path().join("out/report.html").exists());
}

/// Verbs that report on the record themselves, and where each saves its first run.
const OWN_REPORTS: [(&[&str], &str); 3] = [
    (&["bulk-perf", "10", "100", "1"], "springload-runs"),
    (&["bm-couchdb", "-t", "1"], "springload-runs"),
    (
        &["sweep", "-L", "batch=5,10", "-c", "1", "--docs", "20", "--ops", "0", "-o", "swept"],
        "swept/cells",
    ),
];

#[test]
fn a_record_that_cannot_be_saved_fails_every_verb() {
    for (flags, runs) in OWN_REPORTS {
        // On a busy machine the client may be the limit, which takes precedence: status 5.
        let code = |_| unsaved(flags, runs);
        let code = (0..9).map(code).find(|code| *code != Some(5));
        assert_eq!(code, Some(Some(1)), "{flags:?}");
    }
}

#[test]
fn a_report_that_cannot_be_written_fails_every_verb() {
    for (flags, _) in OWN_REPORTS {
        let code = |_| {
            let folder = tempfile::tempdir().expect("a temporary folder");
            let mut command = std::process::Command::new("sh");
            command.args(["-c", "\"$0\" \"$@\" -q >/dev/full", BINARY]).args(flags);
            let output = command.current_dir(folder.path()).output().expect("a shell");
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert!(
                stderr.contains("error: the report cannot be written: "),
                "{flags:?}: {stderr}"
            );
            output.status.code()
        };
        let code = (0..9).map(code).find(|code| *code != Some(5));
        assert_eq!(code, Some(Some(1)), "{flags:?}");
    }
}

#[test]
fn what_ycsb_cannot_write_fails_its_run() {
    let load = ["ycsb", "load", "basic", "-P", "workloads/workloadc", "-p", "recordcount=100"];
    let quiet = ["-q", "-p", "basicdb.verbose=false"];
    let full = |properties: [&str; 4]| {
        let code = |_| {
            let run = springload([&load[..], &quiet, &properties].concat());
            assert!(run.stderr.contains("cannot write /dev/full: "), "{}", run.stderr);
            run.code
        };
        (0..9).map(code).find(|code| *code != 5)
    };
    let rows = ["-p", "measurementtype=raw", "-p", "measurement.raw.output_file=/dev/full"];
    assert_eq!(full(rows), Some(1));
    assert_eq!(full(["-p", "measurementtype=raw", "-p", "exportfile=/dev/full"]), Some(1));
}

/// The exit status of a verb whose first run loses its folder when the first document is sent.
fn unsaved(flags: &[&str], runs: &str) -> Option<i32> {
    let server = Server::stand_in(Options::default());
    let folder = tempfile::tempdir().expect("a temporary folder");
    let runs = folder.path().join(runs);
    let first = std::sync::Once::new();
    let hook = move |_: &str, path: &str| {
        // `/springload_…/_bulk_docs` or a document, not the database alone.
        if path.starts_with("/springload_") && path.matches('/').count() == 2 {
            first.call_once(|| {
                let mut all = std::fs::read_dir(&runs).expect("a folder of runs");
                let run = all.next().expect("a run").expect("its name").path();
                std::fs::remove_dir_all(&run).expect("it is ours");
                std::fs::write(&run, b"in the way").expect("a file");
            });
        }
    };
    let proxy = Proxy::with_hook(&server.url, Box::new(hook));
    let mut command = assert_cmd::Command::new(BINARY);
    command.args(flags).args([&*proxy.url, "-q"]).current_dir(folder.path());
    let output = command.timeout(Duration::from_secs(120)).output().expect("it runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("run.json: "), "{flags:?}: {stderr}");
    let rescued = stderr.lines().find_map(|line| line.strip_prefix("record: "));
    let rescued = std::path::Path::new(rescued.expect("another place"));
    std::fs::remove_dir_all(rescued.parent().expect("a folder")).expect("it is ours");
    output.status.code()
}
