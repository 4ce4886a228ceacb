//! The ways in which an answer can be malformed.

/// Why bytes are not an HTTP/1.1 answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The status line or a header is invalid.
    #[error("malformed head")]
    Head,
    /// A head larger than any server should send.
    #[error("head too large")]
    HeadTooLarge,
    /// Lengths that contradict each other or are not numbers.
    #[error("malformed length")]
    Length,
    /// A chunk whose size or end is malformed.
    #[error("malformed chunk")]
    Chunk,
    /// More trailers than any server should send.
    #[error("trailers too large")]
    Trailers,
    /// An endless series of interim answers (1xx).
    #[error("too many interim answers")]
    Interim,
    /// Bytes after the answer.
    #[error("bytes beyond the answer")]
    Excess,
}
