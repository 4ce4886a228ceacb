//! The connections of an open loop: whether they or the server are the limit.

use crate::servers::Server;
use crate::springload::{Finished, Run, number, springload};
use serde_json::Value;
use springload::embedded::{Delay, Faults, Mode, Options};

/// A server that takes 0.1 s for each response, however many there are.
fn slow() -> Server {
    let faults = Faults { delay: Delay::Constant { ns: 100_000_000 }, ..Faults::default() };
    Server::stand_in(Options { mode: Mode::Null, faults, ..Options::default() })
}

fn at_a_rate(server: &Server, flags: &[&str]) -> Finished {
    Run::of(&[&["http", &*server.url, "-r", "1000", "-d", "2s"], flags].concat()).finish()
}

/// Asserts a verdict, and returns true; false if the machine is so busy that the client is the
/// limit.
#[track_caller]
fn judged(run: &Finished, stage: &str, kind: &str) -> bool {
    let stage = run.stage(stage);
    let found = &stage["verdict"]["kind"];
    assert!(found == kind || found == "client_bound", "{}, {}", stage["verdict"], stage["load"]);
    found == kind
}

fn pool(run: &Finished) -> &Value {
    &run.stage("urls")["load"]["pool"]
}

#[test]
fn what_fifty_connections_carry_is_no_limit_of_the_server() {
    let run = at_a_rate(&slow(), &["-c", "50"]);
    assert_eq!(run.code, 5, "{}", run.stderr);
    if judged(&run, "urls", "bound_by_connections") {
        let verdict = &run.stage("urls")["verdict"];
        assert_eq!(number(&verdict["connections"]), 50);
        // A busy machine answers later.
        assert!((108..200).contains(&number(&verdict["needed"])), "{verdict}");
        assert!(run.stdout.contains("bound by 50 connections; about 1"), "{}", run.stdout);
        assert!(!run.full_report().contains("not sustained"), "{}", run.full_report());
    }
    let none_free = pool(&run)["none_free"].as_f64().expect("a share");
    assert!(none_free > 0.8, "{none_free}");
}

#[test]
fn a_server_that_can_do_no_more_is_not_excused_by_its_connections() {
    let faults = Faults { capacity: Some(500.0), ..Faults::default() };
    let full = Server::stand_in(Options { mode: Mode::Null, faults, ..Options::default() });
    let run = at_a_rate(&full, &["-c", "50"]);
    judged(&run, "urls", "not_sustained");
    assert_eq!(run.code, 5);
}

#[test]
fn connections_are_opened_as_they_are_needed() {
    let run = at_a_rate(&slow(), &[]);
    judged(&run, "urls", "sustained");
    let opened = &pool(&run)["opened"];
    let all = number(&pool(&run)["connections"]);
    assert!((101..400).contains(&all), "{}", pool(&run));
    assert_eq!((number(&opened["connections"]), number(&opened["refused"])), (all - 50, 0));
    assert!(
        run.full_report().contains(&format!("50 to {all} connections (until ")),
        "{}",
        run.full_report()
    );
    let times = &run.operation("urls", "request")["response"];
    // With 50 connections, half of the requests would wait for half a second or more.
    let p50_us = times["p50_us"].as_f64().expect("a time");
    assert!((100_000.0..300_000.0).contains(&p50_us), "{times}");
    assert_eq!(run.record["plan"]["most_connections"], 1_000);
    // Each of them has its own requests and its own times.
    let connections = &run.stage("urls")["connections"]["ended_s"];
    assert_eq!(connections.as_array().map(Vec::len), Some(all as usize));
}

#[test]
fn connections_share_the_documents_of_a_run() {
    let faults = Faults { delay: Delay::Constant { ns: 100_000_000 }, ..Faults::default() };
    let server = Server::stand_in(Options { faults, ..Options::default() });
    let words = ["run", &*server.url, "--docs", "4000", "-r", "1000", "-n", "2000", "--verify"];
    let run = Run::of(&[&words[..], &["--audit", "--warmup", "1s"]].concat()).finish();
    let stage = run.stage("crud");
    judged(&run, "crud", "sustained");
    let all = number(&stage["load"]["pool"]["connections"]);
    assert!(all > 100, "{}", stage["load"]["pool"]);
    // The mix is exact, and no two connections changed the same document at once.
    let count = |kind| number(&run.operation("crud", kind)["ok"]);
    let counts = ["create", "read", "update", "delete"].map(count);
    assert_eq!(counts, [500, 750, 500, 250], "{}", run.full_report());
    assert_ne!(run.code, 6, "{}", run.stderr);
    let audited = run.operation("audit", "verify");
    assert_eq!(number(&audited["ok"]), number(&audited["issued"]), "{audited}");
    assert_eq!(number(&run.operation("crud", "verify")["ok"]), 750);
}

#[test]
fn a_number_of_connections_and_a_limit_exclude_each_other() {
    let words = ["http", "http://127.0.0.1:1", "-r", "5", "--max-connections", "60"];
    springload([&words[..], &["-c", "55"]].concat())
        .refused(2, &["--max-connections: -c already sets their number"]);
    springload(["http", "http://127.0.0.1:1", "-r", "5", "--max-connections", "40"])
        .refused(2, &["--max-connections: 40 is out of range"]);
    springload(["http", "http://127.0.0.1:1", "--max-connections", "60"]).refused(2, &["--rate"]);
}
