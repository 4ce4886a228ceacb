//! Answers of CQL's binary protocol, and their contents.
//!
//! Source: "CQL BINARY PROTOCOL v4" of Apache Cassandra, sections 4.2 and 9.

use super::reader::{Reader, WireValue};
use super::types::Type;
use crate::call::CallError;
use crate::op::Failure;
use std::rc::Rc;

/// Bytes of a header.
pub(super) const HEADER: usize = 9;

/// Kinds of answers, by opcode.
const ERROR: u8 = 0x00;
const READY: u8 = 0x02;
const AUTHENTICATE: u8 = 0x03;
const RESULT: u8 = 0x08;
const AUTH_CHALLENGE: u8 = 0x0e;
const AUTH_SUCCESS: u8 = 0x10;

/// Flags of the header: what precedes the message in a body.
const TRACED: u8 = 0x02;
const WARNED: u8 = 0x08;
const COMPRESSED: u8 = 0x01;
const LOADED: u8 = 0x04;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum CqlAnswer<'a> {
    /// The connection can be used.
    Ready,
    /// The server requires a log-in.
    Authenticate,
    /// It was done; there is nothing else to report.
    Done,
    Rows(CqlRows<'a>),
    Prepared(Prepared),
    Refused(Refusal<'a>),
}

/// Why something was not done: the server's error code and its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Refusal<'a> {
    pub(super) code: u32,
    pub(super) words: &'a str,
}

/// A column of a statement or an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CqlColumn {
    pub(super) name: String,
    pub(super) of: Type,
}

impl CqlColumn {
    /// The error for something that is not a value of the column.
    pub(super) fn is_not(&self, value: &[u8]) -> CallError {
        let text: String = String::from_utf8_lossy(value).chars().take(40).collect();
        CallError::new(Failure::Rejected, format!("{text:?} is no value of {}", self.name))
    }
}

/// A statement that the server has prepared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Prepared {
    pub(super) id: Vec<u8>,
    /// The columns whose values its question marks stand for.
    pub(super) wanted: Vec<CqlColumn>,
    /// The indexes of those that make up the partition key, in its order.
    pub(super) key: Vec<u16>,
    /// The columns of the rows that it returns.
    pub(super) found: Rc<[CqlColumn]>,
}

/// The rows of an answer, or of a page of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CqlRows<'a> {
    /// Their columns, if the answer describes them.
    pub(super) columns: Option<Rc<[CqlColumn]>>,
    /// How many rows there are, and how many columns each has.
    pub(super) count: u32,
    width: u32,
    /// Where the next page begins, if there is one.
    pub(super) more: Option<&'a [u8]>,
    pub(super) bytes: &'a [u8],
}

impl<'a> CqlRows<'a> {
    /// Reads the next row from `rest`; empty if there are no columns. `None` if the answer is cut
    /// short.
    pub(super) fn next(&self, rest: &mut Reader<'a>) -> Option<Row<'a>> {
        (0..self.width).map(|_| rest.value()).collect()
    }

    pub(super) fn all(&self) -> Option<Vec<Row<'a>>> {
        let mut rest = Reader(self.bytes);
        let rows = (0..self.count).map(|_| self.next(&mut rest)).collect::<Option<_>>()?;
        rest.0.is_empty().then_some(rows)
    }

    /// Whether all values are there, and nothing follows them.
    pub(super) fn are_whole(&self) -> bool {
        let mut rest = Reader(self.bytes);
        let values = u64::from(self.count) * u64::from(self.width);
        (0..values).all(|_| rest.value().is_some()) && rest.0.is_empty()
    }

    pub(super) const fn width(&self) -> usize {
        self.width as usize
    }
}

pub(super) type Row<'a> = Vec<WireValue<'a>>;

/// The part of an answer about its rows.
struct Metadata<'a> {
    columns: Option<Rc<[CqlColumn]>>,
    /// How many columns there are.
    width: u32,
    /// Where the next page begins.
    more: Option<&'a [u8]>,
}

impl<'a> Reader<'a> {
    /// Skips what precedes the message.
    fn skip(&mut self, flags: u8) -> Option<()> {
        if flags & TRACED > 0 {
            self.take(16)?;
        }
        if flags & WARNED > 0 {
            for _ in 0..self.short()? {
                self.short_bytes()?;
            }
        }
        if flags & LOADED > 0 {
            for _ in 0..self.short()? {
                self.short_bytes()?;
                self.value()?;
            }
        }
        (flags & COMPRESSED == 0).then_some(())
    }

    fn columns(&mut self, count: u32, global: bool) -> Option<Vec<CqlColumn>> {
        if global {
            self.skip_place()?;
        }
        // Each has at least four bytes: no room is reserved for columns that are only announced.
        let mut columns = Vec::with_capacity((count as usize).min(self.0.len() / 4));
        for _ in 0..count {
            if !global {
                self.skip_place()?;
            }
            columns.push(CqlColumn { name: self.text()?.to_owned(), of: Type::read(self, 0)? });
        }
        Some(columns)
    }

    fn rows(&mut self) -> Option<CqlRows<'a>> {
        let Metadata { columns, width, more } = self.metadata()?;
        let (count, bytes) = (self.int()?, self.0);
        // A value has at least four bytes.
        let least = (u64::from(count) * u64::from(width)).saturating_mul(4);
        let is_whole = least <= bytes.len() as u64 && (width > 0 || count == 0);
        is_whole.then_some(CqlRows { columns, count, width, more, bytes })
    }

    fn metadata(&mut self) -> Option<Metadata<'a>> {
        let (flags, width) = (self.int()?, self.int()?);
        let more = if flags & 2 > 0 { self.value()? } else { None };
        let columns = match flags & 4 {
            0 => Some(self.columns(width, flags & 1 > 0)?.into()),
            _ => None,
        };
        Some(Metadata { columns, width, more })
    }

    fn prepared(&mut self) -> Option<Prepared> {
        let id = self.short_bytes()?.to_vec();
        let (flags, count, keys) = (self.int()?, self.int()?, self.int()?);
        let key = (0..keys).map(|_| self.short()).collect::<Option<_>>()?;
        let wanted = self.columns(count, flags & 1 > 0)?;
        let found = self.metadata()?.columns.unwrap_or_default();
        Some(Prepared { id, wanted, key, found })
    }
}

/// Parses an answer; `None` if it is not one, or is cut short.
pub(super) fn read(frame: &[u8]) -> Option<CqlAnswer<'_>> {
    let (header, body) = frame.split_at_checked(HEADER)?;
    let mut rest = Reader(body);
    rest.skip(header[1])?;
    Some(match header[4] {
        ERROR => CqlAnswer::Refused(Refusal { code: rest.int()?, words: rest.text()? }),
        READY | AUTH_SUCCESS => CqlAnswer::Ready,
        AUTHENTICATE | AUTH_CHALLENGE => CqlAnswer::Authenticate,
        RESULT => match rest.int()? {
            2 => CqlAnswer::Rows(rest.rows()?),
            4 => CqlAnswer::Prepared(rest.prepared()?),
            // Nothing, a keyspace that is used from now on, or a change of the schema.
            1 | 3 | 5 => CqlAnswer::Done,
            _ => return None,
        },
        _ => return None,
    })
}

/// The rows of an answer, if it has any.
///
/// # Errors
/// Fails if it is a refusal, or not an answer.
pub(super) fn checked(frame: &[u8]) -> Result<Option<CqlRows<'_>>, CallError> {
    match read(frame) {
        Some(CqlAnswer::Rows(rows)) => Ok(Some(rows)),
        Some(CqlAnswer::Done) => Ok(None),
        Some(CqlAnswer::Refused(refusal)) => Err(refusal.error()),
        _ => Err(malformed()),
    }
}

/// The error for something that is not an answer.
pub(super) fn malformed() -> CallError {
    CallError::new(Failure::Protocol, "the answer is not one of CQL's protocol")
}

/// The kind of a frame that answers no request: for tests.
#[cfg(test)]
pub(super) const EVENT: u8 = 0x0c;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn frame(flags: u8, opcode: u8, body: &[u8]) -> Vec<u8> {
        let mut out = vec![0x84, flags, 0, 0, opcode];
        out.extend_from_slice(&(body.len() as u32).to_be_bytes());
        out.extend_from_slice(body);
        out
    }

    const ROWS: &[u8] = b"\0\0\0\x02\0\0\0\x03\0\0\0\x02\0\0\0\x01p\
        \0\x01k\0\x01t\0\x01a\0\x0d\0\x01b\0\x09\
        \0\0\0\x02\0\0\0\x01x\0\0\0\x04\0\0\0\x07\0\0\0\0\xff\xff\xff\xff";

    #[test]
    fn rows_have_values_of_their_columns() {
        let bytes = frame(0, RESULT, ROWS);
        let Some(CqlAnswer::Rows(rows)) = read(&bytes) else { panic!("no rows") };
        let columns = rows.columns.as_deref().unwrap();
        assert_eq!((columns[0].name.as_str(), &columns[0].of), ("a", &Type::Text));
        assert_eq!((columns[1].name.as_str(), &columns[1].of), ("b", &Type::Int));
        assert_eq!((rows.count, rows.width(), rows.more), (2, 2, Some(&b"p"[..])));
        let all = rows.all().unwrap();
        assert_eq!(all[0], [Some(&b"x"[..]), Some(&[0, 0, 0, 7][..])]);
        assert_eq!(all[1], [Some(&b""[..]), None]);
    }

    #[test]
    fn what_precedes_a_message_is_skipped_and_refusals_have_words() {
        let mut body = vec![9; 16];
        body.extend_from_slice(b"\0\x01\0\x04warn\0\0\x22\0\0\x03bad");
        let bytes = frame(TRACED | WARNED, ERROR, &body);
        let refusal = Refusal { code: 0x2200, words: "bad" };
        assert_eq!(read(&bytes), Some(CqlAnswer::Refused(refusal)));
        assert_eq!(read(&frame(COMPRESSED, READY, b"")), None);
        assert_eq!(read(&frame(0, EVENT, b"")), None);
        assert_eq!(read(&frame(0, READY, b"")), Some(CqlAnswer::Ready));
        assert_eq!(read(&frame(0, RESULT, b"\0\0\0\x01")), Some(CqlAnswer::Done));
    }

    #[test]
    fn a_prepared_statement_says_what_it_wants_and_finds() {
        let body =
            b"\0\0\0\x04\0\x02id\0\0\0\x01\0\0\0\x01\0\0\0\x01\0\0\0\x01k\0\x01t\0\x01a\0\x0d\
            \0\0\0\x04\0\0\0\0";
        let Some(CqlAnswer::Prepared(prepared)) = read(&frame(0, RESULT, body)) else { panic!() };
        assert_eq!((prepared.id.as_slice(), prepared.key.as_slice()), (&b"id"[..], &[0][..]));
        assert_eq!(prepared.wanted, [CqlColumn { name: "a".to_owned(), of: Type::Text }]);
        assert!(prepared.found.is_empty());
    }

    /// Rows without columns cost nothing to send, and would fill the memory.
    #[test]
    fn rows_that_are_only_announced_are_none() {
        let body = b"\0\0\0\x02\0\0\0\x01\0\0\0\0\0\x01k\0\x01t\xff\xff\xff\xff";
        assert_eq!(read(&frame(0, RESULT, body)), None);
        let body = b"\0\0\0\x02\0\0\0\x01\x7f\xff\xff\xff\0\x01k\0\x01t\0\0\0\0";
        assert_eq!(read(&frame(0, RESULT, body)), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_an_answer_or_none(flags: u8, kind in 0..20u8, body: Vec<u8>) {
            if let Some(CqlAnswer::Rows(rows)) = read(&frame(flags, kind, &body)) {
                let _ = rows.all();
            }
        }

        #[test]
        fn rows_that_are_cut_or_changed_are_rows_or_none(cut in 0..ROWS.len(), to: u8) {
            let answer = frame(0, RESULT, &ROWS[..cut]);
            prop_assert!(matches!(read(&answer), None | Some(CqlAnswer::Rows(_))));
            let mut changed = ROWS.to_vec();
            changed[cut] = to;
            if let Some(CqlAnswer::Rows(rows)) = read(&frame(0, RESULT, &changed)) {
                let _ = rows.all();
            }
        }
    }
}
