//! When operations are due. Pure: no clock, no sleep.

use crate::clock::{Nanos, SECOND_NS};
use crate::generate::{below, mix};
use serde::{Deserialize, Serialize};

/// Separates the stream of gaps from other uses of the same seed.
const GAPS: u64 = u64::from_be_bytes(*b"arrivals");
/// Separates the stream of pauses from other uses of the same seed.
const PAUSES: u64 = u64::from_be_bytes(*b"thinking");

/// When the operations of a stage are due.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "loop", rename_all = "snake_case")]
pub enum Pace {
    /// Each connection starts its next operation when the previous one is done.
    Closed {
        /// The pause between two operations of a connection, in nanoseconds.
        think_ns: Nanos,
    },
    /// A closed loop with a random pause before each operation, as with siege's `--delay`.
    Thinking {
        /// The longest pause, in nanoseconds.
        most_ns: Nanos,
        /// The seed of pauses.
        seed: u64,
    },
    /// Operations are due at given times, whether or not the server keeps up.
    Open {
        /// The due times.
        schedule: Schedule,
        /// The maximum number of operations waiting or in flight; any more are dropped.
        max_in_flight: u64,
        /// Operations due within this many nanoseconds of each other may be started together.
        #[serde(default = "default_slack_ns")]
        slack_ns: Nanos,
    },
}

/// The default slack. At high rates, waking up for each operation costs as much as the operation;
/// this much is within the timer's own lateness.
pub const DEFAULT_SLACK_NS: Nanos = 50_000;

const fn default_slack_ns() -> Nanos {
    DEFAULT_SLACK_NS
}

impl Pace {
    /// How many operations are due by `offset_ns` after the stage's start; `None` in a closed loop.
    pub fn due_by(&self, offset_ns: Nanos) -> Option<f64> {
        match self {
            Self::Closed { .. } | Self::Thinking { .. } => None,
            Self::Open { schedule, .. } => Some(schedule.due_by(offset_ns)),
        }
    }

    /// The pause of connection number `connection` of the run before its operation `n`, in
    /// nanoseconds.
    ///
    /// Random pauses are those of siege's `delay`: from a second up, whole seconds,
    /// floor(u·most + ½) with u uniform in [0, 1); below that, any time up to the longest. Either
    /// way the mean is half of the longest.
    pub fn pause_ns(&self, connection: u64, n: u64) -> Nanos {
        match self {
            Self::Open { .. } => 0,
            Self::Closed { think_ns } => *think_ns,
            Self::Thinking { most_ns, seed } => {
                let draw = mix(*seed, connection ^ PAUSES, n);
                if *most_ns < SECOND_NS {
                    return below(draw, *most_ns + 1);
                }
                (below(draw, *most_ns) + SECOND_NS / 2) / SECOND_NS * SECOND_NS
            }
        }
    }

    /// The mean of all pauses, in nanoseconds; `None` in an open loop, which has none.
    pub const fn mean_pause_ns(&self) -> Option<Nanos> {
        match self {
            Self::Open { .. } => None,
            Self::Closed { think_ns } => Some(*think_ns),
            Self::Thinking { most_ns, .. } => Some(*most_ns / 2),
        }
    }
}

/// The distribution of gaps between due operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// All gaps are equal.
    #[default]
    Constant,
    /// Gaps are exponentially distributed: a Poisson process, like arrivals of independent users.
    Poisson,
}

/// A part of the schedule in which the rate is constant or changes linearly.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Segment {
    /// Its length in nanoseconds.
    pub length_ns: Nanos,
    /// Operations per second at its start.
    pub from: f64,
    /// Operations per second at its end.
    pub to: f64,
}

impl Segment {
    /// The number of operations due in the segment.
    fn operations(&self) -> f64 {
        self.length_ns as f64 / SECOND_NS as f64 * f64::midpoint(self.from, self.to)
    }

    /// The number of operations due in the first `offset_ns`: from·t + (to − from)·t²/(2·length).
    fn due_by(&self, offset_ns: Nanos) -> f64 {
        if offset_ns == 0 {
            return 0.0;
        }
        let seconds = offset_ns as f64 / SECOND_NS as f64;
        let share = offset_ns as f64 / self.length_ns as f64;
        seconds * (self.from + (self.to - self.from) * share / 2.0)
    }

    /// The number of seconds after which `count` operations are due.
    ///
    /// The number due by time t is from·t + (to − from)·t²/(2·length); this is its inverse, in a
    /// form without cancellation when the slope is small or the rate starts at zero.
    fn inverse(&self, count: f64) -> f64 {
        if count <= 0.0 {
            return 0.0;
        }
        let slope = (self.to - self.from) / (self.length_ns as f64 / SECOND_NS as f64);
        let root = (self.from * self.from + 2.0 * slope * count).max(0.0).sqrt();
        2.0 * count / (self.from + root)
    }
}

/// The due times of all operations of a stage, as a sequence of segments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Schedule {
    /// The rates over time.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub segments: Vec<Segment>,
    /// The distribution of the gaps between operations.
    pub arrivals: Arrivals,
    /// The seed of random gaps.
    pub seed: u64,
}

impl Schedule {
    /// The offset from the stage's start, in nanoseconds, at which the number of operations due
    /// reaches `count`. `None` if it never does.
    pub fn due(&self, count: f64) -> Option<Nanos> {
        let (mut before_ns, mut left) = (0, count);
        for segment in &self.segments {
            let operations = segment.operations();
            if left < operations {
                let offset = segment.inverse(left) * SECOND_NS as f64;
                return Some(before_ns + (offset as Nanos).min(segment.length_ns));
            }
            left -= operations;
            before_ns += segment.length_ns;
        }
        None
    }

    /// The mean number of operations due by `offset_ns` after the stage's start: the inverse of
    /// [`Schedule::due`].
    pub fn due_by(&self, offset_ns: Nanos) -> f64 {
        let (mut count, mut left_ns) = (0.0, offset_ns);
        for segment in &self.segments {
            count += segment.due_by(left_ns.min(segment.length_ns));
            left_ns = left_ns.saturating_sub(segment.length_ns);
        }
        count
    }

    /// The gap before operation `n` in units of the mean gap.
    ///
    /// Exponential gaps are −ln(u) with u uniform in (0, 1], the inverse of the distribution.
    fn gap(&self, n: u64) -> f64 {
        match self.arrivals {
            Arrivals::Constant => f64::from(u8::from(n > 0)),
            Arrivals::Poisson => {
                let draw = mix(self.seed, n, GAPS) >> 11;
                -((draw + 1) as f64 / (1u64 << 53) as f64).ln()
            }
        }
    }

    /// The due times of the operations of one shard, as offsets from the stage's start in
    /// nanoseconds. Operation n belongs to connection n modulo `connections`, and connections are
    /// assigned to `shards` in turn, so that each operation belongs to exactly one shard.
    pub fn steps(
        &self,
        (shard, shards): (u64, u64),
        connections: u64,
    ) -> impl Iterator<Item = Nanos> + 'static {
        let schedule = self.clone();
        let (mut n, mut count) = (0u64, 0.0);
        std::iter::from_fn(move || {
            loop {
                count += schedule.gap(n);
                n += 1;
                if (n - 1) % connections % shards == shard {
                    return schedule.due(count);
                }
            }
        })
    }

    /// The length of the schedule in nanoseconds.
    pub fn length_ns(&self) -> Nanos {
        self.segments.iter().map(|segment| segment.length_ns).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn schedule(segments: &[(u64, f64, f64)], arrivals: Arrivals) -> Schedule {
        let segments = segments
            .iter()
            .map(|&(seconds, from, to)| Segment { length_ns: seconds * SECOND_NS, from, to })
            .collect();
        Schedule { segments, arrivals, seed: 42 }
    }

    #[test]
    fn constant_gaps_are_equal_and_start_at_once() {
        let steps: Vec<_> =
            schedule(&[(1, 4.0, 4.0)], Arrivals::Constant).steps((0, 1), 1).collect();
        assert_eq!(steps, [0, 250_000_000, 500_000_000, 750_000_000]);
    }

    #[test]
    fn a_ramp_has_the_area_under_its_line() {
        let ramp = schedule(&[(10, 0.0, 100.0)], Arrivals::Constant);
        assert_eq!(ramp.steps((0, 1), 1).count(), 500);
        // Half of the time brings a quarter of the operations.
        assert_eq!(ramp.due(125.0), Some(5 * SECOND_NS));
        let stages = schedule(&[(2, 10.0, 10.0), (2, 10.0, 30.0)], Arrivals::Constant);
        assert_eq!(stages.steps((0, 1), 1).count(), 60);
        assert_eq!(stages.due(20.0), Some(2 * SECOND_NS));
        for (second, due) in [(0, 0.0), (1, 10.0), (2, 20.0), (3, 35.0), (9, 60.0)] {
            assert!((stages.due_by(second * SECOND_NS) - due).abs() < 1e-9, "{second}");
        }
        for (schedule, count) in [(&ramp, 125.0), (&ramp, 499.0), (&stages, 7.0), (&stages, 41.0)] {
            let again = schedule.due_by(schedule.due(count).unwrap());
            assert!((again - count).abs() < 1e-4, "{count} became {again}");
        }
    }

    #[test]
    fn poisson_gaps_have_the_variation_of_an_exponential() {
        let count = 100_000;
        let poisson = schedule(&[(100, 1000.0, 1000.0)], Arrivals::Poisson);
        let times: Vec<_> = poisson.steps((0, 1), 1).take(count).collect();
        let gaps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        let variation = variance.sqrt() / mean;
        assert!((variation - 1.0).abs() < 0.02, "coefficient of variation {variation}");
        assert!((mean / 1e6 - 1.0).abs() < 0.02, "mean gap {mean} ns");
    }

    #[test]
    fn poisson_gaps_pass_kolmogorov_smirnov() {
        let poisson = schedule(&[(100, 1000.0, 1000.0)], Arrivals::Poisson);
        let mut gaps: Vec<f64> = (0..10_000).map(|n| poisson.gap(n)).collect();
        gaps.sort_by(f64::total_cmp);
        let n = gaps.len() as f64;
        let distance = gaps
            .iter()
            .enumerate()
            .map(|(i, gap)| {
                let exact = 1.0 - (-gap).exp();
                (exact - i as f64 / n).abs().max((exact - (i + 1) as f64 / n).abs())
            })
            .fold(0.0, f64::max);
        // 1.628/√n: the asymptotic critical value at p = 0.01 (Smirnov 1948).
        assert!(distance < 1.628 / n.sqrt(), "D = {distance}");
    }

    #[test]
    fn an_operation_belongs_to_its_connection_and_that_to_its_shard() {
        let schedule = schedule(&[(1, 8.0, 8.0), (2, 0.0, 0.0)], Arrivals::Constant);
        assert_eq!(schedule.length_ns(), 3 * SECOND_NS);
        // Connections 0 and 2 belong to the first shard, and 1 to the second.
        for (shard, operations) in [(0, &[0, 2, 3, 5, 6][..]), (1, &[1, 4, 7][..])] {
            let due = schedule.steps((shard, 2), 3).map(|offset| offset / (SECOND_NS / 8));
            assert_eq!(due.collect::<Vec<_>>(), operations);
        }
    }

    #[test]
    fn the_rarest_draw_is_the_longest_gap() {
        let poisson = schedule(&[(1, 1.0, 1.0)], Arrivals::Poisson);
        // The operation whose draw is 0: the hash is a bijection of its number.
        let rarest = 16_666_108_389_527_497_376;
        assert_eq!(mix(poisson.seed, rarest, GAPS), 0);
        assert!((poisson.gap(rarest) - 53.0 * 2f64.ln()).abs() < 1e-9);
    }

    #[test]
    fn each_connection_pauses_in_its_own_way_up_to_the_longest_pause() {
        let pauses = |most_ns, connection| {
            let pace = Pace::Thinking { most_ns, seed: 7 };
            (0..10).map(move |n| pace.pause_ns(connection, n)).collect::<Vec<_>>()
        };
        let ways: std::collections::BTreeSet<_> =
            (0..64).map(|connection| pauses(SECOND_NS / 10, connection)).collect();
        assert_eq!(ways.len(), 64);
        assert_eq!(pauses(1, 3), [0, 1, 0, 1, 0, 0, 0, 1, 0, 0]);
    }

    #[test]
    fn pauses_follow_sieges_law() {
        let second = Pace::Thinking { most_ns: SECOND_NS, seed: 7 };
        let draws: Vec<_> = (0..10_000).map(|n| second.pause_ns(n % 100, n / 100)).collect();
        assert!(draws.iter().all(|&pause| pause == 0 || pause == SECOND_NS));
        // Four standard deviations of a fair coin: 4 * sqrt(10,000) / 2 = 200.
        let long = draws.iter().filter(|&&pause| pause > 0).count();
        assert!(long.abs_diff(5_000) < 200, "{long} of 10,000 paused");
        let short = Pace::Thinking { most_ns: SECOND_NS / 10, seed: 7 };
        let draws: Vec<_> = (0..10_000).map(|n| short.pause_ns(3, n)).collect();
        assert!(draws.iter().all(|&pause| pause <= SECOND_NS / 10));
        let mean = draws.iter().sum::<u64>() / 10_000;
        // Four standard errors of a uniform mean: 4 * 0.1 s / sqrt(12 * 10,000) = 1.2 ms.
        assert!(mean.abs_diff(SECOND_NS / 20) < 1_200_000, "{mean} ns");
        assert_eq!(short.mean_pause_ns(), Some(SECOND_NS / 20));
    }

    proptest! {
        #[test]
        fn shards_share_out_every_operation(
            shards in 1u64..5, connections in 5u64..9, poisson: bool,
            from in 0.0f64..500.0, to in 1.0f64..500.0,
        ) {
            let arrivals = if poisson { Arrivals::Poisson } else { Arrivals::Constant };
            let schedule = schedule(&[(2, from, to), (1, to, to)], arrivals);
            let whole: Vec<_> = schedule.steps((0, 1), 1).collect();
            prop_assert!(whole.is_sorted());
            prop_assert!(whole.iter().all(|&due| due <= 3 * SECOND_NS));
            let mut parts: Vec<_> =
                (0..shards).flat_map(|s| schedule.steps((s, shards), connections)).collect();
            parts.sort_unstable();
            prop_assert_eq!(parts, whole);
        }
    }
}
