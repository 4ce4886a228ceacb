//! Numbers from a range: uniform at random, or one after the other.

use super::{Stream, below};

/// Draws uniformly from `start..start + count`.
#[derive(Clone, Copy, Debug)]
pub struct Uniform {
    start: u64,
    count: u64,
}

impl Uniform {
    /// Draws from `count` numbers starting at `start`; `count` is at least 1.
    pub const fn new(start: u64, count: u64) -> Self {
        Self { start, count }
    }

    /// Draws one number.
    #[inline]
    pub const fn draw(&self, stream: &mut Stream) -> u64 {
        self.start + below(stream.draw(), self.count)
    }
}

/// Every `step`th number of `start..start + count` in order, repeated from the start.
#[derive(Clone, Copy, Debug)]
pub struct Sequential {
    start: u64,
    count: u64,
    place: u64,
    step: u64,
}

impl Sequential {
    /// Takes every `step`th of `count` numbers (at least 1) starting at `start`, beginning with
    /// number `first`: `step` of these, with `first` from 0, divide a range among them.
    pub const fn new((start, count): (u64, u64), (first, step): (u64, u64)) -> Self {
        Self { start, count, place: first % count, step: step % count }
    }

    /// The next number.
    #[inline]
    pub const fn draw(&mut self) -> u64 {
        let number = self.start + self.place;
        self.place += self.step;
        if self.place >= self.count {
            self.place -= self.count;
        }
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{mix, statistics};

    #[test]
    fn uniform_draws_are_even() {
        let uniform = Uniform::new(7, 100);
        let mut stream = Stream::new(mix(1, 0, 0), 0);
        let p = statistics::chi_square(&[0.01; 100], 300_000, || {
            uniform.draw(&mut stream) as usize - 7
        });
        assert!(p > 0.01, "p = {p}");
    }

    #[test]
    fn sequences_share_a_range_and_begin_again() {
        let mut three = [0, 1, 2].map(|first| Sequential::new((10, 5), (first, 3)));
        let taken: Vec<u64> = (0..12).map(|i| three[i % 3].draw()).collect();
        assert_eq!(taken, [10, 11, 12, 13, 14, 10, 11, 12, 13, 14, 10, 11]);
        let mut one = Sequential::new((4, 1), (2, 9));
        assert_eq!([one.draw(), one.draw()], [4, 4]);
    }
}
