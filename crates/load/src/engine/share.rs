//! What one shard has of a stage, and how often it looks whether the stage is over.

use crate::clock::{Nanos, SECOND_NS};

/// How often waiting connections look whether they should stop.
pub(super) const STOP_CHECK_NS: Nanos = SECOND_NS / 10;
/// What part of a stage one shard has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    /// The shard's number, and how many there are.
    pub(super) shard: (usize, usize),
    /// Its connections, with those that may be opened yet.
    pub(super) own: usize,
    /// How many of these are open from the start.
    pub(super) open: usize,
    /// The connections of all shards that are open from the start.
    pub(super) all: usize,
    /// The operations of its connections, where they are counted.
    pub(super) operations: Option<u64>,
}
