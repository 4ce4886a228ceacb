//! Intervals for series whose true values are known.

use super::*;
use crate::generate::{Stream, below, mix, unit};
use crate::statistics::squares;
use statrs::distribution::{ContinuousCDF, Normal};

/// The number of quantiles of the normal distribution that are computed, which is enough.
const QUANTILES: u32 = 4_096;
/// Samples in each step.
const SAMPLES: usize = 100;

fn normal(draws: &mut Stream) -> f64 {
    Normal::standard().inverse_cdf(unit(draws.draw()).max(1e-12))
}

/// Steps with a memory: each is `phi` times the one before plus a random term, with variance 1
/// overall.
fn levels(draws: &mut Stream, count: usize, phi: f64) -> Vec<f64> {
    let mut level = normal(draws);
    let mut next = || {
        let now = level;
        level = phi * level + (1.0 - phi * phi).sqrt() * normal(draws);
        now
    };
    (0..count).map(|_| next()).collect()
}

/// A sample greater than 0, from its logarithm in hundredths.
fn sample(log: f64) -> u64 {
    (1_000.0 + 100.0 * log).round() as u64
}

/// The percentage of trials in which the intervals for mean, p50 and p99 contain the true value.
/// Logarithms of the samples vary by 0.3 between steps and by 0.5 within.
fn coverage((steps, phi): (usize, f64), trials: u64) -> [f64; 3] {
    let quantile = |at: u32| (f64::from(at) + 0.5) / f64::from(QUANTILES);
    let within: Vec<f64> =
        (0..QUANTILES).map(|at| Normal::standard().inverse_cdf(quantile(at))).collect();
    let p99 = Normal::standard().inverse_cdf(0.99) * 0.3_f64.hypot(0.5);
    let mut covered = [0_u64; 3];
    for trial in 0..trials {
        let mut draws =
            Stream::new(mix(17, trial, (steps * 1_000) as u64 + (phi * 100.0) as u64), 0);
        let levels = levels(&mut draws, steps, phi);
        let mut step = |level: &f64| {
            let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
            for _ in 0..SAMPLES {
                let drawn = within[below(draws.draw(), u64::from(QUANTILES)) as usize];
                *counts.entry(sample(0.3 * level + 0.5 * drawn)).or_default() += 1;
            }
            counts.into_iter().collect()
        };
        let seen: Vec<Vec<(u64, u64)>> = levels.iter().map(&mut step).collect();
        let seen = Seen::new(&seen).unwrap();
        let of = |share: f64| seen.quantile_interval(share).unwrap();
        let bounds = [mean_interval(&levels).unwrap(), of(0.5), of(0.99)];
        let truth = [0.0, sample(0.0) as f64, sample(p99) as f64];
        for ((covered, bounds), truth) in covered.iter_mut().zip(bounds).zip(truth) {
            *covered += u64::from((bounds.low..=bounds.high).contains(&truth));
        }
    }
    covered.map(|it| 100.0 * it as f64 / trials as f64)
}

/// The rows of the table in the documentation for this many seconds: the correlation of neighbors,
/// and how often the intervals contain mean, p50 and p99, in percent.
fn published(steps: usize) -> Vec<(f64, [f64; 3])> {
    let number = |cell: &str| cell.split_whitespace().next()?.parse::<f64>().ok();
    let row = |line: &str| {
        let cells: Vec<f64> = line.split('|').filter_map(number).collect();
        let &[seconds, phi, mean, p50, p99] = &cells[..] else { return None };
        ((seconds - steps as f64).abs() < 0.5).then_some((phi, [mean, p50, p99]))
    };
    include_str!("../../../../docs/load-shapes.md").lines().filter_map(row).collect()
}

/// Simulates what is published, and compares the results.
fn as_published(steps: usize, trials: u64) {
    let rows = published(steps);
    let memories: Vec<f64> = rows.iter().map(|row| row.0).collect();
    assert_eq!(memories, [0.95, 0.8, 0.5, 0.0], "the table of {steps} s");
    for (phi, published) in rows {
        let found = coverage((steps, phi), trials);
        for (published, found) in published.into_iter().zip(found) {
            // Three standard errors, and the rounding of the table.
            let share = published / 100.0;
            let error = 0.5 + 300.0 * (share * (1.0 - share) / trials as f64).sqrt();
            assert!(
                (found - published).abs() <= error,
                "{steps} s, {phi}: {found} %, not {published}"
            );
        }
    }
}

#[test]
fn intervals_of_20_s_hold_the_truth_as_often_as_published() {
    as_published(20, 200);
}

#[test]
fn intervals_of_30_s_hold_the_truth_as_often_as_published() {
    as_published(30, 160);
}

#[test]
fn intervals_of_60_s_hold_the_truth_as_often_as_published() {
    as_published(60, 120);
}

#[test]
fn intervals_of_300_s_hold_the_truth_as_often_as_published() {
    as_published(300, 40);
}

#[test]
fn of_independent_steps_it_is_little_wider_than_that_of_a_textbook() {
    for (steps, least, most) in [(20, 1.0, 1.25), (300, 1.05, 1.3)] {
        let ratios = (0..60).map(|trial| {
            let mut draws = Stream::new(mix(18, trial, 0), 0);
            let series = levels(&mut draws, steps, 0.0);
            let Bounds { low, high } = mean_interval(&series).unwrap();
            assert!((low.midpoint(high) - mean(&series)).abs() < 1e-9);
            // Student's: mean ± t s / √n.
            let (count, freedom) = (steps as f64, steps as f64 - 1.0);
            let half = t_quantile(ALARMS, freedom) * (squares(&series) / freedom / count).sqrt();
            (high - low) / (2.0 * half)
        });
        // t with 6 degrees of freedom against t with as many as there are steps.
        let ratio = mean(&ratios.collect::<Vec<f64>>());
        assert!((least..most).contains(&ratio), "{steps} steps: {ratio}");
    }
}

#[test]
fn a_wave_has_the_power_that_its_memory_gives_it() {
    // For a constant, by hand: the variance of the sum of three such steps, over 3.
    let third = (1.0_f64 / 3.0).sqrt();
    let by_hand = (3.0 + 4.0 * 0.5 + 2.0 * 0.25) / 3.0;
    assert!((power([third; 3].into_iter(), 0.5) - by_hand).abs() < 1e-12);
    // Without memory all waves are alike.
    for wave in 1..=WAVES {
        assert!((power(cosine(wave, 20).into_iter(), 0.0) - 1.0).abs() < 1e-12, "{wave}");
    }
    // Negative correlation of neighbors does not make an interval narrower.
    let turning: Vec<f64> = (0..40).map(|at| f64::from(at % 2)).collect();
    assert!((Waves::of(40).unwrap().weakness(&turning) - 1.0).abs() < 1e-9);
    // Neighbors correlate by 0.05, which is too low by (1 + 3 · 0.05) / 20. The powers for 0.1075,
    // as double sums over all pairs of steps, have this ratio.
    let pairs: Vec<f64> = (0..20).map(|at| f64::from(at / 2 % 2)).collect();
    let weakness = Waves::of(20).unwrap().weakness(&pairs);
    assert!((weakness - 1.055_367_57).abs() < 1e-7, "{weakness}");
}

#[test]
fn a_step_pulls_at_a_quantile_by_what_is_missing_below_it() {
    // Of 4, 10 and 2 samples, half should be up to the median: 2, 5 and 1.
    let step = |below: u64, above: u64| vec![(10, below), (20, above)];
    let steps = [step(3, 1), step(2, 8), step(1, 1)].into_iter().cycle().take(9);
    let steps: Vec<Vec<(u64, u64)>> = steps.collect();
    let pulls = Seen::new(&steps).unwrap().pulls(10, 0.5);
    let expected = [-1.0, 3.0, 0.0].repeat(3);
    assert!(pulls.iter().zip(&expected).all(|(it, by_hand)| (it - by_hand).abs() < 1e-12));
    assert_eq!(pulls.len(), expected.len());
}

#[test]
fn the_interval_of_a_quantile_is_around_it_and_of_more_samples_narrower() {
    let of = |count: usize, share: f64| {
        let mut draws = Stream::new(mix(19, count as u64, 0), 0);
        let mut step = || {
            let mut values: Vec<u64> =
                (0..count).map(|_| 1 + below(draws.draw(), 10_000)).collect();
            values.sort_unstable();
            values.into_iter().map(|value| (value, 1)).collect()
        };
        let steps: Vec<Vec<(u64, u64)>> = (0..60).map(|_| step()).collect();
        let Bounds { low, high } = Seen::new(&steps).unwrap().quantile_interval(share).unwrap();
        assert!(low < 10_000.0 * share && 10_000.0 * share < high, "{share}: {low} {high}");
        // The interval for an order statistic of independent samples, by the binomial distribution.
        let half = 1.96 * 10_000.0 * (share * (1.0 - share) / (60 * count) as f64).sqrt();
        ((high - low) / (2.0 * half), high - low)
    };
    let mut ratios = Vec::new();
    for share in [0.5, 0.9, 0.99] {
        let ((few, wide), (many, narrow)) = (of(100, share), of(400, share));
        assert!(narrow < 0.75 * wide, "{share}: {narrow}, {wide}");
        ratios.extend([few, many]);
    }
    assert!((0.9..1.7).contains(&mean(&ratios)), "{ratios:?}");
}

#[test]
fn steps_that_are_all_alike_leave_nothing_uncertain() {
    let step: Vec<(u64, u64)> = (1..=900).map(|value| (value * 10, 1)).collect();
    let steps = vec![step; 30];
    let seen = Seen::new(&steps).unwrap();
    for (share, value) in [(0.5, 4_500.0), (0.99, 8_910.0), (0.0005, 10.0), (0.9999, 9_000.0)] {
        let bounds = seen.quantile_interval(share).unwrap();
        // A count that does not vary still varies by rounding.
        assert!(
            (bounds.low - value).abs() < 11.0 && (bounds.high - value).abs() < 11.0,
            "{bounds:?}"
        );
        assert!(bounds.low <= value && value <= bounds.high, "{share}: {bounds:?}");
    }
    let bounds = mean_interval(&[7.0; 30]).unwrap();
    assert!((bounds.low - 7.0).abs() < 1e-9 && (bounds.high - 7.0).abs() < 1e-9, "{bounds:?}");
}

#[test]
fn how_many_samples_a_step_has_makes_no_quantile_uncertain() {
    // Twice as many in the second half: the rate varies, the times do not.
    let step = |count: u64| (1..=100).map(|value| (value * 10, count)).collect::<Vec<_>>();
    let steps: Vec<_> = (0..60).map(|at| step(1 + at / 30)).collect();
    for (share, value) in [(0.495, 500.0), (0.985, 990.0)] {
        let bounds = Seen::new(&steps).unwrap().quantile_interval(share).unwrap();
        assert!(
            (bounds.low - value).abs() < 0.5 && (bounds.high - value).abs() < 0.5,
            "{bounds:?}"
        );
    }
}

#[test]
fn what_is_too_short_or_empty_has_none() {
    assert_eq!((mean_interval(&[]), mean_interval(&[1.0; WAVES])), (None, None));
    assert!(mean_interval(&[1.0; WAVES + 1]).is_some());
    assert!(Seen::new(&[]).is_none());
    assert!(Seen::new(&vec![vec![(1, 1)]; WAVES]).is_none());
    assert!(Seen::new(&vec![vec![]; 30]).is_none());
    let mut one = vec![vec![]; 30];
    one[11] = vec![(5, 1)];
    let bounds = Seen::new(&one).unwrap().quantile_interval(0.5);
    assert_eq!(bounds, Some(Bounds { low: 5.0, high: 5.0 }));
}

#[test]
fn a_stall_makes_it_wide() {
    let steady = |from: u64| vec![(from, 90), (from + 1, 10)];
    let mut steps: Vec<_> = (0..60).map(|at| steady(1_000 + at % 3)).collect();
    let p99 = |steps: &[Vec<(u64, u64)>]| {
        let Bounds { low, high } = Seen::new(steps).unwrap().quantile_interval(0.99).unwrap();
        high / low
    };
    assert!(p99(&steps) < 1.01);
    for at in [20, 40] {
        steps[at] = vec![(1_000, 40), (500_000, 60)];
    }
    assert!(p99(&steps) > 100.0, "{}", p99(&steps));
}

#[test]
fn a_quantile_that_remembers_has_a_wider_interval() {
    let width = |phi: f64| {
        let one = |trial: u64| {
            let mut draws = Stream::new(mix(20, trial, 0), 0);
            let levels = levels(&mut draws, 60, phi);
            let steps: Vec<_> = levels.iter().map(|it| vec![(sample(*it), 100)]).collect();
            let Bounds { low, high } = Seen::new(&steps).unwrap().quantile_interval(0.5).unwrap();
            high - low
        };
        mean(&(0..20).map(one).collect::<Vec<f64>>())
    };
    assert!(width(0.8) > 2.0 * width(0.0), "{} {}", width(0.8), width(0.0));
}
