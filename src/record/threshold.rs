//! Judges the plan's thresholds once from the record, over all measured stages.

use super::{RunRecord, StageRecord};
use crate::measure::{Histogram, OperationSummary};
use crate::plan::{Limit, Metric, Quantity, Span, Statistic, Threshold};
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
    /// The limit in `unit`, where it follows from a baseline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<f64>,
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
            Limit::Baseline(factor) => {
                let baseline = record.plan.baseline.as_ref();
                let level = baseline.and_then(|it| it.level(threshold.quantity()));
                let Some(level) = level else { return without_baseline(threshold) };
                (factor * level, Unit::of(threshold.metric))
            }
        };
        let as_share = unit == Unit::Percent;
        let (value, problem) = match value(record, threshold.quantity(), as_share) {
            Ok(value) => (Some(value), None),
            Err(problem) => (None, Some(problem)),
        };
        let broken = value.is_none_or(|value| threshold.comparison.holds(value, limit));
        let limit = matches!(threshold.limit, Limit::Baseline(_)).then_some(limit);
        Judgement { expression: *threshold, value, unit, broken, limit, problem }
    };
    record.plan.thresholds.iter().map(one).collect()
}

/// A threshold whose limit is not known.
fn without_baseline(threshold: &Threshold) -> Judgement {
    Judgement {
        expression: *threshold,
        value: None,
        unit: Unit::of(threshold.metric),
        broken: true,
        limit: None,
        problem: Some("the baseline has no such figure".to_owned()),
    }
}

impl Judgement {
    /// Whether it shows that the run is worse than its baseline.
    pub fn is_regression(&self) -> bool {
        self.broken && self.limit.is_some() && self.value.is_some()
    }
}

impl Unit {
    /// The unit of a metric, where counts are taken as shares.
    pub const fn of(metric: Metric) -> Self {
        match metric {
            Metric::Time(..) => Self::Us,
            Metric::Throughput => Self::PerSecond,
            Metric::Errors | Metric::Class(_) | Metric::Unfinished | Metric::Dropped => {
                Self::Percent
            }
        }
    }
}

impl RunRecord {
    /// The value of a quantity in its unit (`Unit::of`), over all measured stages.
    ///
    /// # Errors
    /// Why there is none, such as too few samples.
    pub fn value_of(&self, quantity: Quantity) -> Result<f64, String> {
        value(self, quantity, true)
    }
}

/// The summaries that a quantity is of.
fn operations(record: &RunRecord, quantity: Quantity) -> impl Iterator<Item = &OperationSummary> {
    let stages = record.measured().flat_map(|stage| &stage.operations);
    stages.filter(move |operation| concerns(quantity, operation))
}

/// Without a kind, a quantity is of all requests, each counted once.
fn concerns(quantity: Quantity, operation: &OperationSummary) -> bool {
    let kind = operation.kind;
    quantity.kind.map_or_else(|| kind.is_request(), |wanted| wanted == kind)
}

/// The measured value, a count as a share if that is asked for, or why there is none.
fn value(record: &RunRecord, quantity: Quantity, as_share: bool) -> Result<f64, String> {
    let sum = |count: &dyn Fn(&OperationSummary) -> u64| -> u64 {
        operations(record, quantity).map(count).sum()
    };
    let issued = sum(&|operation| operation.issued);
    match quantity.metric {
        Metric::Time(span, statistic) => time_us(record, quantity, (span, statistic)),
        Metric::Errors => share(sum(&OperationSummary::failed), issued, as_share),
        Metric::Class(class) => {
            let failed = sum(&|operation| operation.failures.get(&class).copied().unwrap_or(0));
            share(failed, issued, as_share)
        }
        Metric::Unfinished => share(sum(&|operation| operation.unfinished), issued, as_share),
        Metric::Dropped => {
            let dropped = record.measured().map(|stage| stage.load.dropped).sum();
            let offered = record.measured().map(|stage| stage.load.offered).sum();
            share(dropped, offered, as_share)
        }
        Metric::Throughput => {
            let concerned = |operation: &OperationSummary| concerns(quantity, operation);
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

/// A count, or its share of `all` in percent.
fn share(part: u64, all: u64, as_share: bool) -> Result<f64, String> {
    match as_share {
        _ if all == 0 => Err("nothing was measured".to_owned()),
        true => Ok(part as f64 * 100.0 / all as f64),
        false => Ok(part as f64),
    }
}

fn time_us(
    record: &RunRecord,
    quantity: Quantity,
    (span, statistic): (Span, Statistic),
) -> Result<f64, String> {
    let mut times = Histogram::default();
    for operation in operations(record, quantity) {
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
            operations(record, quantity).map(count).sum()
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
