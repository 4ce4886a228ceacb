//! The source of a stage's measurements: the threads of this process, or agents.

use crate::clock::{Nanos, SECOND_NS};
use crate::fleet::Inquiries;
use crate::measure::Interval;
use crate::record::AgentStage;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

/// Where the measurements of a stage come from.
pub(super) trait Source {
    /// Returns the next second of a thread or an agent; waits for it up to `patience`.
    ///
    /// # Errors
    /// Returns an error if there is none yet, or there will be no more.
    fn next(&mut self, patience: Duration) -> Result<Interval, RecvTimeoutError>;

    /// When the stage started, once it has.
    fn moment(&self) -> Option<Nanos>;

    /// A message for the user that should be shown at once, if there is one.
    fn news(&mut self) -> Option<String>;

    /// How long after its end a second is complete, unless something is unusually late.
    fn settles_ns(&self) -> Nanos {
        SECOND_NS / 2
    }

    /// The second, `elapsed_ns` after the start, from which on not all that work on the stage have
    /// reported what they did.
    fn complete_s(&self, _elapsed_ns: Nanos) -> u32 {
        // Threads report a second together.
        u32::MAX
    }

    fn has_more(&self) -> bool {
        false
    }

    /// What the agents that still work on the stage ask the server about.
    fn inquiries(&self) -> Inquiries {
        // The threads of this process ask through its own target.
        Inquiries::default()
    }

    /// What each agent has reported so far, including what was received but not yet taken.
    fn agents(&self) -> Vec<AgentStage> {
        Vec::new()
    }
}
