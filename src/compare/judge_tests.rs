//! Verdicts on runs whose figures are known.

use super::*;
use crate::plan::{Metric, Span, Statistic};
use crate::record::{ResultKind, RunResult, Standing};
use std::collections::BTreeMap;

const THROUGHPUT: Quantity = Quantity { kind: None, metric: Metric::Throughput };
const P99: Quantity =
    Quantity { kind: None, metric: Metric::Time(Span::Response, Statistic::Percentile(990)) };
const ERRORS: Quantity = Quantity { kind: None, metric: Metric::Errors };

fn run(at: usize, values: &[(Quantity, Result<f64, &str>)]) -> Run {
    let result = RunResult { kind: ResultKind::Passed, exit_status: 0, reason: None };
    Run {
        name: format!("run {at}"),
        label: None,
        started_at: format!("2026-01-01T00:00:{at:02}Z"),
        result,
        server: "couchdb 3.5.0".to_owned(),
        machine: "a machine".to_owned(),
        springload: "0.1.0".to_owned(),
        command: "springload run --batch 100 --seed 1".to_owned(),
        plan: BTreeMap::from([("batch".to_owned(), serde_json::json!(100))]),
        values: values.iter().map(|(of, it)| (*of, it.map_err(str::to_owned))).collect(),
    }
}

/// Runs of A and B by turns, with these values of one quantity.
fn by_turns(of: Quantity, a: &[f64], b: &[f64]) -> (Vec<Run>, Vec<Run>) {
    let place = |side: usize, at: usize| at * 2 + (side + at) % 2;
    let side = |side: usize, values: &[f64]| -> Vec<Run> {
        let all = values.iter().enumerate();
        all.map(|(at, value)| run(place(side, at), &[(of, Ok(*value))])).collect()
    };
    (side(0, a), side(1, b))
}

fn verdict(of: Quantity, a: &[f64], b: &[f64]) -> Compared {
    let (a, b) = by_turns(of, a, b);
    compare(a, b, &Asked::default()).comparisons.remove(0)
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
    let it = compare(a, b, &Asked::default());
    assert_eq!(it.verdict, Standing::CannotTell);
    assert_eq!(it.notes, ["one run each: how much runs vary is not known"]);
    let figure = &it.comparisons[0];
    assert!((figure.ratio.unwrap() - 0.5).abs() < 1e-9, "{figure:?}");
    assert_eq!((figure.low, figure.chance), (None, None));
    // One against several is judged by how those vary.
    let (a, b) = by_turns(THROUGHPUT, &[100.0, 101.0, 99.0, 100.0], &[50.0]);
    let it = compare(a, b, &Asked::default());
    assert_eq!(it.verdict, Standing::Worse);
    assert!(it.notes[0].starts_with("a single run on one side"), "{:?}", it.notes);
}

#[test]
fn a_figure_that_runs_do_not_have_is_not_compared() {
    let ok = |at| run(at, &[(THROUGHPUT, Ok(100.0)), (P99, Ok(5.0)), (ERRORS, Ok(0.0))]);
    let dead = |at| {
        run(at, &[(THROUGHPUT, Ok(0.0)), (P99, Err("nothing was measured")), (ERRORS, Ok(100.0))])
    };
    let it = compare(vec![ok(0), ok(3)], vec![dead(1), dead(2)], &Asked::default());
    let of = |metric: &str| it.comparisons.iter().find(|it| it.metric == metric).unwrap();
    assert_eq!(it.verdict, Standing::Worse);
    assert_eq!(of("err").verdict, Standing::Worse);
    assert_eq!(of("throughput").problem.as_deref(), Some("it was 0 in a run"));
    assert_eq!(of("p99").problem.as_deref(), Some("nothing was measured"));
    assert_eq!(of("p99").verdict, Standing::CannotTell);
    let nothing = compare(vec![run(0, &[])], vec![run(1, &[])], &Asked::default());
    assert_eq!(nothing.verdict, Standing::CannotTell);
}

#[test]
fn the_verdict_rests_on_what_is_gated_alone() {
    let values = |p99: f64| [(THROUGHPUT, Ok(100.0)), (P99, Ok(p99))];
    let side = |of: [(usize, f64); 3]| of.map(|(at, p99)| run(at, &values(p99))).to_vec();
    let (a, b) = (side([(0, 5.0), (3, 5.1), (4, 5.0)]), side([(1, 8.0), (2, 8.1), (5, 8.0)]));
    let gated = |of: Quantity| Asked { gated: vec![of], ..Asked::default() };
    assert_eq!(compare(a.clone(), b.clone(), &Asked::default()).verdict, Standing::Worse);
    assert_eq!(compare(a.clone(), b.clone(), &gated(THROUGHPUT)).verdict, Standing::Same);
    assert_eq!(compare(a, b, &gated(P99)).verdict, Standing::Worse);
}

#[test]
fn what_differs_is_told() {
    let (a, mut b) = by_turns(THROUGHPUT, &[1.0, 1.0], &[1.0, 1.0]);
    assert!(compare(a.clone(), b.clone(), &Asked::default()).differs.is_empty());
    for run in &mut b {
        run.command = "springload run --seed 2 --batch=1000".to_owned();
        run.plan.insert("batch".to_owned(), serde_json::json!(1000));
        run.server = "couchdb 3.4.0".to_owned();
    }
    let told = compare(a.clone(), b.clone(), &Asked::default()).differs;
    let words: Vec<_> = told.iter().map(|it| [&*it.what, &*it.a, &*it.b]).collect();
    assert_eq!(
        words,
        [["command", "--batch 100", "--batch=1000"], ["server", "couchdb 3.5.0", "couchdb 3.4.0"]]
    );
    // Where the command lines say nothing, the plans do.
    for run in &mut b {
        run.command.clone_from(&a[0].command);
    }
    assert_eq!(compare(a.clone(), b.clone(), &Asked::default()).differs[0].what, "batch");
    b[0].plan.clear();
    b[1].result = RunResult {
        kind: ResultKind::NotTrustworthy,
        exit_status: 5,
        reason: Some("client-bound".to_owned()),
    };
    let it = compare(a, b, &Asked::default());
    assert!(it.notes[0].contains("the runs of B are not alike"), "{:?}", it.notes);
    assert!(it.notes[1].starts_with("one of the 2 runs of B: "), "{:?}", it.notes);
    assert!(!it.trustworthy());
}

#[test]
fn one_side_after_the_other_is_said() {
    let side = |from: usize| (from..from + 3).map(|at| run(at, &[(P99, Ok(5.0))])).collect();
    let it = compare(side(0), side(3), &Asked::default());
    assert_eq!(it.layout, Layout::Apart);
    assert!(it.notes[0].contains("springload ab takes turns"), "{:?}", it.notes);
    let (a, b) = by_turns(P99, &[5.0; 3], &[5.0; 3]);
    assert_eq!(compare(a, b, &Asked::default()).layout, Layout::Interleaved);
}
