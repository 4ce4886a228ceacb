//! What replication did beside the load and after it: when it ran, how far each target lagged
//! behind its source, and whether every document arrived.

use super::histogram::Histogram;
use super::is_default;
use super::latency::Latency;
use crate::clock::{Nanos, SECOND_NS};
use serde::{Deserialize, Serialize};

/// The replication of a run. Times are in seconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Replication {
    /// The databases, in the order given. The load went to the first.
    pub places: Vec<ReplicaPlace>,
    /// The time from the first request for a replication until all of them were running; `None` if
    /// they never all were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running_s: Option<f64>,
    /// The replications.
    pub links: Vec<ReplicationLink>,
    /// In a chain of several replications, the markers of the first source, looked up at the last
    /// target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_to_end: Option<EndToEnd>,
    /// The number of marker documents left in databases that are not deleted, as far as known.
    #[serde(default, skip_serializing_if = "is_default")]
    pub markers_left: u64,
    /// What was created for the run and could not be removed, with the reasons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<String>,
}

/// A database that takes part in replication.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReplicaPlace {
    /// The server, without credentials.
    pub server: String,
    /// The database.
    pub database: String,
    /// The server's name and version.
    pub version: String,
    /// Whether the run created the database.
    pub created: bool,
}

/// The outcome of a replication.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LinkEnd {
    /// The run ended before this could be determined.
    #[default]
    Unknown,
    /// The target has every document of the source.
    Converged,
    /// The target did not have all documents when the time was up, or refused them.
    Behind,
    /// The replication had nothing left to do, but the target did not have all documents.
    Lost,
    /// The source or the target did not respond.
    Gone,
}

/// A chain of replications, from its first database to its last.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EndToEnd {
    /// The index of the first source in `places`, from 0.
    pub source: usize,
    /// The index of the last target in `places`.
    pub target: usize,
    /// The markers of that source, looked up at that target.
    pub markers: Markers,
}

/// A replication from one database to another.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReplicationLink {
    /// The index of its source in `places`, from 0.
    pub source: usize,
    /// The index of its target in `places`.
    pub target: usize,
    /// The time from the request for it until the server first reported that it was running.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running_s: Option<f64>,
    /// The time from the request for it until the target had caught up with the source; `None` if
    /// it did not before the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filled_s: Option<f64>,
    /// The number of documents that the target had then, including deleted ones.
    #[serde(default, skip_serializing_if = "is_default")]
    pub filled_documents: u64,
    /// The markers of its source, looked up at its target.
    pub markers: Markers,
    /// Its state at the end of the run, in the server's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// The server's reason for its failure, the reason nothing is known, or why nothing more was
    /// waited for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether its server said at the end of the run that it had failed, for good or until the next
    /// attempt.
    #[serde(default, skip_serializing_if = "is_default")]
    pub failed: bool,
    /// The number of documents that it has written, as counted by its server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub documents_written: Option<u64>,
    /// The number of writes that the target rejected, as counted by its server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_failures: Option<u64>,
    /// Its outcome.
    pub end: LinkEnd,
    /// The time from the end of the load until the target had everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub converged_s: Option<f64>,
    /// The comparison of source and target at the end; `None` if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Comparison>,
}

/// The documents of a source, including deleted ones, each looked up at the target with its
/// revision.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// The number of documents that were looked up, and of those that the source counts but does
    /// not list, which are missing.
    pub documents: u64,
    /// The number of documents that the target does not have.
    pub missing: u64,
    /// The number of documents that the target has in another revision.
    pub different: u64,
    /// The number of documents whose revision the target has, although it shows another one: of its
    /// own, because it had documents with the same IDs before, or a newer one, which in a mesh the
    /// source gets later, and which otherwise it got during the comparison.
    #[serde(default, skip_serializing_if = "is_default")]
    pub overruled: u64,
    /// The IDs of the first missing and different ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(length(max = Comparison::MOST_NAMED)))]
    pub examples: Vec<String>,
}

impl Comparison {
    /// The most documents that are named.
    pub const MOST_NAMED: usize = 5;

    /// Documents that did not arrive unchanged.
    pub const fn wrong(&self) -> u64 {
        self.missing + self.different
    }
}

/// Documents that were written to a source, to be looked up at a target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Markers {
    /// Markers whose write was acknowledged.
    pub written: u64,
    /// Markers whose write was not acknowledged.
    #[serde(default, skip_serializing_if = "is_default")]
    pub write_failures: u64,
    /// Acknowledged markers that were not seen before the search was abandoned.
    pub unseen: u64,
    /// Requests to the target that failed and were retried.
    #[serde(default, skip_serializing_if = "is_default")]
    pub look_failures: u64,
    /// The first error in a write or a lookup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The time from the acknowledgement of the write to the end of the target's first response
    /// that showed the marker.
    pub lag: Latency,
    /// The longest lag in each step of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(length(max = MarkerLog::MOST_POINTS)))]
    pub over_time: Vec<LagPoint>,
}

/// The longest lag of the markers written in one step of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LagPoint {
    /// When the writes of these markers were acknowledged: the start of the step, in seconds from
    /// the stage's start.
    pub at_s: u32,
    /// The number of seconds it covers.
    pub seconds: u32,
    /// The number of these markers that were seen.
    pub markers: u64,
    /// Their longest lag, in microseconds.
    pub longest_us: f64,
}

/// Collects the lags of markers.
#[derive(Debug, Default)]
pub struct MarkerLog {
    lags: Histogram,
    points: Vec<LagPoint>,
    /// The seconds of a point; 0 before the first.
    seconds: u32,
}

impl MarkerLog {
    /// The most points. Beyond that, each one covers more seconds.
    pub const MOST_POINTS: usize = 600;

    /// Notes a marker that was acknowledged `at_ns` after the start of the stage and was seen
    /// `after_ns` after that.
    pub fn seen(&mut self, at_ns: Nanos, after_ns: Nanos) {
        self.lags.record(after_ns);
        let second = u32::try_from(at_ns / SECOND_NS).unwrap_or(u32::MAX);
        self.seconds = self.seconds.max(1);
        while second / self.seconds >= Self::MOST_POINTS as u32 {
            self.coarsen();
        }
        let at_s = second / self.seconds * self.seconds;
        let place = self.points.partition_point(|point| point.at_s < at_s);
        if self.points.get(place).is_none_or(|point| point.at_s != at_s) {
            let seconds = self.seconds;
            self.points.insert(place, LagPoint { at_s, seconds, ..LagPoint::default() });
        }
        let point = &mut self.points[place];
        point.markers += 1;
        point.longest_us = point.longest_us.max(after_ns as f64 / 1e3);
    }

    /// Makes each point cover twice as many seconds.
    fn coarsen(&mut self) {
        self.seconds = self.seconds.saturating_mul(2);
        let mut merged: Vec<LagPoint> = Vec::new();
        for point in self.points.drain(..) {
            let at_s = point.at_s / self.seconds * self.seconds;
            match merged.last_mut().filter(|last| last.at_s == at_s) {
                Some(last) => {
                    last.markers += point.markers;
                    last.longest_us = last.longest_us.max(point.longest_us);
                }
                None => merged.push(LagPoint { at_s, seconds: self.seconds, ..point }),
            }
        }
        self.points = merged;
    }

    /// The lags, and the longest of them over time.
    pub fn finish(self) -> (Latency, Vec<LagPoint>) {
        (Latency::new(self.lags), self.points)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_lag_of_each_second_is_kept_and_long_runs_have_longer_steps() {
        let mut log = MarkerLog::default();
        for (at_s, lag_ms) in [(0, 5), (0, 9), (2, 4), (1, 7), (2, 3)] {
            log.seen(at_s * SECOND_NS, lag_ms * 1_000_000);
        }
        let (lag, points) = log.finish();
        // Histograms round their values, points do not.
        assert_eq!((lag.samples, (lag.max_us / 100.0).round()), (5, 90.0));
        let seen = points.iter().map(|it| (it.at_s, it.markers, it.longest_us));
        assert_eq!(seen.collect::<Vec<_>>(), [(0, 2, 9_000.0), (1, 1, 7_000.0), (2, 2, 4_000.0)]);

        let mut log = MarkerLog::default();
        for second in 0..5_000 {
            log.seen(second * SECOND_NS, second * 1_000);
        }
        let (lag, points) = log.finish();
        assert_eq!(lag.samples, 5_000);
        assert!(points.len() <= MarkerLog::MOST_POINTS, "{}", points.len());
        assert_eq!(points.iter().map(|it| it.markers).sum::<u64>(), 5_000);
        let last = points.last().unwrap();
        assert_eq!((last.seconds, last.longest_us), (16, 4_999.0));
        assert!(points.windows(2).all(|pair| pair[0].at_s + 16 == pair[1].at_s));
        assert!(points.iter().all(|it| it.seconds == 16), "those from before, too");

        // A point begins at a multiple of its length, wherever its first marker was.
        let mut log = MarkerLog::default();
        for second in 0..3_000 {
            log.seen((2 * second + 1) * SECOND_NS, 1_000);
        }
        let (_, points) = log.finish();
        assert!(points.iter().all(|it| it.at_s % it.seconds == 0), "{points:?}");
    }
}
