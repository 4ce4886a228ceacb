//! One shard's part of a stage, and how often it checks whether the stage is over.

use crate::clock::{Nanos, SECOND_NS};

/// How often waiting connections check whether they should stop.
pub(super) const STOP_CHECK_NS: Nanos = SECOND_NS / 10;
/// One shard's part of a stage.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    /// The shard's number, and how many there are.
    pub(super) shard: (usize, usize),
    /// Its connections, including those that may still be opened.
    pub(super) own: usize,
    /// How many of these are open from the start.
    pub(super) open: usize,
    /// The connections of all shards that are open from the start.
    pub(super) all: usize,
    /// The number of operations of its connections, if it is limited.
    pub(super) operations: Option<u64>,
}
