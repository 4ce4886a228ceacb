//! Compares what was read with what was written: `--verify`.
//!
//! A document is a function of its key and version, so nothing that was written has to be kept: it
//! is generated again.

use super::live::{Doubt, Live, LiveEntry};
use super::{Check, FromSchemas, Original};
use crate::op::{Answered, Class, Failure, Finding, OpKind, Reply, Token};
use crate::schema::Documents;
use std::fmt::Write as _;
use std::sync::Arc;

/// Compares the reads of one connection with what was written.
#[derive(Debug)]
pub(super) struct Verifier<O> {
    original: O,
    finding: Option<Finding>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Verified {
    /// The result, for the record.
    pub(super) check: Check,
    /// The version found, if it is the known one or one that may have followed it.
    pub(super) version: Option<u32>,
}

impl Verified {
    const UNCHECKED: Self = Self { check: Check::Unchecked, version: None };
}

/// A verifier for documents generated from schemas, if requested.
pub(super) fn verifier(
    documents: &Arc<Documents>,
    wanted: bool,
) -> Option<Box<Verifier<FromSchemas>>> {
    wanted.then(|| Box::new(Verifier::new(FromSchemas::new(documents.clone()))))
}

/// The result for a document.
#[derive(Clone, Copy, Debug)]
pub(super) struct Observed {
    pub(super) check: Check,
    pub(super) gone: bool,
}

/// Updates `live` with the outcome for the document at `place`, and compares the outcome with what
/// is known about the document, if requested.
#[inline]
pub(super) fn observe(
    verifier: &mut Option<Box<Verifier<FromSchemas>>>,
    live: &mut Live,
    place: usize,
    kind: OpKind,
    result: Result<Reply, Failure>,
    answered: &Answered<'_>,
) -> Observed {
    let verified = match verifier {
        Some(verifier) => verifier.look(live.at(place), live.doubt(place), kind, result, answered),
        None => Verified::UNCHECKED,
    };
    // If an old version was read, the known state of the document still applies.
    let stale = verified.check == Check::Checked(Err(Failure::Stale));
    let gone = !stale && live.observe(place, kind, result, verified.version);
    Observed { check: verified.check, gone }
}

impl<O: Original> Verifier<O> {
    pub(super) const fn new(original: O) -> Self {
        Self { original, finding: None }
    }

    /// What was wrong in the last comparison.
    pub(super) fn finding(&mut self) -> Option<Finding> {
        self.finding.take()
    }

    /// Compares the result of an operation on a document with what is known about it.
    pub(super) fn look(
        &mut self,
        entry: &LiveEntry,
        doubt: Doubt,
        kind: OpKind,
        result: Result<Reply, Failure>,
        answered: &Answered<'_>,
    ) -> Verified {
        match (kind.class(), result) {
            (Class::Read, Ok(reply)) => match answered.document {
                Some(document) => self.read(entry, doubt, reply.token, document),
                None => Verified::UNCHECKED,
            },
            (Class::Read | Class::Update | Class::Delete, Err(Failure::NotFound)) => {
                let check = if doubt.may_delete() {
                    Check::Checked(Ok(()))
                } else {
                    self.wrong(entry, Failure::Lost, "missing")
                };
                Verified { check, version: None }
            }
            (Class::Read, Err(class @ Failure::WrongDocument)) => {
                let check = self.wrong(entry, class, "another one");
                Verified { check, version: None }
            }
            _ => Verified::UNCHECKED,
        }
    }

    fn read(
        &mut self,
        entry: &LiveEntry,
        doubt: Doubt,
        token: Option<Token>,
        document: &[u8],
    ) -> Verified {
        let (known, next) = (entry.version, entry.version.wrapping_add(1));
        // Not every database has tokens, and not every write returns one.
        let token = token.filter(|_| entry.token != Token::default());
        let possible = match (token, doubt.may_update()) {
            (Some(token), _) if token == entry.token => [Some(known), None],
            (Some(token), true) if Some(token.number) == entry.token.number.checked_add(1) => {
                [Some(next), None]
            }
            (Some(_), _) => [None, None],
            (None, true) => [Some(known), Some(next)],
            (None, false) => [Some(known), None],
        };
        let mut holds = |version| self.original.holds(entry.key, version, document);
        if let Some(version) = possible.into_iter().flatten().find(|&version| holds(version)) {
            return Verified { check: Check::Checked(Ok(())), version: Some(version) };
        }
        let older = self.original.older(entry.key, known, document);
        let ours = possible[0].is_some();
        let class = match (older, token) {
            (_, Some(_)) if ours => Failure::WrongBody,
            (Some(_), _) => Failure::Stale,
            (None, Some(token)) if token.number < entry.token.number => Failure::Stale,
            (None, Some(_)) => Failure::UnknownRevision,
            (None, None) => Failure::WrongBody,
        };
        let content = if let Some(version) = older {
            format!("the content of version {version}")
        } else {
            self.original.difference(entry.key, known, document)
        };
        let found = match token {
            Some(token) => format!("{}, {content}", words(token)),
            None => content,
        };
        Verified { check: self.wrong(entry, class, &found), version: None }
    }

    #[cold]
    fn wrong(&mut self, entry: &LiveEntry, class: Failure, found: &str) -> Check {
        let mut id = Vec::new();
        self.original.write_id(entry.key, &mut id);
        let mut expected = format!("version {}", entry.version);
        if entry.token != Token::default() {
            let _ = write!(expected, ", {}", words(entry.token));
        }
        self.finding = Some(Finding::new(class, &id, &expected, found));
        Check::Checked(Err(class))
    }
}

/// A token in the form of CouchDB's revisions.
pub(super) fn words(token: Token) -> String {
    let mut words = format!("revision {}-", token.number);
    for byte in token.rest {
        let _ = write!(words, "{byte:02x}");
    }
    words
}

#[cfg(test)]
#[path = "verify_tests.rs"]
mod tests;
