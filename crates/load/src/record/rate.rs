//! Which stages are long enough to have a rate.

use super::StageRecord;
use crate::op::grouped;

/// In less time than this, in seconds, a rate only shows starting and ending.
const LEAST_S: f64 = 0.01;
/// With fewer successes, one more or less changes a rate by more than a tenth ...
const FEW: u64 = 10;
/// ... unless they took this long, in seconds: then they show how slow the server is.
const LONG_S: f64 = 1.0;

/// The reason `ok` successes in `measured_s` seconds do not make a rate; `None`: they do. Of `all`
/// successes, some came later.
pub fn too_short_for_a_rate(ok: u64, all: u64, measured_s: f64) -> Option<String> {
    let is_long = measured_s >= LEAST_S && (ok >= FEW || measured_s >= LONG_S);
    // If nothing succeeded, that is the problem to report.
    if is_long || all == 0 {
        return None;
    }
    let es = if ok == 1 { "" } else { "es" };
    let ms = measured_s * 1e3;
    let places = usize::from(ms < 1.0);
    let ok = grouped(ok);
    Some(format!("too short for a rate: {ok} success{es} in {ms:.places$} ms"))
}

impl StageRecord {
    /// The reason the stage has no rate; `None`: it has one.
    pub fn rate_problem(&self) -> Option<String> {
        let all: u64 = self.requests().map(|operation| operation.ok).sum();
        let later: u64 = self.requests().map(|operation| operation.drained_ok).sum();
        too_short_for_a_rate(all - later, all, self.rates_over_s())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::KindInterval;
    use crate::op::OpKind;
    use crate::record::fixture;

    #[test]
    fn a_rate_is_of_enough_successes_in_enough_time() {
        for (ok, all, measured_s, expected) in [
            (1, 1, 0.001, Some("too short for a rate: 1 success in 1 ms")),
            (0, 1, 0.000_4, Some("too short for a rate: 0 successes in 0.4 ms")),
            (500, 500, 0.009, Some("too short for a rate: 500 successes in 9 ms")),
            (9, 20, 0.999, Some("too short for a rate: 9 successes in 999 ms")),
            (10, 10, 0.01, None),
            (1, 1, 1.0, None),
            // That nothing succeeded is reported in different words.
            (0, 0, 0.001, None),
        ] {
            let found = too_short_for_a_rate(ok, all, measured_s);
            assert_eq!(found.as_deref(), expected, "{ok} of {all} in {measured_s} s");
        }
    }

    #[test]
    fn what_came_after_the_time_of_a_stage_makes_no_rate() {
        let (requests, ok, drained_ok) = (12, 12, 4);
        let part = KindInterval { requests, ok, drained_ok, ..KindInterval::default() };
        let mut stage = fixture::stage("crud", vec![(0, OpKind::Read, part)]);
        (stage.elapsed_s, stage.measured_s) = (0.75, 0.5);
        let problem = stage.rate_problem();
        assert_eq!(problem.as_deref(), Some("too short for a rate: 8 successes in 500 ms"));
    }
}
