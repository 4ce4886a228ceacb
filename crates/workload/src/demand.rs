//! Requests for workloads, from a dialect or from `run --workload`, before they are checked.

use super::{Mix, OwnMix, Purpose, WorkloadPlan};
use crate::mistake::{Flagged, Invalid};
use crate::schema::Ids;
use std::fmt::Debug;
use std::sync::Arc;

/// The most documents: at 32 bytes each in memory, no client could hold more.
pub const MOST_DOCUMENTS: u64 = 10_000_000_000;
/// The most documents in one request.
pub(super) const MOST_BATCH: u64 = 1_000_000;

/// What a run is asked to do. Each workload has its own type, created by the dialects that offer
/// it.
pub trait Demand: Debug {
    /// Adds the mistakes in the request itself.
    fn check(&self, ids: &Ids, mistakes: &mut Vec<Invalid>);

    /// Adds the mistakes that depend on the number of connections. Only called if there are no
    /// others.
    fn check_shares(&self, _connections: usize, _mistakes: &mut Vec<Invalid>) {}

    /// The stages, in order.
    fn steps(&self) -> Vec<Step>;

    /// The prefix of the documents' names, if the workload determines it.
    fn id_prefix(&self) -> Option<&str> {
        None
    }
}

/// A stage, without the times at which its operations are due.
#[derive(Clone, Debug)]
pub struct Step {
    /// The stored name of the stage.
    pub name: String,
    /// Its purpose.
    pub purpose: Purpose,
    /// What it does.
    pub work: WorkloadPlan,
    /// When its operations are due.
    pub timing: Due,
}

/// When the operations of a stage are due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// As fast as answers arrive, until all are done.
    Free,
    /// As requested for the run.
    Asked,
    /// As requested for the run, but for this many nanoseconds.
    AskedFor(u64),
    /// As requested for the run, but the stage lasts this many nanoseconds, and so does each rate.
    Short(u64),
}

/// A workload available by name in `run --workload`.
pub trait Offer {
    /// The names, each with a short description.
    const NAMES: &'static [(&'static str, &'static str)];

    /// Makes a request from the workload's name and the flags of `run`.
    ///
    /// # Errors
    /// Returns an error for a flag that does not apply to the workload; or, if `run` lacks the
    /// flags that the workload needs, one that names the verb to use instead.
    fn demand(name: &str, asked: &RunAsked) -> Result<Arc<dyn Demand>, Invalid>;
}

/// The flags of `run` that describe the operations.
#[derive(Clone, Debug)]
pub struct RunAsked {
    /// Documents to insert first, and the size of a request.
    pub documents: DocumentsAsked,
    /// Whether the batch size was given, rather than a default.
    pub own_batch: bool,
    /// The mix; `None` stands for the workload's own.
    pub mix: Option<Mix>,
    /// The weights of operations that the plan defines.
    pub own: OwnMix,
    /// How documents are named.
    pub ids: Ids,
    /// The flags that were given and that not every workload supports.
    pub given: Vec<&'static str>,
}

impl RunAsked {
    /// Refuses flags that do not apply to the workload.
    pub(super) fn refuse(&self, flags: &[&str], problem: &str) -> Result<(), Invalid> {
        let Some(flag) = self.given.iter().find(|it| flags.contains(it)) else { return Ok(()) };
        Err(Invalid::new(*flag, problem, "leave this out, or --workload"))
    }
}

/// A fill, and operations after it.
#[derive(Clone, Copy, Debug)]
pub struct DocumentsAsked {
    /// Documents to insert in bulk.
    pub documents: Flagged<u64>,
    /// Documents in one request.
    pub batch: Flagged<u64>,
    /// How long the fill before operations may take, in nanoseconds: it may then store fewer
    /// documents. `None` for no limit.
    pub within_ns: Option<u64>,
    /// Operations after that; `None` means until time is up.
    pub operations: Flagged<Option<u64>>,
    /// The warm-up before they are measured, in nanoseconds.
    pub warmup_ns: u64,
}

impl DocumentsAsked {
    /// Adds mistakes in the numbers.
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
}
