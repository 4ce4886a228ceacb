//! Whether all of a journal is there. Notes that are missing could explain anything, so that
//! nothing may be concluded from the rest.
//!
//! A run that ends closes its journal: how long each file is, and its checksum. One that was killed
//! could not; its notes are with the system, and are lost only if that goes down as well.

use super::{ENDING, Journal, files};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// The file that says since when the system was up when the journal was begun ...
const BEGAN: &str = "began";
/// ... and the one that closes it.
const CLOSED: &str = "closed";
/// Both.
pub(super) const SEALS: [&str; 2] = [BEGAN, CLOSED];

/// What was written to a file: its length in bytes, and its CRC-32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sum {
    pub(super) bytes: u64,
    pub(super) crc: u32,
}

/// The sums of the files that are finished, by their names.
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

/// What tells one uptime of this machine from all others; `None` if the system does not say.
fn uptime() -> Option<String> {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()
}

/// Notes for this file could not be written: whatever becomes of the run, its journal is not taken
/// for whole. Removing a file needs no room.
pub(super) fn give_up(path: &Path) {
    if let Some(folder) = path.parent() {
        // If that fails, the record of the run still says so.
        let _ = fs::remove_file(folder.join(BEGAN));
    }
}

/// What is in a file.
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
    /// Notes since when the system is up.
    pub(super) fn begin(&self) -> io::Result<()> {
        match fs::remove_file(self.folder.join(CLOSED)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        fs::write(self.folder.join(BEGAN), uptime().unwrap_or_default())
    }

    /// Closes it, unless notes could not be written, or it is that of another run. Whoever reads it
    /// later can tell whether all of it is there. Notes of agents that never came are not its own.
    ///
    /// # Errors
    /// If that cannot be written.
    pub fn close(&self) -> io::Result<()> {
        if !self.own || !self.folder.join(BEGAN).exists() {
            return Ok(());
        }
        let sums = self.sums.all();
        let line = |(name, sum): (&String, &Sum)| format!("{name} {} {:08x}\n", sum.bytes, sum.crc);
        fs::write(self.folder.join(CLOSED), sums.iter().map(line).collect::<Vec<_>>().concat())
    }

    /// Why notes may be missing that were made; `None` if all are there.
    ///
    /// # Errors
    /// If it cannot be read.
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

    /// How the files that were found depart from what was written.
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

    /// What may be missing of one that was not closed. A note that was being written when the run
    /// was killed is about a request that was not sent, or about an answer that need not have come.
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
