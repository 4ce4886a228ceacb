//! springload in your own program: a load test as a value, its record, and reports made from
//! records. The command line's other features, such as saving runs and live views, are not
//! included.

use crate::cli::{self, stand_in};
use crate::embedded::StandIn;
use crate::engine::{Stop, StopReason};
use crate::plan::Plan;
use crate::record::RunRecord;
use crate::report::{self, RunFileError, Unfit};
use crate::run::{self, Observer, Progress, RunError};
use std::ffi::OsString;
use std::sync::Arc;

/// A load test: a checked plan, ready to run.
///
/// ```no_run
/// use springload::{LoadTest, render};
///
/// let test = LoadTest::from_flags(["http://localhost:5984", "--rate=500", "--duration=10s"])?;
/// let record = test.run()?;
/// print!("{}", String::from_utf8_lossy(&render("text", &[record])?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct LoadTest {
    plan: Plan,
    stop: Arc<Stop>,
}

/// The mistakes in a load test: one line each, with its cure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refused(String);

/// No report could be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    /// There is no format of that name.
    #[error("there is no format {0:?}; `formats` has the names")]
    Unknown(String),
    /// The format cannot show what was asked for.
    #[error(transparent)]
    Unfit(#[from] Unfit),
}

/// Ends a load test early, from any thread.
#[derive(Clone, Debug)]
pub struct Stopper(Arc<Stop>);

impl LoadTest {
    /// A load test from the target and the flags of `springload run`, without the flags about
    /// results; with `--fail-if` the record includes the thresholds. Nothing is sent yet, but files
    /// that flags name are read.
    ///
    /// # Errors
    /// Returns all mistakes at once.
    pub fn from_flags<I, S>(words: I) -> Result<Self, Refused>
    where
        I: IntoIterator<Item = S>,
        S: Into<OsString>,
    {
        let words = words.into_iter().map(Into::into).collect();
        let plan = cli::run_plan(words).map_err(Refused)?;
        Ok(Self { plan, stop: Arc::default() })
    }

    /// The plan, with every default filled in.
    pub const fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Ends this test when asked to. A test that was stopped does not run again.
    pub fn stopper(&self) -> Stopper {
        Stopper(self.stop.clone())
    }

    /// Runs the test on its own threads, and waits for its end. A database that it creates is
    /// removed again; nothing is printed or saved. Whether the numbers can be trusted is in the
    /// record: [`RunRecord::result`].
    ///
    /// # Errors
    /// Fails if nothing could be measured because the server or its database cannot be used.
    pub fn run(&self) -> Result<RunRecord, RunError> {
        self.run_watched(|_| ())
    }

    /// The same; `watch` is called a few times a second, on the calling thread.
    ///
    /// # Errors
    /// As for [`LoadTest::run`].
    pub fn run_watched(&self, watch: impl FnMut(&Progress)) -> Result<RunRecord, RunError> {
        let stand_in = stand_in(&self.plan)?;
        let address = stand_in.as_ref().map(StandIn::url);
        run::run(&self.plan, address, &self.stop, &mut Watch(watch))
    }
}

impl Stopper {
    /// Ends the test. Operations under way are waited for, and the record notes that it was
    /// stopped.
    pub fn stop(&self) {
        self.0.raise(StopReason::Interrupted);
    }
}

struct Watch<F>(F);

impl<F: FnMut(&Progress)> Observer for Watch<F> {
    fn stage_begins(&mut self, _stage: &str) {}

    fn progress(&mut self, progress: &Progress) {
        (self.0)(progress);
    }

    fn keep(&mut self, _record: &RunRecord) {}
}

/// The names of all formats, as `--format` takes them.
pub fn formats() -> impl Iterator<Item = &'static str> {
    report::FORMATS.iter().map(|format| format.name)
}

/// A report of one record, or of several side by side if the format supports that: the bytes that
/// `springload report --format NAME` writes.
///
/// # Errors
/// Fails if there is no such format, or if it cannot show that many records.
pub fn render(format: &str, records: &[RunRecord]) -> Result<Vec<u8>, RenderError> {
    let found = report::format(format);
    let found = found.ok_or_else(|| RenderError::Unknown(format.to_owned()))?;
    Ok(found.render(records, None)?)
}

/// The record that a `run.json` holds.
///
/// # Errors
/// Fails if the text is not a record, or its version cannot be read by this one.
pub fn read_record(json: &str) -> Result<RunRecord, RunFileError> {
    report::read_json(json)
}
