//! Messages to the thread beside the load: the load is over, or the thread is to give up.

use crate::clock::Nanos;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// How often to check whether the load is over, and whether the user asks to stop.
pub(super) const STEP: Duration = Duration::from_millis(10);
/// The load is still running.
pub(super) const NOT_OVER: Nanos = Nanos::MAX;

#[derive(Debug)]
pub(super) struct Notices {
    /// When the load ended; [`NOT_OVER`] until then.
    pub(super) over_at: AtomicU64,
    /// Whether to give up at once.
    pub(super) abandoned: AtomicBool,
}

impl Notices {
    /// When the load ended, if it has.
    pub(super) fn over_at(&self) -> Option<Nanos> {
        Some(self.over_at.load(Ordering::Acquire)).filter(|at| *at != NOT_OVER)
    }

    pub(super) fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::Relaxed)
    }
}

/// Waits until the load is over.
pub(super) async fn over(notices: &Notices) {
    while notices.over_at().is_none() && !notices.is_abandoned() {
        tokio::time::sleep(STEP).await;
    }
}

/// Waits until everything is to be given up.
pub(super) async fn abandoned(notices: &Notices) {
    while !notices.is_abandoned() {
        tokio::time::sleep(STEP).await;
    }
}
