//! The claims, in the numbering of `docs/selftest.md`.

use super::Finding;
use super::harness::Broken;
use super::{merge, replay, shapes};

/// How long a self-test may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// Under three minutes.
    Full,
    /// Under thirty seconds: the same claims on shorter runs.
    Quick,
}

impl Length {
    /// One of two values.
    pub(super) const fn pick<T: Copy>(self, full: T, quick: T) -> T {
        match self {
            Self::Full => full,
            Self::Quick => quick,
        }
    }
}

/// One claim, and how it is measured.
#[derive(Clone, Copy, Debug)]
pub struct Claim {
    /// Its name, such as `T1 pause`.
    pub name: &'static str,
    /// What is claimed.
    pub claim: &'static str,
    measure: fn(Length) -> Result<Finding, Broken>,
}

impl Claim {
    /// Measures it.
    pub fn measure(&self, length: Length) -> Finding {
        (self.measure)(length)
            .unwrap_or_else(|broken| Finding::new(false, format!("not measured: {broken}")))
    }
}

/// Every claim, in order.
pub const fn claims() -> [Claim; 12] {
    [
        Claim {
            name: "T1 pause",
            claim: "server frozen for 2 % of the run: p99 half the pause, p99.5 three quarters, \
                    max all of it, ± 2 % or 5 ms; service p99 under 5 ms",
            measure: shapes::pause,
        },
        Claim {
            name: "T2 schedule",
            claim: "achieved within 0.1 %; begun late by its own fault p99 ≤ 100 µs, p99.9 ≤ 1 ms; \
                    Poisson gaps vary as an exponential, ± 0.02",
            measure: shapes::schedule,
        },
        Claim {
            name: "T3 latency",
            claim: "p50, p99, p99.9 within 100 µs or 1 % of the server's own log and what the path \
                    takes without delays, for three laws",
            measure: shapes::latency,
        },
        Claim {
            name: "T4 capacity",
            claim: "at half of capacity, p50 at most 50 µs above one request at a time",
            measure: shapes::capacity,
        },
        Claim {
            name: "T5 conservation",
            claim: "offered = ok + failed + unfinished + dropped + unsent, and the server's count",
            measure: shapes::conservation,
        },
        Claim {
            name: "T6 Little",
            claim: "mean in flight = throughput × mean service time within 1 %",
            measure: shapes::little,
        },
        Claim {
            name: "T7 end of run",
            claim: "1 % of answers held back: none lost, p99.5 at least that long",
            measure: shapes::end_of_run,
        },
        Claim {
            name: "T8 merge",
            claim: "histograms of parts merge to the bits of the whole; percentiles ascend",
            measure: merge::merge,
        },
        Claim {
            name: "T9 overload",
            claim: "at twice the capacity: \"not sustained\", backlog growth within 2 %",
            measure: shapes::overload,
        },
        Claim {
            name: "T10 client bound",
            claim: "a starved client calls its own result not valid",
            measure: shapes::client_bound,
        },
        Claim {
            name: "T11 time-outs",
            claim: "answers that never come each have their time, at the time-out or above",
            measure: shapes::timeouts,
        },
        Claim {
            name: "T15 replay",
            claim: "same seed, other thread counts: the same operations by SHA-256",
            measure: replay::replay,
        },
    ]
}
