//! Texts with holes, cut into pieces once and joined with values for each request.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use serde_json::Value;

/// Everything except RFC 3986's unreserved characters is encoded.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// The values of one request, in the order of its holes. Reused for every request.
#[derive(Clone, Debug, Default)]
pub struct Values {
    bytes: Vec<u8>,
    /// Where each value ends, and whether it is text; all others are JSON.
    ends: Vec<(usize, bool)>,
}

impl Values {
    /// Discards the values of the last request.
    #[inline]
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Placeholder values for this many holes, for trying a request out: the number 1.
    pub fn samples(holes: usize) -> Self {
        let mut values = Self::default();
        (0..holes).for_each(|_| {
            values.push(|out| {
                out.push(b'1');
                false
            });
        });
        values
    }

    /// Appends a value: `write` appends it to the buffer, and returns `true` if it is text, `false`
    /// if it is JSON.
    pub fn push(&mut self, write: impl FnOnce(&mut Vec<u8>) -> bool) {
        let is_text = write(&mut self.bytes);
        self.ends.push((self.bytes.len(), is_text));
    }

    /// The value of the hole with this index, and whether it is text.
    pub fn get(&self, place: usize) -> (&[u8], bool) {
        let start = place.checked_sub(1).and_then(|before| self.ends.get(before));
        let start = start.map_or(0, |(end, _)| *end);
        self.ends.get(place).map_or((b"", true), |(end, text)| (&self.bytes[start..*end], *text))
    }
}

/// The holes of a request: the distinct texts in them. The same text means the same value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holes(pub Vec<String>);

impl Holes {
    /// The index of the hole with this text.
    pub fn place(&mut self, text: &str) -> usize {
        let text = text.trim();
        self.0.iter().position(|hole| hole == text).unwrap_or_else(|| {
            self.0.push(text.to_owned());
            self.0.len() - 1
        })
    }
}

/// The rest of a text from a `{{` without `}}`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} has no end; write it like {{{{key}}}}")]
pub struct MalformedHole(String);

/// How a value is encoded in its hole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spelling {
    Plain,
    Json,
    InString,
    /// Without control characters.
    InLine,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Text(Vec<u8>),
    Hole { place: usize, spelling: Spelling, encoded: bool },
}

/// A text with holes, ready to be joined.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pieces(pub(super) Vec<Piece>);

/// The parts of a text with holes: whether each is a hole, and its content.
///
/// # Errors
/// Returns an error if a hole has no end.
pub fn parts(text: &str) -> Result<Vec<(bool, &str)>, MalformedHole> {
    let (mut parts, mut rest) = (Vec::new(), text);
    while let Some(start) = rest.find("{{") {
        let inside = &rest[start + 2..];
        let end = inside
            .find("}}")
            .ok_or_else(|| MalformedHole(rest[start..].chars().take(40).collect()))?;
        parts.push((false, &rest[..start]));
        parts.push((true, &inside[..end]));
        rest = &inside[end + 2..];
    }
    parts.push((false, rest));
    Ok(parts)
}

impl Pieces {
    /// Whether there are no pieces.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the pieces are just this text, without holes.
    pub fn is_only(&self, text: &[u8]) -> bool {
        match &self.0[..] {
            [] => text.is_empty(),
            [Piece::Text(only)] => only == text,
            _ => false,
        }
    }

    /// Appends text without holes, as is.
    pub fn literal(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    /// Appends bytes, as is.
    pub fn bytes(&mut self, bytes: &[u8]) {
        if let Some(Piece::Text(last)) = self.0.last_mut() {
            last.extend_from_slice(bytes);
        } else if !bytes.is_empty() {
            self.0.push(Piece::Text(bytes.to_vec()));
        }
    }

    pub(super) fn hole(&mut self, place: usize, spelling: Spelling, encoded: bool) {
        self.0.push(Piece::Hole { place, spelling, encoded });
    }

    fn text(&mut self, text: &str, encoded: bool) {
        if encoded {
            self.literal(&percent_encode(text.as_bytes(), ENCODED).to_string());
        } else {
            self.literal(text);
        }
    }

    /// Appends text with holes. If `encoded`, all of it is percent-encoded; otherwise only the
    /// values are.
    ///
    /// # Errors
    /// Returns an error if a hole has no end.
    pub fn plain(
        &mut self,
        text: &str,
        encoded: bool,
        holes: &mut Holes,
    ) -> Result<(), MalformedHole> {
        for (is_hole, part) in parts(text)? {
            if is_hole {
                self.hole(holes.place(part), Spelling::Plain, true);
            } else {
                self.text(part, encoded);
            }
        }
        Ok(())
    }

    /// Appends text with holes and, later, the values as is.
    ///
    /// # Errors
    /// Returns an error if a hole has no end.
    pub fn raw(&mut self, text: &str, holes: &mut Holes) -> Result<(), MalformedHole> {
        for (is_hole, part) in parts(text)? {
            if is_hole {
                self.hole(holes.place(part), Spelling::Plain, false);
            } else {
                self.literal(part);
            }
        }
        Ok(())
    }

    /// Appends JSON, percent-encoded if requested. A string that consists of a single hole becomes
    /// a value of its own type.
    ///
    /// # Errors
    /// Returns an error if a hole has no end.
    pub fn json(
        &mut self,
        value: &Value,
        encoded: bool,
        holes: &mut Holes,
    ) -> Result<(), MalformedHole> {
        match value {
            Value::String(text) => self.string(text, encoded, holes),
            Value::Array(values) => {
                self.text("[", encoded);
                for (place, value) in values.iter().enumerate() {
                    self.text(if place > 0 { "," } else { "" }, encoded);
                    self.json(value, encoded, holes)?;
                }
                self.text("]", encoded);
                Ok(())
            }
            Value::Object(members) => {
                self.text("{", encoded);
                for (place, (name, value)) in members.iter().enumerate() {
                    self.text(if place > 0 { "," } else { "" }, encoded);
                    self.in_string(&parts(name)?, encoded, holes);
                    self.text(":", encoded);
                    self.json(value, encoded, holes)?;
                }
                self.text("}", encoded);
                Ok(())
            }
            other => {
                self.text(&other.to_string(), encoded);
                Ok(())
            }
        }
    }

    fn string(
        &mut self,
        text: &str,
        encoded: bool,
        holes: &mut Holes,
    ) -> Result<(), MalformedHole> {
        let parts = parts(text)?;
        if let [(_, ""), (true, hole), (_, "")] = parts[..] {
            self.hole(holes.place(hole), Spelling::Json, encoded);
        } else {
            self.in_string(&parts, encoded, holes);
        }
        Ok(())
    }

    fn in_string(&mut self, parts: &[(bool, &str)], encoded: bool, holes: &mut Holes) {
        self.text("\"", encoded);
        for (is_hole, part) in parts {
            if *is_hole {
                self.hole(holes.place(part), Spelling::InString, encoded);
            } else {
                let quoted = Value::from(*part).to_string();
                self.text(&quoted[1..quoted.len() - 1], encoded);
            }
        }
        self.text("\"", encoded);
    }

    /// Appends the text with these values to `out`; `scratch` is overwritten.
    pub fn join(&self, values: &Values, scratch: &mut Vec<u8>, out: &mut Vec<u8>) {
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => out.extend_from_slice(text),
                Piece::Hole { place, spelling, encoded: false } => {
                    let (value, is_text) = values.get(*place);
                    fill(value, is_text, *spelling, out);
                }
                Piece::Hole { place, spelling, encoded: true } => {
                    scratch.clear();
                    let (value, is_text) = values.get(*place);
                    fill(value, is_text, *spelling, scratch);
                    for part in percent_encode(scratch, ENCODED) {
                        out.extend_from_slice(part.as_bytes());
                    }
                }
            }
        }
    }
}

/// Appends a value in the encoding of its hole.
fn fill(value: &[u8], is_text: bool, spelling: Spelling, out: &mut Vec<u8>) {
    match spelling {
        Spelling::Json if is_text => {
            out.push(b'"');
            escape(value, out);
            out.push(b'"');
        }
        Spelling::InString => escape(value, out),
        Spelling::InLine => out.extend(value.iter().filter(|byte| !byte.is_ascii_control())),
        Spelling::Plain | Spelling::Json => out.extend_from_slice(value),
    }
}

/// Appends text escaped for a JSON string.
fn escape(text: &[u8], out: &mut Vec<u8>) {
    for &byte in text {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            0..=0x1f => {
                const HEX: &[u8; 16] = b"0123456789abcdef";
                let digits = [HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]];
                out.extend_from_slice(b"\\u00");
                out.extend_from_slice(&digits);
            }
            _ => out.push(byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn joined(pieces: &Pieces, values: &[(&str, bool)]) -> String {
        let mut filled = Values::default();
        for (text, is_text) in values {
            filled.push(|out| {
                out.extend_from_slice(text.as_bytes());
                *is_text
            });
        }
        let (mut scratch, mut out) = (Vec::new(), Vec::new());
        pieces.join(&filled, &mut scratch, &mut out);
        String::from_utf8(out).unwrap()
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_its_parts_or_has_a_hole_without_an_end(text in "[a{} ]{0,40}") {
            match parts(&text) {
                Ok(parts) => {
                    let again: String = parts
                        .iter()
                        .map(|(hole, part)| {
                            if *hole { format!("{{{{{part}}}}}") } else { (*part).to_owned() }
                        })
                        .collect::<Vec<_>>()
                        .concat();
                    proptest::prop_assert_eq!(again, text);
                }
                Err(_) => proptest::prop_assert!(text.contains("{{")),
            }
        }
    }

    #[test]
    fn a_whole_string_becomes_a_value_of_its_type_and_a_part_of_one_text() {
        let (mut pieces, mut holes) = (Pieces::default(), Holes::default());
        let body = json!({"a": "{{x}}", "b": ["{{y}}", "{{ x }} and {{y}}"], "c": "\"", "d": null});
        pieces.json(&body, false, &mut holes).unwrap();
        assert_eq!(holes.0, ["x", "y"], "each once");
        let text = joined(&pieces, &[("say \"ä\"\n", true), ("17", false)]);
        let wanted = json!({
            "a": "say \"ä\"\n", "b": [17, "say \"ä\"\n and 17"], "c": "\"", "d": null
        });
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), wanted, "{text}");
    }

    #[test]
    fn what_goes_into_an_address_is_encoded_once() {
        let (mut pieces, mut holes) = (Pieces::default(), Holes::default());
        pieces.literal("_all_docs?startkey=");
        pieces.json(&json!(["{{x}}", "a/b"]), true, &mut holes).unwrap();
        pieces.literal("&name=");
        pieces.plain("{{x}}", true, &mut holes).unwrap();
        let wanted = "_all_docs?startkey=%5B%22%C3%A4%20%26%22%2C%22a%2Fb%22%5D&name=%C3%A4%20%26";
        assert_eq!(joined(&pieces, &[("ä &", true)]), wanted);
        let mut raw = Pieces::default();
        raw.raw("<{{x}}>", &mut holes).unwrap();
        assert_eq!(joined(&raw, &[("ä \"", true)]), "<ä \">");
        let message = pieces.plain("{{x}} {{y", false, &mut holes).unwrap_err().to_string();
        assert_eq!(message, "\"{{y\" has no end; write it like {{key}}");
    }
}
