//! Zipf's law with the frequent numbers scattered over the whole range.
//!
//! As in YCSB: Zipf's law over ten billion numbers, whatever the range, then a hash modulo the
//! range. The hottest number therefore gets 3.78 % of the draws in a range of any size.

use super::Stream;
use super::fnv;
use super::zipfian::{THETA, Zipfian};

/// The sum over 10^10 numbers, as hard-coded in YCSB.
pub(super) const ZETA: f64 = 26.469_028_201_783_02;
/// The size of the range that is drawn from: YCSB's 0 to 10^10, inclusive.
const ITEMS: u64 = 10_000_000_001;

/// Draws `start..start + count`.
#[derive(Clone, Debug)]
pub struct Scrambled {
    zipfian: Zipfian,
    start: u64,
    count: u64,
}

impl Scrambled {
    /// Draws from `count` numbers starting at `start`; `count` is at least 1.
    pub fn new(start: u64, count: u64) -> Self {
        Self { zipfian: Zipfian::with_zeta(ITEMS, THETA, ZETA), start, count }
    }

    /// Draws one number.
    #[inline]
    pub fn draw(&self, stream: &mut Stream) -> u64 {
        // No number here hashes to the one value without an absolute value.
        self.start + fnv::ycsb(self.zipfian.draw(stream)).unsigned_abs() % self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::mix;

    #[test]
    fn hottest_and_second_have_the_shares_of_ycsb() {
        const DRAWS: u32 = 10_000_000;
        for (count, seed) in [(100_000, 1), (1_000_003, 2)] {
            let scrambled = Scrambled::new(5, count);
            let (first, second) =
                (5 + fnv::ycsb(0).unsigned_abs() % count, 5 + fnv::ycsb(1).unsigned_abs() % count);
            let mut stream = Stream::new(mix(seed, 0, 0), 0);
            let (mut hottest, mut next) = (0u32, 0u32);
            for _ in 0..DRAWS {
                let number = scrambled.draw(&mut stream);
                hottest += u32::from(number == first);
                next += u32::from(number == second);
            }
            let share = |n: u32| f64::from(n) / f64::from(DRAWS) * 100.0;
            assert!((share(hottest) - 3.78).abs() < 0.05, "{} %", share(hottest));
            assert!((share(next) - 1.90).abs() < 0.05, "{} %", share(next));
        }
    }
}
