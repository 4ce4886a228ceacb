//! Collects the parts of a request until its kind is known.

use crate::op::{Fields, Op, OpKind, Pen, Token};
use crate::values::{Pieces, Values};
use percent_encoding::{AsciiSet, CONTROLS, percent_encode};

/// Bytes that would end a name, or begin an encoded byte.
const ENCODED: &AsciiSet = &CONTROLS.add(b' ').add(b'%');

/// Names, documents, and the lines made from them.
#[derive(Debug, Default)]
pub struct LinePen {
    /// Separated by zero bytes.
    names: Vec<u8>,
    /// Separated by line breaks, which JSON without white space does not contain.
    documents: Vec<u8>,
    /// Whether the document is just the fields of an update.
    partial: bool,
    pub(super) lines: Vec<u8>,
    /// The values of an operation that the plan defines.
    pub(super) values: Values,
    scratch: Vec<u8>,
}

impl LinePen {
    /// Encodes an operation that the plan defines.
    pub(super) fn spell_own(&mut self, line: &Pieces) {
        line.join(&self.values, &mut self.scratch, &mut self.lines);
        self.lines.push(b'\n');
    }

    /// Encodes the request, once the operation is known.
    pub(super) fn spell(&mut self, op: &Op) {
        let verb: &[u8] = match op.kind {
            OpKind::BulkInsert | OpKind::Create => b"NEW ",
            OpKind::Update if self.partial => b"SET ",
            OpKind::Update => b"PUT ",
            OpKind::Delete => b"DEL ",
            _ => b"GET ",
        };
        let mut documents = self.documents.split(|&byte| byte == b'\n');
        for name in self.names.split(|&byte| byte == 0) {
            self.lines.extend_from_slice(verb);
            percent_encode(name, ENCODED)
                .for_each(|part| self.lines.extend_from_slice(part.as_bytes()));
            if let Some(document) = documents.next().filter(|text| !text.is_empty()) {
                self.lines.push(b' ');
                self.lines.extend_from_slice(document);
            }
            self.lines.push(b'\n');
        }
    }
}

impl Pen for LinePen {
    fn clear(&mut self) {
        self.names.clear();
        self.documents.clear();
        self.lines.clear();
        self.partial = false;
        self.values.clear();
    }

    fn value(&mut self, write: impl FnOnce(&mut Vec<u8>) -> bool) {
        self.values.push(write);
    }

    fn name(&mut self) -> &mut Vec<u8> {
        if !self.names.is_empty() {
            self.names.push(0);
        }
        &mut self.names
    }

    fn document(&mut self, _: Option<Token>, fields: impl Fields) {
        if !self.documents.is_empty() {
            self.documents.push(b'\n');
        }
        fields.write(b"", &mut self.documents);
    }

    fn changes(&mut self, fields: impl Fields) {
        self.partial = true;
        fields.write(b"", &mut self.documents);
    }
}
