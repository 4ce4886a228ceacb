//! The form of a record in the database.

use serde::{Deserialize, Serialize};

/// How a record is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// As a hash with a member for each field, as in YCSB.
    #[default]
    Hash,
    /// As a string: the document in JSON.
    String,
}

impl Shape {
    /// The shape of this name in addresses.
    pub(super) fn named(name: &str) -> Option<Self> {
        [("hash", Self::Hash), ("string", Self::String)]
            .into_iter()
            .find_map(|(known, shape)| (known == name).then_some(shape))
    }

    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
    pub(super) const fn is_default(&self) -> bool {
        matches!(self, Self::Hash)
    }
}
