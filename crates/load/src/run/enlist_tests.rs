//! Agents that open the target of a plan, cannot, are lost, or say nothing.

use super::super::fixture_tests::{at_once, planned, spec};
use super::*;
use crate::clock::SECOND_NS;
use crate::engine::Stop;
use crate::fleet::{Arrived, Channel, Facts, Fleet, Full, Outbox, To, WAITING, Waits};
use crate::plan::PlanSpec;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};

struct Nowhere;

impl Outbox for Nowhere {
    fn send(&mut self, _: To, _: Vec<u8>) -> Result<(), Full> {
        Ok(())
    }
}

/// The first message of an agent that counts has the number 1.
fn message(agent: usize, number: u64, body: &Value) -> Arrived {
    let text = json!({
        "run": "test", "agent": agent, "sender": 7, "number": number, "body": body,
    });
    Arrived::Message(text.to_string().into_bytes())
}

/// What the agents answer to the plan.
fn opened(agent: usize, answer: &Opened) -> Arrived {
    message(agent, 1, &json!({ "opened": answer }))
}

fn refused(agent: usize, why: &str) -> Arrived {
    message(agent, 1, &json!({ "refused": { "why": why } }))
}

/// An agent on the server's machine or not, of this speed.
fn found(same_machine: bool, [clock_ns, late_us, loop_ns, per_s]: [f64; 4]) -> Opened {
    let calibration = Calibration {
        clock_ns,
        timer_late_p50_us: late_us,
        timer_late_max_us: late_us * 10.0,
        loop_ns,
        ceiling_per_s: per_s,
    };
    Opened { same_machine, calibration }
}

/// Two agents are given a plan, and answer at some time with what `answer` sends. An operation may
/// take `timeout_ns`, and the user has asked to stop for this reason, if for any.
fn assigned(
    timeout_ns: u64,
    reason: Option<StopReason>,
    answer: impl FnOnce(SyncSender<Arrived>) + Send + 'static,
) -> Result<Opened, RunError> {
    let (to_coordinator, inbox) = sync_channel(WAITING);
    let channel = Channel { outbox: Box::new(Nowhere), inbox, lossy: true };
    let waits = Waits { silence_ns: 600 * SECOND_NS, ..Waits::default() };
    let mut fleet = Fleet::new(channel, "test", 2, waits).unwrap();
    for agent in 0..2 {
        let hello = json!({ "hello": Facts::default() });
        to_coordinator.send(message(agent, 0, &hello)).unwrap();
    }
    while !fleet.missing().is_empty() {
        fleet.next(LOOK);
    }
    let plan = planned(&PlanSpec { timeout_ns, ..spec(60, Some(6)) });
    let (target, stop) = (at_once(), Arc::new(Stop::default()));
    if let Some(reason) = reason {
        stop.raise(reason);
    }
    let bench = Bench::new(&plan, &target, &stop, [0, 0]);
    let mut crew = Crew::new(&mut fleet, 0);
    // The channel stays open until the end of the thread; the fleet then waits for nobody.
    let (over, until) = sync_channel::<()>(0);
    let agents = std::thread::spawn(move || {
        answer(to_coordinator.clone());
        let _ = until.recv();
    });
    let result = crew.assign(&bench, &Opening::default());
    drop(over);
    agents.join().unwrap();
    result
}

fn words(result: Result<Opened, RunError>) -> String {
    result.map_or_else(|error| error.to_string(), |opened| format!("{opened:?}"))
}

/// The clock and the timer are as bad as the worst, and the rate is that of all together.
#[test]
fn what_all_agents_found_is_put_together() {
    let slow = found(false, [30.0, 70.0, 400.0, 1e6]);
    let fast = found(true, [20.0, 60.0, 200.0, 3e6]);
    let near = found(false, [25.0, 90.0, 100.0, 0.5e6]);
    assert_eq!(both(&slow, &fast), found(true, [30.0, 70.0, 400.0, 4e6]));
    assert_eq!(both(&fast, &slow), found(true, [30.0, 70.0, 400.0, 4e6]));
    assert_eq!(both(&slow, &near), found(false, [30.0, 90.0, 400.0, 1.5e6]));
    let all = assigned(SECOND_NS, None, move |coordinator| {
        coordinator.send(opened(1, &fast)).unwrap();
        coordinator.send(opened(0, &slow)).unwrap();
    });
    assert_eq!(all.unwrap(), found(true, [30.0, 70.0, 400.0, 4e6]));
}

/// The target may take as long to open as an operation may take, and some time more.
#[test]
fn agents_that_take_a_while_are_waited_for() {
    let both_found = found(true, [30.0, 70.0, 400.0, 1e6]);
    let answer = both_found.clone();
    let all = assigned(60 * SECOND_NS, None, move |coordinator| {
        coordinator.send(opened(0, &answer)).unwrap();
        std::thread::sleep(4 * LOOK);
        coordinator.send(opened(1, &answer)).unwrap();
    });
    assert_eq!(all.unwrap(), both(&both_found, &both_found));
}

#[test]
fn an_agent_that_cannot_open_the_target_ends_the_run() {
    let why = assigned(60 * SECOND_NS, None, |coordinator| {
        coordinator.send(refused(1, "it is not there")).unwrap();
    });
    assert_eq!(words(why), "agent 1: it is not there");
    let why = assigned(60 * SECOND_NS, None, |coordinator| {
        coordinator.send(Arrived::AgentGone(0, "its process ended".to_owned())).unwrap();
    });
    assert_eq!(words(why), "agent 0 was lost before the run began: its process ended");
}

#[test]
fn an_agent_that_says_nothing_is_not_waited_for_forever() {
    let clock = Clock::system();
    let began = clock.now();
    let why = assigned(1_000_000, None, |coordinator| {
        coordinator.send(opened(0, &Opened::default())).unwrap();
    });
    assert_eq!(words(why), "agent 1 did not open the target in time");
    assert!(clock.now() - began >= PATIENCE_NS);
}

#[test]
fn a_user_who_stops_the_run_does_not_wait_for_agents() {
    let stopped = assigned(1_000_000, Some(StopReason::Interrupted), |_| {});
    assert_eq!(stopped.unwrap(), Opened::default(), "the stages will not begin");
    let aborted = assigned(1_000_000, Some(StopReason::Aborted), |_| {});
    assert!(matches!(aborted, Err(RunError::Aborted)), "{aborted:?}");
}
