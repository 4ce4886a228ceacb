//! The final state that a run's journal calls for, read without springload's own code, and compared
//! with the actual one.

use std::collections::BTreeMap;
use std::path::Path;

/// The last acknowledged state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Last {
    #[default]
    Nothing,
    /// The number of a revision, and its hash.
    Written(u32, u128),
    Deleted,
}

/// The writes of one document, as far as they are known.
#[derive(Debug, Default)]
struct Owed {
    last: Last,
    /// Writes and deletions since then without a response.
    writes: Vec<u32>,
    deletions: u32,
    /// Whether an acknowledged revision does not follow the previous one.
    undone: bool,
}

/// The documents that a run has written.
#[derive(Debug)]
pub(crate) struct Ledger(BTreeMap<String, Owed>);

impl Ledger {
    /// Reads the journal in the folder of a run: entries of 32 bytes after the first 8.
    pub(crate) fn of(run: &Path) -> Self {
        let mut all = BTreeMap::new();
        each(run, |entry| add(&mut all, entry));
        Self(all)
    }

    /// The number of documents that were acknowledged as stored, with nothing else sent since.
    pub(crate) fn kept(&self) -> u64 {
        let kept = |owed: &&Owed| matches!(owed.last, Last::Written(..)) && owed.deletions == 0;
        self.0.values().filter(kept).count() as u64
    }

    /// The differences from the documents that are there, by class; `ok` counts correct documents.
    pub(crate) fn compare(&self, there: &BTreeMap<String, String>) -> BTreeMap<String, u64> {
        let mut classes = BTreeMap::new();
        for (id, owed) in &self.0 {
            let class = judge(owed, there.get(id).map(String::as_str));
            *classes.entry(class.to_owned()).or_default() += 1;
        }
        classes
    }
}

/// The number of notes about a write to be sent.
pub(crate) fn sent(run: &Path) -> u64 {
    let mut sent = 0;
    each(run, |entry| {
        let fate = word(entry, 8) >> 29 & 3;
        sent += u64::from(fate == 0);
    });
    sent
}

/// Each entry, in order of files.
fn each(run: &Path, mut each: impl FnMut(&[u8])) {
    let mut paths: Vec<_> = std::fs::read_dir(run.join("journal"))
        .expect("a journal")
        .map(|file| file.expect("a file").path())
        .filter(|path| path.extension().is_some_and(|it| it == "journal"))
        .collect();
    paths.sort();
    for path in paths {
        let bytes = std::fs::read(path).expect("a file");
        bytes.get(8..).unwrap_or_default().chunks_exact(32).for_each(&mut each);
    }
}

fn word(entry: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(entry[at..at + 4].try_into().expect("four bytes"))
}

fn add(all: &mut BTreeMap<String, Owed>, entry: &[u8]) {
    let id = u64::from_le_bytes(entry[..8].try_into().expect("eight bytes")).to_string();
    let owed = all.entry(id).or_default();
    let flags = word(entry, 8);
    let (deletes, fate, version) = (flags >> 31 == 1, flags >> 29 & 3, flags & u32::MAX >> 3);
    let generation = word(entry, 12);
    let hash = u128::from_be_bytes(entry[16..32].try_into().expect("sixteen bytes"));
    match (fate, deletes) {
        (0, false) => owed.writes.push(version),
        (0, true) => owed.deletions += 1,
        (1, _) => {
            let undoes = matches!(owed.last, Last::Written(before, _) if generation <= before);
            owed.undone |= undoes && generation > 0;
            owed.last = if deletes { Last::Deleted } else { Last::Written(generation, hash) };
            owed.writes.clear();
            owed.deletions = 0;
        }
        (_, false) => {
            let place = owed.writes.iter().rposition(|it| *it == version);
            place.map(|place| owed.writes.remove(place));
        }
        (_, true) => owed.deletions -= 1,
    }
}

/// The class of a document that has this revision now.
fn judge(owed: &Owed, there: Option<&str>) -> &'static str {
    let there = there.map(|rev| rev.split_once('-').expect("a revision"));
    let there = there.map(|(number, hash)| {
        (number.parse::<u32>().expect("a number"), u128::from_str_radix(hash, 16).expect("a hash"))
    });
    let class = match (owed.last, there) {
        (Last::Written(..), None) if owed.deletions == 0 => "lost",
        (Last::Deleted, Some(_)) if owed.writes.is_empty() => "resurrected",
        (Last::Nothing, Some(_)) if owed.writes.is_empty() => "extra",
        (_, None) | (Last::Nothing | Last::Deleted, Some(_)) => "ok",
        (Last::Written(known, _), Some((found, _))) if found < known => "stale",
        (Last::Written(known, hash), Some(found)) if found == (known, hash) => "ok",
        (Last::Written(known, _), Some((found, _))) if found > known && !owed.writes.is_empty() => {
            "ok"
        }
        _ => "unknown_revision",
    };
    if class == "ok" && owed.undone { "lost" } else { class }
}
