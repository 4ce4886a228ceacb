//! Gaps: intervals of a stage in which the server was away.

use crate::measure::SeriesRow;
use crate::op::Failure;
use crate::record::StageRecord;
use serde::{Deserialize, Serialize};

/// An interval in seconds from the stage's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// The first second without responses.
    pub from_s: u32,
    /// The first second with responses again.
    pub to_s: u32,
}

/// The gaps of a stage: seconds in which requests ended without a response, and seconds without
/// successes between two of them.
pub fn gaps(stage: &StageRecord) -> Vec<Gap> {
    let mut gaps: Vec<Gap> = Vec::new();
    let mut broken = false;
    for row in &stage.series.rows {
        let unanswered = unanswered(row);
        if unanswered {
            match gaps.last_mut() {
                Some(gap) if broken || gap.to_s == row.second => gap.to_s = row.end(),
                _ => gaps.push(Gap { from_s: row.second, to_s: row.end() }),
            }
        }
        let ok = row.kinds.values().any(|kind| kind.ok > 0);
        broken = if ok { false } else { broken || unanswered };
    }
    gaps
}

fn unanswered(row: &SeriesRow) -> bool {
    let silent = |class: &Failure| !class.answered() && *class != Failure::Protocol;
    row.kinds.values().any(|kind| kind.failures.keys().any(silent))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::SeriesKind;
    use crate::op::OpKind;
    use crate::record::fixture;

    #[test]
    fn seconds_without_an_answer_make_one_gap() {
        let row = |second, ok, failed: bool| {
            let failures = failed.then_some((Failure::Connect, 10)).into_iter().collect();
            let kind = SeriesKind { ok, failures, ..SeriesKind::default() };
            SeriesRow {
                second,
                seconds: 1,
                waited_s: 0.0,
                kinds: [(OpKind::BulkInsert, kind)].into(),
                nodes: Vec::new(),
            }
        };
        let mut stage = fixture::stage("bulk_insert", Vec::new());
        // From 1 to 6 with a silent interval, then 8 by itself.
        stage.series.rows = vec![
            row(0, 5, false),
            row(1, 5, true),
            row(2, 0, true),
            row(5, 0, true),
            row(6, 5, false),
            row(8, 5, true),
        ];
        let gap = |from_s, to_s| Gap { from_s, to_s };
        assert_eq!(gaps(&stage), [gap(1, 6), gap(8, 9)]);
    }
}
