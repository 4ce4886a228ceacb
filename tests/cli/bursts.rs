//! Bursts: the record and the files match the server's counts.

use springload::embedded::{Fault, Faults, Occurrence, Options};

use crate::proxy::Proxy;
use crate::servers::Server;
use crate::springload::{Finished, failures, measure, number};

fn stand_in() -> Server {
    Server::stand_in(Options::default())
}

/// The rows of one of the original's tables.
fn rows(run: &Finished, name: &str) -> Vec<(u64, f64)> {
    let text = std::fs::read_to_string(run.output().join("csv").join(name)).expect("a table");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("interval_sec,num_actions"));
    let row = |line: &str| {
        let (second, value) = line.split_once(',').expect("two columns");
        (second.parse().expect("a second"), value.parse().expect("a number"))
    };
    lines.map(row).collect()
}

#[test]
fn the_tables_of_the_original_add_up_to_what_the_server_counted() {
    let server = stand_in();
    let counters = || server.as_stand_in().expect("a stand-in").counters();
    let run = measure(["bm-couchdb", "-n", "50", "-t", "2", "-s", "250", &server.url]).passed();
    let counted = counters();
    let sums = rows(&run, "couchdb_50writers_2sec_250bytes_sum.csv");
    let sum: f64 = sums.iter().map(|row| row.1).sum();
    assert_eq!(sum as u64, counted.documents_created + counted.documents_updated);
    assert_eq!((counted.documents_created, counted.conflicts), (50, 0));
    assert!(run.stdout.contains(&format!("Total writes: {sum}\n")), "{}", run.stdout);
    assert!(run.stdout.contains("2 (partial)"), "{}", run.stdout);
    assert!(run.stdout.contains("start: 50 workers within "), "{}", run.stdout);
    for kind in ["sum", "average"] {
        let name = format!("plots/couchdb_50writers_2sec_250bytes_{kind}.png");
        let plot = std::fs::read(run.output().join(name)).expect("a plot");
        assert!(plot.starts_with(b"\x89PNG\r\n\x1a\n"));
    }
    let averages = rows(&run, "couchdb_50writers_2sec_250bytes_average.csv");
    let scaled: Vec<_> = averages.iter().map(|row| (row.0, (row.1 * 50.0).round())).collect();
    assert_eq!(scaled, sums);
    let run = measure(["bm-couchdb", "-n", "20", "-t", "1", "--read", &server.url]).passed();
    let reads: f64 =
        rows(&run, "couchdb_20readers_1sec_10bytes_sum.csv").iter().map(|row| row.1).sum();
    assert_eq!(reads as u64, counters().documents_read);
    assert!(run.stdout.contains("Total reads: "), "{}", run.stdout);
}

/// A writer reads its document after a write that failed.
#[test]
fn reads_after_failed_writes_are_not_counted_as_writes() {
    let fault = Fault::named("status-500").expect("a fault");
    let occurrence = Occurrence { fault, fraction: 0.1, from_ns: 0, until_ns: None };
    let faults = Faults { named: vec![occurrence], ..Faults::default() };
    let server = Server::stand_in(Options { faults, ..Options::default() });
    let run = measure(["bm-couchdb", "-n", "10", "-t", "1", &server.url]);
    let ok = |kind| number(&run.operation("burst_write", kind)["ok"]);
    assert!(ok("read") > 0, "{}", run.stdout);
    let writes = ok("create") + ok("update");
    let sums = rows(&run, "couchdb_10writers_1sec_10bytes_sum.csv");
    assert_eq!(sums.iter().map(|row| row.1).sum::<f64>() as u64, writes);
    assert!(run.stdout.contains(&format!("Total writes: {writes}\n")), "{}", run.stdout);
}

#[test]
fn a_conditional_reader_is_told_that_nothing_has_changed() {
    let server = stand_in();
    let proxy = Proxy::to(&server.url);
    let words = ["bm-couchdb", "-n", "3", "-t", "1", "--read", "--conditional", &proxy.url];
    let run = measure(words).passed();
    let read = run.operation("burst_read", "read");
    let statuses = &read["statuses"];
    assert_eq!((statuses["200"].as_u64(), failures(&read)), (Some(3), 0), "{read}");
    assert_eq!(number(&statuses["304"]) + 3, number(&read["ok"]));
    let line = format!("status 304, not modified: {}\n", statuses["304"]);
    assert!(run.stdout.contains(&line), "{}", run.stdout);
    let table =
        std::fs::read_to_string(run.output().join("csv/couchdb_3readers_1sec_10bytes_average.csv"));
    let table = table.expect("a table");
    assert!(table.lines().skip(1).all(|line| line.contains('.')), "{table}");
    // Without the header none is sent, and every response is the document.
    let run = measure(["bm-couchdb", "-n", "3", "-t", "1", "--read", &server.url]).passed();
    assert!(run.operation("burst_read", "read")["statuses"].is_null());
    assert!(!run.stdout.contains("status 304"), "{}", run.stdout);
    let words = ["bm-couchdb", "--conditional", &server.url];
    measure(words).refused(2, &["--conditional: there are no reads"]);
}

#[test]
fn bursts_of_both_roles_repeat_at_their_times() {
    let arguments =
        ["burst", "-c", "20", "-d", "300ms", "--both", "--repeat", "2", "--every", "1s"];
    let run = measure(arguments).passed();
    let names: Vec<_> = run.stages().map(|stage| stage["name"].clone()).collect();
    assert_eq!(names, ["burst_write", "burst_read", "burst_write_2", "burst_read_2"]);
    let began = |name| run.stage(name)["began_s"].as_f64().expect("a time");
    let apart = began("burst_write_2") - began("burst_write");
    assert!((0.6..2.0).contains(&apart), "{apart}");
    for stage in run.stages() {
        assert_eq!(number(&stage["start"]["workers"]), 20);
        assert_eq!(number(&stage["start"]["late"]), 0);
        let [first, p50, p99, last] = ["first_us", "p50_us", "p99_us", "last_us"]
            .map(|key| stage["start"][key].as_f64().expect("a time"));
        assert!(first <= p50 && p50 <= p99 && p99 <= last, "{stage}");
    }
    assert_eq!(number(&run.operation("burst_write", "create")["ok"]), 20);
    assert!(run.operation("burst_write_2", "create").is_null());
}

#[test]
fn sizes_are_of_the_string_or_of_the_body_on_the_wire() {
    let server = stand_in();
    for (wire, body) in [(false, "zeros"), (true, "random")] {
        let proxy = Proxy::to(&server.url);
        let mut arguments = vec!["burst", &proxy.url, "-c3", "-d200ms", "-s300", "--body", body];
        arguments.extend(wire.then_some("--wire-size"));
        measure(arguments).passed();
        let exchanges = proxy.exchanges();
        let writes: Vec<_> = exchanges
            .iter()
            .filter(|it| it.method == "PUT" && !it.body.is_empty())
            .map(|it| {
                let document: serde_json::Value = serde_json::from_slice(&it.body).expect("JSON");
                (it.body.len(), document["body"].as_str().expect("a body").to_owned())
            })
            .collect();
        assert!(writes.len() > 6, "each worker writes more than once");
        for (bytes, text) in &writes {
            assert_eq!(if wire { *bytes } else { text.len() }, 300);
            assert_eq!(!wire, text.bytes().all(|byte| byte == b'0'));
        }
    }
}

#[test]
fn a_burst_at_a_rate_offers_that_rate() {
    let run = measure(["burst", "-c", "10", "-d", "1s", "--read", "--rate", "200"]).passed();
    assert_eq!(number(&run.stage("burst_read")["load"]["offered"]), 200);
    assert_eq!(number(&run.operation("burst_prepare", "create")["ok"]), 10);
}

#[test]
fn what_no_burst_can_be_is_refused() {
    let run = measure(["burst", "-c", "2", "-s", "20", "--wire-size"]);
    run.refused(2, &["--size: 20 is out of range", "from 80"]);
    let run = measure(["burst", "-c", "0", "-d", "0s"]);
    assert_eq!(run.code, 2);
    let flags: Vec<_> = run.stderr.lines().filter_map(|line| line.split(": ").nth(1)).collect();
    assert_eq!(flags, ["--connections", "--duration"], "{}", run.stderr);
}

#[test]
fn mistakes_name_the_flags_of_their_dialect() {
    let flags = |words: &[&str]| {
        let run = measure(words.iter().copied());
        assert_eq!(run.code, 2, "{}", run.stderr);
        let flag = |line: &str| line.split(": ").nth(1).map(str::to_owned);
        run.stderr.lines().filter_map(flag).collect::<Vec<_>>()
    };
    let large = "1000000000";
    assert_eq!(flags(&["bm-couchdb", "-n", "0", "-s", large, "-t", "0"]), ["-n", "-s", "-t"]);
    let native = ["burst", "-c", "0", "-s", large, "--repeat", "0", "-d", "0s"];
    assert_eq!(flags(&native), ["--connections", "--size", "--repeat", "--duration"]);
}
