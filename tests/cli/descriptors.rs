//! Limits on open files: raised where that is allowed, and told where they do not suffice.

use crate::servers::Server;
use crate::springload::{Finished, failures, measure_after};
use springload::embedded::Options;

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
        // As many as it asks for are enough.
        all_connected(run(cure, target));
    }
}
