//! The claims, in the numbering of `docs/selftest.md`.

use super::harness::Broken;
use super::noise::{self, Bears, NoiseWatch};
use super::{Finding, Length, Measured, merge, replay, shapes};

/// One claim, and how it is measured.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::struct_field_names, reason = "what is claimed has no other name")]
pub struct Claim {
    /// Its name, such as `T1 pause`.
    pub name: &'static str,
    /// What is claimed.
    pub claim: &'static str,
    /// The noise that it is sensitive to. `None` for a claim about counts, which noise cannot
    /// change.
    bears: Option<Bears>,
    measure: Measure,
}

type Measure = fn(Length) -> Result<Measured, Broken>;

impl Claim {
    /// A claim about times.
    const fn timed(
        name: &'static str,
        bears: Bears,
        measure: Measure,
        claim: &'static str,
    ) -> Self {
        Self { name, claim, bears: Some(bears), measure }
    }

    /// A claim about counts.
    const fn counted(name: &'static str, measure: Measure, claim: &'static str) -> Self {
        Self { name, claim, bears: None, measure }
    }

    /// Measures the claim, again if the machine may be the reason for a failure.
    pub fn measure(&self, length: Length) -> Finding {
        Finding::settle(self.bears, || {
            let watch = NoiseWatch::start();
            let measured = (self.measure)(length);
            (measured.map_err(|broken| broken.to_string()), watch.finish())
        })
    }
}

/// Every claim, in order.
pub const CLAIMS: [Claim; 12] = [
    Claim::timed(
        "T1 pause",
        noise::PAUSE,
        shapes::pause,
        "server frozen for 2 % of the run: p99 half the pause, p99.5 three quarters, \
                max all of it, ± 2 % or 5 ms; service p99 under 5 ms",
    ),
    Claim::timed(
        "T2 schedule",
        noise::SCHEDULE,
        shapes::schedule,
        "achieved within 0.1 %; begun late by its own fault p99 ≤ 100 µs, from 10,000/s on \
                p99.9 ≤ 1 ms; Poisson gaps vary as an exponential, ± 0.02",
    ),
    Claim::timed(
        "T3 latency",
        noise::TAIL,
        shapes::latency,
        "p50, p99, p99.9 within 100 µs or 1 % of the server's own log and what the path \
                takes without delays, for three laws",
    ),
    Claim::timed(
        "T4 capacity",
        noise::MEDIAN,
        shapes::capacity,
        "at half of capacity, p50 at most 50 µs above one request at a time",
    ),
    Claim::counted(
        "T5 conservation",
        shapes::conservation,
        "offered = ok + failed + unfinished + dropped + unsent, and the server's count",
    ),
    Claim::timed(
        "T6 Little",
        noise::MEAN,
        shapes::little,
        "mean in flight = throughput × mean service time within 1 %",
    ),
    Claim::counted(
        "T7 end of run",
        shapes::end_of_run,
        "1 % of answers held back: none lost, p99.5 at least that long",
    ),
    Claim::counted(
        "T8 merge",
        merge::merge,
        "histograms of parts merge to the bits of the whole; percentiles ascend",
    ),
    Claim::timed(
        "T9 overload",
        noise::MEAN,
        shapes::overload,
        "at twice the capacity: \"not sustained\", backlog growth within 2 % of the schedule \
                less the server's count",
    ),
    Claim::timed(
        "T10 client bound",
        noise::STARVED,
        shapes::client_bound,
        "a starved client says that it is",
    ),
    Claim::counted(
        "T11 timeouts",
        shapes::timeouts,
        "each request without an answer has a time, at least the timeout",
    ),
    Claim::counted(
        "T15 replay",
        replay::replay,
        "same seed, any number of threads: the same operations by SHA-256",
    ),
];
