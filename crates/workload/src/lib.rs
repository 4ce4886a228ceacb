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
mod erased;
mod live;
mod original;
mod own;
mod own_operation;
mod pick;
mod purpose;
mod same;
mod stage_work;
mod title;
mod url_entry;
mod verify;

pub use audit::{AuditDemand, Ledger, owed};
pub use budget::{Budget, Mix};
pub use bulk_insert::{BulkInsert, BulkInsertPlan, FillDemand, nothing};
pub use burst::{BodySize, Burst, BurstDemand, BurstPlan, Filling, Role};
pub use crud::{Crud, KeySequence};
pub use current::CurrentDocument;
pub use databases::{create_databases, delete_databases};
pub use demand::{Demand, DocumentsAsked, Due, MOST_DOCUMENTS, Offer, RunAsked, Step};
pub use erased::WorkloadFor;
pub use index::build_indexes;
pub use live::{Doubt, Live, LiveEntry};
pub use mixed::{CrudOrder, MixedDemand, MixedPlan};
pub use original::{FromSchemas, Original};
pub use own::OwnMix;
pub use own_operation::OwnOperation;
pub use purpose::{Purpose, REPLICATED};
use springload_core::{generate, journal, mistake, op, properties, schema, values};
pub use stage_work::{
    Ended, Fill, Gathering, LaneContext, Lanes, Places, Restored, Runner, StageWork, Stock, Traits,
};
pub use title::stage_title;
pub use url_entry::UrlEntry;
pub use urls::{UrlOrder, Urls, UrlsDemand, UrlsPlan};

use crate::mistake::Invalid;
use crate::op::{Answered, Failure, Finding, Op, Pen, Reply, Unconfirmed};
use serde::{Deserialize, Serialize};
use std::ops::Deref;
use std::sync::Arc;

// A workload consists of its file and one line here: its stored name, its module and its settings.
workloads! {
    "bulk_insert" => bulk_insert::BulkInsertPlan,
    "crud" => mixed::MixedPlan,
    "hot" => hot::HotPlan,
    "burst" => burst::BurstPlan,
    "urls" => urls::UrlsPlan,
    "ycsb" => ycsb::YcsbStage,
    "index_build" => index::IndexPlan,
    "databases" => databases::DatabasesPlan,
    "audit" => audit::AuditPlan,
}

/// The source of one connection's operations.
pub trait Workload {
    /// Whether its operations are requests from the driver's list; all others are on documents.
    const LISTED: bool = false;

    /// Makes the next operation, if there is one now, and writes its names and documents with
    /// `pen`.
    fn next<P: Pen>(&mut self, pen: &mut P) -> Next;

    /// Takes the result of the last operation from `next`, and returns its check of the data.
    fn observe(
        &mut self,
        op: &Op,
        result: Result<Reply, Failure>,
        answered: &Answered<'_>,
    ) -> Check;

    /// What was wrong, after a failed check. Can only be taken once.
    fn finding(&mut self) -> Option<Finding> {
        None
    }

    /// What became of the writes of the document that was just checked, if they were not
    /// acknowledged. Can only be taken once.
    fn unconfirmed(&mut self) -> Option<Unconfirmed> {
        None
    }

    /// The result for the next one of several documents that were compared. If it failed, the next
    /// finding says what was wrong.
    fn compared(&mut self) -> Option<Result<(), Failure>> {
        None
    }
}

/// What a connection does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// This operation.
    Op(Op),
    /// Nothing for this many nanoseconds, or until the stage is over; then ask the workload again.
    /// Nothing was written, and the last operation was not the first part of another.
    Wait(u64),
    /// Nothing more.
    End,
}

impl Next {
    /// The operation, if there is one.
    #[inline]
    pub fn op(self) -> Option<Op> {
        match self {
            Self::Op(op) => Some(op),
            Self::Wait(_) | Self::End => None,
        }
    }
}

impl From<Option<Op>> for Next {
    #[inline]
    fn from(op: Option<Op>) -> Self {
        op.map_or(Self::End, Self::Op)
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
