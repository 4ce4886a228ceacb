//! What can be judged about a run: `[SUBJECT.]METRIC`, such as `read.p99`.

use crate::measure::{Count, Statistic};
use crate::mistake::BadValue;
use crate::op::{Failure, OpKind};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The metrics of the grammar, for error messages.
fn metrics() -> String {
    let all = Statistic::ALL.iter().copied();
    let (percentiles, others): (Vec<Statistic>, Vec<Statistic>) =
        all.partition(|it| it.percent().is_some());
    let times: Vec<_> = percentiles.into_iter().chain(others).map(Statistic::name).collect();
    let times = times.join(", ");
    let counts = Count::ALL.iter().map(|it| it.name()).collect::<Vec<_>>().join(", ");
    format!(
        "{times} (after service. or lag. too), {counts}, a failure class such as conflict, \
         dropped, throughput"
    )
}

/// A metric of the operations of one kind, or of all, in the grammar of `docs/thresholds.md`, such
/// as `read.p99`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(into = "String", try_from = "String")]
pub struct Quantity {
    /// The kind of operations; `None` for all kinds in the main stages.
    pub kind: Option<OpKind>,
    /// The metric of those operations.
    pub metric: Metric,
}

/// A metric of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// A time per request.
    Time(Span, Statistic),
    /// A count of operations, such as the failed ones.
    Count(Count),
    /// Documents that failed with this class.
    Class(Failure),
    /// Requests that were due and dropped.
    Dropped,
    /// Documents that succeeded, per second.
    Throughput,
}

/// A part of an operation's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// From the intended start to the last byte of the response.
    Response,
    /// From sending to the last byte of the response.
    Service,
    /// From the intended start to the actual start.
    Lag,
}

impl Metric {
    /// Documents that failed, for any reason.
    pub const ERRORS: Self = Self::Count(Count::Failed);

    /// The metrics compared and plotted for each kind of operation, unless others are asked for.
    pub const USUAL: [Self; 4] = [
        Self::Throughput,
        Self::Time(Span::Response, Statistic::P50),
        Self::Time(Span::Response, Statistic::P99),
        Self::ERRORS,
    ];

    /// Whether a name has another meaning in this grammar, so that no operation can have it.
    pub fn is_word(name: &str) -> bool {
        let words = ["all", "baseline", "response", "service", "lag"];
        words.contains(&name) || Self::parse(name).is_some()
    }

    fn parse(text: &str) -> Option<Self> {
        let (span, rest) = if let Some(rest) = text.strip_prefix("service.") {
            (Some(Span::Service), rest)
        } else if let Some(rest) = text.strip_prefix("lag.") {
            (Some(Span::Lag), rest)
        } else {
            (None, text.strip_prefix("response.").unwrap_or(text))
        };
        if let Some(one) = Statistic::named(rest) {
            return Some(Self::Time(span.unwrap_or(Span::Response), one));
        }
        match text {
            "errors" => Some(Self::ERRORS),
            "dropped" => Some(Self::Dropped),
            "throughput" => Some(Self::Throughput),
            name => Count::named(name).map(Self::Count).or_else(|| {
                Failure::ALL.into_iter().find(|class| class.name() == name).map(Self::Class)
            }),
        }
    }

    /// Whether a higher value is better; for all other metrics, lower is.
    pub const fn is_better_high(self) -> bool {
        match self {
            Self::Throughput => true,
            Self::Count(count) => count.is_better_high(),
            Self::Time(..) | Self::Class(_) | Self::Dropped => false,
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time(Span::Response, one) => f.write_str(one.name()),
            Self::Time(Span::Service, one) => write!(f, "service.{}", one.name()),
            Self::Time(Span::Lag, one) => write!(f, "lag.{}", one.name()),
            Self::Count(count) => f.write_str(count.name()),
            Self::Class(class) => class.fmt(f),
            Self::Dropped => f.write_str("dropped"),
            Self::Throughput => f.write_str("throughput"),
        }
    }
}

impl FromStr for Quantity {
    type Err = BadValue;

    fn from_str(text: &str) -> Result<Self, BadValue> {
        let text = text.trim();
        let (kind, name) = subject(text);
        let metric = Metric::parse(name).ok_or_else(|| unknown(text, name))?;
        if metric == Metric::Dropped && kind.is_some() {
            let problem = format!("{text:?}: drops are counted for all kinds together");
            return Err(BadValue::new(problem, "write all.dropped"));
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
    type Error = BadValue;

    fn try_from(text: String) -> Result<Self, BadValue> {
        text.parse()
    }
}

/// Splits `read.p99` into its subject, if it has one, and its metric.
fn subject(left: &str) -> (Option<OpKind>, &str) {
    if let Some((first, rest)) = left.split_once('.') {
        if first == "all" {
            return (None, rest);
        }
        if let Some(kind) = OpKind::named(first) {
            return (Some(kind), rest);
        }
        // Only the plan knows which operations exist.
        let is_metric = Metric::parse(left).is_none() && Metric::parse(rest).is_some();
        if is_metric && let Ok(kind) = OpKind::of_name(first) {
            return (Some(kind), rest);
        }
    }
    (None, left)
}

/// The error for the unknown part of `left`, with the valid words.
fn unknown(left: &str, name: &str) -> BadValue {
    if let Some((first, rest)) = name.split_once('.')
        && Metric::parse(rest).is_some()
    {
        let kinds = OpKind::BUILT_IN.map(OpKind::name).join(", ");
        return BadValue::new(
            format!("no operation {first:?} in {left:?}"),
            format!("give all, {kinds}"),
        );
    }
    if name.is_empty() || OpKind::named(name).is_some() || name == "all" {
        return BadValue::new(
            format!("no metric in {left:?}"),
            format!("give one of {}", metrics()),
        );
    }
    BadValue::new(format!("no metric {name:?}"), format!("give one of {}", metrics()))
}
