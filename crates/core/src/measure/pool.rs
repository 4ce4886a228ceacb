//! How the connections of an open loop were used: whether one was free for each operation due, and
//! whether operations took longer when none was. Draws no conclusions.

use crate::clock::{Nanos, SECOND_NS};
use serde::{Deserialize, Serialize};

/// What one thread, or all of them, observed of their connections in an open loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PoolLog {
    /// Connections that were open at the end.
    pub connections: u64,
    /// How many of them were opened during the stage.
    #[serde(default)]
    pub opened: Opened,
    /// How long no connection was free, in nanoseconds, summed over threads.
    pub none_free_ns: Nanos,
    /// The length of the period in which operations were begun, in nanoseconds, summed over
    /// threads.
    pub over_ns: Nanos,
    /// How long operations held their connections.
    pub held: Held,
    /// The same for operations begun while at most half of the connections were in use.
    pub few: Held,
    /// The same for operations that took the last free connection.
    pub full: Held,
}

impl PoolLog {
    /// Adds what another thread observed.
    pub fn merge(&mut self, other: &Self) {
        self.connections += other.connections;
        self.opened.merge(&other.opened);
        self.none_free_ns += other.none_free_ns;
        self.over_ns += other.over_ns;
        self.held.merge(&other.held);
        self.few.merge(&other.few);
        self.full.merge(&other.full);
    }
}

/// Connections that were opened while the load was on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opened {
    /// How many were opened.
    pub count: u64,
    /// How many more could not be opened.
    pub refused: u64,
    /// The time it took to open them, in nanoseconds over all of them.
    pub took_ns: Nanos,
    /// The time it took to open the slowest, in nanoseconds.
    pub slowest_ns: Nanos,
    /// When the last one was open, in nanoseconds from the start.
    pub last_ns: Nanos,
}

impl Opened {
    /// Adds a connection, given when opening it began and ended, counted from the start.
    pub fn add(&mut self, from: Nanos, to: Nanos) {
        let took_ns = to.saturating_sub(from);
        self.count += 1;
        self.took_ns += took_ns;
        self.slowest_ns = self.slowest_ns.max(took_ns);
        self.last_ns = self.last_ns.max(to);
    }

    fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.refused += other.refused;
        self.took_ns += other.took_ns;
        self.slowest_ns = self.slowest_ns.max(other.slowest_ns);
        self.last_ns = self.last_ns.max(other.last_ns);
    }
}

/// How long operations held their connections: their number, and their times in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Held {
    /// Operations.
    pub count: u64,
    /// The sum of their times, in seconds.
    pub sum_s: f64,
    /// The sum of the squares of their times, in seconds squared.
    pub squares: f64,
}

impl Held {
    /// Adds one operation.
    #[inline]
    pub fn add(&mut self, ns: Nanos) {
        let seconds = ns as f64 / SECOND_NS as f64;
        self.count += 1;
        self.sum_s += seconds;
        self.squares += seconds * seconds;
    }

    /// The operations added since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            count: self.count - earlier.count,
            sum_s: self.sum_s - earlier.sum_s,
            squares: self.squares - earlier.squares,
        }
    }

    fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.sum_s += other.sum_s;
        self.squares += other.squares;
    }

    /// The mean, in seconds; `None` if there were no operations.
    pub fn mean_s(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_s / self.count as f64)
    }

    /// The standard error of the mean, in seconds; `None` for fewer than two operations.
    pub fn error_s(&self) -> Option<f64> {
        let count = self.count as f64;
        let mean = self.mean_s().filter(|_| self.count > 1)?;
        let variance = (self.squares - count * mean * mean).max(0.0) / (count - 1.0);
        Some((variance / count).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_and_their_errors_are_those_of_all_threads_together() {
        let mut sum = PoolLog::default();
        for times in [&[1, 2][..], &[3, 4, 5]] {
            let mut log = PoolLog { connections: 2, none_free_ns: 3, ..PoolLog::default() };
            for &seconds in times {
                log.held.add(seconds * SECOND_NS);
            }
            sum.merge(&log);
        }
        assert_eq!((sum.connections, sum.none_free_ns, sum.held.count), (4, 6, 5));
        assert_eq!(sum.held.mean_s(), Some(3.0));
        // A variance of 2.5, over 5.
        assert!((sum.held.error_s().unwrap() - 0.5f64.sqrt()).abs() < 1e-12);
        assert_eq!((sum.few.mean_s(), sum.few.error_s()), (None, None));
        sum.full.add(7);
        assert_eq!(sum.full.error_s(), None, "one says nothing of how they differ");
    }

    #[test]
    fn what_was_opened_and_how_long_adds_up_over_threads() {
        let log = |refused, opened: &[(Nanos, Nanos)]| {
            let mut log = PoolLog { over_ns: 5, ..PoolLog::default() };
            log.opened.refused = refused;
            for &(from, to) in opened {
                log.opened.add(from, to);
            }
            log
        };
        let mut sum = log(1, &[(10, 30), (20, 25)]);
        sum.merge(&log(2, &[(0, 7)]));
        let wanted = Opened { count: 3, refused: 3, took_ns: 32, slowest_ns: 20, last_ns: 30 };
        assert_eq!((sum.opened, sum.over_ns), (wanted, 10));
    }

    #[test]
    fn operations_since_then_are_told_from_those_before() {
        let mut held = Held::default();
        held.add(2 * SECOND_NS);
        let before = held;
        held.add(SECOND_NS);
        held.add(3 * SECOND_NS);
        let since = held.since(&before);
        // A variance of 2, over 2.
        assert_eq!((since.count, since.mean_s(), since.error_s()), (2, Some(2.0), Some(1.0)));
    }
}
