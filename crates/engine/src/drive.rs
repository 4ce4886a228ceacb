//! The hot loop: every operation of every workload on every target goes through here.

use super::lane::{AnyWorkload, Lane, LaneResult, TaskResult};
use super::notes::{OpResult, acknowledge, compare_age, divide, note};
use super::stop::{Patience, Stop, StopReason};
use super::tickets::{Ticket, Tickets};
use super::watch::{Connection, Late, RequestEnd, Watch};
use crate::clock::{Clock, Nanos};
use crate::driver::{Outcome, Session};
use crate::journal::Writer;
use crate::measure::{ConnectionTimes, FillLog, Probe, Recorder, Sample, Timing};
use crate::op::{ByKind, Class, Failure, Key, Op, OpKind, Part, Pen, Reply};
use crate::workload::{Check, Next, WorkloadFor};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// The result of one part of an operation of several requests.
struct PartEnd {
    timing: Timing,
    result: OpResult,
}

/// An operation of several requests, some of which have ended.
struct Whole {
    /// The result of all parts so far.
    so_far: PartEnd,
    parts: u64,
}

/// Wakes the task that checks whether the server is there.
#[derive(Debug, Default)]
pub(super) struct Suspicion {
    /// How the last operation without an answer failed.
    pub(super) last: Cell<Option<Failure>>,
    pub(super) wake: Notify,
}

impl Suspicion {
    /// Notes that an operation failed like this, without an answer. `asks` says whether this has
    /// gone on for so long that the server is to be checked.
    pub(super) fn raise(&self, failure: Failure, asks: bool) {
        self.last.set(Some(failure));
        if asks {
            self.wake.notify_one();
        }
    }
}

/// State shared by the connections of one shard.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) clock: Clock,
    pub(super) start: Nanos,
    pub(super) tickets: Tickets,
    pub(super) recorder: RefCell<Recorder>,
    /// When operations must have ended, as far as that can be predicted.
    pub(super) within: Option<Nanos>,
    /// Whether acknowledged writes are reported, for comparison with followed changes.
    pub(super) acks: bool,
    /// When documents were last written, if answers of an index are compared with that.
    pub(super) written: Option<RefCell<HashMap<Key, Nanos>>>,
    /// Documents for which an operation was begun, per kind.
    pub(super) issued: ByKind<Cell<u64>>,
    pub(super) watch: Watch,
    pub(super) stop: Arc<Stop>,
    pub(super) patience: Arc<Patience>,
    pub(super) doubt: Suspicion,
    /// The log of documents inserted in bulk, if one is kept.
    pub(super) fill: Option<RefCell<FillLog>>,
    /// The journal of writes, if there is one.
    pub(super) journal: Option<RefCell<Writer>>,
}

impl Shared {
    /// Counts an operation that begins.
    pub(super) fn issue(&self, kind: OpKind, documents: u32) {
        if let Some(issued) = self.issued.get(kind) {
            issued.set(issued.get() + u64::from(documents));
        }
    }

    /// Counts an operation that begins. Returns how late it is through the client's fault.
    fn begin(&self, op: &Op, ticket: Ticket) -> Late {
        self.issue(op.kind, op.documents);
        if op.part.follows() { Late::default() } else { self.watch.begin(&ticket) }
    }

    /// Notes for how long the client held up a request with this outcome.
    #[inline]
    fn held(&self, kind: OpKind, ok: bool, late: Late, timing: &Timing, noted: bool) {
        let held_ns = self.watch.held(late, timing, noted);
        if held_ns > 0 && ok {
            self.recorder.borrow_mut().hold(kind, timing, held_ns);
        }
    }

    /// The first request of a connection that had nothing to do since `free`. Without a pace, it
    /// was due then.
    fn first_sent(&self, timing: &Timing, free: Nanos) -> FirstSent {
        let sent = timing.done - timing.service_ns;
        let due = if self.tickets.has_pace() { timing.done - timing.response_ns } else { free };
        let (at_ns, late_ns) = (sent.saturating_sub(self.start), sent.saturating_sub(due));
        FirstSent { at_ns, late_ns }
    }

    /// Notes that a connection that has existed since `since` begins no more operations.
    fn leave(&self, since: Nanos, connection: &mut Connection) {
        let now = self.clock.now();
        self.watch.leave(connection, now, self.stop.reason());
        connection.times.close(now.saturating_sub(since));
        connection.times.ended_ns = now.saturating_sub(self.start);
    }

    /// Notes whether the server still answers.
    #[inline]
    fn heed(&self, outcome: &Outcome) {
        match outcome.result {
            Err(Failure::Authentication) => self.stop.raise(StopReason::Authentication),
            Err(failure) if outcome.is_silence() || failure.by_client() => self.refused(failure),
            _ => self.patience.answered(),
        }
    }

    /// Passes the outcome of an operation to the workload and the journal.
    #[inline]
    fn observe<S: Session>(
        &self,
        op: &Op,
        outcome: &Outcome,
        session: &S,
        workload: &mut dyn WorkloadFor<S::Pen>,
    ) -> Check {
        let (answered, result) = (session.answered(), learnt(outcome, session));
        if let Some(journal) = &self.journal {
            note(&mut journal.borrow_mut(), op, Some(result), answered.rows);
        }
        workload.observe(op, result, &answered)
    }

    /// Writes everything noted so far, including the write that is about to be sent, to the
    /// journal: from then on it is known, even if this process is killed, that the write may have
    /// been carried out.
    #[inline]
    fn announce(&self, next: &Next) {
        if let Some(journal) = &self.journal {
            let journal = &mut journal.borrow_mut();
            if let Next::Op(op) = next {
                note(journal, op, None, &[]);
            }
            journal.flush();
        }
    }

    /// Whether an operation would end too late if it took as long per document as the last one of
    /// its connection.
    #[inline]
    fn too_late(&self, op: &Op, last: Option<Pacemaker>) -> bool {
        let Some((within, last)) = self.within.zip(last) else { return false };
        let times = f64::from(op.documents.max(1)) / f64::from(last.documents.max(1));
        let foreseen_ns = last.took_ns as f64 * times.max(1.0);
        self.clock.now().saturating_add(foreseen_ns as Nanos) > within
    }

    /// Discards this operation, because the connection, free since `free`, may not begin it any
    /// more.
    #[cold]
    fn give_back(&self, op: &Op, free: Nanos, connection: &mut Connection) {
        connection.times.idle_ns += self.clock.now().saturating_sub(free);
        self.withdraw(op);
    }

    /// Notes that a write was not sent after all.
    #[cold]
    fn withdraw(&self, op: &Op) {
        if let Some(journal) = &self.journal {
            note(&mut journal.borrow_mut(), op, Some(Err(Failure::Connect)), &[]);
        }
    }

    /// Counts an operation of several requests when its first part has ended, and records it after
    /// its last part.
    #[inline]
    fn compose(&self, op: &Op, ended: PartEnd, whole: &mut Option<Box<Whole>>) {
        if op.part != Part::Whole {
            self.compose_of_parts(op, ended, whole);
        }
    }

    fn compose_of_parts(&self, op: &Op, ended: PartEnd, whole: &mut Option<Box<Whole>>) {
        if op.part == Part::First {
            self.issue(op.whole, 1);
        }
        let is_over = op.ends_whole(ended.result.is_err());
        let begun = whole.take().filter(|_| op.part.follows());
        let Whole { so_far, parts } = match begun.map(|whole| *whole) {
            Some(Whole { so_far: PartEnd { timing, result }, parts }) => Whole {
                so_far: PartEnd {
                    timing: timing.until(&ended.timing),
                    result: result.and(ended.result),
                },
                parts: parts + 1,
            },
            None => Whole { so_far: ended, parts: 1 },
        };
        if !is_over {
            *whole = Some(Box::new(Whole { so_far, parts }));
            return;
        }
        let mut sample = Sample::single(op.whole, &so_far.timing, so_far.result);
        if op.whole.is_own() {
            sample.wire.requests = Some(parts);
            // Rows and warnings belong to the parts.
            sample.result = so_far.result.map(|_| Reply::default());
        }
        self.recorder.borrow_mut().record(&sample);
    }

    /// Called when there was no connection or no answer. Has the server checked if there has been
    /// no answer for too long.
    #[cold]
    fn refused(&self, failure: Failure) {
        let asks = self.patience.failed(self.clock.now());
        self.doubt.raise(failure, asks);
    }
}

/// How long the last operation of a connection took, and how many documents it had.
#[derive(Clone, Copy)]
struct Pacemaker {
    documents: u32,
    took_ns: Nanos,
}

/// What a connection does next. Its first operation is prepared before the start, so that it only
/// needs to be sent then.
pub(super) struct Prepared<P> {
    pen: P,
    next: Next,
    /// When the connection was opened, if that was after the start.
    pub(super) since: Option<Nanos>,
}

impl<P: Pen> Prepared<P> {
    pub(super) fn new(workload: &mut dyn WorkloadFor<P>, mut pen: P) -> Self {
        let next = workload.next(&mut pen);
        Self { pen, next, since: None }
    }
}

pub(super) fn run_lane<S: Session>(
    shared: Rc<Shared>,
    seat: usize,
    mut lane: Lane<AnyWorkload<S>>,
    mut first: Box<Prepared<S::Pen>>,
    mut session: Box<S>,
    late: bool,
) -> impl Future<Output = TaskResult<S>> {
    async move {
        let workload = &mut *lane.workload;
        let (times, first_sent) = drive(&shared, seat, &mut *session, workload, &mut first).await;
        let first_sent_ns = first_sent.as_ref().map(|first| first.at_ns);
        let first_late_ns = first_sent.map(|first| first.late_ns);
        let Lane { connection, workload } = lane;
        let unopened = false;
        let result = LaneResult {
            connection,
            workload,
            times,
            first_sent_ns,
            first_late_ns,
            late,
            unopened,
        };
        Box::new(result)
    }
}

/// When a connection sent its first request, from the common start, and how late that was.
struct FirstSent {
    at_ns: Nanos,
    late_ns: Nanos,
}

/// Carries out the operations of one connection until its workload or the stage ends. Also returns
/// when its first request was sent.
fn drive<S: Session>(
    shared: &Shared,
    seat: usize,
    session: &mut S,
    workload: &mut dyn WorkloadFor<S::Pen>,
    prepared: &mut Prepared<S::Pen>,
) -> impl Future<Output = (ConnectionTimes, Option<FirstSent>)> {
    async move {
        let mut own = Connection::default();
        let mut last_done = prepared.since.unwrap_or(shared.start);
        let (mut first_part, mut first_sent, mut last) = (None, None, None);
        loop {
            shared.announce(&prepared.next);
            let op = match &prepared.next {
                Next::Op(op) => op,
                &Next::Wait(wait_ns) if !shared.tickets.ended() => {
                    let waited_ns = wait(shared, wait_ns).await;
                    own.times.idle_ns += waited_ns;
                    last_done += waited_ns;
                    prepared.next = workload.next(&mut prepared.pen);
                    continue;
                }
                Next::Wait(_) | Next::End => break,
            };
            if shared.too_late(op, last) {
                shared.give_back(op, last_done, &mut own);
                break;
            }
            // The time that a late worker's first connection takes is reported separately.
            let reopening = session.ready().await.filter(|_| first_sent.is_some());
            let pen = &mut prepared.pen;
            session.prepare(op, pen);
            let ticket = if op.part.follows() {
                shared.tickets.proceed(reopening)
            } else if let Some(ticket) = shared.tickets.at_once(reopening) {
                ticket
            } else if let Some(ticket) = shared.tickets.take(seat, last_done, reopening).await {
                ticket
            } else {
                shared.give_back(op, last_done, &mut own);
                break;
            };
            let late = shared.begin(op, ticket);
            own.times.idle_ns += ticket.idle_ns;
            let one_request = op.part == Part::Whole && session.is_one_request(op);
            if !one_request {
                shared.tickets.expect(false, ticket.began);
            }
            let mut probe = Probe::new(shared.clock, ticket.intended, ticket.began);
            let outcome = session.execute(op, pen, &mut probe).await;
            let check = shared.observe(op, &outcome, session, workload);
            let timing = probe.finish();
            first_sent = first_sent.or_else(|| Some(shared.first_sent(&timing, last_done)));
            if !record(shared, &mut own.times, op, pen.names(), &outcome, session, &timing) {
                tell(shared, op, &outcome, session);
            }
            shared.held(op.kind, outcome.result.is_ok(), late, &timing, probe.noted());
            last_done = timing.done;
            last = Some(Pacemaker { documents: op.documents, took_ns: last_done - probe.began() });
            own.times.noted_answers += u64::from(probe.noted());
            shared.tickets.answered(one_request, &probe, timing.done);
            let end = RequestEnd::new(op, &outcome, &probe, &timing);
            shared.watch.ended(end, &mut own);
            shared.checked(check, timing.done, workload, &|| session.place_of(op.key));
            if op.ends_whole(outcome.result.is_err()) {
                shared.tickets.done(seat, timing.done);
            }
            let ended = PartEnd { timing, result: outcome.result };
            shared.compose(op, ended, &mut first_part);
            shared.heed(&outcome);
            pen.clear();
            // Generate the document before the wait, so that a due operation is sent at once.
            prepared.next = workload.next(pen);
        }
        shared.leave(prepared.since.unwrap_or(shared.start), &mut own);
        (own.times, first_sent)
    }
}

/// The outcome of an operation. One that failed without an answer may have been carried out, which
/// the driver can find out.
#[inline]
fn learnt(outcome: &Outcome, session: &impl Session) -> OpResult {
    match outcome.result {
        Err(Failure::Unanswered) => session.settled().map_or(outcome.result, Ok),
        result => result,
    }
}

/// Waits as long as the workload asks, but not beyond the end. Returns how long it waited.
#[cold]
async fn wait(shared: &Shared, wait_ns: Nanos) -> Nanos {
    let from = shared.clock.now();
    while let Some(left) = shared.tickets.left(from.saturating_add(wait_ns)) {
        tokio::time::sleep(Duration::from_nanos(left)).await;
    }
    shared.clock.now() - from
}

/// Records one finished operation, for the shard and for its connection. Returns whether all of it
/// succeeded.
#[inline]
fn record(
    shared: &Shared,
    times: &mut ConnectionTimes,
    op: &Op,
    names: &[u8],
    outcome: &Outcome,
    session: &impl Session,
    timing: &Timing,
) -> bool {
    let mut row_failures = [0; Failure::COUNT];
    // For a batch without an answer, the rows contain what was found out later.
    let (rows, mut ok) = match outcome.result {
        Ok(_) => (session.answered().rows, u64::from(op.documents)),
        Err(_) => (&[][..], 0),
    };
    for failure in rows.iter().filter_map(|row| row.err()) {
        row_failures[failure.index()] += 1;
        ok -= 1;
    }
    times.add(op.kind, timing, ok);
    if let (Class::Batch, Some(fill)) = (op.kind.class(), &shared.fill) {
        fill.borrow_mut().add(timing.done.saturating_sub(shared.start), ok);
    }
    let sample = Sample {
        documents: op.documents,
        row_failures: (!rows.is_empty()).then_some(&row_failures),
        bytes: outcome.bytes,
        wire: outcome.wire,
        statuses: session.statuses(),
        ..Sample::single(op.kind, timing, outcome.result)
    };
    let mut recorder = shared.recorder.borrow_mut();
    recorder.record(&sample);
    if let Some(written) = &shared.written {
        compare_age(op, outcome.result, timing, &mut written.borrow_mut(), &mut recorder);
    }
    if shared.acks {
        acknowledge(op, names, outcome.result, rows, &mut recorder, timing.done);
    }
    if let Some(node) = session.node() {
        recorder.record_node(node, &sample);
        shared.watch.ended_at(node, outcome.result.err(), timing);
    } else if !session.row_nodes().is_empty() {
        divide(&shared.watch, session.row_nodes(), rows, &sample, &mut recorder);
    }
    ok == u64::from(op.documents)
}

/// Keeps the reason of a failed operation, if it is the first of its kind and class.
#[cold]
fn tell(shared: &Shared, op: &Op, outcome: &Outcome, session: &impl Session) {
    let mut recorder = shared.recorder.borrow_mut();
    let mut tell = |failure| recorder.tell(op.kind, failure, || session.reason(failure));
    match outcome.result {
        Ok(_) => session.answered().rows.iter().filter_map(|row| row.err()).for_each(tell),
        Err(failure) => tell(failure),
    }
}

#[cfg(test)]
#[path = "drive_tests.rs"]
mod tests;
