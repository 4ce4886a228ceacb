//! Collects the parts of a request until its kind is known.

use super::frame::{MOST, put, put_count};
use crate::op::{Failure, Fields, Op, OpKind, Pen, Token};
use std::ops::Range;

/// Names, fields, and the frame made from them.
#[derive(Debug, Default)]
pub struct JavaPen {
    /// Names, one after the other, and where each begins.
    names: Vec<u8>,
    begins: Vec<usize>,
    /// The fields of each record, as in the frame: their number, names and values.
    fields: Vec<u8>,
    records: Vec<Range<usize>>,
    /// The bytes of names and values of fields.
    pub(super) bytes: u64,
    /// The names of wanted fields, as in the frame.
    wanted: Vec<u8>,
    wants: usize,
    /// Whether the values that are read are used.
    pub(super) looks: bool,
    /// The frame to send, preceded by its length.
    pub(super) frame: Vec<u8>,
    /// The reason why the frame is not sent.
    pub(super) refused: Option<Failure>,
}

impl JavaPen {
    /// Builds the frame, once the operation is known.
    pub(super) fn spell(&mut self, op: &Op) {
        let (kind, about) = match op.kind {
            OpKind::BulkInsert => (b'i', op.documents as usize),
            OpKind::Create => (b'i', 1),
            OpKind::Update => (b'u', 1),
            OpKind::Delete => (b'd', 1),
            OpKind::Scan => (b's', 1),
            _ => (b'r', 1),
        };
        // A second name marks the end of a range, which YCSB's bindings do not support.
        if self.begins.len() != about {
            self.refused = Some(Failure::Rejected);
            return;
        }
        let Self { frame, .. } = self;
        frame.extend_from_slice(&[0; 4]);
        frame.push(kind);
        put_count(about, frame);
        for (place, &begin) in self.begins.iter().enumerate() {
            let end = self.begins.get(place + 1).copied().unwrap_or(self.names.len());
            put(&self.names[begin..end], frame);
            put_count(op.limit as usize, frame);
            if let Some(fields) = self.records.get(place) {
                frame.extend_from_slice(&self.fields[fields.clone()]);
            } else {
                put_count(self.wants, frame);
                frame.extend_from_slice(&self.wanted);
            }
        }
        let length = frame.len() - 4;
        frame[..4].copy_from_slice(&(length as u32).to_be_bytes());
        self.refused = (length > MOST).then_some(Failure::TooLarge);
    }

    fn record(&mut self, fields: impl Fields) {
        let Self { fields: out, bytes, .. } = self;
        let begin = out.len();
        put_count(0, out);
        let mut count = 0;
        fields.each(|name, value| {
            count += 1;
            *bytes += (name.len() + value.len()) as u64;
            put(name.as_bytes(), out);
            put(value, out);
        });
        out[begin..begin + 4].copy_from_slice(&u32::to_be_bytes(count));
        self.records.push(begin..self.fields.len());
    }
}

impl Pen for JavaPen {
    fn clear(&mut self) {
        self.names.clear();
        self.begins.clear();
        self.fields.clear();
        self.records.clear();
        self.bytes = 0;
        self.wanted.clear();
        self.wants = 0;
        self.looks = false;
        self.frame.clear();
        self.refused = None;
    }

    fn name(&mut self) -> &mut Vec<u8> {
        self.begins.push(self.names.len());
        &mut self.names
    }

    fn document(&mut self, _: Option<Token>, fields: impl Fields) {
        self.record(fields);
    }

    fn changes(&mut self, fields: impl Fields) {
        self.record(fields);
    }

    fn look(&mut self) {
        self.looks = true;
    }

    fn want(&mut self, field: &str) {
        self.wants += 1;
        put(field.as_bytes(), &mut self.wanted);
        put(b"", &mut self.wanted);
    }
}
