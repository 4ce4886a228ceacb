//! Rows that were read, as documents in JSON.

use super::cells::{Cell, Cells};
use crate::json::write_member;

/// The number of cells in a block; `None` if one belongs to another row or family, or is not a
/// cell.
pub(super) fn count(block: &[u8], row: &[u8], family: &[u8]) -> Option<u32> {
    let own = |cell: &Cell<'_>| cell.row == row && cell.family == family;
    Cells::of(block).try_fold(0, |count, cell| cell.filter(own).map(|_| count + 1))
}

/// Writes the row of a block's cells as a JSON object.
pub(super) fn document(block: &[u8], out: &mut Vec<u8>) {
    out.push(b'{');
    Cells::of(block).flatten().for_each(|cell| member(&cell, out));
    out.push(b'}');
}

/// Writes a column as a member of an object.
pub(super) fn member(cell: &Cell<'_>, out: &mut Vec<u8>) {
    // The cell of a document without members.
    if cell.qualifier.is_empty() && cell.value.is_empty() {
        return;
    }
    if out.last() != Some(&b'{') {
        out.push(b',');
    }
    write_member(&String::from_utf8_lossy(cell.qualifier), cell.value, out);
}

#[cfg(test)]
mod tests {
    use super::super::cells::write_put;
    use super::*;

    #[test]
    fn a_row_is_an_object_and_another_row_is_refused() {
        let mut block = Vec::new();
        write_put(b"r", b"cf", b"a", b"x\"y", &mut block);
        write_put(b"r", b"cf", b"", b"", &mut block);
        write_put(b"r", b"cf", b"b", b"\xff", &mut block);
        let read = |row: &[u8], family: &[u8]| {
            let mut out = Vec::new();
            document(&block, &mut out);
            Some((count(&block, row, family)?, String::from_utf8(out).unwrap()))
        };
        assert_eq!(read(b"r", b"cf"), Some((3, "{\"a\":\"x\\\"y\",\"b\":\"\u{fffd}\"}".into())));
        assert_eq!(read(b"s", b"cf"), None);
        assert_eq!(read(b"r", b"cg"), None);
    }
}
