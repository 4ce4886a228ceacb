//! Tables of cases: which result and exit status follow from which record.

use super::*;
use crate::engine::Pace;
use crate::op::OpKind;
use crate::plan::{StagePlan, YcsbPhase, YcsbStage};
use crate::record::{Verdict, fixture};
use crate::workload::ycsb::{Bodies, Class, CoreConfig, Properties};

/// A run of 3,000 reads and 100 updates in which nothing failed.
fn record(change: impl FnOnce(&mut RunRecord)) -> RunRecord {
    let mut record = fixture::record(&[]);
    for stage in &mut record.stages {
        stage.verdict = Verdict::Closed;
        for operation in &mut stage.operations {
            operation.failures.clear();
            operation.ok = operation.issued;
        }
    }
    change(&mut record);
    record.conclude();
    record
}

fn crud(record: &mut RunRecord) -> &mut StageRecord {
    record.stages.last_mut().expect("a stage")
}

/// Makes `count` of the 3,000 reads fail so.
fn fail(record: &mut RunRecord, class: Failure, count: u64) {
    let reads = crud(record).operations.iter_mut().find(|it| it.kind == OpKind::Read).unwrap();
    reads.failures.clear();
    reads.failures.insert(class, count);
    reads.ok = reads.issued - count;
}

fn ended(by: EndedBy) -> Ended {
    Ended { by, at_s: 1.0, message: "why".to_owned() }
}

#[test]
fn the_first_reason_counts() {
    type Case = (u8, ResultKind, fn(&mut RunRecord));
    use ResultKind::{Failed, NotTrustworthy, Passed, Stopped};
    let cases: [Case; 13] = [
        (0, Passed, |_| {}),
        // 3,100 operations: 31 are one in a hundred.
        (0, Passed, |it| fail(it, Failure::NotFound, 31)),
        (4, Failed, |it| fail(it, Failure::NotFound, 32)),
        (4, Failed, |it| fail(it, Failure::Conflict, 1_000)),
        (5, NotTrustworthy, |it| crud(it).verdict = Verdict::Empty),
        (5, NotTrustworthy, |it| {
            fail(it, Failure::NotFound, 500);
            crud(it).verdict = Verdict::Degraded { failed_share: 0.2, outage_s: 0.0 };
        }),
        (3, Failed, |it| {
            for operation in &mut crud(it).operations {
                operation.failures.insert(Failure::NotFound, operation.issued);
                operation.ok = 0;
            }
        }),
        (3, Failed, |it| it.server.left = Some("no answer".to_owned())),
        (130, Stopped, |it| (it.partial, it.ended) = (true, Some(ended(EndedBy::User)))),
        (130, Stopped, |it| it.partial = true),
        (3, Failed, |it| (it.partial, it.ended) = (true, Some(ended(EndedBy::Unreachable)))),
        (3, Failed, |it| (it.partial, it.ended) = (true, Some(ended(EndedBy::Authentication)))),
        (1, Failed, |it| (it.partial, it.ended) = (true, Some(ended(EndedBy::Springload)))),
    ];
    for (number, (status, kind, change)) in cases.into_iter().enumerate() {
        let result = record(change).result();
        assert_eq!((result.exit_status, result.kind), (status, kind), "case {number}: {result:?}");
        assert_eq!(result.reason.is_none(), kind == Passed, "case {number}: {result:?}");
    }
}

#[test]
fn thresholds_say_how_much_may_fail() {
    let judged = |threshold: &str, failures| {
        let record = record(|record| {
            record.plan.thresholds = vec![threshold.parse().expect("a threshold")];
            fail(record, Failure::NotFound, failures);
        });
        record.result().exit_status
    };
    assert_eq!(judged("err > 50%", 1_000), 0, "the plan says otherwise");
    assert_eq!(judged("err > 0", 1), 4);
    assert_eq!(judged("p99 > 3600s", 1_000), 4, "the plan says nothing of errors");
    assert_eq!(judged("read.max > 1us", 0), 4);
}

#[test]
fn a_preparation_may_fail() {
    let result = record(|record| {
        fail(record, Failure::NotFound, 1_000);
        crud(record).name = "warm_up".to_owned();
    });
    assert_eq!(result.result().kind, ResultKind::Passed);
}

#[test]
fn conflicts_that_the_plan_provokes_are_no_failures_of_the_run() {
    let properties = Properties::default();
    let ycsb = YcsbStage {
        phase: YcsbPhase::Run,
        batch: 1,
        operations: Some(10),
        bodies: Bodies::Json,
        config: CoreConfig::read(&properties, false, &|_| Err(String::new())).unwrap(),
        class: Class::default(),
    };
    let stage = StagePlan {
        name: "crud".to_owned(),
        kind: StageKind::Ycsb(Box::new(ycsb)),
        pace: Pace::Closed { think_ns: 0 },
        length_ns: None,
    };
    let of = |class| {
        let record = record(|record| {
            record.plan.stages = vec![stage.clone()];
            fail(record, class, 1_000);
        });
        record.result().kind
    };
    assert_eq!(of(Failure::Conflict), ResultKind::Passed);
    assert_eq!(of(Failure::NotFound), ResultKind::Failed);
}

#[test]
fn a_result_is_told_in_words() {
    let result = record(|it| fail(it, Failure::NotFound, 1_000)).result();
    let words = "failed: 1000 of 3100 operations of crud failed: 1000 not_found; \
                 --fail-if 'err > N%' allows more than 1 %";
    assert_eq!(result.words(), words);
    assert_eq!(record(|_| {}).result().words(), "passed");
}
