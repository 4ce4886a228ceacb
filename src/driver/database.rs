//! The database of a run: one that exists, or one that the run makes and perhaps removes.

use super::{Existing, Opening, TargetAsked};
use crate::clock::{SECOND_NS, wall_ns};
use serde::{Deserialize, Serialize};

/// Which database is used, and whether it is removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum DatabasePlan {
    /// One that springload creates and names.
    Scratch {
        /// Do not delete it.
        keep: bool,
    },
    /// One that springload creates under this name; it must not exist.
    New {
        /// Its name.
        name: String,
        /// Do not delete it.
        keep: bool,
    },
    /// One that springload creates if it is missing. It is never deleted.
    Kept {
        /// Its name.
        name: String,
    },
    /// One that exists already. It is never deleted.
    Existing {
        /// Its name.
        name: String,
    },
}

impl DatabasePlan {
    /// The database that was requested by its own flag or, as `named`, by the address.
    ///
    /// # Errors
    /// What is wrong with the request.
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

    /// It must not exist: the run creates it.
    pub const fn must_be_new(&self) -> bool {
        matches!(self, Self::Scratch { .. } | Self::New { .. })
    }

    /// It is removed at the end if this run created it.
    pub const fn is_removed(&self) -> bool {
        matches!(self, Self::Scratch { keep: false } | Self::New { keep: false, .. })
    }
}

/// The name of a scratch database, after the time and this process.
pub fn scratch_name() -> String {
    let now = wall_ns();
    let (seconds, fraction) = (now / SECOND_NS, now % SECOND_NS);
    format!("springload_{seconds}_{fraction}_{}", std::process::id())
}
