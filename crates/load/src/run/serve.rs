//! An agent's part of a run: the whole plan, with the connections of one agent.

use super::bench::{Bench, Part};
use super::lanes::Connections;
use super::load::{EndedStage, Load};
use super::scratch::Scratch;
use super::{RunError, block_on, calibrate, fields};
use crate::clock::{Clock, Nanos, SECOND_NS, wall_ns};
use crate::driver::{Opening, UnsettledWrites};
use crate::engine::{ShardWork, Start, Stop, StopReason, Workloads};
use crate::fleet::{Agent, Assignment, Inquiries, Opened, Order, StageEnd};
use crate::measure::Interval;
use crate::plan::{Plan, PlanRecord, SchemaPlan, StagePlan};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// How often an agent checks whether its connections are open, and whether it must stop.
const LOOK: Duration = Duration::from_millis(20);
/// The same while a stage runs. Hundreds of agents may share a machine, and each wake-up costs
/// time.
const IDLE: Duration = Duration::from_millis(100);
/// How long a second sent by one thread waits for those of the others, in nanoseconds.
const TOGETHER_NS: Nanos = 50_000_000;

/// How an agent's work ended.
#[derive(Debug, PartialEq, Eq)]
pub enum Served {
    /// The coordinator has nothing more to do, or reports what went wrong.
    Dismissed(Option<String>),
    /// The coordinator is lost, for this reason.
    Lost(String),
}

/// Carries out the coordinator's orders until there are no more.
pub fn serve(agent: &Agent) -> Served {
    // The order that ended a plan.
    let mut last = None;
    loop {
        match last.take().unwrap_or_else(|| agent.order()) {
            Order::Assign(assignment) => match carry_out(agent, &assignment) {
                Ok(order) => last = Some(order),
                Err(error) => agent.failed(error.to_string()),
            },
            Order::Prepare(_) | Order::Over => {}
            Order::Quit(why) => return Served::Dismissed(why),
            Order::Lost(why) => return Served::Lost(why),
        }
    }
}

/// Carries out one plan. Returns the order that ended it.
fn carry_out(agent: &Agent, assignment: &Assignment) -> Result<Order, RunError> {
    let stop = Arc::new(Stop::default());
    agent.heed(stop.clone());
    let refuse = |why: String| {
        agent.opened(Err(why));
        Ok(Order::Over)
    };
    let plan: PlanRecord = match serde_json::from_str(assignment.plan.get()) {
        Ok(plan) => plan,
        Err(error) => return refuse(format!("the plan cannot be read: {error}")),
    };
    let plan = match plan.checked_again() {
        Ok(plan) => plan,
        Err(mistakes) => return refuse(format!("the plan cannot be run: {}", mistakes[0])),
    };
    let (began, began_wall) = (Clock::system().now(), wall_ns());
    let documents = SchemaPlan::documents(plan.seed, &plan.schemas)?;
    let documents = Arc::new(documents.named(plan.ids.seeded(plan.seed)));
    let calibration = calibrate::calibrate(&documents, plan.threads)?;
    let opening = opening(&plan, assignment)?;
    let (target, facts) = match block_on(&stop, plan.target.open(&opening)) {
        Ok(opened) => opened,
        Err(RunError::Aborted) => return Ok(agent.order()),
        Err(error) => return refuse(error.to_string()),
    };
    let journal = match plan.audit.then(Scratch::new).transpose() {
        Ok(journal) => journal,
        Err(error) => return refuse(error.to_string()),
    };
    agent.opened(Ok(Opened { same_machine: facts.same_machine, calibration }));
    let bench = Bench {
        part: Part { agent: agent.index(), agents: assignment.agents },
        journal: journal.as_ref().map(Scratch::journal),
        ..Bench::new(&plan, &target, &stop, [began, began_wall])
    };
    let mut connections = Connections::new(&bench, documents)?;
    let last = loop {
        let number = match agent.order() {
            Order::Prepare(number) => number,
            last => break last,
        };
        let Some(stage) = plan.stages.get(number) else { continue };
        let served = Serving { bench: &bench, stage, agent, number };
        match connections.run_stage(&bench, stage, |work| served.run(work)) {
            Err(RunError::Aborted) => {}
            ended => ended?,
        }
    };
    if stop.reason() != Some(StopReason::Aborted) {
        // The database stays: only its connection is closed.
        let _ = block_on(&stop, target.tear_down());
    }
    Ok(last)
}

/// What the driver needs to know about an agent's part of a run.
fn opening(plan: &Plan, assignment: &Assignment) -> Result<Opening, RunError> {
    Ok(Opening {
        operations: plan.operations.clone(),
        // The coordinator has created the database, and will remove it.
        as_it_is: true,
        scratch: assignment.scratch.clone(),
        stand_in: assignment.stand_in.clone(),
        seed: plan.seed,
        fields: fields::fields(plan)?,
        timeout_ns: plan.timeout_ns,
        max_answer: plan.max_answer,
        ..Opening::default()
    })
}

/// A stage run for the coordinator.
struct Serving<'a> {
    bench: &'a Bench<'a>,
    stage: &'a StagePlan,
    agent: &'a Agent,
    number: usize,
}

impl Serving<'_> {
    /// Runs the threads of this agent, and returns what they leave behind.
    fn run(self, work: Vec<ShardWork>) -> Result<((), Vec<Workloads>), RunError> {
        let start = Arc::new(Start::gated(self.bench.own_shards(self.stage)));
        self.agent.begin(self.number, start.clone());
        let measured = self.measure(work, &start);
        let (rest, ended) = measured.inspect_err(|_| self.agent.abandon())?;
        let (stage, stopped) = (self.number, self.bench.stop.reason());
        let noted = self.bench.noted(self.stage).map(|(journal, _)| {
            let send = |before, piece: &[u8]| self.agent.note(stage, before, piece);
            journal.hand_over(stage, send).map_err(|error| error.to_string())
        });
        let EndedStage { shards, hiccups, workloads } = ended;
        self.agent.end(rest, StageEnd { stage, shards, hiccups, stopped, noted, left: None });
        Ok(((), workloads))
    }

    /// Runs the threads. Returns what they leave behind, and what they measured since the last
    /// snapshot.
    fn measure(
        &self,
        work: Vec<ShardWork>,
        start: &Arc<Start>,
    ) -> Result<(Vec<Interval>, EndedStage), RunError> {
        let (load, intervals) = Load::begin(self.bench, self.stage, work, start)?;
        let rest = self.relay(&intervals, start)?;
        Ok((rest, load.join()?))
    }

    /// Sends the measurements once a second. Returns those left at the end.
    fn relay(
        &self,
        intervals: &Receiver<Interval>,
        start: &Start,
    ) -> Result<Vec<Interval>, RunError> {
        let clock = Clock::system();
        let (mut ready, mut next) = (false, clock.now() + SECOND_NS);
        let mut waiting: BTreeMap<u32, Interval> = BTreeMap::new();
        loop {
            if start.is_deserted() {
                // A thread has failed, and no stage begins without it: the others stop.
                self.bench.stop.raise(StopReason::Interrupted);
                start.open(clock.now());
            } else if !ready && start.is_reached() {
                self.agent.ready(self.number);
                ready = true;
            }
            match intervals.recv_timeout(if ready { IDLE } else { LOOK }) {
                Ok(mut interval) => {
                    let second = interval.second;
                    let sum = waiting.entry(second).or_insert_with(|| Interval::new(second));
                    sum.merge(&interval);
                    sum.raw.append(&mut interval.raw);
                    sum.acks.append(&mut interval.acks);
                    // Those of the other threads will arrive soon.
                    next = next.min(clock.now() + TOGETHER_NS);
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(waiting.into_values().collect()),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if self.bench.stop.reason() == Some(StopReason::Aborted) {
                return Err(RunError::Aborted);
            }
            if clock.now() >= next {
                next = clock.now() + SECOND_NS;
                let intervals = waiting.values().cloned().collect();
                if self.agent.snapshot(self.number, intervals, self.inquiries()) {
                    waiting.clear();
                }
            }
        }
    }

    /// What the sessions of this agent ask the server about now.
    fn inquiries(&self) -> Inquiries {
        let UnsettledWrites { writes, until } = self.bench.target.unsettled();
        let until = if writes > 0 { until } else { 0 };
        Inquiries { writes, until, stopped: self.bench.stop.reason().is_some() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture_tests::{planned, with_own};
    use super::*;
    use crate::plan::PlanSpec;

    #[test]
    fn an_agent_opens_the_database_that_the_coordinator_has_made_as_the_plan_says() {
        let plan = PlanSpec { seed: 7, timeout_ns: 2 * SECOND_NS, ..with_own() };
        let plan = planned(&PlanSpec { max_answer: 9_000, ..plan });
        let assignment = Assignment {
            plan: serde_json::value::RawValue::from_string("{}".to_owned()).unwrap(),
            agents: 2,
            scratch: Some("made".to_owned()),
            stand_in: Some("http://127.0.0.1:2".to_owned()),
        };
        let told = opening(&plan, &assignment).unwrap();
        assert!(told.as_it_is);
        assert_eq!((told.scratch, told.stand_in), (assignment.scratch, assignment.stand_in));
        assert_eq!((told.seed, told.timeout_ns, told.max_answer), (7, 2 * SECOND_NS, 9_000));
        assert!(!told.operations.is_empty() && told.operations == plan.operations);
        let names = fields::fields(&plan).unwrap();
        assert!(!names.is_empty() && told.fields == names, "{:?}", told.fields);
    }
}
