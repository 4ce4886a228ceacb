//! The documents that one connection has in the database, with the data needed to use them.

use crate::op::{Class, Failure, Key, OpKind, Reply, Token};
use std::collections::BTreeMap;

/// A document: its key, version and token. 32 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveEntry {
    /// The document's number.
    pub key: Key,
    /// How often it was updated: with the key, this determines its content.
    pub version: u32,
    /// The token for the next update or delete.
    pub token: Token,
}

impl LiveEntry {
    /// A document whose latest write or read returned `token`.
    #[inline]
    pub fn new(key: Key, version: u32, token: Option<Token>) -> Self {
        Self { key, version, token: token.unwrap_or_default() }
    }
}

/// What may have been done to a document since its last known version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// Nothing: everything that was sent had an answer.
    None,
    /// An update.
    Update,
    /// A deletion.
    Delete,
    /// Either, or an update and then a deletion.
    Either,
}

impl Doubt {
    pub(super) const fn may_update(self) -> bool {
        matches!(self, Self::Update | Self::Either)
    }

    pub(super) const fn may_delete(self) -> bool {
        matches!(self, Self::Delete | Self::Either)
    }

    /// The combination of this and another doubt.
    pub(super) fn and(self, other: Self) -> Self {
        match (self, other) {
            (one, Self::None) | (Self::None, one) => one,
            (one, other) if one == other => one,
            _ => Self::Either,
        }
    }

    /// What a failed operation may have done.
    pub(super) fn after(kind: OpKind, failure: Failure) -> Self {
        match kind.class() {
            _ if failure.refuses() => Self::None,
            Class::Delete => Self::Delete,
            _ => Self::Update,
        }
    }
}

/// The documents of one connection. Those with a known token can be updated and deleted; those that
/// another client changed, or whose last operation had no answer, can only be read, and rejoin the
/// others after a successful read.
#[derive(Clone, Debug, Default)]
pub struct Live {
    known: Vec<LiveEntry>,
    lost: Vec<(LiveEntry, Doubt)>,
    /// Unanswered writes whose effect no read has shown: they may still be carried out, until
    /// another write changes the document.
    late: BTreeMap<Key, Doubt>,
}

impl Live {
    /// No documents, with room for `count`.
    pub fn with_capacity(count: usize) -> Self {
        Self { known: Vec::with_capacity(count), ..Self::default() }
    }

    /// Adds a document that was stored.
    #[inline]
    pub fn add(&mut self, entry: LiveEntry) {
        self.known.push(entry);
    }

    /// How many documents have a known token.
    #[inline]
    pub const fn known(&self) -> usize {
        self.known.len()
    }

    /// How many documents can be read.
    #[inline]
    pub const fn readable(&self) -> usize {
        self.known.len() + self.lost.len()
    }

    /// The document at index `place`, below [`Live::readable`]; those with a known token come
    /// first.
    #[inline]
    pub fn at(&self, place: usize) -> &LiveEntry {
        self.known.get(place).unwrap_or_else(|| &self.lost[place - self.known.len()].0)
    }

    /// What may have been done to the document at `place` since its last known version.
    #[inline]
    pub fn doubt(&self, place: usize) -> Doubt {
        let lost = self.lost.get(place.wrapping_sub(self.known.len()));
        let doubt = lost.map_or(Doubt::None, |(_, doubt)| *doubt);
        if self.late.is_empty() {
            return doubt;
        }
        doubt.and(self.late.get(&self.at(place).key).copied().unwrap_or(Doubt::None))
    }

    /// Notes that the document at `place` is now stored with another token.
    #[inline]
    pub fn set(&mut self, place: usize, version: u32, token: Option<Token>) {
        if let Some(entry) = self.known.get_mut(place) {
            *entry = LiveEntry::new(entry.key, version, token);
        } else {
            let (entry, _) = self.lost.swap_remove(place - self.known.len());
            self.known.push(LiveEntry::new(entry.key, version, token));
        }
    }

    /// Notes that the document at `place` no longer exists.
    pub fn remove(&mut self, place: usize) {
        if place < self.known.len() {
            self.known.swap_remove(place);
        } else {
            self.lost.swap_remove(place - self.known.len());
        }
    }

    /// Notes that the token of the document at `place` is no longer known.
    pub fn lose(&mut self, place: usize, doubt: Doubt) {
        if place < self.known.len() {
            let entry = self.known.swap_remove(place);
            self.lost.push((entry, doubt));
        }
    }

    /// Hands the document at `place` over to `other`.
    pub(super) fn hand_over(&mut self, place: usize, other: &mut Self) {
        let key = self.at(place).key;
        if place < self.known.len() {
            other.known.push(self.known.swap_remove(place));
        } else {
            other.lost.push(self.lost.swap_remove(place - self.known.len()));
        }
        if let Some(doubt) = self.late.remove(&key) {
            other.late.insert(key, doubt);
        }
    }

    pub(super) fn take_over(&mut self, other: &mut Self) {
        self.known.append(&mut other.known);
        self.lost.append(&mut other.lost);
        self.late.append(&mut other.late);
    }

    /// Takes the outcome of an operation on the document at `place`. `version` is the version that
    /// a read found, if it was checked. Returns whether the document is gone.
    #[inline]
    pub fn observe(
        &mut self,
        place: usize,
        kind: OpKind,
        result: Result<Reply, Failure>,
        version: Option<u32>,
    ) -> bool {
        match (kind.class(), result) {
            (Class::Read, Ok(Reply { token, .. })) => {
                let entry = self.at(place);
                if place >= self.known() || token.is_some_and(|it| it != entry.token) {
                    let (entry, doubt) = (*entry, self.doubt(place));
                    if version == Some(entry.version) && doubt != Doubt::None {
                        self.late.insert(entry.key, doubt);
                    } else {
                        self.late.remove(&entry.key);
                    }
                    self.set(place, version.unwrap_or(entry.version), token);
                }
            }
            (Class::Update, Ok(Reply { token, .. })) => {
                let LiveEntry { key, version, .. } = *self.at(place);
                self.late.remove(&key);
                self.set(place, version.wrapping_add(1), token);
            }
            (Class::Delete, Ok(_)) | (_, Err(Failure::NotFound)) => {
                let key = self.at(place).key;
                self.late.remove(&key);
                self.remove(place);
                return true;
            }
            // A read will show whether the write was carried out or another client changed the
            // document.
            (Class::Update | Class::Delete, Err(failure)) => {
                self.lose(place, Doubt::after(kind, failure));
            }
            _ => {}
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_takes_32_bytes() {
        assert_eq!(size_of::<LiveEntry>(), 32);
    }

    #[test]
    fn a_lost_document_can_be_read_and_comes_back() {
        let token = |number| Some(Token { number, ..Token::default() });
        let mut live = Live::default();
        (0..3).for_each(|key| live.add(LiveEntry::new(key, 0, token(1))));
        live.lose(0, Doubt::Update);
        assert_eq!((live.doubt(0), live.doubt(2)), (Doubt::None, Doubt::Update));
        assert_eq!((live.known(), live.readable()), (2, 3));
        assert_eq!(live.at(2).key, 0);
        live.set(2, 0, token(5));
        assert_eq!((live.known(), Some(live.at(2).token)), (3, token(5)));
        live.remove(0);
        assert_eq!(live.readable(), 2);
    }

    #[test]
    fn a_document_is_handed_over_with_all_that_is_known_of_it() {
        let (mut all, mut one) = (Live::default(), Live::default());
        (0..3).for_each(|key| all.add(LiveEntry::new(key, 0, Some(Token::default()))));
        all.lose(1, Doubt::Update);
        all.late.insert(1, Doubt::Delete);
        all.hand_over(2, &mut one);
        assert_eq!((one.at(0).key, one.known(), one.doubt(0)), (1, 0, Doubt::Either));
        assert_eq!((all.known(), all.readable(), all.late.len()), (2, 2, 0));
        all.take_over(&mut one);
        assert_eq!((all.readable(), all.doubt(2), one.readable()), (3, Doubt::Either, 0));
        all.hand_over(0, &mut one);
        assert_eq!((one.known(), one.doubt(0), one.at(0).key), (1, Doubt::None, 0));
    }

    #[test]
    fn a_write_without_an_answer_may_be_carried_out_after_a_read() {
        let reply = |number| Reply {
            token: Some(Token { number, ..Token::default() }),
            ..Reply::default()
        };
        let timeout = Err(Failure::Timeout);
        let mut live = Live::default();
        live.add(LiveEntry::new(7, 0, reply(1).token));
        live.observe(0, OpKind::Update, timeout, None);
        assert_eq!((live.known(), live.doubt(0)), (0, Doubt::Update));
        live.observe(0, OpKind::Read, Ok(reply(1)), Some(0));
        assert_eq!((live.known(), live.doubt(0)), (1, Doubt::Update), "it is not over");
        live.observe(0, OpKind::Delete, timeout, None);
        assert_eq!(live.doubt(0), Doubt::Either);
        live.observe(0, OpKind::Read, Ok(reply(1)), Some(0));
        assert_eq!((live.known(), live.doubt(0)), (1, Doubt::Either));
        let (mut carried_out, mut overtaken) = (live.clone(), live);
        carried_out.observe(0, OpKind::Read, Ok(reply(2)), Some(1));
        assert_eq!((carried_out.at(0).version, carried_out.doubt(0)), (1, Doubt::None));
        overtaken.observe(0, OpKind::Update, Ok(reply(2)), None);
        assert_eq!((overtaken.at(0).version, overtaken.doubt(0)), (1, Doubt::None));
    }
}
