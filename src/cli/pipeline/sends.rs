//! Receivers of a run's totals, whatever is sent to them.

use crate::record::{RunRecord, Running};
use std::fmt::Debug;
use std::sync::Arc;

/// Sends the totals of a run to a receiver.
pub(super) trait Sends: Debug {
    /// Takes the totals so far; a stage in them is no longer running.
    fn keep(&self, totals: Arc<RunRecord>);

    /// Takes the measurements of the running stage so far.
    fn running(&self, running: Arc<Running>);

    /// News for the user, if there is any; reported once.
    fn news(&self) -> Option<String>;

    /// The run is over: the totals are sent once more.
    fn end(&self);

    /// Waits for a while until the totals are delivered; the user is informed of those that were
    /// not.
    fn finish(&self);
}
