//! How a client can find a document.

use super::with_all::with_all;
use serde::{Deserialize, Serialize};
use std::fmt;

// Reports show them in this order.
with_all! {
    /// A way to find a document that was just stored.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "snake_case")]
    pub enum Way {
        /// By its identifier.
        Get,
        /// In the list of all documents.
        AllDocs,
        /// In the changes feed.
        Changes,
        /// By a query for the value of an indexed field.
        Find,
        /// In a view.
        View,
    }
}

impl Way {
    /// The name used in flags, JSON and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::AllDocs => "all_docs",
            Self::Changes => "changes",
            Self::Find => "find",
            Self::View => "view",
        }
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
