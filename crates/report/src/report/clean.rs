//! The gate that every record passes before a format sees it: text from a server, a file or
//! somebody else's record becomes plain text on one line, so that it cannot steer a terminal or
//! forge a line. Formats only have to take care of their own markup.

use crate::op::{plain, steers};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Serializer;
use serde_json::ser::{CharEscape, CompactFormatter, Formatter};
use std::io::{self, Write};

/// `value` with all of its texts made plain; `None`: they already are.
///
/// # Errors
/// If the value has numbers that JSON has no form for.
pub fn cleaned<T, U>(value: &T) -> Result<Option<U>, serde_json::Error>
where
    T: Serialize + ?Sized,
    U: DeserializeOwned,
{
    let mut looking = Plain::default();
    value.serialize(&mut Serializer::with_formatter(io::sink(), &mut looking))?;
    if !looking.found {
        return Ok(None);
    }
    let mut json = Vec::new();
    value.serialize(&mut Serializer::with_formatter(&mut json, &mut looking))?;
    serde_json::from_slice(&json).map(Some)
}

/// JSON that is safe for a terminal: what would steer one is escaped, as in `\u009b`, which means
/// the same.
pub fn terminal_json(json: String) -> String {
    use std::fmt::Write as _;
    let steers = |c: char| c != '\n' && steers(c);
    if !json.contains(steers) {
        return json;
    }
    let mut out = String::with_capacity(json.len() + 64);
    for c in json.chars() {
        if steers(c) {
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}

/// Writes JSON whose texts, names of members included, are plain.
#[derive(Debug, Default)]
struct Plain {
    /// Whether there was anything to replace.
    found: bool,
}

impl Formatter for &mut Plain {
    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        text: &str,
    ) -> io::Result<()> {
        let replace = text.bytes().any(|byte| byte >= 0x7f) && text.contains(steers);
        if !replace {
            return writer.write_all(text.as_bytes());
        }
        self.found = true;
        writer.write_all(text.chars().map(plain).collect::<String>().as_bytes())
    }

    fn write_char_escape<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        escape: CharEscape,
    ) -> io::Result<()> {
        let c = match escape {
            CharEscape::Tab | CharEscape::LineFeed | CharEscape::CarriageReturn => ' ',
            CharEscape::Backspace | CharEscape::FormFeed | CharEscape::AsciiControl(_) => {
                char::REPLACEMENT_CHARACTER
            }
            other => return CompactFormatter.write_char_escape(writer, other),
        };
        self.found = true;
        writer.write_all(c.encode_utf8(&mut [0; 4]).as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn texts_and_names_are_made_plain_and_numbers_stay() {
        let value = json!({ "a\u{1b}": ["x\ny", 1.5, null, "\u{9b}\\n\"\u{202e}"], "b": "é" });
        let told: Option<Value> = cleaned(&value).unwrap();
        assert_eq!(told, Some(json!({ "a�": ["x y", 1.5, null, "�\\n\"�"], "b": "é" })));
        assert_eq!(cleaned::<_, Value>(&told.unwrap()).unwrap(), None);
    }

    #[test]
    fn json_for_a_terminal_means_the_same() {
        let value = json!({ "a": "\u{9b}2J\u{7f}\u{202e}\u{1b}\né" });
        let text = terminal_json(serde_json::to_string_pretty(&value).unwrap());
        assert!(text.chars().all(|c| c == '\n' || !steers(c)), "{text:?}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }
}
