//! Where operations come from: one workload per connection, which owns the documents it uses.
//!
//! A workload is a pure function of its seed, its connection's number and the answers it is
//! shown. It knows nothing of clocks, wires or of how many threads there are.

mod budget;
mod bulk_insert;
mod crud;
mod current;
mod live;
pub mod ycsb;

pub use budget::{Budget, Mix};
pub use bulk_insert::BulkInsert;
pub use crud::{Crud, KeySequence};
pub use current::CurrentDocument;
pub use live::{Entry, Live};

use crate::op::{Failure, Op, Reply, Revision};

/// The source of one connection's operations.
pub trait Workload {
    /// Makes the next operation and appends its document, if it has one, to `body`.
    /// `None`: there is nothing more to do.
    fn next(&mut self, body: &mut Vec<u8>) -> Option<Op>;

    /// Is shown how the operation that `next` made last has ended; `rows` are the outcomes of
    /// the documents of a bulk operation that succeeded as a whole.
    fn observe(
        &mut self,
        op: &Op,
        result: Result<Reply, Failure>,
        rows: &[Result<Revision, Failure>],
    );
}
