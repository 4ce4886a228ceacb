//! How records are kept, and the commands that store and read them.

use super::answer::Value;
use super::commands::Commands;
use super::hash::java_hash;
use super::pen::RedisPen;
use super::shape::Shape;
use crate::json::write_member;
use crate::op::{Op, OpKind};
use serde_json::{Map, Value as Json};

#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub(super) shape: Shape,
    pub(super) prefix: String,
    /// The sorted set of all keys, if there is one.
    pub(super) index: Option<String>,
}

impl Layout {
    /// Writes the commands of a built-in operation; for a scan, and for an update that reads first,
    /// those of its first step.
    pub(super) fn spell(&self, op: &Op, pen: &RedisPen, commands: &mut Commands) {
        let name = pen.names.first();
        match op.kind {
            OpKind::BulkInsert | OpKind::Create => self.store(pen, commands, true),
            OpKind::Update if self.reads_first(pen) => self.fetch(name, &[], commands),
            OpKind::Update => self.store(pen, commands, false),
            OpKind::Delete => {
                commands.begin("DEL", 2).key(&self.prefix, name);
                if let Some(index) = &self.index {
                    let mut command = commands.begin("ZREM", 3);
                    command.key(index, b"");
                    command.word(name);
                }
            }
            OpKind::Scan => {
                let mut command = commands.begin("ZRANGEBYSCORE", 7);
                command.key(self.index.as_deref().unwrap_or_default(), b"");
                command.word(java_hash(name).to_string().as_bytes());
                for word in ["+inf", "LIMIT", "0"] {
                    command.word(word.as_bytes());
                }
                command.word(op.limit.to_string().as_bytes());
            }
            _ => self.fetch(name, pen.wanted.all(), commands),
        }
    }

    /// Whether an update has to read the rest of the record first.
    pub(super) fn reads_first(&self, pen: &RedisPen) -> bool {
        self.shape == Shape::String && pen.partial
    }

    /// Writes the commands that store documents, and those for their places in the index.
    fn store(&self, pen: &RedisPen, commands: &mut Commands, new: bool) {
        for (place, name) in pen.names.iter().enumerate() {
            let (text, words) = pen.written(place);
            match self.shape {
                Shape::Hash => {
                    let mut command = commands.begin("HSET", 2 + words);
                    command.key(&self.prefix, name);
                    command.written(text);
                }
                Shape::String => self.set(name, text, commands),
            }
        }
        let Some(index) = self.index.as_ref().filter(|_| new) else { return };
        let mut command = commands.begin("ZADD", 2 + 2 * pen.names.iter().len());
        command.key(index, b"");
        for name in pen.names.iter() {
            command.word(java_hash(name).to_string().as_bytes());
            command.word(name);
        }
    }

    fn set(&self, name: &[u8], text: &[u8], commands: &mut Commands) {
        let mut command = commands.begin("SET", 3);
        command.key(&self.prefix, name);
        command.word(text);
    }

    /// Writes the command that stores the record `read` with the changes of an update.
    pub(super) fn merge(&self, read: &[u8], pen: &RedisPen, commands: &mut Commands) {
        let members = |text: &[u8]| serde_json::from_slice::<Map<String, Json>>(text);
        let mut all = members(read).unwrap_or_default();
        all.extend(members(pen.written(0).0).unwrap_or_default());
        self.set(pen.names.first(), Json::Object(all).to_string().as_bytes(), commands);
    }

    /// Writes the command that reads these fields of a record, or all of them.
    pub(super) fn fetch(&self, name: &[u8], wanted: &[String], commands: &mut Commands) {
        if self.shape == Shape::String {
            return commands.begin("GET", 2).key(&self.prefix, name);
        }
        let command = if wanted.is_empty() { "HGETALL" } else { "HMGET" };
        let mut command = commands.begin(command, 2 + wanted.len());
        command.key(&self.prefix, name);
        for field in wanted {
            command.word(field.as_bytes());
        }
    }

    /// The number of bytes of the fields or the text in an answer; `None` if there is no such
    /// record. A hash is never empty.
    pub(super) fn weight(&self, answer: Value<'_>, wanted: &[String]) -> Option<u64> {
        let Shape::Hash = self.shape else {
            return answer.text().map(|text| text.len() as u64);
        };
        let mut weight = None;
        members(answer, wanted, |name, value| {
            *weight.get_or_insert(0) += (name.len() + value.len()) as u64;
        });
        weight
    }

    /// The record in an answer as a JSON object.
    pub(super) fn document(&self, answer: Value<'_>, wanted: &[String], out: &mut Vec<u8>) {
        let Shape::Hash = self.shape else {
            return out.extend_from_slice(answer.text().unwrap_or_default());
        };
        out.push(b'{');
        let start = out.len();
        members(answer, wanted, |name, value| {
            if out.len() > start {
                out.push(b',');
            }
            write_member(&String::from_utf8_lossy(name), value, out);
        });
        out.push(b'}');
    }
}

/// Passes on the members of a hash, except fields that it does not have.
fn members(answer: Value<'_>, wanted: &[String], mut member: impl FnMut(&[u8], &[u8])) {
    let mut values = answer.list();
    if wanted.is_empty() || answer.has_pairs() {
        while let (Some(name), Some(value)) = (values.next(), values.next()) {
            if let (Some(name), Some(value)) = (name.text(), value.text()) {
                member(name, value);
            }
        }
        return;
    }
    for (name, value) in wanted.iter().zip(values) {
        if let Some(value) = value.text() {
            member(name.as_bytes(), value);
        }
    }
}
