//! The shapes of values that a template consists of, and the errors in its text.

use std::collections::HashMap;

/// How deeply objects and arrays may nest, including the root.
/// Many JSON readers, including `serde_json`, stop at 128 levels. A bulk request adds two of its
/// own, and this leaves room for more.
pub const MAX_DEPTH: usize = 100;

/// The names and shapes of an object's entries, in the order of the text.
pub type Entries = Vec<(String, Shape)>;

/// The type of one value of a document; a template keeps nothing else about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// `null`, always.
    Null,
    /// `true` or `false`.
    Boolean,
    /// A signed 32-bit integer.
    Integer,
    /// A decimal fraction from 0 (inclusive) to 1 (exclusive).
    Float,
    /// One to five words.
    String,
    /// A whole number between these two, inclusive.
    Range(i64, i64),
    /// One of these texts.
    OneOf(Vec<String>),
    /// An array of this length, each element with its own shape.
    Array(Vec<Self>),
    /// An object with these names, each with its own shape.
    Object(Entries),
}

/// Why the text of a schema could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// The text is empty or only white space.
    #[error(
        "the schema is empty: give a JSON object such as {{\"name\": \"\"}}, or an XML <object>"
    )]
    Empty,
    /// The text is not JSON.
    #[error("the schema is not valid JSON at {position}: {reason}")]
    Json {
        /// Where the mistake is.
        position: Position,
        /// What is wrong.
        reason: String,
    },
    /// The text is JSON, but not an object.
    #[error("the schema's root is {found}: a document is an object, so put the values in {{ }}")]
    NotAnObject {
        /// What was found, with an article.
        found: &'static str,
    },
    /// The text is not XML, or not the XML of a schema.
    #[error("the XML schema is wrong at {position}: {reason}")]
    Xml {
        /// Where the mistake is.
        position: Position,
        /// What is wrong, and how to fix it.
        reason: String,
    },
    /// The bytes are not valid in their encoding.
    #[error("the schema is not {0}: save it in UTF-8")]
    NotOf(String),
    /// The declared encoding is not supported.
    #[error("the schema's encoding {0} is not supported: save it in UTF-8")]
    Encoding(String),
    /// Objects and arrays are nested too deeply.
    #[error("the schema nests deeper than {MAX_DEPTH} levels at {position}: make it flatter")]
    TooDeep {
        /// Where the first level that is too deep begins.
        position: Position,
    },
}

/// A position in the text of a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Counted from 1.
    pub line: usize,
    /// In characters, counted from 1.
    pub column: usize,
}

impl Position {
    /// The position of byte `offset`; an offset beyond the end counts as the end.
    pub(super) fn of(text: &str, offset: usize) -> Self {
        let mut end = offset.min(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let before = &text[..end];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self {
            line: before.bytes().filter(|&b| b == b'\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }
}

impl std::fmt::Display for Position {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {} column {}", self.line, self.column)
    }
}

/// Collects the entries of one object. A repeated name keeps its position, but gets the later
/// shape.
#[derive(Default)]
pub(super) struct Collected {
    entries: Entries,
    places: HashMap<String, usize>,
}

impl Collected {
    /// Adds or replaces the entry called `name`.
    pub(super) fn put(&mut self, name: String, shape: Shape) {
        if let Some(&place) = self.places.get(&name) {
            self.entries[place].1 = shape;
        } else {
            self.places.insert(name.clone(), self.entries.len());
            self.entries.push((name, shape));
        }
    }

    /// The entries, each name once.
    pub(super) fn into_entries(self) -> Entries {
        self.entries
    }
}
