//! Checks whether a journal is complete. Missing notes could explain anything, so nothing may be
//! concluded from the rest.
//!
//! A run that ends seals its journal with the length and checksum of each file. A run that was
//! killed could not, but its notes are in the system's cache, and are lost only if the system goes
//! down as well, or if a file is lost or cut later. Therefore the journal lists its files from the
//! start, and keeps the length and checksum of each beside it: every time that notes are flushed,
//! which takes another system call of less than a microsecond.

use super::{AWAITED, ENDING, Journal, NOTED, files};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The file that records during which uptime of the system the journal was begun, followed by the
/// names of its files ...
const BEGAN: &str = "began";
/// ... and the one that closes it.
const CLOSED: &str = "closed";
pub(super) const SEALS: [&str; 2] = [BEGAN, CLOSED];

/// The length of a file in bytes, and its CRC-32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sum {
    pub(super) bytes: u64,
    pub(super) crc: u32,
}

impl Sum {
    /// Length, checksum, and a checksum of these two: 8, 4 and 4 bytes.
    pub(super) fn to_bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.bytes.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.crc.to_le_bytes());
        let check = crc32fast::hash(&bytes[..12]);
        bytes[12..].copy_from_slice(&check.to_le_bytes());
        bytes
    }

    /// `None` if these are not the bytes of a sum.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes: [u8; 16] = bytes.try_into().ok()?;
        let sum = Self {
            bytes: u64::from_le_bytes(std::array::from_fn(|i| bytes[i])),
            crc: u32::from_le_bytes(std::array::from_fn(|i| bytes[8 + i])),
        };
        (sum.to_bytes() == bytes).then_some(sum)
    }
}

/// Sums by the names of their files.
type ByName = BTreeMap<String, Sum>;

#[derive(Debug, Default)]
pub(super) struct FileSums(Mutex<ByName>);

impl FileSums {
    fn all(&self) -> std::sync::MutexGuard<'_, ByName> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn keep(&self, file: &Path, sum: Sum) {
        self.all().insert(name(file), sum);
    }

    pub(super) fn forget(&self, file: &Path) {
        self.all().remove(&name(file));
    }
}

/// The name of a file, without its folder.
pub(super) fn name(file: &Path) -> String {
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

/// The length and checksum of a file up to the byte `end`.
fn sum(path: &Path, end: u64) -> io::Result<Sum> {
    let (mut file, mut hasher) = (File::open(path)?.take(end), crc32fast::Hasher::new());
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

    /// Creates the file of a writer, and the one that says how much was noted there.
    pub(super) fn open_new(&self, path: &Path) -> io::Result<[File; 2]> {
        let opened = [File::create_new(path)?, File::create_new(path.with_extension(NOTED))?];
        opened[1].write_all_at(&Sum::default().to_bytes(), 0)?;
        // Last, so that both exist if the file is listed.
        self.list(path)?;
        Ok(opened)
    }

    /// Adds a file to the list of those that must be there.
    pub(super) fn list(&self, path: &Path) -> io::Result<()> {
        match OpenOptions::new().append(true).open(self.folder.join(BEGAN)) {
            Ok(mut began) => began.write_all(format!("{}\n", name(path)).as_bytes()),
            // The journal counts as incomplete anyway.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
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

    /// How much of each file is known to be as it was written; or why some notes may be missing.
    ///
    /// # Errors
    /// Returns an error if the journal cannot be read.
    pub(super) fn whole(&self) -> io::Result<Result<ByName, String>> {
        let found = files(&self.folder, ENDING)?;
        if self.own {
            let sums = self.sums.all().clone();
            return self.compared(&found, sums);
        }
        let closed = match fs::read(self.folder.join(CLOSED)) {
            // Bytes that are no text are damage, and no reason not to look for the writes.
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return self.open_end(&found),
            Err(error) => return Err(error),
        };
        let entry = |line: &str| {
            let mut words = line.split(' ');
            let (name, bytes, crc) = (words.next()?, words.next()?, words.next()?);
            let crc = u32::from_str_radix(crc, 16).ok()?;
            Some((name.to_owned(), Sum { bytes: bytes.parse().ok()?, crc }))
        };
        let sums: Option<ByName> = closed.lines().map(entry).collect();
        let Some(sums) = sums.filter(|_| closed.is_empty() || closed.ends_with('\n')) else {
            return Ok(Err("the list of its files is damaged".to_owned()));
        };
        if let Some(stranger) = found.iter().find(|path| !sums.contains_key(&name(path))) {
            return Ok(Err(format!("{} was added after the run", name(stranger))));
        }
        self.compared(&found, sums)
    }

    /// Returns `sums` again; or how the files that were found differ from what was written.
    fn compared(&self, found: &[PathBuf], sums: ByName) -> io::Result<Result<ByName, String>> {
        for (file, written) in &sums {
            let path = self.folder.join(file);
            if !found.contains(&path) {
                return Ok(Err(format!("{file} is missing")));
            }
            let now = sum(&path, written.bytes)?;
            if now.bytes < written.bytes {
                return Ok(Err(format!("{file} has {} of {} bytes", now.bytes, written.bytes)));
            }
            if now != *written {
                return Ok(Err(format!("{file} is not as it was written")));
            }
        }
        Ok(Ok(sums))
    }

    /// The same for a journal that was not closed. Notes that were being written when the run was
    /// killed are about requests that were not sent, or about answers that need not have arrived.
    fn open_end(&self, found: &[PathBuf]) -> io::Result<Result<ByName, String>> {
        let began = fs::read_to_string(self.folder.join(BEGAN)).unwrap_or_default();
        let mut lines = began.split_inclusive('\n');
        let then = lines.next();
        if then.is_none() || then != uptime().as_deref() {
            let why = "the run did not end in order, and either it could not note all its writes, \
                       or this machine was started again since, or is another one";
            return Ok(Err(why.to_owned()));
        }
        let listed: BTreeSet<&str> = lines.filter_map(|line| line.strip_suffix('\n')).collect();
        if listed.is_empty() && files(&self.folder, NOTED)?.is_empty() {
            // Of a version that kept neither.
            return Ok(Ok(ByName::new()));
        }
        for path in found {
            // Empty: the run was killed before it was listed.
            if !listed.contains(name(path).as_str()) && fs::metadata(path)?.len() > 0 {
                return Ok(Err(format!("{} is not in the list of its files", name(path))));
            }
        }
        let mut sums = ByName::new();
        for file in listed {
            let path = self.folder.join(file);
            // Missing notes of an agent are reported as such.
            if path.with_extension(AWAITED).exists() {
                continue;
            }
            match fs::read(path.with_extension(NOTED)).map(|bytes| Sum::parse(&bytes)) {
                Ok(Some(sum)) => sums.insert(file.to_owned(), sum),
                Ok(None) => return Ok(Err(format!("the length of {file} is damaged"))),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return Ok(Err(format!("the length of {file} is missing")));
                }
                Err(error) => return Err(error),
            };
        }
        self.compared(found, sums)
    }
}
