//! The content of a burst's documents: a function of the worker's number and the version.

use super::{BodySize, Filling, LEAST_WIRE};
use crate::generate::{Stream, mix};
use crate::op::{Fields, Key};
use crate::schema::Naming;
use crate::{Original, same};

/// Separates the stream of bodies from other uses of the same seed.
const BODIES: u64 = u64::from_be_bytes(*b"bursts..");
/// The letters of a random body: six bits each, and none needs escaping in JSON.
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const LETTERS_PER_DRAW: usize = 10;
/// The name of the only field of a burst's document.
pub(super) const FIELD: &str = "body";

/// The documents of a run's bursts.
#[derive(Clone, Debug)]
pub(super) struct Bodies {
    seed: u64,
    size: BodySize,
    filling: Filling,
    naming: Naming,
}

impl Bodies {
    /// The documents of a run with this seed, named after the numbers of their workers.
    pub(super) fn new(seed: u64, size: BodySize, filling: Filling) -> Self {
        Self { seed, size, filling, naming: Naming::default() }
    }

    pub(super) fn named(self, naming: Naming) -> Self {
        Self { naming, ..self }
    }

    /// Appends the name of a worker's document.
    pub(super) fn write_id(&self, key: Key, out: &mut Vec<u8>) {
        self.naming.write(key, out);
    }

    pub(super) const fn body(&self, key: Key, version: u32) -> Body<'_> {
        Body { bodies: self, key, version }
    }

    /// A generator of the same documents, for comparison.
    pub(super) const fn original(self) -> BodyOriginal {
        BodyOriginal { bodies: self, expected: Vec::new() }
    }

    /// Appends the content of the field, up to a total length of `end`.
    fn fill(&self, key: Key, version: u32, end: usize, out: &mut Vec<u8>) {
        match self.filling {
            Filling::Zeros => out.resize(end, b'0'),
            Filling::Random => {
                // Versions are further apart in the stream than the number of draws for the longest
                // body.
                let mut stream = Stream::new(mix(self.seed, key, BODIES), u64::from(version) << 32);
                while out.len() < end {
                    let mut draw = stream.draw();
                    for _ in 0..LETTERS_PER_DRAW.min(end - out.len()) {
                        out.push(LETTERS[(draw % 64) as usize]);
                        draw /= 64;
                    }
                }
            }
        }
    }
}

/// One version of a document.
pub(super) struct Body<'a> {
    bodies: &'a Bodies,
    key: Key,
    version: u32,
}

impl Fields for Body<'_> {
    fn write(self, first: &[u8], out: &mut Vec<u8>) {
        let (start, size) = (out.len(), self.bodies.size);
        out.push(b'{');
        out.extend_from_slice(first);
        out.extend_from_slice(if first.is_empty() { b"\"" } else { b",\"" });
        out.extend_from_slice(FIELD.as_bytes());
        out.extend_from_slice(b"\":\"");
        let around = if size.wire { out.len() - start + 2 } else { 0 };
        let end = out.len() + (size.bytes as usize).saturating_sub(around);
        self.bodies.fill(self.key, self.version, end, out);
        out.extend_from_slice(b"\"}");
    }
}

/// Compares documents with those of the bursts.
#[derive(Debug)]
pub(super) struct BodyOriginal {
    bodies: Bodies,
    expected: Vec<u8>,
}

impl BodyOriginal {
    /// Generates the document that should have been found instead of `found`.
    fn make(&mut self, key: Key, version: u32, found: &[u8]) {
        self.expected.clear();
        self.expected.extend_from_slice(b"{\"");
        self.expected.extend_from_slice(FIELD.as_bytes());
        self.expected.extend_from_slice(b"\":\"");
        let end = self.expected.len() + self.length(key, found);
        self.bodies.fill(key, version, end, &mut self.expected);
        self.expected.extend_from_slice(b"\"}");
    }

    /// The length of the field. If the size is that on the wire, it depends on what else the
    /// request contained; then the length of the field that was found is used, if it is possible.
    fn length(&self, key: Key, found: &[u8]) -> usize {
        let bytes = self.bodies.size.bytes as usize;
        if !self.bodies.size.wire {
            return bytes;
        }
        let mut id = Vec::new();
        self.bodies.write_id(key, &mut id);
        let least = bytes.saturating_sub(LEAST_WIRE as usize + id.len());
        let begin = format!("\"{FIELD}\":\"");
        let text =
            memchr::memmem::find(found, begin.as_bytes()).map(|at| &found[at + begin.len()..]);
        text.and_then(|text| memchr::memchr(b'"', text)).unwrap_or(0).clamp(least, bytes)
    }
}

impl Original for BodyOriginal {
    fn write_id(&self, key: Key, out: &mut Vec<u8>) {
        self.bodies.write_id(key, out);
    }

    fn holds(&mut self, key: Key, version: u32, document: &[u8]) -> bool {
        self.make(key, version, document);
        same::content(&self.expected, document)
    }

    fn difference(&mut self, key: Key, version: u32, document: &[u8]) -> String {
        self.make(key, version, document);
        same::difference(&self.expected, document)
    }
}
