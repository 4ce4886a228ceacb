//! Siege's log file: one line per run.

use crate::plan::Invalid;
use crate::record::RunRecord;
use crate::report::{SIEGE_LOG_HEAD, siege_log_line};
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

#[derive(Debug)]
pub(super) struct SiegeLog(File);

impl SiegeLog {
    /// Opens the file before anything is sent, so that a bad path fails early.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub(super) fn open(path: &Path) -> Result<Self, Invalid> {
        OpenOptions::new().create(true).append(true).open(path).map(Self).map_err(|error| {
            let problem = format!("cannot write {}: {error}", path.display());
            Invalid::new("--log", problem, "choose a writable file")
        })
    }

    /// Appends the line of a run; before it a header if the file is new, and the mark if there is
    /// one.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub(super) fn append(mut self, mark: Option<&str>, record: &RunRecord) -> io::Result<()> {
        let mut text = String::new();
        if self.0.metadata()?.len() == 0 {
            text.push_str(SIEGE_LOG_HEAD);
            text.push('\n');
        }
        if let Some(mark) = mark {
            text.extend(["**** ", mark, " ****\n"]);
        }
        text.push_str(&siege_log_line(record));
        self.0.write_all(text.as_bytes())
    }
}
