//! Change points: where the level of a series changes, such as that of a figure over many runs.
//!
//! Candidates are found by E-divisive means (D. S. Matteson, N. A. James, "A nonparametric approach
//! for multiple change point analysis of multivariate data", arXiv 1306.4933), as modified for
//! Hunter, now Apache Otava (M. Fleming, P. Kołaczkowski et al., "Hunter: Using change point
//! detection to hunt for performance regressions", arXiv 2301.03034): Student's t instead of
//! permutations, in overlapping windows, first with a lenient threshold, so that a strong change is
//! not hidden by a weak one; then candidates that do not pass the strict one are dropped.
//!
//! Two rules of our own prevent an outlier from counting as a change: each level has at least three
//! values, and the change passes the lenient threshold even without the one value that supports it
//! most. The third is that a candidate is tested with the values up to κ (see `most_likely`),
//! whereas Hunter takes all that follow: with those, a level that comes and goes would not be a
//! change.
//!
//! All of this assumes independent values. Where neighbors resemble each other, as runs on
//! consecutive nights on one machine do, noise wanders, and would be divided into levels. So only
//! those changes are kept that explain the values better than noise with a memory does.

use super::autocorrelation::{STRONGEST, correlation};
use super::{mean, squares, two_sided};

/// Where the level of a series changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangePoint {
    /// The index of the first value at the new level.
    pub at: usize,
    /// The mean from the previous change to this one.
    pub before: f64,
    /// The mean from this change to the next.
    pub after: f64,
    /// The probability of such a difference by chance, 0 to 1, by Student's t, for noise whose
    /// neighbors correlate as they do here. It does not account for the search for the place.
    pub chance: f64,
}

/// The fewest values at one level: two may be off together by chance.
pub const LEAST_AT_LEVEL: usize = 3;
/// The windows in which change points are searched for, and the step from one to the next.
const WINDOW: usize = 50;
const STEP: usize = WINDOW / 2;
/// The chance above which a difference does not count. A change point is the place, out of many,
/// where the difference is greatest, so the usual 0.05 would find changes everywhere.
const STRICT: f64 = 0.001;
/// The threshold for candidates.
const LENIENT: f64 = 0.01;

/// How much each change must explain of n values: 5 ln(n / 4). With 30 values that is about the 3
/// ln n of the modified BIC, see `misfit`. As simulated in the tests below, 3 ln n is too strict
/// for half as many, where a step of two and a half times the noise would be missed more often, and
/// not strict enough for more.
const PENALTY: f64 = 5.0;
const FEW: f64 = 4.0;

/// The change points of `values`, in order; none for fewer than six values.
pub fn change_points(values: &[f64]) -> Vec<ChangePoint> {
    let places = worthwhile(values, significant(values));
    let phi = memory(&residuals(values, &places));
    // This many values are worth one independent value.
    let worth = (1.0 + phi) / (1.0 - phi);
    let point = |(&at, (left, right)): (&usize, Sides<'_>)| ChangePoint {
        at,
        before: mean(left),
        after: mean(right),
        chance: chance(left, right, worth),
    };
    places.iter().zip(levels(values, &places)).map(point).collect()
}

/// The candidates that pass the strict threshold when compared with the neighboring levels, as if
/// values were independent.
fn significant(values: &[f64]) -> Vec<usize> {
    let mut places = candidates(values);
    loop {
        let levels = levels(values, &places);
        let each = levels.iter().map(|(left, right)| weakness(left, right)).enumerate();
        match each.max_by(|one, other| one.1.total_cmp(&other.1)) {
            Some((place, weakness)) if weakness >= STRICT => {
                places.remove(place);
            }
            _ => return places,
        }
    }
}

/// The subset of these changes that explains the values best. Changes are removed one by one, each
/// time the one that matters least, until none is left.
fn worthwhile(values: &[f64], mut places: Vec<usize>) -> Vec<usize> {
    let mut best = (misfit(values, &places), places.clone());
    while !places.is_empty() {
        let less = (0..places.len()).map(|place| {
            let mut less = places.clone();
            less.remove(place);
            (misfit(values, &less), less)
        });
        let Some(next) = less.min_by(|one, other| one.0.total_cmp(&other.0)) else { break };
        places.clone_from(&next.1);
        if next.0 < best.0 {
            best = next;
        }
    }
    best.1
}

/// How badly levels that change at these places explain the values, with autoregressive noise of
/// order one around them: −2 times the log-likelihood, plus a penalty for each change as in the
/// modified BIC (N. R. Zhang and D. O. Siegmund, "A modified Bayes information criterion with
/// applications to the analysis of comparative genomic hybridization data", Biometrics 63, 2007,
/// 22–32; for such noise S. Chakar, E. Lebarbier, C. Lévy-Leduc and S. Robin, "A robust approach
/// for estimating change-points in the mean of an AR(1) process", Bernoulli 23, 2017, 1408–1447,
/// arXiv 1403.1958).
fn misfit(values: &[f64], places: &[usize]) -> f64 {
    let rest = residuals(values, places);
    let (count, phi) = (values.len() as f64, memory(&rest));
    let kept = 1.0 - phi * phi;
    let first = rest.first().map_or(0.0, |it| it * it * kept);
    let news = rest.windows(2).map(|pair| (pair[1] - phi * pair[0]).powi(2));
    let variance = (first + news.sum::<f64>()) / count;
    count * variance.ln() - kept.ln() + PENALTY * places.len() as f64 * (count / FEW).ln()
}

/// The distances of values from their levels.
fn residuals(values: &[f64], places: &[usize]) -> Vec<f64> {
    let ends = places.iter().copied().chain([values.len()]);
    let starts = std::iter::once(0).chain(places.iter().copied());
    let level = |(from, to): (usize, usize)| {
        let middle = mean(&values[from..to]);
        values[from..to].iter().map(move |value| value - middle)
    };
    starts.zip(ends).flat_map(level).collect()
}

/// The correlation of neighbors; a negative one counts as none.
fn memory(residuals: &[f64]) -> f64 {
    correlation(residuals).clamp(0.0, STRONGEST)
}

/// The values before and after a change.
type Sides<'a> = (&'a [f64], &'a [f64]);

/// The values from the previous change to each place, and from there to the next change.
fn levels<'a>(values: &'a [f64], places: &[usize]) -> Vec<Sides<'a>> {
    let sides = |(nth, &at): (usize, &usize)| {
        let from = if nth == 0 { 0 } else { places[nth - 1] };
        let to = places.get(nth + 1).copied().unwrap_or(values.len());
        (&values[from..at], &values[at..to])
    };
    places.iter().enumerate().map(sides).collect()
}

/// The places that pass the lenient threshold in some window, in order.
fn candidates(values: &[f64]) -> Vec<usize> {
    let (mut found, mut from) = (Vec::new(), 0);
    while from < values.len() {
        let to = (from + WINDOW).min(values.len());
        let mut own = Vec::new();
        divide(values, from, to, &mut own);
        from = own.iter().copied().max().unwrap_or(0).max(from + STEP);
        found.append(&mut own);
    }
    found.sort_unstable();
    found.dedup();
    // Candidates from two windows may be closer together than the shortest level.
    let mut last = 0;
    found.retain(|&at| {
        let far = at >= last + LEAST_AT_LEVEL;
        last = if far { at } else { last };
        far
    });
    found
}

/// Divides a window at its most likely change, and then its parts.
fn divide(values: &[f64], from: usize, to: usize, found: &mut Vec<usize>) {
    let Some((at, end)) = most_likely(&values[from..to]) else { return };
    let (at, end) = (from + at, from + end);
    if weakness(&values[from..at], &values[at..end]) < LENIENT {
        found.push(at);
        divide(values, from, at, found);
        divide(values, at, to, found);
    }
}

/// The place that divides the values best, and the end of the part after it; `None` if there are
/// too few values.
///
/// Of all places τ, and ends κ of the part after it, this is the one with the greatest nm/(n + m) ·
/// (2/(nm) Σ|x − y| − Σ|x − x′| / C(n, 2) − Σ|y − y′| / C(m, 2)), where the x are the n values
/// before τ and the y the m from τ to κ (Matteson and James, 2.3, with α = 1).
fn most_likely(values: &[f64]) -> Option<(usize, usize)> {
    let distance = |one: usize, other: usize| (values[one] - values[other]).abs();
    let (mut best, mut within_x) = (None, 0.0);
    for at in 1..values.len() {
        let (mut between, mut within_y) = (0.0, 0.0);
        for end in at..values.len() {
            between += (0..at).map(|x| distance(x, end)).sum::<f64>();
            within_y += (at..end).map(|y| distance(y, end)).sum::<f64>();
            let counts = (at, end + 1 - at);
            if counts.0 < LEAST_AT_LEVEL || counts.1 < LEAST_AT_LEVEL {
                continue;
            }
            let (n, m) = (counts.0 as f64, counts.1 as f64);
            let pairs = |count: f64| count * (count - 1.0) / 2.0;
            let apart = 2.0 * between / (n * m) - within_x / pairs(n) - within_y / pairs(m);
            let size = apart * n * m / (n + m);
            if best.is_none_or(|(greatest, _)| size > greatest) {
                best = Some((size, (at, end + 1)));
            }
        }
        within_x += (0..at).map(|x| distance(x, at)).sum::<f64>();
    }
    best.map(|(_, place)| place)
}

/// The probability of the difference of two levels by chance. Without the value that supports it
/// most, ten times this probability is allowed.
fn weakness(left: &[f64], right: &[f64]) -> f64 {
    let rises = mean(right) > mean(left);
    let (left_less, right_less) = (without(left, !rises), without(right, rises));
    let less = chance(&left_less, right, 1.0).max(chance(left, &right_less, 1.0));
    chance(left, right, 1.0).max(less * STRICT / LENIENT)
}

/// The values without the highest or the lowest one.
fn without(values: &[f64], highest: bool) -> Vec<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    if highest {
        values.pop();
    } else if !values.is_empty() {
        values.remove(0);
    }
    values
}

/// The probability that means of one level differ this much, by Student's t for two samples of
/// equal variance (NIST/SEMATECH e-Handbook, 1.3.5.3), where `worth` values count as one
/// independent value.
fn chance(left: &[f64], right: &[f64], worth: f64) -> f64 {
    let (n, m) = (left.len() as f64, right.len() as f64);
    let difference = mean(right) - mean(left);
    // The means are equal, except for rounding.
    if difference.abs() <= 1e-9 * mean(left).abs().max(mean(right).abs()) {
        return 1.0;
    }
    let freedom = n + m - 2.0;
    let variance = (squares(left) + squares(right)) / freedom;
    two_sided(difference / (variance * worth * (1.0 / n + 1.0 / m)).sqrt(), freedom)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{Stream, mix, unit};
    use statrs::distribution::{ContinuousCDF, Normal};

    /// Values at these levels, each with its number of repetitions, with noise in percent.
    fn series(levels: &[(f64, usize)], noise: f64, seed: u64) -> Vec<f64> {
        let mut draws = Stream::new(mix(17, seed, 0), 0);
        let mut normal = || Normal::standard().inverse_cdf(unit(draws.draw()));
        let each = levels.iter().flat_map(|&(level, count)| std::iter::repeat_n(level, count));
        each.map(|level| level * (1.0 + noise / 100.0 * normal())).collect()
    }

    fn places(values: &[f64]) -> Vec<usize> {
        change_points(values).iter().map(|point| point.at).collect()
    }

    /// In how many of `times` series with these levels exactly these changes are found, to within
    /// one run.
    fn found(levels: &[(f64, usize)], noise: f64, wanted: &[usize], times: u64) -> usize {
        let near = |seed: &u64| {
            let places = places(&series(levels, noise, *seed));
            places.len() == wanted.len()
                && places.iter().zip(wanted).all(|(at, wanted)| at.abs_diff(*wanted) <= 1)
        };
        (0..times).filter(near).count()
    }

    #[test]
    fn t_of_a_textbook() {
        // Student's sleep data (The probable error of a mean, Biometrika 6, 1908), as two samples:
        // t = −1.8608 with 18 degrees of freedom, p = 0.07919.
        let one = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
        let other = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];
        let shown = chance(&one, &other, 1.0);
        assert!((shown - 0.07919).abs() < 5e-5, "{shown}");
        // If two values were worth one, t would be t / √2.
        let shown = chance(&one, &other, 2.0);
        assert!((shown - two_sided(1.8608 / 2.0_f64.sqrt(), 18.0)).abs() < 1e-4, "{shown}");
    }

    #[test]
    fn the_place_with_the_greatest_distance_is_the_most_likely() {
        // As found by the formula alone. 1, 3, 3 and 0, 2, 2: 3 · 3 / 6 · (2 · 13 / 9 − 4/3 − 4/3).
        let values = [1.0, 3.0, 3.0, 0.0, 2.0, 2.0, 9.0, 0.0, 1.0];
        assert_eq!(most_likely(&values), Some((3, 6)));
        // If all are alike, the first.
        assert_eq!(most_likely(&[1.0; 7]), Some((3, 6)));
        assert_eq!(most_likely(&[1.0; 5]), None);
    }

    #[test]
    fn levels_are_weighed_against_noise_with_a_memory() {
        let near = |found: f64, wanted: f64| (found - wanted).abs() < 1e-9;
        // Noise of ±2 without a memory, and a change that explains nothing: 8 ln 4 + 5 ln (8 / 4).
        let noise = [0.0, 4.0].repeat(4);
        assert!(near(misfit(&noise, &[]), 8.0 * 4_f64.ln()), "{}", misfit(&noise, &[]));
        let one = 8.0 * 4_f64.ln() + 5.0 * 2_f64.ln();
        assert!(near(misfit(&noise, &[4]), one), "{}", misfit(&noise, &[4]));
        // −2, −1, 0, 1, 2 with φ = 0.4: 0.84 · 4 for the first, and 0.2² + 0.4² + 1² + 1.6².
        let slow = misfit(&[1.0, 2.0, 3.0, 4.0, 5.0], &[]);
        assert!(near(slow, 5.0 * (7.12_f64 / 5.0).ln() - 0.84_f64.ln()), "{slow}");
    }

    #[test]
    fn a_difference_is_weaker_without_the_value_that_supports_it_most() {
        // Student's t without 102: (1, 2, 6) and (100, 101), 3 degrees of freedom, p = 1.9204e-5;
        // a tenth of that is more than the p of all six, 4.6e-7.
        let weak = weakness(&[100.0, 101.0, 102.0], &[1.0, 2.0, 6.0]);
        assert!((weak / 1.9204e-6 - 1.0).abs() < 0.005, "{weak}");
        let rising = weakness(&[1.0, 2.0, 6.0], &[100.0, 101.0, 102.0]);
        assert!((rising / weak - 1.0).abs() < 1e-6, "{rising}, {weak}");
        // Means that differ by rounding do not differ.
        let same = chance(&[1e6; 3], &[1e6 + 1e-4; 3], 1.0);
        assert!((same - 1.0).abs() < f64::EPSILON, "{same}");
    }

    #[test]
    fn few_changes_are_found_where_there_are_none() {
        for (count, most) in [(10, 10), (30, 20), (100, 40)] {
            let changed = found(&[(100.0, count)], 2.0, &[], 400);
            assert!(400 - changed <= most, "{count} values: {} of 400", 400 - changed);
        }
    }

    #[test]
    fn a_step_is_found_where_it_is() {
        for (before, after) in [(20, 20), (40, 10), (10, 6), (70, 50)] {
            let levels = [(100.0, before), (95.0, after)];
            let found = found(&levels, 2.0, &[before], 200);
            assert!(
                found >= if after < 10 { 150 } else { 170 },
                "{before} and {after}: {found} of 200"
            );
        }
        let values = series(&[(100.0, 20), (95.0, 20)], 2.0, 1);
        let point = change_points(&values)[0];
        assert!((point.before - 100.0).abs() < 2.0 && (point.after - 95.0).abs() < 2.0);
        assert!(point.chance < STRICT, "{point:?}");
    }

    #[test]
    fn a_step_is_found_soon() {
        // Three runs at the new level are enough if the step is five times the noise.
        let found = found(&[(100.0, 20), (90.0, 3)], 2.0, &[20], 200);
        assert!(found >= 180, "{found} of 200");
    }

    #[test]
    fn two_changes_are_found() {
        let levels = [(100.0, 20), (90.0, 20), (100.0, 20)];
        let back = found(&levels, 2.0, &[20, 40], 200);
        let steps = found(&[(100.0, 20), (93.0, 15), (86.0, 30)], 2.0, &[20, 35], 200);
        assert!(back >= 170 && steps >= 150, "{back}, {steps} of 200");
    }

    #[test]
    fn what_came_and_went_is_found() {
        for (around, count) in [(12, 8), (20, 5), (30, 12), (12, 20)] {
            let levels = [(100.0, around), (110.0, count), (100.0, around)];
            let found = found(&levels, 2.0, &[around, around + count], 200);
            assert!(found >= 170, "{count} among {around}: {found} of 200");
        }
    }

    #[test]
    fn an_outlier_is_no_change() {
        for at in [0, 1, 15, 28, 29] {
            for size in [80.0, 130.0, 1_000.0] {
                let changed = (0..50).filter(|&seed| {
                    let mut values = series(&[(100.0, 30)], 2.0, seed);
                    values[at] = size;
                    !places(&values).is_empty()
                });
                let changed = changed.count();
                assert!(changed <= 2, "{size} at {at}: {changed} of 50");
            }
        }
    }

    /// Like [`series`], with noise whose neighbors correlate by `phi`.
    fn slow(levels: &[(f64, usize)], phi: f64, seed: u64) -> Vec<f64> {
        let mut draws = Stream::new(mix(31, seed, (phi * 100.0) as u64), 0);
        let mut normal = || Normal::standard().inverse_cdf(unit(draws.draw()));
        let each = levels.iter().flat_map(|&(level, count)| std::iter::repeat_n(level, count));
        let mut noise = normal();
        let next = |level: f64| {
            let value = level * (1.0 + 0.02 * noise);
            noise = phi * noise + (1.0 - phi * phi).sqrt() * normal();
            value
        };
        each.map(next).collect()
    }

    #[test]
    fn noise_that_remembers_is_no_change() {
        for (count, phi, most) in [
            (30, 0.5, 15.0),
            (30, 0.8, 25.0),
            (50, 0.5, 10.0),
            (50, 0.8, 12.0),
            (100, 0.5, 5.0),
            (100, 0.8, 8.0),
            (150, 0.5, 5.0),
            (150, 0.8, 5.0),
        ] {
            let changed = |seed: &u64| !places(&slow(&[(100.0, count)], phi, *seed)).is_empty();
            let percent = (0..150).filter(changed).count() as f64 / 1.5;
            assert!(percent <= most, "{count} values, {phi}: {percent} %");
        }
    }

    #[test]
    fn a_step_is_found_in_noise_that_remembers() {
        for (phi, levels, least) in [
            (0.5, [(100.0, 40), (90.0, 40)], 90),
            (0.5, [(100.0, 20), (90.0, 20)], 80),
            (0.8, [(100.0, 40), (85.0, 40)], 85),
            (0.8, [(100.0, 20), (85.0, 20)], 70),
        ] {
            let wanted = levels[0].1;
            let found = |seed: &u64| {
                let places = places(&slow(&levels, phi, *seed));
                places.len() == 1 && places[0].abs_diff(wanted) <= 1
            };
            let found = (0..100).filter(found).count();
            assert!(found >= least, "{levels:?}, {phi}: {found} of 100");
        }
        // 80 correlated runs are worth fewer: the difference is less certain than it looks.
        let values = slow(&[(100.0, 40), (90.0, 40)], 0.8, 1);
        let point = change_points(&values)[0];
        let alone = chance(&values[..point.at], &values[point.at..], 1.0);
        assert!(alone < 1e-6 && point.chance > 100.0 * alone, "{point:?}, {alone}");
    }

    #[test]
    fn values_without_noise() {
        assert!(places(&[0.1; 40]).is_empty());
        assert!(places(&[0.0; 40]).is_empty());
        let mut step = vec![0.0; 8];
        step.extend([0.5; 3]);
        assert_eq!(places(&step), [8]);
        step.truncate(10);
        assert!(places(&step).is_empty(), "two values are no level");
        assert_eq!(places(&[&[0.0; 3][..], &[0.5; 8]].concat()), [3]);
        assert!(places(&[1.0, 2.0, 3.0]).is_empty() && places(&[]).is_empty());
    }
}
