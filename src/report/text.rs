//! The report for people.

use super::failures::failures;
use super::headline::headline;
use super::number::{bytes, decimal, grouped, millis};
use super::story::{Event, lines as story_lines, story};
use super::table::align;
use super::threshold::threshold_lines;
use super::words::{fate, loop_words, place, result_line, trust_lines, warning_lines};
use super::{Format, Render};
use super::{agents, burst};
use crate::measure::{Latency, OperationSummary, Wire};
use crate::record::{RunRecord, StageRecord};
use std::fmt::Write as _;

pub(super) const FORMAT: Format =
    Format { name: "text", summary: "text for people", render: Render::One(render) };

fn render(record: &RunRecord) -> String {
    let mut out = headline(record).line() + "\n\n";
    head(record, &mut out);
    happened(record, &mut out);
    for stage in &record.stages {
        out.push('\n');
        self::stage(stage, &mut out);
        burst::section(record, stage, &mut out);
        agents::section(record, stage, &mut out);
    }
    warnings(record, &mut out);
    threshold_block(record, &mut out);
    out.push('\n');
    trust(record, &mut out);
    out
}

/// What happened, and when.
fn happened(record: &RunRecord, out: &mut String) {
    let events = story(record);
    let events: Vec<&Event> = events.iter().collect();
    for line in story_lines(&events, false) {
        let _ = writeln!(out, "  {line}");
    }
}

/// For each stage whether it can be trusted, and the result of the run.
pub(super) fn trust(record: &RunRecord, out: &mut String) {
    for line in trust_lines(record) {
        let _ = writeln!(out, "trust: {line}");
    }
    let _ = writeln!(out, "{}", result_line(record));
}

/// The warnings.
pub(super) fn warnings(record: &RunRecord, out: &mut String) {
    if record.warnings.is_empty() {
        return;
    }
    out.push_str("\nwarnings\n");
    for line in warning_lines(record) {
        let _ = writeln!(out, "  ! {line}");
    }
}

/// The thresholds and whether they hold.
pub(super) fn threshold_block(record: &RunRecord, out: &mut String) {
    if record.thresholds.is_empty() {
        return;
    }
    out.push_str("\nthresholds\n");
    for line in threshold_lines(record) {
        let _ = writeln!(out, "  {line}");
    }
}

fn head(record: &RunRecord, out: &mut String) {
    let (server, environment, plan) = (&record.server, &record.environment, &record.plan);
    let _ = writeln!(out, "springload {} · {}", environment.springload, place(server));
    if !server.database.is_empty() {
        let _ = writeln!(out, "database {} ({})", server.database, fate(server));
    }
    let ids =
        if plan.ids.is_sequential() { String::new() } else { format!(" · ids {}", plan.ids) };
    let crew = agents::crew(record).map(|crew| crew + ", ");
    let each = if crew.is_some() { " each" } else { "" };
    let _ = writeln!(
        out,
        "{} connections on {}{} {}{each} · seed {}{ids} · {} · {} {}, {} cores",
        plan.connections,
        crew.as_deref().unwrap_or_default(),
        plan.threads,
        if plan.threads == 1 { "thread" } else { "threads" },
        plan.seed,
        record.started_at,
        environment.system,
        environment.architecture,
        environment.cores,
    );
    if let Some(calibration) = &environment.calibration {
        let _ = writeln!(
            out,
            "calibration: clock {} ns · sleep overshoot {} µs (p50) · loop {} ns, at most {}/s",
            decimal(calibration.clock_ns, 0),
            decimal(calibration.timer_late_p50_us, 0),
            decimal(calibration.loop_ns, 0),
            decimal(calibration.ceiling_per_s, 0),
        );
    }
}

fn stage(stage: &StageRecord, out: &mut String) {
    let mode = loop_words(&stage.load);
    let _ = writeln!(out, "{} · {} s · {mode}", stage.title(), decimal(stage.elapsed_s, 3));
    if stage.operations.is_empty() {
        out.push_str("  nothing was measured\n");
        return;
    }
    out.push_str(&align(&counts(stage)));
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
    for failed in failures(stage.requests()) {
        let _ = writeln!(out, "  failed: {}", failed.words());
    }
    out.push('\n');
    out.push_str(&align(&times(stage)));
    if !stage.connections.spread.is_empty() {
        out.push('\n');
        out.push_str(&align(&phases(stage)));
    }
}

/// The requests that an operation took, unless it is one each.
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

fn cells<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.into_iter().map(str::to_owned).collect()
}

fn counts(stage: &StageRecord) -> Vec<Vec<String>> {
    let mut rows = vec![cells([
        "documents",
        "issued",
        "ok",
        "failed",
        "unfinished",
        "ok/s",
        "requests",
        "body sent",
        "body received",
    ])];
    rows.extend(stage.operations.iter().map(|operation| {
        vec![
            operation.kind.to_string(),
            grouped(operation.issued),
            grouped(operation.ok),
            grouped(operation.failed()),
            grouped(operation.unfinished),
            decimal(operation.throughput_per_s, 0),
            grouped(operation.requests),
            bytes(operation.bytes.sent),
            bytes(operation.bytes.received),
        ]
    }));
    rows
}

pub(super) fn times(stage: &StageRecord) -> Vec<Vec<String>> {
    let mut rows =
        vec![cells(["time per request, ms", "p50", "p90", "p95", "p99", "p99.9", "max"])];
    let row = |name: String, latency: &Latency| {
        let mut row = vec![name];
        for percentile in
            [latency.p50_us, latency.p90_us, latency.p95_us, latency.p99_us, latency.p99_9_us]
        {
            row.push(percentile.map_or_else(|| "too few".to_owned(), millis));
        }
        row.push(if latency.samples == 0 { "-".to_owned() } else { millis(latency.max_us) });
        row
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
    // Operations that were never started have no times, but the waits of their connections do.
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
