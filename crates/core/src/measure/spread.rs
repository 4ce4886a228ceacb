//! Minimum, maximum, median and standard deviation of a few values.

use serde::{Deserialize, Serialize};

/// The spread of a set of values, one per connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Spread {
    /// The minimum.
    pub min: f64,
    /// The maximum.
    pub max: f64,
    /// The median; the mean of the two middle values if their number is even.
    pub median: f64,
    /// The population standard deviation (divided by n, not n − 1).
    pub sd: f64,
}

impl Spread {
    /// The spread of `values`; all zero if there are none.
    pub fn of(values: &[f64]) -> Self {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (Some(&min), Some(&max)) = (sorted.first(), sorted.last()) else {
            return Self::default();
        };
        let count = sorted.len() as f64;
        let mean = sorted.iter().sum::<f64>() / count;
        let variance = sorted.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
        let (low, high) = (sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
        Self { min, max, median: f64::midpoint(low, high), sd: variance.sqrt() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_and_odd_counts() {
        let even = Spread::of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]);
        assert_eq!((even.min, even.max, even.median, even.sd), (2.0, 9.0, 4.5, 2.0));
        assert!((Spread::of(&[3.0, 1.0, 2.0]).median - 2.0).abs() < f64::EPSILON);
        assert_eq!(Spread::of(&[]), Spread::default());
    }
}
