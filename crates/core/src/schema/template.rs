//! Templates, and how they are parsed.

use super::shape::{Entries, SchemaError, Shape};
use super::{json, xml};

/// The shape shared by all documents of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    entries: Entries,
}

impl Template {
    /// Parses a template from JSON, or from XML if the first character is `<`.
    ///
    /// In JSON only the type of a value counts: a number without a fraction and an exponent is an
    /// integer, any other is a float. In XML the types are written out (`<integer/>`). In both, if
    /// a name occurs twice in one object, the later one counts. Top-level names that begin with `_`
    /// mean something to the server (`_id`, `_rev`, `_attachments`) and are dropped, so that any
    /// document read from `CouchDB` is a schema; Iron Cushion kept them in XML, and the server then
    /// refused every document. An object without entries is accepted: the plan decides whether it
    /// is useful.
    ///
    /// # Errors
    /// Returns an error if the text is empty, is neither JSON nor XML, is not an object, or nests
    /// too deeply.
    pub fn parse(text: &str) -> Result<Self, SchemaError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut entries = match text.trim_start().chars().next() {
            None => return Err(SchemaError::Empty),
            Some('<') => xml::parse(text)?,
            Some(_) => json::parse(text)?,
        };
        entries.retain(|(name, _)| !name.starts_with('_'));
        Ok(Self { entries })
    }

    /// The top-level names and their shapes, in the order of the text.
    pub fn entries(&self) -> &[(String, Shape)] {
        &self.entries
    }
}
