//! Reads a plan file: its keys, and the words of the command line that its values become.

use super::tables::{self, Definition};
use crate::cli::flags::credentials::has_password;
use crate::cli::flags::schema_source;
use crate::cli::refusal::mistake;
use crate::files;
use crate::mistake::BadValue;
use crate::plan::{Invalid, strike_secret};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, Command};
use std::any::TypeId;
use std::ffi::OsString;
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml::de::{DeTable, DeValue};

/// Flags that are not part of a plan.
pub(in crate::cli::verb) const NOT_HERE: [&str; 3] = ["help", "version", "dry-run"];
/// The largest plan file, in bytes.
const MOST_BYTES: u64 = 1 << 20;
/// With more typing errors than this, it is a different word.
const MOST_SLIPS: usize = 3;
const NO_PASSWORD: &str =
    "files are copied and kept; put the password into SPRINGLOAD_PASSWORD or a --password-file";

pub(super) struct Setting<'a> {
    /// The flag; `None` for the target.
    pub(super) argument: Option<&'a Arg>,
    /// The words of the command line for it.
    pub(super) words: Vec<OsString>,
    /// The target, or the nodes of a cluster.
    pub(super) value: Vec<String>,
    /// File and line.
    pub(super) place: String,
    /// The name of what it defines, if it defines something.
    pub(super) named: Option<String>,
}

fn wrong<T>(problem: &str, cure: impl Into<String>) -> Result<T, BadValue> {
    Err(BadValue::new(problem, cure))
}

/// The settings in a file, in order.
///
/// # Errors
/// Returns every mistake, with its line.
pub(super) fn settings<'a>(
    grammar: &'a Command,
    file: &Path,
) -> Result<Vec<Setting<'a>>, Vec<Invalid>> {
    let name = file.display().to_string();
    let unread = |problem: String| {
        let cure = "give a readable file; springload init prints one to start from";
        vec![Invalid::new("PLAN", format!("cannot read {name}: {problem}"), cure)]
    };
    let text = files::read_text(file, MOST_BYTES).map_err(|error| unread(error.to_string()))?;
    let reader = Reader { grammar, name, text: &text, folder: file.parent().unwrap_or(file) };
    reader.settings()
}

struct Reader<'a, 't> {
    grammar: &'a Command,
    name: String,
    text: &'t str,
    /// The base of relative paths.
    folder: &'t Path,
}

/// The address of the target, or those of the nodes of a cluster.
fn addresses(value: &DeValue<'_>) -> Result<Vec<String>, BadValue> {
    match value {
        DeValue::String(text) if has_password(text) => wrong("it has a password", NO_PASSWORD),
        DeValue::String(text) => Ok(vec![text.clone().into_owned()]),
        DeValue::Array(values) if !values.is_empty() => {
            let nodes: Result<Vec<_>, _> =
                values.iter().map(|value| addresses(value.get_ref())).collect();
            Ok(nodes?.concat())
        }
        _ => wrong("not an address", "give it in quotation marks"),
    }
}

impl<'a> Reader<'a, '_> {
    /// File and line.
    fn place(&self, span: &Range<usize>) -> String {
        let before = self.text.get(..span.start).unwrap_or(self.text);
        format!("{}:{}", self.name, before.matches('\n').count() + 1)
    }

    fn settings(&self) -> Result<Vec<Setting<'a>>, Vec<Invalid>> {
        let table = DeTable::parse(self.text).map_err(|error| {
            let place = self.place(&error.span().unwrap_or_default());
            let cure = "write one key = value on each line, as springload init does";
            vec![Invalid::new(place, error.message(), cure)]
        })?;
        let mut entries: Vec<_> = table.get_ref().iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        let (mut settings, mut mistakes) = (Vec::new(), Vec::new());
        for (key, value) in entries {
            let (name, place) = (key.get_ref(), self.place(&key.span()));
            if let (Some(flag), DeValue::Table(table)) = (tables::flag(name), value.get_ref()) {
                match tables::definitions(table, flag) {
                    Ok(found) => settings.extend(found.into_iter().map(|it| {
                        let Definition { name, at, word } = it;
                        let (argument, words) = (self.argument(flag).ok(), vec![word]);
                        let (place, named) = (self.place(&at), Some(name));
                        Setting { argument, words, value: Vec::new(), place, named }
                    })),
                    Err(BadValue { problem, cure }) => {
                        mistakes.push(Invalid::new(place, format!("{name}: {problem}"), cure));
                    }
                }
                continue;
            }
            match self.setting(name, value.get_ref(), &place) {
                Ok(setting) => settings.push(setting),
                Err(BadValue { problem, cure }) => {
                    mistakes.push(Invalid::new(place, format!("{name}: {problem}"), cure));
                }
            }
        }
        mistakes.extend(self.refused(&settings));
        if mistakes.is_empty() { Ok(settings) } else { Err(mistakes) }
    }

    fn setting(
        &self,
        key: &str,
        value: &DeValue<'_>,
        place: &str,
    ) -> Result<Setting<'a>, BadValue> {
        let place = place.to_owned();
        if key == "target" {
            let value = addresses(value)?;
            return Ok(Setting { argument: None, words: Vec::new(), value, place, named: None });
        }
        let argument = self.argument(key)?;
        let words = self.words(argument, key, value)?;
        Ok(Setting { argument: Some(argument), words, value: Vec::new(), place, named: None })
    }

    fn argument(&self, key: &str) -> Result<&'a Arg, BadValue> {
        if key == "password" {
            return wrong("passwords do not belong here", NO_PASSWORD);
        }
        let known = || {
            let usable = |it: &&Arg| !it.get_long().is_none_or(|long| NOT_HERE.contains(&long));
            self.grammar.get_arguments().filter(usable)
        };
        if let Some(found) = known().find(|it| it.get_long() == Some(key)) {
            return Ok(found);
        }
        if NOT_HERE.contains(&key) {
            return wrong("not part of a plan", "give it on the command line");
        }
        let slips = |name: &str| strsim::damerau_levenshtein(name, &key.replace('_', "-"));
        let names = known().filter_map(Arg::get_long).chain(["target"]);
        let near = names.min_by_key(|name| slips(name));
        match near.filter(|name| slips(name) <= MOST_SLIPS) {
            Some(name) => wrong("no such key", format!("did you mean {name}?")),
            None => wrong("no such key", "springload init prints all of them"),
        }
    }

    /// The words of the command line for a value.
    fn words(
        &self,
        argument: &Arg,
        key: &str,
        value: &DeValue<'_>,
    ) -> Result<Vec<OsString>, BadValue> {
        if !argument.get_action().takes_values() {
            return match value {
                DeValue::Boolean(true) => Ok(vec![format!("--{key}").into()]),
                DeValue::Boolean(false) => Ok(Vec::new()),
                _ => wrong("neither true nor false", "give true or false"),
            };
        }
        let repeatable = matches!(argument.get_action(), ArgAction::Append);
        let texts = match value {
            DeValue::Array(values) if repeatable => {
                values.iter().map(|it| plain(it.get_ref())).collect::<Result<Vec<_>, _>>()?
            }
            DeValue::Array(values) => {
                let parts = values.iter().map(|it| plain(it.get_ref()));
                vec![parts.collect::<Result<Vec<_>, _>>()?.join(",")]
            }
            DeValue::Table(table) => {
                let mut members: Vec<_> = table.iter().collect();
                members.sort_by_key(|(name, _)| name.span().start);
                let part = |(name, value): &(&toml::Spanned<_>, &toml::Spanned<DeValue<'_>>)| {
                    let name: &std::borrow::Cow<'_, str> = name.get_ref();
                    plain(value.get_ref()).map(|value| format!("{name}={value}"))
                };
                vec![members.iter().map(part).collect::<Result<Vec<_>, _>>()?.join(",")]
            }
            one => vec![plain(one)?],
        };
        let is_path = argument.get_value_parser().type_id() == TypeId::of::<PathBuf>();
        let word = |text: String| {
            if key == "header" && strike_secret(&text) != text {
                return wrong("a header that is a secret", NO_PASSWORD);
            }
            if key == "user" && text.contains(':') {
                return wrong("it has a password", NO_PASSWORD);
            }
            let text = match key {
                "schema" => schema_source::placed(&text, |place| self.beside(place)),
                _ if is_path && text != "-" => self.beside(&text),
                _ => text,
            };
            Ok(format!("--{key}={text}").into())
        };
        texts.into_iter().map(word).collect()
    }

    /// Resolves a path relative to the file, unless it is a URL.
    fn beside(&self, place: &str) -> String {
        if place.contains("://") {
            return place.to_owned();
        }
        self.folder.join(place).display().to_string()
    }

    /// The values that the flags do not accept.
    fn refused(&self, settings: &[Setting<'_>]) -> Vec<Invalid> {
        let mut words: Vec<&OsString> = settings.iter().flat_map(|it| &it.words).collect();
        let mut mistakes = Vec::new();
        while let Err(error) = self.parse(&words) {
            // `--docs <N>`
            let flag = context(&error, ContextKind::InvalidArg);
            let flag = flag.split([' ', '=']).next().unwrap_or_default();
            let is_its = |word: &OsString| {
                word.to_string_lossy().split('=').next().is_some_and(|own| own == flag)
            };
            let setting = settings.iter().find(|it| it.words.iter().any(is_its));
            let (Some(setting), Some(BadValue { problem, cure })) =
                (setting, refusal(&error, flag))
            else {
                break;
            };
            let key = flag.trim_start_matches('-');
            mistakes.push(Invalid::new(&setting.place, format!("{key}: {problem}"), cure));
            words.retain(|word| !is_its(word));
        }
        mistakes
    }

    fn parse(&self, words: &[&OsString]) -> clap::error::Result<()> {
        let command = self.grammar.clone().no_binary_name(true);
        command.try_get_matches_from(words.iter().copied()).map(drop)
    }
}

/// A string from the context of the command line parser's error.
fn context(error: &clap::Error, kind: ContextKind) -> &str {
    match error.get(kind) {
        Some(ContextValue::String(text)) => text,
        Some(ContextValue::Strings(texts)) => texts.first().map_or("", String::as_str),
        _ => "",
    }
}

/// The mistake in a value, in the words of the command line; `None` if the error is not about a
/// value.
fn refusal(error: &clap::Error, flag: &str) -> Option<BadValue> {
    let about_value = matches!(
        error.kind(),
        ErrorKind::ValueValidation | ErrorKind::ArgumentConflict | ErrorKind::InvalidValue
    );
    let (problem, cure) = mistake(error, Some("run"));
    let own = problem.strip_prefix(flag).and_then(|rest| rest.strip_prefix(": "));
    about_value.then(|| BadValue::new(own.unwrap_or(&problem), cure))
}

/// A value as a single word.
fn plain(value: &DeValue<'_>) -> Result<String, BadValue> {
    Ok(match value {
        DeValue::String(text) => text.clone().into_owned(),
        DeValue::Integer(number) => match i128::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => number.to_string(),
            Err(_) => return wrong("too large a number", "give a smaller one"),
        },
        DeValue::Float(number) => match number.as_str().parse::<f64>() {
            Ok(number) => number.to_string(),
            Err(_) => return wrong("not a number", "write it like 0.5"),
        },
        DeValue::Boolean(flag) => flag.to_string(),
        DeValue::Datetime(_) => return wrong("a date", "give it in quotation marks, or a number"),
        DeValue::Array(_) | DeValue::Table(_) => {
            return wrong("a list inside a list", "give numbers, or strings in quotation marks");
        }
    })
}
