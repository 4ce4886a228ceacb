//! How certain a figure is within its run, by the intervals of the stages.

use super::{Estimate, RunRecord, StageRecord};
use crate::measure::Statistic;
use crate::plan::{Metric, Quantity, Span};
use crate::statistics::{Bounds, sum_interval};

impl RunRecord {
    /// The 95 % interval of a quantity within the run, in its unit (`Unit::of`). It does not show
    /// how much runs vary. `None`: the quantity has none, or a stage is too short for it.
    pub fn within(&self, quantity: Quantity) -> Option<Bounds> {
        match (quantity.metric, &self.stages_of(quantity)[..]) {
            (_, [stage]) => stage.interval(quantity),
            (Metric::Throughput, stages) => rate(stages, quantity),
            // A percentile over several stages cannot be derived from theirs.
            _ => None,
        }
    }
}

/// The rate over several stages is the mean of theirs, weighted by their lengths.
fn rate(stages: &[&StageRecord], quantity: Quantity) -> Option<Bounds> {
    let all_s: f64 = stages.iter().map(|stage| stage.rates_over_s()).sum();
    let part = |stage: &&StageRecord| {
        let bounds = stage.interval(quantity)?;
        let weight = stage.rates_over_s() / all_s;
        Some((weight, f64::midpoint(bounds.low, bounds.high), bounds))
    };
    let parts: Option<Vec<_>> = stages.iter().map(part).collect();
    parts.filter(|parts| !parts.is_empty() && all_s > 0.0).map(|parts| sum_interval(&parts))
}

impl StageRecord {
    /// The 95 % interval of a quantity within this stage, in its unit. `None`: the quantity has
    /// none, or the stage is too short for it.
    pub fn interval(&self, quantity: Quantity) -> Option<Bounds> {
        let estimates = self.estimates.as_ref()?;
        let own = match quantity.kind {
            None => &estimates.all,
            Some(kind) => estimates.operations.get(&kind)?,
        };
        let estimate = match quantity.metric {
            Metric::Throughput => own.throughput_per_s,
            Metric::Time(Span::Response, Statistic::P50) => own.p50_us,
            Metric::Time(Span::Response, Statistic::P99) => own.p99_us,
            _ => None,
        };
        match estimate? {
            Estimate::Interval { low, high } => Some(Bounds { low, high }),
            Estimate::TooShort { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::OpKind;
    use crate::record::{Estimates, Intervals, fixture};
    use std::collections::BTreeMap;

    fn estimates(throughput: (f64, f64), p99_us: Option<Estimate>) -> Estimates {
        let (low, high) = throughput;
        let throughput_per_s = Some(Estimate::Interval { low, high });
        let all = Intervals { throughput_per_s, p50_us: None, p99_us };
        let read = Intervals { p50_us: Some(Estimate::Interval { low: 7.0, high: 8.0 }), ..all };
        Estimates {
            over_s: 60,
            step_s: 1,
            all,
            operations: BTreeMap::from([(OpKind::Read, read)]),
            steady_from_s: None,
            unsettled: false,
            trends: Vec::new(),
        }
    }

    fn within(record: &RunRecord, name: &str) -> Option<(f64, f64)> {
        record.within(name.parse().unwrap()).map(|it| (it.low, it.high))
    }

    #[test]
    fn the_interval_is_of_the_right_kind_and_metric() {
        let mut record = fixture::record(&[]);
        assert_eq!(within(&record, "read.p99"), None, "there are no estimates");
        let p99 = Some(Estimate::Interval { low: 1_000.0, high: 1_200.0 });
        record.stages[2].estimates = Some(estimates((90.0, 110.0), p99));
        assert_eq!(within(&record, "read.throughput"), Some((90.0, 110.0)));
        assert_eq!(within(&record, "read.p99"), Some((1_000.0, 1_200.0)));
        assert_eq!(within(&record, "read.p50"), Some((7.0, 8.0)));
        for without in ["read.p90", "read.service.p99", "read.err", "update.p99", "scan.p99"] {
            assert_eq!(within(&record, without), None, "{without}");
        }
        let short = Some(Estimate::TooShort { needed_s: 90 });
        record.stages[2].estimates = Some(estimates((90.0, 110.0), short));
        assert_eq!(within(&record, "read.p99"), None);
    }

    /// What precedes the load is not part of it.
    #[test]
    fn the_fill_has_intervals_of_its_own() {
        let mut record = fixture::record(&[]);
        let p99 = Some(Estimate::Interval { low: 1_000.0, high: 1_200.0 });
        record.stages[2].estimates = Some(estimates((90.0, 110.0), p99));
        assert_eq!(within(&record, "throughput"), Some((90.0, 110.0)));
        assert_eq!(within(&record, "p99"), Some((1_000.0, 1_200.0)));
        assert_eq!(within(&record, "bulk_insert.throughput"), None);
    }

    #[test]
    fn of_several_bursts_there_is_one_of_the_rate_alone() {
        let mut record = fixture::record(&[]);
        let p99 = Some(Estimate::Interval { low: 1_000.0, high: 1_200.0 });
        let mut second = record.stages[2].clone();
        second.estimates = Some(estimates((10.0, 10.0), p99));
        record.stages.push(second);
        assert_eq!(within(&record, "throughput"), None, "the first has none");
        record.stages[2].estimates = Some(estimates((90.0, 110.0), p99));
        // Both took the same time.
        assert_eq!(within(&record, "throughput"), Some((50.0, 60.0)));
        assert_eq!(within(&record, "p99"), None);
    }

    #[test]
    fn stages_without_length_have_no_rate() {
        let mut record = fixture::record(&[]);
        record.stages[2].estimates = Some(estimates((90.0, 110.0), None));
        record.stages.push(record.stages[2].clone());
        assert!(within(&record, "throughput").is_some());
        for stage in &mut record.stages {
            (stage.elapsed_s, stage.measured_s) = (0.0, 0.0);
        }
        assert_eq!(within(&record, "throughput"), None);
    }
}
