//! Studies in progress: the folder with the file that records the state of one, which is saved
//! after each run, and how a run is measured, or reused.

use super::kept::{Kept, read, rendered};
use super::reading::record;
use crate::cli::exit::{Exit, Trouble};
use crate::cli::flags::output::OutputArgs;
use crate::cli::flags::study::MeasuredArgs;
use crate::cli::pipeline::bench::{Bench, unwritable};
use crate::cli::pipeline::dialect::{Dialect, deliver};
use crate::cli::pipeline::ending::Ending;
use crate::cli::pipeline::folder::{Folder, PAGE, RUNS, lock, now};
use crate::cli::pipeline::{keep_in_mind, measure};
use crate::engine::StopReason;
use crate::files;
use crate::fleet::Fleet;
use crate::plan::{Invalid, Plan, PlanRecord};
use crate::record::RunRecord;
use crate::redact::strike;
use crate::report::{Format, Look, Study, struck_json};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The folder of a study in progress.
pub(super) struct StudyFolder {
    pub(super) folder: PathBuf,
    /// Held while runs are added.
    lock: Option<File>,
}

impl StudyFolder {
    /// The given folder or, without one, a new one. If it contains such a study, `study` continues
    /// that one, with the given label or else its previous one.
    ///
    /// # Errors
    /// Fails if the study cannot be continued.
    pub(super) fn of<K: Kept>(
        given: Option<&Path>,
        study: &mut K,
        go_on: impl FnOnce(&mut K, K) -> Result<(), &'static str>,
    ) -> Result<Self, Invalid> {
        let name = K::FILE.trim_end_matches(".json");
        let new = || Path::new(RUNS).join(format!("{name}-{}", now()));
        let folder = given.map_or_else(new, Path::to_owned);
        let file = folder.join(K::FILE);
        if file.exists() {
            let wrong = |problem| Invalid::new("--output", problem, K::ELSEWHERE);
            let mut kept: K =
                read(&file).map_err(|why| wrong(format!("{}: {why}", file.display())))?;
            let label = study.label().take().or_else(|| kept.label().take());
            go_on(study, kept).map_err(|why| wrong(format!("{} {why}", folder.display())))?;
            *study.label() = label;
        }
        Ok(Self { folder, lock: None })
    }

    /// Creates the folder, and saves the study there before anything is sent, so that a bad path
    /// fails early.
    ///
    /// # Errors
    /// Fails if it cannot be written, or another springload is writing there.
    pub(super) fn begin<K: Kept>(&mut self, study: &K) -> Result<(), Invalid> {
        let begun = fs::create_dir_all(&self.folder).and_then(|()| {
            self.lock = lock(&self.folder)?;
            self.replace(study)
        });
        begun.map_err(|error| unwritable(&self.folder, &error, "choose a writable folder"))
    }

    /// Replaces the file atomically.
    ///
    /// # Errors
    /// Fails if it cannot be written.
    pub(super) fn save<K: Kept>(&self, study: &K) -> Result<(), Trouble> {
        let file = self.folder.join(K::FILE);
        self.replace(study).map_err(|error| unwritten(&file, &error))
    }

    fn replace<K: Kept>(&self, study: &K) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let text = struck_json(study) + "\n";
        files::replace(&self.folder.join(K::FILE), text.as_bytes())
    }

    /// Replaces the page atomically.
    ///
    /// # Errors
    /// Fails if it cannot be written.
    pub(super) fn write_page<S: Study>(&self, study: &S) -> Result<(), String> {
        let (page, bytes) = (self.folder.join(PAGE), rendered(study, "html")?);
        files::replace(&page, &bytes)
            .map_err(|error| format!("cannot write {}: {error}", page.display()))
    }

    /// The same, and prints the path of the page or the error; returns whether it could be written.
    pub(super) fn tell_page<S: Study>(&self, study: &S, quiet: bool) -> bool {
        let page = self.write_page(study);
        match &page {
            Ok(()) if !quiet => eprintln!("page: {}", self.folder.join(PAGE).display()),
            Ok(()) => {}
            Err(problem) => eprintln!("error: {problem}"),
        }
        page.is_ok()
    }

    /// Prints the report of a study that has ended or was stopped, and writes the page; returns
    /// whether both could be written.
    pub(super) fn report<S: Study>(
        &self,
        study: &S,
        label: Option<&str>,
        args: &MeasuredArgs<S>,
    ) -> bool {
        let printed = args.format.render(study, Look::default());
        let printed = printed.map_err(|it| it.to_string()).and_then(|bytes| deliver(&bytes));
        if let Err(unwritten) = &printed {
            eprintln!("error: {unwritten}");
        }
        let page = self.tell_page(study, args.quiet);
        keep_in_mind(&self.folder, "", label);
        printed.is_ok() && page
    }
}

fn unwritten(file: &Path, error: &io::Error) -> Trouble {
    Trouble::new(Exit::Failed, format!("cannot write to {}: {error}", file.display()))
}

/// How the runs of a study are measured.
pub(super) struct Runs<'a> {
    pub(super) ending: &'a Arc<Ending>,
    pub(super) quiet: bool,
    /// Whether each run gets a page, and its messages are shown.
    pub(super) shown: bool,
}

impl Runs<'_> {
    /// Measures a run, and saves its record in `file`.
    ///
    /// # Errors
    /// Fails if no record was saved there, or the user stopped the run.
    pub(super) fn measure(
        &self,
        plan: &Plan,
        file: &Path,
        fleet: Option<&mut Fleet>,
    ) -> Result<(RunRecord, Exit), Trouble> {
        let failed = |error| unwritten(file, &error);
        let bench = Bench::new(Folder::make(file.parent(), "").map_err(failed)?, self.ending);
        let output = OutputArgs::bare(None, self.quiet);
        let measured = measure(plan, &bench, &output, &mut Silent, fleet)?;
        let exit = if self.shown {
            measured.report(&bench, &output, &mut Silent)
        } else {
            Exit::of_record(&measured.record)
        };
        if self.ending.reason() == Some(StopReason::Interrupted) {
            return Err(Exit::Interrupted.into());
        }
        let shown = self.shown;
        let unsaved = |error| if shown { Exit::Failed.into() } else { unwritten(file, &error) };
        Ok((measured.saved().map_err(unsaved)?, exit))
    }
}

/// The record in `file`, if its run has ended and has the plan that is asked for: it was measured
/// before the study was interrupted.
pub(super) fn measured_before(
    file: &Path,
    is_its: impl Fn(&PlanRecord) -> bool,
) -> Option<RunRecord> {
    record(file).ok().filter(|it| !it.partial && is_its(&it.plan))
}

/// Whether a run with this status failed as a whole, which says nothing about the server.
pub(super) const fn says_nothing(exit: Exit) -> bool {
    matches!(exit, Exit::Target | Exit::Failed)
}

/// Whether two plans of a study are the same.
pub(super) fn is_same(one: &PlanRecord, other: &PlanRecord) -> bool {
    // One of them may have been stored, without its secrets.
    one.stages == other.stages && strike(&one.command) == strike(&other.command)
}

/// A study as it is stored, without its secrets, for comparison with one that was stored.
pub(super) fn as_stored<T: Serialize + DeserializeOwned>(it: &T) -> Option<T> {
    serde_json::from_str(&struck_json(it)).ok()
}

/// The report of the study covers its runs.
struct Silent;

impl Dialect for Silent {
    fn tells_folder(&self) -> bool {
        false
    }

    fn report(&mut self, _record: &RunRecord, _format: Option<Format>) -> Result<(), String> {
        Ok(())
    }
}
