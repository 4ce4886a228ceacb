//! A request as it is to be sent, and a summary of its answer.

/// Headers that concern a connection, which only HTTP/1.1 has (RFC 9113, 8.2.2).
pub const CONNECTION_HEADERS: [&str; 5] =
    ["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"];

/// A request, and how it may be handled on failure.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The head and the body.
    pub bytes: &'a [u8],
    /// It is a HEAD: its answer has no body.
    pub is_head: bool,
    /// It may change something: if there is no complete answer, it counts as
    /// [`Failure::Unanswered`](crate::op::Failure::Unanswered).
    pub changes: bool,
    /// It may be resent if the kept-alive connection turns out to be closed.
    pub resend: bool,
}

impl<'a> Request<'a> {
    /// A request that changes nothing.
    pub const fn reading(bytes: &'a [u8]) -> Self {
        Self { bytes, is_head: false, changes: false, resend: true }
    }

    /// A request that takes effect each time it is sent.
    pub const fn changing(bytes: &'a [u8]) -> Self {
        Self { bytes, is_head: false, changes: true, resend: false }
    }
}

/// A complete answer. Its body and headers stay in the connection until the next request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// The length of the decoded body in bytes.
    pub body_bytes: u64,
    /// Whether the request was resent.
    pub resent: bool,
}
