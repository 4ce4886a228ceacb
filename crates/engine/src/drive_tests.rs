//! What the loop notes about single operations: counts, times, failures, and the journal.

use super::*;
use crate::clock::SECOND_NS;
use crate::journal::{Fate, Journal};
use crate::measure::{BodyBytes, Histogram, Interval, Pulse, Wire};
use crate::op::{Answered, Draft, Reason, Token, Unconfirmed};
use crate::pace::{Arrivals, Pace, Schedule, Segment};
use crate::share::Share;
use crate::workload::Workload;
use std::sync::mpsc::{Receiver, Sender, channel};

const MS: Nanos = 1_000_000;

/// The state of one connection of a closed loop, from now on.
fn shared(sink: Sender<Interval>) -> Shared {
    let clock = Clock::virtual_time();
    let (start, end) = (clock.now(), Nanos::MAX);
    let (stop, pace) = (Arc::<Stop>::default(), Pace::Closed { think_ns: 0 });
    let share = Share { shard: (0, 1), own: 1, open: 1, all: 1, operations: None };
    Shared {
        clock,
        start,
        tickets: Tickets::new(clock, stop.clone(), &pace, share, (start, end)),
        recorder: RefCell::new(Recorder::new(start, end, false, sink)),
        within: None,
        acks: false,
        written: None,
        issued: ByKind::new(),
        watch: Watch::new(start, end, false, Arc::new(Pulse::new(1)), 0),
        stop,
        patience: Arc::new(Patience::new(SECOND_NS)),
        doubt: Suspicion::default(),
        fill: None,
        journal: None,
    }
}

/// What was recorded, all of it in the first second.
fn recorded(shared: &Shared, source: &Receiver<Interval>) -> Interval {
    shared.recorder.borrow_mut().finish();
    source.try_recv().expect("a second")
}

/// A server that fails every operation, or that last answered with these rows.
#[derive(Default)]
struct Server {
    rows: Vec<Result<Token, Failure>>,
    nodes: Vec<Option<usize>>,
}

impl Session for Server {
    type Pen = Draft;

    fn pen(&self) -> Draft {
        Draft::default()
    }

    fn row_nodes(&self) -> &[Option<usize>] {
        &self.nodes
    }

    async fn ready(&mut self) -> Option<Nanos> {
        None
    }

    async fn execute(&mut self, _: &Op, _: &mut Draft, probe: &mut Probe) -> Outcome {
        let now = probe.began();
        probe.mark_send();
        probe.mark_received_at(now);
        Outcome::of(Err(Failure::ServerError))
    }

    fn answered(&self) -> Answered<'_> {
        Answered { rows: &self.rows, ..Answered::default() }
    }

    fn reason(&self, failure: Failure) -> Option<Reason> {
        Some(Reason::new(None, failure.name()))
    }

    fn statuses(&self) -> &[u16] {
        &[201, 409]
    }
}

/// A single read of a document that is right, and what a check shows about its writes.
struct Once(bool, Unconfirmed);

impl Workload for Once {
    fn next<P: Pen>(&mut self, _: &mut P) -> Next {
        let left = std::mem::take(&mut self.0);
        if left { Next::Op(Op::single(OpKind::Read, 7, None)) } else { Next::End }
    }

    fn observe(&mut self, _: &Op, _: Result<Reply, Failure>, _: &Answered<'_>) -> Check {
        Check::Checked(Ok(()))
    }

    fn unconfirmed(&mut self) -> Option<Unconfirmed> {
        Some(self.1)
    }
}

#[tokio::test(start_paused = true)]
async fn a_batch_is_recorded_document_by_document_and_node_by_node() {
    let (sink, source) = channel();
    let mut shared = shared(sink);
    shared.fill = Some(RefCell::new(FillLog::new(10)));
    let (stored, refused) = (Ok(Token::default()), Err(Failure::Conflict));
    let rows = vec![stored, refused, stored, refused];
    let server = Server { rows, nodes: vec![Some(0), Some(1), Some(1), None] };
    let op = Op { documents: 4, ..Op::single(OpKind::BulkInsert, 7, None) };
    let bytes = BodyBytes { sent: 11, received: 13 };
    let wire = Wire { requests: Some(2), ..Wire::default() };
    let done = Outcome { bytes, wire, ..Outcome::of(Ok(Reply::default())) };
    let lost = Outcome { result: Err(Failure::Timeout), ..done };
    let timing = Timing::between(shared.start, shared.start + 5 * MS);
    let mut times = ConnectionTimes::default();
    for outcome in [done, lost] {
        let is_ok = record(&shared, &mut times, &op, b"", &outcome, &server, &timing);
        assert!(!is_ok, "{outcome:?}");
        tell(&shared, &op, &outcome, &server);
    }
    let (read, whole) = (Op::single(OpKind::Read, 7, None), Server::default());
    assert!(record(&shared, &mut times, &read, b"", &done, &whole, &timing));
    let ok = |kind| times.kind(kind).ok;
    assert_eq!((ok(OpKind::BulkInsert), ok(OpKind::Read)), (2, 1));
    let mut fill = FillLog::new(10);
    fill.add(5 * MS, 2);
    assert_eq!(shared.fill.as_ref().map(RefCell::take), Some(fill));
    let interval = recorded(&shared, &source);
    let kind = interval.kind(OpKind::BulkInsert).unwrap();
    let failed = |failure: Failure| kind.failures[failure.index()];
    assert_eq!((kind.requests, kind.ok), (2, 2));
    assert_eq!((failed(Failure::Conflict), failed(Failure::Timeout)), (2, 4));
    assert_eq!(kind.bytes, BodyBytes { sent: 22, received: 26 });
    assert_eq!(kind.wire, Wire { requests: Some(4), ..Wire::default() });
    assert_eq!(kind.statuses, [(201, 2), (409, 2)].into());
    let told: Vec<_> = kind.reasons.keys().copied().collect();
    assert_eq!(told, [Failure::Conflict, Failure::Timeout]);
    let nodes = interval.nodes().iter();
    let nodes = nodes.map(|it| (it.requests, it.ok, it.failures.iter().sum::<u64>()));
    assert_eq!(nodes.collect::<Vec<_>>(), [(2, 1, 1), (2, 1, 3)]);
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_explained_and_what_a_check_found_out_is_counted() {
    let (sink, source) = channel();
    let (shared, mut server) = (shared(sink), Server::default());
    let mut once = Once(true, Unconfirmed::Doubtful { failed: true, done: true });
    let mut first = Prepared::<Draft>::new(&mut once, server.pen());
    let (times, sent) = drive(&shared, 0, &mut server, &mut once, &mut first).await;
    assert_eq!((times.noted_answers, sent.map(|it| it.at_ns)), (1, Some(0)));
    let interval = recorded(&shared, &source);
    let reasons = &interval.kind(OpKind::Read).unwrap().reasons;
    assert_eq!(reasons.keys().copied().collect::<Vec<_>>(), [Failure::ServerError]);
    let verified = interval.kind(OpKind::Verify).unwrap();
    assert_eq!((verified.ok, verified.wire.failed_carried_out), (1, 1));
    assert_eq!(verified.never_written, 0);
}

#[tokio::test(start_paused = true)]
async fn what_was_never_written_is_counted_apart() {
    let (sink, source) = channel();
    let (shared, mut server) = (shared(sink), Server::default());
    let mut once = Once(true, Unconfirmed::NeverWritten);
    let mut first = Prepared::<Draft>::new(&mut once, server.pen());
    let (_, sent) = drive(&shared, 0, &mut server, &mut once, &mut first).await;
    assert!(sent.is_some());
    let interval = recorded(&shared, &source);
    let verified = interval.kind(OpKind::Verify).unwrap();
    assert_eq!((verified.ok, verified.wire.failed_carried_out), (1, 0));
    assert_eq!(verified.never_written, 1);
}

/// A server whose answers take 20 ms and are in one piece, with the kernel's timestamp. Whether
/// each is the only one of its operation is what the driver says.
struct Noted(bool);

impl Session for Noted {
    type Pen = Draft;

    fn pen(&self) -> Draft {
        Draft::default()
    }

    async fn ready(&mut self) -> Option<Nanos> {
        None
    }

    fn is_one_request(&self, _: &Op) -> bool {
        self.0
    }

    async fn execute(&mut self, _: &Op, _: &mut Draft, probe: &mut Probe) -> Outcome {
        probe.mark_send();
        tokio::time::sleep(Duration::from_millis(20)).await;
        let now = probe.clock().now();
        probe.mark_received_at(now);
        Outcome::of(Ok(Reply::default()))
    }
}

/// A read that is this part of an operation, once.
struct OncePart(Option<Part>);

impl Workload for OncePart {
    fn next<P: Pen>(&mut self, _: &mut P) -> Next {
        let Some(part) = self.0.take() else { return Next::End };
        Next::Op(Op { part, ..Op::single(OpKind::Read, 7, None) })
    }

    fn observe(&mut self, _: &Op, _: Result<Reply, Failure>, _: &Answered<'_>) -> Check {
        Check::Unchecked
    }
}

/// Where another request may have to follow an answer, the answer is read as soon as it comes.
#[tokio::test(start_paused = true)]
async fn a_shard_may_nap_only_during_operations_of_one_request() {
    for (one_request, part, may) in
        [(true, Part::Whole, true), (false, Part::Whole, false), (true, Part::First, false)]
    {
        let (sink, _source) = channel();
        let mut shared = shared(sink);
        let segments = vec![Segment { length_ns: 9 * SECOND_NS, from: 1.0, to: 1.0 }];
        let schedule = Schedule { segments, arrivals: Arrivals::Constant, seed: 1 };
        let pace = Pace::Open { schedule, max_in_flight: 10, slack_ns: 0 };
        let share = Share { shard: (0, 1), own: 1, open: 1, all: 1, operations: None };
        let (start, stop) = (shared.start, shared.stop.clone());
        shared.tickets = Tickets::new(shared.clock, stop, &pace, share, (start, Nanos::MAX));
        // So far, all answers could have waited.
        shared.tickets.expect(true, start);
        let may_nap = || shared.tickets.answers_can_wait(start + SECOND_NS);
        assert!(may_nap());
        let (mut server, mut once) = (Noted(one_request), OncePart(Some(part)));
        let mut first = Prepared::<Draft>::new(&mut once, server.pen());
        let meanwhile = async {
            tokio::time::sleep(Duration::from_millis(10)).await;
            may_nap()
        };
        let driven = drive(&shared, 0, &mut server, &mut once, &mut first);
        let (driven, meanwhile) = tokio::join!(driven, meanwhile);
        assert!(driven.1.is_some(), "it was sent");
        assert_eq!((meanwhile, may_nap()), (may, may), "{one_request} {part:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_succeeds_after_the_client_held_it_up_is_also_kept_without_that() {
    for (late_ns, ok, kept) in [
        (2 * MS, true, true),
        (MS, true, true),
        (MS - 1, true, false),
        (0, true, false),
        (2 * MS, false, false),
        (0, false, false),
    ] {
        let (sink, source) = channel();
        let shared = shared(sink);
        let timing = Timing::between(shared.start, shared.start + 5 * MS);
        let late = Late { from: shared.start, ns: late_ns };
        shared.held(OpKind::Read, ok, late, &timing, true);
        let interval = recorded(&shared, &source);
        let held = interval.kind(OpKind::Read).and_then(|kind| kind.held.as_deref());
        let mut without = Histogram::default();
        without.record(5 * MS - late_ns);
        assert_eq!(held.map(|it| &it.without), kept.then_some(&without), "{late_ns} {ok}");
    }
}

#[tokio::test(start_paused = true)]
async fn times_of_a_connection_are_counted_from_the_start() {
    let (sink, _source) = channel();
    let mut shared = shared(sink);
    let start = shared.start;
    let timing = Timing::between(start + 20 * MS, start + 25 * MS);
    let first = shared.first_sent(&timing, start + 18 * MS);
    assert_eq!((first.at_ns, first.late_ns), (20 * MS, 2 * MS));
    // Exactly at the end is in time.
    shared.within = Some(start + 100);
    let op = Op::single(OpKind::Read, 7, None);
    let late = [99, 100, 101].map(|took_ns| {
        let last = Pacemaker { documents: 1, took_ns };
        shared.too_late(&op, Some(last))
    });
    assert_eq!(late, [false, false, true]);
    tokio::time::advance(Duration::from_millis(30)).await;
    let times = ConnectionTimes { idle_ns: 4 * MS, ..ConnectionTimes::default() };
    let mut connection = Connection::default();
    connection.times = times;
    shared.leave(start + 10 * MS, &mut connection);
    let ConnectionTimes { ended_ns, local_ns, .. } = connection.times;
    assert_eq!((ended_ns, local_ns), (30 * MS, 16 * MS));
}

#[tokio::test(start_paused = true)]
async fn a_write_is_in_the_journal_before_it_is_sent_and_taken_back_if_it_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let journal = Journal::create(folder.path()).unwrap();
    let (sink, _source) = channel();
    let mut shared = shared(sink);
    shared.journal = Some(RefCell::new(journal.writer(0, 0)));
    let fates = || {
        let mut fates = Vec::new();
        // As it would be found after a kill.
        Journal::open(folder.path()).read(false, |it| fates.push((it.key, it.fate))).unwrap();
        fates
    };
    let op = Op::single(OpKind::Create, 7, None);
    shared.announce(&Next::Op(op));
    assert_eq!(fates(), [(7, Fate::Sent)]);
    tokio::time::advance(Duration::from_millis(3)).await;
    let mut connection = Connection::default();
    shared.give_back(&op, shared.start + MS, &mut connection);
    assert_eq!(connection.times.idle_ns, 2 * MS);
    shared.announce(&Next::End);
    assert_eq!(fates(), [(7, Fate::Sent), (7, Fate::Refused)]);
}

#[tokio::test(start_paused = true)]
async fn an_operation_of_several_requests_counts_once_with_their_number() {
    let several = OpKind::of_name("several").unwrap();
    let (sink, source) = channel();
    let (shared, mut whole) = (shared(sink), None);
    for (part, from_ms, done_ms) in
        [(Part::First, 5, 10), (Part::Middle, 11, 15), (Part::Last, 16, 30)]
    {
        let op = Op { part, whole: several, ..Op::single(OpKind::Read, 7, None) };
        let timing = Timing::between(shared.start + from_ms * MS, shared.start + done_ms * MS);
        let ended = PartEnd { timing, result: Ok(Reply::default()) };
        shared.compose(&op, ended, &mut whole);
        assert_eq!(whole.is_none(), part == Part::Last);
    }
    assert_eq!(shared.issued.get(several).map(Cell::get), Some(1));
    let interval = recorded(&shared, &source);
    let kind = interval.kind(several).unwrap();
    assert_eq!((kind.requests, kind.ok, kind.wire.requests), (1, 1, Some(3)));
    let mut service = Histogram::default();
    service.record(25 * MS);
    assert_eq!(kind.service, service);
}
