//! The growth of a database during a fill: when batches were inserted, and the sizes that the
//! server reported.

use crate::clock::{Nanos, SECOND_NS};
use serde::{Deserialize, Serialize};

/// One shard's log of a fill: the number of documents over time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FillLog {
    chunk: u64,
    points: Vec<(Nanos, u64)>,
}

impl FillLog {
    /// An empty log that keeps one point per `chunk` documents or per batch, whichever is larger.
    pub const fn new(chunk: u64) -> Self {
        Self { chunk, points: Vec::new() }
    }

    /// Adds documents that had been inserted by `offset_ns` after the start.
    #[inline]
    pub fn add(&mut self, offset_ns: Nanos, documents: u64) {
        match self.points.last_mut() {
            Some(last) if last.1 + documents <= self.chunk => {
                *last = (offset_ns, last.1 + documents);
            }
            _ => self.points.push((offset_ns, documents)),
        }
    }
}

/// How a database grew during a stage.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Growth {
    /// The number of documents in a window: a point is recorded for each window.
    pub window: u64,
    /// The rate in each window, in order.
    pub points: Vec<GrowthPoint>,
    /// The sizes that the server reported, in order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<SizePoint>,
}

/// A window of a fill.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GrowthPoint {
    /// Documents inserted by the end of the window, in total.
    pub documents: u64,
    /// When the window ended, in seconds from the stage's start.
    pub at_s: f64,
    /// Documents per second in the window.
    pub per_s: f64,
    /// Whether it is the last window, and incomplete.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
}

/// A size reported by the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SizePoint {
    /// When it was reported, in seconds from the stage's start.
    pub at_s: f64,
    /// The number of documents; `None` if not reported.
    pub documents: Option<u64>,
    /// The size of the files in bytes (`sizes.file`); `None` if not reported.
    pub file_bytes: Option<u64>,
    /// The size of live data in bytes (`sizes.active`); `None` if not reported.
    pub active_bytes: Option<u64>,
}

impl Growth {
    /// The growth logged by the shards, in windows of `window` (at least 1) documents. A batch that
    /// fills a window belongs to it as a whole.
    pub fn new(logs: &[FillLog], window: u64) -> Self {
        let mut batches: Vec<_> = logs.iter().flat_map(|log| log.points.iter().copied()).collect();
        batches.sort_unstable();
        let (mut points, mut since_ns) = (Vec::new(), 0);
        let (mut documents, mut inside, mut last_ns) = (0, 0, 0);
        let mut point = |documents, inside: u64, since_ns: Nanos, until_ns: Nanos| {
            let seconds = |ns: Nanos| ns as f64 / SECOND_NS as f64;
            let length_s = seconds(until_ns - since_ns);
            let per_s = if length_s > 0.0 { inside as f64 / length_s } else { 0.0 };
            let partial = inside < window;
            points.push(GrowthPoint { documents, at_s: seconds(until_ns), per_s, partial });
        };
        for (offset_ns, count) in batches {
            documents += count;
            inside += count;
            last_ns = offset_ns;
            if inside >= window {
                point(documents, inside, since_ns, offset_ns);
                (since_ns, inside) = (offset_ns, 0);
            }
        }
        if inside > 0 {
            point(documents, inside, since_ns, last_ns);
        }
        Self { window, points, sizes: Vec::new() }
    }

    /// The sizes of the files, each with its time in seconds.
    fn files(&self) -> impl DoubleEndedIterator<Item = (f64, f64)> {
        self.sizes.iter().filter_map(|it| Some((it.at_s, it.file_bytes? as f64)))
    }

    /// By how many bytes the files grew; negative if they shrank.
    pub fn grew(&self) -> f64 {
        let (first, last) = (self.files().next(), self.files().next_back());
        first.zip(last).map_or(0.0, |(first, last)| last.1 - first.1)
    }

    /// The size of the files in bytes at a time in seconds: interpolated between the reports before
    /// and after it. Before the first report and after the last one, their sizes apply.
    pub fn bytes_at(&self, at_s: f64) -> f64 {
        let before = self.files().take_while(|(time, _)| *time <= at_s).last();
        let after = self.files().find(|(time, _)| *time > at_s);
        match (before, after) {
            (Some((from_s, from)), Some((to_s, to))) => {
                from + (to - from) * (at_s - from_s) / (to_s - from_s)
            }
            (one, other) => one.or(other).map_or(0.0, |(_, bytes)| bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_ends_with_the_batch_that_fills_it() {
        let mut logs = [FillLog::new(0), FillLog::new(0)];
        for (shard, at_s, documents) in [(0, 1, 10), (1, 2, 10), (0, 3, 10), (1, 4, 10), (0, 6, 5)]
        {
            logs[shard].add(at_s * SECOND_NS, documents);
        }
        let growth = Growth::new(&logs, 20);
        let point =
            |documents, at_s, per_s, partial| GrowthPoint { documents, at_s, per_s, partial };
        let points =
            [point(20, 2.0, 10.0, false), point(40, 4.0, 10.0, false), point(45, 6.0, 2.5, true)];
        assert_eq!(growth.points, points);
    }

    #[test]
    fn windows_that_end_at_the_same_moment_have_no_infinite_rate() {
        let mut log = FillLog::new(0);
        log.add(SECOND_NS, 20);
        log.add(SECOND_NS, 20);
        let growth = Growth::new(&[log], 20);
        assert_eq!(growth.points.iter().map(|it| it.per_s).collect::<Vec<_>>(), [20.0, 0.0]);
    }

    #[test]
    fn sizes_between_reports_lie_on_a_line() {
        let size = |at_s, file_bytes| SizePoint { at_s, file_bytes, ..SizePoint::default() };
        let sizes = vec![size(1.0, Some(100)), size(2.0, None), size(3.0, Some(300))];
        let growth = Growth { sizes, ..Growth::default() };
        let shown = [0.0, 1.0, 1.5, 3.0, 9.0].map(|at_s| growth.bytes_at(at_s) as u64);
        assert_eq!(shown, [100, 100, 150, 300, 300]);
        assert_eq!((growth.grew(), Growth::default().grew()), (200.0, 0.0));
        assert_eq!(Growth::default().bytes_at(1.0) as u64, 0);
    }

    #[test]
    fn a_log_stays_small_and_loses_no_document() {
        let mut log = FillLog::new(100);
        (1..=1_000).for_each(|n| log.add(n, 7));
        assert!(log.points.len() <= 72, "{}", log.points.len());
        assert_eq!(log.points.iter().map(|(_, documents)| documents).sum::<u64>(), 7_000);
    }
}
