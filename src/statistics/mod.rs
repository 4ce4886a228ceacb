//! Statistics: numbers in, estimates with their uncertainty out.
//!
//! Each formula names its source, and is tested against published values or by simulation at fixed
//! seeds. Knows neither runs nor reports.

mod autocorrelation;
mod bootstrap;
mod change_points;
mod difference;
mod fit;
mod holm;
mod looks;
mod slope;
mod steady;
mod student;

pub use autocorrelation::autocorrelation_time;
pub use bootstrap::{Bounded, Bounds, Seen, mean_interval};
pub use change_points::{ChangePoint, LEAST_AT_LEVEL, change_points};
pub use difference::{Difference, Layout, Sample};
pub use fit::Fit;
pub use holm::holm;
pub use looks::levels;
pub use slope::Slope;
pub use steady::{Beginning, beginning};
pub use student::{t_quantile, two_sided};

/// How often chance alone may pass for an effect: the level of all tests and, taken from 1, of all
/// intervals, unless another is asked for.
pub const ALARMS: f64 = 0.05;

/// The arithmetic mean; not a number if there are no values.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The sum of the squared distances from the mean.
pub fn squares(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum()
}
