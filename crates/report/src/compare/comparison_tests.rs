//! What a comparison says besides the verdicts on its figures.

use super::*;
use crate::compare::Differs;
use serde_json::json;

/// What differs, as name, A and B.
fn differences(a: Vec<ComparedRun>, b: Vec<ComparedRun>) -> Vec<[String; 3]> {
    let differs = compare(a, b, &CompareAsked::default()).differs;
    differs.into_iter().map(|Differs { what, a, b }| [what, a, b]).collect()
}

#[test]
fn settings_of_servers_are_compared_if_those_of_both_sides_are_known() {
    let differ = |of_a: &[(&str, &str)], of_b: &[(&str, &str)]| {
        let (mut a, mut b) = by_turns(THROUGHPUT, &[1.0, 1.0], &[1.0, 1.0]);
        for (side, settings) in [(&mut a, of_a), (&mut b, of_b)] {
            for run in side {
                let owned = settings.iter().map(|it| (it.0.to_owned(), it.1.to_owned()));
                run.settings = owned.collect();
            }
        }
        differences(a, b)
    };
    let (one, other) = ([("n", "3"), ("q", "8")], [("n", "3"), ("q", "2")]);
    assert_eq!(differ(&one, &other), [["server's q", "8", "2"]]);
    assert_eq!(differ(&one, &one[..1]), [["server's q", "8", ""]]);
    let none: [[&str; 3]; 0] = [];
    assert_eq!(differ(&one, &one), none);
    assert_eq!(differ(&one, &[]), none, "those of B are not known");
    assert_eq!(differ(&[], &other), none, "those of A are not known");
}

#[test]
fn of_many_settings_that_differ_eight_are_listed() {
    let differ = |count: usize| {
        let (mut a, mut b) = by_turns(THROUGHPUT, &[1.0, 1.0], &[1.0, 1.0]);
        for (side, value) in [(&mut a, 1), (&mut b, 2)] {
            for run in side {
                run.plan = (0..count).map(|at| (format!("x{at}"), json!(value))).collect();
            }
        }
        differences(a, b)
    };
    let eight: Vec<[String; 3]> =
        (0..8).map(|at| [format!("x{at}"), "1".to_owned(), "2".to_owned()]).collect();
    assert_eq!(differ(8), eight);
    let ten = differ(10);
    assert_eq!(ten[..8], eight);
    assert_eq!(ten[8..], [["and 2 more settings", "", ""]]);
}

#[test]
fn a_figure_that_no_run_has_decides_only_if_it_was_asked_for() {
    let values = [(THROUGHPUT, Ok(100.0)), (P99, Err("nothing was measured"))];
    let side = |places: [usize; 3]| places.map(|at| run(at, &values)).to_vec();
    let verdict = |gated: Vec<Quantity>| {
        let asked = CompareAsked { gated, ..CompareAsked::default() };
        compare(side([0, 3, 4]), side([1, 2, 5]), &asked).verdict
    };
    assert_eq!(verdict(Vec::new()), Standing::Same);
    assert_eq!(verdict(vec![THROUGHPUT, P99]), Standing::CannotTell);
}

#[test]
fn one_run_each_has_differences_of_shares_and_no_interval_of_what_may_be_zero() {
    let share = verdict(ERRORS, &[1.0], &[1.5]);
    assert_eq!(share.points, Some(Points { difference: 0.5, low: None, high: None }));
    let within = |value: f64, low: f64| {
        let side = |at: usize| {
            let within = vec![(THROUGHPUT, Bounds { low, high: 7.0 })];
            vec![ComparedRun { within, ..run(at, &[(THROUGHPUT, Ok(value))]) }]
        };
        let it = compare(side(0), side(1), &CompareAsked::default());
        let figure = &it.comparisons[0];
        assert_eq!(figure.within_low.is_some(), figure.within_high.is_some());
        (figure.within_low.is_some(), it.is_within())
    };
    assert_eq!(within(5.0, 4.0), (true, true));
    assert_eq!(within(5.0, 0.0), (false, false), "it may be zero");
    assert_eq!(within(0.0, 4.0), (false, false), "it was zero");
}

#[test]
fn the_figure_that_needs_most_runs_says_how_many_are_missing() {
    let (a, b) = by_turns(THROUGHPUT, &[1.0, 1.0], &[1.0, 1.0]);
    let mut it = compare(a, b, &CompareAsked::default());
    assert_eq!(it.more_runs(), None);
    let figure = it.comparisons[0].clone();
    let figures = [(true, Some(3)), (true, None), (true, Some(7)), (false, Some(9))];
    let figures = figures.map(|(gated, more_runs)| Compared { gated, more_runs, ..figure.clone() });
    it.comparisons = figures.to_vec();
    assert_eq!(it.more_runs(), Some(7));
}

#[test]
fn runs_with_wrong_data_or_numbers_that_are_not_trustworthy_are_told_by_side() {
    let (a, b) = by_turns(THROUGHPUT, &[1.0, 1.0], &[1.0, 1.0]);
    let of = |exit_status: u8| {
        let mut b = b.clone();
        b[1].result.exit_status = exit_status;
        let it = compare(a.clone(), b, &CompareAsked::default());
        (it.trustworthy(), it.data_wrong())
    };
    assert_eq!(of(0), (true, [false, false]));
    assert_eq!(of(RunResult::UNTRUSTWORTHY), (false, [false, false]));
    assert_eq!(of(RunResult::DATA_WRONG), (false, [false, true]));
}

#[test]
fn only_a_figure_that_decides_is_said_to_have_drifted() {
    let side = |places: [usize; 4]| -> Vec<ComparedRun> {
        let values = |at: usize| [(THROUGHPUT, Ok(100.0)), (P99, Ok(100.0 + 3.0 * at as f64))];
        places.map(|at| run(at, &values(at))).to_vec()
    };
    let notes = |gated: Quantity| {
        let asked = CompareAsked { gated: vec![gated], ..CompareAsked::default() };
        compare(side([0, 3, 4, 7]), side([1, 2, 5, 6]), &asked).notes
    };
    assert_eq!(notes(THROUGHPUT), Vec::<String>::new());
    let [note] = &notes(P99)[..] else { panic!("{:?}", notes(P99)) };
    assert!(note.starts_with("all p99 drifted by +"), "{note}");
}

#[test]
fn a_side_without_runs_has_no_notes_and_delta_is_in_percent() {
    let one = || vec![run(0, &[(THROUGHPUT, Ok(1.0))])];
    for (a, b) in [(Vec::new(), one()), (one(), Vec::new())] {
        let asked = CompareAsked { delta: 0.05, ..CompareAsked::default() };
        let it = compare(a, b, &asked);
        assert_eq!((it.verdict, it.notes), (Standing::CannotTell, Vec::new()));
        assert!((it.delta_percent - 5.0).abs() < 1e-9, "{}", it.delta_percent);
    }
}
