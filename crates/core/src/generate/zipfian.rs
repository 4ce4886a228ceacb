//! Zipf's law: a few numbers are drawn often, most rarely.
//!
//! The method is that of Gray, Sundaresan, Englert, Baclawski and Weinberger, "Quickly Generating
//! Billion-Record Synthetic Databases" (SIGMOD 1994), figure 4 and its text, with the constants of
//! YCSB, so that the shares are the same as YCSB's.

use super::{Stream, unit};

/// YCSB's exponent.
pub const THETA: f64 = 0.99;

/// Up to this many numbers the sum is computed term by term, above that in closed form.
const TERMS: u64 = 64;

/// The sum of `1 / i^theta` for `i` from 1 to `n`.
///
/// Sums of many terms use the Euler-Maclaurin formula (Graham, Knuth and Patashnik, "Concrete
/// Mathematics", section 9.5, up to the third derivative), whose error from 64 on is below 1e-12;
/// YCSB's own loop of additions loses more to rounding.
pub fn zeta(n: u64, theta: f64) -> f64 {
    grow(0.0, 0, n, theta)
}

/// Extends a sum of `from` terms to `to` terms.
fn grow(sum: f64, from: u64, to: u64, theta: f64) -> f64 {
    let term = |i: u64| (i as f64).powf(-theta);
    let near = to.min(if from < TERMS { TERMS } else { from + TERMS });
    let sum = (from + 1..=near).fold(sum, |sum, i| sum + term(i));
    if near >= to { sum } else { sum + closed(to as f64, theta) - closed(near as f64, theta) }
}

/// The Euler-Maclaurin formula's sum up to `x`, except for a constant.
fn closed(x: f64, theta: f64) -> f64 {
    let power = x.powf(-theta);
    // With an exponent of exactly 1 the integral is a logarithm.
    let integral =
        if theta.to_bits() == 1f64.to_bits() { x.ln() } else { power * x / (1.0 - theta) };
    let third = theta * (theta + 1.0) * (theta + 2.0) / 720.0;
    integral + power / 2.0 - theta * power / (12.0 * x) + third * power / (x * x * x)
}

/// Draws from `0..items`; 0 is drawn most often.
#[derive(Clone, Debug)]
pub struct Zipfian {
    items: u64,
    theta: f64,
    zetan: f64,
    eta: f64,
    /// `1 + 0.5^theta`: the end of the second number's share, in units of the first's.
    second: f64,
    alpha: f64,
}

impl Zipfian {
    /// Zipf's law over `items` numbers, at least 1; `theta` lies in [0, 1).
    pub fn new(items: u64, theta: f64) -> Self {
        Self::with_zeta(items, theta, zeta(items, theta))
    }

    /// Like [`new`](Self::new), with the sum of [`zeta`] given.
    pub(super) fn with_zeta(items: u64, theta: f64, zetan: f64) -> Self {
        let second = 1.0 + 0.5f64.powf(theta);
        // With two numbers this is 0/0, but then every draw falls on the first two.
        let eta = (1.0 - (2.0 / items as f64).powf(1.0 - theta)) / (1.0 - second / zetan);
        Self { items, theta, zetan, eta, second, alpha: 1.0 / (1.0 - theta) }
    }

    /// Extends the range to `items` numbers; a smaller number is ignored. Computes a power or two
    /// per new number, or a few powers for many.
    ///
    /// YCSB keeps Gray's eta at its value for the initial number of items, and so never draws some
    /// numbers near the hottest once there are many more. Here eta is updated, as in the paper.
    pub fn grow_to(&mut self, items: u64) {
        if items > self.items {
            let zetan = grow(self.zetan, self.items, items, self.theta);
            *self = Self::with_zeta(items, self.theta, zetan);
        }
    }

    /// Extends the range to `items` numbers as YCSB does after starting with `first` of them: only
    /// the sum in eta is updated.
    pub(super) fn grow_as_ycsb(&mut self, items: u64, first: u64) {
        if items > self.items {
            self.zetan = grow(self.zetan, self.items, items, self.theta);
            let above = 1.0 - (2.0 / first as f64).powf(1.0 - self.theta);
            self.eta = above / (1.0 - self.second / self.zetan);
            self.items = items;
        }
    }

    /// Draws one number.
    #[inline]
    pub fn draw(&self, stream: &mut Stream) -> u64 {
        let u = unit(stream.draw());
        let share = u * self.zetan;
        if share < 1.0 {
            return 0;
        }
        if share < self.second {
            return 1;
        }
        let base = self.eta * u - self.eta + 1.0;
        // YCSB's exponent 1 / (1 - 0.99) is 100 except for rounding, and eight multiplications are
        // ten times as fast as `powf`. The two differ by less than 1e-13 of the result, so with
        // 10^10 numbers the value rounded down differs in one of thousands of draws, by one.
        let power =
            if (self.alpha - 100.0).abs() < 1e-9 { hundredth(base) } else { base.powf(self.alpha) };
        // Rounding can make the power 1, which would be past the last number.
        ((self.items as f64 * power) as u64).min(self.items - 1)
    }
}

/// `x^100` by squaring.
#[inline]
fn hundredth(x: f64) -> f64 {
    let x4 = (x * x) * (x * x);
    let x32 = ((x4 * x4) * (x4 * x4)) * ((x4 * x4) * (x4 * x4));
    (x32 * x32) * (x32 * x4)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{mix, statistics};
    use proptest::prelude::*;

    #[test]
    fn zeta_is_that_of_ycsb() {
        // Printed by YCSB 0.17.0's own sum, computed term by term.
        let known = [
            (1000, 7.728_953_217_284_729),
            (100_000, 12.778_338_062_551_246),
            (10_000_000, 18.066_242_574_968_303),
        ];
        for (n, sum) in known {
            assert!((zeta(n, THETA) - sum).abs() < 1e-11, "{n}: {}", zeta(n, THETA));
        }
        assert!((zeta(2, THETA) - 1.503_477_775_0).abs() < 1e-10);
        // And over 10^10 numbers, as hard-coded in YCSB.
        assert!((zeta(10_000_000_000, THETA) - super::super::scrambled::ZETA).abs() < 1e-8);
    }

    #[test]
    fn zeta_of_other_exponents() {
        for theta in [0.0, 0.5, 0.9, 1.0] {
            let sum: f64 = (1..=5000).map(|i| f64::from(i).powf(-theta)).sum();
            assert!((zeta(5000, theta) - sum).abs() < 1e-9, "{theta}: {}", zeta(5000, theta));
        }
    }

    #[test]
    fn hundredth_power() {
        for x in [0.7943, 0.9, 0.999, 1.0] {
            let exact: f64 = f64::powi(x, 100);
            assert!((hundredth(x) / exact - 1.0).abs() < 1e-13);
            assert!((hundredth(x) / x.powf(1.0 / (1.0 - 0.99)) - 1.0).abs() < 1e-13);
        }
    }

    /// The share that Gray's formula gives each number, found by inverting it: number k is drawn
    /// for u below ((k/n)^(1/alpha) - 1 + eta) / eta, except for the first two, which have their
    /// own shares.
    fn shares(zipfian: &Zipfian) -> Vec<f64> {
        let n = zipfian.items as f64;
        let bound = |k: u64| match k {
            0 => 0.0,
            1 => 1.0 / zipfian.zetan,
            2 => zipfian.second / zipfian.zetan,
            _ => {
                let at = (k as f64 / n).powf(1.0 - zipfian.theta);
                (((at - 1.0 + zipfian.eta) / zipfian.eta).max(zipfian.second / zipfian.zetan))
                    .min(1.0)
            }
        };
        (0..zipfian.items).map(|k| bound(k + 1) - bound(k)).collect()
    }

    #[test]
    fn draws_follow_the_formula() {
        for (theta, seed) in [(THETA, 1), (0.9, 2), (0.5, 3)] {
            let zipfian = Zipfian::new(1000, theta);
            let mut stream = Stream::new(mix(seed, 0, 0), 0);
            let p = statistics::chi_square(&shares(&zipfian), 500_000, || {
                zipfian.draw(&mut stream) as usize
            });
            assert!(p > 0.01, "theta {theta}: p = {p}");
        }
    }

    #[test]
    fn the_formula_is_near_zipfs_law() {
        let zipfian = Zipfian::new(1000, THETA);
        for (k, share) in shares(&zipfian).into_iter().enumerate().skip(2) {
            let law = ((k + 1) as f64).powf(-THETA) / zipfian.zetan;
            assert!((share / law - 1.0).abs() < 0.3, "{k}: {share} instead of {law}");
        }
    }

    #[test]
    fn few_numbers() {
        let mut stream = Stream::new(mix(4, 0, 0), 0);
        for items in 1..4 {
            let zipfian = Zipfian::new(items, THETA);
            assert!((0..1000).all(|_| zipfian.draw(&mut stream) < items));
        }
    }

    proptest! {
        #[test]
        fn growing_equals_starting_larger(items in 1u64..5000, more in 0u64..5000) {
            let mut grown = Zipfian::new(items, THETA);
            grown.grow_to(items + more);
            let started = Zipfian::new(items + more, THETA);
            prop_assert!((grown.zetan - started.zetan).abs() < 1e-11);
            grown.grow_to(1);
            prop_assert_eq!(grown.items, items + more);
        }
    }
}
