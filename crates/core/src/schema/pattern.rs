//! Text with placeholders that are filled in for each request: `{{seq}}`, `{{uuid}}` and
//! `{{random.int}}`. Knows nothing about URLs or documents.

use uuid::Builder;
use uuid::fmt::Hyphenated;

/// Text with placeholders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pattern(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(Vec<u8>),
    Place(Place),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Seq,
    Uuid,
    RandomInt,
}

impl Place {
    const ALL: [(&'static [u8], Self); 3] =
        [(b"seq", Self::Seq), (b"uuid", Self::Uuid), (b"random.int", Self::RandomInt)];
}

/// The values of the placeholders in one request.
#[derive(Clone, Copy, Debug)]
pub struct Values {
    /// The number of the request.
    pub seq: u64,
    /// 128 random bits.
    pub random: [u8; 16],
    /// A random number of 31 bits.
    pub int: u32,
}

/// A placeholder with an unknown name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{{{{{0}}}}} is not filled in; there are {{{{seq}}}}, {{{{uuid}}}} and {{{{random.int}}}}")]
pub struct UnknownPlace(String);

impl Pattern {
    /// Text without placeholders.
    pub fn literal(text: &[u8]) -> Self {
        Self(if text.is_empty() { Vec::new() } else { vec![Piece::Text(text.to_vec())] })
    }

    /// Reads the placeholders in `text`. Double braces around something that does not look like a
    /// name, as in many documents, remain text.
    ///
    /// # Errors
    /// If a name is not that of a placeholder.
    pub fn parse(text: &[u8]) -> Result<Self, UnknownPlace> {
        let (mut pieces, mut done, mut from) = (Vec::new(), 0, 0);
        while let Some(open) = memchr::memmem::find(&text[from..], b"{{").map(|i| from + i) {
            let inside = &text[open + 2..];
            let length = memchr::memmem::find(inside, b"}}").filter(|&end| is_name(&inside[..end]));
            let Some(length) = length else {
                from = open + 1;
                continue;
            };
            let name = inside[..length].trim_ascii();
            let Some((_, place)) = Place::ALL.iter().find(|(known, _)| *known == name) else {
                return Err(UnknownPlace(String::from_utf8_lossy(name).into_owned()));
            };
            if open > done {
                pieces.push(Piece::Text(text[done..open].to_vec()));
            }
            pieces.push(Piece::Place(*place));
            done = open + 2 + length + 2;
            from = done;
        }
        if done < text.len() {
            pieces.push(Piece::Text(text[done..].to_vec()));
        }
        Ok(Self(pieces))
    }

    /// The text it was parsed from.
    pub fn source(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => out.extend_from_slice(text),
                Piece::Place(place) => {
                    let name = Place::ALL.iter().find(|(_, it)| it == place);
                    let name = name.map_or(&b""[..], |(name, _)| name);
                    out.extend_from_slice(&[b"{{", name, b"}}"].concat());
                }
            }
        }
        out
    }

    /// The same with `change` applied to each piece of text.
    pub fn map_text(mut self, change: impl Fn(&[u8]) -> Vec<u8>) -> Self {
        for piece in &mut self.0 {
            if let Piece::Text(text) = piece {
                *text = change(text);
            }
        }
        self
    }

    /// Whether there are no placeholders, so that it is the same for every request.
    pub fn is_literal(&self) -> bool {
        self.0.iter().all(|piece| matches!(piece, Piece::Text(_)))
    }

    /// Whether it is empty for every request.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Appends it with `values` filled in.
    pub fn write(&self, values: &Values, out: &mut Vec<u8>) {
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => out.extend_from_slice(text),
                Piece::Place(Place::Seq) => {
                    out.extend_from_slice(itoa::Buffer::new().format(values.seq).as_bytes());
                }
                Piece::Place(Place::RandomInt) => {
                    out.extend_from_slice(itoa::Buffer::new().format(values.int).as_bytes());
                }
                Piece::Place(Place::Uuid) => {
                    let uuid = Builder::from_random_bytes(values.random).into_uuid();
                    let mut text = [0; Hyphenated::LENGTH];
                    out.extend_from_slice(uuid.hyphenated().encode_lower(&mut text).as_bytes());
                }
            }
        }
    }
}

/// Whether this looks like the name of a placeholder: letters, digits and dots.
fn is_name(text: &[u8]) -> bool {
    let name = text.trim_ascii();
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_');
    !name.is_empty() && name.iter().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const VALUES: Values = Values { seq: 17, random: [0xab; 16], int: 5 };

    fn filled(text: &str) -> String {
        let mut out = Vec::new();
        Pattern::parse(text.as_bytes()).unwrap().write(&VALUES, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn places_are_filled_in() {
        assert_eq!(filled("/db/{{seq}}?n={{random.int}}"), "/db/17?n=5");
        assert_eq!(filled("{{ seq }}{{seq}}"), "1717");
        // Version 4, variant 1 (RFC 9562).
        assert_eq!(filled("<{{uuid}}>"), "<abababab-abab-4bab-abab-abababababab>");
    }

    #[test]
    fn what_is_no_name_stays_and_an_unknown_name_is_refused() {
        for text in ["{\"a\":{\"b\":{}}}", "{{", "{{}}", "{{ a b }}", "{{{\"x\":1}}}"] {
            assert_eq!(filled(text), text);
        }
        let error = Pattern::parse(b"/{{sequence}}").unwrap_err().to_string();
        assert!(error.starts_with("{{sequence}} is not"), "{error}");
        assert!(Pattern::literal(b"{{seq}}").is_literal());
    }

    proptest! {
        #[test]
        fn text_without_names_is_written_as_it_was_read(text in "[a-z{}\" :]{0,40}") {
            if let Ok(pattern) = Pattern::parse(text.as_bytes())
                && pattern.is_literal()
            {
                let mut out = Vec::new();
                pattern.write(&VALUES, &mut out);
                prop_assert_eq!(out, text.as_bytes());
            }
        }
    }
}
