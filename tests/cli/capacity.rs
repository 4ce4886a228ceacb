//! A stand-in with a capacity: a closed loop gets it, and never more.

use crate::servers::Server;
use crate::springload::{measure, number};
use springload::embedded::{Faults, Mode, Options};

const RATE: f64 = 400.0;

/// The rate of a closed loop with this many connections, in operations per second.
fn reached(mode: Mode, connections: &str) -> f64 {
    let faults = Faults { capacity: Some(RATE), ..Faults::default() };
    let server = Server::stand_in(Options { mode, faults, threads: 2, ..Options::default() });
    let words = ["run", &server.url, "--docs", "640", "--batch", "10", "-c", connections];
    let run = measure([&words[..], &["--ops", "800", "--warmup", "0s"]].concat());
    let stage = run.stage("crud");
    let operations = stage["operations"].as_array().expect("operations");
    let ok: u64 = operations.iter().map(|it| number(&it["ok"])).sum();
    assert_eq!(ok, 800, "{}", run.stderr);
    800.0 / stage["elapsed_s"].as_f64().expect("a time")
}

#[test]
fn a_closed_loop_gets_the_capacity_and_never_more() {
    for (mode, connections) in [(Mode::Couch, "8"), (Mode::Null, "8"), (Mode::Couch, "16")] {
        let rate = reached(mode, connections);
        // On a busy machine all connections may be late at once; the upper bound is strict.
        assert!((RATE * 0.25..=RATE * 1.0001).contains(&rate), "{mode:?} {connections}: {rate}");
    }
}
