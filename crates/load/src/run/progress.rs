//! The progress of a stage while it runs. Does not know who reads it.

use crate::measure::{Histogram, SeriesLog, Totals};
use crate::op::{Failure, OpKind};

/// How long after its end a second is shown as the current one, in seconds.
const CURRENT_S: f64 = 3.0;

/// The progress of a stage.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// Time since its start, in seconds.
    pub elapsed_s: f64,
    /// Requests that have ended, up to the last full second.
    pub requests: u64,
    /// Documents that succeeded, up to the last full second.
    pub ok: u64,
    /// Documents that failed, up to the last full second.
    pub failed: u64,
    /// The last full second in which requests ended, counted from the stage's start, of those that
    /// all agents have reported.
    pub second: Option<u32>,
    /// Requests that succeeded in that second; the times cover only these.
    pub timed_per_s: u64,
    /// Documents that succeeded in that second.
    pub rate_per_s: u64,
    /// The median of their response times, in nanoseconds.
    pub p50_ns: u64,
    /// The 99th percentile of their response times, in nanoseconds.
    pub p99_ns: u64,
    /// The kinds of operations that have ended so far, in report order.
    pub kinds: Vec<KindProgress>,
    /// Documents that failed, per class, up to the last full second.
    pub failures: [u64; Failure::COUNT],
    /// The planned number of documents, if there is one.
    pub planned: Option<u64>,
    /// Whether there may be fewer, because the time is limited.
    pub is_most: bool,
    /// The planned length of the stage, if there is one.
    pub length_s: Option<f64>,
    /// Whether the stage is an audit.
    pub audits: bool,
    /// The database's word for the things counted.
    pub unit: &'static str,
}

/// The progress of one kind of operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KindProgress {
    /// The kind.
    pub kind: OpKind,
    /// Documents that succeeded, up to the last full second.
    pub ok: u64,
    /// Documents that failed, up to the last full second.
    pub failed: u64,
    /// Requests that ended in the last full second in which any did.
    pub requests_per_s: u64,
    /// Those of them that succeeded; the times cover only these.
    pub timed_per_s: u64,
    /// The median of their response times, in nanoseconds.
    pub p50_ns: u64,
    /// The 99th percentile of their response times, in nanoseconds.
    pub p99_ns: u64,
}

impl Progress {
    /// Whether the last second in which requests ended is recent enough to be shown as current.
    pub fn is_current(&self) -> bool {
        let ended_s = self.second.map(|second| f64::from(second) + 1.0);
        ended_s.is_some_and(|ended_s| self.elapsed_s < ended_s + CURRENT_S)
    }

    /// Copies what has been measured so far. Seconds from `until` on are not complete.
    pub(super) fn describe(&mut self, totals: &Totals, series: &SeriesLog, until: u32) {
        (self.requests, self.ok, self.failed) = (0, 0, 0);
        self.failures = [0; Failure::COUNT];
        self.kinds.clear();
        let last = series.latest(until);
        let mut all = Histogram::default();
        // An audit counts documents: some are rightly missing, and some are read twice.
        let audits = self.audits;
        let succeeds =
            |kind: OpKind| if audits { kind == OpKind::Verify } else { kind.is_request() };
        for (kind, part) in totals.sum().iter() {
            if kind.is_request() {
                self.requests += part.requests;
            }
            if succeeds(kind) {
                self.ok += part.ok;
            }
            if succeeds(kind) || kind == OpKind::Verify {
                self.failed += part.failed();
                for (sum, count) in self.failures.iter_mut().zip(part.failures) {
                    *sum += count;
                }
            }
            let last = last.and_then(|row| row.kinds.get(&kind));
            let response = last.map(|kind| kind.response.get()).unwrap_or_default();
            let requests = last.map_or(0, |kind| kind.requests);
            if kind.is_request() {
                all.merge(&response);
            }
            self.kinds.push(KindProgress {
                kind,
                ok: part.ok,
                failed: part.failed(),
                requests_per_s: requests,
                timed_per_s: response.len(),
                p50_ns: response.percentile(50.0),
                p99_ns: response.percentile(99.0),
            });
        }
        self.second = last.map(|row| row.second);
        let ended = last.into_iter().flat_map(|row| &row.kinds);
        self.rate_per_s =
            ended.filter(|(kind, _)| succeeds(**kind)).map(|(_, ended)| ended.ok).sum();
        (self.timed_per_s, self.p50_ns, self.p99_ns) =
            (all.len(), all.percentile(50.0), all.percentile(99.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Interval;

    fn second(second: u32, kind: OpKind, times_ns: &[u64], conflicts: u64) -> Interval {
        let mut interval = Interval::new(second);
        let part = interval.kind_mut(kind);
        part.requests = times_ns.len() as u64;
        part.ok = part.requests - conflicts;
        part.failures[Failure::Conflict.index()] = conflicts;
        for &ns in times_ns {
            part.response.record(ns);
        }
        interval
    }

    #[test]
    fn totals_are_of_the_stage_and_times_of_the_last_second() {
        let (mut totals, mut series) = (Totals::default(), SeriesLog::default());
        let mut progress = Progress::default();
        progress.describe(&totals, &series, u32::MAX);
        assert_eq!((progress.second, progress.requests, progress.p99_ns), (None, 0, 0));
        for interval in [
            second(0, OpKind::Read, &[1_000_000; 10], 0),
            second(3, OpKind::Update, &[2_000_000; 5], 2),
            second(3, OpKind::Update, &[8_000_000; 4], 0),
        ] {
            totals.add(&interval);
            series.add(&interval);
        }
        progress.describe(&totals, &series, u32::MAX);
        assert_eq!((progress.requests, progress.ok, progress.failed), (19, 17, 2));
        assert_eq!((progress.second, progress.timed_per_s, progress.rate_per_s), (Some(3), 9, 7));
        assert_eq!(progress.failures.iter().sum::<u64>(), 2);
        assert_eq!(progress.failures[Failure::Conflict.index()], 2);
        let near = |ns: u64, ms: u64| ns.abs_diff(ms * 1_000_000) < ms * 2_000;
        assert!(near(progress.p50_ns, 2) && near(progress.p99_ns, 8), "{progress:?}");
        let [read, update] = progress.kinds[..] else { panic!("{:?}", progress.kinds) };
        assert_eq!((read.kind, read.ok, read.requests_per_s), (OpKind::Read, 10, 0));
        assert_eq!((update.ok, update.failed, update.requests_per_s), (7, 2, 9));
        assert!(near(update.p50_ns, 2) && near(update.p99_ns, 8), "{update:?}");
    }

    /// One of two agents has not reported its part of the last second yet.
    #[test]
    fn a_second_is_shown_once_all_of_it_is_there() {
        let (mut totals, mut series) = (Totals::default(), SeriesLog::default());
        for interval in [
            second(3, OpKind::Read, &[1_000_000; 5], 0),
            second(3, OpKind::Read, &[1_000_000; 5], 0),
            second(4, OpKind::Read, &[1_000_000; 5], 0),
        ] {
            totals.add(&interval);
            series.add(&interval);
        }
        for (until, last, rate_per_s) in [(4, Some(3), 10), (5, Some(4), 5), (3, None, 0)] {
            let mut progress = Progress::default();
            progress.describe(&totals, &series, until);
            assert_eq!((progress.second, progress.rate_per_s), (last, rate_per_s), "{until}");
            assert_eq!(progress.requests, 15, "all that is known counts");
        }
    }

    /// Of three documents, two are as they should be, one of them rightly missing; finding that out
    /// took four reads, and a comparison is not a request.
    #[test]
    fn an_audit_counts_documents_and_a_load_counts_requests() {
        let (mut totals, mut series) = (Totals::default(), SeriesLog::default());
        for interval in [
            second(0, OpKind::Read, &[1_000_000; 4], 2),
            second(0, OpKind::Verify, &[9_000_000; 3], 1),
        ] {
            totals.add(&interval);
            series.add(&interval);
        }
        for (audits, ok, failed) in [(true, 2, 1), (false, 2, 3)] {
            let mut progress = Progress { audits, ..Progress::default() };
            progress.describe(&totals, &series, u32::MAX);
            let Progress { requests, timed_per_s, rate_per_s, .. } = progress;
            assert_eq!((progress.ok, progress.failed, rate_per_s), (ok, failed, ok));
            assert_eq!((requests, timed_per_s), (4, 4), "times are those of requests");
        }
    }
}
