//! `springload ab`: two settings by turns, against a server that is slower for one of them.

use crate::springload::{BINARY, Finished, springload};
use serde_json::Value;
use springload::embedded::{Delay, Faults, Options, StandIn, bind};
use std::path::Path;

fn server(delay_ms: u64) -> StandIn {
    let delay = Delay::Constant { ns: delay_ms * 1_000_000 };
    let faults = Faults { delay, ..Faults::default() };
    let options = Options { faults, ..Options::default() };
    StandIn::start(bind("127.0.0.1:0").expect("a free port"), options).expect("it starts")
}

const SHORT: [&str; 7] = ["--docs", "20", "--ops", "60", "-c", "2", "-q"];

fn ab(folder: &Path, words: &[&str]) -> Finished {
    let folder = folder.to_str().expect("UTF-8");
    springload([&["ab", "-o", folder], &SHORT[..], words].concat())
}

fn judged(run: &Finished) -> Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {}", run.stderr))
}

#[test]
fn a_slower_server_is_found_worse_and_the_verdict_is_saved() {
    let (fast, slow) = (server(10), server(30));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (a, b) = (fast.url(), slow.url());
    let sides = ["--a", &a, "--b", &b, "--pairs", "4", "--format", "json"];
    let run = ab(folder.path(), &sides);
    // A busy machine may make the client the limit, which is told.
    assert!(matches!(run.code, 5 | 7), "{}: {}", run.code, run.stderr);
    let json = judged(&run);
    assert_eq!((&json["verdict"], &json["layout"]), (&"worse".into(), &"interleaved".into()));
    let p50 = json["comparisons"].as_array().expect("figures");
    let p50 = p50.iter().find(|it| it["metric"] == "p50").expect("a median");
    assert!(p50["low"].as_f64().expect("an end") > 1.5, "{p50:#}");
    assert_eq!(json["differs"][0]["what"], "command");
    let page = std::fs::read_to_string(folder.path().join("report.html")).expect("a page");
    assert!(page.contains("B is worse") && page.contains("<svg class=\"forest\""));
    // The same is found in the folders of the sides, later.
    let side = |name: &str| folder.path().join(name).display().to_string();
    let again = springload(["compare", &side("a"), &side("b"), "--format", "json"]);
    assert_eq!(judged(&again)["verdict"], "worse");
    for server in [&fast, &slow] {
        let counters = server.counters();
        assert_eq!(counters.databases_deleted, counters.databases_created, "each run its own");
    }
}

#[test]
fn sides_take_turns_with_their_own_flags() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let words = ["--a", "--batch 5 -c 3", "--b", "--batch=10", "--pairs", "4", "--dry-run"];
    let run = ab(folder.path(), &words);
    assert_eq!((run.code, &run.stderr[..]), (0, ""));
    let side = |line: &str| match (line.contains("--batch=5"), line.contains("--batch=10")) {
        (true, false) if line.contains("--connections=3") && !line.contains("--connections=2") => {
            'A'
        }
        (false, true) if line.contains("--connections=2") => 'B',
        _ => panic!("{line}"),
    };
    let order: String = run.stdout.lines().map(side).collect();
    assert!(["ABBAABBA", "BAABBAAB"].contains(&&*order), "{order}");
    assert!(!folder.path().join("ab.json").exists());
}

#[test]
fn what_was_interrupted_goes_on_where_it_was() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let server = server(1);
    let (flag, output) = (folder.path().join("flag"), folder.path().join("ab"));
    let before = format!("test -e '{}'", flag.display());
    let url = server.url();
    let words = [&*url, "--before-a", &before, "--before-b", &before, "--pairs", "2"];
    let failed = ab(&output, &words);
    assert_eq!(failed.code, 1, "{}", failed.stderr);
    assert!(failed.stderr.contains("ended with exit status: 1"), "{}", failed.stderr);
    assert!(failed.stderr.contains("continues it"), "{}", failed.stderr);
    std::fs::write(&flag, "").expect("a file");
    let done = ab(&output, &words);
    assert!(matches!(done.code, 0 | 5 | 7), "{}", done.stderr);
    let began = |name: &str| {
        let file = output.join(name).join("run.json");
        let text = std::fs::read_to_string(file).expect("a record");
        serde_json::from_str::<Value>(&text).expect("JSON")["started_at"].clone()
    };
    let all = ["a/01", "b/01", "a/02", "b/02"];
    let first = all.map(began);
    // One that is not complete is measured again, and nothing else.
    std::fs::remove_file(output.join("b/02/run.json")).expect("removed");
    let again = ab(&output, &words);
    assert!(matches!(again.code, 0 | 5 | 7), "{}", again.stderr);
    let second = all.map(began);
    assert_eq!(first[..3], second[..3]);
    assert_ne!(first[3], second[3]);
    let other = ["--a", "-c 3", "--pairs", "2"];
    ab(&output, &other).refused(2, &["contains another comparison"]);
}

#[test]
fn a_dead_server_ends_it_and_mistakes_are_named() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let dead = ab(folder.path(), &["127.0.0.1:1", "--b", "-c 3"]);
    assert_eq!(dead.code, 3, "{}", dead.stderr);
    assert!(dead.stderr.contains("incomplete"), "{}", dead.stderr);
    for (words, told) in [
        (["--a", "--nope"], "--a"),
        (["--b", "'open"], "--b"),
        (["--b", "http://localhost:1/named"], "names a database"),
        (["--pairs", "0"], "--pairs"),
    ] {
        ab(&folder.path().join("new"), &words).refused(2, &[told]);
    }
}

#[test]
fn another_springload_can_measure_a() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (server, output) = (server(1), folder.path().join("ab"));
    let url = server.url();
    let words = [&*url, "--against", BINARY, "--pairs", "2", "--format", "json"];
    let run = ab(&output, &words);
    assert!(matches!(run.code, 0 | 5 | 7), "{}", run.stderr);
    let json = judged(&run);
    assert_eq!(json["a"].as_array().map(Vec::len), Some(2));
    // It is the same program with the same plan.
    assert_eq!(json["differs"], serde_json::json!([]), "{}", json["differs"]);
    let secret = url.replace("http://", "http://user:s3cret@");
    ab(&output, &[&secret, "--against", BINARY]).refused(2, &["SPRINGLOAD_PASSWORD"]);
    ab(&output, &[&url, "--against", "/bin/echo"]).refused(2, &["is no springload"]);
    ab(&output, &[&url, "--against", "no/such"]).refused(2, &["cannot be started"]);
}

#[test]
fn passwords_of_sides_are_not_stored() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let server = server(0);
    let target = server.url().replace("http://", "http://user:s3cret@");
    ab(folder.path(), &["--a", &target, "--b", &target, "--pairs", "1"]);
    let text = std::fs::read_to_string(folder.path().join("ab.json")).expect("a file");
    assert!(text.contains("user:***@") && !text.contains("s3cret"), "{text}");
}
