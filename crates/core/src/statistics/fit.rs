//! Fits a straight line to points and tests whether its slope could be chance.

use super::long_run::cosine;
use super::{ALARMS, two_sided};
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
    /// The number of points.
    pub points: usize,
    /// The probability of a slope at least as steep by chance, 0 to 1.
    pub chance: f64,
}

/// A run's points as distances from the run's own mean.
type Centered = Vec<(f64, f64)>;

/// Sums of squares and products over all points.
struct PointSums {
    xx: f64,
    xy: f64,
    yy: f64,
}

impl Fit {
    /// The best line through several groups, each with its own intercept. Points are assumed to be
    /// independent. `None` if there are too few to distinguish the line from noise, or if all
    /// points of a group have the same x. The slope is tested by Student's t, whose degrees of
    /// freedom are the number of points, less one per group and one for the slope (e-Handbook,
    /// 1.3.6.7.2).
    pub fn of(groups: &[Vec<(f64, f64)>]) -> Option<Self> {
        Self::through(groups, |centered, sums| {
            let points: usize = centered.iter().map(Vec::len).sum();
            let levels = centered.iter().filter(|group| !group.is_empty()).count();
            let freedom = points.saturating_sub(levels + 1);
            let rest = (sums.yy - sums.xy * sums.xy / sums.xx).max(0.0);
            (rest / freedom as f64, freedom)
        })
    }

    /// The best line through the points of several runs. The points of a run are in order of time
    /// and may be autocorrelated, like the windows of a fill: a slow one follows a slow one. If
    /// they were treated as independent, noise would often be mistaken for a slope.
    ///
    /// The long-run variance of the noise is estimated from cosines that are independent of the
    /// line (Y. Sun, "Robust trend inference with series variance estimator and testing-optimal
    /// smoothing parameter", Journal of Econometrics 164, 2011, 345–366); Student's t then has as
    /// many degrees of freedom as there are cosines.
    pub fn of_runs(runs: &[Vec<(f64, f64)>]) -> Option<Self> {
        Self::through(runs, |runs, _| {
            let waves: Vec<f64> = runs.iter().flat_map(|run| waves(run)).collect();
            let power: f64 = waves.iter().map(|wave| wave * wave).sum();
            (power / waves.len() as f64, waves.len())
        })
    }

    /// The line, with the variance of the noise and its degrees of freedom as given by `noise`.
    fn through(
        runs: &[Vec<(f64, f64)>],
        noise: impl Fn(&[Centered], &PointSums) -> (f64, usize),
    ) -> Option<Self> {
        let count: usize = runs.iter().map(Vec::len).sum();
        let centered: Vec<Centered> = runs.iter().map(|run| centered(run)).collect();
        let all = || centered.iter().flatten();
        let mean =
            |of: fn(&(f64, f64)) -> f64| runs.iter().flatten().map(of).sum::<f64>() / count as f64;
        let (x, y) = (mean(|point| point.0), mean(|point| point.1));
        let sums = PointSums {
            xx: all().map(|(x, _)| x * x).sum(),
            xy: all().map(|(x, y)| x * y).sum(),
            yy: all().map(|(_, y)| y * y).sum(),
        };
        // All values are equal, except for rounding of the mean.
        let alike = |squares: f64, mean: f64| squares <= (mean * 1e-9).powi(2) * count as f64;
        if count == 0 || alike(sums.xx, x) {
            return None;
        }
        let (variance, freedom) = noise(&centered, &sums);
        if freedom == 0 {
            return None;
        }
        let level = Self { slope: 0.0, mean: y, r_squared: 0.0, points: count, chance: 1.0 };
        if alike(sums.yy, y) {
            return Some(level);
        }
        let slope = sums.xy / sums.xx;
        let r_squared = (sums.xy * sums.xy / (sums.xx * sums.yy)).min(1.0);
        let chance = two_sided(slope / (variance / sums.xx).sqrt(), freedom as f64);
        Some(Self { slope, r_squared, chance, ..level })
    }

    /// Whether noise alone gives a slope this steep more than once in twenty cases.
    pub fn may_be_noise(&self) -> bool {
        self.chance > ALARMS
    }

    /// The slope in percent of the mean of y.
    pub fn percent(&self) -> f64 {
        if self.mean == 0.0 { 0.0 } else { 100.0 * self.slope / self.mean }
    }
}

fn centered(run: &[(f64, f64)]) -> Centered {
    let mean = |of: fn(&(f64, f64)) -> f64| run.iter().map(of).sum::<f64>() / run.len() as f64;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    run.iter().map(|point| (point.0 - x, point.1 - y)).collect()
}

/// The strength of the noise around the line in each of the slowest waves that fit into a run:
/// cosines that are orthogonal to the run's mean, to its x and to each other, so that the line
/// itself has none. With 0.3 n^⅔ waves of n points, noise whose neighbors correlate by 0.8 is
/// mistaken for a slope in 6 to 9 % of all cases from 20 points on, as simulated in the tests
/// below; with more waves this happens more often.
fn waves(run: &[(f64, f64)]) -> Vec<f64> {
    let count = run.len();
    let wanted = ((0.3 * (count as f64).powf(2.0 / 3.0)) as usize).max(2);
    let length = |of: &[f64]| of.iter().map(|value| value * value).sum::<f64>().sqrt();
    let product = |one: &[f64], other: &[f64]| -> f64 {
        one.iter().zip(other).map(|(one, other)| one * other).sum()
    };
    let mut line: Vec<f64> = run.iter().map(|point| point.0).collect();
    let spread = length(&line);
    if spread > 0.0 {
        for x in &mut line {
            *x /= spread;
        }
    }
    let values: Vec<f64> = run.iter().map(|point| point.1).collect();
    let (mut used, mut strengths) = (vec![line], Vec::new());
    // The first wave, half a period, is nearly the line itself.
    for wave in 2..count {
        if strengths.len() == wanted {
            break;
        }
        let mut cosine = cosine(wave, count);
        for other in &used {
            let shared = product(&cosine, other);
            cosine.iter_mut().zip(other).for_each(|(value, other)| *value -= shared * other);
        }
        let left = length(&cosine);
        // If a wave is nearly spanned by the others, its remainder is not slow.
        if left > 0.5 {
            for value in &mut cosine {
                *value /= left;
            }
            strengths.push(product(&cosine, &values));
            used.push(cosine);
        }
    }
    strengths
}

impl fmt::Display for Fit {
    /// Shows the slope in percent of the mean, with enough decimals not to show zero.
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
    use crate::generate::{Stream, mix, unit};
    use statrs::distribution::{ContinuousCDF, Normal};

    #[test]
    fn the_line_of_a_textbook() {
        // Anscombe's first set: y = 3.0 + 0.5 x, R² = 0.67 (The American Statistician 27, 1973).
        let x = [10.0, 8.0, 13.0, 9.0, 11.0, 14.0, 6.0, 4.0, 12.0, 7.0, 5.0];
        let y = [8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68];
        let points: Vec<_> = x.into_iter().zip(y).collect();
        let fit = Fit::of(std::slice::from_ref(&points)).unwrap();
        assert!((fit.slope - 0.500).abs() < 0.001, "{fit:?}");
        assert!((fit.mean - 7.50).abs() < 0.01, "{fit:?}");
        assert!((fit.r_squared - 0.667).abs() < 0.001, "{fit:?}");
        // Its t is 4.24 with 9 degrees of freedom.
        assert!((fit.chance - 0.00217).abs() < 0.00005, "{fit:?}");
        assert!(!fit.may_be_noise());
        assert!(Fit::of(&[points[..4].to_vec()]).unwrap().may_be_noise());
    }

    #[test]
    fn words_for_small_and_large_slopes() {
        let fit = |slope| Fit { slope, mean: 1_000.0, r_squared: 1.0, points: 3, chance: 0.0 };
        assert_eq!(fit(-18.0).to_string(), "−1.8 %");
        assert_eq!(fit(2_000.0).to_string(), "+200.0 %");
        assert_eq!(fit(-0.018).to_string(), "−0.0018 %");
        assert_eq!(fit(0.0).to_string(), "+0.0 %");
    }

    #[test]
    fn what_is_no_line_has_no_fit() {
        assert_eq!(Fit::of(&[]), None);
        assert_eq!(Fit::of(&[vec![(1.0, 1.0), (2.0, 2.0)]]), None);
        assert_eq!(Fit::of(&[vec![(0.1, 1.0), (0.1, 2.0), (0.1, 3.0)]]), None);
        // All x are equal, except for rounding.
        let (below, above) = (1.0 - 5e-10, 1.0 + 5e-10);
        assert_eq!(Fit::of(&[vec![(below, 1.0), (above, 2.0), (below, 3.0), (above, 4.0)]]), None);
    }

    #[test]
    fn waves_are_what_a_line_is_not() {
        // Four equidistant points have a quadratic contrast, 1, −1, −1, 1, and a cubic one, 1, −3,
        // 3, −1 (R. A. Fisher and F. Yates, "Statistical tables", 1938): −1 / √4 and 11 / √20.
        let four = [(-1.5, 3.0), (-0.5, 1.0), (0.5, 4.0), (1.5, 1.0)];
        let &[quadratic, cubic] = &waves(&four)[..] else { panic!("{:?}", waves(&four)) };
        assert!((quadratic + 0.5).abs() < 1e-12 && (cubic - 11.0 / 20_f64.sqrt()).abs() < 1e-12);
        // However the points of a line are spaced, it has no waves.
        let x = [0.0, 1.0, 2.0, 4.0, 8.0, 16.0].map(|x| x - 31.0 / 6.0);
        let line = waves(&x.map(|x| (x, 3.0 * x)));
        assert!(line.len() == 2 && line.iter().all(|wave| wave.abs() < 1e-12), "{line:?}");
        // Points at one place have two, too, and longer runs 0.3 n^⅔.
        assert_eq!(waves(&[(0.0, 1.0), (0.0, 2.0), (0.0, 4.0), (0.0, 8.0), (0.0, 0.0)]).len(), 2);
        let many = [100, 300].map(|count| {
            let middle = f64::from(count - 1) / 2.0;
            waves(&(0..count).map(|at| (f64::from(at) - middle, 0.0)).collect::<Vec<_>>()).len()
        });
        assert_eq!(many, [6, 13]);
    }

    /// Windows that are each `phi` times the one before plus a random term, with a slope.
    fn windows(draws: &mut Stream, count: usize, phi: f64, slope: f64) -> Vec<(f64, f64)> {
        let mut normal = || Normal::standard().inverse_cdf(unit(draws.draw()));
        let mut noise = normal() / (1.0 - phi * phi).sqrt();
        let point = |at: usize| {
            let x = at as f64 / count as f64;
            let value = (x, 100.0 + slope * x + noise);
            noise = phi * noise + normal();
            value
        };
        (0..count).map(point).collect()
    }

    /// The percentage of fills without a slope that are reported to have one.
    fn alarms(count: usize, phi: f64, times: u64) -> f64 {
        let mut draws = Stream::new(mix(14, count as u64, (phi * 100.0) as u64), 0);
        let alarm = |_: &u64| {
            let run = windows(&mut draws, count, phi, 0.0);
            Fit::of_runs(&[run]).is_some_and(|fit| !fit.may_be_noise())
        };
        (0..times).filter(alarm).count() as f64 * 100.0 / times as f64
    }

    #[test]
    fn noise_whose_windows_depend_on_each_other_is_no_slope() {
        for (count, times) in [(20, 1_000), (100, 500), (300, 150), (1_000, 40)] {
            let shares = [0.0, 0.5, 0.8].map(|phi| alarms(count, phi, times));
            // Two standard errors: of 1,000 fills at 5 %, 3.6 to 6.4 % alarm by chance.
            let slack = 200.0 * (0.05f64 * 0.95 / times as f64).sqrt();
            for (percent, most) in shares.into_iter().zip([5.5, 5.5, 8.5]) {
                assert!(percent <= most + slack, "{count} windows: {shares:?} %");
            }
            assert!(shares[0] >= 5.0 - slack, "{count} windows: {shares:?} %, too careful");
        }
    }

    #[test]
    fn a_slope_is_found_in_noise() {
        for (count, phi) in [(20, 0.0), (100, 0.5), (100, 0.8), (300, 0.8)] {
            let mut draws = Stream::new(mix(15, count as u64, 0), 0);
            // Six standard errors of the slope: 1 / (1 − φ) √(12 / n).
            let slope = -6.0 / (1.0 - phi) * (12.0 / count as f64).sqrt();
            let found = |_: &i32| {
                let run = windows(&mut draws, count, phi, slope);
                Fit::of_runs(&[run]).is_some_and(|fit| !fit.may_be_noise() && fit.slope < 0.0)
            };
            let found = (0..100).filter(found).count();
            assert!(found >= 80, "{count} windows at {phi}: {found} of 100 found");
        }
    }

    #[test]
    fn runs_at_levels_of_their_own_share_a_slope() {
        let run = |level: f64, from: u32| -> Vec<_> {
            (from..from + 10).map(|x| (f64::from(x), level - f64::from(x))).collect()
        };
        let fit = Fit::of_runs(&[run(100.0, 0), run(200.0, 5), Vec::new()]).unwrap();
        assert!((fit.slope + 1.0).abs() < 1e-9 && !fit.may_be_noise(), "{fit:?}");
        assert_eq!(fit.points, 20);
        assert!(Fit::of_runs(&[vec![(0.0, 1.0), (1.0, 2.0)], Vec::new()]).is_none());
        // A constant rate has no slope, and no noise to test it against.
        let level = Fit::of_runs(&[vec![(1.0, 0.1), (2.0, 0.1), (3.0, 0.1)]]).unwrap();
        assert!(level.slope == 0.0 && level.may_be_noise(), "{level:?}");
    }
}
