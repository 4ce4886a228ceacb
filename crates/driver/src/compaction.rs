//! How compaction is handled during a run.

use serde::{Deserialize, Serialize};

/// How compaction is handled during a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CompactionPlan {
    /// The server decides.
    #[default]
    Auto,
    /// Compaction of the run's databases is disabled on the server.
    Off,
    /// springload requests it when the main stage begins.
    Force,
}

impl CompactionPlan {
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
    pub(crate) fn is_auto(&self) -> bool {
        *self == Self::Auto
    }
}
