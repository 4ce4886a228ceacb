//! Single-document creates, reads, updates and deletes in random order on random documents.

use super::budget::Budget;
use super::live::{Entry, Live};
use super::{Check, Workload};
use crate::generate::{Stream, below, mix};
use crate::op::{Answered, Failure, Key, Op, OpKind, Pen, Reply};
use crate::schema::Documents;
use std::sync::Arc;

/// Separates the stream of operations from other uses of the same seed.
const OPERATIONS: u64 = u64::from_be_bytes(*b"crud ops");

/// The keys under which one connection creates documents: `next`, `next + step`, ...
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeySequence {
    /// The next key.
    pub next: Key,
    /// The distance to the key after it.
    pub step: Key,
}

impl KeySequence {
    pub(super) const fn take(&mut self) -> Key {
        let key = self.next;
        self.next += self.step;
        key
    }
}

/// Creates the document `key`.
#[inline]
pub(super) fn create<P: Pen>(documents: &Documents, key: Key, pen: &mut P) -> Op {
    documents.write_id(key, pen.name());
    pen.document(None, documents.document(key, 0));
    Op::single(OpKind::Create, key, None)
}

/// Reads, updates or deletes a stored document; for an update its next version is written.
#[inline]
pub(super) fn on_stored<P: Pen>(
    documents: &Documents,
    (kind, entry): (OpKind, &Entry),
    pen: &mut P,
) -> Op {
    let token = (kind != OpKind::Read).then_some(entry.token);
    documents.write_id(entry.key, pen.name());
    if kind == OpKind::Update {
        pen.document(token, documents.document(entry.key, entry.version.wrapping_add(1)));
    }
    Op::single(kind, entry.key, token)
}

/// The operations of one connection on its own documents, chosen uniformly.
#[derive(Debug)]
pub struct Crud {
    documents: Arc<Documents>,
    stream: Stream,
    budget: Budget,
    live: Live,
    keys: KeySequence,
    /// The index in `live` of the current operation's document.
    place: usize,
}

impl Crud {
    /// The operations of connection number `connection` in a run with `seed`.
    pub fn new(
        documents: Arc<Documents>,
        (seed, connection): (u64, u64),
        budget: Budget,
        live: Live,
        keys: KeySequence,
    ) -> Self {
        let stream = Stream::new(mix(seed, connection, OPERATIONS), 0);
        Self { documents, stream, budget, live, keys, place: 0 }
    }

    /// Continues with the same documents and another budget, after a warm-up.
    pub fn with_budget(mut self, budget: Budget) -> Self {
        self.budget = budget;
        self
    }
}

/// Draws a kind for which there is a document, given how many have a known token and how many can
/// be read. The last document is kept for the remaining reads and updates, unless a create can
/// replace it.
#[inline]
pub(super) fn draw_kind(
    budget: &Budget,
    stream: &mut Stream,
    known: usize,
    readable: usize,
) -> Option<OpKind> {
    let needed = || {
        budget.left(OpKind::Read) + budget.left(OpKind::Update) > 0
            && budget.left(OpKind::Create) == 0
    };
    budget.draw(stream, |kind| match kind {
        OpKind::Read => readable > 0,
        OpKind::Update => known > 0,
        OpKind::Delete => known > 1 || known == 1 && !needed(),
        _ => true,
    })
}

impl Workload for Crud {
    fn next<P: Pen>(&mut self, pen: &mut P) -> Option<Op> {
        let (known, readable) = (self.live.known(), self.live.readable());
        let kind = draw_kind(&self.budget, &mut self.stream, known, readable)?;
        self.budget.spend(kind);
        let choices = match kind {
            OpKind::Create => {
                return Some(create(&self.documents, self.keys.take(), pen));
            }
            OpKind::Read => self.live.readable(),
            _ => self.live.known(),
        };
        self.place = below(self.stream.draw(), choices as u64) as usize;
        let entry = *self.live.at(self.place);
        Some(on_stored(&self.documents, (kind, &entry), pen))
    }

    #[inline]
    fn observe(&mut self, op: &Op, result: Result<Reply, Failure>, _: &Answered<'_>) -> Check {
        let place = self.place;
        match (op.kind, result) {
            (OpKind::Create, Ok(Reply { token, .. })) => {
                self.live.add(Entry::new(op.key, 0, token));
            }
            (OpKind::Read, Ok(Reply { token, .. })) => {
                let entry = self.live.at(place);
                if place >= self.live.known() || token.is_some_and(|it| it != entry.token) {
                    self.live.set(place, entry.version, token);
                }
            }
            (OpKind::Update, Ok(Reply { token, .. })) => {
                let version = self.live.at(place).version.wrapping_add(1);
                self.live.set(place, version, token);
            }
            (OpKind::Create, _) => {}
            (OpKind::Delete, Ok(_)) | (_, Err(Failure::NotFound)) => self.live.remove(place),
            // A read will show whether the write was carried out or another client changed the
            // document.
            (OpKind::Update | OpKind::Delete, _) => self.live.lose(place),
            _ => {}
        }
        Check::Unchecked
    }
}

#[cfg(test)]
#[path = "crud_tests.rs"]
mod tests;
