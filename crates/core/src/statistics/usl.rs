//! How a system's rate grows with its size: the Universal Scalability Law.

/// `X(N) = λ N / (1 + σ (N − 1) + κ N (N − 1))` (N. J. Gunther, "Guerrilla Capacity Planning",
/// Springer 2007, chapter 4, with λ as in "A General Theory of Computational Scalability Based on
/// Rational Functions", arXiv 0808.1431). With κ = 0 it is Amdahl's law; with σ = 0 as well, a
/// straight line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Usl {
    /// λ: the rate at size 1.
    pub single: f64,
    /// σ: the share of the work that is not done in parallel. Not negative.
    pub contention: f64,
    /// κ: the cost of keeping each pair consistent, as a share of the work. Not negative.
    pub coherency: f64,
}

/// The weight of an error at a given rate.
type Weight = fn(f64) -> f64;

/// More steps than the fit needs if it converges.
const MOST_STEPS: usize = 500;

impl Usl {
    /// The law with the least squares of relative errors at `points`, which are `(size, rate)`,
    /// both greater than 0. Two sizes do not determine coherency, and one does not determine
    /// contention: these are then 0. `None` without points.
    pub fn fit(points: &[(f64, f64)]) -> Option<Self> {
        Self::weighed(points, f64::recip)
    }

    fn weighed(points: &[(f64, f64)], weight: Weight) -> Option<Self> {
        let mut sizes: Vec<f64> = points.iter().map(|point| point.0).collect();
        sizes.sort_by(f64::total_cmp);
        sizes.dedup();
        let proper = |point: &(f64, f64)| point.0 >= 1.0 && point.1 > 0.0 && point.1.is_finite();
        if sizes.is_empty() || !points.iter().all(proper) {
            return None;
        }
        // The best law without a negative part is among those with some parts left out.
        let parts: &[&[Term]] =
            &[&[], &[Term::Contention], &[Term::Contention, Term::Coherency], &[Term::Coherency]];
        let parts = match sizes.len() {
            1 => &parts[..1],
            2 => &parts[..2],
            _ => parts,
        };
        let fits = parts.iter().filter_map(|free| refined(points, weight, free));
        let fits = fits.filter(|law| law.contention >= 0.0 && law.coherency >= 0.0);
        fits.min_by(|a, b| a.error(points, weight).total_cmp(&b.error(points, weight)))
    }

    /// The rate at size `n`.
    pub fn rate(&self, n: f64) -> f64 {
        self.single * n / self.slowed(n)
    }

    /// The size beyond which the rate falls; `None` if it never does.
    pub fn peak(&self) -> Option<f64> {
        (self.coherency > 0.0)
            .then(|| ((1.0 - self.contention).max(0.0) / self.coherency).sqrt().max(1.0))
    }

    /// The least whole size whose rate is `rate` or more; `None` if there is none.
    pub fn least(&self, rate: f64) -> Option<u64> {
        if self.single >= rate {
            return Some(1);
        }
        // X(N) ≥ r, as a quadratic of N: r κ N² + (r (σ − κ) − λ) N + r (1 − σ) ≤ 0.
        let a = rate * self.coherency;
        let b = rate * (self.contention - self.coherency) - self.single;
        let c = rate * (1.0 - self.contention);
        // The smaller root, in the form that loses no digits if b is large, and that is right also
        // if a is 0. If there is none, none of the sizes that are tried below has this rate.
        let first = 2.0 * c / (-b + (b * b - 4.0 * a * c).sqrt());
        // Rounding may have led to either side of a whole number.
        let near = first.max(1.0).floor();
        let whole = (0..3).map(|more| near + f64::from(more));
        let holds = |n: &f64| self.rate(*n) >= rate * (1.0 - 1e-12);
        whole.into_iter().find(holds).map(|n| n as u64)
    }

    /// The sum of squared errors.
    fn error(&self, points: &[(f64, f64)], weight: Weight) -> f64 {
        points.iter().map(|(n, x)| ((self.rate(*n) - x) * weight(*x)).powi(2)).sum()
    }

    fn slowed(&self, n: f64) -> f64 {
        1.0 + self.contention * (n - 1.0) + self.coherency * n * (n - 1.0)
    }
}

/// A part of the law besides λ.
#[derive(Clone, Copy, Debug)]
enum Term {
    Contention,
    Coherency,
}

/// The law with these parts, from a first guess by Levenberg-Marquardt steps (D. W. Marquardt, "An
/// Algorithm for Least-Squares Estimation of Nonlinear Parameters", Journal of the Society for
/// Industrial and Applied Mathematics 11, 1963, 431–441).
fn refined(points: &[(f64, f64)], weight: Weight, free: &[Term]) -> Option<Usl> {
    let mut law = guessed(points, free)?;
    let (mut error, mut damping) = (law.error(points, weight), 1e-3);
    for _ in 0..MOST_STEPS {
        let rows = points.iter().map(|(n, x)| {
            let weight = weight(*x);
            let slowed = law.slowed(*n);
            let by_lambda = n / slowed;
            let by_slowing = -law.single * n / (slowed * slowed);
            let slopes = free.iter().map(|part| by_slowing * part.grows(*n));
            let row: Vec<f64> =
                std::iter::once(by_lambda).chain(slopes).map(|slope| slope * weight).collect();
            (row, (x - law.rate(*n)) * weight)
        });
        let Some(step) = least_squares(&rows.collect::<Vec<_>>(), damping) else { break };
        let mut next = Usl { single: law.single + step[0], ..law };
        for (part, change) in free.iter().zip(&step[1..]) {
            *part.of(&mut next) += change;
        }
        let better = next.error(points, weight);
        if next.single > 0.0 && better.is_finite() && better <= error {
            let done = error - better <= error * 1e-15;
            (law, error, damping) = (next, better, damping / 10.0);
            if done {
                break;
            }
        } else {
            damping *= 10.0;
            if damping > 1e12 {
                break;
            }
        }
    }
    Some(law)
}

/// N / X is linear in all parts of the slowdown, so a linear fit is close, although it weighs
/// errors differently.
fn guessed(points: &[(f64, f64)], free: &[Term]) -> Option<Usl> {
    let rows = points.iter().map(|(n, x)| {
        // Relative to N / X, since small rates would otherwise dominate.
        let weight = x / n;
        let columns = free.iter().map(|part| part.grows(*n) * weight);
        (std::iter::once(weight).chain(columns).collect(), 1.0)
    });
    let found = least_squares(&rows.collect::<Vec<_>>(), 0.0)?;
    let mut law = Usl { single: 1.0 / found[0], contention: 0.0, coherency: 0.0 };
    for (part, value) in free.iter().zip(&found[1..]) {
        *part.of(&mut law) = value / found[0];
    }
    (law.single > 0.0 && law.single.is_finite()).then_some(law)
}

impl Term {
    /// The factor of this part in the slowdown of a system of size `n`.
    fn grows(self, n: f64) -> f64 {
        match self {
            Self::Contention => n - 1.0,
            Self::Coherency => n * (n - 1.0),
        }
    }

    fn of(self, law: &mut Usl) -> &mut f64 {
        match self {
            Self::Contention => &mut law.contention,
            Self::Coherency => &mut law.coherency,
        }
    }
}

/// The unknowns with the least squares of errors over `rows`, each with its right-hand side, by the
/// normal equations; `damping` is added to their diagonal, as a share of it. `None` if the rows do
/// not determine them.
fn least_squares(rows: &[(Vec<f64>, f64)], damping: f64) -> Option<Vec<f64>> {
    let count = rows.first()?.0.len();
    let product = |i: usize, j: usize| rows.iter().map(|(row, _)| row[i] * row[j]).sum::<f64>();
    let mut matrix: Vec<Vec<f64>> = (0..count)
        .map(|i| {
            let mut line: Vec<f64> = (0..count).map(|j| product(i, j)).collect();
            line[i] *= 1.0 + damping;
            line.push(rows.iter().map(|(row, right)| row[i] * right).sum());
            line
        })
        .collect();
    // Gauss-Jordan elimination. Unknowns of very different magnitudes are scaled first.
    let scale: Vec<f64> = (0..count).map(|i| matrix[i][i].sqrt()).collect();
    if scale.iter().any(|it| !it.is_normal()) {
        return None;
    }
    for (i, line) in matrix.iter_mut().enumerate() {
        line.iter_mut().zip(scale.iter().chain([&1.0])).for_each(|(it, s)| *it /= s * scale[i]);
    }
    for i in 0..count {
        let best = (i..count).max_by(|&a, &b| matrix[a][i].abs().total_cmp(&matrix[b][i].abs()))?;
        matrix.swap(i, best);
        let pivot = matrix[i].clone();
        if pivot[i].abs() < 1e-13 {
            return None;
        }
        for (j, line) in matrix.iter_mut().enumerate() {
            let factor = if j == i { 0.0 } else { line[i] / pivot[i] };
            line.iter_mut().zip(&pivot).for_each(|(it, other)| *it -= factor * other);
        }
    }
    Some((0..count).map(|i| matrix[i][count] / matrix[i][i] / scale[i]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// SPEC SDM91 on a Sun `SPARCcenter` 2000: load and throughput, as in the package `usl` for R.
    const SDM91: [(f64, f64); 7] = [
        (1.0, 64.9),
        (18.0, 995.9),
        (36.0, 1652.4),
        (72.0, 1853.2),
        (108.0, 1828.9),
        (144.0, 1775.0),
        (216.0, 1702.2),
    ];

    #[test]
    fn the_law_of_a_published_benchmark() {
        // From the package's own description: alpha 0.0277285, beta 0.0001044, gamma 89.9952330.
        let law = Usl::weighed(&SDM91, |_| 1.0).unwrap();
        assert!((law.contention - 0.027_728_5).abs() < 2e-6, "{law:?}");
        assert!((law.coherency - 0.000_104_4).abs() < 1e-7, "{law:?}");
        assert!((law.single - 89.99523).abs() < 3e-3, "{law:?}");
        assert!((law.peak().unwrap() - 96.5).abs() < 0.1, "{:?}", law.peak());
        // With relative errors, the rate of a single user matters, which that law misses by a
        // third.
        let shares = Usl::fit(&SDM91).unwrap();
        let miss = |law: &Usl| (law.rate(1.0) / 64.9 - 1.0).abs();
        assert!(miss(&shares) < 0.5 * miss(&law), "{shares:?}");
    }

    #[test]
    fn no_law_nearby_has_smaller_relative_errors() {
        let law = Usl::fit(&SDM91).unwrap();
        let error = |law: Usl| law.error(&SDM91, f64::recip);
        for by in [0.999, 1.001] {
            for other in [
                Usl { single: law.single * by, ..law },
                Usl { contention: law.contention * by, ..law },
                Usl { coherency: law.coherency * by, ..law },
            ] {
                assert!(error(other) > error(law), "{other:?} {law:?}");
            }
        }
        // 1,000 and 2,000 instead of 900 and 2,200: (1/9)² + (1/11)².
        let line = Usl { single: 1_000.0, contention: 0.0, coherency: 0.0 };
        let squares = line.error(&[(1.0, 900.0), (2.0, 2_200.0)], f64::recip);
        assert!((squares - 1.0 / 81.0 - 1.0 / 121.0).abs() < 1e-12, "{squares}");
    }

    #[test]
    fn a_guess_is_linear_least_squares() {
        // The law of N / X is linear, so a guess from points without errors is the law itself.
        let law = Usl { single: 1_000.0, contention: 0.05, coherency: 0.01 };
        let points = [1.0, 2.0, 4.0, 8.0].map(|n| (n, law.rate(n)));
        let guess = guessed(&points, &[Term::Contention, Term::Coherency]).unwrap();
        assert!((guess.single - 1_000.0).abs() < 1e-6, "{guess:?}");
        assert!((guess.contention - 0.05).abs() < 1e-9, "{guess:?}");
        assert!((guess.coherency - 0.01).abs() < 1e-9, "{guess:?}");
        // 100 and 150 each: (100² + 150²) / (100 + 150).
        let one = guessed(&[(1.0, 100.0), (2.0, 300.0)], &[]).unwrap();
        assert!((one.single - 130.0).abs() < 1e-9, "{one:?}");
        // 4 x = 12; damped by as much again, 8 x = 12.
        let row = [(vec![2.0], 6.0)];
        let found = [0.0, 1.0].map(|damping| least_squares(&row, damping).unwrap()[0]);
        assert!((found[0] - 3.0).abs() < 1e-12 && (found[1] - 1.5).abs() < 1e-12, "{found:?}");
        // Rows that are multiples of each other determine nothing, whatever their size.
        let rows = |by: f64| [1.0, 2.0, 1.1].map(|it| (vec![it * by / 3.0, it * by / 7.0], 1.0));
        assert_eq!([1.0, 1e7].map(|by| least_squares(&rows(by), 0.0)), [None, None]);
    }

    #[test]
    fn sizes_below_one_and_rates_that_are_none_have_no_law() {
        for wrong in [(0.5, 900.0), (1.0, 0.0), (1.0, -900.0), (1.0, f64::INFINITY)] {
            assert_eq!(Usl::fit(&[wrong, (2.0, 1_900.0)]), None, "{wrong:?}");
            assert_eq!(Usl::fit(&[wrong]), None, "{wrong:?}");
        }
    }

    #[test]
    fn fewer_sizes_tell_less() {
        let fit = |points: &[(f64, f64)]| Usl::fit(points).unwrap();
        let one = fit(&[(3.0, 3_000.0), (3.0, 3_000.0)]);
        assert!((one.rate(5.0) - 5_000.0).abs() < 1e-6, "{one:?}");
        assert_eq!((one.contention, one.coherency, one.peak()), (0.0, 0.0, None));
        let two = fit(&[(1.0, 1_000.0), (5.0, 3_000.0)]);
        // 1 + 4 σ = 5,000 / 3,000.
        assert!((two.contention - 1.0 / 6.0).abs() < 1e-9 && two.coherency == 0.0, "{two:?}");
        for rate in (1_100..3_000).step_by(17) {
            let law = fit(&[(1.0, 1_000.0), (3.0, f64::from(rate))]);
            assert!(law.coherency == 0.0, "{rate}: {law:?}");
        }
        // Growth that is more than proportional is treated as a straight line.
        let more = fit(&[(1.0, 1_000.0), (2.0, 2_400.0), (3.0, 4_000.0)]);
        assert_eq!((more.contention, more.coherency), (0.0, 0.0), "{more:?}");
        assert_eq!(Usl::fit(&[]), None);
        assert_eq!(Usl::fit(&[(1.0, 0.0)]), None);
    }

    #[test]
    fn the_least_size_and_none_beyond_the_peak() {
        let law = Usl { single: 1_000.0, contention: 0.05, coherency: 0.01 };
        let peak = law.peak().unwrap();
        assert!((peak - 95f64.sqrt()).abs() < 1e-9);
        let most = (1..100).map(|n| law.rate(f64::from(n))).fold(0.0, f64::max);
        assert_eq!(law.least(most * 1.001), None);
        assert!(law.least(most * 0.999).is_some_and(|n| n <= 10));
        let line = Usl { single: 1_000.0, contention: 0.0, coherency: 0.0 };
        assert_eq!(
            [1.0, 1_000.0, 1_001.0, 20_000.0].map(|rate| line.least(rate)),
            [Some(1), Some(1), Some(2), Some(20)]
        );
        // Amdahl's law never reaches λ / σ.
        let amdahl = Usl { contention: 0.1, ..line };
        assert_eq!(amdahl.least(10_000.0), None);
        assert!(amdahl.least(9_900.0).is_some());
    }

    proptest! {
        #[test]
        fn a_law_is_found_again(
            single in 1.0..1e6f64, contention in 0.0..0.5f64, coherency in 0.0..0.05f64,
        ) {
            let law = Usl { single, contention, coherency };
            let points: Vec<_> = [1.0, 2.0, 4.0, 8.0, 16.0].map(|n| (n, law.rate(n))).to_vec();
            let found = Usl::fit(&points).unwrap();
            for (n, x) in points {
                prop_assert!((found.rate(n) / x - 1.0).abs() < 1e-6, "{law:?} {found:?}");
            }
        }

        #[test]
        fn the_least_size_is_enough_and_one_less_is_not(
            single in 1.0..1e5f64, contention in 0.0..0.9f64, coherency in 0.0..0.1f64,
            rate in 1.0..1e6f64,
        ) {
            let law = Usl { single, contention, coherency };
            let tried = (1..2_000u64).find(|n| law.rate(*n as f64) >= rate);
            if let Some(n) = law.least(rate) {
                prop_assert!(law.rate(n as f64) >= rate * (1.0 - 1e-9));
                prop_assert!(n == 1 || law.rate((n - 1) as f64) < rate * (1.0 + 1e-9));
            } else {
                prop_assert_eq!(tried, None);
            }
        }
    }
}
