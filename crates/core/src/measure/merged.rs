//! All operations of a stage together. Counts are added and histograms are merged; percentiles are
//! those of the merged histogram, never means of percentiles.

use super::histogram::Histogram;
use super::latency::Latency;
use super::summary::OperationSummary;
use crate::op::Failure;
use std::collections::BTreeMap;

/// All operations of a stage together. Counts are documents.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Merged {
    /// Completed requests.
    pub requests: u64,
    /// Documents for which an operation was begun.
    pub issued: u64,
    /// Documents that succeeded.
    pub ok: u64,
    /// Documents that failed, per class.
    pub failures: BTreeMap<Failure, u64>,
    /// Documents without an answer when the run ended.
    pub unfinished: u64,
    /// Documents that succeeded during the time of the stage, per second.
    pub throughput_per_s: f64,
    /// Response times of requests that succeeded at least in part.
    pub response: Latency,
    /// Service times of the same requests.
    pub service: Latency,
}

impl Merged {
    /// Merges `operations`. Each request must only be counted once: pass no composite operations.
    pub fn of<'a>(operations: impl IntoIterator<Item = &'a OperationSummary>) -> Self {
        let mut sum = Self::default();
        let (mut response, mut service) = (Histogram::default(), Histogram::default());
        for operation in operations {
            sum.requests += operation.requests;
            sum.issued += operation.issued;
            sum.ok += operation.ok;
            sum.unfinished += operation.unfinished;
            sum.throughput_per_s += operation.throughput_per_s;
            for (&class, count) in &operation.failures {
                *sum.failures.entry(class).or_default() += count;
            }
            response.merge(&operation.response.histogram);
            service.merge(&operation.service.histogram);
        }
        Self { response: Latency::new(response), service: Latency::new(service), ..sum }
    }

    /// Documents that failed, over all classes.
    pub fn failed(&self) -> u64 {
        self.failures.values().sum()
    }

    /// The share of documents that failed, 0 to 1; 0 if there are none.
    pub fn failed_share(&self) -> f64 {
        self.failed() as f64 / self.issued.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{Interval, Totals};
    use crate::op::OpKind;

    #[test]
    fn percentiles_are_those_of_all_times_and_not_means_of_percentiles() {
        let mut totals = Totals::default();
        // 990 fast reads, and 10 or 1,000 slow updates.
        for (kind, count, ms) in [(OpKind::Read, 990, 1), (OpKind::Update, 20, 100)] {
            let mut interval = Interval::new(0);
            let part = interval.kind_mut(kind);
            (part.requests, part.ok) = (count, count - 5);
            part.failures[Failure::Conflict.index()] = 5;
            (0..count).for_each(|_| part.response.record(ms * 1_000_000));
            *totals.issued.of(kind) = count + 1;
            totals.add(&interval);
        }
        let kinds = totals.summarize(2.0);
        let all = Merged::of(&kinds);
        assert_eq!((all.requests, all.issued, all.ok), (1_010, 1_012, 1_000));
        assert_eq!((all.failed(), all.unfinished), (10, 2));
        assert!((all.throughput_per_s - 500.0).abs() < 1e-9);
        assert!((all.failed_share() - 10.0 / 1_012.0).abs() < 1e-9);
        let near = |us: Option<f64>, ms: f64| us.is_some_and(|us| (us / 1e3 - ms).abs() < 0.1);
        assert!(near(all.response.p50_us, 1.0) && near(all.response.p95_us, 1.0), "{all:?}");
        assert!(near(all.response.p99_us, 100.0), "the twenty slowest of 1,010: {all:?}");
        assert_eq!(all.response.p99_9_us, None, "one sample lies beyond");
        assert_eq!(kinds[1].response.p99_us, None, "of the updates alone it would be too few");
        assert_eq!(Merged::of(&[]).response.p50_us, None);
    }
}
