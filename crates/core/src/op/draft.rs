//! A pen for tests that records what a workload wrote as text.

use super::{Fields, Pen, Token};

/// Names separated by zero bytes, and documents separated by commas, each preceded by its name and
/// the number of its token.
#[derive(Debug, Default)]
pub struct Draft {
    /// Names.
    pub name: Vec<u8>,
    /// Documents.
    pub body: Vec<u8>,
    /// Lines for people to read.
    pub line: Vec<u8>,
    /// Fields that the workload asked for.
    pub wanted: Vec<String>,
    /// The values of an operation that the plan defines, separated by zero bytes.
    pub values: Vec<u8>,
    /// Whether the document that is read will be looked at.
    pub looks: bool,
    /// The place in a list of requests.
    pub entry: usize,
    ignores: bool,
}

impl Draft {
    /// A pen that asks for neither documents nor lines.
    pub fn ignoring() -> Self {
        Self { ignores: true, ..Self::default() }
    }
}

impl Pen for Draft {
    fn clear(&mut self) {
        *self = Self::default();
    }

    fn name(&mut self) -> &mut Vec<u8> {
        if !self.name.is_empty() {
            self.name.push(0);
        }
        &mut self.name
    }

    fn document(&mut self, token: Option<Token>, fields: impl Fields) {
        if self.ignores {
            return;
        }
        if !self.body.is_empty() {
            self.body.push(b',');
        }
        let name = self.name.rsplit(|&byte| byte == 0).next().unwrap_or_default();
        let name = String::from_utf8_lossy(name);
        let first = match token {
            Some(Token { number: token, .. }) => format!("\"_id\":\"{name}\",\"token\":{token}"),
            None => format!("\"_id\":\"{name}\""),
        };
        fields.write(first.as_bytes(), &mut self.body);
    }

    fn changes(&mut self, fields: impl Fields) {
        if !self.ignores {
            fields.write(b"", &mut self.body);
        }
    }

    fn look(&mut self) {
        self.looks = true;
    }

    fn want(&mut self, field: &str) {
        self.wanted.push(field.to_owned());
    }

    fn entry(&mut self, place: usize) {
        self.entry = place;
    }

    fn value(&mut self, write: impl FnOnce(&mut Vec<u8>) -> bool) {
        write(&mut self.values);
        self.values.push(0);
    }

    fn line(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        if !self.ignores {
            write(&mut self.line);
        }
    }
}
