//! The table of one run: a row for all operations of a stage, and one for each kind.

use super::escape::Html;
use crate::measure::{Latency, OperationSummary};
use crate::record::{RunRecord, StageRecord};
use crate::report::number::{decimal, grouped, millis};
use crate::report::words::loop_words;

/// Names of columns, what they mean, and the class of those that a phone has no room for.
const COLUMNS: [(&str, &str, &str); 11] = [
    ("operation", "", ""),
    ("ok/s", "documents that succeeded, per second", ""),
    ("p50", "response time of requests that succeeded, ms", ""),
    ("p99", "response time of requests that succeeded, ms", ""),
    ("p99.9", "response time of requests that succeeded, ms", "wide"),
    ("max", "response time of requests that succeeded, ms", ""),
    ("failed", "documents whose operations failed", ""),
    ("unfinished", "documents without an answer at the end", "wide"),
    ("requests", "completed requests", "wide"),
    ("service p50", "service time of requests that succeeded, ms", "wide"),
    ("service p99", "service time of requests that succeeded, ms", "wide"),
];
const UNFINISHED: usize = 7;
const SERVICE: usize = 9;

/// The measurements of one run.
pub(super) fn table(record: &RunRecord) -> Html {
    let operations = || record.measured().flat_map(|stage| &stage.operations);
    let unfinished = operations().any(|operation| operation.unfinished > 0);
    let service = operations().any(|operation| differs(&operation.response, &operation.service));
    let shown = |at: usize| (unfinished || at != UNFINISHED) && (service || at < SERVICE);
    let rows = Rows { shown: &shown };
    let heads = COLUMNS.into_iter().enumerate().filter(|(at, _)| shown(*at));
    let heads: Html = heads
        .map(|(_, (name, meaning, class))| {
            Html::tag(&format!("th scope=\"col\" class=\"{class}\" title=\"{meaning}\""), name)
        })
        .collect();
    let count = (0..COLUMNS.len()).filter(|at| shown(*at)).count();
    let mut body = Html::default();
    for stage in record.measured() {
        body.push(&head(stage, count));
        if stage.requests().count() > 1 {
            body.push(&rows.all(stage));
        }
        let kind = |operation| rows.kind(stage, operation);
        body.push(&stage.operations.iter().map(kind).collect());
        body.push(&rows.waits(stage));
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

struct Rows<'a> {
    /// Whether a column is shown.
    shown: &'a dyn Fn(usize) -> bool,
}

impl Rows<'_> {
    fn all(&self, stage: &StageRecord) -> Html {
        let all = stage.merged();
        let counts = [
            rate(stage, all.throughput_per_s),
            grouped(all.failed()),
            grouped(all.unfinished),
            grouped(all.requests),
        ];
        self.row(("all", "tr class=\"all\""), Some(counts), (&all.response, Some(&all.service)))
    }

    /// The row of a kind, and one for the times of failed requests if there are any.
    fn kind(&self, stage: &StageRecord, operation: &OperationSummary) -> Html {
        let counts = [
            rate(stage, operation.throughput_per_s),
            grouped(operation.failed()),
            grouped(operation.unfinished),
            grouped(operation.requests),
        ];
        let name = operation.kind.name();
        let times = (&operation.response, Some(&operation.service));
        let mut rows = self.row((name, "tr"), Some(counts), times);
        if let Some(failed) = operation.failed_latency() {
            let name = format!("{name}, failed");
            rows.push(&self.row((&name, "tr"), None, (&failed.response, Some(&failed.service))));
        }
        rows
    }

    /// How long connections waited for the server during outages, when few operations are started.
    fn waits(&self, stage: &StageRecord) -> Html {
        let Some(waits) = &stage.outage.waits else { return Html::default() };
        let name = format!("{} waits for the server", grouped(waits.samples));
        self.row((&name, "tr"), None, (waits, None))
    }

    fn row(
        &self,
        (name, element): (&str, &str),
        counts: Option<[String; 4]>,
        (response, service): (&Latency, Option<&Latency>),
    ) -> Html {
        let [rate, failed, unfinished, requests] = counts.unwrap_or_default();
        let max = if response.samples == 0 { "-".to_owned() } else { millis(response.max_us) };
        let service = |of: fn(&Latency) -> Option<f64>| {
            service.map_or_else(String::new, |service| percentile(of(service)))
        };
        let cells = [
            rate,
            percentile(response.p50_us),
            percentile(response.p99_us),
            percentile(response.p99_9_us),
            max,
            failed,
            unfinished,
            requests,
            service(|it| it.p50_us),
            service(|it| it.p99_us),
        ];
        let mut row = Html::tag("th scope=\"row\"", name);
        for (at, text) in (1..).zip(cells).filter(|(at, _)| (self.shown)(*at)) {
            let few = if text == TOO_FEW { " few" } else { "" };
            let class = format!("{}{few}", COLUMNS[at].2);
            row.push(&Html::tag(&format!("td class=\"{}\"", class.trim()), text));
        }
        Html::element(element, &row)
    }
}

const TOO_FEW: &str = "too few";

/// The rate of a stage or of one of its kinds, if it took long enough to have one.
fn rate(stage: &StageRecord, per_s: f64) -> String {
    if stage.rate_problem().is_some() { "-".to_owned() } else { decimal(per_s, 0) }
}

/// A percentile in milliseconds.
pub(super) fn percentile(us: Option<f64>) -> String {
    us.map_or_else(|| TOO_FEW.to_owned(), millis)
}
