//! Whether a stage's numbers can be trusted.

use super::StageRecord;
use crate::measure::OperationSummary;
use serde::{Deserialize, Serialize};

/// A thread that computes, or waits for a processor, for this share of the time cannot be on
/// time.
const OCCUPIED: f64 = 0.95;
/// In an open loop a client must keep up with the clock, so it needs more spare time.
const OCCUPIED_OPEN: f64 = 0.80;
/// A closed loop whose client waited for a processor for this share of the time spent more of each
/// response time on that than on the server.
const WAITED: f64 = 0.50;
/// A client that waited this long cannot blame the server for what an open loop left undone.
const WAITED_OPEN: f64 = 0.20;
/// A closed loop whose client was paused for this share of the time, and for [`SHORT_S`], measured
/// itself.
const PAUSED: f64 = 0.05;
/// The share of operations that may fail by the server's fault before a stage counts as degraded.
const DEGRADED: f64 = 0.10;
/// The longest acceptable outage, in seconds ...
const OUTAGE_S: f64 = 1.0;
/// ... and as a share of the stage.
const OUTAGE_SHARE: f64 = 0.01;
/// The share of offered operations that may be left undone before a load is not sustained.
const LEFT_OVER: f64 = 0.005;
/// Operations begun later than this by the client's own fault spoil an open loop's latencies ...
const LATE_US: f64 = 1_000.0;
/// ... if that is at least this share of what was measured.
const LATE_SHARE: f64 = 0.10;
/// In less time than this, in seconds, CPU time reflects little but wake-ups and cold caches.
const SHORT_S: f64 = 0.1;

/// A stage's verdict: the first that applies, in this order.
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
    /// The server failed a large share of the operations, or all of them for a while.
    Degraded {
        /// The share of the operations that failed by the server's fault, 0 to 1.
        failed_share: f64,
        /// The total length of outages, in seconds.
        #[serde(default)]
        outage_s: f64,
    },
    /// Agents were lost, so part of the load was missing.
    AgentsLost {
        /// Those that were lost in this stage or before it.
        lost: usize,
        /// All agents of the run.
        agents: usize,
    },
    /// Less was served than was offered.
    NotSustained {
        /// Requests offered per second.
        offered_per_s: f64,
        /// Requests served per second.
        served_per_s: f64,
        /// Growth of what was waiting, in flight or dropped, per second.
        backlog_per_s: f64,
    },
    /// All that was offered was served.
    Sustained,
    /// A closed loop: the server set the pace.
    Closed,
    /// A closed loop that was too short to tell whether the client was the limit.
    TooShort,
}

/// What made the client the limit of a stage, as shares of its time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Hindrance {
    /// Its busiest thread computed.
    Computed(f64),
    /// A thread waited for a processor.
    Waited(f64),
    /// A thread was paused.
    Paused(f64),
    /// Operations of an open loop were begun late: the 99th percentile, in microseconds.
    Late(f64),
}

impl Hindrance {
    /// What made the client the limit of a stage, if it was.
    pub fn of(stage: &StageRecord) -> Option<Self> {
        let Verdict::ClientBound { busiest_thread: computed, late_p99_us } = stage.verdict else {
            return None;
        };
        let (client, open) = (&stage.client, stage.load.open);
        let waited = client.waited_thread;
        let (most_occupied, most_waited) =
            if open { (OCCUPIED_OPEN, WAITED_OPEN) } else { (OCCUPIED, WAITED) };
        let occupied = client.occupied_thread.max(computed);
        Some(match () {
            () if occupied <= most_occupied && waited <= most_waited => {
                if open {
                    Self::Late(late_p99_us)
                } else {
                    Self::Paused(client.paused_thread)
                }
            }
            () if computed >= waited => Self::Computed(computed),
            () => Self::Waited(waited),
        })
    }
}

impl Verdict {
    /// Judges a stage by its record. Without a server, springload itself is measured, and being
    /// the limit is no fault.
    pub fn of(stage: &StageRecord, without_server: bool) -> Self {
        let operations: Vec<_> = stage.requests().collect();
        if operations.is_empty() || stage.elapsed_s <= 0.0 {
            return Self::Empty;
        }
        if let Some(degraded) = degraded(stage, &operations) {
            return degraded;
        }
        let client = &stage.client;
        let late_p99_us = client.late_p99_us.unwrap_or(0.0);
        let client_bound = Self::ClientBound { busiest_thread: client.busiest_thread, late_p99_us };
        let occupied = client.occupied_thread.max(client.busiest_thread);
        let load = &stage.load;
        if !load.open {
            let paused_s = client.paused_thread * stage.rates_over_s();
            let paused = client.paused_thread > PAUSED && paused_s > SHORT_S;
            let bound = occupied > OCCUPIED || client.waited_thread > WAITED || paused;
            return match bound && !without_server {
                true if stage.elapsed_s < SHORT_S => Self::TooShort,
                true => client_bound,
                false => Self::Closed,
            };
        }
        let left = load.dropped + load.unsent;
        let sustained = (left as f64) <= load.offered as f64 * LEFT_OVER
            && load.backlog_growth_per_s <= load.offered_per_s * LEFT_OVER;
        let slowest = |o: &&OperationSummary| o.response.histogram.percentile(99.0) as f64 / 1e3;
        let response_us = operations.iter().map(slowest).fold(0.0, f64::max);
        let late = late_p99_us > LATE_US && late_p99_us > response_us * LATE_SHARE;
        let starved = occupied > OCCUPIED_OPEN || client.waited_thread > WAITED_OPEN;
        if (late || (starved && !sustained)) && !without_server {
            return client_bound;
        }
        if sustained {
            return Self::Sustained;
        }
        let per_s = |count: u64| count as f64 / stage.rates_over_s();
        Self::NotSustained {
            offered_per_s: load.offered_per_s,
            served_per_s: load.served_per_s,
            // What is unsent was due and not done: the growth has it in it, unless it is too
            // little to be told from chance.
            backlog_per_s: per_s(load.dropped) + per_s(load.unsent).max(load.backlog_growth_per_s),
        }
    }

    /// The same of a stage from which so many agents were lost: what would be trustworthy is not.
    pub(super) const fn with_lost(self, lost: usize, agents: usize) -> Self {
        if lost > 0 && self.trustworthy() { Self::AgentsLost { lost, agents } } else { self }
    }

    /// The name used in tables.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::ClientBound { .. } => "client_bound",
            Self::Degraded { .. } => "degraded",
            Self::AgentsLost { .. } => "agents_lost",
            Self::NotSustained { .. } => "not_sustained",
            Self::Sustained => "sustained",
            Self::Closed => "closed",
            Self::TooShort => "too_short",
        }
    }

    /// Whether the numbers can be trusted.
    pub const fn trustworthy(&self) -> bool {
        matches!(self, Self::Sustained | Self::Closed | Self::TooShort)
    }
}

/// Whether the server failed, by the share of operations or by the time.
fn degraded(stage: &StageRecord, operations: &[&OperationSummary]) -> Option<Verdict> {
    let by_server = |o: &&OperationSummary| -> u64 {
        o.failures.iter().filter(|(class, _)| class.by_server()).map(|(_, count)| count).sum()
    };
    let unsolicited: u64 = operations.iter().map(|o| o.wire.unsolicited).sum();
    let failed = operations.iter().map(by_server).sum::<u64>() + unsolicited;
    let issued: u64 = operations.iter().map(|o| o.issued).sum();
    let failed_share = failed as f64 / issued.max(1) as f64;
    let outage_s = stage.outage.total_s;
    let away = outage_s > OUTAGE_S || outage_s > stage.rates_over_s() * OUTAGE_SHARE;
    (failed_share > DEGRADED || away).then_some(Verdict::Degraded { failed_share, outage_s })
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
