//! The wire format for the Java process: frames, and the texts in them. All numbers are big-endian.
//! Everything received is checked: no length is trusted before its bytes have arrived.

use crate::op::Failure;
use std::ops::Range;

/// The longest frame, in bytes, in both directions. The Java side uses the same number for rows and
/// refuses longer requests.
pub(super) const MOST: usize = 64_000_000;
/// The most that the Java side adds to its rows: the text of a failure for each record.
pub(super) const ROOM: usize = 16_000_000;
/// The length of each of the two keys, in bytes.
pub(super) const KEY: usize = 16;

/// Appends a text: its length and its bytes.
pub(super) fn put(bytes: &[u8], out: &mut Vec<u8>) {
    put_count(bytes.len(), out);
    out.extend_from_slice(bytes);
}

/// Appends a number. A number that is too large makes the frame too long as well, which is refused.
pub(super) fn put_count(count: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&u32::try_from(count).unwrap_or(u32::MAX).to_be_bytes());
}

/// The frame in `read`, if all of it has arrived.
pub(super) fn whole(read: &[u8], most: usize) -> Result<Option<&[u8]>, Failure> {
    let Some((length, frame)) = read.split_first_chunk() else { return Ok(None) };
    match u32::from_be_bytes(*length) as usize {
        length if length > most || frame.len() > length => Err(Failure::Protocol),
        length if frame.len() < length => Ok(None),
        _ => Ok(Some(frame)),
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Parts<'a> {
    frame: &'a [u8],
    at: usize,
}

impl<'a> Parts<'a> {
    pub(super) const fn of(frame: &'a [u8]) -> Self {
        Self { frame, at: 0 }
    }

    fn take(&mut self, count: usize) -> Option<Range<usize>> {
        let end = self.at.checked_add(count).filter(|&end| end <= self.frame.len())?;
        Some(std::mem::replace(&mut self.at, end)..end)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let place = self.take(N)?;
        self.frame[place].try_into().ok()
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        self.array().map(|[byte]| byte)
    }

    pub(super) fn count(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    pub(super) fn nanos(&mut self) -> Option<u64> {
        self.array().map(u64::from_be_bytes)
    }

    pub(super) fn key(&mut self) -> Option<[u8; KEY]> {
        self.array()
    }

    pub(super) fn text(&mut self) -> Option<&'a [u8]> {
        let place = self.place()?;
        Some(&self.frame[place])
    }

    /// The position of a text in the frame.
    pub(super) fn place(&mut self) -> Option<Range<usize>> {
        let length = self.count()?;
        self.take(length as usize)
    }

    pub(super) const fn ended(&self) -> bool {
        self.at == self.frame.len()
    }
}

/// An answer: what the binding did, and what it returned.
#[derive(Debug, Default)]
pub(super) struct BindingAnswer {
    /// The time inside the binding, in nanoseconds.
    pub(super) inside_ns: u64,
    /// The result of each record, and where its text is in the frame.
    pub(super) results: Vec<(Result<Accepted, Failure>, Range<usize>)>,
    /// The number of rows ...
    pub(super) count: u32,
    /// ... and the rows as JSON objects, if they will be looked at.
    pub(super) rows: Vec<Vec<u8>>,
    /// The bytes of their names and values.
    pub(super) bytes: u64,
}

/// The fate of a record that the binding accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Accepted {
    /// The database has it.
    Yes,
    /// The binding keeps it, and will send it together with others.
    Batched,
}

impl BindingAnswer {
    /// Reads the answer to a request about `records` that has at most `most` rows, and keeps the
    /// rows if `looks`. `None` if it is not such an answer.
    pub(super) fn read(
        &mut self,
        frame: &[u8],
        records: u32,
        most: u32,
        looks: bool,
    ) -> Option<()> {
        let mut parts = Parts::of(frame);
        self.results.clear();
        self.rows.clear();
        self.bytes = 0;
        self.inside_ns = parts.nanos()?;
        if parts.count()? != records {
            return None;
        }
        for _ in 0..records {
            let result = result(parts.byte()?)?;
            self.results.push((result, parts.place()?));
        }
        self.count = parts.count()?;
        if self.count > most
            || self.count > 0 && self.results.iter().any(|(result, _)| result.is_err())
        {
            return None;
        }
        for _ in 0..self.count {
            let mut row = Vec::new();
            for _ in 0..parts.count()? {
                let (name, value) = (parts.text()?, parts.text()?);
                self.bytes += (name.len() + value.len()) as u64;
                if looks {
                    member(name, value, &mut row)?;
                }
            }
            if looks {
                row.extend_from_slice(if row.is_empty() { b"{}" } else { b"}" });
                self.rows.push(row);
            }
        }
        parts.ended().then_some(())
    }
}

/// Appends a member to a JSON object, or begins the object.
fn member(name: &[u8], value: &[u8], row: &mut Vec<u8>) -> Option<()> {
    row.push(if row.is_empty() { b'{' } else { b',' });
    quote(name, row)?;
    row.push(b':');
    quote(value, row)
}

/// Appends a JSON string. Bytes that are not text are replaced.
fn quote(text: &[u8], out: &mut Vec<u8>) -> Option<()> {
    serde_json::to_writer(out, &String::from_utf8_lossy(text)).ok()
}

/// The meaning of a result's number: a status of YCSB, by its place in the list on the Java side,
/// or a status that only the Java side reports. `None` if it has no meaning.
const fn result(code: u8) -> Option<Result<Accepted, Failure>> {
    Some(match code {
        0 => Ok(Accepted::Yes),
        8 => Ok(Accepted::Batched),
        // ERROR; a status that is specific to this binding; an exception.
        1 | 9 | 10 => Err(Failure::ServerError),
        2 => Err(Failure::NotFound),
        // NOT_IMPLEMENTED and BAD_REQUEST.
        3 | 5 => Err(Failure::Rejected),
        4 => Err(Failure::UnexpectedState),
        6 => Err(Failure::Authentication),
        // SERVICE_UNAVAILABLE.
        7 => Err(Failure::TooManyRequests),
        11 => Err(Failure::TooLarge),
        _ => return None,
    })
}
