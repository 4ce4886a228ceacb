//! `springload max`: the most that a server sustains within its limits.

mod kind;
mod steps;
mod words;

use crate::cli::call::{Call, Example, Family, Verb};
use crate::cli::exit::{Exit, refuse};
use crate::cli::flags::agents::AgentsArgs;
use crate::cli::flags::credentials::{CredentialArgs, named_nodes};
use crate::cli::flags::known;
use crate::cli::flags::output::OutputArgs;
use crate::cli::look;
use crate::cli::pipeline::agents;
use crate::cli::pipeline::bench::Bench;
use crate::cli::pipeline::ending::Ending;
use crate::cli::pipeline::folder::{Folder, RUNS, now};
use crate::cli::pipeline::{measure, signals};
use crate::cli::secrets::strike_password;
use crate::cli::verb::kinds::Finished;
use crate::cli::verb::sweep::Silent;
use crate::engine::StopReason;
use crate::files;
use crate::fleet::Fleet;
use crate::op::OpKind;
use crate::plan::{self, Comparison, FleetPlan, Invalid, Limit, Plan, PlanRecord, Threshold};
use crate::report::{StudyFormat, sane, shown, step_words};
use crate::search::{Ask, Ended, MaxRecord, Outcome, Searched, StepRecord, Walk, Within, judge};
use clap::parser::ValueSource;
use clap::{ArgMatches, Args as _, Command, ValueEnum};
pub(in crate::cli::verb) use kind::KIND;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};
use steps::{Plans, Steps, Way};
use words::{LESS, Words};

/// The version of the layout of `max.json`.
const SCHEMA_VERSION: u32 = 1;
const FILE: &str = KIND.file;
/// The help of `--duration`, which means something else here.
const LENGTH: &str = "Length of the shortest step [default: 3s]";
/// The flags that are not those of a run.
const OWN: [&str; 12] = [
    "slo", "search", "from", "to", "searches", "output", "label", "format", "quiet", "duration",
    "seed", "command",
];

/// `springload max`.
#[derive(Debug, clap::Args)]
#[command(mut_arg("duration", |it| it.help(LENGTH).long_help(format!("{LENGTH}. Longer ones show \
    more, such as a compaction"))))]
#[command(mut_arg("rate", |it| it.hide(true)), mut_arg("ops", |it| it.hide(true)))]
#[command(mut_arg("stages", |it| it.hide(true)), mut_arg("allow_lost", |it| it.hide(true)))]
pub(in crate::cli) struct Max {
    #[command(flatten)]
    settings: crate::cli::verb::run::Settings,
    #[command(flatten)]
    credentials: CredentialArgs,
    /// What must hold, such as 'read.p99 < 20ms'; repeatable
    ///
    /// What the server must keep to, such as 'read.p99 < 20ms' or 'err < 0.1%'; may be repeated. It
    /// must keep up with the load in any case, and unless errors are named, at most 1 % may fail
    #[arg(long, value_name = "EXPR")]
    slo: Vec<Threshold>,
    /// What to search for
    #[arg(long, value_enum, value_name = "WHAT", default_value = "rate")]
    search: What,
    /// The first level to try; of connections, 1
    ///
    /// The first rate or number of connections to try; of connections, the default is 1
    #[arg(long, value_name = "N", value_parser = plan::count)]
    #[arg(default_value = "100", default_value_if("search", "connections", "1"))]
    from: u64,
    /// The highest level to try; of connections, 1k
    ///
    /// The highest rate or number of connections to try; of connections, the default is 1k
    #[arg(long, value_name = "N", value_parser = plan::count)]
    #[arg(default_value = "1M", default_value_if("search", "connections", "1k"))]
    to: u64,
    /// Number of searches
    ///
    /// Number of searches, of which the median counts
    #[arg(id = "searches", long = "repeat", value_name = "N", default_value = "3")]
    #[arg(value_parser = plan::count)]
    searches: u64,
    /// The folder for max.json and all runs; continued if it is there
    ///
    /// The folder for max.json, the page and the records of all steps; the same command continues a
    /// search that is there [default: springload-runs/max-TIME]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// What to call the search in lists and reports
    #[arg(long, value_name = "TEXT", value_parser = plan::label)]
    label: Option<String>,
    /// The report's format
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "text",
        value_parser = known::study_formats::<MaxRecord>()
    )]
    format: &'static StudyFormat<MaxRecord>,
    /// Show no progress, only the report
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    agents: AgentsArgs,
    /// Another command line to search with, such as http -f urls.txt
    ///
    /// What each step is, instead of a springload run: the command line of http, burst or ycsb run,
    /// without a level and a length
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// Operations per second, whether or not the server keeps up
    Rate,
    /// Connections, each of which begins an operation when the previous one is answered
    Connections,
}

impl Verb for Max {
    const NAME: &'static str = "max";
    const ABOUT: &'static str = "Find the highest rate that keeps to limits of latency and errors";
    const FAMILY: Family = Family::Measure;
    const BRIEF: &'static str =
        "target slo search from to searches connections docs duration format";
    const EXAMPLES: [Example; 3] = [
        (
            "The highest rate at which reads stay fast",
            "max localhost:5984 --slo 'read.p99 < 20ms' --slo 'err < 0.1%'",
        ),
        (
            "In longer steps, from a rate that surely holds",
            "max localhost:5984 --slo 'p99 < 50ms' --from 1k -d 30s",
        ),
        (
            "How many users of a list of URLs a server can take",
            "max --slo 'p99 < 50ms' --search connections -- http -f urls.txt",
        ),
    ];

    fn carry_out(self, call: &Call<'_>) -> Exit {
        let ready = prepare(&self, call).map_err(|mistakes| refuse(&mistakes));
        ready.and_then(|ready| ready.search(&self)).unwrap_or_else(|exit| exit)
    }
}

/// Reads a `max.json`.
///
/// # Errors
/// What is wrong with which file.
pub(in crate::cli) fn read(file: &Path) -> Result<MaxRecord, String> {
    let wrong = |problem: String| format!("{}: {problem}", file.display());
    let text = files::read_text(file, files::RECORD).map_err(|error| wrong(error.to_string()))?;
    parse(&text).map_err(wrong)
}

/// Reads the text of a `max.json`.
///
/// # Errors
/// What is wrong with it.
pub(in crate::cli) fn parse(text: &str) -> Result<MaxRecord, String> {
    let max = sane(text).and_then(|()| serde_json::from_str::<MaxRecord>(text));
    let max = max.map_err(|error| error.to_string())?;
    if max.schema_version != SCHEMA_VERSION {
        return Err(format!("unknown schema_version {}", max.schema_version));
    }
    max.check().map_err(str::to_owned)?;
    Ok(max)
}

/// A search that is ready to begin.
struct Ready {
    folder: PathBuf,
    max: MaxRecord,
    walk: Walk,
    steps: Steps,
}

/// Refuses settings that do not make a search.
fn bounded(args: &Max) -> Result<(), Vec<Invalid>> {
    let wrong = |flag, problem: &str, cure: &str| Err(vec![Invalid::new(flag, problem, cure)]);
    if args.from == 0 || args.to < args.from || args.searches == 0 || args.searches > 100 {
        let cure = "give --from 1 or more, --to more than that, and --repeat 1 to 100";
        return wrong("--from", "there is nothing to try, or too much", cure);
    }
    let least = |it: &&Threshold| matches!(it.comparison, Comparison::Above | Comparison::AtLeast);
    if let Some(slo) = args.slo.iter().find(least) {
        let problem =
            format!("{slo} holds sooner at more load, and a search goes by what does not");
        return wrong("--slo", &problem, "give what must stay below a limit");
    }
    if args.slo.iter().any(|it| matches!(it.limit, Limit::Baseline(_))) {
        return wrong("--slo", "a search has no baseline", "give a value, such as 20ms");
    }
    if args.agents.allow_lost {
        return wrong("--allow-lost", LESS, "leave it out");
    }
    Ok(())
}

/// Checks everything that can be checked before anything is started.
fn prepare(args: &Max, call: &Call<'_>) -> Result<Ready, Vec<Invalid>> {
    let searched = match args.search {
        What::Rate => Searched::Rate,
        What::Connections => Searched::Connections,
    };
    bounded(args)?;
    let seed = args.settings.client.seed();
    let within =
        Within { from: args.from as f64, to: args.to as f64, searches: args.searches as u32, seed };
    let max = MaxRecord {
        schema_version: SCHEMA_VERSION,
        label: args.label.clone(),
        target: None,
        nodes: 1,
        command: call.line.to_owned(),
        step_command: String::new(),
        slo: args.slo.clone(),
        searched,
        seed,
        from: within.from,
        to: within.to,
        repeat: within.searches,
        length_s: 0.0,
        ended: Ended::Stopped,
        sustained_per_s: None,
        low: None,
        high: None,
        found_per_s: Vec::new(),
        connections: None,
        steps: Vec::new(),
    };
    let (way, shown) = if args.command.is_empty() {
        let (plans, shown) = args.plans(call.matches, searched)?;
        (Way::Run(plans), shown)
    } else {
        alone(call.matches)?;
        (Way::Other(Words::new(&args.command, searched)?), Vec::new())
    };
    let steps = Steps::new(way, call.matches, &args.slo)?;
    let mut walk = Walk::new(within);
    let first = walk.next().expect("a walk has a first step");
    if let Way::Run(plans) = &steps.way {
        let plan = plans.plan(first, steps.length_s(first))?;
        measures(&plan, &args.slo)?;
    }
    let default = || Path::new(RUNS).join(format!("max-{}", now()));
    let folder = args.output.clone().unwrap_or_else(default);
    let (target, nodes) = (shown.first().cloned(), shown.len().max(1) as u64);
    let (length_s, step_command) = (steps.length_s(first), steps.command());
    let mut max = MaxRecord { target, nodes, step_command, length_s, ..max };
    let file = folder.join(FILE);
    if file.exists() {
        let wrong =
            |problem: String| vec![Invalid::new("--output", problem, "name another folder")];
        let kept = read(&file).map_err(wrong)?;
        max.go_on(kept, &mut walk).map_err(|why| wrong(format!("{} {why}", folder.display())))?;
    }
    Ok(Ready { folder, max, walk, steps })
}

/// Refuses an `--slo` for operations that a step does not measure: it would hold nowhere.
fn measures(plan: &PlanRecord, slo: &[Threshold]) -> Result<(), Vec<Invalid>> {
    let main = plan.stages.iter().rev().find(|stage| stage.purpose().is_measured());
    let does = |kind: OpKind| main.is_some_and(|stage| stage.work.does(kind));
    let kinds = slo.iter().filter_map(|slo| Some((slo, slo.kind?)));
    let strange = kinds.filter(|(_, kind)| !does(*kind)).map(|(slo, kind)| {
        let problem = format!("no step measures the operations of {slo}");
        let cure = format!("have steps do {kind} operations, or leave it out");
        Invalid::new("--slo", problem, cure)
    });
    let mistakes: Vec<Invalid> = strange.collect();
    if mistakes.is_empty() { Ok(()) } else { Err(mistakes) }
}

/// Refuses flags of `springload run` along with another command line, which has its own.
fn alone(matches: &ArgMatches) -> Result<(), Vec<Invalid>> {
    let given = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
    let all = Max::augment_args(Command::new("max"));
    let others = all.get_arguments().filter(|it| !OWN.contains(&it.get_id().as_str()));
    let strange = others.filter(|it| given(it.get_id().as_str())).map(|it| {
        let flag = it.get_long().map_or("TARGET".to_owned(), |name| format!("--{name}"));
        Invalid::new(flag, "is for steps of springload run", "put it after --")
    });
    let mistakes: Vec<Invalid> = strange.collect();
    if mistakes.is_empty() { Ok(()) } else { Err(mistakes) }
}

impl Max {
    /// The plans of steps that `springload run` makes, and their targets as they are shown.
    fn plans(
        &self,
        matches: &ArgMatches,
        searched: Searched,
    ) -> Result<(Plans, Vec<String>), Vec<Invalid>> {
        let one = |mistake: Invalid| vec![mistake];
        let named = named_nodes(self.settings.target.target.clone());
        let shown: Vec<String> =
            named.address.iter().chain(&named.nodes).map(|it| strike_password(it)).collect();
        let targets = self.credentials.apply_all(&named).map_err(one)?;
        let headers = self.settings.client.header.clone();
        let headers = self.credentials.with_token(targets.first().map(String::as_str), headers);
        let places = (targets, shown.clone(), headers.map_err(one)?);
        Ok((Plans::new(matches, searched, places)?, shown))
    }
}

impl Ready {
    fn search(mut self, args: &Max) -> Result<Exit, Exit> {
        let ending = signals::listen(args.quiet)?;
        let planned = self.check(args, &ending)?;
        self.save().map_err(|error| {
            let problem = format!("cannot write to {}: {error}", self.folder.display());
            refuse(&[Invalid::new("--output", problem, "name a writable folder")])
        })?;
        let mut fleet = agents::gather(&args.agents, planned, &ending, args.quiet)?;
        let mut exit = None;
        while let Some(ask) = self.walk.next() {
            if let Err(why) = self.step(ask, args, &ending, fleet.as_mut()) {
                exit = Some(why);
                break;
            }
        }
        let ended = match exit {
            Some(Exit::Interrupted) => Ended::Stopped,
            Some(_) => Ended::Failed,
            None if self.walk.found().is_empty() => Ended::NothingHolds,
            None => Ended::Found,
        };
        self.max.conclude(&self.walk, ended);
        let exit = exit.unwrap_or(match ended {
            _ if self.max.data_wrong() > 0 => Exit::DataWrong,
            Ended::Found if self.max.client_bound() || self.max.scattered() => Exit::Untrustworthy,
            Ended::Found => Exit::Passed,
            _ => Exit::Threshold,
        });
        let saved = self.save().map_err(|error| eprintln!("error: cannot write {FILE}: {error}"));
        let goes_on = matches!(ended, Ended::Stopped | Ended::Failed) && exit != Exit::Usage;
        if goes_on {
            let folder = self.folder.display();
            eprintln!("the search is incomplete; the same command with -o {folder} continues it");
        }
        Ok(exit.if_written(self.report(args) && saved.is_ok()))
    }

    /// Checks the first step; returns what agents it needs.
    fn check(&self, args: &Max, ending: &Ending) -> Result<Option<FleetPlan>, Exit> {
        let Some(ask) = self.walk.next() else { return Ok(None) };
        match &self.steps.way {
            Way::Run(plans) => Ok(self.plan(plans, ask, args)?.fleet),
            Way::Other(words) => {
                let step = (ask, self.steps.length_s(ask));
                words.check(step, &self.steps.thresholds, ending).map(|()| None)
            }
        }
    }

    /// The plan of a step, with its agents.
    fn plan(&self, plans: &Plans, ask: Ask, args: &Max) -> Result<Plan, Exit> {
        let plan = plans.plan(ask, self.steps.length_s(ask));
        let shared = plan.and_then(|plan| args.agents.share(plan).map_err(|it| vec![it]));
        shared.map_err(|mistakes: Vec<Invalid>| refuse(&mistakes))
    }

    /// Tries a level. An error ends the search.
    fn step(
        &mut self,
        ask: Ask,
        args: &Max,
        ending: &Arc<Ending>,
        fleet: Option<&mut Fleet>,
    ) -> Result<(), Exit> {
        let run = format!("steps/{:03}/run.json", self.max.steps.len());
        let file = self.folder.join(&run);
        let failed = |error: io::Error| {
            eprintln!("error: cannot write to {}: {error}", file.display());
            Exit::Failed
        };
        let length_s = self.steps.length_s(ask);
        let record = match &self.steps.way {
            Way::Run(plans) => {
                let plan = self.plan(plans, ask, args)?;
                let folder = Folder::make(file.parent(), "").map_err(failed)?;
                let bench = Bench::new(folder, ending.clone());
                let output = OutputArgs::bare(None, true);
                let measured = measure(&plan, &bench, &output, &mut Silent, fleet)?;
                measured.saved().map_err(failed)?
            }
            Way::Other(words) => {
                let record = words.measure((ask, length_s), &file, ending)?;
                measures(&record.plan, &self.max.slo).map_err(|mistakes| refuse(&mistakes))?;
                record
            }
        };
        if ending.reason() == Some(StopReason::Interrupted) {
            return Err(Exit::Interrupted);
        }
        // What the remaining agents did says nothing about this level.
        if let Some(lost) = record.lost_words() {
            eprintln!("error: {}", shown(&lost, look::ascii()));
            return Err(Exit::Untrustworthy);
        }
        if self.max.target.is_none() && !record.server.stand_in {
            self.max.target = Some(record.server.url.clone()).filter(|url| !url.is_empty());
            self.max.nodes = record.plan.target.nodes().len().max(1) as u64;
        }
        let judged = judge(&record, &self.steps.thresholds);
        let (outcome, takes) = (judged.outcome, judged.takes);
        let step = StepRecord::of(&record, ask, (length_s, run), judged);
        if !args.quiet {
            eprintln!("{}", step_words(&step, self.max.searched));
        }
        self.max.steps.push(step);
        self.walk.tell(outcome, takes);
        self.max.conclude(&self.walk, Ended::Stopped);
        self.save().map_err(failed)?;
        // If nothing ever succeeds, no other level would be better.
        let held = self.max.steps.iter().any(|it| it.outcome == Outcome::Held);
        if !held && Exit::of_record(&record) == Exit::Target {
            let reason = record.result().reason.clone().unwrap_or_default();
            eprintln!("error: {}", shown(&reason, look::ascii()));
            return Err(Exit::Target);
        }
        Ok(())
    }

    /// Prints the report and writes the page; returns whether both could be written.
    fn report(&self, args: &Max) -> bool {
        let (study, label) = (&self.max, self.max.label.as_deref());
        let (format, quiet) = (args.format, args.quiet);
        Finished { study, format, folder: &self.folder, label, quiet }.report()
    }

    /// Replaces `max.json` in one step.
    fn save(&self) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let text = serde_json::to_string_pretty(&self.max)? + "\n";
        files::replace(&self.folder.join(FILE), text.as_bytes())
    }
}
