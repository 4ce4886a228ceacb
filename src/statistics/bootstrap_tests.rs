//! Intervals of series whose truth is known.

use super::*;
use crate::generate::{mix, unit};
use crate::statistics::{mean, squares};

/// Steps with a memory: each is `phi` times the one before it and what chance adds, with variance
/// 1 over all.
fn levels(draws: &mut Stream, count: usize, phi: f64) -> Vec<f64> {
    let mut normal = || Normal::standard().inverse_cdf(unit(draws.draw()).max(1e-12));
    let mut level = normal();
    let mut next = || {
        let now = level;
        level = phi * level + (1.0 - phi * phi).sqrt() * normal();
        now
    };
    (0..count).map(|_| next()).collect()
}

/// A value of 5 significant bits, so that there are few different ones.
fn rounded(value: f64) -> u64 {
    let value = value as u64;
    let shift = (u64::BITS - value.leading_zeros()).saturating_sub(5);
    value >> shift << shift
}

/// How often, in percent, the interval of a p99 has the true one in it: 300 steps of 200 samples
/// that share their step's level. Second: of how many trials there was an interval.
fn coverage(phi: f64, trials: u64) -> (f64, usize) {
    // Logarithms of the samples: variance 0.3² between steps, 0.5² within.
    let true_ns = rounded(1e6 * (2.326_348 * (0.09_f64 + 0.25).sqrt()).exp()) as f64;
    // As many quantiles of the normal distribution as there is need for.
    let normal: Vec<f64> = (0..4096)
        .map(|at| Normal::standard().inverse_cdf((f64::from(at) + 0.5) / 4096.0))
        .collect();
    let (mut covered, mut told) = (0, 0);
    for trial in 0..trials {
        let mut draws = Stream::new(mix(17, trial, (phi * 100.0) as u64), 0);
        let levels = levels(&mut draws, 300, phi);
        let mut step = |level: &f64| {
            let drawn = (0..200).map(|_| normal[below(draws.draw(), 4096) as usize]);
            let values = drawn.map(|it| rounded(1e6 * (0.3 * level + 0.5 * it).exp()));
            let mut values: Vec<u64> = values.collect();
            values.sort_unstable();
            values.chunk_by(|a, b| a == b).map(|it| (it[0], it.len() as u64)).collect()
        };
        let steps: Vec<Vec<(u64, u64)>> = levels.iter().map(&mut step).collect();
        let interval = Seen::new(&steps).quantile_interval(0.99, &mut draws);
        if let Some(Bounded::Within(Bounds { low, high })) = interval {
            told += 1;
            covered += usize::from((low..=high).contains(&true_ns));
        }
    }
    (100.0 * covered as f64 / told as f64, told)
}

#[test]
fn the_interval_of_a_p99_has_it_as_often_as_promised() {
    let (percent, told) = coverage(0.0, 40);
    assert!(percent >= 90.0 && told == 40, "{percent} % of {told}");
    let (percent, told) = coverage(0.8, 40);
    assert!(percent >= 80.0 && told >= 38, "{percent} % of {told}");
}

#[test]
fn of_independent_steps_it_is_the_interval_of_a_textbook() {
    let mut draws = Stream::new(mix(18, 0, 0), 0);
    let steps = levels(&mut draws, 100, 0.0);
    let Some(Bounded::Within(Bounds { low, high })) = mean_interval(&steps, &mut draws) else {
        panic!("no interval")
    };
    // Student's: mean ± t s / √n.
    let half = t_quantile(0.05, 99.0) * (squares(&steps) / 99.0 / 100.0).sqrt();
    let middle = mean(&steps);
    assert!(((high - low) / (2.0 * half) - 1.0).abs() < 0.15, "{low} {high}: {half}");
    assert!((low.midpoint(high) - middle).abs() < half * 0.15, "{low} {high}: {middle}");
}

#[test]
fn of_few_steps_it_is_wider_as_students_t_is() {
    let ratios = (0..60).filter_map(|seed| {
        let mut draws = Stream::new(mix(19, seed, 0), 0);
        let steps = levels(&mut draws, 24, 0.0);
        let half = t_quantile(0.05, 23.0) * (squares(&steps) / 23.0 / 24.0).sqrt();
        match mean_interval(&steps, &mut draws) {
            Some(Bounded::Within(Bounds { low, high })) => Some((high - low) / (2.0 * half)),
            _ => None,
        }
    });
    let ratios: Vec<f64> = ratios.collect();
    let ratio = mean(&ratios);
    assert!(ratios.len() > 20 && (0.91..1.03).contains(&ratio), "{ratio} of {}", ratios.len());
}

#[test]
fn blocks_that_do_not_divide_the_steps_add_nothing() {
    let mut draws = Stream::new(mix(20, 0, 0), 0);
    let steps: Vec<f64> = levels(&mut draws, 301, 0.8).iter().map(|it| it + 100.0).collect();
    let Some(Bounded::Within(Bounds { low, high })) = mean_interval(&steps, &mut draws) else {
        panic!("no interval")
    };
    let middle = mean(&steps);
    assert!((low.midpoint(high) - middle).abs() < 0.1, "{low} {high}: {middle}");
    assert!((0.4..1.2).contains(&(high - low)), "{low} {high}");
}

#[test]
fn a_slow_wave_of_a_quantile_is_memory() {
    let wave = |at: u32| 10_000 + (5_000.0 * (f64::from(at) / 5.0).sin()) as u64;
    let steps: Vec<Vec<(u64, u64)>> = (0..60).map(|at| vec![(wave(at), 100)]).collect();
    let found = Seen::new(&steps).quantile_interval(0.5, &mut Stream::new(5, 0));
    assert!(matches!(found, Some(Bounded::TooShort(61..1_000))), "{found:?}");
}

#[test]
fn too_few_steps_against_their_memory_have_none() {
    let mut draws = Stream::new(1, 0);
    assert_eq!(mean_interval(&[], &mut draws), None);
    assert_eq!(mean_interval(&[1.0, 2.0, 1.0], &mut draws), Some(Bounded::TooShort(20)));
    // A wave of 30 steps: 20 of its autocorrelation times are more than the 60 steps there are.
    let wave: Vec<f64> = (0..60).map(|at| (f64::from(at) / 5.0).sin()).collect();
    let Some(Bounded::TooShort(needed)) = mean_interval(&wave, &mut draws) else {
        panic!("an interval of two waves")
    };
    assert!((61..1_000).contains(&needed), "{needed}");
    assert!(Seen::new(&[]).quantile_interval(0.5, &mut draws).is_none());
    assert!(Seen::new(&[vec![], vec![]]).quantile_interval(0.5, &mut draws).is_none());
}

#[test]
fn a_stall_makes_it_wide() {
    let steady = |from: u64| vec![(from, 90), (from + 1, 10)];
    let mut steps: Vec<_> = (0..60).map(|at| steady(1_000 + at % 3)).collect();
    let p99 = |steps: &[Vec<(u64, u64)>]| match Seen::new(steps)
        .quantile_interval(0.99, &mut Stream::new(3, 0))
    {
        Some(Bounded::Within(Bounds { low, high })) => high / low,
        other => panic!("{other:?}"),
    };
    assert!(p99(&steps) < 1.01);
    for at in [20, 40] {
        steps[at] = vec![(1_000, 40), (500_000, 60)];
    }
    assert!(p99(&steps) > 100.0, "{}", p99(&steps));
}

#[test]
fn values_beyond_the_most_are_taken_together() {
    let step: Vec<(u64, u64)> = (0..9_000).map(|value| (value * 10, 1)).collect();
    let seen = Seen::new(&vec![step; 30]);
    assert!(seen.values.len() <= MOST_VALUES);
    let Some(Bounded::Within(bounds)) = seen.quantile_interval(0.5, &mut Stream::new(4, 0)) else {
        panic!("no interval")
    };
    // All steps are alike, and values are known to three.
    assert!(bounds.high - bounds.low < 1e-9 && (bounds.low - 45_000.0).abs() <= 30.0, "{bounds:?}");
}
