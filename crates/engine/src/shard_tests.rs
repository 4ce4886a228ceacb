//! The engine on paused time: pace, stop, drain and timeout, against servers that are functions.

#[path = "doubt_tests.rs"]
mod doubt;
#[path = "fake_tests.rs"]
mod fake;
#[path = "heed_tests.rs"]
mod heed;
#[path = "pool_tests.rs"]
mod pool;
#[path = "result_tests.rs"]
mod result;
#[path = "stopped_tests.rs"]
mod stopped;
#[path = "wait_tests.rs"]
mod wait;
#[path = "within_tests.rs"]
mod within;

use super::*;
use crate::clock::SECOND_NS;
use crate::driver::Outcome;
use crate::measure::{Probe, Totals};
use crate::op::{Answered, Draft, Failure, Op, OpKind, Part, Pen, Reply};
use crate::workload::{Check, Next};
use crate::{Arrivals, DEFAULT_SLACK_NS, Schedule, Segment, StopReason};
use fake::{FakeSession, Server, ShardOf};
use std::sync::mpsc::channel;

const MS: Nanos = 1_000_000;

struct Reads(u64);

impl Workload for Reads {
    fn next<P: Pen>(&mut self, _: &mut P) -> Next {
        let Some(left) = self.0.checked_sub(1) else { return Next::End };
        self.0 = left;
        Next::Op(Op::single(OpKind::Read, left, None))
    }

    fn observe(&mut self, _: &Op, _: Result<Reply, Failure>, _: &Answered<'_>) -> Check {
        Check::Unchecked
    }
}

struct Run {
    totals: Totals,
    load: LoadCounts,
    pool: Option<crate::measure::PoolLog>,
    backlog: Option<crate::measure::Backlog>,
    stopped_ns: Option<Nanos>,
    elapsed_s: f64,
    /// For how long the connections had nothing to do.
    idle_ns: Nanos,
    /// For each lane: whether it was late, and when its first request was sent.
    starts: Vec<(bool, Option<Nanos>)>,
    /// How late the first request of the first lane was sent.
    first_late_ns: Option<Nanos>,
}

impl Run {
    fn reads(&self) -> crate::measure::OperationSummary {
        self.totals.summarize(self.elapsed_s).remove(0)
    }
}

fn rate(per_s: f64, seconds: u64, max_in_flight: u64) -> Pace {
    let segments = vec![Segment { length_ns: seconds * SECOND_NS, from: per_s, to: per_s }];
    let schedule = Schedule { segments, arrivals: Arrivals::Constant, seed: 1 };
    Pace::Open { schedule, max_in_flight, slack_ns: DEFAULT_SLACK_NS }
}

/// Runs `connections` connections, each with `ops` operations, for up to `seconds`.
async fn run(
    server: Server,
    pace: Pace,
    (connections, ops): (usize, u64),
    seconds: Option<u64>,
    stop: Arc<Stop>,
) -> Run {
    let lane = |connection| Lane { connection, workload: Reads(ops) };
    let lanes = (0..connections).map(lane).collect();
    run_workloads((server, pace), (lanes, ops), seconds, stop).await
}

async fn run_workloads<T: Target, W: Workload + 'static>(
    load: (T, Pace),
    work: (Vec<Lane<W>>, u64),
    seconds: Option<u64>,
    stop: Arc<Stop>,
) -> Run {
    run_on(Clock::virtual_time(), load, work, seconds, stop).await
}

async fn run_on<T: Target, W: Workload + 'static>(
    clock: Clock,
    load: (T, Pace),
    (lanes, ops): (Vec<Lane<W>>, u64),
    seconds: Option<u64>,
    stop: Arc<Stop>,
) -> Run {
    let connections = lanes.len();
    run_from(connections, clock, load, (lanes, ops), (seconds, stop)).await
}

/// Like [`run`], with this many connections open from the start.
async fn run_from<T: Target, W: Workload + 'static>(
    connections: usize,
    clock: Clock,
    (server, pace): (T, Pace),
    (lanes, ops): (Vec<Lane<W>>, u64),
    (seconds, stop): (Option<u64>, Arc<Stop>),
) -> Run {
    let (sink, source) = channel();
    let plan = ShardPlan {
        shard: (0, 1),
        clock,
        connections,
        operations: ops.checked_mul(connections as u64),
        pace,
        length_ns: seconds.map(|seconds| seconds * SECOND_NS),
        within: false,
        window_ns: seconds.map(|seconds| seconds * SECOND_NS),
        pulse: Arc::new(Pulse::new(1)),
        timeout_ns: 2 * SECOND_NS,
        patience: Arc::new(Patience::new(2 * SECOND_NS)),
        gather_ns: 2 * SECOND_NS,
        fill_chunk: None,
        pinned: false,
        details: Details::default(),
        journal: None,
        stop,
        start: Arc::new(Start::new(1)),
        sink,
    };
    let local = tokio::task::LocalSet::new();
    let result =
        local.run_until(run_lanes(&plan, &server, lanes, plan.start.place())).await.unwrap();
    drop(plan);
    let mut totals = Totals::default();
    for interval in source {
        totals.add(&interval);
    }
    totals.issued = result.issued;
    let summary = totals.summarize(1.0);
    assert!(summary.iter().all(|it| !it.kind.is_request() || it.bytes.sent == 2 * it.requests));
    // A read-modify-write is begun once, and counts as two requests and also as one operation.
    let ended = |whole| -> u64 {
        let of =
            |kind: OpKind| if whole { kind == OpKind::ReadModifyWrite } else { kind.is_request() };
        summary.iter().filter(|s| of(s.kind)).map(|s| s.ok + s.failed()).sum()
    };
    let ended = ended(false) - ended(true);
    assert_eq!(result.load.begun, ended, "every operation that was begun has ended");
    assert_eq!(
        result.load.offered,
        result.load.begun + result.load.dropped + result.load.unsent,
        "nothing that was due is forgotten"
    );
    let starts = result.lanes.iter().map(|lane| (lane.late, lane.first_sent_ns)).collect();
    let elapsed_s = result.elapsed_ns as f64 / SECOND_NS as f64;
    let first_late_ns = result.lanes[0].first_late_ns;
    let idle_ns = result.lanes.iter().map(|lane| lane.times.idle_ns).sum();
    Run {
        totals,
        load: result.load,
        pool: result.watched.pool,
        backlog: result.watched.backlog,
        stopped_ns: result.watched.stopped_ns,
        elapsed_s,
        idle_ns,
        starts,
        first_late_ns,
    }
}

fn within(value: Option<f64>, expected_us: f64, share: f64) {
    let value = value.expect("enough samples");
    assert!((value - expected_us).abs() <= expected_us * share, "{value} µs, not {expected_us}");
}

/// Opens every connection at once, except the first one asked for, which never opens.
#[derive(Clone)]
struct OneShut(Server, Arc<std::sync::atomic::AtomicUsize>);

struct MaybeShut(FakeSession, bool);

impl Target for OneShut {
    type Shard = ShardOf<Self>;

    async fn shard(&self, context: Rc<ShardContext>) -> io::Result<Self::Shard> {
        Ok(ShardOf { target: self.clone(), context })
    }
}

impl Shard for ShardOf<OneShut> {
    type Session = MaybeShut;

    fn session(&self) -> MaybeShut {
        let number = self.target.1.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let session = ShardOf { target: self.target.0, context: self.context.clone() }.session();
        MaybeShut(session, number == 0)
    }
}

impl Session for MaybeShut {
    type Pen = Draft;

    fn pen(&self) -> Draft {
        Draft::default()
    }

    async fn ready(&mut self) -> Option<Nanos> {
        if self.1 {
            std::future::pending::<()>().await;
        }
        None
    }

    async fn execute(&mut self, op: &Op, pen: &mut Draft, probe: &mut Probe) -> Outcome {
        self.0.execute(op, pen, probe).await
    }
}

#[tokio::test(start_paused = true)]
async fn the_start_waits_so_long_and_tells_who_was_late() {
    for connections in [3, AT_ONCE, 3 * AT_ONCE + 1] {
        let server = OneShut(Server(Some), Arc::default());
        let lane = |connection| Lane { connection, workload: Reads(5) };
        let (lanes, pace) = ((0..connections).map(lane).collect(), Pace::Closed { think_ns: 0 });
        let run = run_workloads((server, pace), (lanes, 5), None, Arc::default()).await;
        let late = |connection| (connection == 0, Some(0));
        assert_eq!(run.starts, (0..connections).map(late).collect::<Vec<_>>());
        assert_eq!(run.reads().ok, 5 * connections as u64, "a late worker works all the same");
    }
}

/// Closes the connection after each answer; connecting again takes 30 ms.
#[derive(Clone)]
struct HangsUp(Server);

struct HungUp(FakeSession, bool);

impl Target for HangsUp {
    type Shard = ShardOf<Self>;

    async fn shard(&self, context: Rc<ShardContext>) -> io::Result<Self::Shard> {
        Ok(ShardOf { target: self.clone(), context })
    }
}

impl Shard for ShardOf<HangsUp> {
    type Session = HungUp;

    fn session(&self) -> HungUp {
        HungUp(ShardOf { target: self.target.0, context: self.context.clone() }.session(), false)
    }
}

impl Session for HungUp {
    type Pen = Draft;

    fn pen(&self) -> Draft {
        Draft::default()
    }

    async fn ready(&mut self) -> Option<Nanos> {
        if std::mem::replace(&mut self.1, true) {
            return None;
        }
        let since = self.0.clock.now();
        tokio::time::sleep(Duration::from_millis(30)).await;
        Some(since)
    }

    async fn execute(&mut self, op: &Op, pen: &mut Draft, probe: &mut Probe) -> Outcome {
        self.1 = false;
        self.0.execute(op, pen, probe).await
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_opened_again_belongs_to_the_response() {
    let closed = |ms| Pace::Closed { think_ns: ms * MS };
    // A user who pauses reconnects during the pause.
    for (pace, response_ms, elapsed_s) in [
        (closed(0), 40.0, 0.01 + 99.0 * 0.04),
        (closed(20), 20.0, 0.03 + 99.0 * 0.04),
        (closed(100), 10.0, 100.0 * 0.11),
        (rate(10.0, 100, 1000), 10.0, 99.0 * 0.1 + 0.01),
    ] {
        let lanes = vec![Lane { connection: 0, workload: Reads(100) }];
        let load = (HangsUp(Server(|sent| Some(sent + 10 * MS))), pace);
        let run = run_workloads(load, (lanes, 100), None, Arc::default()).await;
        let reads = run.reads();
        within(reads.response.p50_us, response_ms * 1e3, 0.01);
        within(Some(reads.response.min_us), 10_000.0, 0.01);
        within(reads.service.p50_us, 10_000.0, 0.01);
        within(Some(run.elapsed_s), elapsed_s, 0.01);
    }
}

#[tokio::test(start_paused = true)]
async fn a_frozen_server_shows_in_response_times_alone() {
    // Frozen for 2 s of 100: 2 % of all operations become due meanwhile, with latencies from 0 to 2
    // s.
    let freezing = Server(|sent| {
        let frozen = (50 * SECOND_NS..52 * SECOND_NS).contains(&sent);
        Some(if frozen { 52 * SECOND_NS } else { sent })
    });
    let pace = rate(1000.0, 100, 100_000);
    let run = run(freezing, pace, (50, u64::MAX), Some(100), Arc::default()).await;
    assert_eq!((run.load.offered, run.load.dropped, run.load.unsent), (100_000, 0, 0));
    let reads = run.reads();
    within(reads.response.p99_us, 1e6, 0.02);
    let histogram = &reads.response.histogram;
    assert!(histogram.percentile(98.0) < 20 * MS);
    within(Some(histogram.percentile(99.5) as f64 / 1e3), 1.5e6, 0.02);
    within(Some(reads.response.max_us), 2e6, 0.01);
    assert!(reads.service.p99_us.unwrap() < 5_000.0);
}

#[tokio::test(start_paused = true)]
async fn a_closed_loop_waits_for_answers_and_drains() {
    let slow = Server(|sent| Some(sent + 10 * MS));
    let closed = Pace::Closed { think_ns: 0 };
    let run = run(slow, closed, (3, u64::MAX), Some(1), Arc::default()).await;
    let reads = run.reads();
    assert_eq!((reads.ok, reads.unfinished), (300, 0));
    within(reads.response.p50_us, 10_000.0, 0.001);
    assert_eq!(reads.lag.histogram.max(), 0);
}

#[tokio::test(start_paused = true)]
async fn overload_is_dropped_or_left_over_and_counted() {
    let slow = Server(|sent| Some(sent + 10 * MS));
    let served = run(slow, rate(200.0, 10, 50), (1, u64::MAX), Some(10), Arc::default()).await;
    assert_eq!(served.load.offered, 2000);
    assert_eq!(served.load.begun, 1000);
    assert!(served.load.dropped > 900 && served.load.unsent <= 50, "{:?}", served.load);
    let patient = run(slow, rate(200.0, 10, 9999), (1, u64::MAX), Some(10), Arc::default()).await;
    assert_eq!((patient.load.dropped, patient.load.unsent), (0, 1000));
}

#[tokio::test(start_paused = true)]
async fn a_timeout_has_a_time_of_its_own_at_its_value() {
    let silent = Server(|sent| (sent / (100 * MS) % 10 != 5).then_some(sent + MS));
    let run = run(silent, rate(100.0, 10, 9999), (50, u64::MAX), Some(10), Arc::default()).await;
    let reads = run.reads();
    assert_eq!(reads.issued, 1000);
    assert!((99..=101).contains(&reads.failures[&Failure::Timeout]), "{:?}", reads.failures);
    let lost = &reads.failed_times[&Failure::Timeout].response;
    assert!(lost.min() >= 1_990 * MS && lost.max() <= 2_200 * MS, "{lost:?}");
    assert_eq!((lost.len(), reads.response.samples), (reads.failed(), reads.ok));
    assert!(reads.response.max_us < 1e6, "{}", reads.response.max_us);
}

#[tokio::test(start_paused = true)]
async fn a_wish_to_stop_ends_waiting_and_lets_answers_come() {
    let slow = Server(|sent| Some(sent + 500 * MS));
    for pace in [rate(10.0, 3600, 100), Pace::Closed { think_ns: 0 }] {
        let stop = Arc::new(Stop::default());
        let later = stop.clone();
        let raise = async {
            tokio::time::sleep(Duration::from_millis(1_250)).await;
            later.raise(StopReason::Interrupted);
            std::future::pending::<()>().await;
        };
        let run = tokio::select! {
            run = run(slow, pace, (20, u64::MAX), None, stop) => run,
            () = raise => unreachable!(),
        };
        assert!(run.elapsed_s < 2.0, "stopped after {} s", run.elapsed_s);
        assert_eq!(run.reads().unfinished, 0);
    }
}

#[tokio::test(start_paused = true)]
async fn counted_work_ends_by_itself_at_a_rate() {
    // The last answer takes long, and nothing more becomes due meanwhile.
    let last = Server(|sent| Some(sent + if sent > 680 * MS { 500 * MS } else { MS }));
    let run = run(last, rate(100.0, 3600, 1000), (7, 10), None, Arc::default()).await;
    assert_eq!((run.load.offered, run.load.begun, run.load.unsent), (70, 70, 0));
    assert!((1.18..1.22).contains(&run.elapsed_s), "{} s", run.elapsed_s);
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_what_was_dropped() {
    let slow = Server(|sent| Some(sent + 50 * MS));
    let run = run(slow, rate(500.0, 3600, 2), (2, 500), None, Arc::default());
    let run = tokio::time::timeout(Duration::from_secs(60), run).await.expect("it ends");
    let LoadCounts { offered, begun, dropped, unsent } = run.load;
    assert_eq!((offered, begun + dropped, unsent), (1000, 1000, 0));
    assert!((70..=90).contains(&begun), "two at a time of 50 ms each for 2 s: {begun}");
    assert!((1.99..2.06).contains(&run.elapsed_s), "{} s", run.elapsed_s);
}

#[tokio::test(start_paused = true)]
async fn what_falls_due_beyond_the_limit_is_dropped_when_it_falls_due() {
    let slow = Server(|sent| Some(sent + 50 * MS));
    for limit in [1, 3] {
        let run =
            run(slow, rate(190.0, 10, limit), (limit as usize, 9999), Some(10), Arc::default());
        let run = run.await;
        assert!(run.load.dropped > 0 && run.load.unsent == 0, "{:?}", run.load);
        // With a connection for each operation that the limit admits, no operation ever waits for
        // one.
        let worst_us = run.reads().lag.max_us;
        assert!(worst_us <= 2_000.0, "begun {worst_us} µs late");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_is_given_up_on_by_all_shards_together() {
    let fine = Server(|sent| Some(sent + 10 * MS));
    let silent = Server(|_| None);
    for (other, gone) in [(fine, None), (silent, Some(StopReason::Unreachable))] {
        let (sink, _source) = channel();
        let one = ShardPlan {
            clock: Clock::virtual_time(),
            length_ns: Some(10 * SECOND_NS),
            patience: Arc::new(Patience::new(2 * SECOND_NS)),
            ..ShardPlan::alone((0, 1), 1, sink)
        };
        // Each shard has its own start, because this is a single thread.
        let two = ShardPlan { start: Arc::new(Start::new(1)), ..one.clone() };
        let lanes = || vec![Lane { connection: 0, workload: Reads(u64::MAX) }];
        let both = async {
            tokio::join!(
                run_lanes(&one, &silent, lanes(), one.start.place()),
                run_lanes(&two, &other, lanes(), two.start.place())
            )
        };
        let (first, second) = tokio::task::LocalSet::new().run_until(both).await;
        assert!(first.is_ok() && second.is_ok());
        assert_eq!(one.stop.reason(), gone);
    }
}

/// Reads and updates of the same document in turn; every third read is wrong.
struct Modify(u64);

impl Workload for Modify {
    fn next<P: Pen>(&mut self, _: &mut P) -> Next {
        let Some(left) = self.0.checked_sub(1) else { return Next::End };
        self.0 = left;
        let (kind, part) = match self.0 % 2 {
            1 => (OpKind::Read, Part::First),
            _ => (OpKind::Update, Part::Last),
        };
        Next::Op(Op { part, ..Op::single(kind, 1, None) })
    }

    fn observe(&mut self, op: &Op, _: Result<Reply, Failure>, _: &Answered<'_>) -> Check {
        match (op.kind, self.0 % 3) {
            (OpKind::Read, 0) => Check::Checked(Err(Failure::UnexpectedState)),
            (OpKind::Read, _) => Check::Checked(Ok(())),
            _ => Check::Unchecked,
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_read_modify_write_falls_due_once_and_is_timed_as_a_whole() {
    let server = Server(|sent| Some(sent + 10 * MS));
    let lanes = vec![Lane { connection: 0, workload: Modify(18) }];
    let run =
        run_workloads((server, rate(10.0, 1, 100)), (lanes, 9), Some(2), Arc::default()).await;
    assert_eq!((run.load.offered, run.load.begun), (9, 9));
    let summaries = run.totals.summarize(run.elapsed_s);
    let of = |kind| summaries.iter().find(|it| it.kind == kind).unwrap();
    for (kind, ms) in
        [(OpKind::Read, 10.0), (OpKind::Update, 10.0), (OpKind::ReadModifyWrite, 20.0)]
    {
        let summary = of(kind);
        assert_eq!((summary.requests, summary.issued, summary.unfinished), (9, 9, 0), "{kind}");
        assert!((summary.service.mean_us / 1e3 - ms).abs() < 0.1, "{kind}: {:?}", summary.service);
    }
    assert_eq!((of(OpKind::Verify).ok, of(OpKind::Verify).failed()), (6, 3));
}

#[tokio::test]
async fn a_shard_that_naps_begins_all_that_is_due() {
    let ops = 100;
    for connections in [1, 8] {
        let lane = |connection| Lane { connection, workload: Reads(ops) };
        let lanes = (0..connections).map(lane).collect();
        let load = (Server(|sent| Some(sent + 2 * MS)), rate(2_000.0, 60, 10_000));
        let seen = run_on(Clock::system(), load, (lanes, ops), None, Arc::default()).await;
        let all = ops * connections as u64;
        assert_eq!((seen.load.begun, seen.load.offered), (all, all));
    }
}
