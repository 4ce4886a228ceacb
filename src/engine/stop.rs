//! The stop flag, shared by all shards and those who stop them, and the patience with a server.

use crate::clock::Nanos;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// Why no more operations are begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum StopReason {
    /// The user asked once: drain and report.
    Interrupted = 1,
    /// The server refuses the credentials; continuing could lock the user out.
    Authentication = 2,
    /// The server did not answer for as long as an operation may take.
    Unreachable = 3,
    /// The user asked twice: exit at once.
    Aborted = 4,
}

/// A flag that is raised once; a more urgent reason replaces a lesser one.
#[derive(Debug, Default)]
pub struct Stop(AtomicU8);

impl Stop {
    /// Asks to stop.
    pub fn raise(&self, reason: StopReason) {
        self.0.fetch_max(reason as u8, Ordering::Relaxed);
    }

    /// The reason to stop, if there is one.
    #[inline]
    pub fn reason(&self) -> Option<StopReason> {
        match self.0.load(Ordering::Relaxed) {
            0 => None,
            1 => Some(StopReason::Interrupted),
            2 => Some(StopReason::Authentication),
            3 => Some(StopReason::Unreachable),
            _ => Some(StopReason::Aborted),
        }
    }
}

/// How long the server may be silent before it counts as gone. Shared by all shards of a stage: a
/// failing connection means nothing while another one gets answers.
#[derive(Debug)]
pub struct Patience {
    longest_ns: Nanos,
    /// When the first operation failed since the last answer; 0: none has.
    since: AtomicU64,
}

impl Patience {
    /// Patience for `longest_ns` nanoseconds.
    pub const fn new(longest_ns: Nanos) -> Self {
        Self { longest_ns, since: AtomicU64::new(0) }
    }

    /// An answer came. Writes only after a failure, so that threads do not disturb each other.
    #[inline]
    pub(super) fn answered(&self) {
        if self.since.load(Ordering::Relaxed) != 0 {
            self.since.store(0, Ordering::Relaxed);
        }
    }

    /// An operation failed at `now` without an answer. Returns whether to give up.
    #[cold]
    pub(super) fn failed(&self, now: Nanos) -> bool {
        let first = self.since.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed);
        first.is_err_and(|since| now.saturating_sub(since) > self.longest_ns)
    }
}
