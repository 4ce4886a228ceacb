//! The column of a CSV file: in memory if the file is small, otherwise read in small blocks at
//! known positions in the file, so that memory stays bounded.

use csv::{ByteRecord, Reader, ReaderBuilder, Trim};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

/// The largest file that is kept in memory, in bytes.
const SMALL: u64 = 64 << 20;
/// The rows of a block: a few hundred bytes to read for each value, and 8 bytes of memory per
/// block.
const BLOCK: u64 = 64;

/// A column with at least one value.
#[derive(Debug)]
pub(super) struct ValueColumn {
    rows: u64,
    kept: KeptValues,
}

#[derive(Debug)]
enum KeptValues {
    /// All values, one after the other, and the end of each.
    Memory { bytes: Vec<u8>, ends: Vec<u32> },
    /// The file, where each block begins and the last one ends, and the index of the wanted field.
    File { file: File, blocks: Vec<u64>, field: usize },
}

/// What identifies a column that was read: path, column name, modification time and size.
type Version = (PathBuf, String, Option<SystemTime>, u64);

/// The columns that were read, because a plan is processed more than once.
static READ: Mutex<BTreeMap<Version, Arc<ValueColumn>>> = Mutex::new(BTreeMap::new());

impl ValueColumn {
    /// The column with this name.
    ///
    /// # Errors
    /// Returns a message that says why there is none, and what to do.
    pub(super) fn open(path: &str, name: &str) -> Result<Arc<Self>, String> {
        let wrong = |error: std::io::Error| format!("cannot read {path}: {error}");
        let about = std::fs::metadata(path).map_err(wrong)?;
        if !about.is_file() {
            return Err(format!("{path} is not a file"));
        }
        let version = (path.into(), name.to_owned(), about.modified().ok(), about.len());
        let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(column) = read.get(&version) {
            return Ok(column.clone());
        }
        let file = File::open(path).map_err(wrong)?;
        let column = Self::read(file, name, if about.len() > SMALL { BLOCK } else { 0 });
        let column = Arc::new(column.map_err(|problem| format!("{path}: {problem}"))?);
        read.insert(version, column.clone());
        Ok(column)
    }

    /// Reads a file in blocks of `block` rows; with 0, it is kept in memory.
    fn read(file: File, name: &str, block: u64) -> Result<Self, String> {
        let wrong = |error: csv::Error| format!("not CSV: {error}");
        let mut reader =
            ReaderBuilder::new().trim(Trim::Headers).from_reader(BufReader::new(&file));
        let headers = reader.byte_headers().map_err(wrong)?;
        let field =
            headers.iter().position(|header| header == name.as_bytes()).ok_or_else(|| {
                let names = headers.iter().map(String::from_utf8_lossy).collect::<Vec<_>>();
                format!("no column {name:?} in its first line; give one of {}", names.join(", "))
            })?;
        let (mut rows, mut record) = (0, ByteRecord::new());
        let (mut bytes, mut ends, mut blocks) = (Vec::new(), Vec::new(), Vec::new());
        loop {
            let place = reader.position().byte();
            if !reader.read_byte_record(&mut record).map_err(wrong)? {
                blocks.push(place);
                break;
            }
            if block == 0 {
                bytes.extend_from_slice(record.get(field).unwrap_or_default());
                // A file that is kept in memory is small enough for this.
                ends.push(bytes.len() as u32);
            } else if rows % block == 0 {
                blocks.push(place);
            }
            rows += 1;
        }
        drop(reader);
        if rows == 0 {
            return Err("it has no rows below its first line".to_owned());
        }
        let kept = if block == 0 {
            KeptValues::Memory { bytes, ends }
        } else {
            KeptValues::File { file, blocks, field }
        };
        Ok(Self { rows, kept })
    }

    pub(super) const fn rows(&self) -> u64 {
        self.rows
    }

    /// Appends the value of a row, which must exist. Nothing is appended if the file can no longer
    /// be read.
    pub(super) fn write(&self, row: u64, out: &mut Vec<u8>) {
        match &self.kept {
            KeptValues::Memory { bytes, ends } => {
                let end = |row: u64| ends.get(row as usize).map_or(bytes.len(), |it| *it as usize);
                let start = row.checked_sub(1).map_or(0, end);
                out.extend_from_slice(&bytes[start..end(row)]);
            }
            KeptValues::File { file, blocks, field } => {
                let block = (row / BLOCK) as usize;
                let Some(&[start, end]) = blocks.get(block..block + 2) else { return };
                ROOM.with_borrow_mut(|(bytes, record)| {
                    bytes.resize((end - start) as usize, 0);
                    if file.read_exact_at(bytes, start).is_err() {
                        return;
                    }
                    let mut reader = headless(bytes);
                    for _ in 0..=row % BLOCK {
                        if !reader.read_byte_record(record).is_ok_and(|there| there) {
                            return;
                        }
                    }
                    out.extend_from_slice(record.get(*field).unwrap_or_default());
                });
            }
        }
    }
}

fn headless(bytes: &[u8]) -> Reader<&[u8]> {
    ReaderBuilder::new().has_headers(false).buffer_capacity(1 << 12).from_reader(bytes)
}

thread_local! {
    /// A buffer for a block, and one for a row of it.
    static ROOM: RefCell<(Vec<u8>, ByteRecord)> = RefCell::default();
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write as _;

    fn file(text: &str) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        std::io::Seek::rewind(&mut file).unwrap();
        file
    }

    fn value(column: &ValueColumn, row: u64) -> String {
        let mut out = Vec::new();
        column.write(row, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn what_is_no_column_is_refused_in_words() {
        let refusal_of = |text: &str| ValueColumn::read(file(text), "city", 0).unwrap_err();
        assert!(refusal_of("").starts_with("no column \"city\""));
        let other = refusal_of("name,zip\na,1\n");
        assert_eq!(other, "no column \"city\" in its first line; give one of name, zip");
        assert_eq!(refusal_of("name, city\n"), "it has no rows below its first line");
        assert!(refusal_of("name,city\na\n").starts_with("not CSV: "));
        assert!(
            ValueColumn::open("/nowhere.csv", "city").unwrap_err().contains("cannot read /nowhere")
        );
        assert_eq!(ValueColumn::open("/dev/null", "city").unwrap_err(), "/dev/null is not a file");
    }

    proptest! {
        #[test]
        fn each_row_is_what_was_written_from_memory_and_from_the_file(
            values in proptest::collection::vec("[a-z\"\n, ä]{0,12}", 1..300),
        ) {
            let mut writer = csv::Writer::from_writer(Vec::new());
            writer.write_record(["n", "city"]).unwrap();
            for (place, value) in values.iter().enumerate() {
                writer.write_record([&place.to_string(), value]).unwrap();
            }
            let text = String::from_utf8(writer.into_inner().unwrap()).unwrap();
            for block in [0, BLOCK] {
                let column = ValueColumn::read(file(&text), "city", block).unwrap();
                prop_assert_eq!(column.rows(), values.len() as u64);
                for (row, wanted) in values.iter().enumerate() {
                    prop_assert_eq!(&value(&column, row as u64), wanted);
                }
            }
        }
    }
}
