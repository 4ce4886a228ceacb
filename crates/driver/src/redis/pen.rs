//! Names and documents of an operation, in the form in which commands use them.

use super::commands::write_text;
use super::shape::Shape;
use crate::kept::{KeptNames, Wanted};
use crate::op::{Fields, Pen, Token};
use crate::values::Values;

/// Writes records: hashes with their fields as words of a command, or texts.
#[derive(Debug, Default)]
pub struct RedisPen {
    shape: Shape,
    pub(super) names: KeptNames,
    /// All documents: hashes as words of a command, texts as JSON.
    text: Vec<u8>,
    /// Where each document ends, and how many words it has.
    documents: Vec<(usize, usize)>,
    /// The bytes of all documents.
    pub(super) bytes: u64,
    pub(super) wanted: Wanted,
    /// Whether an update has only some of the fields, rather than the whole document.
    pub(super) partial: bool,
    /// Whether the values that are read are used.
    pub(super) looks: bool,
    /// The values of an operation that the plan defines.
    pub(super) values: Values,
}

impl RedisPen {
    pub(super) fn new(shape: Shape) -> Self {
        Self { shape, ..Self::default() }
    }

    /// The document with this number: its bytes, and how many words these are.
    pub(super) fn written(&self, place: usize) -> (&[u8], usize) {
        let start = place.checked_sub(1).and_then(|before| self.documents.get(before));
        let start = start.map_or(0, |before| before.0);
        self.documents.get(place).map_or((&[], 0), |&(end, words)| (&self.text[start..end], words))
    }

    fn keep(&mut self, fields: impl Fields) {
        let Self { shape, text, documents, bytes, .. } = self;
        let (start, mut words) = (text.len(), 0);
        match shape {
            Shape::String => {
                fields.write(b"", text);
                *bytes += (text.len() - start) as u64;
            }
            Shape::Hash => fields.each(|name, value| {
                write_text(name.as_bytes(), text);
                write_text(value, text);
                *bytes += (name.len() + value.len()) as u64;
                words += 2;
            }),
        }
        documents.push((text.len(), words));
    }
}

impl Pen for RedisPen {
    fn clear(&mut self) {
        self.names.clear();
        self.text.clear();
        self.documents.clear();
        self.wanted.clear();
        self.bytes = 0;
        (self.partial, self.looks) = (false, false);
        self.values.clear();
    }

    fn name(&mut self) -> &mut Vec<u8> {
        self.names.begin()
    }

    fn document(&mut self, _: Option<Token>, fields: impl Fields) {
        self.keep(fields);
    }

    fn changes(&mut self, fields: impl Fields) {
        self.partial = true;
        self.keep(fields);
    }

    fn value(&mut self, write: impl FnOnce(&mut Vec<u8>) -> bool) {
        self.values.push(write);
    }

    fn look(&mut self) {
        self.looks = true;
    }

    fn want(&mut self, field: &str) {
        self.wanted.push(field);
    }
}
