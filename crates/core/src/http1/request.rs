//! A request as it is to be sent, and what is told of its answer.

/// A request, and how it may be handled.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Head and body.
    pub bytes: &'a [u8],
    /// It is a HEAD: its answer has no body.
    pub is_head: bool,
    /// It may change something: without a complete answer it is
    /// [`Failure::Unanswered`](crate::op::Failure::Unanswered).
    pub changes: bool,
    /// It may be resent if the connection kept for it turns out to be closed.
    pub resend: bool,
}

impl<'a> Request<'a> {
    /// One that changes nothing.
    pub const fn reading(bytes: &'a [u8]) -> Self {
        Self { bytes, is_head: false, changes: false, resend: true }
    }

    /// One that takes effect each time it is sent.
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
