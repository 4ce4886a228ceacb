//! The exit statuses, for every verb and dialect.

use crate::measure::failure_words;
use crate::plan::StageKind;
use crate::record::{Code, RunRecord};
use crate::run::RunError;

/// What the process tells its caller. ARCHITECTURE.md documents the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// All is well.
    Passed = 0,
    /// springload itself failed.
    Failed = 1,
    /// The command line or the plan makes no sense; nothing was sent.
    Usage = 2,
    /// The target cannot be reached or used, or the run was aborted.
    Target = 3,
    /// A threshold was missed, or too little was measured to judge it.
    Threshold = 4,
    /// Measured, but not trustworthy.
    Untrustworthy = 5,
    /// What was read is not what was written.
    DataWrong = 6,
    /// Stopped by the user; the partial result is saved.
    Interrupted = 130,
}

impl Exit {
    /// The status of a run that left a record.
    pub(super) fn of_record(record: &RunRecord) -> Self {
        if record.partial {
            return Self::Interrupted;
        }
        if none_succeeded(record).is_some()
            || record.server.left.is_some()
            || not_loaded(record).is_some()
        {
            Self::Target
        } else if record.warnings.iter().any(|warning| warning.code == Code::DataWrong) {
            Self::DataWrong
        } else if !record.measured().all(|stage| stage.verdict.trustworthy()) {
            // Before thresholds: judged by numbers that mean little, they mean little.
            Self::Untrustworthy
        } else if record.thresholds.iter().any(|threshold| threshold.broken) {
            Self::Threshold
        } else {
            Self::Passed
        }
    }

    /// The status of a run that could not be carried out.
    pub(super) const fn of_error(error: &RunError) -> Self {
        match error {
            RunError::Aborted => Self::Interrupted,
            error if error.is_targets() => Self::Target,
            _ => Self::Failed,
        }
    }
}

/// Why a stage of which no operation succeeded did so badly, in one line; `None`: there is none.
pub(super) fn none_succeeded(record: &RunRecord) -> Option<String> {
    let stage = record.measured().find(|stage| {
        !stage.operations.is_empty() && stage.operations.iter().all(|operation| operation.ok == 0)
    })?;
    let unfinished: u64 = stage.operations.iter().map(|operation| operation.unfinished).sum();
    let why = Some(failure_words(&stage.operations)).filter(|words| !words.is_empty());
    let why = why.unwrap_or_else(|| format!("{unfinished} had no answer at the end"));
    Some(format!("no operation of stage {} succeeded: {why}", stage.name))
}

/// How many records of a load phase are not in the database, of how many; `None`: all are.
pub(super) fn not_loaded(record: &RunRecord) -> Option<(u64, u64)> {
    let planned = record.plan.stages.iter();
    let mut loads = planned.filter_map(|stage| match &stage.kind {
        StageKind::Ycsb(ycsb) => Some((&stage.name, ycsb.records()?)),
        _ => None,
    });
    let (name, records) = loads.next()?;
    let stage = record.stages.iter().find(|stage| stage.name == *name)?;
    let loaded: u64 = stage.operations.iter().map(|operation| operation.ok).sum();
    (loaded < records).then(|| (records - loaded, records))
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
