//! The options of `basic`.

use crate::op::{Feature, Kinds};
use crate::{Card, Planned};
use serde::{Deserialize, Serialize};

/// A target without a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct BasicPlan {
    /// Options from YCSB's dialect, if any were given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub basic: Option<BasicOptions>,
}

/// Options that YCSB's `BasicDB` has as well.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BasicOptions {
    /// How long an operation takes, in milliseconds.
    pub delay_ms: u32,
    /// Whether an operation instead takes a random whole number of milliseconds below `delay_ms`.
    pub randomized: bool,
    /// Whether operations are printed.
    pub printed: bool,
    /// Whether distinct operations are counted.
    pub counted: bool,
}

impl BasicOptions {
    /// Whether operations are to be shown.
    pub const fn is_shown(self) -> bool {
        self.printed || self.counted
    }
}

impl Planned for BasicPlan {
    fn shows(&self) -> bool {
        self.basic.is_some_and(BasicOptions::is_shown)
    }
}

pub(super) const CARD: Card = Card {
    name: "basic",
    schemes: &[],
    summary: "no server: everything is answered at once, and nothing is kept",
    address: "basic",
    operations: Kinds::ALL,
    documents: false,
    databases: false,
    server: false,
    phases: false,
    nouns: crate::Nouns::DOCUMENTS,
    heeds: &[],
    can: &[Feature::Ranges, Feature::Overwriting, Feature::Settling],
    words: &[],
};
