//! The check of the options of `basic`, and the target made from them.

use super::binding::BINDING;
use super::plan::CARD;
use super::{Basic, BasicPlan, Delay};
use crate::mistake::Invalid;
use crate::{Binding, Card, DriverPlan, Opening, ServerFacts, TargetAsked, TargetError};

impl DriverPlan for BasicPlan {
    type Target = Basic;

    const CARD: Card = CARD;

    const BINDING: Option<Binding> = Some(BINDING);

    fn check(asked: &TargetAsked) -> Result<Self, Invalid> {
        asked.options(&CARD)
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
