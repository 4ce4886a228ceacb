//! The result of a run, worded the same in every report, and its exit status.

use super::code::DATA_WRONG;
use super::{
    Code, Ended, EndedBy, Judgment, NotLoaded, RunRecord, StageRecord, Unit, Verdict, Warning,
};
use crate::measure::{LinkEnd, failure_words, failure_words_of};
use crate::op::{Failure, grouped};
use crate::plan::{Metric, Noise, Purpose, Quantity};
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// The share of a stage's operations that may fail before the run fails, unless the plan has
/// thresholds for errors.
const FAILED: f64 = 0.01;

/// The result of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunResult {
    /// The kind of result.
    pub kind: ResultKind,
    /// springload's exit status; docs/exit-codes.md lists them.
    pub exit_status: u8,
    /// The reason, in one sentence; `None` if the run passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The kind of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ResultKind {
    /// Everything was done, few operations failed, and the numbers can be trusted.
    Passed,
    /// Something is wrong with the server, or with what was requested.
    Failed,
    /// The run was measured, but the numbers cannot be trusted.
    NotTrustworthy,
    /// The user stopped the run.
    Stopped,
    /// The run is still going on; never stored.
    #[serde(skip)]
    Running,
}

/// The cause of a result other than passed.
#[derive(Clone, Copy, Debug)]
pub enum Cause<'a> {
    /// The run ended before its plan was carried out; `None`: the record does not give the reason.
    Ended(Option<&'a Ended>),
    /// A load phase left out records.
    NotLoaded(NotLoaded<'a>),
    /// No operation of this stage succeeded.
    NoneOk(&'a StageRecord),
    /// The target could not be closed properly.
    Left,
    /// Data read differs from what was written.
    DataWrong(&'a Warning),
    /// Agents were lost, and that is not allowed.
    AgentsLost,
    /// The drill in this stage did not break or mend what it should have, or the server did not
    /// come back after it.
    Drill(&'a StageRecord),
    /// The numbers of this stage cannot be trusted.
    Doubtful(&'a StageRecord),
    /// A threshold was missed.
    Threshold,
    /// Too many operations of this stage failed.
    Failures(&'a StageRecord),
    /// A replication target does not respond, or did not catch up.
    NotReplicated,
    /// The run is worse than its baseline.
    Regression,
}

impl RunResult {
    /// The exit status of a run whose numbers cannot be trusted.
    pub const UNTRUSTWORTHY: u8 = 5;
    /// The exit status of a run that found data to be wrong.
    pub const DATA_WRONG: u8 = 6;
    const PASSED: Self = Self { kind: ResultKind::Passed, exit_status: 0, reason: None };

    fn failed(exit_status: u8, reason: String) -> Self {
        Self { kind: ResultKind::Failed, exit_status, reason: Some(reason) }
    }

    /// The result in words, such as `failed: read p99 > 50ms`.
    pub fn words(&self) -> String {
        match &self.reason {
            Some(reason) => format!("{}: {reason}", self.kind.words()),
            None => self.kind.words().to_owned(),
        }
    }
}

impl ResultKind {
    /// The kind in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::NotTrustworthy => "not trustworthy",
            Self::Stopped => "stopped",
            Self::Running => "running",
        }
    }
}

type FoundResult<'a> = (Cause<'a>, RunResult);

pub(super) fn of(record: &RunRecord) -> RunResult {
    found(record).map_or(RunResult::PASSED, |(_, result)| result)
}

/// The first cause that applies; `None`: the run passed.
fn found(record: &RunRecord) -> Option<FoundResult<'_>> {
    ended(record)
        .or_else(|| unusable(record))
        .or_else(|| stays_down(record))
        .or_else(|| not_replicated(record, LinkEnd::Gone))
        .or_else(|| data_wrong(record))
        .or_else(|| audit_incomplete(record))
        .or_else(|| invalid_drill(record))
        .or_else(|| not_trustworthy(record))
        .or_else(|| unsure(record))
        .or_else(|| threshold(record))
        .or_else(|| not_replicated(record, LinkEnd::Behind))
        .or_else(|| failures(record))
        .or_else(|| regression(record))
        .or_else(|| left(record))
}

fn ended(record: &RunRecord) -> Option<FoundResult<'_>> {
    let Some(ended) = &record.ended else {
        // Older records, which do not give the reason, and runs still going on.
        return record.partial.then(|| {
            let runs = record.seen_running_ns.is_some();
            let kind = if runs { ResultKind::Running } else { ResultKind::Stopped };
            let reason = Some(record.cut_short());
            (Cause::Ended(None), RunResult { kind, exit_status: 130, reason })
        });
    };
    let (kind, exit_status) = match ended.by {
        // What was measured until then may be wrong for reasons that take precedence.
        EndedBy::Agents => return None,
        EndedBy::User => (ResultKind::Stopped, 130),
        EndedBy::Authentication | EndedBy::Unreachable => (ResultKind::Failed, 3),
        EndedBy::Springload => (ResultKind::Failed, 1),
    };
    let reason = Some(ended.message.clone());
    Some((Cause::Ended(Some(ended)), RunResult { kind, exit_status, reason }))
}

/// Nothing succeeded, or a load phase left out records.
fn unusable(record: &RunRecord) -> Option<FoundResult<'_>> {
    let none_ok = |stage: &&StageRecord| {
        !stage.operations.is_empty() && stage.operations.iter().all(|o| o.ok == 0)
    };
    if let Some(left_out) = NotLoaded::of(record) {
        let reason = because(left_out.words(), &left_out.stage.failures());
        let lost = record.lost_words().map_or_else(String::new, |lost| format!("; {lost}"));
        return Some((Cause::NotLoaded(left_out), RunResult::failed(3, reason + &lost)));
    }
    let stage = record.measured().find(none_ok)?;
    let advice = record.fill_advice(stage).map_or_else(String::new, |it| format!("; {it}"));
    let (title, why) = (stage.title(), stage.failures());
    let reason = because(format!("no operation of the {title} stage succeeded"), &why) + &advice;
    Some((Cause::NoneOk(stage), RunResult::failed(3, reason)))
}

/// What went wrong, and why, if that is known.
fn because(what: String, why: &str) -> String {
    if why.is_empty() { what } else { format!("{what}: {why}") }
}

/// The target could not be closed properly. This counts only if nothing else is wrong.
fn left(record: &RunRecord) -> Option<FoundResult<'_>> {
    let words = record.server.left_words(record.nouns()).or_else(|| record.left_of_replication());
    words.map(|words| (Cause::Left, RunResult::failed(3, words)))
}

/// A replication link ended like this: its servers are gone, or it did not keep up.
fn not_replicated(record: &RunRecord, end: LinkEnd) -> Option<FoundResult<'_>> {
    let exit_status = if end == LinkEnd::Gone { 3 } else { 4 };
    let words = record.link_ended(end)?;
    Some((Cause::NotReplicated, RunResult::failed(exit_status, words)))
}

fn data_wrong(record: &RunRecord) -> Option<FoundResult<'_>> {
    let of_data = |warning: &&Warning| warning.code == Code::DataWrong;
    let wrong = record.warnings.iter().find(of_data)?;
    // Each stage may have found some.
    let counts = record.warnings.iter().filter(of_data);
    let counts = counts.filter_map(|warning| warning.message.strip_prefix(DATA_WRONG));
    let mut counts: Vec<&str> = counts.collect();
    // Each node may have been asked for the same documents.
    counts.dedup();
    let counts = counts.join("; ");
    let reason = match &counts[..] {
        "" => wrong.message.clone(),
        counts => format!("{DATA_WRONG}{counts}"),
    };
    Some((Cause::DataWrong(wrong), RunResult::failed(RunResult::DATA_WRONG, reason)))
}

/// Documents that were not looked for may be lost.
fn audit_incomplete(record: &RunRecord) -> Option<FoundResult<'_>> {
    let found = record.warnings.iter().find(|warning| warning.code == Code::AuditIncomplete)?;
    let (kind, reason) = (ResultKind::NotTrustworthy, Some(found.message.clone()));
    let exit_status = RunResult::UNTRUSTWORTHY;
    Some((Cause::DataWrong(found), RunResult { kind, exit_status, reason }))
}

/// Nothing succeeded after a drill had mended what it broke.
fn stays_down(record: &RunRecord) -> Option<FoundResult<'_>> {
    let down = |stage: &&StageRecord| stage.drilled().is_some_and(|drill| drill.stays_down());
    let stage = record.measured().find(down)?;
    let why = stage.failures();
    let invalid = record.invalid_drill().map_or_else(String::new, |(_, why)| format!("; {why}"));
    let reason = because("nothing succeeded any more after the drill".to_owned(), &why) + &invalid;
    Some((Cause::Drill(stage), RunResult::failed(3, reason)))
}

/// Something that was to be broken or mended was not.
fn invalid_drill(record: &RunRecord) -> Option<FoundResult<'_>> {
    let (stage, reason) = record.invalid_drill()?;
    let (kind, exit_status) = (ResultKind::NotTrustworthy, RunResult::UNTRUSTWORTHY);
    Some((Cause::Drill(stage), RunResult { kind, exit_status, reason: Some(reason) }))
}

/// Takes precedence over thresholds, which mean little if the numbers cannot be trusted.
fn not_trustworthy(record: &RunRecord) -> Option<FoundResult<'_>> {
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

/// The reason the numbers of a stage cannot be trusted, apart from lost agents.
///
/// Time lost by springload itself matters only in the main stage, and only if nothing but figures
/// was requested: limits are judged one by one.
fn doubtful(record: &RunRecord) -> Option<(&StageRecord, String)> {
    let asked = !record.plan.thresholds.is_empty();
    let main = |stage: &StageRecord| {
        record.main_stage().is_some_and(|it| std::ptr::eq(it, stage))
            || stage.purpose() != Purpose::Fill
    };
    let doubtful = |stage: &&StageRecord| match stage.verdict {
        Verdict::AgentsLost { .. } => false,
        Verdict::ClientBound { .. } => {
            main(stage) && record.plan.noise == Noise::Fail && (!asked || record.is_compared())
        }
        verdict => !verdict.trustworthy(),
    };
    let stage = record.measured().find(doubtful)?;
    let why = super::blame::of_verdict(stage).map_or("nothing was measured".to_owned(), |it| it.1);
    let mut reason = format!("{}: {why}", stage.title());
    // Other failures may be the cause, such as a deleted database.
    let others = |class: Failure| !class.unserved();
    let (failed, issued) = record.unprovoked(stage, others);
    if failed as f64 > issued as f64 * FAILED {
        let (failed, issued) = (grouped(failed), grouped(issued));
        let words = record.unprovoked_words(stage, others);
        let _ =
            write!(reason, "; {failed} of {issued} operations failed for other reasons: {words}");
    }
    Some((stage, reason))
}

/// The broken thresholds, except those compared with a baseline: either those certainly broken, or
/// those that springload itself may have broken. One that cannot be judged counts as broken, but is
/// not said to have been missed.
fn broken(record: &RunRecord, by_client: bool) -> Option<String> {
    let broken = record.thresholds.iter().filter(|it| it.broken && !it.is_regression());
    let all: Vec<_> = broken.filter(|it| it.by_client == by_client).collect();
    let first = all.first()?;
    let (words, more) = (first.expression.to_string(), all.len() - 1);
    Some(match (&first.problem, more) {
        (None, 0) => words,
        (None, _) => format!("{words} and {more} more"),
        (Some(problem), 0) => format!("{words} cannot be judged: {problem}"),
        (Some(problem), _) => format!("{words} cannot be judged: {problem}; and {more} more"),
    })
}

/// Springload itself may have broken a threshold, and none is certainly broken.
fn unsure(record: &RunRecord) -> Option<FoundResult<'_>> {
    let by_baseline = record.thresholds.iter().find(|it| it.is_regression() && it.by_client);
    let words = broken(record, true).or_else(|| Some(by_baseline?.expression.to_string()));
    let words = words.filter(|_| broken(record, false).is_none())?;
    if record.plan.noise == Noise::Warn {
        return None;
    }
    let reason = Some(format!(
        "{words}, but springload itself may be the cause: this machine was too busy; use a quieter \
         one"
    ));
    let (kind, exit_status) = (ResultKind::NotTrustworthy, RunResult::UNTRUSTWORTHY);
    Some((Cause::Threshold, RunResult { kind, exit_status, reason }))
}

fn threshold(record: &RunRecord) -> Option<FoundResult<'_>> {
    let reason = broken(record, false).or_else(|| broken(record, true))?;
    Some((Cause::Threshold, RunResult::failed(4, reason)))
}

/// The run is worse than its baseline, by a threshold or by more than is allowed.
fn regression(record: &RunRecord) -> Option<FoundResult<'_>> {
    let sure = |it: &&Judgment| !it.by_client || record.plan.noise == Noise::Warn;
    let by_threshold = record.thresholds.iter().filter(|it| it.is_regression()).filter(sure);
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
fn failures(record: &RunRecord) -> Option<FoundResult<'_>> {
    let says_else = |stage: &StageRecord| {
        let limits = record.plan.thresholds.iter().filter(|it| it.metric == Metric::ERRORS);
        let mut limited = limits.flat_map(|it| record.stages_of(it.quantity()));
        limited.any(|it| std::ptr::eq(it, stage))
    };
    let stage = record.measured().find(|stage| record.failing(stage) && !says_else(stage))?;
    let (failed, issued) = record.unprovoked(stage, |_| true);
    let (failed, issued) = (grouped(failed), grouped(issued));
    let all = Quantity { kind: None, metric: Metric::ERRORS };
    let kind = stage.requests().find(|it| it.failed() > 0).map(|it| it.kind);
    let main = record.stages_of(all).iter().any(|it| std::ptr::eq(*it, stage));
    let limit = kind.filter(|_| !main).map_or("err".to_owned(), |kind| format!("{kind}.err"));
    if let Some(drill) = stage.drilled() {
        let words = drill.failing_words();
        let reason = format!("{failed} of {issued} operations failed {words}");
        return Some((Cause::Failures(stage), RunResult::failed(4, reason)));
    }
    let reason = format!(
        "{failed} of {issued} operations of the {} stage failed: {}; --fail-if '{limit} > N%' \
         allows more than 1 %",
        stage.title(),
        record.unprovoked_words(stage, |_| true),
    );
    Some((Cause::Failures(stage), RunResult::failed(4, reason)))
}

impl StageRecord {
    /// Documents for which an operation was started.
    fn issued(&self) -> u64 {
        self.requests().map(|operation| operation.issued).sum()
    }

    /// The failures of all kinds with their reasons; if there are none, the number of unfinished
    /// operations.
    pub(super) fn failures(&self) -> String {
        let words = failure_words(self.requests());
        let unfinished: u64 = self.requests().map(|operation| operation.unfinished).sum();
        if words.is_empty() && unfinished > 0 {
            return format!("{} had no answer at the end", grouped(unfinished));
        }
        words
    }
}

impl RunRecord {
    /// The cause of its result, computed from the record; `None`: it passed.
    pub fn cause(&self) -> Option<Cause<'_>> {
        found(self).map(|(cause, _)| cause)
    }

    /// The reason the run is not compared with others of its plan, in baselines, trends and
    /// comparisons. `None`: it is.
    pub fn unfit(&self) -> Option<String> {
        let result = self.result();
        match result.kind {
            _ if self.partial => {
                let why = self.ended.as_ref().map_or("the run was ended early", |it| &it.message);
                Some(format!("stopped: {why}"))
            }
            _ if self.measured().next().is_none() => Some("nothing measured".to_owned()),
            ResultKind::Stopped | ResultKind::Running | ResultKind::NotTrustworthy => {
                Some(result.words())
            }
            // It ended before its plan was carried out. A failed clean-up does not change what was
            // measured.
            ResultKind::Failed if matches!(result.exit_status, 1 | 3) => {
                (!matches!(self.cause(), Some(Cause::Left))).then(|| result.words())
            }
            ResultKind::Passed | ResultKind::Failed => None,
        }
    }

    /// Whether it is judged against a baseline.
    fn is_compared(&self) -> bool {
        self.plan.baseline.as_ref().is_some_and(|it| it.max_regression_percent.is_some())
    }

    /// Whether more of a stage's operations failed than allowed.
    pub fn failing(&self, stage: &StageRecord) -> bool {
        let (failed, issued) = self.unprovoked(stage, |_| true);
        failed as f64 > issued as f64 * FAILED
    }

    /// Failures of the classes that `asked` selects, except conflicts that the plan provokes and
    /// what a drill broke; and the number of documents they are out of.
    fn unprovoked(&self, stage: &StageRecord, asked: impl Fn(Failure) -> bool) -> (u64, u64) {
        let counts = self.counts_as_failed(stage, asked);
        if let Some(drill) = stage.drilled() {
            return drill.failed(counts);
        }
        let failures = stage.requests().flat_map(|operation| &operation.failures);
        let failures = failures.filter(|(class, _)| counts(**class));
        (failures.map(|(_, count)| count).sum(), stage.issued())
    }

    /// The same failures with their reasons.
    fn unprovoked_words(&self, stage: &StageRecord, asked: impl Fn(Failure) -> bool) -> String {
        failure_words_of(stage.requests(), self.counts_as_failed(stage, asked))
    }

    fn counts_as_failed(
        &self,
        stage: &StageRecord,
        asked: impl Fn(Failure) -> bool,
    ) -> impl Fn(Failure) -> bool {
        let plan = self.plan_of(stage);
        let provokes = plan.is_some_and(|plan| plan.work.traits().shares_documents);
        move |class| asked(class) && (!provokes || class != Failure::Conflict)
    }
}

#[cfg(test)]
#[path = "result_tests.rs"]
mod tests;
