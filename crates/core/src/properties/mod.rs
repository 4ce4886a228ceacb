//! Java property files, as `java.util.Properties` reads them. Knows nothing about their meaning.
//!
//! Source: the documentation of `Properties.load(Reader)`, Java SE 17.

pub mod hadoop;
pub mod netrc;
mod read;

pub use read::{PropertyError, PropertyReader};

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use std::iter::Peekable;
use std::str::Chars;

/// Names with values; a name that is set again keeps its position and gets the later value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Properties(IndexMap<String, String>);

impl Properties {
    /// Reads a property file. If its bytes are not valid UTF-8, they are read as Latin-1, Java's
    /// own encoding for such files. YCSB reads every file as Latin-1, but UTF-8 is what people
    /// write today.
    ///
    /// # Errors
    /// Returns a message with the line in which a `\u` is not followed by four hexadecimal digits.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => bytes.iter().map(|&byte| char::from(byte)).collect(),
        };
        let mut reader = LineReader { chars: text.chars().peekable(), line: 1 };
        let mut properties = Self::default();
        while let Some((name, value)) = reader.pair()? {
            // An empty name can be written, but has no meaning.
            if !name.is_empty() {
                properties.set(name, value);
            }
        }
        Ok(properties)
    }

    /// Gives a property a value.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.0.insert(name.into(), value.into());
    }

    /// A property's value, without surrounding white space, which people often leave there by
    /// accident.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|value| value.trim())
    }

    /// Sets all of `later`'s properties.
    pub fn overlay(&mut self, later: Self) {
        self.0.extend(later.0);
    }

    /// All names with their values as written, in the order in which they were first set.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

/// Whether a character ends the line, unless it is preceded by a backslash.
const fn ends_line(c: char) -> bool {
    matches!(c, '\n' | '\r')
}

const fn blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\x0c')
}

struct LineReader<'a> {
    chars: Peekable<Chars<'a>>,
    line: usize,
}

impl LineReader<'_> {
    /// The next name and its value. `None` at the end of the text.
    fn pair(&mut self) -> Result<Option<(String, String)>, String> {
        while let Some(&c) = self.chars.peek() {
            if blank(c) {
                self.chars.next();
            } else if ends_line(c) {
                self.end_line();
            } else if matches!(c, '#' | '!') {
                while self.chars.next_if(|&c| !ends_line(c)).is_some() {}
            } else if !self.continued() {
                return self.name_and_value().map(Some);
            }
        }
        Ok(None)
    }

    fn name_and_value(&mut self) -> Result<(String, String), String> {
        let name = self.word(|c| blank(c) || matches!(c, '=' | ':'))?;
        self.blanks();
        if self.chars.next_if(|&c| matches!(c, '=' | ':')).is_some() {
            self.blanks();
        }
        let value = self.word(|_| false)?;
        Ok((name, value))
    }

    /// Reads characters, with escapes resolved, up to one that ends the word, or to the end of the
    /// line.
    fn word(&mut self, ends: impl Fn(char) -> bool) -> Result<String, String> {
        let mut units = Vec::new();
        loop {
            if self.continued() {
                continue;
            }
            let Some(c) = self.chars.next_if(|&c| !ends_line(c) && !ends(c)) else { break };
            let c = match c {
                '\\' => match self.chars.next() {
                    Some('u') => {
                        units.push(self.unit()?);
                        continue;
                    }
                    Some('t') => '\t',
                    Some('n') => '\n',
                    Some('r') => '\r',
                    Some('f') => '\x0c',
                    Some(other) => other,
                    None => break,
                },
                other => other,
            };
            units.extend_from_slice(c.encode_utf16(&mut [0; 2]));
        }
        // Two escapes may form a surrogate pair; half of one is meaningless.
        Ok(String::from_utf16_lossy(&units))
    }

    /// The four hexadecimal digits after `\u`.
    fn unit(&mut self) -> Result<u16, String> {
        (0..4).try_fold(0u16, |unit, _| {
            let digit = self.chars.next_if(char::is_ascii_hexdigit).and_then(|c| c.to_digit(16));
            let wrong = || format!("line {}: \\u needs four hexadecimal digits", self.line);
            Ok(unit << 4 | digit.ok_or_else(wrong)? as u16)
        })
    }

    fn blanks(&mut self) {
        while self.continued() || self.chars.next_if(|&c| blank(c)).is_some() {}
    }

    /// Skips a backslash at the end of a line, and the white space at the start of the next line.
    fn continued(&mut self) -> bool {
        let mut ahead = self.chars.clone();
        let goes_on = ahead.next() == Some('\\') && ahead.next().is_some_and(ends_line);
        if goes_on {
            self.chars.next();
            self.end_line();
            while self.chars.next_if(|&c| blank(c)).is_some() {}
        }
        goes_on
    }

    /// Skips one line ending, which may be two characters.
    fn end_line(&mut self) {
        if self.chars.next() == Some('\r') {
            self.chars.next_if_eq(&'\n');
        }
        self.line += 1;
    }
}

#[cfg(test)]
mod tests;
