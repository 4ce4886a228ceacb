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
        collected.add_lost(&documents, requests, requests);
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
    use super::super::ending::begun;
    use super::super::fixture_tests::{at_once, planned, spec};
    use super::*;
    use crate::measure::Interval;
    use crate::op::{Failure, OpKind};
    use crate::record::ServerRecord;
    use std::sync::Arc;

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

    /// Seven reads, two of which failed, two inserts of ten documents, and three checks, which are
    /// no requests.
    fn measured() -> (Totals, SeriesLog) {
        let mut interval = Interval::new(0);
        for (kind, requests, ok) in
            [(OpKind::Read, 7, 5), (OpKind::BulkInsert, 2, 20), (OpKind::Verify, 3, 3)]
        {
            let part = interval.kind_mut(kind);
            (part.requests, part.ok) = (requests, ok);
        }
        interval.kind_mut(OpKind::Read).failures[Failure::Conflict.index()] = 2;
        let (mut totals, mut seconds) = (Totals::default(), SeriesLog::default());
        totals.add(&interval);
        seconds.add(&interval);
        (totals, seconds)
    }

    #[test]
    fn a_running_stage_is_saved_with_all_that_has_ended_in_it() {
        let plan = planned(&spec(60, Some(40)));
        let (target, stop) = (at_once(), Arc::default());
        let bench = Bench::new(&plan, &target, &stop, [SECOND_NS, SECOND_NS]);
        let (totals, seconds) = measured();
        let agents = vec![AgentStage { index: 1, ok: 28, ..AgentStage::default() }];
        let saved = || {
            let agents = agents.clone();
            bench.unfinished(&plan.stages[1], &totals, &seconds, 3 * SECOND_NS, agents)
        };
        assert!(saved().is_none(), "there is no record yet");
        bench.ended.replace(Some(begun(&plan, SECOND_NS, ServerRecord::default())));
        let saved = saved().expect("a record");
        let [stage] = &saved.stages[..] else { panic!("{} stages", saved.stages.len()) };
        assert_eq!(stage.name, "crud");
        assert!(matches!(stage.verdict, Verdict::Unfinished), "{:?}", stage.verdict);
        // What springload lost is not known yet.
        assert!(stage.account.is_none());
        assert!((stage.began_s - 2.0).abs() < 1e-9, "{}", stage.began_s);
        assert_eq!((stage.load.offered, stage.load.begun), (9, 9));
        for (kind, issued) in [(OpKind::Read, 7), (OpKind::BulkInsert, 20), (OpKind::Verify, 3)] {
            let operation = stage.operations.iter().find(|it| it.kind == kind);
            assert_eq!(operation.map(|it| it.issued), Some(issued), "{kind}");
        }
        assert_eq!(stage.agents, agents);
        assert_eq!(stage.series.rows.len(), 1);
    }
}
