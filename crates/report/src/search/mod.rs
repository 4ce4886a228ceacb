//! The search for the highest load that a server sustains: which level to try next, the outcome of
//! a run at a level, and the outcome of all runs.
//!
//! Knows neither flags nor files: the runs are carried out by the verb that searches.

mod certain;
mod judge;
mod record;
mod walk;

pub use judge::{Judged, judge, requirement};
pub use record::{Ended, MaxRecord, Searched, StepRecord, middle_rate};
pub use walk::{Ask, StepOutcome, Walk, Within};
