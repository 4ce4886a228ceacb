//! `--otlp` and `--remote-write` in a springload that was built without them: refused in words.

use crate::cli::flags::push::{PushArgs, header};
use crate::plan::Invalid;
use crate::record::{RunRecord, Running};

/// Nothing that there could be.
#[derive(Debug)]
pub(super) enum Push {}

impl Push {
    /// Refuses what is asked for, if anything is.
    pub(super) fn asked(asked: &PushArgs, _run: &str) -> Result<Vec<Self>, Invalid> {
        asked.push_header.iter().try_for_each(|line| header(line).map(drop))?;
        // The flags are the same everywhere, and these say how.
        let _ = (&asked.push_ca, asked.push_every);
        let flags = [("--otlp", &asked.otlp), ("--remote-write", &asked.remote_write)];
        match flags.into_iter().find(|(_, urls)| !urls.is_empty()) {
            None => Ok(Vec::new()),
            Some((flag, _)) => {
                let problem = "this springload was built without it";
                Err(Invalid::new(flag, problem, "build it with --features push"))
            }
        }
    }

    pub(super) fn keep(&self, _record: &RunRecord) {
        match *self {}
    }

    pub(super) fn running(&self, _running: &Running) {
        match *self {}
    }

    pub(super) fn news(&self) -> Option<String> {
        match *self {}
    }

    pub(super) fn end(&self) {
        match *self {}
    }

    pub(super) fn finish(&self) {
        match *self {}
    }
}
