//! How a request from a list is written: its entry, its target, its body.

use super::RequestText;
use crate::http1::Payload;
use crate::op::{Fields, Pen, Token};
use crate::values::Values;

/// One request.
#[derive(Debug, Default)]
pub struct HttpPen {
    /// Path and query.
    pub(super) target: Vec<u8>,
    /// The lines of its own headers.
    pub(super) headers: Vec<u8>,
    values: Values,
    scratch: Vec<u8>,
    pub(super) payload: Payload,
    /// The index of its entry in the list.
    pub(super) entry: usize,
}

impl HttpPen {
    /// Fills in the values. What the text lacks is in `path`, or was written by the workload.
    pub(super) fn join(&mut self, path: &str, text: &RequestText) {
        let Self { target, headers, values, scratch, payload, .. } = self;
        target.extend_from_slice(path.as_bytes());
        text.target.join(values, scratch, target);
        text.headers.join(values, scratch, headers);
        if !text.body.is_empty() {
            text.body.join(values, scratch, payload.body_mut());
        }
    }
}

impl Pen for HttpPen {
    fn clear(&mut self) {
        self.target.clear();
        self.headers.clear();
        self.values.clear();
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

    fn value(&mut self, write: impl FnOnce(&mut Vec<u8>) -> bool) {
        self.values.push(write);
    }

    fn entry(&mut self, place: usize) {
        self.entry = place;
    }
}
