//! A weighted choice among a few options.

use super::Stream;

/// Draws from `0..N` by weight. A weight of 0 is never drawn.
#[derive(Clone, Copy, Debug)]
pub struct Weighted<const N: usize> {
    /// Where the share of each option ends, in 2^-64; shares at the end that reach 1 are
    /// `u64::MAX`.
    ends: [u64; N],
    /// The last option with a weight, which gets whatever rounding leaves.
    last: usize,
}

impl<const N: usize> Weighted<N> {
    /// Weights must be finite and not negative. `None` if all are 0.
    pub fn new(weights: [f64; N]) -> Option<Self> {
        let sum: f64 = weights.iter().sum();
        let last = weights.iter().rposition(|&weight| weight > 0.0)?;
        let mut reached = 0.0;
        let ends = weights.map(|weight| {
            reached += weight;
            // Saturates at the end.
            (reached / sum * 2f64.powi(64)) as u64
        });
        Some(Self { ends, last })
    }

    /// Draws one option, without an unpredictable branch on the draw.
    #[inline]
    pub fn draw(&self, stream: &mut Stream) -> usize {
        let draw = stream.draw();
        let passed: usize = self.ends.iter().map(|&end| usize::from(draw >= end)).sum();
        passed.min(self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{mix, statistics};

    #[test]
    fn choices_follow_the_weights() {
        let weights = [0.0, 5.0, 0.0, 3.0, 1.0, 1.0, 0.0];
        let weighted = Weighted::new(weights).unwrap();
        let mut stream = Stream::new(mix(1, 0, 0), 0);
        let p = statistics::chi_square(&weights.map(|weight| weight / 10.0), 300_000, || {
            weighted.draw(&mut stream)
        });
        assert!(p > 0.01, "p = {p}");
    }

    #[test]
    fn weight_nought_is_never_drawn() {
        let only = Weighted::new([0.0, 0.1, 0.0]).unwrap();
        let mut stream = Stream::new(mix(2, 0, 0), 0);
        assert!((0..1000).all(|_| only.draw(&mut stream) == 1));
        // Ten tenths do not add up to one: the last option gets what is left over.
        let tenths = Weighted::new([0.1; 10]).unwrap();
        assert!((0..1000).all(|_| tenths.draw(&mut stream) < 10));
        assert!(Weighted::new([0.0; 3]).is_none());
    }
}
