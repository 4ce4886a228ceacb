//! The cells of a sweep: the flags they share, the settings that differ, and the plan of each cell,
//! which is the one that `springload run` makes of these flags.

use super::Sweep;
use super::preset::{Preset, document};
use crate::cli::flags::batch::default_batch;
use crate::cli::flags::client::DEFAULT_SEED;
use crate::cli::flags::credentials::Servers;
use crate::cli::flags::docs::DEFAULT_DOCS;
use crate::cli::flags::load::DEFAULT_CONNECTIONS;
use crate::cli::pipeline::descriptors::fit;
use crate::cli::refusal::mistake;
use crate::cli::verb::run::{Settings, spec_of};
use crate::driver::strike_observed;
use crate::plan::{Invalid, Plan, PlanSpec, check, command_line, count};
use crate::sweep::{Axis, Definition, Setting, SweepRecord, matrix};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args as _, Command, FromArgMatches as _};

/// Flags whose values are not stored.
const SECRET: [&str; 1] = ["header"];
/// Flags about observed values, which do not affect what is measured.
const OBSERVED: [&str; 2] = ["observe_url", "observe_series"];
/// More runs than anyone would wait for.
const MOST_CELLS: u64 = SweepRecord::MOST_CELLS as u64;

/// All cells: settings and round, and a plan for each.
pub(super) struct Cells {
    pub(super) settings: Vec<(Vec<Setting>, u64)>,
    pub(super) plans: Vec<Plan>,
}

/// The flags of `springload run` that define the plan.
pub(in crate::cli::verb) fn flags() -> Command {
    Settings::augment_args(Command::new("springload run").no_binary_name(true))
}

/// Whether a flag takes a value that can be varied.
fn varies(argument: &Arg) -> bool {
    argument.get_long().is_some()
        && argument.get_action().takes_values()
        && !SECRET.iter().chain(&OBSERVED).any(|id| *id == argument.get_id().as_str())
}

/// The definition of the sweep that `args` ask for, with the flags in `matches` that were given.
pub(super) fn definition(
    args: &Sweep,
    targets: &[String],
    matches: &ArgMatches,
) -> Result<Definition, Vec<Invalid>> {
    let (mut axes, mut common) = (args.axes.clone(), given(matches));
    let mut mistakes = Vec::new();
    let has = |name: &str, common: &[String]| {
        let flag = format!("--{name}");
        common.iter().any(|it| *it == flag || it.starts_with(&format!("{flag}=")))
    };
    let by_size = args.x.is_some() || args.preset.is_some();
    if let Some(Preset { axis, values, documents, flag, .. }) = args.preset {
        if axes.is_empty() && !has(axis, &common) {
            let values = values.iter().map(|&value| value.to_owned()).collect();
            axes.push(Axis { name: axis.to_owned(), values });
        }
        let documents = ((documents * args.scale) as u64).max(1).to_string();
        for (name, value) in [("docs", &*documents), flag] {
            if !axes.iter().any(|axis| axis.name == name) && !has(name, &common) {
                common.push(format!("--{name}={value}"));
            }
        }
    } else if axes.is_empty() {
        let cure = "give -L batch=10,100,1000 --ops 0, for example, or a --preset";
        mistakes.push(Invalid::new("-L", "nothing is varied", cure));
    }
    if by_size {
        let wanted =
            |name: &&str| has(name, &common) || axes.iter().any(|axis| axis.name == **name);
        if !["ops", "duration", "stages"].iter().any(wanted) {
            common.push("--ops=0".to_owned());
        }
        if !has("growth", &common) {
            common.push("--growth".to_owned());
        }
    }
    common.extend(batch(&axes, &common));
    check_axes(&axes, &common, &mut mistakes);
    let combinations = axes.iter().map(|axis| axis.values.len() as u64);
    let cells = combinations.chain([args.repeat]).try_fold(1u64, u64::checked_mul);
    if !cells.is_some_and(|cells| (1..=MOST_CELLS).contains(&cells)) {
        let problem = "the sweep would have no runs, or more than 10,000";
        mistakes.push(Invalid::new("--repeat", problem, "vary less, or repeat less"));
    }
    if !mistakes.is_empty() {
        return Err(mistakes);
    }
    let mut targets = targets.iter().cloned();
    Ok(Definition {
        label: args.study.label.clone(),
        target: targets.next(),
        nodes: targets.collect(),
        common,
        axes,
        repeat: args.repeat,
        seed: matches.get_one::<u64>("seed").copied().unwrap_or(DEFAULT_SEED),
        by_size,
        preset: args.preset.map(|preset| preset.name.to_owned()),
    })
}

/// Sets one batch size for all cells if the default would depend on a varied setting: otherwise two
/// things would change at once.
fn batch(axes: &[Axis], common: &[String]) -> Option<String> {
    let values = |name: &str, default: u64| -> Vec<u64> {
        let flag = format!("--{name}=");
        let given = common.iter().filter_map(|word| word.strip_prefix(&flag)).next_back();
        let axis = axes.iter().find(|axis| axis.name == name);
        let texts = axis.map_or_else(
            || given.into_iter().collect(),
            |axis| axis.values.iter().map(String::as_str).collect::<Vec<_>>(),
        );
        let numbers: Vec<u64> = texts.iter().filter_map(|text| count(text).ok()).collect();
        if numbers.is_empty() { vec![default] } else { numbers }
    };
    let varied = |name: &str| axes.iter().any(|axis| axis.name == name);
    let said = varied("batch") || common.iter().any(|word| word.starts_with("--batch="));
    if said || !(varied("connections") || varied("docs")) {
        return None;
    }
    let documents = values("docs", DEFAULT_DOCS);
    let batches = values("connections", DEFAULT_CONNECTIONS)
        .into_iter()
        .flat_map(|connections| documents.iter().map(move |&it| default_batch(connections, it)));
    batches.min().map(|batch| format!("--batch={batch}"))
}

/// The flags of a run that were given, in a form that can be parsed again.
pub(in crate::cli::verb) fn given(matches: &ArgMatches) -> Vec<String> {
    let mut words = Vec::new();
    for argument in flags().get_arguments() {
        let (Some(long), id) = (argument.get_long(), argument.get_id().as_str()) else { continue };
        if SECRET.contains(&id) {
            continue;
        }
        if matches.value_source(id) != Some(ValueSource::CommandLine) {
            continue;
        }
        if matches!(argument.get_action(), ArgAction::SetTrue) {
            words.push(format!("--{long}"));
        } else {
            let values = matches.get_raw(id).into_iter().flatten();
            // The words are stored, and an exporter with a password is refused when they are read
            // again.
            words.extend(values.map(|value| {
                let value = value.to_string_lossy();
                let struck =
                    if id == "observe_url" { strike_observed(&value) } else { value.into() };
                format!("--{long}={struck}")
            }));
        }
    }
    words
}

fn check_axes(axes: &[Axis], common: &[String], mistakes: &mut Vec<Invalid>) {
    let flags = flags();
    let known: Vec<&str> =
        flags.get_arguments().filter(|it| varies(it)).filter_map(Arg::get_long).collect();
    for (place, axis) in axes.iter().enumerate() {
        let name = axis.name.as_str();
        if !known.contains(&name) {
            let problem = format!("no such setting: {name:?}");
            let cure = format!("give one of {}", known.join(", "));
            mistakes.push(Invalid::new("-L", problem, cure));
        } else if axes[..place].iter().any(|other| other.name == name) {
            let problem = format!("{name} is varied twice");
            mistakes.push(Invalid::new("-L", problem, "give all its values in one list"));
        } else if common.iter().any(|word| word.starts_with(&format!("--{name}="))) {
            let problem = format!("{name} is varied, and also given as --{name}");
            mistakes.push(Invalid::new("-L", problem, "leave one of them out"));
        }
    }
}

/// The plan of every cell. All are checked before the first run.
pub(super) fn plans(definition: &Definition, servers: &Servers) -> Result<Cells, Vec<Invalid>> {
    let mut cells = Cells { settings: Vec::new(), plans: Vec::new() };
    for settings in matrix(&definition.axes) {
        let plan = plan(definition, servers, &settings)?;
        for round in 1..=definition.repeat {
            cells.settings.push((settings.clone(), round));
            cells.plans.push(plan.clone());
        }
    }
    let all: Vec<_> =
        cells.settings.iter().zip(&cells.plans).map(|((it, _), plan)| (it.clone(), plan)).collect();
    let rounds = definition.repeat.max(1) as usize;
    let once: Vec<_> = all.into_iter().step_by(rounds).collect();
    super::axes::check(&definition.axes, &once, definition.by_size)?;
    Ok(cells)
}

fn plan(
    definition: &Definition,
    servers: &Servers,
    settings: &[Setting],
) -> Result<Plan, Vec<Invalid>> {
    let own = settings.iter().map(|it| format!("--{}={}", it.name, it.value));
    let words: Vec<String> = definition.common.iter().cloned().chain(own).collect();
    plan_of(&words, "-L", servers, |spec| {
        if definition.preset.is_some() && spec.schemas.is_empty() {
            spec.schemas.push(("--schema", document(), 1));
        }
    })
}

/// The plan that `springload run` makes of `words`, the value of `flag`, for these servers. Its
/// command line has none of their passwords. Each run creates its own database.
///
/// # Errors
/// Returns every mistake that was found.
pub(in crate::cli::verb) fn plan_of(
    words: &[String],
    flag: &'static str,
    servers: &Servers,
    more: impl FnOnce(&mut PlanSpec),
) -> Result<Plan, Vec<Invalid>> {
    let argv = servers.targets.iter().chain(words).cloned();
    let parsed = flags()
        .try_get_matches_from(argv)
        .and_then(|matches| Settings::from_arg_matches(&matches))
        .map_err(|error| {
            let (problem, cure) = mistake(&error, Some("run"));
            vec![Invalid::new(flag, problem, cure)]
        })?;
    let line = servers.shown.iter().chain(words).map(String::as_str);
    let command = command_line(["springload", "run"].into_iter().chain(line));
    let (mut spec, mut mistakes) = spec_of(parsed, &command, &[]);
    spec.headers.clone_from(&servers.headers);
    more(&mut spec);
    let mut plan = check(&spec);
    mistakes.extend(plan.as_mut().ok().and_then(|plan| fit(plan).err()));
    if let Ok(plan) = &plan
        && plan.target.named_database().is_some()
    {
        let problem = "names a database, but each run creates its own";
        mistakes.push(Invalid::new("TARGET", problem, "give only the server"));
    }
    match plan {
        Ok(plan) if mistakes.is_empty() => Ok(plan),
        plan => {
            mistakes.extend(plan.err().unwrap_or_default());
            Err(mistakes)
        }
    }
}
