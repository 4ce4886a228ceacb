//! The conclusion about a stage: one verdict, from its account.

use super::facts::{Facts, LoadFacts};
use super::{Account, Sureness};
use serde::{Deserialize, Serialize};

/// The share of operations that may fail because of the server before a stage counts as degraded.
const DEGRADED: f64 = 0.10;
/// How long the server may be away, in seconds ...
const AWAY_S: f64 = 1.0;
/// ... and as a share of the stage.
const AWAY_SHARE: f64 = 0.01;
/// From this length on, in seconds, an outage is more telling than the share of failed operations.
const LONG_OUTAGE_S: f64 = 0.1;
/// The share of offered operations that may be left undone before a load is not sustained.
const LEFT_OVER: f64 = 0.005;
/// Over less time than this, in seconds, CPU time reflects little but wake-ups and cold caches.
const SHORT_S: f64 = 0.1;

/// A stage's verdict: the first of these that applies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Verdict {
    /// Nothing was measured.
    Empty,
    /// springload, not the server, was the limit.
    ClientBound {
        /// The share of the stage that the busiest thread spent computing, 0 to 1.
        busiest_thread: f64,
        /// How late the client started operations through its own fault, in microseconds: the 99th
        /// percentile.
        late_p99_us: f64,
        /// What made springload the limit.
        #[serde(default)]
        by: Hindrance,
    },
    /// The server failed a large share of the operations; or, for a while, it failed all of them or
    /// answered none.
    Degraded {
        /// The share of the operations that failed because of the server, 0 to 1.
        #[cfg_attr(feature = "schema", schemars(range(max = 1)))]
        failed_share: f64,
        /// The total length of outages, in seconds.
        #[serde(default)]
        outage_s: f64,
    },
    /// Agents were lost, so part of the load was missing.
    AgentsLost {
        /// The number of agents lost in this stage or before it.
        #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
        lost: usize,
        /// The number of agents of the run.
        #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
        agents: usize,
    },
    /// The server did not keep up: fewer requests were served than offered.
    NotSustained {
        /// Requests offered per second.
        offered_per_s: f64,
        /// Requests served per second.
        served_per_s: f64,
        /// How much the number of requests waiting, in flight or dropped grew per second.
        backlog_per_s: f64,
    },
    /// Fewer requests were served than offered, because there were too few connections. This says
    /// nothing about the server.
    BoundByConnections {
        /// The number of connections in use.
        #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
        connections: u64,
        /// Approximately how many were needed.
        #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
        needed: u64,
    },
    /// Everything offered was served.
    Sustained,
    /// A closed loop: the server set the pace.
    Closed,
    /// Something was broken on purpose: look at the figures of each phase instead.
    Drilled,
    /// A closed loop that was too short to show whether the client was the limit.
    TooShort,
    /// The stage had not ended when this was written, so what springload lost is not known.
    Unfinished,
}

/// What made the client the limit of a stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "what", content = "how_much", rename_all = "snake_case")]
pub enum Hindrance {
    /// Unknown, as in older records.
    #[default]
    Unknown,
    /// Its busiest thread was computing for this share of the time, 0 to 1.
    Computed(f64),
    /// A thread waited for a processor for this share of the time, 0 to 1.
    Waited(f64),
    /// The client's share of all response times, 0 to 1: responses had arrived but were not read.
    Held(f64),
    /// Operations of an open loop were started late: the 99th percentile, in microseconds.
    Late(f64),
}

impl Hindrance {
    fn of(facts: &Facts, account: &Account) -> Self {
        let threads = &facts.threads;
        let unknown = account.trust.throughput == Sureness::Unknown;
        let saturated = unknown && threads.are_saturated(facts.load.open);
        match () {
            () if saturated && threads.busiest >= threads.waited => Self::Computed(threads.busiest),
            () if saturated => Self::Waited(threads.waited),
            () if facts.load.open => Self::Late(threads.late_p99_us),
            () => Self::Held(account.client_share),
        }
    }
}

impl LoadFacts {
    /// Whether nearly everything that was due was served, unless the client left it undone.
    pub fn is_sustained(&self) -> bool {
        let left = (self.dropped + self.unsent).saturating_sub(self.unsent_by_client);
        left as f64 <= self.offered as f64 * LEFT_OVER
            && self.growth_per_s <= self.offered_per_s * LEFT_OVER
    }
}

impl Verdict {
    /// Judges a stage by its facts and its account.
    pub fn of(facts: &Facts, account: &Account) -> Self {
        if facts.is_empty() {
            return Self::Empty;
        }
        if let Some(degraded) = degraded(facts) {
            return degraded;
        }
        let (open, trust) = (facts.load.open, account.trust);
        let bound =
            trust.throughput == Sureness::Unknown || open && trust.latency == Sureness::Unknown;
        match bound {
            true if !open && facts.elapsed_s < SHORT_S => Self::TooShort,
            true => Self::ClientBound {
                busiest_thread: facts.threads.busiest,
                late_p99_us: facts.threads.late_p99_us,
                by: Hindrance::of(facts, account),
            },
            false if !open => Self::Closed,
            false if facts.load.is_sustained() => Self::Sustained,
            false => not_sustained(facts),
        }
    }

    /// The verdict for a stage that has lost this many agents: it is no longer trustworthy.
    pub const fn with_lost(self, lost: usize, agents: usize) -> Self {
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
            Self::BoundByConnections { .. } => "bound_by_connections",
            Self::Sustained => "sustained",
            Self::Closed => "closed",
            Self::Drilled => "drilled",
            Self::TooShort => "too_short",
            Self::Unfinished => "unfinished",
        }
    }

    /// Whether the stage is degraded because of the time in which nothing succeeded, rather than
    /// the share of failures. For a brief outage, the share is more telling.
    pub fn is_outage(&self) -> bool {
        let Self::Degraded { failed_share, outage_s } = *self else { return false };
        outage_s > 0.0 && (outage_s >= LONG_OUTAGE_S || failed_share <= DEGRADED)
    }

    /// Whether the numbers are trustworthy.
    pub const fn trustworthy(&self) -> bool {
        matches!(self, Self::Sustained | Self::Closed | Self::Drilled | Self::TooShort)
    }
}

/// Whether the server failed, by the share of operations and by time.
///
/// In an open loop the response times include the time in which the server is silent; a closed loop
/// sends nothing then.
fn degraded(facts: &Facts) -> Option<Verdict> {
    let (failed_share, outage_s) = (facts.failed_share(), facts.away_s());
    let away = outage_s > AWAY_S || outage_s > facts.measured_s * AWAY_SHARE;
    (failed_share > DEGRADED || away).then_some(Verdict::Degraded { failed_share, outage_s })
}

fn not_sustained(facts: &Facts) -> Verdict {
    let load = &facts.load;
    if let Some((connections, needed)) = load.bound {
        return Verdict::BoundByConnections { connections, needed };
    }
    let per_s = |count: u64| count as f64 / facts.measured_s;
    Verdict::NotSustained {
        offered_per_s: load.offered_per_s,
        served_per_s: load.served_per_s,
        // Unsent operations were due but not done. The growth includes them, unless it is too small
        // to be distinguished from chance.
        backlog_per_s: per_s(load.dropped) + per_s(load.unsent).max(load.growth_per_s),
    }
}
