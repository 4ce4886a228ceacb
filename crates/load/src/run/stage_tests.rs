//! What a stage measures and reports, with a source whose measurements a test writes, and with a
//! target that answers everything at once.

use super::{Measured, Source, Threads};
use crate::clock::{Clock, Nanos, SECOND_NS, wall_ns};
use crate::driver::{CARDS, Driver, FeedKind, FollowPlan, Opening, TargetPlan};
use crate::engine::{Start, Stop, StopReason};
use crate::measure::{Interval, RawRow, Second};
use crate::op::{OpKind, Way};
use crate::plan::{
    DrillSpec, DrillTimes, FillPlan, Flagged, MeasurementPlan, MeasurementType, Plan, PlanSpec,
    ProbePlan, Purpose, SchemaPlan, StagePlan, check,
};
use crate::record::{DrillRecord, RunRecord, StageRecord, fixture};
use crate::run::bench::Bench;
use crate::run::lanes::Connections;
use crate::run::{Observer, Progress, block_on};
use crate::workload::{BulkInsertPlan, CrudOrder, DocumentsAsked, Mix, MixedDemand, OwnMix};
use serde_json::json;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

const MS: Nanos = 1_000_000;
/// How long the run had been going on when a stage of these tests began.
const BEFORE_NS: Nanos = 5 * SECOND_NS;

/// Forty documents, and as many operations on them. The server is never asked.
fn spec() -> PlanSpec {
    spec_of(Some(40))
}

fn spec_of(operations: Option<u64>) -> PlanSpec {
    let asked = DocumentsAsked {
        documents: Flagged::new("--docs", 40),
        batch: Flagged::new("--batch", 10),
        within_ns: None,
        operations: Flagged::new("--ops", operations),
        warmup_ns: 0,
    };
    let mix = Flagged::new("--mix", Mix::crud([1, 2, 1, 0]));
    let order = CrudOrder::Uniform;
    let work = MixedDemand { asked, mix, own: OwnMix::new(), more_documents: "", order };
    PlanSpec {
        target: Some("http://127.0.0.1:1/db".to_owned()),
        ..PlanSpec::new("test", Flagged::new("-c", 2), Arc::new(work))
    }
}

pub(in crate::run) fn planned(spec: &PlanSpec) -> Plan {
    check(spec).unwrap_or_else(|mistakes| panic!("{mistakes:?}"))
}

/// A target that answers everything at once.
pub(in crate::run) fn nobody() -> Driver {
    let card = CARDS.iter().find(|card| !card.server).expect("a driver without a server");
    let target: TargetPlan = serde_json::from_value(json!({ "driver": card.name })).unwrap();
    block_on(&Stop::default(), target.open(&Opening::default())).unwrap().0
}

/// What an observer has heard, in this order.
#[derive(Default)]
struct Heard {
    events: Vec<String>,
    began_ns: Vec<Nanos>,
    requests: Vec<u64>,
    saved: Vec<RunRecord>,
}

impl Observer for Heard {
    fn stage_begins(&mut self, _: &str) {}
    fn progress(&mut self, progress: &Progress) {
        self.events.push("progress".to_owned());
        self.requests.push(progress.requests);
    }
    fn news(&mut self, sentence: &str) {
        self.events.push(sentence.to_owned());
    }
    fn raw(&mut self, rows: &[RawRow], _: Nanos) {
        self.events.push(format!("{} raw", rows.len()));
    }
    fn takes_seconds(&self) -> bool {
        true
    }
    fn second(&mut self, stage: &str, began_ns: Nanos, second: &Second) {
        // Seconds in which nothing ended are of no interest here.
        if !second.row.kinds.is_empty() {
            self.events.push(format!("{stage} {}", second.row.second));
            self.began_ns.push(began_ns);
        }
    }
    fn saves(&self) -> bool {
        true
    }
    fn unfinished(&mut self, record: &RunRecord) {
        self.saved.push(record.clone());
    }
    fn keep(&mut self, _: &RunRecord) {}
}

/// Measurements one after the other; `None`: there is none yet.
struct Script {
    steps: VecDeque<Option<Interval>>,
    moment: Nanos,
    news: VecDeque<String>,
    more: bool,
}

impl Script {
    /// Those of a stage that began at `moment`.
    fn new(moment: Nanos, steps: Vec<Option<Interval>>) -> Self {
        Self { steps: steps.into(), moment, news: VecDeque::new(), more: false }
    }
}

impl Source for Script {
    fn next(&mut self, _: Duration) -> Result<Interval, RecvTimeoutError> {
        match self.steps.pop_front() {
            Some(interval) => interval.ok_or(RecvTimeoutError::Timeout),
            None => Err(RecvTimeoutError::Disconnected),
        }
    }

    fn moment(&self) -> Option<Nanos> {
        Some(self.moment)
    }

    fn news(&mut self) -> Option<String> {
        self.news.pop_front()
    }

    fn has_more(&self) -> bool {
        self.more
    }
}

/// A source that leaves everything else as it is by default.
struct Quiet(Script);

impl Source for Quiet {
    fn next(&mut self, patience: Duration) -> Result<Interval, RecvTimeoutError> {
        self.0.next(patience)
    }

    fn moment(&self) -> Option<Nanos> {
        self.0.moment()
    }

    fn news(&mut self) -> Option<String> {
        self.0.news()
    }
}

fn read(second: u32) -> Interval {
    let mut interval = Interval::new(second);
    let part = interval.kind_mut(OpKind::Read);
    (part.requests, part.ok) = (1, 1);
    part.response.record(MS);
    interval
}

/// Merges what `source` has of the last stage of `plan`, in a run that began at these times.
fn collected(
    plan: &Plan,
    source: &mut dyn Source,
    began: [Nanos; 2],
    heard: &mut Heard,
) -> Measured {
    let (target, stop) = (nobody(), Arc::default());
    let bench = Bench::new(plan, &target, &stop, began);
    bench.ended.replace(Some(fixture::record(&[])));
    bench.collect(plan.stages.last().unwrap(), source, heard, None).unwrap()
}

/// A second is reported as soon as it is complete, and the last ones at the end.
#[test]
fn seconds_are_reported_once_they_are_complete_and_with_the_time_they_began() {
    let (plan, now) = (planned(&spec()), Clock::system().now());
    let moment = now.saturating_sub(5 * SECOND_NS + SECOND_NS / 2);
    let mut source = Script::new(moment, vec![Some(read(0)), Some(read(60)), None, None]);
    source.news.push_back("broken".to_owned());
    let mut heard = Heard::default();
    let began = [moment.saturating_sub(BEFORE_NS), 1_700_000_000 * SECOND_NS];
    let measured = collected(&plan, &mut source, began, &mut heard);
    assert_eq!(heard.events, ["broken", "progress", "crud 0", "progress", "crud 60"]);
    let first = 1_700_000_000 * SECOND_NS + (moment - began[0]);
    assert_eq!(heard.began_ns, [first, first + 60 * SECOND_NS]);
    assert_eq!(heard.requests, [2, 2], "known since the last measurements arrived");
    let rows = measured.series.rows.iter().filter(|row| !row.kinds.is_empty());
    assert_eq!(rows.count(), 2);
    assert_eq!(measured.totals.sum().kind(OpKind::Read).map(|it| it.requests), Some(2));
}

/// A stage is saved every few seconds, but not while measurements wait to be merged.
#[test]
fn an_unfinished_stage_is_saved_as_far_as_it_is_known() {
    let (plan, now) = (planned(&spec()), Clock::system().now());
    let began = [now.saturating_sub(20 * SECOND_NS), wall_ns()];
    let steps = || vec![Some(read(0)), None, None];
    let long_ago = now.saturating_sub(10 * SECOND_NS);
    let mut heard = Heard::default();
    collected(&plan, &mut Quiet(Script::new(long_ago, steps())), began, &mut heard);
    assert_eq!(heard.saved.len(), 1, "and not again at once");
    let stage = heard.saved[0].stages.last().unwrap();
    assert_eq!((stage.name.as_str(), stage.load.begun), ("crud", 1));
    assert!(stage.agents.is_empty(), "there are none: {:?}", stage.agents);
    let busy = Script { more: true, ..Script::new(long_ago, steps()) };
    for mut source in [busy, Script::new(now, steps())] {
        let mut heard = Heard::default();
        collected(&plan, &mut source, began, &mut heard);
        assert_eq!(heard.saved.len(), 0);
    }
}

/// Single requests are summed up in steps if the plan says so; otherwise they are passed on.
#[test]
fn single_requests_are_passed_on_or_summed_up() {
    let moment = Clock::system().now();
    let steps = || {
        let (kind, failure, done) = (OpKind::Read, None, moment + 250 * MS);
        let mut single = read(0);
        single.raw.push(RawRow { kind, failure, done, service_ns: MS, response_ns: MS });
        vec![Some(single), Some(read(0))]
    };
    let began = [moment, wall_ns()];
    let mut heard = Heard::default();
    let measured =
        collected(&planned(&spec()), &mut Script::new(moment, steps()), began, &mut heard);
    assert_eq!(heard.events, ["1 raw", "crud 0"]);
    assert!(measured.slots.is_none());
    let mut heard = Heard::default();
    let plan = planned(&PlanSpec { measurement: Some(in_steps()), ..spec() });
    let measured = collected(&plan, &mut Script::new(moment, steps()), began, &mut heard);
    assert_eq!(heard.events, ["crud 0"]);
    let slots = measured.slots.expect("steps").finish();
    assert_eq!(slots.iter().map(|it| (it.at_ms, it.requests)).collect::<Vec<_>>(), [(200, 1)]);
}

/// Rows of a tenth of a second.
fn in_steps() -> MeasurementPlan {
    MeasurementPlan {
        measurement: MeasurementType::TimeSeries,
        granularity_ms: Some(100),
        ..MeasurementPlan::default()
    }
}

#[test]
fn the_threads_of_this_process_pass_on_their_start_and_the_messages_of_a_drill() {
    let (_sender, intervals) = channel();
    let (drill, messages) = channel();
    let start = Arc::new(Start::made(7));
    let mut threads = Threads { intervals, start, fleet: None, news: Some(messages) };
    drill.send("broken after 1 s".to_owned()).unwrap();
    assert_eq!(threads.moment(), Some(7));
    assert_eq!(threads.news().as_deref(), Some("broken after 1 s"));
    assert_eq!(threads.news(), None);
    assert_eq!((threads.settles_ns(), threads.has_more()), (500 * MS, false));
    assert!(threads.agents().is_empty());
}

#[test]
fn before_anything_has_ended_progress_says_what_is_planned() {
    let plan = planned(&PlanSpec { audit: true, ..spec() });
    let (target, stop) = (nobody(), Arc::default());
    let bench = Bench::new(&plan, &target, &stop, [0; 2]);
    let of = |stage: &StagePlan| {
        let Progress { planned, is_most, length_s, audits, unit, .. } = bench.not_begun(stage);
        (planned, is_most, length_s.map(|s| format!("{s} s")), audits, unit)
    };
    let [fill, crud, audit] = &plan.stages[..] else { panic!("{:?}", plan.stages) };
    assert_eq!(of(fill), (Some(40), false, None, false, "docs"));
    assert_eq!(of(crud), (Some(40), false, None, false, "docs"));
    assert!(of(audit).3);
    let work = BulkInsertPlan { documents: 40, batch: 1, within_ns: Some(2_500 * MS) }.into();
    let limited = StagePlan { work, ..fill.clone() };
    assert_eq!(of(&limited), (Some(40), true, Some("2.5 s".to_owned()), false, "docs"));
    let timed = StagePlan { length_ns: Some(1_500 * MS), ..crud.clone() };
    assert_eq!(of(&timed).2.as_deref(), Some("1.5 s"));
    let databases = StagePlan { purpose: Some(Purpose::Databases), ..crud.clone() };
    assert_eq!(of(&databases).4, "databases");
}

/// The records of all stages of `plan`; if `stopped`, the last one is stopped as it begins.
fn ran(plan: &Plan, stopped: bool) -> Vec<StageRecord> {
    let (target, stop) = (nobody(), Arc::<Stop>::default());
    let began = [Clock::system().now().saturating_sub(BEFORE_NS), wall_ns()];
    let bench = Bench::new(plan, &target, &stop, began);
    let documents = Arc::new(SchemaPlan::documents(plan.seed, &plan.schemas).unwrap());
    let mut connections = Connections::new(&bench, documents).unwrap();
    let mut records = Vec::new();
    for (number, stage) in plan.stages.iter().enumerate() {
        if stopped && number + 1 == plan.stages.len() {
            stop.raise(StopReason::Interrupted);
        }
        let mut heard = Heard::default();
        let run = |work| bench.run(stage, work, &mut heard, None);
        records.push(connections.run_stage(&bench, stage, run).unwrap());
    }
    records
}

/// There is nothing to be found out from such a target, but each thread beside the load says so.
#[test]
fn what_was_asked_for_beside_a_stage_is_in_its_record_and_in_no_other() {
    let records = ran(&planned(&much()), false);
    let [fill, crud] = &records[..] else { panic!("{records:?}") };
    check_beside(fill, crud);
    assert_eq!(crud.load.begun, 40);
    let requests: u64 = crud.slots.iter().map(|it| it.requests).sum();
    assert_eq!(requests, 40);
}

/// A plan with as much as possible beside its stages.
pub(in crate::run) fn much() -> PlanSpec {
    PlanSpec {
        options: [("compaction".to_owned(), json!("force"))].into_iter().collect(),
        fill: FillPlan { growth: true, ..FillPlan::default() },
        probe: Some(ProbePlan { visible: vec![Way::Get], every_ns: 50 * MS }),
        follow: Some(FollowPlan { followers: 1, feed: FeedKind::Continuous, filter: None }),
        measurement: Some(in_steps()),
        ..spec()
    }
}

/// Checks the records of its stages, which began in a run that had been going on for a while.
pub(in crate::run) fn check_beside(fill: &StageRecord, crud: &StageRecord) {
    assert!((5.0..60.0).contains(&fill.began_s), "{}", fill.began_s);
    assert!(crud.began_s > fill.began_s);
    assert!(fill.growth.is_some() && crud.growth.is_none());
    assert!(fill.visibility.is_none() && crud.visibility.is_some());
    assert!(fill.following.is_none() && crud.following.is_some());
    let compaction = crud.compaction.as_ref().expect("it was asked for");
    assert!(fill.compaction.is_none() && compaction.ended && compaction.refused.is_none());
    assert!(fill.drill.is_none() && crud.drill.is_none());
    assert!(!crud.slots.is_empty());
}

#[test]
fn the_record_of_a_drill_is_there_even_if_nothing_was_broken() {
    let [before_ns, broken_ns, after_ns] = [60 * SECOND_NS; 3];
    let times = DrillTimes { before_ns, broken_ns, after_ns, settle_ns: 0, limit_ns: SECOND_NS };
    let command = || Some("true".to_owned());
    let (maintenance, partition, audits) = (None, None, false);
    let (stop, start) = (command(), command());
    let drill = DrillSpec { stop, start, maintenance, partition, times, audits };
    let records = ran(&planned(&PlanSpec { drill: Some(drill), ..spec_of(None) }), true);
    let drilled: Vec<_> = records.iter().map(|it| it.drill.clone()).collect();
    assert_eq!(drilled, [None, Some(DrillRecord::default())]);
    assert!(records.iter().all(|it| it.compaction.is_none()));
}
