//! `springload init`: a plan file with every key, equivalent to a bare `springload run`.

use super::run::Run;
use super::scenario::{NOT_HERE, excludes};
use crate::cli::call::{Call, Example, Family, Verb};
use crate::cli::exit::{Exit, Statuses, Trouble};
use crate::cli::print::print;
use crate::driver::{CARDS, Word};
use clap::builder::PossibleValue;
use clap::{Arg, Command};
use std::fmt::Write as _;

/// The width of comments, in columns.
const WIDTH: usize = 78;

const HEAD: &str = include_str!("init-head.toml");

/// Initial values for flags without a default.
const VALUES: &str = include_str!("init-values.toml");

/// Example lists for operations.
const LISTS: &str = r#"#
#   [data.city]
#   one-of = ["Berlin", "Paris", "Rome"]
#
#   [data.street]
#   csv = "streets.csv"
#   column = "name"
#   order = "once"
"#;

/// `springload init`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Init;

impl Verb for Init {
    const NAME: &'static str = "init";
    const ABOUT: &'static str = "Print a plan file with every setting, as a starting point";
    const FAMILY: Family = Family::Measure;
    const OFTEN: bool = true;
    const EXAMPLES: [Example; 3] = [
        ("A plan file to edit", "init > plan.toml"),
        ("See what it asks for", "run plan.toml --dry-run"),
        ("The same with another rate", "run plan.toml -r 500"),
    ];
    const EXITS: Statuses = Exit::PLAIN;

    fn carry_out(self, _: &Call<'_>) -> Result<Exit, Trouble> {
        print(example(&Run::grammar()).as_bytes());
        Ok(Exit::Passed)
    }
}

/// The plan file for the flags of this command.
fn example(grammar: &Command) -> String {
    let (mut out, mut heading) = (HEAD.to_owned(), None);
    for argument in grammar.get_arguments() {
        let Some(key) = argument.get_long().filter(|key| !NOT_HERE.contains(key)) else { continue };
        if argument.is_hide_set() {
            continue;
        }
        out.push('\n');
        if argument.get_help_heading() != heading {
            heading = argument.get_help_heading();
            let _ = writeln!(out, "# ---- {} ----\n", heading.unwrap_or("More"));
        }
        comment(&mut out, argument);
        let mark = if is_set(grammar, argument) { "" } else { "# " };
        let _ = writeln!(out, "{mark}{key} = {}", value(argument, key));
    }
    operations(&mut out);
    out
}

/// An example operation for each operation of each driver.
fn operations(out: &mut String) {
    out.push_str("\n# ---- Operations of your own, which need a weight in mix ----\n");
    for card in CARDS.iter().filter(|card| !card.words.is_empty()) {
        let _ = writeln!(out);
        wrapped(out, &format!("In the words of {}:", card.summary));
        for Word { name, help, example } in card.words {
            let _ = writeln!(out, "#\n#   [operation.my_{name}]");
            wrapped_at("#   #", out, help);
            let _ = writeln!(out, "#   {name} = {}", literal(example));
        }
    }
    out.push('\n');
    wrapped(out, "Lists of values for them, in this file or in one of rows and columns:");
    out.push_str(LISTS);
}

/// A TOML string, without escapes if possible.
fn literal(text: &str) -> String {
    if text.contains('\'') { format!("{text:?}") } else { format!("'{text}'") }
}

/// The help of a flag.
fn comment(out: &mut String, argument: &Arg) {
    let help = argument
        .get_long_help()
        .or(argument.get_help())
        .map(ToString::to_string)
        .unwrap_or_default();
    wrapped(out, &help);
    let values = argument.get_possible_values();
    let names: Vec<_> =
        values.iter().filter(|it| !it.is_hide_set()).map(PossibleValue::get_name).collect();
    if argument.get_action().takes_values() && !names.is_empty() {
        wrapped(out, &format!("One of: {}", names.join(", ")));
    }
}

/// A comment, split over several lines if it is too long for one.
fn wrapped(out: &mut String, text: &str) {
    wrapped_at("#", out, text);
}

/// The same, with lines that begin with `mark`.
fn wrapped_at(mark: &str, out: &mut String, text: &str) {
    let mut line = mark.to_owned();
    for word in text.split_whitespace() {
        if line.chars().count() + 1 + word.chars().count() > WIDTH {
            out.push_str(&line);
            out.push('\n');
            mark.clone_into(&mut line);
        }
        line.push(' ');
        line.push_str(word);
    }
    let _ = writeln!(out, "{line}");
}

/// Whether a flag has a default that can stay when other flags are given.
fn is_set(grammar: &Command, argument: &Arg) -> bool {
    let [default] = argument.get_default_values() else { return false };
    let free = grammar
        .get_arguments()
        .all(|other| other.get_id() == argument.get_id() || !excludes(grammar, argument, other));
    let word = format!("--{}={}", argument.get_long().unwrap_or_default(), default.display());
    let alone = grammar.clone().no_binary_name(true).try_get_matches_from([word]);
    argument.get_action().takes_values() && free && alone.is_ok()
}

/// The default of a flag as TOML, or an initial value.
fn value(argument: &Arg, key: &str) -> String {
    let mut values = VALUES.lines().filter_map(|line| line.split_once(" = "));
    if let Some((_, example)) = values.find(|(name, _)| *name == key) {
        return example.to_owned();
    }
    if !argument.get_action().takes_values() {
        return "true".to_owned();
    }
    let default = argument.get_default_values().first().map(|it| it.to_string_lossy());
    match default {
        Some(text) if text.parse::<u64>().is_ok() => text.into_owned(),
        Some(text) => format!("{text:?}"),
        None => "\"\"".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::verb::scenario::scenario;
    use clap::FromArgMatches as _;
    use std::ffi::OsString;

    /// The words that a plan file with this text adds.
    fn words(text: &str) -> Result<Vec<OsString>, String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("plan.toml");
        std::fs::write(&file, text).unwrap();
        let arguments = ["springload".into(), "run".into(), file.into_os_string()];
        let messages = |mistakes: Vec<crate::plan::Invalid>| {
            mistakes.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
        };
        scenario(&Run::grammar(), &arguments).map_err(messages).map(|it| it.unwrap().words)
    }

    #[test]
    fn as_it_is_it_asks_for_what_no_flag_asks_for() {
        let words = words(&example(&Run::grammar())).unwrap();
        assert!(words.contains(&"--connections=auto".into()), "{words:?}");
        let parsed = |words: Vec<OsString>| {
            let matches = Run::grammar().no_binary_name(true).try_get_matches_from(words).unwrap();
            format!("{:?}", Run::from_arg_matches(&matches).unwrap())
        };
        assert_eq!(parsed(words), parsed(Vec::new()));
    }

    #[test]
    fn every_word_has_an_operation_that_can_be_read() {
        let text = example(&Run::grammar());
        let own = text.split_once("# ---- Operations of your own").unwrap().1;
        let mut read = 0;
        for block in own.split("#\n").filter(|block| block.starts_with("#   [operation.")) {
            let block: Vec<_> =
                block.lines().filter_map(|line| line.strip_prefix("#   ")).collect();
            let added = words(&block.join("\n")).unwrap();
            let op = added.iter().filter_map(|word| word.to_str()?.strip_prefix("--op="));
            let plans: Vec<_> =
                op.map(|op| crate::driver::OperationPlan::parse(op).unwrap()).collect();
            assert_eq!(plans.len(), 1, "{block:?}");
            assert_eq!(plans[0].name.name(), format!("my_{}", plans[0].word));
            read += 1;
        }
        let all: usize = CARDS.iter().map(|card| card.words.len()).sum();
        assert_eq!(read, all);
        let lists =
            own.split_once("#   [data.city]").unwrap().1.replace("#   ", "").replace('#', "");
        assert_eq!(words(&format!("[data.city]{lists}")).unwrap().len(), 2);
    }

    #[test]
    fn every_key_has_a_value_that_its_flag_takes() {
        let text = example(&Run::grammar());
        let mut seen = Vec::new();
        for line in text.lines() {
            let setting = line.strip_prefix("# ").unwrap_or(line);
            let Some((key, _)) = setting.split_once(" = ") else { continue };
            if !key.chars().all(|c| c.is_ascii_lowercase() || c == '-') {
                continue;
            }
            match words(setting) {
                Ok(added) => assert_eq!(added.is_empty(), key == "target", "{setting}"),
                Err(message) => assert!(message.contains("makes no sense without"), "{message}"),
            }
            seen.push(key);
        }
        let grammar = Run::grammar();
        for key in grammar.get_arguments().filter(|it| !it.is_hide_set()).filter_map(Arg::get_long)
        {
            assert!(seen.contains(&key) || NOT_HERE.contains(&key), "{key} is not in it");
        }
        let width = text.lines().map(|line| line.chars().count()).max();
        assert!(width <= Some(100), "{width:?}");
    }
}
