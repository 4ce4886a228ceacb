//! Warnings about what went on beside the load: probes, followers, and evictions by the server.

use super::code::{Code, DATA_WRONG, Warning};
use super::{RunRecord, StageRecord};
use crate::measure::{OperationSummary, VisibleBy};
use crate::observed::Evicted;
use crate::op::{Failure, OpKind, grouped};
use std::collections::BTreeSet;

/// How late the thread of followers may be without a warning, in microseconds: its timer alone has
/// a granularity of one millisecond.
const LATE_US: f64 = 2_500.0;

/// Adds the warnings about what ran beside a stage.
pub(super) fn of_stage(stage: &StageRecord, warnings: &mut Vec<Warning>) {
    of_probes(stage, warnings);
    of_followers(stage, warnings);
    of_compaction(stage, warnings);
}

/// Adds the warnings about a stage's probes.
fn of_probes(stage: &StageRecord, warnings: &mut Vec<Warning>) {
    let Some(found) = &stage.visibility else { return };
    let mut warn = |code, message| {
        warnings.push(Warning { code, stage: Some(stage.name.clone()), message });
    };
    let because = |reason: &Option<String>| {
        reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"))
    };
    for by in &found.by {
        let VisibleBy { way, node, probes, unseen, reason, .. } = by;
        let node = node.as_ref().map_or_else(String::new, |node| format!(" at {node}"));
        if *probes == 0 && found.written > 0 {
            let message = format!("no probe was looked for by {way}{node}{}", because(reason));
            warn(Code::ProbesFailed, message);
        } else if *unseen > 0 {
            let message = format!(
                "{} of {} acknowledged probes were never seen by {way}{node}; each was \
                 looked for over ten seconds, or until one second after the end",
                grouped(*unseen),
                grouped(*probes),
            );
            warn(Code::NotVisible, message);
        }
    }
    if found.written == 0 {
        let message = format!("no probe was acknowledged{}", because(&found.reason));
        warn(Code::ProbesFailed, message);
    }
    if found.left > 0 {
        let (left, why) = (grouped(found.left), because(&found.reason));
        let message = format!("{left} probe documents could not be removed{why}");
        warn(Code::NotRemoved, message);
    }
}

/// Adds what the server evicted, if documents are missing: it may have removed them on purpose.
pub(super) fn of_evictions(record: &RunRecord, stage: &StageRecord, warnings: &mut Vec<Warning>) {
    let lost = |it: &OperationSummary| {
        it.kind == OpKind::Verify && it.failures.contains_key(&Failure::Lost)
    };
    if !stage.operations.iter().any(lost) {
        return;
    }
    let sources = record.observed.iter().flat_map(|it| &it.sources);
    let evicted: Vec<&Evicted> = sources.filter_map(|it| it.evicted.as_ref()).collect();
    let count: u64 = evicted.iter().map(|it| it.documents).sum();
    if count == 0 {
        return;
    }
    let nouns = record.nouns();
    let (count, many) = (grouped(count), if count == 1 { nouns.one } else { nouns.many });
    let policies: BTreeSet<&str> = evicted.iter().map(|it| it.policy.as_str()).collect();
    let policies = policies.into_iter().collect::<Vec<_>>().join(", ");
    let message =
        format!("during the run, the server evicted {count} {many} to save memory ({policies})");
    warnings.push(Warning { code: Code::DataWrong, stage: Some(stage.name.clone()), message });
}

/// Adds a warning if the compaction of a stage was refused, or has not finished.
fn of_compaction(stage: &StageRecord, warnings: &mut Vec<Warning>) {
    let Some(found) = &stage.compaction else { return };
    let message = match &found.refused {
        Some(why) => format!("the server did not compact: {why}"),
        None if found.ended => return,
        None => {
            format!("the compaction went on when it was given up after {:.0} s", found.length_s)
        }
    };
    warnings.push(Warning { code: Code::Compaction, stage: Some(stage.name.clone()), message });
}

/// Adds the warnings about a stage's followers.
fn of_followers(stage: &StageRecord, warnings: &mut Vec<Warning>) {
    let Some(found) = &stage.following else { return };
    let mut warn = |code, message| {
        warnings.push(Warning { code, stage: Some(stage.name.clone()), message });
    };
    let missing = found.missing();
    if missing > 0 {
        let message = format!(
            "{DATA_WRONG}{} times, the last acknowledged change of a document did not reach \
             a follower, nor did a later one",
            grouped(missing),
        );
        warn(Code::DataWrong, message);
    }
    if found.by.is_empty() {
        let message = "changes were not read: the thread of the followers ended";
        warn(Code::ChangesUnread, message.to_owned());
    }
    for by in found.by.iter().filter(|by| by.missing.is_none()) {
        let node = by.node.as_ref().map_or_else(String::new, |node| format!(" at {node}"));
        let message = match &by.reason {
            Some(reason) => format!("changes{node} were not read to the end: {reason}"),
            None => "whether changes are missing is not known: a filter with one follower, where \
                     nobody else can tell"
                .to_owned(),
        };
        warn(Code::ChangesUnread, message);
    }
    let lag = found.by.iter().filter_map(|by| by.lag.p99_us).fold(0.0, f64::max);
    if let Some(late) = found.own_delay.p99_us.filter(|&late| late > LATE_US && late > lag / 5.0) {
        let message = format!(
            "the thread of the followers was itself more than {:.1} ms late one time in a hundred: \
             times of changes may be longer by that",
            late / 1e3
        );
        warn(Code::FollowersLate, message);
    }
}
