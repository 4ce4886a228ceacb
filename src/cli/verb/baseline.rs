//! Earlier runs that a run is compared with: which ones they are, and what they measured.

use super::found::find;
use super::reading::record;
use crate::cli::flags::gate::GateArgs;
use crate::cli::look;
use crate::plan::{
    Baseline, BaselineBy, BaselineFigure, BaselineRun, Invalid, Limit, Plan, Quantity,
};
use crate::record::Environment;
use crate::report::shown;
use crate::trend::Point;
use std::path::Path;

/// More runs would add nothing new, least of all the oldest.
const MOST_RUNS: usize = 20;
const FLAG: &str = "--baseline";
/// At most this many runs are listed with the reason they are not part of a baseline ...
const MOST_LISTED: usize = 10;
/// ... and at most this many in an error, which is one line.
const MOST_IN_LINE: usize = 3;

/// The plan with the figures of the baseline that is asked for. Notes about the baseline are
/// printed to stderr, unless `quiet`.
///
/// # Errors
/// Returns the mistakes of the plan, or the reason there is no such baseline.
pub(in crate::cli) fn gated(
    plan: Result<Plan, Vec<Invalid>>,
    gate: &GateArgs,
    quiet: bool,
) -> Result<Plan, Vec<Invalid>> {
    let plan = plan?;
    let Some(name) = &gate.baseline else { return Ok(plan) };
    let wanted = wanted(&plan);
    let found = read(name, &plan, &wanted, gate.baseline_by)?;
    let notes = found.notes(name);
    let baseline = Baseline { max_regression_percent: gate.max_regression, ..found.baseline };
    let plan = plan.judged_by(baseline)?;
    if !quiet {
        for line in notes {
            eprintln!("{}", shown(&line, look::ascii()));
        }
    }
    Ok(plan)
}

/// The figures that are compared with the baseline.
fn wanted(plan: &Plan) -> Vec<Quantity> {
    let mut wanted = Baseline::GATED.to_vec();
    for threshold in &plan.thresholds {
        let own = threshold.quantity();
        if matches!(threshold.limit, Limit::Baseline(_)) && !wanted.contains(&own) {
            wanted.push(own);
        }
    }
    wanted
}

/// A baseline, and the runs that were found but are not part of it.
struct FoundBaseline {
    baseline: Baseline,
    left_out: Vec<LeftOut>,
}

/// A run that is not part of a baseline.
struct LeftOut {
    name: String,
    why: String,
}

impl LeftOut {
    fn words(&self) -> String {
        format!("{}: {}", self.name, self.why)
    }
}

impl FoundBaseline {
    fn notes(&self, name: &Path) -> Vec<String> {
        let Baseline { runs, differs, .. } = &self.baseline;
        let s = if runs.len() == 1 { "" } else { "s" };
        let left_out = match self.left_out.len() {
            0 => String::new(),
            count => format!(", {count} left out:"),
        };
        let day = |run: Option<&BaselineRun>| {
            let began = run.map(|run| run.started_at.as_str()).unwrap_or_default();
            began.get(..10).unwrap_or(began).to_owned()
        };
        let (from, to) = (day(runs.first()), day(runs.last()));
        let when = if from == to { from } else { format!("{from} to {to}") };
        let mut lines = vec![format!(
            "baseline: {} run{s} of {}, {when}{left_out}",
            runs.len(),
            name.display()
        )];
        let listed = self.left_out.iter().take(MOST_LISTED);
        lines.extend(listed.map(|it| format!("  {}", it.words())));
        let more = self.left_out.len().saturating_sub(MOST_LISTED);
        lines.extend((more > 0).then(|| format!("  and {more} more")));
        if !differs.is_empty() {
            let differs = differs.join("; ");
            lines.push(format!("warning: the baseline's plan differs: {differs}"));
        }
        let here = Environment::here().words();
        if let Some(other) = runs.iter().find(|run| run.machine != here) {
            lines.push(format!(
                "warning: the baseline was measured on another machine: {}",
                other.machine
            ));
        }
        lines
    }
}

fn read(
    name: &Path,
    plan: &Plan,
    wanted: &[Quantity],
    by: BaselineBy,
) -> Result<FoundBaseline, Invalid> {
    let found = find(name, FLAG)?;
    let shown = name.display();
    if !name.exists()
        && let Some((_, file)) = found.iter().find(|(_, file)| is_elsewhere(file))
    {
        let folder = file.parent().unwrap_or(file).display();
        let problem = format!("{shown} is not of this folder, which has none: it is {folder}");
        let cure = "give that path to compare with it all the same";
        return Err(Invalid::new(FLAG, problem, cure));
    }
    // A folder of runs is searched; a single run is used as it is.
    let one = if name.join("run.json").is_file() { Some(name.join("run.json")) } else { None };
    let single = one.or_else(|| match &found[..] {
        [(_, file)] if !name.is_dir() => Some(file.clone()),
        _ => None,
    });
    if let Some(file) = single {
        let unfit = |why: String| {
            let problem = format!("{shown} cannot be a baseline: {why}");
            Invalid::new(FLAG, problem, "give a complete run, or a folder of runs")
        };
        let record = record(&file).map_err(unfit)?;
        let point = Point::of(&record, &shown.to_string(), wanted).map_err(unfit)?;
        let differs = plan.differs_by(by, &record.plan);
        let baseline = Baseline { differs, ..baseline(&[point]) };
        return Ok(FoundBaseline { baseline, left_out: Vec::new() });
    }
    let essence = plan.essence_by(by);
    let (mut own, mut left_out, mut last) = (Vec::new(), Vec::new(), None::<OtherPlan>);
    for (name, file) in found {
        let point = record(&file).and_then(|it| Ok((Point::of(&it, &name, wanted)?, it.plan)));
        let (point, theirs) = match point {
            Ok(point) => point,
            Err(why) => {
                left_out.push(LeftOut { name, why });
                continue;
            }
        };
        if theirs.essence_by(by) == essence {
            own.push(point);
            continue;
        }
        let differs = plan.differs_by(by, &theirs).join(", ");
        let began = point.run.started_at;
        if last.as_ref().is_none_or(|last| last.began < began) {
            last = Some(OtherPlan { name: name.clone(), began, differs: differs.clone() });
        }
        left_out.push(LeftOut { name, why: format!("another plan: {differs}") });
    }
    if own.is_empty() {
        return Err(none_of(&shown.to_string(), last, &left_out));
    }
    own.sort_by_key(|point| point.run.started_at.clone());
    let skipped = own.len().saturating_sub(MOST_RUNS);
    let old = own.drain(..skipped).map(|point| LeftOut {
        name: point.run.name,
        why: format!("older than the last {MOST_RUNS}"),
    });
    left_out.extend(old.collect::<Vec<_>>());
    Ok(FoundBaseline { baseline: baseline(&own), left_out })
}

/// Whether a run that was found by name is not below this folder: it may be of another project.
fn is_elsewhere(file: &Path) -> bool {
    // Runs in `springload-runs` have a relative path.
    file.is_absolute() && std::env::current_dir().is_ok_and(|here| !file.starts_with(here))
}

/// A run of another plan.
struct OtherPlan {
    name: String,
    began: String,
    differs: String,
}

/// The mistake if no run has this plan, with the reason for the last one and some others.
fn none_of(folder: &str, last: Option<OtherPlan>, left_out: &[LeftOut]) -> Invalid {
    let named = last.as_ref().map(|it| it.name.as_str());
    let others: Vec<_> = left_out.iter().filter(|it| Some(it.name.as_str()) != named).collect();
    let words = others.iter().take(MOST_IN_LINE).map(|it| it.words());
    let more = others.len().saturating_sub(MOST_IN_LINE);
    let more = (more > 0).then(|| format!("{more} more"));
    let words: Vec<_> = words.chain(more).collect();
    let problem = match last {
        None => format!("no run in {folder} can be a baseline"),
        Some(OtherPlan { name, differs, .. }) => {
            format!("no run in {folder} has this plan; the last, {name}, differs: {differs}")
        }
    };
    let also = if words.is_empty() { String::new() } else { format!(" ({})", words.join("; ")) };
    let cure = "name a run, which may have any plan, or first save one there with -o";
    Invalid::new(FLAG, problem + &also, cure)
}

/// The parts of the runs that are saved.
fn baseline(points: &[Point]) -> Baseline {
    let run = |point: &Point| BaselineRun {
        name: point.run.name.clone(),
        started_at: point.run.started_at.clone(),
        server: point.run.server.clone(),
        machine: point.run.machine.clone(),
    };
    let metrics = points.first().map(|point| point.values.clone()).unwrap_or_default();
    let figure = |(place, (metric, _)): (usize, (Quantity, Option<f64>))| BaselineFigure {
        metric,
        values: points.iter().map(|point| point.values[place].1).collect(),
    };
    Baseline {
        runs: points.iter().map(run).collect(),
        figures: metrics.into_iter().enumerate().map(figure).collect(),
        ..Baseline::default()
    }
}
