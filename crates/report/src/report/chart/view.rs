//! The subject of a set of charts: a stage of one or more runs, and one kind of operation or all.

use super::timeline::Timeline;
use super::{Chart, charts};
use crate::measure::Replication;
use crate::observed::Observed;
use crate::op::OpKind;
use crate::plan::{Nouns, Purpose, StagePlan, stage_title};
use crate::record::{AgentRecord, RunRecord, StageRecord};
use crate::report::observed::{Busy, busy};
use crate::report::story::{Event, story};
use serde::Serialize;
use std::collections::BTreeSet;

/// The most runs that can be distinguished in one chart.
pub(in crate::report) const MOST_RUNS: usize = 10;
/// The most intervals of time over all runs of a chart: they fit a screen and keep the page small.
const MOST_STRETCHES: usize = 300;

pub(super) struct Part<'a> {
    /// The run's letter.
    pub(super) label: String,
    /// Its number among the runs.
    pub(super) run: usize,
    pub(super) stage: &'a StageRecord,
    pub(super) plan: Option<&'a StagePlan>,
    pub(super) connections: usize,
    pub(super) nouns: Nouns,
    pub(super) agents: &'a [AgentRecord],
    pub(super) timeline: Timeline,
    pub(super) events: Vec<Event>,
    /// What the servers reported about themselves, and what they were busy with.
    pub(super) observed: Option<&'a Observed>,
    pub(super) busy: Vec<Busy>,
    /// The replication beside the stage, if there was any.
    pub(super) replication: Option<&'a Replication>,
}

/// One stage and kind of operation, from every run that has them.
pub(super) struct View<'a> {
    pub(super) kind: Option<OpKind>,
    /// More than one run is shown.
    pub(super) overlay: bool,
    pub(super) parts: Vec<Part<'a>>,
}

impl View<'_> {
    /// The name of a line, after the run's letter if there are several runs.
    pub(super) fn name(&self, part: &Part<'_>, name: &str) -> String {
        if self.overlay { format!("{} {name}", part.label) } else { name.to_owned() }
    }

    /// The databases' own words for what the runs count.
    pub(super) fn nouns(&self) -> Nouns {
        Nouns::common(self.parts.iter().map(|part| part.nouns))
    }

    /// Whether a request carries many documents, so that documents are counted.
    pub(super) fn fills(&self) -> bool {
        self.parts.iter().any(|part| part.stage.purpose() == Purpose::Fill)
    }

    pub(super) fn unit(&self) -> &'static str {
        if self.fills() { self.nouns().many } else { Nouns::REQUESTS.many }
    }

    pub(super) fn new<'a>(runs: &'a [RunRecord], stage: &str, kind: Option<OpKind>) -> View<'a> {
        let most = (MOST_STRETCHES / runs.len().max(1)).max(1);
        let mut parts = Vec::new();
        for (run, record) in runs.iter().enumerate() {
            let found = record.stages.iter().find(|it| it.name == stage);
            parts.extend(found.map(|found| Part {
                label: label(run),
                run,
                stage: found,
                plan: record.plan_of(found),
                connections: record.plan.connections,
                nouns: record.nouns(),
                agents: &record.agents,
                timeline: Timeline::new(found, kind, most),
                events: events(record, found),
                observed: record.observed.as_ref(),
                busy: busy(record, found),
                replication: record.replication.as_ref().filter(|_| found.is_replicated()),
            }));
        }
        View { kind, overlay: runs.len() > 1, parts }
    }
}

/// What happened in a stage of a run.
fn events(record: &RunRecord, stage: &StageRecord) -> Vec<Event> {
    let of_stage = |event: &Event| record.stages[event.stage].name == stage.name;
    story(record).into_iter().filter(of_stage).collect()
}

/// A, B and so on.
pub(in crate::report) fn label(run: usize) -> String {
    char::from(b'A' + (run % 26) as u8).to_string()
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(in crate::report) struct Stage {
    pub(in crate::report) name: String,
    pub(in crate::report) title: String,
    #[serde(skip)]
    pub(in crate::report) measured: bool,
    pub(in crate::report) views: Vec<OfKind>,
}

/// The charts of one kind of operation, or of all.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(in crate::report) struct OfKind {
    pub(in crate::report) name: &'static str,
    pub(in crate::report) charts: Vec<Chart>,
}

/// The charts of every stage of the runs; with `every_kind`, also those of each kind of operation.
pub(in crate::report) fn stages(runs: &[RunRecord], every_kind: bool) -> Vec<Stage> {
    let measured = |name: &str| {
        let stages = runs.iter().flat_map(|run| &run.stages).filter(|stage| stage.name == name);
        let operations = stages.flat_map(|stage| &stage.operations);
        let kinds: BTreeSet<OpKind> = operations.map(|operation| operation.kind).collect();
        kinds.into_iter().collect::<Vec<_>>()
    };
    let stage = |(purpose, name): (Purpose, String)| {
        let kinds = measured(&name);
        let apart = if every_kind && kinds.len() > 1 { &kinds[..] } else { &[] };
        let all = (!kinds.is_empty()).then_some(None);
        let wanted = all.into_iter().chain(apart.iter().copied().map(Some));
        let views: Vec<OfKind> = wanted
            .map(|kind| OfKind {
                name: kind.map_or("all", OpKind::name),
                charts: charts(&View::new(runs, &name, kind)),
            })
            .collect();
        let (title, measured) = (stage_title(&name), purpose.is_measured());
        (!views.is_empty()).then_some(Stage { name, title, measured, views })
    };
    let mut names: Vec<(Purpose, String)> = Vec::new();
    for found in runs.iter().flat_map(|run| &run.stages) {
        if names.iter().all(|(_, name)| *name != found.name) {
            names.push((found.purpose(), found.name.clone()));
        }
    }
    // In the order of a run, regardless of which runs have the stage.
    names.sort_by_key(|(purpose, _)| *purpose);
    names.into_iter().filter_map(stage).collect()
}

/// The stage to show first: the last one that is not a warm-up.
pub(in crate::report) fn foremost(stages: &[Stage]) -> Option<&Stage> {
    stages.iter().rev().find(|stage| stage.measured).or(stages.last())
}
