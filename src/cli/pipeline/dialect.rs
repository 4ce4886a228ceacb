//! The differences between verbs that measure: what they show and write besides the record.

use crate::cli::flags::output::VerboseArgs;
use crate::cli::look;
use crate::cli::print::write;
use crate::clock::Nanos;
use crate::driver::Echo;
use crate::http1::Watcher;
use crate::measure::RawRow;
use crate::record::{RunRecord, Running};
use crate::report::{self, Format, Look};
use std::slice;

/// The format of the native verbs.
pub(in crate::cli) const TEXT: &str = "text";

/// How a verb reports a run. The defaults are those of the native verbs.
pub(in crate::cli) trait Dialect {
    /// Whether to print the paths of record and page.
    fn tells_folder(&self) -> bool {
        true
    }

    /// Whether the report is springload's own text, which begins with the result.
    fn begins_with_result(&self) -> bool {
        false
    }

    fn shows_progress(&self) -> bool {
        false
    }

    /// The receiver of operations from a driver without a server, if the dialect wants them.
    fn echo(&self) -> Option<Echo> {
        None
    }

    /// The receiver of exchanges, if the dialect wants them.
    fn exchanges(&mut self) -> Option<Watcher> {
        None
    }

    fn stage_begins(&mut self, _stage: &str) {}

    /// The measurements of a stage so far.
    fn running(&mut self, _running: &Running) {}

    /// Single requests, if the plan asks for them.
    fn raw(&mut self, _rows: &[RawRow], _epoch_ns: Nanos) {}

    /// A stage has ended and its record is complete.
    fn keep(&mut self, _record: &RunRecord) {}

    /// The run has ended, with or without a record.
    fn ended(&mut self) {}

    /// Prints the report, in the format that was asked for, if any.
    ///
    /// # Errors
    /// Fails if something could not be written.
    fn report(&mut self, record: &RunRecord, format: Option<Format>) -> Result<(), String>;
}

/// A dialect that prints a report in a format by default.
pub(in crate::cli) struct Printed {
    format: &'static str,
    look: Look,
}

impl Printed {
    /// Prints this format by default.
    pub(in crate::cli) fn new(format: &'static str) -> Self {
        Self { format, look: look::of_stdout(false) }
    }

    pub(in crate::cli) fn native(show: VerboseArgs) -> Self {
        Self { format: TEXT, look: look::of_stdout(show.verbose) }
    }
}

impl Dialect for Printed {
    fn report(&mut self, record: &RunRecord, format: Option<Format>) -> Result<(), String> {
        deliver(&render_as(record, format, self.format, self.look)?)
    }

    fn begins_with_result(&self) -> bool {
        self.format == TEXT
    }
}

/// The report in the format that was asked for, or in the dialect's default.
///
/// # Errors
/// Fails if the format does not support a single record.
pub(in crate::cli) fn render(
    record: &RunRecord,
    format: Option<Format>,
    own: &str,
) -> Result<Vec<u8>, String> {
    render_as(record, format, own, look::of_stdout(false))
}

fn render_as(
    record: &RunRecord,
    format: Option<Format>,
    own: &str,
    look: Look,
) -> Result<Vec<u8>, String> {
    let format = format.or_else(|| report::format(own)).ok_or("no such format")?;
    format.render_as(slice::from_ref(record), None, look).map_err(|unfit| unfit.to_string())
}

/// Writes a report to stdout.
///
/// # Errors
/// Fails if it cannot be written.
pub(in crate::cli) fn deliver(report: &[u8]) -> Result<(), String> {
    write(report).map_err(|error| format!("the report cannot be written: {error}"))
}
