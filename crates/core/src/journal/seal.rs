//! Checks whether a journal is complete. Missing notes could explain anything, so nothing may be
//! concluded from the rest.
//!
//! A run that ends seals its journal with the length and checksum of each file. A run that was
//! killed could not, but its notes are in the system's cache, and are lost only if the system goes
//! down as well.

use super::{ENDING, Journal, files};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// The file that records during which uptime of the system the journal was begun ...
const BEGAN: &str = "began";
/// ... and the one that closes it.
const CLOSED: &str = "closed";
/// Both.
pub(super) const SEALS: [&str; 2] = [BEGAN, CLOSED];

/// The length of a file in bytes, and its CRC-32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sum {
    pub(super) bytes: u64,
    pub(super) crc: u32,
}

/// The sums of finished files, by name.
#[derive(Debug, Default)]
pub(super) struct Sums(Mutex<BTreeMap<String, Sum>>);

impl Sums {
    fn all(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Sum>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn keep(&self, file: &Path, sum: Sum) {
        self.all().insert(name(file), sum);
    }

    pub(super) fn forget(&self, file: &Path) {
        self.all().remove(&name(file));
    }
}

fn name(file: &Path) -> String {
    file.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Identifies the current uptime of this machine; `None` if the system does not provide this.
fn uptime() -> Option<String> {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()
}

/// Called when notes for this file could not be written: whatever becomes of the run, its journal
/// will count as incomplete. Removing a file needs no disk space.
pub(super) fn give_up(path: &Path) {
    if let Some(folder) = path.parent() {
        // If that fails, the record of the run still says so.
        let _ = fs::remove_file(folder.join(BEGAN));
    }
}

/// The length and checksum of a file.
fn sum(path: &Path) -> io::Result<Sum> {
    let (mut file, mut hasher) = (File::open(path)?, crc32fast::Hasher::new());
    let (mut piece, mut bytes) = (vec![0; 1 << 16], 0);
    loop {
        let count = file.read(&mut piece)?;
        if count == 0 {
            return Ok(Sum { bytes, crc: hasher.finalize() });
        }
        hasher.update(&piece[..count]);
        bytes += count as u64;
    }
}

impl Journal {
    /// Records the current uptime of the system.
    pub(super) fn begin(&self) -> io::Result<()> {
        match fs::remove_file(self.folder.join(CLOSED)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        fs::write(self.folder.join(BEGAN), uptime().unwrap_or_default())
    }

    /// Closes the journal, unless notes could not be written or it belongs to another run. A later
    /// reader can then tell whether it is complete. Notes of agents that never arrived are not
    /// covered.
    ///
    /// # Errors
    /// Returns an error if the seal cannot be written.
    pub fn close(&self) -> io::Result<()> {
        if !self.own || !self.folder.join(BEGAN).exists() {
            return Ok(());
        }
        let sums = self.sums.all();
        let line = |(name, sum): (&String, &Sum)| format!("{name} {} {:08x}\n", sum.bytes, sum.crc);
        fs::write(self.folder.join(CLOSED), sums.iter().map(line).collect::<Vec<_>>().concat())
    }

    /// Why notes that were made may be missing; `None` if all are there.
    ///
    /// # Errors
    /// Returns an error if the journal cannot be read.
    pub(super) fn gap(&self) -> io::Result<Option<String>> {
        let found = files(&self.folder, ENDING)?;
        if self.own {
            return self.departure(&found, &self.sums.all());
        }
        let closed = match fs::read_to_string(self.folder.join(CLOSED)) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(self.open_end()),
            Err(error) => return Err(error),
        };
        let entry = |line: &str| {
            let mut words = line.split(' ');
            let (name, bytes, crc) = (words.next()?, words.next()?, words.next()?);
            let crc = u32::from_str_radix(crc, 16).ok()?;
            Some((name.to_owned(), Sum { bytes: bytes.parse().ok()?, crc }))
        };
        let sums: Option<BTreeMap<_, _>> = closed.lines().map(entry).collect();
        let Some(sums) = sums.filter(|_| closed.is_empty() || closed.ends_with('\n')) else {
            return Ok(Some("the list of its files is damaged".to_owned()));
        };
        if let Some(stranger) = found.iter().find(|path| !sums.contains_key(&name(path))) {
            return Ok(Some(format!("{} was added after the run", name(stranger))));
        }
        self.departure(&found, &sums)
    }

    /// How the files that were found differ from what was written.
    fn departure(
        &self,
        found: &[std::path::PathBuf],
        sums: &BTreeMap<String, Sum>,
    ) -> io::Result<Option<String>> {
        for (file, written) in sums {
            let path = self.folder.join(file);
            if !found.contains(&path) {
                return Ok(Some(format!("{file} is missing")));
            }
            let now = sum(&path)?;
            if now.bytes < written.bytes {
                return Ok(Some(format!("{file} has {} of {} bytes", now.bytes, written.bytes)));
            }
            if now != *written {
                return Ok(Some(format!("{file} is not as it was written")));
            }
        }
        Ok(None)
    }

    /// What may be missing from a journal that was not closed. A note that was being written when
    /// the run was killed is about a request that was not sent, or about an answer that need not
    /// have arrived.
    fn open_end(&self) -> Option<String> {
        let began = fs::read_to_string(self.folder.join(BEGAN)).unwrap_or_default();
        if began.is_empty() || Some(began) != uptime() {
            let why = "the run did not end in order, and either it could not note all its writes, \
                       or this machine was started again since, or is another one";
            return Some(why.to_owned());
        }
        None
    }
}
