//! Statistics: numbers in, estimates with their uncertainty out.
//!
//! Each formula names its source and is tested against published values or by simulation with fixed
//! seeds. Knows nothing about runs or reports.

mod autocorrelation;
mod change_points;
mod difference;
mod fit;
mod holm;
mod long_run;
mod looks;
mod mover;
mod proportion;
mod ranks;
mod slope;
mod steady;
mod student;
mod successive;
mod usl;

pub use autocorrelation::autocorrelation_time;
pub use change_points::{ChangePoint, LEAST_AT_LEVEL, change_points};
pub use difference::{Difference, Layout, Observation, size_for, values_for};
pub use fit::Fit;
pub use holm::{holm, holm_levels};
pub use long_run::{Bounds, Seen, mean_interval};
pub use looks::levels;
pub use mover::{difference_interval, sum_interval};
pub use proportion::{least_to_show, share_interval};
pub use ranks::rank_correlation;
pub use slope::Slope;
pub use steady::{Beginning, beginning};
pub use student::{t_quantile, two_sided};
pub use successive::successive_deviation;
pub use usl::Usl;

/// How often chance alone may be mistaken for an effect: the level of all tests and, subtracted
/// from 1, of all intervals, unless another level is given.
pub const ALARMS: f64 = 0.05;

/// The arithmetic mean; NaN if there are no values.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The median; `None` if there are no values.
pub fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    let (middle, even) = (values.len() / 2, values.len().is_multiple_of(2));
    if values.is_empty() {
        return None;
    }
    let (below, &mut upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    let lower = below.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Some(if even { lower.midpoint(upper) } else { upper })
}

/// The sum of the squared distances from the mean.
pub fn squares(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median([3.0, 1.0, 100.0]), Some(3.0));
        assert_eq!(median([4.0, 1.0, 2.0, 100.0]), Some(3.0));
        assert_eq!(median([]), None);
    }
}
