//! Interim looks at a comparison: how unlikely a difference must be at each, so that all looks
//! together give no more false alarms than a single one.

use statrs::distribution::{ContinuousCDF, Normal};

/// Points of the grid on which the statistic's distribution is tracked from look to look.
const GRID: usize = 500;
/// The greatest distance of the statistic from zero that is tracked, in standard deviations.
const FAR: f64 = 8.0;

/// The two-sided level of each look at the `shares` of the runs, which rise to 1, such that noise
/// is mistaken for a difference in `alarms` of all comparisons: K. K. G. Lan and D. L. `DeMets`,
/// "Discrete sequential boundaries for clinical trials", Biometrika 70 (1983), 659–663, with the
/// spending function of the O'Brien-Fleming type, which leaves most of it for the last look.
pub fn levels(shares: &[f64], alarms: f64) -> Vec<f64> {
    let normal = Normal::standard();
    let side = alarms / 2.0;
    let far = normal.inverse_cdf(1.0 - side / 2.0);
    let spent = |share: f64| 2.0 * normal.sf(far / share.sqrt());
    let mut levels = Vec::new();
    let mut walk = Walk::default();
    let mut before = 0.0;
    for &share in shares {
        let now = spent(share.min(1.0));
        let bound = walk.bound(share, now - before);
        walk.step(share, bound);
        before = now;
        levels.push(2.0 * normal.sf(bound));
    }
    levels
}

/// The density of a Brownian motion that has stayed within the bounds so far (P. Armitage, C. K.
/// `McPherson` and B. C. Rowe, "Repeated significance tests on accumulating data", Journal of the
/// Royal Statistical Society A 132 (1969), 235–244).
#[derive(Default)]
struct Walk {
    share: f64,
    /// Its possible positions and their probabilities; empty before the first look.
    at: Vec<(f64, f64)>,
}

impl Walk {
    /// The probability of being above `value` at the given share.
    fn above(&self, share: f64, value: f64) -> f64 {
        let normal = Normal::standard();
        if self.at.is_empty() {
            return normal.sf(value / share.sqrt());
        }
        let spread = (share - self.share).sqrt();
        self.at.iter().map(|(at, weight)| weight * normal.sf((value - at) / spread)).sum()
    }

    /// The bound, in standard deviations, that is exceeded with this probability (on one side).
    fn bound(&self, share: f64, probability: f64) -> f64 {
        let (mut low, mut high) = (0.0, FAR);
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if self.above(share, middle * share.sqrt()) > probability {
                low = middle;
            } else {
                high = middle;
            }
        }
        f64::midpoint(low, high)
    }

    /// Advances to the share, and drops whatever is beyond the bound.
    fn step(&mut self, share: f64, bound: f64) {
        let most = bound * share.sqrt();
        let width = 2.0 * most / GRID as f64;
        let edge = |cell: usize| -most + cell as f64 * width;
        let above: Vec<f64> = (0..=GRID).map(|cell| self.above(share, edge(cell))).collect();
        let cells = above.windows(2).enumerate();
        self.at = cells.map(|(cell, it)| (edge(cell) + width / 2.0, it[0] - it[1])).collect();
        self.share = share;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(shares: &[f64]) -> Vec<f64> {
        let normal = Normal::standard();
        levels(shares, 0.05)
            .into_iter()
            .map(|level| normal.inverse_cdf(1.0 - level / 2.0))
            .collect()
    }

    /// The bounds of equally spaced looks at 5 %, two-sided, from D. M. Reboussin and others,
    /// "Computations for group sequential boundaries using the Lan-`DeMets` spending function
    /// method", Controlled Clinical Trials 21 (2000), 190–207.
    #[test]
    fn the_bounds_of_a_table() {
        let published: [&[f64]; 3] = [&[1.960], &[2.963, 1.969], &[3.710, 2.511, 1.993]];
        for bounds_of in published {
            let count = bounds_of.len();
            let shares: Vec<f64> = (1..=count).map(|at| at as f64 / count as f64).collect();
            for (own, published) in bounds(&shares).iter().zip(bounds_of) {
                assert!((own - published).abs() < 0.002, "{count}: {own}, not {published}");
            }
        }
    }

    #[test]
    fn later_looks_are_easier() {
        let levels = levels(&[0.5, 0.75, 1.0], 0.05);
        assert!(levels[0] < 0.004 && levels[0] < levels[1] && levels[1] < levels[2], "{levels:?}");
        assert!(levels[2] > 0.04 && levels[2] < 0.05, "{levels:?}");
    }
}
