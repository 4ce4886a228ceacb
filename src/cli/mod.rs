//! The command line: what each word means. The only room that prints.
//!
//! `verb` has springload's own verbs, `dialect` the command lines of others, `flags` what several
//! of them read, and `pipeline` what all that measure do: from the plan to the report.

/// The standard macro panics when nobody reads any more; a run must not end by that.
macro_rules! eprintln {
    ($($text:tt)*) => { $crate::cli::print::remark(&format!($($text)*)) };
}

/// The same for stdout, where a full disk is told.
macro_rules! println {
    ($($text:tt)*) => { $crate::cli::print::print((format!($($text)*) + "\n").as_bytes()) };
}

mod dialect;
mod exit;
mod flags;
mod pipeline;
mod print;
mod verb;

pub use exit::Exit;

use crate::plan;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use std::ffi::OsString;

/// An honest benchmark and load tester for CouchDB.
#[derive(Debug, Parser)]
#[command(name = "springload", version, arg_required_else_help = true, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Fill a database, then mix creates, reads, updates and deletes, and report
    Run(Box<verb::run::Args>),
    /// Iron Cushion's command line and report
    Cushion(Box<dialect::cushion::Args>),
    /// Measure a run for each combination of settings, and show what each setting does
    Sweep(Box<verb::sweep::Args>),
    /// couchdb-performance-tests' command line and files: a fill by the size of the database
    BulkPerf(dialect::bulk_perf::Args),
    /// Let many workers write or read a document each, all from one moment on
    Burst(Box<verb::burst::Args>),
    /// The command line and files of Dahk's `couchdb_benchmark` for the same
    BmCouchdb(Box<dialect::bm_couchdb::Args>),
    /// Request URLs over and over, or at a rate
    Http(Box<verb::http::Args>),
    /// Siege's command line and figures
    Siege(Box<dialect::siege::Args>),
    /// YCSB's command line, workloads and report
    Ycsb(Box<dialect::ycsb::Args>),
    /// Print sample documents of a schema
    Schema(verb::schema::Args),
    /// Render a saved run again, in any format
    Report(verb::report::Args),
    /// List the saved runs, newest first
    List(verb::list::Args),
    /// Show a saved run, such as latest
    Show(verb::report::Args),
    /// Hold springload's own numbers to account on this machine
    Selftest(verb::selftest::Args),
    /// Read and write records by hand, or by a script, as in YCSB's shell
    Shell(verb::shell::Args),
    /// Run the embedded stand-in CouchDB alone
    Serve(verb::serve::Args),
    /// Print a script that completes verbs and flags in a shell
    Completions(verb::completions::Args),
    /// Print the man page, or write all of them
    Man(verb::completions::ManArgs),
}

/// Parses the command line, does what it says, and tells the exit status.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> Exit {
    pipeline::descriptors::raise();
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let line = command_line(&arguments);
    let arguments = match dialect::ycsb::spelled_out(dialect::siege::spelled_out(arguments)) {
        Ok(arguments) => arguments,
        Err(mistake) => {
            eprintln!("error: {mistake}");
            return Exit::Usage;
        }
    };
    let matches = command().try_get_matches_from(&arguments);
    let read = |matches: clap::ArgMatches| {
        let cli = Cli::from_arg_matches(&matches)?;
        let own = matches.subcommand().map(|(_, own)| own.clone()).unwrap_or_default();
        Ok((cli, own))
    };
    match matches.and_then(read) {
        Ok((cli, own)) => match cli.verb {
            Verb::Run(args) => verb::run::main(*args, &line),
            Verb::Cushion(args) => dialect::cushion::main(&args, &line),
            Verb::Sweep(args) => verb::sweep::main(&args, &own),
            Verb::BulkPerf(args) => dialect::bulk_perf::main(&args, &line),
            Verb::Burst(args) => verb::burst::main(&args, &line),
            Verb::BmCouchdb(args) => dialect::bm_couchdb::main(&args, &line),
            Verb::Http(args) => verb::http::main(*args, &line),
            Verb::Ycsb(args) => dialect::ycsb::main(&args, &line),
            Verb::Siege(args) => dialect::siege::main(&args, &line),
            Verb::Schema(args) => verb::schema::main(&args),
            Verb::Report(args) | Verb::Show(args) => verb::report::main(&args),
            Verb::List(args) => verb::list::main(&args),
            Verb::Selftest(args) => verb::selftest::main(&args),
            Verb::Shell(args) => verb::shell::main(&args),
            Verb::Serve(args) => verb::serve::main(&args),
            Verb::Completions(args) => verb::completions::main(&args, command()),
            Verb::Man(args) => verb::completions::man(&args, command()),
        },
        Err(error) => refuse_all(arguments, error),
    }
}

/// Tells every value that cannot be read, not only the first.
fn refuse_all(mut arguments: Vec<OsString>, mut error: clap::Error) -> Exit {
    loop {
        let exit = refuse(&error);
        if !is_malformed(&error) || !leave_out(&mut arguments, &error) {
            return exit;
        }
        match command().try_get_matches_from(&arguments) {
            Err(next) if is_malformed(&next) => error = next,
            _ => return exit,
        }
    }
}

fn is_malformed(error: &clap::Error) -> bool {
    matches!(error.kind(), ErrorKind::ValueValidation | ErrorKind::InvalidValue)
}

/// Takes the flag that the error is about out of the arguments, with its value.
fn leave_out(arguments: &mut Vec<OsString>, error: &clap::Error) -> bool {
    let told = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.as_str(),
        _ => "",
    };
    let flag = told(ContextKind::InvalidArg).split(' ').next().unwrap_or_default();
    let value = told(ContextKind::InvalidValue);
    let short = |word: &str| word.starts_with('-') && !word.starts_with("--");
    let texts: Vec<_> = arguments.iter().map(|it| it.to_string_lossy().into_owned()).collect();
    let whole = |word: &str| {
        let long = word.strip_prefix(flag).and_then(|rest| rest.strip_prefix('='));
        long == Some(value) || (short(word) && word.len() > value.len() && word.ends_with(value))
    };
    for (place, word) in texts.iter().enumerate() {
        let next = texts.get(place + 1).is_some_and(|next| next == value);
        let count = match () {
            () if next && (word == flag || short(word)) => 2,
            () if whole(word) && !value.is_empty() => 1,
            () => continue,
        };
        arguments.drain(place..place + count);
        return true;
    }
    false
}

/// The whole grammar. A number below 0 is refused as the value of its flag, not as a stray word.
fn command() -> clap::Command {
    Cli::command().mut_subcommands(|verb| {
        verb.mut_args(|argument| {
            let flag = argument.get_long().is_some() && argument.get_action().takes_values();
            if flag { argument.allow_negative_numbers(true) } else { argument }
        })
    })
}

/// The verb that is spelled most like `word`, if one is within two slips.
fn nearest_verb(word: &str) -> Option<String> {
    let command = Cli::command();
    let slips = |verb: &str| strsim::damerau_levenshtein(verb, word);
    let verbs = command.get_subcommands().map(clap::Command::get_name);
    verbs.min_by_key(|verb| slips(verb)).filter(|verb| slips(verb) <= 2).map(str::to_owned)
}

/// The arguments as one line, with passwords in URLs struck out.
fn command_line(arguments: &[OsString]) -> String {
    let words = arguments.iter().skip(1).map(|argument| {
        let word = without_secrets(&argument.to_string_lossy());
        let plain = !word.is_empty()
            && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_=./:@,+*%[]".contains(c));
        if plain { word } else { format!("'{}'", word.replace('\'', r"'\''")) }
    });
    std::iter::once("springload".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

/// A word of the command line without what is secret in it.
fn without_secrets(word: &str) -> String {
    strike_header(&strike_property(&strike_password(word)))
}

/// `-H 'Cookie: secret'`, however it is spelled, without what is secret in it.
fn strike_header(word: &str) -> String {
    let name = word.find(':').map_or(word, |colon| &word[..colon]);
    let start = ["--header=", "-H="].into_iter().find(|flag| name.starts_with(flag));
    let start = start.map_or(if name.starts_with("-H") { 2 } else { 0 }, str::len);
    format!("{}{}", &word[..start], plan::strike_secret(&word[start..]))
}

/// `headers=Cookie secret`, a property of YCSB's, without its value where one is secret.
fn strike_property(word: &str) -> String {
    let Some(value) = word.strip_prefix("headers=") else { return word.to_owned() };
    let mut names = value.split_whitespace().step_by(2);
    let secret = names.any(|name| plan::strike_secret(name) != name);
    if secret { "headers=***".to_owned() } else { word.to_owned() }
}

/// `http://user:secret@host` as `http://user:***@host`, with or without a scheme.
fn strike_password(word: &str) -> String {
    let authority = word.find("://").map_or(0, |scheme| scheme + 3);
    let end = word[authority..].find(['/', ' ']).map_or(word.len(), |i| authority + i);
    let Some(at) = word[authority..end].rfind('@').map(|i| authority + i) else {
        return word.to_owned();
    };
    let Some(colon) = word[authority..at].find(':').map(|i| authority + i) else {
        return word.to_owned();
    };
    format!("{}:***{}", &word[..colon], &word[at..])
}

/// Prints help where it was asked for, and any other refusal as one line with its cure.
fn refuse(error: &clap::Error) -> Exit {
    if matches!(
        error.kind(),
        ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    ) {
        let _ = error.print();
        let asked = error.kind() != ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
        return if asked { Exit::Passed } else { Exit::Usage };
    }
    let plain = error.render().to_string();
    let first = plain.lines().next().unwrap_or_default().trim_start_matches("error: ");
    let suggestion =
        [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand, ContextKind::SuggestedValue]
            .into_iter()
            .find_map(|kind| match error.get(kind)? {
                ContextValue::String(name) => Some(name.clone()),
                ContextValue::Strings(names) => names.first().cloned(),
                _ => None,
            })
            .or_else(|| match error.get(ContextKind::InvalidSubcommand)? {
                ContextValue::String(word) => nearest_verb(word),
                _ => None,
            });
    let missing = match (error.kind(), error.get(ContextKind::InvalidArg)) {
        (ErrorKind::MissingRequiredArgument, Some(ContextValue::Strings(names))) => {
            format!(" {}", names.join(", "))
        }
        _ => String::new(),
    };
    let cure = suggestion
        .map_or_else(|| "see springload --help".to_owned(), |name| format!("did you mean {name}?"));
    eprintln!("error: {first}{missing}; {cure}");
    Exit::Usage
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_struck_out_of_the_command() {
        for (word, struck) in [
            ("http://me:secret@h/x", "http://me:***@h/x"),
            ("me:secret@h:80/x PUT {\"a\":\"b@c\"}", "me:***@h:80/x PUT {\"a\":\"b@c\"}"),
            ("http://h PUT {\"a\":\"b@c\"}", "http://h PUT {\"a\":\"b@c\"}"),
            ("Cookie: a=b", "Cookie: ***"),
            ("-Hauthorization: Basic x", "-Hauthorization: ***"),
            ("--header=Authorization:x", "--header=Authorization: ***"),
            ("Accept: text/html", "Accept: text/html"),
            ("headers=Accept */* authorization x", "headers=***"),
            ("headers=Accept */*", "headers=Accept */*"),
            ("read.p99 > 20ms", "read.p99 > 20ms"),
        ] {
            assert_eq!(without_secrets(word), struck);
        }
    }

    #[test]
    fn the_flags_of_every_verb_go_together() {
        Cli::command().debug_assert();
    }
}
