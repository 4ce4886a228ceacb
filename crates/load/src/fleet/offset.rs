//! The difference between two clocks, from requests and replies that take some time.
//!
//! A reply was given at some time between request and arrival. The midpoint is wrong by half of
//! that time at most, so the quickest of several replies is used: Cristian's algorithm (Flaviu
//! Cristian, "Probabilistic clock synchronization", Distributed Computing 3, 1989).

use crate::clock::Nanos;

/// How many pings measure a clock.
pub const PINGS: usize = 5;

/// How far another clock is ahead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offset {
    /// The other clock minus this one, in nanoseconds.
    pub ahead_ns: i64,
    /// The largest error of that, in nanoseconds: half of the round trip.
    pub error_ns: Nanos,
}

impl Offset {
    /// The offset from one reply: requested at `asked` and received at `received` on this clock,
    /// given at `answered` on the other.
    pub fn of(asked: Nanos, answered: Nanos, received: Nanos) -> Self {
        let error_ns = received.saturating_sub(asked).div_ceil(2);
        let middle = asked + error_ns;
        Self { ahead_ns: answered.wrapping_sub(middle).cast_signed(), error_ns }
    }

    /// The more precise of two.
    pub fn better(self, other: Self) -> Self {
        if other.error_ns < self.error_ns { other } else { self }
    }

    /// Converts a time on this clock to the other.
    pub const fn there(self, here: Nanos) -> Nanos {
        here.wrapping_add_signed(self.ahead_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_error_is_at_most_what_is_reported(
            ahead in -5_000_000_000i64..5_000_000_000,
            to in 0u64..9_000_000,
            back in 0u64..9_000_000,
        ) {
            let asked = 1_000_000_000_000u64;
            let answered = (asked + to).checked_add_signed(ahead).unwrap();
            let offset = Offset::of(asked, answered, asked + to + back);
            prop_assert!(offset.ahead_ns.abs_diff(ahead) <= offset.error_ns);
            prop_assert_eq!(offset.error_ns, (to + back).div_ceil(2));
            let there = offset.there(asked);
            let right = asked.checked_add_signed(ahead).unwrap();
            prop_assert!(there.abs_diff(right) <= offset.error_ns);
        }
    }

    #[test]
    fn the_quickest_answer_counts() {
        let slow = Offset { ahead_ns: 900, error_ns: 500 };
        let quick = Offset { ahead_ns: 400, error_ns: 20 };
        assert_eq!(slow.better(quick), quick);
        assert_eq!(quick.better(slow), quick);
    }

    #[test]
    fn clocks_may_be_days_apart() {
        let day = 86_400_000_000_000;
        let offset = Offset::of(30 * day, 5 + day, 30 * day + 10);
        assert_eq!(offset.ahead_ns, -29 * day.cast_signed());
        assert_eq!(offset.there(30 * day + 5), day + 5);
    }
}
