//! Plan files in TOML: the flags of `springload run`, without their dashes, as keys.
//!
//! A file becomes the words that would be typed, so that every check and message is the same;
//! messages about a value name its file, line and key.

mod read;
mod tables;

pub(super) use read::NOT_HERE;

use crate::cli::scenario::Scenario;
use crate::plan::Invalid;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The arguments that can name a plan file: the IDs of positional arguments.
const POSITIONS: [&str; 2] = ["plan", "target"];

/// Flags of the command line that replace a key of the file although the two can be combined:
/// stages have their own length.
const REPLACED: [(&str, &str); 1] = [("stages", "duration")];

/// Whether a word that could be a target is the name of a plan file with this extension.
pub(in crate::cli) fn is_plan(word: &str, extension: &str) -> bool {
    let own = Path::new(word).extension();
    !word.contains("://") && own.is_some_and(|it| it.eq_ignore_ascii_case(extension))
}

/// Refuses a script of k6 among words that name a target or a plan.
pub(in crate::cli) fn no_script<'a>(
    mut words: impl Iterator<Item = &'a String>,
) -> Result<(), Invalid> {
    let script = words.find(|word| is_plan(word, "js") || is_plan(word, "ts"));
    script.map_or(Ok(()), |script| {
        let problem = format!("{script} looks like a k6 script, which springload cannot run");
        let cure = "write a plan instead: see springload init, and docs/operations.md";
        Err(Invalid::new("TARGET", problem, cure))
    })
}

/// Reads the plan file that `arguments` name, if any. `grammar` has the flags of the verb, whose
/// name is the second argument.
///
/// # Errors
/// Returns every mistake in the file, with its line.
pub(in crate::cli) fn scenario(
    grammar: &Command,
    arguments: &[OsString],
) -> Result<Option<Scenario>, Vec<Invalid>> {
    // Missing settings may be in the file; everything else is reported when both have been read.
    let lenient = grammar.clone().ignore_errors(true);
    let Ok(matches) = lenient.try_get_matches_from(arguments.iter().skip(1)) else {
        return Ok(None);
    };
    let Some(file) = named(&matches)? else { return Ok(None) };
    let settings = read::settings(grammar, &file)?;
    let given: Vec<&Arg> = grammar.get_arguments().filter(|it| is_given(it, &matches)).collect();
    let mut scenario = Scenario::default();
    for setting in settings {
        let Some(argument) = setting.argument else {
            scenario.places.push(("TARGET".to_owned(), setting.place));
            scenario.target = setting.value;
            continue;
        };
        let replaced = |own: &&Arg| {
            let longs = own.get_long().zip(argument.get_long());
            excludes(grammar, own, argument) || longs.is_some_and(|pair| REPLACED.contains(&pair))
        };
        if given.iter().any(replaced) {
            continue;
        }
        let mut flag = format!("--{}", argument.get_long().unwrap_or_default());
        if let Some(named) = setting.named {
            flag = format!("{flag} {named}");
        }
        scenario.words.extend(setting.words);
        scenario.places.push((flag, setting.place));
    }
    combined(grammar, arguments, &scenario, &file)?;
    Ok(Some(scenario))
}

/// Refuses settings that are missing from both the file and the command line, if only the file
/// makes them necessary.
fn combined(
    grammar: &Command,
    arguments: &[OsString],
    scenario: &Scenario,
    file: &Path,
) -> Result<(), Vec<Invalid>> {
    let own = arguments.get(2..).unwrap_or_default();
    let parse = |words: &[OsString]| {
        grammar.clone().no_binary_name(true).try_get_matches_from(words).map(drop)
    };
    let Err(error) = parse(&[&scenario.words, own].concat()) else { return Ok(()) };
    if error.kind() != ErrorKind::MissingRequiredArgument || parse(own).is_err() {
        return Ok(());
    }
    let missing = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::Strings(names)) => names.join(", "),
        _ => String::new(),
    };
    let problem = format!("a key that makes no sense without {missing}");
    let cure = "add what is missing, or leave the key out";
    Err(vec![Invalid::new(file.display().to_string(), problem, cure)])
}

/// The operations of a plan file, and the lists that they take values from, as words of the command
/// line. `grammar` is that of `run`.
///
/// # Errors
/// Returns every mistake in the file, with its line.
pub(in crate::cli::verb) fn definitions(
    grammar: &Command,
    file: &Path,
) -> Result<[Vec<String>; 2], Vec<Invalid>> {
    let mut words: Vec<String> = Vec::new();
    for setting in read::settings(grammar, file)? {
        words.extend(setting.words.into_iter().filter_map(|word| word.into_string().ok()));
    }
    Ok(["--op=", "--data="].map(|flag| {
        words.iter().filter_map(|word| word.strip_prefix(flag)).map(str::to_owned).collect()
    }))
}

/// The plan file among the positional arguments.
fn named(matches: &ArgMatches) -> Result<Option<PathBuf>, Vec<Invalid>> {
    let words = POSITIONS.iter().filter_map(|id| matches.get_one::<String>(id));
    let files: Vec<_> = words.filter(|word| is_plan(word, "toml")).collect();
    match files[..] {
        [] => Ok(None),
        [file] => Ok(Some(PathBuf::from(file))),
        [one, other, ..] => {
            let problem = format!("{one} and {other} are both plans");
            Err(vec![Invalid::new("PLAN", problem, "give only one")])
        }
    }
}

fn is_given(argument: &Arg, matches: &ArgMatches) -> bool {
    matches.value_source(argument.get_id().as_str()) == Some(ValueSource::CommandLine)
}

/// Whether a flag that is given replaces one in the file: they are the same, or exclude each other.
pub(super) fn excludes(grammar: &Command, given: &Arg, other: &Arg) -> bool {
    let conflict = |one: &Arg, other: &Arg| {
        grammar.get_arg_conflicts_with(one).iter().any(|it| it.get_id() == other.get_id())
    };
    let grouped = || {
        grammar.get_groups().filter(|group| !(*group).clone().is_multiple()).any(|group| {
            let members: Vec<_> = group.get_args().collect();
            members.contains(&given.get_id()) && members.contains(&other.get_id())
        })
    };
    given.get_id() == other.get_id()
        || conflict(given, other)
        || conflict(other, given)
        || grouped()
}
