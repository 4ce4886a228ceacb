//! Versions of stored documents, as workloads carry them about.

/// The version of a stored document, in 20 bytes that only its driver reads: a revision, a counter,
/// a value to compare and swap. Databases without versions leave it as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Token {
    /// A number, such as CouchDB's generation.
    pub number: u32,
    /// The rest, such as CouchDB's hash.
    pub rest: [u8; 16],
}
