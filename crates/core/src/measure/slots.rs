//! A stage in steps of a length other than a second: counts and means, without histograms.

use super::interval::RawRow;
use crate::clock::Nanos;
use crate::op::{Failure, OpKind};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The requests of one kind and outcome in one step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Slot {
    /// The start of the step, in milliseconds from the stage's start.
    pub at_ms: u64,
    /// The kind of operation.
    pub kind: OpKind,
    /// How they failed; absent if they succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// The number of requests.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub requests: u64,
    /// Their mean service time, in microseconds.
    pub service_us: f64,
    /// Their mean response time, in microseconds.
    pub response_us: f64,
}

/// The sums of a stage's steps, built from single requests.
#[derive(Clone, Debug)]
pub struct SlotSums {
    step_ms: u64,
    /// By step, kind and failure: requests, and nanoseconds of service and response.
    sums: BTreeMap<(u64, OpKind, Option<Failure>), [u64; 3]>,
}

impl SlotSums {
    /// No requests yet; each step is this many milliseconds long, at least 1.
    pub const fn new(step_ms: u64) -> Self {
        Self { step_ms, sums: BTreeMap::new() }
    }

    /// Adds requests of a stage that began at `start`.
    pub fn add(&mut self, rows: &[RawRow], start: Nanos) {
        for row in rows {
            let step = row.done.saturating_sub(start) / (self.step_ms * 1_000_000);
            let sums = self.sums.entry((step, row.kind, row.failure)).or_default();
            for (sum, part) in sums.iter_mut().zip([1, row.service_ns, row.response_ns]) {
                *sum += part;
            }
        }
    }

    /// The steps in order, without empty ones.
    pub fn finish(&self) -> Vec<Slot> {
        let slot = |(&(step, kind, failure), &[requests, service, response]): (_, &[u64; 3])| {
            let mean_us = |ns: u64| ns as f64 / requests as f64 / 1e3;
            let (service_us, response_us) = (mean_us(service), mean_us(response));
            Slot { at_ms: step * self.step_ms, kind, failure, requests, service_us, response_us }
        };
        self.sums.iter().map(slot).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_fall_into_the_step_in_which_they_were_done() {
        let row = |done_ms: u64, failure, ms: u64| RawRow {
            kind: OpKind::Read,
            failure,
            done: 7_000_000 + done_ms * 1_000_000,
            service_ns: ms * 1_000_000,
            response_ns: 2 * ms * 1_000_000,
        };
        let mut sums = SlotSums::new(50);
        sums.add(&[row(49, None, 1), row(50, None, 2), row(99, None, 4)], 7_000_000);
        sums.add(&[row(200, Some(Failure::Timeout), 9), row(0, None, 3)], 7_000_000);
        let slots: Vec<_> = sums
            .finish()
            .iter()
            .map(|it| (it.at_ms, it.failure, it.requests, it.service_us, it.response_us))
            .collect();
        let expected = [
            (0, None, 2, 2_000.0, 4_000.0),
            (50, None, 2, 3_000.0, 6_000.0),
            (200, Some(Failure::Timeout), 1, 9_000.0, 18_000.0),
        ];
        assert_eq!(slots, expected);
    }
}
