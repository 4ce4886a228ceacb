//! `max_bytes`: the size of the answer.

use super::{Expectation, JudgedAnswer};
use serde::{Deserialize, Serialize};

/// The maximum size of a body in bytes, as sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct MaxBytes(u64);

impl Expectation for MaxBytes {
    fn is_met(&self, found: &JudgedAnswer<'_>) -> bool {
        found.body.len() as u64 <= self.0
    }

    fn words(&self, found: &JudgedAnswer<'_>) -> String {
        format!("at most {} bytes expected, {} came", self.0, found.body.len())
    }
}
