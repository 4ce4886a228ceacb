//! Limits on open files: raised if that is allowed, and reported if they are too low.

use crate::servers::Server;
use crate::springload::{Finished, Running, failures, measure_after, number};
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
use springload::embedded::Options;
use std::thread::sleep;
use std::time::Duration;

/// A run of 200 connections under limits.
fn run(limits: &str, target: &[&str]) -> Finished {
    let load = ["-c", "200", "--docs", "200", "--ops", "2000", "--threads", "1"];
    measure_after(limits, ["run"].into_iter().chain(target.iter().copied()).chain(load))
}

#[track_caller]
fn all_connected(run: Finished) {
    let run = run.passed();
    for operation in run.stages().flat_map(|stage| stage["operations"].as_array().expect("kinds")) {
        assert_eq!(failures(operation), 0, "{operation}");
    }
}

#[test]
fn the_soft_limit_is_raised() {
    let server = Server::stand_in(Options::default());
    all_connected(run("ulimit -Sn 100", &[&server.url]));
}

#[test]
fn a_plan_beyond_the_hard_limit_is_refused_with_what_it_needs() {
    let server = Server::stand_in(Options::default());
    for target in [&[&server.url[..]][..], &[]] {
        let refused =
            run("ulimit -n 150", target).refused(2, &["200", "the limit is 150", "ulimit -n "]);
        let cure = refused.stderr.trim_end().rsplit_once(": ").expect("a cure").1;
        // The number that the message asks for is enough.
        all_connected(run(cure, target));
    }
}

#[test]
fn users_that_share_connections_need_fewer_files() {
    let server = Server::stand_in(Options::default());
    let run = |streams| {
        let words = ["--http2", "--streams", streams, "-c", "200", "-n", "1", "--threads", "2"];
        measure_after("ulimit -n 100", ["http", &server.url].into_iter().chain(words))
    };
    // The stand-in does not speak HTTP/2: with enough files, the run only fails there.
    run("10").refused(3, &["when it was spoken to in HTTP/2", "leave --http2 out"]);
    run("2").refused(2, &["200 of them need 157 open files, but the limit is 100"]);
}

#[test]
fn a_client_without_files_left_does_not_blame_the_server() {
    let server = Server::stand_in(Options::default());
    let load = ["http", &server.url, "--close", "-c=8", "-d=4s", "--timeout=500ms"];
    let mut run = Running::start(load);
    let counters = || server.as_stand_in().expect("a stand-in").counters();
    while counters().requests < 100 {
        assert!(!run.ended(), "{}", run.stderr());
        sleep(Duration::from_millis(10));
    }
    let id = Pid::from_raw(i32::try_from(run.id()).expect("a number"));
    let hard = getrlimit(Resource::Nofile).maximum;
    let lowered = Rlimit { current: Some(3), maximum: hard };
    let before = prlimit(id, Resource::Nofile, lowered).expect("it runs");
    sleep(Duration::from_secs(2));
    prlimit(id, Resource::Nofile, before).expect("back within the hard limit");
    let run = run.finish();
    let stage = run.stages().last().expect("a stage");
    let request = &stage["operations"][0];
    assert!(number(&request["failures"]["local"]) > 0, "{request}: {}", run.stderr);
    assert_eq!(number(&request["failures"]["local"]), failures(request), "{request}");
    let reason = request["reasons"]["local"]["reason"].as_str().expect("a reason");
    assert!(reason.contains("raise ulimit -n"), "{reason}");
    assert_ne!(stage["verdict"]["kind"], "degraded", "{stage}");
    assert!(stage["outage"].is_null() || stage["outage"]["total_s"] == 0.0, "{stage}");
    assert!(!run.stderr.contains("no longer answers"), "{}", run.stderr);
}

#[test]
fn what_may_be_opened_as_it_is_needed_is_no_more_than_the_limit_allows() {
    let server = Server::stand_in(Options::default());
    let run = |limits: &str, more: &[&'static str]| {
        let load = ["--docs", "1000", "-r", "100", "-n", "20", "--threads", "1"];
        let words = ["run", &server.url].into_iter().chain(load);
        measure_after(limits, words.chain(more.iter().copied()))
    };
    let few = run("ulimit -n 150", &[]).passed();
    // Of the 150 files, 48 are needed for other purposes.
    assert_eq!(few.record["plan"]["most_connections"], 102);
    let many = run("ulimit -n 90", &[]).refused(2, &["50 of them need", "the limit is 90"]);
    assert!(!many.stderr.contains("1000"), "{}", many.stderr);
    run("ulimit -n 150", &["--max-connections", "2000"]).refused(2, &["2000 of them need"]);
}
