//! `springload sweep`: a run for each combination of settings, saved in one folder.

mod axes;
mod cells;
mod kind;
pub(in crate::cli) mod preset;

use crate::cli::call::{Call, Example, Family, Verb};
use crate::cli::exit::{Exit, Statuses, Trouble};
use crate::cli::flags::agents::AgentsArgs;
use crate::cli::flags::credentials::{self, CredentialArgs, Servers};
use crate::cli::flags::known::choice;
use crate::cli::flags::study::MeasuredArgs;
use crate::cli::flags::target::{Named, named_nodes};
use crate::cli::pipeline::{agents, signals};
use crate::cli::print::print;
use crate::cli::verb::filled::{self, as_filled, is_bounded};
use crate::cli::verb::kept::{Kept as _, read};
use crate::cli::verb::reading::record;
use crate::cli::verb::study::{Runs, StudyFolder, as_stored, is_same, measured_before};
use crate::fleet::Fleet;
use crate::plan::{self, BadValue, Invalid, Plan};
use crate::redact::STRUCK;
use crate::sweep::{Axis, CellRecord, CellResult, Definition, SweepRecord, shuffled};
use cells::{Cells, definition, plans};
pub(in crate::cli::verb) use cells::{flags, given, plan_of};
use clap::ArgMatches;
use preset::{PRESETS, Preset};
use std::ops::Range;
use std::path::{Path, PathBuf};

const FOLDER: &str = "The folder for the sweep and its runs";

/// `springload sweep`.
#[derive(Debug, clap::Args)]
#[command(mut_arg("output", |it| it.help(FOLDER).long_help("The folder for sweep.json and the \
    records of all runs; repeating the command continues a sweep that is there [default: \
    springload-runs/sweep-TIME]")))]
#[command(mut_arg("label", |it| it.help("What to call the sweep in lists and reports")))]
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
    #[arg(long, value_name = "SWEEP", value_parser = choice(&PRESETS))]
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
    #[arg(long, value_name = "WHAT", value_parser = choice(&AGAINST))]
    x: Option<()>,
    /// Continue the sweep in this folder
    #[arg(long, value_name = "DIR", conflicts_with_all = ["axes", "preset", "output"])]
    resume: Option<PathBuf>,
    #[command(flatten)]
    study: MeasuredArgs<SweepRecord>,
    /// Print the commands and run nothing
    ///
    /// Print the commands of all runs in order and run nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    agents: AgentsArgs,
}

/// The quantities that rates can be plotted against.
const AGAINST: [(&str, &str, ()); 1] =
    [("docs", "Documents in the database, and its size in bytes if the server reports it", ())];

fn share(text: &str) -> Result<f64, BadValue> {
    let value = text.parse::<f64>().ok().filter(|value| *value > 0.0 && *value <= 1.0);
    let problem = || format!("{text:?} is not a share");
    value.ok_or_else(|| BadValue::new(problem(), "give a number above 0, up to 1"))
}

impl Verb for Sweep {
    const NAME: &'static str = "sweep";
    const ABOUT: &'static str = "Measure every combination of settings, and show what each changes";
    const FAMILY: Family = Family::Measure;
    const OFTEN: bool = true;
    const BRIEF: &'static str = "target axes preset rounds connections docs ops duration output resume format dry_run \
        quiet";
    const EXAMPLES: [Example; 3] = [
        ("The best batch size", "sweep localhost:5984 -L batch=10,100,1000 --ops 0"),
        (
            "Connections and a mix, each combination three times",
            "sweep localhost:5984 -L connections=1..64x4 -d 10s --repeat 3",
        ),
        ("A sweep of 2008, with a hundredth of its documents", "sweep --preset batch --scale 0.01"),
    ];
    const EXITS: Statuses = Exit::WITHOUT_BASELINE;

    fn carry_out(self, call: &Call<'_>) -> Result<Exit, Trouble> {
        prepare(&self, call.matches)?.map_or(Ok(Exit::Passed), |ready| ready.measure(&self))
    }
}

/// A sweep that is ready to run.
struct ReadySweep {
    place: StudyFolder,
    sweep: SweepRecord,
    /// The plan of each cell, in the order of the cells.
    plans: Vec<Plan>,
    servers: Servers,
}

/// Checks everything; `None`: there is nothing to run.
fn prepare(args: &Sweep, matches: &ArgMatches) -> Result<Option<ReadySweep>, Vec<Invalid>> {
    let given = args.settings.target.target.clone();
    let headers = args.settings.client.header.clone();
    let (definition, servers) = if let Some(folder) = &args.resume {
        let kept = load(folder)?;
        let servers = resumed(args, given, &kept)?;
        (kept, servers)
    } else {
        let servers = args.credentials.servers(&named_nodes(given), headers)?;
        (definition(args, &servers.shown, matches)?, servers)
    };
    let Cells { settings, plans } = in_turn(&definition, &servers, args)?;
    let cells = settings.into_iter().enumerate().map(|(place, (settings, round))| CellRecord {
        settings,
        round,
        run: format!("cells/{place:03}/run.json"),
        result: None,
    });
    let schema_version = SweepRecord::VERSION;
    let mut sweep = SweepRecord { schema_version, cells: cells.collect(), definition };
    if args.dry_run {
        for plan in plans {
            print(format!("{}\n", plan.command).as_bytes());
        }
        return Ok(None);
    }
    let folder = args.resume.as_deref().or(args.study.output.as_deref());
    let place = StudyFolder::of(folder, &mut sweep, |new, kept| {
        let stored = |it| as_stored(&in_one_order(it));
        if stored(&kept.definition) != stored(&new.definition) {
            return Err("contains another sweep");
        }
        // The new definition has the secrets, which are not stored.
        let is_whole = struck_word(&kept.definition).is_none();
        let definition = if is_whole { kept.definition } else { new.definition.clone() };
        *new = SweepRecord { definition, ..kept };
        Ok(())
    })?;
    let mut ready = ReadySweep { place, sweep, plans, servers };
    ready.adopt(0..1);
    ready.fill_as_first(args)?;
    ready.adopt(1..usize::MAX);
    ready.place.begin(&ready.sweep)?;
    Ok(Some(ready))
}

/// The settings and rounds of all cells, with their plans, in the order in which they are measured.
fn in_turn(
    definition: &Definition,
    servers: &Servers,
    args: &Sweep,
) -> Result<Cells, Vec<Invalid>> {
    let Cells { settings, plans } = plans(definition, servers)?;
    let order = shuffled(settings.len(), definition.seed);
    let plans = order.iter().map(|&place| args.agents.share(plans[place].clone()));
    let plans: Vec<Plan> = plans.collect::<Result<_, _>>()?;
    let settings = order.iter().map(|&place| settings[place].clone()).collect();
    Ok(Cells { settings, plans })
}

/// The definition of the sweep in a folder.
fn load(folder: &Path) -> Result<Definition, Invalid> {
    let file = folder.join(SweepRecord::FILE);
    let wrong = |why| {
        let problem = format!("{}: {why}", file.display());
        Invalid::new("--resume", problem, "give a sweep's folder")
    };
    read::<SweepRecord>(&file).map(|it| it.definition).map_err(wrong)
}

/// A flag of a stored sweep that had a secret, which is not stored.
fn struck_word(kept: &Definition) -> Option<&String> {
    let varied = kept.axes.iter().flat_map(|axis| &axis.values);
    kept.common.iter().chain(varied).find(|word| word.contains(STRUCK))
}

/// The servers of a sweep to continue: those that are given, or the stored ones, which have no
/// passwords.
fn resumed(args: &Sweep, given: Vec<String>, kept: &Definition) -> Result<Servers, Invalid> {
    let stored: Vec<&String> = kept.target.iter().chain(&kept.nodes).collect();
    let struck = given.is_empty() && stored.iter().any(|it| it.contains(":***@"));
    let restored = stored.iter().map(|it| it.replacen(":***@", "@", 1));
    let given = if given.is_empty() { restored.collect() } else { given };
    if let Some(word) = struck_word(kept) {
        let problem = format!("a secret is not stored: {word}");
        let cure = "repeat the whole command of the sweep, with its folder as -o";
        return Err(Invalid::new("--resume", problem, cure));
    }
    let mut given = given.into_iter();
    let named = Named { address: given.next(), nodes: given.collect(), flag: "TARGET" };
    let servers = args.credentials.servers(&named, args.settings.client.header.clone())?;
    if struck && !servers.targets.iter().any(|target| credentials::has_password(target)) {
        let cure = "give TARGET with its password again, or set SPRINGLOAD_PASSWORD";
        return Err(Invalid::new("--resume", "passwords are not stored", cure));
    }
    // The command lines keep the stored addresses.
    Ok(Servers { shown: stored.into_iter().cloned().collect(), ..servers })
}

/// A definition for comparison: the order of flags does not matter, except among those of one name;
/// nor does the label.
fn in_one_order(definition: &Definition) -> Definition {
    let mut definition = Definition { label: None, ..definition.clone() };
    let flag = |word: &String| word.split('=').next().map(str::to_owned);
    definition.common.sort_by_key(flag);
    definition
}

impl ReadySweep {
    /// Makes the later cells store as many documents as the first one, if the time of a fill is
    /// bounded and the first has been measured.
    fn fill_as_first(&mut self, args: &Sweep) -> Result<(), Vec<Invalid>> {
        let Some(cell) = self.sweep.cells.first().filter(|cell| cell.result.is_some()) else {
            return Ok(());
        };
        let varied = self.sweep.definition.axes.iter().any(|axis| axis.name == "docs");
        if varied || !self.plans.iter().any(|plan| is_bounded(plan)) {
            return Ok(());
        }
        let file = self.place.folder.join(&cell.run);
        let first = match record(&file) {
            Ok(first) => first,
            Err(why) => {
                filled::tell_unknown(&file, &why);
                return Ok(());
            }
        };
        let Some(common) = as_filled(&self.sweep.definition.common, &first) else { return Ok(()) };
        let definition = Definition { common, ..self.sweep.definition.clone() };
        self.plans = in_turn(&definition, &self.servers, args)?.plans;
        if !args.study.quiet {
            eprintln!("{}", filled::note(&first));
        }
        Ok(())
    }

    /// Adopts runs that ended before `sweep.json` recorded them.
    fn adopt(&mut self, which: Range<usize>) {
        let by_size = self.sweep.definition.by_size;
        let all = self.sweep.cells.iter_mut().zip(&self.plans);
        for (cell, plan) in all.take(which.end).skip(which.start) {
            let file = self.place.folder.join(&cell.run);
            if let Some(record) = measured_before(&file, |it| is_same(it, plan)) {
                cell.result = CellResult::of(&record, by_size);
            }
        }
    }

    fn measure(mut self, args: &Sweep) -> Result<Exit, Trouble> {
        let quiet = args.study.quiet;
        let ending = &signals::listen(quiet)?;
        let planned = self.plans.first().and_then(|plan| plan.fleet);
        let mut fleet = agents::gather(&args.agents, planned, ending, quiet)?;
        let runs = Runs { ending, quiet, shown: true };
        let mut exits = Vec::new();
        let count = self.sweep.cells.len();
        for place in 0..count {
            let cell = &self.sweep.cells[place];
            if cell.result.is_some() {
                continue;
            }
            if !quiet {
                let settings: Vec<_> =
                    cell.settings.iter().map(|it| format!("{}={}", it.name, it.value)).collect();
                let (number, round) = (place + 1, cell.round);
                eprintln!("cell {number} of {count}: {} (round {round})", settings.join(" "));
            }
            let measured = self.cell(place, &runs, fleet.as_mut()).and_then(|exit| {
                if place == 0 {
                    self.fill_as_first(args)?;
                }
                Ok(exit)
            });
            match measured {
                Ok(exit) => exits.push(exit),
                Err(trouble) => {
                    exits.push(trouble.tell());
                    let folder = self.place.folder.display();
                    eprintln!(
                        "the sweep is incomplete; to continue: springload sweep --resume {folder}"
                    );
                    break;
                }
            }
        }
        if !quiet {
            eprintln!("sweep: {}", self.place.folder.join(SweepRecord::FILE).display());
        }
        let label = self.sweep.definition.label.as_deref();
        let reported = self.place.report(&self.sweep, label, &args.study);
        Ok(Exit::worst(&exits).if_written(reported))
    }

    /// Measures one cell and saves the result. An error ends the sweep.
    fn cell(
        &mut self,
        place: usize,
        runs: &Runs<'_>,
        fleet: Option<&mut Fleet>,
    ) -> Result<Exit, Trouble> {
        let file = self.place.folder.join(&self.sweep.cells[place].run);
        let (record, exit) = runs.measure(&self.plans[place], &file, fleet)?;
        if record.partial {
            return Err(exit.into());
        }
        self.sweep.cells[place].result = CellResult::of(&record, self.sweep.definition.by_size);
        self.place.save(&self.sweep)?;
        Ok(exit)
    }
}
