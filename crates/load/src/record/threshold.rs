//! Judges the plan's thresholds once, from the record: by the main stages, unless a threshold names
//! operations of others.

use super::sure::other_bound;
use super::{RunRecord, StageRecord, too_short_for_a_rate};
use crate::measure::{Histogram, OperationSummary, Statistic, is_default};
use crate::op::{OpKind, grouped};
use crate::plan::{Limit, Metric, Quantity, Span, Threshold};
use serde::{Deserialize, Serialize};

/// How the run compares with one threshold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Judgment {
    /// The threshold: a condition that makes the run fail.
    pub expression: Threshold,
    /// The measured value, in `unit`; `None` if too little was measured.
    pub value: Option<f64>,
    /// The unit of `value`.
    pub unit: Unit,
    /// Whether the run fails: the condition is true, or cannot be evaluated.
    pub broken: bool,
    /// The limit in `unit`; only if it depends on a baseline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<f64>,
    /// The reason it cannot be evaluated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Whether the value, without what springload itself may have added, would have met the limit.
    #[serde(default, skip_serializing_if = "is_default")]
    pub by_client: bool,
}

/// The unit of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Microseconds.
    Us,
    /// Percent.
    Percent,
    /// A number of documents or requests.
    Count,
    /// Documents per second.
    PerSecond,
}

impl Judgment {
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

pub(super) fn judge(record: &RunRecord) -> Vec<Judgment> {
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
        let by_client =
            broken && value.is_some_and(|value| by_client(record, threshold, value, limit));
        let limit = matches!(threshold.limit, Limit::Baseline(_)).then_some(limit);
        Judgment { expression: *threshold, value, unit, broken, limit, problem, by_client }
    };
    record.plan.thresholds.iter().map(one).collect()
}

/// The judgment of a threshold whose limit is not known.
fn without_baseline(threshold: &Threshold) -> Judgment {
    Judgment {
        expression: *threshold,
        value: None,
        unit: Unit::of(threshold.metric),
        broken: true,
        limit: None,
        problem: Some("the baseline has no such figure".to_owned()),
        by_client: false,
    }
}

/// Whether springload alone may be to blame for a threshold broken by its measured value.
fn by_client(record: &RunRecord, threshold: &Threshold, value: f64, limit: f64) -> bool {
    // Without a server, springload itself is being measured.
    if !record.plan.target.card().server {
        return false;
    }
    let quantity = threshold.quantity();
    let stages = record.stages_of(quantity);
    let operations = stages.iter().flat_map(|stage| stage.operations_of(quantity));
    let other = other_bound(&stages, operations, quantity.metric, value);
    other.is_some_and(|other| !threshold.comparison.holds(other, limit))
}

impl Judgment {
    /// Whether it shows that the run is worse than its baseline.
    pub fn is_regression(&self) -> bool {
        self.broken && self.limit.is_some() && self.value.is_some()
    }
}

impl Unit {
    /// The unit of a metric, taking counts as shares.
    pub const fn of(metric: Metric) -> Self {
        match metric {
            Metric::Time(..) => Self::Us,
            Metric::Throughput => Self::PerSecond,
            Metric::Count(count) if count.whole().is_none() => Self::Count,
            Metric::Count(_) | Metric::Class(_) | Metric::Dropped => Self::Percent,
        }
    }
}

impl RunRecord {
    /// The value of a quantity in its unit (`Unit::of`).
    ///
    /// # Errors
    /// Returns the reason there is none, such as too few samples.
    pub fn value_of(&self, quantity: Quantity) -> Result<f64, String> {
        value(self, quantity, true)
    }
}

impl RunRecord {
    /// The stages that a quantity is taken from: the main ones or, for operations that do not occur
    /// there, such as those of a fill, the other measured stages.
    pub(super) fn stages_of(&self, quantity: Quantity) -> Vec<&StageRecord> {
        let main = self.plan.stages.iter().any(|it| it.purpose().is_main())
            || self.stages.iter().any(|it| it.purpose().is_main());
        let (about, others): (Vec<_>, Vec<_>) =
            self.measured().partition(|it| !main || it.purpose().is_main());
        let Some(kind) = quantity.kind else {
            return about.into_iter().filter(|it| it.requests().next().is_some()).collect();
        };
        let has = |it: &&StageRecord| it.operations.iter().any(|it| it.kind == kind);
        let stages = if about.iter().any(has) { about } else { others };
        stages.into_iter().filter(has).collect()
    }

    /// The kind of all requests in the main stages; `None`: there are several.
    pub fn only_kind(&self) -> Option<OpKind> {
        let all = Quantity { kind: None, metric: Metric::Throughput };
        let stages = self.stages_of(all);
        let mut kinds = stages.iter().flat_map(|it| it.requests()).filter(|it| it.issued > 0);
        let first = kinds.next()?.kind;
        kinds.all(|it| it.kind == first).then_some(first)
    }
}

impl StageRecord {
    /// The summaries that a quantity is taken from; without a kind, those of all requests, each
    /// once.
    pub(super) fn operations_of(
        &self,
        quantity: Quantity,
    ) -> impl Iterator<Item = &OperationSummary> {
        let own = move |it: &&OperationSummary| match quantity.kind {
            None => it.kind.is_request(),
            Some(kind) => it.kind == kind,
        };
        self.operations.iter().filter(own)
    }
}

/// The measured value, or why there is none; with `as_share`, counts become shares.
fn value(record: &RunRecord, quantity: Quantity, as_share: bool) -> Result<f64, String> {
    let stages = record.stages_of(quantity);
    let sum = |count: &dyn Fn(&OperationSummary) -> u64| -> u64 {
        stages.iter().flat_map(|stage| stage.operations_of(quantity)).map(count).sum()
    };
    let issued = sum(&|operation| operation.issued);
    match quantity.metric {
        Metric::Time(span, statistic) => time_us(&stages, quantity, span, statistic),
        Metric::Count(count) => {
            let number = sum(&|operation| count.of(operation));
            match count.whole() {
                Some(whole) => share(number, sum(&|operation| whole.of(operation)), as_share),
                None => share(number, issued, false),
            }
        }
        Metric::Class(class) => {
            let failed = sum(&|operation| operation.failures.get(&class).copied().unwrap_or(0));
            share(failed, issued, as_share)
        }
        Metric::Dropped => {
            let dropped = stages.iter().map(|stage| stage.load.dropped).sum();
            let offered = stages.iter().map(|stage| stage.load.offered).sum();
            share(dropped, offered, as_share)
        }
        Metric::Throughput => {
            let measured_s: f64 = stages.iter().map(|stage| stage.rates_over_s()).sum();
            let ok = sum(&|operation| operation.ok - operation.drained_ok);
            let all = sum(&|operation| operation.ok);
            if measured_s <= 0.0 {
                return Err("nothing was measured".to_owned());
            }
            let problem = too_short_for_a_rate(ok, all, measured_s);
            problem.map_or(Ok(ok as f64 / measured_s), Err)
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
    stages: &[&StageRecord],
    quantity: Quantity,
    span: Span,
    statistic: Statistic,
) -> Result<f64, String> {
    let operations = || stages.iter().flat_map(|stage| stage.operations_of(quantity));
    let mut times = Histogram::default();
    for operation in operations() {
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
    if let Some(percent) = statistic.covers() {
        let sum = |count: fn(&OperationSummary) -> u64| -> u64 { operations().map(count).sum() };
        let (lost, all) = (sum(OperationSummary::unanswered), sum(|it| it.requests));
        // Times cover successes only. Requests without a response have no time, so a percentile of
        // all requests may not exist.
        if span != Span::Lag && lost as f64 * 100.0 > all as f64 * (100.0 - percent) {
            let (lost, all) = (grouped(lost), grouped(all));
            return Err(format!(
                "{lost} of {all} requests had no answer, so no time covers {percent} %"
            ));
        }
    }
    statistic.of_histogram(&times).ok_or_else(|| {
        // Ten samples must lie beyond the percentile.
        let beyond = 1_000 - u64::from(statistic.tenths().unwrap_or(0));
        let least = grouped(10_000 / beyond.max(1));
        format!("too few samples: {} of at least {least}", grouped(times.len()))
    })
}

#[cfg(test)]
#[path = "threshold_tests.rs"]
mod tests;
