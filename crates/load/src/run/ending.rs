//! The record of a run before its first stage and at its end: why it ended, and what it leaves
//! undone or behind.

use super::bench::Bench;
use super::{RunError, block_on};
use crate::clock::Nanos;
use crate::driver::{Databases, TargetError};
use crate::engine::StopReason;
use crate::measure::{Visibility, failure_words};
use crate::op::{Failure, OpKind};
use crate::plan::{Plan, PlanRecord, Purpose};
use crate::record::{
    Ended, EndedBy, Environment, RunRecord, SCHEMA_VERSION, ServerRecord, StageRecord,
};
use time::OffsetDateTime;
use time::macros::format_description;

/// Says that the databases of an unfinished run are being removed, which may take a while.
pub(super) fn left_over(plan: &Plan, record: &RunRecord) -> Option<String> {
    let Databases { spread, removed: true, .. } = plan.target.databases()? else { return None };
    let is_done = record.stages.last().is_some_and(|last| {
        last.purpose() == Purpose::Databases && record.stages.len() == plan.stages.len()
    });
    (!is_done).then(|| format!("removing {} databases", spread.count))
}

/// The error if the last stage did not make everything that the following stages need.
pub(super) fn not_made(bench: &Bench<'_>, record: &RunRecord) -> Option<RunError> {
    let stage = record.stages.last()?;
    let makes = record.plan_of(stage)?.work.traits().makes?;
    let planned = record.plan_of(stage)?.work.planned(bench.plan.connections)?;
    let made: u64 = stage.requests().map(|it| it.ok).sum();
    let left = planned.saturating_sub(made);
    if left == 0 || bench.stop.reason().is_some() {
        return None;
    }
    let why = failure_words(stage.requests());
    let why = if why.is_empty() { why } else { format!(": {why}") };
    let message = format!("{left} of {planned} {makes} could not be created{why}");
    Some(RunError::Target(TargetError(message)))
}

/// The number of documents besides those that an audit found, if it found out about all of them and
/// their number cannot have changed since.
pub(super) fn others(bench: &Bench<'_>, record: &RunRecord) -> Option<u64> {
    // Markers of replication would be counted, too.
    let stage = record.stages.last().filter(|_| bench.replicas.is_none())?;
    let counts = record.plan_of(stage)?.work.traits().counts_others;
    let verified = stage.operations.iter().find(|it| it.kind == OpKind::Verify)?;
    let judged = |(class, _): &(&Failure, &u64)| class.is_wrong_data();
    let unanswered = |stage: &StageRecord| {
        let failures = stage.requests().flat_map(|it| it.failures.keys());
        failures.copied().any(|class| !class.refuses())
            || stage.requests().any(|it| it.unfinished > 0)
    };
    if record.stages.iter().rev().skip(1).any(unanswered) {
        return None;
    }
    // Probes are removed again, except for these.
    let probed = |it: &Visibility| it.left + it.write_failures > 0;
    if record.stages.iter().filter_map(|it| it.visibility.as_ref()).any(probed) {
        return None;
    }
    let all_noted = bench.journal.as_ref().is_none_or(|journal| journal.broken().is_none());
    if !counts || !all_noted || !verified.failures.iter().all(|it| judged(&it)) {
        return None;
    }
    let found = stage.operations.iter().find(|it| it.kind == OpKind::Read).map_or(0, |it| it.ok);
    let documents = block_on(bench.stop, async { Ok(bench.target.documents().await) });
    documents.ok()??.checked_sub(found)
}

/// The record of a run that has not measured anything yet.
pub(super) fn begun(plan: &Plan, began_wall: Nanos, server: ServerRecord) -> RunRecord {
    let form =
        format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]Z");
    let started_at = OffsetDateTime::from_unix_timestamp_nanos(i128::from(began_wall));
    let started_at = started_at.ok().and_then(|it| it.format(form).ok()).unwrap_or_default();
    RunRecord {
        schema_version: SCHEMA_VERSION,
        started_at,
        partial: true,
        plan: PlanRecord::clone(plan),
        server,
        environment: Environment::here(),
        agents: Vec::new(),
        stages: Vec::new(),
        warnings: Vec::new(),
        thresholds: Vec::new(),
        regressions: Vec::new(),
        journal_broken: None,
        extra_documents: None,
        observed: None,
        replication: None,
        copies: None,
        ended: None,
        result: None,
        seen_running_ns: None,
    }
}

/// The reason a run ended before the plan was completed, if it did.
pub(super) fn ended(
    why: (Option<RunError>, Option<StopReason>),
    at_s: f64,
    advice: Option<String>,
) -> Option<Ended> {
    let (by, message) = match why {
        (Some(error), _) => {
            let by = match error {
                RunError::AllLost(_) => EndedBy::Agents,
                _ if error.is_targets() => EndedBy::Unreachable,
                _ => EndedBy::Springload,
            };
            (by, format!("ended after {at_s:.1} s: {error}"))
        }
        (None, Some(StopReason::Authentication)) => (
            EndedBy::Authentication,
            format!(
                "the server refused the credentials (401 or 403) after {at_s:.1} s; stopped \
                 before it locks the user out"
            ),
        ),
        (None, Some(StopReason::Starved)) => (
            EndedBy::Springload,
            format!("springload's machine ran out of ports or files; gave up after {at_s:.1} s"),
        ),
        (None, Some(reason)) if reason.gave_up() => {
            let what = match reason {
                StopReason::Unserved => "the server is there, but no longer answers any operation",
                _ => "the server no longer answers",
            };
            let advice = advice.map_or_else(String::new, |it| format!("; {it}"));
            (EndedBy::Unreachable, format!("{what}; gave up after {at_s:.1} s{advice}"))
        }
        (None, Some(_)) => (EndedBy::User, format!("stopped by the user after {at_s:.1} s")),
        (None, None) => return None,
    };
    Some(Ended { by, at_s, message })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    #[test]
    fn a_run_that_ended_early_tells_by_whom_and_when() {
        let early = |error, reason| {
            let ended = ended((error, reason), 2.5, Some("add --x".to_owned()));
            ended.map(|it| (it.by, it.at_s, it.message))
        };
        let of = |by, message: &str| Some((by, 2.5, message.to_owned()));
        let system = RunError::System(io::Error::other("no threads"));
        let lost = RunError::AllLost("all agents are lost".to_owned());
        let target = RunError::Target(TargetError("it is gone".to_owned()));
        let gone = "the server no longer answers; gave up after 2.5 s; add --x";
        let deaf = "the server is there, but no longer answers any operation; gave up after 2.5 s; \
                    add --x";
        let refused = "the server refused the credentials (401 or 403) after 2.5 s; stopped before \
                       it locks the user out";
        let starved = "springload's machine ran out of ports or files; gave up after 2.5 s";
        for (error, reason, wanted) in [
            (None, None, None),
            (Some(system), None, of(EndedBy::Springload, "ended after 2.5 s: no threads")),
            (Some(lost), None, of(EndedBy::Agents, "ended after 2.5 s: all agents are lost")),
            (Some(target), None, of(EndedBy::Unreachable, "ended after 2.5 s: it is gone")),
            (None, Some(StopReason::Authentication), of(EndedBy::Authentication, refused)),
            (None, Some(StopReason::Starved), of(EndedBy::Springload, starved)),
            (None, Some(StopReason::Unserved), of(EndedBy::Unreachable, deaf)),
            (None, Some(StopReason::Unreachable), of(EndedBy::Unreachable, gone)),
            (
                None,
                Some(StopReason::Interrupted),
                of(EndedBy::User, "stopped by the user after 2.5 s"),
            ),
        ] {
            assert_eq!(early(error, reason), wanted, "{reason:?}");
        }
        let unadvised = ended((None, Some(StopReason::Unreachable)), 2.0, None).unwrap();
        assert_eq!(unadvised.message, "the server no longer answers; gave up after 2.0 s");
    }
}
