//! Whole runs against the stand-in: the record beside what the server has counted, and what the
//! observer of a run hears.

use super::{Observer, Progress, RunRecord, run};
use crate::clock::{Nanos, SECOND_NS};
use crate::driver::{FeedKind, FollowPlan};
use crate::engine::Stop;
use crate::journal::Journal;
use crate::measure::{OperationSummary, Second};
use crate::mistake::Flagged;
use crate::op::{OpKind, Way};
use crate::plan::{FillPlan, LoadSpec, ObserveSpec, Plan, PlanSpec, ProbePlan, check};
use crate::record::Running;
use crate::workload::{CrudOrder, DocumentsAsked, Mix, MixedDemand, OwnMix};
use springload_embedded::{Counters, Options, StandIn, bind};
use std::sync::Arc;

const MS: Nanos = 1_000_000;

#[derive(Default)]
struct Heard {
    stages: Vec<String>,
    progress: Vec<(String, Progress)>,
    seconds: Vec<(String, u32, u64)>,
    running: Vec<Running>,
    kept: Vec<usize>,
    news: Vec<String>,
    /// Asks to stop as this stage begins.
    stops_at: Option<(&'static str, Arc<Stop>)>,
}

impl Observer for Heard {
    fn watches(&self) -> bool {
        true
    }
    fn running(&mut self, running: Running) {
        self.running.push(running);
    }
    fn stage_begins(&mut self, stage: &str) {
        self.stages.push(stage.to_owned());
        if let Some((at, stop)) = &self.stops_at
            && *at == stage
        {
            stop.raise(crate::engine::StopReason::Interrupted);
        }
    }
    fn progress(&mut self, progress: &Progress) {
        let stage = self.stages.last().cloned().unwrap_or_default();
        self.progress.push((stage, progress.clone()));
    }
    fn news(&mut self, sentence: &str) {
        self.news.push(sentence.to_owned());
    }
    fn takes_seconds(&self) -> bool {
        true
    }
    fn second(&mut self, stage: &str, began_ns: Nanos, second: &Second) {
        assert!(began_ns > 1_577_836_800 * SECOND_NS, "since 1970");
        let ok = second.row.kinds.iter().filter(|(kind, _)| kind.is_request());
        let ok = ok.map(|(_, part)| part.ok).sum();
        self.seconds.push((stage.to_owned(), second.row.second, ok));
    }
    fn keep(&mut self, record: &RunRecord) {
        self.kept.push(record.stages.len());
    }
}

/// Two hundred documents, and then creates, reads and updates on four connections.
fn spec(server: &StandIn, operations: Option<u64>) -> PlanSpec {
    let asked = DocumentsAsked {
        documents: Flagged::new("--docs", 200),
        batch: Flagged::new("--batch", 10),
        within_ns: None,
        operations: Flagged::new("--ops", operations),
        warmup_ns: 0,
    };
    let mix = Flagged::new("--mix", Mix::crud([1, 2, 1, 0]));
    let order = CrudOrder::Uniform;
    let work = MixedDemand { asked, mix, own: OwnMix::new(), more_documents: "", order };
    PlanSpec {
        target: Some(format!("{}/db", server.url())),
        load: LoadSpec::Closed { think_ns: 10 * MS },
        timeout_ns: 2 * SECOND_NS,
        audit: true,
        ..PlanSpec::new("test", Flagged::new("-c", 4), Arc::new(work))
    }
}

fn planned(spec: &PlanSpec) -> Plan {
    check(spec).unwrap_or_else(|mistakes| panic!("{mistakes:?}"))
}

fn stand_in() -> StandIn {
    StandIn::start(bind("127.0.0.1:0").unwrap(), Options::default()).unwrap()
}

fn ok(record: &RunRecord, stage: &str, kind: OpKind) -> u64 {
    let stage = record.stages.iter().find(|it| it.name == stage).unwrap();
    stage.operations.iter().find(|it| it.kind == kind).map_or(0, |it| it.ok)
}

#[test]
fn what_goes_on_beside_the_load_is_in_the_record_and_nowhere_else() {
    let server = stand_in();
    let fill = FillPlan { growth: true, ..FillPlan::default() };
    let spec = PlanSpec {
        fill,
        probe: Some(ProbePlan { visible: vec![Way::Get, Way::AllDocs], every_ns: 50 * MS }),
        follow: Some(FollowPlan { followers: 2, feed: FeedKind::Continuous, filter: None }),
        observe: ObserveSpec { servers: true, ..ObserveSpec::NOTHING },
        ..spec(&server, Some(400))
    };
    let mut heard = Heard::default();
    let record = run(&planned(&spec), None, &Arc::default(), &mut heard).unwrap();
    assert_eq!(record.ended, None);
    assert!(record.server.deleted && !record.server.stand_in && record.server.same_machine);
    assert_eq!(record.extra_documents, Some(0), "of others");
    let names: Vec<_> = record.stages.iter().map(|it| it.name.clone()).collect();
    assert_eq!(names, ["bulk_insert", "crud", "audit"]);
    assert_eq!(heard.stages, names);

    let [fill, crud, audit] = &record.stages[..] else { panic!("{names:?}") };
    let growth = fill.growth.as_ref().unwrap();
    assert_eq!((growth.window, growth.points.len()), (40, 5));
    assert_eq!(growth.sizes.last().and_then(|it| it.documents), Some(200));
    assert!(crud.growth.is_none() && fill.visibility.is_none() && fill.following.is_none());

    let [created, updated] = [OpKind::Create, OpKind::Update].map(|kind| ok(&record, "crud", kind));
    assert_eq!((created, updated), (100, 100), "a quarter each");
    let visibility = crud.visibility.as_ref().unwrap();
    let Counters { documents_created, documents_bulk, databases_created, .. } = server.counters();
    assert_eq!((visibility.left, visibility.write_failures), (0, 0));
    assert_eq!(visibility.by.iter().map(|it| it.way).collect::<Vec<_>>(), [Way::Get, Way::AllDocs]);
    let written = visibility.written;
    assert!(visibility.by.iter().all(|it| (1..=written).contains(&it.probes)), "{visibility:?}");
    assert_eq!((documents_bulk, databases_created), (200, 1));
    assert_eq!(documents_created, created + visibility.written);

    let following = crud.following.as_ref().unwrap();
    assert_eq!(following.acknowledged, created + updated);
    let by = &following.by[0];
    assert_eq!((by.followers, by.missing, by.resumed), (2, Some(0), 0), "{by:?}");
    assert!(by.changes >= 2 * (created + updated), "probes come, too: {by:?}");

    let verified = ok(&record, "audit", OpKind::Verify);
    // Each connection may have taken back a create that was not sent, as the time was over.
    assert!((200 + created..=204 + created).contains(&verified), "every document: {verified}");
    let wrong = audit.operations.iter().filter(|it| it.kind == OpKind::Verify);
    assert_eq!(wrong.map(OperationSummary::failed).sum::<u64>(), 0);
    let observed = record.observed.as_ref().unwrap();
    let sources: Vec<_> = observed.sources.iter().map(|it| (it.machine, it.polls > 1)).collect();
    assert_eq!(sources, [(false, true), (true, true)], "server and machine");
    assert!(record.environment.calibration.is_some() && record.partial == record.ended.is_some());

    assert_eq!(heard.kept, [1, 2, 3, 3], "after each stage, and in the end");
    for stage in &record.stages {
        let of_stage = || heard.seconds.iter().filter(|it| it.0 == stage.name);
        let requests = stage.requests().map(|it| it.ok).sum::<u64>();
        assert_eq!(of_stage().map(|it| it.2).sum::<u64>(), requests, "{}", stage.name);
        assert!(of_stage().is_sorted_by(|one, next| one.1 < next.1), "each once");
    }
    check_progress(&heard);
}

/// Checks what an observer heard while the stages went on.
fn check_progress(heard: &Heard) {
    let of =
        |stage: &'static str| heard.progress.iter().filter(move |it| it.0 == stage).map(|it| &it.1);
    let crud: Vec<_> = of("crud").collect();
    assert!(crud.is_sorted_by(|one, next| one.elapsed_s <= next.elapsed_s));
    assert!(crud.last().is_some_and(|it| it.elapsed_s > 0.0), "400 pauses of 10 ms");
    assert!(crud.iter().all(|it| (it.planned, it.unit, it.audits) == (Some(400), "docs", false)));
    assert!(of("audit").all(|it| it.audits));
    let running: Vec<_> = heard.running.iter().filter(|it| it.name == "crud").collect();
    assert!(running.is_sorted_by(|one, next| one.elapsed_s < next.elapsed_s), "each once");
    assert!(running.iter().all(|it| it.elapsed_s.fract() == 0.0) && !running.is_empty());
}

#[test]
fn a_number_of_operations_is_carried_out_exactly() {
    let server = stand_in();
    let spec = PlanSpec { audit: false, ..spec(&server, Some(101)) };
    let mut heard = Heard::default();
    let record = run(&planned(&spec), None, &Arc::default(), &mut heard).unwrap();
    let crud = &record.stages[1];
    assert_eq!((crud.load.planned, crud.load.begun), (Some(101), 101));
    assert_eq!(crud.requests().map(|it| it.ok).sum::<u64>(), 101);
    let counters = server.counters();
    let counted = counters.documents_created + counters.documents_read + counters.documents_updated;
    assert_eq!(counted, 101);
    assert_eq!(heard.kept, [1, 2, 2]);
    assert_eq!((record.observed, record.extra_documents), (None, None));
}

/// The user asks once to stop: what was measured until then is there, and nothing is left behind.
#[test]
fn a_run_that_is_stopped_ends_with_what_was_measured() {
    for (at, stages) in [("bulk_insert", 1), ("crud", 2)] {
        let (server, stop) = (stand_in(), Arc::new(Stop::default()));
        let spec = PlanSpec { duration_ns: Some(60 * SECOND_NS), ..spec(&server, None) };
        let mut heard = Heard { stops_at: Some((at, stop.clone())), ..Heard::default() };
        let record = run(&planned(&spec), None, &stop, &mut heard).unwrap();
        assert_eq!(record.stages.len(), stages, "{at}");
        let ended = record.ended.unwrap();
        assert_eq!(ended.by, crate::record::EndedBy::User);
        assert!(ended.message.starts_with("stopped by the user after "), "{}", ended.message);
        assert!(ended.at_s > 0.0 && ended.at_s < 30.0, "{}", ended.at_s);
        assert!(record.partial && record.server.deleted);
        assert_eq!(record.extra_documents, None);
        assert_eq!(server.counters().databases_deleted, 1);
    }
}

/// Notes its writes among temporary files, which may be impossible.
#[test]
fn the_place_for_notes_is_there_before_the_database() {
    struct Noting<'a>(&'a StandIn, Option<u64>);
    impl Observer for Noting<'_> {
        fn stage_begins(&mut self, _: &str) {}
        fn progress(&mut self, _: &Progress) {}
        fn journal(&mut self) -> Option<Arc<Journal>> {
            self.1 = Some(self.0.counters().databases_created);
            None
        }
        fn keep(&mut self, _: &RunRecord) {}
    }
    let server = stand_in();
    let mut observer = Noting(&server, None);
    let spec = spec(&server, Some(4));
    let record = run(&planned(&spec), None, &Arc::default(), &mut observer).unwrap();
    assert_eq!(observer.1, Some(0));
    assert!(ok(&record, "audit", OpKind::Verify) >= 200);
    assert_eq!((record.ended, record.journal_broken), (None, None));
}
