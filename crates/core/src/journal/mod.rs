//! Which writes were acknowledged, on disk: one file per thread and stage.
//!
//! Records what became of a write, not what follows from it; that is up to the audit. Entries have
//! a fixed size, so a file that was cut off is good up to its last whole entry.
//!
//! An agent hands its notes over after each stage. Until all have arrived, they are in a file of
//! another name, by which a reader knows that they are missing.

mod delivery;

pub use delivery::Delivery;

use crate::op::{Key, Token};
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The first bytes of a file, including the version of its layout.
const MAGIC: [u8; 8] = *b"sprjrn\0\x01";
/// The size of an entry, in bytes.
const ENTRY_BYTES: usize = 32;
/// The extension of the files ...
const ENDING: &str = "journal";
/// ... and of those of agents whose notes of a stage have not all arrived.
const AWAITED: &str = "awaited";

/// What was to be done to a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// A version was to be stored.
    Write,
    /// The document was to be removed.
    Delete,
}

/// What is known about a write. If it was sent and has no later entry, it may or may not have been
/// carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Fate {
    /// It is about to be sent.
    Sent,
    /// The server has confirmed that it was carried out.
    Acknowledged,
    /// The server refused it, or it never got there.
    Refused,
}

impl Fate {
    const ALL: [Self; 3] = [Self::Sent, Self::Acknowledged, Self::Refused];
}

/// One write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JournalEntry {
    /// The document.
    pub key: Key,
    /// What was to be done.
    pub act: Act,
    /// What became of it.
    pub fate: Fate,
    /// The version that was to be stored, at most [`JournalEntry::MOST_VERSION`].
    pub version: u32,
    /// The token that the server returned.
    pub token: Token,
}

impl JournalEntry {
    /// The largest version there is room for.
    pub const MOST_VERSION: u32 = u32::MAX >> 3;

    /// Key, version with act and fate in its upper bits, and token: 8, 4, 4 and 16 bytes.
    fn bytes(&self) -> [u8; ENTRY_BYTES] {
        let flags = u32::from(self.act == Act::Delete) << 31 | (self.fate as u32) << 29;
        let mut bytes = [0; ENTRY_BYTES];
        bytes[..8].copy_from_slice(&self.key.to_le_bytes());
        bytes[8..12].copy_from_slice(&(self.version & Self::MOST_VERSION | flags).to_le_bytes());
        bytes[12..16].copy_from_slice(&self.token.number.to_le_bytes());
        bytes[16..].copy_from_slice(&self.token.rest);
        bytes
    }

    /// Returns `None` if the bytes are not an entry.
    fn parse(bytes: &[u8; ENTRY_BYTES]) -> Option<Self> {
        let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        let flagged = word(8);
        Some(Self {
            key: u64::from_le_bytes(std::array::from_fn(|i| bytes[i])),
            act: if flagged >> 31 == 1 { Act::Delete } else { Act::Write },
            fate: *Fate::ALL.get((flagged >> 29 & 3) as usize)?,
            version: flagged & Self::MOST_VERSION,
            token: Token { number: word(12), rest: std::array::from_fn(|i| bytes[16 + i]) },
        })
    }
}

/// The journal of a run: a folder.
#[derive(Debug)]
pub struct Journal {
    folder: PathBuf,
    /// Why it is incomplete, if it is.
    broken: Arc<Mutex<Option<io::Error>>>,
    /// The bytes of all files that were finished since notes were last handed over.
    finished: Arc<AtomicU64>,
}

impl Journal {
    /// Creates `folder` and a new journal in it.
    ///
    /// # Errors
    /// If the folder cannot be created, or already contains a journal.
    pub fn create(folder: &Path) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let journal = Self::open(folder);
        if !journal.exists() {
            return Ok(journal);
        }
        Err(io::Error::new(io::ErrorKind::AlreadyExists, "a journal already exists"))
    }

    /// The journal in `folder`, for reading.
    pub fn open(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), broken: Arc::default(), finished: Arc::default() }
    }

    /// Whether any file of it exists.
    pub fn exists(&self) -> bool {
        self.all().is_ok_and(|files| !files.is_empty())
    }

    fn all(&self) -> io::Result<Vec<PathBuf>> {
        Ok([files(&self.folder, ENDING)?, files(&self.folder, AWAITED)?].concat())
    }

    fn path(&self, stage: usize, number: usize, ending: &str) -> PathBuf {
        self.folder.join(format!("{stage:04}-{number:04}.{ending}"))
    }

    /// The file of one thread in one stage. If it cannot be written, [`Journal::broken`] says why.
    pub fn writer(&self, stage: usize, shard: usize) -> Writer {
        let path = self.path(stage, shard, ENDING);
        let mut options = OpenOptions::new();
        let file = options.write(true).create_new(true).open(path);
        let mut writer = Writer {
            file: None,
            room: MAGIC.to_vec(),
            broken: self.broken.clone(),
            written: 0,
            finished: self.finished.clone(),
        };
        match file {
            Ok(file) => writer.file = Some(file),
            Err(error) => writer.give_up(error),
        }
        writer
    }

    /// Why it is incomplete, if it is.
    pub fn broken(&self) -> Option<String> {
        let broken = self.broken.lock().unwrap_or_else(PoisonError::into_inner);
        broken.as_ref().map(ToString::to_string)
    }

    /// Marks it as incomplete from the start, for this reason.
    pub fn break_off(&self, why: &str) {
        break_off(&self.broken, io::Error::other(why.to_owned()));
    }

    /// Passes each entry to `each`. Those of one document come in the order in which they were
    /// made.
    ///
    /// What missing notes may explain is left out: all that an agent has written of which some are
    /// missing; everything if it is not known whose are, or if documents are `shared`.
    ///
    /// # Errors
    /// If a file cannot be read or is not a journal.
    pub fn read(&self, shared: bool, mut each: impl FnMut(JournalEntry)) -> io::Result<()> {
        let missing: BTreeSet<usize> =
            files(&self.folder, AWAITED)?.iter().filter_map(|path| number(path)).collect();
        if !missing.is_empty() {
            let all: Vec<String> = missing.iter().map(ToString::to_string).collect();
            let s = if all.len() == 1 { "" } else { "s" };
            self.break_off(&format!("notes of agent{s} {} have not arrived", all.join(", ")));
        }
        if self.broken().is_some() && (shared || missing.is_empty()) {
            return Ok(());
        }
        for path in files(&self.folder, ENDING)? {
            if number(&path).is_some_and(|number| missing.contains(&number)) {
                continue;
            }
            let mut file = BufReader::with_capacity(1 << 16, File::open(&path)?);
            let mut magic = [0; MAGIC.len()];
            let whole = read_whole(&mut file, &mut magic)?;
            let wrong = || {
                let why = format!("{} is not a journal of this version", path.display());
                io::Error::new(io::ErrorKind::InvalidData, why)
            };
            if whole && magic != MAGIC {
                return Err(wrong());
            }
            let mut bytes = [0; ENTRY_BYTES];
            while whole && read_whole(&mut file, &mut bytes)? {
                each(JournalEntry::parse(&bytes).ok_or_else(wrong)?);
            }
        }
        Ok(())
    }

    /// Removes its files, and the folder if it contains nothing else.
    ///
    /// # Errors
    /// If a file cannot be removed.
    pub fn remove(&self) -> io::Result<()> {
        for path in self.all()? {
            fs::remove_file(path)?;
        }
        // Fails if there is something else in it.
        let _ = fs::remove_dir(&self.folder);
        Ok(())
    }
}

/// The files of a journal that end like this, in order of stages.
fn files(folder: &Path, ending: &str) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|it| it == ending) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// The number of the thread or agent that a file is of.
fn number(path: &Path) -> Option<usize> {
    path.file_stem()?.to_str()?.split_once('-')?.1.parse().ok()
}

/// Fills `bytes`; `false` if the file ends before that.
fn read_whole(file: &mut impl io::Read, bytes: &mut [u8]) -> io::Result<bool> {
    match file.read_exact(bytes) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

/// Writes the entries of one thread. Nothing more is written after an error.
#[derive(Debug)]
pub struct Writer {
    file: Option<File>,
    /// Entries that are not written yet.
    room: Vec<u8>,
    broken: Arc<Mutex<Option<io::Error>>>,
    /// The bytes handed to the system ...
    written: u64,
    /// ... which are added to these in the end.
    finished: Arc<AtomicU64>,
}

impl Writer {
    /// Adds an entry.
    pub fn add(&mut self, entry: &JournalEntry) {
        self.room.extend_from_slice(&entry.bytes());
    }

    /// Hands everything added so far to the system, so that it survives if this process is killed.
    pub fn flush(&mut self) {
        if self.room.is_empty() {
            return;
        }
        if let Some(error) = self.file.as_mut().and_then(|file| file.write_all(&self.room).err()) {
            self.give_up(error);
        }
        self.written += self.room.len() as u64;
        self.room.clear();
    }

    #[cold]
    fn give_up(&mut self, error: io::Error) {
        self.file = None;
        break_off(&self.broken, error);
    }
}

/// Keeps the first reason.
fn break_off(broken: &Mutex<Option<io::Error>>, why: io::Error) {
    broken.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.flush();
        self.finished.fetch_add(self.written, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entry(key: Key) -> JournalEntry {
        let token = Token { number: 7, rest: [9; 16] };
        JournalEntry { key, act: Act::Write, fate: Fate::Acknowledged, version: 3, token }
    }

    fn read(journal: &Journal) -> io::Result<Vec<Key>> {
        let mut keys = Vec::new();
        journal.read(false, |entry| keys.push(entry.key)).map(|()| keys)
    }

    proptest! {
        #[test]
        fn an_entry_is_read_as_it_was_written(
            key: u64, number: u32, rest: [u8; 16], version in 0..=JournalEntry::MOST_VERSION,
            delete: bool, fate in 0..3usize,
        ) {
            let act = if delete { Act::Delete } else { Act::Write };
            let (fate, token) = (Fate::ALL[fate], Token { number, rest });
            let entry = JournalEntry { key, act, fate, version, token };
            prop_assert_eq!(JournalEntry::parse(&entry.bytes()), Some(entry));
        }
    }

    #[test]
    fn stages_come_one_after_the_other_and_what_is_cut_off_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("journal");
        let journal = Journal::create(&place).unwrap();
        for (stage, shard, key) in [(1, 0, 30), (0, 1, 20), (0, 0, 10)] {
            let mut writer = journal.writer(stage, shard);
            writer.add(&entry(key));
            writer.add(&entry(key + 1));
        }
        assert_eq!(read(&journal).unwrap(), [10, 11, 20, 21, 30, 31]);
        let first = place.join("0000-0000.journal");
        let file = OpenOptions::new().write(true).open(&first).unwrap();
        file.set_len(fs::metadata(&first).unwrap().len() - 1).unwrap();
        assert_eq!(read(&journal).unwrap(), [10, 20, 21, 30, 31]);
        // Killed before its first bytes were written.
        file.set_len(3).unwrap();
        assert_eq!(read(&journal).unwrap(), [20, 21, 30, 31]);
        assert!(Journal::create(&place).is_err(), "another run's is not added to");
        assert!(journal.exists() && !Journal::open(folder.path()).exists());
        fs::write(&first, [7; 80]).unwrap();
        assert!(read(&journal).unwrap_err().to_string().contains("is not a journal"));
        fs::write(place.join("else"), "x").unwrap();
        journal.remove().unwrap();
        assert!(place.join("else").exists() && !first.exists());
    }

    #[test]
    fn what_is_flushed_is_there_while_more_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::create(folder.path()).unwrap();
        let mut writer = journal.writer(0, 0);
        writer.add(&entry(1));
        writer.flush();
        assert_eq!(read(&journal).unwrap(), [1]);
        assert_eq!(journal.broken(), None);
    }

    /// Pieces of notes, each with the number of bytes before it.
    type Pieces = Vec<(u64, Vec<u8>)>;
    /// What happens to them.
    type Harm = fn(&mut Pieces);

    /// Sends the notes of a stage from one journal to another as those of agent `agent`. On the
    /// way, this happens to them. Returns why they are not all there.
    fn deliver(from: &Journal, to: &Journal, agent: usize, harm: Harm) -> Result<(), String> {
        let mut delivery = to.expect(0, agent).unwrap();
        let mut pieces = Vec::new();
        let sent = from.hand_over(0, |before, piece| pieces.push((before, piece.to_vec())));
        harm(&mut pieces);
        for (before, piece) in pieces {
            delivery.add(before, &piece);
        }
        sent.and_then(|bytes| delivery.complete(bytes)).map_err(|error| error.to_string())
    }

    /// The journal of an agent that has noted writes of so many documents, on two threads.
    fn noted(folder: &Path, keys: std::ops::Range<Key>) -> Journal {
        let journal = Journal::create(folder).unwrap();
        for shard in 0..2 {
            let mut writer = journal.writer(0, shard);
            keys.clone()
                .filter(|key| key % 2 == shard as u64)
                .for_each(|it| writer.add(&entry(it)));
        }
        journal
    }

    #[test]
    fn notes_of_an_agent_are_read_once_all_have_arrived() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let run = Journal::create(&at("run")).unwrap();
        // A stage of two pieces and a bit, then one without a write.
        let journal = noted(&at("a"), 0..20_000);
        assert_eq!(deliver(&journal, &run, 0, |it| assert_eq!(it.len(), 4)), Ok(()));
        drop(journal.writer(1, 0));
        assert_eq!(journal.hand_over(1, |_, _| ()).unwrap(), 8);
        assert!(!journal.exists(), "they are kept once");
        let mut keys = read(&run).unwrap();
        keys.sort_unstable();
        assert_eq!(keys, (0..20_000).collect::<Vec<_>>());
        // Of agents 1 to 3, whose notes are not complete, nothing is read, and it is said why.
        let harms: [(usize, Harm); 3] =
            [(1, |it| drop(it.remove(0))), (2, |it| drop(it.pop())), (3, |it| it.swap(0, 1))];
        for (agent, harm) in harms {
            let journal = noted(&at(&format!("b{agent}")), 20_000..40_000);
            let why = deliver(&journal, &run, agent, harm).unwrap_err();
            assert!(why.contains("is missing") || why.contains("bytes of its notes came"), "{why}");
        }
        assert_eq!(run.broken(), None);
        assert_eq!(read(&run).unwrap().len(), 20_000);
        let told = Some("notes of agents 1, 2, 3 have not arrived".to_owned());
        assert_eq!(run.broken(), told);
        // Nor of what any of them may have written to, nor what they noted in another stage.
        run.read(true, |entry| panic!("{entry:?}")).unwrap();
        run.expect(1, 0).unwrap();
        assert_eq!(read(&run).unwrap().len(), 0);
    }

    #[test]
    fn notes_that_are_gone_are_not_handed_over() {
        let folder = tempfile::tempdir().unwrap();
        let journal = noted(&folder.path().join("a"), 0..10);
        fs::remove_file(folder.path().join("a/0000-0001.journal")).unwrap();
        let why = journal.hand_over(0, |_, _| ()).unwrap_err().to_string();
        assert_eq!(why, "168 of 336 bytes of its notes are left");
        let journal = noted(&folder.path().join("b"), 0..10);
        journal.break_off("full");
        assert_eq!(journal.hand_over(0, |_, _| ()).unwrap_err().to_string(), "full");
        assert!(read(&journal).unwrap().is_empty(), "nobody knows what is missing");
    }

    #[test]
    fn a_full_disk_is_told_and_ends_the_writing() {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/dev/full", folder.path().join("0000-0000.journal")).unwrap();
        let journal = Journal::open(folder.path());
        // The file exists already and is not overwritten.
        journal.writer(0, 0).add(&entry(1));
        assert!(journal.broken().is_some());
        let journal = Journal::open(folder.path());
        let file = OpenOptions::new().write(true).open("/dev/full").ok();
        let mut writer = Journal::open(Path::new("nowhere")).writer(0, 0);
        (writer.file, writer.broken) = (file, Arc::clone(&journal.broken));
        writer.add(&entry(1));
        assert_eq!(journal.broken(), None);
        writer.flush();
        assert!(journal.broken().unwrap().contains("No space left"));
    }
}
