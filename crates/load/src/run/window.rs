//! When the operations of a stage are begun, according to its plan.

use crate::clock::{Nanos, SECOND_NS};
use crate::engine::Pace;
use crate::plan::StagePlan;

/// The time during which operations are started according to the plan: the length of the stage, or
/// until the last operation of an open loop is due. `None` if the plan does not say.
pub(super) fn window_ns(stage: &StagePlan, connections: usize) -> Option<Nanos> {
    let Pace::Open { schedule, .. } = &stage.pace else { return stage.length_ns };
    let planned = stage.work.planned(connections);
    let last = planned.and_then(|operations| schedule.due(operations as f64));
    match (stage.length_ns, last) {
        (Some(length), Some(last)) => Some(length.min(last)),
        (length, last) => length.or(last),
    }
}

/// The highest rate of an open loop over an eighth of its time; 0 in a closed loop.
pub(super) fn peak_per_s(stage: &StagePlan, measured_s: f64) -> f64 {
    let due_by = |eighths: u32| {
        let offset_s = measured_s * f64::from(eighths) / 8.0;
        stage.pace.due_by((offset_s * SECOND_NS as f64) as Nanos).unwrap_or(0.0)
    };
    let rates = (0..8).map(|at| (due_by(at + 1) - due_by(at)) * 8.0 / measured_s);
    rates.fold(0.0, f64::max)
}
