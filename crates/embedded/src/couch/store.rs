//! One database in memory: its documents, its revision rules and the order of its updates.
//!
//! Knows nothing about HTTP. Only the winning revision of a document is kept.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use indexmap::IndexMap;
use tokio::sync::watch;

use super::json::write_string;
use super::ordered::Ordered;
use super::revision::Rev;
use crate::catalogue::Lie;
use crate::lies::{Liar, altered};

/// A stored document; its id is the key.
#[derive(Debug)]
pub(crate) struct Entry {
    /// The winning revision.
    pub(crate) rev: Rev,
    /// Whether that revision is a tombstone.
    pub(crate) deleted: bool,
    /// The number of the update that created it.
    pub(crate) seq: u64,
    /// The members without `_id`, `_rev` and `_deleted`, without braces.
    pub(crate) body: Box<str>,
    /// The previous revision with its members, if there are lies about old revisions.
    old: Option<Box<(Rev, Box<str>)>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Created a document that did not exist, or was deleted.
    Created,
    /// Stored a new revision of a live document.
    Updated,
    /// Stored a tombstone.
    Deleted,
}

impl Change {
    const fn of(was_live: bool, deleted: bool) -> Self {
        match (was_live, deleted) {
            (true, false) => Self::Updated,
            (false, false) => Self::Created,
            (_, true) => Self::Deleted,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Edit {
    /// The revision it is based on.
    pub(crate) base: Option<Rev>,
    /// Whether it leaves a tombstone.
    pub(crate) deleted: bool,
    /// The new body, see [`Entry::body`].
    pub(crate) body: Box<str>,
}

/// Why an edit is reported as not carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unwritten {
    /// It was based on a revision other than the winning one.
    Conflict,
    Failed,
}

#[derive(Debug)]
pub(crate) struct Database {
    state: Mutex<State>,
    updates: watch::Sender<u64>,
}

impl Database {
    /// An empty database, which `liar` may lie about.
    pub(crate) fn new(liar: Option<Liar>) -> Self {
        let state = State { liar, ..State::default() };
        Self { state: state.into(), updates: watch::Sender::new(0) }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        // If a request panics, at worst its own edit is lost.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the open feeds.
    pub(crate) fn announce(&self, seq: u64) {
        if self.updates.receiver_count() > 0 {
            self.updates.send_replace(seq);
        }
    }

    /// Ends the open feeds, because the database was deleted.
    pub(crate) fn retire(&self) {
        self.lock().retired = true;
        self.updates.send_replace(u64::MAX);
    }

    /// Receives a signal for each update after this call.
    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.updates.subscribe()
    }
}

/// The documents of a database.
#[derive(Debug, Default)]
pub(crate) struct State {
    docs: IndexMap<Box<str>, Entry>,
    live: u64,
    seq: u64,
    body_bytes: u64,
    retired: bool,
    /// Live documents by id; created on first use, then kept up to date.
    ordered: Option<Ordered>,
    /// Updates in order, including stale ones; created on first use, then kept up to date.
    log: Option<Vec<(u64, u32)>>,
    liar: Option<Liar>,
    /// Documents to restore: after which update, the id, and the former revision and members.
    undone: VecDeque<(u64, Box<str>, Rev, Box<str>)>,
    /// Edits to carry out later: after which write, the id, the revision and the edit.
    late: VecDeque<(u64, Box<str>, Rev, Edit)>,
    acknowledged: u64,
}

impl State {
    /// The document with this id, tombstone or not.
    pub(crate) fn get(&self, id: &str) -> Option<&Entry> {
        self.docs.get(id)
    }

    pub(crate) fn live(&self) -> u64 {
        self.live
    }

    /// The number of tombstones.
    pub(crate) fn dead(&self) -> u64 {
        self.docs.len() as u64 - self.live
    }

    /// The number of the latest update.
    pub(crate) fn seq(&self) -> u64 {
        self.seq
    }

    /// The bytes of all ids and bodies.
    pub(crate) fn bytes(&self) -> u64 {
        self.body_bytes
    }

    /// Whether the database was deleted while requests are still using it.
    pub(crate) fn retired(&self) -> bool {
        self.retired
    }

    /// Applies an edit under CouchDB's rules: it must name the winning revision, or none if there
    /// is no document. A tombstone may be replaced by a live document without a revision.
    ///
    /// # Errors
    /// Returns an error if it names another revision, or because of a lie.
    pub(crate) fn edit(&mut self, id: &str, edit: Edit) -> Result<(Rev, Change), Unwritten> {
        let index = self.docs.get_index_of(id);
        let current = index.map(|index| &self.docs[index]);
        let allowed = match (current, edit.base) {
            (None, None) => true,
            (None, Some(_)) => false,
            (Some(entry), Some(base)) => entry.rev == base,
            (Some(entry), None) => entry.deleted && !edit.deleted,
        };
        if !allowed {
            return Err(Unwritten::Conflict);
        }
        let rev = Rev::next(current.map(|entry| entry.rev), edit.deleted, &edit.body);
        let was_live = current.is_some_and(|entry| !entry.deleted);
        if self.tells(Lie::FailDropped) {
            return Err(Unwritten::Failed);
        }
        self.acknowledged += 1;
        self.catch_up();
        if self.drops(&edit) {
            return Ok((rev, Change::of(was_live, edit.deleted)));
        }
        if !edit.deleted && self.tells(Lie::LateWrite) {
            self.late.push_back((self.acknowledged + LATER, id.into(), rev, edit));
            return Ok((rev, Change::of(was_live, false)));
        }
        if edit.deleted && was_live && self.tells(Lie::UndoDelete) {
            let entry = current_of(&self.docs, index);
            self.undone.extend(entry.map(|it| (self.seq + LATER, id.into(), it.0, it.1)));
        }
        let change = self.store(id, index, rev, edit);
        self.undo();
        if self.tells(Lie::FailStored) {
            return Err(Unwritten::Failed);
        }
        if self.tells(Lie::RefuseStored) {
            return Err(Unwritten::Conflict);
        }
        Ok((rev, change))
    }

    /// Lends out the liar while documents are being read.
    pub(crate) fn take_liar(&mut self) -> Option<Liar> {
        self.liar.take()
    }

    pub(crate) fn give_back(&mut self, liar: Option<Liar>) {
        self.liar = liar;
    }

    fn tells(&mut self, lie: Lie) -> bool {
        self.liar.as_mut().is_some_and(|liar| liar.tells(lie))
    }

    /// Whether an edit is acknowledged but not carried out.
    fn drops(&mut self, edit: &Edit) -> bool {
        self.tells(if edit.deleted { Lie::DropDelete } else { Lie::DropAcknowledged })
    }

    /// Restores documents whose deletion is due to be undone.
    fn undo(&mut self) {
        while self.undone.front().is_some_and(|it| it.0 <= self.seq) {
            let Some((_, id, rev, body)) = self.undone.pop_front() else { break };
            let index = self.docs.get_index_of(&id);
            if current_of(&self.docs, index).is_none() {
                self.store(&id, index, rev, Edit { base: None, deleted: false, body });
                self.liar.iter().for_each(|liar| liar.count(Lie::UndoDelete));
            }
        }
    }

    /// Carries out late writes, unless the document has been written again in the meantime.
    fn catch_up(&mut self) {
        while self.late.front().is_some_and(|it| it.0 <= self.acknowledged) {
            let Some((_, id, rev, edit)) = self.late.pop_front() else { break };
            let index = self.docs.get_index_of(&id);
            let current = index.map(|index| &self.docs[index]).filter(|entry| !entry.deleted);
            if current.map(|entry| entry.rev) == edit.base {
                self.store(&id, index, rev, edit);
            }
        }
    }

    /// The document that a reader gets instead of this one, if there is another.
    pub(crate) fn other_than(&mut self, id: &str) -> Option<Box<str>> {
        self.liar.as_ref()?;
        let (index, _, entry) = self.docs.get_full(id)?;
        let mut others = self.docs.iter().cycle().skip(index + 1).take(self.docs.len() - 1);
        let other = others.find(|(_, other)| !entry.deleted && !other.deleted)?.0.clone();
        self.tells(Lie::OtherDocument).then_some(other)
    }

    /// What a reader gets for a document instead of the stored one; `None` for the stored one.
    pub(crate) fn lie_about(&mut self, id: &str) -> Option<Entry> {
        self.liar.as_ref()?;
        let entry = self.docs.get(id).filter(|entry| !entry.deleted)?;
        let (rev, body, seq) = (entry.rev, entry.body.clone(), entry.seq);
        let old = entry.old.as_deref().cloned();
        if let Some((rev, body)) = old.filter(|_| self.tells(Lie::OldRevision)) {
            return Some(Entry { rev, deleted: false, seq, body, old: None });
        }
        let body = self.tells(Lie::WrongBody).then(|| altered(&body).into())?;
        Some(Entry { rev, deleted: false, seq, body, old: None })
    }

    /// Stores a revision made elsewhere (`new_edits: false`), unless it loses against the current
    /// one: live wins over deleted, then the higher generation, then the higher hash.
    pub(crate) fn replicate(&mut self, id: &str, rev: Rev, edit: Edit) -> Option<Change> {
        let index = self.docs.get_index_of(id);
        if let Some(index) = index {
            let entry = &self.docs[index];
            if (!entry.deleted, entry.rev) >= (!edit.deleted, rev) {
                return None;
            }
        }
        Some(self.store(id, index, rev, edit))
    }

    fn store(&mut self, id: &str, index: Option<usize>, rev: Rev, edit: Edit) -> Change {
        self.seq += 1;
        self.body_bytes += edit.body.len() as u64;
        let (deleted, seq) = (edit.deleted, self.seq);
        let entry = Entry { rev, deleted, seq, body: edit.body, old: None };
        let keeps_old = self.liar.as_ref().is_some_and(|liar| liar.knows(Lie::OldRevision));
        let (index, was_live) = if let Some(index) = index {
            let old = std::mem::replace(&mut self.docs[index], entry);
            if keeps_old && !old.deleted {
                self.docs[index].old = Some(Box::new((old.rev, old.body.clone())));
            }
            self.body_bytes -= old.body.len() as u64;
            (index, !old.deleted)
        } else {
            self.body_bytes += id.len() as u64;
            (self.docs.insert_full(id.into(), entry).0, false)
        };
        let ordinal = index as u32;
        self.log_update(ordinal);
        match (was_live, edit.deleted) {
            (false, false) => {
                self.live += 1;
                if let Some(ordered) = &mut self.ordered {
                    ordered.insert(ordinal, |ordinal| name(&self.docs, ordinal));
                }
            }
            (true, true) => {
                self.live -= 1;
                if let Some(ordered) = &mut self.ordered {
                    ordered.remove(ordinal, |ordinal| name(&self.docs, ordinal));
                }
            }
            _ => {}
        }
        Change::of(was_live, edit.deleted)
    }

    fn log_update(&mut self, ordinal: u32) {
        let Some(log) = &mut self.log else { return };
        log.push((self.seq, ordinal));
        if log.len() > 2 * self.docs.len() + 1024 {
            let docs = &self.docs;
            log.retain(|(seq, ordinal)| docs[*ordinal as usize].seq == *seq);
        }
    }

    pub(crate) fn ordered(&mut self) -> (&Ordered, &IndexMap<Box<str>, Entry>) {
        let docs = &self.docs;
        let ordered = self.ordered.get_or_insert_with(|| {
            let live = (0_u32..).zip(docs.values()).filter(|(_, entry)| !entry.deleted);
            Ordered::build(live.map(|(ordinal, _)| ordinal).collect(), |it| name(docs, it))
        });
        (ordered, docs)
    }

    /// The documents whose latest update came after `since`, in the order of updates.
    pub(crate) fn updates(
        &mut self,
        since: u64,
    ) -> impl DoubleEndedIterator<Item = (&str, &Entry)> {
        let docs = &self.docs;
        let log = self.log.get_or_insert_with(|| {
            let mut log: Vec<(u64, u32)> =
                docs.values().map(|entry| entry.seq).zip(0_u32..).collect();
            log.sort_unstable();
            log
        });
        let start = log.partition_point(|(seq, _)| *seq <= since);
        log[start..].iter().filter_map(|(seq, ordinal)| {
            let (id, entry) = docs.get_index(*ordinal as usize)?;
            (entry.seq == *seq).then_some((&**id, entry))
        })
    }
}

/// The number of further writes after which a deletion is undone, or a late write is carried out.
const LATER: u64 = 100;

/// The revision and the members of a live document.
fn current_of(docs: &IndexMap<Box<str>, Entry>, index: Option<usize>) -> Option<(Rev, Box<str>)> {
    let entry = &docs[index?];
    (!entry.deleted).then(|| (entry.rev, entry.body.clone()))
}

/// The id of the document with this ordinal.
pub(crate) fn name(docs: &IndexMap<Box<str>, Entry>, ordinal: u32) -> &str {
    docs.get_index(ordinal as usize).map_or("", |(id, _)| id)
}

/// Appends a document as returned by `GET`: `_id` and `_rev` first.
pub(crate) fn write_document(id: &str, entry: &Entry, out: &mut Vec<u8>) {
    out.reserve(id.len() + entry.body.len() + 80);
    out.extend_from_slice(b"{\"_id\":");
    write_string(id, out);
    out.extend_from_slice(b",\"_rev\":\"");
    entry.rev.write(out);
    out.push(b'"');
    if entry.deleted {
        out.extend_from_slice(b",\"_deleted\":true");
    }
    if !entry.body.is_empty() {
        out.push(b',');
        out.extend_from_slice(entry.body.as_bytes());
    }
    out.push(b'}');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn live(base: Option<Rev>) -> Edit {
        Edit { base, deleted: false, body: "\"a\":1".into() }
    }

    fn tombstone(base: Option<Rev>) -> Edit {
        Edit { base, deleted: true, body: "".into() }
    }

    #[test]
    fn an_edit_must_name_the_winning_revision() {
        let mut state = State::default();
        let (first, change) = state.edit("a", live(None)).unwrap();
        assert_eq!((first.generation, change), (1, Change::Created));
        assert_eq!(state.edit("a", live(None)), Err(Unwritten::Conflict));
        let (second, change) = state.edit("a", live(Some(first))).unwrap();
        assert_eq!((second.generation, change), (2, Change::Updated));
        assert_eq!(state.edit("a", live(Some(first))), Err(Unwritten::Conflict));
        assert_eq!(state.edit("b", live(Some(first))), Err(Unwritten::Conflict));
        assert_eq!((state.live(), state.dead(), state.seq()), (1, 0, 2));
    }

    #[test]
    fn a_document_can_be_made_again_over_its_tombstone() {
        let mut state = State::default();
        let (first, _) = state.edit("a", live(None)).unwrap();
        let (dead, change) = state.edit("a", tombstone(Some(first))).unwrap();
        assert_eq!((dead.generation, change), (2, Change::Deleted));
        assert_eq!((state.live(), state.dead()), (0, 1));
        assert_eq!(state.edit("a", tombstone(None)), Err(Unwritten::Conflict));
        let (again, change) = state.edit("a", live(None)).unwrap();
        assert_eq!((again.generation, change), (3, Change::Created));
        assert_eq!((state.live(), state.dead()), (1, 0));
    }

    #[test]
    fn a_replicated_revision_wins_by_generation() {
        let mut state = State::default();
        let (high, low) = (Rev::parse("5-aa").unwrap(), Rev::parse("4-bb").unwrap());
        assert_eq!(state.replicate("a", high, live(None)), Some(Change::Created));
        assert_eq!(state.replicate("a", low, live(None)), None);
        assert_eq!(state.get("a").unwrap().rev, high);
    }

    #[test]
    fn updates_list_each_document_once_at_its_latest() {
        let mut state = State::default();
        let (first, _) = state.edit("a", live(None)).unwrap();
        state.edit("b", live(None)).unwrap();
        assert_eq!(state.updates(0).count(), 2);
        let mut rev = state.edit("a", live(Some(first))).unwrap().0;
        for _ in 0..3000 {
            rev = state.edit("a", live(Some(rev))).unwrap().0;
        }
        let ids: Vec<&str> = state.updates(0).map(|(id, _)| id).collect();
        assert_eq!(ids, ["b", "a"]);
        assert_eq!(state.updates(state.seq()).count(), 0);
        assert!(state.log.as_ref().unwrap().len() < 2000);
    }

    #[test]
    fn the_order_is_kept_up_once_made() {
        let mut state = State::default();
        state.edit("b", live(None)).unwrap();
        assert_eq!(state.ordered().0.len(), 1);
        let (rev, _) = state.edit("a", live(None)).unwrap();
        state.edit("c", live(None)).unwrap();
        state.edit("a", tombstone(Some(rev))).unwrap();
        let (ordered, docs) = state.ordered();
        let ids: Vec<&str> = ordered.range(0, 9).map(|it| name(docs, it)).collect();
        assert_eq!(ids, ["b", "c"]);
    }
}
