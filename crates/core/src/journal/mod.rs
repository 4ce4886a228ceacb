//! Records on disk which writes were acknowledged: one file per thread and stage.
//!
//! Records what became of a write, not what follows from that, which is up to the audit. Entries
//! have a fixed size. Missing notes could explain anything, so nothing is read from an incomplete
//! journal.
//!
//! An agent hands its notes over after each stage. Until all have arrived, they are in a file with
//! another extension, which tells a reader that they are missing.
//!
//! How much was noted in a file is kept beside it, so that a loss is noticed even if the run was
//! killed.

mod delivery;
mod seal;

pub use delivery::Delivery;

use crate::op::{Key, Token, with_all};
use seal::{FileSums, Sum};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufReader, Read as _, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The first bytes of a file, including the version of its layout.
const MAGIC: [u8; 8] = *b"sprjrn\0\x01";
/// The size of an entry, in bytes.
const ENTRY_BYTES: usize = 32;
/// The extension of the files ...
const ENDING: &str = "journal";
/// ... and of those for agents whose notes about a stage have not all arrived.
const AWAITED: &str = "awaited";
/// The extension of the files that record how much was noted in the file of the same name.
const NOTED: &str = "noted";

/// What a write was to do to a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// A version was to be stored.
    Write,
    /// The document was to be removed.
    Delete,
}

with_all! {
    /// What is known about a write. One that was sent and has no later entry, or that failed, may
    /// or may not have been carried out.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[repr(u32)]
    pub enum Fate {
        /// It is about to be sent.
        Sent,
        /// The server has confirmed that it was carried out.
        Acknowledged,
        /// The server refused it, or never received it.
        Refused,
        /// The server said that it failed. Versions that do not know this value report the journal
        /// as one of another version.
        Failed,
    }
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
    /// The largest version that fits in an entry.
    pub const MOST_VERSION: u32 = u32::MAX >> 3;

    /// Key, version with act and fate in its top bits, and token: 8, 4, 4 and 16 bytes.
    fn bytes(&self) -> [u8; ENTRY_BYTES] {
        let flags = u32::from(self.act == Act::Delete) << 31 | (self.fate as u32) << 29;
        let mut bytes = [0; ENTRY_BYTES];
        bytes[..8].copy_from_slice(&self.key.to_le_bytes());
        bytes[8..12].copy_from_slice(&(self.version & Self::MOST_VERSION | flags).to_le_bytes());
        bytes[12..16].copy_from_slice(&self.token.number.to_le_bytes());
        bytes[16..].copy_from_slice(&self.token.rest);
        bytes
    }

    fn parse(bytes: &[u8; ENTRY_BYTES]) -> Self {
        let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        let flagged = word(8);
        Self {
            key: u64::from_le_bytes(std::array::from_fn(|i| bytes[i])),
            act: if flagged >> 31 == 1 { Act::Delete } else { Act::Write },
            // Two bits; each value has a meaning.
            fate: Fate::ALL[(flagged >> 29 & 3) as usize],
            version: flagged & Self::MOST_VERSION,
            token: Token { number: word(12), rest: std::array::from_fn(|i| bytes[16 + i]) },
        }
    }
}

/// The journal of a run: a folder.
#[derive(Debug)]
pub struct Journal {
    folder: PathBuf,
    /// Why it is incomplete, if it is.
    broken: Arc<Mutex<Option<io::Error>>>,
    /// The bytes in all files that were finished since notes were last handed over.
    finished: Arc<AtomicU64>,
    /// The length and checksum of each finished file.
    sums: Arc<FileSums>,
    /// Whether this process writes the journal.
    own: bool,
}

impl Journal {
    /// Creates `folder` and a new journal in it.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be created, or already contains a journal.
    pub fn create(folder: &Path) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let journal = Self { own: true, ..Self::open(folder) };
        if !journal.exists() {
            journal.begin()?;
            return Ok(journal);
        }
        Err(io::Error::new(io::ErrorKind::AlreadyExists, "a journal already exists"))
    }

    /// The journal in `folder`, for reading.
    pub fn open(folder: &Path) -> Self {
        let (broken, finished, sums) = Default::default();
        Self { folder: folder.to_owned(), broken, finished, sums, own: false }
    }

    /// Whether the journal has any file.
    pub fn exists(&self) -> bool {
        self.all().is_ok_and(|files| !files.is_empty())
    }

    fn all(&self) -> io::Result<Vec<PathBuf>> {
        let of = |ending| files(&self.folder, ending);
        Ok([of(ENDING)?, of(AWAITED)?, of(NOTED)?].concat())
    }

    fn path(&self, stage: usize, number: usize, ending: &str) -> PathBuf {
        self.folder.join(format!("{stage:04}-{number:04}.{ending}"))
    }

    /// The file of one thread in one stage. If it cannot be written, [`Journal::broken`] says why.
    pub fn writer(&self, stage: usize, shard: usize) -> Writer {
        let path = self.path(stage, shard, ENDING);
        let opened = self.open_new(&path);
        let mut writer = Writer {
            file: None,
            noted: None,
            room: MAGIC.to_vec(),
            broken: self.broken.clone(),
            written: 0,
            finished: self.finished.clone(),
            path,
            hasher: crc32fast::Hasher::new(),
            sums: self.sums.clone(),
        };
        match opened {
            Ok([file, noted]) => (writer.file, writer.noted) = (Some(file), Some(noted)),
            Err(error) => writer.give_up(error),
        }
        writer
    }

    /// Why the journal is incomplete, if it is.
    pub fn broken(&self) -> Option<String> {
        let broken = self.broken.lock().unwrap_or_else(PoisonError::into_inner);
        broken.as_ref().map(ToString::to_string)
    }

    /// Marks the journal as incomplete from the start, for this reason.
    pub fn break_off(&self, why: &str) {
        break_off(&self.broken, io::Error::other(why.to_owned()));
    }

    /// Passes each entry to `each`. Entries about the same document come in the order in which they
    /// were made.
    ///
    /// Leaves out whatever missing notes might explain: everything written by an agent some of
    /// whose notes are missing, or all entries if it is not known whose are missing or if documents
    /// are `shared`.
    ///
    /// # Errors
    /// Returns an error if a file cannot be read or is not a journal.
    pub fn read(&self, shared: bool, mut each: impl FnMut(JournalEntry)) -> io::Result<()> {
        let sums = match self.whole()? {
            Ok(sums) => sums,
            Err(why) => {
                self.break_off(&why);
                return Ok(());
            }
        };
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
            let end = sums.get(&seal::name(&path)).map_or(u64::MAX, |sum| sum.bytes);
            let mut file = BufReader::with_capacity(1 << 16, File::open(&path)?.take(end));
            let mut magic = [0; MAGIC.len()];
            let whole = read_whole(&mut file, &mut magic)?;
            if whole && magic != MAGIC {
                let why = format!("{} is not a journal of this version", path.display());
                return Err(io::Error::new(io::ErrorKind::InvalidData, why));
            }
            let mut bytes = [0; ENTRY_BYTES];
            while whole && read_whole(&mut file, &mut bytes)? {
                each(JournalEntry::parse(&bytes));
            }
        }
        Ok(())
    }

    /// Removes the journal's files, and the folder if it contains nothing else.
    ///
    /// # Errors
    /// Returns an error if a file cannot be removed.
    pub fn remove(&self) -> io::Result<()> {
        for path in self.all()? {
            fs::remove_file(path)?;
        }
        for seal in seal::SEALS {
            match fs::remove_file(self.folder.join(seal)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        // Fails if the folder contains anything else.
        let _ = fs::remove_dir(&self.folder);
        Ok(())
    }
}

/// The files of a journal with this extension, in order of stages.
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

/// The number of the thread or agent that a file belongs to.
fn number(path: &Path) -> Option<usize> {
    path.file_stem()?.to_str()?.split_once('-')?.1.parse().ok()
}

/// Fills `bytes`; returns `false` if the file ends before that.
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
    /// Records how much has been written to it.
    noted: Option<File>,
    /// Entries that are not written yet.
    room: Vec<u8>,
    broken: Arc<Mutex<Option<io::Error>>>,
    /// The bytes handed to the system ...
    written: u64,
    /// ... which are added to these in the end.
    finished: Arc<AtomicU64>,
    path: PathBuf,
    hasher: crc32fast::Hasher,
    sums: Arc<FileSums>,
}

impl Writer {
    /// Adds an entry.
    pub fn add(&mut self, entry: &JournalEntry) {
        self.room.extend_from_slice(&entry.bytes());
    }

    /// Hands everything added so far to the system, so that it survives if this process is killed.
    ///
    /// First the notes, then their length. If this process is killed in between, the last notes do
    /// not count. That accuses nobody: a request is not sent before its note has been flushed, and
    /// an answer that was not noted need not have arrived.
    pub fn flush(&mut self) {
        if self.room.is_empty() {
            return;
        }
        let written = self.file.as_mut().map_or(Ok(()), |file| file.write_all(&self.room));
        self.written += self.room.len() as u64;
        self.hasher.update(&self.room);
        self.room.clear();
        let sum = Sum { bytes: self.written, crc: self.hasher.clone().finalize() };
        let noted = self.noted.as_ref();
        let count = |()| noted.map_or(Ok(()), |noted| noted.write_all_at(&sum.to_bytes(), 0));
        if let Err(error) = written.and_then(count) {
            self.give_up(error);
        }
    }

    #[cold]
    fn give_up(&mut self, error: io::Error) {
        (self.file, self.noted) = (None, None);
        seal::give_up(&self.path);
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
        let crc = std::mem::take(&mut self.hasher).finalize();
        self.sums.keep(&self.path, Sum { bytes: self.written, crc });
    }
}

#[cfg(test)]
mod tests;
