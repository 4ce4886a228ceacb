//! `springload sweep`: a run for each combination of settings, kept in one folder.

mod axes;
mod cells;
mod kind;
pub(in crate::cli) mod preset;

use crate::cli::call::{Call, Example, Family, Verb};
use crate::cli::exit::{Exit, refuse};
use crate::cli::flags::agents::AgentsArgs;
use crate::cli::flags::credentials::{self, CredentialArgs, Named, named_nodes};
use crate::cli::flags::known;
use crate::cli::flags::output::OutputArgs;
use crate::cli::pipeline::agents;
use crate::cli::pipeline::bench::Bench;
use crate::cli::pipeline::dialect::Dialect;
use crate::cli::pipeline::ending::Ending;
use crate::cli::pipeline::folder::{Folder, RUNS, now};
use crate::cli::pipeline::measure;
use crate::cli::pipeline::signals;
use crate::cli::print::print;
use crate::cli::secrets::strike_password;
use crate::cli::verb::kinds::Finished;
use crate::engine::StopReason;
use crate::files;
use crate::fleet::Fleet;
use crate::plan::{self, Invalid, Plan};
use crate::record::RunRecord;
use crate::report::{Format, StudyFormat, read_json, sane};
use crate::sweep::{Axis, CellRecord, Definition, Headline, SweepRecord, shuffled};
use cells::{Cells, Wanted, plans};
pub(in crate::cli::verb) use cells::{flags, given, plan_of};
use clap::{ArgMatches, ValueEnum};
pub(in crate::cli::verb) use kind::KIND;
use preset::Preset;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

/// The version of the layout of `sweep.json`.
const SCHEMA_VERSION: u32 = 1;

/// `springload sweep`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Sweep {
    #[command(flatten)]
    settings: crate::cli::verb::run::Settings,
    #[command(flatten)]
    credentials: CredentialArgs,
    /// A setting and its values, such as batch=10,100,1000
    ///
    /// A setting and its values: NAME=A,B,C or NAME=FROM..TOxFACTOR or NAME=FROM..TO+STEP, where
    /// NAME is a flag of springload run without its dashes; may be repeated
    #[arg(short = 'L', long = "list", value_name = "NAME=VALUES")]
    axes: Vec<Axis>,
    /// One of the three sweeps of 2008
    ///
    /// One of the three sweeps of 2008; other flags override its settings
    #[arg(long, value_enum, value_name = "SWEEP")]
    preset: Option<Preset>,
    /// The share of the preset's documents to use
    #[arg(long, value_name = "SHARE", default_value = "1", value_parser = share)]
    #[arg(requires = "preset")]
    scale: f64,
    /// Number of runs of each combination
    #[arg(id = "rounds", long = "repeat", value_name = "N", default_value = "1")]
    #[arg(value_parser = plan::count)]
    repeat: u64,
    /// What to plot rates against: docs is the size of the database during the fill
    #[arg(long, value_enum, value_name = "WHAT")]
    x: Option<Against>,
    /// Continue the sweep in this folder
    #[arg(long, value_name = "DIR", conflicts_with_all = ["axes", "preset", "output"])]
    resume: Option<PathBuf>,
    /// The folder for the sweep and its runs
    ///
    /// The folder for sweep.json and the records of all runs; repeating the command continues a
    /// sweep that is there [default: springload-runs/sweep-TIME]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// What to call the sweep in lists and reports
    #[arg(long, value_name = "TEXT", value_parser = plan::label)]
    label: Option<String>,
    /// The report's format
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "text",
        value_parser = known::study_formats::<SweepRecord>()
    )]
    format: &'static StudyFormat<SweepRecord>,
    /// Show no progress, only the report
    #[arg(short, long)]
    quiet: bool,
    /// Print the commands and run nothing
    ///
    /// Print the commands of all runs in order and run nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    agents: AgentsArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Against {
    /// Documents in the database, and its size in bytes if the server reports it
    Docs,
}

fn share(text: &str) -> Result<f64, String> {
    let value = text.parse::<f64>().ok().filter(|value| *value > 0.0 && *value <= 1.0);
    value.ok_or_else(|| format!("{text:?} is not a share; give a number above 0, up to 1"))
}

impl Verb for Sweep {
    const NAME: &'static str = "sweep";
    const ABOUT: &'static str = "Measure every combination of settings, and show what each changes";
    const FAMILY: Family = Family::Measure;
    const BRIEF: &'static str = "target axes preset rounds connections docs ops duration output resume format dry_run \
        quiet";
    const EXAMPLES: [Example; 3] = [
        ("The best size of a batch", "sweep localhost:5984 -L batch=10,100,1000 --ops 0"),
        (
            "Connections and a mix, each combination three times",
            "sweep localhost:5984 -L connections=1..64x4 -d 10s --repeat 3",
        ),
        ("A sweep of 2008, with a hundredth of its documents", "sweep --preset batch --scale 0.01"),
    ];

    fn carry_out(self, call: &Call<'_>) -> Exit {
        match prepare(&self, call.matches) {
            Ok(None) => Exit::Passed,
            Ok(Some(mut cells)) => cells.measure(&self),
            Err(mistakes) => refuse(&mistakes),
        }
    }
}

/// A sweep that is ready to run.
struct Ready {
    folder: PathBuf,
    sweep: SweepRecord,
    /// The plan of each cell, in the order of the cells.
    plans: Vec<Plan>,
}

/// Checks everything; `None`: there is nothing to run.
fn prepare(args: &Sweep, matches: &ArgMatches) -> Result<Option<Ready>, Vec<Invalid>> {
    let given = args.settings.target.target.clone();
    let (definition, targets, folder) = if let Some(folder) = &args.resume {
        let kept = load(folder).map_err(|mistake| vec![mistake])?;
        let target = resumed(args, given, &kept.definition);
        (kept.definition, target.map_err(|it| vec![it])?, Some(folder.clone()))
    } else {
        let named = named_nodes(given);
        let by_size = args.x == Some(Against::Docs);
        let (axes, preset, repeat) = (args.axes.clone(), args.preset, args.repeat);
        let (label, scale) = (args.label.clone(), args.scale);
        let wanted = Wanted { label, axes, preset, scale, repeat, by_size };
        let shown = named.address.iter().chain(&named.nodes).map(|it| strike_password(it));
        let definition = wanted.definition(shown.collect(), matches)?;
        let targets = args.credentials.apply_all(&named).map_err(|mistake| vec![mistake])?;
        (definition, targets, args.output.clone())
    };
    let headers = args.settings.client.header.clone();
    let headers = args.credentials.with_token(targets.first().map(String::as_str), headers);
    let headers = headers.map_err(|mistake| vec![mistake])?;
    let Cells { settings, plans } = plans(&definition, &targets, &headers)?;
    let order = shuffled(settings.len(), definition.seed);
    let cells = order.iter().map(|&place| {
        let (settings, round) = settings[place].clone();
        CellRecord { settings, round, run: format!("cells/{place:03}/run.json"), result: None }
    });
    let fresh = SweepRecord { schema_version: SCHEMA_VERSION, cells: cells.collect(), definition };
    let plans = order.iter().map(|&place| args.agents.share(plans[place].clone()));
    let plans: Vec<Plan> = plans.collect::<Result<_, _>>().map_err(|mistake| vec![mistake])?;
    if args.dry_run {
        for plan in plans {
            print(format!("{}\n", plan.command).as_bytes());
        }
        return Ok(None);
    }
    let default = || Path::new(RUNS).join(format!("sweep-{}", now()));
    let folder = folder.unwrap_or_else(default);
    let mut sweep = fresh.clone();
    if folder.join(KIND.file).exists() {
        let kept = load(&folder).map_err(|mistake| vec![mistake])?;
        if in_one_order(&kept.definition) != in_one_order(&fresh.definition) {
            let problem = format!("{} contains another sweep", folder.display());
            let cure = "name another folder, or continue that sweep with --resume";
            return Err(vec![Invalid::new("--output", problem, cure)]);
        }
        sweep = kept;
    }
    adopt(&folder, &mut sweep, &plans);
    save(&folder, &sweep).map_err(|error| {
        let problem = format!("cannot write to {}: {error}", folder.display());
        vec![Invalid::new("--output", problem, "name a writable folder")]
    })?;
    Ok(Some(Ready { folder, sweep, plans }))
}

/// The target of a sweep to continue: the one that is given, or the one that was stored, which has
/// no password.
fn resumed(args: &Sweep, given: Vec<String>, kept: &Definition) -> Result<Vec<String>, Invalid> {
    let stored: Vec<&String> = kept.target.iter().chain(&kept.nodes).collect();
    let struck = given.is_empty() && stored.iter().any(|it| it.contains(":***@"));
    let restored = stored.iter().map(|it| it.replacen(":***@", "@", 1));
    let given = if given.is_empty() { restored.collect() } else { given };
    let mut given = given.into_iter();
    let named = Named { address: given.next(), nodes: given.collect(), flag: "TARGET" };
    let targets = args.credentials.apply_all(&named)?;
    if struck && !targets.iter().any(|target| credentials::has_password(target)) {
        let cure = "give TARGET with its password again, or SPRINGLOAD_PASSWORD";
        return Err(Invalid::new("--resume", "passwords are not stored", cure));
    }
    Ok(targets)
}

/// The order of flags does not matter, except among those of one name; nor does the label.
fn in_one_order(definition: &Definition) -> Definition {
    let mut definition = Definition { label: None, ..definition.clone() };
    let flag = |word: &String| word.split('=').next().map(str::to_owned);
    definition.common.sort_by_key(flag);
    definition
}

/// Reads the sweep in a folder.
fn load(folder: &Path) -> Result<SweepRecord, Invalid> {
    read(&folder.join(KIND.file))
        .map_err(|problem| Invalid::new("--resume", problem, "name a sweep's folder"))
}

/// Reads a `sweep.json`.
///
/// # Errors
/// What is wrong with which file.
pub(in crate::cli) fn read(file: &Path) -> Result<SweepRecord, String> {
    let wrong = |problem: String| format!("{}: {problem}", file.display());
    let text = files::read_text(file, files::RECORD).map_err(|error| wrong(error.to_string()))?;
    parse(&text).map_err(wrong)
}

/// Reads the text of a `sweep.json`.
///
/// # Errors
/// What is wrong with it.
pub(in crate::cli) fn parse(text: &str) -> Result<SweepRecord, String> {
    let sweep = sane(text).and_then(|()| serde_json::from_str::<SweepRecord>(text));
    let sweep = sweep.map_err(|error| error.to_string())?;
    if sweep.schema_version != SCHEMA_VERSION {
        return Err(format!("unknown schema_version {}", sweep.schema_version));
    }
    sweep.check().map_err(str::to_owned)?;
    Ok(sweep)
}

/// Replaces `sweep.json` in one step.
fn save(folder: &Path, sweep: &SweepRecord) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let text = serde_json::to_string_pretty(sweep)? + "\n";
    files::replace(&folder.join(KIND.file), text.as_bytes())
}

/// Picks up runs that ended before sweep.json noted them.
fn adopt(folder: &Path, sweep: &mut SweepRecord, plans: &[Plan]) {
    let by_size = sweep.definition.by_size;
    for (cell, plan) in sweep.cells.iter_mut().zip(plans) {
        let text = files::read_text(folder.join(&cell.run), files::RECORD);
        let record = text.ok().and_then(|text| read_json(&text).ok());
        if let Some(record) = record.filter(|it| !it.partial && it.plan.stages == plan.stages) {
            cell.result = Headline::of(&record, by_size);
        }
    }
}

impl Ready {
    fn measure(&mut self, args: &Sweep) -> Exit {
        let ending = match signals::listen(args.quiet) {
            Ok(ending) => ending,
            Err(exit) => return exit,
        };
        let planned = self.plans.first().and_then(|plan| plan.fleet);
        let mut fleet = match agents::gather(&args.agents, planned, &ending, args.quiet) {
            Ok(fleet) => fleet,
            Err(exit) => return exit,
        };
        let mut exits = Vec::new();
        let count = self.sweep.cells.len();
        for place in 0..count {
            if self.sweep.cells[place].result.is_some() {
                continue;
            }
            if !args.quiet {
                let cell = &self.sweep.cells[place];
                let settings: Vec<_> =
                    cell.settings.iter().map(|it| format!("{}={}", it.name, it.value)).collect();
                let (number, round) = (place + 1, cell.round);
                eprintln!("cell {number} of {count}: {} (round {round})", settings.join(" "));
            }
            match self.cell(place, args.quiet, &ending, fleet.as_mut()) {
                Ok(exit) => exits.push(exit),
                Err(exit) => {
                    let folder = self.folder.display();
                    eprintln!(
                        "the sweep is incomplete; to continue: springload sweep --resume {folder}"
                    );
                    exits.push(exit);
                    break;
                }
            }
        }
        Exit::worst(&exits).if_written(self.report(args))
    }

    /// Prints the report and writes the page; returns whether both could be written.
    fn report(&self, args: &Sweep) -> bool {
        if !args.quiet {
            eprintln!("sweep: {}", self.folder.join(KIND.file).display());
        }
        let (study, label) = (&self.sweep, self.sweep.definition.label.as_deref());
        let (format, quiet) = (args.format, args.quiet);
        Finished { study, format, folder: &self.folder, label, quiet }.report()
    }

    /// Measures one cell and saves the result. An error ends the sweep.
    fn cell(
        &mut self,
        place: usize,
        quiet: bool,
        ending: &Arc<Ending>,
        fleet: Option<&mut Fleet>,
    ) -> Result<Exit, Exit> {
        let file = self.folder.join(&self.sweep.cells[place].run);
        let failed = |error: io::Error| {
            eprintln!("error: cannot write to {}: {error}", file.display());
            Exit::Failed
        };
        let folder = Folder::make(file.parent(), "").map_err(failed)?;
        let bench = Bench::new(folder, ending.clone());
        let output = OutputArgs::bare(None, quiet);
        let measured = measure(&self.plans[place], &bench, &output, &mut Silent, fleet)?;
        let exit = measured.report(&bench, &output, &mut Silent);
        let record = &measured.record;
        if record.partial || ending.reason() == Some(StopReason::Interrupted) {
            return Err(exit);
        }
        self.sweep.cells[place].result = Headline::of(record, self.sweep.definition.by_size);
        save(&self.folder, &self.sweep).map_err(failed)?;
        Ok(exit)
    }
}

/// The report of the sweep covers its cells.
pub(in crate::cli::verb) struct Silent;

impl Dialect for Silent {
    fn tells_folder(&self) -> bool {
        false
    }

    fn report(&mut self, _record: &RunRecord, _format: Option<Format>) -> Result<(), String> {
        Ok(())
    }
}
