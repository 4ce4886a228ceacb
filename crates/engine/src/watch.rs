//! What a shard watches besides recording operations: whether it is late through its own fault, its
//! backlog, whether anything succeeds, and whether the server answers.

use super::heartbeat::{BEAT_NS, Heartbeat};
use super::stop::StopReason;
use super::tickets::Ticket;
use crate::clock::Nanos;
use crate::driver::Outcome;
use crate::measure::{
    Answers, Backlog, ConnectionTimes, HELD_NS, Histogram, NodeAnswers, OutageLog, PAUSE_NS, Pause,
    PoolLog, Probe, Pulse, Silences, Spans, Spell, ThreadLoss, Timing,
};
use crate::op::{Failure, Op, Part};
use serde::{Deserialize, Serialize};
use std::cell::{Cell, RefCell};
use std::sync::Arc;

#[derive(Clone, Copy, Debug)]
pub(super) struct RequestEnd<'a> {
    pub(super) part: Part,
    pub(super) failure: Option<Failure>,
    pub(super) began: Nanos,
    /// Until when the server was asked in vain what became of it, if it was.
    pub(super) silent_until: Nanos,
    pub(super) timing: &'a Timing,
}

impl<'a> RequestEnd<'a> {
    pub(super) fn new(op: &Op, outcome: &Outcome, probe: &Probe, timing: &'a Timing) -> Self {
        let (part, failure) = (op.part, outcome.result.err());
        Self { part, failure, began: probe.began(), silent_until: probe.silent_until(), timing }
    }
}

/// How late an operation was begun through the client's fault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Late {
    /// When it could have begun. Once the client was ready again, it may have waited for a
    /// connection, too.
    pub(super) from: Nanos,
    /// For how long the client delayed it, in nanoseconds.
    pub(super) ns: Nanos,
}

/// The notes about one connection.
#[derive(Debug, Default)]
pub(super) struct Connection {
    pub(super) times: ConnectionTimes,
    /// Its outage, while it has one.
    pub(super) spell: Option<Spell>,
    /// The time that was counted before the first request of its outage.
    counted_ns: Nanos,
}

impl Connection {
    /// Notes that an outage of this length has ended. The requests that failed in it are counted
    /// already; the one after it took `next_ns`.
    #[cold]
    fn was_down(&mut self, down_ns: Nanos, next_ns: Nanos) {
        let counted_ns = self.times.counted_ns().saturating_sub(next_ns);
        let failed_ns = counted_ns.saturating_sub(self.counted_ns);
        self.times.down_ns += down_ns;
        self.times.away_ns += down_ns.saturating_sub(failed_ns);
    }
}

#[derive(Debug)]
pub(super) struct Watch {
    pub(super) heartbeat: RefCell<Heartbeat>,
    pub(super) pause: Cell<Pause>,
    /// When the next beat is due: a thread that is late for it is in a pause.
    pub(super) next_beat: Cell<Nanos>,
    /// When the thread last began an operation: it was not paused before then.
    alive: Cell<Nanos>,
    held: Cell<(u64, Nanos)>,
    holding: RefCell<Spans>,
    unsent: Cell<u64>,
    /// When operations stop being begun.
    pub(super) end: Nanos,
    open: Option<Open>,
    start: Nanos,
    answers: Answers,
    /// By the number of the node, if there are several.
    nodes: RefCell<Vec<NodeAnswers>>,
    outage: RefCell<OutageLog>,
    pulse: Arc<Pulse>,
    shard: usize,
}

/// The part that is only needed in an open loop.
#[derive(Debug)]
struct Open {
    late: RefCell<Histogram>,
    /// Operations that were not late through the client's fault, and are counted nowhere else.
    on_time: Cell<u64>,
    backlog: RefCell<Backlog>,
}

/// The results of a watch.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Watched {
    /// What the thread used and lost.
    pub loss: ThreadLoss,
    /// Outages, as far as this shard has seen them.
    pub outage: OutageLog,
    /// When there was no answer for a long time.
    #[serde(default)]
    pub silences: Silences,
    /// The silences of each node, if there are several; later moved to the other information about
    /// the nodes.
    #[serde(skip)]
    pub nodes: Vec<Silences>,
    /// The backlog, in an open loop.
    pub backlog: Option<Backlog>,
    /// How the connections were used, in an open loop.
    #[serde(default)]
    pub pool: Option<PoolLog>,
    /// Up to when operations fell due, from the common start, in nanoseconds, if an open loop was
    /// stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped_ns: Option<Nanos>,
}

impl Watch {
    /// Watches shard number `shard` from `start` to `end`. `open` if operations are due at given
    /// times.
    pub(super) fn new(
        start: Nanos,
        end: Nanos,
        open: bool,
        pulse: Arc<Pulse>,
        shard: usize,
    ) -> Self {
        let open = open.then(|| Open {
            late: RefCell::default(),
            on_time: Cell::default(),
            backlog: RefCell::new(Backlog::new(start, end.saturating_sub(start))),
        });
        Self {
            heartbeat: RefCell::new(Heartbeat::new(start)),
            pause: Cell::default(),
            next_beat: Cell::new(Nanos::MAX),
            alive: Cell::new(start),
            held: Cell::default(),
            holding: RefCell::default(),
            unsent: Cell::default(),
            end,
            open,
            start,
            answers: Answers::new(start),
            nodes: RefCell::default(),
            outage: RefCell::default(),
            pulse,
            shard,
        }
    }

    /// Notes and returns how late an operation that begins is through the client's fault.
    #[inline]
    pub(super) fn begin(&self, ticket: &Ticket) -> Late {
        let &Ticket { intended, began, awaited, .. } = ticket;
        self.look(began);
        self.alive.set(began);
        let Some(open) = &self.open else { return Late::default() };
        let late = if awaited {
            Late { from: intended, ns: began - intended }
        } else {
            let pause = self.pause.get();
            Late { from: intended.max(pause.from), ns: pause.delays(intended, began) }
        };
        if late.ns == 0 {
            open.on_time.set(open.on_time.get() + 1);
        } else {
            open.late.borrow_mut().record(late.ns);
        }
        late
    }

    /// Notes the pause from which the thread is returning at `now`, if there was one and its beat
    /// has not noted it yet.
    #[inline]
    pub(super) fn look(&self, now: Nanos) {
        if now >= self.next_beat.get().saturating_add(PAUSE_NS) {
            self.came_back(now);
        }
    }

    /// Notes a pause. The thread has begun nothing since it was last seen alive, which was at most
    /// one beat before the one that it missed.
    #[cold]
    fn came_back(&self, now: Nanos) {
        let due = self.next_beat.replace(Nanos::MAX);
        let from = self.alive.get().max(due.saturating_sub(BEAT_NS)).min(now);
        self.pause.set(Pause { from, to: now });
        self.heartbeat.borrow_mut().loss.pauses.add(due, now);
    }

    /// How long the client held up a request that it began this late, or whose answer it may have
    /// left unread in a pause; `noted` if the kernel timestamped the answer. Anything shorter than
    /// [`HELD_NS`] is 0.
    #[inline]
    pub(super) fn held(&self, late: Late, timing: &Timing, noted: bool) -> Nanos {
        let mut unread_ns = 0;
        if !noted {
            self.look(timing.done);
            unread_ns = self.pause.get().holds(timing.done - timing.service_ns, timing.done);
        }
        if late.ns + unread_ns < HELD_NS { 0 } else { self.hold(late, unread_ns, timing) }
    }

    #[cold]
    fn hold(&self, late: Late, unread_ns: Nanos, timing: &Timing) -> Nanos {
        let held_ns = (late.ns + unread_ns).min(timing.response_ns);
        let (count, sum) = self.held.get();
        self.held.set((count + 1, sum + held_ns));
        let mut holding = self.holding.borrow_mut();
        holding.add(late.from, late.from + late.ns);
        holding.add(timing.done.saturating_sub(unread_ns), timing.done);
        held_ns
    }

    /// Notes that a request has ended. In a healthy closed loop there is little to note, and this
    /// takes no function call.
    #[inline]
    pub(super) fn ended(&self, ended: RequestEnd<'_>, connection: &mut Connection) {
        if ended.failure.is_none_or(Failure::answered) {
            self.answers.add(ended.timing);
        }
        let served = ended.failure.is_none() && connection.spell.is_none();
        if served && self.open.is_none() && self.beats(&ended) {
            return;
        }
        self.note(ended, connection);
    }

    #[inline]
    fn beats(&self, ended: &RequestEnd<'_>) -> bool {
        self.pulse.beats(self.shard, ended.began, ended.timing.done)
    }

    /// Notes that a request to this node, one of several, has ended.
    #[inline]
    pub(super) fn ended_at(&self, node: usize, failure: Option<Failure>, timing: &Timing) {
        let mut nodes = self.nodes.borrow_mut();
        while nodes.len() <= node {
            nodes.push(NodeAnswers::new(self.start));
        }
        if failure.is_none_or(|failure| !failure.unconnected()) {
            nodes[node].add(timing, failure.is_none_or(Failure::answered));
        }
    }

    fn note(&self, ended: RequestEnd<'_>, connection: &mut Connection) {
        self.heed(ended, connection);
        let RequestEnd { part, timing, .. } = ended;
        // The last part of an operation was due when the first one was.
        if let (Some(open), Part::Whole | Part::First) = (&self.open, part) {
            let due = timing.done.saturating_sub(timing.response_ns);
            open.backlog.borrow_mut().add(due, timing.done);
        }
    }

    /// Notes whether a connection is served.
    #[inline]
    fn heed(&self, ended: RequestEnd<'_>, connection: &mut Connection) {
        let (began, done, phases_ns) = (ended.began, ended.timing.done, ended.timing.phases_ns());
        let (silent_until, spell) = (ended.silent_until, &mut connection.spell);
        match ended.failure {
            // This failure says nothing about the server.
            Some(failure) if failure.by_client() => {}
            Some(failure) if failure.unserved() => {
                if spell.is_none() {
                    let counted_ns = connection.times.counted_ns();
                    connection.counted_ns = counted_ns.saturating_sub(phases_ns);
                }
                let mut log = self.outage.borrow_mut();
                log.failed(&self.pulse, spell, began, done, failure);
                if silent_until > done {
                    log.asked_in_vain(&self.pulse, spell, done, silent_until, failure);
                }
            }
            _ => {
                let (log, pulse) = (&self.outage, &self.pulse);
                let down_ns = OutageLog::succeeded(log, pulse, self.shard, spell, began, done);
                if down_ns > 0 {
                    connection.was_down(down_ns, phases_ns);
                }
            }
        }
    }

    /// Notes that a connection begins no more operations; `stopped` is the reason, if the run is
    /// stopped.
    pub(super) fn leave(
        &self,
        connection: &mut Connection,
        now: Nanos,
        stopped: Option<StopReason>,
    ) {
        let (until, spell) = (now.min(self.end), &mut connection.spell);
        let gave_up = stopped.is_some_and(StopReason::gave_up);
        let down_ns = self.outage.borrow_mut().leave(&self.pulse, spell, until, gave_up);
        connection.was_down(down_ns, 0);
    }

    /// Notes operations that were due at these times and will never begin. If the thread returned
    /// from a pause after the end, those that became due during the pause were held up by the
    /// client.
    pub(super) fn left_over(&self, due: impl Iterator<Item = Nanos>) {
        let Some(open) = &self.open else { return };
        let Pause { from, to } = self.pause.get();
        for due in due {
            if due >= from && to >= self.end {
                self.unsent.set(self.unsent.get() + 1);
            } else {
                open.backlog.borrow_mut().add(due, Nanos::MAX);
            }
        }
    }

    pub(super) fn finish(self, clock: crate::clock::Clock) -> Watched {
        let mut loss = self.heartbeat.into_inner().finish(clock);
        if let Some(open) = &self.open {
            let mut late: Histogram = open.late.take();
            late.record_many(0, open.on_time.get());
            loss.late = late;
        }
        let mut window = Spans::default();
        window.add(0, self.end);
        loss.paused_ns = loss.pauses.common(&window).total_ns();
        (loss.held, loss.held_ns) = self.held.get();
        (loss.holding, loss.unsent) = (self.holding.into_inner(), self.unsent.get());
        let silences = self.answers.finish(&loss.pauses);
        let nodes = self.nodes.into_inner();
        let nodes = nodes.iter().map(|node| node.finish(&loss.pauses)).collect();
        let backlog = self.open.map(|open| open.backlog.into_inner());
        let outage = self.outage.into_inner();
        Watched { loss, outage, silences, nodes, backlog, pool: None, stopped_ns: None }
    }
}

#[cfg(test)]
#[path = "watch_tests.rs"]
mod tests;
