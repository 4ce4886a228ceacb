//! What every verb that measures does: check, start the stand-in if need be, run, report.

pub(in crate::cli) mod carry;
pub(in crate::cli) mod descriptors;
pub(in crate::cli) mod metrics;
pub(in crate::cli) mod output;
pub(in crate::cli) mod progress;
pub(in crate::cli) mod signals;
pub(in crate::cli) mod transcript;
pub(in crate::cli) mod tui;

use crate::cli::dialect::ycsb::Outputs;
use crate::cli::exit::Exit;
use crate::cli::pipeline::carry::now;
use crate::cli::pipeline::descriptors::suffice;
use crate::cli::pipeline::metrics::Metrics;
use crate::cli::pipeline::output::{Folder, OutputArgs, RUNS, fit_for_stdout, write};
use crate::cli::pipeline::progress::View;
use crate::cli::pipeline::transcript::Transcript;
use crate::embedded::{Options, StandIn, bind};
use crate::engine::Stop;
use crate::plan::{Invalid, Plan, PlanSpec, check};
use crate::record::RunRecord;
use crate::report;
use crate::run::run;
use std::io;
use std::sync::Arc;

/// What a dialect hands over.
pub(in crate::cli) struct Execution<'a> {
    pub(in crate::cli) spec: &'a PlanSpec,
    /// Mistakes that the dialect has found itself.
    pub(in crate::cli) mistakes: Vec<Invalid>,
    pub(in crate::cli) output: &'a OutputArgs,
    /// The dialect's own format, if it is not text.
    pub(in crate::cli) preamble: Option<&'static str>,
}

/// What a dialect hands over that checks its plan itself.
pub(in crate::cli) struct Checked<'a> {
    pub(in crate::cli) plan: Result<Plan, Vec<Invalid>>,
    /// Mistakes that the dialect has found beside the plan's.
    pub(in crate::cli) mistakes: Vec<Invalid>,
    pub(in crate::cli) output: &'a OutputArgs,
    /// The dialect's own format, if it is not text.
    pub(in crate::cli) preamble: Option<&'static str>,
    /// Where each exchange is printed, if it is.
    pub(in crate::cli) transcript: Option<Transcript>,
}

/// Carries out what was asked, from the check to the report.
pub(in crate::cli) fn execute(execution: Execution<'_>) -> Exit {
    let Execution { spec, mistakes, output, preamble } = execution;
    carry_out(Checked { plan: check(spec), mistakes, output, preamble, transcript: None }).0
}

/// Carries out a plan, and hands back the record that it leaves.
pub(in crate::cli) fn carry_out(checked: Checked<'_>) -> (Exit, Option<RunRecord>) {
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
pub(in crate::cli) fn start_stand_in(plan: &Plan) -> io::Result<Option<StandIn>> {
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
pub(in crate::cli) fn complain(record: &RunRecord) {
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
