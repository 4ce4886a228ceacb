//! What the connections of a run do in a stage, and what they pass on to the next.

use super::bench::Bench;
use super::{Observer, RunError};
use crate::driver::TargetError;
use crate::engine::Pace;
use crate::fleet::Fleet;
use crate::op::Feature;
use crate::plan::StagePlan;
use crate::record::StageRecord;
use crate::schema::Documents;
use crate::workload::{LaneContext, Runner, Stock, UrlEntry, Workload, owed};
use std::sync::Arc;

/// The connections of a run, with the documents that each has in the database, from stage to stage.
pub(super) struct Connections {
    documents: Arc<Documents>,
    entries: Arc<[UrlEntry]>,
    stock: Stock,
}

impl Connections {
    /// The connections of the plan of `bench` before its first stage.
    ///
    /// # Errors
    /// When a document in its list of requests has no schema.
    pub(super) fn new(bench: &Bench<'_>, documents: Arc<Documents>) -> Result<Self, RunError> {
        let plan = bench.plan;
        let entries = if plan.http.is_some() { super::http::entries(plan)? } else { Arc::new([]) };
        Ok(Self { documents, entries, stock: Stock::new(plan.connections) })
    }

    /// Has `runner` run one stage.
    pub(super) fn run_stage<R: Runner<Error = RunError>>(
        &mut self,
        bench: &Bench<'_>,
        stage: &StagePlan,
        runner: R,
    ) -> Result<R::Output, RunError> {
        let plan = bench.plan;
        let open = matches!(stage.pace, Pace::Open { .. });
        let operations = crate::plan::operations(&plan.operations, &plan.data, &plan.target);
        let operations = operations.map_err(|mistake| TargetError(mistake.to_string()))?;
        let cx = LaneContext {
            operations: operations.into(),
            seed: plan.seed,
            connections: plan.connections,
            spare: plan.spare(stage),
            agent: bench.part.agent as u64,
            sharing: open.then(|| bench.shards(stage)),
            documents: self.documents.clone(),
            naming: plan.ids.seeded(plan.seed),
            entries: self.entries.clone(),
            persists: plan.fill.wait_for_server_ns.is_some(),
            verify: plan.verify,
            // Those of one request may be in several databases.
            reads_several: plan.target.card().can.contains(&Feature::Several)
                && plan.target.databases().is_none(),
        };
        let traits = stage.work.traits();
        if let Some(journal) = bench.journal.as_ref().filter(|_| traits.audits) {
            self.stock.owe(owed(journal, traits.shares_documents)?);
        }
        stage.work.carry_out(&cx, &mut self.stock, runner)
    }
}

/// A stage to be run in this process alone, with any workload.
pub(super) struct Alone<'a> {
    pub(super) bench: &'a Bench<'a>,
    pub(super) stage: &'a StagePlan,
    pub(super) observer: &'a mut dyn Observer,
    /// Agents that take no part in it, and are listened to meanwhile.
    pub(super) fleet: Option<&'a mut Fleet>,
}

impl Runner for Alone<'_> {
    type Output = StageRecord;
    type Error = RunError;

    fn run<W: Workload + Send + 'static>(
        self,
        lanes: Vec<W>,
    ) -> Result<(StageRecord, Vec<W>), RunError> {
        self.bench.run(self.stage, lanes, self.observer, self.fleet)
    }
}
