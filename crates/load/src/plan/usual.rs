//! What a load at a rate has unless it says otherwise.

use crate::clock::{Nanos, SECOND_NS};
use crate::engine::Segment;

/// The length of a rate without an end: a year. The operations or the duration end the stage.
pub(super) const OPEN_END_NS: Nanos = 366 * 86_400 * SECOND_NS;

/// How many operations may be waiting or in flight at these rates by default: ten seconds of work
/// at the peak, which is enough for a long stall, but limited in memory.
pub(super) fn usual_in_flight(segments: &[Segment]) -> u64 {
    let peak = segments.iter().map(|it| it.from.max(it.to)).fold(0.0, f64::max);
    ((peak * 10.0) as u64).max(1_000)
}
