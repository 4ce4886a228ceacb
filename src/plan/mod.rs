//! What a run is to do. A dialect states what was asked, as a [`PlanSpec`]; only [`check`] makes
//! a [`Plan`] of it, and a `Plan` can be carried out as it stands.

mod check;
mod http;
mod load;
mod schemas;
mod spec;
mod stage;
mod threshold;
mod units;
mod urls;
mod ycsb_measurement;

pub use crate::driver::http::{BodyPlan, HttpPlan, RequestPlan, Retry, strike_secret};
pub use crate::driver::{Auth, Existing, TargetPlan};
pub use crate::mistake::{Flagged, Invalid};
pub use check::check;
pub use http::{HttpFlags, HttpLoad, HttpSpec, check_http};
pub use schemas::{SchemaPlan, SchemaSource};
pub use spec::{LoadSpec, PlanSpec};
pub use stage::StagePlan;
pub use threshold::{Comparison, Limit, Metric, Span, Statistic, Threshold, ThresholdError};
pub use units::{count, duration, duration_ns, mix, rate, size};
pub use urls::{UrlSource, expand};
pub use ycsb_measurement::{
    ErrorLatency, Exporter, MeasuredInterval, MeasurementPlan, MeasurementType,
};

use crate::clock::Nanos;
pub use crate::net::MAX_ANSWER;
use crate::schema::Ids;
pub use crate::workload::{Purpose, StageWork, WorkloadPlan, stage_title};
use serde::{Deserialize, Serialize};

/// CouchDB itself accepts 65,536 connections.
const MOST_CONNECTIONS: u64 = 65_536;

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
