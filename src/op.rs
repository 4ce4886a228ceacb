//! The vocabulary of one request: what is asked, what came back, what went wrong.
//!
//! Knows nothing of databases, wires or clocks, and imports nothing of ours.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The kind of an operation. Its number indexes every per-kind table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum OpKind {
    /// Many documents in one request.
    BulkInsert,
    /// One new document.
    Create,
    /// One document by its key.
    Read,
    /// A new version of one document.
    Update,
    /// The removal of one document.
    Delete,
    /// Documents in the order of their identifiers, from one on.
    Scan,
    /// A read and an update of the same document, timed as one. Its parts count as themselves.
    ReadModifyWrite,
    /// The comparison of what was read with what was written. Nothing is sent for it.
    Verify,
    /// Any HTTP request.
    Request,
}

impl OpKind {
    /// Every kind, in report order.
    pub const ALL: [Self; 9] = [
        Self::BulkInsert,
        Self::Create,
        Self::Read,
        Self::Update,
        Self::Delete,
        Self::Scan,
        Self::ReadModifyWrite,
        Self::Verify,
        Self::Request,
    ];
    /// The number of kinds: the length of every per-kind table.
    pub const COUNT: usize = Self::ALL.len();

    /// The name used in flags, JSON and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::BulkInsert => "bulk_insert",
            Self::Create => "create",
            Self::Read => "read",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Scan => "scan",
            Self::ReadModifyWrite => "read_modify_write",
            Self::Verify => "verify",
            Self::Request => "request",
        }
    }

    /// Whether an operation of this kind is one request to the server. The others are made of
    /// such requests or of what they brought, and must not be counted with them.
    pub const fn is_request(self) -> bool {
        !matches!(self, Self::ReadModifyWrite | Self::Verify)
    }

    /// The index into per-kind tables.
    pub const fn index(self) -> usize {
        self as usize
    }
}

impl fmt::Display for OpKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A document's number; drivers spell it as an identifier.
pub type Key = u64;

/// Appends the identifier of the document with this number: its decimal digits.
#[inline]
pub fn write_id(key: Key, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(key).as_bytes());
}

/// A CouchDB revision in 20 bytes: generation and hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Revision {
    /// The number before the dash, counted from 1.
    pub generation: u32,
    /// The 32 hexadecimal digits after the dash.
    pub hash: [u8; 16],
}

impl Revision {
    /// Reads `generation-hash`, where the hash has 32 hexadecimal digits.
    /// `None` for any other form.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let dash = text.iter().position(|&b| b == b'-')?;
        let (digits, hex) = (&text[..dash], &text[dash + 1..]);
        if hex.len() != 32 || digits.is_empty() || digits.len() > 9 {
            return None;
        }
        let mut generation = 0u32;
        for &digit in digits {
            if !digit.is_ascii_digit() {
                return None;
            }
            generation = generation * 10 + u32::from(digit - b'0');
        }
        let mut hash = [0; 16];
        const_hex::decode_to_slice(hex, &mut hash).ok()?;
        Some(Self { generation, hash })
    }

    /// Appends the revision in the form [`Revision::parse`] reads.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(itoa::Buffer::new().format(self.generation).as_bytes());
        let mut text = [b'-'; 33];
        const_hex::encode_to_slice(self.hash, &mut text[1..]).expect("two digits for each byte");
        out.extend_from_slice(&text);
    }
}

/// One request to the database. Names and documents travel beside it, in the [`Draft`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op {
    /// What is asked.
    pub kind: OpKind,
    /// The workload's own number for the document, or for the first of several.
    pub key: Key,
    /// How many documents the request carries; 1 for all kinds but bulk operations.
    pub documents: u32,
    /// The most documents that a scan is to bring, or a read that is about a range of documents;
    /// 0 for all other kinds.
    pub limit: u32,
    /// Of a create: where the document is there already, it takes the new one's members, as if
    /// it were an update.
    pub overwrite: bool,
    /// The revision that an update or delete builds upon. Without one, the driver looks it up,
    /// and an update replaces the members of its document in what is stored.
    pub revision: Option<Revision>,
    /// Of a read: the server may say that `revision` is still the one, and its statuses are told.
    pub conditional: bool,
    /// Where it stands in a larger operation.
    pub part: Part,
    /// Of a bulk insert: nobody else writes these documents, so that one which is found to exist
    /// was inserted by an earlier request whose answer was lost. The driver looks.
    pub settle: bool,
}

impl Op {
    /// The operation on one document, whole in itself.
    pub const fn single(kind: OpKind, key: Key, revision: Option<Revision>) -> Self {
        Self {
            kind,
            key,
            documents: 1,
            limit: 0,
            overwrite: false,
            revision,
            conditional: false,
            part: Part::Whole,
            settle: false,
        }
    }
}

/// Where a request stands in the operation that is due and timed as one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Part {
    /// It is the operation.
    #[default]
    Whole,
    /// It begins a read-modify-write; the next request of the connection ends it.
    First,
    /// It ends a read-modify-write, and is sent as soon as the first part is done.
    Last,
}

/// What a workload writes for one request. Reused for every operation.
#[derive(Debug, Default)]
pub struct Draft {
    /// The document's identifier; of several documents, one after the other, each followed by
    /// a zero byte; of a range with an end, the first one, a zero byte and the last one. Raw:
    /// drivers encode it.
    pub name: Vec<u8>,
    /// The document; several are separated by commas.
    pub body: Vec<u8>,
}

/// What an answer brought beside its [`Reply`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Answered<'a> {
    /// The outcome of each document of a bulk operation that succeeded as a whole.
    pub rows: &'a [Result<Revision, Failure>],
    /// The answer's body as it came, where the driver keeps it.
    pub body: &'a [u8],
}

/// What a server answered to an operation that succeeded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// The document's revision after the operation, where the answer named it.
    pub revision: Option<Revision>,
    /// Accepted but not yet on a quorum of nodes (status 202).
    pub accepted: bool,
    /// The documents that a scan has brought.
    pub rows: u32,
}

/// Why an operation, or one document of a bulk operation, did not succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Failure {
    /// 409: the revision was not the current one, or the document existed already.
    Conflict,
    /// 404: no such document or database.
    NotFound,
    /// 412: a precondition did not hold.
    PreconditionFailed,
    /// 413: the request or a document was too large.
    TooLarge,
    /// 429: the server asked for less.
    TooManyRequests,
    /// 401 or 403: the credentials were refused. Ends the run.
    Authentication,
    /// Any other 4xx, or a refusal of one document of a bulk request.
    Rejected,
    /// Any 5xx.
    ServerError,
    /// No whole answer within the time-out.
    Timeout,
    /// No connection could be made.
    Connect,
    /// The peer closed or reset the connection before the whole answer.
    Reset,
    /// The request may have changed something and has no whole answer: whether it was carried out
    /// is not known from this. What only reads, or can as well be made again, is a time-out or a
    /// reset instead.
    Unanswered,
    /// The answer was not what the protocol allows.
    Protocol,
    /// What was read is not what was written.
    UnexpectedState,
}

impl Failure {
    /// Whether an answer told of it: without one, how long it would have taken is not known.
    pub const fn answered(self) -> bool {
        !matches!(
            self,
            Self::Connect | Self::Timeout | Self::Reset | Self::Unanswered | Self::Protocol
        )
    }

    /// Every class, in report order.
    pub const ALL: [Self; 14] = [
        Self::Conflict,
        Self::NotFound,
        Self::PreconditionFailed,
        Self::TooLarge,
        Self::TooManyRequests,
        Self::Authentication,
        Self::Rejected,
        Self::ServerError,
        Self::Timeout,
        Self::Connect,
        Self::Reset,
        Self::Unanswered,
        Self::Protocol,
        Self::UnexpectedState,
    ];
    /// The number of classes: the length of every per-class table.
    pub const COUNT: usize = Self::ALL.len();

    /// The name used in JSON and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Conflict => "conflict",
            Self::NotFound => "not_found",
            Self::PreconditionFailed => "precondition_failed",
            Self::TooLarge => "too_large",
            Self::TooManyRequests => "too_many_requests",
            Self::Authentication => "authentication",
            Self::Rejected => "rejected",
            Self::ServerError => "server_error",
            Self::Timeout => "timeout",
            Self::Connect => "connect",
            Self::Reset => "reset",
            Self::Unanswered => "unanswered",
            Self::Protocol => "protocol",
            Self::UnexpectedState => "unexpected_state",
        }
    }

    /// The class of an HTTP status that is not the one asked for (RFC 9110). What 401 and 403
    /// mean beside [`Failure::Rejected`], the driver knows.
    pub const fn of_status(status: u16) -> Self {
        match status {
            404 => Self::NotFound,
            409 => Self::Conflict,
            412 => Self::PreconditionFailed,
            413 => Self::TooLarge,
            429 => Self::TooManyRequests,
            400..=499 => Self::Rejected,
            500..=599 => Self::ServerError,
            _ => Self::Protocol,
        }
    }

    /// Whether it says that the server could not serve, not that the request could not be met.
    pub const fn by_server(self) -> bool {
        matches!(
            self,
            Self::Connect
                | Self::Protocol
                | Self::Reset
                | Self::ServerError
                | Self::Timeout
                | Self::TooManyRequests
                | Self::Unanswered
        )
    }

    /// The index into per-class tables.
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// What was said about a failure, by the server or by the system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// The status of the answer; `None`: there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The words, cleaned.
    pub reason: String,
}

impl Reason {
    /// The most characters that are kept.
    pub const MOST: usize = 200;

    /// Cleans `text`: one line without control characters and credentials, not too long.
    pub fn new(status: Option<u16>, text: &str) -> Self {
        let spaced = |c: char| c.is_control() || c.is_whitespace();
        let (mut reason, mut after_scheme) = (String::new(), false);
        for word in text.split(spaced).filter(|word| !word.is_empty()) {
            if reason.len() > 4 * Self::MOST {
                break;
            }
            if !reason.is_empty() {
                reason.push(' ');
            }
            if after_scheme {
                reason.push('…');
            } else {
                reason.push_str(&without_secrets(word));
            }
            after_scheme = ["basic", "bearer"].iter().any(|it| it.eq_ignore_ascii_case(word));
        }
        if let Some((end, _)) = reason.char_indices().nth(Self::MOST) {
            let last = reason[..end].char_indices().next_back().map_or(0, |(at, _)| at);
            reason.replace_range(last.., "…");
        }
        Self { status, reason }
    }
}

/// A word without the credentials of an address or of a session.
fn without_secrets(word: &str) -> String {
    let mut clean = word.to_owned();
    if let Some(start) = clean.find("://").map(|at| at + 3) {
        let end = clean[start..].find('/').map_or(clean.len(), |at| start + at);
        if let Some(at) = clean[start..end].rfind('@') {
            clean.replace_range(start..start + at, "…");
        }
    }
    if let Some(start) = clean.find("AuthSession=").map(|at| at + "AuthSession=".len()) {
        let end = clean[start..].find(';').map_or(clean.len(), |at| start + at);
        clean.replace_range(start..end, "…");
    }
    clean
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_follow_the_enum_order() {
        assert!(OpKind::ALL.iter().enumerate().all(|(i, kind)| kind.index() == i));
        assert!(Failure::ALL.iter().enumerate().all(|(i, class)| class.index() == i));
    }

    #[test]
    fn a_reason_is_one_short_line_without_secrets() {
        let clean = |text: &str| Reason::new(None, text).reason;
        assert_eq!(clean("  a\n\tb\u{7}c\u{1b}[31m\r\n"), "a b c [31m");
        assert_eq!(clean("at http://ann:se@cret@host/x now"), "at http://…@host/x now");
        assert_eq!(clean("Authorization: Basic YTpi, ok"), "Authorization: Basic … ok");
        assert_eq!(clean("Cookie: AuthSession=YTpi; x"), "Cookie: AuthSession=…; x");
        assert_eq!(clean(&"ü".repeat(200)), "ü".repeat(200));
        assert_eq!(clean(&"ü".repeat(201)), format!("{}…", "ü".repeat(199)));
        assert_eq!(clean(&"word ".repeat(1_000)).chars().count(), 200);
        assert_eq!(clean(""), "");
    }

    #[test]
    fn a_revision_survives_parse_and_write() {
        let text = b"12-967a00dff5e02add41819138abb3284d";
        let mut out = Vec::new();
        Revision::parse(text).unwrap().write(&mut out);
        assert_eq!(out, text);
        let bad = [
            "1",
            "-967a00dff5e02add41819138abb3284d",
            "1-0x7a00dff5e02add41819138abb3284d",
            "1-967a00dff5e02add41819138abb3284g",
            "1-967a00dff5e02add41819138abb3284",
            "1-xyz",
            "x-",
            "",
        ];
        for bad in bad {
            assert_eq!(Revision::parse(bad.as_bytes()), None, "{bad}");
        }
    }
}
