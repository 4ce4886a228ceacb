//! The four steps of all verbs that measure: check the plan, prepare what the run needs, measure,
//! report. A [`Dialect`] holds what differs between verbs.

pub(in crate::cli) mod agents;
mod bar;
pub(in crate::cli) mod bench;
pub(in crate::cli) mod descriptors;
pub(in crate::cli) mod dialect;
pub(in crate::cli) mod ending;
pub(in crate::cli) mod folder;
mod lines;
mod live;
mod live_page;
mod metrics;
mod pages;
#[cfg_attr(not(feature = "push"), path = "push_absent.rs")]
mod push;
mod sends;
pub(in crate::cli) mod signals;
mod tui;
mod view;

use crate::cli::exit::{Exit, Trouble};
use crate::cli::flags::output::{OutputArgs, fit_for_stdout};
use crate::cli::look;
use crate::cli::remembered::remember;
use crate::embedded::{Options, StandIn, bind};
use crate::files;
use crate::fleet::Fleet;
use crate::journal::Journal;
use crate::plan::{Invalid, Noise, Plan};
use crate::record::RunRecord;
use crate::report;
use crate::run::run_with;
use bench::Bench;
use dialect::{Dialect, deliver};
use folder::RUNS;
use std::io;
use std::path::Path;
use std::sync::Arc;
use view::View;

/// The task of a verb that measures.
pub(in crate::cli) struct Job<'a> {
    /// The plan, or what is wrong with it.
    pub(in crate::cli) plan: Result<Plan, Vec<Invalid>>,
    /// Mistakes that the verb found in addition to the plan's.
    pub(in crate::cli) mistakes: Vec<Invalid>,
    /// What happens if this machine is too busy, unless a flag says so.
    pub(in crate::cli) noise: Noise,
    pub(in crate::cli) output: &'a OutputArgs,
}

pub(in crate::cli) struct MeasuredRun {
    pub(in crate::cli) record: RunRecord,
    /// The error that kept the complete record from being saved in the run's folder, if any.
    unsaved: Option<io::Error>,
}

/// Carries out a job, from the check to the report. The dialect is only opened once the plan was
/// found valid.
///
/// # Errors
/// Fails if nothing was measured.
pub(in crate::cli) fn carry_out<D: Dialect>(
    job: Job<'_>,
    open: impl FnOnce(&Plan) -> Result<D, Invalid>,
) -> Result<Exit, Trouble> {
    audit_with(job, None, open)
}

/// The same for the audit of an earlier run, with its journal.
///
/// # Errors
/// Fails if nothing was measured.
pub(in crate::cli) fn audit_with<D: Dialect>(
    job: Job<'_>,
    audited: Option<Arc<Journal>>,
    open: impl FnOnce(&Plan) -> Result<D, Invalid>,
) -> Result<Exit, Trouble> {
    let output = job.output;
    let plan = job.check()?;
    if output.dry_run {
        println!("{:#}", plan.with_bodies());
        return Ok(Exit::Passed);
    }
    let mut dialect = open(&plan)?;
    fit_beside_lines(output, dialect.begins_with_result())?;
    let bench = Bench { audited, ..Bench::ready(output)? };
    let mut fleet = agents::gather(&output.agents, plan.fleet, &bench.ending, output.quiet)?;
    let measured = measure(&plan, &bench, output, &mut dialect, fleet.as_mut())?;
    drop(fleet);
    Ok(measured.report(&bench, output, &mut dialect))
}

impl Job<'_> {
    fn check(self) -> Result<Plan, Vec<Invalid>> {
        let Self { plan, mut mistakes, noise, output } = self;
        let shared = |plan: Plan| {
            let asked = output.noise.as_deref().and_then(|it| it.parse().ok());
            let labeled = plan.labeled(output.label.clone(), asked.unwrap_or(noise));
            Ok(output.agents.share(labeled)?)
        };
        match plan.and_then(shared) {
            Err(wrong) => mistakes.extend(wrong),
            Ok(mut plan) => {
                // An invalid plan needs no further messages about the resources it would take.
                if mistakes.is_empty() && !output.dry_run {
                    mistakes.extend(output.printed().and_then(|it| fit_for_stdout(it).err()));
                    mistakes.extend(descriptors::fit(&mut plan).err());
                }
                mistakes.extend(plan.baseline_mistake());
                if mistakes.is_empty() {
                    return Ok(plan);
                }
            }
        }
        Err(mistakes)
    }
}

/// Runs `plan`. The record is saved in the bench's folder as it grows.
///
/// # Errors
/// Fails if there is no record.
pub(in crate::cli) fn measure(
    plan: &Plan,
    bench: &Bench,
    output: &OutputArgs,
    dialect: &mut dyn Dialect,
    fleet: Option<&mut Fleet>,
) -> Result<MeasuredRun, Trouble> {
    let stand_in = stand_in(plan).map_err(|error| {
        Trouble::new(Exit::Failed, format!("the stand-in cannot start: {error}"))
    })?;
    let journal = match (&bench.audited, plan.audit) {
        (Some(journal), _) => Some(Arc::clone(journal)),
        (None, true) => Some(Arc::new(bench.folder.journal().map_err(|error| {
            let problem = format!("cannot keep the journal in {}: {error}", bench.folder.shown());
            Invalid::new("--audit", problem, "choose a writable --output")
        })?)),
        (None, false) => None,
    };
    let mut view = View::new(output, bench, dialect).noting(journal.clone());
    let address = stand_in.as_ref().map(StandIn::url);
    let result = run_with(plan, address, bench.ending.stop(), &mut view, fleet);
    let unsaved = view.finish();
    dialect.ended();
    let native = dialect.begins_with_result();
    // If nothing was begun, there is no record.
    let is_over = |record: &RunRecord| record.server.deleted;
    if let (Some(journal), None) = (journal, &bench.audited)
        && result.as_ref().map_or_else(|_| !bench.folder.file().exists(), is_over)
    {
        // There is nothing left to audit. A failure to remove it does no harm.
        let _ = journal.remove();
    }
    result.map(|record| MeasuredRun { record, unsaved }).map_err(|error| {
        let trouble = Trouble::new(Exit::of_error(&error), error.to_string());
        let exit = if native { trouble } else { trouble.in_own_words() }.tell();
        let file = bench.folder.file();
        if file.exists() {
            eprintln!("the measurements up to that point are in {}", file.display());
        }
        exit.into()
    })
}

/// Starts the stand-in in this process, if the plan asks for it.
pub(crate) fn stand_in(plan: &Plan) -> io::Result<Option<StandIn>> {
    if !plan.target.is_stand_in() {
        return Ok(None);
    }
    let options = Options { pinned: true, ..Options::default() };
    StandIn::start(bind("127.0.0.1:0")?, options).map(Some)
}

impl MeasuredRun {
    /// The record, if it was saved in the run's folder.
    ///
    /// # Errors
    /// Fails if it was not saved.
    pub(in crate::cli) fn saved(self) -> io::Result<RunRecord> {
        self.unsaved.map_or(Ok(self.record), Err)
    }

    /// Prints the dialect's report, and anything else the user must know. The exit status depends
    /// on the record, and on whether everything could be written.
    pub(in crate::cli) fn report(
        &self,
        bench: &Bench,
        output: &OutputArgs,
        dialect: &mut dyn Dialect,
    ) -> Exit {
        let record = &self.record;
        // A format that is asked for by name is shown in any case.
        let native = match output.printed() {
            None => dialect.begins_with_result(),
            Some(format) => format.name == dialect::TEXT,
        };
        let followed = bench.live.finish();
        let reported = if output.live.lines_on_stdout() {
            Ok(())
        } else if native && output.quiet && output.printed().is_none() {
            let saved = if self.unsaved.is_none() { bench.folder.shown() } else { String::new() };
            deliver(report::one_line(record, &saved, look::of_stdout(false)).as_bytes())
        } else {
            dialect.report(record, output.printed())
        };
        let reported = reported.and_then(|()| file(record, output));
        // A user who has just read the result does not need to read it again.
        let read = native && reported.is_ok() && !output.live.lines_on_stdout();
        if !(read && look::stderr_is_beside()) {
            for (at, line) in report::missed_lines(record) {
                let limit = at < record.thresholds.len();
                let flag = if limit { "--fail-if" } else { "--max-regression" };
                eprintln!("{flag}: {}", report::shown(&line, look::ascii()));
            }
            complain(record);
        }
        if let Err(unwritten) = &reported {
            eprintln!("error: {unwritten}");
        }
        let quiet = output.quiet || !dialect.tells_folder();
        let saved = bench.folder.tell(record, self.unsaved.as_ref(), quiet);
        if self.unsaved.is_none() && output.folder().is_some() {
            keep_in_mind(bench.folder.path(), &record.started_at, record.plan.label.as_deref());
        }
        bench.live.end(record);
        Exit::of_record(record).if_written(reported.is_ok() && saved && followed)
    }
}

/// Remembers where a run or sweep is saved, and warns if that is not possible.
pub(in crate::cli) fn keep_in_mind(folder: &Path, began: &str, label: Option<&str>) {
    if let Err(trouble) = remember(folder, Path::new(RUNS), began, label) {
        eprintln!("warning: {trouble}");
    }
}

/// Writes the report to its file, if `--output` names one, and prints its path.
fn file(record: &RunRecord, output: &OutputArgs) -> Result<(), String> {
    let Ok(Some((path, format))) = output.file() else { return Ok(()) };
    let bytes = format.render(std::slice::from_ref(record), None);
    let bytes = bytes.map_err(|unfit| unfit.to_string())?;
    files::write(path, &bytes)
        .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    if !output.quiet {
        eprintln!("report: {}", path.display());
    }
    Ok(())
}

/// Refuses JSON lines on standard output if a report goes there as well.
fn fit_beside_lines(output: &OutputArgs, native: bool) -> Result<(), Invalid> {
    if !output.live.lines_on_stdout() || (native && output.printed().is_none()) {
        return Ok(());
    }
    let problem = "the report goes to standard output, too";
    Err(Invalid::new("--jsonl", problem, "give a file, such as /dev/stderr"))
}

/// Prints to stderr why a run did not pass.
fn complain(record: &RunRecord) {
    let result = record.result();
    if let Some(reason) = &result.reason {
        let line = format!("error: {}: {reason}", result.kind.words());
        eprintln!("{}", report::shown(&line, look::ascii()));
    }
    let left = record.server.left.as_ref();
    let mentioned = |why: &&String| result.reason.as_ref().is_some_and(|it| it.contains(*why));
    if let Some(why) = left.filter(|why| !mentioned(why)) {
        let (place, name) = (record.nouns().place, &record.server.database);
        eprintln!("error: {place} {name} could not be removed: {why}");
    }
}
