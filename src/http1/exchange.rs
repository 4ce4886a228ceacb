//! Requests and their answers, for those who want to see each.

use crate::clock::Nanos;
use crate::op::Failure;
use std::sync::mpsc::Sender;

/// One request and its answer, for who wants to see each. A redirect and what it leads to are two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// The status of the answer, or why there was none.
    pub status: Result<u16, Failure>,
    /// From before it was sent, connecting included, to the last byte of the answer, in
    /// nanoseconds.
    pub response_ns: Nanos,
    /// Bytes of the body received.
    pub bytes: u64,
    /// `GET`, `POST` and so on.
    pub method: String,
    /// Scheme, host and port.
    pub origin: String,
    /// Path and query.
    pub target: String,
    /// Head and body as sent.
    pub request: Vec<u8>,
    /// Status line and headers of the answer, as they came; empty without an answer.
    pub head: Vec<u8>,
    /// The body of the answer.
    pub body: Vec<u8>,
}

/// Who is told of exchanges.
#[derive(Clone, Debug)]
pub struct Watcher {
    /// Where they are told to.
    pub sender: Sender<Exchange>,
    /// With what was sent and what came.
    pub whole: bool,
}
