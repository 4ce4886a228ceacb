//! What a verb is: a name, flags, and what to do with them.

use super::exit::Exit;
use clap::{ArgMatches, Args, Command};
use std::ffi::OsString;

/// A verb. The type holds its flags, and its file everything else about it.
pub(super) trait Verb: Args {
    /// Its name.
    const NAME: &'static str;
    /// One line for the help.
    const ABOUT: &'static str;

    /// The command line, rewritten to what clap can parse.
    ///
    /// # Errors
    /// The message for a word that cannot be parsed.
    fn spelled_out(arguments: Vec<OsString>) -> Result<Vec<OsString>, String> {
        Ok(arguments)
    }

    /// Does what the flags say.
    fn carry_out(self, call: &Call<'_>) -> Exit;
}

/// How a verb was called.
pub(super) struct Call<'a> {
    /// The command line as the record keeps it.
    pub(super) line: &'a str,
    /// What clap parsed, for verbs that ask which flags were given.
    pub(super) matches: &'a ArgMatches,
    /// The definition of the whole command line.
    pub(super) grammar: fn() -> Command,
}

/// A verb in the list of all.
pub(super) struct Entry {
    pub(super) name: &'static str,
    pub(super) grammar: fn() -> Command,
    pub(super) spelled_out: fn(Vec<OsString>) -> Result<Vec<OsString>, String>,
    pub(super) carry_out: fn(&Call<'_>) -> Result<Exit, clap::Error>,
}

impl Entry {
    /// The entry of the verb with these flags.
    pub(super) const fn of<V: Verb>() -> Self {
        Self {
            name: V::NAME,
            grammar: || V::augment_args(Command::new(V::NAME)).about(V::ABOUT),
            spelled_out: V::spelled_out,
            carry_out: |call| Ok(V::from_arg_matches(call.matches)?.carry_out(call)),
        }
    }
}
