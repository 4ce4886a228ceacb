//! Counts that accompany operations. The driver fills them in for each operation; they are added up
//! per second and stage, and end up in the record.

use super::is_default;
use crate::op::Unconfirmed;
use serde::{Deserialize, Serialize};
use std::ops::AddAssign;

/// What went over the wire, and what was found out about lost answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Wire {
    /// Operations with a request that was resent on a new connection because the old one had been
    /// closed. Each operation is counted at most once.
    pub resent: u64,
    /// How often unsolicited data, such as a response without a request, was found on a connection.
    #[serde(default, skip_serializing_if = "is_default")]
    pub unsolicited: u64,
    /// Documents that failed as `unanswered` but were found to have been written. In an audit's
    /// comparisons, documents with an unanswered write that the audit found to have been carried
    /// out.
    #[serde(default, skip_serializing_if = "is_default")]
    pub carried_out: u64,
    /// Documents that failed as `unanswered` and were found not to have been written. For the
    /// remaining ones, it is unknown.
    #[serde(default, skip_serializing_if = "is_default")]
    pub not_carried_out: u64,
    /// Documents with a write that an audit found to have been carried out although the server had
    /// reported a failure.
    #[serde(default, skip_serializing_if = "is_default")]
    pub failed_carried_out: u64,
    /// Documents with a write that an audit found not to have been carried out, as the server had
    /// reported.
    #[serde(default, skip_serializing_if = "is_default")]
    pub failed_not_carried_out: u64,
    /// Requests that were sent, including retries: an update may take two. For a sequence, the
    /// steps that were carried out. `None` if the driver does not count them, and in older records.
    #[serde(rename = "http_requests", default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// How often an operation was retried because the document had changed between its read and its
    /// write.
    #[serde(rename = "conflict_retries", default, skip_serializing_if = "is_default")]
    pub retries: u64,
    /// How often a request was resent because the server could not handle it at that moment: its
    /// target had moved, or was about to.
    #[serde(default, skip_serializing_if = "is_default")]
    pub relocated: u64,
    /// Responses that came from a cache on the way, according to the headers `Age`, `Cache-Status`
    /// and `X-Cache`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub from_cache: u64,
    /// Responses in which the server asked the client to wait, with the header `Retry-After`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub retry_after: u64,
    /// The total time, in nanoseconds, between requests and responses that was spent not in the
    /// database but on the way to it, through the process that hosts its client. Not part of the
    /// service time.
    #[serde(default, skip_serializing_if = "is_default")]
    pub outside_ns: u64,
}

impl Wire {
    /// Counts a document with a write in doubt, by what a check of the document showed.
    pub fn of(writes: Unconfirmed) -> Self {
        use Unconfirmed::{Doubtful, NeverWritten};
        let mut wire = Self::default();
        let count = match writes {
            Doubtful { failed: false, done: true } => &mut wire.carried_out,
            Doubtful { failed: false, done: false } => &mut wire.not_carried_out,
            Doubtful { failed: true, done: true } => &mut wire.failed_carried_out,
            Doubtful { failed: true, done: false } => &mut wire.failed_not_carried_out,
            NeverWritten => return wire,
        };
        *count = 1;
        wire
    }

    /// How many more requests than operations there were. `operations` are those that consist of
    /// several requests: a read-modify-write has two, and a sequence counts them.
    pub fn more_requests(&self, operations: u64) -> u64 {
        self.requests.map_or(operations, |requests| requests.saturating_sub(operations))
    }
}

impl AddAssign for Wire {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        self.resent += other.resent;
        self.unsolicited += other.unsolicited;
        self.carried_out += other.carried_out;
        self.not_carried_out += other.not_carried_out;
        self.failed_carried_out += other.failed_carried_out;
        self.failed_not_carried_out += other.failed_not_carried_out;
        if let Some(sent) = other.requests {
            *self.requests.get_or_insert(0) += sent;
        }
        self.retries += other.retries;
        self.relocated += other.relocated;
        self.from_cache += other.from_cache;
        self.retry_after += other.retry_after;
        self.outside_ns += other.outside_ns;
    }
}

/// Bytes of bodies, without headers; of whole requests and answers where there are no headers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BodyBytes {
    /// Bytes of request bodies.
    #[serde(rename = "bytes_sent")]
    pub sent: u64,
    /// Bytes of response bodies.
    #[serde(rename = "bytes_received")]
    pub received: u64,
}

impl AddAssign for BodyBytes {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        self.sent += other.sent;
        self.received += other.received;
    }
}
