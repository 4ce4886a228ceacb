//! How certain a stage's figures are, in words: intervals, warm-up, and trends.

use super::number::{decimal, millis};
use super::table::align;
use crate::measure::{Growth, is_default};
use crate::record::{Estimate, Estimates, Intervals, Per, StageRecord, Trend, Trending};
use std::fmt::Write as _;

/// Shown if there is no figure.
const NONE: &str = "-";

/// The format of a figure.
type NumberFormat = fn(f64) -> String;

/// The intervals of all requests, as the parts of one line; empty: there are none.
pub(super) fn parts(stage: &StageRecord) -> Vec<String> {
    let Some(Intervals { throughput_per_s, p50_us, p99_us }) =
        stage.estimates.as_ref().map(|it| it.all)
    else {
        return Vec::new();
    };
    let figures = [
        ("", throughput_per_s, rate as NumberFormat, "/s"),
        ("p50 ", p50_us, millis, " ms"),
        ("p99 ", p99_us, millis, " ms"),
    ];
    let needed = |(_, estimate, ..): &(_, Option<Estimate>, _, _)| match estimate {
        Some(Estimate::TooShort { needed_s }) => Some(*needed_s),
        _ => None,
    };
    let longest = figures.iter().filter_map(needed).max();
    let bounded =
        |&(name, estimate, number, unit): &(&str, Option<Estimate>, NumberFormat, &str)| {
            Some(format!("{name}{}{unit}", range(estimate?, number)?))
        };
    let mut parts: Vec<String> = figures.iter().filter_map(bounded).collect();
    if let Some(first) = parts.first_mut() {
        *first = format!("95 %: {first}");
        let short = figures.iter().filter_map(|it| Some((it.0.trim_end(), needed(it)?)));
        parts.extend(short.map(|(name, needed_s)| {
            let name = if name.is_empty() { "throughput" } else { name };
            format!("too short for a {name} interval: {needed_s} s needed")
        }));
    } else if let Some(needed_s) = longest {
        parts.push(format!("too short for 95 % intervals: {needed_s} s needed"));
    }
    parts
}

/// Where the warm-up ends and what keeps changing, as the parts of one line; empty: it is steady.
pub(super) fn steadiness(stage: &StageRecord) -> Vec<String> {
    let Some(estimates) = &stage.estimates else { return Vec::new() };
    let Estimates { steady_from_s, unsettled, trends, .. } = estimates;
    let warm_up = steady_from_s.filter(|it| !is_default(it));
    let mut parts: Vec<String> =
        warm_up.map(|it| format!("the first {it} s are warm-up")).into_iter().collect();
    if *unsettled && trends.is_empty() {
        parts.push("not steady by its end".to_owned());
    }
    parts.extend(trends.iter().map(|it| trend(it, estimates, stage.growth.as_ref())));
    parts
}

/// A trend in words, such as `throughput −1.8 % per GB`. If less than such a unit was measured, it
/// is the change over that time. So is a fall of 100 % or more: nothing falls by that each minute,
/// but by that part of its mean it can, as the mean lies between its beginning and its end.
fn trend(trend: &Trend, estimates: &Estimates, growth: Option<&Growth>) -> String {
    let name = match trend.of {
        Trending::Throughput => "throughput",
        Trending::P50 => "p50",
    };
    let (from_s, to_s) = (estimates.steady_from_s.unwrap_or(0), estimates.over_s);
    let over_s = to_s.saturating_sub(from_s);
    let grew = |it: &Growth| it.bytes_at(f64::from(to_s)) - it.bytes_at(f64::from(from_s));
    let (per, units) = match trend.per {
        Per::Gb => ("GB", growth.map_or(1.0, |it| grew(it) / 1e9)),
        Per::Minute => ("minute", f64::from(over_s) / 60.0),
    };
    let (percent, what) = if units < 1.0 || trend.percent <= -100.0 {
        (trend.percent * units, format!("of its mean over {over_s} s"))
    } else {
        (trend.percent, format!("per {per}"))
    };
    let sign = if percent < 0.0 { '−' } else { '+' };
    let places = if percent.abs() < 1.0 { 2 } else { 1 };
    format!("{name} {sign}{} % {what}", decimal(percent.abs(), places))
}

fn rate(per_s: f64) -> String {
    decimal(per_s, usize::from(per_s < 10.0))
}

/// A range such as `1.2–1.4`; one number if both ends look alike. `None`: there is no interval.
fn range(estimate: Estimate, number: NumberFormat) -> Option<String> {
    let Estimate::Interval { low, high } = estimate else { return None };
    let (low, high) = (number(low), number(high));
    Some(if low == high { low } else { format!("{low}–{high}") })
}

/// A table of all kinds, beginning with its header. `None`: there is nothing to show.
pub(super) fn rows(stage: &StageRecord) -> Option<Vec<Vec<String>>> {
    let Estimates { all, operations, .. } = stage.estimates.as_ref()?;
    let cell = |estimate: Option<Estimate>, number: NumberFormat| match estimate {
        None => NONE.to_owned(),
        Some(Estimate::TooShort { needed_s }) => format!("{needed_s} s needed"),
        Some(estimate) => range(estimate, number).unwrap_or_default(),
    };
    let row = |name: &str, it: &Intervals| {
        vec![
            name.to_owned(),
            cell(it.throughput_per_s, rate),
            cell(it.p50_us, millis),
            cell(it.p99_us, millis),
        ]
    };
    let head = ["95 % intervals", "ok/s", "p50, ms", "p99, ms"].map(str::to_owned);
    let mut rows = vec![head.to_vec()];
    if operations.keys().filter(|kind| kind.is_request()).count() > 1 {
        rows.push(row("all", all));
    }
    rows.extend(operations.iter().map(|(kind, it)| row(kind.name(), it)));
    Some(rows)
}

/// Writes the table as text, and notes on values that are not steady.
pub(super) fn section(stage: &StageRecord, out: &mut String) {
    let Some(rows) = rows(stage) else { return };
    out.push('\n');
    out.push_str(&align(&rows));
    let steadiness = steadiness(stage);
    if !steadiness.is_empty() {
        let _ = writeln!(out, "  {}", steadiness.join(" · "));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::SizePoint;
    use crate::op::OpKind;
    use crate::record::fixture::{part, stage};
    use std::collections::BTreeMap;

    fn with(all: Intervals) -> StageRecord {
        let estimates = Estimates {
            over_s: 60,
            step_s: 1,
            all,
            operations: BTreeMap::from([(OpKind::Read, all)]),
            steady_from_s: Some(0),
            unsettled: false,
            trends: Vec::new(),
        };
        let stage = stage("crud", vec![(0, OpKind::Read, part(10, 0))]);
        StageRecord { estimates: Some(estimates), ..stage }
    }

    #[test]
    fn intervals_in_a_line() {
        let interval = |low, high| Some(Estimate::Interval { low, high });
        let needed = |needed_s| Some(Estimate::TooShort { needed_s });
        let words = |throughput_per_s, p50_us, p99_us| {
            parts(&with(Intervals { throughput_per_s, p50_us, p99_us })).join(" · ")
        };
        let (rate, p50) = (interval(1_234.0, 1_301.0), interval(900.0, 950.0));
        let line = "95 %: 1,234–1,301/s · p50 0.900–0.950 ms · p99 4.00–4.40 ms";
        assert_eq!(words(rate, p50, interval(4_000.0, 4_400.0)), line);
        let line = "95 %: 1,000/s · too short for a p99 interval: 90 s needed";
        assert_eq!(words(interval(1_000.0, 1_000.0), None, needed(90)), line);
        let line = "too short for 95 % intervals: 50 s needed";
        assert_eq!(words(needed(30), needed(50), None), line);
        assert_eq!(words(None, None, None), "");
    }

    #[test]
    fn what_is_not_steady_is_reported() {
        let mut stage = with(Intervals::default());
        assert_eq!(steadiness(&stage), Vec::<String>::new());
        let estimates = stage.estimates.as_mut().unwrap();
        (estimates.steady_from_s, estimates.over_s) = (Some(12), 72);
        let falling = Trend { of: Trending::Throughput, percent: -1.8, per: Per::Gb };
        let rising = Trend { of: Trending::P50, percent: 0.25, per: Per::Minute };
        estimates.trends = vec![falling, rising];
        let words =
            "the first 12 s are warm-up · throughput −1.8 % per GB · p50 +0.25 % per minute";
        assert_eq!(steadiness(&stage).join(" · "), words);
        let estimates = stage.estimates.as_mut().unwrap();
        (estimates.steady_from_s, estimates.unsettled) = (None, true);
        estimates.trends.clear();
        assert_eq!(steadiness(&stage), ["not steady by its end"]);
        stage.estimates = None;
        assert!(steadiness(&stage).is_empty() && rows(&stage).is_none());
    }

    #[test]
    fn a_trend_is_not_extrapolated_to_time_or_growth_that_was_not_measured() {
        let mut stage = with(Intervals::default());
        let mut said = |over_s: u32, percent: f64, per: Per, grew: u64| {
            let size = |at_s: u32, bytes: u64| SizePoint {
                at_s: f64::from(at_s),
                file_bytes: Some(bytes),
                ..SizePoint::default()
            };
            let sizes = vec![size(0, 1_000_000), size(over_s, 1_000_000 + grew)];
            stage.growth = Some(Growth { sizes, ..Growth::default() });
            let estimates = stage.estimates.as_mut().unwrap();
            (estimates.over_s, estimates.steady_from_s) = (over_s, None);
            estimates.trends = vec![Trend { of: Trending::P50, percent, per }];
            steadiness(&stage).join(" · ")
        };
        let minute = Per::Minute;
        assert_eq!(said(20, -144.3, minute, 0), "p50 −48.1 % of its mean over 20 s");
        assert_eq!(said(59, 60.0, minute, 0), "p50 +59.0 % of its mean over 59 s");
        assert_eq!(said(60, 60.0, minute, 0), "p50 +60.0 % per minute");
        let (quarter, more) = (250_000_000, 1_250_000_000);
        assert_eq!(said(90, -160.0, Per::Gb, quarter), "p50 −40.0 % of its mean over 90 s");
        assert_eq!(said(30, -60.0, Per::Gb, more), "p50 −60.0 % per GB");
        assert_eq!(said(30, -60.0, Per::Gb, 1_000_000_000), "p50 −60.0 % per GB");
        // What falls by 20 % of its mean every ten seconds may last for more than a minute.
        assert_eq!(said(75, -120.0, minute, 0), "p50 −150.0 % of its mean over 75 s");
        assert_eq!(said(75, -100.0, minute, 0), "p50 −125.0 % of its mean over 75 s");
        assert_eq!(said(75, -99.0, minute, 0), "p50 −99.0 % per minute");
        assert_eq!(said(75, 120.0, minute, 0), "p50 +120.0 % per minute");
    }

    #[test]
    fn a_trend_is_over_the_time_and_the_growth_after_the_warm_up() {
        let mut stage = with(Intervals::default());
        let size = |at_s: u32, bytes: u64| SizePoint {
            at_s: f64::from(at_s),
            file_bytes: Some(bytes),
            ..SizePoint::default()
        };
        let sizes = vec![size(0, 1_000_000), size(40, 600_000_000), size(80, 1_100_000_000)];
        stage.growth = Some(Growth { sizes, ..Growth::default() });
        let estimates = stage.estimates.as_mut().unwrap();
        (estimates.over_s, estimates.steady_from_s) = (80, Some(40));
        let trend = |per| Trend { of: Trending::P50, percent: -60.0, per };
        estimates.trends = vec![trend(Per::Minute), trend(Per::Gb)];
        let words = [
            "the first 40 s are warm-up",
            "p50 −40.0 % of its mean over 40 s",
            "p50 −30.0 % of its mean over 40 s",
        ];
        assert_eq!(steadiness(&stage), words);
    }
}
