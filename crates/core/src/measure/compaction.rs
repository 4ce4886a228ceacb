//! A compaction that a run has asked for.

use serde::{Deserialize, Serialize};

/// What a compaction took, and what it gave back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Compaction {
    /// When it was asked for, in seconds after the start of the stage.
    pub began_s: f64,
    /// From then until the server no longer compacted, in seconds; if that was not waited for,
    /// until it was given up. It is asked five times a second.
    pub length_s: f64,
    /// The size of the files before, in bytes, if the server tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before_bytes: Option<u64>,
    /// The same afterwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_bytes: Option<u64>,
    /// Whether it has ended.
    pub ended: bool,
    /// Why the server refused it, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}
