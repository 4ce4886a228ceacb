//! Time that the client itself lost: load threads that should have run and did not.

use super::Histogram;
use super::spans::Spans;
use crate::clock::{Nanos, Scheduled};
use serde::{Deserialize, Serialize};

/// A thread that is this late was paused.
pub const PAUSE_NS: Nanos = 5_000_000;

/// The time that one load thread used and lost during the time of the stage.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ThreadLoss {
    /// The length of that time.
    pub watched_ns: Nanos,
    /// CPU time of the thread.
    pub cpu_ns: Nanos,
    /// The scheduler's accounts of the thread.
    pub scheduled: Scheduled,
    /// When it was paused for [`PAUSE_NS`] or more, for any reason.
    pub pauses: Spans,
    /// How late operations of an open loop were begun through its fault.
    pub late: Histogram,
}

impl ThreadLoss {
    /// The share of the time in which it computed, 0 to 1.
    pub fn busy(&self) -> f64 {
        self.share(self.cpu_ns)
    }

    /// The share of the time in which it waited for a processor, 0 to 1; `None`: unknown.
    pub fn waited(&self) -> Option<f64> {
        self.scheduled.waited_ns.map(|ns| self.share(ns))
    }

    /// The share of the time in which it was paused, 0 to 1.
    pub fn paused(&self) -> f64 {
        self.share(self.pauses.total_ns())
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_delays_what_was_due_before_its_end() {
        let pause = Pause { from: 100, to: 200 };
        assert_eq!(pause.delays(150, 205), 50);
        assert_eq!(pause.delays(40, 205), 100, "the rest of its delay is the server's");
        assert_eq!(pause.delays(200, 205), 0);
        assert_eq!(pause.delays(40, 90), 0, "it was begun before");
        assert_eq!(Pause::default().delays(0, 5), 0);
    }

    #[test]
    fn shares_are_of_the_time_watched() {
        let mut loss = ThreadLoss { watched_ns: 1_000, cpu_ns: 250, ..ThreadLoss::default() };
        loss.scheduled.waited_ns = Some(500);
        assert!((loss.busy() - 0.25).abs() < 1e-9 && (loss.waited().unwrap() - 0.5).abs() < 1e-9);
        loss.pauses.add(5_000, 5_100);
        assert!((loss.paused() - 0.1).abs() < 1e-9);
        loss.cpu_ns = 5_000;
        assert!((loss.busy() - 1.0).abs() < 1e-9, "never more than all of it");
        assert_eq!(ThreadLoss::default().waited(), None);
    }
}
