//! Builds the indexes that a plan defines, once each: the stage between a fill and the load.

use super::budget::share;
use super::{
    Check, Demand, Due, LaneContext, Lanes, Next, Offer, Purpose, Restored, RunAsked, Runner,
    StageWork, Step, Stock, Traits, Workload,
};
use crate::mistake::Invalid;
use crate::op::{Answered, Failure, Op, OpKind, Pen, Reply};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// An index build, as planned. The driver knows which indexes are built.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IndexPlan {
    /// The number of indexes.
    pub indexes: u64,
}

/// The stage that builds this many indexes.
pub fn build_indexes(indexes: u64) -> Step {
    let (name, work) = ("index_build".to_owned(), IndexPlan { indexes }.into());
    Step { name, purpose: Purpose::Index, work, timing: Due::Free }
}

impl StageWork for IndexPlan {
    fn does(&self, kind: OpKind) -> bool {
        kind == OpKind::IndexBuild
    }

    fn check_again(&self, _: &Restored<'_>, _: &mut Vec<Invalid>) {}

    fn operations(&self, k: usize, connections: usize) -> Option<u64> {
        Some(share(self.indexes, k, connections))
    }

    fn describe(&self, count: &dyn Fn(u64) -> String) -> Vec<String> {
        let es = if self.indexes == 1 { "" } else { "es" };
        vec![format!("{} index{es}", count(self.indexes))]
    }

    fn traits(&self) -> Traits {
        Traits { is_auditable: true, ..Traits::default() }
    }
}

/// The indexes that one connection builds: every `step`th from `next` on.
struct Builder {
    next: u64,
    step: u64,
    end: u64,
}

impl Workload for Builder {
    fn next<P: Pen>(&mut self, _: &mut P) -> Next {
        if self.next >= self.end {
            return Next::End;
        }
        let op = Op::single(OpKind::IndexBuild, self.next, None);
        self.next += self.step;
        Next::Op(op)
    }

    fn observe(&mut self, _: &Op, _: Result<Reply, Failure>, _: &Answered<'_>) -> Check {
        Check::Unchecked
    }
}

impl Lanes for IndexPlan {
    fn carry_out<R: Runner>(
        &self,
        cx: &LaneContext,
        _: &mut Stock,
        runner: R,
    ) -> Result<R::Output, R::Error> {
        let step = cx.connections as u64;
        let builder = |k: usize| Builder { next: k as u64, step, end: self.indexes };
        Ok(runner.run((0..cx.connections).map(builder).collect())?.0)
    }
}

impl Offer for IndexPlan {
    const NAMES: &'static [(&'static str, &'static str)] = &[];

    fn demand(_: &str, _: &RunAsked) -> Result<Arc<dyn Demand>, Invalid> {
        Err(Invalid::new("--workload", "it has no name", "give --ddocs"))
    }
}
