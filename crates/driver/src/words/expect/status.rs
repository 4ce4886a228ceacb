//! `status`: the status of the answer.

use super::{Expectation, JudgedAnswer};
use serde::{Deserialize, Serialize};

/// An HTTP status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "u16", into = "u16")]
pub struct Status(pub(super) u16);

impl TryFrom<u16> for Status {
    type Error = String;

    fn try_from(status: u16) -> Result<Self, String> {
        let wrong = || format!("{status} is not a status; write it like 200");
        (200..600).contains(&status).then_some(Self(status)).ok_or_else(wrong)
    }
}

impl From<Status> for u16 {
    fn from(status: Status) -> Self {
        status.0
    }
}

impl Expectation for Status {
    fn is_met(&self, found: &JudgedAnswer<'_>) -> bool {
        found.status == self.0
    }

    fn words(&self, found: &JudgedAnswer<'_>) -> String {
        format!("status {} expected, {} came", self.0, found.status)
    }
}
