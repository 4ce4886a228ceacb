//! YCSB's workloads and their pieces: keys, texts, choices.
//!
//! Follows YCSB 0.17.0 and its later head, so that each can read data loaded by the other. Knows
//! nothing about databases, threads or clocks.

mod again;
pub mod builtin;
mod choose;
mod config;
mod core;
mod demand;
mod keys;
mod lengths;
mod newest;
pub mod occupancy;
mod phase;
mod record;
pub mod rest;
pub mod series;
mod stage;
pub mod values;

use rest::RestConfig;
use serde::{Deserialize, Serialize};
use series::SeriesConfig;

pub use choose::{Action, Actions, Chooser};
pub use config::{CoreConfig, FieldsSpec, Proportions, ReadFields, RequestSpec, RetrySpec};
pub use core::{Core, CoreLane};
pub use demand::YcsbDemand;
pub use keys::{KeyNames, KeyOrder};
pub use lengths::{LengthSpec, Lengths};
pub use phase::{YcsbPhase, YcsbStage};

/// What a workload has in addition to the common properties.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Class {
    /// Records with fields.
    #[default]
    Core,
    /// Points of time series.
    Series(Box<SeriesConfig>),
    /// Requests for URLs.
    Rest(Box<RestConfig>),
}

impl Class {
    /// Whether it is the core workload.
    pub const fn is_core(&self) -> bool {
        matches!(self, Self::Core)
    }
}
