//! `springload max`: the highest load that a server sustains within its limits.

mod kind;
mod steps;
mod words;

use crate::cli::call::{Call, Example, Family, Verb};
use crate::cli::exit::{Exit, Statuses, Trouble};
use crate::cli::flags::agents::AgentsArgs;
use crate::cli::flags::credentials::CredentialArgs;
use crate::cli::flags::known::choice;
use crate::cli::flags::study::MeasuredArgs;
use crate::cli::flags::target::named_nodes;
use crate::cli::pipeline::ending::Ending;
use crate::cli::pipeline::{agents, signals};
use crate::cli::verb::filled::{self, is_bounded, tell_unknown};
use crate::cli::verb::kept::Kept as _;
use crate::cli::verb::reading::record;
use crate::cli::verb::study::{Runs, StudyFolder, is_same, measured_before, says_nothing};
use crate::engine::StopReason;
use crate::fleet::Fleet;
use crate::op::OpKind;
use crate::plan::{
    self, Comparison, FleetPlan, Invalid, Limit, Nouns, Plan, PlanRecord, Threshold,
};
use crate::record::RunRecord;
use crate::redact::strike;
use crate::report::step_words;
use crate::search::{
    Ask, Ended, MaxRecord, Searched, StepOutcome, StepRecord, Walk, Within, judge,
};
use clap::parser::ValueSource;
use clap::{ArgMatches, Args as _, Command};
use steps::{Plans, StepWay, Steps};
use words::{LESS, Words};

const FOLDER: &str = "The folder for max.json and all runs; continued if it exists";
/// The help of `--duration`, which has a different meaning here.
const LENGTH: &str = "Length of the shortest step [default: 3s]";
/// The flags that are not passed on to runs.
const OWN: [&str; 12] = [
    "slo", "search", "from", "to", "searches", "output", "label", "format", "quiet", "duration",
    "seed", "command",
];

/// `springload max`.
#[derive(Debug, clap::Args)]
#[command(mut_arg("duration", |it| it.help(LENGTH).long_help(format!("{LENGTH}. Longer ones show \
    more, such as a compaction"))))]
#[command(mut_arg("output", |it| it.help(FOLDER).long_help("The folder for max.json, the page and \
    the records of all steps; the same command continues a search that is there [default: \
    springload-runs/max-TIME]")))]
#[command(mut_arg("label", |it| it.help("What to call the search in lists and reports")))]
#[command(mut_arg("rate", |it| it.hide(true)), mut_arg("ops", |it| it.hide(true)))]
#[command(mut_arg("stages", |it| it.hide(true)), mut_arg("allow_lost", |it| it.hide(true)))]
pub(in crate::cli) struct Max {
    #[command(flatten)]
    settings: crate::cli::verb::run::Settings,
    #[command(flatten)]
    credentials: CredentialArgs,
    /// What must hold, such as 'read.p99 < 20ms'; repeatable
    ///
    /// A limit that the server must meet, such as 'read.p99 < 20ms' or 'err < 0.1%'; may be
    /// repeated. It must also keep up with the load, and unless a limit names errors, at most 1 %
    /// may fail
    #[arg(long, value_name = "EXPR")]
    slo: Vec<Threshold>,
    /// What to search for
    #[arg(long, value_name = "WHAT", default_value = "rate", value_parser = choice(&SEARCHED))]
    search: Searched,
    /// The first level to try; for connections, 1
    ///
    /// The first rate or number of connections to try; for connections, the default is 1
    #[arg(long, value_name = "N", value_parser = plan::count)]
    #[arg(default_value = "100", default_value_if("search", "connections", "1"))]
    from: u64,
    /// The highest level to try; for connections, 1k
    ///
    /// The highest rate or number of connections to try; for connections, the default is 1k
    #[arg(long, value_name = "N", value_parser = plan::count)]
    #[arg(default_value = "1M", default_value_if("search", "connections", "1k"))]
    to: u64,
    /// Number of searches
    ///
    /// Number of searches; the median counts
    #[arg(id = "searches", long = "repeat", value_name = "N", default_value = "3")]
    #[arg(value_parser = plan::count)]
    searches: u64,
    #[command(flatten)]
    study: MeasuredArgs<MaxRecord>,
    #[command(flatten)]
    agents: AgentsArgs,
    /// Another command line to search with, such as http -f urls.txt
    ///
    /// What to run in each step instead of springload run: a command line of http, burst or ycsb
    /// run, without a rate, connections or duration
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// The settings that can be searched for.
const SEARCHED: [(&str, &str, Searched); 2] = [
    ("rate", "Operations per second, whether or not the server keeps up", Searched::Rate),
    (
        "connections",
        "Connections, each of which begins an operation when the previous one is answered",
        Searched::Connections,
    ),
];

impl Verb for Max {
    const NAME: &'static str = "max";
    const ABOUT: &'static str = "Find the highest rate within limits on latency and errors";
    const FAMILY: Family = Family::Measure;
    const OFTEN: bool = true;
    const BRIEF: &'static str =
        "target slo search from to searches connections docs duration format";
    const EXAMPLES: [Example; 3] = [
        (
            "The highest rate at which reads stay fast",
            "max localhost:5984 --slo 'read.p99 < 20ms' --slo 'err < 0.1%'",
        ),
        (
            "In longer steps, starting from a rate that is sure to hold",
            "max localhost:5984 --slo 'p99 < 50ms' --from 1k -d 30s",
        ),
        (
            "How many users of a list of URLs a server can take",
            "max --slo 'p99 < 50ms' --search connections -- http -f urls.txt",
        ),
    ];
    const EXITS: Statuses = &[
        (Exit::Passed, "a sustained level was found"),
        Exit::ALL[1],
        Exit::ALL[2],
        Exit::ALL[3],
        (Exit::Threshold, "not even the lowest level was sustained"),
        (Exit::Untrustworthy, "the client was the limit, searches disagree, or an agent was lost"),
        (Exit::DataWrong, "data wrong or lost in a step"),
        Exit::ALL[8],
    ];

    fn carry_out(self, call: &Call<'_>) -> Result<Exit, Trouble> {
        prepare(&self, call)?.search(&self)
    }
}

/// A search that is ready to begin.
struct ReadyMax {
    place: StudyFolder,
    max: MaxRecord,
    walk: Walk,
    steps: Steps,
}

/// Refuses settings that do not define a search.
fn bounded(args: &Max) -> Result<(), Invalid> {
    let wrong = |flag, problem: &str, cure: &str| Err(Invalid::new(flag, problem, cure));
    if args.from == 0 || args.to < args.from || args.searches == 0 || args.searches > 100 {
        let cure = "give --from 1 or more, a higher --to, and --repeat 1 to 100";
        return wrong("--from", "there is nothing to try, or too much", cure);
    }
    let least = |it: &&Threshold| matches!(it.comparison, Comparison::Above | Comparison::AtLeast);
    if let Some(slo) = args.slo.iter().find(least) {
        let problem =
            format!("{slo} gets easier to meet as the load grows, so a search cannot go by it");
        return wrong("--slo", &problem, "give a figure that must stay below a limit");
    }
    if args.slo.iter().any(|it| matches!(it.limit, Limit::Baseline(_))) {
        return wrong("--slo", "a search has no baseline", "give a value, such as 20ms");
    }
    if args.agents.allow_lost {
        return wrong("--allow-lost", LESS, "leave it out");
    }
    Ok(())
}

/// Checks everything that can be checked before the search starts.
fn prepare(args: &Max, call: &Call<'_>) -> Result<ReadyMax, Vec<Invalid>> {
    bounded(args)?;
    let searched = args.search;
    let seed = args.settings.client.seed();
    let within =
        Within { from: args.from as f64, to: args.to as f64, searches: args.searches as u32, seed };
    let max = MaxRecord {
        schema_version: MaxRecord::VERSION,
        label: args.study.label.clone(),
        target: None,
        nodes: 1,
        counted: Nouns::default(),
        command: call.line.to_owned(),
        step_command: String::new(),
        step_verb: None,
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
        let named = named_nodes(args.settings.target.target.clone());
        let servers = args.credentials.servers(&named, args.settings.client.header.clone())?;
        let shown = servers.shown.clone();
        (StepWay::Run(Plans::new(call.matches, searched, servers)?), shown)
    } else {
        alone(call.matches)?;
        (StepWay::Other(Words::new(&args.command, searched)?), Vec::new())
    };
    let steps = Steps::new(way, call.matches, &args.slo)?;
    let mut walk = Walk::new(within);
    let first = walk.next().expect("a walk has a first step");
    if let StepWay::Run(plans) = &steps.way {
        let plan = plans.plan(first, steps.length_s(first))?;
        measures(&plan, &args.slo)?;
    }
    let (target, nodes) = (shown.first().cloned(), shown.len().max(1) as u64);
    // As it is stored, so that an existing search can be compared with it.
    let (length_s, step_command) = (steps.length_s(first), strike(&steps.command()).into_owned());
    let step_verb = Some(steps.verb().to_owned());
    let mut max = MaxRecord { target, nodes, step_command, step_verb, length_s, ..max };
    let folder = args.study.output.as_deref();
    let place = StudyFolder::of(folder, &mut max, |max, kept| max.go_on(kept, &mut walk))?;
    Ok(ReadyMax { place, max, walk, steps })
}

/// Refuses an `--slo` for operations that a step does not measure: it would never apply.
fn measures(plan: &PlanRecord, slo: &[Threshold]) -> Result<(), Vec<Invalid>> {
    let main = plan.stages.iter().rev().find(|stage| stage.purpose().is_measured());
    let does = |kind: OpKind| main.is_some_and(|stage| stage.work.does(kind));
    let kinds = slo.iter().filter_map(|slo| Some((slo, slo.kind?)));
    let strange = kinds.filter(|(_, kind)| !does(*kind)).map(|(slo, kind)| {
        let problem = format!("no step measures the operations of {slo}");
        let cure = format!("make the steps do {kind} operations, or leave it out");
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

impl ReadyMax {
    fn search(mut self, args: &Max) -> Result<Exit, Trouble> {
        let quiet = args.study.quiet;
        let ending = &signals::listen(quiet)?;
        let planned = self.check(args, ending)?;
        self.place.begin(&self.max)?;
        self.fill_as_before(quiet);
        let mut fleet = agents::gather(&args.agents, planned, ending, quiet)?;
        let runs = Runs { ending, quiet: true, shown: false };
        let mut exit = None;
        while let Some(ask) = self.walk.next() {
            if let Err(why) = self.step(ask, args, &runs, fleet.as_mut()) {
                exit = Some(why.tell());
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
        let saved = self.place.save(&self.max).map_err(|trouble| trouble.tell());
        let goes_on = matches!(ended, Ended::Stopped | Ended::Failed) && exit != Exit::Usage;
        if goes_on {
            let folder = self.place.folder.display();
            eprintln!("the search is incomplete; the same command with -o {folder} continues it");
        }
        let reported = self.place.report(&self.max, self.max.label.as_deref(), &args.study);
        Ok(exit.if_written(reported && saved.is_ok()))
    }

    /// Checks the first step; returns the agents it needs.
    fn check(&self, args: &Max, ending: &Ending) -> Result<Option<FleetPlan>, Trouble> {
        let Some(ask) = self.walk.next() else { return Ok(None) };
        match &self.steps.way {
            StepWay::Run(plans) => Ok(self.plan(plans, ask, args)?.fleet),
            StepWay::Other(words) => {
                words.check(ask, self.steps.length_s(ask), &self.steps.thresholds, ending)?;
                Ok(None)
            }
        }
    }

    /// The plan of a step, with its agents.
    fn plan(&self, plans: &Plans, ask: Ask, args: &Max) -> Result<Plan, Vec<Invalid>> {
        Ok(args.agents.share(plans.plan(ask, self.steps.length_s(ask))?)?)
    }

    /// After an interruption, stores the same number of documents as before.
    fn fill_as_before(&mut self, quiet: bool) {
        let Some(first) = self.max.steps.first() else { return };
        let file = self.place.folder.join(&first.run);
        match record(&file) {
            Ok(first) => self.fill_as(&first, quiet),
            Err(why) if self.is_bounded() => tell_unknown(&file, &why),
            Err(_) => {}
        }
    }

    /// Whether the next step stores as many documents as time allows.
    fn is_bounded(&mut self) -> bool {
        let StepWay::Run(plans) = &self.steps.way else { return false };
        let next = self.walk.next().map(|ask| plans.plan(ask, self.steps.length_s(ask)));
        next.is_some_and(|plan| plan.is_ok_and(|plan| is_bounded(&plan)))
    }

    /// If the time of the fill is bounded, makes the later steps store as many documents as the
    /// first.
    fn fill_as(&mut self, first: &RunRecord, quiet: bool) {
        if let StepWay::Run(plans) = &mut self.steps.way
            && is_bounded(&first.plan)
        {
            plans.fill_as(first);
            if !quiet {
                eprintln!("{}", filled::note(first));
            }
        }
    }

    /// Tries a level. An error ends the search.
    fn step(
        &mut self,
        ask: Ask,
        args: &Max,
        runs: &Runs<'_>,
        fleet: Option<&mut Fleet>,
    ) -> Result<(), Trouble> {
        let run = format!("steps/{:03}/run.json", self.max.steps.len());
        let file = self.place.folder.join(&run);
        let length_s = self.steps.length_s(ask);
        let tells =
            |it: &RunRecord| it.lost_words().is_none() && !says_nothing(Exit::of_record(it));
        let record = match &self.steps.way {
            StepWay::Run(plans) => {
                let plan = self.plan(plans, ask, args)?;
                let before = measured_before(&file, |it| is_same(it, &plan)).filter(tells);
                before.map_or_else(|| runs.measure(&plan, &file, fleet).map(|it| it.0), Ok)?
            }
            StepWay::Other(words) => {
                let same = |it: &_| words.is_of(ask, length_s, it);
                let before = measured_before(&file, same).filter(tells);
                before.map_or_else(|| words.measure(ask, length_s, &file, runs.ending), Ok)?
            }
        };
        self.fill_as(&record, args.study.quiet);
        measures(&record.plan, &self.max.slo)?;
        if runs.ending.reason() == Some(StopReason::Interrupted) {
            return Err(Exit::Interrupted.into());
        }
        // The results of the remaining agents say nothing about this level.
        if let Some(lost) = record.lost_words() {
            return Err(Trouble::new(Exit::Untrustworthy, lost));
        }
        if self.max.target.is_none() && !record.server.stand_in {
            self.max.target = Some(record.server.url.clone()).filter(|url| !url.is_empty());
            self.max.nodes = record.plan.target.nodes().len().max(1) as u64;
        }
        self.max.counted = record.nouns();
        let judged = judge(&record, &self.steps.thresholds);
        let (outcome, takes) = (judged.outcome, judged.takes);
        // If nothing ever succeeds, no other level would do better.
        let mut outcomes = self.max.steps.iter().map(|it| it.outcome).chain([outcome]);
        if !outcomes.any(|it| it == StepOutcome::Held) && Exit::of_record(&record) == Exit::Target {
            let reason = record.result().reason.clone().unwrap_or_default();
            return Err(Trouble::new(Exit::Target, reason));
        }
        let step = StepRecord::of(&record, ask, length_s, run, judged);
        if !args.study.quiet {
            eprintln!("{}", step_words(&step, self.max.searched));
        }
        self.max.steps.push(step);
        self.walk.tell(outcome, takes);
        self.max.conclude(&self.walk, Ended::Stopped);
        self.place.save(&self.max)?;
        Ok(())
    }
}
