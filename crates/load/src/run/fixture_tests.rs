//! Plans, a database without a server, and an observer that keeps what it hears, for tests of what
//! a run does with them.

use super::{Observer, Progress, RunRecord, block_on};
use crate::clock::SECOND_NS;
use crate::driver::{Driver, Opening, TargetPlan};
use crate::engine::Stop;
use crate::mistake::Flagged;
use crate::op::OpKind;
use crate::plan::{Plan, PlanSpec, check};
use crate::workload::{CrudOrder, DocumentsAsked, FillDemand, Mix, MixedDemand, OwnMix};
use serde_json::json;
use springload_embedded::{NodeState, StandIn};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

fn asked(documents: u64, operations: Option<u64>) -> DocumentsAsked {
    DocumentsAsked {
        documents: Flagged::new("--docs", documents),
        batch: Flagged::new("--batch", 10),
        within_ns: None,
        operations: Flagged::new("--ops", operations),
        warmup_ns: 0,
    }
}

fn reads(documents: u64, operations: Option<u64>, own: OwnMix) -> MixedDemand {
    MixedDemand {
        asked: asked(documents, operations),
        mix: Flagged::new("--mix", Mix::crud([0, 1, 0, 0])),
        own,
        more_documents: "",
        order: CrudOrder::Uniform,
    }
}

/// Documents in batches of ten, and then reads, by three threads with six connections to a server
/// that is not there.
pub(super) fn spec(documents: u64, operations: Option<u64>) -> PlanSpec {
    let work = reads(documents, operations, OwnMix::new());
    PlanSpec {
        target: Some("http://127.0.0.1:1/db".to_owned()),
        threads: Some(3),
        ..PlanSpec::new("test", Flagged::new("-c", 6), Arc::new(work))
    }
}

/// So many documents in batches of ten, and then ten operations on them, by two connections.
pub(super) fn few(documents: u64, target: Option<String>) -> PlanSpec {
    let mix = Flagged::new("--mix", Mix::crud([1, 2, 1, 0]));
    let work = MixedDemand { mix, ..reads(documents, Some(10), OwnMix::new()) };
    let spec = PlanSpec::new("test", Flagged::new("-c", 2), Arc::new(work));
    PlanSpec { target, timeout_ns: 10 * SECOND_NS, ..spec }
}

/// Sixty documents, and then twelve operations, half of which the plan defines.
pub(super) fn with_own() -> PlanSpec {
    let kind = OpKind::of_name("recent").unwrap();
    let work = reads(60, Some(12), OwnMix::from([(kind, 1)]));
    let operations = vec!["recent=view app/by_date".to_owned()];
    PlanSpec { work: Arc::new(work), operations, ..spec(60, None) }
}

/// The same without the reads.
pub(super) fn fill(documents: u64) -> PlanSpec {
    let work = FillDemand(asked(documents, None));
    PlanSpec { work: Arc::new(work), ..spec(documents, None) }
}

pub(super) fn planned(spec: &PlanSpec) -> Plan {
    check(spec).unwrap_or_else(|mistakes| panic!("{mistakes:?}"))
}

/// A database without a server: everything succeeds at once.
pub(super) fn at_once() -> Driver {
    let plan: TargetPlan = serde_json::from_value(json!({ "driver": "basic" })).unwrap();
    block_on(&Stop::default(), plan.open(&Opening::default())).unwrap().0
}

/// Stops one of several nodes. Returns once it takes no more connections.
pub(super) fn take_down(server: &StandIn, node: usize) {
    server.set_node(node, NodeState::Down);
    let url = server.urls().swap_remove(node);
    while TcpStream::connect(url.trim_start_matches("http://")).is_ok() {
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// An observer that wants nothing more than every observer gets.
#[derive(Debug, Default)]
pub(super) struct Plain {
    pub(super) stages: Vec<String>,
    pub(super) news: Vec<String>,
    /// The number of stages in each record to be saved.
    pub(super) kept: Vec<usize>,
}

impl Observer for Plain {
    fn stage_begins(&mut self, stage: &str) {
        self.stages.push(stage.to_owned());
    }
    fn progress(&mut self, _: &Progress) {}
    fn news(&mut self, sentence: &str) {
        self.news.push(sentence.to_owned());
    }
    fn keep(&mut self, record: &RunRecord) {
        self.kept.push(record.stages.len());
    }
}
