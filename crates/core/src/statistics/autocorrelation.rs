//! How far the memory of a series reaches: neighboring seconds of a run resemble each other, so n
//! of them carry less information than n independent ones.

use super::{mean, squares};

/// The fewest batches whose means are enough to estimate a variance.
const FEWEST_BATCHES: usize = 8;
/// The strongest correlation that neighbors are assumed to have. A stronger one, seen in a few
/// values, may just as well be a drift, and corrections for it grow without bound.
pub(super) const STRONGEST: f64 = 0.95;

/// The autocorrelation time of a series, in steps, at least 1: this many steps are worth one
/// independent value.
///
/// By batch means: the means of batches that are long compared with the memory vary as if
/// independent, so that τ = b · var(mean of b steps) / var(step) (G. S. Fishman, "Grouping
/// Observations in Digital Simulation", Management Science 24, 1978, 510–521). The result is the
/// greatest τ over batches of 1, 2, 4 … steps, as long as there are at least eight: shorter batches
/// underestimate it.
pub fn autocorrelation_time(values: &[f64]) -> f64 {
    let variance = variance(values);
    if variance <= 0.0 || variance.is_nan() {
        return 1.0;
    }
    let sizes = std::iter::successors(Some(2_usize), |size| size.checked_mul(2));
    let times = sizes.take_while(|size| values.len() / size >= FEWEST_BATCHES).map(|size| {
        let means: Vec<f64> = values.chunks_exact(size).map(mean).collect();
        size as f64 * self::variance(&means) / variance
    });
    times.fold(1.0, f64::max)
}

/// The correlation of neighbors in a series, from −1 to 1; 0 if all values are equal.
pub(super) fn correlation(values: &[f64]) -> f64 {
    let (middle, all) = (mean(values), squares(values));
    let products = values.windows(2).map(|pair| (pair[0] - middle) * (pair[1] - middle));
    // All values are equal, except for rounding of the mean.
    let alike = all <= (middle * 1e-9).powi(2) * values.len() as f64;
    if alike || all.is_nan() { 0.0 } else { products.sum::<f64>() / all }
}

fn variance(values: &[f64]) -> f64 {
    squares(values) / (values.len() as f64 - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{Stream, mix, unit};
    use statrs::distribution::{ContinuousCDF, Normal};

    #[test]
    fn of_a_series_whose_memory_is_known() {
        // An autoregressive series of order one has τ = (1 + φ) / (1 − φ).
        for phi in [0.0, 0.5, 0.8] {
            let mut draws = Stream::new(mix(21, (phi * 100.0) as u64, 0), 0);
            let mut normal = || Normal::standard().inverse_cdf(unit(draws.draw()).max(1e-12));
            let mut level = 0.0;
            let values: Vec<f64> = (0..20_000)
                .map(|_| {
                    level = phi * level + normal();
                    level
                })
                .collect();
            // Batches of up to 64 steps: longer ones would be too few to compare.
            let times: Vec<f64> = values.chunks(512).map(autocorrelation_time).collect();
            let (tau, known) = (mean(&times), (1.0 + phi) / (1.0 - phi));
            // The greatest of several estimates tends to be too high.
            assert!((known * 0.8..known * 1.5).contains(&tau), "{phi}: {tau}, not {known}");
        }
    }

    #[test]
    fn what_says_nothing_remembers_nothing() {
        // The means of batches of 0.1 differ from it by rounding, its own mean does not.
        for values in [&[][..], &[1.0], &[2.0; 100], &[0.1; 44], &[f64::NAN; 40]] {
            assert!((autocorrelation_time(values) - 1.0).abs() < f64::EPSILON, "{values:?}");
        }
        let turning: Vec<f64> = (0..100).map(|at| f64::from(at % 2)).collect();
        assert!((autocorrelation_time(&turning) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn of_a_few_steps_by_hand() {
        // In pairs: the 16 steps have the variance 4/15, the eight means of two 2/7.
        let pairs: Vec<f64> = (0..16).map(|at| f64::from(at / 2 % 2)).collect();
        let time = autocorrelation_time(&pairs);
        assert!((time - 15.0 / 7.0).abs() < 1e-12, "{time}");
        // The distances from the mean are −2 to 2: 2 + 0 + 0 + 2, over 4 + 1 + 0 + 1 + 4.
        let shared = correlation(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        assert!((shared - 0.4).abs() < 1e-12, "{shared}");
        let none = [[7.0; 5], [f64::NAN; 5]].map(|values| correlation(&values));
        assert!(none.iter().all(|it| it.abs() < f64::EPSILON), "{none:?}");
    }
}
