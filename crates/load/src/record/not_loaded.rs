//! The records that a load phase left out, as far as that is known.

use super::{RunRecord, StageRecord};
use crate::op::{Certainty, grouped};

/// The records that a load phase left out.
#[derive(Clone, Copy, Debug)]
pub struct NotLoaded<'a> {
    /// The load phase.
    pub stage: &'a StageRecord,
    /// Records that are certainly not there.
    missing: u64,
    /// Records that may be there: nothing says whether their inserts were carried out.
    unknown: u64,
    /// The records that were to be loaded.
    records: u64,
}

impl<'a> NotLoaded<'a> {
    /// `None`: the run has no load phase, or it left out nothing.
    pub(super) fn of(record: &'a RunRecord) -> Option<Self> {
        let load = |stage| Some((stage, record.plan_of(stage)?.work.traits().must_store?));
        let (stage, records): (&StageRecord, u64) = record.stages.iter().find_map(load)?;
        let (mut loaded, mut unknown) = (0, 0);
        for operation in &stage.operations {
            let wire = operation.wire;
            // Inserts without an answer that the driver found to be carried out are not in `ok`.
            loaded += operation.ok + wire.carried_out;
            let open = operation.failures.iter();
            let open = open.filter(|(class, _)| class.certainty() != Certainty::NotDone);
            let open = operation.unfinished + open.map(|(_, count)| count).sum::<u64>();
            unknown += open.saturating_sub(wire.carried_out + wire.not_carried_out);
        }
        let left_out = records.checked_sub(loaded).filter(|count| *count > 0)?;
        // An insert may have been tried several times.
        let unknown = unknown.min(left_out);
        Some(Self { stage, missing: left_out - unknown, unknown, records })
    }

    /// How many, in words, such as `1,324 of 2,000 records were not loaded`.
    pub fn words(&self) -> String {
        let [missing, unknown, of] = [self.missing, self.unknown, self.records].map(grouped);
        match (self.missing, self.unknown) {
            (_, 0) => format!("{missing} of {of} records were not loaded"),
            (0, _) => format!("{unknown} of {of} records may not have been loaded"),
            _ => format!(
                "{missing} of {of} records were not loaded, and {unknown} more may not have been"
            ),
        }
    }
}
