//! Differences compared with published values, and how often noise is mistaken for one.

//! Published examples, and simulations with fixed seeds.

use super::*;
use crate::generate::{Stream, mix, unit};
use crate::statistics::{ALARMS, holm, levels};
use statrs::distribution::{ContinuousCDF, Normal};

fn samples(first: &[f64], second: &[f64]) -> Vec<Observation> {
    let all = first.iter().map(|it| (false, *it)).chain(second.iter().map(|it| (true, *it)));
    let numbered = all.enumerate();
    numbered.map(|(at, (second, value))| Observation { second, place: at as f64, value }).collect()
}

/// "Student"'s sleep data (Biometrika 6, 1908), as R prints it: t = −1.8608, df = 17.776,
/// p = 0.07939, interval −3.3654832 to 0.2054832.
#[test]
fn welchs_test_of_the_sleep_data() {
    let first = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
    let second = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];
    let it = Difference::of(&samples(&first, &second), Layout::Apart).unwrap();
    assert!((it.mean / it.error - 1.8608).abs() < 1e-4, "{it:?}");
    assert!((it.freedom - 17.776).abs() < 1e-3 && (it.chance() - 0.07939).abs() < 1e-5, "{it:?}");
    assert!((it.mean - it.half_width(0.05) + 0.205_483).abs() < 1e-5, "{it:?}");
    assert!((it.mean + it.half_width(0.05) - 3.365_483).abs() < 1e-5, "{it:?}");
    // The standard deviation of Student's own test, which pools both: √3.604778.
    assert!((it.deviation - 1.898_625).abs() < 1e-6, "{it:?}");
}

/// A straight drift and a step of 2 on top of it are separated to the last digit.
#[test]
fn a_straight_drift_is_no_difference() {
    let side = |at: usize| matches!(at % 4, 1 | 2);
    let sample = |at: usize| Observation {
        second: side(at),
        place: at as f64,
        value: 10.0 + 0.5 * at as f64 + if side(at) { 2.0 } else { 0.0 },
    };
    let all: Vec<Observation> = (0..8).map(sample).collect();
    assert_eq!(Layout::of(&all), Layout::Interleaved);
    let it = Difference::of(&all, Layout::Interleaved).unwrap();
    assert!(
        (it.mean - 2.0).abs() < 1e-9 && it.error < 1e-6 && (it.freedom - 5.0).abs() < 1e-9,
        "{it:?}"
    );
    assert!((it.drift.unwrap() - 3.5).abs() < 1e-9, "{it:?}");
    // Four in the order ABAB, the first at another place than 0.
    let turn = |at: usize| {
        let (second, place) = (at % 2 == 1, 5.0 + at as f64);
        Observation { second, place, value: if second { place + 3.0 } else { place } }
    };
    let four: Vec<Observation> = (0..4).map(turn).collect();
    assert_eq!(Layout::of(&four), Layout::Interleaved);
    let it = Difference::of(&four, Layout::Interleaved).unwrap();
    assert!((it.mean - 3.0).abs() < 1e-9 && (it.freedom - 1.0).abs() < 1e-9, "{it:?}");
    assert!((it.drift.unwrap() - 3.0).abs() < 1e-9, "{it:?}");
}

#[test]
fn sides_alternate_unless_time_tells_them_apart() {
    let layout = |seconds: &[usize], count: usize| {
        let sample = |at: usize| {
            let (second, place) = (seconds.contains(&at), at as f64);
            Observation { second, place, value: 0.0 }
        };
        Layout::of(&(0..count).map(sample).collect::<Vec<_>>())
    };
    // If one side is measured after the other, a drift cannot be recognized.
    assert_eq!(layout(&[4, 5, 6, 7], 8), Layout::Apart);
    // The places of the second side are 12 higher together than if they were 7.5 on average: the
    // sides explain 12² / (4 · 340) of the variance of time.
    assert_eq!(layout(&[2, 4, 6, 8, 10, 13, 14, 15], 16), Layout::Interleaved);
    assert_eq!(layout(&[1], 3), Layout::Apart, "three are too few for a line and a side");
    assert_eq!([layout(&[], 8), layout(&[], 0)], [Layout::Apart; 2], "one side, or none");
}

#[test]
fn too_few_values_have_no_difference_and_equal_ones_no_doubt() {
    assert!(Difference::of(&samples(&[1.0], &[2.0]), Layout::Apart).is_none());
    assert!(Difference::of(&samples(&[1.0, 2.0], &[]), Layout::Interleaved).is_none());
    assert!(Difference::of(&samples(&[1.0; 6], &[]), Layout::Interleaved).is_none());
    let equal = Difference::of(&samples(&[1.0; 3], &[1.0; 3]), Layout::Apart).unwrap();
    assert!((equal.mean, equal.half_width(0.05), equal.chance()) == (0.0, 0.0, 1.0));
    assert!((equal.freedom - 4.0).abs() < 1e-9, "{equal:?}");
    let apart = Difference::of(&samples(&[1.0; 3], &[2.0; 3]), Layout::Apart).unwrap();
    assert!((apart.mean, apart.half_width(0.05), apart.chance()) == (1.0, 0.0, 0.0));
    // A prediction interval: 2.776 · 1.5811 · √(1 + 1/5) to either side (e-Handbook's table of t).
    let one = Difference::of(&samples(&[1.0, 2.0, 3.0, 4.0, 5.0], &[3.0]), Layout::Apart).unwrap();
    assert!((one.half_width(0.05) - 4.808).abs() < 0.001, "{one:?}");
    let other = Difference::of(&samples(&[3.0], &[1.0, 2.0, 3.0, 4.0, 5.0]), Layout::Apart);
    assert_eq!(other, Some(one), "whichever side it is");
    // Three are too few to tell a drift from a difference.
    let turns = [(false, 1.0), (true, 3.0), (false, 2.0)].into_iter().enumerate();
    let turns = turns.map(|(at, (second, value))| Observation { second, place: at as f64, value });
    let three = Difference::of(&turns.collect::<Vec<_>>(), Layout::Interleaved).unwrap();
    assert!((three.mean - 1.5).abs() < 1e-9 && (three.freedom - 1.0).abs() < 1e-9, "{three:?}");
    assert_eq!(three.drift, None);
    // 15.7 · (3 / 5)² + 2.
    let wanted = (Difference { deviation: 0.03, ..one }).values_for(0.05);
    assert!((wanted - 8.0).abs() < 1e-9, "{wanted}");
}

/// The logarithms of the results of two sides, with a variation between runs, a true ratio, and a
/// drift from the first to the last run, in the order ABBA or one side after the other.
fn runs(
    draws: &mut Stream,
    pairs: usize,
    (cv, ratio, drift): (f64, f64, f64),
    abba: bool,
) -> Vec<Observation> {
    let count = pairs * 2;
    let sample = |at: usize| {
        let second = if abba { matches!(at % 4, 1 | 2) } else { at >= pairs };
        let noise = cv * Normal::standard().inverse_cdf(unit(draws.draw()).max(1e-12));
        let shift = if second { ratio.ln() } else { 0.0 };
        let drifted = (1.0 + drift * at as f64 / (count - 1) as f64).ln();
        Observation { second, place: at as f64, value: noise + shift + drifted }
    };
    (0..count).map(sample).collect()
}

/// The percentage of comparisons that find a difference.
fn found(times: u64, pairs: usize, of: (f64, f64, f64), abba: bool) -> f64 {
    let mut draws = Stream::new(mix(17, pairs as u64, (of.0 * 1e4) as u64), 0);
    let alarm = |_: &u64| {
        let runs = runs(&mut draws, pairs, of, abba);
        let layout = Layout::of(&runs);
        assert_eq!(layout == Layout::Interleaved, abba);
        Difference::of(&runs, layout).unwrap().chance() <= ALARMS
    };
    (0..times).filter(alarm).count() as f64 * 100.0 / times as f64
}

#[test]
fn without_a_difference_three_to_seven_of_a_hundred_comparisons_see_one() {
    for cv in [0.01, 0.03] {
        let apart = found(4_000, 8, (cv, 1.0, 0.0), false);
        let drifting = found(4_000, 8, (cv, 1.0, 0.02), true);
        assert!((3.0..=7.0).contains(&apart), "{cv}: {apart} %");
        assert!((3.0..=7.0).contains(&drifting), "{cv}: {drifting} % with a drift");
        // The same drift with one side after the other: this is why runs alternate.
        let fooled = found(1_000, 8, (cv, 1.0, 0.02), false);
        assert!(fooled > apart + 3.0, "{cv}: {fooled} %");
    }
}

#[test]
fn eight_pairs_find_five_percent_at_a_variation_of_three() {
    for ratio in [0.95, 1.05] {
        let found = found(4_000, 8, (0.03, ratio, 0.02), true);
        assert!(found >= 85.0 - 1.2, "{ratio}: {found} %, two standard errors below 85");
    }
    assert!(found(1_000, 8, (0.01, 1.05, 0.02), true) > 99.0);
}

/// Looks at 4, 6 and 8 pairs, at the levels for them: wrong as often as a single look, and right
/// almost as often.
fn found_at_looks(times: u64, of: (f64, f64, f64), looks: &[f64]) -> f64 {
    let mut draws = Stream::new(mix(18, looks.len() as u64, (of.1 * 1e4) as u64), 0);
    let at = [4, 6, 8];
    let one = |_: &u64| {
        let all = runs(&mut draws, 8, of, true);
        at.iter().zip(looks).any(|(pairs, level)| {
            Difference::of(&all[..pairs * 2], Layout::Interleaved).unwrap().chance() <= *level
        })
    };
    (0..times).filter(one).count() as f64 * 100.0 / times as f64
}

#[test]
fn looking_three_times_costs_no_more_alarms_than_looking_once() {
    let looks = levels(&[0.5, 0.75, 1.0], ALARMS);
    for cv in [0.01, 0.03] {
        let alarms = found_at_looks(4_000, (cv, 1.0, 0.02), &looks);
        assert!((3.0..=7.0).contains(&alarms), "{cv}: {alarms} %");
    }
    // With the full level for each look, there would be more false alarms.
    let careless = found_at_looks(4_000, (0.03, 1.0, 0.02), &[ALARMS; 3]);
    assert!(careless > 7.5, "{careless} %");
    let right = found_at_looks(4_000, (0.03, 0.95, 0.02), &looks);
    assert!(right >= 85.0, "{right} %");
}

#[test]
fn several_figures_together_give_no_more_alarms_than_one() {
    let mut draws = Stream::new(19, 0);
    let alarm = |_: &u64| {
        let p: Vec<f64> = (0..6)
            .map(|_| {
                let runs = runs(&mut draws, 5, (0.02, 1.0, 0.0), true);
                Difference::of(&runs, Layout::Interleaved).unwrap().chance()
            })
            .collect();
        holm(&p, ALARMS).contains(&true)
    };
    let alarms = (0..2_000u64).filter(alarm).count() as f64 / 20.0;
    assert!((3.0..=7.0).contains(&alarms), "{alarms} %");
}

#[test]
fn values_and_size_belong_together() {
    // Lehr's example of 5 % at a variation of 3 %: 5.7, and 2 more.
    assert!((values_for(0.03, 0.05) - 8.0).abs() < 1e-9);
    assert_eq!(size_for(0.03, 2.0), None);
    for (deviation, size) in [(0.03, 0.05), (0.01, 0.05), (0.06, 0.02)] {
        let values = values_for(deviation, size);
        assert!(size_for(deviation, values).unwrap() <= size);
        assert!(values <= 3.0 || size_for(deviation, values - 1.0).unwrap() > size);
    }
}
