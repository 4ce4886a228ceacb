//! A straight line through points, and what it says in words.

use std::fmt;

/// A line fitted by ordinary least squares (NIST/SEMATECH e-Handbook of Statistical Methods,
/// 4.1.4.1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// The slope, in units of y per unit of x.
    pub slope: f64,
    /// The mean of y.
    pub mean: f64,
    /// The share of the variance of y that the line explains, 0 to 1.
    pub r_squared: f64,
    /// How many points there were.
    pub points: usize,
}

impl Fit {
    /// The line through `points`; `None` when fewer than three, or all at the same x: two points
    /// make a line of anything.
    pub fn of(points: &[(f64, f64)]) -> Option<Self> {
        let count = points.len();
        if count < 3 {
            return None;
        }
        let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count as f64;
        let (x, y) = (mean(|point| point.0), mean(|point| point.1));
        let sum = |of: &dyn Fn(f64, f64) -> f64| -> f64 {
            points.iter().map(|point| of(point.0 - x, point.1 - y)).sum()
        };
        let (xx, xy, yy) = (sum(&|x, _| x * x), sum(&|x, y| x * y), sum(&|_, y| y * y));
        // Equal but for the rounding of their mean is equal.
        if xx <= (x * 1e-9).powi(2) * count as f64 {
            return None;
        }
        let r_squared = if yy > 0.0 { (xy * xy / (xx * yy)).min(1.0) } else { 1.0 };
        Some(Self { slope: xy / xx, mean: y, r_squared, points: count })
    }

    /// Whether a slope as steep as this comes of noise alone more often than once in twenty times,
    /// by Student's t with `points` − 2 degrees of freedom (e-Handbook, 1.3.6.7.2).
    pub fn may_be_noise(&self) -> bool {
        const T_975: [f64; 10] =
            [12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228];
        let freedom = self.points - 2;
        let critical = T_975.get(freedom - 1).copied().unwrap_or(2.0);
        let unexplained = 1.0 - self.r_squared;
        self.r_squared * freedom as f64 <= critical * critical * unexplained
    }

    /// The slope in percent of the mean of y.
    pub fn percent(&self) -> f64 {
        if self.mean == 0.0 { 0.0 } else { 100.0 * self.slope / self.mean }
    }
}

impl fmt::Display for Fit {
    /// The slope in percent of the mean, with one decimal or so many that it is not zero.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = self.percent();
        let sign = if percent < 0.0 { '−' } else { '+' };
        let size = percent.abs();
        let decimals = if size == 0.0 { 1.0 } else { (1.0 - size.log10().floor()).clamp(1.0, 6.0) };
        write!(f, "{sign}{size:.*} %", decimals as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_a_textbook() {
        // Anscombe's first set: y = 3.0 + 0.5 x, R² = 0.67 (The American Statistician 27, 1973).
        let x = [10.0, 8.0, 13.0, 9.0, 11.0, 14.0, 6.0, 4.0, 12.0, 7.0, 5.0];
        let y = [8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68];
        let points: Vec<_> = x.into_iter().zip(y).collect();
        let fit = Fit::of(&points).unwrap();
        assert!((fit.slope - 0.500).abs() < 0.001, "{fit:?}");
        assert!((fit.mean - 7.50).abs() < 0.01, "{fit:?}");
        assert!((fit.r_squared - 0.667).abs() < 0.001, "{fit:?}");
        assert!(!fit.may_be_noise());
        assert!(Fit::of(&points[..4]).unwrap().may_be_noise());
    }

    #[test]
    fn words_for_small_and_large_slopes() {
        let fit = |slope| Fit { slope, mean: 1_000.0, r_squared: 1.0, points: 3 };
        assert_eq!(fit(-18.0).to_string(), "−1.8 %");
        assert_eq!(fit(2_000.0).to_string(), "+200.0 %");
        assert_eq!(fit(-0.018).to_string(), "−0.0018 %");
        assert_eq!(fit(0.0).to_string(), "+0.0 %");
    }

    #[test]
    fn what_is_no_line_has_no_fit() {
        assert_eq!(Fit::of(&[]), None);
        assert_eq!(Fit::of(&[(1.0, 1.0), (2.0, 2.0)]), None);
        assert_eq!(Fit::of(&[(0.1, 1.0), (0.1, 2.0), (0.1, 3.0)]), None);
    }
}
