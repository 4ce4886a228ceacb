//! What a workload wrote, generated again from key and version and compared with what is found.

use super::same;
use crate::op::Key;
use crate::schema::Documents;
use std::fmt::Debug;
use std::sync::Arc;

/// How many versions before the known one a document is compared with, to distinguish an old
/// version from wrong content.
const OLDER: u32 = 16;

/// The documents that a workload wrote, as a function of key and version.
pub trait Original: Debug + Send {
    /// Appends the name of a document.
    fn write_id(&self, key: Key, out: &mut Vec<u8>);

    /// Whether `document` has the content of this version.
    fn holds(&mut self, key: Key, version: u32, document: &[u8]) -> bool;

    /// A description of how `document` differs from this version.
    fn difference(&mut self, key: Key, version: u32, document: &[u8]) -> String;

    /// The earlier version whose content `document` has, out of the last few and the first.
    fn older(&mut self, key: Key, version: u32, document: &[u8]) -> Option<u32> {
        let mut older = (version.saturating_sub(OLDER)..version).rev().chain([0]);
        older.find(|&it| it < version && self.holds(key, it, document))
    }
}

/// Documents made from the run's schemas.
#[derive(Debug)]
pub struct FromSchemas {
    documents: Arc<Documents>,
    expected: Vec<u8>,
}

impl FromSchemas {
    /// The originals of `documents`.
    pub const fn new(documents: Arc<Documents>) -> Self {
        Self { documents, expected: Vec::new() }
    }

    fn make(&mut self, key: Key, version: u32) {
        self.expected.clear();
        self.documents.write(key, version, b"", &mut self.expected);
    }
}

impl Original for FromSchemas {
    fn write_id(&self, key: Key, out: &mut Vec<u8>) {
        self.documents.write_id(key, out);
    }

    #[inline]
    fn holds(&mut self, key: Key, version: u32, document: &[u8]) -> bool {
        self.make(key, version);
        same::content(&self.expected, document)
    }

    fn difference(&mut self, key: Key, version: u32, document: &[u8]) -> String {
        self.make(key, version);
        same::difference(&self.expected, document)
    }
}
