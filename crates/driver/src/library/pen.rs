//! Keeps the names and documents of a request until its client encodes them.

use crate::kept::{KeptNames, Wanted};
use crate::op::{Fields, Pen, Token};
use crate::values::Values;
use std::ops::Range;

/// How documents are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// As the names of fields and the text of their values.
    #[default]
    Fields,
    /// As JSON.
    Json,
}

/// The names, the documents and the wanted fields of one request, in buffers that are reused.
#[derive(Debug, Default)]
pub struct LibraryPen {
    form: Form,
    names: KeptNames,
    text: Vec<u8>,
    /// The fields of all documents.
    fields: Vec<(Range<usize>, Range<usize>)>,
    /// Where the text and the fields of each document begin.
    documents: Vec<(usize, usize)>,
    wanted: Wanted,
    partial: bool,
    looks: bool,
    values: Values,
}

impl LibraryPen {
    /// A pen that keeps documents in this form.
    pub fn new(form: Form) -> Self {
        Self { form, ..Self::default() }
    }

    /// The names, in the order in which they were written.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.names.iter()
    }

    /// The values of an operation that the plan defines.
    pub const fn values(&self) -> &Values {
        &self.values
    }

    /// The first name.
    pub fn first_name(&self) -> &[u8] {
        self.names.first()
    }

    /// The fields of document number `place`: their names, and their values as text. Empty if
    /// documents are kept as JSON.
    pub fn fields(&self, place: usize) -> impl ExactSizeIterator<Item = (&str, &[u8])> {
        let from = self.documents.get(place).map_or(self.fields.len(), |it| it.1);
        let to = self.documents.get(place + 1).map_or(self.fields.len(), |it| it.1);
        self.fields[from..to].iter().map(|(name, value)| {
            let name = std::str::from_utf8(&self.text[name.clone()]).unwrap_or_default();
            (name, &self.text[value.clone()])
        })
    }

    /// Document number `place` as JSON; empty if documents are kept as fields.
    pub fn json(&self, place: usize) -> &[u8] {
        if self.form != Form::Json {
            return &[];
        }
        let from = self.documents.get(place).map_or(self.text.len(), |it| it.0);
        let to = self.documents.get(place + 1).map_or(self.text.len(), |it| it.0);
        &self.text[from..to]
    }

    /// The fields that a read is to return; all if empty.
    pub fn wanted(&self) -> &[String] {
        self.wanted.all()
    }

    /// Whether an update contains only some of the fields, rather than the whole document.
    pub const fn is_partial(&self) -> bool {
        self.partial
    }

    /// Whether the values that are read are used.
    pub const fn looks(&self) -> bool {
        self.looks
    }

    /// The bytes of all documents.
    pub const fn bytes(&self) -> u64 {
        self.text.len() as u64
    }

    fn keep(&mut self, fields: impl Fields) {
        self.documents.push((self.text.len(), self.fields.len()));
        let Self { form, text, fields: kept, .. } = self;
        match form {
            Form::Json => fields.write(b"", text),
            Form::Fields => fields.each(|name, value| {
                let start = text.len();
                text.extend_from_slice(name.as_bytes());
                let middle = text.len();
                text.extend_from_slice(value);
                kept.push((start..middle, middle..text.len()));
            }),
        }
    }
}

impl Pen for LibraryPen {
    fn clear(&mut self) {
        self.names.clear();
        self.text.clear();
        self.fields.clear();
        self.documents.clear();
        self.wanted.clear();
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
