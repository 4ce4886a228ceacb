//! A compaction that a run has asked for.

use serde::{Deserialize, Serialize};

/// How long a compaction took, and how much space it freed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Compaction {
    /// When it was requested, in seconds from the stage's start.
    pub began_s: f64,
    /// The time from then until the server was no longer compacting, or until springload stopped
    /// waiting for that, in seconds. The server is asked five times a second.
    pub length_s: f64,
    /// The size of the files before, in bytes; absent if the server does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before_bytes: Option<u64>,
    /// The same afterwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_bytes: Option<u64>,
    /// Whether it had ended by then.
    pub ended: bool,
    /// The reason the server refused it; absent if it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}
