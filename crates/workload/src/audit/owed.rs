//! What follows from the notes about one document.

use crate::journal::{Act, Fate, JournalEntry};
use crate::op::Token;
use std::cmp::Ordering;

/// The state in which the last acknowledged write left a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Last {
    /// Nothing is known about it.
    Unknown,
    /// It was sent, but nothing was acknowledged.
    Nothing,
    /// A version was stored.
    Written { version: u32, token: Token },
    /// It was deleted.
    Deleted { token: Token },
}

/// What should be found of one document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Owed {
    pub(super) last: Last,
    pub(super) doubts: Doubts,
}

/// What else may be found of it. For most documents, nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Doubts {
    /// Versions that may have been stored since.
    pub(super) maybe: Vec<u32>,
    /// How many deletions since then had no answer.
    pub(super) maybe_deleted: u32,
    /// Set if a revision was acknowledged that does not follow the one acknowledged before it,
    /// which was lost in between.
    pub(super) undone: Option<(Token, Token)>,
}

impl Owed {
    /// Adds a note about a document that only one connection writes.
    pub(super) fn add(&mut self, entry: &JournalEntry) {
        let JournalEntry { act, fate, version, token, .. } = *entry;
        let Doubts { maybe, maybe_deleted, undone } = &mut self.doubts;
        match (fate, act) {
            (Fate::Sent, Act::Write) => maybe.push(version),
            (Fate::Sent, Act::Delete) => *maybe_deleted += 1,
            // Only this one: the same write may have been sent before and had no answer.
            (Fate::Refused, Act::Write) => {
                let place = maybe.iter().rposition(|it| *it == version);
                place.map(|place| maybe.remove(place));
            }
            (Fate::Refused, Act::Delete) => {
                *maybe_deleted = maybe_deleted.saturating_sub(1);
            }
            (Fate::Acknowledged, act) => {
                if let Last::Written { token: before, .. } = self.last
                    && token != Token::default()
                    && token.number <= before.number
                {
                    undone.get_or_insert((before, token));
                }
                self.last = Last::of(act, version, token);
                maybe.clear();
                *maybe_deleted = 0;
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
            // It may have come before all the others or after them: whatever is found is right.
            return;
        }
        // It no longer counts as unanswered.
        self.add(&JournalEntry { fate: Fate::Refused, ..*entry });
        let last = self.last.token();
        match token.number.cmp(&last.number) {
            Ordering::Less => {}
            // Of two writes with one revision, only one can be kept.
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
