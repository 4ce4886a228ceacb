//! The grammar of `--fail-if`: `[SUBJECT.]METRIC OP VALUE`, such as `read.p99 > 20ms` or
//! `read.p99 > 1.1 * baseline`.
//!
//! A threshold states what makes a run fail. It knows nothing about results: the record applies it.

use super::quantity::{Metric, Quantity};
use crate::clock::{Nanos, SECOND_NS};
use crate::mistake::BadValue;
use crate::op::OpKind;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

const EXAMPLE: &str = "write it like 'read.p99 > 20ms' or 'err > 0.1%'";
/// The word for the value of the baseline.
const BASELINE: &str = "baseline";
/// Larger than any factor of the baseline.
const MOST_FACTOR: f64 = 1e6;
/// Larger than any count, and still exact as a float.
const MOST: f64 = 9e15;
/// Longer than any run.
const MOST_TIME_S: f64 = 366.0 * 86_400.0;

/// A condition that makes a run fail, in the grammar of `docs/thresholds.md`, such as
/// `read.p99 > 20ms`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(into = "String", try_from = "String")]
pub struct Threshold {
    /// The kind of operations judged; `None` for all kinds together.
    pub kind: Option<OpKind>,
    /// What is judged.
    pub metric: Metric,
    /// How it is compared.
    pub comparison: Comparison,
    /// The limit.
    pub limit: Limit,
}

/// How a value is compared with the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `>`
    Above,
    /// `>=`
    AtLeast,
    /// `<`
    Below,
    /// `<=`
    AtMost,
}

/// The limit, in the unit it was given in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// Nanoseconds.
    Time(Nanos),
    /// Percent of all documents, or of all requests.
    Percent(f64),
    /// A number of documents or requests, or of those per second.
    Number(f64),
    /// A multiple of the baseline's value.
    Baseline(f64),
}

impl Comparison {
    const ALL: [Self; 4] = [Self::AtLeast, Self::AtMost, Self::Above, Self::Below];

    /// How it is written.
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Above => ">",
            Self::AtLeast => ">=",
            Self::Below => "<",
            Self::AtMost => "<=",
        }
    }

    /// Whether the comparison of `value` with `limit` is true.
    pub fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            Self::Above => value > limit,
            Self::AtLeast => value >= limit,
            Self::Below => value < limit,
            Self::AtMost => value <= limit,
        }
    }
}

impl Limit {
    /// Returns an error if such a limit does not suit the metric.
    fn fits(self, metric: Metric) -> Result<(), &'static str> {
        match (metric, self) {
            (_, Self::Baseline(_))
            | (Metric::Time(..), Self::Time(_))
            | (Metric::Throughput, Self::Number(_)) => Ok(()),
            (Metric::Time(..), _) => Err("give a time with its unit, such as 500us, 20ms or 1.5s"),
            (Metric::Throughput, _) => Err("give a number per second, such as 1000 or 10k"),
            (Metric::Count(count), Self::Percent(_) | Self::Time(_)) if count.whole().is_none() => {
                Err("give a number, such as 0, 10k or 10M")
            }
            (_, Self::Percent(_) | Self::Number(_)) => Ok(()),
            (_, Self::Time(_)) => Err("give a share or a count, such as 0.1%, 0 or 10k"),
        }
    }

    /// Reads a number followed by `ns`, `us`, `ms`, `s`, `m`, `%`, `k`, `M` or nothing.
    fn parse(text: &str) -> Result<Self, BadValue> {
        if let Some(factor) = text.strip_suffix(BASELINE) {
            return Self::parse_factor(factor);
        }
        let bad = || {
            let cure = "give a number of 0 or more with its unit: us, ms, s, %, k or none";
            BadValue::new(format!("{text:?} is not a value"), cure)
        };
        let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let number: f64 = text[..digits].parse().map_err(|_| bad())?;
        let time = |unit_s: f64| {
            let in_range = number * unit_s <= MOST_TIME_S;
            let ns = (number * (unit_s * SECOND_NS as f64)).round() as Nanos;
            if in_range { Ok(Self::Time(ns)) } else { Err(bad()) }
        };
        let count = |factor: f64| {
            let number = number * factor;
            if number <= MOST { Ok(Self::Number(number)) } else { Err(bad()) }
        };
        match text[digits..].trim() {
            "ns" => time(1e-9),
            "us" | "µs" => time(1e-6),
            "ms" => time(1e-3),
            "s" => time(1.0),
            "m" | "min" => time(60.0),
            "%" if number <= MOST => Ok(Self::Percent(number)),
            "" | "/s" => count(1.0),
            "k" | "K" | "k/s" => count(1e3),
            "M" | "M/s" => count(1e6),
            _ => Err(bad()),
        }
    }

    /// Reads `1.1 *`, or nothing, before the baseline.
    fn parse_factor(text: &str) -> Result<Self, BadValue> {
        let text = text.trim();
        let number = match text.strip_suffix('*') {
            None if text.is_empty() => Some(1.0),
            None => None,
            Some(number) => number.trim().parse::<f64>().ok(),
        };
        let in_range = |factor: &f64| (0.0..=MOST_FACTOR).contains(factor);
        number.filter(in_range).map(Self::Baseline).ok_or_else(|| {
            let problem = format!("{text:?} is not a multiple of the baseline");
            BadValue::new(problem, "write it like '1.1 * baseline'")
        })
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Percent(percent) => write!(f, "{percent}%"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Baseline(factor) if (factor - 1.0).abs() < f64::EPSILON => f.write_str(BASELINE),
            Self::Baseline(factor) => write!(f, "{factor} * {BASELINE}"),
            Self::Time(ns) => {
                let units = [("s", SECOND_NS), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)];
                let whole = units.into_iter().find(|&(_, unit)| ns.is_multiple_of(unit));
                let (name, unit) = whole.unwrap_or(("ns", 1));
                write!(f, "{}{name}", ns / unit)
            }
        }
    }
}

impl Threshold {
    /// What is judged.
    pub const fn quantity(&self) -> Quantity {
        Quantity { kind: self.kind, metric: self.metric }
    }
}

impl FromStr for Threshold {
    type Err = BadValue;

    fn from_str(text: &str) -> Result<Self, BadValue> {
        let Some(at) = text.find(['<', '>']) else {
            return Err(BadValue::new(format!("{text:?} has no >, >=, < or <="), EXAMPLE));
        };
        let (left, rest) = (text[..at].trim(), &text[at..]);
        let comparison = Comparison::ALL.into_iter().find(|one| rest.starts_with(one.sign()));
        let comparison = comparison.unwrap_or(Comparison::Above);
        let limit = rest[comparison.sign().len()..].trim();
        let Quantity { kind, metric } = left.parse()?;
        let limit = Limit::parse(limit)?;
        limit
            .fits(metric)
            .map_err(|cure| BadValue::new(format!("{limit} does not fit {metric}"), cure))?;
        Ok(Self { kind, metric, comparison, limit })
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { comparison, limit, .. } = self;
        write!(f, "{} {} {limit}", self.quantity(), comparison.sign())
    }
}

impl From<Threshold> for String {
    fn from(threshold: Threshold) -> Self {
        threshold.to_string()
    }
}

impl TryFrom<String> for Threshold {
    type Error = BadValue;

    fn try_from(text: String) -> Result<Self, BadValue> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{Count, Statistic};
    use crate::op::Failure;
    use crate::plan::Span;
    use proptest::prelude::*;

    fn display(text: &str) -> String {
        match text.parse::<Threshold>() {
            Ok(threshold) => threshold.to_string(),
            Err(error) => panic!("{text:?}: {error}"),
        }
    }

    #[test]
    fn the_grammar() {
        for (text, canonical) in [
            ("read.p99 > 20ms", "read.p99 > 20ms"),
            ("read.p99.9>1.5ms", "read.p99.9 > 1500us"),
            (" p50 >= 250us ", "all.p50 >= 250us"),
            ("update.service.max > 1s", "update.service.max > 1s"),
            ("create.response.mean>2s", "create.mean > 2s"),
            ("lag.p99 > 100 us", "all.lag.p99 > 100us"),
            ("err > 0.1%", "all.err > 0.1%"),
            ("bulk_insert.err>0", "bulk_insert.err > 0"),
            ("update.conflict > 5 %", "update.conflict > 5%"),
            ("update.server_error >= 10", "update.server_error >= 10"),
            ("throughput < 10k/s", "all.throughput < 10000"),
            ("delete.throughput <= 1.5k", "delete.throughput <= 1500"),
            ("all.dropped > 0", "all.dropped > 0"),
            ("unfinished > 1%", "all.unfinished > 1%"),
            ("read.p99 > 1.1 * baseline", "read.p99 > 1.1 * baseline"),
            ("throughput<0.95*baseline", "all.throughput < 0.95 * baseline"),
            ("err > baseline", "all.err > baseline"),
            ("by-city.p99 > 20ms", "by-city.p99 > 20ms"),
            ("service.p99 > 20ms", "all.service.p99 > 20ms"),
        ] {
            assert_eq!(display(text), canonical);
        }
    }

    #[test]
    fn each_mistake_is_one_line_with_its_cure() {
        for (text, says) in [
            ("", "has no >, >=, < or <="),
            ("read.p99", "has no >, >=, < or <="),
            ("read.p99 = 5ms", "has no >, >=, < or <="),
            ("read.p98 > 5ms", "no metric \"p98\"; give one of p50, p90"),
            ("read > 5ms", "no metric in \"read\""),
            ("> 5ms", "no metric in \"\""),
            ("Read.p99 > 5ms", "no operation \"Read\" in \"Read.p99\"; give all, bulk_insert"),
            ("read.p98.p99 > 5ms", "no operation \"p98\" in \"read.p98.p99\""),
            ("read.dropped > 5", "write all.dropped"),
            ("read.p99 > 5", "5 does not fit p99; give a time"),
            ("read.p99 > 5%", "5% does not fit p99; give a time"),
            ("err > 5ms", "5ms does not fit err; give a share or a count"),
            ("throughput < 5%", "give a number per second"),
            ("read.p99 > -5ms", "\"-5ms\" is not a value"),
            ("read.p99 >> 5ms", "is not a value"),
            ("read.p99 > 5 parsecs", "is not a value"),
            ("read.p99 > 9999999999s", "is not a value"),
            ("read.p99 > ", "is not a value"),
            ("read.p99 > 1.2.3ms", "is not a value"),
            ("read.p99 > 1.1 baseline", "\"1.1\" is not a multiple of the baseline; write it like"),
            ("read.p99 > -1 * baseline", "is not a multiple"),
            ("read.p99 > x * baseline", "is not a multiple"),
            ("read.p99 > * baseline", "is not a multiple"),
            ("read.p99 > 1.1 * base", "is not a value"),
        ] {
            let error = text.parse::<Threshold>().unwrap_err().to_string();
            assert!(error.contains(says), "{text:?}: {error}");
            assert!(error.contains("; ") && !error.contains('\n'), "{error}");
        }
    }

    fn metrics() -> impl Strategy<Value = Metric> {
        let spans = [Span::Response, Span::Service, Span::Lag];
        let time = (0..spans.len(), 0..Statistic::ALL.len())
            .prop_map(move |(i, s)| Metric::Time(spans[i], Statistic::ALL[s]));
        let count = (0..Count::ALL.len()).prop_map(|count| Metric::Count(Count::ALL[count]));
        let class = (0..Failure::COUNT).prop_map(|class| Metric::Class(Failure::ALL[class]));
        prop_oneof![time, class, count, Just(Metric::Dropped), Just(Metric::Throughput),]
    }

    fn thresholds() -> impl Strategy<Value = Threshold> {
        let most_ns = 366 * 86_400 * SECOND_NS;
        // Times have up to 53 significant bits: that is what a number in text can hold.
        let kinds = proptest::option::of(0..OpKind::BUILT_IN.len());
        (metrics(), kinds, 0..4usize, 0..=most_ns >> 3, 0.0..1e12f64, any::<bool>()).prop_map(
            |(metric, kind, comparison, ns, number, percent)| {
                let kind = kind.map(|kind| OpKind::BUILT_IN[kind]);
                let limit = match (metric, percent) {
                    _ if number > 9e11 => Limit::Baseline(number / 1e12),
                    (Metric::Time(..), _) => Limit::Time(ns),
                    (Metric::Count(count), _) if count.whole().is_none() => Limit::Number(number),
                    (Metric::Throughput, _) | (_, false) => Limit::Number(number),
                    (_, true) => Limit::Percent(number),
                };
                Threshold {
                    kind: kind.filter(|_| metric != Metric::Dropped),
                    metric,
                    comparison: Comparison::ALL[comparison],
                    limit,
                }
            },
        )
    }

    proptest! {
        #[test]
        fn what_is_displayed_is_read_back(threshold in thresholds()) {
            prop_assert_eq!(threshold.to_string().parse(), Ok(threshold));
            let json = serde_json::to_string(&threshold).unwrap();
            prop_assert_eq!(serde_json::from_str::<Threshold>(&json).unwrap(), threshold);
        }

        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,24}") {
            let _ = text.parse::<Threshold>();
        }

        #[test]
        fn nor_does_one_that_is_nearly_right(
            text in "(all|read|x)?\\.?(p99|err|lag)?\\.?(9|max)? ?[<>=]{0,3} ?[0-9.µ]{0,9}(ms|%|k|s)?"
        ) {
            let _ = text.parse::<Threshold>();
        }
    }
}
