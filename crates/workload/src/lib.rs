//! Where operations come from: one workload per connection, which owns the documents it uses.
//!
//! A workload is a pure function of its seed, its connection's number and the answers it receives.
//! It knows nothing about clocks, the wire or the number of threads.

#[macro_use]
mod list;
mod budget;
mod crud;
mod current;
mod demand;
mod either;
mod live;
mod original;
mod purpose;
mod same;
mod stage_work;
mod title;
mod verify;

pub use audit::{AuditDemand, Ledger, owed};
pub use budget::{Budget, Mix};
pub use bulk_insert::{BulkInsert, BulkInsertPlan, FillDemand};
pub use burst::{BodySize, Burst, BurstDemand, BurstPlan, Filling, Role};
pub use crud::{Crud, KeySequence};
pub use current::CurrentDocument;
pub use demand::{Demand, DocumentsAsked, Offer, RunAsked, Step, Timing, nothing};
pub use live::{Doubt, Entry, Live};
pub use mixed::{CrudOrder, MixedDemand, MixedPlan};
pub use original::{FromSchemas, Original};
pub use purpose::Purpose;
use springload_core::{generate, journal, mistake, op, properties, schema};
pub use stage_work::{Fill, Gathering, LaneContext, Restored, Runner, StageWork, Stock};
pub use title::stage_title;
pub use urls::{UrlBody, UrlEntry, UrlOrder, Urls, UrlsDemand, UrlsPlan};

use crate::mistake::Invalid;
use crate::op::{Answered, Failure, Finding, Op, OpKind, Pen, Reply};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

// A workload consists of its file and one line here: its stored name, its module and its settings.
workloads! {
    "bulk_insert" => bulk_insert::BulkInsertPlan,
    "crud" => mixed::MixedPlan,
    "hot" => hot::HotPlan,
    "burst" => burst::BurstPlan,
    "urls" => urls::UrlsPlan,
    "ycsb" => ycsb::YcsbStage,
    "audit" => audit::AuditPlan,
}

/// The source of one connection's operations.
pub trait Workload {
    /// Whether its operations are requests from the driver's list; all others are on documents.
    const LISTED: bool = false;

    /// Makes the next operation, writing its names and documents with `pen`. `None` at the end.
    fn next<P: Pen>(&mut self, pen: &mut P) -> Option<Op>;

    /// Takes the result of the last operation from `next`, and returns its check of the data.
    fn observe(
        &mut self,
        op: &Op,
        result: Result<Reply, Failure>,
        answered: &Answered<'_>,
    ) -> Check;

    /// What was wrong, after a check that failed; can be taken once.
    fn finding(&mut self) -> Option<Finding> {
        None
    }

    /// The result for the next of several documents that were compared. If it failed, the next
    /// finding says what was wrong.
    fn compared(&mut self) -> Option<Result<(), Failure>> {
        None
    }

    /// How long to wait before the next operation, in nanoseconds; called once for each.
    fn pause_ns(&mut self) -> u64 {
        0
    }
}

/// A workload's check of the data in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// Not checked.
    Unchecked,
    /// Compared with what was written, with this result.
    Checked(Result<(), Failure>),
    /// Several documents were compared; [`Workload::compared`] has the results.
    Several,
}
