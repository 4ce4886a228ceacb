//! Several runs side by side: a column for each, with its differences from the first.

use super::escape::Html;
use super::parts::letter;
use super::summary::{differs, statistic};
use crate::measure::{Latency, Merged, OperationSummary, Shown, Statistic};
use crate::op::OpKind;
use crate::plan::stage_title;
use crate::record::{RunRecord, StageRecord};
use crate::report::headline::share_words;
use crate::report::number::{decimal, grouped};
use crate::report::title::names;
use std::collections::BTreeSet;

/// A run's entry in a row: the text, and the number to compare.
struct ShownFigure {
    text: String,
    value: Option<f64>,
}

/// The figures of a stage, or of one kind in it.
struct Figures<'a> {
    per_s: f64,
    response: &'a Latency,
    service: &'a Latency,
    issued: u64,
    failed: u64,
}

impl<'a> Figures<'a> {
    fn of_all(all: &'a Merged) -> Self {
        Self {
            per_s: all.throughput_per_s,
            response: &all.response,
            service: &all.service,
            issued: all.issued,
            failed: all.failed(),
        }
    }

    fn of_kind(operation: &'a OperationSummary) -> Self {
        Self {
            per_s: operation.throughput_per_s,
            response: &operation.response,
            service: &operation.service,
            issued: operation.issued,
            failed: operation.failed(),
        }
    }
}

/// A row of each group: its name, whether each kind has it as well, and how to compute a run's
/// figure.
struct FigureRow {
    name: String,
    is_of_kind: bool,
    figure: Box<dyn Fn(&Figures<'_>) -> ShownFigure>,
}

/// The rows; `service`: including service times.
fn rows(service: bool) -> Vec<FigureRow> {
    let row =
        |name: &str, is_of_kind, figure| FigureRow { name: name.to_owned(), is_of_kind, figure };
    let response = |it: Statistic| {
        let figure = move |figures: &Figures<'_>| time(it, figures.response);
        row(&format!("{}, ms", it.name()), it.percent().is_some(), Box::new(figure))
    };
    let rate = |it: &Figures<'_>| ShownFigure { text: decimal(it.per_s, 0), value: Some(it.per_s) };
    let mut rows = vec![row("ok/s", true, Box::new(rate))];
    let (percentiles, others): (Vec<_>, Vec<_>) =
        Statistic::shown(Shown::Always).partition(|it| it.percent().is_some());
    rows.extend(percentiles.into_iter().map(response));
    rows.push(row("failed", true, Box::new(failed)));
    rows.extend(others.into_iter().map(response));
    if service {
        let p99 = |it: &Figures<'_>| time(Statistic::P99, it.service);
        rows.push(row("service p99, ms", false, Box::new(p99)));
    }
    rows
}

fn time(it: Statistic, times: &Latency) -> ShownFigure {
    ShownFigure { text: statistic(it, times), value: it.of(times) }
}

fn failed(it: &Figures<'_>) -> ShownFigure {
    let share = it.failed as f64 / it.issued.max(1) as f64;
    let text = match it.failed {
        0 => "0".to_owned(),
        failed => format!("{} ({})", grouped(failed), share_words(share)),
    };
    ShownFigure { text, value: None }
}

pub(super) fn table(runs: &[RunRecord]) -> Html {
    let names = names(runs);
    let head = |run: usize| {
        let mut head = letter(runs, run);
        head.push(&Html::text(&names[run]));
        Html::element("th scope=\"col\"", &head)
    };
    let mut heads = Html::raw("<td></td>");
    heads.push(&(0..runs.len()).map(head).collect());
    let differ = |it: &OperationSummary| differs(&it.response, &it.service);
    let measured = runs.iter().flat_map(RunRecord::measured);
    let rows = rows(measured.flat_map(|stage| &stage.operations).any(differ));
    let mut body = Html::default();
    for name in stages(runs) {
        let stages: Vec<Option<&StageRecord>> =
            runs.iter().map(|run| run.measured().find(|stage| stage.name == name)).collect();
        let merged: Vec<Option<Merged>> =
            stages.iter().map(|stage| stage.map(StageRecord::merged)).collect();
        let all: Vec<_> = merged.iter().map(|it| it.as_ref().map(Figures::of_all)).collect();
        let kinds = kinds(&stages);
        let title = stage_title(&name);
        body.push(&group(&title, &all, rows.iter()));
        for kind in kinds.iter().filter(|_| kinds.len() > 1) {
            let found: Vec<Option<&OperationSummary>> = stages
                .iter()
                .map(|stage| stage.and_then(|it| it.operations.iter().find(|it| it.kind == *kind)))
                .collect();
            let figures: Vec<_> = found.iter().map(|it| it.map(Figures::of_kind)).collect();
            let own = rows.iter().filter(|row| row.is_of_kind);
            body.push(&group(&format!("{title}: {kind}"), &figures, own));
        }
    }
    let mut table = Html::element("thead", &Html::element("tr", &heads));
    table.push(&Html::element("tbody", &body));
    Html::element("table id=\"figures-table\" class=\"compare\"", &table)
}

/// The measured stages of all runs, each once, beginning with the main stages.
fn stages(runs: &[RunRecord]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let main = runs.iter().filter_map(RunRecord::main_stage);
    for stage in main.chain(runs.iter().flat_map(RunRecord::measured)) {
        if !names.contains(&stage.name) {
            names.push(stage.name.clone());
        }
    }
    names
}

fn kinds(stages: &[Option<&StageRecord>]) -> Vec<OpKind> {
    let operations = stages.iter().flatten().flat_map(|stage| &stage.operations);
    let kinds: BTreeSet<OpKind> = operations.map(|operation| operation.kind).collect();
    kinds.into_iter().collect()
}

/// The rows of a stage or a kind, under its name.
fn group<'a>(
    name: &str,
    figures: &[Option<Figures<'_>>],
    wanted: impl Iterator<Item = &'a FigureRow>,
) -> Html {
    let cell = format!("th scope=\"rowgroup\" colspan=\"{}\"", figures.len() + 1);
    let mut rows =
        Html::element("tr class=\"stage\"", &Html::element(&cell, &Html::tag("div", name)));
    for FigureRow { name, figure, .. } in wanted {
        let found: Vec<Option<ShownFigure>> =
            figures.iter().map(|it| it.as_ref().map(figure)).collect();
        let first = found.first().and_then(|it| it.as_ref()?.value);
        let mut row = Html::tag("th scope=\"row\"", name);
        for (run, figure) in found.iter().enumerate() {
            let mut cell = Html::text(figure.as_ref().map_or("–", |it| &it.text));
            let value = figure.as_ref().and_then(|it| it.value).filter(|_| run > 0);
            if run > 0 {
                let difference = first.zip(value).map(|(one, it)| difference(one, it));
                let text = difference.unwrap_or_default();
                cell.push(&Html::tag("span class=\"difference\"", text));
            }
            row.push(&Html::element("td", &cell));
        }
        rows.push(&Html::element("tr", &row));
    }
    rows
}

/// How a value compares with the first: in percent, or as a ratio if that is clearer.
fn difference(first: f64, value: f64) -> String {
    if first <= 0.0 || value <= 0.0 {
        return String::new();
    }
    let ratio = value / first;
    let percent = (ratio - 1.0) * 100.0;
    match ratio {
        it if it >= 10.0 => format!("×{}", decimal(it, 0)),
        it if it >= 2.0 => format!("×{}", decimal(it, 1)),
        _ if percent.abs() < 0.5 => "±0 %".to_owned(),
        it if it <= 0.1 => format!("÷{}", decimal(1.0 / it, 0)),
        it if it <= 0.5 => format!("÷{}", decimal(1.0 / it, 1)),
        it if it > 1.0 => format!("+{} %", decimal(percent, 0)),
        _ => format!("−{} %", decimal(-percent, 0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_in_percent_or_ratios() {
        for (value, expected) in [
            (100.3, "±0 %"),
            (112.0, "+12 %"),
            (92.0, "−8 %"),
            (199.0, "+99 %"),
            (250.0, "×2.5"),
            (3_000.0, "×30"),
            (40.0, "÷2.5"),
            (1.0, "÷100"),
            (0.0, ""),
        ] {
            assert_eq!(difference(100.0, value), expected);
        }
    }
}
