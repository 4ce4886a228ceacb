//! What is asked of a workload, before it is known to make sense: by a dialect, or by
//! `run --workload`.

use super::bulk_insert::{BulkInsertPlan, FillDemand, MOST_BATCH, MOST_DOCUMENTS};
use super::{Mix, Purpose, WorkloadPlan};
use crate::mistake::{Flagged, Invalid};
use crate::schema::Ids;
use std::fmt::Debug;
use std::sync::Arc;

/// What a run is asked to do. Each workload has its own, made by the dialects that offer it.
pub trait Demand: Debug {
    /// Adds what is wrong with it by itself.
    fn check(&self, ids: &Ids, mistakes: &mut Vec<Invalid>);

    /// Adds what is wrong with it on so many connections. Asked where nothing else is wrong.
    fn check_shares(&self, _connections: usize, _mistakes: &mut Vec<Invalid>) {}

    /// The stages, in order.
    fn steps(&self) -> Vec<Step>;

    /// What the names of its documents begin with, where that is its own to say.
    fn id_prefix(&self) -> Option<&str> {
        None
    }
}

/// A stage, but for when its operations are due.
#[derive(Clone, Debug)]
pub struct Step {
    /// What the stage is stored as.
    pub name: String,
    /// What it is there for.
    pub purpose: Purpose,
    /// What is done.
    pub work: WorkloadPlan,
    /// When.
    pub timing: Timing,
}

/// When the operations of a stage are due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// As fast as answers come, until all are done.
    Free,
    /// As was asked of the run.
    Asked,
    /// The same, but for so many nanoseconds.
    AskedFor(u64),
    /// The same; the stage has so many nanoseconds, and so has each rate.
    Short(u64),
}

/// A workload that `run --workload` finds by its name.
pub trait Offer {
    /// The names, each with what is done, in a few words.
    const NAMES: &'static [(&'static str, &'static str)];

    /// What is asked for by the workload's name and the flags of `run`.
    ///
    /// # Errors
    /// A flag that does not fit the workload; or, where it needs more than `run` has flags for, the
    /// verb to use.
    fn demand(name: &str, asked: &RunAsked) -> Result<Arc<dyn Demand>, Invalid>;
}

/// The flags of `run` that say what is done.
#[derive(Clone, Debug)]
pub struct RunAsked {
    /// Documents to insert first, in requests of so many.
    pub documents: DocumentsAsked,
    /// The same was given, and is no default.
    pub own_batch: bool,
    /// The mix; `None`: the workload's own.
    pub mix: Option<Mix>,
    /// How documents are named.
    pub ids: Ids,
    /// The flags that were given, of those that not all workloads heed.
    pub given: Vec<&'static str>,
}

impl RunAsked {
    /// Refuses those flags that mean nothing to a workload.
    pub(super) fn refuse(&self, flags: &[&str], problem: &str) -> Result<(), Invalid> {
        let Some(flag) = self.given.iter().find(|it| flags.contains(it)) else { return Ok(()) };
        Err(Invalid::new(*flag, problem, "leave this out, or --workload"))
    }
}

/// In the place of a workload that could not be asked for, once that mistake is told.
pub fn nothing(asked: &RunAsked) -> Arc<dyn Demand> {
    Arc::new(FillDemand(asked.documents))
}

/// A fill, and operations after it.
#[derive(Clone, Copy, Debug)]
pub struct DocumentsAsked {
    /// Documents to insert in bulk.
    pub documents: Flagged<u64>,
    /// Documents in one request.
    pub batch: Flagged<u64>,
    /// Operations after that; `None`: until the time is over.
    pub operations: Flagged<Option<u64>>,
    /// How long to warm up before they are measured, in nanoseconds.
    pub warmup_ns: u64,
}

impl DocumentsAsked {
    /// Adds what is wrong with the numbers.
    pub(super) fn check(&self, mistakes: &mut Vec<Invalid>) {
        let Self { documents, batch, operations, .. } = self;
        let least = u64::from(documents.value > 0);
        mistakes.extend(documents.out_of_range(0, MOST_DOCUMENTS));
        mistakes.extend(batch.out_of_range(least, MOST_BATCH));
        mistakes.extend(operations.map(|it| it.unwrap_or(0)).out_of_range(0, MOST_DOCUMENTS));
        if documents.value == 0 && operations.value == Some(0) {
            let cure = "insert documents, or do operations on them";
            mistakes.push(Invalid::new(operations.flag, "there is nothing to do", cure));
        }
    }

    /// The fill.
    pub(super) fn fill(&self) -> BulkInsertPlan {
        let batch = self.batch.value.clamp(1, MOST_BATCH) as u32;
        BulkInsertPlan { documents: self.documents.value, batch }
    }

    /// The fill, the warm-up and the main stage, as far as they are asked for. `work` makes the
    /// plan of so many operations, `name` is that of the main stage.
    pub(super) fn steps(
        &self,
        name: &str,
        work: impl Fn(Option<u64>) -> WorkloadPlan,
    ) -> Vec<Step> {
        let step = |name: &str, purpose, work, timing| {
            let name = name.to_owned();
            Step { name, purpose, work, timing }
        };
        let mut steps = Vec::new();
        if self.documents.value > 0 {
            steps.push(step("bulk_insert", Purpose::Fill, self.fill().into(), Timing::Free));
        }
        if self.operations.value == Some(0) {
            return steps;
        }
        if self.warmup_ns > 0 {
            let timing = Timing::AskedFor(self.warmup_ns);
            steps.push(step("warm_up", Purpose::WarmUp, work(None), timing));
        }
        steps.push(step(name, Purpose::Main, work(self.operations.value), Timing::Asked));
        steps
    }
}
