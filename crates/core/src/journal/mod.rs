//! Which writes were acknowledged, on disk: one file per thread and stage.
//!
//! Records what became of a write, not what follows from it; that is up to the audit. Entries have
//! a fixed size, so a file that was cut off is good up to its last whole entry.

use crate::op::{Key, Token};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The first bytes of a file, including the version of its layout.
const MAGIC: [u8; 8] = *b"sprjrn\0\x01";
/// The size of an entry, in bytes.
const ENTRY_BYTES: usize = 32;
/// The extension of the files.
const ENDING: &str = "journal";

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
}

impl Journal {
    /// Creates `folder` and a new journal in it.
    ///
    /// # Errors
    /// If the folder cannot be created, or already contains a journal.
    pub fn create(folder: &Path) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        if files(folder)?.is_empty() {
            return Ok(Self::open(folder));
        }
        Err(io::Error::new(io::ErrorKind::AlreadyExists, "a journal already exists"))
    }

    /// The journal in `folder`, for reading.
    pub fn open(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), broken: Arc::default() }
    }

    /// Whether any file of it exists.
    pub fn exists(&self) -> bool {
        files(&self.folder).is_ok_and(|files| !files.is_empty())
    }

    /// The file of one thread in one stage. If it cannot be written, [`Journal::broken`] says why.
    pub fn writer(&self, stage: usize, shard: usize) -> Writer {
        let path = self.folder.join(format!("{stage:04}-{shard:04}.{ENDING}"));
        let mut options = OpenOptions::new();
        let file = options.write(true).create_new(true).open(path);
        let mut writer = Writer { file: None, room: MAGIC.to_vec(), broken: self.broken.clone() };
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
    /// # Errors
    /// If a file cannot be read or is not a journal.
    pub fn read(&self, mut each: impl FnMut(JournalEntry)) -> io::Result<()> {
        for path in files(&self.folder)? {
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
        for path in files(&self.folder)? {
            fs::remove_file(path)?;
        }
        // Fails if there is something else in it.
        let _ = fs::remove_dir(&self.folder);
        Ok(())
    }
}

/// The files of a journal, in order of stages.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == ENDING) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
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
        journal.read(|entry| keys.push(entry.key)).map(|()| keys)
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
        let mut writer = Writer { file, room: Vec::new(), broken: Arc::clone(&journal.broken) };
        writer.add(&entry(1));
        assert_eq!(journal.broken(), None);
        writer.flush();
        assert!(journal.broken().unwrap().contains("No space left"));
    }
}
