//! Whether a stage's numbers can be believed.

use super::{ClientRecord, LoadRecord};
use crate::measure::OperationSummary;
use crate::op::Failure;
use serde::{Deserialize, Serialize};

/// A thread that computes this share of the time has no room to be on time.
const BUSY: f64 = 0.95;
/// In an open loop a client must keep up with the clock, which takes more room.
const BUSY_OPEN: f64 = 0.80;
/// The share of operations that may fail by the server's fault before a stage counts as degraded.
const DEGRADED: f64 = 0.10;
/// The share of offered operations that may be left over before a load counts as not sustained.
const LEFT_OVER: f64 = 0.005;
/// Operations begun later than this by the client's own fault spoil an open loop's latencies ...
const LATE_US: f64 = 1_000.0;
/// ... if that is at least this share of what was measured.
const LATE_SHARE: f64 = 0.10;

/// A stage's verdict. The first that applies, worst first.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Verdict {
    /// Nothing was measured.
    Empty,
    /// springload, not the server, was the limit.
    ClientBound {
        /// The share of the stage that the busiest thread was computing.
        busiest_thread: f64,
        /// How late operations were begun by the client's own fault, 99th percentile.
        late_p99_us: f64,
    },
    /// A large part of the operations failed by the server's fault.
    Degraded {
        /// The share that did, 0 to 1.
        failed_share: f64,
    },
    /// Less was served than was offered.
    NotSustained {
        /// Requests offered per second.
        offered_per_s: f64,
        /// Requests served per second.
        served_per_s: f64,
        /// Growth of what was waiting or dropped, per second.
        backlog_per_s: f64,
    },
    /// All that was offered was served.
    Sustained,
    /// A closed loop: the server set the pace.
    Closed,
}

impl Verdict {
    /// Judges a stage in which operations fell due for `elapsed_s` seconds.
    pub fn of(
        load: &LoadRecord,
        client: &ClientRecord,
        operations: &[OperationSummary],
        elapsed_s: f64,
    ) -> Self {
        let operations: Vec<_> = operations.iter().filter(|it| it.kind.is_request()).collect();
        if operations.is_empty() || elapsed_s <= 0.0 {
            return Self::Empty;
        }
        let failures = operations.iter().flat_map(|o| &o.failures).filter_map(by_server);
        let unsolicited = operations.iter().map(|o| o.unsolicited);
        let failed: u64 = failures.chain(unsolicited).sum();
        let issued: u64 = operations.iter().map(|o| o.issued).sum();
        let failed_share = failed as f64 / issued.max(1) as f64;
        if failed_share > DEGRADED {
            return Self::Degraded { failed_share };
        }
        let busiest_thread = client.busiest_thread;
        let late_p99_us = client.late_p99_us.unwrap_or(0.0);
        let client_bound = Self::ClientBound { busiest_thread, late_p99_us };
        if !load.open {
            return if busiest_thread > BUSY { client_bound } else { Self::Closed };
        }
        let left = load.dropped + load.unsent;
        let sustained = (left as f64) <= load.offered as f64 * LEFT_OVER;
        let response = operations.iter().filter_map(|o| o.response.p99_us).fold(0.0, f64::max);
        let late = late_p99_us > LATE_US && late_p99_us > response * LATE_SHARE;
        if late || (busiest_thread > BUSY_OPEN && !sustained) {
            return client_bound;
        }
        if sustained {
            return Self::Sustained;
        }
        Self::NotSustained {
            offered_per_s: load.offered_per_s,
            served_per_s: load.served_per_s,
            backlog_per_s: left as f64 / elapsed_s,
        }
    }

    /// The name used in tables.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::ClientBound { .. } => "client_bound",
            Self::Degraded { .. } => "degraded",
            Self::NotSustained { .. } => "not_sustained",
            Self::Sustained => "sustained",
            Self::Closed => "closed",
        }
    }

    /// Whether the numbers mean what they say.
    pub const fn trustworthy(&self) -> bool {
        matches!(self, Self::Sustained | Self::Closed)
    }
}

/// Failures that say that the server could not serve, not that the request could not be met.
fn by_server((class, count): (&Failure, &u64)) -> Option<u64> {
    use Failure::{Connect, Protocol, Reset, ServerError, Timeout, TooManyRequests, Unanswered};
    matches!(
        class,
        Connect | Protocol | Reset | ServerError | Timeout | TooManyRequests | Unanswered
    )
    .then_some(*count)
}
