//! The agents of a stage: how they started, and what each did. If there are many, only those that
//! stand out.

use super::number::{decimal, grouped, millis};
use super::table::align;
use crate::record::{AgentRecord, AgentStage, RunRecord, StageRecord, agent_numbers};
use crate::statistics::median;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The most agents to show one by one.
const MOST_ROWS: usize = 16;
/// Beyond that, this many of the slowest and of the fastest are shown.
const EXTREMES: usize = 3;

/// A row of the table of agents, with its kind.
pub(super) type Row = (Kind, Vec<String>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The names of the columns.
    Head,
    Agent,
    Lost,
    Summary,
}

/// An agent with its figures in a stage, if it has any.
type Both<'a> = (&'a AgentRecord, Option<&'a AgentStage>);

/// `8 agents on 3 machines`; `None`: there are none.
pub(super) fn crew(record: &RunRecord) -> Option<String> {
    let hosts: BTreeSet<&str> = record.agents.iter().map(|it| it.host.as_str()).collect();
    let count = |count: usize, what: &str| {
        format!("{} {what}{}", grouped(count as u64), if count == 1 { "" } else { "s" })
    };
    let agents = record.agents.len();
    (agents > 0).then(|| format!("{} on {}", count(agents, "agent"), count(hosts.len(), "machine")))
}

/// The section of the text report about the agents of a stage.
pub(super) fn section(record: &RunRecord, stage: &StageRecord, out: &mut String) {
    let Some((lines, rows)) = parts(record, stage) else { return };
    out.push('\n');
    for line in lines {
        let _ = writeln!(out, "  {line}");
    }
    let rows: Vec<Vec<String>> = rows.into_iter().map(|(_, row)| row).collect();
    out.push_str(&align(&rows));
}

/// The lines about the agents of a measured stage, and their table.
pub(super) fn parts(record: &RunRecord, stage: &StageRecord) -> Option<(Vec<String>, Vec<Row>)> {
    if stage.agents.is_empty() || stage.is_preparation() {
        return None;
    }
    let agents: Vec<Both<'_>> =
        record.agents.iter().map(|agent| (agent, stage.agent(agent.index))).collect();
    let lost: Vec<usize> = record.lost_by(stage).iter().map(|agent| agent.index).collect();
    let shown = shown(&agents, stage, &lost);
    let with_lost = !lost.is_empty();
    let mut rows = vec![(Kind::Head, head(with_lost))];
    for both in agents.iter().filter(|(agent, _)| shown.contains(&agent.index)) {
        let is_lost = lost.contains(&both.0.index);
        let kind = if is_lost { Kind::Lost } else { Kind::Agent };
        rows.push((kind, row(*both, stage, is_lost, with_lost)));
    }
    let mut lines = Vec::from_iter(start_line(record, stage));
    if shown.len() < agents.len() {
        let others: Vec<Both<'_>> =
            agents.iter().filter(|(agent, _)| !lost.contains(&agent.index)).copied().collect();
        rows.extend(summary(&others, stage).map(|row| (Kind::Summary, row)));
        lines.push(format!(
            "of {} agents these are the slowest and the fastest, the last to begin, the busiest, \
             those with the longest times{}; --format agents-csv has them all",
            agents.len(),
            if with_lost { ", and those that were lost" } else { "" },
        ));
    }
    if lost.iter().any(|agent| !shown.contains(agent)) {
        lines.push(format!("lost: agents {}", agent_numbers(&lost)));
    }
    Some((lines, rows))
}

/// Successful documents per second; for a lost agent, over the time that it reported.
fn ok_per_s(done: &AgentStage, stage: &StageRecord) -> f64 {
    let over_s = if done.lost { done.reported_s() } else { stage.rates_over_s() };
    if over_s > 0.0 { done.ok as f64 / over_s } else { 0.0 }
}

/// The numbers of the agents that have their own row.
fn shown(agents: &[Both<'_>], stage: &StageRecord, lost: &[usize]) -> BTreeSet<usize> {
    if agents.len() <= MOST_ROWS {
        return agents.iter().map(|(agent, _)| agent.index).collect();
    }
    let mut shown: BTreeSet<usize> = lost.iter().take(MOST_ROWS).copied().collect();
    let whole = agents.iter().filter(|(agent, _)| !lost.contains(&agent.index));
    let whole: Vec<(&AgentRecord, &AgentStage)> =
        whole.filter_map(|(agent, done)| Some((*agent, (*done)?))).collect();
    let mut by = |value: &dyn Fn(&AgentRecord, &AgentStage) -> f64, ends: [usize; 2]| {
        let mut sorted: Vec<(f64, usize)> =
            whole.iter().map(|(agent, done)| (value(agent, done), agent.index)).collect();
        sorted.sort_by(|one, other| one.0.total_cmp(&other.0));
        shown.extend(sorted.iter().take(ends[0]).map(|it| it.1));
        shown.extend(sorted.iter().rev().take(ends[1]).map(|it| it.1));
    };
    let of_connection = |agent: &AgentRecord, done: &AgentStage| {
        ok_per_s(done, stage) / agent.connections.max(1) as f64
    };
    by(&of_connection, [EXTREMES; 2]);
    by(&|_, done| done.start_us.unwrap_or(f64::MIN), [0, 1]);
    by(&|_, done| done.busiest_thread, [0, 1]);
    by(&|_, done| p99_us(done).unwrap_or(0.0), [0, 1]);
    by(&|_, done| own_share(done).unwrap_or(0.0), [0, 1]);
    shown
}

fn head(with_lost: bool) -> Vec<String> {
    let names = ["agent", "connections", "start, ms", "ok/s", "failed", "p50, ms", "p99, ms"];
    let more = ["own share", "CPU, s", "busiest thread"];
    let names = names.into_iter().chain(more);
    let lost = with_lost.then_some("lost after");
    names.chain(lost).map(str::to_owned).collect()
}

fn row(
    (agent, done): Both<'_>,
    stage: &StageRecord,
    is_lost: bool,
    with_lost: bool,
) -> Vec<String> {
    let cell = |of: &dyn Fn(&AgentStage) -> Option<String>| {
        done.and_then(of).unwrap_or_else(|| "-".to_owned())
    };
    let at_end = |text: String| (!is_lost).then_some(text);
    let mut row = vec![
        format!("{} on {}, pid {}", agent.index, agent.host, agent.pid),
        grouped(agent.connections as u64),
        cell(&|it| it.start_us.map(signed)),
        cell(&|it| Some(decimal(ok_per_s(it, stage), 0))),
        cell(&|it| Some(grouped(it.failed))),
        cell(&|it| p50_us(it).map(millis)),
        cell(&|it| p99_us(it).map(millis)),
        cell(&|it| own_share(it).and_then(|share| at_end(percent(share)))),
        cell(&|it| at_end(decimal(it.cpu_s, 2))),
        cell(&|it| at_end(percent(it.busiest_thread))),
    ];
    if with_lost {
        let lost = agent.lost.as_ref().filter(|_| is_lost);
        row.push(lost.map_or_else(String::new, |lost| decimal(lost.at_s, 1) + " s"));
    }
    row
}

fn p50_us(done: &AgentStage) -> Option<f64> {
    done.response.as_ref()?.p50_us
}

fn p99_us(done: &AgentStage) -> Option<f64> {
    done.response.as_ref()?.p99_us
}

/// The share of its response times that it added itself.
fn own_share(done: &AgentStage) -> Option<f64> {
    done.account.as_ref().map(|account| account.client_share)
}

/// The least, the median and the greatest value of a figure, and its format.
type Column = ([Option<f64>; 3], fn(f64) -> String);

/// The least, the median and the greatest values of the agents that were not lost.
fn summary(agents: &[Both<'_>], stage: &StageRecord) -> impl Iterator<Item = Vec<String>> {
    let column = |of: &dyn Fn(&AgentRecord, &AgentStage) -> Option<f64>| {
        let values = agents.iter().filter_map(|(agent, done)| of(agent, (*done)?));
        let values: Vec<f64> = values.collect();
        let each = || values.iter().copied();
        [each().reduce(f64::min), median(each()), each().reduce(f64::max)]
    };
    let columns: [Column; 9] = [
        (column(&|agent, _| Some(agent.connections as f64)), |value| decimal(value, 0)),
        (column(&|_, done| done.start_us), signed),
        (column(&|_, done| Some(ok_per_s(done, stage))), |value| decimal(value, 0)),
        (column(&|_, done| Some(done.failed as f64)), |value| decimal(value, 0)),
        (column(&|_, done| p50_us(done)), millis),
        (column(&|_, done| p99_us(done)), millis),
        (column(&|_, done| own_share(done)), percent),
        (column(&|_, done| Some(done.cpu_s)), |value| decimal(value, 2)),
        (column(&|_, done| Some(done.busiest_thread)), percent),
    ];
    let names = ["least", "median", "most"].into_iter().enumerate();
    let count = agents.len();
    names.map(move |(which, name)| {
        let cell = |(values, text): &Column| values[which].map_or_else(|| "-".to_owned(), text);
        let cells = columns.iter().map(cell);
        std::iter::once(format!("{name} of {}", grouped(count as u64))).chain(cells).collect()
    })
}

fn percent(share: f64) -> String {
    format!("{} %", decimal(share * 100.0, 0))
}

/// Microseconds as milliseconds, with their sign.
fn signed(us: f64) -> String {
    format!("{}{}", if us < 0.0 { "-" } else { "" }, millis(us.abs()))
}

/// How far apart the agents started, and how precisely that is known.
fn start_line(record: &RunRecord, stage: &StageRecord) -> Option<String> {
    let starts = record.agent_starts(stage)?;
    let all = record.agents.len();
    let of = if starts.agents < all { format!(" of {all}") } else { String::new() };
    let errors = record.agents.iter().map(|agent| agent.clock_error_us);
    Some(format!(
        "{}{of} agents began within {} ms: {} ms apart by clocks that are known to ±{} ms (p50 {}, \
         p99 {}), the first {} ms {} the set time",
        grouped(starts.agents as u64),
        millis(starts.within_us),
        millis(starts.last_us),
        millis(errors.fold(0.0, f64::max)),
        millis(starts.p50_us),
        millis(starts.p99_us),
        millis(starts.first_us.abs()),
        if starts.first_us < 0.0 { "before" } else { "after" },
    ))
}

#[cfg(test)]
#[path = "agents_tests.rs"]
mod tests;
