//! The options of `basic`.

use super::binding::BINDING;
use super::{Basic, Delay};
use crate::mistake::Invalid;
use crate::op::{Feature, Kinds};
use crate::{Binding, Card, DriverPlan, Opening, Planned, ServerFacts, TargetAsked, TargetError};
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

impl DriverPlan for BasicPlan {
    type Target = Basic;

    const CARD: Card = Card {
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

    const BINDING: Option<Binding> = Some(BINDING);

    fn check(asked: &TargetAsked) -> Result<Self, Invalid> {
        asked.options(&Self::CARD)
    }

    async fn open(&self, opening: &Opening) -> Result<(Basic, ServerFacts), TargetError> {
        let delay = self.basic.filter(|basic| basic.delay_ms > 0).map(|basic| Delay {
            ms: basic.delay_ms,
            seed: basic.randomized.then_some(opening.seed),
        });
        let facts = ServerFacts { name: "basic".to_owned(), ..ServerFacts::default() };
        Ok((Basic { echo: opening.echo.clone(), delay }, facts))
    }
}
