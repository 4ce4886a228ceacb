//! What the stages of a run share, and which connections and threads belong to this process.

use super::observe::Observing;
use super::replicate::Replicas;
use crate::clock::Nanos;
use crate::driver::{Driver, FollowPlan, SentBeside};
use crate::engine::{Deal, Patience, Stop};
use crate::journal::Journal;
use crate::net::Relay;
use crate::plan::{DrillTimes, Plan, ProbePlan, Purpose, StagePlan};
use crate::record::RunRecord;
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// The part of a run that one process carries out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) agent: usize,
    pub(super) agents: usize,
}

impl Part {
    pub(super) const WHOLE: Self = Self { agent: 0, agents: 1 };
}

/// What the stages of a run share.
pub(super) struct Bench<'a> {
    pub(super) plan: &'a Plan,
    pub(super) target: &'a Driver,
    pub(super) stop: &'a Arc<Stop>,
    /// When the run began.
    pub(super) began: Nanos,
    /// The same on the wall clock, in nanoseconds since 1970.
    pub(super) began_wall: Nanos,
    /// Whether the server runs in this process: each thread is then pinned to its processor.
    pub(super) pinned: bool,
    /// The part that this process carries out.
    pub(super) part: Part,
    /// The journal where writes are noted, if they are.
    pub(super) journal: Option<Arc<Journal>>,
    /// How long the server may be silent.
    pub(super) patience: Arc<Patience>,
    /// When the stage ended in which the run was stopped, if it was.
    pub(super) stopped: Cell<Option<Nanos>>,
    /// The thread that observes the servers, if they are observed.
    pub(super) observing: Option<Observing>,
    /// The other databases, if there is replication.
    pub(super) replicas: Option<Replicas>,
    /// The relay through which the load reaches one of the nodes, if a drill cuts that node off.
    pub(super) relay: Option<Relay>,
    /// Counts the requests of a drill while the servers are observed.
    pub(super) beside: SentBeside,
    /// The record of the stages that have ended, once another one is running.
    pub(super) ended: RefCell<Option<RunRecord>>,
}

impl<'a> Bench<'a> {
    /// For all connections of a run that began at `began`, on both clocks; with nothing beside the
    /// load.
    pub(super) fn new(
        plan: &'a Plan,
        target: &'a Driver,
        stop: &'a Arc<Stop>,
        [began, began_wall]: [Nanos; 2],
    ) -> Self {
        Self {
            plan,
            target,
            stop,
            began,
            began_wall,
            pinned: false,
            part: Part::WHOLE,
            journal: None,
            patience: Arc::new(Patience::new(plan.patience_ns())),
            stopped: Cell::default(),
            observing: None,
            replicas: None,
            relay: None,
            beside: SentBeside::default(),
            ended: RefCell::default(),
        }
    }
}

impl Bench<'_> {
    /// The threads of a stage that belong to this process. A connection stays with its agent,
    /// however many threads a stage has.
    pub(super) fn deal(&self, stage: &StagePlan) -> Deal {
        let Part { agent, agents } = self.part;
        let shards = (stage.shards(self.plan.threads * agents) / agents).max(1) * agents;
        Deal { shards, agent, agents }
    }

    /// The number of these threads.
    pub(super) fn own_shards(&self, stage: &StagePlan) -> usize {
        self.deal(stage).shards / self.part.agents
    }

    /// The number of documents between two points of a fill's growth: what all connections insert
    /// at once, and at least a thousandth of all, as in svetlyak40wt's couchdb-performance-tests
    /// (2008).
    pub(super) fn window(&self, stage: &StagePlan) -> Option<u64> {
        let fill = stage.work.traits().fill.filter(|_| self.plan.fill.growth)?;
        let at_once = self.plan.connections as u64 * u64::from(fill.batch);
        Some(at_once.max(fill.documents / 1_000))
    }

    /// The probes beside the load of a stage.
    pub(super) fn probes(&self, stage: &StagePlan) -> Option<ProbePlan> {
        self.plan.probe.clone().filter(|_| self.has_company(stage))
    }

    /// Whether probes and followers run beside the load of a stage: if it is the main stage, or a
    /// fill and there is no main stage.
    fn has_company(&self, stage: &StagePlan) -> bool {
        let main = self.plan.stages.iter().any(|it| it.purpose().is_main());
        if main { stage.purpose().is_main() } else { stage.purpose() == Purpose::Fill }
    }

    /// The followers beside the load of a stage.
    pub(super) fn follows(&self, stage: &StagePlan) -> Option<FollowPlan> {
        self.plan.follow.clone().filter(|_| self.has_company(stage))
    }

    /// The journal in which the writes of a stage are noted, and the number of the stage.
    pub(super) fn noted(&self, stage: &StagePlan) -> Option<(Arc<Journal>, usize)> {
        let journal = self.journal.clone().filter(|_| !stage.work.traits().audits)?;
        let number = self.plan.stages.iter().position(|it| std::ptr::eq(it, stage))?;
        Some((journal, number))
    }

    /// How long the server may be silent in a stage before it counts as gone. The time in which it
    /// is broken on purpose is added.
    pub(super) fn patience_ns(&self, stage: &StagePlan) -> Nanos {
        let drilled = self.plan.drill_of(stage).map_or(0, |drill| {
            let DrillTimes { broken_ns, limit_ns, .. } = drill.times;
            broken_ns.saturating_add(limit_ns.saturating_mul(2))
        });
        self.plan.patience_ns().saturating_add(drilled)
    }
}

#[cfg(test)]
#[path = "bench_tests.rs"]
mod tests;
