//! The contents of an answer, kept until the next operation.

use super::CallError;
use crate::call::Reasons;
use crate::op::{Failure, Token};
use std::cell::OnceCell;

/// Formats the documents of a scan as JSON, on demand.
pub type Scanned = Box<dyn Fn() -> Vec<Vec<u8>>>;

/// What was received in addition to the reply.
#[derive(Default)]
pub struct Found {
    /// The outcome of each document of a bulk insert.
    pub rows: Vec<Result<Token, Failure>>,
    /// The document that was read, in JSON; empty if there is none, or if it will not be looked at.
    pub document: Vec<u8>,
    /// The documents of a scan.
    pub scanned: Option<Scanned>,
    /// How many requests were sent.
    pub requests: u64,
    /// The bytes of documents received.
    pub received: u64,
    /// The number of the node that was asked, if there are several.
    pub node: Option<usize>,
    /// The numbers of the nodes that the documents of a bulk insert were sent to, if there are
    /// several.
    pub nodes: Vec<Option<usize>>,
    spelled: OnceCell<Vec<Vec<u8>>>,
    pub(super) reasons: Reasons,
}

impl Found {
    pub(super) fn clear(&mut self) {
        self.rows.clear();
        self.document.clear();
        self.scanned = None;
        (self.requests, self.received) = (0, 0);
        self.spelled.take();
        self.node = None;
        self.nodes.clear();
        self.reasons.clear();
    }

    /// Notes that a document of a bulk insert was stored.
    pub fn stored(&mut self) {
        self.rows.push(Ok(Token::default()));
    }

    /// Notes that a document of a bulk insert failed.
    pub fn failed(&mut self, trouble: CallError) {
        self.rows.push(Err(trouble.failure));
        self.reasons.keep(trouble);
    }

    /// The documents of a scan, in JSON.
    pub(super) fn spelled(&self) -> Option<Vec<&[u8]>> {
        let scanned = self.scanned.as_ref()?;
        Some(self.spelled.get_or_init(scanned).iter().map(Vec::as_slice).collect())
    }
}
