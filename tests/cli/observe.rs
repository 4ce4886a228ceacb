//! What springload finds out about a server beside the load, against a server whose own counts are
//! known: gaps, restarts, requests of others.

use crate::servers::Server;
use crate::springload::{Finished, Run, Running, measure, number};
use crate::victims::Victim;
use serde_json::Value;
use springload::embedded::Options;
use std::thread::sleep;
use std::time::Duration;

/// The only source of a run.
fn source(run: &Finished) -> &Value {
    let sources = run.record["observed"]["sources"].as_array().expect("sources");
    assert_eq!(sources.len(), 1, "{sources:?}");
    &sources[0]
}

/// A column of the only source: the time of each value, if there is one.
fn column(run: &Finished, name: &str) -> Vec<(f64, Option<f64>)> {
    let tables = source(run)["tables"].as_array().expect("tables");
    let found = tables.iter().find_map(|table| {
        let columns = table["columns"].as_array().expect("columns");
        Some((table, columns.iter().find(|it| it["name"] == name)?))
    });
    let (table, column) = found.unwrap_or_else(|| panic!("no {name} in {tables:?}"));
    let times = table["at_s"].as_array().expect("times").iter();
    let values = column["values"].as_array().expect("values").iter();
    times.zip(values).map(|(at, value)| (at.as_f64().expect("a time"), value.as_f64())).collect()
}

fn requests_served(run: &Finished) -> u64 {
    let methods = source(run)["served"]["methods"].as_object().expect("methods");
    methods.values().map(number).sum()
}

fn requests_sent(run: &Finished) -> u64 {
    let operations = run.stages().flat_map(|it| it["operations"].as_array().expect("a list"));
    operations.map(|it| number(&it["http_requests"])).sum()
}

#[test]
fn the_server_has_counted_the_same_requests() {
    let server = Server::stand_in(Options::default());
    let words = ["run", &server.url, "--docs", "400", "-d", "5s", "-c", "4"];
    let run = measure([&words[..], &["--mix", "create=1,read=3,update=1,delete=1"]].concat());
    assert_eq!(requests_served(&run), requests_sent(&run));
    let writes = column(&run, "document_writes_per_s");
    assert!(writes.iter().any(|(_, rate)| rate.is_some_and(|rate| rate > 0.0)), "{writes:?}");
    assert!(!run.stdout.contains("this server's requests"), "{}", run.stdout);
    let settings = &run.record["observed"]["settings"];
    assert_eq!(settings["cluster.q"], "1", "{settings}");
    let page = run.report("html").stdout;
    assert!(page.contains("the server has counted the same requests: "), "no count");
    assert!(page.contains("Server: documents"), "no chart");
}

#[test]
fn nothing_is_asked_if_nothing_is_to_be_observed() {
    let server = Server::stand_in(Options::default());
    let words = ["run", &server.url, "--docs", "20", "-n", "20", "-c", "2", "--no-observe"];
    let run = measure(words);
    assert!(run.record["observed"].is_null());
    assert!(!run.report("html").stdout.contains("The server meanwhile"));
    // Nor in springload's own process, where it would disturb what is measured.
    let run = measure(["run", "--docs", "20", "-n", "20", "-c", "2"]);
    assert!(run.record["observed"].is_null());
}

#[test]
fn requests_of_others_are_told() {
    let server = Server::stand_in(Options::default());
    let words = ["run", &server.url, "--docs", "40", "--mix", "read=1", "-c", "2", "-n", "900"];
    let run = Run::of(&[&words[..], &["-r", "300"]].concat()).start();
    sleep(Duration::from_millis(500));
    let others = ["run", &server.url, "--docs", "40", "--mix", "read=1", "-c", "2", "-n", "300"];
    let other = measure([&others[..], &["--no-observe"]].concat());
    let run = run.finish();
    // Beside its requests, it has opened and removed its database.
    let (sent, by_other) = (requests_sent(&run), requests_sent(&other));
    let told = requests_served(&run) - sent;
    assert!((by_other..=by_other + 10).contains(&told), "{told} of {by_other}");
    let share = told * 100 / requests_served(&run);
    let words = format!("{share} % of this server's requests were not this run's: {told} of ");
    let near = (share.saturating_sub(1)..=share + 1).any(|share| {
        run.told().contains(&format!("{share} % of this server's requests were not this run's"))
    });
    assert!(near, "no {words:?} in {}", run.stdout);
}

/// A run against a stand-in to which something is done after 2 s.
fn disturbed(disturb: impl FnOnce(&mut Victim)) -> Finished {
    let mut victim = Victim::stand_in();
    let target = victim.target("observed");
    let words = ["run", &target, "--docs", "40", "-d", "8s", "-r", "50", "-c", "4"];
    let more = ["--mix", "create=1", "--timeout", "1s", "--warmup", "0s", "--keep"];
    let run: Running = Run::of(&[&words[..], &more].concat()).start();
    sleep(Duration::from_secs(3));
    disturb(&mut victim);
    run.finish()
}

#[test]
fn a_server_that_stands_still_is_a_gap_and_the_run_goes_on() {
    let run = disturbed(|victim| {
        assert!(victim.freeze(true));
        sleep(Duration::from_millis(4_500));
        assert!(victim.freeze(false));
    });
    assert!(run.record["ended"].is_null(), "{}", run.stderr);
    let source = source(&run);
    assert!(number(&source["missed"]) >= 1, "{source}");
    let writes = column(&run, "document_writes_per_s");
    assert!(writes.iter().skip(1).any(|(_, rate)| rate.is_none()), "{writes:?}");
    assert!(writes.iter().filter_map(|(_, rate)| *rate).all(|rate| rate < 500.0), "{writes:?}");
    assert!(run.report("html").stdout.contains("no answer"), "not told");
}

#[test]
fn a_restart_is_no_negative_rate_and_no_spike() {
    let run = disturbed(|victim| {
        victim.kill();
        victim.start_again();
    });
    let restarts = source(&run)["restarts_s"].as_array().expect("restarts");
    assert_eq!(restarts.len(), 1, "{restarts:?}");
    let writes = column(&run, "document_writes_per_s");
    let rates = || writes.iter().filter_map(|(_, rate)| *rate);
    assert!(rates().all(|rate| (0.0..500.0).contains(&rate)), "{writes:?}");
    assert!(source(&run)["served"].is_null(), "its count began anew");
    assert!(run.report("html").stdout.contains("started again"), "not told");
}
