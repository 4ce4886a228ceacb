//! Help: a short one that fits on a screen (`-h`), a long one with headings (`--help`), and that of
//! the whole program.

mod headings;

use super::call::{Example, Family, VerbEntry};
use super::exit::{Exit, Statuses};
use clap::builder::{Str, Styles};
use clap::{Arg, ArgAction, Command};
use std::fmt::Write as _;

/// All text is in the parts before and after, except for the flags of the long help.
const TEMPLATE: &str = "{before-help}{all-args}{after-help}";
/// The columns of the short help.
const WIDTH: usize = 80;

impl VerbEntry {
    /// Its part of the command line, with its help.
    pub(in crate::cli) fn grammar(&self) -> Command {
        let bare = Command::new(self.name).about(self.about);
        let bare = self.alias.iter().fold(bare, Command::visible_alias);
        // Otherwise the comment on the type would replace its description.
        let flagged = (self.flags)(bare.clone().disable_help_flag(true)).about(self.about);
        let flagged = flagged.long_about(None).arg(help_flag());
        let nested = flagged.has_subcommands();
        let command = if self.family.measures() {
            let bare = bare.args_override_self(self.family == Family::Dialect);
            headings::put(bare.disable_help_flag(true), &flagged)
        } else {
            flagged
        };
        let usage = usage(&command);
        let long = format!("{}\n\n{usage}", self.about);
        let brief = brief(self, &command, &usage);
        let command = command
            .help_template(TEMPLATE)
            .after_long_help(self.after())
            .before_help(brief)
            .before_long_help(long);
        if nested {
            // The help of its subcommands is left to clap.
            return command.mut_subcommands(|it| it.arg(help_flag()).disable_help_flag(true));
        }
        command.mut_args(|argument| long_alone(argument).hide_short_help(true))
    }

    /// The text after the flags in the long help.
    fn after(&self) -> String {
        format!("{}\n\n{}", examples(&self.examples, true), exits(self.exits))
    }
}

/// Exit statuses, one per line.
fn exits(all: Statuses) -> String {
    let mut text = heading("Exit status");
    for (exit, words) in all {
        let _ = write!(text, "\n  {:<4} {words}", *exit as u8);
    }
    text
}

/// The first paragraph on a flag is for the short help; the long help has only the others, if there
/// are any.
fn long_alone(argument: Arg) -> Arg {
    let short = argument.get_help().map(ToString::to_string);
    let long = argument.get_long_help().map(ToString::to_string);
    let rest = short.zip(long).and_then(|(short, long)| {
        let rest = long.strip_prefix(&short)?.trim_start_matches('.').strip_prefix("\n\n")?;
        Some(rest.to_owned())
    });
    match rest {
        Some(rest) => argument.long_help(rest),
        None => argument,
    }
}

fn help_flag() -> Arg {
    let help = "Show all flags; with -h only the most important ones";
    Arg::new("help").short('h').long("help").action(ArgAction::Help).help(help)
}

/// Text in the style of a heading.
fn heading(text: &str) -> String {
    let style = Styles::styled();
    let style = style.get_header();
    format!("{style}{text}:{style:#}")
}

/// Text in the style of something to type.
fn literal(text: &str) -> String {
    let style = Styles::styled();
    let style = style.get_literal();
    format!("{style}{text}{style:#}")
}

fn usage(command: &Command) -> String {
    let mut words = format!("springload {}", command.get_name());
    if command.has_subcommands() {
        words.push_str(" COMMAND");
    }
    words.push_str(" [OPTIONS]");
    for argument in command.get_positionals() {
        let name = value_name(argument);
        let many = argument.get_num_args().is_some_and(|it| it.max_values() > 1);
        let dots = if many || is_list(argument) { "..." } else { "" };
        let dashes = if argument.is_last_set() { "-- " } else { "" };
        let [open, close] = if argument.is_required_set() { ["", ""] } else { ["[", "]"] };
        let _ = write!(words, " {open}{dashes}{name}{dots}{close}");
    }
    format!("{} {}", heading("Usage"), literal(&words))
}

fn is_list(argument: &Arg) -> bool {
    matches!(argument.get_action(), ArgAction::Append)
}

fn value_name(argument: &Arg) -> String {
    let id = || argument.get_id().as_str().to_uppercase();
    argument.get_value_names().map_or_else(id, |names| names.iter().map(Str::as_str).collect())
}

/// The short help: what it does, how it is called, the flags that matter most, examples.
fn brief(verb: &VerbEntry, command: &Command, usage: &str) -> String {
    let all = || command.get_arguments().filter(|it| !it.is_hide_set());
    let shown: Vec<&Arg> = match verb.brief {
        "" => all().filter(|it| it.get_id() != "help").collect(),
        ids => ids.split_whitespace().filter_map(|id| all().find(|it| it.get_id() == id)).collect(),
    };
    let rows: Vec<_> =
        shown.iter().map(|argument| (spelled(argument), description(argument))).collect();
    let column = rows.iter().map(|(flag, _)| flag.chars().count()).max().unwrap_or_default();
    let mut text = format!("{}\n\n{usage}\n\n", verb.about);
    for (flag, description) in &rows {
        let pad = " ".repeat(column - flag.chars().count());
        let mut lines = wrapped(description, WIDTH - column - 4).into_iter();
        let first = lines.next().unwrap_or_default();
        let _ = writeln!(text, "  {}{pad}  {first}", literal(flag));
        for line in lines {
            let _ = writeln!(text, "{:1$}{line}", "", column + 4);
        }
    }
    for verb in command.get_subcommands() {
        let about = verb.get_about().map_or_else(String::new, ToString::to_string);
        let _ = writeln!(text, "  {}  {about}", literal(verb.get_name()));
    }
    let gap = if text.ends_with("\n\n") { "" } else { "\n" };
    let _ = write!(text, "{gap}{}", examples(&verb.examples, false));
    let _ = write!(text, "\n\nAll flags: {}", literal(&format!("springload {} --help", verb.name)));
    text
}

/// A flag with its value, as it is typed.
fn spelled(argument: &Arg) -> String {
    if argument.is_positional() {
        return value_name(argument);
    }
    let mut text = match (argument.get_short(), argument.get_long()) {
        (Some(short), Some(long)) => format!("-{short}, --{long}"),
        (Some(short), None) => format!("-{short}"),
        (None, long) => format!("    --{}", long.unwrap_or_default()),
    };
    if argument.get_action().takes_values() {
        let _ = write!(text, " {}", value_name(argument));
    }
    text
}

/// What a flag does, and its default.
fn description(argument: &Arg) -> String {
    let mut text = argument.get_help().map_or_else(String::new, ToString::to_string);
    let defaults: Vec<_> =
        argument.get_default_values().iter().map(|it| it.to_string_lossy()).collect();
    if !defaults.is_empty() && argument.get_action().takes_values() {
        let _ = write!(text, " [default: {}]", defaults.join(" "));
    }
    text
}

/// Wraps text to this many columns; a longer word gets its own line.
fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= columns => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// The examples, one per line, with or without explanations.
fn examples(all: &[Example], explained: bool) -> String {
    let mut text = heading("Examples");
    for (what, line) in all {
        let indent = if explained { 6 } else { 2 };
        if explained {
            let _ = write!(text, "\n  {what}:");
        }
        for line in continued(&format!("springload {line}"), WIDTH - indent) {
            let _ = write!(text, "\n{:indent$}{}", "", literal(&line));
        }
    }
    text
}

/// A command line, split over several lines if it is too long for one.
fn continued(line: &str, columns: usize) -> Vec<String> {
    if line.chars().count() <= columns {
        return vec![line.to_owned()];
    }
    let mut lines = wrapped(line, columns.saturating_sub(" \\".len() + 2));
    let last = lines.len().saturating_sub(1);
    for (number, line) in lines.iter_mut().enumerate() {
        let indent = if number > 0 { "  " } else { "" };
        let end = if number < last { " \\" } else { "" };
        *line = format!("{indent}{line}{end}");
    }
    lines
}

/// The help of the whole program. The first screen has what people use every day; the long help has
/// the rest below it.
pub(super) fn of_all(command: Command, verbs: &[&VerbEntry]) -> Command {
    let about = command.get_about().map_or_else(String::new, ToString::to_string);
    let usage = format!("{} {}", heading("Usage"), literal("springload VERB [OPTIONS] [TARGET]"));
    let first = ["run", "run http://user@localhost:5984 -d 30s", "report latest"];
    let first: Vec<_> = first.iter().map(|line| ("", *line)).collect();
    let often = families(verbs.iter().copied().filter(|verb| verb.often));
    let rare: Vec<_> = verbs.iter().copied().filter(|verb| !verb.often).collect();
    let named = |imitate: bool| {
        let own = rare.iter().filter(|verb| (verb.family == Family::Dialect) == imitate);
        own.map(|verb| verb.name).collect::<Vec<_>>().join(", ")
    };
    let tools = format!("{} {}", heading("Run as another tool"), named(true));
    let more = wrapped(&named(false), WIDTH - "More: ".len()).join("\n      ");
    let begin = format!("{about}\n\n{usage}\n{often}");
    let end = format!("{}\n\nFlags: {}", examples(&first, false), literal("springload VERB -h"));
    // clap counts the columns of a line that begins with a style together with the line before it.
    let short = format!("{begin}\n{tools}\nMore: {more}\n\n{end}");
    let short = short + &format!("; all verbs: {}", literal("springload --help"));
    let all = literal("springload VERB --help");
    let long = format!(
        "{begin}\n{end}; all of them: {all}\n{}\n{}",
        families(rare),
        exits(Exit::MEASURED)
    );
    command.help_template("{before-help}").before_help(short).before_long_help(long)
}

fn families<'a>(verbs: impl IntoIterator<Item = &'a VerbEntry>) -> String {
    let verbs: Vec<_> = verbs.into_iter().collect();
    let column = verbs.iter().map(|verb| verb.name.len()).max().unwrap_or_default();
    let mut text = String::new();
    for (family, title) in Family::ALL {
        let own: Vec<_> = verbs.iter().filter(|verb| verb.family == family).collect();
        if own.is_empty() {
            continue;
        }
        let _ = write!(text, "\n{}\n", heading(title));
        for verb in own {
            let pad = " ".repeat(column - verb.name.len());
            let _ = writeln!(text, "  {}{pad}  {}", literal(verb.name), verb.about);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{VERBS, grammar, grammar_of};
    use std::collections::BTreeMap;
    use std::ffi::OsString;

    fn words(line: &str) -> Vec<OsString> {
        // The rest is for the shell.
        let shell = [" > plan.toml", " > urls.txt", " > ~/.zfunc/_springload", " | man -l -"];
        let line = shell.iter().fold(line, |line, file| line.strip_suffix(file).unwrap_or(line));
        let words = crate::plan::words(&format!("springload {line}")).unwrap();
        words.into_iter().map(OsString::from).collect()
    }

    fn help(verb: &VerbEntry, flag: &str) -> String {
        let error = grammar().try_get_matches_from(["springload", verb.name, flag]).unwrap_err();
        assert_eq!(error.exit_code(), 0, "{error}");
        error.to_string()
    }

    #[test]
    fn examples_are_command_lines_that_are_understood() {
        for verb in VERBS.iter() {
            for (what, line) in verb.examples {
                let own = VERBS.iter().find(|it| line.split(' ').next() == Some(it.name));
                let verb = own.unwrap_or_else(|| panic!("{line}"));
                assert!(what.starts_with(char::is_uppercase) && !what.ends_with('.'), "{what}");
                let words = (verb.spelled_out)(words(line)).unwrap();
                if let Err(error) = grammar().try_get_matches_from(words) {
                    panic!("springload {line}: {error}");
                }
            }
        }
    }

    #[test]
    fn a_verb_is_the_same_without_the_others() {
        let mut all = grammar();
        for verb in VERBS.iter() {
            for word in ["-h", "--help", "--no-such-flag", "--quiet=no"] {
                let words = ["springload", verb.name, word];
                let outcome = |grammar: &mut Command| {
                    let parsed = grammar.try_get_matches_from_mut(words);
                    parsed.map(drop).map_err(|error| (error.kind(), error.to_string()))
                };
                assert_eq!(outcome(&mut grammar_of(&[verb])), outcome(&mut all), "{words:?}");
            }
        }
    }

    #[test]
    fn the_help_of_all_fits_a_terminal() {
        let text = grammar().try_get_matches_from(["springload", "-h"]).unwrap_err().to_string();
        let width = text.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(width <= WIDTH, "{width}:\n{text}");
        assert!(text.lines().count() <= 32, "{text}");
        // All names are on it; rarely used verbs are described in the long help.
        let long = grammar().try_get_matches_from(["springload", "--help"]).unwrap_err();
        let long = long.to_string();
        for verb in VERBS.iter() {
            let line = format!("\n  {} ", verb.name);
            assert!(text.contains(verb.name), "{}", verb.name);
            assert_eq!(text.contains(&line), verb.often, "{}", verb.name);
            assert_eq!(long.matches(&line).count(), 1, "{}", verb.name);
        }
        let first: String = long.lines().take(24).collect();
        assert!(!first.contains("k8s") && !first.contains("hbase"), "{long}");
    }

    #[test]
    fn exit_statuses_are_those_of_the_documentation() {
        let docs = include_str!("../../../docs/exit-codes.md");
        let text = grammar().try_get_matches_from(["springload", "--help"]).unwrap_err();
        let text = text.to_string();
        let run = help(VERBS.iter().find(|it| it.name == "run").unwrap(), "--help");
        for (exit, words) in Exit::ALL {
            assert!(docs.contains(&format!("\n| {} | ", exit as u8)), "{words}");
            let line = format!("\n  {:<4} {words}", exit as u8);
            assert!(text.contains(&line) && run.contains(&line), "{line}");
        }
        let rows = docs.lines().filter(|it| it.starts_with("| ") && !it.starts_with("| code"));
        assert_eq!(rows.count(), Exit::ALL.len());
    }

    #[test]
    fn every_verb_lists_the_exit_statuses_that_it_can_end_with() {
        let listed = |verb: &VerbEntry| {
            let text = help(verb, "--help");
            let (_, listed) = text.split_once("Exit status:\n").expect(verb.name);
            let number = |line: &str| line.split_whitespace().next()?.parse::<u8>().ok();
            listed.lines().map_while(number).collect::<Vec<_>>()
        };
        for verb in VERBS.iter() {
            let (name, numbers) = (verb.name, listed(verb));
            assert!(numbers.starts_with(&[0, 1, 2]) && numbers.is_sorted(), "{name}: {numbers:?}");
            let grammar = verb.grammar();
            let baseline = grammar.get_arguments().any(|it| it.get_long() == Some("baseline"));
            let compares = baseline || matches!(name, "ab" | "compare");
            assert_eq!(numbers.contains(&7), compares, "{name}: {numbers:?}");
            let measures = verb.family.measures() && name != "init";
            assert_eq!(numbers.contains(&130), measures, "{name}: {numbers:?}");
        }
        for (name, wanted) in [
            ("run", &[0, 1, 2, 3, 4, 5, 6, 7, 130][..]),
            ("drill", &[0, 1, 2, 3, 4, 5, 6, 130]),
            ("max", &[0, 1, 2, 3, 4, 5, 6, 130]),
            ("ab", &[0, 1, 2, 3, 5, 6, 7, 130]),
            ("siege", &[0, 1, 2, 3, 4, 5, 6, 130]),
            ("init", &[0, 1, 2]),
            ("compare", &[0, 1, 2, 5, 6, 7]),
            ("size", &[0, 1, 2, 4, 5]),
            ("report", &[0, 1, 2]),
            ("selftest", &[0, 1, 2, 5]),
            ("agent", &[0, 1, 2, 3]),
            ("clean", &[0, 1, 2, 3]),
            ("shell", &[0, 1, 2, 3]),
            ("serve", &[0, 1, 2]),
        ] {
            assert_eq!(listed(VERBS.iter().find(|it| it.name == name).expect(name)), wanted);
        }
    }

    #[test]
    fn a_verb_describes_itself_in_completions_and_man_pages() {
        for verb in grammar().get_subcommands().filter(|it| it.get_name() != "help") {
            let own = VERBS.iter().find(|it| it.name == verb.get_name()).unwrap();
            let about = verb.get_about().map(ToString::to_string);
            assert_eq!(about.as_deref(), Some(own.about), "{}", own.name);
            assert!(verb.get_long_about().is_none(), "{}", own.name);
        }
    }

    #[test]
    fn a_letter_means_the_same_in_all_native_verbs() {
        fn collect(verb: &Command, letters: &mut BTreeMap<char, (String, Vec<String>)>) {
            for argument in verb.get_arguments() {
                let long = argument.get_long().unwrap_or_default();
                for letter in argument.get_short_and_visible_aliases().unwrap_or_default() {
                    let known = letters.entry(letter).or_insert((long.to_owned(), Vec::new()));
                    assert_eq!(known.0, long, "-{letter} in {} and {:?}", verb.get_name(), known.1);
                    // Hidden flags are refused, such as the rate that is searched for.
                    if !argument.is_hide_set() {
                        known.1.push(verb.get_name().to_owned());
                    }
                }
                assert!(argument.get_all_short_aliases().is_none_or(|it| it.is_empty()));
            }
            verb.get_subcommands().for_each(|verb| collect(verb, letters));
        }
        let mut letters = BTreeMap::new();
        for verb in VERBS.iter().filter(|verb| verb.family != Family::Dialect) {
            collect(&verb.grammar(), &mut letters);
        }
        assert!(letters.len() > 10);
        let table = include_str!("../../../docs/command-line.md");
        let rows: Vec<_> = table.lines().filter(|line| line.starts_with("| `-")).collect();
        assert_eq!(rows.len(), letters.len(), "{letters:?}");
        for (letter, (long, verbs)) in letters {
            let row = rows.iter().find(|row| row.starts_with(&format!("| `-{letter}` |"))).unwrap();
            let cells: Vec<_> = row.split(" | ").collect();
            assert!(letter == 'h' || cells[1].starts_with(&format!("`--{long}`: ")), "{row}");
            let named: Vec<_> = cells[2].split('`').skip(1).step_by(2).collect();
            let same = named.iter().all(|verb| verbs.iter().any(|it| it == verb));
            assert!(letter == 'h' || same && named.len() == verbs.len(), "{row} {verbs:?}");
        }
    }

    #[test]
    fn the_short_help_fits_a_screen() {
        let mut too_large = Vec::new();
        for verb in VERBS.iter() {
            let text = help(verb, "-h");
            let height = text.lines().count();
            let width = text.lines().map(|line| line.chars().count()).max().unwrap();
            if height > 24 || width > WIDTH {
                too_large.push(format!("{height} × {width}:\n{text}"));
            }
            assert!(text.contains(&format!("\nAll flags: springload {} --help", verb.name)));
            for id in verb.brief.split_whitespace() {
                let known = verb.grammar().get_arguments().any(|it| it.get_id() == id);
                assert!(known, "{}: {id}", verb.name);
            }
        }
        assert!(too_large.is_empty(), "{}", too_large.join("\n"));
    }

    #[test]
    fn only_verbs_with_a_report_promise_a_warning_in_it() {
        let warns = |command: &Command| {
            let insecure = command.get_arguments().find(|it| it.get_long() == Some("insecure"));
            let long = insecure.and_then(Arg::get_long_help).map(ToString::to_string);
            long.unwrap_or_default().contains("every report warns")
        };
        let of = |name: &str| VERBS.iter().find(|it| it.name == name).expect(name).grammar();
        assert!(warns(&of("run")) && warns(&of("http")));
        assert!(!warns(&of("clean")) && !warns(&of("shell")));
        assert!(of("hbase").get_subcommands().all(|it| !warns(it)));
    }

    #[test]
    fn the_long_help_has_all_flags() {
        for verb in VERBS.iter() {
            let text = help(verb, "--help");
            for argument in verb.grammar().get_arguments().filter(|it| !it.is_hide_set()) {
                let flag = argument.get_long().map(|long| format!("--{long}"));
                assert!(flag.is_none_or(|flag| text.contains(&flag)), "{text}");
                // A whole sentence, not the rest of one.
                let long = argument.get_long_help().map(ToString::to_string).unwrap_or_default();
                assert_eq!(long, long.trim(), "{argument}");
                let short = argument.get_help().map(ToString::to_string).unwrap_or_default();
                for text in [&short, &long] {
                    // Terminals show Markdown as it is.
                    assert!(!text.contains('`'), "{} {argument}: {text}", verb.name);
                    assert!(!text.ends_with('.'), "{} {argument}: {text}", verb.name);
                }
            }
            let text: Vec<_> = text.split_whitespace().filter(|word| *word != "\\").collect();
            let text = text.join(" ");
            for (_, line) in verb.examples {
                assert!(text.contains(&format!("springload {line}")), "{text}");
            }
        }
    }
}
