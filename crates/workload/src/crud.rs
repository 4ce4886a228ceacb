//! Single-document creates, reads, updates and deletes in random order on random documents.

use super::budget::Budget;
use super::live::{Live, LiveEntry};
use super::verify::{self, Verifier};
use super::{Check, FromSchemas, Next, Workload};
use crate::generate::{Stream, below, mix};
use crate::op::{Answered, Class, Failure, Finding, Key, Op, OpKind, Pen, Reply, Token};
use crate::schema::Documents;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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

#[inline]
pub(super) fn create<P: Pen>(documents: &Documents, key: Key, pen: &mut P) -> Op {
    documents.write_id(key, pen.name());
    pen.document(None, documents.document(key, 0));
    Op::single(OpKind::Create, key, None)
}

/// Reads, updates or deletes a stored document; an update writes its next version. `looks` says
/// whether the document that is read will be looked at.
#[inline]
pub(super) fn on_stored<P: Pen>(
    documents: &Documents,
    kind: OpKind,
    entry: &LiveEntry,
    looks: bool,
    pen: &mut P,
) -> Op {
    let token = (!kind.only_reads()).then_some(entry.token);
    let version = entry.version.wrapping_add(u32::from(kind.class() == Class::Update));
    documents.write_id(entry.key, pen.name());
    match kind.class() {
        Class::Update => pen.document(token, documents.document(entry.key, version)),
        Class::Read if looks => pen.look(),
        _ => {}
    }
    Op { version, ..Op::single(kind, entry.key, token) }
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
    /// Compares what is read with what was written, if requested.
    verifier: Option<Box<Verifier<FromSchemas>>>,
    /// The documents shared with the other connections of its thread; `None` if it has documents of
    /// its own.
    shelf: Option<Arc<Shelf>>,
}

/// The documents that the connections of one thread share, so that a connection opened later has as
/// many to choose from. A connection takes a document for an operation and then puts it back. Only
/// one thread uses the shelf, so the lock is never contended.
#[derive(Debug)]
pub(super) struct Shelf(Mutex<(Live, KeySequence)>);

impl Shelf {
    /// A shelf with these documents, and the keys of those to be created.
    pub(super) const fn new(live: Live, keys: KeySequence) -> Self {
        Self(Mutex::new((live, keys)))
    }

    fn open(&self) -> MutexGuard<'_, (Live, KeySequence)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Crud {
    /// The operations of connection number `connection` in a run with `seed`.
    pub fn new(
        documents: Arc<Documents>,
        seed: u64,
        connection: u64,
        budget: Budget,
        live: Live,
        keys: KeySequence,
    ) -> Self {
        let stream = Stream::new(mix(seed, connection, OPERATIONS), 0);
        Self { documents, stream, budget, live, keys, place: 0, verifier: None, shelf: None }
    }

    /// Sets whether reads are compared with what was written.
    pub fn verifying(mut self, verify: bool) -> Self {
        self.verifier = verify::verifier(&self.documents, verify);
        self
    }

    /// Makes it share the documents of `shelf`.
    pub(super) fn sharing(mut self, shelf: Arc<Shelf>) -> Self {
        self.shelf = Some(shelf);
        self
    }

    /// How many operations are left, or their weights.
    pub(super) fn left(&self) -> u64 {
        self.budget.left().sum()
    }

    /// Puts back the document that was held.
    pub(super) fn let_go(&mut self) {
        if let Some(shelf) = &self.shelf {
            shelf.open().0.take_over(&mut self.live);
        }
    }

    /// A stored document, by key and version, chosen among as many as there are; `None` if there is
    /// none. With `holds`, no other connection changes it until [`Crud::let_go`] or the next
    /// operation.
    pub(super) fn pick(
        &mut self,
        holds: bool,
        choose: impl FnOnce(u64) -> u64,
    ) -> Option<(Key, u32)> {
        let mut shelf = self.shelf.as_ref().map(|shelf| shelf.open());
        let live = match shelf.as_deref() {
            Some((live, _)) if live.readable() > 0 => live,
            _ => &self.live,
        };
        // The content of the other documents is not known.
        let known = if live.known() > 0 { live.known() } else { live.readable() };
        if known == 0 {
            return None;
        }
        let place = choose(known as u64) as usize;
        let LiveEntry { key, version, .. } = *live.at(place);
        if holds {
            self.place = place;
        }
        if let Some((live, _)) = shelf.as_deref_mut().filter(|(live, _)| holds && live.known() > 0)
        {
            live.hand_over(place, &mut self.live);
            self.place = 0;
        }
        Some((key, version))
    }

    /// Whether what is read is compared with what was written.
    pub(super) const fn verifies(&self) -> bool {
        self.verifier.is_some()
    }

    /// Compares a document in the answer to another operation, for which it was held.
    pub(super) fn look(&mut self, key: Key, found: Result<(Token, &[u8]), Failure>) -> Check {
        let (live, place) = (&self.live, self.place);
        let held = place < live.readable() && live.at(place).key == key;
        let Some(verifier) = self.verifier.as_mut().filter(|_| held) else {
            return Check::Unchecked;
        };
        let result = found.map(|(token, _)| Reply { token: Some(token), ..Reply::default() });
        let document = found.ok().map(|(_, document)| document);
        let answered = Answered { document, ..Answered::default() };
        let (entry, doubt) = (live.at(place), live.doubt(place));
        verifier.look(entry, doubt, OpKind::Read, result, &answered).check
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
        let left = budget.left();
        left.sum_of(|class| class.only_reads() || class == Class::Update) > 0
            && left.sum_of(|class| class == Class::Create) == 0
    };
    budget.draw(stream, |kind| match kind.class() {
        class if class.only_reads() => readable > 0,
        Class::Update => known > 0,
        Class::Delete => known > 1 || known == 1 && !needed(),
        _ => true,
    })
}

impl Workload for Crud {
    fn next<P: Pen>(&mut self, pen: &mut P) -> Next {
        let mut shelf = self.shelf.as_ref().map(|shelf| shelf.open());
        let (live, keys) = match shelf.as_deref_mut() {
            Some((live, keys)) => {
                live.take_over(&mut self.live);
                (&*live, keys)
            }
            None => (&self.live, &mut self.keys),
        };
        let (known, readable) = (live.known(), live.readable());
        let Some(kind) = draw_kind(&self.budget, &mut self.stream, known, readable) else {
            return Next::End;
        };
        self.budget.spend(kind);
        let choices = match kind.class() {
            Class::Create => return Next::Op(create(&self.documents, keys.take(), pen)),
            class if class.only_reads() => readable,
            _ => known,
        };
        self.place = below(self.stream.draw(), choices as u64) as usize;
        if let Some((live, _)) = shelf.as_deref_mut() {
            live.hand_over(self.place, &mut self.live);
            self.place = 0;
        }
        let entry = *self.live.at(self.place);
        Next::Op(on_stored(&self.documents, kind, &entry, self.verifier.is_some(), pen))
    }

    #[inline]
    fn observe(
        &mut self,
        op: &Op,
        result: Result<Reply, Failure>,
        answered: &Answered<'_>,
    ) -> Check {
        if op.kind.class() == Class::Create {
            if let Ok(Reply { token, .. }) = result {
                self.live.add(LiveEntry::new(op.key, 0, token));
            }
            return Check::Unchecked;
        }
        let (live, place) = (&mut self.live, self.place);
        verify::observe(&mut self.verifier, live, place, op.kind, result, answered).check
    }

    fn finding(&mut self) -> Option<Finding> {
        self.verifier.as_mut()?.finding()
    }
}

#[cfg(test)]
#[path = "crud_tests.rs"]
mod tests;
