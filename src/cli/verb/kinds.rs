//! What is saved besides single runs: sweeps, searches and comparisons, each a folder with the
//! records of its runs and a file that says what they are. The verb that makes such a thing has its
//! [`Kind`] beside it.

use super::saved::Unreadable;
use super::{ab, max, sweep};
use crate::cli::pipeline::dialect::deliver;
use crate::cli::pipeline::folder::PAGE;
use crate::cli::pipeline::keep_in_mind;
use crate::files;
use crate::report::{Look, Pill, Study, StudyFormat};
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
    pub(super) outline: fn(&Path) -> Result<Several, Unreadable>,
    /// What it came to: a kind of result for colours, a mark, and words.
    pub(super) result: fn(&Path) -> Result<Pill, String>,
    /// The names of its formats.
    pub(super) formats: fn() -> Vec<&'static str>,
    /// The report in a format of that name.
    pub(super) render: fn(&Path, &str) -> Result<Vec<u8>, String>,
}

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

/// The names of the formats of a study.
pub(super) fn formats<S: Study>() -> Vec<&'static str> {
    S::FORMATS.iter().map(|it| it.name).collect()
}

/// A study in the format of that name.
///
/// # Errors
/// If it has no such format, or that cannot show it.
pub(super) fn rendered<S: Study>(study: &S, format: &str) -> Result<Vec<u8>, String> {
    let format = S::format(format).ok_or_else(|| format!("{} has no format {format}", S::NAME))?;
    format.render(study, Look::default()).map_err(|mistake| mistake.to_string())
}

/// A study that has ended, or was stopped: what is shown of it, and where.
pub(super) struct Finished<'a, S: Study> {
    pub(super) study: &'a S,
    pub(super) format: &'static StudyFormat<S>,
    pub(super) folder: &'a Path,
    pub(super) label: Option<&'a str>,
    pub(super) quiet: bool,
}

impl<S: Study> Finished<'_, S> {
    /// Prints the report and writes the page; returns whether both could be written.
    pub(super) fn report(&self) -> bool {
        let printed = self.format.render(self.study, Look::default());
        let printed = printed.map_err(|it| it.to_string()).and_then(|bytes| deliver(&bytes));
        if let Err(unwritten) = &printed {
            eprintln!("error: {unwritten}");
        }
        let page = write_page(self.folder, self.study);
        match &page {
            Ok(()) if !self.quiet => eprintln!("page: {}", self.folder.join(PAGE).display()),
            Ok(()) => {}
            Err(problem) => eprintln!("error: {problem}"),
        }
        keep_in_mind(self.folder, "", self.label);
        printed.is_ok() && page.is_ok()
    }
}

/// Replaces the page of a study in one step.
///
/// # Errors
/// If it cannot be written.
pub(super) fn write_page<S: Study>(folder: &Path, study: &S) -> Result<(), String> {
    let (page, bytes) = (folder.join(PAGE), rendered(study, "html")?);
    files::replace(&page, &bytes)
        .map_err(|error| format!("cannot write {}: {error}", page.display()))
}

/// The text of a file whose layout has a version, if that is no later than `known`.
///
/// # Errors
/// Why not, in the words that a list uses for runs, too.
pub(super) fn text_of(file: &Path, known: u32) -> Result<String, Unreadable> {
    #[derive(Deserialize)]
    struct Version {
        schema_version: u64,
    }
    let text = files::read_text(file, files::RECORD);
    let text = text.map_err(|error| Unreadable::Other(format!("cannot be read: {error}")))?;
    let version: Version = serde_json::from_str(&text).map_err(|error| broken(file, error))?;
    if version.schema_version > u64::from(known) {
        return Err(Unreadable::Newer);
    }
    Ok(text)
}

/// Says that a file is not what its name says.
pub(super) fn broken(file: &Path, error: impl std::fmt::Display) -> Unreadable {
    let name = file.file_name().unwrap_or_default().display();
    Unreadable::Broken(format!("{name}: {error}"))
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
