//! The whole record, as in `run.json`.

use super::clean::write_json;
use super::{Format, Render, sane};
use crate::measure::{OperationSummary, SeriesKind};
use crate::plan::TargetPlan;
use crate::record::{RunRecord, SCHEMA_VERSION};
use serde_json::Value;
use std::io::{self, Write};

pub(super) const FORMAT: Format = Format {
    name: "json",
    summary: "the whole record, as in run.json",
    endings: &["json"],
    render: Render::Exact(render),
};

fn render(record: &RunRecord, mut out: &mut dyn Write) -> io::Result<()> {
    write_json(record, &mut out)?;
    out.write_all(b"\n")
}

/// A plan has at most 100,000 stages; audits are added to these.
const MOST_STAGES: usize = 101_000;

/// The reason a stored record cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum RunFileError {
    /// Not JSON, or truncated.
    #[error("broken at byte {byte} (line {line}, column {column}): {message}")]
    Broken {
        /// The offset from the file's start at which reading failed.
        byte: usize,
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// The parser's message.
        message: String,
    },
    /// Made with a driver that this program was built without.
    #[error("not readable by this springload: {problem}; {cure}")]
    Absent {
        /// What is missing.
        problem: String,
        /// How to get it.
        cure: String,
    },
    /// It has more of something than a run can have.
    #[error("not a run: it has too many {0}")]
    Beyond(&'static str),
    /// Written by a later version.
    #[error(
        "schema_version {0} is newer than this springload reads ({SCHEMA_VERSION}); update springload"
    )]
    Newer(u64),
}

/// Reads a record written in this format.
///
/// # Errors
/// Returns an error if the text is not a record of a known version.
pub fn read(text: &str) -> Result<RunRecord, RunFileError> {
    #[derive(serde::Deserialize)]
    #[serde(expecting = "the record of a run")]
    struct Version {
        schema_version: Option<u64>,
        #[serde(default)]
        plan: Value,
    }
    let broken = |error: &serde_json::Error| {
        let (line, column) = (error.line(), error.column());
        let before: usize =
            text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
        // A column counts the bytes read: up to the offending one, or all of a truncated file.
        let read = if error.is_eof() { column } else { column.saturating_sub(1) };
        RunFileError::Broken { byte: before + read, line, column, message: error.to_string() }
    };
    let version: Version = serde_json::from_str(text).map_err(|error| broken(&error))?;
    if let Some(version) = version.schema_version
        && version > u64::from(SCHEMA_VERSION)
    {
        return Err(RunFileError::Newer(version));
    }
    let driver = version.plan["target"]["driver"].as_str();
    if let Some((problem, cure)) = driver.and_then(TargetPlan::absent) {
        return Err(RunFileError::Absent { problem, cure });
    }
    sane(text).map_err(|error| broken(&error))?;
    let mut record: RunRecord = serde_json::from_str(text).map_err(|error| broken(&error))?;
    let beyond = record.plan.beyond().or((record.stages.len() > MOST_STAGES).then_some("stages"));
    if let Some(what) = beyond {
        return Err(RunFileError::Beyond(what));
    }
    if version.schema_version.is_none_or(|version| version < 2) {
        leave_out_failed(&mut record);
    }
    Ok(record)
}

/// Up to layout 1, service and response times included failed requests.
fn leave_out_failed(record: &mut RunRecord) {
    record.schema_version = SCHEMA_VERSION;
    for stage in &mut record.stages {
        stage.operations.iter_mut().for_each(OperationSummary::leave_out_failed);
        let seconds = stage.series.rows.iter_mut();
        seconds.flat_map(|row| row.kinds.values_mut()).for_each(SeriesKind::leave_out_failed);
    }
}
