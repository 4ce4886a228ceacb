//! Tables of cases: the result and exit status of each record.

use super::*;
use crate::engine::Pace;
use crate::measure::Wire;
use crate::op::OpKind;
use crate::plan::{Purpose, StagePlan};
use crate::properties::Properties;
use crate::record::fixture::crud;
use crate::record::{Verdict, fixture};
use crate::workload::ycsb::{Class, CoreConfig, YcsbPhase, YcsbStage};

/// A run of 3,000 reads and 100 updates in which nothing failed.
fn record(change: impl FnOnce(&mut RunRecord)) -> RunRecord {
    let mut record = fixture::without_failures(&[]);
    for stage in &mut record.stages {
        stage.verdict = Verdict::Closed;
    }
    change(&mut record);
    record.conclude();
    record
}

/// Makes `count` of the 3,000 reads fail.
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
        // 3,100 operations: 31 is one in a hundred.
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

/// Something left on the server is only a warning if anything else is wrong with the run.
#[test]
fn a_clean_up_that_failed_hides_nothing() {
    type Change<'a> = Box<dyn Fn(&mut RunRecord) + 'a>;
    let lost = Warning {
        code: Code::DataWrong,
        stage: Some("audit".to_owned()),
        message: "data wrong: 13 lost, of 1,200 documents looked for".to_owned(),
    };
    let degraded = Verdict::Degraded { failed_share: 0.2, outage_s: 0.0 };
    let cases: [(u8, Change<'_>); 5] = [
        (6, Box::new(|it| it.warnings.push(lost.clone()))),
        (5, Box::new(|it| crud(it).verdict = degraded)),
        (4, Box::new(|it| fail(it, Failure::NotFound, 300))),
        (
            4,
            Box::new(|it| {
                it.thresholds = fixture::record(&["read.max > 1us"]).thresholds;
            }),
        ),
        (3, Box::new(|_| {})),
    ];
    for (status, change) in cases {
        let mut record = record(|it| {
            (it.server.created, it.server.left) = (true, Some("status 503".to_owned()));
        });
        change(&mut record);
        let result = of(&record);
        assert_eq!(result.exit_status, status, "{result:?}");
        let mentioned = result.reason.unwrap().contains("could not be removed");
        assert_eq!(mentioned, status == 3, "only where nothing else is wrong");
        let warned = record.warnings.iter().any(|it| it.code == Code::NotRemoved);
        assert!(warned, "{:?}", record.warnings);
    }
}

/// A limit on the main stage does not apply to the fill before it.
#[test]
fn the_fill_has_a_limit_of_its_own() {
    let judged = |threshold: &str| {
        let record = record(|record| {
            record.plan.thresholds = vec![threshold.parse().expect("a threshold")];
            let fill = &mut record.stages[0].operations[0];
            fill.failures.insert(Failure::Timeout, 100);
            fill.ok = fill.issued - 100;
        });
        (record.result().exit_status, record.result().reason.unwrap_or_default())
    };
    let (status, reason) = judged("err > 50%");
    assert_eq!(status, 4, "{reason}");
    assert!(reason.contains("--fail-if 'bulk_insert.err > N%' allows"), "{reason}");
    assert_eq!(judged("bulk_insert.err > 50%").0, 0);
    assert_eq!(judged("bulk_insert.err > 1%"), (4, "bulk_insert.err > 1%".to_owned()));
    let (_, reason) = self::judged_main();
    assert!(reason.contains("--fail-if 'err > N%' allows"), "{reason}");
}

fn judged_main() -> (u8, String) {
    let result = record(|it| fail(it, Failure::NotFound, 300)).result();
    (result.exit_status, result.reason.unwrap_or_default())
}

#[test]
fn what_the_server_is_not_to_blame_for_is_reported_beside_a_verdict() {
    let reason_for = |class| {
        let result = record(|it| {
            fail(it, class, 500);
            crud(it).verdict = Verdict::Degraded { failed_share: 0.01, outage_s: 0.1 };
        });
        result.result().reason.unwrap()
    };
    let reason = reason_for(Failure::NotFound);
    assert!(
        reason.contains("degraded") && reason.contains("; 500 of 3,100 operations failed"),
        "{reason}"
    );
    assert!(reason.contains("500 not_found"), "{reason}");
    let reason = reason_for(Failure::ServerError);
    assert!(reason.contains("degraded") && !reason.contains("500"), "{reason}");
}

#[test]
fn what_failed_for_other_reasons_is_only_that() {
    let reason = record(|record| {
        fail(record, Failure::NotFound, 500);
        let stage = crud(record);
        stage.verdict = Verdict::Degraded { failed_share: 0.01, outage_s: 0.1 };
        let reads = stage.operations.iter_mut().find(|it| it.kind == OpKind::Read).unwrap();
        reads.failures.extend([(Failure::Connect, 56), (Failure::Unanswered, 1)]);
        reads.ok -= 57;
    });
    let reason = reason.result().reason.unwrap();
    let others = "; 500 of 3,100 operations failed for other reasons: 500 not_found";
    assert!(reason.ends_with(others), "{reason}");
    // So it is where the plan provokes conflicts.
    let reason = record(|record| {
        record.plan.stages = vec![ycsb(YcsbPhase::Run)];
        fail(record, Failure::NotFound, 500);
        let reads = crud(record).operations.iter_mut().find(|it| it.kind == OpKind::Read).unwrap();
        reads.failures.insert(Failure::Conflict, 100);
        reads.ok -= 100;
    });
    let reason = reason.result().reason.unwrap();
    assert!(reason.contains("500 of 3,100 operations of the "), "{reason}");
    assert!(reason.contains(" stage failed: 500 not_found; --fail-if"), "{reason}");
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
    // The purpose of a stage comes from its plan, not its name.
    let of = |purpose| {
        let record = record(|record| {
            fail(record, Failure::NotFound, 1_000);
            crud(record).plan = Some(StagePlan { purpose: Some(purpose), ..ycsb(YcsbPhase::Run) });
        });
        record.result().kind
    };
    assert_eq!(of(Purpose::WarmUp), ResultKind::Passed);
    assert_eq!(of(Purpose::Prepare), ResultKind::Passed);
    assert_eq!(of(Purpose::Main), ResultKind::Failed);
}

/// The stage "crud" as one of YCSB's, of 1,000 records.
fn ycsb(phase: YcsbPhase) -> StagePlan {
    let mut config =
        CoreConfig::read(&Properties::default(), false, &|_| Err(String::new())).unwrap();
    config.insert_count = 1_000;
    let stage =
        YcsbStage { phase, batch: 1, operations: Some(10), config, class: Class::default() };
    StagePlan {
        name: "crud".to_owned(),
        purpose: Some(Purpose::Main),
        work: stage.into(),
        pace: Pace::Closed { think_ns: 0 },
        length_ns: None,
    }
}

#[test]
fn a_load_phase_must_load_all_records() {
    let of = |phase, loaded: u64, failures: &[(Failure, u64)]| {
        let record = record(|record| {
            // The stages before it are not part of the plan.
            record.plan.stages = vec![ycsb(phase)];
            let operations = &mut crud(record).operations;
            operations.truncate(1);
            let inserts = &mut operations[0];
            (inserts.kind, inserts.ok, inserts.issued) = (OpKind::Create, loaded, 1_000);
            inserts.failures = failures.iter().copied().collect();
        });
        (record.result().exit_status, record.result().reason)
    };
    assert_eq!(of(YcsbPhase::Load, 1_000, &[]), (0, None));
    assert_eq!(of(YcsbPhase::Load, 1_001, &[]), (0, None));
    let left_out = "1 of 1,000 records were not loaded";
    assert_eq!(of(YcsbPhase::Load, 999, &[]), (3, Some(left_out.to_owned())));
    let why = Some(format!("{left_out}: 1 conflict"));
    assert_eq!(of(YcsbPhase::Load, 999, &[(Failure::Conflict, 1)]), (3, why));
    assert_eq!(of(YcsbPhase::Run, 999, &[]), (0, None), "nothing is loaded");
}

#[test]
fn a_load_phase_left_out_what_was_not_found_to_be_carried_out() {
    // Of 1,000 records: these were loaded, unanswered, and found to be carried out, and not to be.
    let of = |loaded: u64, class, lost: u64, [carried_out, not_carried_out]: [u64; 2]| {
        let record = record(|record| {
            record.plan.stages = vec![ycsb(YcsbPhase::Load)];
            let operations = &mut crud(record).operations;
            operations.truncate(1);
            let inserts = &mut operations[0];
            inserts.kind = OpKind::Create;
            (inserts.ok, inserts.issued, inserts.unfinished) = (loaded, loaded + lost, 0);
            inserts.wire = Wire { carried_out, not_carried_out, ..Wire::default() };
            inserts.failures = [(class, lost)].into();
        });
        let result = record.result();
        (result.exit_status == 3).then(|| result.reason.expect("a reason"))
    };
    let lost = Failure::Unanswered;
    let words = |words: &str| Some(format!("{words}: 8 unanswered"));
    let missing = "98 of 1,000 records were not loaded";
    assert_eq!(of(900, lost, 8, [2, 6]), words(missing));
    let both = "94 of 1,000 records were not loaded, and 4 more may not have been";
    assert_eq!(of(900, lost, 8, [2, 2]), words(both));
    let unknown = "6 of 1,000 records may not have been loaded";
    assert_eq!(of(992, lost, 8, [2, 0]), words(unknown));
    assert_eq!(of(992, lost, 8, [8, 0]), None, "all are there");
    // Tried several times, and refused.
    let tried = "2 of 1,000 records may not have been loaded";
    assert_eq!(of(998, lost, 8, [0, 0]), words(tried));
    let refused = "100 of 1,000 records were not loaded: 8 conflict";
    assert_eq!(of(900, Failure::Conflict, 8, [0, 0]).as_deref(), Some(refused));
}

#[test]
fn data_that_is_wrong_goes_before_what_is_not_trustworthy() {
    let wrong = |extra: Option<u64>| {
        record(|record| {
            record.extra_documents = extra;
            let stage = crud(record);
            stage.verdict = Verdict::Empty;
            let mut verify = stage.operations[0].clone();
            verify.kind = OpKind::Verify;
            verify.failures.insert(Failure::UnexpectedState, 2);
            stage.operations.push(verify);
        })
    };
    let result = wrong(None).result();
    assert_eq!((result.exit_status, result.kind), (6, ResultKind::Failed));
    let read = "2 unexpected state, of 3,000 documents read";
    assert_eq!(result.words(), format!("failed: data wrong: {read}"));
    // The same result wherever they were found.
    let words = wrong(Some(3)).result().words();
    let extra = "3 documents that this run did not write";
    assert_eq!(words, format!("failed: data wrong: {extra}; {read}"));
}

#[test]
fn the_reason_counts_the_thresholds_and_what_had_no_answer() {
    let words = |thresholds: &[&str]| {
        record(|record| {
            record.plan.thresholds = thresholds.iter().map(|it| it.parse().unwrap()).collect();
        })
        .result()
        .words()
    };
    assert_eq!(words(&["read.max > 1us"]), "failed: read.max > 1us");
    let two = ["read.max > 1us", "read.max > 9s", "update.max > 1us"];
    assert_eq!(words(&two), "failed: read.max > 1us and 1 more");
    let few = "failed: update.p99 > 9s cannot be judged: too few samples: 95 of at least 1,000";
    assert_eq!(words(&["update.p99 > 9s"]), few);
    let both = ["update.p99 > 9s", "read.p99 > 9s", "read.max > 1us"];
    assert_eq!(words(&both), format!("{few}; and 1 more"));
    let nothing = |class: Option<Failure>| {
        let record = record(|record| {
            for operation in &mut crud(record).operations {
                (operation.ok, operation.unfinished) = (0, 2);
                operation.failures = class.map(|class| (class, 7)).into_iter().collect();
            }
        });
        record.result().words()
    };
    let none = "failed: no operation of the mixed stage succeeded: ";
    assert_eq!(nothing(None), format!("{none}4 had no answer at the end"));
    assert_eq!(nothing(Some(Failure::Reset)), format!("{none}14 reset"));
    let empty = record(|record| {
        for operation in &mut crud(record).operations {
            operation.ok = 0;
        }
    });
    assert_eq!(empty.result().words(), none.trim_end_matches(": "));
}

#[test]
fn conflicts_that_the_plan_provokes_are_no_failures_of_the_run() {
    let stage = ycsb(YcsbPhase::Run);
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
fn a_result_is_put_in_words() {
    let result = record(|it| fail(it, Failure::NotFound, 1_000)).result();
    let words = "failed: 1,000 of 3,100 operations of the mixed stage failed: 1,000 not_found; \
                 --fail-if 'err > N%' allows more than 1 %";
    assert_eq!(result.words(), words);
    assert_eq!(record(|_| {}).result().words(), "passed");
}

#[test]
fn a_record_is_closed_with_why_it_ended_and_what_became_of_its_database() {
    let mut record = record(|_| {});
    record.close(None, Ok(true));
    assert_eq!((record.partial, record.server.deleted, &record.server.left), (false, true, &None));
    assert_eq!(record.result().kind, ResultKind::Passed);
    record.close(Some(ended(EndedBy::User)), Err("status 503".to_owned()));
    assert!(record.partial && !record.server.deleted);
    assert_eq!(record.server.left.as_deref(), Some("status 503"));
    assert!(record.warnings.iter().any(|it| it.message.contains("status 503")));
    assert_ne!(record.result().kind, ResultKind::Passed);
}

#[test]
fn an_audit_that_lacks_notes_of_writes_makes_a_run_not_trustworthy() {
    let result = record(|it| it.journal_broken = Some("disk full".to_owned())).result();
    assert_eq!((result.kind, result.exit_status), (ResultKind::NotTrustworthy, 5));
    let reason = "audit incomplete: notes of writes are missing: disk full";
    assert_eq!(result.reason.as_deref(), Some(reason));
}

#[test]
fn a_run_that_ended_before_its_audit_says_so_and_what_to_do() {
    let said = |by, change: fn(&mut RunRecord)| {
        let record = record(|it| {
            it.plan.audit = true;
            (it.partial, it.ended) = (true, Some(ended(by)));
            change(it);
        });
        (record.result().exit_status, fixture::messages_of(&record, Code::AuditIncomplete))
    };
    let early =
        |cure: &str| vec![format!("audit incomplete: the run ended before its audit; {cure}")];
    let later = || early("audit later with springload audit RUN");
    for (by, exit_status) in [
        (EndedBy::Authentication, 3),
        (EndedBy::Unreachable, 3),
        (EndedBy::User, 130),
        (EndedBy::Springload, 1),
        (EndedBy::Agents, 5),
    ] {
        assert_eq!(said(by, |_| {}), (exit_status, later()), "{by:?}");
    }
    let removed = early("the database was removed; --keep keeps it");
    assert_eq!(said(EndedBy::User, |it| it.server.deleted = true), (130, removed));
    let broken = vec!["audit incomplete: notes of writes are missing: disk full".to_owned()];
    let disk_full: fn(&mut RunRecord) = |it| it.journal_broken = Some("disk full".to_owned());
    assert_eq!(said(EndedBy::User, disk_full), (130, broken));
    // Audited nevertheless, or not asked for, or done.
    let others: [fn(&mut RunRecord); 3] = [
        |it| it.stages.push(fixture::stage("audit", Vec::new())),
        |it| it.plan.audit = false,
        |it| it.ended = None,
    ];
    for change in others {
        assert_eq!(said(EndedBy::User, change).1, Vec::<String>::new());
    }
}

#[test]
fn runs_count_that_measured_their_plan() {
    let unfit = |change: &dyn Fn(&mut RunRecord)| {
        let mut record = fixture::without_failures(&[]);
        change(&mut record);
        record.conclude();
        record.unfit()
    };
    assert_eq!(unfit(&|_| ()), None);
    // It was measured, whatever the result, and whatever is left on the server.
    let read = |text: &str| vec![text.parse().expect("a threshold")];
    assert_eq!(unfit(&|it| it.plan.thresholds = read("read.max > 1us")), None);
    assert_eq!(unfit(&|it| it.server.left = Some("status 503".to_owned())), None);
    let bound = Verdict::Degraded { failed_share: 0.2, outage_s: 0.0 };
    let reason = unfit(&|it| it.stages[2].verdict = bound).expect("it does not count");
    assert!(reason.starts_with("not trustworthy: "), "{reason}");
    let gone = |it: &mut RunRecord| {
        let (by, message) = (EndedBy::Unreachable, "the server is gone".to_owned());
        (it.partial, it.ended) = (true, Some(Ended { by, at_s: 1.0, message }));
    };
    assert_eq!(unfit(&gone).as_deref(), Some("stopped: the server is gone"));
    assert_eq!(unfit(&|it| it.stages.clear()).as_deref(), Some("nothing measured"));
    let none = |it: &mut RunRecord| {
        it.stages[2].operations.iter_mut().for_each(|operation| operation.ok = 0);
    };
    assert!(unfit(&none).expect("it does not count").starts_with("failed: no operation"));
}
