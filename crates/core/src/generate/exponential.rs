//! Exponentially distributed distances.

use super::{Stream, unit};

/// Draws distances from 0, without an upper limit.
#[derive(Clone, Copy, Debug)]
pub struct Exponential {
    mean: f64,
}

impl Exponential {
    /// A distribution with `percentile` percent (above 0, below 100) of its draws below `range`.
    pub fn new(percentile: f64, range: f64) -> Self {
        // The distribution function is 1 - exp(-x / mean).
        Self { mean: -range / (1.0 - percentile / 100.0).ln() }
    }

    /// Draws one distance, rounded down.
    #[inline]
    pub fn draw(self, stream: &mut Stream) -> u64 {
        // 1 minus the unit draw lies in (0, 1], so its logarithm is finite.
        (-self.mean * (1.0 - unit(stream.draw())).ln()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::mix;
    use crate::generate::statistics::kolmogorov_smirnov;
    use statrs::distribution::{ContinuousCDF, Exp};

    #[test]
    fn distances_follow_the_distribution() {
        let exponential = Exponential::new(95.0, 8.5e11);
        let mut stream = Stream::new(mix(1, 0, 0), 0);
        let mut drawn: Vec<f64> =
            (0..100_000).map(|_| exponential.draw(&mut stream) as f64).collect();
        let expected = Exp::new(1.0 / exponential.mean).unwrap();
        let p = kolmogorov_smirnov(&mut drawn, |x| expected.cdf(x));
        assert!(p > 0.01, "p = {p}");
        let below = drawn.iter().filter(|&&x| x < 8.5e11).count();
        // Four standard deviations: 4 * sqrt(100,000 * 0.95 * 0.05) = 276.
        assert!(below.abs_diff(95_000) < 276, "{below}");
    }
}
