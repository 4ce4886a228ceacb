//! Carries out one checked plan into a folder, for verbs that make something of the record
//! themselves.

use crate::cli::exit::Exit;
use crate::cli::pipeline::descriptors::suffice;
use crate::cli::pipeline::output::{Folder, OutputArgs, RUNS};
use crate::cli::pipeline::progress::View;
use crate::cli::pipeline::signals::{self, Asked};
use crate::cli::pipeline::{complain, start_stand_in};
use crate::clock::{SECOND_NS, wall_ns};
use crate::engine::Stop;
use crate::plan::{Invalid, Plan, PlanSpec, check};
use crate::record::RunRecord;
use crate::run::{RunError, run};
use std::path::PathBuf;
use std::sync::Arc;

/// The wish to stop, and how the user is asked about it.
pub(in crate::cli) type Ending = (Arc<Stop>, Arc<Asked>);

/// Flags about results where a verb has only these two.
pub(in crate::cli) fn bare(output: Option<PathBuf>, quiet: bool) -> OutputArgs {
    let (format, metrics, fail_if) = (None, None, Vec::new());
    OutputArgs { output, format, fail_if, metrics, quiet, no_tui: true, dry_run: false }
}

/// Runs `plan`; the record is kept in `folder` as it grows.
pub(in crate::cli) fn carry_out(
    plan: &Plan,
    folder: &Folder,
    output: &OutputArgs,
    (stop, asked): &Ending,
) -> Result<(RunRecord, Exit), RunError> {
    let stand_in = start_stand_in(plan)?;
    let url = match (&plan.target.server, &stand_in) {
        (Some(server), _) => server.clone(),
        (None, Some(stand_in)) => stand_in.url(),
        (None, None) => String::new(),
    };
    let mut view = View::new(output, (folder, None), asked.clone(), None);
    let result = run(plan, (&url, stand_in.is_some()), stop, &mut view);
    view.clear();
    let (_, unsaved) = view.finish();
    let record = result?;
    let saved = folder.tell(&record, unsaved, true);
    complain(&record);
    let exit = Exit::of_written(&record, saved);
    Ok((record, exit))
}

/// The plan, or every mistake, told on stderr.
pub(in crate::cli) fn checked(spec: &PlanSpec, mut mistakes: Vec<Invalid>) -> Option<Plan> {
    let result = check(spec);
    mistakes.extend(result.as_ref().ok().and_then(|plan| suffice(plan).err()));
    if mistakes.is_empty()
        && let Ok(plan) = result
    {
        return Some(plan);
    }
    mistakes.extend(result.err().unwrap_or_default());
    for mistake in &mistakes {
        eprintln!("error: {mistake}");
    }
    None
}

/// The folder of a run and the wish to stop it, or what is in their way, told on stderr.
pub(in crate::cli) fn ready(output: &OutputArgs) -> Option<(Folder, Ending)> {
    let stop = Arc::new(Stop::default());
    let made = Folder::make(output.output.as_deref(), &now());
    let listening = |folder| Ok((folder, signals::listen(stop.clone(), output.quiet)?));
    match made.and_then(listening) {
        Ok((folder, asked)) => Some((folder, (stop, asked))),
        Err(error) => {
            let place = output.output.as_deref().unwrap_or_else(|| RUNS.as_ref());
            let problem = format!("cannot write in {}: {error}", place.display());
            eprintln!("error: {}", Invalid::new("--output", problem, "name a writable folder"));
            None
        }
    }
}

/// The time, as folders are named after it.
pub(in crate::cli) fn now() -> String {
    let seconds = (wall_ns() / SECOND_NS).cast_signed();
    let now = jiff::Timestamp::from_second(seconds).unwrap_or_default();
    now.strftime("%Y%m%dT%H%M%SZ").to_string()
}
