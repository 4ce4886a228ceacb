//! Templates written as JSON: any document can serve as a template.
//!
//! Values are read as raw text, level by level. A number is classified by how it is written, so
//! that one that fits no machine type (`1e400`, twenty digits) still has a type.

use super::shape::{Collected, Entries, MAX_DEPTH, Position, SchemaError, Shape};
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;

/// Reads the entries of the object in `text`.
pub(super) fn parse(text: &str) -> Result<Entries, SchemaError> {
    let reader = JsonReader { text };
    let root: &RawValue =
        serde_json::from_str(text).map_err(|error| reader.refused(text, &error))?;
    let found = match reader.shape(root.get(), 1)? {
        Shape::Object(entries) => return Ok(entries),
        Shape::Null => "null",
        Shape::Boolean => "a boolean",
        Shape::Integer | Shape::Float => "a number",
        Shape::String | Shape::Range(..) | Shape::OneOf(_) => "a string",
        Shape::Array(_) => "an array",
    };
    Err(SchemaError::NotAnObject { found })
}

/// Keeps the whole text, in order to report the position of every mistake in it.
struct JsonReader<'a> {
    text: &'a str,
}

impl<'a> JsonReader<'a> {
    /// The shape of the value in `raw`, a part of the text; `depth` counts nesting levels.
    fn shape(&self, raw: &'a str, depth: usize) -> Result<Shape, SchemaError> {
        let first = raw.as_bytes().first().copied().unwrap_or(b'n');
        if depth > MAX_DEPTH && matches!(first, b'[' | b'{') {
            return Err(SchemaError::TooDeep { position: self.position(raw, 0) });
        }
        Ok(match first {
            b'n' => Shape::Null,
            b't' | b'f' => Shape::Boolean,
            b'"' => Shape::String,
            b'[' => Shape::Array(self.array(raw, depth)?),
            b'{' => Shape::Object(self.object(raw, depth)?),
            _ if raw.contains(['.', 'e', 'E']) => Shape::Float,
            _ => Shape::Integer,
        })
    }

    fn array(&self, raw: &'a str, depth: usize) -> Result<Vec<Shape>, SchemaError> {
        let elements = serde_json::Deserializer::from_str(raw)
            .deserialize_seq(Elements)
            .map_err(|error| self.refused(raw, &error))?;
        elements.into_iter().map(|element| self.shape(element.get(), depth + 1)).collect()
    }

    fn object(&self, raw: &'a str, depth: usize) -> Result<Entries, SchemaError> {
        let members = serde_json::Deserializer::from_str(raw)
            .deserialize_map(Members)
            .map_err(|error| self.refused(raw, &error))?;
        let mut collected = Collected::default();
        for (name, value) in members {
            collected.put(name, self.shape(value.get(), depth + 1)?);
        }
        Ok(collected.into_entries())
    }

    /// Converts an error at a line and column of `part` to a position in the whole text.
    fn refused(&self, part: &str, error: &serde_json::Error) -> SchemaError {
        let line_start = part
            .split_inclusive('\n')
            .take(error.line().saturating_sub(1))
            .map(str::len)
            .sum::<usize>();
        let offset = line_start + error.column().saturating_sub(1);
        let reason = error.to_string();
        let reason = reason.rsplit_once(" at line ").map_or(reason.as_str(), |(said, _)| said);
        SchemaError::Json { position: self.position(part, offset), reason: reason.to_owned() }
    }

    /// The position of byte `offset` of `part`, which is a slice of the text.
    fn position(&self, part: &str, offset: usize) -> Position {
        let start = (part.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        Position::of(self.text, start + offset)
    }
}

/// Reads an array as the raw text of its elements.
struct Elements;

impl<'de> Visitor<'de> for Elements {
    type Value = Vec<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut elements = Vec::new();
        while let Some(element) = seq.next_element()? {
            elements.push(element);
        }
        Ok(elements)
    }
}

/// Reads an object as names and the raw text of their values, in order, including repetitions.
struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Vec<(String, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(members)
    }
}
