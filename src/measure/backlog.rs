//! How many operations of an open loop were due and not done, on the mean over two windows of its
//! schedule. If more and more are, the server does not keep up, whether they wait for a connection
//! or, with enough connections, for the server.

use crate::clock::{Nanos, SECOND_NS};

/// Adds up the time that operations were due and not done in each window.
#[derive(Clone, Copy, Debug, Default)]
pub struct Backlog {
    windows: [Window; 2],
}

#[derive(Clone, Copy, Debug, Default)]
struct Window {
    from: Nanos,
    to: Nanos,
    sum_ns: u128,
}

impl Window {
    fn add(&mut self, due: Nanos, done: Nanos) {
        let (from, to) = (due.max(self.from), done.min(self.to));
        self.sum_ns += u128::from(to.saturating_sub(from));
    }

    fn mean(&self) -> f64 {
        self.sum_ns as f64 / (self.to - self.from).max(1) as f64
    }
}

impl Backlog {
    /// The windows, in eighths of the schedule. Means over windows, not moments, so that bursts of
    /// arrivals and single slow answers weigh little.
    pub const WINDOWS: [(u64, u64); 2] = [(3, 5), (6, 8)];

    /// That of a schedule from `start` on that is `length_ns` long.
    pub fn new(start: Nanos, length_ns: Nanos) -> Self {
        let window = |(from, to): (u64, u64)| Window {
            from: start + length_ns / 8 * from,
            to: start + length_ns / 8 * to,
            sum_ns: 0,
        };
        Self { windows: Self::WINDOWS.map(window) }
    }

    /// Adds an operation that was due at one time and done at another.
    #[inline]
    pub fn add(&mut self, due: Nanos, done: Nanos) {
        for window in &mut self.windows {
            if due < window.to && done > window.from {
                window.add(due, done);
            }
        }
    }

    /// Adds what another shard has seen.
    pub fn merge(&mut self, other: &Self) {
        for (sum, part) in self.windows.iter_mut().zip(other.windows) {
            (sum.from, sum.to) = (part.from, part.to);
            sum.sum_ns += part.sum_ns;
        }
    }

    /// By how many operations the backlog has grown from the middle of the schedule to its end,
    /// and the time between, in seconds. `rates` has the mean rates of both windows: by Little's
    /// law, as much more is under way as the rate is higher. What chance makes of a backlog of
    /// that size is left out: four standard deviations of a Poisson count.
    pub fn growth(&self, rates: [f64; 2]) -> (f64, f64) {
        let [early, late] = self.windows.map(|window| window.mean());
        let rise = if rates[0] > 0.0 { (rates[1] / rates[0]).max(1.0) } else { 1.0 };
        let [from, to] = self.windows.map(|it| f64::midpoint(it.from as f64, it.to as f64));
        let grown = late - early * rise;
        let chance = 4.0 * (late + early).max(1.0).sqrt();
        (if grown > chance { grown } else { 0.0 }, (to - from) / SECOND_NS as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = 1_000_000;

    /// 5 s at 1,000/s with operations that take so long, in milliseconds.
    fn growth(taken_ms: impl Fn(u64) -> u64) -> f64 {
        let mut backlog = Backlog::new(7, 5_000 * MS);
        for n in 0..5_000 {
            backlog.add(7 + n * MS, 7 + (n + taken_ms(n)) * MS);
        }
        let (grown, in_s) = backlog.growth([1_000.0; 2]);
        grown / in_s
    }

    #[test]
    fn what_is_under_way_does_not_grow_by_being_slow() {
        assert!(growth(|_| 1) < 1e-9);
        assert!(growth(|_| 900) < 1e-9, "900 are under way, from the first second on");
        assert!(growth(|n| if n == 2_000 { 400 } else { 5 }) < 1e-9);
    }

    #[test]
    fn a_server_that_serves_less_than_offered_is_seen() {
        // The n-th is done at n / 800 s: a fifth of what falls due stays.
        let grown = growth(|n| n / 4 + 1);
        assert!((190.0..210.0).contains(&grown), "{grown}/s of 200/s");
    }

    #[test]
    fn a_rate_that_doubles_may_double_what_is_under_way() {
        let mut backlog = Backlog::new(0, 8_000 * MS);
        for n in 0..8_000 {
            backlog.add(n * MS, (n + if n < 5_500 { 400 } else { 800 }) * MS);
        }
        assert!(backlog.growth([1_000.0, 1_000.0]).0 > 0.0);
        assert!(backlog.growth([1_000.0, 2_000.0]).0 < 1e-9);
    }
}
