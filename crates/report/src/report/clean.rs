//! The gate that every record passes before it reaches a format: text from a server, a file or
//! another user's record becomes plain text on one line, so that it cannot steer a terminal or
//! forge a line, and the secrets that this process knows are removed. Formats only have to take
//! care of their own markup.

use crate::op::{plain, steers};
use crate::redact::strike;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Serializer;
use serde_json::ser::{CharEscape, CompactFormatter, Formatter, PrettyFormatter};
use std::borrow::Cow;
use std::io::{self, Write};

/// Returns `value` with all of its texts made plain, and known secrets removed; `None`: nothing
/// needs changing.
///
/// # Errors
/// Returns an error if the value has numbers that JSON cannot represent.
pub fn cleaned<T, U>(value: &T) -> Result<Option<U>, serde_json::Error>
where
    T: Serialize + ?Sized,
    U: DeserializeOwned,
{
    let mut looking = Texts::new(CompactFormatter, plainly);
    value.serialize(&mut Serializer::with_formatter(io::sink(), &mut looking))?;
    if !looking.found {
        return Ok(None);
    }
    let mut json = Vec::new();
    value.serialize(&mut Serializer::with_formatter(&mut json, &mut looking))?;
    serde_json::from_slice(&json).map(Some)
}

/// A value as JSON for people and programs, with known secrets removed. It cannot steer a terminal.
pub fn json(value: &(impl Serialize + ?Sized)) -> String {
    collected(value, PrettyFormatter::new())
}

/// The same on one line, whatever its texts contain.
pub fn json_line(value: &(impl Serialize + ?Sized)) -> String {
    collected(value, CompactFormatter)
}

/// Writes a value as [`json`] returns it.
///
/// # Errors
/// Returns the error of `out`.
pub fn write_json(value: &(impl Serialize + ?Sized), out: impl Write) -> io::Result<()> {
    write(value, PrettyFormatter::new(), out).map_err(io::Error::from)
}

fn collected(value: &(impl Serialize + ?Sized), form: impl Formatter) -> String {
    let mut json = Vec::new();
    write(value, form, &mut json).expect("plain data");
    String::from_utf8(json).expect("JSON is UTF-8")
}

fn write(
    value: &(impl Serialize + ?Sized),
    form: impl Formatter,
    out: impl Write,
) -> Result<(), serde_json::Error> {
    let text = |text: &str| match strike(text) {
        Cow::Borrowed(_) => None,
        Cow::Owned(struck) => Some(struck),
    };
    let mut texts = Texts::new(form, text);
    value.serialize(&mut Serializer::with_formatter(out, &mut texts))
}

/// Makes a text plain and removes known secrets; `None`: nothing needs changing.
fn plainly(text: &str) -> Option<String> {
    let spaced = |c| if matches!(c, '\t' | '\n' | '\r') { ' ' } else { plain(c) };
    let struck = strike(text);
    if struck.contains(|c: char| steers(c)) {
        return Some(struck.chars().map(spaced).collect());
    }
    match struck {
        Cow::Borrowed(_) => None,
        Cow::Owned(struck) => Some(struck),
    }
}

/// Makes JSON safe for a terminal: characters that would steer one are escaped, as in `\u009b`,
/// which is equivalent.
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

/// Writes JSON, replacing each text and each name of a member as a whole by `change`.
struct Texts<F, C> {
    form: F,
    change: C,
    text: String,
    /// Whether a text is being written: the name of a member may be a number, and is written as
    /// one.
    inside: bool,
    /// Whether anything was replaced.
    found: bool,
}

impl<F, C> Texts<F, C> {
    const fn new(form: F, change: C) -> Self {
        Self { form, change, text: String::new(), inside: false, found: false }
    }
}

/// Parts of JSON's syntax that are passed on unchanged.
macro_rules! as_is {
    ($($name:ident($($argument:ident: $Type:ty)?);)*) => {
        $(fn $name<W: ?Sized + Write>(
            &mut self,
            writer: &mut W,
            $($argument: $Type)?
        ) -> io::Result<()> {
            self.form.$name(writer, $($argument)?)
        })*
    };
}

/// Numbers, which belong to a text if they are the name of a member.
macro_rules! numbers {
    ($($name:ident: $Type:ty,)*) => {
        $(fn $name<W: ?Sized + Write>(&mut self, writer: &mut W, value: $Type) -> io::Result<()> {
            if !self.inside {
                return self.form.$name(writer, value);
            }
            self.text.push_str(&value.to_string());
            Ok(())
        })*
    };
}

impl<F: Formatter, C: Fn(&str) -> Option<String>> Formatter for &mut Texts<F, C> {
    numbers! {
        write_i8: i8,
        write_i16: i16,
        write_i32: i32,
        write_i64: i64,
        write_u8: u8,
        write_u16: u16,
        write_u32: u32,
        write_u64: u64,
        write_bool: bool,
    }

    as_is! {
        begin_array();
        end_array();
        begin_array_value(first: bool);
        end_array_value();
        begin_object();
        end_object();
        begin_object_key(first: bool);
        end_object_key();
        begin_object_value();
        end_object_value();
    }

    fn begin_string<W: ?Sized + Write>(&mut self, _writer: &mut W) -> io::Result<()> {
        self.text.clear();
        self.inside = true;
        Ok(())
    }

    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        _writer: &mut W,
        text: &str,
    ) -> io::Result<()> {
        self.text.push_str(text);
        Ok(())
    }

    fn write_char_escape<W: ?Sized + Write>(
        &mut self,
        _writer: &mut W,
        escape: CharEscape,
    ) -> io::Result<()> {
        self.text.push(match escape {
            CharEscape::Quote => '"',
            CharEscape::ReverseSolidus => '\\',
            CharEscape::Solidus => '/',
            CharEscape::Backspace => '\u{8}',
            CharEscape::FormFeed => '\u{c}',
            CharEscape::LineFeed => '\n',
            CharEscape::CarriageReturn => '\r',
            CharEscape::Tab => '\t',
            CharEscape::AsciiControl(byte) => char::from(byte),
        });
        Ok(())
    }

    fn end_string<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.inside = false;
        let changed = (self.change)(&self.text);
        self.found |= changed.is_some();
        let text = changed.as_deref().unwrap_or(&self.text);
        writer.write_all(terminal_json(serde_json::to_string(text)?).as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn texts_and_names_are_made_plain_and_numbers_stay() {
        let value = json!({ "a\u{1b}": ["x\ny", 1.5, null, "\u{9b}\\n\"\u{202e}"], "b": "é" });
        let plain: Option<Value> = cleaned(&value).unwrap();
        assert_eq!(plain, Some(json!({ "a�": ["x y", 1.5, null, "�\\n\"�"], "b": "é" })));
        assert_eq!(cleaned::<_, Value>(&plain.unwrap()).unwrap(), None);
    }

    #[test]
    fn a_secret_is_struck_out_of_texts_and_the_rest_is_as_it_was() {
        crate::redact::learn("gate \"keeper\" 7");
        // As in counts by status, whose names are numbers.
        let statuses = std::collections::BTreeMap::from([(400_u16, 3_u64)]);
        assert_eq!(super::json(&statuses), "{\n  \"400\": 3\n}");
        let value = json!({ "a": ["say gate \"keeper\" 7!", 1.5, {}], "b": { "c": "x\ny" } });
        let struck = json!({ "a": ["say ***!", 1.5, {}], "b": { "c": "x\ny" } });
        assert_eq!(super::json(&value), serde_json::to_string_pretty(&struck).unwrap());
        let plain: Option<Value> = cleaned(&value).unwrap();
        assert_eq!(plain, Some(json!({ "a": ["say ***!", 1.5, {}], "b": { "c": "x y" } })));
    }

    #[test]
    fn json_for_a_terminal_means_the_same() {
        let value = json!({ "a": "\u{9b}2J\u{7f}\u{202e}\u{1b}\né" });
        let text = terminal_json(serde_json::to_string_pretty(&value).unwrap());
        assert!(text.chars().all(|c| c == '\n' || !steers(c)), "{text:?}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }
}
