//! The agents' notes of their writes, and the audit of them: over pipes and over RabbitMQ, on an
//! honest server and a lying one, with lost agents and lost notes.

use crate::load::{BINARY, Ended, Load, kill, lost};
use crate::servers::Server;
use rustix::process::Signal;
use serde_json::Value;
use springload::embedded::{Fault, Faults, Lie, Occurrence, Options};
use std::path::Path;
use std::process::Command;

/// Runs springload in `folder`; returns its exit status, its messages, and the record at `place`.
fn springload(folder: &Path, words: &[&str], place: &str) -> Ended {
    let output = Command::new(BINARY).args(words).current_dir(folder).output().expect("it runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    let record = std::fs::read_to_string(folder.join(place)).unwrap_or_default();
    let record = serde_json::from_str(&record).unwrap_or_default();
    let (stdout, stderr) = (text(output.stdout), text(output.stderr));
    Ended { code: output.status.code(), stdout, stderr, record }
}

fn get(url: &str) -> Value {
    let mut answer = ureq::get(url).call().expect("an answer");
    let text = answer.body_mut().read_to_string().expect("UTF-8");
    serde_json::from_str(&text).expect("JSON")
}

/// The number of documents on the server.
fn stored(database: &str) -> u64 {
    get(database)["doc_count"].as_u64().expect("a count")
}

/// The audit's result: the number of correct documents, and the classes of the others.
fn audited(record: &Value) -> (u64, Vec<String>) {
    let stage = record["stages"].as_array().and_then(|it| it.last()).expect("a stage");
    assert_eq!(stage["name"], "audit");
    let operations = stage["operations"].as_array().expect("operations");
    let Some(verify) = operations.iter().find(|it| it["kind"] == "verify") else {
        return (0, Vec::new());
    };
    let classes = verify["failures"].as_object().into_iter().flatten();
    (verify["ok"].as_u64().expect("a count"), classes.map(|(class, _)| class.clone()).collect())
}

/// Asserts that no errors are reported, except that notes are missing.
#[track_caller]
fn incomplete(ended: &Ended, why: &str) {
    assert_eq!(ended.code, Some(5), "{}", ended.stderr);
    let message = "audit incomplete: notes of writes are missing: ";
    assert!(ended.stderr.contains(message) && ended.stderr.contains(why), "{}", ended.stderr);
    assert_eq!(audited(&ended.record).1, Vec::<String>::new());
    assert_eq!(ended.record["extra_documents"], Value::Null);
}

/// Audits the run in `folder` once more, later.
#[track_caller]
fn again(folder: &Path) -> Ended {
    springload(folder, &["audit", "out", "-q", "-o", "again"], "again/run.json")
}

#[test]
fn all_that_agents_have_written_is_looked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::stand_in(Options::default());
    for (name, verb) in [
        ("mixed", "run --docs 600 --ops 3k --verify"),
        ("hot", "run --docs 2k --ops 3k --workload hot"),
        ("open", "run --docs 600 --rate 400 --ops 800"),
        ("uuids", "run --docs 600 --ops 600 --id uuid"),
        ("burst", "burst -d 400ms --both"),
        ("fill", "run --docs 20k --batch 500 --workload bulk-insert"),
    ] {
        let database = format!("{}/{name}", server.url);
        let words: Vec<&str> = verb.split(' ').collect();
        let (verb, flags) = words.split_first().expect("a verb");
        let all = ["--keep", "--audit", "-c", "6", "--agents", "3", "-q", "-o", name];
        let words = [&[*verb, &database][..], flags, &all].concat();
        let ended = springload(folder.path(), &words, &format!("{name}/run.json"));
        assert_eq!(ended.status(), Some(0), "{name}: {}", ended.stderr);
        // Deleted documents are looked for as well, and must not be there.
        let (right, wrong) = audited(&ended.record);
        assert_eq!((wrong, &ended.record["extra_documents"]), (Vec::new(), &Value::from(0)));
        let stages = ended.record["stages"].as_array().expect("stages");
        let written = stages.iter().flat_map(|it| it["operations"].as_array().expect("it"));
        let written = written.filter(|it| it["kind"] == "bulk_insert" || it["kind"] == "create");
        assert_eq!(right, written.map(|it| it["ok"].as_u64().expect("it")).sum::<u64>(), "{name}");
        let reads = stages.last().expect("it")["operations"].as_array().expect("operations");
        let found = reads.iter().find(|it| it["kind"] == "read").expect("reads");
        assert_eq!(found["ok"].as_u64(), Some(stored(&database)), "{name}");
        // The same later, by one process, which finds losses.
        let later = |exit| {
            let ended =
                springload(folder.path(), &["audit", name, "-q", "-o", "again"], "again/run.json");
            assert_eq!(ended.code, Some(exit), "{name}: {}", ended.stderr);
            audited(&ended.record)
        };
        assert_eq!(later(0), (right, Vec::new()));
        let row = &get(&format!("{database}/_all_docs?limit=1"))["rows"][0];
        let (id, rev) =
            (row["id"].as_str().expect("id"), row["value"]["rev"].as_str().expect("rev"));
        ureq::delete(format!("{database}/{id}?rev={rev}")).call().expect("it is deleted");
        assert_eq!(later(6), (right - 1, vec!["lost".to_owned()]));
        std::fs::remove_dir_all(folder.path().join("again")).expect("a folder");
    }
    // No temporary files are left, and agents cannot take part in a separate audit.
    let refused = springload(folder.path(), &["audit", "mixed", "--agents", "2"], "");
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
}

#[test]
fn records_that_agents_write_together_are_no_false_alarm() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::stand_in(Options::default());
    let url = format!("couchdb.url={}", server.url);
    let load = ["ycsb", "load", "couchdb", "-P", "workloads/workloada", "-p", &url];
    let run = ["ycsb", "run", "couchdb", "-P", "workloads/workloada", "-p", &url];
    let more = ["-p", "insertproportion=0.1", "-p", "operationcount=4000", "-p", "recordcount=200"];
    let agents = ["--agents", "3", "-threads", "6", "--audit", "-q"];
    for (verb, place) in [(&load, "load"), (&run, "run")] {
        let words = [&verb[..], &more, &agents, &["-o", place]].concat();
        let ended = springload(folder.path(), &words, &format!("{place}/run.json"));
        assert!(matches!(ended.code, Some(0 | 5)), "{}", ended.stderr);
        let (right, wrong) = audited(&ended.record);
        assert!(right > 0 && wrong.is_empty(), "{wrong:?} {}", ended.stderr);
        assert!(!ended.stderr.contains("audit incomplete"), "{}", ended.stderr);
    }
}

/// A run that does not touch its fill once it is under way. Its database is `db`.
fn creating(time: &str) -> Vec<&str> {
    vec!["--mix", "create=1", "--think", "20ms", "-d", time, "--audit", "--keep"]
}

/// Deletes or changes a document in the fill of agent 1 of three, and returns its name.
fn harm(load: &Load, changes: bool) -> String {
    let names = get(&format!("{}/_all_dbs", load.server.url));
    let mut names = names.as_array().expect("names").iter().filter_map(Value::as_str);
    let name = names.rfind(|it| it.starts_with("springload")).expect("a database");
    // Connection 1 of six has the second tenth of the 60 documents.
    let url = format!("{}/{name}/11", load.server.url);
    let rev = get(&url)["_rev"].as_str().expect("a revision").to_owned();
    if changes {
        ureq::put(format!("{url}?rev={rev}")).send("{}").expect("it is changed");
    } else {
        ureq::delete(format!("{url}?rev={rev}")).call().expect("it is deleted");
    }
    "11".to_owned()
}

/// Asserts that the run found exactly this document to be wrong.
#[track_caller]
fn accused(ended: &Ended, id: &str, class: &str) {
    assert_eq!(ended.code, Some(6), "{}", ended.stderr);
    let stage = ended.record["stages"].as_array().and_then(|it| it.last()).expect("a stage");
    let operations = stage["operations"].as_array().expect("operations");
    let verify = operations.iter().find(|it| it["kind"] == "verify").expect("an audit");
    assert_eq!(verify["failures"], serde_json::json!({ class: 1 }));
    assert_eq!(verify["findings"][0]["id"], id);
}

#[test]
fn a_document_that_was_taken_from_an_agent_is_named() {
    for (changes, class) in [(false, "lost"), (true, "unknown_revision")] {
        let mut load = Load::start(3, &creating("5s"), None);
        load.under_way();
        let id = harm(&load, changes);
        let ended = load.end();
        accused(&ended, &id, class);
        assert_eq!(again(&load.coordinator.folder()).code, Some(6));
    }
}

#[test]
fn writes_of_a_killed_agent_accuse_nobody() {
    for allow in [&[][..], &["--allow-lost"]] {
        // Its documents are created, updated and deleted, and its notes of that are missing.
        let flags = ["--think", "20ms", "-d", "6s", "--audit", "--keep"];
        let mut load = Load::start(3, &[&flags[..], allow].concat(), None);
        load.under_way();
        kill(load.coordinator.children()[1], Signal::KILL);
        let ended = load.end();
        assert_eq!(lost(&ended.record).len(), 1);
        incomplete(&ended, "agent 1: it was lost before its notes of crud came");
        // The documents of the other agents are checked.
        assert!(audited(&ended.record).0 > 40, "{:?}", audited(&ended.record));
        let later = again(&load.coordinator.folder());
        incomplete(&later, "agent 1: it was lost before its notes of crud came");
        assert_eq!(audited(&later.record).0, audited(&ended.record).0);
    }
}

#[test]
fn what_the_others_have_lost_is_found_all_the_same() {
    let mut load = Load::start(3, &creating("6s"), None);
    load.under_way();
    kill(load.coordinator.children()[2], Signal::KILL);
    let id = harm(&load, false);
    accused(&load.end(), &id, "lost");
}

#[test]
fn a_killed_coordinator_leaves_notes_that_accuse_nobody() {
    let flags = ["--think", "20ms", "-d", "60s", "--audit", "--keep"];
    let mut load = Load::start(3, &flags, None);
    load.under_way();
    load.coordinator.signal(Signal::KILL);
    load.falls_silent();
    load.end();
    let later = again(&load.coordinator.folder());
    incomplete(&later, "notes of agents 0, 1, 2 have not arrived");
    assert_eq!(audited(&later.record).0, 0);
}

#[cfg(feature = "broker")]
mod broker {
    use super::*;
    use crate::load::Spring;
    use crate::servers::rabbitmq::RabbitMq;
    use std::time::Duration;

    #[test]
    fn notes_come_over_a_broker_and_a_lie_is_found() {
        let Some(server) = RabbitMq::shared() else { return };
        let broker = server.full_url();
        // Enough notes for several pieces.
        let flags = ["--ops", "12k", "--mix", "create=1", "--audit", "--keep"];
        let mut load = Load::start(2, &flags, Some((&broker, &[0, 1])));
        let ended = load.end();
        assert_eq!(ended.status(), Some(0), "{}", ended.stderr);
        let (right, wrong) = audited(&ended.record);
        assert_eq!((right, wrong), (12_060, Vec::new()));
        assert_eq!(ended.record["extra_documents"], 0);
        for agent in &mut load.agents {
            assert_eq!(agent.end_within(Duration::from_secs(5)).code, Some(0));
            let left = std::fs::read_dir(agent.folder()).expect("a folder").flatten();
            let left: Vec<_> = left.map(|it| it.file_name()).collect();
            assert_eq!(left.len(), 2, "its output, and nothing else: {left:?}");
        }
        let mut load = Load::start(2, &creating("5s"), Some((&broker, &[0, 1])));
        load.under_way();
        let id = harm(&load, false);
        accused(&load.end(), &id, "lost");
    }

    #[test]
    fn a_killed_agent_is_missed_over_a_broker() {
        let Some(server) = RabbitMq::shared() else { return };
        let broker = server.full_url();
        let flags = ["--think", "20ms", "-d", "6s", "--audit"];
        let mut load = Load::start(3, &flags, Some((&broker, &[0, 1, 2])));
        load.under_way();
        load.agents[1].signal(Signal::KILL);
        let ended = load.end();
        assert_eq!(lost(&ended.record).iter().map(|it| it.0).collect::<Vec<_>>(), [1]);
        incomplete(&ended, "agent 1: it was lost before its notes of crud came");
    }

    #[test]
    fn an_agent_with_a_full_disk_accuses_nobody() {
        let Some(server) = RabbitMq::shared() else { return };
        let broker = server.full_url();
        // A file size limit instead of a full disk: 100 KB, or 3,200 notes.
        let full = "trap '' XFSZ; ulimit -f 200; exec \"$@\"";
        let mix = ["--mix", "create=2,update=1,delete=1"];
        let flags = [&["--ops", "12k", "--audit", "--keep"][..], &mix].concat();
        let mut load = Load::start(2, &flags, Some((&broker, &[0])));
        let run = format!("t{}", load.server.url.rsplit(':').next().expect("a port"));
        let words = ["-c", full, "sh", BINARY, "agent", "--run", &run, "--index", "1"];
        load.agents.push(Spring::start_by("sh", &words, Some(&broker)));
        let ended = load.end();
        assert_eq!(lost(&ended.record), []);
        incomplete(&ended, "agent 1: File too large");
        // The other agent's documents, from the fill and from the mix.
        assert_eq!(audited(&ended.record).0, 30 + 3_000);
        incomplete(&again(&load.coordinator.folder()), "agent 1: File too large");
    }

    #[test]
    fn an_agent_that_cannot_note_anything_is_refused() {
        let Some(server) = RabbitMq::shared() else { return };
        let broker = server.full_url();
        let mut load = Load::start(1, &["--ops", "20", "--audit"], Some((&broker, &[])));
        let run = format!("t{}", load.server.url.rsplit(':').next().expect("a port"));
        let nowhere = "TMPDIR=/nowhere/at/all exec \"$@\"";
        let words = ["-c", nowhere, "sh", BINARY, "agent", "--run", &run, "--index", "0"];
        load.agents.push(Spring::start_by("sh", &words, Some(&broker)));
        let ended = load.end();
        assert_eq!(ended.code, Some(3), "{}", ended.stderr);
        let message = "agent 0: cannot note writes among temporary files: ";
        assert!(ended.stderr.contains(message), "{}", ended.stderr);
    }
}

/// Writes that a server fails are noted by the agents, and looked for by the coordinator.
#[test]
fn what_a_server_failed_at_agents_is_reported() {
    let fault = Fault::Lie(Lie::FailStored);
    let named = vec![Occurrence { fault, fraction: 0.1, from_ns: 0, until_ns: None }];
    let faults = Faults { named, seed: 3, ..Faults::default() };
    let server = Server::stand_in(Options { faults, ..Options::default() });
    let folder = tempfile::tempdir().expect("a folder");
    let url = format!("{}/failing", server.url);
    let fill = ["run", &url, "--docs", "2k", "--batch", "50", "--workload", "bulk-insert"];
    let all = ["--audit", "-c", "6", "--agents", "3", "-q", "-o", "out"];
    let ended = springload(folder.path(), &[&fill[..], &all].concat(), "out/run.json");
    let (right, wrong) = audited(&ended.record);
    assert_eq!((right, wrong), (2_000, Vec::new()), "{}", ended.stderr);
    let stages = ended.record["stages"].as_array().expect("stages");
    let operations = |at: usize| stages[at]["operations"].as_array().expect("operations");
    let failed = &operations(0)[0]["failures"]["server_error"];
    let verify = operations(1).iter().find(|it| it["kind"] == "verify").expect("an audit");
    assert_eq!(&verify["failed_carried_out"], failed);
    let counters = get(&format!("{}/_springload/counters", server.url));
    assert_eq!(&counters["faults"]["fail-stored"], failed);
}
