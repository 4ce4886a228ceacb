//! How documents are written for CouchDB: JSON that includes the identifier and the revision.

use super::revision::Revision;
use crate::http1::Payload;
use crate::op::{Fields, Pen, Token};
use crate::values::Values;
use serde_json::Value;

/// The names and the body of one request.
#[derive(Debug, Default)]
pub struct CouchPen {
    /// Identifiers, separated by zero bytes.
    names: Vec<u8>,
    /// Where the last identifier begins.
    last: usize,
    pub(super) payload: Payload,
    /// The members at the beginning of the document.
    members: Vec<u8>,
    /// The values of an operation that the plan defines.
    pub(super) values: Values,
    /// Whether the returned documents will be looked at.
    pub(super) looks: bool,
    /// Buffers for the head of such an operation, and for its values.
    pub(super) head: Vec<u8>,
    pub(super) scratch: Vec<u8>,
}

impl CouchPen {
    /// The documents, separated by commas.
    pub fn body(&self) -> &[u8] {
        self.payload.body()
    }

    /// Writes a request for all documents that were named.
    pub(super) fn ask_for_several(&mut self) {
        super::several::write(&self.names, self.payload.body_mut());
    }

    /// Begins a request for one document of this name, still empty.
    pub(super) fn begin(&mut self, name: &[u8]) {
        self.clear();
        self.names.extend_from_slice(name);
    }
}

impl Pen for CouchPen {
    #[inline]
    fn clear(&mut self) {
        self.names.clear();
        self.last = 0;
        self.payload.clear();
        self.values.clear();
        self.looks = false;
    }

    #[inline]
    fn name(&mut self) -> &mut Vec<u8> {
        if !self.names.is_empty() {
            self.names.push(0);
            self.last = self.names.len();
        }
        &mut self.names
    }

    #[inline]
    fn look(&mut self) {
        self.looks = true;
    }

    #[inline]
    fn names(&self) -> &[u8] {
        &self.names
    }

    #[inline]
    fn document(&mut self, token: Option<Token>, fields: impl Fields) {
        if !self.payload.is_empty() {
            self.payload.body_mut().push(b',');
        }
        self.members.clear();
        self.members.extend_from_slice(b"\"_id\":\"");
        escape(&self.names[self.last..], &mut self.members);
        self.members.push(b'"');
        if let Some(token) = token {
            self.members.extend_from_slice(b",\"_rev\":\"");
            Revision::from(token).write(&mut self.members);
            self.members.push(b'"');
        }
        fields.write(&self.members, self.payload.body_mut());
    }

    fn value(&mut self, write: impl FnOnce(&mut Vec<u8>) -> bool) {
        self.values.push(write);
    }

    #[inline]
    fn changes(&mut self, fields: impl Fields) {
        fields.write(b"", self.payload.body_mut());
    }
}

/// Appends `name` escaped for a JSON string.
#[inline]
fn escape(name: &[u8], out: &mut Vec<u8>) {
    if name.iter().fold(false, |any, &byte| any | ESCAPED[usize::from(byte)]) {
        escape_with_care(name, out);
    } else {
        out.extend_from_slice(name);
    }
}

#[cold]
fn escape_with_care(name: &[u8], out: &mut Vec<u8>) {
    let quoted = Value::from(String::from_utf8_lossy(name)).to_string();
    out.extend_from_slice(&quoted.as_bytes()[1..quoted.len() - 1]);
}

/// Bytes that must be escaped in a JSON string, or may be invalid UTF-8.
const ESCAPED: [bool; 256] = {
    let (mut table, mut byte) = ([true; 256], b' ');
    while byte <= b'~' {
        table[byte as usize] = matches!(byte, b'"' | b'\\');
        byte += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    struct Text(&'static str);

    impl Fields for Text {
        fn write(self, first: &[u8], out: &mut Vec<u8>) {
            out.push(b'{');
            out.extend_from_slice(first);
            out.extend_from_slice(self.0.as_bytes());
            out.push(b'}');
        }
    }

    #[test]
    fn documents_have_their_names_and_revisions_and_commas_between_them() {
        let mut pen = CouchPen::default();
        for _ in 0..2 {
            pen.clear();
            pen.name().extend_from_slice(b"a");
            pen.document(None, Text(",\"x\":1"));
            pen.name().extend_from_slice("\"\\ü\n".as_bytes());
            let revision = Revision { generation: 7, hash: [0xab; 16] };
            pen.document(Some(revision.into()), Text(""));
            assert_eq!(pen.names(), "a\0\"\\ü\n".as_bytes());
            let body = format!("[{}]", String::from_utf8_lossy(pen.body()));
            let wanted = serde_json::json!([
                {"_id": "a", "x": 1},
                {"_id": "\"\\ü\n", "_rev": format!("7-{}", "ab".repeat(16))}
            ]);
            assert_eq!(serde_json::from_str::<Value>(&body).unwrap(), wanted);
        }
    }

    #[test]
    fn a_name_is_escaped_however_many_of_its_characters_must_be() {
        for name in ["a", "\"", "\"\"", "\\\\", "ü", "\n\n"] {
            let mut pen = CouchPen::default();
            pen.name().extend_from_slice(name.as_bytes());
            pen.document(None, Text(""));
            let wanted = serde_json::json!({ "_id": name }).to_string();
            assert_eq!(String::from_utf8_lossy(pen.body()), wanted);
        }
    }

    #[test]
    fn changes_have_neither_a_name_nor_a_revision() {
        let mut pen = CouchPen::default();
        pen.name().push(b'a');
        pen.changes(Text("\"x\":1"));
        assert_eq!((pen.names(), pen.body()), (&b"a"[..], &b"{\"x\":1}"[..]));
    }
}
