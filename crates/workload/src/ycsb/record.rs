//! One record: its key, the text of its fields, and the comparison of a read with the write
//! before. Does not know which record is requested when.

use super::config::{CoreConfig, FieldsSpec};
use super::keys::KeyNames;
use super::lengths::Lengths;
use super::values::{integrity_text, random_json, random_text};
use crate::Original;
use crate::generate::Stream;
use crate::op::{Fields, Key};
use serde_json::{Map, Value};
use std::ops::Range;

/// How records are written; the same for all connections.
#[derive(Debug)]
pub(super) struct Records {
    keys: KeyNames,
    fields: FieldsSpec,
    lengths: Lengths,
    names: Vec<String>,
    /// Each name as a JSON string, followed by a colon.
    members: Vec<Vec<u8>>,
}

impl Records {
    pub(super) fn new(config: &CoreConfig) -> Self {
        let fields = config.fields.clone();
        let names: Vec<String> =
            (0..fields.count).map(|i| format!("{}{i}", fields.prefix)).collect();
        let member = |name: &String| format!("{}:", Value::from(name.as_str())).into_bytes();
        let members = names.iter().map(member).collect();
        let lengths = Lengths::new(&fields.length);
        Self { keys: config.keys.clone(), fields, lengths, names, members }
    }

    pub(super) const fn spec(&self) -> &FieldsSpec {
        &self.fields
    }

    pub(super) const fn all(&self) -> Range<usize> {
        0..self.names.len()
    }

    #[inline]
    pub(super) fn key(&self, number: u64, out: &mut Vec<u8>) {
        self.keys.write(number, out);
    }

    pub(super) fn names(&self, which: Range<usize>) -> impl Iterator<Item = &str> {
        self.names[which].iter().map(String::as_str)
    }

    fn text(&self, key: &[u8], field: usize, stream: &mut Stream, out: &mut Vec<u8>) {
        if self.fields.integrity {
            self.integrity(key, field, out);
        } else {
            random_text(self.lengths.draw(stream) as usize, stream, out);
        }
    }

    /// Appends these fields as `BasicDB` prints them: `field0=text field1=text `.
    pub(super) fn shown(
        &self,
        key: &[u8],
        which: Range<usize>,
        stream: &mut Stream,
        out: &mut Vec<u8>,
    ) {
        for field in which {
            out.extend_from_slice(self.names[field].as_bytes());
            out.push(b'=');
            self.text(key, field, stream, out);
            out.push(b' ');
        }
    }

    /// Appends the names of these fields as `BasicDB` prints them.
    pub(super) fn shown_names(&self, which: Range<usize>, out: &mut Vec<u8>) {
        for name in &self.names[which] {
            out.extend_from_slice(name.as_bytes());
            out.push(b' ');
        }
    }

    /// Whether these fields of `body`, a stored document, have the text computed from the key.
    pub(super) fn holds(&self, key: &[u8], which: Range<usize>, body: &[u8]) -> bool {
        let Ok(members) = serde_json::from_slice::<Map<String, Value>>(body) else { return false };
        let mut text = Vec::new();
        which.into_iter().all(|field| {
            text.clear();
            self.integrity(key, field, &mut text);
            let found = members.get(&self.names[field]).and_then(Value::as_str);
            found.is_some_and(|found| found.as_bytes() == text)
        })
    }

    fn integrity(&self, key: &[u8], field: usize, out: &mut Vec<u8>) {
        // The length is constant, which was checked together with the integrity property.
        let Lengths::Constant(length) = self.lengths else { return };
        let key = String::from_utf8_lossy(key);
        integrity_text(&key, &self.names[field], length as usize, out);
    }
}

/// Compares stored records with what was written. The texts of fields are only known if they are
/// computed from the key; otherwise the record must have all fields, whatever their content.
#[derive(Debug)]
pub(super) struct RecordOriginal {
    records: Records,
}

impl RecordOriginal {
    pub(super) fn new(config: &CoreConfig) -> Self {
        Self { records: Records::new(config) }
    }
}

impl Original for RecordOriginal {
    fn write_id(&self, key: Key, out: &mut Vec<u8>) {
        self.records.key(key, out);
    }

    fn holds(&mut self, number: Key, _: u32, document: &[u8]) -> bool {
        let mut key = Vec::new();
        self.records.key(number, &mut key);
        if self.records.fields.integrity {
            return self.records.holds(&key, self.records.all(), document);
        }
        let members = serde_json::from_slice::<Map<String, Value>>(document).unwrap_or_default();
        self.records.names.iter().all(|name| members.contains_key(name))
    }

    fn difference(&mut self, _: Key, _: u32, _: &[u8]) -> String {
        "other fields".to_owned()
    }
}

/// These fields of the record with this key.
pub(super) struct Record<'a> {
    pub(super) records: &'a Records,
    pub(super) key: &'a [u8],
    pub(super) which: Range<usize>,
    /// The stream that texts are drawn from.
    pub(super) stream: &'a mut Stream,
}

impl Fields for Record<'_> {
    fn write(self, first: &[u8], out: &mut Vec<u8>) {
        let Self { records, key, which, stream } = self;
        out.push(b'{');
        out.extend_from_slice(first);
        for field in which {
            if out.last() != Some(&b'{') {
                out.push(b',');
            }
            out.extend_from_slice(&records.members[field]);
            if records.fields.integrity {
                let mut text = Vec::new();
                records.integrity(key, field, &mut text);
                quote(&String::from_utf8_lossy(&text), out);
            } else {
                out.push(b'"');
                random_json(records.lengths.draw(stream) as usize, stream, out);
                out.push(b'"');
            }
        }
        out.push(b'}');
    }

    fn each(self, mut field: impl FnMut(&str, &[u8])) {
        let Self { records, key, which, stream } = self;
        let mut text = Vec::new();
        for place in which {
            text.clear();
            records.text(key, place, stream, &mut text);
            field(&records.names[place], &text);
        }
    }
}

fn quote(text: &str, out: &mut Vec<u8>) {
    if text.bytes().all(|byte| byte >= b' ' && !matches!(byte, b'"' | b'\\')) {
        out.push(b'"');
        out.extend_from_slice(text.as_bytes());
        out.push(b'"');
    } else {
        out.extend_from_slice(Value::from(text).to_string().as_bytes());
    }
}
