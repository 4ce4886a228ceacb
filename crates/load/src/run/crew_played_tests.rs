//! A coordinator whose agents are played by the test: how it prepares and starts a stage, and what
//! it makes of what they report.

use super::plan;
use crate::clock::{Clock, Nanos, SECOND_NS, wall_ns};
use crate::driver::Opening;
use crate::engine::{Stop, StopReason};
use crate::fleet::{Arrived, Channel, Fleet, Full, Opened, Outbox, StageEnd, To, WAITING, Waits};
use crate::measure::{Hiccups, Interval, RawRow};
use crate::op::OpKind;
use crate::plan::{FleetPlan, SchemaPlan};
use crate::record::ServerRecord;
use crate::run::bench::Bench;
use crate::run::crew::{Crew, PATIENCE_NS, lead_ns};
use crate::run::stage::tests::{check_beside, much, nobody, planned};
use crate::run::{Observer, Progress, RunError, RunRecord, begun};
use serde_json::{Value, json};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const MS: Nanos = 1_000_000;

/// The messages sent to the agents, and when.
type Told = Arc<Mutex<Vec<(Nanos, Value)>>>;

/// The replies of the agent with this number to this message.
type Answers = Box<dyn FnMut(usize, &Value) -> Vec<Value> + Send>;

/// Agents that a test plays. By themselves, they only answer pings, and leave on request.
struct Puppets {
    coordinator: SyncSender<Arrived>,
    told: Told,
    answers: Answers,
    /// How many messages each has sent that must not be missing.
    numbers: Vec<u64>,
}

fn said(agent: usize, number: u64, body: &Value) -> Arrived {
    let message =
        json!({"run": "test", "agent": agent, "sender": 7, "number": number, "body": body});
    Arrived::Message(message.to_string().into_bytes())
}

impl Outbox for Puppets {
    fn send(&mut self, to: To, message: Vec<u8>) -> Result<(), Full> {
        let mut message: Value = serde_json::from_slice(&message).unwrap();
        let (body, now) = (message["body"].take(), Clock::system().now());
        for agent in 0..self.numbers.len() {
            if to != To::All && to != To::Agent(agent) {
                continue;
            }
            let number = self.numbers[agent];
            if body["quit"].is_object() {
                let _ = self.coordinator.try_send(Arrived::AgentGone(agent, "it left".to_owned()));
            } else if body["ping"].is_object() {
                let pong = json!({"pong": {"id": body["ping"]["id"], "at_ns": now}});
                let _ = self.coordinator.try_send(said(agent, number, &pong));
            } else {
                for answer in (self.answers)(agent, &body) {
                    self.numbers[agent] += 1;
                    let answer = said(agent, self.numbers[agent], &answer);
                    let _ = self.coordinator.try_send(answer);
                }
            }
        }
        self.told.lock().unwrap().push((now, body));
        Ok(())
    }
}

/// A coordinator with such agents, all of which are present.
struct Played {
    fleet: Fleet,
    coordinator: SyncSender<Arrived>,
    told: Told,
}

impl Played {
    fn new(agents: usize, waits: Waits, answers: Answers) -> Self {
        let (coordinator, inbox) = sync_channel(WAITING);
        let (told, numbers) = (Told::default(), vec![0; agents]);
        let (sender, kept) = (coordinator.clone(), told.clone());
        let puppets = Puppets { coordinator: sender, told: kept, answers, numbers };
        let channel = Channel { outbox: Box::new(puppets), inbox, lossy: true };
        let mut fleet = Fleet::new(channel, "test", agents, waits).unwrap();
        for agent in 0..agents {
            let version = env!("CARGO_PKG_VERSION");
            let facts = json!({"host": "h", "pid": 7, "version": version, "cores": 2});
            coordinator.send(said(agent, 0, &json!({"hello": facts}))).unwrap();
        }
        fleet.gather(Duration::from_secs(20), &Stop::default(), &mut |_| {}).unwrap();
        Self { fleet, coordinator, told }
    }

    fn gone(&self, agent: usize) {
        self.coordinator.send(Arrived::AgentGone(agent, "killed".to_owned())).unwrap();
    }
}

fn silent() -> Answers {
    Box::new(|_, _| Vec::new())
}

/// Agents that are ready for the stages that this function says.
fn ready_for(stage: fn(usize, &Value) -> Option<Value>) -> Answers {
    Box::new(move |agent, body| {
        let asked = &body["prepare"]["stage"];
        let stage = (!asked.is_null()).then(|| stage(agent, asked)).flatten();
        stage.map(|stage| json!({"ready": {"stage": stage}})).into_iter().collect()
    })
}

/// The end of a stage in which an agent measured nothing, and the reason it stopped.
fn end(stage: usize, stopped: Option<StopReason>) -> StageEnd {
    let (shards, hiccups) = (Vec::new(), Hiccups::default());
    StageEnd { stage, shards, hiccups, stopped, noted: None, left: None }
}

struct Nobody;

impl Observer for Nobody {
    fn stage_begins(&mut self, _: &str) {}
    fn progress(&mut self, _: &Progress) {}
    fn keep(&mut self, _: &RunRecord) {}
}

/// Prepares the first stage with these agents, about which the coordinator knows this.
fn prepared(
    answers: Answers,
    stop: &Arc<Stop>,
    hears: impl Fn(&Played),
) -> (Result<(), RunError>, Vec<Option<String>>) {
    let (plan, target) = (plan(4, 2, Some(40), 0), nobody());
    let bench = Bench::new(&plan, &target, stop, [0; 2]);
    let mut played = Played::new(2, Waits::default(), answers);
    hears(&played);
    let mut crew = Crew::new(&mut played.fleet, 0);
    let result = crew.prepare(&bench, 0);
    let lost = crew.lost.iter().flatten().map(|it| it.stage.clone()).collect();
    (result, lost)
}

#[test]
fn an_agent_that_is_ready_for_another_stage_is_waited_for_and_then_named() {
    let answers = ready_for(|agent, asked| Some(if agent == 0 { asked.clone() } else { json!(9) }));
    let began = Clock::system().now();
    let (result, lost) = prepared(answers, &Arc::default(), |_| {});
    let Err(RunError::Agents(why)) = result else { panic!("{result:?}") };
    assert_eq!((why.as_str(), lost.len()), ("agent 1 was not ready in time", 0));
    // The timeout of an operation, and what agents are given in addition.
    assert!(Clock::system().now() - began >= SECOND_NS + PATIENCE_NS);
}

#[test]
fn a_stage_is_prepared_without_agents_that_are_lost_unless_all_are() {
    let asked = || ready_for(|agent, asked| (agent == 1).then(|| asked.clone()));
    let (result, lost) = prepared(asked(), &Arc::default(), |played| played.gone(0));
    assert!(result.is_ok(), "{result:?}");
    assert_eq!(lost, [Some("bulk_insert".to_owned())]);
    let all = |played: &Played| (0..2).for_each(|agent| played.gone(agent));
    let (result, lost) = prepared(silent(), &Arc::default(), all);
    let Err(RunError::AllLost(why)) = result else { panic!("{result:?}") };
    assert_eq!((why.as_str(), lost.len()), ("all agents were lost: killed", 2));
}

/// A stage of a run that is stopped ends as soon as it has started; one that is aborted never does.
#[test]
fn a_run_that_is_stopped_does_not_wait_until_all_are_ready() {
    for (reason, aborted) in [(StopReason::Interrupted, false), (StopReason::Aborted, true)] {
        let stop = Arc::new(Stop::default());
        stop.raise(reason);
        let (result, _) = prepared(silent(), &stop, |_| {});
        assert_eq!(matches!(result, Err(RunError::Aborted)), aborted, "{result:?}");
        assert_eq!(result.is_ok(), !aborted);
    }
}

#[test]
fn a_start_is_announced_earlier_to_more_agents_and_to_distant_ones() {
    assert_eq!(lead_ns(0, 0), 300 * MS);
    assert_eq!(lead_ns(1_000, 0), 500 * MS);
    assert_eq!(lead_ns(1_000, 50 * MS), 650 * MS);
}

/// What an agent measured in the first second of a stage: a single read.
fn read(done: Nanos) -> Interval {
    let mut interval = Interval::new(0);
    let part = interval.kind_mut(OpKind::Read);
    (part.requests, part.ok) = (1, 1);
    let (kind, failure) = (OpKind::Read, None);
    interval.raw.push(RawRow { kind, failure, done, service_ns: MS, response_ns: MS });
    interval
}

/// Agents that carry out each stage: an operation, and the end, once it has begun.
fn working() -> Answers {
    // When the stage of this number begins, by agent.
    let mut begins: [Option<(Value, Nanos)>; 2] = [None, None];
    Box::new(move |agent, body| {
        if body["assign"].is_object() {
            let opened = Opened { same_machine: agent == 1, ..Opened::default() };
            return vec![json!({"opened": opened})];
        }
        if body["prepare"].is_object() {
            return vec![json!({"ready": body["prepare"]})];
        }
        if let Some(moment) = body["start"]["coordinators_ns"].as_u64() {
            let stage = body["start"]["stage"].clone();
            begins[agent] = Some((stage.clone(), moment));
            return vec![json!({"started": {"stage": stage}})];
        }
        // Once a second, the coordinator shows that it is there.
        let now = Clock::system().now();
        let begun = begins[agent].take_if(|(_, moment)| body == "tick" && *moment < now);
        let Some((stage, moment)) = begun else { return Vec::new() };
        let end = end(stage.as_u64().unwrap() as usize, None);
        let snapshot = json!({"stage": stage, "intervals": [read(moment + MS)]});
        vec![json!({"snapshot": snapshot}), json!({"ended": end})]
    })
}

#[test]
fn a_stage_of_agents_has_all_that_was_asked_for_beside_it() {
    let plan = planned(&much()).shared(FleetPlan { agents: 2, allow_lost: false }, true).unwrap();
    let (target, stop) = (nobody(), Arc::default());
    let began = [Clock::system().now().saturating_sub(5 * SECOND_NS), wall_ns()];
    let bench = Bench::new(&plan, &target, &stop, began);
    let mut played = Played::new(2, Waits::default(), working());
    let mut crew = Crew::new(&mut played.fleet, began[0]);
    let mut run = |number| crew.run_stage(&bench, number, &mut Nobody).unwrap();
    let (fill, crud) = (run(0), run(1));
    check_beside(&fill, &crud);
    let requests: u64 = crud.slots.iter().map(|it| it.requests).sum();
    assert_eq!(requests, 2, "one of each agent");
    assert_eq!(crud.agents.iter().map(|it| it.requests).collect::<Vec<_>>(), [1, 1]);
    assert_eq!(stop.reason(), None);
    let told = played.told.lock().unwrap();
    for (at, body) in told.iter().filter(|(_, body)| body["start"].is_object()) {
        let moment = body["start"]["coordinators_ns"].as_u64().unwrap();
        assert!(moment > *at, "{moment} is before {at}");
    }
}

#[test]
fn a_run_of_agents_has_what_they_found_out_and_ends_without_dismissing_them() {
    let (plan, target, stop) = (plan(4, 2, Some(40), 0), nobody(), Arc::default());
    let began = [Clock::system().now(), wall_ns()];
    let bench = Bench::new(&plan, &target, &stop, began);
    let mut played = Played::new(2, Waits::default(), working());
    let mut record = begun(&plan, began[1], ServerRecord::default());
    let documents = Arc::new(SchemaPlan::documents(plan.seed, &plan.schemas).unwrap());
    let crew = Crew::new(&mut played.fleet, began[0]);
    crew.run(&bench, &documents, &Opening::default(), &mut record, &mut Nobody).unwrap();
    assert_eq!(record.stages.len(), 2);
    assert!(record.server.same_machine, "one agent runs beside the server");
    assert!(record.environment.calibration.is_some());
    for (row, member) in record.agents.iter().zip(played.fleet.members()) {
        let error_us = member.offset.unwrap().error_ns as f64 / 1e3;
        assert!((row.clock_error_us - error_us).abs() < 1e-9, "{row:?}, not {error_us}");
    }
    let told = played.told.lock().unwrap();
    assert!(told.iter().any(|(_, body)| body == "over"));
    assert!(!told.iter().any(|(_, body)| body["quit"].is_object()), "another run may follow");
}

#[path = "crew_shares_tests.rs"]
mod shares;
