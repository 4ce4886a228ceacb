//! Looks for every acknowledged write: the stage at the end of a run with `--audit`.

mod index;
mod lane;
mod ledger;
mod owed;

pub use ledger::{Ledger, owed};

use super::{
    Demand, Due, FromSchemas, LaneContext, Lanes, Offer, Purpose, Restored, RunAsked, Runner,
    StageWork, Step, Stock, Traits, WorkloadPlan,
};
use crate::mistake::Invalid;
use crate::op::OpKind;
use crate::schema::Ids;
use lane::Audit;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// An audit, as planned.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AuditPlan {
    /// The workload that wrote the documents; `None` if they were generated from the run's schemas.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    of: Option<WorkloadPlan>,
    /// Whether only this run has written to the database, so that other documents can be counted as
    /// extra.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    alone: bool,
    /// The names of indexes that must have one row for each document.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    indexes: Vec<String>,
    /// The only node that is asked, as its position among the addresses, from 0; absent if all are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    node: Option<usize>,
    /// How many documents an earlier run is known to have created; absent if the run that wrote
    /// them makes the audit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    created: Option<u64>,
}

impl StageWork for AuditPlan {
    fn does(&self, kind: OpKind) -> bool {
        matches!(kind, OpKind::Read | OpKind::Verify)
            || kind == OpKind::IndexAudit && !self.indexes.is_empty()
    }

    fn check_again(&self, restored: &Restored<'_>, mistakes: &mut Vec<Invalid>) {
        match &self.of {
            None => {}
            Some(of) if of.traits().is_auditable && !of.traits().audits => {
                of.check_again(restored, mistakes);
            }
            Some(_) => {
                let problem = "what this workload has written cannot be reconstructed";
                mistakes.push(Invalid::new("of", problem, "choose one that can be audited"));
            }
        }
    }

    fn operations(&self, _: usize, _: usize) -> Option<u64> {
        None
    }

    fn describe(&self, _: &dyn Fn(u64) -> String) -> Vec<String> {
        let indexes = self.indexes.iter().map(|name| format!("every row of {name}"));
        std::iter::once("every acknowledged write".to_owned()).chain(indexes).collect()
    }

    fn traits(&self) -> Traits {
        Traits {
            shares_documents: self.of.as_ref().is_some_and(|of| of.traits().shares_documents),
            is_auditable: true,
            audits: true,
            counts_others: self.alone,
            node: self.node,
            created_before: self.created.unwrap_or(0),
            ..Traits::default()
        }
    }
}

impl Lanes for AuditPlan {
    fn carry_out<R: Runner>(
        &self,
        cx: &LaneContext,
        stock: &mut Stock,
        runner: R,
    ) -> Result<R::Output, R::Error> {
        let original = || match &self.of {
            Some(of) => of.original(cx),
            None => Box::new(FromSchemas::new(cx.documents.clone())),
        };
        let ledger = Arc::new(stock.take_owed());
        let make = |k| {
            let part = ledger.part(k, cx.connections);
            let indexes = self.indexes.iter().cloned().enumerate();
            let indexes = indexes.skip(k).step_by(cx.connections).collect();
            let audit = Audit::new(original(), self.alone, ledger.clone(), part);
            audit.several(cx.reads_several, cx.places.clone()).and_indexes(indexes)
        };
        let lanes = (0..cx.connections).map(make).collect();
        Ok(runner.run(lanes)?.0)
    }
}

/// A request for an audit alone.
#[derive(Clone, Debug, Default)]
pub struct AuditDemand {
    of: Option<WorkloadPlan>,
    alone: bool,
    indexes: Vec<String>,
    created: Option<u64>,
}

impl AuditDemand {
    /// An audit of what these stages write; `alone` if the database contains nothing else.
    pub fn of<'a>(stages: impl IntoIterator<Item = &'a WorkloadPlan>, alone: bool) -> Self {
        let own =
            stages.into_iter().filter(|it| it.traits().is_auditable && !it.fields().is_empty());
        Self { of: own.last().cloned(), alone, ..Self::default() }
    }

    /// Also audits every row of these indexes.
    #[must_use]
    pub fn with_indexes(self, indexes: Vec<String>) -> Self {
        Self { indexes, ..self }
    }

    /// The documents are those of an earlier run, which is known to have created this many.
    #[must_use]
    pub fn of_earlier(self, created: u64) -> Self {
        Self { created: Some(created), ..self }
    }

    /// The stage of the audit.
    pub fn step(self) -> Step {
        self.step_at("audit".to_owned(), None)
    }

    fn step_at(self, name: String, node: Option<usize>) -> Step {
        let Self { of, alone, indexes, created } = self;
        let work = AuditPlan { of, alone, indexes, node, created }.into();
        Step { name, purpose: Purpose::Audit, work, timing: Due::Free }
    }

    /// The stages of an audit through each of `nodes` nodes alone, one after the other; a single
    /// audit unless there are several nodes.
    pub fn steps_at(self, nodes: usize) -> Vec<Step> {
        if nodes < 2 {
            return vec![self.step()];
        }
        let at = |node: usize| self.clone().step_at(format!("audit_{}", node + 1), Some(node));
        (0..nodes).map(at).collect()
    }
}

impl Demand for AuditDemand {
    fn check(&self, _: &Ids, _: &mut Vec<Invalid>) {}

    fn steps(&self) -> Vec<Step> {
        vec![self.clone().step()]
    }
}

impl Offer for AuditPlan {
    const NAMES: &'static [(&'static str, &'static str)] = &[];

    fn demand(_: &str, _: &RunAsked) -> Result<Arc<dyn Demand>, Invalid> {
        Err(Invalid::new("--workload", "it has no name", "give --audit"))
    }
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
