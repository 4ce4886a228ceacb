//! A task of each shard that wakes regularly and notes when it was late: the thread was busy, lost
//! its processor, or was stopped. Also sends off full seconds.

use crate::clock::{Clock, Nanos, SECOND_NS, Scheduled, Scheduler, thread_cpu_ns};
use crate::measure::ThreadLoss;

/// The beat: longer pauses are always detected.
pub(super) const BEAT_NS: Nanos = SECOND_NS / 50;

/// What a thread had used before, to be subtracted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Used {
    at: Nanos,
    cpu_ns: Nanos,
    scheduled: Scheduled,
}

/// Watches the thread of a shard from the start of a stage.
#[derive(Debug)]
pub(super) struct Heartbeat {
    scheduler: Scheduler,
    before: Used,
    /// What was used by the end of the stage's time.
    pub(super) at_end: Option<Used>,
    pub(super) loss: ThreadLoss,
    /// Time on the run queue up to the last full second.
    waited_before: Option<Nanos>,
    next_second: Nanos,
}

impl Heartbeat {
    /// Starts watching the calling thread at `start`.
    pub(super) fn new(start: Nanos) -> Self {
        let scheduler = Scheduler::here();
        let before = Used { at: start, cpu_ns: thread_cpu_ns(), scheduled: scheduler.read() };
        Self {
            waited_before: before.scheduled.waited_ns,
            scheduler,
            before,
            at_end: None,
            loss: ThreadLoss::default(),
            next_second: start + SECOND_NS,
        }
    }

    pub(super) fn used(&self, at: Nanos) -> Used {
        Used { at, cpu_ns: thread_cpu_ns(), scheduled: self.scheduler.read() }
    }

    /// The last full second, once it is over, and the time spent on the run queue in it.
    pub(super) fn full_second(&mut self, now: Nanos) -> Option<(u32, Nanos)> {
        if now < self.next_second {
            return None;
        }
        let second = (now - self.before.at) / SECOND_NS;
        self.next_second = self.before.at + (second + 1) * SECOND_NS;
        let waited_ns = self.scheduler.read().waited_ns;
        let waited_before = std::mem::replace(&mut self.waited_before, waited_ns);
        Some(((second - 1) as u32, waited_ns?.saturating_sub(waited_before?)))
    }

    /// Sums up what the thread used and lost until `end`, or until now if that has not come.
    pub(super) fn finish(mut self, clock: Clock) -> ThreadLoss {
        let used = self.at_end.unwrap_or_else(|| self.used(clock.now()));
        self.loss.watched_ns = used.at.saturating_sub(self.before.at);
        self.loss.cpu_ns = used.cpu_ns - self.before.cpu_ns;
        self.loss.scheduled = used.scheduled.since(&self.before.scheduled);
        self.loss
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = 1_000_000;

    #[test]
    fn full_seconds_are_told_once_each() {
        let mut heartbeat = Heartbeat::new(700 * MS);
        // As where the scheduler tells, and had told nothing so far.
        heartbeat.waited_before = Some(0);
        let told = heartbeat.scheduler.read().waited_ns.is_some();
        assert_eq!(heartbeat.full_second(699 * MS + SECOND_NS), None);
        let first = heartbeat.full_second(700 * MS + SECOND_NS);
        assert_eq!(first.map(|it| it.0), told.then_some(0));
        assert_eq!(heartbeat.full_second(800 * MS + SECOND_NS), None);
        assert_eq!(heartbeat.next_second, 700 * MS + 2 * SECOND_NS);
        let late = heartbeat.full_second(900 * MS + 3 * SECOND_NS);
        assert_eq!(late.map(|it| it.0), told.then_some(2), "the last one that is over");
        assert_eq!(heartbeat.next_second, 700 * MS + 4 * SECOND_NS);
        if let (Some(first), Some(late)) = (first, late) {
            let waited = heartbeat.scheduler.read().waited_ns.expect("it tells");
            assert!(first.1 + late.1 <= waited, "nothing is counted twice");
        }
        heartbeat.waited_before = None;
        assert_eq!(heartbeat.full_second(700 * MS + 4 * SECOND_NS), None, "it cannot be told");
    }
}
