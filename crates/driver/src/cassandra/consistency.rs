//! How consistent requests are: how many servers must respond or agree, and what becomes of a
//! batch.

use serde::{Deserialize, Serialize};

/// What happens if the servers have carried out only part of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum BatchKind {
    /// The rest is not carried out.
    Unlogged,
    /// The rest is carried out later.
    Logged,
}

/// How many servers must respond.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "UPPERCASE")]
pub enum Consistency {
    /// Any server, even one that only stores a hint. Only for writes.
    Any,
    /// One.
    One,
    /// Two.
    Two,
    /// Three.
    Three,
    /// More than half.
    Quorum,
    /// All.
    All,
    /// More than half of those in the local data center.
    #[serde(rename = "LOCAL_QUORUM")]
    LocalQuorum,
    /// More than half in each data center. Only for writes.
    #[serde(rename = "EACH_QUORUM")]
    EachQuorum,
    /// One in the local data center.
    #[serde(rename = "LOCAL_ONE")]
    LocalOne,
}

impl Consistency {
    /// Source: "CQL BINARY PROTOCOL v4", section 3.
    pub(super) const fn number(self) -> u16 {
        match self {
            Self::Any => 0,
            Self::One => 1,
            Self::Two => 2,
            Self::Three => 3,
            Self::Quorum => 4,
            Self::All => 5,
            Self::LocalQuorum => 6,
            Self::EachQuorum => 7,
            Self::LocalOne => 10,
        }
    }
}

/// How many servers must agree on a condition.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(super) enum Serial {
    /// More than half.
    Serial,
    /// More than half of those in the local data center.
    LocalSerial,
}

impl Serial {
    /// Source: the same as for [`Consistency`].
    pub(super) const fn number(self) -> u16 {
        match self {
            Self::Serial => 8,
            Self::LocalSerial => 9,
        }
    }
}
