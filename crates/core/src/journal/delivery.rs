//! The notes of an agent on their way into the journal of the run, stage by stage.

use super::seal::{FileSums, Sum};
use super::{AWAITED, ENDING, Journal, MAGIC, NOTED, files};
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The most bytes that are handed over in one piece.
const PIECE: u64 = 1 << 18;

impl Journal {
    /// Hands over all notes of a stage whose threads have ended, piece by piece, as the bytes of
    /// one file, and removes them here. Each piece comes with the number of bytes before it.
    /// Returns the total number of bytes.
    ///
    /// # Errors
    /// Returns an error if some of the notes are missing.
    pub fn hand_over(&self, stage: usize, mut each: impl FnMut(u64, &[u8])) -> io::Result<u64> {
        if let Some(why) = self.broken() {
            return Err(io::Error::other(why));
        }
        let (mut sum, mut read) = (0, 0);
        let of_stage = format!("{stage:04}-");
        for path in files(&self.folder, ENDING)? {
            let name = path.file_name().and_then(|name| name.to_str());
            if !name.is_some_and(|name| name.starts_with(&of_stage)) {
                continue;
            }
            let mut file = File::open(&path)?;
            // The result is a single file, with a single header.
            let begun = if sum == 0 { 0 } else { MAGIC.len() as u64 };
            read += file.seek(SeekFrom::Start(begun))?;
            loop {
                let mut piece = Vec::new();
                (&mut file).take(PIECE).read_to_end(&mut piece)?;
                if piece.is_empty() {
                    break;
                }
                each(sum, &piece);
                sum += piece.len() as u64;
                read += piece.len() as u64;
            }
            fs::remove_file(&path)?;
            fs::remove_file(path.with_extension(NOTED))?;
            self.sums.forget(&path);
        }
        let finished = self.finished.swap(0, Ordering::Relaxed);
        if read == finished {
            return Ok(sum);
        }
        Err(io::Error::other(format!("{read} of {finished} bytes of its notes are left")))
    }

    /// Marks the notes of an agent about a stage as missing until they have arrived.
    ///
    /// # Errors
    /// Returns an error if the mark cannot be written.
    pub fn expect(&self, stage: usize, agent: usize) -> io::Result<Delivery> {
        let path = self.path(stage, agent, AWAITED);
        let (file, hasher) = (File::create_new(&path)?, crc32fast::Hasher::new());
        self.list(&path.with_extension(ENDING))?;
        Ok(Delivery { file, path, arrived: Ok(0), hasher, sums: self.sums.clone() })
    }
}

/// The notes of an agent about a stage, as they arrive.
#[derive(Debug)]
pub struct Delivery {
    file: File,
    path: PathBuf,
    /// How many bytes have arrived, or why they are unusable.
    arrived: io::Result<u64>,
    hasher: crc32fast::Hasher,
    sums: Arc<FileSums>,
}

impl Delivery {
    /// Adds a piece that follows the first `before` bytes.
    pub fn add(&mut self, before: u64, piece: &[u8]) {
        let Ok(arrived) = self.arrived else { return };
        self.hasher.update(piece);
        self.arrived = match self.file.write_all(piece) {
            _ if arrived != before => Err(io::Error::other("a part of its notes is missing")),
            Ok(()) => Ok(arrived + piece.len() as u64),
            Err(error) => Err(error),
        };
    }

    /// Declares that all `bytes` have been sent; from now on the notes can be read.
    ///
    /// # Errors
    /// Returns an error if some did not arrive or could not be written. They remain missing.
    pub fn complete(self, bytes: u64) -> io::Result<()> {
        let arrived = self.arrived?;
        if arrived != bytes {
            return Err(io::Error::other(format!("{arrived} of {bytes} bytes of its notes came")));
        }
        let there = self.path.with_extension(ENDING);
        let sum = Sum { bytes, crc: self.hasher.finalize() };
        fs::write(self.path.with_extension(NOTED), sum.to_bytes())?;
        fs::rename(&self.path, &there)?;
        self.sums.keep(&there, sum);
        Ok(())
    }
}
