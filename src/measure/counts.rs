//! What operations cost beside their results. The same counts from the driver, which fills them in
//! for one operation, through the sums of a second and a stage, into the record.

use super::is_default;
use serde::{Deserialize, Serialize};
use std::ops::AddAssign;

/// What went over the wire, and what became of what was lost there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wire {
    /// Operations of which a request was sent again on a fresh connection, because the old one was
    /// found closed: 0 or 1 for one operation.
    pub resent: u64,
    /// How often something was found on a connection that nobody had asked for, such as an answer
    /// without a request.
    #[serde(default, skip_serializing_if = "is_default")]
    pub unsolicited: u64,
    /// Of the documents that failed as unanswered: found to be written all the same, when the
    /// driver looked.
    #[serde(default, skip_serializing_if = "is_default")]
    pub carried_out: u64,
    /// Of the documents that failed as unanswered: found not to be written. What became of the
    /// others is not known.
    #[serde(default, skip_serializing_if = "is_default")]
    pub not_carried_out: u64,
    /// Requests that were sent, each try counted: an update may take two. `None` where the driver
    /// does not count them, and in records of before this was counted.
    #[serde(rename = "http_requests", default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// How often an operation was tried again because somebody else had changed the document
    /// between its read and its write.
    #[serde(rename = "conflict_retries", default, skip_serializing_if = "is_default")]
    pub retries: u64,
}

impl AddAssign for Wire {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        self.resent += other.resent;
        self.unsolicited += other.unsolicited;
        self.carried_out += other.carried_out;
        self.not_carried_out += other.not_carried_out;
        if let Some(sent) = other.requests {
            *self.requests.get_or_insert(0) += sent;
        }
        self.retries += other.retries;
    }
}

/// Bytes of JSON: bodies only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BodyBytes {
    /// Of requests.
    #[serde(rename = "bytes_sent")]
    pub sent: u64,
    /// Of answers.
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
