//! The documents that a session saw last, so that an update need not read first.

use super::revision::Revision;
use std::collections::HashMap;

/// The limit for one session, in bytes of names and documents. At this size, a hundred sessions use
/// up to a gigabyte and a half.
const MOST: usize = 16 << 20;

/// Documents by name. When the limit is reached, all are dropped.
#[derive(Debug, Default)]
pub(super) struct Seen {
    documents: HashMap<Box<[u8]>, Vec<u8>>,
    bytes: usize,
}

impl Seen {
    /// The document with this name, as seen last.
    pub(super) fn get(&self, name: &[u8]) -> Option<&[u8]> {
        self.documents.get(name).map(Vec::as_slice)
    }

    pub(super) fn keep(&mut self, name: &[u8], document: &[u8]) {
        self.forget(name);
        let bytes = name.len() + document.len();
        if self.bytes + bytes > MOST {
            self.documents.clear();
            self.bytes = 0;
        }
        self.bytes += bytes;
        self.documents.insert(name.into(), document.to_vec());
    }

    /// Keeps a document that was written over revision `old` and now has revision `new`.
    pub(super) fn replace(&mut self, name: &[u8], document: &[u8], old: Revision, new: Revision) {
        let (mut from, mut to) = (b"\"_rev\":\"".to_vec(), b"\"_rev\":\"".to_vec());
        old.write(&mut from);
        new.write(&mut to);
        // Inside a string, quotes are escaped, so only the member itself matches.
        let Some(at) = memchr::memmem::find(document, &from) else { return self.forget(name) };
        let parts = [&document[..at], &to, &document[at + from.len()..]];
        self.keep(name, &parts.concat());
    }

    /// Drops a document that has changed since it was seen.
    pub(super) fn forget(&mut self, name: &[u8]) {
        if let Some((name, document)) = self.documents.remove_entry(name) {
            self.bytes -= name.len() + document.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "9-967a00dff5e02add41819138abb3284d";
    const NEW: &str = "10-a67a00dff5e02add41819138abb3284d";

    #[test]
    fn a_written_document_has_its_new_revision() {
        let revision = |text: &str| Revision::parse(text.as_bytes()).unwrap();
        let document = |rev| format!("{{\"_id\":\"a\",\"_rev\":\"{rev}\",\"b\":\"\\\"_rev\\\"\"}}");
        let mut seen = Seen::default();
        seen.replace(b"a", document(OLD).as_bytes(), revision(OLD), revision(NEW));
        assert_eq!(seen.get(b"a"), Some(document(NEW).as_bytes()));
        seen.replace(b"a", b"{}", revision(OLD), revision(NEW));
        assert_eq!(seen.get(b"a"), None);
        assert_eq!(seen.bytes, 0);
    }

    #[test]
    fn documents_are_kept_as_long_as_there_is_room_for_all() {
        let mut seen = Seen::default();
        for name in [b"a", b"b"] {
            seen.keep(name, b"{}");
        }
        assert!(seen.get(b"a").is_some() && seen.get(b"b").is_some());
        let half = vec![b'x'; MOST / 2 - 1];
        for name in [b"a", b"b"] {
            seen.forget(name);
        }
        for name in [b"c", b"d"] {
            seen.keep(name, &half);
        }
        assert_eq!(seen.bytes, MOST);
        assert!(seen.get(b"c").is_some() && seen.get(b"d").is_some());
        seen.keep(b"e", b"");
        assert!(seen.get(b"c").is_none() && seen.get(b"e").is_some());
    }

    #[test]
    fn memory_has_an_end() {
        let mut seen = Seen::default();
        for i in 0..40u8 {
            seen.keep(&[i], &vec![0; 1 << 20]);
            assert!(seen.bytes <= MOST);
        }
        assert!(seen.get(&[39]).is_some());
        assert_eq!(seen.get(&[0]), None);
    }
}
