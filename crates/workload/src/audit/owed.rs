//! Derives from the notes about a document what should be found.

use crate::journal::{Act, Fate, JournalEntry};
use crate::op::{Token, Unconfirmed};
use std::cmp::Ordering;

/// The state in which the last acknowledged write left a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Last {
    Unknown,
    /// A write was sent, but nothing was acknowledged.
    Nothing,
    /// A version was stored.
    Written {
        version: u32,
        token: Token,
    },
    /// It was deleted.
    Deleted {
        token: Token,
    },
}

/// What should be found for one document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Owed {
    pub(super) last: Last,
    pub(super) doubts: Doubts,
}

/// A write after the last acknowledged one that may have been carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DoubtfulWrite {
    pub(super) act: Act,
    /// The version that it was to store.
    pub(super) version: u32,
    /// What is known about it: that it was sent; that it failed; or that it was acknowledged, but
    /// not whether before the other writes or after them.
    pub(super) fate: Fate,
}

impl DoubtfulWrite {
    /// What to report about it, depending on whether it was carried out; nothing if it was
    /// acknowledged.
    pub(super) fn became(&self, done: bool) -> Option<Unconfirmed> {
        let failed = self.fate == Fate::Failed;
        (self.fate != Fate::Acknowledged).then_some(Unconfirmed::Doubtful { failed, done })
    }
}

/// Other states in which the document may be found. For most documents, there are none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Doubts {
    /// Writes that may have been carried out since.
    pub(super) maybe: Vec<DoubtfulWrite>,
    /// Set if a revision was acknowledged that does not follow the previously acknowledged one,
    /// which was lost in between.
    pub(super) undone: Option<(Token, Token)>,
}

impl Doubts {
    /// Whether the document may have been written, or deleted, since.
    pub(super) fn any(&self, act: Act) -> bool {
        self.maybe.iter().any(|it| it.act == act)
    }

    /// What to report about the document if none of these writes was carried out.
    pub(super) fn not_done(&self) -> Option<Unconfirmed> {
        let all = || self.maybe.iter().filter_map(|it| it.became(false));
        let failed = |it: &Unconfirmed| matches!(it, Unconfirmed::Doubtful { failed: true, .. });
        all().find(failed).or_else(|| all().next())
    }

    /// The last write like this one about which it is only known that it was sent. The version of a
    /// deletion is ignored.
    fn sent(&self, act: Act, version: u32) -> Option<usize> {
        let same =
            |it: &DoubtfulWrite| it.act == act && (act == Act::Delete || it.version == version);
        self.maybe.iter().rposition(|it| it.fate == Fate::Sent && same(it))
    }

    fn note(&mut self, act: Act, version: u32, fate: Fate) {
        match self.sent(act, version) {
            Some(place) => self.maybe[place].fate = fate,
            // The notes of several connections are in no particular order.
            None => self.maybe.push(DoubtfulWrite { act, version, fate }),
        }
    }
}

impl Owed {
    /// What to report about the document, if it is as it should be, because no write can have been
    /// carried out: all were refused, or not sent after all.
    pub(super) fn never_written(&self) -> Option<Unconfirmed> {
        let nothing = self.last == Last::Nothing && self.doubts.maybe.is_empty();
        nothing.then_some(Unconfirmed::NeverWritten)
    }

    /// Adds a note about a document that only one connection writes.
    pub(super) fn add(&mut self, entry: &JournalEntry) {
        let JournalEntry { act, fate, version, token, .. } = *entry;
        let doubts = &mut self.doubts;
        match fate {
            Fate::Sent => doubts.maybe.push(DoubtfulWrite { act, version, fate }),
            // Only this one: the same write may have been sent before without an answer.
            Fate::Refused => {
                doubts.sent(act, version).map(|place| doubts.maybe.remove(place));
            }
            Fate::Failed => doubts.note(act, version, fate),
            Fate::Acknowledged => {
                if let Last::Written { token: before, .. } = self.last
                    && token != Token::default()
                    && token.number <= before.number
                {
                    doubts.undone.get_or_insert((before, token));
                }
                self.last = Last::of(act, version, token);
                doubts.maybe.clear();
            }
        }
    }

    /// Adds a note about a document that several connections write. The order of their notes is
    /// unknown, except that the highest revision acknowledged was the last.
    pub(super) fn add_shared(&mut self, entry: &JournalEntry) {
        let JournalEntry { act, fate, version, token, .. } = *entry;
        if fate != Fate::Acknowledged {
            return self.add(entry);
        }
        if token == Token::default() && act == Act::Delete {
            // It may have come before all others or after them, so whatever is found is right.
            return self.doubts.note(act, version, fate);
        }
        // The write no longer counts as unanswered.
        self.add(&JournalEntry { fate: Fate::Refused, ..*entry });
        let last = self.last.token();
        match token.number.cmp(&last.number) {
            Ordering::Less => {}
            // Of two writes with the same revision, only one can have been kept.
            Ordering::Equal if token != last => {
                self.doubts.undone.get_or_insert((last, token));
            }
            _ => self.last = Last::of(act, version, token),
        }
    }
}

impl Last {
    const fn of(act: Act, version: u32, token: Token) -> Self {
        match act {
            Act::Write => Self::Written { version, token },
            Act::Delete => Self::Deleted { token },
        }
    }

    pub(super) fn token(self) -> Token {
        match self {
            Self::Unknown | Self::Nothing => Token::default(),
            Self::Written { token, .. } | Self::Deleted { token } => token,
        }
    }
}
