//! What every verb that measures does: check, start the stand-in if need be, run, report.

use super::carry::now;
use super::descriptors::suffice;
use super::exit::Exit;
use super::metrics::Metrics;
use super::output::{Folder, OutputArgs, RUNS, fit_for_stdout, write};
use super::progress::View;
use super::signals;
use super::transcript::Transcript;
use super::ycsb::Outputs;
use crate::embedded::{Options, StandIn, bind};
use crate::engine::Stop;
use crate::plan::{Invalid, Plan, PlanSpec, check};
use crate::record::RunRecord;
use crate::report;
use crate::run::run;
use std::io;
use std::sync::Arc;

/// What a dialect hands over.
pub(super) struct Execution<'a> {
    pub(super) spec: &'a PlanSpec,
    /// Mistakes that the dialect has found itself.
    pub(super) mistakes: Vec<Invalid>,
    pub(super) output: &'a OutputArgs,
    /// The dialect's own format, if it is not text.
    pub(super) preamble: Option<&'static str>,
}

/// What a dialect hands over that checks its plan itself.
pub(super) struct Checked<'a> {
    pub(super) plan: Result<Plan, Vec<Invalid>>,
    /// Mistakes that the dialect has found beside the plan's.
    pub(super) mistakes: Vec<Invalid>,
    pub(super) output: &'a OutputArgs,
    /// The dialect's own format, if it is not text.
    pub(super) preamble: Option<&'static str>,
    /// Where each exchange is printed, if it is.
    pub(super) transcript: Option<Transcript>,
}

/// Carries out what was asked, from the check to the report.
pub(super) fn execute(execution: Execution<'_>) -> Exit {
    let Execution { spec, mistakes, output, preamble } = execution;
    carry_out(Checked { plan: check(spec), mistakes, output, preamble, transcript: None }).0
}

/// Carries out a plan, and hands back the record that it leaves.
pub(super) fn carry_out(checked: Checked<'_>) -> (Exit, Option<RunRecord>) {
    let Checked { plan, mut mistakes, output, preamble, transcript } = checked;
    let plan = match plan {
        Ok(plan) if mistakes.is_empty() => plan,
        checked => {
            mistakes.extend(checked.err().unwrap_or_default());
            for mistake in &mistakes {
                eprintln!("error: {mistake}");
            }
            return (Exit::Usage, None);
        }
    };
    if output.dry_run {
        println!("{}", serde_json::to_string_pretty(&plan).expect("a plan is plain data"));
        return (Exit::Passed, None);
    }
    let fit = output.format.map_or(Ok(()), |format| fit_for_stdout(format).map(drop));
    if let Err(mistake) = fit.and_then(|()| suffice(&plan)) {
        eprintln!("error: {mistake}");
        return (Exit::Usage, None);
    }
    let ycsb = match Outputs::open(&plan) {
        Ok(ycsb) => ycsb,
        Err(mistake) => {
            eprintln!("error: {mistake}");
            return (Exit::Usage, None);
        }
    };
    let metrics = match output.metrics.as_deref().map(Metrics::serve).transpose() {
        Ok(metrics) => metrics,
        Err(mistake) => {
            eprintln!("error: {mistake}");
            return (Exit::Usage, None);
        }
    };
    let folder = match Folder::make(output.output.as_deref(), &now()) {
        Ok(folder) => folder,
        Err(error) => {
            let place = output.output.as_deref().unwrap_or_else(|| RUNS.as_ref());
            let problem = format!("cannot write in {}: {error}", place.display());
            eprintln!("error: {}", Invalid::new("--output", problem, "name a writable folder"));
            return (Exit::Usage, None);
        }
    };
    if let Some(metrics) = &metrics {
        eprintln!("metrics: {}", metrics.url());
    }
    measure((&plan, ycsb), output, (&folder, metrics.as_ref()), preamble, transcript)
}

/// The stand-in for a run in the same process, where the plan asks for it.
pub(super) fn start_stand_in(plan: &Plan) -> io::Result<Option<StandIn>> {
    if !plan.target.is_stand_in() {
        return Ok(None);
    }
    let options = Options { pinned: true, ..Options::default() };
    StandIn::start(bind("127.0.0.1:0")?, options).map(Some)
}

fn measure(
    (plan, ycsb): (&Plan, Option<Outputs>),
    output: &OutputArgs,
    (folder, metrics): (&Folder, Option<&Metrics>),
    preamble: Option<&'static str>,
    mut transcript: Option<Transcript>,
) -> (Exit, Option<RunRecord>) {
    let stand_in = match start_stand_in(plan) {
        Ok(stand_in) => stand_in,
        Err(error) => {
            eprintln!("error: the stand-in cannot start: {error}");
            return (Exit::Failed, None);
        }
    };
    let url = match (&plan.target.server, &stand_in) {
        (Some(server), _) => server.clone(),
        (None, Some(stand_in)) => stand_in.url(),
        (None, None) => String::new(),
    };
    let stop = Arc::new(Stop::default());
    let asked = match signals::listen(stop.clone(), output.quiet) {
        Ok(asked) => asked,
        Err(error) => {
            eprintln!("error: cannot listen for Ctrl-C: {error}");
            return (Exit::Failed, None);
        }
    };
    let mut view = View::new(output, (folder, metrics), asked, ycsb);
    view.exchanges = transcript.as_mut().and_then(Transcript::watcher);
    let result = run(plan, (&url, stand_in.is_some()), &stop, &mut view);
    view.clear();
    let (ycsb, unsaved) = view.finish();
    if let Some(transcript) = transcript {
        transcript.finish();
    }
    match result {
        Ok(record) => {
            let told = tell(&record, (output, preamble), ycsb.as_ref());
            let saved = folder.tell(&record, unsaved, output.quiet);
            (Exit::of_written(&record, told && saved), Some(record))
        }
        Err(error) => {
            eprintln!("error: {error}");
            if folder.file().exists() {
                eprintln!("what was measured until then: {}", folder.file().display());
            }
            (Exit::of_error(&error), None)
        }
    }
}

/// Prints the report and whatever else must be known of a run that left a record. Tells whether
/// all of it could be written.
fn tell(
    record: &RunRecord,
    (output, preamble): (&OutputArgs, Option<&'static str>),
    ycsb: Option<&Outputs>,
) -> bool {
    let format = output.format.or_else(|| report::format(preamble.unwrap_or("text")));
    let rendered = format.map(|format| format.render(std::slice::from_ref(record), None));
    let written = match (rendered, ycsb) {
        (Some(Ok(bytes)), Some(ycsb)) => ycsb.report(record, &bytes),
        (Some(Ok(bytes)), None) => write(&bytes),
        (Some(Err(unfit)), _) => {
            eprintln!("error: {unfit}");
            Ok(())
        }
        (None, _) => Ok(()),
    };
    for line in report::threshold_lines(record).iter().filter(|it| it.starts_with('✗')) {
        eprintln!("--fail-if: {line}");
    }
    complain(record);
    if let Err(error) = &written {
        eprintln!("error: the report cannot be written: {error}");
    }
    written.is_ok()
}

/// Says on stderr why a run did not pass.
pub(super) fn complain(record: &RunRecord) {
    let result = record.result();
    if let Some(reason) = &result.reason {
        eprintln!("error: {}: {reason}", result.kind.words());
    }
    let left = record.server.left.as_ref();
    let told = |why: &&String| result.reason.as_ref().is_some_and(|it| it.contains(*why));
    if let Some(why) = left.filter(|why| !told(why)) {
        eprintln!("error: database {} could not be removed: {why}", record.server.database);
    }
}
