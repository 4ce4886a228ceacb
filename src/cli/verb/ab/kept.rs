//! `ab.json`: what is compared, kept beside the runs, so that the same can go on.

use super::side::Side;
use crate::files;
use crate::plan::Invalid;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;

const FILE: &str = "ab.json";
/// The version of the layout of `ab.json`.
const SCHEMA_VERSION: u32 = 1;

/// What is compared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Definition {
    pub(super) schema_version: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) label: Option<String>,
    /// The command of a run of each side, without passwords.
    pub(super) a: String,
    pub(super) b: String,
    /// The commands before each run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) before_a: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) before_b: Option<String>,
    pub(super) pairs: u64,
    pub(super) seed: u64,
}

impl Definition {
    pub(super) fn new(pairs: u64, seed: u64, label: Option<String>, sides: &[Side; 2]) -> Self {
        let [a, b] = sides;
        Self {
            schema_version: SCHEMA_VERSION,
            label,
            a: a.command(),
            b: b.command(),
            before_a: a.before.clone(),
            before_b: b.before.clone(),
            pairs,
            seed,
        }
    }

    /// Whether what `other` asks for goes on with this.
    pub(super) fn continues(&self, other: &Self) -> bool {
        *self == Self { label: self.label.clone(), ..other.clone() }
    }
}

/// What was compared in a folder; none: nothing yet.
///
/// # Errors
/// If there is something else.
pub(super) fn load(folder: &Path) -> Result<Option<Definition>, Invalid> {
    let file = folder.join(FILE);
    if !file.exists() {
        return Ok(None);
    }
    let wrong = |error: String| {
        let problem = format!("{}: {error}", file.display());
        Invalid::new("--output", problem, "name another folder")
    };
    let text = files::read_text(&file, files::RECORD).map_err(|error| wrong(error.to_string()))?;
    serde_json::from_str(&text).map(Some).map_err(|error| wrong(error.to_string()))
}

/// Replaces `ab.json` in one step.
pub(super) fn save(folder: &Path, definition: &Definition) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let text = serde_json::to_string_pretty(definition)? + "\n";
    files::replace(&folder.join(FILE), text.as_bytes())
}
