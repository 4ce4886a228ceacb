//! What a shard watches besides recording operations: whether it is late by its own fault, its
//! backlog, whether anything succeeds, and whether the server answers.

use super::heartbeat::Heartbeat;
use super::tickets::Ticket;
use crate::clock::Nanos;
use crate::measure::{
    Answers, Backlog, ConnectionTimes, Histogram, OutageLog, Pause, Pulse, Silences, Spell,
    ThreadLoss, Timing,
};
use crate::op::{Failure, Part};
use serde::{Deserialize, Serialize};
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// The watch of one shard.
#[derive(Debug)]
pub(super) struct Watch {
    pub(super) heartbeat: RefCell<Heartbeat>,
    /// The last pause of the thread.
    pub(super) pause: Cell<Pause>,
    /// When operations stop being begun.
    pub(super) end: Nanos,
    open: Option<Open>,
    answers: Answers,
    outage: RefCell<OutageLog>,
    pulse: Arc<Pulse>,
    shard: usize,
}

/// What is watched only in an open loop.
#[derive(Debug)]
struct Open {
    late: RefCell<Histogram>,
    /// Operations that were not late by the client's fault, and are counted nowhere else.
    on_time: Cell<u64>,
    backlog: Cell<Backlog>,
}

/// What a watch has seen.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Watched {
    /// What the thread used and lost.
    pub loss: ThreadLoss,
    /// Outages, as far as this shard has seen them.
    pub outage: OutageLog,
    /// When it got no answer for long.
    #[serde(default)]
    pub silences: Silences,
    /// The backlog, in an open loop.
    pub backlog: Option<Backlog>,
}

impl Watch {
    /// Watches shard number `shard` from `start` to `end`. `open`: operations are due at given
    /// times.
    pub(super) fn new(
        (start, end): (Nanos, Nanos),
        open: bool,
        (pulse, shard): (Arc<Pulse>, usize),
    ) -> Self {
        let open = open.then(|| Open {
            late: RefCell::default(),
            on_time: Cell::default(),
            backlog: Cell::new(Backlog::new(start, end.saturating_sub(start))),
        });
        Self {
            heartbeat: RefCell::new(Heartbeat::new(start)),
            pause: Cell::default(),
            end,
            open,
            answers: Answers::new(start),
            outage: RefCell::default(),
            pulse,
            shard,
        }
    }

    /// An operation begins: notes how late it is by the client's fault.
    #[inline]
    pub(super) fn begin(&self, ticket: &Ticket) {
        let Some(open) = &self.open else { return };
        let late_ns = if ticket.awaited {
            ticket.began - ticket.intended
        } else {
            self.pause.get().delays(ticket.intended, ticket.began)
        };
        if late_ns == 0 {
            open.on_time.set(open.on_time.get() + 1);
        } else {
            open.late.borrow_mut().record(late_ns);
        }
    }

    /// A request that was begun at `began` has ended. In a healthy closed loop there is little to
    /// note, and that is done without a call.
    #[inline]
    pub(super) fn ended(
        &self,
        ended: (Part, Option<Failure>),
        times: (Nanos, &Timing),
        connection: (&mut Option<Spell>, &mut ConnectionTimes),
    ) {
        if ended.1.is_none_or(Failure::answered) {
            self.answers.add(times.1);
        }
        let served = ended.1.is_none() && connection.0.is_none();
        if served && self.open.is_none() && self.pulse.beats(self.shard, times.1.done) {
            return;
        }
        self.note(ended, times, connection);
    }

    fn note(
        &self,
        (part, failure): (Part, Option<Failure>),
        (began, timing): (Nanos, &Timing),
        connection: (&mut Option<Spell>, &mut ConnectionTimes),
    ) {
        self.heed(failure, (began, timing.done), connection);
        // The last part of an operation was due when the first one was.
        if let (Some(open), Part::Whole | Part::First) = (&self.open, part) {
            let mut backlog = open.backlog.get();
            backlog.add(timing.done.saturating_sub(timing.response_ns), timing.done);
            open.backlog.set(backlog);
        }
    }

    /// Notes whether a connection is served.
    #[inline]
    fn heed(
        &self,
        failure: Option<Failure>,
        (began, done): (Nanos, Nanos),
        (spell, times): (&mut Option<Spell>, &mut ConnectionTimes),
    ) {
        match failure {
            Some(failure) if failure.by_server() => {
                let mut log = self.outage.borrow_mut();
                log.failed(&self.pulse, spell, (began, failure.answered()));
            }
            _ => {
                let of = (&*self.pulse, self.shard);
                times.down_ns += OutageLog::succeeded(&self.outage, of, spell, (began, done));
            }
        }
    }

    /// A connection begins nothing more.
    pub(super) fn leave(&self, spell: &mut Option<Spell>, now: Nanos, times: &mut ConnectionTimes) {
        let until = now.min(self.end);
        times.down_ns += self.outage.borrow_mut().end(&self.pulse, spell, until);
    }

    /// Operations that were due at these times and will never begin.
    pub(super) fn left_over(&self, due: impl Iterator<Item = Nanos>) {
        if let Some(open) = &self.open {
            let mut backlog = open.backlog.get();
            due.for_each(|due| backlog.add(due, Nanos::MAX));
            open.backlog.set(backlog);
        }
    }

    /// The result.
    pub(super) fn finish(self, clock: crate::clock::Clock) -> Watched {
        let mut loss = self.heartbeat.into_inner().finish(clock);
        if let Some(open) = &self.open {
            let mut late: Histogram = open.late.take();
            late.record_many(0, open.on_time.get());
            loss.late = late;
        }
        let silences = self.answers.finish(&loss.pauses);
        let backlog = self.open.map(|open| open.backlog.get());
        Watched { loss, outage: self.outage.into_inner(), silences, backlog }
    }
}

#[cfg(test)]
#[path = "watch_tests.rs"]
mod tests;
