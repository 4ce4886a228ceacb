//! `document`: whether the document that the request is about is among the rows.

use super::{Expectation, JudgedAnswer};
use serde::{Deserialize, Serialize};

/// Whether the document must be among the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Document(bool);

impl Document {
    pub(super) const fn is_expected(self) -> bool {
        self.0
    }
}

impl Expectation for Document {
    fn is_met(&self, found: &JudgedAnswer<'_>) -> bool {
        !self.0 || found.has_document != Some(false)
    }

    fn words(&self, found: &JudgedAnswer<'_>) -> String {
        format!("a row of the document expected, {} others came", found.rows)
    }
}
