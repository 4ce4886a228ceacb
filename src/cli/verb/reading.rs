//! Reads the files of runs and studies, or says why not.

use crate::files;
use crate::record::RunRecord;
use crate::report::{read_json, shown};
use serde::{Deserialize, Serialize, Serializer};
use std::fmt::Display;
use std::path::Path;

/// Why a file is not shown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(in crate::cli) enum Unreadable {
    /// A newer springload has written it.
    #[error("written by a newer springload")]
    Newer,
    /// It is not what its name says.
    #[error("not a complete {0}")]
    Broken(String),
    /// Something else, such as a file that may not be read.
    #[error("{0}")]
    Other(String),
}

impl Unreadable {
    /// What to do about it.
    pub(super) fn cure(&self) -> &'static str {
        if *self == Self::Newer { "update springload" } else { "give a complete one" }
    }
}

impl Serialize for Unreadable {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The version of the layout of a file.
#[derive(Deserialize)]
pub(super) struct Version {
    pub(super) schema_version: u64,
}

/// The text of a file, as far as any record is long.
///
/// # Errors
/// Why it cannot be read.
pub(super) fn read_text(file: &Path) -> Result<String, Unreadable> {
    files::read_text(file, files::RECORD)
        .map_err(|error| Unreadable::Other(format!("cannot be read: {error}")))
}

/// Why the text of a file of that name is not what the name says: it may be of a version after the
/// one that is `known`.
pub(super) fn broken(name: &str, text: &str, known: u32, error: &impl Display) -> Unreadable {
    match serde_json::from_str::<Version>(text) {
        Ok(it) if it.schema_version > known.into() => Unreadable::Newer,
        _ => Unreadable::Broken(format!("{name}: {error}")),
    }
}

/// The record in `file`.
///
/// # Errors
/// Why there is none, in one line without the file's name, as it can be shown on a terminal.
pub(super) fn record(file: &Path) -> Result<RunRecord, String> {
    let text = read_text(file).map_err(|why| why.to_string())?;
    // A file may have been written by anybody.
    read_json(&text).map_err(|error| shown(&error.to_string(), false))
}
