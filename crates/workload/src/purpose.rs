//! The purpose of a stage, regardless of what is done in it.

use serde::{Deserialize, Serialize};

/// The stored name of the stage in which the load goes on beside the replication.
pub const REPLICATED: &str = "replicated";

/// The purpose of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// Fills the database, and is measured.
    Fill,
    /// Creates what a later stage needs. Not part of the result.
    Prepare,
    /// Builds the indexes that a later stage queries. Not part of the result.
    Index,
    /// Creates or deletes the databases of a run with many. Not part of the result.
    Databases,
    /// Does the same as the main stage, to warm up. Not part of the result.
    WarmUp,
    /// The subject of the run.
    Main,
    /// The same again, beside replication. Older records call it main.
    Replicated,
    /// Checks what the other stages wrote. Not part of the result.
    Audit,
}

impl Purpose {
    /// The purpose of the stage called `name` in records from before purposes were stored.
    pub fn of_name(name: &str) -> Self {
        match name {
            "bulk_insert" | "load" => Self::Fill,
            "burst_prepare" => Self::Prepare,
            "index_build" => Self::Index,
            "database_create" | "database_delete" => Self::Databases,
            "warm_up" => Self::WarmUp,
            REPLICATED => Self::Replicated,
            "audit" => Self::Audit,
            _ => Self::Main,
        }
    }

    /// Whether it is reported although its numbers do not count.
    pub const fn is_news(self) -> bool {
        matches!(self, Self::Index | Self::Databases | Self::Audit)
    }

    /// Whether its numbers count.
    pub const fn is_measured(self) -> bool {
        matches!(self, Self::Fill) || self.is_main()
    }

    /// Whether it is the subject of the run, with replication or without.
    pub const fn is_main(self) -> bool {
        matches!(self, Self::Main | Self::Replicated)
    }
}
