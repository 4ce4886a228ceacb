//! What a running stage has measured so far, as part of the record: it is saved every few seconds,
//! so that a run that is killed loses no more than that.

use super::bench::Bench;
use super::collect::{Collected, Frame};
use super::observe::Observing;
use crate::clock::{Nanos, SECOND_NS};
use crate::measure::{SeriesLog, Totals};
use crate::op::ByKind;
use crate::plan::StagePlan;
use crate::record::{AgentStage, RunRecord, StageRecord, Verdict};

/// How often to save ...
const EVERY_NS: Nanos = 5 * SECOND_NS;
/// ... or less often, if that would take more than a hundredth of the time.
const SHARE: Nanos = 100;

/// When to save, in nanoseconds from the start of the stage.
pub(super) struct Saving {
    next_ns: Nanos,
}

impl Default for Saving {
    fn default() -> Self {
        Self { next_ns: EVERY_NS }
    }
}

impl Saving {
    /// Whether it is time to save.
    pub(super) const fn is_due(&self, elapsed_ns: Nanos) -> bool {
        elapsed_ns >= self.next_ns
    }

    /// Notes that saving lasted from the first of these times to the second.
    pub(super) fn took(&mut self, from_ns: Nanos, to_ns: Nanos) {
        let pause_ns = to_ns.saturating_sub(from_ns).saturating_mul(SHARE);
        self.next_ns = from_ns.saturating_add(EVERY_NS.max(pause_ns));
    }
}

impl Bench<'_> {
    /// The record including a stage that has been running since `start`; `None`: there is no record
    /// to add it to.
    pub(super) fn unfinished(
        &self,
        stage: &StagePlan,
        totals: &Totals,
        seconds: &SeriesLog,
        start: Nanos,
        agents: Vec<AgentStage>,
    ) -> Option<RunRecord> {
        let mut record = self.ended.borrow().clone()?;
        let (mut documents, mut requests) = (ByKind::new(), 0);
        for (kind, part) in totals.sum().iter() {
            *documents.of(kind) = part.ok + part.failed();
            requests += if kind.is_request() { part.requests } else { 0 };
        }
        let mut collected = Collected::new(totals.clone(), seconds.so_far());
        collected.add_lost(&documents, requests);
        let frame = Frame { began: [self.began, start], ..Frame::of(stage, self.plan) };
        // Threads have not reported yet what they lost.
        let (verdict, account) = (Verdict::Unfinished, None);
        record.observed = self.observing.as_ref().and_then(Observing::so_far);
        record.add(StageRecord { verdict, account, agents, ..collected.record(frame) });
        Some(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn saving_takes_no_more_than_a_hundredth_of_the_time() {
        let mut saving = Saving::default();
        assert!(!saving.is_due(EVERY_NS - 1) && saving.is_due(EVERY_NS));
        saving.took(EVERY_NS, EVERY_NS + SECOND_NS / 100);
        assert!(!saving.is_due(2 * EVERY_NS - 1) && saving.is_due(2 * EVERY_NS));
        let next_ns = 2 * EVERY_NS + 100 * SECOND_NS;
        saving.took(2 * EVERY_NS, 2 * EVERY_NS + SECOND_NS);
        assert!(!saving.is_due(next_ns - 1) && saving.is_due(next_ns));
    }
}
