//! The stop flag, shared by all shards and whatever stops them, and the patience with a server.

use crate::clock::{Nanos, SECOND_NS};
use crate::op::Failure;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};

/// Why no more operations are begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum StopReason {
    /// The user asked once: drain and report.
    Interrupted = 1,
    /// The server refuses the credentials, and continuing could lock the user out.
    Authentication = 2,
    /// This machine has had no ports or files left for too long.
    Starved = 3,
    /// The server answered checks on new connections, but no operations, for too long.
    Unserved = 4,
    /// The server has not answered for too long.
    Unreachable = 5,
    /// The user asked twice: exit at once.
    Aborted = 6,
}

impl StopReason {
    const ALL: [Self; 6] = [
        Self::Interrupted,
        Self::Authentication,
        Self::Starved,
        Self::Unserved,
        Self::Unreachable,
        Self::Aborted,
    ];

    /// Whether the run was given up because there were no answers for too long.
    pub const fn gave_up(self) -> bool {
        matches!(self, Self::Starved | Self::Unserved | Self::Unreachable)
    }
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
            raised => StopReason::ALL.into_iter().find(|reason| *reason as u8 == raised),
        }
    }

    /// Clears the flag if the run was given up, and returns the reason. A stop requested by the
    /// user stays.
    pub fn resume(&self) -> Option<StopReason> {
        let reason = self.reason().filter(|reason| reason.gave_up())?;
        let lowered = (reason as u8, 0);
        let order = (Ordering::Relaxed, Ordering::Relaxed);
        self.0.compare_exchange(lowered.0, lowered.1, order.0, order.1).is_ok().then_some(reason)
    }
}

/// How many consecutive checks on new connections the server may answer while no operation is
/// answered. After that the run is given up nevertheless.
const MOST_ASKED: u32 = 10;

/// How long the server may be silent before it counts as gone. Shared by all shards of a stage: a
/// failing connection means nothing while another one gets answers. Before giving up, the server is
/// checked on new connections.
#[derive(Debug)]
pub struct Patience {
    longest_ns: Nanos,
    /// When the first operation failed since the last answer; 0 if none has.
    since: AtomicU64,
    /// Whether a shard is checking the server.
    asking: AtomicBool,
    /// How many checks it has answered since an operation was last answered.
    asked: AtomicU32,
}

impl Patience {
    /// Patience for `longest_ns` nanoseconds.
    pub const fn new(longest_ns: Nanos) -> Self {
        let (since, asking) = (AtomicU64::new(0), AtomicBool::new(false));
        Self { longest_ns, since, asking, asked: AtomicU32::new(0) }
    }

    /// Notes an answer. Writes only after a failure, so that threads do not contend for the cache
    /// line.
    #[inline]
    pub(super) fn answered(&self) {
        if self.since.load(Ordering::Relaxed) != 0 {
            self.since.store(0, Ordering::Relaxed);
            self.asked.store(0, Ordering::Relaxed);
        }
    }

    /// Notes that an operation failed at `now` without an answer. Returns whether to check the
    /// server.
    #[cold]
    pub(super) fn failed(&self, now: Nanos) -> bool {
        let _ = self.since.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed);
        self.is_over(now)
    }

    fn is_over(&self, now: Nanos) -> bool {
        let since = self.since.load(Ordering::Relaxed);
        since != 0 && now.saturating_sub(since) > self.longest_ns
    }

    /// How long the server may take to answer a check.
    pub(super) fn answer_ns(&self) -> Nanos {
        self.longest_ns.clamp(SECOND_NS, 5 * SECOND_NS)
    }

    /// Whether to check the server at `now`. Only one of the shards does.
    pub(super) fn ask(&self, now: Nanos) -> bool {
        self.is_over(now) && !self.asking.swap(true, Ordering::Relaxed)
    }

    /// Takes the result of a check, which ended at `now`; `None` if the server cannot be checked.
    /// `failure` is how the last operation failed. Returns the reason to give up, if it is time.
    pub(super) fn judge(
        &self,
        answer: Option<Result<(), Failure>>,
        failure: Failure,
        now: Nanos,
    ) -> Option<StopReason> {
        let why = match answer {
            // An operation was answered in the meantime.
            _ if !self.is_over(now) => None,
            Some(Ok(())) if self.asked.fetch_add(1, Ordering::Relaxed) + 1 < MOST_ASKED => {
                self.since.store(now, Ordering::Relaxed);
                None
            }
            Some(Ok(())) => Some(StopReason::Unserved),
            answer => {
                let failure = answer.and_then(Result::err).unwrap_or(failure);
                let own = failure.by_client();
                Some(if own { StopReason::Starved } else { StopReason::Unreachable })
            }
        };
        self.asking.store(false, Ordering::Relaxed);
        why
    }
}

#[cfg(test)]
#[path = "stop_tests.rs"]
mod tests;
