//! What is observed of the servers beside the load.

use serde::{Deserialize, Serialize};

/// What is observed of the servers beside the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ObservePlan {
    /// Whether the servers are asked about themselves, if their driver can and their user may.
    pub servers: bool,
}

impl ObservePlan {
    /// For runs that send what is part of the load, and nothing else.
    pub const NOTHING: Self = Self { servers: false };

    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl Default for ObservePlan {
    fn default() -> Self {
        Self { servers: true }
    }
}
