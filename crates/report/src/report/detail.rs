//! All figures of a stage in tables, and other parts that several text formats share.

use super::number::{bytes, decimal, grouped, millis};
use super::table::align;
use super::threshold::threshold_lines;
use super::words::{loop_words, result_line, trust_lines, warning_lines};
use crate::measure::{Count, Latency, OperationSummary, Shown, Statistic, Wire};
use crate::plan::Nouns;
use crate::record::{RunRecord, StageRecord};
use std::fmt::Write as _;

/// Whether each stage can be trusted, and the result of the run.
pub(super) fn trust(record: &RunRecord, out: &mut String) {
    for line in trust_lines(record) {
        let _ = writeln!(out, "trust: {line}");
    }
    let _ = writeln!(out, "{}", result_line(record));
}

pub(super) fn warnings(record: &RunRecord, out: &mut String) {
    if record.warnings.is_empty() {
        return;
    }
    out.push_str("\nwarnings\n");
    for line in warning_lines(record) {
        let _ = writeln!(out, "  ! {line}");
    }
}

pub(super) fn threshold_block(record: &RunRecord, out: &mut String) {
    if record.thresholds.is_empty() && record.regressions.is_empty() {
        return;
    }
    out.push_str("\nthresholds\n");
    for line in threshold_lines(record) {
        let _ = writeln!(out, "  {line}");
    }
}

pub(super) fn stage(stage: &StageRecord, nouns: Nouns, out: &mut String) {
    let mode = loop_words(&stage.load);
    let _ = writeln!(out, "{} · {} s · {mode}", stage.title(), decimal(stage.elapsed_s, 3));
    if stage.operations.is_empty() {
        out.push_str("  nothing was measured\n");
        return;
    }
    out.push_str(&align(&counts(stage, nouns)));
    for operation in &stage.operations {
        if let Some(line) = on_the_wire(operation) {
            let _ = writeln!(out, "  {line}");
        }
    }
    for operation in stage.operations.iter().filter(|it| !it.statuses.is_empty()) {
        let answers: Vec<_> = operation
            .statuses
            .iter()
            .map(|(status, &count)| format!("{status}: {}", grouped(count)))
            .collect();
        let _ = writeln!(out, "  {} by status · {}", operation.kind, answers.join(" · "));
    }
    out.push('\n');
    out.push_str(&align(&times(stage)));
    if !stage.connections.spread.is_empty() {
        out.push('\n');
        out.push_str(&align(&phases(stage)));
    }
}

/// The number of requests that operations took, unless it is one each.
fn on_the_wire(operation: &OperationSummary) -> Option<String> {
    let sent = operation.wire.requests.filter(|&sent| sent != operation.requests);
    let Wire { retries, relocated, outside_ns, .. } = operation.wire;
    let mut parts = vec![format!("{} on the wire", operation.kind)];
    parts.extend(sent.map(|sent| format!("{} requests", grouped(sent))));
    for (count, why) in [
        (retries, "retried after a conflict"),
        (relocated, "sent again because something had moved"),
    ] {
        parts.extend((count > 0).then(|| format!("{why} {} times", grouped(count))));
    }
    if outside_ns > 0 {
        let mean_us = outside_ns as f64 / 1e3 / operation.requests.max(1) as f64;
        parts.push(format!("{} µs outside the binding, mean", decimal(mean_us, 1)));
    }
    (parts.len() > 1).then(|| parts.join(" · "))
}

fn cells<'a>(cells: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    cells.into_iter().map(str::to_owned).collect()
}

/// A count formatted for readers.
pub(super) fn count(count: Count, number: u64) -> String {
    if count.is_bytes() { bytes(number) } else { grouped(number) }
}

fn counts(stage: &StageRecord, nouns: Nouns) -> Vec<Vec<String>> {
    let counts = Count::shown(Shown::Detail, &stage.operations.iter().collect::<Vec<_>>());
    let head = [nouns.many, "ok/s"].into_iter().chain(counts.iter().map(|it| it.title()));
    let row = |operation: &OperationSummary| {
        let mut row = vec![operation.kind.to_string(), decimal(operation.throughput_per_s, 0)];
        row.extend(counts.iter().map(|it| count(*it, it.of(operation))));
        row
    };
    [cells(head)].into_iter().chain(stage.operations.iter().map(row)).collect()
}

pub(super) fn times(stage: &StageRecord) -> Vec<Vec<String>> {
    let statistics = Statistic::shown(Shown::Detail);
    let names = statistics.clone().map(Statistic::name);
    let mut rows = vec![cells(["time per request, ms"].into_iter().chain(names))];
    let row = |name: String, latency: &Latency| {
        let figure = |it: Statistic| it.of(latency).map_or_else(|| it.none().to_owned(), millis);
        [name].into_iter().chain(statistics.clone().map(figure)).collect()
    };
    for operation in &stage.operations {
        let kind = operation.kind;
        rows.push(row(format!("{kind} response"), &operation.response));
        rows.push(row(format!("{kind} service"), &operation.service));
        if let Some(failed) = operation.failed_latency() {
            rows.push(row(format!("{kind} failed, response"), &failed.response));
            rows.push(row(format!("{kind} failed, service"), &failed.service));
        }
    }
    // Operations that were never started have no times, but their connections' waits do.
    if let Some(waits) = &stage.outage.waits {
        rows.push(row(format!("{} waits for the server", grouped(waits.samples)), waits));
    }
    rows
}

fn phases(stage: &StageRecord) -> Vec<Vec<String>> {
    let mut rows = vec![cells(["time per connection, s", "min", "median", "max", "sd"])];
    for phase in ["local", "send", "remote", "receive"] {
        let Some(spread) = stage.connections.spread.get(phase) else { continue };
        let mut row = vec![phase.to_owned()];
        row.extend(
            [spread.min, spread.median, spread.max, spread.sd].map(|value| decimal(value, 3)),
        );
        rows.push(row);
    }
    rows
}
