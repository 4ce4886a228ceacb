//! The newest numbers are drawn most. Knows nothing of what makes a number new.

use super::Stream;
use super::zipfian::{THETA, Zipfian};

/// Draws `1..=newest`: the newest less a draw by Zipf's law. As in YCSB, 0 is never drawn, unless
/// there is nothing else.
#[derive(Clone, Debug)]
pub struct Latest {
    zipfian: Zipfian,
}

impl Latest {
    /// Starts where `newest` is the newest number.
    pub fn new(newest: u64) -> Self {
        Self { zipfian: Zipfian::new(newest.max(1), THETA) }
    }

    /// One number, where `newest` is now the newest; it never falls.
    #[inline]
    pub fn draw(&mut self, newest: u64, stream: &mut Stream) -> u64 {
        self.zipfian.grow_to(newest);
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
}
