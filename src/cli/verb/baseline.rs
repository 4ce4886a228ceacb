//! Earlier runs that a run is judged by: which they are, and what they measured.

use super::found::find;
use super::reading::record;
use crate::cli::flags::gate::GateArgs;
use crate::cli::look;
use crate::plan::{Baseline, BaselineFigure, BaselineRun, Invalid, Limit, Plan, Quantity};
use crate::record::Environment;
use crate::report::shown;
use crate::trend::Point;
use std::path::Path;

/// More runs would add nothing new, and the oldest of them least.
const MOST_RUNS: usize = 20;
const FLAG: &str = "--baseline";

/// The plan with the figures of the baseline that is asked for. What is known about the baseline is
/// printed to stderr, unless `quiet`.
///
/// # Errors
/// Those of the plan, or why there is no such baseline.
pub(in crate::cli) fn gated(
    plan: Result<Plan, Vec<Invalid>>,
    gate: &GateArgs,
    quiet: bool,
) -> Result<Plan, Vec<Invalid>> {
    let plan = plan?;
    let Some(name) = &gate.baseline else { return Ok(plan) };
    let wanted = wanted(&plan);
    let found = read(name, &plan, &wanted)?;
    let told = found.told(name);
    let baseline = Baseline { max_regression_percent: gate.max_regression, ..found.baseline };
    let plan = plan.judged_by(baseline)?;
    if !quiet {
        for line in told {
            eprintln!("{}", shown(&line, look::ascii()));
        }
    }
    Ok(plan)
}

/// What the run is judged by.
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

/// A baseline, and how many of the runs that were found are not part of it.
struct Found {
    baseline: Baseline,
    left_out: usize,
}

impl Found {
    /// What to know before the run.
    fn told(&self, name: &Path) -> Vec<String> {
        let Baseline { runs, differs, .. } = &self.baseline;
        let s = if runs.len() == 1 { "" } else { "s" };
        let left_out = match self.left_out {
            0 => String::new(),
            count => format!(", {count} left out: of other plans, stopped, or not trustworthy"),
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

fn read(name: &Path, plan: &Plan, wanted: &[Quantity]) -> Result<Found, Invalid> {
    let found = find(name, FLAG)?;
    let shown = name.display();
    // A folder of runs is searched; a run is taken as it is.
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
        let differs = plan.differs_from(&record.plan);
        let baseline = Baseline { differs, ..baseline(&[point]) };
        return Ok(Found { baseline, left_out: 0 });
    }
    let count = found.len();
    let points = found.into_iter().filter_map(|(name, file)| {
        let record = record(&file).ok()?;
        Some((Point::of(&record, &name, wanted).ok()?, record.plan))
    });
    let (mut own, other): (Vec<_>, Vec<_>) = points.partition(|(point, _)| point.is_of(plan));
    if own.is_empty() {
        let last = other.iter().max_by_key(|(point, _)| point.run.started_at.clone());
        let problem = match last {
            None => format!("no run in {shown} can be a baseline"),
            Some((point, theirs)) => format!(
                "no run in {shown} has this plan; the last, {}, differs: {}",
                point.run.name,
                plan.differs_from(theirs).join(", ")
            ),
        };
        let cure = "name a run, which may have any plan, or first save one there with -o";
        return Err(Invalid::new(FLAG, problem, cure));
    }
    own.sort_by_key(|(point, _)| point.run.started_at.clone());
    let left_out = count - own.len();
    let skipped = own.len().saturating_sub(MOST_RUNS);
    let points: Vec<Point> = own.into_iter().skip(skipped).map(|(point, _)| point).collect();
    Ok(Found { baseline: baseline(&points), left_out })
}

/// What is kept of the runs.
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
