//! `springload ab`: two settings measured alternately, until it is clear which is better.

mod beforehand;
mod control;
mod kept;
mod kind;
mod pairs;
mod side;
mod told;

use crate::cli::call::{Call, Example, Family, Verb};
use crate::cli::exit::{Exit, refuse};
use crate::cli::flags::credentials::{CredentialArgs, named_nodes};
use crate::cli::flags::known;
use crate::cli::flags::output::OutputArgs;
use crate::cli::pipeline::bench::Bench;
use crate::cli::pipeline::ending::Ending;
use crate::cli::pipeline::folder::{Folder, RUNS, now};
use crate::cli::pipeline::measure;
use crate::cli::pipeline::signals;
use crate::cli::print::print;
use crate::cli::verb::compare::CompareArgs;
use crate::cli::verb::run::Settings;
use crate::cli::verb::sweep::{Silent, given};
use crate::compare::Asked;
use crate::engine::StopReason;
use crate::generate::mix;
use crate::plan::{self, Invalid};
use crate::record::RunRecord;
use crate::report::{ComparisonReport, StudyFormat};
use crate::trend::LEAST_TO_VARY;
use clap::ArgMatches;
use kept::{Definition, load, save};
pub(in crate::cli::verb) use kind::KIND;
use pairs::Pairs;
use side::{Side, says_nothing};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The folder of a run of side A (0) or B (1), in that of the comparison.
fn name_of(at: usize, pair: u64) -> String {
    format!("{}/{pair:02}", ["a", "b"][at])
}

/// `springload ab`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Ab {
    #[command(flatten)]
    settings: Settings,
    #[command(flatten)]
    credentials: CredentialArgs,
    /// What only side A has, such as '--batch 100'
    ///
    /// What side A, the baseline, has of its own: flags of springload run, or a TARGET, in one
    /// word, such as '--batch 100'
    #[arg(long, value_name = "FLAGS", allow_hyphen_values = true)]
    a: Option<String>,
    /// What only side B has, such as '--batch 1000'
    #[arg(long, value_name = "FLAGS", allow_hyphen_values = true)]
    b: Option<String>,
    /// A shell command before each run of A
    ///
    /// A command for the shell, before each run of A, such as one that changes a setting of the
    /// server and starts it again. If it fails, so does the comparison
    #[arg(long, value_name = "COMMAND")]
    before_a: Option<String>,
    /// A shell command before each run of B
    #[arg(long, value_name = "COMMAND")]
    before_b: Option<String>,
    /// Another springload, which measures side A
    ///
    /// Another springload, such as an older version, which measures side A: what differs is the
    /// program, not the server
    #[arg(long, value_name = "PROGRAM")]
    against: Option<PathBuf>,
    /// How many runs of each side, at most
    ///
    /// How many runs of each side, at most. From four on, it ends early where the verdict is clear
    /// after half or three quarters of them
    #[arg(long, value_name = "N", default_value = "8", value_parser = plan::count)]
    pairs: u64,
    #[command(flatten)]
    how: CompareArgs,
    /// The folder for all runs; continued if it is there
    ///
    /// The folder for the page and the records of all runs, a/01 to b/08; the same command
    /// continues a comparison that is there [default: springload-runs/ab-TIME]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// What to call the comparison in reports
    #[arg(long, value_name = "TEXT", value_parser = plan::label)]
    label: Option<String>,
    /// The report's format
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "text",
        value_parser = known::study_formats::<ComparisonReport>()
    )]
    format: &'static StudyFormat<ComparisonReport>,
    /// Show no progress, only the report
    #[arg(short, long)]
    quiet: bool,
    /// Print the commands and run nothing
    ///
    /// Print the commands of all runs in order and run nothing
    #[arg(long)]
    dry_run: bool,
}

impl Verb for Ab {
    const NAME: &'static str = "ab";
    const ABOUT: &'static str = "Measure two settings by turns, and say which is better";
    const FAMILY: Family = Family::Measure;
    const BRIEF: &'static str =
        "target a b before_a before_b pairs connections duration output dry_run";
    const EXAMPLES: [Example; 3] = [
        ("Two sizes of a batch", "ab localhost:5984 --ops 0 --a '--batch 100' --b '--batch 1000'"),
        ("Two servers", "ab -d 10s --a old-server:5984 --b new-server:5984"),
        (
            "A setting of the server",
            "ab localhost:5984 --before-a './set.sh off' --before-b './set.sh on'",
        ),
    ];

    fn carry_out(self, call: &Call<'_>) -> Exit {
        match self.prepare(call.matches) {
            Ok(None) => Exit::Passed,
            Ok(Some(mut ready)) => ready.measure(&self),
            Err(mistakes) => refuse(&mistakes),
        }
    }
}

/// A comparison that is ready to be measured.
struct Ready {
    folder: PathBuf,
    sides: [Side; 2],
    pairs: Pairs,
    /// Whether the page could not be written after a pair, which was reported.
    unwritten: bool,
    /// Whether the machine could not be measured, which was reported.
    uncontrolled: bool,
}

impl Ab {
    /// Checks everything; `None`: there is nothing to run.
    fn prepare(&self, matches: &ArgMatches) -> Result<Option<Ready>, Vec<Invalid>> {
        let one = |mistake: Invalid| vec![mistake];
        let (wanted, asked) = (self.how.wanted().map_err(one)?, self.how.asked().map_err(one)?);
        if self.pairs == 0 || self.pairs > kept::MOST_PAIRS {
            let problem = format!("{} pairs are none, or too many", self.pairs);
            return Err(one(Invalid::new("--pairs", problem, "give 1 to 1000")));
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
        if let Some(program) = &self.against {
            sides[0].measured_by(program).map_err(one)?;
        }
        if sides[0].is_as(&sides[1]) && self.dry_run {
            eprintln!("note: both sides are the same");
        }
        if !self.quiet {
            self.tell_beforehand(&sides[0], &asked);
        }
        let seed = sides[0].plan.seed;
        let mut definition = Definition {
            metric: wanted,
            gate: asked.gated,
            delta: asked.delta,
            ..Definition::new(self.pairs, seed, self.label.clone(), &sides)
        };
        if self.dry_run {
            for number in 0..self.pairs * 2 {
                let side = &sides[definition.side(number)];
                print(format!("{}\n", side.command()).as_bytes());
            }
            return Ok(None);
        }
        let default = || Path::new(RUNS).join(format!("ab-{}", now()));
        let folder = self.output.clone().unwrap_or_else(default);
        if let Some(kept) = load(&folder).map_err(one)? {
            if !kept.continues(&definition) {
                let problem = format!("{} contains another comparison", folder.display());
                return Err(one(Invalid::new("--output", problem, "name another folder")));
            }
            definition.control_per_s = kept.control_per_s;
        }
        save(&folder, &definition).map_err(|error| {
            let problem = format!("cannot write to {}: {error}", folder.display());
            one(Invalid::new("--output", problem, "name a writable folder"))
        })?;
        let pairs = Pairs::new(definition);
        Ok(Some(Ready { folder, sides, pairs, unwritten: false, uncontrolled: false }))
    }
}

impl Ab {
    /// Says how many pairs are needed, as far as saved runs show.
    fn tell_beforehand(&self, side: &Side, asked: &Asked) {
        let folder = self.output.as_deref();
        match beforehand::told(&side.plan, folder, &asked.gated, self.pairs) {
            Some(told) => eprintln!("{}", told.trim_end()),
            None if self.dry_run => eprintln!(
                "fewer than {LEAST_TO_VARY} saved runs of A's plan: how many pairs it takes is not \
                 known"
            ),
            None => {}
        }
    }
}

impl Ready {
    fn measure(&mut self, args: &Ab) -> Exit {
        let ending = match signals::listen(args.quiet) {
            Ok(ending) => ending,
            Err(exit) => return exit,
        };
        for pair in 1..=self.pairs.definition.pairs {
            let mut is_new = false;
            for number in [pair * 2 - 2, pair * 2 - 1] {
                match self.run(number, args.quiet, &ending) {
                    Ok(measured) => is_new |= measured,
                    Err(exit) => {
                        self.ended_early(args.quiet);
                        return exit;
                    }
                }
            }
            if let Some(verdict) = self.pairs.verdict() {
                if is_new {
                    self.measure_machine(pair as usize, &ending);
                }
                return self.report(&verdict.beside(self.pairs.control()), args);
            }
            if is_new {
                self.so_far(args.quiet);
            }
        }
        Exit::Failed
    }

    /// Does one run, unless it is there already; returns whether it did.
    fn run(&mut self, number: u64, quiet: bool, ending: &Arc<Ending>) -> Result<bool, Exit> {
        let (at, pair) = (self.pairs.definition.side(number), number / 2 + 1);
        let name = name_of(at, pair);
        let file = self.folder.join(&name).join("run.json");
        let kept = self.sides[at].kept(&file);
        let is_new = kept.is_none();
        let record = if let Some(record) = kept {
            record
        } else {
            let goes_on = || ending.reason().map_or(Ok(()), |_| Err(Exit::Interrupted));
            self.measure_machine(pair as usize - 1, ending);
            goes_on()?;
            if !quiet {
                let pairs = self.pairs.definition.pairs;
                eprintln!("pair {pair} of {pairs}, {}", ["A", "B"][at]);
            }
            self.sides[at].before()?;
            goes_on()?;
            match self.sides[at].by_other(&file, ending) {
                Some(record) => record?,
                None => self.one(at, &file, quiet, ending)?,
            }
        };
        self.pairs.take(at, &name, record);
        Ok(is_new)
    }

    fn one(
        &self,
        at: usize,
        file: &Path,
        quiet: bool,
        ending: &Arc<Ending>,
    ) -> Result<RunRecord, Exit> {
        let folder = Folder::make(file.parent(), "").map_err(|error| {
            eprintln!("error: cannot write to {}: {error}", file.display());
            Exit::Failed
        })?;
        let bench = Bench::new(folder, ending.clone());
        let output = OutputArgs::bare(None, quiet);
        let measured = measure(&self.sides[at].plan, &bench, &output, &mut Silent, None)?;
        let exit = measured.report(&bench, &output, &mut Silent);
        let over = measured.record.partial || ending.reason() == Some(StopReason::Interrupted);
        if over || says_nothing(exit) {
            return Err(exit);
        }
        Ok(measured.record)
    }
}

impl Definition {
    /// Which side has run `number`, counted from 0: A B B A, or B A A B, again and again. Which
    /// comes first is drawn, so that no habit of the machine favours one.
    fn side(&self, number: u64) -> usize {
        let first = mix(self.seed, 0xAB, 0) & 1;
        ((first + number / 2 + number % 2) % 2) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_take_turns_and_either_may_be_first() {
        let order = |seed: u64| {
            let it = Definition { seed, pairs: 4, ..Definition::default() };
            (0..8).map(|number| ["A", "B"][it.side(number)]).collect::<String>()
        };
        let orders: std::collections::BTreeSet<String> = (0..20).map(order).collect();
        assert_eq!(orders.into_iter().collect::<Vec<_>>(), ["ABBAABBA", "BAABBAAB"]);
    }
}
