//! Verdicts on runs whose figures are known.

use super::*;
use crate::generate::{mix, unit};
use crate::measure::Statistic;
use crate::plan::{Metric, Span};
use crate::record::{ResultKind, RunResult, Standing};
use std::collections::BTreeMap;

const THROUGHPUT: Quantity = Quantity { kind: None, metric: Metric::Throughput };
const P99: Quantity = Quantity { kind: None, metric: Metric::Time(Span::Response, Statistic::P99) };
const ERRORS: Quantity = Quantity { kind: None, metric: Metric::ERRORS };

fn run(at: usize, values: &[(Quantity, Result<f64, &str>)]) -> ComparedRun {
    let result = RunResult { kind: ResultKind::Passed, exit_status: 0, reason: None };
    ComparedRun {
        name: format!("run {at}"),
        agents_lost: None,
        label: None,
        started_at: format!("2026-01-01T00:00:{at:02}Z"),
        result,
        server: "couchdb 3.5.0".to_owned(),
        machine: "a machine".to_owned(),
        springload: "0.1.0".to_owned(),
        command: "springload run --batch 100 --seed 1".to_owned(),
        plan: BTreeMap::from([("batch".to_owned(), serde_json::json!(100))]),
        settings: BTreeMap::new(),
        values: values.iter().map(|(of, it)| (*of, it.map_err(str::to_owned))).collect(),
        within: Vec::new(),
    }
}

/// Alternating runs of A and B, with these values of one quantity.
fn by_turns(of: Quantity, a: &[f64], b: &[f64]) -> (Vec<ComparedRun>, Vec<ComparedRun>) {
    let place = |side: usize, at: usize| at * 2 + (side + at) % 2;
    let side = |side: usize, values: &[f64]| -> Vec<ComparedRun> {
        let all = values.iter().enumerate();
        all.map(|(at, value)| run(place(side, at), &[(of, Ok(*value))])).collect()
    };
    (side(0, a), side(1, b))
}

fn verdict(of: Quantity, a: &[f64], b: &[f64]) -> Compared {
    let (a, b) = by_turns(of, a, b);
    compare(a, b, &CompareAsked::default()).comparisons.remove(0)
}

#[test]
fn each_verdict_has_its_case() {
    let a = [100.0, 101.0, 99.0, 100.5];
    let times = |factor: f64| a.map(|value| value * factor);
    for (of, factor, wanted) in [
        (THROUGHPUT, 1.2, Standing::Better),
        (THROUGHPUT, 0.8, Standing::Worse),
        (P99, 1.2, Standing::Worse),
        (P99, 0.8, Standing::Better),
        (P99, 1.0, Standing::Same),
        (THROUGHPUT, 0.999, Standing::Same),
    ] {
        let it = verdict(of, &a, &times(factor));
        assert_eq!(it.verdict, wanted, "{of} × {factor}: {it:?}");
        let (ratio, low, high) = (it.ratio.unwrap(), it.low.unwrap(), it.high.unwrap());
        assert!((ratio / factor - 1.0).abs() < 0.02 && low <= ratio && ratio <= high, "{it:?}");
        assert_eq!(it.more_runs, None);
    }
    let noisy = verdict(P99, &[100.0, 130.0, 80.0, 100.0], &[100.0, 90.0, 125.0, 120.0]);
    assert_eq!(noisy.verdict, Standing::CannotTell);
    assert!(noisy.more_runs.unwrap() > 4, "{noisy:?}");
}

#[test]
fn shares_are_compared_by_points_and_a_failing_side_is_worse() {
    let none = verdict(ERRORS, &[0.0; 3], &[0.0; 3]);
    assert_eq!((none.verdict, none.ratio), (Standing::Same, None));
    assert_eq!(none.points.unwrap(), Points { difference: 0.0, low: Some(0.0), high: Some(0.0) });
    let all = verdict(ERRORS, &[0.0; 3], &[100.0; 3]);
    assert_eq!((all.verdict, all.points.unwrap().difference), (Standing::Worse, 100.0));
    assert_eq!(verdict(ERRORS, &[100.0; 3], &[0.0; 3]).verdict, Standing::Better);
    // Two in a thousand more and less.
    let few = verdict(ERRORS, &[0.01, 0.02, 0.03], &[0.02, 0.01, 0.03]);
    assert_eq!(few.verdict, Standing::Same, "{few:?}");
}

#[test]
fn nothing_is_decided_by_one_run_each() {
    let (a, b) = by_turns(THROUGHPUT, &[100.0], &[50.0]);
    let it = compare(a, b, &CompareAsked::default());
    assert_eq!(it.verdict, Standing::CannotTell);
    assert_eq!(it.notes, ["one run each: the variation between runs is not known"]);
    let figure = &it.comparisons[0];
    assert!((figure.ratio.unwrap() - 0.5).abs() < 1e-9, "{figure:?}");
    assert_eq!((figure.low, figure.chance), (None, None));
    // One run against several is judged by how much those vary.
    let (a, b) = by_turns(THROUGHPUT, &[100.0, 101.0, 99.0, 100.0], &[50.0]);
    let it = compare(a, b, &CompareAsked::default());
    assert_eq!(it.verdict, Standing::Worse);
    assert!(it.notes[0].starts_with("a single run on one side"), "{:?}", it.notes);
}

#[test]
fn one_run_each_has_intervals_within_the_runs() {
    let side = |at: usize, value: f64, of: f64| {
        let bounds = Bounds { low: value / of, high: value * of };
        let run = run(at, &[(THROUGHPUT, Ok(value)), (P99, Ok(5.0)), (ERRORS, Ok(1.0))]);
        vec![ComparedRun { within: vec![(THROUGHPUT, bounds), (ERRORS, bounds)], ..run }]
    };
    // Half-widths of 3 and 4, as logarithms, combine to 5.
    let (a, b) = (side(0, 100.0, 1.03), side(1, 50.0, 1.04));
    let it = compare(a.clone(), b.clone(), &CompareAsked::default());
    let figure = &it.comparisons[0];
    let half = 1.03f64.ln().hypot(1.04f64.ln());
    let (low, high) = (figure.within_low.unwrap(), figure.within_high.unwrap());
    assert!((low - 0.5 * (-half).exp()).abs() < 1e-9, "{figure:?}");
    assert!((high - 0.5 * half.exp()).abs() < 1e-9, "{figure:?}");
    // It decides nothing, however clear it is.
    assert_eq!((figure.verdict, it.verdict), (Standing::CannotTell, Standing::CannotTell));
    assert_eq!((figure.low, figure.chance, figure.more_runs), (None, None, None));
    assert!(it.notes[1].starts_with("the intervals are within the two runs"), "{:?}", it.notes);
    for other in &it.comparisons[1..] {
        assert_eq!((other.within_low, other.within_high), (None, None), "{}", other.metric);
    }
    // With another run there is a better interval.
    let two = [side(2, 100.0, 1.03), a].concat();
    let it = compare(two, b, &CompareAsked::default());
    assert!(!it.is_within() && it.comparisons[0].low.is_some());
}

#[test]
fn a_figure_that_runs_do_not_have_is_not_compared() {
    let ok = |at| run(at, &[(THROUGHPUT, Ok(100.0)), (P99, Ok(5.0)), (ERRORS, Ok(0.0))]);
    let dead = |at| {
        run(at, &[(THROUGHPUT, Ok(0.0)), (P99, Err("nothing was measured")), (ERRORS, Ok(100.0))])
    };
    let it = compare(vec![ok(0), ok(3)], vec![dead(1), dead(2)], &CompareAsked::default());
    let of = |metric: &str| it.comparisons.iter().find(|it| it.metric == metric).unwrap();
    assert_eq!(it.verdict, Standing::Worse);
    assert_eq!(of("err").verdict, Standing::Worse);
    assert_eq!(of("throughput").problem.as_deref(), Some("it was 0 in a run"));
    assert_eq!(of("p99").problem.as_deref(), Some("nothing was measured"));
    assert_eq!(of("p99").verdict, Standing::CannotTell);
    let nothing = compare(vec![run(0, &[])], vec![run(1, &[])], &CompareAsked::default());
    assert_eq!(nothing.verdict, Standing::CannotTell);
}

#[test]
fn the_verdict_rests_on_what_is_gated_alone() {
    let values = |p99: f64| [(THROUGHPUT, Ok(100.0)), (P99, Ok(p99))];
    let side = |of: [(usize, f64); 3]| of.map(|(at, p99)| run(at, &values(p99))).to_vec();
    let (a, b) = (side([(0, 5.0), (3, 5.1), (4, 5.0)]), side([(1, 8.0), (2, 8.1), (5, 8.0)]));
    let gated = |of: Quantity| CompareAsked { gated: vec![of], ..CompareAsked::default() };
    assert_eq!(compare(a.clone(), b.clone(), &CompareAsked::default()).verdict, Standing::Worse);
    assert_eq!(compare(a.clone(), b.clone(), &gated(THROUGHPUT)).verdict, Standing::Same);
    assert_eq!(compare(a, b, &gated(P99)).verdict, Standing::Worse);
}

#[test]
fn an_interval_says_what_the_verdict_says() {
    let quantities: Vec<Quantity> =
        ["throughput", "p50", "p99", "p99.9"].map(|it| it.parse().unwrap()).to_vec();
    let mut seen = BTreeMap::new();
    for trial in 0..120_u64 {
        // Figures that vary by a few percent; some of them also differ by a few.
        let noise = |side: u64, at: usize, nth: usize| {
            let seed = mix(trial, side * 100 + at as u64, nth as u64);
            1.0 + (unit(seed) - 0.5) * if nth == 3 { 0.005 } else { 0.1 }
        };
        let side = |side: u64| -> Vec<ComparedRun> {
            let run = |at: usize| {
                let differs = |nth: usize| side as f64 * 0.04 * unit(mix(trial, 7, nth as u64));
                let value = |nth: usize| (1.0 + differs(nth)) * noise(side, at, nth);
                let values = (0..4).map(|nth| (quantities[nth], Ok(100.0 * value(nth))));
                run(at * 2 + (side as usize + at) % 2, &values.collect::<Vec<_>>())
            };
            (0..6).map(run).collect()
        };
        let gated = CompareAsked { gated: quantities.clone(), ..CompareAsked::default() };
        for it in compare(side(0), side(1), &gated).comparisons {
            let (low, high) = (it.low.unwrap(), it.high.unwrap());
            let expected = if 1.0 / 1.03 <= low && high <= 1.03 {
                "same"
            } else if 1.0 < low || high < 1.0 {
                "differs"
            } else {
                "open"
            };
            let verdict = match it.verdict {
                Standing::Same => "same",
                Standing::Better | Standing::Worse => "differs",
                Standing::CannotTell => "open",
            };
            assert_eq!(expected, verdict, "{trial}: {it:?}");
            *seen.entry(expected).or_insert(0) += 1;
        }
    }
    assert!(seen.len() == 3 && seen.values().all(|count| *count > 20), "{seen:?}");
}

/// The values times a factor that occurs by chance once in 25 to 50 times.
fn just_clear(a: &[f64]) -> Vec<f64> {
    let times = |factor: f64| a.iter().map(|value| value * factor).collect::<Vec<f64>>();
    let near = |factor: &f64| {
        let chance = verdict(THROUGHPUT, a, &times(*factor)).chance.unwrap();
        (0.02..0.04).contains(&chance)
    };
    let factor = (1..400).map(|at| 1.0 + f64::from(at) / 2_000.0).find(near);
    times(factor.expect("there is one"))
}

#[test]
fn what_is_gated_shares_its_false_alarms_and_nothing_else_counts_with_it() {
    let a = [100.0, 103.0, 98.0, 101.0];
    let b = just_clear(&a);
    let quantities: Vec<Quantity> =
        ["throughput", "read.throughput", "create.throughput", "update.throughput"]
            .map(|it| it.parse().unwrap())
            .to_vec();
    let side = |of: &[f64], places: [usize; 4]| -> Vec<ComparedRun> {
        let values = |value: f64| quantities.iter().map(move |it| (*it, Ok(value)));
        let each = of.iter().zip(places);
        each.map(|(value, at)| run(at, &values(*value).collect::<Vec<_>>())).collect()
    };
    let (a, b) = (side(&a, [0, 3, 4, 7]), side(&b, [1, 2, 5, 6]));
    let one = CompareAsked { gated: vec![quantities[0]], ..CompareAsked::default() };
    let all = CompareAsked { gated: quantities.clone(), ..CompareAsked::default() };
    let verdicts = |asked: &CompareAsked| {
        let it = compare(a.clone(), b.clone(), asked);
        it.comparisons.iter().map(|it| it.verdict).collect::<Vec<_>>()
    };
    // Four times the probability of one is too much.
    assert_eq!(verdicts(&all), [Standing::CannotTell; 4]);
    assert_eq!(verdicts(&one)[..2], [Standing::Better, Standing::CannotTell]);
    // Without --gate, only all requests together count.
    let usual = compare(a.clone(), b.clone(), &CompareAsked::default());
    let gated: Vec<bool> = usual.comparisons.iter().map(|it| it.gated).collect();
    assert_eq!((usual.verdict, gated), (Standing::Better, vec![true, false, false, false]));
    // An interim look demands more, and its interval is wider.
    let early = compare(a, b, &CompareAsked { alarms: 0.01, ..one });
    assert_eq!(early.verdict, Standing::CannotTell);
    let width = |it: &Comparison| {
        let figure = &it.comparisons[0];
        figure.high.unwrap() - figure.low.unwrap()
    };
    assert!(width(&early) > 1.3 * width(&usual), "{early:?}");
}

#[test]
fn worse_in_one_figure_and_better_in_another_is_worse() {
    let side = |from: &[usize], throughput: f64, p99: f64| -> Vec<ComparedRun> {
        let wave = |at: usize| 1.0 + (at % 3) as f64 / 1_000.0;
        let values = |at| [(THROUGHPUT, Ok(throughput * wave(at))), (P99, Ok(p99 * wave(at)))];
        from.iter().map(|at| run(*at, &values(*at))).collect()
    };
    let (a, b) = (side(&[0, 3, 4, 7], 100.0, 5.0), side(&[1, 2, 5, 6], 150.0, 6.0));
    assert_eq!(compare(a, b, &CompareAsked::default()).verdict, Standing::Worse);
}

#[test]
fn more_runs_are_those_that_are_missing() {
    for b in [[100.0, 90.0, 125.0, 120.0], [100.0, 128.0, 82.0, 100.0]] {
        let it = verdict(P99, &[100.0, 130.0, 80.0, 100.0], &b);
        let deviation = (it.variation_percent.unwrap() / 100.0).ln_1p();
        let seems = it.ratio.unwrap().ln().abs();
        // Either to confirm the apparent difference, or to show that it is too small to matter.
        let size = seems.max(1.03f64.ln() - seems);
        let wanted = crate::statistics::values_for(deviation, size) - 4.0;
        assert!((it.more_runs.unwrap() as f64 - wanted).abs() < 1.5, "{wanted}: {it:?}");
    }
}

#[test]
fn a_drift_is_reported_if_it_matters() {
    let notes = |by: f64| {
        let values = |from: f64| (0..4).map(|at| from + by * f64::from(at)).collect::<Vec<_>>();
        let (a, b) = by_turns(P99, &values(100.0), &values(100.0));
        compare(a, b, &CompareAsked::default()).notes
    };
    assert_eq!(notes(0.2), Vec::<String>::new());
    let [note] = &notes(3.0)[..] else { panic!("{:?}", notes(3.0)) };
    assert!(note.starts_with("all p99 drifted by +"), "{note}");
}

#[test]
fn shares_within_a_tenth_of_a_point_are_the_same_and_a_zero_is_no_figure() {
    let near = verdict(ERRORS, &[1.0, 1.001, 1.0], &[1.05, 1.051, 1.05]);
    assert_eq!(near.verdict, Standing::Same, "{near:?}");
    let beyond = verdict(ERRORS, &[1.0, 1.001, 1.0], &[1.5, 1.501, 1.5]);
    assert_eq!(beyond.verdict, Standing::Worse, "{beyond:?}");
    let stood_still =
        verdict(THROUGHPUT, &[100.0, 0.0, 101.0, 99.0], &[200.0, 201.0, 199.0, 200.0]);
    let judged = (stood_still.low, stood_still.verdict, stood_still.problem.as_deref());
    assert_eq!(judged, (None, Standing::CannotTell, Some("it was 0 in a run")));
}

#[test]
fn what_differs_is_reported() {
    let (a, mut b) = by_turns(THROUGHPUT, &[1.0, 1.0], &[1.0, 1.0]);
    assert!(compare(a.clone(), b.clone(), &CompareAsked::default()).differs.is_empty());
    for run in &mut b {
        run.command = "springload run --seed 2 --batch=1000".to_owned();
        run.plan.insert("batch".to_owned(), serde_json::json!(1000));
        run.server = "couchdb 3.4.0".to_owned();
    }
    let differs = compare(a.clone(), b.clone(), &CompareAsked::default()).differs;
    let words: Vec<_> = differs.iter().map(|it| [&*it.what, &*it.a, &*it.b]).collect();
    assert_eq!(
        words,
        [["command", "--batch 100", "--batch=1000"], ["server", "couchdb 3.5.0", "couchdb 3.4.0"]]
    );
    // A value may contain spaces; conditions that make a run fail do not count as a difference.
    for run in &mut b {
        run.command = "springload run --fail-if 'p99 > 5ms' --label='a b' --id 'a b'".to_owned();
    }
    let differs = compare(a.clone(), b.clone(), &CompareAsked::default()).differs;
    assert_eq!([&*differs[0].a, &*differs[0].b], ["--batch 100", "--id 'a b'"]);
    // If the command lines do not differ, the plans are compared.
    for run in &mut b {
        run.command.clone_from(&a[0].command);
    }
    assert_eq!(compare(a.clone(), b.clone(), &CompareAsked::default()).differs[0].what, "batch");
    b[0].plan.clear();
    b[1].result = RunResult {
        kind: ResultKind::NotTrustworthy,
        exit_status: 5,
        reason: Some("client-bound".to_owned()),
    };
    let it = compare(a.clone(), b, &CompareAsked::default());
    assert!(it.notes[0].contains("the runs of B are not alike"), "{:?}", it.notes);
    assert!(it.notes[1].starts_with("one of the 2 runs of B: "), "{:?}", it.notes);
    assert!(!it.trustworthy());
    // A run that may lose agents passes even without their load.
    let mut b = a.clone();
    b[1].agents_lost = Some("agent 1 was killed".to_owned());
    let it = compare(a.clone(), b.clone(), &CompareAsked::default());
    let note = "a run of B had less load than it should have had: agent 1 was killed".to_owned();
    assert!(it.notes.contains(&note) && !it.trustworthy(), "{:?}", it.notes);
    // The note also appears for a run that fails for another reason, but not if lost agents are the
    // reason.
    for (reason, wanted) in [("client-bound", true), ("degraded: agent 1 was killed", false)] {
        let (kind, reason) = (ResultKind::NotTrustworthy, Some(reason.to_owned()));
        b[1].result = RunResult { kind, exit_status: 5, reason };
        let it = compare(a.clone(), b.clone(), &CompareAsked::default());
        assert_eq!(it.notes.contains(&note), wanted, "{:?}", it.notes);
    }
}

#[test]
fn one_side_after_the_other_is_said() {
    let side = |from: usize| (from..from + 3).map(|at| run(at, &[(P99, Ok(5.0))])).collect();
    let it = compare(side(0), side(3), &CompareAsked::default());
    assert_eq!(it.layout, Layout::Apart);
    assert!(it.notes[0].contains("springload ab alternates"), "{:?}", it.notes);
    let (a, b) = by_turns(P99, &[5.0; 3], &[5.0; 3]);
    assert_eq!(compare(a, b, &CompareAsked::default()).layout, Layout::Interleaved);
}

#[path = "comparison_tests.rs"]
mod comparison_tests;
