//! Answers of Redis's protocol, RESP 2 and 3: where each ends, and what it contains.
//!
//! Source: "Redis serialization protocol specification".

/// The longest line that begins an answer or one of its elements, in bytes.
const MOST_LINE: usize = 64 * 1024;

/// Why bytes are not an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadAnswer {
    /// They violate the protocol.
    Malformed,
    /// The answer is larger than the limit.
    TooLarge,
}

/// The progress of scanning an answer whose end may not have arrived yet.
///
/// Nested lists need no stack: it is enough to count how many values are still to come.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scan {
    at: usize,
    /// How many values are still to come; 0 before the first byte was looked at.
    open: u64,
}

impl Scan {
    /// Scans what has arrived of an answer since the last call. Returns the answer's length once it
    /// is complete, and is then ready for the next answer.
    ///
    /// # Errors
    /// Fails if it is not an answer, or has more than `most` bytes.
    pub fn step(&mut self, bytes: &[u8], most: usize) -> Result<Option<usize>, BadAnswer> {
        self.open = self.open.max(1);
        while self.open > 0 {
            if self.at > most {
                return Err(BadAnswer::TooLarge);
            }
            let Some(line) = line(&bytes[self.at.min(bytes.len())..])? else { return Ok(None) };
            let after = self.at + line.len() + 2;
            let (kind, rest) = line.split_first().ok_or(BadAnswer::Malformed)?;
            match kind {
                b'+' | b'-' | b':' | b',' | b'(' | b'#' | b'_' => self.open -= 1,
                b'$' | b'=' | b'!' => {
                    self.at = match length(rest)? {
                        None => after,
                        Some(length) if length > most as u64 => return Err(BadAnswer::TooLarge),
                        Some(length) => {
                            let end = after + length as usize;
                            let Some(closing) = bytes.get(end..end + 2) else { return Ok(None) };
                            if closing != b"\r\n" {
                                return Err(BadAnswer::Malformed);
                            }
                            end + 2
                        }
                    };
                    self.open -= 1;
                    continue;
                }
                b'*' | b'~' | b'>' => self.more(length(rest)?.unwrap_or(0), 1, 1)?,
                b'%' => self.more(length(rest)?.unwrap_or(0), 2, 1)?,
                // The value to which the attributes belong is still to come.
                b'|' => self.more(length(rest)?.unwrap_or(0), 2, 0)?,
                _ => return Err(BadAnswer::Malformed),
            }
            self.at = after;
        }
        let length = self.at;
        *self = Self::default();
        if length > most { Err(BadAnswer::TooLarge) } else { Ok(Some(length)) }
    }

    /// Counts a list of `count` elements of `each` values, which is itself this many values.
    fn more(&mut self, count: u64, each: u64, itself: u64) -> Result<(), BadAnswer> {
        let values = count.checked_mul(each).and_then(|more| self.open.checked_add(more));
        self.open = values.ok_or(BadAnswer::TooLarge)? - itself;
        Ok(())
    }
}

impl Protocol for Scan {
    const NUMBERS: u16 = 0;

    fn step(&mut self, bytes: &[u8], most: usize) -> Result<Option<usize>, CallError> {
        Self::step(self, bytes, most).map_err(|wrong| {
            CallError::new(
                Failure::Protocol,
                match wrong {
                    BadAnswer::Malformed => "the answer is not one of Redis's protocol",
                    BadAnswer::TooLarge => "the answer is larger than --max-answer",
                },
            )
        })
    }

    fn whose(bytes: &[u8]) -> Whose {
        if bytes.first() == Some(&b'>') { Whose::Nobody } else { Whose::First }
    }
}

/// The line at the beginning, without its end; `None` if the end has not arrived.
fn line(bytes: &[u8]) -> Result<Option<&[u8]>, BadAnswer> {
    let end = bytes.iter().take(MOST_LINE).position(|&byte| byte == b'\r');
    match end {
        None if bytes.len() >= MOST_LINE => Err(BadAnswer::Malformed),
        None => Ok(None),
        Some(end) => match bytes.get(end + 1) {
            None => Ok(None),
            Some(b'\n') => Ok(Some(&bytes[..end])),
            Some(_) => Err(BadAnswer::Malformed),
        },
    }
}

/// The number of bytes or elements; `None` for the null of RESP 2.
fn length(text: &[u8]) -> Result<Option<u64>, BadAnswer> {
    if text == b"-1" {
        return Ok(None);
    }
    let append = |number: u64, &byte: &u8| {
        let digit = u64::from(byte.wrapping_sub(b'0'));
        if digit > 9 { None } else { number.checked_mul(10)?.checked_add(digit) }
    };
    let number = text.iter().try_fold(0, append).filter(|_| !text.is_empty());
    number.map(Some).ok_or(BadAnswer::Malformed)
}

use crate::call::CallError;
use crate::op::Failure;
use crate::pipe::{Protocol, Whose};

/// The contents of an answer, or of an element of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// Nothing.
    Null,
    /// A refusal.
    Error(&'a [u8]),
    /// A number.
    Number(i64),
    /// Text of any kind, including numbers that are not whole.
    Text(&'a [u8]),
    /// Values one after another: those of a list or a set, or alternating names and values.
    List(Values<'a>),
}

/// The elements of a list, as they arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Values<'a> {
    pub(super) count: u64,
    /// Whether their type alone says that names and values alternate, rather than the command.
    pub(super) pairs: bool,
    rest: &'a [u8],
}

impl<'a> Value<'a> {
    /// Parses an answer whose end [`Scan`] has found.
    pub fn of(answer: &'a [u8]) -> Self {
        let Some((mut value, rest)) = head(answer) else { return Self::Null };
        if let Self::List(values) = &mut value {
            // Nothing follows it.
            values.rest = rest;
        }
        value
    }

    /// The text; `None` for anything else.
    pub const fn text(&self) -> Option<&'a [u8]> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Whether its type alone says that names and values alternate, rather than the command.
    pub const fn has_pairs(&self) -> bool {
        matches!(self, Self::List(Values { pairs: true, .. }))
    }

    /// The elements; none for anything but a list.
    pub const fn list(&self) -> Elements<'a> {
        match self {
            Self::List(Values { count, rest, .. }) => Elements { count: *count, rest },
            _ => Elements { count: 0, rest: b"" },
        }
    }
}

/// The remaining elements of a list.
#[derive(Clone, Debug)]
pub struct Elements<'a> {
    count: u64,
    rest: &'a [u8],
}

impl<'a> Iterator for Elements<'a> {
    type Item = Value<'a>;

    fn next(&mut self) -> Option<Value<'a>> {
        self.count = self.count.checked_sub(1)?;
        let (value, rest) = read(self.rest)?;
        self.rest = rest;
        Some(value)
    }
}

/// The value at the beginning of `bytes`, and what follows it.
fn read(bytes: &[u8]) -> Option<(Value<'_>, &[u8])> {
    let (value, rest) = head(bytes)?;
    let Value::List(values) = value else { return Some((value, rest)) };
    let (elements, rest) = rest.split_at_checked(length_of(values.count, rest)?)?;
    Some((Value::List(Values { rest: elements, ..values }), rest))
}

/// The total length of the first `count` values in bytes.
fn length_of(count: u64, bytes: &[u8]) -> Option<usize> {
    let mut scan = Scan { at: 0, open: count };
    if count == 0 { Some(0) } else { scan.step(bytes, usize::MAX).ok()? }
}

/// The value at the beginning and what follows it; a list comes without its elements, which follow
/// it.
fn head(mut bytes: &[u8]) -> Option<(Value<'_>, &[u8])> {
    loop {
        let line = line(bytes).ok()??;
        let (kind, text) = line.split_first()?;
        let rest = &bytes[line.len() + 2..];
        let value = match kind {
            b'-' => Value::Error(text),
            b':' => {
                let number = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
                number.map_or(Value::Text(text), Value::Number)
            }
            b'_' => Value::Null,
            b'$' | b'=' | b'!' => match length(text).ok()? {
                None => Value::Null,
                Some(length) => return long(*kind, length as usize, rest),
            },
            b'*' | b'~' | b'>' | b'%' => match length(text).ok()? {
                None => Value::Null,
                Some(count) => {
                    let pairs = *kind == b'%';
                    let count = count.checked_mul(1 + u64::from(pairs))?;
                    Value::List(Values { count, pairs, rest: b"" })
                }
            },
            b'|' => {
                // Attributes come before the value to which they belong.
                let count = length(text).ok()?.unwrap_or(0).checked_mul(2)?;
                bytes = rest.get(length_of(count, rest)?..)?;
                continue;
            }
            _ => Value::Text(text),
        };
        return Some((value, rest));
    }
}

/// A text preceded by its length, and what follows its end.
fn long(kind: u8, length: usize, rest: &[u8]) -> Option<(Value<'_>, &[u8])> {
    let (text, rest) = rest.split_at_checked(length)?;
    let value = match kind {
        b'!' => Value::Error(text),
        // Three letters and a colon name its format.
        b'=' => Value::Text(text.get(4..).unwrap_or_default()),
        _ => Value::Text(text),
    };
    Some((value, rest.get(2..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The length of the answer at the beginning.
    fn end(bytes: &[u8]) -> Result<Option<usize>, BadAnswer> {
        Scan::default().step(bytes, 1_000)
    }

    #[test]
    fn answers_of_both_versions_end_where_they_end() {
        for answer in [
            "+OK\r\n",
            "-ERR no\r\n",
            ":-12\r\n",
            "$-1\r\n",
            "$0\r\n\r\n",
            "$5\r\na\r\nbc\r\n",
            "*-1\r\n",
            "*0\r\n",
            "*2\r\n*1\r\n:1\r\n$1\r\na\r\n",
            "%1\r\n$1\r\na\r\n*2\r\n_\r\n#t\r\n",
            "~1\r\n,1.5\r\n",
            "|1\r\n+ttl\r\n:3\r\n*1\r\n(12345678901234567890\r\n",
            "=7\r\ntxt:abc\r\n",
            "!5\r\nERR x\r\n",
            ">1\r\n+push\r\n",
        ] {
            let bytes = format!("{answer}+next\r\n");
            assert_eq!(end(bytes.as_bytes()), Ok(Some(answer.len())), "{answer:?}");
            let mut scan = Scan::default();
            for cut in 0..answer.len() {
                assert_eq!(scan.step(&bytes.as_bytes()[..cut], 1_000), Ok(None), "{answer:?}");
            }
            assert_eq!(scan.step(bytes.as_bytes(), 1_000), Ok(Some(answer.len())), "{answer:?}");
        }
    }

    #[test]
    fn what_is_no_answer_is_told_from_one_that_is_too_large() {
        for bytes in [
            "HTTP/1.1 400 Bad Request\r\n",
            "\r\n",
            "$\r\n",
            "$x\r\n",
            "$1\r\nabc",
            "+a\rb",
            "*-2\r\n",
            "*18446744073709551616\r\n",
        ] {
            assert_eq!(end(bytes.as_bytes()), Err(BadAnswer::Malformed), "{bytes:?}");
        }
        let endless = vec![b'+'; MOST_LINE];
        assert_eq!(end(&endless), Err(BadAnswer::Malformed));
        for bytes in ["$1001\r\n", "*9223372036854775807\r\n%9223372036854775807\r\n"] {
            assert_eq!(end(bytes.as_bytes()), Err(BadAnswer::TooLarge), "{bytes:?}");
        }
        let many = format!("*1000\r\n{}", "_\r\n".repeat(1_000));
        assert_eq!(end(many.as_bytes()), Err(BadAnswer::TooLarge));
    }

    #[test]
    fn values_are_read_in_their_order() {
        let values = |bytes: &'static str| Value::of(bytes.as_bytes());
        assert_eq!(values("$3\r\nabc\r\n"), Value::Text(b"abc"));
        assert_eq!(values(":12\r\n"), Value::Number(12));
        assert_eq!((values("$-1\r\n"), values("_\r\n")), (Value::Null, Value::Null));
        assert_eq!(values("=7\r\ntxt:abc\r\n"), Value::Text(b"abc"));
        assert_eq!(values("!5\r\nERR x\r\n"), Value::Error(b"ERR x"));
        assert_eq!(values("|1\r\n+ttl\r\n:3\r\n:5\r\n"), Value::Number(5));
        let map = values("%1\r\n+a\r\n*2\r\n:1\r\n+b\r\n");
        assert!(map.has_pairs() && !values("*0\r\n").has_pairs());
        let (mut map, texts) = (map.list(), |value: Value<'_>| value.text().unwrap().to_vec());
        assert_eq!(map.next().map(texts), Some(b"a".to_vec()));
        let chain = format!("{}+x\r\n", "|0\r\n".repeat(200_000));
        assert_eq!(Value::of(chain.as_bytes()), Value::Text(b"x"));
        let inner: Vec<_> = map.next().unwrap().list().collect();
        assert_eq!((inner, map.next()), (vec![Value::Number(1), Value::Text(b"b")], None));
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_read_without_harm(bytes in proptest::collection::vec(
            proptest::prelude::prop_oneof![
                proptest::sample::select(b"+-:$*%~|>=!_,(#019\r\n".to_vec()),
                proptest::prelude::any::<u8>(),
            ],
            0..80,
        )) {
            if let Ok(Some(length)) = end(&bytes) {
                assert!(length <= bytes.len());
                let _ = Value::of(&bytes[..length]).list().count();
            }
        }

        /// However the bytes arrive, the end is the same.
        #[test]
        fn pieces_end_where_the_whole_ends(cuts in proptest::collection::vec(1_usize..9, 0..20)) {
            let answer = b"*3\r\n%1\r\n$4\r\nname\r\n$2\r\n\r\n\r\n|1\r\n+a\r\n_\r\n:7\r\n-ERR\r\n";
            let (mut scan, mut at) = (Scan::default(), 0);
            for cut in cuts {
                at = (at + cut).min(answer.len());
                if let Some(length) = scan.step(&answer[..at], 1_000).unwrap() {
                    assert_eq!((length, at), (answer.len(), answer.len()));
                    return Ok(());
                }
            }
            assert_eq!(scan.step(answer, 1_000), Ok(Some(answer.len())));
        }
    }
}
