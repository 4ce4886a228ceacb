//! The rows of a running stage. In a long stage, older seconds are merged into longer rows, so that
//! days take no more space than minutes; all but the latest rows are kept in a file, so that
//! minutes take no more memory than seconds. Times in longer rows are kept to two significant
//! digits.

use super::shelf::{Shelf, ShelfPlace};
use super::{Series, SeriesRow};
use crate::clock::SECOND_NS;
use crate::measure::Interval;
use std::io;

/// The most rows. Beyond that, they are merged, the oldest first.
const MOST_ROWS: usize = 600;
/// The most that a stage with merged rows takes, in bytes of JSON, without its latest rows. Rows
/// are merged until it takes no more; a stage of up to `MOST_ROWS` seconds may take more.
const MOST_BYTES: usize = 4_000_000;
/// How many rows are merged at a time to get there, so that one second does not take long.
const MOST_JOINS: usize = 4;
/// The latest rows, which stay in memory and are not merged, because they may still grow.
const LATEST_ROWS: usize = 30;
/// Lengths of rows, in seconds: each divides the next one, and the intervals of charts. After the
/// last one they double.
const LENGTHS_S: [u32; 5] = [2, 10, 60, 300, 3600];

/// The lengths that rows may have; the last covers all possible seconds.
pub(super) fn lengths_s() -> impl Iterator<Item = u32> {
    let last = LENGTHS_S[LENGTHS_S.len() - 1];
    let longer = std::iter::successors(Some(last), |length_s| length_s.checked_mul(2)).skip(1);
    LENGTHS_S.into_iter().chain(longer).chain([u32::MAX])
}

/// A row, wherever it is stored.
#[derive(Debug)]
enum LoggedRow {
    Here(SeriesRow),
    Shelved { second: u32, seconds: u32, place: ShelfPlace },
}

impl LoggedRow {
    /// Its first second, and the one after its last.
    const fn span(&self) -> (u32, u32) {
        match self {
            Self::Here(row) => (row.second, row.end()),
            Self::Shelved { second, seconds, .. } => (*second, second.saturating_add(*seconds)),
        }
    }
}

/// The seconds of a running stage. A second in which nothing ended has no row.
#[derive(Debug)]
pub struct SeriesLog {
    /// Whether the nodes are kept separately.
    nodes: bool,
    rows: Vec<LoggedRow>,
    merged: bool,
    most_bytes: usize,
    shelf: Option<Shelf>,
    trouble: Option<io::Error>,
}

impl Default for SeriesLog {
    fn default() -> Self {
        let (rows, most_bytes) = (Vec::new(), MOST_BYTES);
        Self { nodes: false, rows, merged: false, most_bytes, shelf: None, trouble: None }
    }
}

impl SeriesLog {
    /// Keeps each node separately if `nodes`.
    #[must_use]
    pub fn with_nodes(self, nodes: bool) -> Self {
        Self { nodes, ..self }
    }

    /// Adds one shard's second.
    pub fn add(&mut self, interval: &Interval) {
        if interval.is_empty() {
            return;
        }
        let second = interval.second;
        let after = self.rows.partition_point(|row| row.span().0 <= second);
        let index = after.checked_sub(1).filter(|&index| second < self.rows[index].span().1);
        let mut row = index.map_or_else(|| SeriesRow::new(second, 1), |it| self.take(it));
        row.waited_s += interval.waited_ns as f64 / SECOND_NS as f64;
        for (kind, part) in interval.iter() {
            row.kinds.entry(kind).or_default().merge(part);
        }
        for (place, part) in interval.nodes().iter().enumerate().filter(|_| self.nodes) {
            row.node_mut(place).merge(part);
        }
        let index = index.unwrap_or(after);
        self.rows.insert(index, LoggedRow::Here(row));
        // Shards send each second within a fraction of the next one, so older ones are complete.
        self.pack(index);
        if let Some(old) = index.checked_sub(3) {
            self.pack(old);
        }
        while self.rows.len() > MOST_ROWS {
            self.merged = true;
            self.join();
        }
        self.shelve();
        for _ in 0..MOST_JOINS {
            if !self.merged || self.bytes() <= self.most_bytes {
                break;
            }
            self.join();
            self.shelve();
        }
    }

    /// The latest second before `until`.
    pub fn latest(&self, until: u32) -> Option<&SeriesRow> {
        match self.rows.iter().rfind(|row| row.span().1 <= until)? {
            LoggedRow::Here(row) => Some(row),
            LoggedRow::Shelved { .. } => None,
        }
    }

    /// All seconds so far, in order. Rows that cannot be read are left out.
    pub fn so_far(&self) -> Series {
        let row = |row: &LoggedRow| match row {
            LoggedRow::Here(row) => Some(row.clone()),
            LoggedRow::Shelved { place, .. } => self.shelf.as_ref()?.read(place).ok(),
        };
        Series { rows: self.rows.iter().filter_map(row).collect() }
    }

    /// All seconds in order, and why some of them are empty if the file cannot be read.
    pub fn finish(mut self) -> (Series, Option<io::Error>) {
        let shelved = (0..self.rows.len()).rev();
        let mut rows: Vec<_> = shelved.map(|index| self.take(index)).collect();
        rows.reverse();
        (Series { rows }, self.trouble)
    }

    /// Encodes the times of a row, unless it is one of the latest three.
    fn pack(&mut self, index: usize) {
        let complete = index + 3 < self.rows.len();
        if let Some(LoggedRow::Here(row)) = self.rows.get_mut(index).filter(|_| complete) {
            row.pack();
        }
    }

    fn take(&mut self, index: usize) -> SeriesRow {
        let (second, seconds, place) = match self.rows.remove(index) {
            LoggedRow::Here(row) => return row,
            LoggedRow::Shelved { second, seconds, place } => (second, seconds, place),
        };
        let missing = io::Error::other("it was never written");
        let taken = self.shelf.as_mut().map_or(Err(missing), |shelf| shelf.take(&place));
        taken.unwrap_or_else(|error| {
            self.trouble = Some(error);
            SeriesRow::new(second, seconds)
        })
    }

    /// Moves all but the latest rows to the file. If this fails, they stay in memory.
    fn shelve(&mut self) {
        let old = self.rows.len().saturating_sub(LATEST_ROWS);
        for row in &mut self.rows[..old] {
            let LoggedRow::Here(here) = row else { continue };
            if self.shelf.is_none() {
                self.shelf = Shelf::new().ok();
            }
            let Some(Ok(place)) = self.shelf.as_mut().map(|shelf| shelf.put(here)) else { return };
            *row = LoggedRow::Shelved { second: here.second, seconds: here.seconds, place };
        }
    }

    /// How much the rows in the file take, in bytes.
    fn bytes(&self) -> usize {
        let of_row = |row: &LoggedRow| match row {
            LoggedRow::Here(_) => 0,
            LoggedRow::Shelved { place, .. } => place.bytes,
        };
        self.rows.iter().map(of_row).sum()
    }

    /// Merges two rows: the oldest ones that form a row of the shortest length.
    fn join(&mut self) {
        let old = self.rows.len().saturating_sub(LATEST_ROWS);
        let pair = lengths_s().find_map(|length_s| {
            let inside = |pair: &[LoggedRow]| {
                pair[0].span().0 / length_s == (pair[1].span().1 - 1) / length_s
            };
            self.rows[..old].windows(2).position(inside)
        });
        if let Some(first) = pair {
            let next = self.take(first + 1);
            let mut row = self.take(first);
            row.join(next);
            self.rows.insert(first, LoggedRow::Here(row));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{Count, Histogram, Kept, SeriesKind, Totals};
    use crate::op::{Failure, OpKind};

    fn one(second: u32) -> Interval {
        let mut interval = Interval::new(second);
        interval.waited_ns = 1_000_000;
        let part = interval.kind_mut(OpKind::Read);
        (part.requests, part.ok, part.bytes.received) = (3, 2, 50);
        part.failures[Failure::Timeout.index()] = 1;
        part.response.record(u64::from(second) * 1_000_000 + 100);
        interval
    }

    fn measured(seconds: impl Iterator<Item = u32>) -> (SeriesLog, Totals) {
        let (mut series, mut totals) = (SeriesLog::default(), Totals::default());
        for second in seconds {
            let interval = one(second);
            series.add(&interval);
            totals.add(&interval);
        }
        (series, totals)
    }

    #[test]
    fn days_take_no_more_rows_than_minutes_and_lose_nothing() {
        const SECONDS: u32 = 1_500;
        let (mut series, totals) = measured(0..SECONDS);
        // A shard that reports late, about a second that was merged long ago.
        let mut late = Interval::new(5);
        late.kind_mut(OpKind::Read).requests = 7;
        series.add(&late);
        let is_shelved = |row: &&LoggedRow| matches!(row, LoggedRow::Shelved { .. });
        assert_eq!(series.rows.iter().filter(is_shelved).count(), series.rows.len() - LATEST_ROWS);
        let so_far = series.so_far();
        let (series, trouble) = series.finish();
        assert!(trouble.is_none());
        assert_eq!(so_far, series);
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
        assert!(all.bytes.received > 0);
        assert_eq!(sum(|part| part.count(Count::Received)), all.bytes.received);
        let waited_s: f64 = rows.iter().map(|row| row.waited_s).sum();
        assert!((waited_s - totals.sum().waited_ns as f64 / 1e9).abs() < 1e-6, "{waited_s} s");
        let mut response = Histogram::default();
        parts().for_each(|part| response.merge(&part.response.get()));
        assert_eq!(response.len(), all.response.len());
        for percentile in [0.0, 10.0, 50.0, 90.0, 99.0, 100.0] {
            let (kept, true_ns) =
                (response.percentile(percentile), all.response.percentile(percentile));
            assert!(kept.abs_diff(true_ns) <= true_ns / 100, "{percentile}: {kept}, {true_ns}");
        }
        assert!(parts().rev().skip(3).all(|part| matches!(part.response, Kept::Packed(_))));
    }

    #[test]
    fn a_long_stage_takes_a_limited_number_of_bytes_and_a_short_one_keeps_every_second() {
        let of = |seconds: u32, most_bytes: usize| {
            let mut series = SeriesLog { most_bytes, ..SeriesLog::default() };
            for second in 0..seconds {
                let mut interval = one(second);
                let part = interval.kind_mut(OpKind::Read);
                (1..100).for_each(|place| part.response.record(place * 137_000));
                series.add(&interval);
            }
            series
        };
        let short = of(MOST_ROWS as u32, 100_000);
        assert!(short.bytes() > 100_000, "{} bytes", short.bytes());
        assert_eq!(short.rows.len(), MOST_ROWS);
        let free = of(1_000, usize::MAX);
        let long = of(1_000, 100_000);
        assert!(free.bytes() > 150_000, "{} bytes", free.bytes());
        assert!(long.bytes() <= 100_000, "{} bytes", long.bytes());
        assert!(long.rows.len() > LATEST_ROWS + 30, "{} rows", long.rows.len());
        let samples = |series: SeriesLog| -> u64 {
            let rows = series.finish().0.rows;
            rows.iter().map(|row| row.kinds[&OpKind::Read].response.get().len()).sum()
        };
        assert_eq!(samples(long), samples(free));
        // What cannot be had is not tried for ever.
        assert_eq!(samples(of(700, 0)), 700 * 100);
    }

    #[test]
    fn what_each_node_did_is_there_after_rows_were_joined() {
        let mut series = SeriesLog::default().with_nodes(true);
        let mut alone = SeriesLog::default();
        for second in 0..1_500 {
            let mut interval = one(second);
            for place in 0..2 {
                let node = interval.node_mut(place);
                (node.requests, node.ok, node.accepted) = (3, 2, 1);
                node.failures[Failure::Timeout.index()] = 4;
                node.response.record(100);
            }
            series.add(&interval);
            alone.add(&interval);
        }
        let (series, _) = series.finish();
        assert!(series.rows.iter().any(|row| row.seconds > 1), "some were joined");
        for row in &series.rows {
            let seconds = u64::from(row.seconds);
            assert_eq!(row.nodes.len(), 2);
            for node in &row.nodes {
                let counts = (node.requests, node.ok, node.accepted);
                assert_eq!(counts, (3 * seconds, 2 * seconds, seconds));
                assert_eq!(node.failures, [(Failure::Timeout, 4 * seconds)].into());
                assert_eq!(node.response.get().len(), seconds);
            }
        }
        assert!(alone.finish().0.rows.iter().all(|row| row.nodes.is_empty()), "if asked for");
    }

    #[test]
    fn the_latest_second_is_the_last_one_that_is_over_by_then() {
        let (series, _) = measured([0, 1, 4].into_iter());
        let latest = |until| series.latest(until).map(|row| row.second);
        assert_eq!([0, 1, 2, 4, 5].map(latest), [None, Some(0), Some(1), Some(1), Some(4)]);
        assert_eq!(latest(u32::MAX), Some(4));
    }

    #[test]
    fn a_file_that_cannot_be_used_loses_nothing_or_says_so() {
        let sum = |series: &Series| -> u64 {
            series.rows.iter().map(|row| row.kinds.get(&OpKind::Read).map_or(0, |it| it.ok)).sum()
        };
        let full = || Some(Shelf::on(std::fs::File::open("/dev/null").unwrap()));
        let (mut series, _) = measured(0..30);
        series.shelf = full();
        (30..200).for_each(|second| series.add(&one(second)));
        let (series, trouble) = series.finish();
        assert!(trouble.is_none());
        assert_eq!(sum(&series), 400, "all stayed in memory");
        let (mut series, _) = measured(0..200);
        series.shelf = full();
        let (series, trouble) = series.finish();
        assert!(trouble.is_some());
        assert_eq!((series.rows.len(), sum(&series)), (200, 60), "those in memory are there");
    }

    #[test]
    fn rows_that_lie_far_apart_are_joined_in_the_end() {
        let (series, totals) = measured((0..700).map(|hour| hour * 7_200));
        let (series, _) = series.finish();
        assert_eq!(series.rows.len(), MOST_ROWS);
        let requests = series.rows.iter().map(|row| row.kinds[&OpKind::Read].requests);
        assert_eq!(requests.sum::<u64>(), totals.sum().kind(OpKind::Read).unwrap().requests);
    }
}
