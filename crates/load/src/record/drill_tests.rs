//! Drills made by hand: their seconds, and what is reported about them.

use super::*;
use crate::account::{Account, Trust};
use crate::measure::{KindInterval, Span};
use crate::op::OpKind;
use crate::record::{Code, ResultKind, RunRecord, fixture};

/// A second: documents that succeeded, the milliseconds that each took, and the number of failures.
#[derive(Clone, Copy)]
struct Second {
    ok: u64,
    ms: u64,
    failed: u64,
}

const USUAL: Second = Second { ok: 200, ms: 10, failed: 0 };
const DOWN: Second = Second { ok: 0, ms: 0, failed: 20 };
const SLOW: Second = Second { ok: 150, ms: 40, failed: 0 };

fn part(it: Second) -> KindInterval {
    let requests = it.ok + it.failed;
    let mut part = KindInterval { requests, ok: it.ok, ..KindInterval::default() };
    part.failures[Failure::Unanswered.index()] = it.failed;
    if it.ok > 0 {
        part.response.record_many(it.ms * 1_000_000, it.ok);
        part.service.record_many(it.ms * 1_000_000, it.ok);
    }
    part
}

/// A run of these seconds, broken from 10.5 s to 20.5 s.
fn drilled(seconds: &[Second]) -> RunRecord {
    let mut record = fixture::record(&[]);
    let parts = seconds.iter().enumerate();
    let parts = parts.filter(|(_, it)| it.ok + it.failed > 0);
    let parts = parts.map(|(at, it)| (at as u32, OpKind::Update, part(*it))).collect();
    let mut stage = fixture::stage("crud", parts);
    (stage.elapsed_s, stage.measured_s) = (seconds.len() as f64 + 0.01, seconds.len() as f64);
    stage.account = Some(Account { trust: Trust::default(), ..Account::of(&stage.facts()) });
    let step = |from_s: f64| DrillStep { from_s, to_s: from_s, ..DrillStep::default() };
    stage.drill = Some(DrillRecord { stop: Some(step(10.5)), start: Some(step(20.5)) });
    record.stages = vec![stage];
    record.conclude();
    record
}

fn phases(parts: &[(usize, Second)]) -> Vec<Second> {
    parts.iter().flat_map(|(count, second)| std::iter::repeat_n(*second, *count)).collect()
}

fn code(record: &RunRecord) -> (u8, String) {
    let result = record.result();
    (result.exit_status, result.reason.unwrap_or_default())
}

fn close(one: Option<f64>, other: f64) -> bool {
    one.is_some_and(|one| (one - other).abs() < 1e-9)
}

#[test]
fn an_outage_that_was_ordered_is_none_of_the_runs() {
    let mut record = drilled(&phases(&[(10, USUAL), (1, DOWN), (9, DOWN), (3, SLOW), (10, USUAL)]));
    let span = Span { from_s: 10.6, length_s: 10.0 };
    record.stages[0].outage.spans = vec![span];
    record.conclude();
    assert_eq!(record.stages[0].verdict, Verdict::Drilled);
    assert_eq!(code(&record), (0, String::new()));
    let drill = record.stages[0].drilled().unwrap();
    let figures = Phase::ALL.map(|phase| drill.figures(phase));
    assert_eq!(figures.clone().map(|it| it.failed()), [0, 200, 0]);
    assert_eq!(figures.clone().map(|it| it.span_s), [(0.0, 10.0), (10.0, 21.0), (21.0, 33.0)]);
    let times = drill.times(None);
    assert!(close(times.first_failure_s, 0.5), "{times:?}");
    assert!(close(times.first_success_s, 10.5), "{times:?}");
    assert!(close(times.caught_up_s, 2.5), "{times:?}");
    assert!(drill.has_changed());
    assert_eq!(times.backlog_s, None);
}

#[test]
fn one_before_or_at_the_end_is() {
    // In its first phase, nothing succeeded for two seconds.
    let seconds = phases(&[(3, USUAL), (2, DOWN), (5, USUAL), (10, DOWN), (13, USUAL)]);
    let mut record = drilled(&seconds);
    record.stages[0].outage.spans = vec![Span { from_s: 3.0, length_s: 2.0 }];
    record.conclude();
    let (status, reason) = code(&record);
    assert_eq!(status, 5, "{reason}");
    assert!(matches!(record.stages[0].verdict, Verdict::Degraded { .. }), "{reason}");
    // It never came back.
    let record = drilled(&phases(&[(10, USUAL), (23, DOWN)]));
    let (status, reason) = code(&record);
    assert!(status == 3 && reason.starts_with("nothing succeeded any more after"), "{reason}");
    assert_eq!(record.stages[0].drilled().unwrap().times(None).caught_up_s, None);
    // Some requests still fail at the end.
    let half = Second { ok: 100, ms: 10, failed: 10 };
    let (status, reason) = code(&drilled(&phases(&[(10, USUAL), (10, DOWN), (13, half)])));
    assert_eq!(status, 4, "{reason}");
    let expected = "50 of 550 operations failed in the last 5 s: 50 unanswered";
    assert_eq!(reason, expected);
    // Failures only at first.
    let seconds = phases(&[(10, USUAL), (10, DOWN), (8, half), (5, USUAL)]);
    assert_eq!(code(&drilled(&seconds)).0, 0);
}

#[test]
fn a_break_that_breaks_nothing_is_reported() {
    let warned = |seconds: &[Second]| {
        let record = drilled(seconds);
        assert_eq!(record.result().kind, ResultKind::Passed);
        record.warnings.iter().any(|it| it.code == Code::NothingBroken)
    };
    assert!(warned(&[USUAL; 33]));
    let fast = Second { ok: 220, ms: 9, failed: 0 };
    assert!(warned(&phases(&[(10, USUAL), (11, fast), (12, USUAL)])), "that is no harm");
    assert!(!warned(&phases(&[(10, USUAL), (11, SLOW), (12, USUAL)])));
    let quiet = Second { ok: 0, ms: 0, failed: 0 };
    assert!(!warned(&phases(&[(10, USUAL), (11, quiet), (12, USUAL)])));
    let one = Second { failed: 1, ..USUAL };
    assert!(!warned(&phases(&[(10, USUAL), (1, one), (10, USUAL), (12, USUAL)])));
}

#[test]
fn all_is_as_before_once_it_lasts() {
    let after = |healed: &[(usize, Second)]| {
        let broken = [vec![(10, USUAL), (11, DOWN)], healed.to_vec()].concat();
        drilled(&phases(&broken)).stages[0].drilled().unwrap().times(None).caught_up_s
    };
    assert!(close(after(&[(12, USUAL)]), 0.5));
    assert!(close(after(&[(4, USUAL), (1, SLOW), (6, USUAL)]), 5.5));
    assert_eq!(after(&[(4, USUAL), (1, SLOW), (4, USUAL), (1, SLOW)]), None);
    assert_eq!(after(&[(12, SLOW)]), None);
    // Worse by no more than a tenth.
    let near = Second { ok: 181, ms: 10, failed: 0 };
    assert!(close(after(&[(12, near)]), 0.5));
    assert_eq!(after(&[(12, Second { ok: 179, ..near })]), None);
    assert!(close(after(&[(2, Second { failed: 1, ..USUAL }), (5, USUAL)]), 2.5));
}

#[test]
fn a_step_that_was_not_done_spoils_the_drill() {
    let with = |stop: Option<&str>, start: Option<&str>| {
        let mut record = drilled(&phases(&[(10, USUAL), (10, DOWN), (13, USUAL)]));
        let drill = record.stages[0].drill.as_mut().unwrap();
        drill.stop.as_mut().unwrap().problem = stop.map(str::to_owned);
        drill.start.as_mut().unwrap().problem = start.map(str::to_owned);
        record.conclude();
        code(&record)
    };
    let said = |reason: &str| (5, format!("the drill is not valid: {reason}"));
    assert_eq!(with(None, None).0, 0);
    assert_eq!(with(Some("a"), None), said("a"));
    assert_eq!(with(None, Some("b")), said("b"));
    assert_eq!(with(Some("a"), Some("b")), said("a; b"));
    let mut record = drilled(&[USUAL; 8]);
    record.stages[0].drill = Some(DrillRecord::default());
    record.conclude();
    assert_eq!(code(&record), said("the stage ended before anything was broken"));
}

#[test]
fn the_backlog_is_gone_once_it_was_seen_to_be() {
    let record = drilled(&[USUAL; 33]);
    let drill = record.stages[0].drilled().unwrap();
    let backlog = |jobs: serde_json::Value| {
        let column = |name: &str, values: serde_json::Value| {
            serde_json::json!({
                "name": name, "title": name, "unit": "", "about": "queues", "values": values,
            })
        };
        let memory = column(BESIDE, serde_json::json!([1.0, 1.0, 1.0, 1.0]));
        let columns =
            if jobs.is_null() { vec![memory] } else { vec![memory, column(BACKLOG, jobs)] };
        let observed = serde_json::json!({
            "sources": [{
                "name": "n", "polls": 4,
                "tables": [{ "at_s": [15.0, 20.75, 22.75, 24.75], "columns": columns }],
            }],
        });
        drill.times(Some(&serde_json::from_value(observed).unwrap())).backlog_s
    };
    // The stage began after 0.25 s, and it was mended 20.5 s later.
    assert_eq!(backlog(serde_json::json!([5.0, 3.0, 0.0, 0.0])), Some(Backlog::Gone(2.0)));
    assert_eq!(backlog(serde_json::json!([5.0, null, 1.0, 0.0])), Some(Backlog::Gone(4.0)));
    assert_eq!(backlog(serde_json::json!([5.0, 0.0, 0.0, 1.0])), Some(Backlog::Left));
    assert_eq!(backlog(serde_json::json!([5.0, 3.0, null, null])), Some(Backlog::Left));
    assert_eq!(backlog(serde_json::Value::Null), Some(Backlog::Never));
    assert_eq!(drill.times(Some(&Observed::default())).backlog_s, None);
}
