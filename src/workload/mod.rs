//! Where operations come from: one workload per connection, which owns the documents it uses.
//!
//! A workload is a pure function of its seed, its connection's number and the answers it is
//! shown. It knows nothing of clocks, wires or of how many threads there are.

mod budget;
mod bulk_insert;
mod burst;
mod crud;
mod current;
mod live;
mod purpose;
mod urls;
pub mod ycsb;

pub use budget::{Budget, Mix};
pub use bulk_insert::BulkInsert;
pub use burst::{BodySize, Burst, Filling, Role};
pub use crud::{Crud, KeySequence};
pub use current::CurrentDocument;
pub use live::{Entry, Live};
pub use purpose::Purpose;
pub use urls::{UrlBody, UrlEntry, UrlOrder, Urls};

use crate::op::{Answered, Failure, Op, Pen, Reply};

/// The source of one connection's operations.
pub trait Workload {
    /// Makes the next operation; its names and documents are written with `pen`. `None`: there is
    /// nothing more to do.
    fn next<P: Pen>(&mut self, pen: &mut P) -> Option<Op>;

    /// Is shown how the operation that `next` made last has ended, and tells what it makes of
    /// the data.
    fn observe(
        &mut self,
        op: &Op,
        result: Result<Reply, Failure>,
        answered: &Answered<'_>,
    ) -> Check;

    /// How long to wait before the next operation, in nanoseconds; asked once for each.
    fn pause_ns(&mut self) -> u64 {
        0
    }
}

/// What a workload says of the data that an answer brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// Nothing: it does not look.
    Unchecked,
    /// Compared with what was written, and found so or not.
    Checked(Result<(), Failure>),
}
