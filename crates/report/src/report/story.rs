//! What happened in a run, and when: silences and outages of the server, bursts of failures, load
//! that was not kept up, losses of agents, pauses of springload itself.

use super::failures::{Failed, failures};
use super::nodes;
use super::number::{at, decimal, grouped, length};
use crate::measure::{SeriesRow, Span};
use crate::op::Failure;
use crate::record::{Away, RunRecord, StageRecord, Verdict, agent_numbers, silence_ns};
use std::collections::BTreeMap;

/// Failures are an event if they occur in no more than this share of the seconds; otherwise they
/// are a rate.
const SCATTERED: f64 = 0.5;
/// Up to this many seconds without failures do not split an event in two.
const APART_S: u32 = 2;
/// Shorter pauses of springload, in seconds, are not mentioned.
const LEAST_PAUSE_S: f64 = 0.1;
/// The server is behind while this many seconds' worth of the load is waiting.
const BEHIND_S: f64 = 0.2;
/// If requests are dropped, the server is behind while it does not serve more than this share of
/// the requests that are due. In the last part of a stage, this share of it, chance may decide.
const UNSERVED: f64 = 0.05;
const LAST: f64 = 0.1;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Event {
    /// The number of the stage in the record.
    pub(super) stage: usize,
    /// When it began, in seconds from the stage's start.
    pub(super) at_s: f64,
    /// How long it lasted, in seconds; `None`: it was momentary, or everything after it is
    /// affected.
    pub(super) length_s: Option<f64>,
    pub(super) kind: EventKind,
    /// What happened, without its time: `no answer for 0.8 s`.
    pub(super) words: String,
    /// The same in short, for a band in a chart: without the reason, and what came of it.
    pub(super) caption: String,
}

/// What happened, most important first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum EventKind {
    /// Operations failed because of the server, and none succeeded.
    Outage,
    /// The server did not respond.
    Silence,
    NodeGone,
    /// One of several nodes did not respond. It may have been gone for a part of that time.
    NodeSilence,
    AgentsLost,
    Failures,
    /// The load was not kept up from then on.
    Behind,
    /// springload itself was paused.
    Pause,
}

impl Event {
    /// The event with its time: `6.0 s: no answer for 0.8 s`.
    pub(super) fn line(&self) -> String {
        format!("{}: {}", at(self.at_s), self.words)
    }
}

/// What happened in the measured stages: the most important first, then the longest.
pub(super) fn story(record: &RunRecord) -> Vec<Event> {
    let mut events = Vec::new();
    for (number, stage) in record.stages.iter().enumerate() {
        if !stage.is_preparation() {
            let stage_events = of_stage(record, stage);
            events.extend(stage_events.into_iter().map(|event| Event { stage: number, ..event }));
        }
    }
    events.sort_by(|one, two| {
        let length = |it: &Event| it.length_s.unwrap_or(0.0);
        one.kind.cmp(&two.kind).then(length(two).total_cmp(&length(one)))
    });
    events
}

fn of_stage(record: &RunRecord, stage: &StageRecord) -> Vec<Event> {
    let mut events = outages(stage);
    events.extend(silences(stage));
    events.extend(gone(stage));
    events.extend(silent_nodes(stage));
    events.extend(losses(record, stage));
    events.extend(failing(record, stage));
    events.extend(behind(record, stage));
    let pauses = stage.client.pauses.iter().filter(|span| span.length_s >= LEAST_PAUSE_S);
    let words = |it: &Span| {
        let agents = stage.paused_agents(it);
        let who = match agents.len() {
            0 => "springload itself".to_owned(),
            1 => format!("agent {}", agents[0]),
            all if all == record.agents.len() => "all agents".to_owned(),
            _ => format!("agents {}", agent_numbers(&agents)),
        };
        format!("{who} stood still for {}", length(it.length_s))
    };
    events.extend(pauses.map(|span| of_span(span, EventKind::Pause, words(span))));
    events
}

fn of_span(span: &Span, kind: EventKind, words: String) -> Event {
    Event {
        stage: 0,
        at_s: span.from_s,
        length_s: Some(span.length_s),
        kind,
        caption: words.clone(),
        words,
    }
}

/// Outages, and what failed in them.
fn outages(stage: &StageRecord) -> Vec<Event> {
    let failed = failures(stage.requests());
    let why = failed.iter().find(|it| it.class.unserved());
    let why = why.map_or_else(String::new, |it| format!(": {}", it.why()));
    let event = |away: &Away| {
        let caption = format!("{} for {}", away.what(), length(away.span.length_s));
        let words = format!("{caption}{why}");
        Event { caption, ..of_span(&away.span, EventKind::Outage, words) }
    };
    stage.away().iter().map(event).collect()
}

/// Silences that stand out and are no part of an outage.
fn silences(stage: &StageRecord) -> Vec<Event> {
    let words = |span: &Span| format!("no answer for {}", length(span.length_s));
    let event = |span: &Span| of_span(span, EventKind::Silence, words(span));
    stage.silences_apart().map(event).collect()
}

/// Nodes that were gone for a time.
fn gone(stage: &StageRecord) -> Vec<Event> {
    let all = stage.nodes.iter().flat_map(|node| node.unreachable.iter().map(move |it| (node, it)));
    all.map(|(node, it)| Event {
        stage: 0,
        at_s: it.from_s,
        length_s: Some(nodes::lasted_s(it, stage)),
        kind: EventKind::NodeGone,
        words: nodes::words(node, it, stage),
        caption: nodes::caption(node, it, stage),
    })
    .collect()
}

/// Silences of single nodes that stand out, unless all of them were silent.
fn silent_nodes(stage: &StageRecord) -> Vec<Event> {
    let away = stage.away();
    let all = || stage.silences.iter().chain(away.iter().map(|it| &it.span));
    let common_s = |one: &Span, two: &Span| {
        let end = |it: &Span| it.from_s + it.length_s;
        end(one).min(end(two)) - one.from_s.max(two.from_s)
    };
    let mut events = Vec::new();
    for node in &stage.nodes {
        let connections = node.connections as usize;
        let usual_s = silence_ns(&node.service.histogram, connections) as f64 / 1e9;
        let stands_out = |span: &&Span| {
            let own_s = span.length_s / 2.0;
            span.length_s > usual_s && all().all(|it| common_s(it, span) < own_s)
        };
        for span in node.silences.iter().filter(stands_out) {
            let (host, length) = (nodes::host(&node.url), length(span.length_s));
            let words =
                format!("no answer from node {host} on any of its connections for {length}");
            events.push(of_span(span, EventKind::NodeSilence, words));
        }
    }
    events
}

/// Losses of agents; those in the same second and for the same reason are combined.
fn losses(record: &RunRecord, stage: &StageRecord) -> Vec<Event> {
    let mut losses: BTreeMap<(u64, &str), (f64, Vec<usize>)> = BTreeMap::new();
    for agent in &record.agents {
        let Some(lost) = &agent.lost else { continue };
        if let Some(at_s) = stage.lost_at_s(agent) {
            let loss = losses.entry((at_s as u64, &lost.why)).or_insert((at_s, Vec::new()));
            loss.1.push(agent.index);
        }
    }
    let event = |((_, why), (at_s, agents)): ((u64, &str), (f64, Vec<usize>))| {
        let s = if agents.len() == 1 { "" } else { "s" };
        let (numbers, of) = (agent_numbers(&agents), record.agents.len());
        let caption = format!("agent{s} {numbers} of {of} lost");
        let words = format!("{caption}: {why}");
        Event { stage: 0, at_s, length_s: None, kind: EventKind::AgentsLost, words, caption }
    };
    losses.into_iter().map(event).collect()
}

/// Seconds in which operations failed, unless most seconds are like that, or an outage covers them.
fn failing(record: &RunRecord, stage: &StageRecord) -> Vec<Event> {
    let plan = record.plan_of(stage);
    let provoked = plan.is_some_and(|plan| plan.work.traits().shares_documents);
    let failed = |row: &SeriesRow| -> BTreeMap<Failure, u64> {
        let mut classes = BTreeMap::new();
        for (_, part) in row.kinds.iter().filter(|(kind, _)| kind.is_request()) {
            for (&class, count) in &part.failures {
                if !provoked || class != Failure::Conflict {
                    *classes.entry(class).or_default() += count;
                }
            }
        }
        classes
    };
    let rows: Vec<_> = stage.series.rows.iter().map(|row| (row, failed(row))).collect();
    let bad: Vec<_> = rows.iter().filter(|(_, failed)| !failed.is_empty()).collect();
    if bad.len() as f64 > (rows.len() as f64 * SCATTERED).max(1.0) {
        return Vec::new();
    }
    let mut bursts: Vec<(u32, u32, BTreeMap<Failure, u64>)> = Vec::new();
    for (row, failed) in bad {
        match bursts.last_mut().filter(|burst| row.second <= burst.1.saturating_add(APART_S)) {
            Some((_, to, sum)) => {
                *to = row.end();
                for (&class, count) in failed {
                    *sum.entry(class).or_default() += count;
                }
            }
            None => bursts.push((row.second, row.end(), failed.clone())),
        }
    }
    let event = |(from, to, classes)| burst(stage, from, to, &classes);
    bursts.into_iter().filter_map(event).collect()
}

/// Failures from one second to another; `None`: an outage covers them.
fn burst(
    stage: &StageRecord,
    from: u32,
    to: u32,
    classes: &BTreeMap<Failure, u64>,
) -> Option<Event> {
    let (from_s, to_s) = (f64::from(from), f64::from(to));
    let within = |span: &Span| span.from_s < to_s && span.from_s + span.length_s > from_s;
    if stage.away().iter().any(|it| within(&it.span)) {
        return None;
    }
    let count: u64 = classes.values().sum();
    let (class, _) = classes.iter().max_by_key(|(_, count)| **count)?;
    let reasons = failures(stage.requests());
    let why = reasons.iter().find(|it| it.class == *class);
    let why = why.map_or_else(|| class.words(), Failed::why);
    let what = if count == 1 { "operation" } else { "operations" };
    let until = if to - from > 1 { format!(", until {}", at(to_s)) } else { String::new() };
    let caption = format!("{} {what} failed", grouped(count));
    let words = format!("{caption} ({why}){until}");
    let length_s = Some(to_s - from_s);
    Some(Event { stage: 0, at_s: from_s, length_s, kind: EventKind::Failures, words, caption })
}

/// How far a load had got at some moment.
#[derive(Clone, Copy, Debug, Default)]
struct LoadMark {
    at_s: f64,
    ended: f64,
    due: f64,
}

/// The moment from which on the server served less than was due, until the end.
fn behind(record: &RunRecord, stage: &StageRecord) -> Option<Event> {
    let Verdict::NotSustained { offered_per_s, .. } = stage.verdict else {
        return None;
    };
    let plan = record.plan_of(stage)?;
    let planned = stage.load.planned.map_or(f64::INFINITY, |most| most as f64);
    let due_by = |at_s: f64| Some(plan.pace.due_by((at_s * 1e9) as u64)?.min(planned));
    // What is still waiting at the end is served afterwards.
    let in_time = |row: &&SeriesRow| f64::from(row.end()) <= stage.rates_over_s();
    let (mut ended, mut seconds) = (0.0, Vec::new());
    for row in stage.series.rows.iter().filter(in_time) {
        let mark = |at_s, ended| Some(LoadMark { at_s, ended, due: due_by(at_s)? });
        let begin = mark(f64::from(row.second), ended)?;
        let requests = row.kinds.iter().filter(|(kind, _)| kind.is_request());
        ended += requests.map(|(_, part)| part.requests).sum::<u64>() as f64;
        seconds.push((begin, mark(f64::from(row.end()), ended)?));
    }
    // A stage that was stopped may end within a second, which is not counted above.
    let at_s = stage.rates_over_s().floor();
    let end = LoadMark { at_s, ended, due: due_by(at_s)? };
    let since = if stage.load.dropped > 0 {
        since_dropping(&seconds, end)?
    } else {
        since_waiting(&seconds, offered_per_s * BEHIND_S)?
    };
    let length_s = Some(at_s - since.at_s).filter(|length_s| *length_s > 0.0)?;
    let served = decimal((end.ended - since.ended) / length_s, 0);
    let offered = decimal((end.due - since.due) / length_s, 0);
    let caption = "the server did not keep up from here on".to_owned();
    let words = format!("{caption}: {served}/s of {offered}/s served");
    let kind = EventKind::Behind;
    Some(Event { stage: 0, at_s: since.at_s, length_s: None, kind, words, caption })
}

/// When more than `least` requests began to wait. The seconds are given by their two ends.
fn since_waiting(seconds: &[(LoadMark, LoadMark)], least: f64) -> Option<LoadMark> {
    let mut since = Some(LoadMark::default());
    for (begin, end) in seconds {
        since = if end.due - end.ended > least { since.or(Some(*begin)) } else { None };
    }
    since
}

/// The same where requests were dropped: those are never served, although the server may keep up
/// again.
fn since_dropping(seconds: &[(LoadMark, LoadMark)], end: LoadMark) -> Option<LoadMark> {
    let mut since = None;
    for (begin, second) in seconds.iter().rev() {
        let lacks = |until: &LoadMark| {
            let (due, ended) = (until.due - begin.due, until.ended - begin.ended);
            // Arrivals at random differ from the rate by about the root of their number.
            ended < due * (1.0 - UNSERVED) && due - ended > 3.0 * due.sqrt()
        };
        if lacks(&end) && lacks(second) {
            since = Some(*begin);
        } else if !lacks(&end) && end.at_s - begin.at_s >= LAST * end.at_s {
            break;
        }
    }
    since
}

/// The events of a stage as lines: the most important of each kind, and how many more there are.
pub(super) fn lines(record: &RunRecord, events: &[&Event], all: bool) -> Vec<String> {
    if all {
        let mut in_order = events.to_vec();
        in_order.sort_by(|one, two| one.at_s.total_cmp(&two.at_s));
        return in_order.into_iter().map(Event::line).collect();
    }
    let mut lines = Vec::new();
    let mut rest = events;
    while let Some(first) = rest.first() {
        let same = rest.partition_point(|it| it.kind == first.kind);
        let (these, others) = rest.split_at(same);
        rest = others;
        let shown = if these.len() <= 2 { these.len() } else { 1 };
        lines.extend(these[..shown].iter().map(|it| it.line()));
        if let (Some(last), true) = (lines.last_mut(), these.len() > shown) {
            let more = grouped((these.len() - shown) as u64);
            let (at_least, total) = total_words(record, these);
            *last = format!("{last}, and {at_least}{more} times more{total}");
        }
    }
    lines
}

/// How long events of one kind took in total, and whether there may be more of them: a stage keeps
/// only its longest ones.
fn total_words(record: &RunRecord, events: &[&Event]) -> (&'static str, String) {
    let mut stages: Vec<usize> = events.iter().map(|it| it.stage).collect();
    stages.sort_unstable();
    stages.dedup();
    let stages = || stages.iter().filter_map(|at| record.stages.get(*at));
    let kind = events.first().map(|it| it.kind);
    let kept = |stage: &StageRecord| match kind {
        Some(EventKind::Outage) => stage.outage.spans.len(),
        Some(EventKind::Silence) => stage.silences.len(),
        Some(EventKind::Pause) => stage.client.pauses.len(),
        _ => 0,
    };
    let is_cut = stages().any(|stage| kept(stage) >= Span::MOST_LISTED);
    let listed_s: f64 = events.iter().filter_map(|it| it.length_s).sum();
    let (total_s, more) = match kind {
        Some(EventKind::Outage) => {
            (stages().map(|it| it.away_in_all_s(it.outage.total_s)).sum(), "")
        }
        _ if is_cut => (listed_s, " or more"),
        _ => (listed_s, ""),
    };
    let at_least = if is_cut { "at least " } else { "" };
    let total = (total_s > 0.0).then(|| format!(", {}{more} in total", length(total_s)));
    (at_least, total.unwrap_or_default())
}

#[cfg(test)]
#[path = "story_tests.rs"]
mod tests;
