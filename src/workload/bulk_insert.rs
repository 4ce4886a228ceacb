//! Fills a database: each connection inserts its own run of keys, batch after batch.

use super::live::{Entry, Live};
use super::{Check, Workload};
use crate::op::{Answered, Failure, Key, Op, OpKind, Pen, Reply};
use crate::schema::Documents;
use std::ops::Range;
use std::sync::Arc;

/// The most documents that memory is asked for ahead of their insertion.
const MOST_AHEAD: u64 = 10_000_000;

/// The bulk inserts of one connection.
#[derive(Debug)]
pub struct BulkInsert {
    documents: Arc<Documents>,
    keys: Range<Key>,
    batch: u32,
    persists: bool,
    live: Live,
}

impl BulkInsert {
    /// Inserts the documents `keys`, `batch` (at least 1) in a request.
    pub fn new(documents: Arc<Documents>, keys: Range<Key>, batch: u32) -> Self {
        let live = Live::with_capacity((keys.end - keys.start).min(MOST_AHEAD) as usize);
        Self { documents, keys, batch, persists: false, live }
    }

    /// Sends a batch again until it has an answer, while the stage goes on.
    pub fn persisting(mut self) -> Self {
        self.persists = true;
        self
    }

    /// The documents that are in the database now.
    pub fn into_live(self) -> Live {
        self.live
    }
}

impl Workload for BulkInsert {
    fn next<P: Pen>(&mut self, pen: &mut P) -> Option<Op> {
        let first = self.keys.start;
        let count = (self.keys.end - first).min(Key::from(self.batch));
        if count == 0 {
            return None;
        }
        self.keys.start += count;
        for key in first..first + count {
            self.documents.write_id(key, pen.name());
            pen.document(None, self.documents.document(key, 0));
        }
        let documents = count as u32;
        Some(Op { documents, settle: self.persists, ..Op::single(OpKind::BulkInsert, first, None) })
    }

    fn observe(
        &mut self,
        op: &Op,
        result: Result<Reply, Failure>,
        answered: &Answered<'_>,
    ) -> Check {
        if let Err(failure) = result {
            let unanswered = matches!(
                failure,
                Failure::Connect | Failure::Timeout | Failure::Reset | Failure::Unanswered
            );
            if self.persists && unanswered {
                self.keys.start = op.key;
            }
            return Check::Unchecked;
        }
        for (key, row) in (op.key..).zip(answered.rows) {
            if let Ok(token) = row {
                self.live.add(Entry::new(key, 0, Some(*token)));
            }
        }
        Check::Unchecked
    }
}
