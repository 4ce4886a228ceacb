//! A run that is known to make sense.

use super::schemas::SchemaPlan;
use super::stage::StagePlan;
use super::threshold::Threshold;
use super::ycsb_measurement::MeasurementPlan;
use crate::clock::Nanos;
use crate::driver::{HttpPlan, TargetPlan};
use crate::net::MAX_ANSWER;
use crate::schema::Ids;
use serde::{Deserialize, Serialize};

/// CouchDB itself accepts 65,536 connections.
pub(super) const MOST_CONNECTIONS: u64 = 65_536;

/// A run that is known to make sense. Serialises without any password.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The verb and arguments that ask for the same run again, without any password.
    pub command: String,
    /// The server and database.
    pub target: TargetPlan,
    /// How many connections are used at once.
    pub connections: usize,
    /// How many threads share them.
    pub threads: usize,
    /// What documents, operations and gaps are drawn from.
    pub seed: u64,
    /// How documents are named, where that is not for a workload of its own to say.
    #[serde(default, skip_serializing_if = "Ids::is_sequential")]
    pub ids: Ids,
    /// How long one operation may take, in nanoseconds.
    pub timeout_ns: Nanos,
    /// The largest answer that is read, in bytes as they come.
    #[serde(default = "max_answer", skip_serializing_if = "is_max_answer")]
    pub max_answer: u64,
    /// What documents look like; kinds of documents are mixed by weight.
    pub schemas: Vec<SchemaPlan>,
    /// What is measured, in order.
    pub stages: Vec<StagePlan>,
    /// What is done about a fill beside carrying it out.
    #[serde(default, skip_serializing_if = "FillPlan::is_default")]
    pub fill: FillPlan,
    /// What makes the run fail.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thresholds: Vec<Threshold>,
    /// The requests of a run that is made of a list of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<HttpPlan>,
    /// How YCSB's reports tell the measurements, where its dialect was spoken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ycsb: Option<MeasurementPlan>,
}

const fn max_answer() -> u64 {
    MAX_ANSWER
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
const fn is_max_answer(bytes: &u64) -> bool {
    *bytes == MAX_ANSWER
}

/// What is done about a fill beside carrying it out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FillPlan {
    /// How long a server that went away is waited for, in nanoseconds; batches without an answer
    /// are sent again. `None`: as long as one operation may take, and nothing is sent again.
    pub wait_for_server_ns: Option<Nanos>,
    /// Keep the rate as a function of the size of the database, and ask for that size.
    pub growth: bool,
}

impl FillPlan {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}
