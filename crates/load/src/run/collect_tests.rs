//! From the results of shards to rates: over the time in which operations were started, counting
//! those that ended in it.

use super::*;
use crate::clock::Scheduled;
use crate::engine::{Arrivals, LaneResult, Schedule, Segment, Watched};
use crate::measure::{ConnectionTimes, FillLog, Interval, SeriesLog, Served};
use crate::op::{ByKind, OpKind};
use crate::workload::{CrudOrder, Mix, MixedPlan, Purpose};

const MS: Nanos = 1_000_000;

fn at_rate(per_s: f64, seconds: u64) -> Pace {
    let segments = vec![Segment { length_ns: seconds * SECOND_NS, from: per_s, to: per_s }];
    let schedule = Schedule { segments, arrivals: Arrivals::Constant, seed: 1 };
    Pace::Open { schedule, max_in_flight: 1_000, slack_ns: 0 }
}

fn stage(pace: Pace, operations: Option<u64>, length_ns: Option<Nanos>) -> StagePlan {
    let mix = Mix::crud([0, 1, 0, 0]);
    let work = MixedPlan {
        mix,
        own: crate::workload::OwnMix::new(),
        operations,
        order: CrudOrder::Uniform,
    }
    .into();
    StagePlan { name: "crud".to_owned(), purpose: Some(Purpose::Main), work, pace, length_ns }
}

fn lane(connection: usize, first_sent_ns: Option<Nanos>, late: bool) -> LaneResult<()> {
    let times = ConnectionTimes { noted_answers: 3, ..ConnectionTimes::default() };
    let first_late_ns = first_sent_ns;
    let (workload, unopened) = ((), false);
    LaneResult { connection, workload, times, first_sent_ns, first_late_ns, late, unopened }
}

/// A shard that started this many operations and ran this long.
fn shard(begun: u64, elapsed_ns: Nanos, loss: ThreadLoss) -> ShardResult<()> {
    let mut issued = ByKind::default();
    *issued.of(OpKind::Read) = begun;
    ShardResult {
        lanes: Vec::new(),
        issued,
        load: LoadCounts { offered: begun + 5, begun, dropped: 3, unsent: 2 },
        watched: Watched { loss, ..Watched::default() },
        fill: FillLog::default(),
        elapsed_ns,
        cpu_ns: 100 * MS,
        nodes: Vec::new(),
        sent: Served::default(),
    }
}

/// This many reads, `drained` of which ended after the last one was started.
fn reads(requests: u64, drained: u64) -> Totals {
    let mut interval = Interval::new(0);
    let kind = interval.kind_mut(OpKind::Read);
    (kind.requests, kind.ok) = (requests, requests);
    (kind.drained, kind.drained_ok) = (drained, drained);
    kind.service.record_many(MS, requests);
    kind.response.record_many(MS, requests);
    kind.lag.record_many(2 * MS, requests);
    let mut totals = Totals::default();
    totals.add(&interval);
    totals
}

fn frame(plan: &StagePlan) -> Frame<'_> {
    Frame {
        plan,
        connections: 2,
        began: [SECOND_NS, 3 * SECOND_NS],
        hiccups: Hiccups::default(),
        card: crate::driver::CARDS[0],
        nodes: Vec::new(),
        slots: Vec::new(),
        growth: None,
        visibility: None,
        following: None,
        drill: None,
        compaction: None,
    }
}

fn record(collected: Collected, plan: &StagePlan) -> StageRecord {
    collected.record(frame(plan))
}

fn close(value: f64, expected: f64) {
    assert!((value - expected).abs() <= expected.abs() * 1e-9, "{value}, not {expected}");
}

#[test]
fn an_answer_after_the_end_raises_no_rate_and_lowers_none() {
    // The same load with three endings: all in time; one response 5 s after the end; stopped before
    // it.
    let plan = stage(Pace::Closed { think_ns: 0 }, None, Some(2 * SECOND_NS));
    for (drained, elapsed_s, served, measured_s) in
        [(0, 2.0, 100.0, 2.0), (10, 7.0, 90.0, 2.0), (0, 1.0, 100.0, 1.0)]
    {
        let mut collected = Collected::new(reads(100, drained), Series::default());
        let elapsed_ns = (elapsed_s * 1e9) as Nanos;
        collected.add(shard(60, elapsed_ns / 2, ThreadLoss::default()));
        collected.add(shard(40, elapsed_ns, ThreadLoss::default()));
        let record = record(collected, &plan);
        close(record.elapsed_s, elapsed_s);
        // A stage that ended by itself lasted until its last response.
        close(record.measured_s, measured_s);
        close(record.load.served_per_s, served / measured_s);
        close(record.load.offered_per_s, 110.0 / measured_s);
        close(record.operations[0].throughput_per_s, served / measured_s);
        close(record.began_s, 2.0);
        let load = &record.load;
        assert_eq!((load.offered, load.begun, load.dropped, load.unsent), (110, 100, 6, 4));
        assert_eq!((load.open, load.planned), (false, None));
        assert_eq!(record.operations[0].issued, 100);
    }
}

/// 20 s at 200/s, stopped after 4 s; the last answer comes half a second later.
#[test]
fn a_load_that_was_stopped_is_judged_by_its_time_until_then() {
    let plan = stage(at_rate(200.0, 20), None, Some(20 * SECOND_NS));
    // `taken_ms` is how long an operation takes that is due after so many milliseconds.
    let of = |stopped_s: [Option<u64>; 2], taken_ms: fn(u64) -> u64| {
        let mut backlog = Backlog::new(3 * SECOND_NS, 20 * SECOND_NS);
        for due_ms in (0..4_000).step_by(5) {
            let due = 3 * SECOND_NS + due_ms * MS;
            backlog.add(due, due + taken_ms(due_ms) * MS);
        }
        let mut collected = Collected::new(reads(800, 100), Series::default());
        let backlogs = [backlog, Backlog::new(3 * SECOND_NS, 20 * SECOND_NS)];
        for (stopped_s, backlog) in stopped_s.into_iter().zip(backlogs) {
            let mut part = shard(400, 4_500 * MS, ThreadLoss::default());
            part.load = LoadCounts { offered: 400, begun: 400, ..LoadCounts::default() };
            part.watched.stopped_ns = stopped_s.map(|seconds| seconds * SECOND_NS);
            part.watched.backlog = Some(backlog);
            collected.add(part);
        }
        record(collected, &plan)
    };
    let healthy = of([Some(4), Some(4)], |_| 500);
    close(healthy.measured_s, 4.0);
    close(healthy.load.offered_per_s, 200.0);
    close(healthy.load.served_per_s, 175.0);
    assert_eq!(healthy.verdict, Verdict::Sustained);
    let account = healthy.account.expect("an account");
    assert_eq!((account.requests.due, account.requests.server), (800, 0));
    // One that serves 100/s, on as many connections as it takes.
    let behind = of([Some(4), Some(4)], |due_ms| due_ms);
    assert!(matches!(behind.verdict, Verdict::NotSustained { .. }), "{:?}", behind.verdict);
    // A shard that was stopped because its agent was lost does not stop the stage.
    close(of([Some(3), None], |_| 500).measured_s, 4.5);
    close(of([None, Some(3)], |_| 500).measured_s, 4.5);
    close(of([Some(3), Some(4)], |_| 500).measured_s, 4.0);
}

#[test]
fn a_read_modify_write_is_served_once() {
    let mut interval = Interval::new(0);
    for (kind, requests) in [
        (OpKind::Read, 30),
        (OpKind::Update, 20),
        (OpKind::ReadModifyWrite, 20),
        (OpKind::Verify, 30),
    ] {
        interval.kind_mut(kind).requests = requests;
    }
    let mut totals = Totals::default();
    totals.add(&interval);
    let mut collected = Collected::new(totals, Series::default());
    let mut shard = shard(30, 2 * SECOND_NS, ThreadLoss::default());
    *shard.issued.of(OpKind::Update) = 20;
    collected.add(shard);
    let plan = stage(Pace::Closed { think_ns: 0 }, Some(30), None);
    let record = record(collected, &plan);
    close(record.load.served_per_s, 15.0);
    assert_eq!(record.load.planned, Some(30));
    // 50 requests in 100 ms of CPU time.
    close(record.client.cpu_per_request_us, 2_000.0);
}

#[test]
fn the_window_is_as_long_as_the_plan_says() {
    let seconds = |s: u64| Some(s * SECOND_NS);
    let closed = || Pace::Closed { think_ns: 0 };
    for (pace, operations, length, window) in [
        (closed(), None, seconds(3), seconds(3)),
        (closed(), Some(10), None, None),
        (at_rate(100.0, 9), None, seconds(4), seconds(4)),
        (at_rate(100.0, 9), Some(200), None, seconds(2)),
        (at_rate(100.0, 9), Some(200), seconds(9), seconds(2)),
        (at_rate(100.0, 9), Some(200), seconds(1), seconds(1)),
        // More than will ever be due.
        (at_rate(100.0, 9), Some(2_000), seconds(9), seconds(9)),
    ] {
        let plan = stage(pace, operations, length);
        assert_eq!(window_ns(&plan, 2), window, "{plan:?}");
    }
}

#[test]
fn a_backlog_that_grows_is_reported_per_second() {
    // 1,000/s for 5 s on two shards; the server does 800/s.
    let growth = |pace: Pace| {
        let mut collected = Collected::new(reads(4_000, 0), Series::default());
        for part in 0..2 {
            let mut backlog = Backlog::new(3 * SECOND_NS, 5 * SECOND_NS);
            for n in (part..5_000).step_by(2) {
                let due = 3 * SECOND_NS + n * MS;
                backlog.add(due, due + n * MS / 4);
            }
            let mut shard = shard(2_000, 5 * SECOND_NS, ThreadLoss::default());
            shard.watched.backlog = Some(backlog);
            collected.add(shard);
        }
        let plan = stage(pace, None, Some(5 * SECOND_NS));
        record(collected, &plan).load.backlog_growth_per_s
    };
    let even = growth(at_rate(1_000.0, 5));
    assert!((190.0..210.0).contains(&even), "{even}/s of 200/s");
    // At a rate that doubles, twice as many may be in flight.
    let Pace::Open { mut schedule, max_in_flight, slack_ns } = at_rate(1_000.0, 5) else {
        unreachable!()
    };
    schedule.segments[0].from = 10.0;
    let rising = growth(Pace::Open { schedule, max_in_flight, slack_ns });
    assert!(rising < even, "{rising}");
    close(growth(Pace::Closed { think_ns: 0 }), 0.0);
}

#[test]
fn the_client_is_judged_by_its_worst_thread_and_by_sums() {
    let thread = |cpu_ms: u64, waited_ms: u64, paused_ms: u64, late_ms: u64| {
        let mut loss = ThreadLoss {
            watched_ns: SECOND_NS,
            cpu_ns: cpu_ms * MS,
            scheduled: Scheduled {
                waited_ns: Some(waited_ms * MS),
                turns: Some(1_000),
                preempted: Some(cpu_ms),
            },
            paused_ns: paused_ms * MS,
            ..ThreadLoss::default()
        };
        loss.pauses.add(3 * SECOND_NS + 100 * MS, 3 * SECOND_NS + (100 + paused_ms) * MS);
        loss.late.record_many(late_ms * MS, 50);
        loss
    };
    let mut collected = Collected::new(reads(2_000, 0), Series::default());
    for (loss, lanes) in [(thread(600, 10, 20, 0), [3, 1]), (thread(300, 500, 50, 8), [0, 2])] {
        let lanes = lanes.map(|connection| Box::new(lane(connection, Some(5), false))).into();
        collected.add(ShardResult { lanes, ..shard(1_000, SECOND_NS, loss) });
    }
    let order: Vec<_> = collected.lanes.iter().map(|lane| lane.connection).collect();
    assert_eq!(order, [0, 1, 2, 3]);
    let plan = stage(Pace::Closed { think_ns: 0 }, None, Some(SECOND_NS));
    let client = record(collected, &plan).client;
    close(client.cpu_s, 0.2);
    close(client.cpu_per_request_us, 100.0);
    close(client.busiest_thread, 0.6);
    close(client.occupied_thread, 0.8);
    close(client.waited_thread, 0.5);
    close(client.waited_s.unwrap(), 0.51);
    assert_eq!((client.preempted, client.noted_answers), (Some(900), 12));
    close(client.paused_thread, 0.05);
    assert_eq!(client.pauses.len(), 1);
    close(client.pauses[0].from_s, 0.1);
    close(client.pauses[0].length_s, 0.05);
    let near = |value: Option<f64>, us: f64| (value.unwrap() - us).abs() < us * 0.002;
    assert!(near(client.late_p99_us, 8_000.0) && near(client.late_p99_9_us, 8_000.0));
    assert!(near(client.lag_p99_us, 2_000.0));
    assert_eq!((client.hiccup_p99_us, client.hiccup_max_us), (None, None));
    // Nothing was started: nothing was late, and no request took any time.
    let empty = Collected::new(Totals::default(), Series::default());
    let client = record(empty, &plan).client;
    assert_eq!((client.late_p99_us, client.lag_p99_us), (None, None));
    close(client.cpu_per_request_us, 0.0);
}

#[test]
fn hiccups_of_the_machine_stand_beside_the_client() {
    let mut collected = Collected::new(reads(10, 0), Series::default());
    collected.add(shard(10, SECOND_NS, ThreadLoss::default()));
    let plan = stage(Pace::Closed { think_ns: 0 }, None, Some(SECOND_NS));
    let mut hiccups = Hiccups::default();
    hiccups.late.record_many(MS, 999);
    hiccups.late.record(50 * MS);
    let client = collected.record(Frame { hiccups, ..frame(&plan) }).client;
    let near = |value: Option<f64>, us: f64| (value.unwrap() - us).abs() < us * 0.002;
    assert!(near(client.hiccup_p99_us, 1_000.0) && near(client.hiccup_max_us, 50_000.0));
}

#[test]
fn the_client_is_charged_for_what_it_begins_late_and_what_lies_unread() {
    let plan = stage(Pace::Closed { think_ns: 0 }, None, Some(SECOND_NS));
    let of = |unread_us: &[u64], late_us: u64, paused_ms: u64| {
        let (watched_ns, paused_ns) = (SECOND_NS, paused_ms * MS);
        let mut loss = ThreadLoss { watched_ns, paused_ns, ..ThreadLoss::default() };
        for us in unread_us {
            loss.unread.record(us * 1_000);
        }
        loss.late.record_many(late_us * 1_000, 1_000);
        let mut collected = Collected::new(reads(1_000, 0), Series::default());
        collected.add(shard(1_000, SECOND_NS, loss));
        record(collected, &plan).account.expect("an account")
    };
    let close = |share: f64, expected: f64| assert!((share - expected).abs() < 1e-3, "{share}");
    // The server takes 1 ms. A response at a random time waits as long as a beat does, on average.
    let unread_us = [0, 0, 100, 500];
    close(of(&unread_us, 0, 900).client_share, 0.15);
    close(of(&unread_us, 200, 900).client_share, 0.35);
    // At most all of the time in which the thread could not read.
    close(of(&unread_us, 0, 100).client_share, 0.1);
    close(of(&[], 0, 900).client_share, 0.0);
    let Reading { mean, p99 } = of(&unread_us, 0, 900).reading_us;
    close(mean / 150.0, 1.0);
    close(p99 / 500.0, 1.0);
}

#[test]
fn a_start_is_reported_by_rank_of_those_that_sent() {
    let mut lanes: Vec<_> = (1..=100)
        .rev()
        .map(|n| lane(n, Some(n as Nanos * 1_000), n % 10 == 0))
        .map(Box::new)
        .collect();
    lanes.push(Box::new(lane(101, None, true)));
    let start = start_record(&lanes);
    assert_eq!((start.workers, start.late), (100, 11));
    for (value, expected) in
        [(start.first_us, 1.0), (start.p50_us, 50.0), (start.p99_us, 99.0), (start.last_us, 100.0)]
    {
        close(value, expected);
    }
    let none = start_record(&[Box::new(lane(0, None, true))]);
    assert_eq!((none.workers, none.late), (0, 1));
    close(none.last_us, 0.0);
}

#[test]
fn a_stage_of_which_all_processes_were_lost_lasted_as_long_as_they_reported() {
    let (mut totals, mut series) = (Totals::default(), SeriesLog::default());
    for second in 0..3 {
        let mut interval = Interval::new(second);
        let part = interval.kind_mut(OpKind::Read);
        (part.requests, part.ok) = (100, 100);
        totals.add(&interval);
        series.add(&interval);
    }
    let mut collected = Collected::new(totals, series.finish().0);
    collected.add_lost(&ByKind::default(), 300, 300);
    assert_eq!(collected.elapsed_ns(), 3 * SECOND_NS);
    let load = record(collected, &stage(Pace::Closed { think_ns: 0 }, None, None)).load;
    assert_eq!((load.offered, load.begun), (300, 300));
    close(load.offered_per_s, 100.0);
}

#[path = "collect_facts_tests.rs"]
mod facts;
