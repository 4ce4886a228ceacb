//! The database of a run: an existing one, or one that the run creates and perhaps removes.

use super::scratch::scratch_name;
use super::{Existing, Opening, TargetAsked};
use serde::{Deserialize, Serialize};

/// Which database is used, and whether it is deleted at the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum DatabasePlan {
    /// A new database with a name that springload chooses.
    Scratch {
        /// Whether it is kept at the end.
        keep: bool,
    },
    /// A database that springload creates under this name; it must not exist yet.
    New {
        /// Its name.
        name: String,
        /// Whether it is kept at the end.
        keep: bool,
    },
    /// A database that springload creates if it is missing. It is never deleted.
    Kept {
        /// Its name.
        name: String,
    },
    /// A database that already exists. It is never deleted.
    Existing {
        /// Its name.
        name: String,
    },
}

impl DatabasePlan {
    /// The database that was requested by its own flag or, as `named`, by the address.
    ///
    /// # Errors
    /// Fails if the request is contradictory or the name is empty.
    pub fn of(asked: &TargetAsked, named: Option<String>) -> Result<Self, &'static str> {
        Ok(match (asked.database.clone().or(named), asked.existing) {
            (None, Existing::Yes) => return Err("--use-existing but no database"),
            (None, _) => Self::Scratch { keep: asked.keep },
            (Some(name), _) if name.is_empty() => return Err("an empty database name"),
            (Some(name), Existing::Maybe) => Self::Kept { name },
            (Some(name), Existing::Yes) => Self::Existing { name },
            (Some(name), Existing::No) => Self::New { name, keep: asked.keep },
        })
    }

    /// The name that was requested; `None` for a scratch database.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Scratch { .. } => None,
            Self::New { name, .. } | Self::Kept { name } | Self::Existing { name } => Some(name),
        }
    }

    /// The name to use.
    pub fn name_or_new(&self, opening: &Opening) -> String {
        let scratch = || opening.scratch.clone().unwrap_or_else(scratch_name);
        self.name().map_or_else(scratch, str::to_owned)
    }

    /// Whether it must not exist, because the run creates it.
    pub const fn must_be_new(&self) -> bool {
        matches!(self, Self::Scratch { .. } | Self::New { .. })
    }

    /// Whether it is removed at the end if this run created it.
    pub const fn is_removed(&self) -> bool {
        matches!(self, Self::Scratch { keep: false } | Self::New { keep: false, .. })
    }
}
