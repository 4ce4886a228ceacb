//! Time that the client itself lost: load threads that should have run and did not.

use super::Histogram;
use super::spans::Spans;
use crate::clock::{Nanos, Scheduled};
use serde::{Deserialize, Serialize};

/// A thread that is late by this much counts as paused.
pub const PAUSE_NS: Nanos = 5_000_000;
/// After a pause, a thread needs up to this long to read what arrived in the meantime.
pub const READING_NS: Nanos = 5_000_000;
/// Operations that the client delayed by less than this do not count as held up.
pub const HELD_NS: Nanos = 1_000_000;

/// How much of the stage one load thread used and lost.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ThreadLoss {
    /// The length of time that was watched.
    pub watched_ns: Nanos,
    /// CPU time of the thread.
    pub cpu_ns: Nanos,
    /// The scheduler's accounts of the thread.
    pub scheduled: Scheduled,
    /// When it was paused for [`PAUSE_NS`] or more, for any reason, including after the watched
    /// time.
    pub pauses: Spans,
    /// How much of that lies in the watched time.
    pub paused_ns: Nanos,
    /// How late operations of an open loop were begun through its fault.
    pub late: Histogram,
    /// Operations that it held up for [`HELD_NS`] or more: begun late, or answered but not read.
    #[serde(default)]
    pub held: u64,
    /// How long it held them up at most, added up over all of them.
    #[serde(default)]
    pub held_ns: Nanos,
    /// How long an answer arriving at an arbitrary time lay unread, because the thread had no
    /// processor or was paused: the lateness of the thread's beats.
    #[serde(default)]
    pub unread: Histogram,
    /// The pauses in which it held something up.
    #[serde(default)]
    pub holding: Spans,
    /// Operations that fell due in a pause that lasted until the end of the stage.
    #[serde(default)]
    pub unsent: u64,
}

impl ThreadLoss {
    /// The share of the time spent computing, 0 to 1.
    pub fn busy(&self) -> f64 {
        self.share(self.cpu_ns)
    }

    /// The share of the time spent waiting for a processor, 0 to 1; `None` if unknown.
    pub fn waited(&self) -> Option<f64> {
        self.scheduled.waited_ns.map(|ns| self.share(ns))
    }

    /// The share of the time spent paused, 0 to 1.
    pub fn paused(&self) -> f64 {
        self.share(self.paused_ns)
    }

    fn share(&self, ns: Nanos) -> f64 {
        (ns as f64 / self.watched_ns.max(1) as f64).min(1.0)
    }
}

/// The last pause of a thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pause {
    /// When it should have continued.
    pub from: Nanos,
    /// When it did.
    pub to: Nanos,
}

impl Pause {
    /// By how much this pause delayed an operation that was due at `intended` and begun at `began`.
    #[inline]
    pub fn delays(&self, intended: Nanos, began: Nanos) -> Nanos {
        if intended >= self.to || began < self.to { 0 } else { self.to - intended.max(self.from) }
    }

    /// An upper bound for how long the answer to a request sent at `sent` and read at `done` lay
    /// unread because of this pause.
    #[inline]
    pub fn holds(&self, sent: Nanos, done: Nanos) -> Nanos {
        if done < self.to || done > self.to.saturating_add(READING_NS) {
            return 0;
        }
        self.to.saturating_sub(sent.max(self.from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_delays_what_was_due_before_its_end() {
        let pause = Pause { from: 100, to: 200 };
        assert_eq!(pause.delays(150, 205), 50);
        assert_eq!(pause.delays(40, 205), 100, "the rest of its delay is the server's");
        assert_eq!(pause.delays(150, 200), 50, "begun as soon as it was over");
        assert_eq!(pause.delays(200, 205), 0);
        assert_eq!(pause.delays(40, 90), 0, "it was begun before");
        assert_eq!(Pause::default().delays(0, 5), 0);
    }

    #[test]
    fn a_pause_holds_what_is_read_as_soon_as_it_is_over() {
        let pause = Pause { from: 100, to: 200 };
        assert_eq!(pause.holds(150, 200), 50, "sent in it");
        assert_eq!(pause.holds(40, 200 + READING_NS), 100, "under way when it began");
        assert_eq!(pause.holds(40, 201 + READING_NS), 0, "the answer came later");
        assert_eq!(pause.holds(40, 199), 0, "read before it was over");
        assert_eq!(pause.holds(205, 210), 0, "sent after it");
        assert_eq!(Pause::default().holds(0, 5), 0);
    }

    #[test]
    fn shares_are_of_the_time_watched() {
        let mut loss = ThreadLoss { watched_ns: 1_000, cpu_ns: 250, ..ThreadLoss::default() };
        loss.scheduled.waited_ns = Some(500);
        assert!((loss.busy() - 0.25).abs() < 1e-9 && (loss.waited().unwrap() - 0.5).abs() < 1e-9);
        loss.paused_ns = 100;
        assert!((loss.paused() - 0.1).abs() < 1e-9);
        loss.cpu_ns = 5_000;
        assert!((loss.busy() - 1.0).abs() < 1e-9, "never more than all of it");
        assert_eq!(ThreadLoss::default().waited(), None);
    }
}
