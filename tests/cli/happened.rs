//! The report about a server that froze for a moment.

use serde_json::Value;
use springload::embedded::{Faults, Options, Stall};

use crate::servers::Server;
use crate::springload::{Finished, measure};

const MS: u64 = 1_000_000;

/// A server that stops for this long, in milliseconds, one second after the first request.
fn stalling(for_ms: u64) -> Server {
    let stall = Stall { at_ns: 1_000 * MS, for_ns: for_ms * MS, every_ns: None };
    let faults = Faults { stalls: vec![stall], ..Faults::default() };
    Server::stand_in(Options { faults, ..Options::default() })
}

/// The longest silence in the record: its start and its length, in seconds.
fn longest(run: &Finished) -> (f64, f64) {
    let silences = run.stage("crud")["silences"].as_array().cloned().unwrap_or_default();
    let seconds = |span: &Value, key: &str| span[key].as_f64().expect("seconds");
    let spans = silences.iter().map(|span| (seconds(span, "from_s"), seconds(span, "length_s")));
    spans.max_by(|one, two| one.1.total_cmp(&two.1)).unwrap_or_default()
}

#[test]
fn a_silence_is_reported_with_its_time_and_its_length() {
    // Two threads, an open loop of few operations, and two processes.
    for more in [&["-t", "2"][..], &["--rate", "40"], &["--agents", "2"]] {
        let server = stalling(800);
        let fixed = ["run", &server.url, "--docs", "40", "-d", "3s", "-c", "8"];
        let run = measure(fixed.iter().chain(more).copied());
        let (from_s, length_s) = longest(&run);
        // On a busy machine the first request may be long before the stage, or be sent late, or a
        // response be late.
        assert!((0.5..1.3).contains(&length_s), "{more:?}: {length_s} s");
        assert!((0.0..1.3).contains(&from_s), "{more:?}: from {from_s} s on");
        let report = run.report("text").stdout;
        let line = report.lines().find(|line| line.contains("s: no answer for "));
        let line = line.unwrap_or_else(|| panic!("{more:?}: {report}"));
        assert!(line.trim_start_matches("  ! ").starts_with(&format!("{from_s:.1} s: ")), "{line}");
    }
}

#[test]
fn a_server_that_always_answers_is_not_silent() {
    let server = Server::stand_in(Options::default());
    let fixed = ["run", &server.url, "--docs", "40", "-d", "3s", "-c", "2"];
    // A few operations per second: between two of them nothing is due.
    let run = measure(fixed.into_iter().chain(["--rate", "3"]));
    let (_, length_s) = longest(&run);
    assert!(length_s < 0.3, "{length_s} s");
}
