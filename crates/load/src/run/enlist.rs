//! Gives agents the plan, and has them open its target.

use super::RunError;
use super::bench::Bench;
use super::crew::{Crew, LOOK, PATIENCE_NS};
use crate::clock::Clock;
use crate::driver::Opening;
use crate::engine::StopReason;
use crate::fleet::{Assignment, Event, Opened};
use crate::plan::{Plan, PlanRecord};
use crate::record::Calibration;

impl Crew<'_> {
    /// Gives all agents the plan, and waits until each has opened the target. Returns their
    /// findings.
    pub(super) fn assign(
        &mut self,
        bench: &Bench<'_>,
        opening: &Opening,
    ) -> Result<Opened, RunError> {
        let agents = self.fleet.members().len();
        if let Some(agent) = self.lost.iter().position(Option::is_some) {
            return Err(self.lost_before(agent));
        }
        let plan = portable(bench.plan)?;
        let (scratch, stand_in) = (opening.scratch.clone(), opening.stand_in.clone());
        self.fleet.assign(Assignment { plan, agents, scratch, stand_in });
        let mut opened: Vec<Option<Opened>> = vec![None; agents];
        let until = Clock::system().now() + bench.plan.timeout_ns + PATIENCE_NS;
        while let Some(agent) = opened.iter().position(Option::is_none) {
            match self.fleet.next(LOOK) {
                Some(Event::Opened(agent, answer)) => opened[agent] = Some(answer),
                Some(Event::Refused(agent, why)) => {
                    return Err(RunError::Agents(format!("agent {agent}: {why}")));
                }
                Some(Event::Lost(agent, why)) => {
                    self.lose(agent, why, None, Clock::system().now());
                    return Err(self.lost_before(agent));
                }
                _ if bench.stop.reason() == Some(StopReason::Aborted) => {
                    return Err(RunError::Aborted);
                }
                _ if bench.stop.reason().is_some() => break,
                _ if Clock::system().now() >= until => {
                    let why = format!("agent {agent} did not open the target in time");
                    return Err(RunError::Agents(why));
                }
                _ => {}
            }
        }
        Ok(opened.into_iter().flatten().reduce(|one, other| both(&one, &other)).unwrap_or_default())
    }

    /// The error of a run that would have to begin without an agent.
    fn lost_before(&self, agent: usize) -> RunError {
        let why = self.lost[agent].as_ref().map_or("", |lost| &lost.why);
        RunError::Agents(format!("agent {agent} was lost before the run began: {why}"))
    }
}

/// The plan in the form that agents are given.
fn portable(plan: &Plan) -> Result<Box<serde_json::value::RawValue>, RunError> {
    let text = plan.with_secrets().to_string();
    let mut again: Option<PlanRecord> = serde_json::from_str(&text).ok();
    if plan.http.is_some() {
        // Parts that follow from the texts of a list are not sent.
        again = again.and_then(|it| it.checked_again().ok()).map(Plan::into_record);
    }
    if again.as_ref() != Some(&**plan) {
        let why = "this plan cannot be given to agents: something in it does not leave the \
                   process that read it; leave out --agents";
        return Err(RunError::Agents(why.to_owned()));
    }
    Ok(serde_json::value::RawValue::from_string(text).expect("it was just written"))
}

/// Combines the findings of two agents.
fn both(one: &Opened, other: &Opened) -> Opened {
    let (a, b) = (one.calibration, other.calibration);
    Opened {
        same_machine: one.same_machine || other.same_machine,
        calibration: Calibration {
            clock_ns: a.clock_ns.max(b.clock_ns),
            timer_late_p50_us: a.timer_late_p50_us.max(b.timer_late_p50_us),
            timer_late_max_us: a.timer_late_max_us.max(b.timer_late_max_us),
            loop_ns: a.loop_ns.max(b.loop_ns),
            ceiling_per_s: a.ceiling_per_s + b.ceiling_per_s,
        },
    }
}

#[cfg(test)]
#[path = "enlist_tests.rs"]
mod tests;
