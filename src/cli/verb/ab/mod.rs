//! `springload ab`: two settings measured alternately, until it is clear which is better.

mod beforehand;
mod control;
pub(in crate::cli::verb) mod kept;
mod kind;
mod pairs;
mod printed;
mod side;

use crate::cli::call::{Call, Example, Family, Verb};
use crate::cli::exit::{Exit, Statuses, Trouble};
use crate::cli::flags::agents::AgentsArgs;
use crate::cli::flags::credentials::CredentialArgs;
use crate::cli::flags::study::MeasuredArgs;
use crate::cli::flags::target::named_nodes;
use crate::cli::pipeline::{agents, signals};
use crate::cli::print::print;
use crate::cli::verb::compare::CompareArgs;
use crate::cli::verb::filled;
use crate::cli::verb::kept::Kept as _;
use crate::cli::verb::run::Settings;
use crate::cli::verb::study::{Runs, StudyFolder, says_nothing};
use crate::cli::verb::sweep::given;
use crate::compare::CompareAsked;
use crate::fleet::Fleet;
use crate::plan::{self, Invalid};
use crate::record::RunRecord;
use crate::report::ComparisonReport;
use crate::trend::LEAST_TO_VARY;
use clap::ArgMatches;
use kept::AbRecord;
use pairs::Pairs;
use side::Side;
use std::path::PathBuf;

const FOLDER: &str = "The folder for all runs; continued if it exists";

/// The folder of a run of side A (0) or B (1), within the comparison's.
fn name_of(at: usize, pair: u64) -> String {
    format!("{}/{pair:02}", ["a", "b"][at])
}

/// `springload ab`.
#[derive(Debug, clap::Args)]
#[command(mut_arg("output", |it| it.help(FOLDER).long_help("The folder for the page and the \
    records of all runs, a/01 to b/08; the same command continues a comparison that is there \
    [default: springload-runs/ab-TIME]")))]
#[command(mut_arg("label", |it| it.help("What to call the comparison in reports")))]
pub(in crate::cli) struct Ab {
    #[command(flatten)]
    settings: Settings,
    #[command(flatten)]
    credentials: CredentialArgs,
    /// Settings for side A only, such as '--batch 100'
    ///
    /// Settings for side A (the baseline) only: flags of springload run, or a TARGET, quoted as one
    /// word, such as '--batch 100'
    #[arg(long, value_name = "FLAGS", allow_hyphen_values = true)]
    a: Option<String>,
    /// Settings for side B only, such as '--batch 1000'
    #[arg(long, value_name = "FLAGS", allow_hyphen_values = true)]
    b: Option<String>,
    /// A shell command before each run of A
    ///
    /// A shell command to run before each run of A, such as one that changes a server setting and
    /// restarts the server. If it fails, so does the comparison
    #[arg(long, value_name = "COMMAND")]
    before_a: Option<String>,
    /// A shell command before each run of B
    #[arg(long, value_name = "COMMAND")]
    before_b: Option<String>,
    /// Another springload to measure side A with
    ///
    /// Another springload, such as an older version, to measure side A with: this compares
    /// programs, not servers
    #[arg(long, value_name = "PROGRAM")]
    against: Option<PathBuf>,
    /// Maximum number of runs of each side
    ///
    /// Maximum number of runs of each side. From four on, the comparison ends early if the verdict
    /// is clear after half or three quarters of them
    #[arg(long, value_name = "N", default_value = "8", value_parser = plan::count)]
    pairs: u64,
    #[command(flatten)]
    how: CompareArgs,
    #[command(flatten)]
    study: MeasuredArgs<ComparisonReport>,
    /// Print the commands and run nothing
    ///
    /// Print the commands of all runs in order and run nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    agents: AgentsArgs,
}

impl Verb for Ab {
    const NAME: &'static str = "ab";
    const ABOUT: &'static str = "Measure two settings alternately, and say which is better";
    const FAMILY: Family = Family::Measure;
    const OFTEN: bool = true;
    const BRIEF: &'static str =
        "target a b before_a before_b pairs connections duration output dry_run";
    const EXAMPLES: [Example; 3] = [
        ("Two sizes of a batch", "ab localhost:5984 --ops 0 --a '--batch 100' --b '--batch 1000'"),
        ("Two servers", "ab -d 10s --a old-server:5984 --b new-server:5984"),
        (
            "A server setting",
            "ab localhost:5984 --before-a './set.sh off' --before-b './set.sh on'",
        ),
    ];
    const EXITS: Statuses = &[
        (Exit::Passed, "better, the same, or can't tell"),
        Exit::ALL[1],
        Exit::ALL[2],
        Exit::ALL[3],
        (Exit::Untrustworthy, "a run that counts is not trustworthy"),
        (Exit::DataWrong, "data wrong or lost in a run"),
        (Exit::Regression, "B is worse"),
        Exit::ALL[8],
    ];

    fn carry_out(self, call: &Call<'_>) -> Result<Exit, Trouble> {
        self.prepare(call.matches)?.map_or(Ok(Exit::Passed), |ready| ready.measure(&self))
    }
}

/// A comparison that is ready to be measured.
struct ReadyAb {
    place: StudyFolder,
    sides: [Side; 2],
    pairs: Pairs,
    /// Whether the page could not be written after a pair, which was reported.
    unwritten: bool,
    /// Whether the machine could not be measured, which was reported.
    uncontrolled: bool,
}

impl Ab {
    /// Checks everything; `None`: there is nothing to run.
    fn prepare(&self, matches: &ArgMatches) -> Result<Option<ReadyAb>, Vec<Invalid>> {
        let (wanted, asked) = (self.how.wanted()?, self.how.asked()?);
        if self.pairs == 0 || self.pairs > kept::MOST_PAIRS {
            let problem = format!("{} pairs is too few or too many", self.pairs);
            return Err(Invalid::new("--pairs", problem, "give 1 to 1000").into());
        }
        let common = side::Common {
            words: given(matches),
            named: named_nodes(self.settings.target.target.clone()),
            headers: self.settings.client.header.clone(),
            credentials: &self.credentials,
        };
        let mut sides = [
            common.side("--a", self.a.as_deref(), self.before_a.clone())?,
            common.side("--b", self.b.as_deref(), self.before_b.clone())?,
        ];
        for side in &mut sides {
            side.plan = self.agents.share(side.plan.clone())?;
        }
        if let Some(program) = &self.against {
            if sides[0].plan.fleet.is_some() {
                let problem = "agents are of this version, and refuse others";
                return Err(Invalid::new("--against", problem, "leave out --agents").into());
            }
            sides[0].measured_by(program)?;
        }
        if sides[0].is_as(&sides[1]) && self.dry_run {
            eprintln!("note: both sides are the same");
        }
        if !self.study.quiet {
            self.tell_beforehand(&sides[0], &asked);
        }
        let mut definition = AbRecord {
            schema_version: AbRecord::VERSION,
            label: self.study.label.clone(),
            a: sides[0].command(),
            b: sides[1].command(),
            before_a: self.before_a.clone(),
            before_b: self.before_b.clone(),
            pairs: self.pairs,
            seed: sides[0].plan.seed,
            metric: wanted,
            gate: asked.gated,
            delta: asked.delta,
            control_per_s: Vec::new(),
        };
        if self.dry_run {
            for number in 0..self.pairs * 2 {
                let side = &sides[definition.side(number)];
                print(format!("{}\n", side.command()).as_bytes());
            }
            return Ok(None);
        }
        let folder = self.study.output.as_deref();
        let mut place = StudyFolder::of(folder, &mut definition, |new, kept| {
            if !kept.continues(new) {
                return Err("contains another comparison");
            }
            new.control_per_s = kept.control_per_s;
            Ok(())
        })?;
        place.begin(&definition)?;
        let pairs = Pairs::new(definition);
        Ok(Some(ReadyAb { place, sides, pairs, unwritten: false, uncontrolled: false }))
    }
}

impl Ab {
    /// Prints how many pairs are needed, as far as saved runs show.
    fn tell_beforehand(&self, side: &Side, asked: &CompareAsked) {
        let folder = self.study.output.as_deref();
        match beforehand::summary(&side.plan, folder, &asked.gated, self.pairs) {
            Some(summary) => eprintln!("{}", summary.trim_end()),
            None if self.dry_run => eprintln!(
                "fewer than {LEAST_TO_VARY} saved runs of A's plan: the number of pairs needed is \
                 not known"
            ),
            None => {}
        }
    }
}

impl ReadyAb {
    fn measure(mut self, args: &Ab) -> Result<Exit, Trouble> {
        let quiet = args.study.quiet;
        let ending = &signals::listen(quiet)?;
        let planned = self.sides[0].plan.fleet;
        let mut fleet = agents::gather(&args.agents, planned, ending, quiet)?;
        let runs = Runs { ending, quiet, shown: true };
        for pair in 1..=self.pairs.definition.pairs {
            let mut is_new = false;
            for number in [pair * 2 - 2, pair * 2 - 1] {
                match self.run(number, args, &runs, fleet.as_mut()) {
                    Ok(measured) => is_new |= measured,
                    Err(trouble) => {
                        let exit = trouble.tell();
                        self.ended_early(quiet);
                        return Ok(exit);
                    }
                }
            }
            if let Some(verdict) = self.pairs.verdict() {
                if is_new {
                    self.measure_machine(pair as usize, ending);
                }
                return Ok(self.report(&verdict.beside(self.pairs.control()), args));
            }
            if is_new {
                self.so_far(quiet);
            }
        }
        Ok(Exit::Failed)
    }

    /// Carries out one run, unless it exists already; returns whether it did.
    fn run(
        &mut self,
        number: u64,
        args: &Ab,
        runs: &Runs<'_>,
        fleet: Option<&mut Fleet>,
    ) -> Result<bool, Trouble> {
        let (at, pair) = (self.pairs.definition.side(number), number / 2 + 1);
        let name = name_of(at, pair);
        let file = self.place.folder.join(&name).join("run.json");
        let kept = self.sides[at].kept(&file);
        let is_new = kept.is_none();
        let record: RunRecord = if let Some(record) = kept {
            record
        } else {
            let goes_on = || runs.ending.reason().map_or(Ok(()), |_| Err(Exit::Interrupted));
            self.measure_machine(pair as usize - 1, runs.ending);
            goes_on()?;
            if !runs.quiet {
                let pairs = self.pairs.definition.pairs;
                eprintln!("pair {pair} of {pairs}, {}", ["A", "B"][at]);
            }
            self.sides[at].before()?;
            goes_on()?;
            if let Some(record) = self.sides[at].by_other(&file, runs.ending) {
                record?
            } else {
                let (record, exit) = runs.measure(&self.sides[at].plan, &file, fleet)?;
                if record.partial || says_nothing(exit) {
                    return Err(exit.into());
                }
                record
            }
        };
        if self.sides[at].is_bounded() {
            for side in self.sides.iter_mut().filter(|side| side.is_bounded()) {
                side.fill_as(&record, &args.agents)?;
            }
            if !runs.quiet {
                eprintln!("{}", filled::note(&record));
            }
        }
        self.pairs.take(at, &name, record);
        Ok(is_new)
    }
}
