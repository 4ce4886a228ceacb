//! A histogram in exponential buckets, as in OTLP and Prometheus' native histograms: bucket `i`
//! holds values greater than `base^i`, up to and including `base^(i+1)`, where `base` is
//! `2^(2^-scale)`.
//! <https://opentelemetry.io/docs/specs/otel/metrics/data-model/#exponentialhistogram>

use crate::measure::Histogram;
use std::collections::BTreeMap;

/// Buckets are 2.2 % wide: 32 of them span a factor of two. That is twenty times the resolution of
/// a stored time, so that few times are counted in a neighboring bucket.
pub(super) const SCALE: i32 = 5;
const PER_DOUBLING: f64 = 32.0;
/// Times below springload's resolution, in nanoseconds, count as zero.
const ZERO_NS: u64 = 64;
/// The same in seconds.
pub(super) const ZERO_S: f64 = 64e-9;

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Buckets {
    pub(super) count: u64,
    pub(super) sum_s: f64,
    pub(super) min_s: f64,
    pub(super) max_s: f64,
    pub(super) zero: u64,
    /// The buckets that are not empty.
    pub(super) counts: BTreeMap<i32, u64>,
}

impl Buckets {
    pub(super) fn of(histogram: &Histogram) -> Self {
        let mut buckets = Self { count: histogram.len(), ..Self::default() };
        if buckets.count == 0 {
            return buckets;
        }
        buckets.sum_s = histogram.mean() * buckets.count as f64 / 1e9;
        (buckets.min_s, buckets.max_s) =
            (histogram.min() as f64 / 1e9, histogram.max() as f64 / 1e9);
        for (ns, count) in histogram.counts() {
            if ns < ZERO_NS {
                buckets.zero += count;
            } else {
                *buckets.counts.entry(index(ns as f64 / 1e9)).or_default() += count;
            }
        }
        buckets
    }
}

/// The bucket of a time in seconds.
fn index(seconds: f64) -> i32 {
    (seconds.log2() * PER_DOUBLING).ceil() as i32 - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn upper_s(index: i32) -> f64 {
        (f64::from(index + 1) / PER_DOUBLING).exp2()
    }

    #[test]
    fn a_time_is_in_its_bucket_and_none_is_lost() {
        for seconds in [1e-7, 0.000_4, 0.5, 1.0, 1.000_001, 2.0, 3_600.0] {
            let (at, within) = (index(seconds), 1.0 + 1e-9);
            assert!(seconds <= upper_s(at) * within, "{seconds} s is beyond {at}");
            assert!(seconds * within > upper_s(at - 1), "{seconds} s is before {at}");
        }
        assert_eq!([index(1.0), index(2.0), index(0.5)], [-1, 31, -33]);
        let mut histogram = Histogram::default();
        (0..10_000_u64).for_each(|i| histogram.record(i * i * 37));
        let buckets = Buckets::of(&histogram);
        let sum: u64 = buckets.counts.values().sum();
        assert_eq!((buckets.count, sum + buckets.zero), (10_000, 10_000));
        assert!(buckets.zero > 0 && buckets.zero <= 2, "{}", buckets.zero);
        // The median is known to the width of a bucket.
        let mut below = buckets.zero;
        let median = buckets.counts.iter().find(|(_, count)| {
            below += **count;
            below >= 5_000
        });
        let exact = 5_000.0_f64.powi(2) * 37.0 / 1e9;
        let upper = upper_s(*median.expect("a median").0);
        assert!((upper / exact - 1.0).abs() < 0.025, "{upper} s, not {exact} s");
        assert_eq!(Buckets::of(&Histogram::default()), Buckets::default());
    }
}
