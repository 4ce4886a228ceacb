//! Messages for a command line that cannot be parsed: one line per mistake, with its cure.

use super::call::{Family, VerbEntry};
use super::exit::Exit;
use super::habits;
use super::print::unwritten;
use crate::driver::strike_secrets;
use crate::mistake::{BadValue, strike_passwords};
use crate::report::shown;
use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::error::Error as _;
use std::ffi::OsString;
use std::num::ParseIntError;

/// The message for the first word that clap would take for something that was hardly meant, as
/// other tools have it; `None`: there is none.
pub(super) fn misread(arguments: &[OsString], verb: &VerbEntry) -> Option<String> {
    // Dialects read such words as the original does.
    if verb.family == Family::Dialect {
        return None;
    }
    let words: Vec<_> = arguments.iter().skip(1).map(|it| it.to_string_lossy()).collect();
    let own = words.iter().position(|word| word == "--").unwrap_or(words.len());
    words[..own].windows(2).find_map(|pair| {
        let (before, word) = (&*pair[0], &*pair[1]);
        // Only the values of these begin with a dash.
        if matches!(before, "--a" | "--b") {
            return None;
        }
        let (problem, cure) = match habits::one_dash_beforehand(word, verb.name) {
            Some(cure) => (two_dashes(word), cure),
            None => {
                (format!("{before} takes no number"), habits::counted(before, word, verb.name)?)
            }
        };
        Some(line(&problem, &cure, &format!("springload {} --help", verb.name)))
    })
}

/// The problem of a long flag with a single dash.
fn two_dashes(word: &str) -> String {
    // Without its value, which may be a password.
    let flag = habits::name_in(word);
    format!("{flag}: a flag of more than one letter has two dashes")
}

/// A message with its cure, and where to look, without passwords.
fn line(problem: &str, cure: &str, see: &str) -> String {
    let line = format!("{}; {cure} (see {see})", strike_secrets(&strike_passwords(problem)));
    shown(&line, false)
}

/// Reports every invalid value, not only the first.
pub(super) fn refuse_all(
    mut arguments: Vec<OsString>,
    mut error: clap::Error,
    grammar: fn() -> Command,
    verbs: &[&VerbEntry],
) -> Exit {
    let named = arguments.get(1).and_then(|word| verbs.iter().find(|it| it.is(word)));
    let verb = named.map(|verb| verb.name);
    loop {
        let exit = refuse(&arguments, &error, verb, verbs);
        if !is_malformed(&error) || !leave_out(&mut arguments, &error) {
            return exit;
        }
        match grammar().try_get_matches_from(&arguments) {
            Err(next) if is_malformed(&next) => error = next,
            _ => return exit,
        }
    }
}

fn is_malformed(error: &clap::Error) -> bool {
    matches!(error.kind(), ErrorKind::ValueValidation | ErrorKind::InvalidValue)
}

/// One of the strings in an error's context.
fn text(error: &clap::Error, kind: ContextKind) -> Option<&str> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text),
        ContextValue::Strings(texts) => texts.first().map(String::as_str),
        _ => None,
    }
}

/// The flag that an error is about, as clap shows it: `--docs <N>`.
fn shown_flag(error: &clap::Error) -> &str {
    text(error, ContextKind::InvalidArg).unwrap_or_default()
}

/// A flag without its value.
fn flag_alone(shown: &str) -> &str {
    let flag = shown.split([' ', '=']).next().unwrap_or_default();
    flag.trim_matches(['<', '>', '[', ']', '.'])
}

/// Removes the flag that the error is about, with its value, from the arguments.
fn leave_out(arguments: &mut Vec<OsString>, error: &clap::Error) -> bool {
    let flag = flag_alone(shown_flag(error));
    let value = text(error, ContextKind::InvalidValue).unwrap_or_default();
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

/// Prints help if it was asked for, and any other error as one line with its cure.
fn refuse(
    arguments: &[OsString],
    error: &clap::Error,
    verb: Option<&str>,
    verbs: &[&VerbEntry],
) -> Exit {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            if let Err(error) = error.print() {
                unwritten(&error);
            }
            return Exit::Passed;
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
            return Exit::Usage;
        }
        _ => {}
    }
    let see =
        verb.map_or("springload --help".to_owned(), |verb| format!("springload {verb} --help"));
    let (problem, cure) = match text(error, ContextKind::InvalidSubcommand) {
        Some(word) if error.kind() == ErrorKind::InvalidSubcommand => {
            let near = || nearest(word, verbs.iter().map(|verb| verb.name)).map(meant);
            let cure = habits::verb(word).or_else(near);
            (format!("unknown verb {word:?}"), cure.unwrap_or("give one of the verbs".to_owned()))
        }
        _ => one_dash(arguments, error, verb)
            .or_else(|| valued(arguments, error, verb))
            .unwrap_or_else(|| mistake(error, verb)),
    };
    eprintln!("error: {}", line(&problem, &cure, &see));
    Exit::Usage
}

/// The message for a long flag typed with a single dash, which was parsed as a letter with a value,
/// if the error is about one.
fn one_dash(
    arguments: &[OsString],
    error: &clap::Error,
    verb: Option<&str>,
) -> Option<(String, String)> {
    let value = text(error, ContextKind::InvalidValue).unwrap_or_default();
    let letter = shown_flag(error);
    let is_it = |word: &str| match error.kind() {
        ErrorKind::UnknownArgument => word.len() > 2 && word.get(..2) == Some(letter),
        _ if is_malformed(error) => word.get(2..) == Some(value) && !value.is_empty(),
        _ => false,
    };
    arguments.iter().skip(2).find_map(|word| {
        let word = word.to_str().filter(|word| is_it(word))?;
        Some((two_dashes(word), habits::one_dash(word, verb?)?))
    })
}

/// The message for an unknown letter whose value shows what is meant by it.
fn valued(
    arguments: &[OsString],
    error: &clap::Error,
    verb: Option<&str>,
) -> Option<(String, String)> {
    let (letter, verb) = (shown_flag(error), verb?);
    let is_letter = letter.len() == 2 && !letter.starts_with("--");
    if error.kind() != ErrorKind::UnknownArgument || !is_letter {
        return None;
    }
    let at = arguments.iter().position(|it| it.to_string_lossy().starts_with(letter))?;
    let own = arguments[at].to_string_lossy()[2..].to_owned();
    let next = || arguments.get(at + 1).map(|it| it.to_string_lossy().into_owned());
    let value = if own.is_empty() { next()? } else { own };
    let cure = habits::valued(letter, &value, verb)?;
    Some((format!("{verb} has no flag {letter}"), cure))
}

/// What is wrong with a command line, and how to fix it.
pub(super) fn mistake(error: &clap::Error, verb: Option<&str>) -> (String, String) {
    let shown = shown_flag(error);
    let flag = flag_alone(shown);
    let value = text(error, ContextKind::InvalidValue).unwrap_or_default();
    match error.kind() {
        ErrorKind::UnknownArgument => unknown(shown, error, verb),
        ErrorKind::InvalidValue if value.is_empty() => {
            (format!("{flag}: the value is missing"), format!("give {}", plain(shown)))
        }
        ErrorKind::InvalidValue => {
            let known = match error.get(ContextKind::ValidValue) {
                Some(ContextValue::Strings(names)) => &names[..],
                _ => &[],
            };
            let near = text(error, ContextKind::SuggestedValue);
            let cure = near.map_or_else(|| format!("give one of {}", known.join(", ")), meant);
            (format!("{flag}: unknown value {value:?}"), cure)
        }
        ErrorKind::ValueValidation => {
            if let Some(cure) = verb.and_then(|verb| habits::meant(flag, value, verb)) {
                return (format!("{flag} does not take {value:?}"), cure);
            }
            let bad = error.source().and_then(|it| it.downcast_ref::<BadValue>());
            if let Some(BadValue { problem, cure }) = bad {
                return (format!("{flag}: {problem}"), cure.clone());
            }
            let source = error.source().map_or_else(String::new, ToString::to_string);
            let number = error.source().and_then(|it| it.downcast_ref::<ParseIntError>());
            if number.is_some() {
                let problem = format!("{flag}: {value:?} is not a whole number in range");
                return (problem, "give a number such as 42".to_owned());
            }
            (format!("{flag}: {value:?}: {source}"), format!("give {}", plain(shown)))
        }
        ErrorKind::MissingRequiredArgument => match error.get(ContextKind::InvalidArg) {
            Some(ContextValue::Strings(names)) if names.len() > 1 => {
                let names: Vec<_> = names.iter().map(|it| plain(it)).collect();
                (format!("{} are required", names.join(", ")), "add them".to_owned())
            }
            _ => {
                let name = plain(text(error, ContextKind::InvalidArg).unwrap_or_default());
                let cure = if name.contains('|') { "give one of them" } else { "add it" };
                (format!("{} is required", name.replace('|', " or ")), cure.to_owned())
            }
        },
        ErrorKind::ArgumentConflict => {
            let other = flag_alone(text(error, ContextKind::PriorArg).unwrap_or_default());
            let problem = if other == flag {
                format!("{flag} is given twice")
            } else {
                format!("{flag} and {other} cannot be combined")
            };
            (problem, "leave one of them out".to_owned())
        }
        _ => {
            let words = error.render().to_string();
            let line = words.lines().next().unwrap_or_default().trim_start_matches("error: ");
            (line.to_owned(), "check the spelling".to_owned())
        }
    }
}

/// A flag or another word that the verb does not know.
fn unknown(word: &str, error: &clap::Error, verb: Option<&str>) -> (String, String) {
    let verb = verb.unwrap_or("springload");
    if !word.starts_with('-') {
        let cure = "leave it out, or put words that belong together in quotes".to_owned();
        return (format!("unexpected argument {word:?}"), cure);
    }
    let moved = MOVED.iter().find(|(of, old, _)| *of == verb && word.starts_with(old));
    if let Some((_, old, new)) = moved {
        let now = if *old == "-t" { "threads" } else { "operations" };
        let problem = format!("{verb} no longer has {old} (in other verbs the number of {now})");
        return (problem, format!("give {new}"));
    }
    if let Some(cure) = habits::cure(flag_alone(word), verb) {
        return (format!("{verb} has no flag {}", flag_alone(word)), cure);
    }
    let near = text(error, ContextKind::SuggestedArg).map(flag_alone);
    let cure = habits::elsewhere(flag_alone(word), verb)
        .or_else(|| near.filter(|name| is_near(flag_alone(word), name)).map(meant))
        .unwrap_or("leave it out".to_owned());
    (format!("{verb} has no flag {}", flag_alone(word)), cure)
}

/// Letters that used to mean something else in one verb than in the others: verb, letter, new flag.
const MOVED: [(&str, &str, &str); 4] = [
    ("burst", "-n", "-c"),
    ("burst", "-t", "-d"),
    ("k8s", "-n", "--agents"),
    ("schema", "-n", "--docs"),
];

/// A flag and its value without the notation of manuals: `--docs <N>` as `--docs N`.
fn plain(shown: &str) -> String {
    shown.replace(['<', '>'], "").trim_end_matches("...").to_owned()
}

fn meant(name: &str) -> String {
    format!("did you mean {name}?")
}

/// The word closest to `word`, if it is near.
fn nearest<'a>(word: &str, all: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let slips = |other: &&str| strsim::damerau_levenshtein(other, word);
    all.min_by_key(slips).filter(|other| is_near(word, other))
}

/// Whether `word` is `other` with up to two typing errors, one in three letters, or its beginning.
fn is_near(word: &str, other: &str) -> bool {
    let [word, other] = [word, other].map(|it| it.trim_start_matches('-'));
    let slips = strsim::damerau_levenshtein(word, other);
    let begins = word.len() >= 3 && other.starts_with(word);
    begins || slips <= 2 && slips * 3 <= word.chars().count().max(other.chars().count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_likely_slip_is_suggested() {
        for (word, other) in [
            ("--connectoins", "--connections"),
            ("--conn", "--connections"),
            ("--num_conections", "--num_connections"),
            ("rnu", "run"),
            ("raport", "report"),
            ("comapre", "compare"),
        ] {
            assert!(is_near(word, other), "{word} {other}");
        }
        for (word, other) in [
            ("--connect-to", "--connections"),
            ("--hide-histogram", "--resume"),
            ("--fastest", "--fail-if"),
            ("--fast", "--list"),
            ("test", "list"),
            ("ls", "ab"),
            ("get", "ab"),
        ] {
            assert!(!is_near(word, other), "{word} {other}");
        }
    }
    #[test]
    fn a_semicolon_in_a_value_does_not_begin_the_cure() {
        let grammar = || {
            let docs = clap::Arg::new("docs").long("docs").value_parser(crate::plan::count);
            Command::new("springload").arg(docs)
        };
        for value in ["a; http://ann:secret@host", "ab"] {
            let error = grammar().try_get_matches_from(["springload", "--docs", value]);
            let (problem, cure) = mistake(&error.unwrap_err(), None);
            assert_eq!(problem, format!("--docs: {value:?} is not a count"));
            assert_eq!(cure, "give a whole number such as 50, 20k or 1M");
            // Only problems have passwords of the user in them.
            assert!(!line(&problem, &cure, "x").contains("secret"), "{value}");
        }
    }
}
