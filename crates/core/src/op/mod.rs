//! The vocabulary of one operation: what was requested, what came back, what went wrong.
//!
//! Knows nothing about databases, networks or clocks, and imports no other module.

mod by_kind;
#[cfg(any(test, feature = "testing"))]
mod draft;
mod failure;
mod feature;
mod finding;
mod grouped;
#[cfg(feature = "schema")]
mod keyed;
mod kind;
mod own;
mod pen;
mod plain;
mod row;
mod token;
mod way;
mod with_all;

pub use by_kind::ByKind;
#[cfg(any(test, feature = "testing"))]
pub use draft::Draft;
pub use failure::{Certainty, Failure, Reason};
pub use feature::Feature;
pub use finding::{Finding, Unconfirmed};
pub use grouped::grouped;
#[cfg(feature = "schema")]
pub use keyed::keyed;
pub use kind::{Kinds, OpKind};
pub use own::NameError;
pub use pen::{Fields, Pen, each_member};
pub use plain::{plain, steers};
pub use row::Class;
pub use token::Token;
pub use way::Way;
pub use with_all::with_all;

use std::ops::Range;

/// A document's number; drivers spell it as an identifier.
pub type Key = u64;

/// Appends the identifier of the document with this number: its decimal digits.
#[inline]
pub fn write_id(key: Key, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(key).as_bytes());
}

/// One operation on the database. Names and documents are passed separately, in the driver's
/// [`Pen`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op {
    /// What is requested.
    pub kind: OpKind,
    /// The workload's own number for the document, or for the first of several.
    pub key: Key,
    /// How many documents the request is about: always 1, except in bulk inserts, and in reads if
    /// the driver supports it.
    pub documents: u32,
    /// For a write, the version it stores, counted by the workload from 0.
    pub version: u32,
    /// The most documents that a scan, or a read of a range of documents, may return; 0 for all
    /// other kinds.
    pub limit: u32,
    /// For a create: if the document already exists, it takes on the new one's members, as in an
    /// update.
    pub overwrite: bool,
    /// The version that an update or delete replaces. Without one, it applies to whatever is
    /// stored, and an update changes only the fields it contains.
    pub token: Option<Token>,
    /// For a read: the server may answer that `token` is still current. Its statuses are reported.
    pub conditional: bool,
    /// Its place in a larger operation.
    pub part: Part,
    /// That larger operation.
    pub whole: OpKind,
    /// For a bulk insert: nothing else writes these documents, so a document that turns out to
    /// exist was inserted by an earlier request whose answer was lost. The driver checks this.
    pub settle: bool,
    /// For a read: how many copies of the document must agree. A driver need not
    /// heed it, so it is not a [`Feature`].
    pub copies: ReadCopies,
}

/// How many copies of a document must agree on what is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReadCopies {
    /// As many as the target is configured to ask for.
    #[default]
    Asked,
    /// The server's default; a document that is not found counts as lost.
    Usual,
}

impl Op {
    /// An operation on one document, complete in itself.
    pub const fn single(kind: OpKind, key: Key, token: Option<Token>) -> Self {
        Self {
            kind,
            key,
            documents: 1,
            version: 0,
            limit: 0,
            overwrite: false,
            token,
            conditional: false,
            part: Part::Whole,
            whole: OpKind::ReadModifyWrite,
            settle: false,
            copies: ReadCopies::Asked,
        }
    }

    /// Whether the larger operation is over once this part has ended: a sequence that the plan
    /// defines stops at the first request that fails.
    pub const fn ends_whole(&self, failed: bool) -> bool {
        matches!(self.part, Part::Whole | Part::Last) || failed && self.whole.is_own()
    }
}

/// The position of a request within the operation that is scheduled and timed as one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Part {
    /// It is the whole operation.
    #[default]
    Whole,
    /// The first part; the next request of the connection continues the operation.
    First,
    /// A further part, sent as soon as the one before it is done.
    Middle,
    /// The last part, sent as soon as the one before it is done.
    Last,
}

impl Part {
    /// Whether it is sent as soon as the part before it is done.
    pub const fn follows(self) -> bool {
        matches!(self, Self::Middle | Self::Last)
    }
}

/// A value taken from an answer, for later requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Saved {
    /// The value.
    pub bytes: Vec<u8>,
    /// Whether it is text; otherwise it is JSON.
    pub is_text: bool,
}

/// What an answer contained besides its [`Reply`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Answered<'a> {
    /// The outcome of each document of an operation on several that succeeded as a whole.
    pub rows: &'a [Result<Token, Failure>],
    /// The document that was read, in JSON, if [`Pen::look`] was called; `None` if the driver does
    /// not keep it.
    pub document: Option<&'a [u8]>,
    /// For a read of several: the position of each in `document`; empty if it does not exist.
    pub places: &'a [Range<usize>],
    /// The values taken from it for later requests, in the order of their names.
    pub saved: &'a [Saved],
}

impl<'a> Answered<'a> {
    /// The outcome of each document in a read of several, with its text.
    pub fn each(&self) -> impl Iterator<Item = (Result<Token, Failure>, Option<&'a [u8]>)> {
        let (rows, document) = (self.rows.iter().copied(), self.document);
        rows.zip(self.places)
            .map(move |(row, at)| (row, document.and_then(|it| it.get(at.clone()))))
    }
}

/// The answer to an operation that succeeded: whatever was to be stored is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// The document's version after the operation, if the database has versions and reported it.
    pub token: Option<Token>,
    /// Accepted but not yet stored as it should be: not on a quorum of nodes (status 202), or only
    /// batched by the client.
    pub accepted: bool,
    /// The number of documents that a scan returned, or rows of a query.
    pub rows: u32,
    /// Whether the server added a warning to its answer.
    pub warned: bool,
    /// Whether an index did not have the last write of the document that was asked for.
    pub outdated: bool,
}
