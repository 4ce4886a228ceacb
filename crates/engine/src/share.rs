//! One shard's part of a stage, what became of it, and how often it checks whether the stage is
//! over.

use crate::clock::{Nanos, SECOND_NS};
use serde::{Deserialize, Serialize};

/// How often waiting connections check whether they should stop.
pub(super) const STOP_CHECK_NS: Nanos = SECOND_NS / 10;

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

/// What happened to the operations that were due. offered = begun + dropped + unsent, exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadCounts {
    /// Operations that were due.
    pub offered: u64,
    /// Operations that were begun.
    pub begun: u64,
    /// Operations dropped because too many were waiting or in flight.
    pub dropped: u64,
    /// Operations still waiting when the stage ended.
    pub unsent: u64,
}

/// A shard's part of `total`, if that is distributed to `connections` in turn, and these to shards
/// in turn.
pub(super) fn share_out(total: u64, connections: u64, (shard, shards): (usize, usize)) -> u64 {
    let own = (shard as u64..connections).step_by(shards);
    own.map(|c| total / connections + u64::from(c < total % connections)).sum()
}
