//! How compaction is handled during a run.

use serde::{Deserialize, Serialize};

/// What becomes of compaction during a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CompactionPlan {
    /// It is left to the server.
    #[default]
    Auto,
    /// The server is kept from it, for the databases of the run.
    Off,
    /// It is asked for as what the run is about begins.
    Force,
}

impl CompactionPlan {
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
    pub(crate) fn is_auto(&self) -> bool {
        *self == Self::Auto
    }
}
