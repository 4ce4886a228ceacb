//! The connections of an open loop, and whether they, not the server, were the limit.

use crate::measure::{Held, Opened, PoolLog};
use serde::{Deserialize, Serialize};

/// Below this share of the time in which operations had to wait for a connection, something else
/// limits the load.
const NONE_FREE: f64 = 0.05;
/// If operations take more than this many times as long while all connections are in use, they wait
/// for each other in the server.
const FLAT: f64 = 1.1;
/// Differences up to this many standard errors may be chance.
const CHANCE: f64 = 2.0;
/// Fewer operations than this do not show how much their times vary.
const FEW: u64 = 5;

/// How the connections of an open loop were used.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PoolRecord {
    /// Connections open at the end, in all threads.
    pub connections: u64,
    /// Those of them that were opened under load; absent if none were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opened: Option<OpenedRecord>,
    /// Approximately how many connections the load needed at its highest rate, by Little's law.
    pub needed: u64,
    /// The share of the time in which no connection was free, 0 to 1, averaged over threads.
    pub none_free: f64,
    /// How long operations held a connection: the mean, in microseconds.
    pub held_us: f64,
    /// The same for operations started while at most half of the connections were in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub few: Option<HeldRecord>,
    /// The same for operations that took the last free connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full: Option<HeldRecord>,
}

/// Connections that were opened under load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OpenedRecord {
    /// The number of connections opened.
    pub connections: u64,
    /// The number of connections that could not be opened.
    pub refused: u64,
    /// How long opening one took: the mean, in milliseconds.
    pub mean_ms: f64,
    /// The same, the maximum.
    pub max_ms: f64,
    /// When the last one was opened, in seconds from the start.
    pub last_s: f64,
}

impl OpenedRecord {
    fn of(opened: &Opened) -> Option<Self> {
        let Opened { count, refused, took_ns, slowest_ns, last_ns } = *opened;
        (count + refused > 0).then(|| Self {
            connections: count,
            refused,
            mean_ms: took_ns as f64 / 1e6 / count.max(1) as f64,
            max_ms: slowest_ns as f64 / 1e6,
            last_s: last_ns as f64 / 1e9,
        })
    }
}

/// How long operations held a connection.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HeldRecord {
    /// The number of operations.
    pub operations: u64,
    /// The mean, in microseconds.
    pub mean_us: f64,
    /// The standard error of the mean, in microseconds; 0 if there were too few operations to tell.
    pub error_us: f64,
}

impl HeldRecord {
    fn of(held: &Held) -> Option<Self> {
        let error_s = held.error_s().filter(|_| held.count >= FEW).unwrap_or(0.0);
        let mean_us = held.mean_s()? * 1e6;
        Some(Self { operations: held.count, mean_us, error_us: error_s * 1e6 })
    }
}

impl PoolRecord {
    /// Makes the record from what the threads saw, for a load whose highest rate was `peak_per_s`.
    /// `None`: no operation ended.
    pub(crate) fn of(log: &PoolLog, peak_per_s: f64) -> Option<Self> {
        let held_s = log.held.mean_s()?;
        Some(Self {
            connections: log.connections,
            opened: OpenedRecord::of(&log.opened),
            needed: needed(peak_per_s, held_s),
            none_free: log.none_free_ns as f64 / log.over_ns.max(1) as f64,
            held_us: held_s * 1e6,
            few: HeldRecord::of(&log.few),
            full: HeldRecord::of(&log.full),
        })
    }

    /// The number of connections, and about how many the load would have needed, if connections
    /// were the limit: all were in use, but no operation took longer because of that, so the rate
    /// does not show what the server can do.
    ///
    /// Where operations do take longer, they wait for each other in the server, and more
    /// connections would not help. This shows from the first operations on, before all connections
    /// are in use.
    pub(super) fn bound(&self) -> Option<(u64, u64)> {
        let short = self.needed > self.connections && self.none_free > NONE_FREE;
        (short && self.is_flat()).then_some((self.connections, self.needed))
    }

    /// Whether operations took no longer while all connections were in use: they did not wait for
    /// each other in the server.
    fn is_flat(&self) -> bool {
        if self.connections == 1 {
            return true;
        }
        let (Some(few), Some(full)) = (self.few, self.full) else { return false };
        let chance = CHANCE * few.error_us.hypot(full.error_us);
        full.mean_us <= few.mean_us * FLAT + chance
    }
}

/// About how many connections a load needs if its operations hold one for this long. By Little's
/// law, rate · time are held on average; as the number varies, the square root of that is added
/// (the square-root staffing rule; Halfin and Whitt 1981).
pub(crate) fn needed(per_s: f64, held_s: f64) -> u64 {
    let held = per_s * held_s;
    (held + held.sqrt()).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::Account;
    use crate::measure::KindInterval;
    use crate::op::OpKind;
    use crate::record::StageRecord;
    use crate::record::Verdict;
    use crate::record::fixture;

    const MS: u64 = 1_000_000;

    /// A load of 1,000/s for 5 s on 50 connections, all in use except for 50 ms. Operations took
    /// the given times while few connections were in use, and while all were.
    fn log(few_ms: &[u64], full_ms: &[u64]) -> PoolLog {
        let mut log = PoolLog {
            connections: 50,
            none_free_ns: 4_950 * MS,
            over_ns: 5_000 * MS,
            ..PoolLog::default()
        };
        for (held, times) in [(&mut log.few, few_ms), (&mut log.full, full_ms)] {
            for ms in times {
                held.add(ms * MS);
            }
        }
        for ms in full_ms {
            log.held.add(ms * MS);
        }
        log
    }

    fn stage(log: &PoolLog) -> StageRecord {
        let mut stage = fixture::stage("urls", vec![(0, OpKind::Request, KindInterval::default())]);
        stage.load.pool = PoolRecord::of(log, 1_000.0);
        stage
    }

    fn bound(log: &PoolLog) -> Option<(u64, u64)> {
        stage(log).load.pool?.bound()
    }

    #[test]
    fn connections_are_the_limit_where_all_are_in_use_and_nothing_takes_longer() {
        assert_eq!(bound(&log(&[100; 25], &[100; 500])), Some((50, 110)));
        assert_eq!(bound(&log(&[100; 25], &[109; 500])), Some((50, 119)));
        // Times that vary a lot anyway.
        let few: Vec<_> = (0..25).map(|n| 20 + n % 5 * 40).collect();
        assert!(bound(&log(&few, &[120; 500])).is_some(), "chance");
    }

    #[test]
    fn a_server_in_which_operations_wait_for_each_other_is_the_limit() {
        assert_eq!(bound(&log(&[100; 25], &[112; 500])), None);
        // 500/s one after another: the n-th in flight takes 2 ms more.
        let few: Vec<_> = (1..=25).map(|n| 2 * n).collect();
        assert_eq!(bound(&log(&few, &[100; 500])), None);
        assert_eq!(bound(&log(&[], &[100; 500])), None, "nothing to compare with");
        assert_eq!(bound(&log(&[100; 4], &[120; 500])), None, "four do not tell what is chance");
        let none = StageRecord {
            load: crate::record::LoadRecord::default(),
            ..stage(&log(&[100; 25], &[100; 50]))
        };
        assert_eq!(
            none.load.pool.and_then(|it| it.bound()),
            None,
            "a closed loop, or an older record"
        );
    }

    #[test]
    fn connections_that_suffice_or_are_free_are_not_the_limit() {
        assert_eq!(bound(&log(&[40; 25], &[40; 500])), None, "47 needed");
        let mut free = log(&[100; 25], &[100; 500]);
        free.none_free_ns = 250 * MS;
        assert_eq!(bound(&free), None, "one was free for 95 % of the time");
        free.none_free_ns = 251 * MS;
        assert_eq!(bound(&free), Some((50, 110)));
    }

    #[test]
    fn a_single_connection_holds_no_other_one_up() {
        let one = PoolLog { connections: 1, ..log(&[], &[100; 500]) };
        assert_eq!(bound(&one), Some((1, 110)));
    }

    #[test]
    fn as_many_connections_as_needed_and_times_within_chance_are_not_the_limit() {
        let held = |mean_us, error_us| Some(HeldRecord { operations: 9, mean_us, error_us });
        let pool = stage(&log(&[100; 25], &[100; 500])).load.pool.expect("a pool");
        assert!((pool.held_us - 100_000.0).abs() < 0.01, "{}", pool.held_us);
        for (needed, expected) in [(50, None), (51, Some((50, 51)))] {
            assert_eq!(PoolRecord { needed, ..pool }.bound(), expected);
        }
        // A tenth more, and twice the error of 100 µs.
        for (full_us, expected) in [(1_290.0, Some((50, 110))), (1_310.0, None)] {
            let (few, full) = (held(1_000.0, 100.0), held(full_us, 0.0));
            assert_eq!(PoolRecord { few, full, ..pool }.bound(), expected, "{full_us}");
        }
    }

    #[test]
    fn connections_opened_under_load_are_counted_and_timed() {
        let opened = |count, refused| {
            let mut log = log(&[100; 25], &[100; 500]);
            let (took_ns, slowest_ns, last_ns) = (40 * MS, 25 * MS, 1_500 * MS);
            log.opened = Opened { count, refused, took_ns, slowest_ns, last_ns };
            PoolRecord::of(&log, 1_000.0).expect("a pool").opened
        };
        let of = |connections, refused, mean_ms| {
            Some(OpenedRecord { connections, refused, mean_ms, max_ms: 25.0, last_s: 1.5 })
        };
        assert_eq!(opened(4, 0), of(4, 0, 10.0));
        assert_eq!(opened(4, 2), of(4, 2, 10.0));
        assert_eq!(opened(0, 1), of(0, 1, 40.0));
        assert_eq!(opened(0, 0), None);
    }

    fn verdict(stage: &StageRecord) -> Verdict {
        let facts = stage.facts();
        Verdict::of(&facts, &Account::of(&facts))
    }

    #[test]
    fn a_load_that_its_connections_limit_was_not_sustained_by_them() {
        let mut stage = stage(&log(&[100; 25], &[100; 500]));
        stage.operations = fixture::record(&[]).stages[0].operations.clone();
        stage.load.open = true;
        (stage.load.offered, stage.load.begun, stage.load.offered_per_s) = (5_000, 5_000, 1_000.0);
        assert_eq!(verdict(&stage), Verdict::Sustained, "nothing was left over");
        (stage.load.begun, stage.load.unsent) = (2_500, 2_500);
        let bound = Verdict::BoundByConnections { connections: 50, needed: 110 };
        assert_eq!(verdict(&stage), bound);
        stage.load.pool = PoolRecord::of(&log(&[10; 25], &[100; 500]), 1_000.0);
        assert_eq!(verdict(&stage).name(), "not_sustained");
    }
}
