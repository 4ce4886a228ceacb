//! Agents that are unlike the others: their connections get less done, or their requests take
//! longer.

use super::agent_words::who;
use super::{AgentRecord, AgentStage, Code, RunRecord, StageRecord};
use crate::measure::Latency;
use crate::op::grouped;
use crate::statistics::median;

/// An agent of a closed loop is slow if each of its connections does less than this share of the
/// usual work.
const SLOW: f64 = 0.5;
/// If the usual agent did fewer documents than this, or the stage is shorter, in seconds, no agent
/// counts as slow.
const LEAST_OK: u64 = 100;
const LEAST_S: f64 = 1.0;
/// A percentile of an agent stands out if it is longer than that of the others by this much, in
/// microseconds ...
const LONGER_US: f64 = 1_000.0;
/// ... and by this factor, far beyond chance: of 1,000 exponential times, the fewest that a 99th
/// percentile is computed from, it has a standard error of 7 % (the square root of p (1 - p) / n,
/// over the density there: H. A. David, Order Statistics, on sample quantiles).
const PERCENTILES: [(&str, Figure, f64); 2] =
    [("median", |it| it.p50_us, 2.0), ("99th percentile", |it| it.p99_us, 3.0)];

type Figure = fn(&Latency) -> Option<f64>;

/// Adds warnings about agents that are unlike the others in a measured stage.
pub(super) fn warn(record: &RunRecord, stage: &StageRecord, add: &mut impl FnMut(Code, String)) {
    let (slow, usual) = slow(record, stage);
    if !slow.is_empty() {
        let least = slow.iter().map(|(_, rate)| *rate).fold(f64::MAX, f64::min);
        let agents: Vec<&AgentRecord> = slow.iter().map(|(agent, _)| *agent).collect();
        let at_least = if slow.len() == 1 { "" } else { "as little as " };
        let message = format!(
            "{} did {at_least}{} {} per second per connection, less than half the median of {}: \
             {}, so the percentiles mix unlike clients",
            who(record, &agents),
            grouped(least.round() as u64),
            record.nouns().many,
            grouped(usual.round() as u64),
            because(stage, &agents),
        );
        add(Code::AgentSlow, message);
    }
    let named: Vec<usize> = slow.iter().map(|(agent, _)| agent.index).collect();
    if let Some((agents, words)) = longer(record, stage, &named) {
        let message = format!(
            "{} {words}: {}, so the percentiles of all agents mix unlike clients",
            who(record, &agents),
            because(stage, &agents),
        );
        add(Code::AgentOutlier, message);
    }
}

/// The reason agents are unlike the others, by their own accounts.
fn because(stage: &StageRecord, agents: &[&AgentRecord]) -> String {
    let (whose, machine) =
        if agents.len() == 1 { ("its", "the machine") } else { ("their", "each machine") };
    let done = agents.iter().filter_map(|agent| stage.agent(agent.index));
    let accounts: Option<Vec<_>> = done.map(|it| it.account.as_ref()).collect();
    let Some(accounts) = accounts.filter(|it| !it.is_empty()) else {
        return format!("{machine} or {whose} path to the server is slower");
    };
    let disturbed = |share: f64| share >= OWN;
    let shares = || {
        accounts.iter().map(|it| {
            let highest = it.p99_us.or(it.p90_us);
            it.client_share.max(highest.map_or(0.0, |range| range.client_share()))
        })
    };
    match (shares().all(disturbed), shares().any(disturbed)) {
        (true, _) => {
            let most = shares().fold(0.0, f64::max) * 100.0;
            format!("{whose} own machine held requests up (up to {most:.0} % of {whose} times)")
        }
        (false, true) => {
            "some were held up by their own machines, the others have a slower path to the server"
                .to_owned()
        }
        (false, false) => format!("{whose} path to the server, not {whose} machine, is slower"),
    }
}

/// If an agent added at least this share of its response times itself, they are longer through its
/// own fault.
const OWN: f64 = 0.2;

/// Agents of a closed loop that did less than half the usual work, each with the rate of one of its
/// connections; and the usual rate.
fn slow<'a>(record: &'a RunRecord, stage: &StageRecord) -> (Vec<(&'a AgentRecord, f64)>, f64) {
    let mut rates: Vec<(&AgentRecord, f64)> = Vec::new();
    let mut most = Vec::new();
    for (agent, done) in whole(record, stage) {
        rates.push((agent, done.ok_per_s() / agent.connections as f64));
        most.push(done.ok);
    }
    most.sort_unstable();
    let enough = most.get(most.len() / 2).is_some_and(|ok| *ok >= LEAST_OK);
    if stage.load.open || stage.elapsed_s < LEAST_S || !enough || rates.len() < 2 {
        return (Vec::new(), 0.0);
    }
    let usual = median(rates.iter().map(|(_, rate)| *rate)).unwrap_or(0.0);
    rates.retain(|(_, rate)| *rate < usual * SLOW);
    (rates, usual)
}

/// Agents whose requests took much longer than those of the others, except those `named` already,
/// and how much longer.
fn longer<'a>(
    record: &'a RunRecord,
    stage: &StageRecord,
    named: &[usize],
) -> Option<(Vec<&'a AgentRecord>, String)> {
    let all: Vec<_> = whole(record, stage).collect();
    PERCENTILES.into_iter().find_map(|(name, of, factor)| {
        let value = |done: &AgentStage| done.response.as_ref().and_then(of);
        let mut found = Vec::new();
        for (agent, done) in all.iter().filter(|(agent, _)| !named.contains(&agent.index)) {
            let others = all.iter().filter(|(other, _)| other.index != agent.index);
            let others = median(others.filter_map(|(_, done)| value(done)));
            let (Some(own), Some(others)) = (value(done), others) else { continue };
            if own > others * factor && own > others + LONGER_US {
                found.push((*agent, own, others));
            }
        }
        let (_, own, others) = *found.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
        let up_to = if found.len() == 1 { "" } else { "up to " };
        let words = format!(
            "had response times with a {name} of {up_to}{:.1} ms, beside {:.1} ms of the others",
            own / 1e3,
            others / 1e3,
        );
        Some((found.into_iter().map(|(agent, ..)| agent).collect(), words))
    })
}

/// The agents with connections that took part in a stage to its end, and their figures.
fn whole<'a, 'b>(
    record: &'a RunRecord,
    stage: &'b StageRecord,
) -> impl Iterator<Item = (&'a AgentRecord, &'b AgentStage)> {
    let agents = record.agents.iter().filter(|agent| agent.connections > 0);
    agents.filter_map(|agent| Some((agent, stage.agent(agent.index).filter(|it| !it.lost)?)))
}

#[cfg(test)]
#[path = "unlike_tests.rs"]
mod tests;
