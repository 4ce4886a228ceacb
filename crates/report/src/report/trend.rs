//! Trends in words and as CSV.

use super::csv::quoted;
use super::number::decimal;
use super::threshold::{number, subject};
use crate::plan::Invalid;
use crate::record::Unit;
use crate::trend::{Change, Group, LEAST_RUNS, Mark, Series, Trend};
use std::fmt::Write as _;

/// A time for readers, to the minute, in UTC.
pub(super) fn date(started_at: &str) -> String {
    started_at.get(..16).unwrap_or(started_at).replace('T', " ")
}

pub(super) fn name(series: &Series) -> String {
    subject(series.metric)
}

/// A value of a series with its unit.
pub(super) fn value(series: &Series, value: f64) -> String {
    number(value, series.unit)
}

/// A change such as `−15.8 %`; for a change from 0, the new value.
fn percent(series: &Series, change: &Change) -> String {
    match change.percent {
        Some(percent) => {
            let sign = if percent < 0.0 { '−' } else { '+' };
            format!("{sign}{} %", decimal(percent.abs(), 1))
        }
        None => format!("+{}", value(series, change.after)),
    }
}

/// A change in words, such as `−15.8 % from 2026-10-03 09:15 on: 1,200.0/s → 1,010.0/s, run NAME`.
pub(super) fn change(series: &Series, change: &Change) -> String {
    format!(
        "{} from {} on: {} → {}, run {}",
        percent(series, change),
        date(&change.started_at),
        value(series, change.before),
        value(series, change.after),
        change.run,
    )
}

/// A line for each change of a trend.
pub(super) fn changes(trend: &Trend) -> Vec<String> {
    let of_series = |series: &Series| {
        let line = |it: &Change| {
            let (name, verdict) = (name(series), it.verdict.name());
            format!("{name} {verdict} {}", change(series, it))
        };
        series.changes.iter().map(line).collect::<Vec<_>>()
    };
    trend.groups.iter().flat_map(|group| &group.series).flat_map(of_series).collect()
}

/// A mark in words, such as `server couchdb 3.4.2 → couchdb 3.5.0 from 2026-10-03 09:15 on`.
pub(super) fn mark(group: &Group, mark: &Mark) -> String {
    let from = group.runs.get(mark.at).map(|run| date(&run.started_at)).unwrap_or_default();
    let known = |text: &str| if text.is_empty() { "unknown".to_owned() } else { text.to_owned() };
    let (before, after) = (known(&mark.before), known(&mark.after));
    format!("{} {before} → {after} from {from} on", mark.what)
}

/// How many runs there are, when they began, and what they have in common.
pub(super) fn span(group: &Group) -> String {
    let s = if group.runs.len() == 1 { "" } else { "s" };
    let day = |started_at: &str| started_at.get(..10).unwrap_or(started_at).to_owned();
    let mut text = format!("{} run{s}", group.runs.len());
    if let (Some(first), Some(last)) = (group.runs.first(), group.runs.last()) {
        let (from, to) = (day(&first.started_at), day(&last.started_at));
        let _ = write!(text, ", {from}");
        if to != from {
            let _ = write!(text, " to {to}");
        }
        if !last.server.is_empty() {
            let _ = write!(text, " · {}", last.server);
        }
    }
    text
}

/// The reason no changes can be found, if they cannot.
pub(super) fn too_few(group: &Group) -> Option<String> {
    let few = group.runs.len() < LEAST_RUNS;
    few.then(|| format!("finding changes takes {LEAST_RUNS} runs or more of the same plan"))
}

/// The outcome of the whole trend, in one line.
pub(super) fn headline(trend: &Trend) -> String {
    let runs = trend.runs();
    let plans = trend.groups.len();
    let of = if plans == 1 { "one plan".to_owned() } else { format!("{plans} plans") };
    let changes = trend.groups.iter().flat_map(|group| &group.series);
    let changes: usize = changes.map(|series| series.changes.len()).sum();
    let s = |count: usize| if count == 1 { "" } else { "s" };
    format!("{runs} run{} of {of} · {changes} change{}", s(runs), s(changes))
}

/// One group as CSV (RFC 4180), a row per run: the time, what is known about the run, and a column
/// for each quantity. Apache Otava can read it.
pub(super) fn trend_csv_of(trend: &Trend) -> Result<String, Invalid> {
    match &trend.groups[..] {
        [group] => Ok(trend_csv(group)),
        groups => {
            let problem =
                format!("a table shows the runs of one plan, but these are of {}", groups.len());
            Err(Invalid::new("--format csv", problem, "choose one with --group N"))
        }
    }
}

fn trend_csv(group: &Group) -> String {
    let mut out = "time,run,label,server,machine,springload".to_owned();
    for series in &group.series {
        let unit = match series.unit {
            Unit::Us => "us",
            Unit::Percent => "percent",
            Unit::Count => "count",
            Unit::PerSecond => "per_s",
        };
        let _ = write!(out, ",{}_{unit}", series.metric);
    }
    out.push('\n');
    for (at, run) in group.runs.iter().enumerate() {
        let label = run.label.as_deref().unwrap_or_default();
        let texts = [&run.started_at, &run.name, label, &run.server, &run.machine, &run.springload];
        let texts: Vec<String> = texts.into_iter().map(quoted).collect();
        out.push_str(&texts.join(","));
        for series in &group.series {
            out.push(',');
            if let Some(value) = series.values[at] {
                let _ = write!(out, "{value:.6}");
            }
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
#[path = "trend_tests.rs"]
pub(super) mod tests;
