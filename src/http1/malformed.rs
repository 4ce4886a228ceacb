//! What can be wrong with an answer.

/// Why bytes are not an HTTP/1.1 answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The status line or a header is not one.
    #[error("malformed head")]
    Head,
    /// More head than any server has reason to send.
    #[error("head too large")]
    HeadTooLarge,
    /// Lengths that contradict each other or are not numbers.
    #[error("malformed length")]
    Length,
    /// A chunk whose size or end is malformed.
    #[error("malformed chunk")]
    Chunk,
    /// More trailers than any server has reason to send.
    #[error("trailers too large")]
    Trailers,
    /// Interim answers (1xx) without end.
    #[error("too many interim answers")]
    Interim,
    /// Bytes that belong to no request.
    #[error("bytes beyond the answer")]
    Excess,
}
