//! The seconds of a running stage, each reported once no more is expected of it.

use super::SeriesRow;
use crate::clock::SECOND_NS;
use crate::measure::Interval;
use std::collections::BTreeMap;

/// A second of a stage.
#[derive(Clone, Debug, PartialEq)]
pub struct Second {
    /// What was measured; empty if nothing ended in this second.
    pub row: SeriesRow,
    /// Whether the second was reported before: then this arrived too late for it, and has to be
    /// added.
    pub late: bool,
}

/// The seconds that are still to be reported.
#[derive(Debug, Default)]
pub struct Seconds {
    rows: BTreeMap<u32, SeriesRow>,
    /// The first second that has not been reported.
    next: u32,
}

impl Seconds {
    /// Adds one shard's second.
    pub fn add(&mut self, interval: &Interval) {
        if interval.is_empty() {
            return;
        }
        let second = interval.second;
        let row = self.rows.entry(second).or_insert_with(|| SeriesRow::new(second, 1));
        row.waited_s += interval.waited_ns as f64 / SECOND_NS as f64;
        for (kind, part) in interval.iter() {
            row.kinds.entry(kind).or_default().merge(part);
        }
    }

    /// Takes all seconds before `until`, including those in which nothing ended and late additions.
    pub fn before(&mut self, until: u32) -> Vec<Second> {
        let later = self.rows.split_off(&until);
        let mut rows = std::mem::replace(&mut self.rows, later);
        let on_time = rows.split_off(&self.next);
        let mut due: Vec<_> = rows.into_values().map(|row| Second { row, late: true }).collect();
        let mut on_time = on_time.into_values().peekable();
        for second in self.next..until {
            let row = on_time.next_if(|row| row.second == second);
            let row = row.unwrap_or_else(|| SeriesRow::new(second, 1));
            due.push(Second { row, late: false });
        }
        self.next = self.next.max(until);
        due
    }

    /// Takes all that is left.
    pub fn rest(&mut self) -> Vec<Second> {
        let last = self.rows.last_key_value().map_or(0, |(&second, _)| second.saturating_add(1));
        self.before(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::OpKind;

    fn one(second: u32, requests: u64) -> Interval {
        let mut interval = Interval::new(second);
        interval.kind_mut(OpKind::Read).requests = requests;
        interval
    }

    /// For each second: its number, whether it is late, and its requests.
    fn shown(seconds: &[Second]) -> Vec<(u32, bool, u64)> {
        let requests = |row: &SeriesRow| row.kinds.values().map(|part| part.requests).sum();
        seconds.iter().map(|it| (it.row.second, it.late, requests(&it.row))).collect()
    }

    #[test]
    fn each_second_is_reported_once_and_nothing_is_lost() {
        let mut seconds = Seconds::default();
        seconds.add(&one(0, 3));
        seconds.add(&one(0, 4));
        seconds.add(&one(2, 5));
        assert_eq!(shown(&seconds.before(2)), [(0, false, 7), (1, false, 0)]);
        assert_eq!(shown(&seconds.before(2)), []);
        // A shard that reports late.
        seconds.add(&one(0, 6));
        seconds.add(&one(3, 1));
        assert_eq!(shown(&seconds.before(3)), [(0, true, 6), (2, false, 5)]);
        seconds.add(&one(1, 2));
        assert_eq!(shown(&seconds.rest()), [(1, true, 2), (3, false, 1)]);
        assert_eq!(shown(&seconds.rest()), []);
        seconds.add(&one(2, 9));
        assert_eq!(shown(&seconds.rest()), [(2, true, 9)]);
    }

    #[test]
    fn waits_for_a_processor_add_up_over_shards() {
        let mut seconds = Seconds::default();
        for waited_ns in [500_000_000, 250_000_000] {
            let mut interval = Interval::new(0);
            interval.waited_ns = waited_ns;
            seconds.add(&interval);
        }
        let waited_s = seconds.rest()[0].row.waited_s;
        assert!((waited_s - 0.75).abs() < 1e-9, "{waited_s}");
    }
}
