//! Rows in an unnamed temporary file, which disappears with the process, however that ends.

use super::SeriesRow;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

/// Slots start at multiples of this, in bytes.
const BLOCK: usize = 4096;

#[derive(Debug)]
pub(super) struct ShelfPlace {
    at: u64,
    pub(super) bytes: usize,
}

/// A file of rows. The space of rows that were taken out is reused.
#[derive(Debug)]
pub(super) struct Shelf {
    file: File,
    /// The end of the last slot.
    end: u64,
    /// Free slots, by their number of blocks.
    free: BTreeMap<usize, Vec<u64>>,
}

impl Shelf {
    /// Creates an empty shelf.
    ///
    /// # Errors
    /// Returns an error if no temporary file can be created.
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self::on(tempfile::tempfile()?))
    }

    pub(super) const fn on(file: File) -> Self {
        Self { file, end: 0, free: BTreeMap::new() }
    }

    /// Stores a row.
    ///
    /// # Errors
    /// Returns an error if it cannot be written.
    pub(super) fn put(&mut self, row: &SeriesRow) -> io::Result<ShelfPlace> {
        let text = serde_json::to_vec(row)?;
        let blocks = text.len().div_ceil(BLOCK);
        let at = self.free.get_mut(&blocks).and_then(Vec::pop).unwrap_or(self.end);
        self.file.write_all_at(&text, at)?;
        self.end = self.end.max(at + (blocks * BLOCK) as u64);
        Ok(ShelfPlace { at, bytes: text.len() })
    }

    /// Returns a row.
    ///
    /// # Errors
    /// Returns an error if it cannot be read.
    pub(super) fn read(&self, place: &ShelfPlace) -> io::Result<SeriesRow> {
        let mut text = vec![0; place.bytes];
        self.file.read_exact_at(&mut text, place.at)?;
        Ok(serde_json::from_slice(&text)?)
    }

    /// Returns a row and frees its slot.
    ///
    /// # Errors
    /// Returns an error if it cannot be read.
    pub(super) fn take(&mut self, place: &ShelfPlace) -> io::Result<SeriesRow> {
        let row = self.read(place)?;
        self.free.entry(place.bytes.div_ceil(BLOCK)).or_default().push(place.at);
        Ok(row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(second: u32) -> SeriesRow {
        SeriesRow { waited_s: 0.25, ..SeriesRow::new(second, 1) }
    }

    #[test]
    fn places_are_used_again() {
        let mut shelf = Shelf::new().unwrap();
        let places: Vec<_> = (0..3).map(|second| shelf.put(&row(second)).unwrap()).collect();
        assert_eq!(shelf.take(&places[1]).unwrap(), row(1));
        let again = shelf.put(&row(7)).unwrap();
        assert_eq!((again.at, shelf.end), (places[1].at, 3 * BLOCK as u64));
        for (place, second) in [(&places[0], 0), (&again, 7), (&places[2], 2)] {
            assert_eq!(shelf.take(place).unwrap(), row(second));
        }
    }
}
