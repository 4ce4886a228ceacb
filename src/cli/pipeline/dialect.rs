//! What may differ between verbs that measure: what they show and write beside the record.

use crate::cli::print::write;
use crate::clock::Nanos;
use crate::driver::Echo;
use crate::http1::Watcher;
use crate::measure::RawRow;
use crate::record::{RunRecord, Running};
use crate::report::{self, Format};
use std::slice;

/// How a verb tells of a run. All of it is as the native verbs have it, unless it is said here.
pub(in crate::cli) trait Dialect {
    /// Whether it is said where record and page are.
    fn tells_folder(&self) -> bool {
        true
    }

    /// Whether the dialect shows progress itself, and no other is wanted.
    fn shows_progress(&self) -> bool {
        false
    }

    /// Who is handed the operations of a driver without a server, if somebody wants to see them.
    fn echo(&self) -> Option<Echo> {
        None
    }

    /// Where exchanges are told to, if somebody wants to see them.
    fn exchanges(&mut self) -> Option<Watcher> {
        None
    }

    /// A stage begins.
    fn stage_begins(&mut self, _stage: &str) {}

    /// What a stage has measured so far.
    fn running(&mut self, _running: &Running) {}

    /// Requests one by one, where the plan asks for them.
    fn raw(&mut self, _rows: &[RawRow], _epoch_ns: Nanos) {}

    /// A stage has ended and is on record.
    fn keep(&mut self, _record: &RunRecord) {}

    /// The run has ended, with a record or without.
    fn ended(&mut self) {}

    /// Reports, in the format that was asked for if one was.
    ///
    /// # Errors
    /// What could not be written, and why.
    fn report(&mut self, record: &RunRecord, format: Option<Format>) -> Result<(), String>;
}

/// The dialect that prints a report of this format, unless another one is asked for.
pub(in crate::cli) struct Printed(pub(in crate::cli) &'static str);

impl Printed {
    /// That of the native verbs.
    pub(in crate::cli) const NATIVE: Self = Self("text");
}

impl Dialect for Printed {
    fn report(&mut self, record: &RunRecord, format: Option<Format>) -> Result<(), String> {
        deliver(&render(record, format, self.0)?)
    }
}

/// The report in the format that was asked for, or else in that of the dialect.
///
/// # Errors
/// When the format is not for one record.
pub(in crate::cli) fn render(
    record: &RunRecord,
    format: Option<Format>,
    own: &str,
) -> Result<Vec<u8>, String> {
    let format = format.or_else(|| report::format(own)).ok_or("there is no such format")?;
    format.render(slice::from_ref(record), None).map_err(|unfit| unfit.to_string())
}

/// Writes a report to stdout.
///
/// # Errors
/// When it cannot be written.
pub(in crate::cli) fn deliver(report: &[u8]) -> Result<(), String> {
    write(report).map_err(|error| format!("the report cannot be written: {error}"))
}
