//! What a verb is: a name, flags, and what to do with them.

use super::exit::{Exit, Statuses, Trouble};
use super::scenario::Scenario;
use crate::plan::{Invalid, Noise};
use clap::{ArgMatches, Args, Command};
use std::ffi::{OsStr, OsString};

/// A verb. The type holds its flags, and its file everything else about it.
pub(super) trait Verb: Args {
    const NAME: &'static str;
    const ABOUT: &'static str;
    /// A former name, which it still answers to.
    const ALIAS: Option<&'static str> = None;
    /// The group in which the help of the whole program lists it.
    const FAMILY: Family;
    /// Whether it is on the first screen of that help.
    const OFTEN: bool = false;
    /// The ids of the flags in the short help, in this order; empty: all of them.
    const BRIEF: &'static str = "";
    const EXAMPLES: [Example; 3];
    /// The exit statuses that it can end with, if not all of its family.
    const EXITS: Statuses = Self::FAMILY.exits();

    /// The command line, rewritten to what clap can parse.
    ///
    /// # Errors
    /// Fails if a word cannot be parsed, with the message for it.
    fn spelled_out(arguments: Vec<OsString>) -> Result<Vec<OsString>, String> {
        Ok(arguments)
    }

    /// The settings that the command line leaves to the plan file it names.
    ///
    /// # Errors
    /// Returns the mistakes in that file.
    fn scenario(_arguments: &[OsString]) -> FoundScenario {
        Ok(None)
    }

    /// Does what the flags say.
    ///
    /// # Errors
    /// Fails if the verb cannot do what it was asked to.
    fn carry_out(self, call: &Call<'_>) -> Result<Exit, Trouble>;
}

/// A group of verbs in the help of the whole program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// They measure, and take springload's own flags.
    Measure,
    /// They show what was measured.
    Results,
    /// They measure, and take the flags of another program.
    Dialect,
    /// They deal with servers and load machines.
    Machines,
    /// Everything else.
    Tools,
}

impl Family {
    /// All, in the order of the help, each with its heading.
    pub(super) const ALL: [(Self, &'static str); 5] = [
        (Self::Measure, "Measure"),
        (Self::Results, "Look at results"),
        (Self::Dialect, "Run as another tool"),
        (Self::Machines, "Servers and load machines"),
        (Self::Tools, "Tools"),
    ];

    pub(super) const fn measures(self) -> bool {
        matches!(self, Self::Measure | Self::Dialect)
    }

    /// What happens to a run of its verbs if this machine is too busy: the imitated tools end
    /// successfully whatever the machine does.
    pub(super) const fn noise(self) -> Noise {
        match self {
            Self::Dialect => Noise::Warn,
            _ => Noise::Fail,
        }
    }

    const fn exits(self) -> Statuses {
        match self {
            Self::Measure => Exit::MEASURED,
            Self::Dialect => Exit::WITHOUT_BASELINE,
            Self::Machines => Exit::ASKED,
            Self::Results | Self::Tools => Exit::PLAIN,
        }
    }
}

/// What a command line does, and the command line without the program's name.
pub(super) type Example = (&'static str, &'static str);

pub(super) struct Call<'a> {
    /// The command line as it is saved in the record.
    pub(super) line: &'a str,
    /// What a plan file adds to the command line.
    pub(super) scenario: &'a Scenario,
    /// What clap parsed, for verbs that ask which flags were given.
    pub(super) matches: &'a ArgMatches,
    /// The definition of the whole command line.
    pub(super) grammar: fn() -> Command,
}

/// The settings of a plan file, if one is named, or the mistakes in it.
pub(super) type FoundScenario = Result<Option<Scenario>, Vec<Invalid>>;

/// A verb's entry in the list of all verbs.
pub(super) struct VerbEntry {
    pub(super) name: &'static str,
    pub(super) alias: Option<&'static str>,
    pub(super) about: &'static str,
    pub(super) family: Family,
    pub(super) often: bool,
    pub(super) brief: &'static str,
    pub(super) examples: [Example; 3],
    pub(super) exits: Statuses,
    /// Its flags, as the type defines them.
    pub(super) flags: fn(Command) -> Command,
    pub(super) spelled_out: fn(Vec<OsString>) -> Result<Vec<OsString>, String>,
    pub(super) scenario: fn(&[OsString]) -> FoundScenario,
    pub(super) carry_out: fn(&Call<'_>) -> Result<Exit, clap::Error>,
}

impl VerbEntry {
    /// Whether this word on a command line names it.
    pub(super) fn is(&self, word: &OsStr) -> bool {
        word == self.name || self.alias.is_some_and(|alias| word == alias)
    }

    /// The entry of the verb with these flags.
    pub(super) const fn of<V: Verb>() -> Self {
        Self {
            name: V::NAME,
            alias: V::ALIAS,
            about: V::ABOUT,
            family: V::FAMILY,
            often: V::OFTEN,
            brief: V::BRIEF,
            examples: V::EXAMPLES,
            exits: V::EXITS,
            flags: V::augment_args,
            spelled_out: V::spelled_out,
            scenario: V::scenario,
            carry_out: |call| {
                let verb = V::from_arg_matches(call.matches)?;
                Ok(verb.carry_out(call).unwrap_or_else(|trouble| trouble.tell()))
            },
        }
    }
}
