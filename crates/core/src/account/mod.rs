//! One account of blame: which part of a stage's time, its operations and its response times is due
//! to the client, the server, the network or none of them, and what follows for its numbers.
//!
//! Verdict, headline, thresholds and searches all read it; none of them judges on its own.
//! `docs/load-shapes.md` has the table of cases that the tests check.

mod facts;
mod trust;
mod verdict;

pub use facts::{Facts, LoadFacts, ThreadFacts, silence_ns};
pub use trust::{Range, Sureness, Trust};
pub use verdict::{Hindrance, Verdict};

use crate::measure::{Histogram, Spans};
use serde::{Deserialize, Serialize};

/// Which lost time and failed requests of one stage are due to the client, the server, the network
/// or none of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Account {
    /// The stage's time, divided by who was at fault for losing it.
    pub time: TimeShares,
    /// The requests that were due, by what became of them.
    pub requests: RequestShares,
    /// The share of all response times that is due to the client, 0 to 1.
    #[cfg_attr(feature = "schema", schemars(range(max = 1)))]
    pub client_share: f64,
    /// The median response time of all requests, in microseconds: without what the client may have
    /// added, and as measured. The true value lies in between.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_us: Option<Range>,
    /// The 99th percentile, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_us: Option<Range>,
    /// The 90th percentile, likewise, if there are too few requests for the 99th.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p90_us: Option<Range>,
    /// How long responses waited to be read, in microseconds: the mean and the 99th percentile.
    /// Only for responses that are timed when they are read.
    #[serde(default)]
    pub reading_us: Reading,
    /// The share of the requests counted by the server during the whole run that came from other
    /// clients, 0 to 1. What they cost the run is not attributed to anyone. Absent if there were
    /// too few to matter, or if their number is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(max = 1)))]
    pub others_share: Option<f64>,
    /// How far the numbers can be relied on.
    pub trust: Trust,
}

/// How long responses waited to be read because springload had no processor, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reading {
    /// The mean.
    pub mean: f64,
    /// The 99th percentile.
    pub p99: f64,
}

impl Reading {
    /// The most it can contribute to a percentile. Half of the answers waited no longer than twice
    /// the mean, however waits are distributed (Markov's inequality).
    pub const fn at(&self, percentile: f64) -> f64 {
        if percentile > 90.0 { self.mean.max(self.p99) } else { self.mean * 2.0 }
    }
}

/// The time of a stage, in seconds, divided by who was at fault for losing it. The four parts add
/// up to the stage's length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[allow(clippy::struct_field_names, reason = "units come last in names")]
pub struct TimeShares {
    /// Time in which a load thread stood still while operations were due or responses were waiting
    /// to be read.
    pub client_s: f64,
    /// Time in which the server failed all operations, or answered none.
    pub server_s: f64,
    /// Time in which the server could not be reached.
    pub network_s: f64,
    /// All other time.
    pub nobody_s: f64,
}

/// The requests that were due, by what became of them. `due` is the sum of all others except
/// `late`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RequestShares {
    /// Requests that were due.
    pub due: u64,
    /// Requests that succeeded at least in part.
    pub served: u64,
    /// Requests, whether they succeeded or failed, that the client delayed by a millisecond or
    /// more.
    pub late: u64,
    /// Requests that the client did not carry out.
    pub client: u64,
    /// Requests that the server failed or could not keep up with.
    pub server: u64,
    /// Requests for which the server could not be reached.
    pub network: u64,
    /// Requests that failed because of what they asked for, such as conflicts, or that had no
    /// response when the run was stopped.
    pub nobody: u64,
}

impl Account {
    /// Draws up the account of a stage.
    pub fn of(facts: &Facts) -> Self {
        let (p50_us, p99_us) = (Range::of(facts, 50.0), Range::of(facts, 99.0));
        let mut account = Self {
            time: facts.time(),
            requests: facts.requests(),
            client_share: facts.client_share(),
            p50_us,
            p99_us,
            p90_us: Range::of(facts, 90.0).filter(|_| p99_us.is_none()),
            reading_us: facts.threads.reading_us,
            others_share: None,
            trust: Trust::default(),
        };
        account.trust = Trust::of(facts, &account);
        account
    }
}

/// The sum of response times, in nanoseconds.
fn sum_ns(times: &Histogram) -> f64 {
    times.mean() * times.len() as f64
}

/// The length of the spans in seconds, as far as they are within the stage.
fn within_s(spans: &Spans, stage: &Spans) -> f64 {
    spans.common(stage).total_ns() as f64 / 1e9
}

#[cfg(test)]
mod tests;
