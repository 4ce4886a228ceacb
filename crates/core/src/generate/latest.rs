//! Favors the newest numbers. Knows nothing about what makes a number new.

use super::Stream;
use super::zipfian::{THETA, Zipfian};

/// Draws `1..=newest`: the newest less a draw by Zipf's law. As in YCSB, 0 is drawn only if there
/// is nothing else.
#[derive(Clone, Debug)]
pub struct Latest {
    zipfian: Zipfian,
    /// The initial number of items, if Gray's eta is to keep the value it had for them.
    first: Option<u64>,
}

impl Latest {
    /// Starts with `newest` as the newest number.
    pub fn new(newest: u64) -> Self {
        Self { zipfian: Zipfian::new(newest.max(1), THETA), first: None }
    }

    /// Like [`new`](Self::new), but draws like YCSB's `SkewedLatestGenerator` while numbers are
    /// added.
    pub fn as_ycsb(newest: u64) -> Self {
        Self { first: Some(newest.max(1)), ..Self::new(newest) }
    }

    /// Draws one number, with `newest` as the newest; `newest` never decreases.
    #[inline]
    pub fn draw(&mut self, newest: u64, stream: &mut Stream) -> u64 {
        match self.first {
            None => self.zipfian.grow_to(newest),
            Some(first) => self.zipfian.grow_as_ycsb(newest, first),
        }
        newest.saturating_sub(self.zipfian.draw(stream))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{mix, zipfian};

    #[test]
    fn newest_has_the_first_share_while_they_grow() {
        let mut latest = Latest::new(999);
        let mut stream = Stream::new(mix(1, 0, 0), 0);
        let (mut hits, draws) = (0u64, 400_000u64);
        let mut expected = 0.0;
        for i in 0..draws {
            let newest = 999 + i / 100;
            let number = latest.draw(newest, &mut stream);
            assert!((1..=newest).contains(&number));
            hits += u64::from(number == newest);
            if i % 100 == 0 {
                expected += 100.0 / zipfian::zeta(newest, THETA);
            }
        }
        // Four standard deviations of a share of about a tenth: 4 * sqrt(400,000 * 0.09) = 759.
        assert!((hits as f64 - expected).abs() < 759.0, "{hits} instead of {expected}");
    }

    #[test]
    fn with_one_or_none_there_is_no_choice() {
        let mut stream = Stream::new(mix(2, 0, 0), 0);
        assert_eq!(Latest::new(0).draw(0, &mut stream), 0);
        assert_eq!(Latest::new(0).draw(1, &mut stream), 1);
    }

    /// YCSB's `SkewedLatestGenerator` and `ZipfianGenerator`, line by line, for one draw `u`.
    fn ycsb(first: u64, newest: u64, u: f64) -> u64 {
        let zeta = |n: u64| (1..=n).map(|i| (i as f64).powf(-THETA)).sum::<f64>();
        let zetan = zeta(newest);
        let eta = (1.0 - (2.0 / first as f64).powf(1.0 - THETA)) / (1.0 - zeta(2) / zetan);
        let uz = u * zetan;
        let drawn = if uz < 1.0 {
            0
        } else if uz < 1.0 + 0.5f64.powf(THETA) {
            1
        } else {
            (newest as f64 * (eta * u - eta + 1.0).powf(1.0 / (1.0 - THETA))) as u64
        };
        newest - drawn
    }

    #[test]
    fn ycsbs_own_draws_are_ycsbs() {
        let (first, newest) = (200, 5000);
        let (mut own, mut theirs) = (Latest::new(first), Latest::as_ycsb(first));
        let seed = mix(3, 0, 0);
        let streams = || (Stream::new(seed, 0), Stream::new(seed, 0), Stream::new(seed, 0));
        let (mut a, mut b, mut draws) = streams();
        let mut differ = 0;
        for _ in 0..3000 {
            let expected = ycsb(first, newest, crate::generate::unit(draws.draw()));
            assert_eq!(theirs.draw(newest, &mut a), expected);
            differ += u32::from(own.draw(newest, &mut b) != expected);
        }
        assert!(differ > 300, "eta makes no difference: {differ}");
        // While nothing is added, there is no difference.
        let (mut own, mut theirs) = (Latest::new(first), Latest::as_ycsb(first));
        let (mut a, mut b, _) = streams();
        assert!((0..3000).all(|_| own.draw(first, &mut a) == theirs.draw(first, &mut b)));
    }
}
