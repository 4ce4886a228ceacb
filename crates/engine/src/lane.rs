//! One connection with its workload, before a stage and after it.

use crate::clock::Nanos;
use crate::driver::Session;
use crate::measure::ConnectionTimes;
use crate::workload::WorkloadFor;
use serde::{Deserialize, Serialize};

/// One connection: its number in the run, and its workload.
#[derive(Debug)]
pub struct Lane<W> {
    /// The connection's number in the run.
    pub connection: usize,
    /// The source of its operations.
    pub workload: W,
}

/// A workload for sessions of type `S`.
pub(super) type AnyWorkload<S> = Box<dyn WorkloadFor<<S as Session>::Pen>>;

/// What the task of a connection returns.
pub(super) type TaskResult<S> = EndedLane<AnyWorkload<S>>;

/// A connection after the stage, where its task left it. It is boxed because a task has room for
/// its result from the start.
pub type EndedLane<W> = Box<LaneResult<W>>;

/// One connection after the stage.
#[derive(Debug, Serialize, Deserialize)]
pub struct LaneResult<W> {
    /// The connection's number in the run.
    pub connection: usize,
    /// Its workload, in its final state.
    pub workload: W,
    /// How it spent its time.
    pub times: ConnectionTimes,
    /// When its first request was sent, from the common start, in nanoseconds.
    pub first_sent_ns: Option<Nanos>,
    /// How late that was, in nanoseconds.
    pub first_late_ns: Option<Nanos>,
    /// Whether it was not connected in time for the common start.
    pub late: bool,
    /// Whether it was never opened.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unopened: bool,
}

impl<W> LaneResult<W> {
    pub(super) fn unopened(lane: Lane<W>) -> Self {
        let Lane { connection, workload } = lane;
        let (times, first_sent_ns, first_late_ns) = (ConnectionTimes::default(), None, None);
        let (late, unopened) = (false, true);
        Self { connection, workload, times, first_sent_ns, first_late_ns, late, unopened }
    }

    /// The same result with another workload.
    pub(super) fn map<V>(self, workload_of: impl FnOnce(W) -> V) -> LaneResult<V> {
        let Self { connection, workload, times, first_sent_ns, first_late_ns, late, unopened } =
            self;
        let workload = workload_of(workload);
        LaneResult { connection, workload, times, first_sent_ns, first_late_ns, late, unopened }
    }
}
