//! The headline of each kind of result.

use super::*;
use crate::measure::{KindInterval, Outage, Span};
use crate::op::{Failure, Reason};
use crate::record::{Ended, Lost, RunResult, fixture};

/// A run of 3,000 reads and 100 updates in which nothing failed.
fn record(thresholds: &[&str], change: impl FnOnce(&mut RunRecord)) -> RunRecord {
    let mut record = fixture::without_failures(thresholds);
    change(&mut record);
    record.conclude();
    record
}

fn line(thresholds: &[&str], change: impl FnOnce(&mut RunRecord)) -> String {
    headline(&record(thresholds, change)).line()
}

fn crud(record: &mut RunRecord) -> &mut StageRecord {
    record.stages.last_mut().expect("a stage")
}

/// Makes one in `every` operations fail.
fn fail(record: &mut RunRecord, class: Failure, every: u64) {
    for operation in &mut crud(record).operations {
        let failed = operation.issued / every;
        operation.failures.insert(class, failed);
        operation.ok = operation.issued - failed;
        let said = Reason::new(None, "Connection refused (os error 111)");
        operation.reasons.insert(class, said);
    }
}

#[test]
fn a_run_that_passed_tells_its_figures() {
    assert_eq!(line(&[], |_| {}), "✓ PASSED  1,226 ops/s · p99 1.94 ms · none failed");
    let few = |it: &mut RunRecord| fail(it, Failure::Conflict, 400);
    assert_eq!(line(&[], few), "✓ PASSED  1,226 ops/s · p99 1.94 ms · 0.23 % failed");
    let fill = |it: &mut RunRecord| it.stages.truncate(1);
    assert_eq!(line(&[], fill), "✓ PASSED  800 docs/s · p50 0.010 ms · none failed");
    let none = |it: &mut RunRecord| it.stages.clear();
    assert_eq!(line(&[], none), "✓ PASSED  nothing was measured");
}

#[test]
fn a_missed_threshold_is_shown_with_its_limit() {
    let one = line(&["read.max > 1ms", "err > 1%"], |_| {});
    assert_eq!(one, "✗ FAILED  read max 1.97 ms, limit 1 ms");
    let two = line(&["read.max > 1ms", "read.p50 > 1us", "update.max > 1us"], |_| {});
    assert_eq!(two, "✗ FAILED  read max 1.97 ms, limit 1 ms · and 2 more missed");
}

#[test]
fn failures_are_shown_with_their_reason() {
    let half = line(&[], |it| fail(it, Failure::Connect, 2));
    assert_eq!(half, "✗ FAILED  50 % failed: connection refused");
    let all = line(&[], |it| fail(it, Failure::Connect, 1));
    assert_eq!(all, "✗ FAILED  no operation succeeded: connection refused");
    let bulk = |it: &mut RunRecord| {
        let bulk = &mut it.stages[0].operations[0];
        bulk.failures.insert(Failure::Timeout, 1_000);
        bulk.ok -= 1_000;
    };
    assert_eq!(line(&[], bulk), "✗ FAILED  bulk insert: 50 % failed: timeout");
}

#[test]
fn what_cannot_be_trusted_says_why() {
    let headline_of = |verdict| {
        line(&[], |it| {
            crud(it).verdict = verdict;
            let span = Span { from_s: 1.25, length_s: 0.8 };
            let answered = true;
            crud(it).outage =
                Outage { total_s: 0.9, spans: vec![span], answered, ..Outage::default() };
        })
    };
    let client = |busiest_thread| {
        let by = Hindrance::Unknown;
        Verdict::ClientBound { busiest_thread, late_p99_us: 1.0, by }
    };
    for (verdict, words) in [
        (client(0.97), "client-bound: springload's busiest thread was busy 97 % of the time"),
        (
            Verdict::Degraded { failed_share: 0.0, outage_s: 0.9 },
            "nothing succeeded for 0.9 s from 1.2 s on",
        ),
        (
            Verdict::Degraded { failed_share: 0.126, outage_s: 0.0 },
            "13 % failed through the server's fault",
        ),
        (
            Verdict::NotSustained { offered_per_s: 5e3, served_per_s: 3.2e3, backlog_per_s: 1.0 },
            "not sustained: 3,200/s of 5,000/s served",
        ),
        (Verdict::Empty, "nothing was measured"),
    ] {
        assert_eq!(headline_of(verdict), format!("! NOT TRUSTWORTHY  {words}"));
    }
    // What held up the client, and how to avoid that.
    let of = |by| {
        line(&[], |it| {
            let (busiest_thread, late_p99_us) = (0.3, 12_345.0);
            crud(it).verdict = Verdict::ClientBound { busiest_thread, late_p99_us, by };
        })
    };
    for (shown, words) in [
        (of(Hindrance::Waited(0.6)), "springload waited for CPU 60 % of the time"),
        (of(Hindrance::Held(0.274)), "springload itself took 27 % of the response times"),
        (of(Hindrance::Late(12_345.0)), "springload began operations 12.3 ms late (p99)"),
        (of(Hindrance::Computed(0.96)), "springload's busiest thread was busy 96 % of the time"),
        (of(Hindrance::Unknown), "springload's busiest thread was busy 30 % of the time"),
    ] {
        let cure = if words.contains("busiest thread") { "" } else { "; use a quieter machine" };
        assert_eq!(shown, format!("! NOT TRUSTWORTHY  client-bound: {words}{cure}"));
    }
    let mut fleet = fixture::fleet(4);
    let lost =
        Lost { at_s: 9.0, stage: None, why: "nothing heard for 3 s".to_owned(), handed_in: false };
    fleet.agents[1].lost = Some(lost);
    fleet.conclude();
    let line = headline(&fleet).line();
    assert_eq!(line, "! NOT TRUSTWORTHY  agent 1 of 4 lost: nothing heard for 3 s");
}

#[test]
fn a_run_that_ended_early_says_when() {
    let ended = |by| {
        move |it: &mut RunRecord| {
            it.partial = true;
            it.ended = Some(Ended { by, at_s: 1.25, message: "gave up after 1.2 s".to_owned() });
        }
    };
    let stopped = "■ STOPPED  after 1.2 s · 1,226 ops/s · p99 1.94 ms · none failed";
    assert_eq!(line(&[], ended(EndedBy::User)), stopped);
    assert_eq!(line(&[], ended(EndedBy::Unreachable)), "✗ FAILED  gave up after 1.2 s");
    let nothing = |it: &mut RunRecord| {
        ended(EndedBy::User)(it);
        it.stages.clear();
    };
    assert_eq!(line(&[], nothing), "■ STOPPED  after 1.2 s");
    let old = line(&[], |it| it.partial = true);
    assert_eq!(old, "■ STOPPED  the run was stopped early");
}

#[test]
fn a_run_that_goes_on_says_for_how_long_and_when_that_was() {
    let at = |seconds: u64, change: fn(&mut RunRecord)| {
        let mut record = record(&[], change);
        (record.partial, record.result) = (true, None);
        let began = record.began().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970");
        let at = began + Duration::from_secs(seconds);
        headline(&record.seen_running(at.as_nanos() as u64)).line()
    };
    // It began at 03:04:05.
    let far = "so far 1,226 ops/s · p99 1.94 ms · none failed";
    assert_eq!(at(9, |_| {}), format!("→ RUNNING  for 9 s, as of 03:04:14 UTC · {far}"));
    assert_eq!(at(125, |_| {}), format!("→ RUNNING  for 2 min 5 s, as of 03:06:10 UTC · {far}"));
    let nothing = at(7_384, |it| it.stages.clear());
    let wanted = "→ RUNNING  for 2 h 3 min, as of 05:07:09 UTC · so far nothing is measured";
    assert_eq!(nothing, wanted);
    // A clock that was set back.
    let mut early = record(&[], |_| {});
    (early.partial, early.result) = (true, None);
    assert!(headline(&early.seen_running(0)).line().starts_with("→ RUNNING  for 0 s, as of "));
}

#[test]
fn a_stored_result_counts_even_where_the_rules_have_changed() {
    let mut record = record(&["read.max > 1ms"], |_| {});
    record.result = Some(RunResult { kind: ResultKind::Passed, exit_status: 0, reason: None });
    assert!(headline(&record).line().starts_with("✓ PASSED  1,226 ops/s"));
    let mut record = self::record(&[], |_| {});
    let reason = Some("some other rule".to_owned());
    record.result = Some(RunResult { kind: ResultKind::Failed, exit_status: 4, reason });
    assert_eq!(headline(&record).line(), "✗ FAILED  some other rule");
}

#[test]
fn few_failures_are_never_none_and_many_never_all() {
    let errors_of = |failed: u64, of: u64| {
        let mut part = KindInterval { requests: of, ok: of - failed, ..KindInterval::default() };
        part.failures[Failure::Timeout.index()] = failed;
        error_words(&fixture::stage("crud", vec![(0, OpKind::Read, part)]).merged())
    };
    let words = [(0, 9), (1, 1_000_000), (1, 1_000), (31, 1_000), (999_999, 1_000_000), (9, 9)]
        .map(|(failed, of)| errors_of(failed, of));
    let expected = ["none", "<0.01 %", "0.10 %", "3.1 %", ">99.99 %", "100 %"]
        .map(|it| format!("{it} failed"));
    assert_eq!(words, expected);
}

/// The headline and reason of a run in which this share failed, and nothing succeeded for a while.
fn degraded(failed_share: f64, outage_s: f64) -> (String, String) {
    let record = record(&[], |it| {
        fail(it, Failure::Connect, 2);
        crud(it).verdict = Verdict::Degraded { failed_share, outage_s };
        let span = Span { from_s: 1.25, length_s: outage_s };
        let (total_s, spans, answered) = (outage_s, vec![span], true);
        crud(it).outage = Outage { total_s, spans, answered, ..Outage::default() };
    });
    let reason = record.result().reason.expect("a reason");
    (headline(&record).words, reason)
}

/// "nothing succeeded for 0.0 s" is no help if most operations failed.
#[test]
fn what_failed_is_shown_where_the_outage_was_a_moment() {
    let (words, reason) = degraded(0.62, 0.03);
    assert_eq!(words, "62 % failed through the server's fault: connection refused");
    assert!(reason.contains("degraded: 62.0 % of the operations failed"), "{reason}");
    let (words, reason) = degraded(0.01, 0.03);
    assert_eq!(words, "nothing succeeded for 30 ms from 1.2 s on");
    assert!(reason.contains("degraded: nothing succeeded for 30 ms"), "{reason}");
    let (words, reason) = degraded(0.62, 1.5);
    assert_eq!(words, "nothing succeeded for 1.5 s from 1.2 s on");
    assert!(reason.contains("degraded: nothing succeeded for 1.5 s"), "{reason}");
}

/// The start is that of the longest one, which is not as long as all of them together.
#[test]
fn several_outages_are_not_one_long_one() {
    let record = record(&[], |it| {
        crud(it).verdict = Verdict::Degraded { failed_share: 0.0, outage_s: 3.8 };
        let span = |from_s, length_s| Span { from_s, length_s };
        let spans = vec![span(0.5, 1.25), span(2.0, 1.3), span(4.0, 1.25)];
        crud(it).outage = Outage { total_s: 3.8, spans, answered: true, ..Outage::default() };
    });
    let words = "nothing succeeded for 3.8 s in 3 outages, the longest 1.3 s from 2.0 s on";
    assert_eq!(headline(&record).words, words);
    let reason = record.result().reason.expect("a reason");
    assert!(reason.contains(&format!("degraded: {words}")), "{reason}");
}

/// One operation in a millisecond is not a rate.
#[test]
fn a_rate_takes_time() {
    let short = |ok: u64, measured_s: f64| {
        let mut record = record(&["throughput < 100"], |_| {});
        let crud = crud(&mut record);
        (crud.elapsed_s, crud.measured_s) = (measured_s, measured_s);
        crud.operations.truncate(1);
        let reads = &mut crud.operations[0];
        (reads.issued, reads.ok, reads.requests) = (ok, ok, ok);
        reads.throughput_per_s = ok as f64 / measured_s;
        record.conclude();
        let problem = record.thresholds[0].problem.clone();
        (headline(&record).words, problem, record.result().exit_status)
    };
    let (words, problem, status) = short(1, 0.001);
    assert_eq!(problem.as_deref(), Some("too short for a rate: 1 success in 1 ms"));
    assert_eq!(
        (words.as_str(), status),
        ("throughput cannot be judged: too short for a rate: 1 success in 1 ms", 4,)
    );
    // Only the time actually measured counts.
    assert_eq!(short(9, 0.99).1.as_deref(), Some("too short for a rate: 9 successes in 990 ms"));
    assert_eq!(short(100, 0.009).1.as_deref(), Some("too short for a rate: 100 successes in 9 ms"));
    for (ok, measured_s) in [(9, 1.0), (1, 5.0), (10, 0.01), (100, 0.5)] {
        assert_eq!(short(ok, measured_s).1, None, "{ok} in {measured_s} s");
    }
    let mut none = record(&[], |_| {});
    let crud = crud(&mut none);
    (crud.measured_s, crud.elapsed_s) = (0.001, 0.001);
    none.conclude();
    let line = headline(&none).line();
    assert!(
        line.starts_with("✓ PASSED  too short for a rate: 3,100 successes in 1 ms · "),
        "{line}"
    );
}

#[test]
fn an_audit_counts_documents_that_were_or_may_have_been_written() {
    let audit = |never_written, lost: u64| {
        let (requests, ok) = (1_150, 1_150 - lost);
        let mut part = KindInterval { requests, ok, never_written, ..KindInterval::default() };
        part.failures[Failure::Lost.index()] = lost;
        let stage = fixture::stage("audit", vec![(0, OpKind::Verify, part)]);
        record(&[], |it| it.stages = vec![stage])
    };
    let words = |never_written, lost| audit_words(&audit(never_written, lost));
    assert_eq!(words(0, 0).as_deref(), Some("1,150 documents, all as acknowledged"));
    assert_eq!(words(115, 0).as_deref(), Some("1,035 documents, all as acknowledged"));
    assert_eq!(words(115, 3).as_deref(), Some("1,035 documents, of which 3 lost"));
    // The result has the same number.
    let result = |never_written, lost| audit(never_written, lost).result().words();
    let lost = "failed: data wrong: 3 lost, of";
    assert_eq!(result(115, 3), format!("{lost} 1,035 documents looked for"));
    assert_eq!(result(0, 3), format!("{lost} 1,150 documents looked for"));
}

#[test]
fn an_audit_says_what_became_of_writes_that_were_not_acknowledged() {
    let words = |failed: [u64; 2], unanswered: [u64; 2]| {
        let ([failed_carried_out, failed_not_carried_out], [carried_out, not_carried_out]) =
            (failed, unanswered);
        let wire = Wire {
            failed_carried_out,
            failed_not_carried_out,
            carried_out,
            not_carried_out,
            ..Wire::default()
        };
        let (requests, ok) = (1_150, 1_150);
        let part = KindInterval { requests, ok, wire, ..KindInterval::default() };
        let stage = fixture::stage("audit", vec![(0, OpKind::Verify, part)]);
        let words = audit_words(&record(&[], |it| it.stages = vec![stage])).expect("an audit");
        words
            .strip_prefix("1,150 documents, all as acknowledged")
            .expect("nothing is wrong")
            .to_owned()
    };
    assert_eq!(words([0, 0], [0, 0]), "");
    let (all, one) = ("; unanswered: 15, of which 15 were", "; unanswered: 15, of which 1 was");
    assert_eq!(words([0, 0], [15, 0]), format!("{all} carried out"));
    assert_eq!(words([0, 0], [1, 14]), format!("{one} carried out"));
    let failed = "; failed: 10,500, of which 220 were carried out";
    let none = "; unanswered: 2, of which 0 were carried out";
    assert_eq!(words([220, 10_280], [0, 2]), format!("{failed}{none}"));
}
