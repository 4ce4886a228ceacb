//! Reads the files of runs and studies, or explains why it cannot.

use crate::files;
use crate::record::RunRecord;
use crate::report::{read_json, shown};
use serde::{Deserialize, Serialize, Serializer};
use std::fmt::Display;
use std::path::Path;

/// The reason a file cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(in crate::cli) enum Unreadable {
    #[error("written by a newer springload")]
    Newer,
    /// Its content does not match its name.
    #[error("not a complete {0}")]
    Broken(String),
    /// Another reason, such as missing permissions.
    #[error("{0}")]
    Other(String),
}

impl Unreadable {
    pub(super) fn cure(&self) -> &'static str {
        if *self == Self::Newer { "update springload" } else { "give a complete one" }
    }
}

impl Serialize for Unreadable {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[derive(Deserialize)]
#[serde(expecting = "an object with its schema_version")]
pub(super) struct Version {
    pub(super) schema_version: u64,
}

/// The text of a file, up to the length that a record can have.
///
/// # Errors
/// Fails if it cannot be read.
pub(super) fn read_text(file: &Path) -> Result<String, Unreadable> {
    files::read_text(file, files::RECORD)
        .map_err(|error| Unreadable::Other(format!("cannot be read: {error}")))
}

/// The reason the text of a file does not match its name: possibly a version newer than `known`.
pub(super) fn broken(name: &str, text: &str, known: u32, error: &impl Display) -> Unreadable {
    match serde_json::from_str::<Version>(text) {
        Ok(it) if it.schema_version > known.into() => Unreadable::Newer,
        _ => Unreadable::Broken(format!("{name}: {error}")),
    }
}

/// The record in `file`.
///
/// # Errors
/// Fails if there is none. The message is one line without the file's name, safe for a terminal.
pub(super) fn record(file: &Path) -> Result<RunRecord, String> {
    let text = read_text(file).map_err(|why| why.to_string())?;
    // The file may come from anywhere.
    read_json(&text).map_err(|error| shown(&error.to_string(), false))
}
