//! Sweeps: the same run repeated with other settings, and the results as data.
//!
//! Knows what is varied, in which order, and how to read results from records. Knows neither flags
//! nor files, unlike the verb that carries out a sweep.

mod axis;
mod effect;
mod gap;
mod record;

pub use axis::{Axis, Setting, matrix, shuffled};
pub use effect::without_effect;
pub use gap::{Gap, gaps};
pub use record::{CellRecord, CellResult, Curve, CurvePoint, Definition, SweepRecord};
