//! Studies that are saved: the result of several runs, in a file in the same folder.

use super::reading::{Unreadable, Version, broken, read_text};
use crate::report::{Look, Pill, Study, sane};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::path::Path;

/// A study that is saved in a file, with its runs in the same folder.
pub(in crate::cli) trait Kept: Serialize + DeserializeOwned {
    const FILE: &'static str;
    const NAME: &'static str;
    const PLURAL: &'static str;
    const VERSION: u32 = 1;
    /// The cure if the folder has a different study.
    const ELSEWHERE: &'static str = "choose another folder";
    /// The kind, as listed among all kinds.
    const KIND: &'static Kind = &Kind::of::<Self>();
    /// The form that reports show.
    type Shown: Study;

    /// Checks the values in a file.
    ///
    /// # Errors
    /// Fails if a value is impossible.
    fn check(&self) -> Result<(), &'static str>;
    /// The user's label for it.
    fn label(&mut self) -> &mut Option<String>;
    /// Its outline, for a list.
    fn outline(&self, file: &Path) -> Several;
    /// Its result: a kind of result for colors, a mark, and words.
    ///
    /// # Errors
    /// Fails if a run cannot be read.
    fn pill(self, file: &Path) -> Result<Pill, String>;
    /// The form that reports show.
    ///
    /// # Errors
    /// Fails if there is nothing to show.
    fn shown(self, file: &Path) -> Result<Self::Shown, String>;
}

/// A kind of saved study.
#[derive(Debug)]
pub(in crate::cli) struct Kind {
    /// The name of the file.
    pub(super) file: &'static str,
    /// Its name, in one word.
    pub(super) name: &'static str,
    /// The plural of the name.
    pub(super) plural: &'static str,
    /// The outline, for a list.
    pub(super) outline: fn(&Path) -> Result<Several, Unreadable>,
    /// Its result.
    pub(super) pill: fn(&Path) -> Result<Pill, Unreadable>,
    /// The names of its formats.
    pub(super) formats: fn() -> Vec<&'static str>,
    /// The report in a format of that name.
    pub(super) render: fn(&Path, &str) -> Result<Vec<u8>, Unreadable>,
}

impl Kind {
    const fn of<K: Kept>() -> Self {
        Self {
            file: K::FILE,
            name: K::NAME,
            plural: K::PLURAL,
            outline: |file| Ok(read::<K>(file)?.outline(file)),
            pill: |file| read::<K>(file)?.pill(file).map_err(Unreadable::Other),
            formats: || K::Shown::FORMATS.iter().map(|it| it.name).collect(),
            render: |file, format| {
                let shown = read::<K>(file)?.shown(file);
                shown.and_then(|it| rendered(&it, format)).map_err(Unreadable::Other)
            },
        }
    }
}

/// The outline of a sweep, search or comparison, for a list.
#[derive(Debug, Serialize)]
pub(in crate::cli) struct Several {
    /// When its first run began, in UTC, as RFC 3339; empty if there is none.
    pub(in crate::cli) started_at: String,
    /// Its subject, as a JSON member under its name.
    #[serde(flatten)]
    pub(in crate::cli) about: Map<String, Value>,
    /// Its runs.
    pub(in crate::cli) runs: usize,
    /// The number of runs that were measured.
    pub(in crate::cli) measured: usize,
    /// The user's label for it.
    #[serde(skip)]
    pub(in crate::cli) label: Option<String>,
    /// Its description, for use without a label.
    #[serde(skip)]
    pub(in crate::cli) subject: String,
    #[serde(skip)]
    pub(in crate::cli) kind: &'static Kind,
}

/// A study in the format called `format`.
///
/// # Errors
/// Fails if the study has no such format, or the format cannot show it.
pub(super) fn rendered<S: Study>(study: &S, format: &str) -> Result<Vec<u8>, String> {
    let format = S::format(format).ok_or_else(|| format!("{} has no format {format}", S::NAME))?;
    format.render(study, Look::default()).map_err(|mistake| mistake.to_string())
}

/// Reads the file of a study.
///
/// # Errors
/// Fails if the file cannot be read, with the same messages as for runs.
pub(in crate::cli) fn read<K: Kept>(file: &Path) -> Result<K, Unreadable> {
    let text = read_text(file)?;
    parse(&text).map_err(|error| broken(K::FILE, &text, K::VERSION, &error))
}

/// Parses the text of such a file.
///
/// # Errors
/// Fails if the text is invalid.
pub(in crate::cli) fn parse<K: Kept>(text: &str) -> Result<K, String> {
    let message = |error: serde_json::Error| error.to_string();
    sane(text).map_err(message)?;
    let Version { schema_version } = serde_json::from_str(text).map_err(message)?;
    if schema_version != u64::from(K::VERSION) {
        return Err(format!("unknown schema_version {schema_version}"));
    }
    let study: K = serde_json::from_str(text).map_err(message)?;
    study.check().map_err(str::to_owned)?;
    Ok(study)
}

/// When the run in `file` began; empty if that cannot be read.
pub(super) fn began(file: &Path) -> String {
    #[derive(Deserialize)]
    struct Beginning {
        started_at: String,
    }
    let text = read_text(file).ok();
    let began = text.and_then(|text| serde_json::from_str::<Beginning>(&text).ok());
    began.map(|it| it.started_at).unwrap_or_default()
}

/// An address without `http://`.
pub(super) fn host(url: &str) -> &str {
    url.strip_prefix("http://").unwrap_or(url).trim_end_matches('/')
}
