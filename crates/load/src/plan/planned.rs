//! A run that has been checked.

use super::baseline::Baseline;
use super::fleet::FleetPlan;
use super::noise::Noise;
use super::probe::ProbePlan;
use super::schemas::SchemaPlan;
use super::stage::StagePlan;
use super::threshold::Threshold;
use super::ycsb_measurement::MeasurementPlan;
use crate::clock::{Nanos, SECOND_NS};
use crate::driver::{HttpPlan, TargetPlan};
use crate::engine::Pace;
use crate::net::MAX_ANSWER;
use crate::schema::Ids;
use serde::{Deserialize, Serialize};

/// CouchDB itself accepts up to 65,536 connections.
pub(super) const MOST_CONNECTIONS: u64 = 65_536;
/// More threads than processors of any machine.
pub(super) const MOST_THREADS: u64 = 256;

/// How long a server may be silent, unless the timeout is longer.
const GIVE_UP_NS: Nanos = 30 * SECOND_NS;

/// A run that has been checked. Stored without any password.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Plan {
    /// The verb and arguments to run the same again, without any password.
    pub command: String,
    /// What the user calls the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = super::units::MOST_LABEL)))]
    pub label: Option<String>,
    /// The server and database.
    pub target: TargetPlan,
    /// How many connections are used at once.
    pub connections: usize,
    /// How many connections an open loop may have in the end, if that is more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub most_connections: Option<usize>,
    /// How many threads share them.
    pub threads: usize,
    /// The seed of documents, operations and gaps.
    pub seed: u64,
    /// How documents are named, if not `sequential`, and unless the workload decides.
    #[serde(default, skip_serializing_if = "Ids::is_sequential")]
    pub ids: Ids,
    /// The timeout of one operation, in nanoseconds.
    pub timeout_ns: Nanos,
    /// How long the server may be silent before the run is given up, in nanoseconds; `None`: 30 s,
    /// or the timeout if that is longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub give_up_ns: Option<Nanos>,
    /// The largest answer that is read, in bytes as received, unless it is 64,000,000.
    #[serde(default = "max_answer", skip_serializing_if = "is_max_answer")]
    pub max_answer: u64,
    /// The schemas of documents, mixed by weight.
    pub schemas: Vec<SchemaPlan>,
    /// What is measured, in order.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub stages: Vec<StagePlan>,
    /// Extra measures around a fill.
    #[serde(default, skip_serializing_if = "FillPlan::is_default")]
    pub fill: FillPlan,
    /// Whether what is read is compared with what was written.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub verify: bool,
    /// Whether every acknowledged write is noted, and looked for at the end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub audit: bool,
    /// Documents that are written beside the load and looked for, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<ProbePlan>,
    /// What makes the run fail, in the grammar of `docs/thresholds.md`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thresholds: Vec<Threshold>,
    /// What happens to the run if this machine is too busy, unless it then fails.
    #[serde(default, skip_serializing_if = "Noise::is_fail")]
    pub noise: Noise,
    /// Earlier runs that the run is judged by, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Baseline>,
    /// The requests, for a run of a list of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<HttpPlan>,
    /// How YCSB's reports show the measurements, for runs in its dialect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ycsb: Option<MeasurementPlan>,
    /// The agents that share the load, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<FleetPlan>,
}

impl Plan {
    /// How long the server may be silent before the run is given up, in nanoseconds.
    pub fn patience_ns(&self) -> Nanos {
        let asked = self.fill.wait_for_server_ns.or(self.give_up_ns);
        asked.unwrap_or_else(|| self.timeout_ns.max(GIVE_UP_NS))
    }

    /// How many connections a stage may open besides those that it has at first.
    pub fn spare(&self, stage: &StagePlan) -> usize {
        let grows = matches!(stage.pace, Pace::Open { .. }) && stage.work.traits().grows;
        let most = self.most_connections.filter(|_| grows).unwrap_or(0);
        most.saturating_sub(self.connections)
    }
}

const fn max_answer() -> u64 {
    MAX_ANSWER
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
const fn is_max_answer(bytes: &u64) -> bool {
    *bytes == MAX_ANSWER
}

/// Extra measures around a fill.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FillPlan {
    /// How long to wait for a server that has gone away, in nanoseconds; batches without an answer
    /// are resent. `None`: until it is given up, and nothing is resent.
    pub wait_for_server_ns: Option<Nanos>,
    /// Record the rate as a function of the size of the database, and ask for that size.
    pub growth: bool,
}

impl FillPlan {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}
