//! What to know about a run's agents before trusting its numbers: which were lost, began late, or
//! have a clock that is not known well enough; and which of them hindered the run most.

use super::agent_words::{numbers, who};
use super::{
    AgentRecord, AgentStage, Code, EndedBy, Hindrance, Lost, RunRecord, StageRecord, Warning,
    unlike,
};
use crate::measure::Span;
use crate::op::grouped;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The largest error of an agent's clock without a warning, in microseconds.
const CLOCK_US: f64 = 5_000.0;
/// The longest time in which 99 % of the agents should begin, in microseconds.
const SPREAD_US: f64 = 5_000.0;
/// An agent shares the blame if it was hindered by at least this part of what the most hindered one
/// was.
const SHARED: f64 = 0.5;
/// The most losses listed in full in the reason of a result.
const MOST_LOSSES: usize = 3;

/// When the agents of a stage sent their first requests: exact percentiles, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AgentStarts {
    /// The agents that reported when they did.
    pub agents: usize,
    /// The first one, from the time at which all were due to send theirs.
    pub first_us: f64,
    /// From the first one until half of them had sent theirs.
    pub p50_us: f64,
    /// From the first one until 99 % of them had.
    pub p99_us: f64,
    /// From the first one until all of them had.
    pub last_us: f64,
    /// The largest value that `last_us` can have, given how far the clocks may be off.
    pub within_us: f64,
    /// The smallest value that `p99_us` can have, likewise.
    pub least_p99_us: f64,
}

impl AgentStage {
    /// Documents that succeeded per second, for as long as it reported.
    pub fn ok_per_s(&self) -> f64 {
        self.ok as f64 / self.reported_s().max(1.0)
    }

    /// How much it added itself to the response times of its requests, in seconds over all of them;
    /// `None`: unknown.
    pub fn added_s(&self) -> Option<f64> {
        let (account, response) = (self.account.as_ref()?, self.response.as_ref()?);
        Some(account.client_share * response.mean_us * response.samples as f64 / 1e6)
    }

    /// How far into the stage its series reaches, in seconds.
    pub fn reported_s(&self) -> f64 {
        let ends = self.series.iter().map(|row| row.second.saturating_add(row.seconds));
        f64::from(ends.max().unwrap_or(0))
    }
}

impl RunRecord {
    /// When the agents began a stage; `None`: there are none, or none reported it.
    pub fn agent_starts(&self, stage: &StageRecord) -> Option<AgentStarts> {
        let error_us = |index: usize| {
            let agent = self.agents.iter().find(|agent| agent.index == index);
            agent.map_or(0.0, |agent| agent.clock_error_us)
        };
        let known = stage.agents.iter().filter_map(|it| Some((it.start_us?, error_us(it.index))));
        let known: Vec<(f64, f64)> = known.collect();
        let mut starts: Vec<f64> = known.iter().map(|(start_us, _)| *start_us).collect();
        starts.sort_unstable_by(f64::total_cmp);
        let first_us = *starts.first()?;
        let latest = known.iter().map(|(at, error)| at + error).fold(f64::MIN, f64::max);
        let earliest = known.iter().map(|(at, error)| at - error).fold(f64::MAX, f64::min);
        let error_us = known.iter().map(|(_, error)| *error).fold(0.0, f64::max);
        let rank = |share: f64| {
            let place = (share * starts.len() as f64).ceil() as usize;
            starts[place.max(1) - 1] - first_us
        };
        Some(AgentStarts {
            agents: starts.len(),
            first_us,
            p50_us: rank(0.5),
            p99_us: rank(0.99),
            last_us: rank(1.0),
            within_us: latest - earliest,
            least_p99_us: (rank(0.99) - 2.0 * error_us).max(0.0),
        })
    }
}

impl StageRecord {
    /// What the agent of this number did.
    pub fn agent(&self, index: usize) -> Option<&AgentStage> {
        self.agents.iter().find(|agent| agent.index == index)
    }

    /// When this agent was lost, in seconds from the stage's start; `None` if that was not in this
    /// stage.
    pub fn lost_at_s(&self, agent: &AgentRecord) -> Option<f64> {
        let lost = agent.lost.as_ref()?;
        let at_s = lost.at_s - self.began_s;
        let took_part = self.agent(agent.index).is_some_and(|done| done.lost);
        // An agent may be lost while the stage is prepared, and so before it began.
        let named = lost.stage.as_ref() == Some(&self.name) && at_s >= 0.0;
        (took_part || named).then_some(at_s.max(0.0))
    }

    /// The agents that stood still for at least half of `span`.
    pub fn paused_agents(&self, span: &Span) -> Vec<usize> {
        let common_s = |pause: &Span| {
            let end_s = |it: &Span| it.from_s + it.length_s;
            end_s(pause).min(end_s(span)) - pause.from_s.max(span.from_s)
        };
        let paused = |agent: &&AgentStage| {
            let pauses = agent.client.iter().flat_map(|client| &client.pauses);
            pauses.map(common_s).any(|common_s| common_s >= span.length_s * SHARED)
        };
        self.agents.iter().filter(paused).map(|agent| agent.index).collect()
    }
}

impl RunRecord {
    /// The agents that were lost in this stage or before it.
    pub fn lost_by(&self, stage: &StageRecord) -> Vec<&AgentRecord> {
        let lost = |agent: &&AgentRecord| {
            let lost_here = stage.agent(agent.index).is_some_and(|it| it.lost);
            let before = |lost: &Lost| match &lost.stage {
                Some(name) if *name == stage.name => true,
                _ => lost.at_s <= stage.began_s,
            };
            lost_here || agent.lost.as_ref().is_some_and(before)
        };
        self.agents.iter().filter(lost).collect()
    }

    /// Whether the plan allows lost agents, and at least one is left.
    pub fn allows_losses(&self) -> bool {
        self.plan.fleet.is_some_and(|fleet| fleet.allow_lost)
            && self.agents.iter().any(|agent| agent.lost.is_none())
    }

    /// Says which agents were lost, and why, whether or not that is allowed.
    pub fn lost_words(&self) -> Option<String> {
        let losses = losses(self);
        let reasons = losses.iter().take(MOST_LOSSES).map(|(_, agents)| loss(self, agents));
        let mut reasons: Vec<String> = reasons.collect();
        let more: usize = losses.iter().skip(MOST_LOSSES).map(|(_, agents)| agents.len()).sum();
        if more > 0 {
            reasons.push(format!("{more} more were lost"));
        }
        // If no agent has a reason, what ended the run is the best one.
        let ended = self.ended.as_ref().filter(|it| reasons.is_empty() && it.by == EndedBy::Agents);
        reasons.extend(ended.map(|it| it.message.clone()));
        Some(reasons.join("; ")).filter(|words| !words.is_empty())
    }
}

/// Lost agents, grouped by stage and reason.
fn losses(record: &RunRecord) -> Vec<(Option<&str>, Vec<&AgentRecord>)> {
    let mut losses: BTreeMap<_, Vec<&AgentRecord>> = BTreeMap::new();
    for agent in &record.agents {
        let Some(lost) = &agent.lost else { continue };
        let key = (lost.stage.as_deref(), &lost.why, lost.handed_in);
        losses.entry(key).or_default().push(agent);
    }
    let mut losses: Vec<_> =
        losses.into_iter().map(|((stage, ..), agents)| (stage, agents)).collect();
    losses.sort_by(|(_, one), (_, other)| span_s(one).0.total_cmp(&span_s(other).0));
    losses
}

/// When the first and the last of these agents were lost, from the run's start.
fn span_s(agents: &[&AgentRecord]) -> (f64, f64) {
    let at_s = agents.iter().filter_map(|agent| agent.lost.as_ref()).map(|lost| lost.at_s);
    at_s.fold((f64::MAX, 0.0), |(from, to), at_s| (at_s.min(from), at_s.max(to)))
}

/// Says when these agents were lost: `after 7.6 s of mixed`, by the time of their stage, as it is
/// shown elsewhere.
fn when(record: &RunRecord, agents: &[&AgentRecord]) -> String {
    let all_in = |stage: &&StageRecord| agents.iter().all(|agent| stage.lost_at_s(agent).is_some());
    let stage = record.stages.iter().find(all_in);
    let (began_s, of) =
        stage.map_or_else(|| (0.0, "the run".to_owned()), |stage| (stage.began_s, stage.title()));
    let (from_s, to_s) = span_s(agents);
    let [from_s, to_s] = [from_s, to_s].map(|at_s| (at_s - began_s).max(0.0));
    match to_s - from_s {
        apart if apart < 0.05 => format!("after {from_s:.1} s of {of}"),
        _ => format!("between {from_s:.1} and {to_s:.1} s of {of}"),
    }
}

/// Describes the loss of agents for one reason, and how much of their work is in the numbers.
fn loss(record: &RunRecord, agents: &[&AgentRecord]) -> String {
    let one = agents.len() == 1;
    let were = if one { "was" } else { "were" };
    let mut words = format!("{} {were} lost {}", who(record, agents), when(record, agents));
    let why = agents.first().and_then(|agent| agent.lost.as_ref()).map_or("", |it| &it.why);
    let done = record.stages.iter().flat_map(|stage| &stage.agents);
    let theirs = |stage: &&AgentStage| agents.iter().any(|agent| agent.index == stage.index);
    let requests: u64 = done.filter(theirs).map(|stage| stage.requests).sum();
    let _ = match (requests, one) {
        (0, true) => write!(words, ": {why}; none of its results are included"),
        (0, false) => write!(words, ": {why}; none of their results are included"),
        (_, one) if agents.iter().all(|it| it.lost.as_ref().is_some_and(|it| it.handed_in)) => {
            let (whose, have) = if one { ("its", "it has") } else { ("their", "they have") };
            write!(
                words,
                ": {why}; all of {whose} {} requests until then are included, as {have} handed \
                 them in",
                grouped(requests)
            )
        }
        (_, one) => {
            let whose = if one { "its" } else { "their" };
            write!(
                words,
                ": {why}; {whose} {} requests until then are included, later ones are not",
                grouped(requests)
            )
        }
    };
    words
}

/// Adds the warnings about agents of the whole run.
pub(super) fn of_run(record: &RunRecord, warnings: &mut Vec<Warning>) {
    for (stage, agents) in losses(record) {
        let stage = stage.map(str::to_owned);
        warnings.push(Warning { code: Code::AgentLost, stage, message: loss(record, &agents) });
    }
    let mut add = |code, message| warnings.push(Warning { code, stage: None, message });
    let vague: Vec<_> = record.agents.iter().filter(|it| it.clock_error_us > CLOCK_US).collect();
    if !vague.is_empty() {
        let most_us = vague.iter().map(|agent| agent.clock_error_us).fold(0.0, f64::max);
        add(
            Code::AgentClock,
            format!(
                "{} {} known only to ±{:.1} ms, half the shortest round trip: when they began, and \
             the second in which an operation counts, may be off by that much",
                who(record, &vague),
                if vague.len() == 1 { "has a clock that is" } else { "have clocks that are" },
                most_us / 1e3,
            ),
        );
    }
}

/// Adds the warnings about agents of a measured stage.
pub(super) fn of_stage(record: &RunRecord, stage: &StageRecord, warnings: &mut Vec<Warning>) {
    if stage.is_preparation() {
        return;
    }
    let mut add = |code, message| {
        warnings.push(Warning { code, stage: Some(stage.name.clone()), message });
    };
    let starts = record.agent_starts(stage);
    if let Some(starts) = starts.filter(|starts| starts.least_p99_us > SPREAD_US) {
        let latest = stage.agents.iter().filter(|agent| agent.start_us.is_some());
        let latest =
            latest.max_by(|a, b| a.start_us.unwrap_or(0.0).total_cmp(&b.start_us.unwrap_or(0.0)));
        let latest =
            latest.and_then(|latest| record.agents.iter().find(|it| it.index == latest.index));
        add(
            Code::AgentsLate,
            format!(
                "the agents did not begin together: the last of {} began {:.1} ms after the first \
             (p99 {:.1} ms){}; until then there was less load than planned",
                starts.agents,
                starts.last_us / 1e3,
                starts.p99_us / 1e3,
                latest.map_or_else(String::new, |it| format!(
                    ": agent {}, host {}",
                    it.index, it.host
                )),
            ),
        );
    }
    unlike::warn(record, stage, &mut add);
}

/// The agents that were hindered most, by their own figures; none without agents.
pub(super) fn guilty(stage: &StageRecord, by: Hindrance) -> Vec<&AgentStage> {
    most(stage, |agent| {
        let Some(client) = &agent.client else { return agent.busiest_thread };
        match by {
            Hindrance::Unknown | Hindrance::Computed(_) => agent.busiest_thread,
            Hindrance::Waited(_) => client.waited_thread,
            Hindrance::Held(_) => agent.added_s().unwrap_or(client.held_s),
            Hindrance::Late(_) => client.late_p99_us.unwrap_or(0.0),
        }
    })
}

/// Says on which agents of a stage something happened: ` on agent 3`; empty without agents.
pub(super) fn on(stage: &StageRecord, agents: &[&AgentStage]) -> String {
    name(stage, agents).map_or_else(String::new, |who| format!(" on {who}"))
}

/// Names the agents with the longest single pauses: ` on agent 3`; ` itself` without agents.
pub(super) fn paused(stage: &StageRecord) -> String {
    let most = most(stage, |agent| {
        let pauses = agent.client.iter().flat_map(|client| &client.pauses);
        pauses.map(|pause| pause.length_s).fold(0.0, f64::max)
    });
    name(stage, &most).map_or_else(|| " itself".to_owned(), |who| format!(" on {who}"))
}

/// Names what added most to response times: this machine being busy, or those of agents.
pub(super) fn disturber(stage: &StageRecord) -> String {
    let most = most(stage, |agent| agent.added_s().unwrap_or(0.0));
    let own = || "this machine was busy".to_owned();
    name(stage, &most).map_or_else(own, |who| format!("there was too little CPU on {who}"))
}

/// The agents whose value is at least half the greatest; none without agents.
fn most(stage: &StageRecord, value: impl Fn(&AgentStage) -> f64) -> Vec<&AgentStage> {
    let most = stage.agents.iter().map(&value).fold(0.0, f64::max);
    stage.agents.iter().filter(|agent| value(agent) >= most * SHARED).collect()
}

/// Names these agents of a stage: `agent 3`, or `each agent`; `None`: there are none.
fn name(stage: &StageRecord, agents: &[&AgentStage]) -> Option<String> {
    Some(match agents {
        [] => return None,
        [one] => format!("agent {}", one.index),
        all if all.len() == stage.agents.len() => "each agent".to_owned(),
        some => {
            let some: Vec<usize> = some.iter().map(|agent| agent.index).collect();
            format!("agents {}", numbers(&some))
        }
    })
}

#[cfg(test)]
#[path = "fleet_tests.rs"]
mod tests;
