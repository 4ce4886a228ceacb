//! Thresholds as requirements: what the run must meet, and whether it did. `--fail-if` states the
//! opposite: the condition that makes a run fail.

use super::number::{decimal, grouped, millis};
use crate::plan::{Comparison, Limit, Metric, Quantity, Span, Threshold};
use crate::record::{Judgment, Regression, RunRecord, Standing, Unit};

const MS_NS: u64 = 1_000_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Requirement {
    /// What is judged, such as `read p99`.
    pub(super) subject: String,
    /// The required value, such as `≤ 50 ms`.
    pub(super) wanted: String,
    /// Both, without the measured value: the same in each run of a plan.
    pub(super) name: String,
    /// The limit alone, such as `50 ms`.
    pub(super) limit: String,
    /// The measured value, such as `640 ms`; or the reason it cannot be judged.
    pub(super) found: Result<String, String>,
    pub(super) met: bool,
}

/// The requirements of a run that has ended, in the order of its plan.
pub(super) fn requirements(record: &RunRecord) -> impl Iterator<Item = Requirement> {
    let most = record.plan.baseline.as_ref().and_then(|it| it.max_regression_percent);
    let beside = move |it| Requirement::beside_baseline(it, most.unwrap_or_default());
    record.thresholds.iter().map(Requirement::of).chain(record.regressions.iter().map(beside))
}

/// One line per threshold of the plan, after its mark.
pub fn threshold_lines(record: &RunRecord) -> Vec<String> {
    requirements(record).map(|it| format!("{} {}", it.mark(), it.words())).collect()
}

/// The lines of those that were missed, each with its position among all.
pub fn missed_lines(record: &RunRecord) -> Vec<(usize, String)> {
    let missed = requirements(record).enumerate().filter(|(_, it)| !it.met);
    missed.map(|(at, it)| (at, format!("{} {}", it.mark(), it.words()))).collect()
}

impl Requirement {
    fn of(judgment: &Judgment) -> Self {
        let Threshold { metric, comparison, limit, .. } = judgment.expression;
        let asked = limit_words(metric, limit);
        let name =
            format!("{} {} {asked}", subject(judgment.expression.quantity()), opposite(comparison));
        let limit = match judgment.limit {
            Some(own) => format!("{asked} ({})", number(own, judgment.unit)),
            None => asked,
        };
        let found = match (judgment.value, &judgment.problem) {
            (Some(value), _) => Ok(number(value, judgment.unit)),
            (None, Some(problem)) => Err(problem.clone()),
            (None, None) => Err("nothing is known about it".to_owned()),
        };
        Self {
            subject: subject(judgment.expression.quantity()),
            wanted: format!("{} {limit}", opposite(comparison)),
            name,
            limit,
            found,
            met: !judgment.broken,
        }
    }

    /// A figure that must not be more than `most` percent worse than the baseline's.
    fn beside_baseline(it: &Regression, most: f64) -> Self {
        let rises = it.metric.metric.is_better_high();
        let (compared, sign) = if rises { ("≥", '−') } else { ("≤", '+') };
        let margin = match it.unit {
            Unit::Percent => "+ 0.1 points".to_owned(),
            _ => format!("{sign} {most} %"),
        };
        let value = it.baseline.map(|value| format!("{} ", number(value, it.unit)));
        let limit = format!("baseline {}{margin}", value.unwrap_or_default());
        let found = match (it.value, &it.problem) {
            (Some(value), _) => Ok(number(value, it.unit) + &change_words(it)),
            (None, problem) => Err(problem.clone().unwrap_or_else(|| "no value".to_owned())),
        };
        let (subject, met) = (subject(it.metric), !it.broken);
        let name = format!("{subject} {compared} baseline {margin}");
        Self { subject, wanted: format!("{compared} {limit}"), name, limit, found, met }
    }

    /// The mark: `✓` or `✗`.
    pub(super) const fn mark(&self) -> char {
        if self.met { '✓' } else { '✗' }
    }

    /// The requirement in words, such as `read p99 ≤ 50 ms: missed, 640 ms`.
    pub(super) fn words(&self) -> String {
        let state = match (&self.found, self.met) {
            (Ok(found), true) => format!("met, {found}"),
            (Ok(found), false) => format!("missed, {found}"),
            (Err(problem), _) => format!("cannot be judged: {problem}"),
        };
        format!("{} {}: {state}", self.subject, self.wanted)
    }

    /// A shorter form for a missed requirement: `read p99 640 ms, limit 50 ms`.
    pub(super) fn missed_words(&self) -> String {
        match &self.found {
            Ok(found) => format!("{} {found}, limit {}", self.subject, self.limit),
            Err(problem) => format!("{} cannot be judged: {problem}", self.subject),
        }
    }
}

/// The change, such as `, +21.9 % (+12.0 to +33.1 %)`, to follow the value.
fn change_words(it: &Regression) -> String {
    let unit = if it.unit == Unit::Percent { "points" } else { "%" };
    let signed = |value: f64| {
        let sign = if value < 0.0 { '−' } else { '+' };
        format!("{sign}{}", decimal(value.abs(), 1))
    };
    let Some(change) = it.change else { return String::new() };
    let interval = it.low.zip(it.high).filter(|(low, high)| low < high);
    let interval = interval.map_or_else(String::new, |(low, high)| {
        format!(" ({} to {} {unit})", signed(low), signed(high))
    });
    let doubt =
        if it.verdict == Standing::CannotTell { ", can't tell: runs may vary as much" } else { "" };
    format!(", {} {unit}{interval}{doubt}", signed(change))
}

/// The comparison that a run must meet if it fails when `comparison` holds.
const fn opposite(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Above => "≤",
        Comparison::AtLeast => "<",
        Comparison::Below => "≥",
        Comparison::AtMost => ">",
    }
}

/// What is judged; for all kinds together, only the metric.
pub(super) fn subject(quantity: Quantity) -> String {
    let metric = match quantity.metric {
        Metric::Time(Span::Response | Span::Service | Span::Lag, _) => {
            quantity.metric.to_string().replace('.', " ").replace("p99 9", "p99.9")
        }
        Metric::ERRORS => "errors".to_owned(),
        Metric::Count(count) => count.title().to_owned(),
        Metric::Class(class) => format!("{} failures", class.words()),
        Metric::Dropped | Metric::Throughput => quantity.metric.to_string(),
    };
    quantity.kind.map_or_else(|| metric.clone(), |kind| format!("{kind} {metric}"))
}

fn limit_words(metric: Metric, limit: Limit) -> String {
    match limit {
        // Like the time that it is compared with.
        Limit::Time(ns) if ns > MS_NS && !ns.is_multiple_of(MS_NS) => {
            let ms = decimal(ns as f64 / MS_NS as f64, 6);
            format!("{} ms", ms.trim_end_matches('0'))
        }
        Limit::Time(ns) => {
            let units = [("s", 1_000_000_000), ("ms", 1_000_000), ("µs", 1_000), ("ns", 1)];
            let whole = units.into_iter().find(|&(_, unit)| ns.is_multiple_of(unit));
            let (name, unit) = whole.unwrap_or(("ns", 1));
            format!("{} {name}", grouped(ns / unit))
        }
        Limit::Percent(percent) => format!("{percent} %"),
        Limit::Baseline(factor) if (factor - 1.0).abs() < f64::EPSILON => "baseline".to_owned(),
        Limit::Baseline(factor) => format!("{factor} × baseline"),
        Limit::Number(number) => {
            let whole = number.fract().abs() < f64::EPSILON;
            let per_s = if metric == Metric::Throughput { "/s" } else { "" };
            format!("{}{per_s}", decimal(number, usize::from(!whole)))
        }
    }
}

pub(super) fn number(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Us => millis(value) + " ms",
        Unit::Percent => {
            let text = decimal(value, 3);
            format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
        }
        Unit::Count => decimal(value, 0),
        Unit::PerSecond => decimal(value, 1) + "/s",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::fixture;

    #[test]
    fn a_limit_has_the_unit_of_the_time_that_it_is_compared_with() {
        for (ns, words) in [
            (22_500_000, "22.5 ms"),
            (1_000_250_000, "1,000.25 ms"),
            (1_500_000_000, "1,500 ms"),
            (2_000_000_000, "2 s"),
            (1_000_000, "1 ms"),
            (250_000, "250 µs"),
        ] {
            assert_eq!(limit_words(Metric::Throughput, Limit::Time(ns)), words);
        }
    }

    #[test]
    fn each_line_has_the_value() {
        let record = fixture::record(&[
            "read.max > 1ms",
            "read.err > 5%",
            "throughput < 1k",
            "dropped > 0",
            "update.p99 > 1s",
        ]);
        let lines = [
            "✗ read max ≤ 1 ms: missed, 1.97 ms",
            "✓ read errors ≤ 5 %: met, 1 %",
            "✓ throughput ≥ 1,000/s: met, 1,226.0/s",
            "✗ dropped ≤ 0: missed, 100",
            "✗ update p99 ≤ 1 s: cannot be judged: too few samples: 95 of at least 1,000",
        ];
        assert_eq!(threshold_lines(&record), lines);
        for (name, says) in [
            ("text", "✗ read max ≤ 1 ms: missed, 1.97 ms\n"),
            ("cushion", "THRESHOLDS:\n  ✗ read max ≤ 1 ms: missed"),
            ("html", "</span>read max ≤ 1 ms: missed, 1.97 ms</li>"),
        ] {
            let format = super::super::format(name).expect("there is one");
            let bytes = format.render(std::slice::from_ref(&record), None).expect("of one run");
            assert!(String::from_utf8_lossy(&bytes).contains(says), "{name}");
        }
    }

    #[test]
    fn a_requirement_is_the_opposite_of_what_fails_a_run() {
        for (expression, wanted) in [
            ("read.p99 > 20ms", "read p99 ≤ 20 ms"),
            ("service.p99.9 >= 1500us", "service p99.9 < 1.5 ms"),
            ("delete.lag.mean > 2s", "delete lag mean ≤ 2 s"),
            ("err > 0.1%", "errors ≤ 0.1 %"),
            ("update.conflict >= 10", "update conflict failures < 10"),
            ("not_found <= 3%", "not found failures > 3 %"),
            ("read.throughput < 12.5", "read throughput ≥ 12.5/s"),
            ("unfinished > 0", "unfinished ≤ 0"),
        ] {
            let record = fixture::record(&[expression]);
            let found = requirements(&record).next().expect("one");
            assert_eq!(format!("{} {}", found.subject, found.wanted), wanted);
        }
    }

    #[test]
    fn what_cannot_be_compared_with_the_baseline_is_not_called_missed() {
        let expression: Threshold = "p99 > 1s".parse().expect("a threshold");
        let said = |value: Option<f64>, problem: Option<&str>, broken: bool| {
            let mut record = fixture::record(&[]);
            record.regressions = vec![Regression {
                metric: expression.quantity(),
                unit: Unit::Us,
                value,
                baseline: Some(2_000.0),
                runs: 5,
                change: None,
                low: None,
                high: None,
                verdict: Standing::CannotTell,
                broken,
                problem: problem.map(str::to_owned),
            }];
            let missed = missed_lines(&record).len();
            (threshold_lines(&record).pop().expect("a requirement"), missed)
        };
        let wanted = "p99 ≤ baseline 2.00 ms + 0 %";
        let few = format!("✗ {wanted}: cannot be judged: too few samples");
        assert_eq!(said(None, Some("too few samples"), true), (few, 1));
        assert_eq!(said(Some(3_000.0), None, true), (format!("✗ {wanted}: missed, 3.00 ms"), 1));
        assert_eq!(said(Some(2_010.0), None, false), (format!("✓ {wanted}: met, 2.01 ms"), 0));
    }

    #[test]
    fn what_is_missed_is_said_in_few_words() {
        let record = fixture::record(&["read.max > 1ms", "update.p99 > 1s"]);
        let words: Vec<_> = requirements(&record).map(|it| it.missed_words()).collect();
        let few = "update p99 cannot be judged: too few samples: 95 of at least 1,000";
        assert_eq!(words, ["read max 1.97 ms, limit 1 ms", few]);
    }
}
