//! The agents of a stage: how they started, and what each did. If there are many, only those that
//! stand out.

use super::number::{decimal, grouped, millis};
use super::table::{Columns, align, in_ms};
use crate::measure::Statistic;
use crate::record::{AgentRecord, AgentStage, RunRecord, StageRecord, agent_numbers};
use crate::statistics::median;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The most agents to show one by one.
const MOST_ROWS: usize = 16;
/// Beyond that, this many of the slowest and of the fastest are shown.
const EXTREMES: usize = 3;

/// A row of the table of agents, with its kind.
pub(super) type AgentRow = (RowKind, Vec<String>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowKind {
    /// The names of the columns.
    Head,
    Agent,
    Lost,
    Summary,
}

/// An agent with its figures in a stage, if it has any.
#[derive(Clone, Copy)]
struct Both<'a> {
    agent: &'a AgentRecord,
    done: Option<&'a AgentStage>,
    is_lost: bool,
}

/// The agents of a row, and which of their values it shows.
struct AgentGroup<'a> {
    name: String,
    agents: Vec<Both<'a>>,
    pick: Pick,
}

type Pick = fn(Vec<f64>) -> Option<f64>;

/// The rows below those of many agents.
const PICKS: [(&str, Pick); 3] = [
    ("least", |all| all.into_iter().reduce(f64::min)),
    ("median", median),
    ("most", |all| all.into_iter().reduce(f64::max)),
];

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
pub(super) fn parts(
    record: &RunRecord,
    stage: &StageRecord,
) -> Option<(Vec<String>, Vec<AgentRow>)> {
    if stage.agents.is_empty() || stage.is_preparation() {
        return None;
    }
    let lost: Vec<usize> = record.lost_by(stage).iter().map(|agent| agent.index).collect();
    let agents = record.agents.iter().map(|agent| Both {
        agent,
        done: stage.agent(agent.index),
        is_lost: lost.contains(&agent.index),
    });
    let agents: Vec<Both<'_>> = agents.collect();
    let shown = shown(&agents, stage);
    let with_lost = !lost.is_empty();
    let columns = columns(stage).and_if(with_lost, "lost", move |row| row.lost(stage));
    let mut rows = vec![(RowKind::Head, columns.heads())];
    rows.extend(agents.iter().filter(|it| shown.contains(&it.agent.index)).map(|it| {
        let kind = if it.is_lost { RowKind::Lost } else { RowKind::Agent };
        (kind, columns.cells(&AgentGroup::of(*it)))
    }));
    let mut lines = Vec::from_iter(start_line(record, stage));
    if shown.len() < agents.len() {
        rows.extend(summary(&agents, stage));
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
fn shown(agents: &[Both<'_>], stage: &StageRecord) -> BTreeSet<usize> {
    if agents.len() <= MOST_ROWS {
        return agents.iter().map(|it| it.agent.index).collect();
    }
    let lost = agents.iter().filter(|it| it.is_lost).map(|it| it.agent.index);
    let mut shown: BTreeSet<usize> = lost.take(MOST_ROWS).collect();
    let whole = agents.iter().filter(|it| !it.is_lost);
    let whole: Vec<(&AgentRecord, &AgentStage)> =
        whole.filter_map(|it| Some((it.agent, it.done?))).collect();
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
    by(&|_, done| time_us(done, Statistic::P99).unwrap_or(0.0), [0, 1]);
    by(&|_, done| own_share(done).unwrap_or(0.0), [0, 1]);
    shown
}

/// The columns of the table, except for when agents were lost.
fn columns(stage: &StageRecord) -> Columns<'_, AgentGroup<'_>> {
    Columns::<'_, AgentGroup<'_>>::new()
        .and("agent", |row| row.name.clone())
        .and("connections", |row| row.cell(|it| Some(it.agent.connections as f64), whole))
        .and("start, ms", |row| row.figure(|done| done.start_us, signed))
        .and("ok/s", move |row| row.figure(|done| Some(ok_per_s(done, stage)), whole))
        .and("failed", |row| row.figure(|done| Some(done.failed as f64), whole))
        .each(Statistic::percentiles(), in_ms, |row, statistic| {
            row.figure(|done| time_us(done, statistic), millis)
        })
        .and("own share", |row| row.at_end(own_share, percent))
        .and("CPU, s", |row| row.at_end(|done| Some(done.cpu_s), |s| decimal(s, 2)))
        .and("busiest thread", |row| row.at_end(|done| Some(done.busiest_thread), percent))
}

impl<'a> AgentGroup<'a> {
    /// One agent alone.
    fn of(it: Both<'a>) -> Self {
        let AgentRecord { index, host, pid, .. } = it.agent;
        let name = format!("{index} on {host}, pid {pid}");
        Self { name, agents: vec![it], pick: |one| one.first().copied() }
    }

    fn cell(&self, of: impl Fn(&Both<'_>) -> Option<f64>, text: fn(f64) -> String) -> String {
        let values = self.agents.iter().filter_map(of).collect();
        (self.pick)(values).map_or_else(|| "-".to_owned(), text)
    }

    fn figure(&self, of: impl Fn(&AgentStage) -> Option<f64>, text: fn(f64) -> String) -> String {
        self.cell(|it| of(it.done?), text)
    }

    /// A figure that is only known of agents that were not lost.
    fn at_end(&self, of: impl Fn(&AgentStage) -> Option<f64>, text: fn(f64) -> String) -> String {
        self.cell(|it| of(it.done.filter(|_| !it.is_lost)?), text)
    }

    /// When it was lost, by the time of this stage.
    fn lost(&self, stage: &StageRecord) -> String {
        let lost = self.agents.iter().find(|it| it.is_lost && it.agent.lost.is_some());
        lost.map_or_else(String::new, |it| match stage.lost_at_s(it.agent) {
            Some(at_s) => format!("after {} s", decimal(at_s, 1)),
            None => "before".to_owned(),
        })
    }
}

fn time_us(done: &AgentStage, statistic: Statistic) -> Option<f64> {
    statistic.of(done.response.as_ref()?)
}

/// The share of its response times that it added itself.
fn own_share(done: &AgentStage) -> Option<f64> {
    done.account.as_ref().map(|account| account.client_share)
}

/// The least, the median and the greatest values of the agents that were not lost.
fn summary(agents: &[Both<'_>], stage: &StageRecord) -> [AgentRow; 3] {
    let columns = columns(stage);
    let others = || agents.iter().filter(|it| !it.is_lost).copied();
    PICKS.map(|(name, pick)| {
        let name = format!("{name} of {}", grouped(others().count() as u64));
        let agents = others().filter(|it| it.done.is_some()).collect();
        (RowKind::Summary, columns.cells(&AgentGroup { name, agents, pick }))
    })
}

fn whole(value: f64) -> String {
    decimal(value, 0)
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
