//! Tables of cases: which verdict follows from which record, on both sides of each bound.

use super::*;
use crate::op::{Failure, OpKind};
use crate::record::fixture;

/// A closed stage of 100 s and 10,000 reads that nothing can be said against.
fn good() -> StageRecord {
    let mut stage = fixture::record(&[]).stages.remove(0);
    (stage.elapsed_s, stage.measured_s) = (100.0, 100.0);
    stage.operations.truncate(1);
    let reads = &mut stage.operations[0];
    (reads.kind, reads.requests, reads.issued, reads.ok) = (OpKind::Read, 10_000, 10_000, 10_000);
    reads.failures.clear();
    let mut times = crate::measure::Histogram::default();
    times.record_many(5_000_000, 10_000);
    reads.response = crate::measure::Latency::new(times);
    stage.client.busiest_thread = 0.5;
    stage.load = crate::record::LoadRecord { offered: 10_000, begun: 10_000, ..stage.load };
    stage
}

/// The same in an open loop at 100/s.
fn open() -> StageRecord {
    let mut stage = good();
    stage.load.open = true;
    (stage.load.offered_per_s, stage.load.served_per_s) = (100.0, 100.0);
    stage
}

fn name(change: impl FnOnce(&mut StageRecord), mut stage: StageRecord) -> &'static str {
    change(&mut stage);
    Verdict::of(&stage, false).name()
}

fn fail(stage: &mut StageRecord, class: Failure, count: u64) {
    stage.operations[0].failures.insert(class, count);
    stage.operations[0].ok -= count;
}

#[test]
fn a_closed_loop_is_judged_by_both_sides() {
    type Case = (&'static str, fn(&mut StageRecord));
    let cases: [Case; 26] = [
        ("closed", |_| {}),
        ("empty", |it| it.operations.clear()),
        ("empty", |it| it.operations[0].kind = OpKind::Verify),
        ("empty", |it| it.elapsed_s = 0.0),
        ("closed", |it| fail(it, Failure::Reset, 1_000)),
        ("degraded", |it| fail(it, Failure::Reset, 1_001)),
        ("degraded", |it| fail(it, Failure::ServerError, 1_001)),
        ("closed", |it| fail(it, Failure::NotFound, 9_000)),
        ("closed", |it| it.outage.total_s = 0.99),
        ("degraded", |it| it.outage.total_s = 1.01),
        ("degraded", |it| (it.measured_s, it.outage.total_s) = (10.0, 0.11)),
        ("closed", |it| (it.measured_s, it.outage.total_s) = (10.0, 0.09)),
        ("closed", |it| it.client.busiest_thread = 0.95),
        ("client_bound", |it| it.client.busiest_thread = 0.96),
        ("client_bound", |it| it.client.occupied_thread = 0.96),
        ("closed", |it| it.client.waited_thread = 0.50),
        ("client_bound", |it| it.client.waited_thread = 0.51),
        ("closed", |it| it.client.paused_thread = 0.05),
        ("client_bound", |it| it.client.paused_thread = 0.06),
        ("closed", |it| (it.measured_s, it.client.paused_thread) = (1.0, 0.09)),
        // Late, but nothing was due at a given time.
        ("closed", |it| it.client.late_p99_us = Some(90_000.0)),
        ("too_short", |it| (it.elapsed_s, it.client.busiest_thread) = (0.09, 1.0)),
        ("client_bound", |it| (it.elapsed_s, it.client.busiest_thread) = (0.11, 1.0)),
        // What may be is just not too much.
        ("client_bound", |it| (it.elapsed_s, it.client.busiest_thread) = (0.1, 1.0)),
        ("closed", |it| (it.measured_s, it.client.paused_thread) = (1.0, 0.1)),
        ("closed", |it| it.outage.total_s = 1.0),
    ];
    for (number, (expected, change)) in cases.into_iter().enumerate() {
        assert_eq!(name(change, good()), expected, "case {number}");
    }
}

#[test]
fn an_open_loop_must_be_on_time_and_keep_up() {
    type Case = (&'static str, fn(&mut StageRecord));
    let cases: [Case; 19] = [
        ("sustained", |_| {}),
        ("sustained", |it| it.load.unsent = 50),
        ("not_sustained", |it| it.load.unsent = 51),
        ("not_sustained", |it| (it.load.unsent, it.load.dropped) = (25, 26)),
        ("sustained", |it| it.load.backlog_growth_per_s = 0.5),
        ("not_sustained", |it| it.load.backlog_growth_per_s = 0.51),
        // The 99th percentile of responses is 5 ms.
        ("sustained", |it| it.client.late_p99_us = Some(999.0)),
        ("client_bound", |it| it.client.late_p99_us = Some(1_001.0)),
        ("sustained", |it| {
            let mut times = crate::measure::Histogram::default();
            times.record_many(50_000_000, 10_000);
            it.operations[0].response = crate::measure::Latency::new(times);
            it.client.late_p99_us = Some(4_000.0);
        }),
        // Too few answers for a percentile of theirs to be told are enough to judge by.
        ("client_bound", |it| {
            let mut times = crate::measure::Histogram::default();
            times.record_many(5_000_000, 100);
            it.operations[0].response = crate::measure::Latency::new(times);
            it.client.late_p99_us = Some(2_000.0);
        }),
        ("sustained", |it| it.client.occupied_thread = 0.99),
        ("sustained", |it| it.client.waited_thread = 0.9),
        ("not_sustained", |it| (it.client.waited_thread, it.load.unsent) = (0.20, 51)),
        ("client_bound", |it| (it.client.waited_thread, it.load.unsent) = (0.21, 51)),
        ("not_sustained", |it| (it.client.occupied_thread, it.load.unsent) = (0.80, 51)),
        ("client_bound", |it| (it.client.occupied_thread, it.load.unsent) = (0.81, 51)),
        ("degraded", |it| (it.client.occupied_thread, it.outage.total_s) = (0.81, 2.0)),
        // What may be is just not too much.
        ("sustained", |it| it.client.late_p99_us = Some(1_000.0)),
        ("sustained", |it| {
            let mut times = crate::measure::Histogram::default();
            times.record_many(50_000_000, 10_000);
            let tenth = times.percentile(99.0) as f64 / 1e3 * 0.10;
            it.operations[0].response = crate::measure::Latency::new(times);
            it.client.late_p99_us = Some(tenth);
        }),
    ];
    for (number, (expected, change)) in cases.into_iter().enumerate() {
        assert_eq!(name(change, open()), expected, "case {number}");
    }
}

#[test]
fn the_backlog_counts_nothing_twice() {
    let mut stage = open();
    (stage.load.unsent, stage.load.dropped) = (2_000, 1_000);
    for (growth, expected) in [(25.0, 35.0), (15.0, 30.0)] {
        stage.load.backlog_growth_per_s = growth;
        let Verdict::NotSustained { backlog_per_s, offered_per_s, served_per_s } =
            Verdict::of(&stage, false)
        else {
            panic!("{:?}", Verdict::of(&stage, false));
        };
        assert!((backlog_per_s - expected).abs() < 1e-9, "{backlog_per_s} of {expected}");
        assert!((offered_per_s - 100.0).abs() < 1e-9 && (served_per_s - 100.0).abs() < 1e-9);
    }
}

#[test]
fn without_a_server_the_client_may_be_the_limit() {
    let mut stage = good();
    stage.client.busiest_thread = 1.0;
    assert_eq!(Verdict::of(&stage, true), Verdict::Closed);
    let mut stage = open();
    stage.client.late_p99_us = Some(90_000.0);
    assert_eq!(Verdict::of(&stage, true), Verdict::Sustained);
    fail(&mut stage, Failure::Timeout, 5_000);
    assert!(matches!(Verdict::of(&stage, true), Verdict::Degraded { .. }));
}

#[test]
fn a_verdict_tells_by_how_much() {
    let mut stage = good();
    fail(&mut stage, Failure::Timeout, 2_000);
    stage.outage.total_s = 3.0;
    let expected = Verdict::Degraded { failed_share: 0.2, outage_s: 3.0 };
    assert_eq!(Verdict::of(&stage, false), expected);
    let mut stage = good();
    (stage.client.busiest_thread, stage.client.late_p99_us) = (0.97, Some(7.0));
    let expected = Verdict::ClientBound { busiest_thread: 0.97, late_p99_us: 7.0 };
    assert_eq!(Verdict::of(&stage, false), expected);
}

#[test]
fn what_is_sustained_closed_or_short_can_be_believed() {
    let degraded = Verdict::Degraded { failed_share: 0.0, outage_s: 2.0 };
    let bound = Verdict::ClientBound { busiest_thread: 1.0, late_p99_us: 0.0 };
    let behind =
        Verdict::NotSustained { offered_per_s: 2.0, served_per_s: 1.0, backlog_per_s: 1.0 };
    for verdict in [Verdict::Empty, bound, degraded, behind] {
        assert!(!verdict.trustworthy(), "{verdict:?}");
    }
    for verdict in [Verdict::Sustained, Verdict::Closed, Verdict::TooShort] {
        assert!(verdict.trustworthy(), "{verdict:?}");
    }
}
