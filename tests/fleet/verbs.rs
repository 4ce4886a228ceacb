//! The other verbs that measure, with agents: they do the same as one process, and no more.

use crate::load::{BINARY, Spring};
use crate::servers::Server;
use serde_json::Value;
use springload::embedded::Options;
use std::path::Path;
use std::process::Command;

/// A server with a user, and its address with the credentials.
fn guarded() -> (Server, String) {
    let admin = Some(("ann".to_owned(), "s3cret".to_owned()));
    let server = Server::stand_in(Options { admin, ..Options::default() });
    let url = server.url.replace("://", "://ann:s3cret@");
    (server, url)
}

/// Runs springload in `folder`, and returns the record at `place` there.
#[track_caller]
fn measured(folder: &Path, words: &[&str], place: &str) -> Value {
    let output = Command::new(BINARY).args(words).current_dir(folder).output().expect("it runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    let code = output.status.code();
    assert!(matches!(code, Some(0 | 5)), "{words:?}: {code:?} {stderr}");
    assert!(!stderr.contains("s3cret"), "{stderr}");
    let text = std::fs::read_to_string(folder.join(place)).expect("a record");
    assert!(!text.contains("s3cret") && !text.contains("hush"), "{place}");
    serde_json::from_str(&text).expect("JSON")
}

/// The requests of all stages, and the number that succeeded for each agent in the last one.
fn requests(record: &Value) -> (u64, Vec<u64>) {
    let count = |value: &Value| value.as_u64().expect("a count");
    let stages = record["stages"].as_array().expect("stages");
    let operations = stages.iter().flat_map(|it| it["operations"].as_array().expect("operations"));
    let agents = stages.last().expect("a stage")["agents"].as_array().into_iter().flatten();
    (operations.map(|it| count(&it["ok"])).sum(), agents.map(|it| count(&it["ok"])).collect())
}

#[test]
fn lists_of_requests_are_shared_and_each_is_made_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let (server, url) = guarded();
    ureq::put(format!("{url}/db")).send_empty().expect("a database");
    std::fs::write(folder.path().join("body.json"), r#"{"n":{{seq}}}"#).expect("a file");
    let list = [
        format!("{url}/db"),
        format!("{url}/db/a{{{{seq}}}} PUT {{\"n\":{{{{seq}}}}}}"),
        format!("{url}/db/b{{{{seq}}}} PUT <body.json"),
    ];
    std::fs::write(folder.path().join("urls.txt"), list.join("\n")).expect("a file");
    let words = ["-f", "urls.txt", "-c", "4", "-n", "3000", "-q", "-o", "out", "--agents", "2"];
    let words = [&["http", "-H", "X-Key: hush"][..], &words].concat();
    let record = measured(folder.path(), &words, "out/run.json");
    let (all, of_agents) = requests(&record);
    assert_eq!((all, of_agents.iter().sum(), of_agents.len()), (3_000, 3_000, 2), "{of_agents:?}");
    // Two of every three requests store a document, each under a different name.
    let counters = server.as_stand_in().expect("a stand-in").counters();
    assert_eq!((counters.documents_created, counters.documents_updated), (2_000, 0));
}

#[test]
fn siege_and_an_open_loop_make_as_many_requests_as_they_were_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let (server, url) = guarded();
    let siege = ["siege", "-c", "4", "-r", "25", "--agents", "2", "-q", "-o", "siege", &url];
    let record = measured(folder.path(), &siege, "siege/run.json");
    assert_eq!(requests(&record).0, 100);
    let before = server.as_stand_in().expect("a stand-in").counters().requests;
    let open = ["http", &url, "-r", "100", "-d", "2s", "--agents", "2", "-q", "-o", "open"];
    let record = measured(folder.path(), &open, "open/run.json");
    assert_eq!(requests(&record).0, 200);
    assert_eq!(server.as_stand_in().expect("a stand-in").counters().requests, before + 200);
}

#[test]
fn both_sides_of_a_comparison_and_steps_of_a_search_have_agents() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_server, url) = guarded();
    let sides = ["--a=-c 2", "--b=-c 4", "--pairs", "1", "--docs", "40", "--ops", "200"];
    let ab = [&["ab", &url, "--agents", "2", "-q", "-o", "ab"][..], &sides].concat();
    for (place, connections) in [("ab/a/01/run.json", 2), ("ab/b/01/run.json", 4)] {
        let record = measured(folder.path(), &ab, place);
        assert_eq!(record["plan"]["connections"], connections);
        let (all, of_agents) = requests(&record);
        assert_eq!((all, of_agents.len()), (240, 2), "{of_agents:?}");
    }
    let mut max = Spring::start(
        &["max", &url, "--agents", "2", "--from", "50", "--to", "50", "--docs", "40", "-d", "1s"],
        None,
    );
    let ended = max.end();
    assert!(matches!(ended.code, Some(0 | 4 | 5)), "{ended:?}");
}

#[test]
fn what_agents_cannot_do_is_refused_with_what_to_do_instead() {
    let (_server, url) = guarded();
    let folder = tempfile::tempdir().expect("a folder");
    let siegerc = folder.path().join("rc");
    std::fs::write(&siegerc, format!("login-url = {url}/_session\n")).expect("a file");
    let rc = siegerc.display().to_string();
    for (words, message) in [
        (vec!["siege", "-R", &rc, "-r", "1", &url], "log in within one process; leave it out"),
        (vec!["ab", &url, "--a=-c 2", "--against", BINARY], "refuse others; leave out --agents"),
    ] {
        let words = [&words[..], &["--agents", "2", "-q"]].concat();
        let ended = Spring::start(&words, None).end();
        assert_eq!(ended.code, Some(2), "{words:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(message), "{words:?}: {}", ended.stderr);
    }
}
