//! The log of `springload serve`, and the error message if it cannot be written.

use crate::embedded::Log;
use crate::plan::Invalid;
use std::fs::File;
use std::path::{Path, PathBuf};

/// A log, or none.
pub(super) struct LogFile {
    log: Option<Log>,
    path: PathBuf,
    is_whole: bool,
}

impl LogFile {
    /// Opens the file before anything is served, so that a bad path fails early.
    ///
    /// # Errors
    /// Fails if it cannot be written.
    pub(super) fn open(path: Option<&Path>) -> Result<Self, Invalid> {
        let path = path.map(Path::to_owned);
        let log = path.as_ref().map(|path| File::create(path).and_then(Log::start));
        let path = path.unwrap_or_default();
        match log.transpose() {
            Ok(log) => Ok(Self { log, path, is_whole: true }),
            Err(error) => {
                let problem = format!("cannot write {}: {error}", path.display());
                Err(Invalid::new("--log", problem, "choose a writable file"))
            }
        }
    }

    /// The log for a server to fill.
    pub(super) fn of_server(&self) -> Option<Log> {
        self.log.clone()
    }

    /// Reports at once if it can no longer be written. The server continues.
    pub(super) fn check(&mut self) {
        if self.log.as_ref().is_some_and(Log::has_failed) {
            self.finish();
        }
    }

    /// Writes the remaining entries; returns whether everything was written.
    pub(super) fn finish(&mut self) -> bool {
        if let Some(Err(error)) = self.log.take().map(|log| log.finish()) {
            let path = self.path.display();
            eprintln!("error: --log: cannot write {path}: {error}; the log ends here");
            self.is_whole = false;
        }
        self.is_whole
    }
}
