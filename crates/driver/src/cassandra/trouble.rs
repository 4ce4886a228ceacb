//! What refusals mean: those of a server, and that of a connection with too many requests.

use super::answer::Refusal;
use crate::call::CallError;
use crate::op::Failure;

/// The server does not know the statement that it should execute.
pub(super) const UNPREPARED: u32 = 0x2500;

impl Refusal<'_> {
    /// The failure that it means, in the words of the server.
    pub(super) fn error(&self) -> CallError {
        CallError::new(of_code(self.code, self.words), self.words)
    }
}

/// The error if no number is left for another request, with what to do about it.
pub(super) fn too_many(refused: CallError) -> CallError {
    CallError { reason: refused.reason + "; give the address a larger pool=", ..refused }
}

/// Source: "CQL BINARY PROTOCOL v4", section 9.
fn of_code(code: u32, words: &str) -> Failure {
    match code {
        // A protocol error: the server does not understand what was sent.
        0x000a => Failure::Protocol,
        0x0100 => Failure::Authentication,
        0x1001 => Failure::TooManyRequests,
        UNPREPARED => Failure::ServerError,
        0x2200 if is_missing(words) => Failure::NotFound,
        // Errors of syntax and permissions, invalid requests, and things that exist already. A
        // conflict with the server's configuration (0x2300) is not included: ScyllaDB uses it when
        // some replicas had too many requests.
        0x2000 | 0x2100 | 0x2200 | 0x2400 => Failure::Rejected,
        _ => Failure::ServerError,
    }
}

/// Whether the server says that the table or keyspace does not exist.
fn is_missing(words: &str) -> bool {
    let words = words.to_ascii_lowercase();
    let ends = words.ends_with(" does not exist");
    words.starts_with("unconfigured table")
        || ends && (words.starts_with("keyspace ") || words.starts_with("table "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_have_their_classes() {
        for (code, words, failure) in [
            (0x2200, "unconfigured table usertable", Failure::NotFound),
            (0x2200, "Keyspace ycsb does not exist", Failure::NotFound),
            (0x2200, "Undefined column name \"x\"", Failure::Rejected),
            (0x2000, "line 1:0 no viable alternative", Failure::Rejected),
            (0x1001, "too busy", Failure::TooManyRequests),
            (0x1002, "wait", Failure::ServerError),
            (0x1100, "Operation timed out", Failure::ServerError),
            (0x1500, "Operation failed", Failure::ServerError),
            (0x1700, "nobody knows whether the condition held", Failure::ServerError),
            (0x4321, "what nobody knows", Failure::ServerError),
            (0x2400, "exists already", Failure::Rejected),
            (0x2300, "rate limit reached", Failure::ServerError),
            (0x0100, "wrong password", Failure::Authentication),
            (0x2100, "no MODIFY permission", Failure::Rejected),
            (0x000a, "Invalid or unsupported protocol version", Failure::Protocol),
        ] {
            assert_eq!(Refusal { code, words }.error(), CallError::new(failure, words), "{words}");
        }
    }
}
