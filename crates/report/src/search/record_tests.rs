//! The outcome of a search, depending on its steps.

use super::super::walk::Within;
use super::*;

fn step(level: f64, length_s: f64, outcome: StepOutcome) -> StepRecord {
    StepRecord {
        search: 1,
        level,
        length_s,
        confirms: false,
        outcome,
        reason: String::new(),
        takes: 0.0,
        client_bound: false,
        data_wrong: false,
        per_s: level,
        failed_percent: 0.0,
        p50_us: None,
        p99_us: None,
        run: String::new(),
    }
}

fn max(searched: Searched, steps: Vec<StepRecord>) -> MaxRecord {
    MaxRecord {
        schema_version: 1,
        label: None,
        target: None,
        nodes: 1,
        counted: crate::plan::Nouns::default(),
        command: String::new(),
        step_command: String::new(),
        step_verb: None,
        slo: Vec::new(),
        searched,
        seed: 1,
        from: 100.0,
        to: 1e6,
        repeat: 3,
        length_s: 3.0,
        ended: Ended::Stopped,
        sustained_per_s: None,
        low: None,
        high: None,
        found_per_s: Vec::new(),
        connections: None,
        steps,
    }
}

fn bound(step: StepRecord) -> StepRecord {
    StepRecord { client_bound: true, ..step }
}

#[test]
fn connections_that_are_too_few_are_the_clients_limit() {
    use crate::record::fixture;
    let step = |verdict: Verdict| {
        let mut record = fixture::record(&[]);
        record.stages.last_mut().unwrap().verdict = verdict;
        let ask = Ask { search: 1, level: 9.0, lengths: 1, confirms: false };
        let judged = Judged { outcome: StepOutcome::Undecided, reason: String::new(), takes: 0.0 };
        StepRecord::of(&record, ask, 3.0, String::new(), judged).client_bound
    };
    assert!(step(Verdict::BoundByConnections { connections: 50, needed: 110 }));
    let by = crate::record::Hindrance::Unknown;
    assert!(step(Verdict::ClientBound { busiest_thread: 0.9, late_p99_us: 0.0, by }));
    assert!(!step(Verdict::Sustained));
}

#[test]
fn the_client_is_the_limit_where_the_least_level_that_does_not_hold_says_so() {
    let (held, missed, open) = (StepOutcome::Held, StepOutcome::Missed, StepOutcome::Undecided);
    let is_bound = |steps: Vec<StepRecord>| max(Searched::Rate, steps).client_bound();
    let below = step(100.0, 3.0, held);
    assert!(is_bound(vec![below.clone(), bound(step(200.0, 12.0, open))]));
    assert!(is_bound(vec![bound(step(200.0, 3.0, missed)), step(400.0, 3.0, missed)]));
    assert!(!is_bound(vec![step(200.0, 3.0, missed), bound(step(400.0, 12.0, open))]));
    // The client was the limit only in a short step.
    let short = bound(step(200.0, 3.0, open));
    assert!(!is_bound(vec![short.clone(), step(200.0, 6.0, held)]));
    assert!(!is_bound(vec![short.clone(), step(200.0, 6.0, held), step(210.0, 3.0, missed)]));
    // The same level in another search shows nothing about this one.
    let other = StepRecord { search: 2, ..step(200.0, 6.0, held) };
    assert!(is_bound(vec![short.clone(), other.clone()]));
    // Nor does a third search affect two that the client did not limit.
    let third = StepRecord { search: 3, ..step(210.0, 3.0, missed) };
    assert!(!is_bound(vec![short, other, third]));
    assert!(!is_bound(vec![bound(below)]) && !is_bound(Vec::new()));
}

/// A walk that has found these levels, each in one step and its confirmation.
fn walked(levels: &[f64]) -> Walk {
    let searches = levels.len() as u32;
    let mut walk = Walk::new(Within { from: levels[0], to: 1e6, searches, seed: 1 });
    while let Some(ask) = walk.next() {
        let most = levels[ask.search as usize - 1];
        walk.tell(if ask.level <= most { StepOutcome::Held } else { StepOutcome::Missed }, 0.0);
    }
    walk
}

#[test]
fn what_is_found_is_the_median_with_the_least_and_the_greatest() {
    let walk = walked(&[1_000.0, 1_300.0, 1_100.0]);
    let mut it = max(Searched::Rate, Vec::new());
    it.conclude(&walk, Ended::Found);
    let mut sorted = walk.found().to_vec();
    assert_eq!((it.ended, &it.found_per_s), (Ended::Found, &sorted));
    sorted.sort_by(f64::total_cmp);
    let reported = [it.low, it.sustained_per_s, it.high].map(Option::unwrap_or_default);
    assert_eq!(reported.to_vec(), sorted);
    assert_eq!(it.connections, None);
}

#[test]
fn of_an_even_number_the_lower_middle_one_counts_for_it_has_held() {
    let found = |levels: &[f64]| {
        let mut it = max(Searched::Rate, Vec::new());
        it.conclude(&walked(levels), Ended::Found);
        (it.found_per_s.clone(), it.sustained_per_s.unwrap(), it.scattered())
    };
    let (all, sustained, scattered) = found(&[50.0, 700.0]);
    assert!(all.contains(&sustained) && scattered, "{all:?}: {sustained}");
    assert!((sustained - all[0].min(all[1])).abs() < 1e-9);
    let (all, sustained, scattered) = found(&[1_000.0, 1_020.0, 1_010.0, 1_015.0]);
    let mut sorted = all.clone();
    sorted.sort_by(f64::total_cmp);
    assert_eq!((sustained, scattered), (sorted[1], false), "{all:?}");
}

#[test]
fn connections_are_reported_with_their_own_rate() {
    let walk = walked(&[16.0, 40.0]);
    // More connections got less done.
    let steps = [(1, 900.0), (2, 700.0)].map(|(search, per_s)| StepRecord {
        search,
        confirms: true,
        per_s,
        ..step(walk.found()[search as usize - 1], 9.0, StepOutcome::Held)
    });
    let mut it = max(Searched::Connections, steps.to_vec());
    it.conclude(&walk, Ended::Found);
    assert_eq!((it.connections, it.sustained_per_s), (Some(walk.found()[0]), Some(900.0)));
    assert!(it.scattered(), "16 and 40 connections are far apart");
}

#[test]
fn connections_have_the_rate_of_the_run_that_confirmed_them() {
    let walk = walked(&[16.0]);
    let level = walk.found()[0];
    let confirmed =
        StepRecord { confirms: true, per_s: 900.0, ..step(level, 9.0, StepOutcome::Held) };
    let failed = StepRecord { outcome: StepOutcome::Missed, per_s: 100.0, ..confirmed.clone() };
    let short = StepRecord { per_s: 800.0, ..step(level, 3.0, StepOutcome::Held) };
    let mut it = max(Searched::Connections, vec![short, failed, confirmed.clone()]);
    it.conclude(&walk, Ended::Found);
    assert_eq!((it.sustained_per_s, it.connections), (Some(900.0), Some(level)));
    // Searches that find the same number each have their own rate.
    let steps = [(1, 900.0), (2, 700.0), (3, 800.0)];
    let steps = steps.map(|(search, per_s)| StepRecord { search, per_s, ..confirmed.clone() });
    let mut it = max(Searched::Connections, steps.to_vec());
    it.conclude(&walked(&[level; 3]), Ended::Found);
    assert_eq!(it.found_per_s, [900.0, 700.0, 800.0]);
    assert_eq!((it.low, it.sustained_per_s, it.high), (Some(700.0), Some(800.0), Some(900.0)));
}

#[test]
fn a_search_that_ends_at_the_highest_level_is_open_ended() {
    let held = |level| step(level, 3.0, StepOutcome::Held);
    let mut it = max(Searched::Rate, vec![held(100.0), held(200.0), held(200.0)]);
    assert!(!it.open_ended() && !it.scattered(), "nothing is found yet");
    (it.sustained_per_s, it.low, it.high) = (Some(200.0), Some(200.0), Some(200.0));
    assert!(it.open_ended() && !it.scattered());
    it.steps.push(step(210.0, 3.0, StepOutcome::Undecided));
    assert!(!it.open_ended());
    it.high = Some(250.0);
    assert!(!it.scattered());
    it.high = Some(251.0);
    assert!(it.scattered());
    let by_connections = |connections| MaxRecord {
        searched: Searched::Connections,
        sustained_per_s: Some(5_000.0),
        connections: Some(connections),
        ..it.clone()
    };
    assert!(by_connections(210.0).open_ended() && !by_connections(200.0).open_ended());
}

#[test]
fn an_incomplete_search_goes_on_where_it_was() {
    let within = Within { from: 100.0, to: 1e6, searches: 3, seed: 1 };
    let walked = |steps: usize| {
        let (mut walk, mut it) = (Walk::new(within), max(Searched::Rate, Vec::new()));
        while let Some(ask) = walk.next().filter(|_| it.steps.len() < steps) {
            let few = ask.level < 150.0 && ask.lengths < 2;
            let outcome = match ask.level <= 700.0 {
                true if few => StepOutcome::Undecided,
                true => StepOutcome::Held,
                false => StepOutcome::Missed,
            };
            let takes = if few { 1.2 } else { 0.0 };
            walk.tell(outcome, takes);
            let step = step(ask.level, f64::from(ask.lengths) * 3.0, outcome);
            let Ask { search, confirms, .. } = ask;
            it.steps.push(StepRecord { search, confirms, takes, ..step });
        }
        (walk, it)
    };
    let (whole, _) = walked(usize::MAX);
    for steps in [0, 1, 4, 12] {
        let (walk, kept) = walked(steps);
        let (mut again, mut it) = (Walk::new(within), max(Searched::Rate, Vec::new()));
        it.go_on(kept.clone(), &mut again).unwrap();
        assert_eq!((it.steps.len(), again.next()), (steps, walk.next()));
        while let Some(ask) = again.next() {
            again.tell(
                if ask.level <= 700.0 { StepOutcome::Held } else { StepOutcome::Missed },
                0.0,
            );
        }
        assert_eq!(again.found(), whole.found());
    }
    let (_, kept) = walked(4);
    for change in [
        |it: &mut MaxRecord| it.seed = 2,
        |it: &mut MaxRecord| it.to = 1e5,
        |it: &mut MaxRecord| it.length_s = 2.0,
        |it: &mut MaxRecord| it.repeat = 4,
        |it: &mut MaxRecord| it.searched = Searched::Connections,
        |it: &mut MaxRecord| it.slo = vec!["p99 < 1s".parse().unwrap()],
        |it: &mut MaxRecord| it.step_command = "springload run other".to_owned(),
        |it: &mut MaxRecord| it.steps[2].level = 350.0,
        |it: &mut MaxRecord| it.steps[1].takes = 9.0,
        |it: &mut MaxRecord| it.steps[3].confirms = true,
        |it: &mut MaxRecord| it.ended = Ended::Found,
        |it: &mut MaxRecord| it.ended = Ended::NothingHolds,
    ] {
        let mut other = kept.clone();
        change(&mut other);
        let mut it = max(Searched::Rate, Vec::new());
        let resumed = it.go_on(other, &mut Walk::new(within));
        assert!(resumed.is_err() && it.steps.is_empty(), "{resumed:?}");
    }
}

#[test]
fn a_file_cannot_claim_what_cannot_be() {
    let sound = || max(Searched::Rate, vec![step(1.0, 1.0, StepOutcome::Held)]);
    assert!(sound().check().is_ok());
    for change in [
        |it: &mut MaxRecord| it.steps[0].level = -1.0,
        |it: &mut MaxRecord| it.steps[0].length_s = f64::NAN,
        |it: &mut MaxRecord| it.steps[0].per_s = f64::INFINITY,
        |it: &mut MaxRecord| it.steps[0].failed_percent = -0.1,
        |it: &mut MaxRecord| it.steps[0].p50_us = Some(-1.0),
        |it: &mut MaxRecord| it.steps[0].p99_us = Some(f64::NAN),
        |it: &mut MaxRecord| it.sustained_per_s = Some(-1.0),
        |it: &mut MaxRecord| it.low = Some(f64::NAN),
        |it: &mut MaxRecord| it.high = Some(f64::INFINITY),
        |it: &mut MaxRecord| it.connections = Some(-1.0),
        |it: &mut MaxRecord| it.found_per_s = vec![-1.0],
        |it: &mut MaxRecord| it.nodes = 0,
        |it: &mut MaxRecord| it.nodes = 100_001,
        |it: &mut MaxRecord| it.steps[0].takes = f64::NAN,
        |it: &mut MaxRecord| it.to = -1.0,
    ] {
        let mut it = sound();
        change(&mut it);
        assert!(it.check().is_err(), "{it:?}");
    }
}
