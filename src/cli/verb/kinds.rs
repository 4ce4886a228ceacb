//! What is saved besides single runs: sweeps, searches and comparisons, each a folder with the
//! records of its runs and a file that says what they are. The verb that makes such a thing has its
//! [`Kind`] beside it.

use super::saved::{BROKEN, NEWER};
use super::{ab, max, sweep};
use crate::files;
use crate::record::ResultKind;
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

/// All kinds.
const KINDS: [&Kind; 3] = [&sweep::KIND, &max::KIND, &ab::KIND];

/// A kind of saved thing that consists of several runs.
#[derive(Debug)]
pub(in crate::cli) struct Kind {
    /// The file in its folder.
    pub(super) file: &'static str,
    /// What it is, in one word.
    pub(super) name: &'static str,
    /// What several of them are called.
    pub(super) plural: &'static str,
    /// The outline, for a list.
    pub(super) outline: fn(&Path) -> Result<Several, String>,
    /// What it came to: a kind of result for colours, a mark, and words.
    pub(super) result: fn(&Path) -> Result<Pill, String>,
    /// The names of its formats.
    pub(super) formats: fn() -> Vec<String>,
    /// The report in a format of that name.
    pub(super) render: fn(&Path, &str) -> Result<Vec<u8>, String>,
}

/// The kind of a result, a mark, and words.
pub(super) type Pill = (ResultKind, char, String);

/// What a list shows of a sweep, search or comparison.
#[derive(Debug, Serialize)]
pub(in crate::cli) struct Several {
    /// When its first run began, in UTC, as RFC 3339; empty if there is none.
    pub(in crate::cli) started_at: String,
    /// What it is about, under its name.
    #[serde(flatten)]
    pub(in crate::cli) about: Map<String, Value>,
    /// Its runs.
    pub(in crate::cli) runs: usize,
    /// How many of them were measured.
    pub(in crate::cli) measured: usize,
    /// What the user calls it.
    #[serde(skip)]
    pub(in crate::cli) label: Option<String>,
    /// What it is called without a label.
    #[serde(skip)]
    pub(in crate::cli) subject: String,
    #[serde(skip)]
    pub(in crate::cli) kind: &'static Kind,
}

/// The kind of a file with this name.
pub(super) fn of_file(file: &Path) -> Option<&'static Kind> {
    KINDS.into_iter().find(|kind| file.file_name().is_some_and(|name| name == kind.file))
}

/// The kind of thing that is in a folder, with its file.
pub(super) fn in_folder(folder: &Path) -> Option<(&'static Kind, PathBuf)> {
    let files = KINDS.into_iter().map(|kind| (kind, folder.join(kind.file)));
    files.into_iter().find(|(_, file)| file.is_file())
}

/// The names of all formats of a verb.
pub(super) fn formats<F: ValueEnum>() -> Vec<String> {
    let values = F::value_variants().iter().filter_map(F::to_possible_value);
    values.map(|it| it.get_name().to_owned()).collect()
}

/// The kind of result that the colour of a page stands for.
pub(super) fn pill((colour, mark, words): (&str, char, String)) -> Pill {
    let kind = match colour {
        "good" => ResultKind::Passed,
        "bad" => ResultKind::Failed,
        _ => ResultKind::Stopped,
    };
    (kind, mark, words)
}

/// The text of a file whose layout has a version, if that is no later than `known`.
///
/// # Errors
/// Why not, in the words that a list uses for runs, too.
pub(super) fn text_of(file: &Path, known: u32) -> Result<String, String> {
    #[derive(Deserialize)]
    struct Version {
        schema_version: u64,
    }
    let text = files::read_text(file, files::RECORD);
    let text = text.map_err(|error| format!("cannot be read: {error}"))?;
    let version: Version = serde_json::from_str(&text).map_err(|error| broken(file, error))?;
    if version.schema_version > u64::from(known) {
        return Err(NEWER.to_owned());
    }
    Ok(text)
}

/// Says that a file is not what its name says.
pub(super) fn broken(file: &Path, error: impl std::fmt::Display) -> String {
    let name = file.file_name().unwrap_or_default().display();
    format!("{BROKEN}{name}: {error}")
}

/// When the run in `file` began; empty, if that cannot be read.
pub(super) fn began(file: &Path) -> String {
    #[derive(Deserialize)]
    struct Beginning {
        started_at: String,
    }
    let text = files::read_text(file, files::RECORD).ok();
    let began = text.and_then(|text| serde_json::from_str::<Beginning>(&text).ok());
    began.map(|it| it.started_at).unwrap_or_default()
}

/// An address without `http://`.
pub(super) fn host(url: &str) -> &str {
    url.strip_prefix("http://").unwrap_or(url).trim_end_matches('/')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::remembered::OWN;

    #[test]
    fn every_kind_is_remembered() {
        let files: Vec<&str> = KINDS.iter().map(|kind| kind.file).chain(["run.json"]).collect();
        assert!(files.iter().all(|file| OWN.contains(file)) && OWN.len() == files.len());
    }
}
