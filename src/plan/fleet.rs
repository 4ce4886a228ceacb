//! The agents of a run.

use serde::{Deserialize, Serialize};

/// The agents that share the load of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FleetPlan {
    /// How many there are.
    pub agents: usize,
    /// The run may pass although agents were lost.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow_lost: bool,
}
