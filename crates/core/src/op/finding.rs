//! Describes what was wrong with the data in one answer.

use super::{Failure, Reason};
use serde::{Deserialize, Serialize};

/// A document that is not as written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// What is wrong with it.
    pub class: Failure,
    /// The document's ID, without control characters or credentials; in a load on many databases,
    /// the name of its database and a slash precede it.
    #[cfg_attr(feature = "schema", schemars(length(max = Reason::MOST)))]
    pub id: String,
    /// What should have been there.
    #[cfg_attr(feature = "schema", schemars(length(max = Reason::MOST)))]
    pub expected: String,
    /// What was there.
    #[cfg_attr(feature = "schema", schemars(length(max = Reason::MOST)))]
    pub found: String,
}

impl Finding {
    /// How many findings a stage's record keeps.
    pub const MOST: usize = 10;

    /// A finding without control characters or credentials, not too long: parts of it come from a
    /// server.
    pub fn new(class: Failure, id: &[u8], expected: &str, found: &str) -> Self {
        let clean = |text: &str| Reason::new(None, text).reason;
        let id = clean(&String::from_utf8_lossy(id));
        Self { class, id, expected: clean(expected), found: clean(found) }
    }

    /// Adds the database that the document is in, if there are several.
    #[must_use]
    pub fn within(self, database: Option<String>) -> Self {
        let Some(database) = database else { return self };
        let id = Reason::new(None, &format!("{database}/{}", self.id)).reason;
        Self { id, ..self }
    }
}

/// What a check of a document showed about its writes that were not acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unconfirmed {
    /// One of them was not refused, either.
    Doubtful {
        /// Whether the server said that it failed; otherwise there was no answer.
        failed: bool,
        /// Whether it was carried out.
        done: bool,
    },
    /// All of its writes were refused, or not sent after all, and none was carried out.
    NeverWritten,
}
