//! Fills a database: each connection inserts its own run of keys, batch after batch.

use super::Workload;
use super::live::{Entry, Live};
use crate::op::{Failure, Key, Op, OpKind, Reply, Revision, write_id};
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
    live: Live,
    members: Vec<u8>,
}

impl BulkInsert {
    /// Inserts the documents `keys`, `batch` (at least 1) in a request.
    pub fn new(documents: Arc<Documents>, keys: Range<Key>, batch: u32) -> Self {
        let live = Live::with_capacity((keys.end - keys.start).min(MOST_AHEAD) as usize);
        Self { documents, keys, batch, live, members: Vec::new() }
    }

    /// The documents that are in the database now.
    pub fn into_live(self) -> Live {
        self.live
    }
}

impl Workload for BulkInsert {
    fn next(&mut self, body: &mut Vec<u8>) -> Option<Op> {
        let first = self.keys.start;
        let count = (self.keys.end - first).min(Key::from(self.batch));
        if count == 0 {
            return None;
        }
        self.keys.start += count;
        for key in first..first + count {
            if key > first {
                body.push(b',');
            }
            self.members.clear();
            self.members.extend_from_slice(b"\"_id\":\"");
            write_id(key, &mut self.members);
            self.members.push(b'"');
            self.documents.write(key, 0, &self.members, body);
        }
        Some(Op { kind: OpKind::BulkInsert, key: first, documents: count as u32, revision: None })
    }

    fn observe(
        &mut self,
        op: &Op,
        result: Result<Reply, Failure>,
        rows: &[Result<Revision, Failure>],
    ) {
        if result.is_err() {
            return;
        }
        for (key, row) in (op.key..).zip(rows) {
            if let Ok(revision) = row {
                self.live.add(Entry::new(key, 0, *revision));
            }
        }
    }
}
