//! Versions of stored documents, as workloads carry them about.

/// The version of a stored document, in 20 bytes that only its driver reads: a revision, a counter,
/// a value to compare and swap. Databases without versions leave it as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Token([u8; 20]);

impl Token {
    /// A version that a driver spells so.
    pub const fn new(bytes: [u8; 20]) -> Self {
        Self(bytes)
    }

    /// The driver's spelling.
    pub const fn bytes(self) -> [u8; 20] {
        self.0
    }
}
