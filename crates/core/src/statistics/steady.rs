//! Detects when a series has become steady.

use super::{autocorrelation_time, mean, squares, t_quantile};

/// Steps are grouped into batches of this size.
const BATCH: usize = 5;
/// The share of the level by which the beginning must differ from the rest to count.
const DIFFERS: f64 = 0.02;
/// How often chance may be mistaken for a warm-up.
const ALARMS: f64 = 0.01;

/// How a series begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beginning {
    /// It has been steady from this step on; 0 means from the start.
    SteadyFrom(usize),
    /// It was still settling at the end, or too short to say.
    Unsettled,
}

/// When a series became steady, by MSER-5: the cut that gives the mean of the rest the smallest
/// standard error, in batches of five steps; none if it would leave less than half (K. P. White, M.
/// J. Cobb and S. C. Spratt, "A comparison of five steady-state truncation heuristics for
/// simulation", Winter Simulation Conference 2000, 755–760; chosen among 44 by K. Hoad, S. Robinson
/// and R. Davies, "Automating warm-up length estimation", Journal of the Operational Research
/// Society 61, 2010, 1389–1403).
///
/// The rule always cuts somewhere, so the cut only counts if the part before it is visibly at
/// another level than the rest.
pub fn beginning(steps: &[f64]) -> Beginning {
    let batches: Vec<f64> = steps.chunks_exact(BATCH).map(mean).collect();
    if batches.len() < 2 {
        return Beginning::Unsettled;
    }
    let cut = mser(&batches);
    if cut == 0 || !apart(&batches[..cut], &batches[cut..]) {
        return Beginning::SteadyFrom(0);
    }
    if cut > batches.len() / 2 { Beginning::Unsettled } else { Beginning::SteadyFrom(cut * BATCH) }
}

/// The cut d of n values with the least Σ(x − mean)² / (n − d)². At least five values remain.
fn mser(values: &[f64]) -> usize {
    let last = values.len().saturating_sub(BATCH);
    let error = |cut: usize| {
        let rest = &values[cut..];
        squares(rest) / (rest.len() as f64).powi(2)
    };
    let mut best = (0, error(0));
    for cut in 1..=last {
        let error = error(cut);
        if error < best.1 {
            best = (cut, error);
        }
    }
    best.0
}

/// Whether the levels of two parts differ by more than chance and by enough to matter.
fn apart(first: &[f64], rest: &[f64]) -> bool {
    let (level, difference) = (mean(rest), mean(first) - mean(rest));
    if difference.abs() <= level.abs() * DIFFERS {
        return false;
    }
    let count = rest.len() as f64;
    let time = autocorrelation_time(rest);
    let variance = squares(rest) / (count - 1.0) * time;
    let error = (variance * (1.0 / first.len() as f64 + 1.0 / count)).sqrt();
    // The cut was chosen from many because of this difference, which amounts to as many tests.
    let tests = (first.len() + rest.len()) as f64 / time;
    difference.abs() > error * t_quantile(ALARMS / tests.max(1.0), (count / time - 1.0).max(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{Stream, mix, unit};
    use statrs::distribution::{ContinuousCDF, Normal};

    /// 300 steps that settle from 50 to 100, with noise.
    fn settling(trial: u64, time: f64, noise: f64) -> Vec<f64> {
        let mut draws = Stream::new(mix(22, trial, time as u64), 0);
        let mut normal = || Normal::standard().inverse_cdf(unit(draws.draw()).max(1e-12));
        let level = |at: i32| 100.0 - 50.0 * (-f64::from(at) / time).exp();
        (0..300).map(|at| level(at) + noise * normal()).collect()
    }

    #[test]
    fn a_warm_up_is_found_and_what_is_left_has_no_bias() {
        let (mut bias, mut cuts) = (Vec::new(), Vec::new());
        for trial in 0..50 {
            let steps = settling(trial, 10.0, 1.0);
            let Beginning::SteadyFrom(cut) = beginning(&steps) else { continue };
            bias.push(mean(&steps[cut..]) - 100.0);
            cuts.push(cut as f64);
        }
        assert!(bias.len() >= 45, "{} of 50 told", bias.len());
        // The mean over all steps is 1.7 % too low.
        assert!(mean(&bias).abs() < 0.2, "{}", mean(&bias));
        assert!((15.0..60.0).contains(&mean(&cuts)), "{}", mean(&cuts));
    }

    #[test]
    fn what_is_still_settling_is_not_called_steady() {
        let found =
            (0..20).filter(|&it| beginning(&settling(it, 200.0, 1.0)) == Beginning::Unsettled);
        assert!(found.count() == 20);
        assert_eq!(beginning(&[1.0; 9]), Beginning::Unsettled, "too short");
    }

    #[test]
    fn what_settles_in_the_middle_is_steady_from_there() {
        assert_eq!(beginning(&[[50.0; 50], [100.0; 50]].concat()), Beginning::SteadyFrom(50));
        let late = [&[50.0; 55][..], &[100.0; 45]].concat();
        assert_eq!(beginning(&late), Beginning::Unsettled, "later than that");
        assert_eq!(beginning(&[1.0; 10]), Beginning::SteadyFrom(0), "two batches are enough");
    }

    #[test]
    fn levels_differ_if_more_than_chance_and_the_search_explain() {
        // 16 values in pairs, with τ = 15 / 7 as computed in `autocorrelation`. Their variance is
        // τ · 16 / 15, so a difference to the mean of four has the error 0.84515. The cut was
        // chosen from 20 / τ places: t is 5.6004 for 0.01 · τ / 20 and 16 / τ − 1 degrees of
        // freedom. So differences from 4.7332 on count.
        let rest = [99.0, 99.0, 101.0, 101.0].repeat(4);
        for (difference, differs) in [(4.69, false), (4.78, true), (-4.69, false), (-4.78, true)] {
            assert_eq!(apart(&[100.0 + difference; 4], &rest), differs, "{difference}");
        }
        // Less than 2 % of the level does not count, however certain it is.
        assert!(!apart(&[101.9; 4], &[100.0; 16]) && apart(&[102.1; 4], &[100.0; 16]));
    }

    #[test]
    fn what_is_steady_has_no_warm_up() {
        // It settles within a fraction of the first step.
        let steady =
            |it: &u64| beginning(&settling(*it, 0.1, 5.0)[1..]) == Beginning::SteadyFrom(0);
        assert!((0..100).filter(steady).count() >= 97);
        assert_eq!(beginning(&[7.0; 100]), Beginning::SteadyFrom(0));
        assert_eq!(beginning(&[0.0; 100]), Beginning::SteadyFrom(0));
    }
}
