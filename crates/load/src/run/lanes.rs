//! What the connections of a run do in a stage, and what they hand on to the next.

use super::RunError;
use super::bench::Bench;
use crate::driver::TargetError;
use crate::engine::{Pace, ShardWork, Workloads, carry_out};
use crate::op::Feature;
use crate::plan::StagePlan;
use crate::schema::Documents;
use crate::workload::{LaneContext, Places, Stock, UrlEntry, owed};
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
    /// Returns an error if a document in its list of requests has no schema.
    pub(super) fn new(bench: &Bench<'_>, documents: Arc<Documents>) -> Result<Self, RunError> {
        let plan = bench.plan;
        let entries = if plan.http.is_some() { super::http::entries(plan)? } else { Arc::new([]) };
        Ok(Self { documents, entries, stock: Stock::new(plan.connections) })
    }

    /// Runs one stage by calling `run`, which returns its result and what the threads leave behind.
    pub(super) fn run_stage<O>(
        &mut self,
        bench: &Bench<'_>,
        stage: &StagePlan,
        run: impl FnOnce(Vec<ShardWork>) -> Result<(O, Vec<Workloads>), RunError>,
    ) -> Result<O, RunError> {
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
            sharing: open.then(|| bench.deal(stage).shards),
            documents: self.documents.clone(),
            naming: plan.ids.seeded(plan.seed),
            entries: self.entries.clone(),
            persists: plan.fill.wait_for_server_ns.is_some(),
            verify: plan.verify,
            reads_several: plan.target.card().can.contains(&Feature::Several),
            // All documents of one request must be in the same database.
            places: plan
                .target
                .databases()
                .map(|it| it.spread)
                .map(|spread| Places::new(move |key| spread.database(key))),
        };
        let traits = stage.work.traits();
        if let Some(journal) = bench.journal.as_ref().filter(|_| traits.audits) {
            self.stock.owe(owed(journal, traits.shares_documents)?);
        }
        let (mut run, mut result) = (Some(run), None);
        carry_out(&stage.work, &cx, &mut self.stock, bench.deal(stage), &mut |work| match run
            .take()?(
            work
        ) {
            Ok((output, left)) => {
                result = Some(Ok(output));
                Some(left)
            }
            Err(error) => {
                result = Some(Err(error));
                None
            }
        });
        result.expect("each workload has its stage run")
    }
}
