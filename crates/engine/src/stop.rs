//! The stop flag, shared by all shards and whatever stops them, and the patience with a server.

use crate::clock::{Nanos, SECOND_NS};
use crate::op::{Failure, with_all};
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

with_all! {
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
}

impl StopReason {
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

/// How long the server may be silent before it counts as gone. Shared by all shards of a run: a
/// failing connection means nothing while another one gets answers. Before giving up, the server is
/// checked on new connections.
#[derive(Debug)]
pub struct Patience {
    /// Whether an operation has failed since the last answer.
    doubted: AtomicBool,
    doubt: Mutex<Doubt>,
}

/// What is known about a silence.
#[derive(Debug, Default)]
struct Doubt {
    /// How long it may last in this stage.
    longest_ns: Nanos,
    /// When the first operation failed since the last answer, in this stage, and when the last one
    /// did.
    since: Option<Nanos>,
    last: Nanos,
    /// How long the server had been silent when the stage before ended.
    before_ns: Nanos,
    /// When a shard began to check the server, if one does.
    asked_at: Option<Nanos>,
    /// How long checks waited in vain until their stages ended.
    waited_ns: Nanos,
    /// How many checks the server has answered since an operation was last answered.
    answered: u32,
    given_up: bool,
}

impl Doubt {
    fn is_over(&self, now: Nanos) -> bool {
        self.since.is_some_and(|since| now.saturating_sub(since) > self.longest_ns)
    }
}

impl Patience {
    /// Patience for `longest_ns` nanoseconds.
    pub fn new(longest_ns: Nanos) -> Self {
        let doubt = Mutex::new(Doubt { longest_ns, ..Doubt::default() });
        Self { doubted: AtomicBool::new(false), doubt }
    }

    fn doubt(&self) -> MutexGuard<'_, Doubt> {
        self.doubt.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a stage in which the server may be silent for `longest_ns` nanoseconds. If it was
    /// silent when the stage before ended, that counts, but not the time from then until an
    /// operation fails again. If it was given up then, all begins anew.
    pub fn begin(&self, longest_ns: Nanos) {
        let doubt = &mut *self.doubt();
        let Doubt { since, last, asked_at, answered, given_up, .. } = *doubt;
        let until_last = |from: Nanos| last.saturating_sub(from);
        *doubt = if given_up {
            Doubt { longest_ns, ..Doubt::default() }
        } else {
            let before_ns = since.map_or(doubt.before_ns, until_last);
            let waited_ns = doubt.waited_ns + asked_at.map_or(0, until_last);
            Doubt { longest_ns, before_ns, waited_ns, answered, ..Doubt::default() }
        };
    }

    /// Notes an answer. Writes only after a failure, so that threads do not contend for the cache
    /// line.
    #[inline]
    pub(super) fn answered(&self) {
        if self.doubted.load(Ordering::Relaxed) {
            self.believe();
        }
    }

    #[cold]
    fn believe(&self) {
        let doubt = &mut *self.doubt();
        self.doubted.store(false, Ordering::Relaxed);
        let Doubt { longest_ns, asked_at, .. } = *doubt;
        *doubt = Doubt { longest_ns, asked_at, ..Doubt::default() };
    }

    /// Notes that an operation failed at `now` without an answer. Returns whether to check the
    /// server.
    #[cold]
    pub(super) fn failed(&self, now: Nanos) -> bool {
        let doubt = &mut *self.doubt();
        self.doubted.store(true, Ordering::Relaxed);
        doubt.since.get_or_insert(now.saturating_sub(doubt.before_ns));
        doubt.last = now;
        doubt.is_over(now)
    }

    /// How long the server may take to answer a check.
    pub(super) fn answer_ns(&self) -> Nanos {
        let doubt = self.doubt();
        let answer_ns = doubt.longest_ns.clamp(SECOND_NS, 5 * SECOND_NS);
        answer_ns.saturating_sub(doubt.waited_ns).max(SECOND_NS / 10)
    }

    /// Whether to check the server at `now`. Only one of the shards does.
    pub(super) fn ask(&self, now: Nanos) -> bool {
        let doubt = &mut *self.doubt();
        let asks = doubt.is_over(now) && doubt.asked_at.is_none();
        if asks {
            doubt.asked_at = Some(now);
        }
        asks
    }

    /// Takes the result of a check, which ended at `now`; `None` if the server cannot be checked.
    /// `failure` is how the last operation failed. Returns the reason to give up, if it is time.
    pub(super) fn judge(
        &self,
        answer: Option<Result<(), Failure>>,
        failure: Failure,
        now: Nanos,
    ) -> Option<StopReason> {
        let doubt = &mut *self.doubt();
        doubt.asked_at = None;
        let why = match answer {
            // An operation was answered in the meantime.
            _ if !doubt.is_over(now) => None,
            Some(Ok(())) if doubt.answered + 1 < MOST_ASKED => {
                (doubt.answered, doubt.since) = (doubt.answered + 1, Some(now));
                doubt.waited_ns = 0;
                None
            }
            Some(Ok(())) => Some(StopReason::Unserved),
            answer => {
                let failure = answer.and_then(Result::err).unwrap_or(failure);
                let own = failure.by_client();
                Some(if own { StopReason::Starved } else { StopReason::Unreachable })
            }
        };
        doubt.given_up = why.is_some();
        why
    }
}

#[cfg(test)]
#[path = "stop_tests.rs"]
mod tests;
