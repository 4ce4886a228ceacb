//! The text parts of the page: head, trust, summary, how to reproduce the run.

use super::escape::Html;
use crate::measure::{Latency, OperationSummary};
use crate::record::{ResultKind, RunRecord, StageRecord};
use crate::report::chart::label;
use crate::report::number::{decimal, grouped, millis};
use crate::report::threshold::threshold_lines;
use crate::report::words::{
    Standing, loop_words, place, result_line, standing, trust_line, verdict_words, warning_lines,
};

/// The title of the page.
pub(super) fn title(runs: &[RunRecord]) -> Html {
    let [first, others @ ..] = runs else { return Html::text("springload") };
    let more = if others.is_empty() { String::new() } else { format!(" +{}", others.len()) };
    Html::text(format!("springload · {}{more} · {}", place(&first.server), first.started_at))
}

/// One line per run: what was measured and when.
pub(super) fn head(runs: &[RunRecord]) -> Html {
    let line = |(run, record): (usize, &RunRecord)| {
        let mut line = letter(runs, run);
        line.push(&Html::tag("strong", place(&record.server)));
        let (plan, environment) = (&record.plan, &record.environment);
        line.push(&Html::text(format!(
            " · {} · {} connections · springload {}",
            record.started_at, plan.connections, environment.springload
        )));
        Html::element("p", &line)
    };
    runs.iter().enumerate().map(line).collect()
}

/// A run's letter, if there are several runs.
pub(super) fn letter(runs: &[RunRecord], run: usize) -> Html {
    if runs.len() < 2 {
        return Html::default();
    }
    Html::tag(&format!("span class=\"letter tone-{run}\""), label(run))
}

/// Verdicts, warnings and thresholds of each run: what must be read before any number.
pub(super) fn trust(runs: &[RunRecord]) -> Html {
    let card = |(run, record): (usize, &RunRecord)| {
        let mut inside = Html::default();
        let colour = match record.result().kind {
            ResultKind::Passed => "good",
            ResultKind::Stopped => "none",
            ResultKind::Failed | ResultKind::NotTrustworthy => "bad",
        };
        let mut line = letter(runs, run);
        line.push(&Html::tag(&format!("strong class=\"badge {colour}\""), result_line(record)));
        inside.push(&Html::element("p class=\"result\"", &line));
        for stage in record.measured() {
            let mut line = letter(runs, run);
            line.push(&badge(record, stage));
            line.push(&Html::tag("span", format!("trust: {}", trust_line(record, stage))));
            inside.push(&Html::element("p class=\"trust\"", &line));
        }
        let warnings: Html = warning_lines(record).map(|line| Html::tag("li", line)).collect();
        if !warnings.as_str().is_empty() {
            inside.push(&Html::element("ul class=\"warnings\"", &warnings));
        }
        let thresholds: Html = record
            .thresholds
            .iter()
            .zip(threshold_lines(record))
            .map(|(it, line)| Html::tag(if it.broken { "li class=\"broken\"" } else { "li" }, line))
            .collect();
        if !thresholds.as_str().is_empty() {
            inside.push(&Html::element("ul class=\"thresholds\"", &thresholds));
        }
        Html::element("div class=\"card\"", &inside)
    };
    runs.iter().enumerate().map(card).collect()
}

fn badge(record: &RunRecord, stage: &StageRecord) -> Html {
    let standing = standing(record, stage);
    let colour = match standing {
        Standing::Good => "good",
        Standing::Fair => "fair",
        Standing::Bad => "bad",
        Standing::Unknown => "none",
    };
    let words = verdict_words(record, stage);
    let short = words.split([',', ' ']).next().filter(|_| standing == Standing::Good);
    let text = format!("{} {}", stage.title(), short.unwrap_or(&words));
    Html::tag(&format!("span class=\"badge {colour}\""), text)
}

const COLUMNS: [(&str, &str); 11] = [
    ("operation", ""),
    ("ok/s", "documents that succeeded, per second"),
    ("requests", "completed requests"),
    ("failed", "documents whose operations failed"),
    ("unfinished", "documents without an answer at the end"),
    ("p50", "response time of requests that succeeded, ms"),
    ("p99", "response time of requests that succeeded, ms"),
    ("p99.9", "response time of requests that succeeded, ms"),
    ("max", "response time of requests that succeeded, ms"),
    ("service p50", "service time of requests that succeeded, ms"),
    ("service p99", "service time of requests that succeeded, ms"),
];

/// The measurements, a row per kind of operation.
pub(super) fn summary(runs: &[RunRecord]) -> Html {
    let heads: Html = COLUMNS
        .into_iter()
        .map(|(name, meaning)| Html::tag(&format!("th scope=\"col\" title=\"{meaning}\""), name))
        .collect();
    let mut rows = Html::default();
    for (run, record) in runs.iter().enumerate() {
        for stage in record.measured() {
            rows.push(&load(runs, run, stage));
            rows.push(&stage.operations.iter().map(row).collect());
            rows.push(&waits(stage));
        }
    }
    let table =
        Html::raw(format!("<thead>{}</thead><tbody>{rows}</tbody>", Html::element("tr", &heads)));
    Html::element("table", &table)
}

/// The header row of a stage.
fn load(runs: &[RunRecord], run: usize, stage: &StageRecord) -> Html {
    let mode = loop_words(&stage.load);
    let mut head = letter(runs, run);
    head.push(&Html::tag("strong", stage.title()));
    head.push(&Html::text(format!(" · {} s · {mode}", decimal(stage.elapsed_s, 3))));
    let cell = format!("th scope=\"rowgroup\" colspan=\"{}\"", COLUMNS.len());
    Html::element("tr class=\"stage\"", &Html::element(&cell, &Html::element("div", &head)))
}

/// The row of an operation, and one for the times of failed requests if there are any.
fn row(operation: &OperationSummary) -> Html {
    let counts = [
        decimal(operation.throughput_per_s, 0),
        grouped(operation.requests),
        grouped(operation.failed()),
        grouped(operation.unfinished),
    ];
    let mut rows = cells(
        operation.kind.to_string(),
        counts.into_iter().chain(times(&operation.response, &operation.service)),
    );
    if let Some(failed) = operation.failed_latency() {
        let none = std::iter::repeat_n(String::new(), 4);
        let name = format!("{}, failed", operation.kind);
        rows.push(&cells(name, none.chain(times(&failed.response, &failed.service))));
    }
    rows
}

/// How long connections waited for the server during outages, when few operations are started.
fn waits(stage: &StageRecord) -> Html {
    let Some(waits) = &stage.outage.waits else { return Html::default() };
    let none = std::iter::repeat_n(String::new(), 4);
    let service = std::iter::repeat_n(String::new(), 2);
    let name = format!("{} waits for the server", grouped(waits.samples));
    cells(name, none.chain(times(waits, waits).into_iter().take(4)).chain(service))
}

fn times(response: &Latency, service: &Latency) -> [String; 6] {
    let time = |value: Option<f64>| value.map_or_else(|| "too few".to_owned(), millis);
    let max = if response.samples == 0 { "-".to_owned() } else { millis(response.max_us) };
    [
        time(response.p50_us),
        time(response.p99_us),
        time(response.p99_9_us),
        max,
        time(service.p50_us),
        time(service.p99_us),
    ]
}

fn cells(name: String, cells: impl Iterator<Item = String>) -> Html {
    let mut row = Html::tag("th scope=\"row\"", name);
    let cell =
        |text: String| Html::tag(if text == "too few" { "td class=\"few\"" } else { "td" }, text);
    row.push(&cells.map(cell).collect());
    Html::element("tr", &row)
}

/// The command that repeats the run.
pub(super) fn reproduce(runs: &[RunRecord]) -> Html {
    let block = |(run, record): (usize, &RunRecord)| {
        let mut block = letter(runs, run);
        block.push(&Html::element("pre", &Html::tag("code", &record.plan.command)));
        Html::element("div class=\"command\"", &block)
    };
    runs.iter().enumerate().map(block).collect()
}

/// A table of rows with their classes; the first row is the header.
pub(super) fn grid<'a>(rows: impl IntoIterator<Item = (&'a str, Vec<String>)>) -> Html {
    let mut rows = rows.into_iter();
    let (_, head) = rows.next().unwrap_or_default();
    let head: Html = head.iter().map(|name| Html::tag("th scope=\"col\"", name)).collect();
    let row = |(class, cells): (&str, Vec<String>)| {
        let cells: Html = cells.iter().map(|text| Html::tag("td", text)).collect();
        Html::element(&format!("tr class=\"{class}\""), &cells)
    };
    let mut table = Html::element("thead", &Html::element("tr", &head));
    table.push(&Html::element("tbody", &rows.map(row).collect()));
    Html::element("table", &table)
}
