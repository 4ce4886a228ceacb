//! Why a run ended before its plan was carried out, and when.

use serde::{Deserialize, Serialize};

/// The reason a run ended before its plan was carried out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ended {
    /// What ended it.
    pub by: EndedBy,
    /// When it ended, in seconds from the run's start.
    pub at_s: f64,
    /// The reason, in one sentence.
    pub message: String,
}

/// What ended a run early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EndedBy {
    /// The user.
    User,
    /// The server refused the credentials.
    Authentication,
    /// The server stopped answering.
    Unreachable,
    /// All agents were lost.
    Agents,
    /// springload itself, or the operating system.
    Springload,
}
