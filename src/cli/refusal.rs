//! Messages for a command line that cannot be parsed: one line per mistake, with its cure.

use super::exit::Exit;
use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::ffi::OsString;

/// Reports every invalid value, not only the first.
pub(super) fn refuse_all(
    mut arguments: Vec<OsString>,
    mut error: clap::Error,
    grammar: fn() -> Command,
) -> Exit {
    loop {
        let exit = refuse(&error, grammar);
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

/// Removes the flag that the error is about from the arguments, with its value.
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

/// The verb closest to `word`, if it is within two typing errors.
fn nearest_verb(word: &str, grammar: fn() -> Command) -> Option<String> {
    let command = grammar();
    let slips = |verb: &str| strsim::damerau_levenshtein(verb, word);
    let verbs = command.get_subcommands().map(Command::get_name);
    verbs.min_by_key(|verb| slips(verb)).filter(|verb| slips(verb) <= 2).map(str::to_owned)
}

/// Prints help if it was asked for, and any other error as one line with its cure.
fn refuse(error: &clap::Error, grammar: fn() -> Command) -> Exit {
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
                ContextValue::String(word) => nearest_verb(word, grammar),
                _ => None,
            });
    let missing = match (error.kind(), error.get(ContextKind::InvalidArg)) {
        (ErrorKind::MissingRequiredArgument, Some(ContextValue::Strings(names))) => {
            format!(" {}", names.join(", "))
        }
        _ => String::new(),
    };
    let known = || match error.get(ContextKind::ValidValue)? {
        ContextValue::Strings(names) => Some(format!("give one of {}", names.join(", "))),
        _ => None,
    };
    let near = suggestion.map(|name| format!("did you mean {name}?"));
    let cure = near.or_else(known).unwrap_or_else(|| "see springload --help".to_owned());
    eprintln!("error: {first}{missing}; {cure}");
    Exit::Usage
}
