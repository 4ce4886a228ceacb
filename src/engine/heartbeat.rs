//! A task of each shard that wakes at a beat, and notes when that came late: the thread was kept
//! busy, lost its processor, or was stopped. Hands out full seconds on the way.

use super::drive::Shared;
use crate::clock::{Clock, Nanos, SECOND_NS, Scheduled, Scheduler, thread_cpu_ns};
use crate::measure::{PAUSE_NS, Pause, ThreadLoss};
use std::rc::Rc;
use std::time::Duration;

/// Pauses longer than this are seen whenever they come.
const BEAT_NS: Nanos = SECOND_NS / 50;

/// What a thread has used so far, to be subtracted.
#[derive(Clone, Copy, Debug)]
struct Used {
    at: Nanos,
    cpu_ns: Nanos,
    scheduled: Scheduled,
}

/// Watches the thread of a shard from the start of a stage on.
#[derive(Debug)]
pub(super) struct Heartbeat {
    scheduler: Scheduler,
    before: Used,
    /// What was used when no more operations were begun.
    at_end: Option<Used>,
    pub(super) loss: ThreadLoss,
    /// Time on the run queue up to the last full second.
    waited_before: Option<Nanos>,
    next_second: Nanos,
}

impl Heartbeat {
    /// Begins to watch the calling thread at `start`.
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

    fn used(&self, at: Nanos) -> Used {
        Used { at, cpu_ns: thread_cpu_ns(), scheduled: self.scheduler.read() }
    }

    /// The last full second and the time spent on the run queue in it, once it is over.
    fn full_second(&mut self, now: Nanos) -> Option<(u32, Nanos)> {
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

/// Beats until dropped.
pub(super) async fn beat(shared: Rc<Shared>) {
    let (clock, end) = (shared.clock, shared.watch.end);
    let mut due = shared.start.max(clock.now());
    loop {
        due = (due + BEAT_NS).max(clock.now());
        let wake_at = if clock.now() < end { due.min(end) } else { due };
        tokio::time::sleep(Duration::from_nanos(wake_at.saturating_sub(clock.now()))).await;
        let now = clock.now();
        let mut heartbeat = shared.watch.heartbeat.borrow_mut();
        let late = now.saturating_sub(wake_at) >= PAUSE_NS;
        if late && wake_at < end {
            heartbeat.loss.pauses.add(wake_at, now.min(end));
            shared.watch.pause.set(Pause { from: wake_at, to: now });
        }
        if now >= end && heartbeat.at_end.is_none() {
            heartbeat.at_end = Some(heartbeat.used(now));
        }
        let mut recorder = shared.recorder.borrow_mut();
        if let Some((second, waited_ns)) = heartbeat.full_second(now) {
            recorder.waited(second, waited_ns);
        }
        recorder.rotate(now);
    }
}

#[cfg(test)]
#[path = "heartbeat_tests.rs"]
mod tests;
