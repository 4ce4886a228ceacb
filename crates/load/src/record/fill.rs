//! What fills stored, and advice for one whose requests timed out.

use super::{RunRecord, StageRecord};
use crate::measure::OperationSummary;
use crate::op::{Failure, OpKind};
use crate::plan::Purpose;

/// Documents without a response within the timeout. Lost responses count only if some took that
/// long.
fn late(operation: &OperationSummary, timeout_ns: u64) -> u64 {
    let count = |class| operation.failures.get(&class).copied().unwrap_or(0);
    let unanswered = operation.failed_times.get(&Failure::Unanswered);
    // Stored times are accurate to one part in a thousand.
    let waited = unanswered.is_some_and(|it| it.response.max() >= timeout_ns / 100 * 99);
    count(Failure::Timeout) + if waited { count(Failure::Unanswered) } else { 0 }
}

impl RunRecord {
    /// How many documents its fills stored.
    pub fn filled(&self) -> u64 {
        let fills = self.stages.iter().filter(|stage| stage.purpose() == Purpose::Fill);
        fills.flat_map(StageRecord::requests).map(|operation| operation.ok).sum()
    }

    /// How many documents were stored in fills and created afterwards, as far as the server has
    /// acknowledged it.
    pub fn created(&self) -> u64 {
        let kinds = [OpKind::BulkInsert, OpKind::Create];
        let operations = self.stages.iter().flat_map(|stage| &stage.operations);
        operations.filter(|it| kinds.contains(&it.kind)).map(|it| it.ok).sum()
    }

    /// The most documents that a time-limited fill was to store; `None`: the stage is not such a
    /// fill, or it stored them all.
    pub fn cut_fill(&self, stage: &StageRecord) -> Option<u64> {
        let fill = self.plan_of(stage)?.work.traits().fill?;
        let stored: u64 = stage.requests().map(|operation| operation.ok).sum();
        (fill.within_ns.is_some() && stored < fill.documents).then_some(fill.documents)
    }

    /// What to change after a fill whose requests timed out, in one sentence; `None`: none did, or
    /// the stage is not a fill.
    pub fn fill_advice(&self, stage: &StageRecord) -> Option<String> {
        let batch = self.plan_of(stage)?.work.traits().fill?.batch;
        let late: u64 = stage.requests().map(|it| late(it, self.plan.timeout_ns)).sum();
        if late == 0 {
            return None;
        }
        let native = ["springload run", "springload sweep"];
        let cure = if native.iter().any(|verb| self.plan.command.starts_with(verb)) {
            "lower --batch or --connections (-c), or raise --timeout"
        } else {
            "send smaller requests, or fewer at a time, or raise --timeout"
        };
        Some(format!(
            "{late} documents had no answer within {} s with {} requests of {batch} documents \
             in flight: {cure}",
            self.plan.timeout_ns as f64 / 1e9,
            self.plan.connections,
        ))
    }
}
