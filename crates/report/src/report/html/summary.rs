//! The table of one run: a row for all operations of a stage, and one for each kind.

use super::escape::Html;
use crate::measure::{Count, Latency, OperationSummary, Shown, Statistic};
use crate::record::{RunRecord, StageRecord};
use crate::report::detail;
use crate::report::number::{decimal, grouped, millis};
use crate::report::words::loop_words;

/// A column: its name, its meaning, whether it is left out on a phone, and its content.
struct SummaryColumn {
    name: String,
    meaning: &'static str,
    is_wide: bool,
    cell: Box<dyn Fn(&SummaryRow<'_>) -> String>,
}

/// A row: a stage, the operations that it covers, none if it is about times alone, and the times.
struct SummaryRow<'a> {
    stage: &'a StageRecord,
    operations: &'a [&'a OperationSummary],
    per_s: f64,
    response: &'a Latency,
    service: Option<&'a Latency>,
}

const RESPONSE: &str = "Response time of requests that succeeded, in ms.";
const SERVICE: &str = "Service time of requests that succeeded, in ms.";

/// The columns that the operations of a run need.
fn columns(record: &RunRecord) -> Vec<SummaryColumn> {
    let operations: Vec<_> = record.measured().flat_map(|stage| &stage.operations).collect();
    let column = |name: &str, meaning, is_wide, cell| SummaryColumn {
        name: name.to_owned(),
        meaning,
        is_wide,
        cell,
    };
    let rate = |row: &SummaryRow<'_>| match row.operations {
        [] => String::new(),
        _ => rate(row.stage, row.per_s),
    };
    let mut columns = vec![column("ok/s", "What succeeded, per second.", false, Box::new(rate))];
    columns.extend(Statistic::shown(Shown::Wide).map(|it| {
        let cell = move |row: &SummaryRow<'_>| statistic(it, row.response);
        column(it.name(), RESPONSE, it.is_wide(), Box::new(cell))
    }));
    columns.extend(Count::shown(Shown::Wide, &operations).into_iter().map(|count| {
        let cell = move |row: &SummaryRow<'_>| match row.operations {
            [] => String::new(),
            operations => detail::count(count, count.sum(operations.iter().copied())),
        };
        column(count.title(), count.meaning(), count.is_wide(), Box::new(cell))
    }));
    if operations.iter().any(|operation| differs(&operation.response, &operation.service)) {
        columns.extend(Statistic::percentiles().map(|it| {
            let cell = move |row: &SummaryRow<'_>| {
                row.service.map_or_else(String::new, |times| statistic(it, times))
            };
            column(&format!("service {}", it.name()), SERVICE, true, Box::new(cell))
        }));
    }
    columns
}

pub(super) fn table(record: &RunRecord) -> Html {
    let columns = columns(record);
    let class = |it: &SummaryColumn| if it.is_wide { "wide" } else { "" };
    let mut heads = Html::tag("th scope=\"col\" class=\"\" title=\"\"", "operation");
    for column in &columns {
        let (class, meaning) = (class(column), column.meaning);
        let cell = format!("th scope=\"col\" class=\"{class}\" title=\"{meaning}\"");
        heads.push(&Html::tag(&cell, &column.name));
    }
    let row = |(name, element): (&str, &str), row: &SummaryRow<'_>| {
        let mut cells = Html::tag("th scope=\"row\"", name);
        for column in &columns {
            let text = (column.cell)(row);
            let few = if text == Statistic::P50.none() { " few" } else { "" };
            let class = format!("{}{few}", class(column));
            cells.push(&Html::tag(&format!("td class=\"{}\"", class.trim()), text));
        }
        Html::element(element, &cells)
    };
    let mut body = Html::default();
    for stage in record.measured() {
        body.push(&head(stage, columns.len() + 1));
        let requests: Vec<_> = stage.requests().collect();
        if requests.len() > 1 {
            let all = stage.merged();
            let figures = SummaryRow {
                stage,
                operations: &requests,
                per_s: all.throughput_per_s,
                response: &all.response,
                service: Some(&all.service),
            };
            body.push(&row(("all", "tr class=\"all\""), &figures));
        }
        for operation in &stage.operations {
            let OperationSummary { response, service, throughput_per_s, .. } = operation;
            let own = [operation];
            let name = operation.kind.name();
            let service = Some(service);
            let per_s = *throughput_per_s;
            body.push(&row(
                (name, "tr"),
                &SummaryRow { stage, operations: &own, per_s, response, service },
            ));
            if let Some(failed) = operation.failed_latency() {
                let name = format!("{name}, failed");
                let (response, service) = (&failed.response, Some(&failed.service));
                let times = SummaryRow { stage, operations: &[], per_s, response, service };
                body.push(&row((&name, "tr"), &times));
            }
        }
        // How long connections waited for the server during outages, when few operations are
        // started.
        if let Some(waits) = &stage.outage.waits {
            let name = format!("{} waits for the server", grouped(waits.samples));
            let times =
                SummaryRow { stage, operations: &[], per_s: 0.0, response: waits, service: None };
            body.push(&row((&name, "tr"), &times));
        }
    }
    let mut table = Html::element("thead", &Html::element("tr", &heads));
    table.push(&Html::element("tbody", &body));
    Html::element("table id=\"figures-table\"", &table)
}

/// Whether service times differ from response times by more than the width of a line in a chart.
pub(super) fn differs(response: &Latency, service: &Latency) -> bool {
    let pairs = [(response.p50_us, service.p50_us), (response.p99_us, service.p99_us)];
    pairs.into_iter().any(|pair| match pair {
        (Some(response), Some(service)) => (response - service).abs() > response * 0.03,
        _ => false,
    })
}

/// The header row of a stage.
fn head(stage: &StageRecord, columns: usize) -> Html {
    let mut head = Html::tag("strong", stage.title());
    let mode = loop_words(&stage.load);
    head.push(&Html::text(format!(" · {} s · {mode}", decimal(stage.elapsed_s, 3))));
    let cell = format!("th scope=\"rowgroup\" colspan=\"{columns}\"");
    Html::element("tr class=\"stage\"", &Html::element(&cell, &Html::element("div", &head)))
}

/// The rate of a stage or of one of its kinds, if it is long enough to have one.
fn rate(stage: &StageRecord, per_s: f64) -> String {
    if stage.rate_problem().is_some() { "-".to_owned() } else { decimal(per_s, 0) }
}

/// A statistic in milliseconds.
pub(super) fn statistic(it: Statistic, times: &Latency) -> String {
    it.of(times).map_or_else(|| it.none().to_owned(), millis)
}
