//! A hot set at the start of a range gets most draws; draws are uniform inside and outside it.

use super::{Stream, below, unit};

/// Draws `start..start + count`.
#[derive(Clone, Copy, Debug)]
pub struct Hotspot {
    start: u64,
    count: u64,
    hot: u64,
    chance: f64,
}

impl Hotspot {
    /// Draws from `count` numbers starting at `start`; `count` is at least 1. The fraction `set` of
    /// them, rounded down, gets the share `chance` of the draws. An empty side gets none.
    pub fn new(start: u64, count: u64, set: f64, chance: f64) -> Self {
        let hot = ((count as f64 * set) as u64).min(count);
        let chance = match hot {
            0 => 0.0,
            _ if hot == count => 1.0,
            _ => chance,
        };
        Self { start, count, hot, chance }
    }

    /// Draws one number.
    #[inline]
    pub fn draw(&self, stream: &mut Stream) -> u64 {
        let inside = unit(stream.draw()) < self.chance;
        let draw = stream.draw();
        let place = if inside {
            below(draw, self.hot)
        } else {
            self.hot + below(draw, self.count - self.hot)
        };
        self.start + place
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{mix, statistics};

    #[test]
    fn shares_follow_the_fractions() {
        let hotspot = Hotspot::new(3, 100, 0.2, 0.8);
        let mut stream = Stream::new(mix(1, 0, 0), 0);
        let shares: Vec<f64> = (0..100).map(|i| if i < 20 { 0.04 } else { 0.0025 }).collect();
        let p = statistics::chi_square(&shares, 300_000, || hotspot.draw(&mut stream) as usize - 3);
        assert!(p > 0.01, "p = {p}");
    }

    #[test]
    fn an_empty_side_is_never_drawn() {
        let mut stream = Stream::new(mix(2, 0, 0), 0);
        for (set, chance) in [(0.0, 0.8), (0.001, 1.0), (1.0, 0.0), (1.0, 0.5)] {
            let hotspot = Hotspot::new(0, 10, set, chance);
            assert!((0..1000).all(|_| hotspot.draw(&mut stream) < 10));
        }
    }
}
