//! Which workload each connection carries out in a stage, and what it hands on to the next.

use super::stage::Bench;
use super::{Observer, RunError};
use crate::engine::Pace;
use crate::generate::mix;
use crate::plan::{CrudOrder, Plan, StageKind, StagePlan, YcsbPhase, YcsbStage};
use crate::record::StageRecord;
use crate::schema::Documents;
use crate::workload::ycsb::rest::Rest;
use crate::workload::ycsb::series::Series;
use crate::workload::ycsb::{Class, Core, CoreLane};
use crate::workload::{Budget, BulkInsert, Burst, Crud, CurrentDocument, Live, Urls};
use std::sync::Arc;

/// The connections of a run: what each has in the database, from stage to stage.
pub(super) struct Connections<'a> {
    plan: &'a Plan,
    documents: Arc<Documents>,
    bulk: u64,
    live: Vec<Live>,
    warm: Vec<Crud>,
    bursts: Vec<Burst>,
    users: Vec<Urls>,
    warm_ycsb: Vec<CoreLane>,
}

impl<'a> Connections<'a> {
    /// The connections of `plan` before its first stage.
    pub(super) fn new(plan: &'a Plan, documents: Arc<Documents>) -> Self {
        let live = vec![Live::default(); plan.connections];
        let (warm, bursts, users, warm_ycsb) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { plan, documents, bulk: 0, live, warm, bursts, users, warm_ycsb }
    }

    /// Carries out one stage.
    pub(super) fn run_stage(
        &mut self,
        bench: &Bench<'_>,
        stage: &StagePlan,
        observer: &mut dyn Observer,
    ) -> Result<StageRecord, RunError> {
        let (plan, seed) = (self.plan, self.plan.seed);
        let connections = plan.connections;
        match &stage.kind {
            StageKind::BulkInsert { documents, batch } => {
                let make = |k| {
                    let keys = stage.kind.bulk_keys(k, connections);
                    let fill = BulkInsert::new(self.documents.clone(), keys, *batch);
                    let waits = plan.fill.wait_for_server_ns.is_some();
                    if waits { fill.persisting() } else { fill }
                };
                let lanes = (0..connections).map(make).collect();
                let (record, lanes) = bench.run(stage, lanes, observer)?;
                self.live = lanes.into_iter().map(BulkInsert::into_live).collect();
                self.bulk = *documents;
                Ok(record)
            }
            StageKind::Crud { order: CrudOrder::Current, .. } => {
                let make = |(k, live): (usize, Live)| {
                    let Budget::Counted(left) = stage.kind.budget(k, connections) else {
                        unreachable!("this order is planned with counts only")
                    };
                    let keys = stage.kind.create_keys(self.bulk, k, connections);
                    let of = (seed, k as u64);
                    CurrentDocument::new(self.documents.clone(), of, left, &live, keys)
                };
                let live = std::mem::take(&mut self.live).into_iter();
                let lanes = live.enumerate().map(make).collect();
                Ok(bench.run(stage, lanes, observer)?.0)
            }
            StageKind::Crud { order: CrudOrder::Uniform, .. } => {
                let lanes = self.crud_lanes(stage);
                let (record, lanes) = bench.run(stage, lanes, observer)?;
                self.warm = lanes;
                Ok(record)
            }
            StageKind::Burst(burst) => {
                let mut workers = std::mem::take(&mut self.bursts);
                let naming = plan.ids.seeded(seed);
                let make = |k| {
                    let worker = Burst::new(seed, k as u64, (burst.size, burst.filling));
                    worker.named(naming.clone())
                };
                workers.extend((workers.len()..connections).map(make));
                let lanes = workers
                    .into_iter()
                    .map(|it| it.with_role(burst.role).conditional(burst.conditional))
                    .collect();
                let (record, lanes) = bench.run(stage, lanes, observer)?;
                self.bursts = lanes;
                Ok(record)
            }
            StageKind::Urls { order, .. } => {
                let left = |k| stage.own_operations(k, connections);
                if self.users.is_empty() {
                    let entries = super::http::entries(plan)?;
                    let make = |k| {
                        let user = (k as u64, connections as u64);
                        Urls::new(entries.clone(), *order, user, seed, None)
                    };
                    self.users = (0..connections).map(make).collect();
                }
                let users = std::mem::take(&mut self.users).into_iter().enumerate();
                let lanes = users.map(|(k, user)| user.with_left(left(k))).collect();
                let (record, lanes) = bench.run(stage, lanes, observer)?;
                self.users = lanes;
                Ok(record)
            }
            StageKind::Ycsb(ycsb) => self.run_ycsb(bench, (stage, ycsb), observer),
        }
    }

    /// Carries out a stage of a workload of YCSB's.
    fn run_ycsb(
        &mut self,
        bench: &Bench<'_>,
        (stage, ycsb): (&StagePlan, &YcsbStage),
        observer: &mut dyn Observer,
    ) -> Result<StageRecord, RunError> {
        let (seed, connections) = (self.plan.seed, self.plan.connections);
        let place = |k| (k as u64, connections as u64);
        match &ycsb.class {
            Class::Series(config) => {
                let series = Arc::new(Series::new((&ycsb.config, config), seed));
                let make = |k| match ycsb.phase {
                    YcsbPhase::Load => {
                        series.load(place(k), ycsb.records_of(k, connections), ycsb.batch)
                    }
                    YcsbPhase::Run => series.run(place(k), stage.own_operations(k, connections)),
                };
                Ok(bench.run(stage, (0..connections).map(make).collect(), observer)?.0)
            }
            Class::Rest(config) => {
                let rest = Arc::new(Rest::new((&ycsb.config, config), seed));
                let make = |k| rest.run(k as u64, stage.own_operations(k, connections));
                Ok(bench.run(stage, (0..connections).map(make).collect(), observer)?.0)
            }
            Class::Core => {
                let lanes = self.ycsb_lanes(stage, ycsb);
                let (record, lanes) = bench.run(stage, lanes, observer)?;
                if ycsb.phase == YcsbPhase::Run {
                    self.warm_ycsb = lanes;
                }
                Ok(record)
            }
        }
    }

    /// The workloads of a stage of the core workload: those of the warm-up with a new number of
    /// operations, so that they insert other records, or fresh ones.
    fn ycsb_lanes(&mut self, stage: &StagePlan, ycsb: &YcsbStage) -> Vec<CoreLane> {
        let connections = self.plan.connections;
        if !self.warm_ycsb.is_empty() {
            let warm = std::mem::take(&mut self.warm_ycsb).into_iter().enumerate();
            let renew = |(k, lane): (_, CoreLane)| {
                lane.with_operations(stage.own_operations(k, connections))
            };
            return warm.map(renew).collect();
        }
        let core = Arc::new(Core::new(&ycsb.config, self.plan.seed));
        let make = |k| {
            let place = (k as u64, connections as u64);
            match ycsb.phase {
                YcsbPhase::Load => core.load(place, ycsb.batch),
                YcsbPhase::Run => core.run(place, stage.own_operations(k, connections)),
            }
        };
        (0..connections).map(make).collect()
    }

    /// The workloads of a CRUD stage: those of the warm-up with a new budget, or fresh ones.
    fn crud_lanes(&mut self, stage: &StagePlan) -> Vec<Crud> {
        let connections = self.plan.connections;
        let budgets = budgets(stage, self.plan);
        if !self.warm.is_empty() {
            let warm = std::mem::take(&mut self.warm).into_iter().zip(budgets);
            return warm.map(|(lane, budget)| lane.with_budget(budget)).collect();
        }
        let live = std::mem::take(&mut self.live).into_iter().zip(budgets).enumerate();
        let make = |(k, (live, budget))| {
            let keys = stage.kind.create_keys(self.bulk, k, connections);
            Crud::new(self.documents.clone(), (self.plan.seed, k as u64), budget, live, keys)
        };
        live.map(make).collect()
    }
}

/// What each connection has to do in a CRUD stage. In an open loop the connections of a thread
/// share it: one that waits for a slow answer leaves nothing behind for the end.
fn budgets(stage: &StagePlan, plan: &Plan) -> Vec<Budget> {
    let connections = plan.connections;
    let own = |k| stage.kind.budget(k, connections);
    if !matches!(stage.pace, Pace::Open { .. }) {
        return (0..connections).map(own).collect();
    }
    let shards = stage.shards(plan.threads);
    let share = |shard| {
        let parts = (shard..connections).step_by(shards).map(own);
        Budget::shared(parts, mix(plan.seed, shard as u64, 0))
    };
    let shared: Vec<_> = (0..shards).map(share).collect();
    (0..connections).map(|k| shared[k % shards].clone()).collect()
}
