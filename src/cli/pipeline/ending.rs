//! The request to stop, and how often the user has made it.

use crate::engine::{Stop, StopReason};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Stops a run early: the first request drains it, the second exits at once.
#[derive(Debug, Default)]
pub(in crate::cli) struct Ending {
    stop: Arc<Stop>,
    asked: AtomicU32,
}

impl Ending {
    /// The flag that the load threads check.
    pub(in crate::cli) const fn stop(&self) -> &Arc<Stop> {
        &self.stop
    }

    /// Counts a request by the user, however it was made.
    pub(in crate::cli) fn ask(&self) -> StopReason {
        let first = self.asked.fetch_add(1, Ordering::Relaxed) == 0;
        let reason = if first { StopReason::Interrupted } else { StopReason::Aborted };
        self.stop.raise(reason);
        reason
    }

    /// Why the run is ending, if it is.
    pub(in crate::cli) fn reason(&self) -> Option<StopReason> {
        self.stop.reason()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn once_drains_and_twice_leaves() {
        let ending = Ending::default();
        assert_eq!(ending.reason(), None);
        for reason in [StopReason::Interrupted, StopReason::Aborted, StopReason::Aborted] {
            assert_eq!(ending.ask(), reason);
            assert_eq!(ending.reason(), Some(reason));
        }
        // A run that ends by itself also drains, until it is asked twice.
        let ending = Ending::default();
        ending.stop.raise(StopReason::Unreachable);
        assert!(ending.reason().is_some());
        ending.ask();
        assert_eq!(ending.reason(), Some(StopReason::Unreachable));
    }
}
