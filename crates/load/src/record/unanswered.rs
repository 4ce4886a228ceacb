//! What became of writes without an answer, as far as the driver and the run's audit found out.

use super::{RunRecord, StageRecord};
use crate::measure::OperationSummary;
use crate::op::{Certainty, Failure, OpKind, grouped};
use crate::plan::Purpose;

/// What the audit of a run found out about writes without an answer, whichever these were.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AuditedWrites {
    carried_out: u64,
    not_carried_out: u64,
    /// The writes that were in doubt when the audit began.
    doubtful: u64,
}

impl AuditedWrites {
    /// Of the run's own audit. Several audits, each through one node, may not agree: they count as
    /// none.
    pub(super) fn of(record: &RunRecord) -> Self {
        let (audits, others): (Vec<&StageRecord>, Vec<&StageRecord>) =
            record.stages.iter().partition(|stage| stage.purpose() == Purpose::Audit);
        let [audit] = audits[..] else { return Self::default() };
        let verified = audit.operations.iter().find(|it| it.kind == OpKind::Verify);
        let wire = verified.map(|it| it.wire).unwrap_or_default();
        let writes = others.into_iter().flat_map(|stage| &stage.operations);
        let writes = writes.filter(|it| it.kind.class().writes());
        let (mut unknown, mut found) = (0, 0);
        for write in writes {
            let classes = write.failures.iter();
            let classes = classes.filter(|(class, _)| class.certainty() == Certainty::Unknown);
            unknown += write.unfinished + classes.map(|(_, count)| count).sum::<u64>();
            found += write.wire.carried_out;
        }
        Self {
            carried_out: wire.carried_out,
            not_carried_out: wire.not_carried_out,
            doubtful: unknown.saturating_sub(found),
        }
    }

    /// How many of the `left` writes of one operation were carried out and how many were not: the
    /// audit does not say which writes it found out about. `None`: it cannot be told.
    fn of_operation(self, left: u64) -> Option<(u64, u64)> {
        match (self.carried_out, self.not_carried_out) {
            // There were no others.
            found if self.doubtful == left => Some(found),
            (done, 0) if done == self.doubtful => Some((left, 0)),
            (0, not) if not == self.doubtful => Some((0, left)),
            _ => None,
        }
    }
}

/// Says whether operations with lost responses were carried out, as far as it was found out;
/// `None`: there are none.
pub(super) fn unanswered(operation: &OperationSummary, audited: AuditedWrites) -> Option<String> {
    let count = operation.failures.get(&Failure::Unanswered).copied().unwrap_or(0);
    let (mut done, mut not) = (operation.wire.carried_out, operation.wire.not_carried_out);
    if count == 0 && done == 0 {
        return None;
    }
    let by_audit = audited.carried_out + audited.not_carried_out > 0
        && operation.kind.class().writes()
        && count > done + not;
    let found = audited.of_operation(count.saturating_sub(done)).filter(|_| by_audit);
    if let Some((carried_out, not_carried_out)) = found {
        done += carried_out;
        // The driver may have found the same.
        not = not.max(not_carried_out);
    }
    let (known, unknown) = (done + not, count.saturating_sub(done + not));
    // It did find out about some, but not whether these or others.
    let before = by_audit && found.is_none();
    let all = format!("unanswered: {}", grouped(count));
    let were = if done == 1 { "was" } else { "were" };
    let of_all = format!("{all}, of which {} {were} carried out", grouped(done));
    Some(match (known, unknown) {
        (0, _) if before => {
            format!("{all}; before the audit, it was not known whether they were carried out")
        }
        (0, _) => format!("{all}; it is not known whether they were carried out"),
        (_, 0) => of_all,
        _ if before => format!("{of_all}; unknown before the audit: {}", grouped(unknown)),
        _ => format!("{of_all}; unknown: {}", grouped(unknown)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{KindInterval, Wire};
    use crate::record::{Code, fixture};

    /// A kind of operation: this many were unanswered, timed out, and were found by the driver to
    /// be written, and not to be.
    fn part(kind: OpKind, [lost, late, done, not]: [u64; 4]) -> (u32, OpKind, KindInterval) {
        let wire = Wire { carried_out: done, not_carried_out: not, ..Wire::default() };
        let (requests, ok) = (1_000, 1_000 - lost - late);
        let mut part = KindInterval { requests, ok, wire, ..KindInterval::default() };
        part.failures[Failure::Unanswered.index()] = lost;
        part.failures[Failure::Timeout.index()] = late;
        (0, kind, part)
    }

    /// An audit that found this many writes to be carried out, and not to be.
    fn audit(name: &str, [carried_out, not_carried_out]: [u64; 2]) -> StageRecord {
        let wire = Wire { carried_out, not_carried_out, ..Wire::default() };
        let part = KindInterval { requests: 900, ok: 900, wire, ..KindInterval::default() };
        fixture::stage(name, vec![(0, OpKind::Verify, part)])
    }

    /// What is said of each kind of a run with these kinds and audits.
    fn said(parts: Vec<(u32, OpKind, KindInterval)>, audits: Vec<StageRecord>) -> Vec<String> {
        let mut record = fixture::without_failures(&[]);
        record.stages = vec![fixture::stage("crud", parts)];
        record.stages.extend(audits);
        record.conclude();
        fixture::messages_of(&record, Code::Unanswered)
    }

    #[test]
    fn what_the_audit_found_out_is_no_longer_unknown() {
        let update = |found: [u64; 2]| {
            let parts = vec![part(OpKind::Update, [15, 0, 1, 0])];
            said(parts, vec![audit("audit", found)]).pop()
        };
        let words = |words: &str| Some(format!("update unanswered: 15, of which {words}"));
        assert_eq!(update([14, 0]), words("15 were carried out"));
        assert_eq!(update([10, 4]), words("11 were carried out"));
        assert_eq!(update([0, 14]), words("1 was carried out"));
        assert_eq!(update([10, 1]), words("11 were carried out; unknown: 3"));
        assert_eq!(update([0, 0]), words("1 was carried out; unknown: 14"));
        // Without an audit, and where several may not agree.
        let parts = || vec![part(OpKind::Update, [15, 0, 1, 0])];
        let unknown = words("1 was carried out; unknown: 14");
        assert_eq!(said(parts(), Vec::new()).pop(), unknown);
        let two = vec![audit("audit", [14, 0]), audit("audit", [13, 1])];
        assert_eq!(said(parts(), two).pop(), unknown);
        // What the driver found not to be carried out, the audit finds again.
        let parts = vec![part(OpKind::Update, [15, 0, 1, 4])];
        let found = said(parts, vec![audit("audit", [10, 4])]).pop();
        assert_eq!(found, words("11 were carried out"));
    }

    #[test]
    fn of_several_kinds_only_what_holds_for_each_is_said() {
        let both = |late: u64, found: [u64; 2]| {
            let create = part(OpKind::Create, [6, late, 0, 0]);
            let parts = vec![create, part(OpKind::Update, [15, 0, 1, 0])];
            let said = said(parts, vec![audit("audit", found)]);
            said.into_iter().map(|it| it.replace("unanswered: ", "")).collect::<Vec<_>>()
        };
        let all =
            ["create 6, of which 6 were carried out", "update 15, of which 15 were carried out"];
        assert_eq!(both(0, [20, 0]), all);
        let none =
            ["create 6, of which 0 were carried out", "update 15, of which 1 was carried out"];
        assert_eq!(both(0, [0, 20]), none);
        let unclear = [
            "create 6; before the audit, it was not known whether they were carried out",
            "update 15, of which 1 was carried out; unknown before the audit: 14",
        ];
        assert_eq!(both(0, [19, 1]), unclear);
        // It may have been those that timed out.
        assert_eq!(both(3, [20, 0]), unclear);
        assert_eq!(both(3, [23, 0]), all);
    }
}
