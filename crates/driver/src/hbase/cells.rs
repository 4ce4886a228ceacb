//! Cell blocks: cells one after the other after a message, as HBase's `KeyValueCodec` writes them.
//!
//! Each cell consists of its length (4 bytes), then, with all numbers big-endian: length of the key
//! (4), length of the value (4), length of the row (2), row, length of the family (1), family,
//! qualifier, timestamp (8), type (1), value.

/// The Java class for this encoding, named in the connection header.
pub(super) const CODEC: &str = "org.apache.hadoop.hbase.codec.KeyValueCodec";

/// "Now", by the server's clock.
const LATEST: u64 = i64::MAX as u64;
/// The type of a cell that stores a value.
const PUT: u8 = 4;
/// The fixed part of a key: lengths of row and family, timestamp and type.
const KEY_FIXED: usize = 2 + 1 + 8 + 1;
/// The longest row that HBase allows.
pub(super) const MOST_ROW: usize = i16::MAX as usize;

/// Appends the cell that stores `value`. `row` has at most 32,767 bytes, `family` 127.
pub fn write_put(row: &[u8], family: &[u8], qualifier: &[u8], value: &[u8], out: &mut Vec<u8>) {
    let key = KEY_FIXED + row.len() + family.len() + qualifier.len();
    let length = 8 + key + value.len();
    out.reserve(4 + length);
    out.extend_from_slice(&(length as u32).to_be_bytes());
    out.extend_from_slice(&(key as u32).to_be_bytes());
    out.extend_from_slice(&(value.len() as u32).to_be_bytes());
    out.extend_from_slice(&(row.len() as u16).to_be_bytes());
    out.extend_from_slice(row);
    out.push(family.len() as u8);
    out.extend_from_slice(family);
    out.extend_from_slice(qualifier);
    out.extend_from_slice(&LATEST.to_be_bytes());
    out.push(PUT);
    out.extend_from_slice(value);
}

/// A cell in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell<'a> {
    /// Its row.
    pub row: &'a [u8],
    /// The column family.
    pub family: &'a [u8],
    /// The name of the column within its family.
    pub qualifier: &'a [u8],
    /// The stored value.
    pub value: &'a [u8],
}

/// The cells of a block. Yields an inner `None` if the rest does not begin with a cell.
#[derive(Clone, Debug)]
pub struct Cells<'a> {
    rest: &'a [u8],
}

impl<'a> Cells<'a> {
    /// The cells of this block.
    pub const fn of(block: &'a [u8]) -> Self {
        Self { rest: block }
    }

    fn read(&mut self) -> Option<Cell<'a>> {
        let length = number(take(&mut self.rest, 4)?);
        let mut cell = take(&mut self.rest, length)?;
        let key = number(take(&mut cell, 4)?);
        let value = number(take(&mut cell, 4)?);
        let mut key = take(&mut cell, key)?;
        // Tags, if there are any, follow the value.
        let value = take(&mut cell, value)?;
        let row = number(take(&mut key, 2)?);
        let row = take(&mut key, row)?;
        let family = number(take(&mut key, 1)?);
        let family = take(&mut key, family)?;
        // Timestamp and type follow.
        let qualifier = key.get(..key.len().checked_sub(8 + 1)?)?;
        Some(Cell { row, family, qualifier, value })
    }
}

impl<'a> Iterator for Cells<'a> {
    type Item = Option<Cell<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let cell = self.read();
        if cell.is_none() {
            self.rest = &[];
        }
        Some(cell)
    }
}

fn take<'a>(from: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (taken, rest) = from.split_at_checked(count)?;
    *from = rest;
    Some(taken)
}

fn number(bytes: &[u8]) -> usize {
    bytes.iter().fold(0, |number, &byte| number << 8 | usize::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_cell_is_what_hbase_writes() {
        // `KeyValue("r", "f", "q", LATEST_TIMESTAMP, Put, "v")`, as written by the encoder of HBase
        // 2.6.1.
        let expected =
            *b"\0\0\0\x18\0\0\0\x0f\0\0\0\x01\0\x01r\x01fq\x7f\xff\xff\xff\xff\xff\xff\xff\x04v";
        let mut out = Vec::new();
        write_put(b"r", b"f", b"q", b"v", &mut out);
        assert_eq!(out, expected);
    }

    proptest! {
        #[test]
        fn cells_are_read_as_they_were_written(
            cells in proptest::collection::vec(
                (any::<Vec<u8>>(), "[a-z]{1,9}", any::<Vec<u8>>(), any::<Vec<u8>>()), 0..5)
        ) {
            let mut out = Vec::new();
            for (row, family, qualifier, value) in &cells {
                write_put(row, family.as_bytes(), qualifier, value, &mut out);
            }
            let read: Option<Vec<_>> = Cells::of(&out).collect();
            let read = read.unwrap();
            prop_assert_eq!(read.len(), cells.len());
            for (cell, (row, family, qualifier, value)) in read.iter().zip(&cells) {
                let family = family.as_bytes();
                prop_assert_eq!(*cell, Cell { row, family, qualifier, value });
            }
        }

        #[test]
        fn any_bytes_are_cells_or_refused(bytes: Vec<u8>) {
            let cells: Vec<_> = Cells::of(&bytes).collect();
            prop_assert!(cells.iter().rev().skip(1).all(Option::is_some));
        }

        #[test]
        fn a_block_that_was_cut_is_refused(cut in 1usize..27) {
            let mut out = Vec::new();
            write_put(b"r", b"f", b"q", b"v", &mut out);
            out.truncate(out.len() - cut);
            let read: Vec<_> = Cells::of(&out).collect();
            prop_assert_eq!(read, vec![None]);
        }
    }
}
