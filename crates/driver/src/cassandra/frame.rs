//! Frames of CQL's binary protocol, version 4: nine bytes of header, and a body.
//!
//! Source: "CQL BINARY PROTOCOL v4" of Apache Cassandra, sections 2 to 4.

use super::answer::{HEADER, Prepared};
use super::consistency::{BatchKind, Consistency, Serial};
use super::spelled::{BoundValues, SpelledStatement};
use crate::call::CallError;
use crate::op::Failure;
use crate::pipe::{Protocol, Whose};
use std::num::NonZeroU32;

/// The version of the protocol, and the bit that marks an answer.
const VERSION: u8 = 4;
const ANSWER: u8 = 0x80;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Opcode {
    Startup = 0x01,
    Query = 0x07,
    Prepare = 0x09,
    Execute = 0x0a,
    Batch = 0x0d,
    AuthResponse = 0x0f,
}

/// Splits answers, and finds the requests that they belong to.
#[derive(Debug, Default)]
pub(super) struct Framing;

impl Protocol for Framing {
    const NUMBERS: u16 = 1 << 15;

    fn step(&mut self, bytes: &[u8], most: usize) -> Result<Option<usize>, CallError> {
        let wrong = |words: String| Err(CallError::new(Failure::Protocol, words));
        match bytes.first() {
            None => return Ok(None),
            Some(first) if *first == VERSION | ANSWER => {}
            Some(first) if (1..=6).contains(&(first ^ ANSWER)) => {
                let version = first ^ ANSWER;
                return wrong(format!("it speaks version {version} of CQL's protocol, not 4"));
            }
            Some(_) => return wrong("the answer is not one of CQL's protocol".to_owned()),
        }
        let Some(header) = bytes.first_chunk::<HEADER>() else { return Ok(None) };
        let [.., a, b, c, d] = *header;
        let length = HEADER.saturating_add(u32::from_be_bytes([a, b, c, d]) as usize);
        if length > most {
            return wrong("the answer is larger than --max-answer".to_owned());
        }
        Ok((bytes.len() >= length).then_some(length))
    }

    fn whose(bytes: &[u8]) -> Whose {
        let Some(&[_, _, high, low]) = bytes.first_chunk() else { return Whose::Unknown };
        // Negative numbers are for events.
        u16::try_from(i16::from_be_bytes([high, low])).map_or(Whose::Nobody, Whose::Numbered)
    }

    fn number(request: &mut [u8], number: u16) {
        request[2..4].copy_from_slice(&number.to_be_bytes());
    }
}

/// How a statement is executed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Manner<'a> {
    pub(super) consistency: Consistency,
    /// How many servers must agree on a condition.
    pub(super) serial: Option<Serial>,
    /// The maximum number of rows in one answer.
    pub(super) page: Option<u32>,
    /// Where the last answer ended.
    pub(super) after: Option<&'a [u8]>,
    /// When a write was made, in microseconds since 1970.
    pub(super) stamp: Option<i64>,
}

impl Manner<'_> {
    /// The manner of statements beside the load.
    pub(super) const PLAIN: Self =
        Self { consistency: Consistency::One, serial: None, page: None, after: None, stamp: None };
}

/// Requests, one after the other. Their numbers are still to be written.
#[derive(Debug, Default)]
pub(super) struct Frames {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Frames {
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    pub(super) const fn len(&self) -> usize {
        self.ends.len()
    }

    /// Each request.
    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        let start = |place: usize| place.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.ends.iter().enumerate().map(move |(place, &end)| &self.bytes[start(place)..end])
    }

    fn add(&mut self, opcode: Opcode, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&[VERSION, 0, 0, 0, opcode as u8, 0, 0, 0, 0]);
        write(&mut self.bytes);
        let length = (self.bytes.len() - start - HEADER) as u32;
        self.bytes[start + 5..start + HEADER].copy_from_slice(&length.to_be_bytes());
        self.ends.push(self.bytes.len());
    }

    /// The first request of a connection.
    pub(super) fn startup(&mut self) {
        let options = [
            ("CQL_VERSION", "3.0.0"),
            ("DRIVER_NAME", "springload"),
            ("DRIVER_VERSION", env!("CARGO_PKG_VERSION")),
        ];
        self.add(Opcode::Startup, |out| {
            write_short(options.len(), out);
            for text in options.iter().flat_map(|(name, value)| [name, value]) {
                write_short(text.len(), out);
                out.extend_from_slice(text.as_bytes());
            }
        });
    }

    /// A user and a password, as `PasswordAuthenticator` wants them: SASL's PLAIN.
    pub(super) fn log_in(&mut self, user: &str, password: &str) {
        self.add(Opcode::AuthResponse, |out| {
            write_int((user.len() + password.len() + 2) as u32, out);
            out.push(0);
            out.extend_from_slice(user.as_bytes());
            out.push(0);
            out.extend_from_slice(password.as_bytes());
        });
    }

    /// A statement that is not prepared.
    pub(super) fn query(&mut self, cql: &str, bound: &BoundValues, manner: &Manner<'_>) {
        self.add(Opcode::Query, |out| {
            write_long_text(cql, out);
            write_parameters(bound, manner, true, out);
        });
    }

    pub(super) fn prepare(&mut self, cql: &str) {
        self.add(Opcode::Prepare, |out| write_long_text(cql, out));
    }

    /// A statement that was prepared, by its identifier.
    pub(super) fn execute(&mut self, of: &Prepared, bound: &BoundValues, manner: &Manner<'_>) {
        self.add(Opcode::Execute, |out| {
            write_short(of.id.len(), out);
            out.extend_from_slice(&of.id);
            // If a statement has no columns before it is executed, such as one with a condition,
            // the answer has to describe them.
            write_parameters(bound, manner, of.found.is_empty(), out);
        });
    }

    pub(super) fn batch(
        &mut self,
        kind: BatchKind,
        rows: &[SpelledStatement],
        manner: &Manner<'_>,
    ) {
        self.add(Opcode::Batch, |out| {
            out.push(match kind {
                BatchKind::Logged => 0,
                BatchKind::Unlogged => 1,
            });
            write_short(rows.len(), out);
            for SpelledStatement { statement, bound, .. } in rows {
                out.push(1);
                write_short(statement.id.len(), out);
                out.extend_from_slice(&statement.id);
                write_bound(bound, out);
            }
            write_short(usize::from(manner.consistency.number()), out);
            out.push(u8::from(manner.stamp.is_some()) << 5);
            out.extend(manner.stamp.map(i64::to_be_bytes).iter().flatten());
        });
    }
}

/// The largest page that the protocol allows.
pub(super) const MOST_PAGE: NonZeroU32 = NonZeroU32::new(i32::MAX as u32).unwrap();

pub(super) const MOST_IN_BATCH: usize = u16::MAX as usize;

fn write_short(number: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&(number as u16).to_be_bytes());
}

fn write_int(number: u32, out: &mut Vec<u8>) {
    out.extend_from_slice(&number.to_be_bytes());
}

fn write_long_text(text: &str, out: &mut Vec<u8>) {
    write_int(text.len() as u32, out);
    out.extend_from_slice(text.as_bytes());
}

fn write_bound(bound: &BoundValues, out: &mut Vec<u8>) {
    write_short(usize::from(bound.count), out);
    out.extend_from_slice(&bound.bytes);
}

/// `describes` is whether the answer should name the columns of its rows.
fn write_parameters(bound: &BoundValues, manner: &Manner<'_>, describes: bool, out: &mut Vec<u8>) {
    let Manner { consistency, serial, page, after, stamp } = *manner;
    write_short(usize::from(consistency.number()), out);
    let (has_page, has_stamp) = (page.is_some(), stamp.is_some());
    let flags =
        [bound.count > 0, !describes, has_page, after.is_some(), serial.is_some(), has_stamp];
    out.push(flags.iter().rev().fold(0, |all, flag| all << 1 | u8::from(*flag)));
    if bound.count > 0 {
        write_bound(bound, out);
    }
    if let Some(rows) = page {
        write_int(rows, out);
    }
    if let Some(state) = after {
        write_int(state.len() as u32, out);
        out.extend_from_slice(state);
    }
    if let Some(serial) = serial {
        write_short(usize::from(serial.number()), out);
    }
    out.extend(stamp.map(i64::to_be_bytes).iter().flatten());
}

#[cfg(test)]
mod tests {
    use super::super::answer::CqlColumn;
    use super::super::types::Type;
    use super::*;

    #[test]
    fn requests_have_their_lengths_and_get_their_numbers() {
        let mut frames = Frames::default();
        frames.prepare("SELECT");
        let mut bound = BoundValues::default();
        bound.push(|out| {
            out.extend_from_slice(b"ab");
            Some(())
        });
        let manner = Manner {
            consistency: Consistency::LocalQuorum,
            serial: Some(Serial::LocalSerial),
            page: Some(5),
            after: Some(b"s"),
            stamp: Some(7),
        };
        let column = CqlColumn { name: "a".to_owned(), of: Type::Text };
        let statement =
            Prepared { id: b"id".to_vec(), found: [column].into(), ..Prepared::default() };
        frames.execute(&statement, &bound, &manner);
        let all: Vec<_> = frames.iter().collect();
        assert_eq!(all[0], b"\x04\0\0\0\x09\0\0\0\x0a\0\0\0\x06SELECT");
        let body = b"\0\x02id\0\x06\x3f\0\x01\0\0\0\x02ab\0\0\0\x05\0\0\0\x01s\0\x09\
            \0\0\0\0\0\0\0\x07";
        assert_eq!(all[1][HEADER..], body[..]);
        let mut request = all[0].to_vec();
        Framing::number(&mut request, 0x1234);
        assert_eq!(request[..5], [4, 0, 0x12, 0x34, 9]);
    }

    #[test]
    fn answers_end_where_they_say_and_others_are_refused() {
        let step = |bytes: &[u8]| Framing.step(bytes, 20).map_err(|it| it.reason);
        let answer = b"\x84\0\0\x07\x02\0\0\0\x02ab";
        for length in 0..answer.len() {
            assert_eq!(step(&answer[..length]), Ok(None));
        }
        assert_eq!(step(b"\x84\0\0\x07\x02\0\0\0\x02ab\x84"), Ok(Some(11)));
        assert_eq!(Framing::whose(answer), Whose::Numbered(7));
        assert_eq!(Framing::whose(b"\x84\0\xff\xff\x0c"), Whose::Nobody);
        assert_eq!(Framing::whose(b"\x84\0\0"), Whose::Unknown);
        for (bytes, words) in [
            (&b"\x84\0\0\0\x02\0\0\0\x0c"[..], "larger than --max-answer"),
            (b"\x84\0\0\0\x02\xff\xff\xff\xff", "larger than --max-answer"),
            (b"\x83", "it speaks version 3 of"),
            (b"HTTP", "not one of CQL's protocol"),
            (b"\x04", "not one of CQL's protocol"),
        ] {
            let message = step(bytes).unwrap_err();
            assert!(message.contains(words), "{message}");
        }
    }
}
