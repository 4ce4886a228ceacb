//! The purpose of a stage, regardless of what is done in it.

use serde::{Deserialize, Serialize};

/// The purpose of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// Fills the database, and is measured.
    Fill,
    /// Creates what a later stage needs, and does not count.
    Prepare,
    /// Builds what a later stage asks, and does not count.
    Index,
    /// Creates or removes the databases of a run with many, and does not count.
    Databases,
    /// Does what the main stage does, and does not count.
    WarmUp,
    /// Is the subject of the run.
    Main,
    /// Looks for what the other stages wrote, and does not count.
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
        matches!(self, Self::Fill | Self::Main)
    }
}
