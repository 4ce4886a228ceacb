//! Formats: pure functions of a [`RunRecord`]. The same record gives the same bytes, whenever
//! and wherever it is rendered.

mod burst;
mod csv;
mod cushion;
mod exposition;
mod hlog;
mod json;
mod number;
mod openmetrics;
mod sweep;
mod table;
mod text;
mod threshold;

pub use burst::{BurstSecond, burst_csv, burst_seconds, burst_text};
pub use exposition::Exposition;
pub use json::{RunFileError, read as read_json};
pub use openmetrics::expose;
pub use sweep::{bulk_perf_dat, sweep_csv, sweep_text};
pub use threshold::threshold_lines;

use crate::record::RunRecord;

/// A format that a record can be rendered in.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// The name that `--format` takes.
    pub name: &'static str,
    /// What it is for, in one line.
    pub summary: &'static str,
    /// Renders a record.
    pub render: fn(&RunRecord) -> String,
}

/// Every format.
pub const FORMATS: [Format; 6] =
    [text::FORMAT, json::FORMAT, csv::FORMAT, hlog::FORMAT, openmetrics::FORMAT, cushion::FORMAT];

/// The format of that name.
pub fn format(name: &str) -> Option<Format> {
    FORMATS.into_iter().find(|format| format.name == name)
}
