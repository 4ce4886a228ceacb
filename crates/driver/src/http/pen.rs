//! How a request from a list is written: its entry, its target, its body.

use crate::http1::Payload;
use crate::op::{Fields, Pen, Token};

/// One request.
#[derive(Debug, Default)]
pub struct HttpPen {
    /// Path and query.
    pub(super) target: Vec<u8>,
    pub(super) payload: Payload,
    /// The index of its entry in the list.
    pub(super) entry: usize,
}

impl Pen for HttpPen {
    fn clear(&mut self) {
        self.target.clear();
        self.payload.clear();
    }

    fn name(&mut self) -> &mut Vec<u8> {
        &mut self.target
    }

    fn document(&mut self, _: Option<Token>, fields: impl Fields) {
        fields.write(b"", self.payload.body_mut());
    }

    fn changes(&mut self, fields: impl Fields) {
        fields.write(b"", self.payload.body_mut());
    }

    fn entry(&mut self, place: usize) {
        self.entry = place;
    }
}
