//! `springload ab`: two settings measured by turns, until it is clear which is better.

mod kept;
mod side;

use crate::cli::call::{Call, Example, Family, Verb};
use crate::cli::exit::{Exit, refuse};
use crate::cli::flags::credentials::{CredentialArgs, named_nodes};
use crate::cli::flags::output::OutputArgs;
use crate::cli::pipeline::bench::Bench;
use crate::cli::pipeline::dialect::deliver;
use crate::cli::pipeline::ending::Ending;
use crate::cli::pipeline::folder::{Folder, PAGE, RUNS, now};
use crate::cli::pipeline::signals;
use crate::cli::pipeline::{keep_in_mind, measure};
use crate::cli::print::print;
use crate::cli::verb::compare::{CompareArgs, ComparisonFormat, status};
use crate::cli::verb::run::Settings;
use crate::cli::verb::sweep::{Silent, given};
use crate::compare::{Asked, Comparison, Run, compare};
use crate::engine::StopReason;
use crate::files;
use crate::generate::mix;
use crate::plan::{self, Invalid, Quantity};
use crate::record::{RunRecord, Standing};
use crate::report::{change_words, verdict_words};
use crate::statistics::{ALARMS, levels};
use clap::ArgMatches;
use kept::{Definition, load, save};
use side::Side;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// Fewer pairs are not looked at before the end.
const LEAST_LOOKED_AT: u64 = 4;

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
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    format: ComparisonFormat,
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
    const BRIEF: &'static [&'static str] = &[
        "target",
        "a",
        "b",
        "before_a",
        "before_b",
        "pairs",
        "connections",
        "duration",
        "output",
        "dry_run",
    ];
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
    definition: Definition,
    wanted: Vec<Quantity>,
    asked: Asked,
    /// What was measured: a run of each side for each pair, as far as it got.
    runs: [Vec<Run>; 2],
    /// The latest record of each side.
    drawn: [Option<RunRecord>; 2],
}

impl Ab {
    /// Checks everything; `None`: there is nothing to run.
    fn prepare(&self, matches: &ArgMatches) -> Result<Option<Ready>, Vec<Invalid>> {
        let one = |mistake: Invalid| vec![mistake];
        let (wanted, asked) = (self.how.wanted().map_err(one)?, self.how.asked().map_err(one)?);
        if self.pairs == 0 || self.pairs > 1_000 {
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
        let seed = sides[0].plan.seed;
        let definition = Definition::new(self.pairs, seed, self.label.clone(), &sides);
        if self.dry_run {
            for number in 0..self.pairs * 2 {
                let side = &sides[definition.side(number)];
                print(format!("{}\n", side.command()).as_bytes());
            }
            return Ok(None);
        }
        let default = || Path::new(RUNS).join(format!("ab-{}", now()));
        let folder = self.output.clone().unwrap_or_else(default);
        if let Some(kept) = load(&folder).map_err(one)?
            && !kept.continues(&definition)
        {
            let problem = format!("{} contains another comparison", folder.display());
            return Err(one(Invalid::new("--output", problem, "name another folder")));
        }
        save(&folder, &definition).map_err(|error| {
            let problem = format!("cannot write to {}: {error}", folder.display());
            one(Invalid::new("--output", problem, "name a writable folder"))
        })?;
        let runs = [Vec::new(), Vec::new()];
        let drawn = [None, None];
        Ok(Some(Ready { folder, sides, definition, wanted, asked, runs, drawn }))
    }
}

/// After how many pairs to look, and the level of each look.
fn looks(pairs: u64) -> Vec<(u64, f64)> {
    let at: Vec<u64> = if pairs < LEAST_LOOKED_AT {
        vec![pairs]
    } else {
        vec![pairs.div_ceil(2), (pairs * 3).div_ceil(4), pairs]
    };
    let shares: Vec<f64> = at.iter().map(|done| *done as f64 / pairs as f64).collect();
    at.into_iter().zip(levels(&shares, ALARMS)).collect()
}

/// Whether more runs could not change the verdict for the better: nothing is left open.
fn is_clear(it: &Comparison) -> bool {
    let open = it.gated().any(|of| of.verdict == Standing::CannotTell);
    match it.verdict {
        Standing::Worse => true,
        Standing::Better | Standing::Same => !open,
        Standing::CannotTell => false,
    }
}

impl Ready {
    fn measure(&mut self, args: &Ab) -> Exit {
        let ending = match signals::listen(args.quiet) {
            Ok(ending) => ending,
            Err(exit) => return exit,
        };
        let looks = looks(self.definition.pairs);
        let count = self.definition.pairs * 2;
        for number in 0..count {
            if let Err(exit) = self.run(number, args.quiet, &ending) {
                self.interrupted(args);
                return exit;
            }
            if number % 2 == 0 {
                continue;
            }
            let done = number / 2 + 1;
            let look = looks.iter().find(|(at, _)| *at == done);
            let alarms = look.map_or(ALARMS, |look| look.1);
            let comparison = self.compare(alarms);
            if look.is_some() && (is_clear(&comparison) || done == self.definition.pairs) {
                return self.report(&comparison, args);
            }
            if !args.quiet {
                eprintln!("{}", so_far(&comparison, done, self.definition.pairs));
            }
        }
        Exit::Failed
    }

    /// Does one run, unless it is there already.
    fn run(&mut self, number: u64, quiet: bool, ending: &Arc<Ending>) -> Result<(), Exit> {
        let (at, pair) = (self.definition.side(number), number / 2 + 1);
        let letter = ["a", "b"][at];
        let name = format!("{letter}/{pair:02}");
        let file = self.folder.join(&name).join("run.json");
        let record = if let Some(record) = self.sides[at].kept(&file) {
            record
        } else {
            if !quiet {
                let pairs = self.definition.pairs;
                eprintln!("pair {pair} of {pairs}, {}", letter.to_uppercase());
            }
            self.sides[at].before()?;
            match self.sides[at].by_other(&file, ending) {
                Some(record) => record?,
                None => self.one(at, &file, quiet, ending)?,
            }
        };
        self.runs[at].push(Run::of(&record, &name, &self.wanted));
        self.drawn[at] = Some(record);
        Ok(())
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
        // What failed as a whole says nothing about which side is better.
        if over || matches!(exit, Exit::Target | Exit::Failed) {
            return Err(exit);
        }
        Ok(measured.record)
    }

    fn compare(&self, alarms: f64) -> Comparison {
        let [a, b] = self.runs.clone();
        compare(a, b, &Asked { alarms, ..self.asked.clone() })
    }

    /// Tells what there is, and how to go on.
    fn interrupted(&self, args: &Ab) {
        if self.runs.iter().all(|side| !side.is_empty()) && !args.quiet {
            eprintln!("so far: {}", verdict_words(&self.compare(ALARMS)));
        }
        let folder = self.folder.display();
        eprintln!("the comparison is incomplete; the same command with -o {folder} continues it");
    }

    /// Prints the report and writes the page.
    fn report(&self, comparison: &Comparison, args: &Ab) -> Exit {
        let drawn: Vec<RunRecord> = self.drawn.iter().flatten().cloned().collect();
        let told = deliver(args.format.render(comparison, &drawn).as_bytes());
        if let Err(unwritten) = &told {
            eprintln!("error: {unwritten}");
        }
        let page = self.folder.join(PAGE);
        let written =
            files::replace(&page, ComparisonFormat::Html.render(comparison, &drawn).as_bytes());
        match &written {
            Ok(()) if !args.quiet => eprintln!("page: {}", page.display()),
            Ok(()) => {}
            Err(error) => eprintln!("error: cannot write {}: {error}", page.display()),
        }
        keep_in_mind(&self.folder, "", self.definition.label.as_deref());
        status(comparison).if_written(told.is_ok() && written.is_ok())
    }
}

/// How the comparison stands, in a line.
fn so_far(it: &Comparison, done: u64, pairs: u64) -> String {
    let figures: Vec<String> = it.gated().take(3).map(change_words).collect();
    format!("after {done} of {pairs} pairs: {}", figures.join(", "))
}

impl Side {
    /// Carries out the command before a run.
    fn before(&self) -> Result<(), Exit> {
        let Some(command) = &self.before else { return Ok(()) };
        let ended = Command::new("sh").args(["-c", command]).status();
        match ended {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => {
                eprintln!("error: {}: {command:?} ended with {status}", self.flag_before());
                Err(Exit::Failed)
            }
            Err(error) => {
                eprintln!("error: {}: no shell to run it with: {error}", self.flag_before());
                Err(Exit::Failed)
            }
        }
    }
}

impl Definition {
    /// Which side has run `number`, counted from 0: A B B A, or B A A B, again and again. Which is
    /// first is drawn, so that no habit of the machine favours one.
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

    #[test]
    fn looks_are_at_half_three_quarters_and_the_end() {
        let at = |pairs| looks(pairs).into_iter().map(|(at, _)| at).collect::<Vec<_>>();
        assert_eq!((at(8), at(4), at(3)), (vec![4, 6, 8], vec![2, 3, 4], vec![3]));
        assert!(looks(3)[0].1 > 0.0499 && looks(8)[0].1 < 0.004);
    }
}
