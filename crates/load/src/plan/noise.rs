//! What happens to a run whose machine was too busy to measure with.

use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// What happens to a run whose figures may reflect springload rather than the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Noise {
    /// The run is not trustworthy: exit status 5.
    #[default]
    Fail,
    /// The run gets a warning, and otherwise ends as it would have.
    Warn,
}

impl Noise {
    /// The names of both.
    pub const NAMES: [&'static str; 2] = ["fail", "warn"];

    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    pub(super) const fn is_fail(&self) -> bool {
        matches!(self, Self::Fail)
    }
}

impl FromStr for Noise {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "fail" => Ok(Self::Fail),
            "warn" => Ok(Self::Warn),
            _ => Err("give fail or warn".to_owned()),
        }
    }
}
