//! `springload compare`: two sides of saved runs, and which is better.

use crate::cli::call::{Call, Example, Family, Verb};
use crate::cli::exit::{Exit, Statuses, Trouble};
use crate::cli::flags::study::WrittenArgs;
use crate::cli::look;
use crate::cli::verb::found::{FoundRuns, find, once, real};
use crate::cli::verb::reading::record;
use crate::compare::{CompareAsked, Compared, ComparedRun, Comparison, compare};
use crate::plan::{BadValue, Invalid, Quantity};
use crate::record::{RunRecord, Standing};
use crate::report::{ComparisonReport, Look, shown};
use std::path::PathBuf;

/// `springload compare`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Compare {
    /// The runs of A, the baseline: names, labels, folders, latest~1
    ///
    /// The runs of A, the baseline: saved runs by name, latest or latest~1, run.json files, a label
    /// for all runs that have it, or folders with runs. Two runs or folders need no -- between them
    #[arg(required = true, value_name = "A")]
    first: Vec<PathBuf>,
    /// The runs of B, to compare with A
    #[arg(last = true, value_name = "B")]
    second: Vec<PathBuf>,
    #[command(flatten)]
    how: CompareArgs,
    #[command(flatten)]
    out: WrittenArgs<ComparisonReport>,
}

/// How to compare.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct CompareArgs {
    /// What to compare, such as read.p99; may be repeated
    ///
    /// What to compare, such as read.p99 or throughput, named as in --fail-if; may be repeated
    /// [default: throughput, p50, p99 and err of all requests, and of each kind of operation]
    #[arg(long, value_name = "METRIC")]
    metric: Vec<String>,
    /// What the verdict rests on; may be repeated
    ///
    /// What the verdict and the exit status rest on; may be repeated [default: the figures of all
    /// requests together, or those of --metric]
    #[arg(long, value_name = "METRIC")]
    gate: Vec<String>,
    /// Treat changes smaller than this as the same
    #[arg(long, value_name = "SHARE", default_value = "3%", value_parser = share)]
    delta: f64,
}

impl Verb for Compare {
    const NAME: &'static str = "compare";
    const ABOUT: &'static str = "Compare saved runs: better, worse, the same, or can't tell";
    const FAMILY: Family = Family::Results;
    const OFTEN: bool = true;
    const EXAMPLES: [Example; 3] = [
        ("The last run with the one before", "compare latest~1 latest"),
        ("All runs of two labels, as a page", "compare -o both.html before -- after"),
        ("For a pull request", "compare --format markdown baseline -- latest"),
    ];
    const EXITS: Statuses = &[
        (Exit::Passed, "better, the same, or can't tell"),
        Exit::ALL[1],
        Exit::WRONG,
        (Exit::Untrustworthy, "a run that counts is not trustworthy"),
        (Exit::DataWrong, "data wrong or lost in a run"),
        (Exit::Regression, "B is worse"),
    ];

    fn carry_out(self, _call: &Call<'_>) -> Result<Exit, Trouble> {
        let (comparison, drawn) = self.compare()?;
        let report = ComparisonReport { comparison, drawn };
        self.out.write(&report, Look::default())?;
        Ok(status(&report.comparison))
    }
}

pub(in crate::cli) fn status(comparison: &Comparison) -> Exit {
    match comparison.verdict {
        _ if comparison.data_wrong().contains(&true) => Exit::DataWrong,
        _ if !comparison.trustworthy() => Exit::Untrustworthy,
        Standing::Worse => Exit::Regression,
        Standing::Better | Standing::Same | Standing::CannotTell => Exit::Passed,
    }
}

/// A share, such as `3%` or `0.03`.
fn share(text: &str) -> Result<f64, BadValue> {
    let (number, unit) = text.strip_suffix('%').map_or((text, 1.0), |it| (it.trim(), 100.0));
    let value = number.parse::<f64>().ok().map(|it| it / unit);
    let value = value.filter(|it| (0.0..=1.0).contains(it));
    let problem = || format!("{text:?} is not a share");
    value.ok_or_else(|| BadValue::new(problem(), "give 0% to 100%, such as 3%"))
}

/// The figures to compare or draw, as named by the flag.
///
/// # Errors
/// Fails if one is not a figure of a run.
pub(super) fn quantities(flag: &'static str, texts: &[String]) -> Result<Vec<Quantity>, Invalid> {
    let wrong = |error: BadValue| Invalid::new(flag, error.problem, error.cure);
    texts.iter().map(|text| text.parse::<Quantity>().map_err(wrong)).collect()
}

impl CompareArgs {
    /// The figures to compare; empty: the default ones.
    pub(in crate::cli) fn wanted(&self) -> Result<Vec<Quantity>, Invalid> {
        let mut wanted = quantities("--metric", &self.metric)?;
        // Gated figures are compared as well.
        if !wanted.is_empty() {
            let gated = quantities("--gate", &self.gate)?;
            let more: Vec<Quantity> = gated.into_iter().filter(|it| !wanted.contains(it)).collect();
            wanted.extend(more);
        }
        Ok(wanted)
    }

    pub(in crate::cli) fn asked(&self) -> Result<CompareAsked, Invalid> {
        let mut gated = quantities("--gate", &self.gate)?;
        if gated.is_empty() {
            gated = quantities("--metric", &self.metric)?;
        }
        Ok(CompareAsked { delta: self.delta, gated, ..CompareAsked::default() })
    }
}

impl Compare {
    /// The comparison, with a run of each side for the charts.
    fn compare(&self) -> Result<(Comparison, Vec<RunRecord>), Invalid> {
        let (a, b) = match (&self.first[..], &self.second[..]) {
            ([a, b], []) => (std::slice::from_ref(a), std::slice::from_ref(b)),
            (a, b) if !b.is_empty() => (a, b),
            _ => {
                let cure = "write the runs of A, then --, then the runs of B";
                return Err(Invalid::new("B", "there is nothing to compare with", cure));
            }
        };
        let (wanted, asked) = (self.how.wanted()?, self.how.asked()?);
        let (a, first) = read(a, "A", &wanted)?;
        let (b, second) = read(b, "B", &wanted)?;
        if let Some(run) = a.iter().find(|run| b.iter().any(|it| same(it, run))) {
            let problem = format!("{} is on both sides", run.name);
            return Err(Invalid::new("B", problem, "name other runs on one of them"));
        }
        let comparison = compare(a, b, &asked);
        if let Some(missing) = asked.gated.iter().find(|it| !is_in(&comparison, **it)) {
            let problem = format!("no run has {missing}");
            let cure = "choose one of the figures that springload compare shows without this flag";
            let flag = if self.how.gate.is_empty() { "--metric" } else { "--gate" };
            return Err(Invalid::new(flag, problem, cure));
        }
        Ok((comparison, vec![first, second]))
    }
}

fn is_in(comparison: &Comparison, wanted: Quantity) -> bool {
    let name = wanted.to_string();
    // A figure that was 0 in a run has values, but no ratio.
    let values = |it: &Compared| it.a_values.iter().chain(&it.b_values).any(Option::is_some);
    comparison
        .comparisons
        .iter()
        .any(|it| format!("{}.{}", it.kind, it.metric) == name && values(it))
}

fn same(one: &ComparedRun, other: &ComparedRun) -> bool {
    one.started_at == other.started_at && one.command == other.command
}

/// The runs of one side in chronological order, and the record of one in the middle.
fn read(
    names: &[PathBuf],
    side: &'static str,
    wanted: &[Quantity],
) -> Result<(Vec<ComparedRun>, RunRecord), Invalid> {
    let (mut found, mut named) = (FoundRuns::new(), Vec::new());
    for name in names {
        let these = find(name, side)?;
        // As with a baseline, a run that is named itself counts in any case, one of many may not.
        let own = name.join("run.json");
        match &these[..] {
            [(_, file)] if !name.is_dir() => named.push(real(file)),
            _ if own.is_file() => named.push(real(&own)),
            _ => {}
        }
        found.extend(these);
    }
    once(&mut found);
    let (mut runs, mut unfit) = (Vec::new(), Vec::new());
    for (name, file) in found {
        let is_named = named.contains(&real(&file));
        let problem = match record(&file) {
            Ok(record) => {
                let problem = record.unfit().filter(|_| !is_named);
                let is_partial = record.partial;
                let run = (ComparedRun::of(&record, &name, wanted), file.clone());
                let Some(problem) = problem else {
                    runs.push(run);
                    continue;
                };
                unfit.extend((!is_partial).then_some(run));
                problem
            }
            Err(problem) => problem,
        };
        let problem = format!("{}: {problem}", file.display());
        if is_named {
            return Err(Invalid::new(side, problem, "give a complete run.json"));
        }
        eprintln!("{}", shown(&format!("left out: {problem}"), look::ascii()));
    }
    if runs.is_empty() && !unfit.is_empty() {
        // Better to compare them than to say that there are no runs.
        eprintln!("no run of {side} can be relied on: comparing those that were completed anyway");
        runs = unfit;
    }
    runs.sort_by(|one, other| one.0.started_at.cmp(&other.0.started_at));
    let Some((_, file)) = runs.get(runs.len() / 2) else {
        let names: Vec<String> = names.iter().map(|it| it.display().to_string()).collect();
        let problem = format!("no runs in {}", names.join(", "));
        return Err(Invalid::new(side, problem, "springload list shows what is saved"));
    };
    let drawn =
        record(file).map_err(|problem| Invalid::new(side, problem, "give a complete run.json"))?;
    Ok((runs.into_iter().map(|(run, _)| run).collect(), drawn))
}
