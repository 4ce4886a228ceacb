//! What fills stored, and advice for one whose requests timed out.

use super::{RunRecord, StageRecord};
use crate::measure::OperationSummary;
use crate::op::{Failure, OpKind, grouped};
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
    /// acknowledged it: in this run, or in the earlier one that it audits.
    pub fn created(&self) -> u64 {
        let kinds = [OpKind::BulkInsert, OpKind::Create];
        let operations = self.stages.iter().flat_map(|stage| &stage.operations);
        let created: u64 = operations.filter(|it| kinds.contains(&it.kind)).map(|it| it.ok).sum();
        let before = self.plan.stages.iter().map(|stage| stage.work.traits().created_before);
        created + before.max().unwrap_or(0)
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
            "{} documents had no answer within {} s with {} requests of {} documents in flight: \
             {cure}",
            grouped(late),
            self.plan.timeout_ns as f64 / 1e9,
            grouped(self.plan.connections as u64),
            grouped(batch.into()),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{FailedTimes, Histogram};
    use crate::record::fixture;

    /// A run whose fill stored 2,000 documents, of this many and in this time at most.
    fn filled(documents: u64, within_ns: Option<u64>) -> RunRecord {
        let mut record = fixture::record(&[]);
        let plan = serde_json::json!({
            "name": record.stages[0].name, "workload": "bulk_insert",
            "documents": documents, "batch": 100, "within_ns": within_ns,
            "pace": { "loop": "closed", "think_ns": 0 }, "length_ns": null,
        });
        record.stages[0].plan = Some(serde_json::from_value(plan).expect("a stage"));
        record
    }

    #[test]
    fn a_fill_was_cut_if_its_time_was_limited_and_it_stored_too_little() {
        let cut = |documents, within_ns| {
            let record = filled(documents, within_ns);
            record.cut_fill(&record.stages[0])
        };
        assert_eq!(cut(2_001, Some(9)), Some(2_001));
        assert_eq!(cut(2_000, Some(9)), None, "all of them");
        assert_eq!(cut(2_001, None), None, "no limit");
        let record = filled(2_001, Some(9));
        assert_eq!(record.cut_fill(&record.stages[2]), None, "no fill");
        assert_eq!(record.filled(), 2_000, "in the fill alone");
    }

    #[test]
    fn a_fill_whose_requests_timed_out_has_advice_for_its_verb() {
        // How long lost answers were waited for at most, with a timeout of a second.
        let advice = |waited_ms: u64, command: &str| {
            let mut record = filled(2_000, None);
            command.clone_into(&mut record.plan.command);
            let mut response = Histogram::default();
            response.record(waited_ms * 1_000_000);
            let lost = FailedTimes { response, ..FailedTimes::default() };
            let operation = &mut record.stages[0].operations[0];
            operation.failures = [(Failure::Timeout, 3), (Failure::Unanswered, 4)].into();
            operation.failed_times.insert(Failure::Unanswered, lost);
            record.fill_advice(&record.stages[0])
        };
        let words = |late: u64, cure: &str| {
            Some(format!(
                "{late} documents had no answer within 1 s with 4 requests of 100 documents in \
                 flight: {cure}"
            ))
        };
        let native = "lower --batch or --connections (-c), or raise --timeout";
        let foreign = "send smaller requests, or fewer at a time, or raise --timeout";
        assert_eq!(advice(990, "springload run --docs 9"), words(7, native));
        assert_eq!(advice(1_000, "springload sweep"), words(7, native));
        assert_eq!(advice(980, "springload cushion"), words(3, foreign), "lost, but not late");
        let record = filled(2_000, None);
        assert_eq!(record.fill_advice(&record.stages[0]), None);
    }
    #[test]
    fn an_audit_of_an_earlier_run_knows_how_many_documents_that_created() {
        let mut record = fixture::record(&[]);
        assert_eq!(record.created(), 2_000);
        let audit = |name: &str| {
            let plan = serde_json::json!({
                "name": name, "workload": "audit", "created": 37_011,
                "pace": { "loop": "closed", "think_ns": 0 }, "length_ns": null,
            });
            serde_json::from_value(plan).expect("a stage")
        };
        // Through each of two nodes: the same documents.
        record.plan.stages.extend(["audit_1", "audit_2"].map(audit));
        record.stages.clear();
        assert_eq!(record.created(), 37_011);
    }
}
