//! YCSB's report, with its sections, lines, order and number formats, so that programs that read
//! YCSB's report can read this one. `docs/ycsb-report.md` lists the differences.

mod files;
mod lines;
mod sections;
mod status;
mod value;

pub use files::{hdr_logs, raw_rows};
pub use sections::return_code;
pub use status::Status;

use super::headline::audit_words;
use super::threshold::threshold_lines;
use super::words::{result_line, trust_line, warning_lines};
use super::{Format, Render};
use crate::plan::MeasurementPlan;
use crate::record::{RunRecord, StageRecord};
use sections::sections;
use serde_json::json;
use std::fmt::Write as _;
use value::Value;

pub(super) const TEXT: Format = Format {
    name: "ycsb",
    summary: "YCSB's report, as its text exporter writes it",
    endings: &[],
    render: Render::One(text),
};

pub(super) const JSON: Format = Format {
    name: "ycsb-json",
    summary: "YCSB's report as JSON, one object per line",
    endings: &[],
    render: Render::One(json_lines),
};

pub(super) const JSON_ARRAY: Format = Format {
    name: "ycsb-json-array",
    summary: "YCSB's report, as its JSON array exporter writes it",
    endings: &[],
    render: Render::One(json_array),
};

/// One number with its section and measure.
struct NumberLine {
    section: String,
    measure: String,
    value: Value,
}

impl NumberLine {
    fn new(section: &str, measure: impl Into<String>, value: impl Into<Value>) -> Self {
        Self { section: section.to_owned(), measure: measure.into(), value: value.into() }
    }
}

/// `[SECTION], measure, value`; anything YCSB does not report follows as comments, which begin with
/// `#`, while all other lines begin with a bracket.
fn text(record: &RunRecord) -> String {
    let mut out = String::new();
    for stage in record.measured() {
        for NumberLine { section, measure, value } in lines_of(record, stage) {
            let _ = writeln!(out, "[{section}], {measure}, {value}");
        }
        let _ = writeln!(out, "# trust: {}", trust_line(record, stage));
    }
    for line in warning_lines(record) {
        let _ = writeln!(out, "# warning: {line}");
    }
    for line in threshold_lines(record) {
        let _ = writeln!(out, "# threshold: {line}");
    }
    if let Some(words) = audit_words(record) {
        let _ = writeln!(out, "# audit: {words}");
    }
    let _ = writeln!(out, "# {}", result_line(record));
    out
}

/// The same as objects, in YCSB's terms. The first object of each stage also has the stage's trust
/// line; the very first also has everything else that YCSB does not report.
fn objects(record: &RunRecord) -> Vec<serde_json::Value> {
    let mut objects: Vec<serde_json::Value> = Vec::new();
    for stage in record.measured() {
        let first = objects.len();
        objects.extend(lines_of(record, stage).into_iter().map(
            |NumberLine { section, measure, value }| {
                json!({ "metric": section, "measurement": measure, "value": value.to_json() })
            },
        ));
        objects[first]["trust"] = trust_line(record, stage).into();
    }
    if let Some(first) = objects.first_mut() {
        let warnings: Vec<_> = warning_lines(record).collect();
        let thresholds = threshold_lines(record);
        first["result"] = record.result().words().into();
        for (name, lines) in [("warnings", warnings), ("thresholds", thresholds)] {
            if !lines.is_empty() {
                first[name] = lines.into();
            }
        }
    }
    objects
}

fn json_lines(record: &RunRecord) -> String {
    let lines: Vec<_> = objects(record).iter().map(ToString::to_string).collect();
    format!("[\n{}\n]\n", lines.join(",\n"))
}

fn json_array(record: &RunRecord) -> String {
    let objects = objects(record);
    let each = |object: &serde_json::Value| {
        let members = object.as_object().into_iter().flatten();
        let lines: Vec<_> =
            members.map(|(name, value)| format!("  \"{name}\" : {value}")).collect();
        format!("{{\n{}\n}}", lines.join(",\n"))
    };
    format!("[ {} ]\n", objects.iter().map(each).collect::<Vec<_>>().join(", "))
}

/// All lines of one stage: a YCSB report covers one phase.
fn lines_of(record: &RunRecord, stage: &StageRecord) -> Vec<NumberLine> {
    let plain = MeasurementPlan::default();
    let plan = record.plan.ycsb.as_ref().unwrap_or(&plain);
    // YCSB divides by whole milliseconds, and so do programs that read its report.
    let run_ms = ((stage.elapsed_s * 1e3) as u64).max(1);
    let throughput = 1e3 * sections::succeeded(&stage.operations) as f64 / run_ms as f64;
    let mut lines = vec![
        NumberLine::new("OVERALL", "RunTime(ms)", run_ms),
        NumberLine::new("OVERALL", "Throughput(ops/sec)", throughput),
    ];
    if plan.gc {
        lines.push(NumberLine::new("TOTAL_GCs", "Count", 0));
        lines.push(NumberLine::new("TOTAL_GC_TIME", "Time(ms)", 0));
        lines.push(NumberLine::new("TOTAL_GC_TIME_%", "Time(%)", 0.0));
    }
    for section in sections(plan, stage, &record.plan) {
        lines::of_section(plan, &section, &mut lines);
    }
    lines
}
