//! What an audit should find for each document.

use super::owed::{Doubts, Last, Owed};
use crate::journal::{Journal, JournalEntry};
use crate::op::Key;
use std::collections::BTreeMap;
use std::io;

/// The number of documents with consecutive keys that are stored together.
const PAGE: usize = 64;

/// What an audit should find for each document: 28 bytes for one whose writes were all answered.
/// Keys are numbers without large gaps.
#[derive(Debug, Default)]
pub struct Ledger {
    pages: BTreeMap<u64, Box<[Last; PAGE]>>,
    doubts: BTreeMap<Key, Doubts>,
}

/// What an audit should find, according to a journal; `shared` if several connections have written
/// the same documents. Documents that may have been written without a note are left out.
///
/// # Errors
/// Returns an error if the journal cannot be read.
pub fn owed(journal: &Journal, shared: bool) -> io::Result<Ledger> {
    let mut ledger = Ledger::default();
    journal.read(shared, |entry| ledger.add(&entry, shared))?;
    Ok(ledger)
}

/// The page of a key, and the key's index in it.
const fn place(key: Key) -> (u64, usize) {
    (key / PAGE as u64, (key % PAGE as u64) as usize)
}

impl Ledger {
    /// Adds a note; `shared` if several connections write the same documents.
    pub(super) fn add(&mut self, entry: &JournalEntry, shared: bool) {
        let (page, at) = place(entry.key);
        let page = self.pages.entry(page).or_insert_with(|| Box::new([Last::Unknown; PAGE]));
        let last = &mut page[at];
        if *last == Last::Unknown {
            *last = Last::Nothing;
        }
        let doubts = self.doubts.remove(&entry.key).unwrap_or_default();
        let mut owed = Owed { last: *last, doubts };
        if shared {
            owed.add_shared(entry);
        } else {
            owed.add(entry);
        }
        *last = owed.last;
        if owed.doubts != Doubts::default() {
            self.doubts.insert(entry.key, owed.doubts);
        }
    }

    /// The number of documents that an acknowledged write stored, and none removed since.
    pub fn stored(&self) -> u64 {
        let all = self.pages.values().flat_map(|page| page.iter());
        all.filter(|last| matches!(last, Last::Written { .. })).count() as u64
    }

    /// What should be found for a document; `None` if nothing is known about it.
    pub(super) fn at(&self, key: Key) -> Option<Owed> {
        let (page, at) = place(key);
        let last = self.pages.get(&page)?[at];
        let doubts = || self.doubts.get(&key).cloned().unwrap_or_default();
        (last != Last::Unknown).then(|| Owed { last, doubts: doubts() })
    }

    /// The pages of connection `k` of `connections`, in reverse.
    pub(super) fn part(&self, k: usize, connections: usize) -> Vec<u64> {
        let mut part: Vec<u64> = self.pages.keys().skip(k).step_by(connections).copied().collect();
        part.reverse();
        part
    }

    pub(super) fn keys(&self, page: u64) -> impl Iterator<Item = Key> {
        let last = self.pages.get(&page).into_iter().flat_map(|page| page.iter().enumerate());
        let known = last.filter(|(_, last)| **last != Last::Unknown);
        known.map(move |(at, _)| page * PAGE as u64 + at as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::owed::DoubtfulWrite;
    use crate::journal::{Act, Fate};
    use crate::op::Token;

    /// What should be found for each document, and why notes are missing if they are.
    fn owed_by(journal: &Journal) -> (Vec<Option<Owed>>, Option<String>) {
        let ledger = owed(journal, false).unwrap_or_default();
        ((0..KEYS).map(|key| ledger.at(key)).collect(), journal.broken())
    }

    const KEYS: Key = 12;

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(400))]

        /// Wherever a journal is cut, and however else one of its files is damaged, whether the run
        /// closed it or was killed: what is left never leads to a false accusation.
        #[test]
        fn a_journal_that_is_cut_anywhere_accuses_nobody(
            notes in proptest::collection::vec((0..2_usize, 0..KEYS, 0..4_usize, 0..3_u32), 1..60),
            closed: bool,
            file in 0..5_usize,
            at in 0.0..1.0_f64,
            harm in 0..4,
        ) {
            let folder = tempfile::tempdir().unwrap();
            let journal = Journal::create(folder.path()).unwrap();
            for stage in 0..2 {
                let mut writers = [journal.writer(stage, 0), journal.writer(stage, 1)];
                for &(_, key, fate, version) in notes.iter().filter(|note| note.0 == stage) {
                    let fate = [Fate::Sent, Fate::Acknowledged, Fate::Refused, Fate::Failed][fate];
                    let act = if version == 0 { Act::Delete } else { Act::Write };
                    let token = Token::default();
                    let note = JournalEntry { key, act, fate, version, token };
                    let writer = &mut writers[(key % 2) as usize];
                    writer.add(&note);
                    writer.flush();
                }
            }
            if closed {
                journal.close().unwrap();
            }
            let (whole, broken) = owed_by(&Journal::open(folder.path()));
            proptest::prop_assert_eq!(broken, None);
            proptest::prop_assert!(whole.iter().any(Option::is_some));
            // The first two are notes, and there is no `closed` after a kill.
            let names =
                ["0000-0000.journal", "0001-0001.journal", "0001-0000.noted", "began", "closed"];
            let file = file % (4 + usize::from(closed));
            let path = folder.path().join(names[file]);
            let before = std::fs::read(&path).unwrap();
            let mut bytes = before.clone();
            let place = (at * bytes.len() as f64) as usize;
            match harm {
                0 => bytes.truncate(place),
                1 => bytes[place] ^= 1,
                // What a file system may leave of a file whose data did not reach the disk.
                2 => bytes[place..].fill(0),
                _ => std::fs::remove_file(&path).unwrap(),
            }
            if harm < 3 {
                std::fs::write(&path, &bytes).unwrap();
            }
            let same = harm < 3 && bytes == before;
            let (left, broken) = owed_by(&Journal::open(folder.path()));
            if broken.is_none() {
                proptest::prop_assert_eq!(left, whole);
                proptest::prop_assert!(same || file > 1, "lost notes are not missed");
            } else {
                proptest::prop_assert!(!same && left.iter().all(Option::is_none), "{:?}", left);
            }
        }
    }

    #[test]
    fn what_is_kept_of_a_document_is_small() {
        assert_eq!(size_of::<Last>(), 28);
    }

    #[test]
    fn each_document_is_in_one_part_and_doubts_are_forgotten_with_their_reason() {
        let mut ledger = Ledger::default();
        let keys = [0, 1, 63, 64, 1_000, u64::MAX, u64::MAX - 64];
        let note = |key, fate| {
            let token = Token { number: 1, rest: [0; 16] };
            JournalEntry { key, act: Act::Write, fate, version: 0, token }
        };
        for key in keys {
            ledger.add(&note(key, Fate::Sent), false);
        }
        assert_eq!(ledger.doubts.len(), keys.len());
        for key in &keys[1..] {
            ledger.add(&note(*key, Fate::Acknowledged), false);
        }
        assert_eq!(ledger.doubts.keys().copied().collect::<Vec<_>>(), [0]);
        assert_eq!(ledger.stored(), keys.len() as u64 - 1, "one was only sent");
        let removed = JournalEntry { act: Act::Delete, ..note(63, Fate::Acknowledged) };
        ledger.add(&removed, false);
        assert_eq!(ledger.stored(), keys.len() as u64 - 2);
        let maybe = ledger.at(0).map(|owed| owed.doubts.maybe);
        assert_eq!(
            maybe,
            Some(vec![DoubtfulWrite { act: Act::Write, version: 0, fate: Fate::Sent }])
        );
        assert_eq!(ledger.at(2), None);
        assert_eq!(ledger.at(5_000), None);
        let parts = (0..3).flat_map(|k| ledger.part(k, 3));
        let mut found: Vec<Key> = parts.flat_map(|page| ledger.keys(page)).collect();
        found.sort_unstable();
        let mut keys = keys;
        keys.sort_unstable();
        assert_eq!(found, keys);
    }
}
