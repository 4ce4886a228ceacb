//! Requests and their answers, for tools that show them.

use crate::clock::Nanos;
use crate::op::Failure;
use std::sync::mpsc::Sender;

/// One request and its answer. A redirect and the request that follows it count as two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// The status of the answer, or why there was none.
    pub status: Result<u16, Failure>,
    /// The time from just before sending (including connecting) to the last byte of the answer, in
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
    /// Status line and headers of the answer, as received; empty without an answer.
    pub head: Vec<u8>,
    /// The body of the answer.
    pub body: Vec<u8>,
}

/// The destination for exchanges.
#[derive(Clone, Debug)]
pub struct Watcher {
    /// The channel to send them to.
    pub sender: Sender<Exchange>,
    /// Whether to include the bytes that were sent and received.
    pub whole: bool,
}
