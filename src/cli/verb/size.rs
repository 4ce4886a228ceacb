//! `springload size`: the number of nodes needed for a rate, from searches with clusters of known
//! sizes.

use super::named;
use crate::cli::call::{Call, Example, Family, Verb};
use crate::cli::exit::{Exit, Statuses, Trouble};
use crate::cli::flags::known::choice;
use crate::cli::flags::study::WrittenArgs;
use crate::cli::verb::kept::{self, Kept as _};
use crate::plan::{self, Invalid, Nouns, Threshold, flags};
use crate::report::Look;
use crate::search::{Ended, MaxRecord};
use crate::sizing::{Measured, Sizing, SizingAsked, SizingVerdict, Unit, size};
use std::path::{Path, PathBuf};

/// More nodes than any cluster has.
const MOST: u64 = 10_000;

/// `springload size`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Size {
    /// The rate to carry, in documents, rows or keys per second
    #[arg(short, long, value_name = "N", value_parser = plan::rate)]
    rate: f64,
    /// What springload max found, and with how many nodes; repeatable
    ///
    /// A search by springload max: its folder, max.json or name; may be repeated. N is the number
    /// of nodes it was made with [default: as many as it was given addresses]
    #[arg(long, value_name = "[N=]MAX", required = true, value_parser = from)]
    from: Vec<From>,
    /// Limits the searches must have used
    ///
    /// Limits the searches must have used; may be repeated [default: any]
    #[arg(long, value_name = "EXPR")]
    slo: Vec<Threshold>,
    /// How many may be lost while the rest still carry the rate [default: 1 node, 0 shards]
    #[arg(long, value_name = "N", value_parser = plan::count)]
    spare: Option<u64>,
    /// What N counts
    #[arg(long, value_name = "WHAT", default_value = "nodes", value_parser = choice(&UNITS))]
    of: Unit,
    #[command(flatten)]
    out: WrittenArgs<Sizing>,
}

/// A search, and the number of nodes it was made with.
#[derive(Clone, Debug)]
struct From {
    size: Option<u64>,
    what: PathBuf,
}

fn from(text: &str) -> Result<From, String> {
    let size = text.split_once('=').and_then(|(size, what)| Some((plan::count(size).ok()?, what)));
    match size {
        Some((0 | MOST.., _)) => Err(format!("give a number of nodes from 1 to {}", MOST - 1)),
        Some((size, what)) => Ok(From { size: Some(size), what: what.into() }),
        None => Ok(From { size: None, what: text.into() }),
    }
}

const UNITS: [(&str, &str, Unit); 2] = [
    ("nodes", "Servers of a cluster", Unit::Nodes),
    ("shards", "Shards of a database", Unit::Shards),
];

impl Verb for Size {
    const NAME: &'static str = "size";
    const ABOUT: &'static str = "Work out how many nodes a rate needs, from searches by max";
    const FAMILY: Family = Family::Results;
    const EXAMPLES: [Example; 3] = [
        (
            "From searches with one, three and six nodes",
            "size --rate 20k --from 1=max-1 --from 3=max-3 --from 6=max-6",
        ),
        (
            "Two nodes may be lost",
            "size --rate 20k --spare 2 --slo 'read.p99 < 20ms' --from 3=max-3",
        ),
        ("As a page with a chart", "size --rate 20k --from 3=max-3 -o size.html"),
    ];
    const EXITS: Statuses = &[
        (Exit::Passed, "an answer"),
        Exit::ALL[1],
        (Exit::Usage, "a mistake in the command line, or a search that found nothing"),
        (Exit::Threshold, "no number of nodes carries that rate"),
        (Exit::Untrustworthy, "the law does not fit the searches"),
    ];

    fn carry_out(self, call: &Call<'_>) -> Result<Exit, Trouble> {
        let sizing = self.sizing(call.line)?;
        self.out.write(&sizing, Look::default())?;
        Ok(match sizing.verdict {
            SizingVerdict::Enough => Exit::Passed,
            SizingVerdict::TooMuch => Exit::Threshold,
            SizingVerdict::PoorFit => Exit::Untrustworthy,
        })
    }
}

impl Size {
    fn sizing(&self, line: &str) -> Result<Sizing, Invalid> {
        if self.rate <= 0.0 {
            return Err(Invalid::new(
                "--rate",
                "a rate of 0 needs no nodes",
                "give a rate above 0",
            ));
        }
        let unit = self.of;
        let spare = self.spare.unwrap_or(u64::from(unit == Unit::Nodes));
        if spare >= MOST {
            let problem = format!("{spare} is more than there can be");
            return Err(Invalid::new("--spare", problem, format!("give fewer than {MOST}")));
        }
        let mut searches = Vec::new();
        for from in &self.from {
            searches.push((from, read(&from.what)?));
        }
        let slo = self.slo_of(&searches)?;
        let measured = searches.iter().map(|(from, max)| {
            measured(max, from.size.unwrap_or(max.nodes), from.what.display().to_string())
        });
        let asked = SizingAsked { rate_per_s: self.rate, spare, unit, slo };
        let sizing = size(&asked, measured.collect())
            .map_err(|problem| Invalid::new("--from", problem, "search again"))?;
        if sizing.needed.is_some_and(|needed| needed >= MOST) {
            let problem = format!("that needs more than {MOST} {}", unit.word(MOST));
            return Err(Invalid::new("--rate", problem, "ask for less"));
        }
        let notes = differences(&searches);
        let counted = Nouns::common(searches.iter().map(|(_, max)| max.counted));
        Ok(Sizing { command: line.to_owned(), counted, notes, ..sizing })
    }

    /// The limits that all searches had.
    fn slo_of(&self, searches: &[(&From, MaxRecord)]) -> Result<Vec<Threshold>, Invalid> {
        let words = |slo: &[Threshold]| {
            let mut words: Vec<String> = slo.iter().map(ToString::to_string).collect();
            words.sort();
            words.join(", ")
        };
        let Some((first, max)) = searches.first() else { return Ok(Vec::new()) };
        let wanted = if self.slo.is_empty() { &max.slo } else { &self.slo };
        for (from, max) in searches {
            if words(&max.slo) == words(wanted) {
                continue;
            }
            let kept = |slo: &[Threshold]| match words(slo) {
                words if words.is_empty() => "nothing".to_owned(),
                words => words,
            };
            let (name, own) = (from.what.display(), kept(&max.slo));
            let (problem, cure) = if self.slo.is_empty() {
                let other = first.what.display();
                (
                    format!("{name} kept to {own}, and {other} to {}", kept(wanted)),
                    "choose searches with the same --slo",
                )
            } else {
                (format!("{name} kept to {own}"), "search with this --slo: springload max --slo")
            };
            let flag = if self.slo.is_empty() { "--from" } else { "--slo" };
            return Err(Invalid::new(flag, problem, cure));
        }
        Ok(wanted.clone())
    }
}

/// The result of the search `max` with this many nodes or shards.
fn measured(max: &MaxRecord, size: u64, from: String) -> Measured {
    Measured {
        client_bound: max.client_bound(),
        open_ended: max.open_ended(),
        ..Measured::new(size, max.found_per_s.clone(), from)
    }
}

/// The sizing that a search suggests for this many operations per second.
#[cfg(feature = "internals")]
pub(in crate::cli) fn sized(max: &MaxRecord, rate_per_s: f64) -> Option<Sizing> {
    let asked = SizingAsked { rate_per_s, spare: 1, unit: Unit::Nodes, slo: max.slo.clone() };
    size(&asked, vec![measured(max, max.nodes, max.command.clone())]).ok()
}

/// The search that `name` stands for, if it has a result.
fn read(name: &Path) -> Result<MaxRecord, Invalid> {
    let wrong = |problem: String, cure: &str| Invalid::new("--from", problem, cure);
    let shown = name.display();
    let search = named::several(name).filter(|(kind, _)| kind.file == MaxRecord::FILE);
    let (_, file) = search.ok_or_else(|| {
        let problem = format!("{shown} is not a search");
        wrong(problem, "give the folder of a search by springload max, or its max.json")
    })?;
    let max: MaxRecord =
        kept::read(&file).map_err(|why| wrong(format!("{}: {why}", file.display()), why.cure()))?;
    if max.ended != Ended::Found || max.found_per_s.is_empty() {
        let problem = format!("{shown} found no rate that holds");
        return Err(wrong(
            problem,
            "choose a search that succeeded; springload show MAX says how it \
            ended",
        ));
    }
    Ok(max)
}

/// The differences between the commands of searches, except for their servers: there should be
/// none.
fn differences(searches: &[(&From, MaxRecord)]) -> Vec<String> {
    let flags = |max: &MaxRecord| -> Vec<String> {
        flags(&max.step_command).into_iter().filter(|word| word.starts_with('-')).collect()
    };
    let Some((first, max)) = searches.first() else { return Vec::new() };
    let wanted = flags(max);
    let odd = searches.iter().filter(|(_, max)| flags(max) != wanted);
    let lines = odd.map(|(from, max)| {
        let other = flags(max);
        let only = |here: &[String], there: &[String]| {
            let only: Vec<&str> =
                here.iter().filter(|it| !there.contains(it)).map(String::as_str).collect();
            if only.is_empty() { "nothing".to_owned() } else { only.join(" ") }
        };
        format!(
            "the searches differ: {} in {}, {} in {}",
            only(&wanted, &other),
            first.what.display(),
            only(&other, &wanted),
            from.what.display()
        )
    });
    lines.collect()
}
