//! Judges the plan's thresholds once from the record, over all measured stages.

use super::{RunRecord, StageRecord};
use crate::measure::{Histogram, OperationSummary};
use crate::plan::{Limit, Metric, Span, Statistic, Threshold};
use serde::{Deserialize, Serialize};

/// The judgement of one threshold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// The threshold: what makes the run fail.
    pub expression: Threshold,
    /// The measured value, in `unit`; `null`: too little was measured to judge.
    pub value: Option<f64>,
    /// The unit of `value`.
    pub unit: Unit,
    /// The run fails: the expression is true, or cannot be judged.
    pub broken: bool,
    /// Why it cannot be judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// The unit of a judged value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Microseconds.
    Us,
    /// Percent.
    Percent,
    /// Documents or requests.
    Count,
    /// Documents per second.
    PerSecond,
}

impl Judgement {
    /// The value in seconds, as a ratio, as a count or per second.
    pub fn in_base_units(&self) -> Option<f64> {
        let value = self.value?;
        Some(match self.unit {
            Unit::Us => value / 1e6,
            Unit::Percent => value / 100.0,
            Unit::Count | Unit::PerSecond => value,
        })
    }
}

/// Judges every threshold of the plan.
pub(super) fn judge(record: &RunRecord) -> Vec<Judgement> {
    let one = |threshold: &Threshold| {
        let (limit, unit) = match threshold.limit {
            Limit::Time(ns) => (ns as f64 / 1e3, Unit::Us),
            Limit::Percent(percent) => (percent, Unit::Percent),
            Limit::Number(number) if threshold.metric == Metric::Throughput => {
                (number, Unit::PerSecond)
            }
            Limit::Number(number) => (number, Unit::Count),
        };
        let (value, problem) = match value(record, threshold) {
            Ok(value) => (Some(value), None),
            Err(problem) => (None, Some(problem)),
        };
        let broken = value.is_none_or(|value| threshold.comparison.holds(value, limit));
        Judgement { expression: *threshold, value, unit, broken, problem }
    };
    record.plan.thresholds.iter().map(one).collect()
}

/// The summaries that a threshold applies to.
fn operations<'a>(
    record: &'a RunRecord,
    threshold: &'a Threshold,
) -> impl Iterator<Item = &'a OperationSummary> {
    record
        .measured()
        .flat_map(|stage| &stage.operations)
        .filter(|operation| concerns(threshold, operation))
}

/// Without a kind, a threshold applies to all requests, each counted once.
fn concerns(threshold: &Threshold, operation: &OperationSummary) -> bool {
    let kind = operation.kind;
    threshold.kind.map_or_else(|| kind.is_request(), |wanted| wanted == kind)
}

/// The measured value in the unit of the threshold's limit, or why there is none.
fn value(record: &RunRecord, threshold: &Threshold) -> Result<f64, String> {
    let sum = |count: &dyn Fn(&OperationSummary) -> u64| -> u64 {
        operations(record, threshold).map(count).sum()
    };
    let issued = sum(&|operation| operation.issued);
    match threshold.metric {
        Metric::Time(span, statistic) => time_us(record, threshold, (span, statistic)),
        Metric::Errors => share(sum(&OperationSummary::failed), issued, threshold.limit),
        Metric::Class(class) => {
            let failed = sum(&|operation| operation.failures.get(&class).copied().unwrap_or(0));
            share(failed, issued, threshold.limit)
        }
        Metric::Unfinished => {
            share(sum(&|operation| operation.unfinished), issued, threshold.limit)
        }
        Metric::Dropped => {
            let dropped = record.measured().map(|stage| stage.load.dropped).sum();
            let offered = record.measured().map(|stage| stage.load.offered).sum();
            share(dropped, offered, threshold.limit)
        }
        Metric::Throughput => {
            let concerned = |operation: &OperationSummary| concerns(threshold, operation);
            let elapsed_s: f64 = record
                .measured()
                .filter(|stage| stage.operations.iter().any(concerned))
                .map(StageRecord::rates_over_s)
                .sum();
            if elapsed_s > 0.0 {
                Ok(sum(&|operation| operation.ok - operation.drained_ok) as f64 / elapsed_s)
            } else {
                Err("nothing was measured".to_owned())
            }
        }
    }
}

/// A count, or its share of `all` in percent if the limit is a percentage.
fn share(part: u64, all: u64, limit: Limit) -> Result<f64, String> {
    match limit {
        _ if all == 0 => Err("nothing was measured".to_owned()),
        Limit::Percent(_) => Ok(part as f64 * 100.0 / all as f64),
        Limit::Time(_) | Limit::Number(_) => Ok(part as f64),
    }
}

fn time_us(
    record: &RunRecord,
    threshold: &Threshold,
    (span, statistic): (Span, Statistic),
) -> Result<f64, String> {
    let mut times = Histogram::default();
    for operation in operations(record, threshold) {
        let latency = match span {
            Span::Response => &operation.response,
            Span::Service => &operation.service,
            Span::Lag => &operation.lag,
        };
        times.merge(&latency.histogram);
    }
    if times.is_empty() {
        return Err("nothing was measured".to_owned());
    }
    if let Some(percent) = percent(statistic) {
        let sum = |count: fn(&OperationSummary) -> u64| -> u64 {
            operations(record, threshold).map(count).sum()
        };
        let (lost, all) = (sum(OperationSummary::unanswered), sum(|it| it.requests));
        // Times are of successes. Requests without an answer have no time, so a percentile of all
        // requests may not exist.
        if span != Span::Lag && lost as f64 * 100.0 > all as f64 * (100.0 - percent) {
            return Err(format!(
                "{lost} of {all} requests had no answer, so no time covers {percent} %"
            ));
        }
    }
    match statistic {
        Statistic::Mean => Ok(times.mean() / 1e3),
        Statistic::Max => Ok(times.max() as f64 / 1e3),
        Statistic::Percentile(tenths) => {
            let percentile = f64::from(tenths) / 10.0;
            if times.earns(percentile) {
                return Ok(times.percentile(percentile) as f64 / 1e3);
            }
            // Ten samples must lie beyond the percentile.
            let needed = 10_000 / (1_000 - u64::from(tenths)).max(1);
            Err(format!("too few samples: {} of at least {needed}", times.len()))
        }
    }
}

/// The percentage of requests that a statistic covers.
fn percent(statistic: Statistic) -> Option<f64> {
    match statistic {
        Statistic::Mean => None,
        Statistic::Max => Some(100.0),
        Statistic::Percentile(tenths) => Some(f64::from(tenths) / 10.0),
    }
}

#[cfg(test)]
#[path = "threshold_tests.rs"]
mod tests;
