//! Databases that load can be put on: the traits, and one file or folder per driver.
//!
//! A driver knows how its database spells an operation. It knows nothing of pace or stages.

pub mod basic;
pub mod couchdb;
pub mod http;
mod list;
mod payload;

pub use list::{Driver, WithTarget};
pub use payload::Payload;

use crate::clock::Nanos;
use crate::measure::Probe;
use crate::net::ShardContext;
use crate::op::{Failure, Op, Reason, Reply};
use std::rc::Rc;

/// How one request ended, and what it cost in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// The answer, or why there was none that counts.
    pub result: Result<Reply, Failure>,
    /// Bytes of the request's body.
    pub bytes_sent: u64,
    /// Bytes of the answer's body.
    pub bytes_received: u64,
    /// Whether the request was sent again because the connection was found closed.
    pub resent: bool,
    /// How often something was found on the connection that nobody had asked for.
    pub unsolicited: u32,
    /// Of documents whose answer was lost, how many the driver then found to be written, and how
    /// many not.
    pub carried_out: u32,
    /// See `carried_out`.
    pub not_carried_out: u32,
    /// How many HTTP requests were sent for it, each try counted. `None`: the driver sends none.
    pub http_requests: Option<u32>,
    /// How often the driver tried again because somebody else had changed the document meanwhile.
    pub conflict_retries: u32,
}

impl Outcome {
    /// The outcome of what was done in two steps, of which `before` was the first: the result is
    /// that of the second, all else is of both.
    #[must_use]
    pub const fn after(self, before: &Self) -> Self {
        Self {
            bytes_sent: before.bytes_sent + self.bytes_sent,
            bytes_received: before.bytes_received + self.bytes_received,
            resent: before.resent || self.resent,
            unsolicited: before.unsolicited + self.unsolicited,
            carried_out: before.carried_out + self.carried_out,
            not_carried_out: before.not_carried_out + self.not_carried_out,
            conflict_retries: before.conflict_retries + self.conflict_retries,
            ..self
        }
    }

    /// Whether the server said nothing at all: not even when it was asked what became of a write.
    pub const fn is_silence(&self) -> bool {
        use Failure::{Connect, Reset, Timeout, Unanswered};
        matches!(self.result, Err(Connect | Reset | Timeout | Unanswered))
            && self.carried_out + self.not_carried_out == 0
    }

    /// The same, told how many HTTP requests it took.
    #[must_use]
    pub const fn with_http_requests(self, count: u64) -> Self {
        Self { http_requests: Some(count as u32), ..self }
    }
}

/// A configured database: what is needed to open sessions on it. Shared by all shards.
pub trait Target: Sync {
    /// One connection to this database.
    type Session: Session;

    /// A session that is not yet connected. `deadlines` ends its operations that take too long.
    fn session(&self, deadlines: &Rc<ShardContext>) -> Self::Session;
}

/// One connection to a database, with at most one operation in flight.
pub trait Session {
    /// Connects if there is no connection, after the pause that earlier failures ask for, and tells
    /// since when it has been connecting. A failure shows in the next operation.
    fn ready(&mut self) -> impl Future<Output = Option<Nanos>>;

    /// Spells out what can be sent of `op` before it is due, in `payload` around its document.
    fn prepare(&mut self, _op: &Op, _payload: &mut Payload) {}

    /// Whether one request does `op`, whatever its answer: an answer that another request depends
    /// on must be looked at as soon as it comes.
    fn is_one_request(&self, _op: &Op) -> bool {
        true
    }

    /// Carries out `op`, which was prepared in `payload`, and takes the marks of `probe`.
    /// Of a bulk operation, the rows of the answer are left in the payload.
    fn execute(
        &mut self,
        op: &Op,
        payload: &mut Payload,
        probe: &mut Probe,
    ) -> impl Future<Output = Outcome>;

    /// After an operation that failed as [`Failure::Unanswered`]: what its answer would have said,
    /// where the driver has found out that it was carried out.
    fn settled(&self) -> Option<Reply> {
        None
    }

    /// The body of the last answer, where the driver keeps it.
    fn body(&self) -> &[u8] {
        &[]
    }

    /// What was said about the last operation, or about one document of it, having failed so.
    /// Only asked once in a while: it may take its time.
    fn reason(&self, _failure: Failure) -> Option<Reason> {
        None
    }

    /// The HTTP status of each answer to the last operation, where the driver tells them.
    fn statuses(&self) -> &[u16] {
        &[]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_tells_what_became_of_a_write_is_there() {
        let silence = |result, carried_out, not_carried_out| {
            let (bytes_sent, bytes_received, http_requests) = (0, 0, None);
            let (resent, unsolicited, conflict_retries) = (false, 0, 0);
            let of = Outcome {
                result,
                bytes_sent,
                bytes_received,
                resent,
                unsolicited,
                carried_out,
                not_carried_out,
                http_requests,
                conflict_retries,
            };
            of.is_silence()
        };
        for class in Failure::ALL {
            use Failure::{Connect, Reset, Timeout, Unanswered};
            let silent = matches!(class, Connect | Reset | Timeout | Unanswered);
            assert_eq!(silence(Err(class), 0, 0), silent, "{class}");
        }
        assert!(!silence(Ok(Reply::default()), 0, 0));
        assert!(!silence(Err(Failure::Unanswered), 1, 0));
        assert!(!silence(Err(Failure::Unanswered), 0, 1));
    }
}
