//! Limits that are certainly met or missed despite what springload itself lost.

use super::other_bound;
use crate::account::{Account, Hindrance, Reading, Verdict};
use crate::measure::{KindInterval, OperationSummary};
use crate::op::OpKind;
use crate::plan::{Metric, Noise};
use crate::record::{ResultKind, RunRecord, fixture};

const BOUND: Verdict =
    Verdict::ClientBound { busiest_thread: 0.1, late_p99_us: 9.0, by: Hindrance::Unknown };

/// A run of 3,000 reads of 20 ms, 1,000 of which springload itself held up to 60 ms.
fn record(thresholds: &[&str]) -> RunRecord {
    let mut record = fixture::without_failures(thresholds);
    let mut part = KindInterval { requests: 3_000, ok: 3_000, ..KindInterval::default() };
    part.response.record_many(20_000_000, 2_000);
    part.response.record_many(60_000_000, 1_000);
    part.service = part.response.clone();
    let held = part.held.get_or_insert_default();
    held.measured.record_many(60_000_000, 1_000);
    held.without.record_many(20_000_000, 1_000);
    let stage = fixture::stage("crud", vec![(0, OpKind::Read, part)]);
    let of: fn(&OperationSummary) -> bool = |it| it.response_without_client.is_some();
    assert!(stage.operations.iter().all(of));
    let account =
        Account { reading_us: Reading { mean: 100.0, p99: 2_000.0 }, ..Account::default() };
    record.stages.pop();
    record.stages.push(stage);
    for stage in &mut record.stages {
        (stage.verdict, stage.account) = (BOUND, Some(account.clone()));
    }
    record
}

fn concluded(thresholds: &[&str]) -> (u8, ResultKind) {
    let mut record = record(thresholds);
    record.conclude();
    let result = record.result();
    (result.exit_status, result.kind)
}

#[test]
fn limits_are_met_for_certain_missed_for_certain_or_neither() {
    use ResultKind::{Failed, NotTrustworthy, Passed};
    let cases: [(&[&str], _); 12] = [
        (&[], (5, NotTrustworthy)),
        (&["read.p99 > 70ms"], (0, Passed)),
        // 20 ms without what springload added, minus 2 ms that reading may have taken.
        (&["read.p99 > 50ms"], (5, NotTrustworthy)),
        (&["read.p99 > 19ms"], (5, NotTrustworthy)),
        (&["read.p99 > 17ms"], (4, Failed)),
        (&["read.p50 > 19ms"], (4, Failed)),
        (&["read.mean > 30ms"], (5, NotTrustworthy)),
        (&["read.mean > 15ms"], (4, Failed)),
        // What is certainly missed is not hidden by what is uncertain.
        (&["read.p99 > 50ms", "read.p99 > 17ms"], (4, Failed)),
        (&["err > 0"], (0, Passed)),
        // A client with enough time might have got more served.
        (&["throughput < 1000000"], (5, NotTrustworthy)),
        (&["throughput < 1"], (0, Passed)),
    ];
    for (thresholds, expected) in cases {
        assert_eq!(concluded(thresholds), expected, "{thresholds:?}");
    }
}

#[test]
fn a_run_that_is_told_to_warn_does_so() {
    for (thresholds, expected) in
        [(&[][..], 0), (&["read.p99 > 50ms"], 4), (&["read.p99 > 70ms"], 0)]
    {
        let mut record = record(thresholds);
        record.plan.noise = Noise::Warn;
        record.conclude();
        assert_eq!(record.result().exit_status, expected, "{thresholds:?}");
        let warned = record.warnings.iter().any(|it| it.message.starts_with("client-bound"));
        assert!(warned, "{:?}", record.warnings);
    }
}

#[test]
fn a_fill_voids_no_main_stage() {
    let mut record = record(&[]);
    let main = record.stages.len() - 1;
    record.stages[main].verdict = Verdict::Closed;
    record.conclude();
    assert_eq!(record.result().kind, ResultKind::Passed);
    // The main stage of a run that only fills is the fill.
    record.stages.truncate(1);
    record.conclude();
    assert_eq!(record.result().exit_status, 5);
}

#[test]
fn a_baseline_is_missed_for_certain_or_perhaps_by_springload_alone() {
    let status = |by_client, noise| {
        let mut record = record(&["read.p99 > 50ms"]);
        record.plan.noise = noise;
        record.conclude();
        (record.thresholds[0].limit, record.thresholds[0].by_client) = (Some(50e3), by_client);
        crate::record::result::of(&record).exit_status
    };
    assert_eq!(status(false, Noise::Fail), 7);
    assert_eq!(status(true, Noise::Fail), 5);
}

#[test]
fn a_rate_may_have_been_higher_by_the_share_that_springload_took() {
    let mut stage = fixture::stage("crud", Vec::new());
    stage.account = Some(Account { client_share: 0.2, ..Account::default() });
    let bound = other_bound(&[&stage], std::iter::empty(), Metric::Throughput, 80.0);
    assert!(bound.is_some_and(|it| (it - 100.0).abs() < 1e-9), "{bound:?}");
}
