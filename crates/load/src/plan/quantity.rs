//! What can be judged about a run: `[SUBJECT.]METRIC`, such as `read.p99`.

use super::threshold::{ThresholdError, wrong};
use crate::op::{Failure, OpKind};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The metrics of the grammar, for error messages.
const METRICS: &str = "p50, p90, p95, p99, p99.9, mean, max (after service. or lag. too), err, \
                       a failure class such as conflict, unfinished, dropped, throughput";

/// A metric of the operations of one kind, or of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Quantity {
    /// The kind of operations; `None` for all kinds in the stages that the run is about.
    pub kind: Option<OpKind>,
    /// The metric of those operations.
    pub metric: Metric,
}

/// What is judged about operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// A time per request.
    Time(Span, Statistic),
    /// Documents that failed, for any reason.
    Errors,
    /// Documents that failed with this class.
    Class(Failure),
    /// Documents begun but not answered when the run ended.
    Unfinished,
    /// Requests that were due and dropped.
    Dropped,
    /// Documents that succeeded, per second.
    Throughput,
}

/// A part of an operation's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// From the intended start to the last byte of the answer.
    Response,
    /// From send to the last byte of the answer.
    Service,
    /// From the intended start to the real one.
    Lag,
}

/// A statistic of a histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistic {
    /// A percentile, in tenths of a percent.
    Percentile(u16),
    /// The mean.
    Mean,
    /// The maximum.
    Max,
}

impl Statistic {
    pub(super) const ALL: [(&'static str, Self); 7] = [
        ("p50", Self::Percentile(500)),
        ("p90", Self::Percentile(900)),
        ("p95", Self::Percentile(950)),
        ("p99", Self::Percentile(990)),
        ("p99.9", Self::Percentile(999)),
        ("mean", Self::Mean),
        ("max", Self::Max),
    ];

    fn name(self) -> &'static str {
        Self::ALL.into_iter().find(|&(_, one)| one == self).map_or("p?", |(name, _)| name)
    }
}

impl Metric {
    /// What is compared and drawn for each kind of operation, unless something else is asked for.
    pub const USUAL: [Self; 4] = [
        Self::Throughput,
        Self::Time(Span::Response, Statistic::Percentile(500)),
        Self::Time(Span::Response, Statistic::Percentile(990)),
        Self::Errors,
    ];

    fn parse(text: &str) -> Option<Self> {
        let (span, rest) = if let Some(rest) = text.strip_prefix("service.") {
            (Some(Span::Service), rest)
        } else if let Some(rest) = text.strip_prefix("lag.") {
            (Some(Span::Lag), rest)
        } else {
            (None, text.strip_prefix("response.").unwrap_or(text))
        };
        if let Some((_, one)) = Statistic::ALL.into_iter().find(|&(name, _)| name == rest) {
            return Some(Self::Time(span.unwrap_or(Span::Response), one));
        }
        match text {
            "err" | "errors" => Some(Self::Errors),
            "unfinished" => Some(Self::Unfinished),
            "dropped" => Some(Self::Dropped),
            "throughput" => Some(Self::Throughput),
            name => Failure::ALL.into_iter().find(|class| class.name() == name).map(Self::Class),
        }
    }

    /// Whether more of it is better; for all other metrics, less is.
    pub const fn is_better_high(self) -> bool {
        matches!(self, Self::Throughput)
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time(Span::Response, one) => f.write_str(one.name()),
            Self::Time(Span::Service, one) => write!(f, "service.{}", one.name()),
            Self::Time(Span::Lag, one) => write!(f, "lag.{}", one.name()),
            Self::Errors => f.write_str("err"),
            Self::Class(class) => class.fmt(f),
            Self::Unfinished => f.write_str("unfinished"),
            Self::Dropped => f.write_str("dropped"),
            Self::Throughput => f.write_str("throughput"),
        }
    }
}

impl FromStr for Quantity {
    type Err = ThresholdError;

    fn from_str(text: &str) -> Result<Self, ThresholdError> {
        let text = text.trim();
        let (kind, name) = subject(text);
        let metric = Metric::parse(name).ok_or_else(|| unknown(text, name))?;
        if metric == Metric::Dropped && kind.is_some() {
            let problem = format!("{text:?}: drops are counted for all kinds together");
            return Err(wrong(problem, "write all.dropped"));
        }
        Ok(Self { kind, metric })
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.kind.map_or("all", OpKind::name), self.metric)
    }
}

impl From<Quantity> for String {
    fn from(quantity: Quantity) -> Self {
        quantity.to_string()
    }
}

impl TryFrom<String> for Quantity {
    type Error = ThresholdError;

    fn try_from(text: String) -> Result<Self, ThresholdError> {
        text.parse()
    }
}

/// Splits `read.p99` into its subject, if it has one, and its metric.
fn subject(left: &str) -> (Option<OpKind>, &str) {
    if let Some((first, rest)) = left.split_once('.') {
        if first == "all" {
            return (None, rest);
        }
        if let Some(kind) = OpKind::ALL.into_iter().find(|kind| kind.name() == first) {
            return (Some(kind), rest);
        }
    }
    (None, left)
}

/// The error for the unknown part of `left`, with the valid words.
fn unknown(left: &str, name: &str) -> ThresholdError {
    if let Some((first, rest)) = name.split_once('.')
        && Metric::parse(rest).is_some()
    {
        let kinds = OpKind::ALL.map(OpKind::name).join(", ");
        return wrong(format!("no operation {first:?} in {left:?}"), format!("give all, {kinds}"));
    }
    if name.is_empty() || OpKind::ALL.iter().any(|kind| kind.name() == name) || name == "all" {
        return wrong(format!("no metric in {left:?}"), format!("give one of {METRICS}"));
    }
    wrong(format!("no metric {name:?}"), format!("give one of {METRICS}"))
}
