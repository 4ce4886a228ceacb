//! A phase of a YCSB workload, as stored in a plan. Knows nothing about how it is carried out.

use super::{Class, CoreConfig};
use serde::{Deserialize, Serialize};

/// A phase of a YCSB workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum YcsbPhase {
    /// Inserts the records.
    Load,
    /// Runs operations on them, by their proportions.
    Run,
}

/// One phase of one of YCSB's workloads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct YcsbStage {
    /// The phase.
    pub phase: YcsbPhase,
    /// Records per request in the load phase.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub batch: u32,
    /// Operations of the run phase; `None` to run until time is up.
    pub operations: Option<u64>,
    /// The workload.
    pub config: CoreConfig,
    /// The kind of workload.
    #[serde(default, skip_serializing_if = "Class::is_core")]
    pub class: Class,
}
