//! Sweeps: the same run again and again with other settings, and what comes of it as data.
//!
//! Knows what is to be varied, in which order, and what each run's record says of it. Knows
//! neither flags nor files; whoever carries a sweep out sees to these.

mod axis;
mod fit;
mod gap;
mod record;

pub use axis::{Axis, Setting, matrix, shuffled};
pub use fit::Fit;
pub use gap::{Gap, gaps};
pub use record::{CellRecord, Curve, CurvePoint, Definition, Headline, SweepRecord, median};
