//! What all runs have in common: pacing, thresholds, limits.

use super::operations::is_done;
use super::planned::MOST_CONNECTIONS;
use super::spec::LoadSpec;
use super::stage::StagePlan;
use super::threshold::Threshold;
use super::usual::{OPEN_END_NS, usual_in_flight};
use crate::clock::SECOND_NS;
use crate::driver::OperationPlan;
use crate::engine::{Pace, Schedule};
use crate::mistake::{Flagged, Invalid};
use crate::op::OpKind;
use crate::workload::{Due, Step};

/// Above this, the verdict would mistake the delay for the client's own lateness.
pub(super) const MOST_SLACK_NS: u64 = 1_000_000;

/// Refuses a duration that goes on after the last rate.
pub(super) fn check_length(
    load: &LoadSpec,
    flag: &str,
    duration_ns: Option<u64>,
) -> Option<Invalid> {
    let LoadSpec::Open { segments, .. } = load else { return None };
    let ends = segments.iter().all(|segment| segment.length_ns > 0);
    let length_ns: u64 = segments.iter().map(|segment| segment.length_ns).sum();
    (ends && duration_ns? > length_ns).then(|| {
        let problem = format!("--stages end after {} s", length_ns as f64 / SECOND_NS as f64);
        Invalid::new(flag, problem, "leave it out, or give longer stages")
    })
}

/// Refuses threads that would have no connection.
pub(super) fn check_threads(threads: Option<u64>, connections: Flagged<u64>) -> Option<Invalid> {
    let Flagged { flag, value: count } = connections;
    let threads = threads.filter(|&threads| count > 0 && threads > count)?;
    let problem = format!("{threads} threads for {count} connections leave some without one");
    Some(Invalid::new("--threads", problem, format!("give at most {count}, or more {flag}")))
}

/// Refuses rates of zero.
pub(super) fn check_load(load: &LoadSpec, mistakes: &mut Vec<Invalid>) {
    let LoadSpec::Open { segments, max_in_flight, slack_ns, .. } = load else { return };
    if segments.iter().any(|s| s.from + s.to <= 0.0) {
        let cure = "give operations per second above 0";
        let timed = segments.iter().any(|segment| segment.length_ns > 0);
        let flag = if timed { "--stages" } else { "--rate" };
        mistakes.push(Invalid::new(flag, "the rate is 0", cure));
    }
    if *max_in_flight == Some(0) {
        let cure = "give at least 1";
        mistakes.push(Invalid::new("--max-in-flight", "0 would drop everything", cure));
    }
    if *slack_ns > MOST_SLACK_NS {
        let cure = "give at most 1ms";
        let problem = "operations started that late would count as the client's fault";
        mistakes.push(Invalid::new("--slack", problem, cure));
    }
}

/// How many connections the stages may open, if more than they start with. Fewer are refused.
pub(super) fn most_connections(
    load: &LoadSpec,
    connections: u64,
    stages: &[StagePlan],
    mistakes: &mut Vec<Invalid>,
) -> Option<usize> {
    let LoadSpec::Open { most_connections: Some(most), .. } = *load else { return None };
    let asked = Flagged::new("--max-connections", most);
    mistakes.extend(asked.out_of_range(connections, MOST_CONNECTIONS));
    let grows = |it: &StagePlan| matches!(it.pace, Pace::Open { .. }) && it.work.traits().grows;
    (most > connections && stages.iter().any(grows)).then_some(most as usize)
}

/// The requested stages, each with its pace.
pub(super) fn staged(
    steps: Vec<Step>,
    pace: &Pace,
    length_ns: Option<u64>,
    short: impl Fn(u64) -> Pace,
) -> Vec<StagePlan> {
    let stage = |Step { name, purpose, work, timing }: Step| {
        let (pace, length_ns) = match timing {
            Due::Free => (Pace::Closed { think_ns: 0 }, None),
            Due::Asked => (pace.clone(), length_ns),
            Due::AskedFor(length_ns) => (pace.clone(), Some(length_ns)),
            Due::Short(length_ns) => (short(length_ns), Some(length_ns)),
        };
        StagePlan { name, purpose: Some(purpose), work, pace, length_ns }
    };
    steps.into_iter().map(stage).collect()
}

/// The pace of the main stage, and the length of its schedule if it has an end.
pub(super) fn pace(load: &LoadSpec, seed: u64) -> (Pace, Option<u64>) {
    match load {
        LoadSpec::Closed { think_ns } => (Pace::Closed { think_ns: *think_ns }, None),
        LoadSpec::Open { segments, arrivals, max_in_flight, slack_ns, .. } => {
            let open_end = segments.iter().any(|segment| segment.length_ns == 0);
            let mut segments = segments.clone();
            for segment in &mut segments {
                if segment.length_ns == 0 {
                    segment.length_ns = OPEN_END_NS;
                }
            }
            let max_in_flight = max_in_flight.unwrap_or_else(|| usual_in_flight(&segments));
            let schedule = Schedule { segments, arrivals: *arrivals, seed };
            let length = (!open_end).then(|| schedule.length_ns());
            (Pace::Open { schedule, max_in_flight, slack_ns: *slack_ns }, length)
        }
    }
}

/// Reads the thresholds, and refuses those for operations that no stage performs.
pub(super) fn thresholds(
    texts: &[String],
    stages: &[StagePlan],
    operations: &[OperationPlan],
    mistakes: &mut Vec<Invalid>,
) -> Vec<Threshold> {
    let mut thresholds = Vec::new();
    for text in texts {
        match text.parse::<Threshold>() {
            Err(error) => mistakes.push(Invalid::new("--fail-if", error.problem, error.cure)),
            Ok(threshold) => {
                if let Some(kind) = threshold.kind
                    && !is_done(kind, stages, operations)
                {
                    mistakes
                        .push(not_done(&threshold, kind, |kind| is_done(kind, stages, operations)));
                }
                thresholds.push(threshold);
            }
        }
    }
    thresholds
}

/// Refuses a threshold for operations that no stage performs.
fn not_done(threshold: &Threshold, kind: OpKind, does: impl Fn(OpKind) -> bool) -> Invalid {
    let problem = format!("no stage does the operations of {threshold}");
    let mut cure = format!("add {kind} operations, or leave it out");
    if kind.is_own() {
        // It may be misspelt.
        let names = OpKind::known().into_iter().filter(|kind| does(*kind)).map(OpKind::name);
        cure = format!("give all, {}", names.collect::<Vec<_>>().join(", "));
    }
    Invalid::new("--fail-if", problem, cure)
}

/// Refuses a limit of 0 for giving up.
pub(super) fn check_give_up(give_up_ns: Option<u64>) -> Option<Invalid> {
    let cure = "give a time such as 1m";
    (give_up_ns == Some(0)).then(|| Invalid::new("--give-up", "must be above 0", cure))
}

/// Refuses a limit of 0 for responses.
pub(super) fn check_max_answer(bytes: u64) -> Option<Invalid> {
    let cure = "give the largest size to accept, such as 64MB";
    (bytes == 0).then(|| Invalid::new("--max-answer", "must be above 0", cure))
}
