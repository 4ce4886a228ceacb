//! The result of a run, worded the same in every report, and its exit status.

use super::warning::DATA_WRONG;
use super::{Code, RunRecord, StageRecord, Unit, Verdict, Warning};
use crate::measure::failure_words;
use crate::op::Failure;
use crate::plan::{Metric, StageWork as _};
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// The share of a stage's operations that may fail before the run fails, unless the plan has
/// thresholds for errors.
const FAILED: f64 = 0.01;

/// The result of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunResult {
    /// The kind of result.
    pub kind: ResultKind,
    /// The exit status of springload; `ARCHITECTURE.md` has the list.
    pub exit_status: u8,
    /// Why, in one sentence; `None` if the run passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The kind of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResultKind {
    /// Everything was done, little failed, and the numbers can be trusted.
    Passed,
    /// Something is wrong with the server, or with what was asked of it.
    Failed,
    /// Measured, but the numbers cannot be trusted.
    NotTrustworthy,
    /// The user stopped the run.
    Stopped,
}

/// Why a run ended before its plan was carried out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ended {
    /// What ended it.
    pub by: EndedBy,
    /// When, in seconds from the run's start.
    pub at_s: f64,
    /// The same in one sentence.
    pub message: String,
}

/// What a result other than passed rests on.
#[derive(Clone, Copy, Debug)]
pub enum Cause<'a> {
    /// The run ended before its plan was carried out; `None`: the record does not say why.
    Ended(Option<&'a Ended>),
    /// A load phase left out so many records, of so many.
    NotLoaded(&'a StageRecord, u64, u64),
    /// No operation of this stage succeeded.
    NoneOk(&'a StageRecord),
    /// The target could not be closed as it should.
    Left,
    /// Data read differs from what was written.
    DataWrong(&'a Warning),
    /// Agents were lost, and that is not allowed.
    AgentsLost,
    /// The numbers of this stage cannot be trusted.
    Doubtful(&'a StageRecord),
    /// A threshold was missed.
    Threshold,
    /// Too many operations of this stage failed.
    Failures(&'a StageRecord),
    /// The run is worse than its baseline.
    Regression,
}

/// What ended a run early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndedBy {
    /// The user.
    User,
    /// The server refused the credentials.
    Authentication,
    /// The server stopped answering.
    Unreachable,
    /// All agents were lost.
    Agents,
    /// springload itself, or the operating system.
    Springload,
}

impl RunResult {
    /// The exit status of a run that cannot be trusted.
    pub const UNTRUSTWORTHY: u8 = 5;
    /// The exit status of a run that found data to be wrong.
    pub const DATA_WRONG: u8 = 6;
    const PASSED: Self = Self { kind: ResultKind::Passed, exit_status: 0, reason: None };

    fn failed(exit_status: u8, reason: String) -> Self {
        Self { kind: ResultKind::Failed, exit_status, reason: Some(reason) }
    }

    /// In words, such as `failed: read p99 > 50ms`.
    pub fn words(&self) -> String {
        match &self.reason {
            Some(reason) => format!("{}: {reason}", self.kind.words()),
            None => self.kind.words().to_owned(),
        }
    }
}

impl ResultKind {
    /// In words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::NotTrustworthy => "not trustworthy",
            Self::Stopped => "stopped",
        }
    }
}

/// A result, and what it rests on.
type Found<'a> = (Cause<'a>, RunResult);

/// The result of `record`.
pub(super) fn of(record: &RunRecord) -> RunResult {
    found(record).map_or(RunResult::PASSED, |(_, result)| result)
}

/// The first that applies; `None`: the run passed.
fn found(record: &RunRecord) -> Option<Found<'_>> {
    ended(record)
        .or_else(|| unusable(record))
        .or_else(|| data_wrong(record))
        .or_else(|| audit_incomplete(record))
        .or_else(|| not_trustworthy(record))
        .or_else(|| threshold(record))
        .or_else(|| failures(record))
        .or_else(|| regression(record))
}

fn ended(record: &RunRecord) -> Option<Found<'_>> {
    let Some(ended) = &record.ended else {
        // Older records, which do not say why, and running runs.
        let reason = || Some("the run was stopped early".to_owned());
        let stopped =
            || RunResult { kind: ResultKind::Stopped, exit_status: 130, reason: reason() };
        return record.partial.then(|| (Cause::Ended(None), stopped()));
    };
    let (kind, exit_status) = match ended.by {
        // What was measured until then may be wrong for reasons that come first.
        EndedBy::Agents => return None,
        EndedBy::User => (ResultKind::Stopped, 130),
        EndedBy::Authentication | EndedBy::Unreachable => (ResultKind::Failed, 3),
        EndedBy::Springload => (ResultKind::Failed, 1),
    };
    let reason = Some(ended.message.clone());
    Some((Cause::Ended(Some(ended)), RunResult { kind, exit_status, reason }))
}

/// Nothing succeeded, or the target could not be closed as it should.
fn unusable(record: &RunRecord) -> Option<Found<'_>> {
    let none_ok = |stage: &&StageRecord| {
        !stage.operations.is_empty() && stage.operations.iter().all(|o| o.ok == 0)
    };
    if let Some((stage, missing, records)) = not_loaded(record) {
        let why = stage.failures();
        let reason = format!("{missing} of {records} records were not loaded: {why}");
        let reason = reason.trim_end_matches(": ").to_owned();
        let lost = record.lost_words().map_or_else(String::new, |lost| format!("; {lost}"));
        let cause = Cause::NotLoaded(stage, missing, records);
        return Some((cause, RunResult::failed(3, reason + &lost)));
    }
    if let Some(stage) = record.measured().find(none_ok) {
        let reason =
            format!("no operation of the {} stage succeeded: {}", stage.title(), stage.failures());
        return Some((Cause::NoneOk(stage), RunResult::failed(3, reason)));
    }
    record.server.left_words().map(|words| (Cause::Left, RunResult::failed(3, words)))
}

/// The number of records that a load phase left out, and the planned number; `None`: none.
fn not_loaded(record: &RunRecord) -> Option<(&StageRecord, u64, u64)> {
    let load = |stage| Some((stage, record.plan_of(stage)?.work.must_store()?));
    let (stage, records) = record.stages.iter().find_map(load)?;
    let loaded: u64 = stage.operations.iter().map(|operation| operation.ok).sum();
    (loaded < records).then(|| (stage, records - loaded, records))
}

fn data_wrong(record: &RunRecord) -> Option<Found<'_>> {
    let of_data = |warning: &&Warning| warning.code == Code::DataWrong;
    let wrong = record.warnings.iter().find(of_data)?;
    // Each stage may have found something.
    let counts = record.warnings.iter().filter(of_data);
    let counts = counts.filter_map(|warning| warning.message.strip_prefix(DATA_WRONG));
    let counts = counts.collect::<Vec<_>>().join("; ");
    let reason = match &counts[..] {
        "" => wrong.message.clone(),
        counts => format!("{DATA_WRONG}{counts}"),
    };
    Some((Cause::DataWrong(wrong), RunResult::failed(RunResult::DATA_WRONG, reason)))
}

/// What was not looked for may be lost.
fn audit_incomplete(record: &RunRecord) -> Option<Found<'_>> {
    let found = record.warnings.iter().find(|warning| warning.code == Code::AuditIncomplete)?;
    let (kind, reason) = (ResultKind::NotTrustworthy, Some(found.message.clone()));
    let exit_status = RunResult::UNTRUSTWORTHY;
    Some((Cause::DataWrong(found), RunResult { kind, exit_status, reason }))
}

/// Comes before thresholds, which say little if the numbers cannot be trusted.
fn not_trustworthy(record: &RunRecord) -> Option<Found<'_>> {
    let lost = record.lost_words().filter(|_| !record.allows_losses());
    let doubtful = doubtful(record);
    let cause = match &doubtful {
        Some((stage, _)) if lost.is_none() => Cause::Doubtful(stage),
        _ => Cause::AgentsLost,
    };
    let reasons = lost.map(|lost| format!("degraded: {lost}")).into_iter();
    let reasons: Vec<String> = reasons.chain(doubtful.map(|(_, why)| why)).collect();
    let reason = Some(reasons.join("; ")).filter(|reason| !reason.is_empty())?;
    let kind = ResultKind::NotTrustworthy;
    let exit_status = RunResult::UNTRUSTWORTHY;
    Some((cause, RunResult { kind, exit_status, reason: Some(reason) }))
}

/// Why the numbers of a stage cannot be trusted, other than by the loss of agents.
fn doubtful(record: &RunRecord) -> Option<(&StageRecord, String)> {
    let doubtful = |stage: &&StageRecord| {
        !stage.verdict.trustworthy() && !matches!(stage.verdict, Verdict::AgentsLost { .. })
    };
    let stage = record.measured().find(doubtful)?;
    let why =
        super::warning::of_verdict(stage).map_or("nothing was measured".to_owned(), |it| it.1);
    let mut reason = format!("{}: {why}", stage.title());
    // Other failures may be the cause, such as a deleted database.
    let (failed, issued) = (record.unprovoked(stage, |class| !class.by_server()), stage.issued());
    if failed as f64 > issued as f64 * FAILED {
        let words = stage.failures();
        let _ =
            write!(reason, "; {failed} of {issued} operations failed for other reasons: {words}");
    }
    Some((stage, reason))
}

fn threshold(record: &RunRecord) -> Option<Found<'_>> {
    let broken = record.thresholds.iter().filter(|it| it.broken && !it.is_regression());
    let broken: Vec<_> = broken.collect();
    let first = broken.first()?;
    let mut reason = first.expression.to_string();
    if broken.len() > 1 {
        reason = format!("{reason} and {} more", broken.len() - 1);
    }
    Some((Cause::Threshold, RunResult::failed(4, reason)))
}

/// The run is worse than its baseline, by a threshold or by more than is allowed.
fn regression(record: &RunRecord) -> Option<Found<'_>> {
    let by_threshold = record.thresholds.iter().filter(|it| it.is_regression());
    let by_threshold = by_threshold.map(|it| it.expression.to_string());
    let broken = record.regressions.iter().filter(|it| it.broken).map(|it| {
        let change = it.change.unwrap_or_default().abs();
        match (&it.problem, it.unit) {
            (Some(problem), _) => format!("{} cannot be judged: {problem}", it.metric),
            (None, Unit::Percent) => {
                format!("{} is {change:.1} points above the baseline", it.metric)
            }
            (None, _) => format!("{} is {change:.1} % worse than the baseline", it.metric),
        }
    });
    let all: Vec<String> = by_threshold.chain(broken).collect();
    let mut reason = all.first()?.clone();
    if all.len() > 1 {
        reason = format!("{reason}, and {} more", all.len() - 1);
    }
    Some((Cause::Regression, RunResult::failed(7, reason)))
}

/// More operations failed than allowed, if the plan has no threshold for errors.
fn failures(record: &RunRecord) -> Option<Found<'_>> {
    let says_else = |threshold: &crate::plan::Threshold| threshold.metric == Metric::Errors;
    if record.plan.thresholds.iter().any(says_else) {
        return None;
    }
    let stage = record.measured().find(|stage| record.failing(stage))?;
    let (failed, issued) = (record.unprovoked(stage, |_| true), stage.issued());
    let reason = format!(
        "{failed} of {issued} operations of the {} stage failed: {}; --fail-if 'err > N%' allows \
         more than 1 %",
        stage.title(),
        stage.failures(),
    );
    Some((Cause::Failures(stage), RunResult::failed(4, reason)))
}

impl StageRecord {
    /// Documents for which an operation was begun.
    fn issued(&self) -> u64 {
        self.requests().map(|operation| operation.issued).sum()
    }

    /// The failures of all kinds with their reasons; if there are none, the number of unfinished
    /// operations.
    fn failures(&self) -> String {
        let words = failure_words(self.requests());
        let unfinished: u64 = self.requests().map(|operation| operation.unfinished).sum();
        if words.is_empty() && unfinished > 0 {
            return format!("{unfinished} had no answer at the end");
        }
        words
    }
}

impl RunRecord {
    /// What its result rests on, computed from the record; `None`: it passed.
    pub fn cause(&self) -> Option<Cause<'_>> {
        found(self).map(|(cause, _)| cause)
    }

    /// Whether more of a stage's operations failed than allowed.
    pub fn failing(&self, stage: &StageRecord) -> bool {
        self.unprovoked(stage, |_| true) as f64 > stage.issued() as f64 * FAILED
    }

    /// Failures of the classes that `asked` selects, without conflicts that the plan provokes.
    fn unprovoked(&self, stage: &StageRecord, asked: impl Fn(Failure) -> bool) -> u64 {
        let plan = self.plan_of(stage);
        let provokes = plan.is_some_and(|plan| plan.work.provokes_conflicts());
        let failures = stage.requests().flat_map(|operation| &operation.failures);
        let counts = |(class, _): &(&Failure, &u64)| {
            asked(**class) && (!provokes || **class != Failure::Conflict)
        };
        failures.filter(counts).map(|(_, count)| count).sum()
    }
}

#[cfg(test)]
#[path = "result_tests.rs"]
mod tests;
