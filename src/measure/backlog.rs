//! The mean backlog of an open loop (operations waiting or in flight) over two windows of its
//! schedule. If it grows, the server does not keep up, whether operations wait for a connection or,
//! with enough connections, for the server.

use crate::clock::{Nanos, SECOND_NS};
use serde::{Deserialize, Serialize};

/// Sums up the time that operations were waiting or in flight in each window.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Backlog {
    windows: [Window; 2],
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
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
    /// arrivals and single slow answers have little weight.
    pub const WINDOWS: [(u64, u64); 2] = [(3, 5), (6, 8)];

    /// The backlog of a schedule of `length_ns` that begins at `start`.
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

    /// Adds another shard's backlog.
    pub fn merge(&mut self, other: &Self) {
        for (sum, part) in self.windows.iter_mut().zip(other.windows) {
            (sum.from, sum.to) = (part.from, part.to);
            sum.sum_ns += part.sum_ns;
        }
    }

    /// By how many operations the backlog has grown from the middle of the schedule to its end, and
    /// the time between, in seconds. `rates` has the mean rates of both windows: by Little's law,
    /// proportionally more is in flight at a higher rate. Growth within chance, four standard
    /// deviations of a Poisson count of that size, is left out.
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

    #[test]
    fn shards_add_up_and_chance_grows_with_what_is_under_way() {
        let half = |from: u64, count: u64| {
            let mut backlog = Backlog::new(9_000 * MS, 8_000 * MS);
            // So many in the first window, and some more in the second.
            for n in 0..count {
                backlog.add(12_000 * MS, 14_000 * MS);
                backlog.add(15_000 * MS, 17_000 * MS + n);
            }
            for _ in 0..from {
                backlog.add(15_000 * MS, 17_000 * MS);
            }
            backlog
        };
        let sum = |more: u64, count: u64| {
            let mut sum = Backlog::default();
            sum.merge(&half(more, count));
            sum.merge(&half(0, count));
            sum.growth([1.0; 2])
        };
        let (grown, in_s) = sum(70, 50);
        assert!((grown - 70.0).abs() < 1e-9 && (in_s - 3.0).abs() < 1e-9, "{grown} in {in_s} s");
        // Four standard deviations of 100 and 130 are 61, of 0 and 30 are 22.
        assert!(sum(30, 50).0 < 1e-9);
        assert!((sum(30, 0).0 - 30.0).abs() < 1e-9);
    }

    #[test]
    fn what_touches_no_window_is_in_none() {
        let mut backlog = Backlog::new(0, 8_000 * MS);
        for (due, done) in [(0, 3_000), (5_000, 6_000), (8_000, 9_000)] {
            for _ in 0..100 {
                backlog.add(due * MS, done * MS);
            }
        }
        assert!(backlog.growth([1.0; 2]).0 < 1e-9);
        for _ in 0..100 {
            backlog.add(0, 9_000 * MS);
        }
        assert!(backlog.growth([1.0; 2]).0 < 1e-9, "in both alike");
    }
}
