//! Iron Cushion's two blocks: its labels, order, units and number format, with correct values.

use super::number::{decimal, grouped};
use super::threshold::threshold_lines;
use super::words::trust_lines;
use super::{Format, Render};
use crate::measure::Spread;
use crate::op::OpKind;
use crate::plan::Purpose;
use crate::record::{Code, RunRecord, StageRecord, Warning};
use std::fmt::Write as _;

pub(super) const FORMAT: Format = Format {
    name: "cushion",
    summary: "Iron Cushion's two report blocks",
    endings: &[],
    render: Render::One(render),
};

const CRUD: [(OpKind, &str); 4] = [
    (OpKind::Create, "Create"),
    (OpKind::Read, "Read"),
    (OpKind::Update, "Update"),
    (OpKind::Delete, "Delete"),
];

fn render(record: &RunRecord) -> String {
    let mut out = String::new();
    for stage in record.measured() {
        if stage.purpose() == Purpose::Fill {
            out.push_str("BULK INSERT BENCHMARK RESULTS:\n");
            bulk(stage, &mut out);
        } else {
            out.push_str("CRUD BENCHMARK RESULTS:\n");
            crud(stage, &mut out);
        }
        out.push('\n');
        errors(stage, record, &mut out);
    }
    out.push_str("TRUST:\n");
    for line in trust_lines(record) {
        let _ = writeln!(out, "  {line}");
    }
    out.push('\n');
    if !(record.thresholds.is_empty() && record.regressions.is_empty()) {
        out.push_str("THRESHOLDS:\n");
        for line in threshold_lines(record) {
            let _ = writeln!(out, "  {line}");
        }
        out.push('\n');
    }
    let _ = writeln!(out, "RESULT:\n  {}\n", record.result().words());
    out
}

fn head(stage: &StageRecord, out: &mut String) {
    let ended = stage.connections.ended_s.iter().copied().fold(0.0, f64::max);
    let sum = |bytes: fn(&crate::measure::OperationSummary) -> u64| -> u64 {
        stage.operations.iter().map(bytes).sum()
    };
    let _ = writeln!(out, "  timeTaken={} secs", decimal(ended, 3));
    let _ = writeln!(out, "  totalJsonBytesSent={} bytes", grouped(sum(|o| o.bytes.sent)));
    let _ = writeln!(out, "  totalJsonBytesReceived={} bytes", grouped(sum(|o| o.bytes.received)));
    spread("localProcessing", &stage.connections.local_s, out);
    spread("sendData", &stage.connections.send_s, out);
}

fn bulk(stage: &StageRecord, out: &mut String) {
    let table = &stage.connections;
    let none = vec![0.0; table.send_s.len()];
    let remote = table.remote_s.get(&OpKind::BulkInsert).unwrap_or(&none);
    head(stage, out);
    spread("remoteProcessing", remote, out);
    spread("receiveData", &table.receive_s, out);
    let parts = table.send_s.iter().zip(remote).zip(&table.receive_s);
    let whole: Vec<f64> = parts.map(|((send, remote), receive)| send + remote + receive).collect();
    rate("remoteProcessingRate", stage, OpKind::BulkInsert, remote, out);
    rate("localInsertRate", stage, OpKind::BulkInsert, &whole, out);
}

fn crud(stage: &StageRecord, out: &mut String) {
    head(stage, out);
    let none = vec![0.0; stage.connections.send_s.len()];
    // As in the original, until the whole response was received: there is no line for receiving.
    let remote = |kind| stage.connections.answer_s.get(&kind).unwrap_or(&none);
    for (kind, name) in CRUD {
        spread(&format!("remote{name}Processing"), remote(kind), out);
    }
    for (kind, name) in CRUD {
        rate(&format!("remote{name}ProcessingRate"), stage, kind, remote(kind), out);
    }
}

fn spread(label: &str, seconds: &[f64], out: &mut String) {
    let Spread { min, max, median, sd } = Spread::of(seconds);
    let [min, max, median, sd] = [min, max, median, sd].map(|value| decimal(value, 3));
    let _ = writeln!(
        out,
        "  {label}={{min={min} secs, max={max} secs, median={median} secs, sd={sd} secs}}"
    );
}

/// Writes the rate of documents that succeeded: the sum of the connections' counts over their
/// `seconds`.
fn rate(label: &str, stage: &StageRecord, kind: OpKind, seconds: &[f64], out: &mut String) {
    let none = Vec::new();
    let documents = stage.connections.ok.get(&kind).unwrap_or(&none);
    let sum: f64 = documents
        .iter()
        .zip(seconds)
        .filter(|&(_, &seconds)| seconds > 0.0)
        .map(|(&documents, seconds)| documents as f64 / seconds)
        .sum();
    let _ = writeln!(out, "  {label}={} docs/sec", decimal(sum, 3));
}

/// Writes what the original does not report, below its block.
fn errors(stage: &StageRecord, record: &RunRecord, out: &mut String) {
    let shown = |w: &&Warning| w.stage.as_ref() == Some(&stage.name) || w.code == Code::Insecure;
    let of_stage = record.warnings.iter().filter(shown);
    let (errors, others): (Vec<_>, Vec<_>) = of_stage.partition(|warning| {
        matches!(warning.code, Code::Failures | Code::Unfinished | Code::NotAllBegun)
    });
    for (title, warnings) in [("ERRORS:", errors), ("WARNINGS:", others)] {
        if warnings.is_empty() {
            continue;
        }
        let _ = writeln!(out, "{title}");
        for warning in warnings {
            let _ = writeln!(out, "  {}", warning.message);
        }
        out.push('\n');
    }
}
