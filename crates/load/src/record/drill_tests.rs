//! Drills made by hand: their seconds, and what is reported about them.

use super::*;
use crate::account::{Account, Sureness, Trust};
use crate::measure::{KindInterval, NodeInterval, NodeLog, NodeSummary, Span, Unreachable};
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
const QUIET: Second = Second { ok: 0, ms: 0, failed: 0 };

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
    assert!(!warned(&phases(&[(10, USUAL), (11, QUIET), (12, USUAL)])));
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
fn a_drill_that_ends_too_soon_says_nothing_about_what_comes_after_it() {
    let after = |healed: &[(usize, Second)]| {
        let seconds = [vec![(10, USUAL), (11, DOWN)], healed.to_vec()].concat();
        let record = drilled(&phases(&seconds));
        let drill = record.stages[0].drilled().unwrap();
        (drill.times(None).caught_up_s.is_some(), drill.ends_too_soon())
    };
    assert_eq!(after(&[(4, USUAL)]), (false, true));
    assert_eq!(after(&[]), (false, true));
    assert_eq!(after(&[(5, USUAL)]), (true, false));
    assert_eq!(after(&[(3, USUAL), (1, SLOW)]), (false, false), "that is known");
    assert_eq!(after(&[(3, DOWN)]), (false, false));
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

/// The same run, broken and mended at other times.
fn moved(mut record: RunRecord, from_s: f64, to_s: f64) -> RunRecord {
    let drill = record.stages[0].drill.as_mut().unwrap();
    drill.stop.as_mut().unwrap().from_s = from_s;
    drill.start.as_mut().unwrap().to_s = to_s;
    record
}

#[test]
fn the_figures_of_a_phase_are_sums_over_its_seconds() {
    let half = Second { ok: 6, ms: 20, failed: 2 };
    let mut record = drilled(&phases(&[(10, USUAL), (11, half), (12, USUAL)]));
    for row in &mut record.stages[0].series.rows {
        row.kinds.get_mut(&OpKind::Update).unwrap().accepted = 3;
    }
    let drill = record.stages[0].drilled().unwrap();
    let broken = drill.figures(Phase::Broken);
    assert_eq!((broken.requests, broken.ok, broken.accepted, broken.failed()), (88, 66, 33, 22));
    assert!(close(broken.ok_per_s(), 6.0), "{:?}", broken.ok_per_s());
    assert!(close(Some(share(&broken)), 0.25), "{}", share(&broken));
    let p99_ns = broken.p99_ns().unwrap();
    assert!((20_000_000..20_100_000).contains(&p99_ns), "{p99_ns}");
    assert_eq!(PhaseFigures::default().p99_ns(), None);
    assert_eq!(drill.broken_s(), (10.5, 20.5));
    assert_eq!(drill.resolution_s(), 1);
    record.stages[0].series.rows[32].seconds = 4;
    record.stages[0].drill.as_mut().unwrap().start = None;
    let drill = record.stages[0].drilled().unwrap();
    assert_eq!(drill.broken_s(), (10.5, 33.0), "to the end if it was not mended");
    assert_eq!(drill.resolution_s(), 4);
}

fn node(url: &str) -> NodeSummary {
    let (part, log) = (NodeInterval::default(), NodeLog::default());
    NodeSummary::new(url.to_owned(), &part, &log, 0, 1.0)
}

#[test]
fn each_node_has_figures_of_its_own() {
    let answered = |ok: u64, accepted: u64, failed: u64| {
        let mut node = SeriesNode { requests: ok + failed, ok, accepted, ..SeriesNode::default() };
        node.failures.insert(Failure::Timeout, failed);
        let mut response = Histogram::default();
        response.record_many(20_000_000, ok);
        node.response.merge(&response);
        node
    };
    let mut record = drilled(&[USUAL; 33]);
    let stage = &mut record.stages[0];
    stage.nodes = vec![node("http://a:1"), node("http://b:2")];
    let nodes = |record: &RunRecord| {
        let figures = record.stages[0].drilled().unwrap().figures_of_nodes(Phase::Broken);
        let counts = |it: &PhaseFigures| [it.requests, it.ok, it.accepted, it.failed()];
        let seen = figures.iter().map(|it| (it.span_s, counts(it), it.response.len()));
        seen.collect::<Vec<_>>()
    };
    assert_eq!(nodes(&record), [], "they were not told apart");
    for row in &mut record.stages[0].series.rows {
        row.nodes = vec![answered(1, 0, 0), answered(5, 3, 2)];
    }
    let span_s = (10.0, 21.0);
    let expected = [(span_s, [11, 11, 0, 0], 11), (span_s, [77, 55, 33, 22], 55)];
    assert_eq!(nodes(&record), expected);
}

#[test]
fn the_seconds_of_a_stage_have_no_gaps_and_end_with_its_load() {
    let mut record = drilled(&phases(&[(3, USUAL), (1, QUIET), (2, USUAL)]));
    record.stages[0].measured_s = 5.0;
    let record = moved(record, 1.5, 2.5);
    let drill = record.stages[0].drilled().unwrap();
    let seconds: Vec<_> = drill.seconds().into_iter().map(|it| (it.span_s, it.ok)).collect();
    let expected = [
        ((0.0, 1.0), 200),
        ((1.0, 2.0), 200),
        ((2.0, 3.0), 200),
        ((3.0, 4.0), 0),
        ((4.0, 5.0), 200),
    ];
    assert_eq!(seconds, expected);
    let phases = [(0.5, 1.5), (1.5, 2.0), (2.0, 3.0), (2.5, 3.5)];
    let phases = phases.map(|(from_s, to_s)| drill.phase_of(from_s, to_s));
    assert_eq!(phases, [Phase::Before, Phase::Broken, Phase::Broken, Phase::Healed]);
    let second = |from_s, to_s| PhaseFigures { span_s: (from_s, to_s), ..PhaseFigures::default() };
    let all = [second(-1.0, 0.0), second(0.0, 0.999), second(5.0, 5.5), second(6.0, 7.0)];
    assert_eq!(drill.whole(&all, Phase::Before), []);
    assert_eq!(drill.whole(&all, Phase::Healed), all[3..]);
}

#[test]
fn delays_count_from_the_break_or_the_mending() {
    let one = Second { failed: 1, ..USUAL };
    let times = |seconds: &[(usize, Second)], from_s, to_s| {
        let record = moved(drilled(&phases(seconds)), from_s, to_s);
        let times = record.stages[0].drilled().unwrap().times(None);
        [times.first_failure_s, times.first_success_s, times.healed_success_s]
    };
    // Failures until the break are none of its doing, nor are successes in the second of the
    // mending.
    let seconds = [(9, USUAL), (1, one), (1, USUAL), (1, one), (9, USUAL), (1, DOWN), (11, USUAL)];
    assert_eq!(times(&seconds, 10.0, 20.5), [Some(2.0), Some(2.0), Some(2.5)]);
    // Unless there are no others.
    let seconds = [(10, USUAL), (10, DOWN), (1, USUAL), (12, DOWN)];
    assert_eq!(times(&seconds, 10.0, 20.5), [Some(1.0), Some(11.0), Some(0.5)]);
    assert_eq!(times(&[(20, USUAL), (13, DOWN)], 10.0, 20.0), [Some(11.0), None, None]);
    // Nor are those in the second of the break, unless all is well after its failures.
    let last = Second { ok: 1, ..DOWN };
    let seconds = [(10, USUAL), (1, last), (22, DOWN)];
    assert_eq!(times(&seconds, 10.0, 20.5), [Some(1.0), None, None]);
    let seconds = [(10, USUAL), (1, last), (4, QUIET), (18, USUAL)];
    assert_eq!(times(&seconds, 10.0, 20.5), [Some(1.0), Some(6.0), Some(1.5)]);
    let seconds = [(10, USUAL), (1, one), (22, USUAL)];
    assert_eq!(times(&seconds, 10.0, 20.5), [Some(1.0), Some(1.0), Some(1.5)]);
    let seconds = [(32, USUAL), (1, one)];
    assert_eq!(times(&seconds, 10.0, 20.5), [Some(23.0), Some(23.0), Some(1.5)]);
}

#[test]
fn four_good_seconds_and_times_longer_by_more_than_a_tenth_are_not_back_to_normal() {
    let record = moved(drilled(&phases(&[(6, USUAL), (1, SLOW)])), 2.0, 2.0);
    assert_eq!(record.stages[0].drilled().unwrap().times(None).caught_up_s, None);
    let usual = Second { ms: 20, ..USUAL };
    for (ms, is_back) in [(21, true), (23, false)] {
        let record = drilled(&phases(&[(10, usual), (11, DOWN), (12, Second { ms, ..USUAL })]));
        let caught_up_s = record.stages[0].drilled().unwrap().times(None).caught_up_s;
        assert_eq!(caught_up_s.is_some(), is_back, "{ms} ms");
    }
}

#[test]
fn a_silence_an_absence_or_a_missing_quorum_in_the_break_is_a_change() {
    let changed = |change: &dyn Fn(&mut StageRecord)| {
        let mut record = drilled(&[USUAL; 33]);
        change(&mut record.stages[0]);
        record.stages[0].drilled().unwrap().has_changed()
    };
    assert!(!changed(&|_| ()));
    // It was broken from 10.5 to 20.5 s.
    let spans = [(9.5, 1.0, false), (10.0, 1.0, true), (20.25, 9.0, true), (20.5, 1.0, false)];
    for (from_s, length_s, expected) in spans {
        let silent = |it: &mut StageRecord| it.outage.spans = vec![Span { from_s, length_s }];
        assert_eq!(changed(&silent), expected, "silent from {from_s} s");
        let to_s = Some(from_s + length_s);
        let away = |stage: &mut StageRecord| {
            let unreachable = vec![Unreachable { from_s, to_s, moved: 1, returned: 1 }];
            stage.nodes = vec![NodeSummary { unreachable, ..node("http://a:1") }];
        };
        assert_eq!(changed(&away), expected, "away from {from_s} s");
    }
    let accepted = |seconds: &'static [usize]| {
        move |stage: &mut StageRecord| {
            for at in seconds {
                let row = &mut stage.series.rows[*at];
                row.kinds.get_mut(&OpKind::Update).unwrap().accepted = 3;
            }
        }
    };
    assert!(changed(&accepted(&[15])));
    assert!(!changed(&accepted(&[5, 15])), "that was so before");
    assert!(!changed(&accepted(&[5, 25])));
}

#[test]
fn the_worse_of_the_judged_parts_is_the_one_with_the_larger_share_of_failures() {
    let before = Second { ok: 9, ms: 10, failed: 1 };
    for (last, counts, words) in [
        // 1 %, as large a share, and a larger one.
        (Second { ok: 297, failed: 3, ms: 10 }, (10, 100), "before anything was broken: 10"),
        (Second { ok: 27, failed: 3, ms: 10 }, (10, 100), "before anything was broken: 10"),
        (Second { ok: 7, failed: 3, ms: 10 }, (15, 50), "in the last 5 s: 15"),
    ] {
        let record = drilled(&phases(&[(10, before), (18, DOWN), (5, last)]));
        let drill = record.stages[0].drilled().unwrap();
        assert_eq!(drill.failed(|_| true), counts);
        assert_eq!(drill.failed(|class| class == Failure::Conflict).0, 0);
        assert_eq!(drill.failing_words(), format!("{words} unanswered"));
    }
}

#[test]
fn what_was_not_mended_cannot_stay_down() {
    let mut record = drilled(&phases(&[(10, USUAL), (23, DOWN)]));
    assert!(record.stages[0].drilled().unwrap().stays_down());
    record.stages[0].drill.as_mut().unwrap().start = None;
    assert!(!record.stages[0].drilled().unwrap().stays_down(), "nobody could see it");
}

#[test]
fn a_server_that_failed_before_the_break_is_degraded() {
    let verdict = |before: Second, outage: Option<(f64, f64)>| {
        let mut record = drilled(&phases(&[(10, before), (10, DOWN), (13, USUAL)]));
        let spans = outage.map(|(from_s, length_s)| Span { from_s, length_s });
        record.stages[0].outage.spans = spans.into_iter().collect();
        record.stages[0].drilled().unwrap().verdict(None)
    };
    let degraded = |failed_share, outage_s| Verdict::Degraded { failed_share, outage_s };
    let failing = |failed: u64| Second { ok: 10 - failed, ms: 10, failed };
    assert_eq!(verdict(failing(1), None), Verdict::Drilled, "a tenth is allowed");
    assert_eq!(verdict(failing(2), None), degraded(0.2, 0.0));
    assert_eq!(verdict(USUAL, Some((0.0, 0.1))), Verdict::Drilled, "1 % of the time");
    assert_eq!(verdict(USUAL, Some((3.0, 0.5))), degraded(0.0, 0.5));
    assert_eq!(verdict(USUAL, Some((10.0, 0.25))), degraded(0.0, 0.25), "over before the break");
    assert_eq!(verdict(USUAL, Some((8.5, 10.0))), degraded(0.0, 2.0), "up to the break");
    for from_s in [9.5, 10.0, 10.25] {
        let words = "the drill's own begins with the last success before it";
        assert_eq!(verdict(USUAL, Some((from_s, 9.0))), Verdict::Drilled, "{from_s}: {words}");
    }
    assert_eq!(verdict(USUAL, Some((10.5, 9.0))), Verdict::Drilled, "the drill's own");
    // Before a long time, a second is allowed.
    for (length_s, expected) in [(1.0, Verdict::Drilled), (1.5, degraded(0.0, 1.5))] {
        let record = drilled(&phases(&[(1, USUAL), (199, QUIET), (1, USUAL), (14, USUAL)]));
        let mut record = moved(record, 200.0, 205.0);
        record.stages[0].outage.spans = vec![Span { from_s: 3.0, length_s }];
        assert_eq!(record.stages[0].drilled().unwrap().verdict(None), expected);
    }
}

#[test]
fn a_drill_without_operations_or_with_a_busy_client_is_judged_like_any_other_run() {
    let mut record = drilled(&[USUAL; 33]);
    record.stages[0].account.as_mut().unwrap().trust.throughput = Sureness::Unknown;
    let bound = record.stages[0].drilled().unwrap().verdict(None);
    assert!(matches!(bound, Verdict::ClientBound { .. }), "{bound:?}");
    record.stages[0].elapsed_s = 0.05;
    assert_eq!(record.stages[0].drilled().unwrap().verdict(None), Verdict::TooShort);
    record.stages[0].operations.clear();
    assert_eq!(record.stages[0].drilled().unwrap().verdict(None), Verdict::Empty);
}

#[test]
fn a_load_that_was_not_served_before_the_break_is_not_sustained() {
    // 200 operations a second.
    let plan = serde_json::json!({
        "name": "crud", "workload": "crud", "operations": 10_000, "order": "uniform",
        "mix": { "create": 0, "read": 1, "update": 1, "delete": 0 },
        "pace": {
            "loop": "open", "max_in_flight": 100,
            "schedule": {
                "segments": [{ "length_ns": 33_000_000_000_u64, "from": 200.0, "to": 200.0 }],
                "arrivals": "constant", "seed": 1,
            },
        },
        "length_ns": 33_000_000_000_u64,
    });
    let plan: StagePlan = serde_json::from_value(plan).unwrap();
    let verdict = |ok| {
        let before = Second { ok, ..USUAL };
        let record = drilled(&phases(&[(10, before), (10, DOWN), (13, USUAL)]));
        record.stages[0].drilled().unwrap().verdict(Some(&plan))
    };
    assert_eq!(verdict(200), Verdict::Drilled);
    assert_eq!(verdict(190), Verdict::Drilled, "95 %");
    let (offered_per_s, served_per_s, backlog_per_s) = (200.0, 189.0, 11.0);
    let expected = Verdict::NotSustained { offered_per_s, served_per_s, backlog_per_s };
    assert_eq!(verdict(189), expected);
}
