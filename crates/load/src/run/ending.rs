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
    error: Option<RunError>,
    reason: Option<StopReason>,
    at_s: f64,
    advice: Option<String>,
) -> Option<Ended> {
    let (by, message) = match (error, reason) {
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
                "the server refused the credentials after {at_s:.1} s; stopped before it locks \
                 the user out"
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
    use super::super::couch_tests::Couch;
    use super::super::fixture_tests::{few, planned};
    use super::*;
    use crate::engine::Stop;
    use crate::journal::Journal;
    use crate::measure::KindInterval;
    use crate::plan::{Existing, PlanSpec};
    use crate::record::fixture;
    use serde_json::json;
    use std::io;
    use std::path::Path;
    use std::sync::Arc;

    /// A fill and a few operations on three databases.
    fn on_three(keep: bool) -> PlanSpec {
        let mut spec = PlanSpec { keep, ..few(40, None) };
        let spread = json!({ "count": 3, "documents": 40, "batch": 10 });
        spec.options.insert("databases".to_owned(), spread);
        spec
    }

    /// A part of a stage with this many successes, and failures of these classes.
    fn part(ok: u64, failures: &[Failure]) -> KindInterval {
        let requests = ok + failures.len() as u64;
        let mut part = KindInterval { requests, ok, ..KindInterval::default() };
        for class in failures {
            part.failures[class.index()] += 1;
        }
        part
    }

    /// A record of the first stages of a plan, with the operations of each.
    fn done(plan: &Plan, parts: Vec<Vec<(OpKind, KindInterval)>>) -> RunRecord {
        let mut record = begun(plan, 0, ServerRecord::default());
        for (stage, parts) in plan.stages.iter().zip(parts) {
            let parts = parts.into_iter().map(|(kind, part)| (0, kind, part)).collect();
            let done = fixture::stage(&stage.name, parts);
            record.stages.push(StageRecord { plan: Some(stage.clone()), ..done });
        }
        record
    }

    #[test]
    fn databases_that_an_unfinished_run_leaves_are_announced() {
        let plan = planned(&on_three(false));
        let of = |stages| left_over(&plan, &done(&plan, vec![Vec::new(); stages]));
        let removing = Some("removing 3 databases".to_owned());
        assert_eq!(plan.stages.len(), 4);
        let found = [0, 1, 2, 3, 4].map(of);
        let all = || removing.clone();
        assert_eq!(found, [all(), all(), all(), all(), None], "the last stage removes them");
        let kept = planned(&on_three(true));
        assert_eq!(left_over(&kept, &done(&kept, vec![Vec::new()])), None);
        let one = planned(&few(40, None));
        assert_eq!(left_over(&one, &done(&one, vec![Vec::new()])), None);
    }

    #[test]
    fn databases_that_could_not_be_created_end_the_run_with_the_reason() {
        let plan = planned(&on_three(false));
        let (couch, stop) = (Couch::start(), Arc::new(Stop::default()));
        let target = couch.open("db");
        let bench = Bench::new(&plan, &target, &stop, [0, 0]);
        let of = |ok, failures: &[Failure]| {
            let parts = vec![(OpKind::DatabaseCreate, part(ok, failures))];
            not_made(&bench, &done(&plan, vec![parts])).map(|error| error.to_string())
        };
        let failure = Failure::ServerError;
        let failed = format!("1 of 3 databases could not be created: 1 {failure}");
        assert_eq!(of(2, &[failure]), Some(failed));
        assert_eq!(of(1, &[]), Some("2 of 3 databases could not be created".to_owned()));
        assert_eq!(of(3, &[]), None);
        let filled = done(&plan, vec![Vec::new(), Vec::new()]);
        assert!(not_made(&bench, &filled).is_none(), "a fill makes nothing for others");
        stop.raise(StopReason::Interrupted);
        assert_eq!(of(2, &[]), None, "the user did not want them");
    }

    /// The number of documents of others, with twelve in the database, after this change to a run
    /// whose audit has found ten.
    fn others_after(change: impl FnOnce(&mut RunRecord, &mut Bench<'_>)) -> Option<u64> {
        others_of(Existing::No, change)
    }

    fn others_of(
        existing: Existing,
        change: impl FnOnce(&mut RunRecord, &mut Bench<'_>),
    ) -> Option<u64> {
        let (couch, stop) = (Couch::start(), Arc::new(Stop::default()));
        (0..12).for_each(|id| couch.put("db", &id.to_string(), "1-x"));
        let spec = few(40, Some(format!("{}/db", couch.url)));
        let plan = planned(&PlanSpec { audit: true, existing, ..spec });
        let target = couch.open("db");
        let audit = vec![(OpKind::Verify, part(8, &[])), (OpKind::Read, part(10, &[]))];
        let fill = vec![(OpKind::BulkInsert, part(40, &[]))];
        let crud = vec![(OpKind::Create, part(5, &[]))];
        let mut record = done(&plan, vec![fill, crud, audit]);
        let mut bench = Bench::new(&plan, &target, &stop, [0, 0]);
        change(&mut record, &mut bench);
        others(&bench, &record)
    }

    /// Adds a failure to the operations of this kind in a stage.
    fn fail(record: &mut RunRecord, stage: usize, kind: OpKind, class: Failure) {
        let mut all = record.stages[stage].operations.iter_mut();
        let operation = all.find(|it| it.kind == kind).unwrap();
        operation.failures.insert(class, 1);
    }

    #[test]
    fn documents_of_others_are_those_that_the_audit_did_not_find() {
        assert_eq!(others_after(|_, _| {}), Some(2));
        let refused = |record: &mut RunRecord, _: &mut Bench<'_>| {
            fail(record, 1, OpKind::Create, Failure::Conflict);
            fail(record, 2, OpKind::Verify, Failure::Lost);
            record.stages[1].visibility = Some(Visibility { written: 9, ..Visibility::default() });
        };
        assert_eq!(others_after(refused), Some(2), "it is known what became of each write");
    }

    #[test]
    fn documents_of_others_are_not_counted_if_some_writes_are_uncertain() {
        let unknown = |record: &mut RunRecord, _: &mut Bench<'_>| {
            fail(record, 1, OpKind::Create, Failure::Timeout);
        };
        assert_eq!(others_after(unknown), None);
        let unfinished = |record: &mut RunRecord, _: &mut Bench<'_>| {
            record.stages[1].operations[0].unfinished = 1;
        };
        assert_eq!(others_after(unfinished), None);
        let unread = |record: &mut RunRecord, _: &mut Bench<'_>| {
            fail(record, 2, OpKind::Verify, Failure::Timeout);
        };
        assert_eq!(others_after(unread), None, "the audit did not find out");
        let unnoted = |_: &mut RunRecord, bench: &mut Bench<'_>| {
            let journal = Journal::open(Path::new("nowhere"));
            journal.break_off("the disk is full");
            bench.journal = Some(Arc::new(journal));
        };
        assert_eq!(others_after(unnoted), None);
        assert_eq!(others_of(Existing::Yes, |_, _| {}), None, "there were some before");
    }

    #[test]
    fn probes_that_are_left_are_not_taken_for_documents_of_others() {
        let left = Visibility { left: 1, ..Visibility::default() };
        let uncertain = Visibility { write_failures: 1, ..Visibility::default() };
        for visibility in [left, uncertain] {
            let probed = |record: &mut RunRecord, _: &mut Bench<'_>| {
                record.stages[1].visibility = Some(visibility);
            };
            assert_eq!(others_after(probed), None);
        }
    }

    #[test]
    fn a_run_that_ended_early_tells_by_whom_and_when() {
        let early = |error, reason| {
            let ended = ended(error, reason, 2.5, Some("add --x".to_owned()));
            ended.map(|it| (it.by, it.at_s, it.message))
        };
        let of = |by, message: &str| Some((by, 2.5, message.to_owned()));
        let system = RunError::System(io::Error::other("no threads"));
        let lost = RunError::AllLost("all agents are lost".to_owned());
        let target = RunError::Target(TargetError("it is gone".to_owned()));
        let gone = "the server no longer answers; gave up after 2.5 s; add --x";
        let deaf = "the server is there, but no longer answers any operation; gave up after 2.5 s; \
                    add --x";
        let refused = "the server refused the credentials after 2.5 s; stopped before it locks the \
                       user out";
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
        let unadvised = ended(None, Some(StopReason::Unreachable), 2.0, None).unwrap();
        assert_eq!(unadvised.message, "the server no longer answers; gave up after 2.0 s");
    }
}
