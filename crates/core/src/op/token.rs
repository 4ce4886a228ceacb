//! Versions of stored documents, as workloads keep them.

/// The version of a stored document, in 20 bytes that only its driver interprets: a revision, a
/// counter, a compare-and-swap value. Databases without versions leave it unchanged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Token {
    /// A number, such as CouchDB's generation.
    pub number: u32,
    /// The rest, such as CouchDB's hash.
    pub rest: [u8; 16],
}
