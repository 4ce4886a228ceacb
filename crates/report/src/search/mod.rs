//! The search for the most that a server sustains: which level to try next, what a run at a level
//! came to, and what all of them come to.
//!
//! Knows neither flags nor files: the verb that searches carries out the runs.

mod certain;
mod judge;
mod record;
mod walk;

pub use judge::{Judged, judge, requirement};
pub use record::{Ended, MaxRecord, Searched, StepRecord, middle_rate};
pub use walk::{Ask, StepOutcome, Walk, Within};
