//! A task of each shard that wakes regularly and notes when it was late: the thread was busy, lost
//! its processor, or was stopped. Also sends completed seconds.

use crate::clock::{Clock, Nanos, SECOND_NS, Scheduled, Scheduler, thread_cpu_ns};
use crate::measure::{PAUSE_NS, ThreadLoss};

/// The interval between beats: longer pauses are always detected.
pub(super) const BEAT_NS: Nanos = SECOND_NS / 50;

/// What a thread had used before, which is subtracted.
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
    /// Time on the run queue up to the last beat.
    waited_at_beat: Option<Nanos>,
}

impl Heartbeat {
    /// Starts watching the calling thread at `start`.
    pub(super) fn new(start: Nanos) -> Self {
        let scheduler = Scheduler::here();
        let before = Used { at: start, cpu_ns: thread_cpu_ns(), scheduled: scheduler.read() };
        Self {
            waited_before: before.scheduled.waited_ns,
            waited_at_beat: before.scheduled.waited_ns,
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
        let waited_ns = self.scheduler.waited_ns();
        let waited_before = std::mem::replace(&mut self.waited_before, waited_ns);
        Some(((second - 1) as u32, waited_ns?.saturating_sub(waited_before?)))
    }

    /// Notes how late the thread was for a beat: an answer that arrived when the beat was due would
    /// have lain unread for that long.
    pub(super) fn late(&mut self, late_ns: Nanos) {
        let waited_ns = self.scheduler.waited_ns();
        let waited_before = std::mem::replace(&mut self.waited_at_beat, waited_ns);
        let since = waited_ns.zip(waited_before).map(|(now, before)| now.saturating_sub(before));
        self.loss.unread.record_stall(lost_ns(late_ns, since), BEAT_NS);
    }

    /// Sums up what the thread used and lost until `end`, or until now if `end` has not been
    /// reached.
    pub(super) fn finish(mut self, clock: Clock) -> ThreadLoss {
        let used = self.at_end.unwrap_or_else(|| self.used(clock.now()));
        self.loss.watched_ns = used.at.saturating_sub(self.before.at);
        self.loss.cpu_ns = used.cpu_ns - self.before.cpu_ns;
        self.loss.scheduled = used.scheduled.since(&self.before.scheduled);
        self.loss
    }
}

/// How much of its lateness a thread has lost, given how long it waited for a processor. Lateness
/// due to its own computing is springload's own cost, and is measured as such.
fn lost_ns(late_ns: Nanos, waited_ns: Option<Nanos>) -> Nanos {
    if late_ns >= PAUSE_NS { late_ns } else { late_ns.min(waited_ns.unwrap_or(0)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = 1_000_000;

    #[test]
    fn a_beat_is_late_by_what_the_thread_waited_or_was_paused() {
        assert_eq!(lost_ns(3 * MS, Some(4 * MS)), 3 * MS, "it had no processor");
        assert_eq!(lost_ns(3 * MS, Some(MS)), MS, "for a part of it");
        assert_eq!(lost_ns(3 * MS, Some(0)), 0, "it computed");
        assert_eq!(lost_ns(3 * MS, None), 0, "nobody tells");
        assert_eq!(lost_ns(PAUSE_NS, Some(0)), PAUSE_NS, "it was stopped");
    }

    #[test]
    fn a_stall_counts_at_any_time_of_it() {
        let mut heartbeat = Heartbeat::new(0);
        heartbeat.late(45 * MS);
        let noted = heartbeat.loss.unread.counts().into_iter();
        assert_eq!(
            noted.map(|(ns, count)| (ns / MS, count)).collect::<Vec<_>>(),
            [(5, 1), (25, 1), (45, 1)]
        );
    }

    #[test]
    fn full_seconds_are_reported_once_each() {
        let mut heartbeat = Heartbeat::new(700 * MS);
        // As on a machine whose scheduler reports waits, with none so far.
        heartbeat.waited_before = Some(0);
        let known = heartbeat.scheduler.read().waited_ns.is_some();
        assert_eq!(heartbeat.full_second(699 * MS + SECOND_NS), None);
        let first = heartbeat.full_second(700 * MS + SECOND_NS);
        assert_eq!(first.map(|it| it.0), known.then_some(0));
        assert_eq!(heartbeat.full_second(800 * MS + SECOND_NS), None);
        assert_eq!(heartbeat.next_second, 700 * MS + 2 * SECOND_NS);
        let late = heartbeat.full_second(900 * MS + 3 * SECOND_NS);
        assert_eq!(late.map(|it| it.0), known.then_some(2), "the last one that is over");
        assert_eq!(heartbeat.next_second, 700 * MS + 4 * SECOND_NS);
        if let (Some(first), Some(late)) = (first, late) {
            let waited = heartbeat.scheduler.read().waited_ns.expect("it tells");
            assert!(first.1 + late.1 <= waited, "nothing is counted twice");
        }
        heartbeat.waited_before = None;
        assert_eq!(heartbeat.full_second(700 * MS + 4 * SECOND_NS), None, "it cannot be told");
    }
}
