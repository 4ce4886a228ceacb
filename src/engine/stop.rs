//! The wish to stop, shared by all shards and whoever asks.

use std::sync::atomic::{AtomicU8, Ordering};

/// Why no more operations are begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum StopReason {
    /// The user asked once: drain and report.
    Interrupted = 1,
    /// The server refuses the credentials; going on would lock the user out.
    Authentication = 2,
    /// No connection could be made for as long as an operation may take.
    Unreachable = 3,
    /// The user asked twice: leave at once.
    Aborted = 4,
}

/// A flag that starts down and is raised once; a more urgent reason replaces a lesser one.
#[derive(Debug, Default)]
pub struct Stop(AtomicU8);

impl Stop {
    /// Asks to stop.
    pub fn raise(&self, reason: StopReason) {
        self.0.fetch_max(reason as u8, Ordering::Relaxed);
    }

    /// The reason to stop, if there is one.
    #[inline]
    pub fn reason(&self) -> Option<StopReason> {
        match self.0.load(Ordering::Relaxed) {
            0 => None,
            1 => Some(StopReason::Interrupted),
            2 => Some(StopReason::Authentication),
            3 => Some(StopReason::Unreachable),
            _ => Some(StopReason::Aborted),
        }
    }
}
