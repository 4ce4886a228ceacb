//! How fast a series rises or falls, robust against outliers, and whether that could be chance.

use super::{ALARMS, autocorrelation_time, median};
use statrs::distribution::{ContinuousCDF, Normal};

/// A slope, and the probability of an order at least this clear by chance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slope {
    /// The slope, in units of y per unit of x.
    pub per_x: f64,
    /// The probability of an order this clear by chance, 0 to 1.
    pub chance: f64,
}

impl Slope {
    /// The median slope of all pairs of points, in order of x (P. K. Sen, "Estimates of the
    /// regression coefficient based on Kendall's tau", Journal of the American Statistical
    /// Association 63, 1968, 1379–1389), tested by the Mann-Kendall test (H. B. Mann,
    /// "Nonparametric tests against trend", Econometrica 13, 1945, 245–259; M. G. Kendall, Rank
    /// Correlation Methods, 1975). Its variance is multiplied by the autocorrelation time of the
    /// residuals (S. Yue and C. Y. Wang, "The Mann-Kendall test modified by effective sample size
    /// to detect trend in serially correlated hydrological series", Water Resources Management 18,
    /// 2004, 201–218). `None` for fewer than four points, or if all have the same x.
    pub fn of(points: &[(f64, f64)]) -> Option<Self> {
        if points.len() < 4 {
            return None;
        }
        let mut slopes = Vec::with_capacity(points.len() * (points.len() - 1) / 2);
        let mut score = 0_i64;
        for (at, (x, y)) in points.iter().enumerate() {
            for (later, other) in &points[at + 1..] {
                if later > x {
                    slopes.push((other - y) / (later - x));
                    score += i64::from(other > y) - i64::from(other < y);
                }
            }
        }
        if slopes.is_empty() {
            return None;
        }
        let per_x = median(slopes)?;
        let rest: Vec<f64> = points.iter().map(|(x, y)| y - per_x * x).collect();
        let variance = variance(points) * autocorrelation_time(&rest);
        Some(Self { per_x, chance: chance(score, variance) })
    }

    /// Whether noise alone gives an order this clear more than once in twenty cases.
    pub fn may_be_noise(&self) -> bool {
        self.chance > ALARMS
    }
}

/// The variance of Kendall's score by chance; values that occur several times reduce it.
fn variance(points: &[(f64, f64)]) -> f64 {
    let term = |count: f64| count * (count - 1.0) * (2.0 * count + 5.0) / 18.0;
    let mut values: Vec<f64> = points.iter().map(|(_, y)| *y).collect();
    values.sort_by(f64::total_cmp);
    let ties: f64 = values
        .chunk_by(|one, other| one.total_cmp(other).is_eq())
        .map(|it| term(it.len() as f64))
        .sum();
    term(points.len() as f64) - ties
}

/// The probability of a score at least this far from zero, with the correction for continuity.
fn chance(score: i64, variance: f64) -> f64 {
    if score == 0 || variance <= 0.0 {
        return 1.0;
    }
    let z = (score.unsigned_abs() as f64 - 1.0) / variance.sqrt();
    2.0 * Normal::standard().sf(z)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{Stream, mix, unit};
    use statrs::distribution::{ContinuousCDF, Normal};

    #[test]
    fn the_slope_of_the_paper() {
        // Sen's example (1968, section 6): the estimate is 4.
        let x = [1.0, 2.0, 3.0, 4.0, 10.0, 12.0, 18.0];
        let y = [9.0, 15.0, 19.0, 20.0, 45.0, 55.0, 78.0];
        let points: Vec<_> = x.into_iter().zip(y).collect();
        let slope = Slope::of(&points).unwrap();
        assert!((slope.per_x - 4.0).abs() < 1e-9, "{slope:?}");
        assert!(!slope.may_be_noise());
    }

    #[test]
    fn the_chance_of_a_table() {
        // Kendall's table of S for ten values: 21 or more with probability 0.036 (two-sided 0.072).
        assert!((chance(21, 125.0) - 0.072).abs() < 0.003, "{}", chance(21, 125.0));
        let values = |of: &[f64]| of.iter().map(|y| (0.0, *y)).collect::<Vec<_>>();
        let ten: Vec<f64> = (0..10).map(f64::from).collect();
        assert!((variance(&values(&ten)) - 125.0).abs() < 1e-9);
        // A tie of three subtracts 3 · 2 · 11 / 18.
        let tied = [1.0, 2.0, 2.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
        assert!((variance(&values(&tied)) - 125.0 + 66.0 / 18.0).abs() < 1e-9);
        // A score of 0 is nothing unusual.
        assert!((chance(0, 125.0) - 1.0).abs() < f64::EPSILON);
    }

    #[test]
    fn the_chance_of_a_few_points_by_hand() {
        let of = |values: &[f64]| {
            let points: Vec<_> = values.iter().enumerate().map(|(x, y)| (x as f64, *y)).collect();
            Slope::of(&points).unwrap()
        };
        // Six pairs in order, with the variance 4 · 3 · 13 / 18: z = 5 / 2.9439.
        let four = of(&[1.0, 2.0, 3.0, 4.0]);
        assert!((four.per_x - 1.0).abs() < 1e-12 && (four.chance - 0.08943).abs() < 5e-5);
        // A tie is neither a rise nor a fall: 14, with the variance (510 − 18) / 18, so that
        // z = 13 / 5.2281.
        let tied = of(&[1.0, 2.0, 2.0, 3.0, 4.0, 5.0]);
        assert!((tied.chance - 0.01290).abs() < 5e-6, "{tied:?}");
    }

    #[test]
    fn noise_is_rarely_a_slope_and_a_slope_is_found() {
        let (mut alarms, mut found) = (0, 0);
        for trial in 0..100 {
            let mut draws = Stream::new(mix(23, trial, 0), 0);
            let mut normal = || Normal::standard().inverse_cdf(unit(draws.draw()).max(1e-12));
            let mut level = 0.0;
            let noise: Vec<(f64, f64)> = (0..150)
                .map(|at| {
                    level = 0.5 * level + normal();
                    (f64::from(at), level)
                })
                .collect();
            let is_clear = |points: &[(f64, f64)]| !Slope::of(points).unwrap().may_be_noise();
            alarms += usize::from(is_clear(&noise));
            let rising: Vec<_> = noise.iter().map(|(x, y)| (*x, y + 0.02 * x)).collect();
            found += usize::from(is_clear(&rising));
        }
        assert!(alarms <= 10 && found >= 90, "{alarms} alarms, {found} found");
    }

    #[test]
    fn what_is_no_slope_has_none() {
        assert_eq!(Slope::of(&[(0.0, 1.0), (1.0, 2.0), (2.0, 3.0)]), None);
        assert_eq!(Slope::of(&[(1.0, 1.0); 10]), None);
        let level: Vec<_> = (0..10).map(|x| (f64::from(x), 5.0)).collect();
        assert!(Slope::of(&level).unwrap().may_be_noise());
    }
}
