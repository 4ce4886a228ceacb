//! Texts from other sources, such as bodies in files: only what certainly is a value is treated as
//! one, and everything else stays as it is, byte for byte.

use super::pieces::{Piece, Spelling};
use super::{Holes, Pieces};

/// The format of a text, which determines how values are inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// Anything: values are inserted as is.
    Plain,
    /// Lines: values are inserted without control characters, which would end a line.
    Line,
    /// An address or a form: values are percent-encoded.
    Encoded,
    /// JSON: values inside quotation marks are escaped, others become values of their own type.
    Json,
}

impl Pieces {
    /// Cuts a text. Double braces around something that neither looks like a name nor is a value
    /// according to `is_value` remain text.
    pub fn written(
        text: &[u8],
        written: Written,
        is_value: impl Fn(&str) -> bool,
        holes: &mut Holes,
    ) -> Self {
        let (mut pieces, mut done, mut from, mut quoted) = (Self::default(), 0, 0, false);
        while let Some(open) = memchr::memmem::find(&text[from..], b"{{").map(|i| from + i) {
            let inside = &text[open + 2..];
            let hole = memchr::memmem::find(inside, b"}}")
                .and_then(|end| std::str::from_utf8(&inside[..end]).ok())
                .filter(|hole| is_name(hole) || is_value(hole.trim()));
            let Some(hole) = hole else {
                from = open + 1;
                continue;
            };
            pieces.bytes(&text[done..open]);
            quoted = ends_quoted(&text[done..open], quoted);
            let spelling = match written {
                Written::Json if quoted => Spelling::InString,
                Written::Json => Spelling::Json,
                Written::Line => Spelling::InLine,
                Written::Plain | Written::Encoded => Spelling::Plain,
            };
            pieces.hole(holes.place(hole), spelling, written == Written::Encoded);
            done = open + 2 + hole.len() + 2;
            from = done;
        }
        pieces.bytes(&text[done..]);
        pieces
    }

    /// The same pieces, with `change` applied to each piece of text.
    #[must_use]
    pub fn map_text(mut self, change: impl Fn(&[u8]) -> Vec<u8>) -> Self {
        for piece in &mut self.0 {
            if let Piece::Text(text) = piece {
                *text = change(text);
            }
        }
        self
    }
}

/// Whether this looks like the name of a value: letters, digits, dots and underscores.
fn is_name(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_');
    !text.trim().is_empty() && text.trim().chars().all(plain)
}

/// Whether this piece of JSON ends inside a string, given whether it begins in one.
fn ends_quoted(text: &[u8], mut quoted: bool) -> bool {
    let mut escaped = false;
    for byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = quoted,
            b'"' => quoted = !quoted,
            _ => {}
        }
    }
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::Values;
    use proptest::prelude::*;

    fn cut(text: &str, written: Written) -> (Pieces, Holes) {
        let mut holes = Holes::default();
        let is_value = |hole: &str| hole == "int 1 5";
        (Pieces::written(text.as_bytes(), written, is_value, &mut holes), holes)
    }

    fn joined(text: &str, written: Written, value: &str) -> String {
        let (pieces, holes) = cut(text, written);
        let mut values = Values::default();
        for _ in &holes.0 {
            values.push(|out| {
                out.extend_from_slice(value.as_bytes());
                true
            });
        }
        let mut out = Vec::new();
        pieces.join(&values, &mut Vec::new(), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn names_and_values_are_holes_and_all_else_is_text() {
        assert_eq!(cut("/{{seq}}/{{ int 1 5 }}?{{seq}}", Written::Plain).1.0, ["seq", "int 1 5"]);
        for text in ["{\"a\":{\"b\":{}}}", "{{", "{{}}", "{{ a b }}", "{{{\"x\":1}}}", "}}{{"] {
            assert_eq!(cut(text, Written::Plain).1.0.len(), 0, "{text}");
            assert_eq!(joined(text, Written::Plain, "?"), text);
        }
        assert_eq!(cut("{{{seq}}}", Written::Plain).1.0, ["seq"]);
        assert_eq!(joined("{{{seq}}}", Written::Plain, "x"), "{x}");
    }

    #[test]
    fn a_value_is_written_as_its_place_asks() {
        let value = "a \"b\"";
        assert_eq!(joined("x={{v}}", Written::Plain, value), "x=a \"b\"");
        assert_eq!(joined("x={{v}}&y", Written::Encoded, value), "x=a%20%22b%22&y");
        assert_eq!(joined("X: {{v}}\r\n", Written::Line, "a\r\nB: c"), "X: aB: c\r\n");
        let text = r#"{"a\"": {{v}}, "b": "\\{{v}} {{v}}", "c": [{{v}}]}"#;
        let json: serde_json::Value =
            serde_json::from_str(&joined(text, Written::Json, value)).unwrap();
        let both = format!("\\{value} {value}");
        assert_eq!(json, serde_json::json!({"a\"": value, "b": both, "c": [value]}));
    }

    proptest! {
        #[test]
        fn text_without_values_is_written_as_it_was_read(text in "[a-z{}\" :]{0,40}") {
            for written in [Written::Plain, Written::Encoded, Written::Json] {
                let (pieces, holes) = cut(&text, written);
                if holes.0.is_empty() {
                    let mut out = Vec::new();
                    pieces.join(&Values::default(), &mut Vec::new(), &mut out);
                    prop_assert_eq!(out, text.as_bytes());
                }
            }
        }
    }
}
