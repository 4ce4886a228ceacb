//! The stage second by second. In a long stage, older seconds are joined to longer rows, so that
//! days take no more memory than minutes.

use super::histogram::{Histogram, Kept};
use super::interval::{FailedTimes, Interval, KindInterval};
use crate::clock::SECOND_NS;
use crate::op::{Failure, OpKind};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The most rows. Beyond that they are joined, the oldest first.
const MOST_ROWS: usize = 600;
/// The latest rows that are never joined: they are still added to, and shown live.
const LATEST_ROWS: usize = 60;
/// Lengths of rows, in seconds: each divides the next, and the intervals of charts. Beyond the last
/// they double.
const LENGTHS_S: [u32; 5] = [2, 10, 60, 300, 3600];

/// One kind's measurements in one second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SeriesKind {
    /// Requests that ended in this second.
    pub requests: u64,
    /// Documents that succeeded.
    pub ok: u64,
    /// Documents that failed, per class.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failures: BTreeMap<Failure, u64>,
    /// Service times of requests that succeeded at least in part.
    pub service: Kept,
    /// Response times of the same.
    pub response: Kept,
    /// Lags of all requests.
    pub lag: Kept,
    /// Times of requests that failed as a whole, per class.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failed_times: BTreeMap<Failure, FailedTimes<Kept>>,
}

/// One second of a stage, or several of a long one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeriesRow {
    /// The second, or the first of them, counted from the stage's start.
    pub second: u32,
    /// How many seconds it covers.
    #[serde(default = "one_second", skip_serializing_if = "is_one_second")]
    pub seconds: u32,
    /// How long load threads waited for a processor, in seconds over all threads.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub waited_s: f64,
    /// The kinds that occurred.
    pub kinds: BTreeMap<OpKind, SeriesKind>,
}

const fn one_second() -> u32 {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_one_second(seconds: &u32) -> bool {
    *seconds == 1
}

/// All seconds of a stage in order. A second in which nothing ended has no row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Series {
    /// The rows, by second.
    pub rows: Vec<SeriesRow>,
}

impl Series {
    /// Adds one shard's second.
    pub fn add(&mut self, interval: &Interval) {
        if interval.is_empty() {
            return;
        }
        let second = interval.second;
        let after = self.rows.partition_point(|row| row.second <= second);
        let covers = |row: &SeriesRow| second < row.end();
        let index = after.checked_sub(1).filter(|&index| covers(&self.rows[index]));
        let index = index.unwrap_or_else(|| {
            let row = SeriesRow { second, seconds: 1, waited_s: 0.0, kinds: BTreeMap::new() };
            self.rows.insert(after, row);
            after
        });
        // Shards send a second within a fraction of the next one: older ones are complete.
        if let Some(old) = index.checked_sub(3) {
            self.rows[old].kinds.values_mut().for_each(SeriesKind::pack);
        }
        self.rows[index].waited_s += interval.waited_ns as f64 / SECOND_NS as f64;
        for (kind, part) in interval.iter() {
            self.rows[index].kinds.entry(kind).or_default().merge(part);
        }
        if index + 3 < self.rows.len() {
            self.rows[index].kinds.values_mut().for_each(SeriesKind::pack);
        }
        while self.rows.len() > MOST_ROWS {
            self.join();
        }
    }

    /// Joins two rows: the oldest ones that give a row of the shortest length.
    fn join(&mut self) {
        let old = self.rows.len() - LATEST_ROWS;
        let pair = lengths_s().find_map(|length_s| {
            let inside =
                |pair: &[SeriesRow]| pair[0].second / length_s == (pair[1].end() - 1) / length_s;
            self.rows[..old].windows(2).position(inside)
        });
        if let Some(first) = pair {
            let second = self.rows.remove(first + 1);
            self.rows[first].join(second);
        }
    }
}

/// The lengths that rows may have; the last covers all possible seconds.
fn lengths_s() -> impl Iterator<Item = u32> {
    let last = LENGTHS_S[LENGTHS_S.len() - 1];
    let longer = std::iter::successors(Some(last), |length_s| length_s.checked_mul(2)).skip(1);
    LENGTHS_S.into_iter().chain(longer).chain([u32::MAX])
}

impl SeriesRow {
    /// The length of which no row of up to `seconds` seconds crosses a multiple.
    pub fn length_s(seconds: u32) -> u32 {
        if seconds <= 1 { 1 } else { lengths_s().find(|&it| seconds <= it).unwrap_or(seconds) }
    }

    /// The second after its last.
    pub const fn end(&self) -> u32 {
        self.second.saturating_add(self.seconds)
    }

    /// Adds the next row, and the gap between them.
    fn join(&mut self, next: Self) {
        self.seconds = next.end() - self.second;
        self.waited_s += next.waited_s;
        for (kind, part) in next.kinds {
            let sum = self.kinds.entry(kind).or_default();
            sum.join(&part);
            sum.pack();
        }
    }
}

impl SeriesKind {
    fn merge(&mut self, part: &KindInterval) {
        self.requests += part.requests;
        self.ok += part.ok;
        for class in Failure::ALL {
            if part.failures[class.index()] > 0 {
                *self.failures.entry(class).or_default() += part.failures[class.index()];
            }
        }
        self.service.merge(&part.service);
        self.response.merge(&part.response);
        self.lag.merge(&part.lag);
        for (&class, times) in &part.failed_times {
            self.failed_times.entry(class).or_default().merge(times);
        }
    }

    fn join(&mut self, next: &Self) {
        self.requests += next.requests;
        self.ok += next.ok;
        for (&class, count) in &next.failures {
            *self.failures.entry(class).or_default() += count;
        }
        self.service.merge(&next.service.get());
        self.response.merge(&next.response.get());
        self.lag.merge(&next.lag.get());
        for (&class, times) in &next.failed_times {
            self.failed_times.entry(class).or_default().join(times);
        }
    }

    fn pack(&mut self) {
        for kept in [&mut self.service, &mut self.response, &mut self.lag] {
            kept.pack();
        }
        self.failed_times.values_mut().for_each(FailedTimes::pack);
    }

    /// Documents that failed, over all classes.
    pub fn failed(&self) -> u64 {
        self.failures.values().sum()
    }

    /// Times of the requests that failed as a whole, over all classes.
    pub fn failed_latency(&self) -> FailedTimes<Histogram> {
        let mut sum = FailedTimes::<Histogram>::default();
        for times in self.failed_times.values() {
            sum.service.merge(&times.service.get());
            sum.response.merge(&times.response.get());
        }
        sum
    }

    /// Removes failed requests from the times of successful ones, which include them in records of
    /// layout 1.
    pub fn leave_out_failed(&mut self) {
        if !self.failed_times.is_empty() {
            let failed = self.failed_latency();
            self.service = Kept::Open(self.service.get().without(&failed.service));
            self.response = Kept::Open(self.response.get().without(&failed.response));
            self.pack();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Totals;

    fn measured(seconds: impl Iterator<Item = u32>) -> (Series, Totals) {
        let (mut series, mut totals) = (Series::default(), Totals::default());
        for second in seconds {
            let mut interval = Interval::new(second);
            interval.waited_ns = 1_000_000;
            let part = interval.kind_mut(OpKind::Read);
            (part.requests, part.ok) = (3, 2);
            part.failures[Failure::Timeout.index()] = 1;
            part.response.record(u64::from(second) * 1_000_000 + 100);
            series.add(&interval);
            totals.add(&interval);
        }
        (series, totals)
    }

    #[test]
    fn days_take_no_more_rows_than_minutes_and_lose_nothing() {
        const SECONDS: u32 = 1_500;
        let (mut series, totals) = measured(0..SECONDS);
        // A shard that comes late, with a second that was joined long ago.
        let mut late = Interval::new(5);
        late.kind_mut(OpKind::Read).requests = 7;
        series.add(&late);
        let rows = &series.rows;
        assert!((MOST_ROWS - 10..=MOST_ROWS).contains(&rows.len()), "{} rows", rows.len());
        let mut next = 0;
        for row in rows {
            assert_eq!(row.second, next, "no second is missing");
            let allowed = [1].into_iter().chain(LENGTHS_S).find(|&length| row.seconds <= length);
            let length = allowed.expect("a length");
            assert_eq!(row.second / length, (row.end() - 1) / length, "{row:?}");
            next = row.end();
        }
        assert_eq!(next, SECONDS);
        assert!(rows[rows.len() - LATEST_ROWS..].iter().all(|row| row.seconds == 1));
        assert!(rows.iter().map(|row| row.seconds).max() <= Some(10));
        let parts = || rows.iter().map(|row| &row.kinds[&OpKind::Read]);
        let sum = |of: fn(&SeriesKind) -> u64| parts().map(of).sum::<u64>();
        let all = totals.sum().kind(OpKind::Read).unwrap();
        assert_eq!(sum(|part| part.requests), all.requests + 7);
        assert_eq!((sum(|part| part.ok), sum(SeriesKind::failed)), (all.ok, all.failed()));
        let waited_s: f64 = rows.iter().map(|row| row.waited_s).sum();
        assert!((waited_s - totals.sum().waited_ns as f64 / 1e9).abs() < 1e-6, "{waited_s} s");
        let mut response = Histogram::default();
        parts().for_each(|part| response.merge(&part.response.get()));
        assert_eq!(response, all.response);
        assert!(parts().rev().skip(3).all(|part| matches!(part.response, Kept::Packed(_))));
    }

    #[test]
    fn rows_that_lie_far_apart_are_joined_in_the_end() {
        let (series, totals) = measured((0..700).map(|hour| hour * 7_200));
        assert_eq!(series.rows.len(), MOST_ROWS);
        let requests = series.rows.iter().map(|row| row.kinds[&OpKind::Read].requests);
        assert_eq!(requests.sum::<u64>(), totals.sum().kind(OpKind::Read).unwrap().requests);
    }
}
