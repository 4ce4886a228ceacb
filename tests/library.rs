//! springload as a library: the examples, and other uses in a separate program.

#![allow(dead_code, reason = "the examples' own main functions are not called here")]

#[path = "../examples/side_by_side.rs"]
mod side_by_side;
#[path = "../examples/threshold.rs"]
mod threshold;

use springload::embedded::{Options, StandIn, bind};
use springload::{LoadTest, Progress, ResultKind, RunError, formats, read_record, render};

#[test]
fn the_example_threshold_judges_a_server() {
    let server = StandIn::start(bind("127.0.0.1:0").expect("a port"), Options::default());
    let server = server.expect("a server");
    let record = threshold::measure(Some(&server.url())).expect("a record");
    assert_eq!(record.server.url, server.url());
    let done: u64 = record.stages.iter().flat_map(|it| &it.operations).map(|it| it.requests).sum();
    assert!(done > 1_000, "{done} of 1,500 and the fill");
    // Its scratch database has been removed.
    let counters = server.counters();
    assert_eq!(counters.databases_created, counters.databases_deleted);
    assert_eq!(counters.databases_created, 1);
}

#[test]
fn the_example_side_by_side_writes_a_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("both.html");
    side_by_side::compare(&file).expect("a page");
    let page = std::fs::read_to_string(&file).expect("the page");
    assert!(page.contains("batch"), "what differs is not shown");
}

#[test]
fn mistakes_are_reported_at_once_with_their_cures() {
    let refused = LoadTest::from_flags(["ftp://h", "--batch=0", "--fail-if=p99"]).unwrap_err();
    let message = refused.to_string();
    assert!(message.lines().count() >= 2 && message.contains("--fail-if"), "{message}");
    let refused = LoadTest::from_flags(["--output=x"]).unwrap_err();
    assert!(refused.to_string().contains("--output"), "{refused}");
}

#[test]
fn nothing_there_is_an_error_and_a_stopped_test_says_so() {
    let free = bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
    let test = LoadTest::from_flags([format!("http://{free}")]).expect("a plan");
    assert!(matches!(test.run(), Err(RunError::Target(_))));

    let test = LoadTest::from_flags(["--docs=100", "--duration=1h"]).expect("a plan");
    let stopper = test.stopper();
    let watch = |progress: &Progress| {
        if progress.requests > 0 {
            stopper.stop();
        }
    };
    let record = test.run_watched(watch).expect("a record");
    assert!(record.partial && record.result().kind == ResultKind::Stopped);
    let stored =
        String::from_utf8(render("json", std::slice::from_ref(&record)).expect("a record"))
            .unwrap();
    let read = read_record(&stored).expect("what was written");
    assert!(render("json", &[read]).expect("a record") == stored.into_bytes());
    for format in formats() {
        assert!(!render(format, std::slice::from_ref(&record)).expect("a report").is_empty());
    }
    assert!(render("no-such", &[record]).is_err());
}
