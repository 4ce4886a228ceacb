//! Rows and cells, encoded as a workload writes them.

use super::cells::{MOST_ROW, write_put};
use crate::op::{Fields, Pen, Token};
use crate::values::Values;
use prost::bytes::Bytes;
use std::rc::Rc;

/// Writes rows: each field of a document becomes a column of one family.
#[derive(Debug)]
pub struct HBasePen {
    family: Rc<[u8]>,
    /// All names, one after the other, and where each ends.
    names: Vec<u8>,
    ends: Vec<usize>,
    /// The cells of all documents, and for each document how many there are and where they end.
    cells: Vec<u8>,
    documents: Vec<(u32, usize)>,
    /// The columns to read; empty means all.
    pub(super) wanted: Vec<Bytes>,
    /// Whether the document that is read will be looked at.
    pub(super) looks: bool,
    /// The values of an operation that the plan defines.
    pub(super) values: Values,
}

impl HBasePen {
    pub(super) fn new(family: Rc<[u8]>) -> Self {
        let (names, ends, cells, documents) = Default::default();
        let values = Values::default();
        Self { family, names, ends, cells, documents, wanted: Vec::new(), looks: false, values }
    }

    /// The name with this number, if there is one.
    pub(super) fn row(&self, place: usize) -> Option<&[u8]> {
        let start = place.checked_sub(1).map_or(0, |before| self.end(before));
        (place <= self.ends.len()).then(|| &self.names[start..self.end(place)])
    }

    /// Where a name ends; the last one has no end yet.
    fn end(&self, place: usize) -> usize {
        self.ends.get(place).copied().unwrap_or(self.names.len())
    }

    /// The cells of the document with this number, and how many there are.
    pub(super) fn document(&self, place: usize) -> (&[u8], u32) {
        let start = place.checked_sub(1).map_or(0, |before| self.documents[before].1);
        self.documents.get(place).map_or((&[], 0), |&(count, end)| (&self.cells[start..end], count))
    }

    /// Whether HBase allows every row.
    pub(super) fn is_valid(&self) -> bool {
        (0..=self.ends.len())
            .all(|place| self.row(place).is_some_and(|row| (1..=MOST_ROW).contains(&row.len())))
    }

    fn put(&mut self, fields: impl Fields) {
        let start = self.ends.last().copied().unwrap_or_default();
        let (row, family, cells) = (&self.names[start..], &*self.family, &mut self.cells);
        let mut count = 0;
        if row.len() <= MOST_ROW {
            fields.each(|name, value| {
                write_put(row, family, name.as_bytes(), value, cells);
                count += 1;
            });
            if count == 0 {
                // HBase cannot store a row without cells.
                write_put(row, family, b"", b"", cells);
                count = 1;
            }
        }
        self.documents.push((count, self.cells.len()));
    }
}

impl Pen for HBasePen {
    fn clear(&mut self) {
        self.names.clear();
        self.ends.clear();
        self.cells.clear();
        self.documents.clear();
        self.wanted.clear();
        self.looks = false;
        self.values.clear();
    }

    fn value(&mut self, write: impl FnOnce(&mut Vec<u8>) -> bool) {
        self.values.push(write);
    }

    fn name(&mut self) -> &mut Vec<u8> {
        if !self.names.is_empty() {
            self.ends.push(self.names.len());
        }
        &mut self.names
    }

    fn document(&mut self, _: Option<Token>, fields: impl Fields) {
        self.put(fields);
    }

    fn changes(&mut self, fields: impl Fields) {
        self.put(fields);
    }

    fn look(&mut self) {
        self.looks = true;
    }

    fn want(&mut self, field: &str) {
        self.wanted.push(Bytes::copy_from_slice(field.as_bytes()));
    }
}

#[cfg(test)]
mod tests {
    use super::super::cells::Cells;
    use super::*;

    struct Json(&'static str);

    impl Fields for Json {
        fn write(self, _: &[u8], out: &mut Vec<u8>) {
            out.extend_from_slice(self.0.as_bytes());
        }
    }

    fn cells(pen: &HBasePen, place: usize) -> Vec<(String, String, String)> {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let (block, count) = pen.document(place);
        let cells: Vec<_> = Cells::of(block).map(Option::unwrap).collect();
        assert_eq!(cells.len(), count as usize);
        assert!(cells.iter().all(|cell| cell.family == b"cf"));
        cells.iter().map(|it| (text(it.row), text(it.qualifier), text(it.value))).collect()
    }

    #[test]
    fn each_document_has_its_row_and_a_column_for_each_field() {
        let mut pen = HBasePen::new((*b"cf").into());
        let row = |row: &str, name: &str, value: &str| (row.into(), name.into(), value.into());
        for _ in 0..2 {
            pen.name().extend_from_slice(b"one");
            Pen::document(&mut pen, None, Json(r#"{"a":"x","b":[1,2]}"#));
            pen.name().extend_from_slice(b"two");
            Pen::document(&mut pen, None, Json("{}"));
            assert!(pen.is_valid());
            assert_eq!((pen.row(0), pen.row(1)), (Some(&b"one"[..]), Some(&b"two"[..])));
            assert_eq!(pen.row(2), None);
            assert_eq!(cells(&pen, 0), [row("one", "a", "x"), row("one", "b", "[1,2]")]);
            assert_eq!(cells(&pen, 1), [row("two", "", "")]);
            pen.clear();
        }
    }

    #[test]
    fn rows_that_hbase_cannot_have_are_not_written() {
        let mut pen = HBasePen::new((*b"cf").into());
        assert!(!pen.is_valid());
        pen.name().extend_from_slice(&vec![b'x'; MOST_ROW]);
        assert!(pen.is_valid());
        pen.name().extend_from_slice(&vec![b'x'; MOST_ROW + 1]);
        pen.changes(Json(r#"{"a":1}"#));
        assert!(!pen.is_valid());
    }
}
