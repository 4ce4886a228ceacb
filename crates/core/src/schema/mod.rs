//! Document templates, and the documents made from them.
//!
//! A template gives names, nesting and types; the values are drawn at random. [`decode`] turns the
//! bytes of a template into text, which [`Template::parse`] reads as JSON (`json`) or XML (`xml`).
//! [`Documents`] compiles templates to flat programs (`compile`) of literal text and values
//! (`value`, `words`, `bounded`) and runs them, with the identifiers of `ids`. Knows nothing about
//! revisions or databases.

mod bounded;
mod compile;
mod documents;
mod encoding;
mod ids;
mod json;
mod shape;
mod template;
#[cfg(test)]
mod tests;
mod value;
mod words;
mod xml;

pub use documents::{Document, Documents};
pub use encoding::decode;
pub use ids::{Ids, Naming};
pub use shape::{Entries, MAX_DEPTH, Position, SchemaError, Shape};
pub use template::Template;

/// The schema used when none is given: a person's account, about 250 bytes per document.
pub const DEFAULT: &str = include_str!("default.json");
