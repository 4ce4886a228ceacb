//! The command line. The only module that prints.
//!
//! `verb` has springload's own verbs, `dialect` the command lines of other programs, `flags` the
//! flags that several verbs share, and `pipeline` the steps shared by all verbs that measure, from
//! the plan to the report.

/// The standard macro panics if the reader is gone, which must not end a run.
macro_rules! eprintln {
    ($($text:tt)*) => { $crate::cli::print::remark(&format!($($text)*)) };
}

/// The same for stdout, except that a full disk is reported.
macro_rules! println {
    ($($text:tt)*) => { $crate::cli::print::print((format!($($text)*) + "\n").as_bytes()) };
}

/// The modules of a folder and their verbs, in the order of the help. Everything else about a verb
/// is in its module.
macro_rules! verbs {
    ($($module:ident: $($Verb:ident)+,)*) => {
        $(pub(in crate::cli) mod $module;)*

        /// Each verb of this folder.
        pub(in crate::cli) const VERBS: &[crate::cli::call::VerbEntry] =
            &[$($(crate::cli::call::VerbEntry::of::<$module::$Verb>(),)+)*];
    };
}
use verbs;

mod call;
mod dialect;
mod exit;
mod flags;
mod habits;
mod help;
mod look;
mod pipeline;
mod print;
mod refusal;
mod remembered;
mod scenario;
mod secrets;
mod verb;

pub use exit::Exit;
pub(crate) use pipeline::stand_in;

use crate::plan::Plan;
use call::{Call, VerbEntry};
use clap::Command;
use exit::Trouble;
use refusal::{misread, refuse_all};
use secrets::command_line;
use std::ffi::OsString;
use std::sync::LazyLock;

/// Every verb, in the order of the help.
static VERBS: LazyLock<Vec<&VerbEntry>> =
    LazyLock::new(|| verb::VERBS.iter().chain(dialect::VERBS).collect());

/// Parses the command line, carries it out, and returns the exit status, which is success only if
/// all output could be written.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> Exit {
    pipeline::descriptors::raise();
    pipeline::signals::outlive_large_files();
    carry_out(arguments.into_iter().collect()).if_written(print::complete())
}

fn carry_out(arguments: Vec<OsString>) -> Exit {
    let line = command_line(&arguments);
    let named = arguments.get(1).and_then(|word| VERBS.iter().find(|it| it.is(word)));
    let arguments = match named {
        None => Ok(arguments),
        Some(verb) => (verb.spelled_out)(arguments),
    };
    let arguments = match arguments {
        Ok(arguments) => arguments,
        Err(mistake) => {
            eprintln!("error: {mistake}");
            return Exit::Usage;
        }
    };
    if let Some(mistake) = named.and_then(|verb| misread(&arguments, verb)) {
        eprintln!("error: {mistake}");
        return Exit::Usage;
    }
    let scenario = named.map_or(Ok(None), |verb| (verb.scenario)(&arguments));
    let scenario = match scenario {
        Ok(scenario) => scenario.unwrap_or_default(),
        Err(mistakes) => return Trouble::from(mistakes).tell(),
    };
    // This makes the secrets in the file known.
    let _ = command_line(&[&[OsString::from("springload")][..], &scenario.words].concat());
    // The settings of the file come first, as if they had been typed.
    let (verb, own) = arguments.split_at(arguments.len().min(2));
    let arguments = [verb, &scenario.words, own].concat();
    let called = |matches: clap::ArgMatches| {
        let (name, matches) = matches.subcommand().expect("the grammar asks for a verb");
        let verb = VERBS.iter().find(|it| name == it.name).expect("the grammar is made of them");
        (verb.carry_out)(&Call { line: &line, scenario: &scenario, matches, grammar })
    };
    let own = named.map_or_else(grammar, |verb| grammar_of(&[verb]));
    match own.try_get_matches_from(&arguments).and_then(called) {
        Ok(exit) => exit,
        Err(error) => refuse_all(arguments, error, grammar, &VERBS),
    }
}

/// The plan that these words after `springload run` ask for, without the flags about results.
///
/// # Errors
/// Returns all mistakes, one per line.
pub(crate) fn run_plan(words: Vec<OsString>) -> Result<Plan, String> {
    verb::run::plan_of(words)
}

/// The definition of the command line.
fn grammar() -> Command {
    grammar_of(&VERBS)
}

/// The same with these verbs alone. A command line that names its verb needs no other, and defining
/// the flags of all verbs takes longer than carrying out most commands. A negative number is parsed
/// as the value of its flag, not as another flag.
fn grammar_of(verbs: &[&VerbEntry]) -> Command {
    let all = Command::new("springload")
        .version(env!("CARGO_PKG_VERSION"))
        .about("An honest benchmark and load tester for CouchDB and other databases")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .max_term_width(100)
        .subcommands(verbs.iter().map(|verb| verb.grammar()));
    help::of_all(all, &VERBS).mut_subcommands(|verb| {
        verb.mut_args(|argument| {
            let flag = argument.get_long().is_some() && argument.get_action().takes_values();
            if flag { argument.allow_negative_numbers(true) } else { argument }
        })
    })
}

/// What this module parses from files and command lines, for fuzz targets and their short pass in
/// the tests.
#[cfg(feature = "internals")]
pub mod read {
    use super::dialect::siege;
    use super::verb::{kept, size};
    use super::{VERBS, grammar, refusal};
    use crate::report::{Look, Study};
    use crate::search::MaxRecord;
    use crate::sweep::SweepRecord;
    use std::ffi::OsString;

    /// The reports of a `sweep.json`; empty if it is invalid.
    pub fn sweep(text: &str) -> Vec<Vec<u8>> {
        kept::parse::<SweepRecord>(text).map_or_else(|_| Vec::new(), |sweep| reports(&sweep))
    }

    /// The reports of a `max.json`, and of its conclusion for a number of nodes; empty if it is
    /// invalid.
    pub fn max(text: &str) -> Vec<Vec<u8>> {
        let Ok(search) = kept::parse::<MaxRecord>(text) else { return Vec::new() };
        let mut all = reports(&search);
        if !search.found_per_s.is_empty() {
            let sized = [1.0, 20e3].into_iter().filter_map(|rate| size::sized(&search, rate));
            all.extend(sized.flat_map(|sizing| reports(&sizing)));
        }
        all
    }

    /// A study in every text format.
    fn reports<S: Study>(study: &S) -> Vec<Vec<u8>> {
        let formats = S::FORMATS.iter().filter(|it| it.name != "png");
        formats.filter_map(|it| it.render(study, Look::default()).ok()).collect()
    }

    /// The mistakes in a siegerc.
    pub fn siegerc(text: &str) -> Vec<String> {
        siege::mistakes_of_rc(text).iter().map(ToString::to_string).collect()
    }

    /// The mistakes in a command line, as they are reported; empty if there are none. Records keep
    /// the line without its secrets.
    pub fn command_line(words: Vec<OsString>) -> String {
        let kept = super::command_line(&words);
        let named = words.get(1).and_then(|word| VERBS.iter().find(|it| it.is(word)));
        match grammar().try_get_matches_from(words) {
            Ok(_) => crate::report::shown(&kept, false),
            Err(error) => {
                let (problem, cure) = refusal::mistake(&error, named.map(|verb| verb.name));
                crate::report::shown(&(problem + &cure), false)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flags_of_every_verb_go_together() {
        grammar().debug_assert();
    }
}
