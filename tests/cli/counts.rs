//! Counts reconcile exactly: within the record, and with the server's own counts.

use springload::embedded::{Counters, Options};
use springload::workload::Mix;

use crate::proxy::{Message, Proxy};
use crate::servers::Server;
use crate::springload::{Finished, failures, measure, number};

const KINDS: [&str; 5] = ["bulk_insert", "create", "read", "update", "delete"];

fn stand_in() -> Server {
    Server::stand_in(Options::default())
}

fn counters(server: &Server) -> Counters {
    server.as_stand_in().expect("a stand-in").counters()
}

/// issued = ok + failures + unfinished, for each stage and kind; the seconds add up to the same.
#[track_caller]
fn adds_up(run: &Finished) {
    for stage in run.stages() {
        let load = &stage["load"];
        let parts = ["begun", "dropped", "unsent"].map(|part| number(&load[part]));
        assert_eq!(number(&load["offered"]), parts.iter().sum::<u64>(), "{load}");
        let mut requests = 0;
        for operation in stage["operations"].as_array().expect("a list") {
            let kind = operation["kind"].as_str().expect("a kind");
            let (issued, ok) = (number(&operation["issued"]), number(&operation["ok"]));
            let unfinished = number(&operation["unfinished"]);
            assert_eq!(issued, ok + failures(operation) + unfinished, "{operation}");
            assert_eq!(unfinished, 0, "{operation}");
            requests += number(&operation["requests"]);
            let seconds = stage["series"].as_array().expect("a series");
            let sum = |key: &str| -> u64 {
                seconds.iter().filter_map(|row| row["kinds"][kind][key].as_u64()).sum()
            };
            assert_eq!((sum("requests"), sum("ok")), (number(&operation["requests"]), ok));
            for times in ["service", "response", "lag"] {
                assert_eq!(operation[times]["samples"], operation["requests"], "{times}");
            }
            let each = stage["connections"]["ok"][kind].as_array().expect("one per connection");
            assert_eq!(each.iter().map(number).sum::<u64>(), ok);
        }
        assert_eq!(requests, number(&load["begun"]), "of stage {}", stage["name"]);
    }
}

/// The record's counts match the server's.
#[track_caller]
fn equals(run: &Finished, counted: &Counters) {
    let done = KINDS.map(|kind| run.sum(kind, "ok"));
    let served = [
        counted.documents_bulk,
        counted.documents_created,
        counted.documents_read,
        counted.documents_updated,
        counted.documents_deleted,
    ];
    assert_eq!(done, served);
    assert_eq!(run.sum("bulk_insert", "requests"), counted.bulk_requests);
}

#[test]
fn a_run_of_counts_is_what_the_server_counted() {
    let server = stand_in();
    let run = measure([
        "run",
        &server.url,
        "-c",
        "7",
        "--docs",
        "1001",
        "--batch",
        "40",
        "--ops",
        "2003",
        "--threads",
        "2",
    ])
    .passed();
    adds_up(&run);
    equals(&run, &counters(&server));
    assert_eq!(run.sum("bulk_insert", "ok"), 1001);
    // Largest remainder: 2003 in shares of 2, 3, 2, 1.
    let shares = ["create", "read", "update", "delete"].map(|kind| run.sum(kind, "ok"));
    assert_eq!(shares.iter().sum::<u64>(), 2003);
    assert_eq!(shares, [501, 751, 501, 250]);
    assert_eq!(number(&run.stage("crud")["load"]["planned"]), 2003);
    let answered = counters(&server);
    assert_eq!((answered.conflicts, answered.errors_other), (0, 0));
    assert_eq!((answered.databases_created, answered.databases_deleted), (1, 1));
}

#[test]
fn a_run_of_time_with_a_warm_up_is_what_the_server_counted() {
    let server = stand_in();
    let run = measure([
        "run",
        &server.url,
        "-c",
        "4",
        "--docs",
        "500",
        "-d",
        "300ms",
        "--warmup",
        "100ms",
    ])
    .passed();
    adds_up(&run);
    equals(&run, &counters(&server));
    let names: Vec<_> = run.stages().map(|stage| stage["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["bulk_insert", "warm_up", "crud"]);
}

#[test]
fn an_open_loop_is_what_the_server_counted() {
    let server = stand_in();
    let run =
        measure(["run", &server.url, "-c", "4", "--docs", "200", "--ops", "100", "--rate", "500"]);
    adds_up(&run);
    equals(&run, &counters(&server));
    let load = &run.stage("crud")["load"];
    assert_eq!((load["open"].as_bool(), number(&load["offered"])), (Some(true), 100));
}

#[test]
fn operations_wait_for_each_other_as_long_as_they_may() {
    let load = ["run", "basic", "-c", "20", "--docs", "100", "--mix", "read=1", "-d", "1s"];
    let run = measure(load.into_iter().chain(["--rate", "5000", "--slack", "1ms"]));
    // Half a millisecond on average; a busy machine adds to it.
    let lag_us = run.operation("crud", "read")["lag"]["p50_us"].as_f64().expect("a time");
    assert!(lag_us > 300.0, "{lag_us} µs late");
    assert_eq!(run.record["plan"]["stages"][1]["pace"]["slack_ns"], 1_000_000);
}

#[test]
fn shapes_with_a_part_left_out_do_just_the_rest() {
    for (arguments, bulk, [created, read, updated, deleted]) in [
        (&["--docs", "300", "--ops", "0"][..], 300, [0, 0, 0, 0]),
        (&["--docs", "0", "--ops", "60", "--mix", "create=1"], 0, [60, 0, 0, 0]),
        (&["--docs", "50", "--ops", "90", "--mix", "read=1"], 50, [0, 90, 0, 0]),
        (&["--docs", "50", "--ops", "50", "--mix", "delete=1"], 50, [0, 0, 0, 50]),
        (&["--docs", "50", "--ops", "80", "--mix", "update=1"], 50, [0, 0, 80, 0]),
    ] {
        let server = stand_in();
        let run = measure(["run", &server.url, "-c", "5"].iter().chain(arguments).copied());
        let run = run.passed();
        adds_up(&run);
        let counted = counters(&server);
        equals(&run, &counted);
        let expected = (bulk, created, read, updated, deleted);
        let found = (
            counted.documents_bulk,
            counted.documents_created,
            counted.documents_read,
            counted.documents_updated,
            counted.documents_deleted,
        );
        assert_eq!(found, expected, "{arguments:?}");
    }
}

#[test]
fn without_a_target_the_stand_in_is_measured_and_named() {
    let run = measure(["run", "--docs", "300", "--ops", "200", "-c", "5"]).passed();
    adds_up(&run);
    assert_eq!(run.record["server"]["stand_in"], true);
    assert!(run.stdout.contains("embedded stand-in, in this process"), "{}", run.stdout);
    let codes: Vec<_> =
        run.record["warnings"].as_array().unwrap().iter().map(|w| w["code"].clone()).collect();
    assert!(codes.contains(&"stand_in".into()), "{codes:?}");
}

#[test]
fn a_mix_at_a_rate_comes_out_exactly_on_any_number_of_threads() {
    let server = stand_in();
    let mix = Mix::crud([2, 3, 2, 1]);
    for threads in ["1", "2"] {
        let load = [
            "run",
            &server.url,
            "-c",
            "5",
            "--docs",
            "100",
            "--mix",
            "create=2,read=3,update=2,delete=1",
        ];
        let load = load.into_iter().chain(["--ops", "997", "--rate", "2000"]);
        let run = measure(load.chain(["--threads", threads])).passed();
        adds_up(&run);
        let done = ["create", "read", "update", "delete"].map(|kind| run.sum(kind, "issued"));
        let done = Mix::crud(done);
        assert_eq!(done, mix.split(997), "on {threads} threads");
    }
}

/// Responses of a proxy in front of CouchDB are counted, for the affected operation only.
#[test]
fn answers_that_ask_to_wait_are_counted() {
    let server = stand_in();
    let busy = |request: &Message| {
        let (method, path) = request.words();
        let reads = method == "GET" && path.trim_start_matches('/').contains('/');
        let head = "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 3\r\nAge: 9\r\n";
        (reads && !path.contains("/_"))
            .then(|| format!("{head}Content-Length: 2\r\n\r\n{{}}").into_bytes())
    };
    let proxy = Proxy::with_answers(&server.url, Box::new(busy));
    let words = ["run", &proxy.url, "--docs", "40", "-c", "2", "-n", "80", "--no-observe"];
    let run = measure([&words[..], &["--mix", "read=1,create=1"]].concat());
    let of = |kind, name: &str| number(&run.operation("crud", kind)[name]);
    let reads = of("read", "requests");
    assert_eq!(failures(&run.operation("crud", "read")), reads);
    assert!(reads > 20, "{}", run.stdout);
    assert_eq!((of("read", "retry_after"), of("read", "from_cache")), (reads, reads));
    assert!(run.operation("crud", "create")["retry_after"].is_null());
    let sentence = format!("{reads} of {reads} answers to read asked to wait");
    assert!(run.full_report().contains(&sentence), "{}", run.full_report());
}
