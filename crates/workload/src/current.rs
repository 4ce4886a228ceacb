//! Iron Cushion's order: updates and deletes go to the document created or read last.

use super::budget::{Budget, Mix};
use super::crud::{KeySequence, create, on_stored};
use super::live::{Live, LiveEntry};
use super::{Check, Next, Workload};
use crate::generate::{Stream, mix};
use crate::op::{Answered, Failure, Op, OpKind, Pen, Reply};
use crate::schema::Documents;
use std::sync::Arc;

/// Separates this stream of operations from other uses of the same seed.
const OPERATIONS: u64 = u64::from_be_bytes(*b"iron ops");

/// The operations of one connection, with one current document at a time.
#[derive(Debug)]
pub struct CurrentDocument {
    documents: Arc<Documents>,
    stream: Stream,
    left: Mix,
    /// Documents to read, oldest first; `None` for deleted ones.
    entries: Vec<Option<LiveEntry>>,
    /// How many of `entries` were bulk inserted.
    bulk: usize,
    next_bulk: usize,
    next_created: usize,
    current: Option<usize>,
    reading: usize,
    keys: KeySequence,
}

impl CurrentDocument {
    /// The operations of connection number `connection` in a run with `seed`: as many creates,
    /// reads, updates and deletes as `left` says, on the documents in `live`.
    pub fn new(
        documents: Arc<Documents>,
        seed: u64,
        connection: u64,
        left: Mix,
        live: &Live,
        keys: KeySequence,
    ) -> Self {
        let entries: Vec<_> = (0..live.known()).map(|place| Some(*live.at(place))).collect();
        let bulk = entries.len();
        Self {
            documents,
            stream: Stream::new(mix(seed, connection, OPERATIONS), 0),
            left,
            bulk,
            entries,
            next_bulk: 0,
            next_created: bulk,
            current: None,
            reading: 0,
            keys,
        }
    }

    /// Draws the next kind such that all counts can still be met: every delete needs its own create
    /// or read before it, and updates need a document until the last of them is done.
    fn draw(&mut self) -> Option<OpKind> {
        let [creates, reads, updates, deletes] =
            [OpKind::Create, OpKind::Read, OpKind::Update, OpKind::Delete]
                .map(|kind| self.left[kind]);
        let readable = self.next_read().is_some();
        let openers = creates + reads;
        let has_current = self.current.is_some();
        let spare = openers + u64::from(has_current) > deletes;
        Budget::Counted(self.left).draw(&mut self.stream, |kind| match kind {
            OpKind::Create => !has_current || spare,
            OpKind::Read => readable && (!has_current || spare),
            OpKind::Update => has_current,
            OpKind::Delete => has_current && (updates == 0 || openers > 0),
            _ => false,
        })
    }

    /// The oldest document that was created and not yet read; otherwise the next bulk document in a
    /// cycle, or failing that any existing one.
    fn next_read(&self) -> Option<usize> {
        let there = |place: &usize| self.entries[*place].is_some();
        (self.next_created..self.entries.len())
            .find(there)
            .or_else(|| (self.next_bulk..self.bulk).find(there))
            .or_else(|| (0..self.entries.len()).find(there))
    }

    fn make<P: Pen>(&mut self, pen: &mut P) -> Option<Op> {
        let kind = self.draw()?;
        self.left.take_one(kind);
        if kind == OpKind::Create {
            return Some(create(&self.documents, self.keys.take(), pen));
        }
        let place = if kind == OpKind::Read { self.next_read()? } else { self.current? };
        self.reading = place;
        if kind == OpKind::Read {
            if place >= self.next_created {
                self.next_created = place + 1;
            } else if place < self.bulk {
                self.next_bulk = place + 1;
            }
        }
        let entry = self.entries[place]?;
        Some(on_stored(&self.documents, kind, &entry, false, pen))
    }
}

impl Workload for CurrentDocument {
    fn next<P: Pen>(&mut self, pen: &mut P) -> Next {
        self.make(pen).into()
    }

    fn observe(&mut self, op: &Op, result: Result<Reply, Failure>, _: &Answered<'_>) -> Check {
        match (op.kind, result) {
            (OpKind::Create, Ok(Reply { token, .. })) => {
                self.entries.push(Some(LiveEntry::new(op.key, 0, token)));
                self.current = Some(self.entries.len() - 1);
            }
            (OpKind::Read | OpKind::Update, Ok(Reply { token, .. })) => {
                let updates = u32::from(op.kind == OpKind::Update);
                if let Some(entry) = &mut self.entries[self.reading] {
                    *entry = LiveEntry::new(entry.key, entry.version.wrapping_add(updates), token);
                }
                self.current = Some(self.reading);
            }
            (OpKind::Delete, _) => {
                if result.is_ok() {
                    self.entries[self.reading] = None;
                }
                self.current = None;
                // As in the original: documents created before a delete are not read again.
                self.next_created = self.entries.len();
            }
            (OpKind::Read, Err(Failure::NotFound)) => {
                self.entries[self.reading] = None;
                self.current = None;
            }
            // A failed update keeps the document: its next operation will show whether the write
            // was carried out.
            _ => {}
        }
        Check::Unchecked
    }
}

#[cfg(test)]
#[path = "current_tests.rs"]
mod tests;
