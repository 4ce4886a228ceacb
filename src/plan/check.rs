//! Makes a plan of what was asked, or says everything that is wrong with it.

use super::schemas::SchemaPlan;
use super::spec::{LoadSpec, PlanSpec};
use super::stage::StagePlan;
use super::threshold::Threshold;
use super::{Flagged, Invalid};
use super::{MOST_CONNECTIONS, Plan, TargetPlan, http};
use crate::clock::SECOND_NS;
use crate::driver::{Existing, TargetAsked};
use crate::engine::{Pace, Schedule};
use crate::schema::Ids;
use crate::workload::{StageWork as _, Step, Timing};

const MOST_THREADS: u64 = 256;
/// What the verdict takes for the client's own lateness begins above it.
const MOST_SLACK_NS: u64 = 1_000_000;

/// Makes a plan of what was asked.
///
/// # Errors
/// Every mistake that was found, each with its flag and its cure.
pub fn check(spec: &PlanSpec) -> Result<Plan, Vec<Invalid>> {
    let mut mistakes = Vec::new();
    check_ranges(spec, &mut mistakes);
    let target = target(spec).map_err(|mistake| mistakes.push(mistake)).ok();
    let mut schemas = Vec::new();
    for (flag, source, weight) in &spec.schemas {
        match SchemaPlan::load(flag, source, *weight) {
            Ok(schema) => schemas.push(schema),
            Err(mistake) => mistakes.push(mistake),
        }
    }
    if spec.schemas.is_empty() {
        schemas.push(SchemaPlan::built_in());
    }
    let connections = spec.connections.value.clamp(1, MOST_CONNECTIONS) as usize;
    let stages = stages(spec);
    let thresholds = thresholds(&spec.thresholds, &stages, &mut mistakes);
    if mistakes.is_empty() {
        spec.work.check_shares(connections, &mut mistakes);
    }
    if let Some(card) = target.as_ref().map(TargetPlan::card) {
        let done = |kind| stages.iter().any(|stage| stage.work.does(kind));
        mistakes.extend(card.refusal(spec.target_flag, done));
    }
    let Some(target) = target.filter(|_| mistakes.is_empty()) else { return Err(mistakes) };
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    // The stand-in lives on this machine too and needs a core of its own.
    let default_threads = if target.is_stand_in() { cores / 2 } else { cores };
    let threads = spec.threads.map_or(default_threads, |threads| threads as usize);
    Ok(Plan {
        command: spec.command.clone(),
        target,
        connections,
        threads: threads.clamp(1, connections),
        seed: spec.seed,
        ids: spec.ids.clone(),
        timeout_ns: spec.timeout_ns,
        max_answer: spec.max_answer,
        schemas,
        stages,
        fill: spec.fill,
        thresholds,
        http: spec.http.clone(),
        ycsb: spec.measurement.clone(),
    })
}

fn check_ranges(spec: &PlanSpec, mistakes: &mut Vec<Invalid>) {
    mistakes.extend(spec.connections.out_of_range(1, MOST_CONNECTIONS));
    spec.work.check(&spec.ids, mistakes);
    let threads = Flagged::new("--threads", spec.threads.unwrap_or(1));
    mistakes.extend(threads.out_of_range(1, MOST_THREADS));
    mistakes.extend(check_threads(spec.threads, spec.connections));
    if spec.fill.wait_for_server_ns.is_some() && spec.existing == Existing::Yes {
        let problem = "in a database with documents of its own, what is there already may not be \
                       this run's";
        let cure = "leave out --use-existing";
        mistakes.push(Invalid::new("--wait-for-server", problem, cure));
    }
    mistakes.extend(check_max_answer(spec.max_answer));
    if spec.timeout_ns == 0 {
        mistakes.push(Invalid::new("--timeout", "no operation can take no time", "give 30s or so"));
    }
    if spec.schemas.iter().any(|(_, _, weight)| *weight == 0) {
        let cure = "give WEIGHT:FILE with a weight of 1 or more";
        mistakes.push(Invalid::new("--schema", "a weight of zero", cure));
    }
    check_load(&spec.load, mistakes);
    mistakes.extend(check_length(&spec.load, ("--duration", spec.duration_ns)));
    if spec.duration_ns == Some(0) {
        let cure = "give 10s or so, or --ops 0 for none";
        mistakes.push(Invalid::new("--duration", "no operation fits into no time", cure));
    }
}

/// Refuses a duration that goes on when no rate is left.
pub(super) fn check_length(
    load: &LoadSpec,
    (flag, duration_ns): (&str, Option<u64>),
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
    Some(Invalid::new("--threads", problem, format!("give {count} at most, or more {flag}")))
}

/// Refuses rates that offer nothing.
pub(super) fn check_load(load: &LoadSpec, mistakes: &mut Vec<Invalid>) {
    let LoadSpec::Open { segments, max_in_flight, slack_ns, .. } = load else { return };
    if segments.iter().any(|s| s.from + s.to <= 0.0) {
        let cure = "give operations per second above 0";
        let timed = segments.iter().any(|segment| segment.length_ns > 0);
        let flag = if timed { "--stages" } else { "--rate" };
        mistakes.push(Invalid::new(flag, "a rate of zero offers nothing", cure));
    }
    if *max_in_flight == Some(0) {
        let cure = "give at least 1";
        mistakes.push(Invalid::new("--max-in-flight", "0 would drop everything", cure));
    }
    if *slack_ns > MOST_SLACK_NS {
        let cure = "give at most 1ms";
        let problem = "so late a start would count as the client's fault";
        mistakes.push(Invalid::new("--slack", problem, cure));
    }
}

/// The stages that were asked for, with the pace of each.
pub(super) fn staged(
    steps: Vec<Step>,
    pace: &Pace,
    length_ns: Option<u64>,
    short: impl Fn(u64) -> Pace,
) -> Vec<StagePlan> {
    let stage = |Step { name, purpose, work, timing }: Step| {
        let (pace, length_ns) = match timing {
            Timing::Free => (Pace::Closed { think_ns: 0 }, None),
            Timing::Asked => (pace.clone(), length_ns),
            Timing::AskedFor(length_ns) => (pace.clone(), Some(length_ns)),
            Timing::Short(length_ns) => (short(length_ns), Some(length_ns)),
        };
        StagePlan { name, purpose: Some(purpose), work, pace, length_ns }
    };
    steps.into_iter().map(stage).collect()
}

fn stages(spec: &PlanSpec) -> Vec<StagePlan> {
    let (pace, length_ns) = paced(spec);
    staged(spec.work.steps(), &pace, length_ns, |length_ns| short(&spec.load, spec.seed, length_ns))
}

/// The pace of a stage that is so long, and so is each of its rates.
fn short(load: &LoadSpec, seed: u64, length_ns: u64) -> Pace {
    let mut load = load.clone();
    if let LoadSpec::Open { segments, max_in_flight, .. } = &mut load {
        for segment in &mut *segments {
            segment.length_ns = length_ns;
        }
        let peak = segments.iter().map(|it| it.from).fold(0.0, f64::max);
        // The whole of a short stage may wait: what is late is seen in response times.
        let most = peak * length_ns as f64 / SECOND_NS as f64;
        max_in_flight.get_or_insert((most as u64).max(1_000));
    }
    pace(&load, seed).0
}

/// The pace of the main stage, and how long it lasts if it has an end in time.
fn paced(spec: &PlanSpec) -> (Pace, Option<u64>) {
    let (pace, schedule_ns) = pace(&spec.load, spec.seed);
    let length_ns = match (schedule_ns, spec.duration_ns) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    };
    (pace, length_ns)
}

/// The pace of the main stage, and the length of its schedule if it has an end.
pub(super) fn pace(load: &LoadSpec, seed: u64) -> (Pace, Option<u64>) {
    match load {
        LoadSpec::Closed { think_ns } => (Pace::Closed { think_ns: *think_ns }, None),
        LoadSpec::Open { segments, arrivals, max_in_flight, slack_ns } => {
            let open_end = segments.iter().any(|segment| segment.length_ns == 0);
            let mut segments = segments.clone();
            for segment in &mut segments {
                if segment.length_ns == 0 {
                    // A year: the operations or the duration end the stage.
                    segment.length_ns = 366 * 86_400 * SECOND_NS;
                }
            }
            let peak = segments.iter().map(|s| s.from.max(s.to)).fold(0.0, f64::max);
            let schedule = Schedule { segments, arrivals: *arrivals, seed };
            let length = (!open_end).then(|| schedule.length_ns());
            // Ten seconds of work at the peak: enough for a long stall, finite in memory.
            let default = ((peak * 10.0) as u64).max(1_000);
            let max_in_flight = max_in_flight.unwrap_or(default);
            (Pace::Open { schedule, max_in_flight, slack_ns: *slack_ns }, length)
        }
    }
}

/// Reads the thresholds, and refuses those about operations that no stage does.
pub(super) fn thresholds(
    texts: &[String],
    stages: &[StagePlan],
    mistakes: &mut Vec<Invalid>,
) -> Vec<Threshold> {
    let mut thresholds = Vec::new();
    for text in texts {
        match text.parse::<Threshold>() {
            Err(error) => mistakes.push(Invalid::new("--fail-if", error.problem, error.cure)),
            Ok(threshold) => {
                if let Some(kind) = threshold.kind
                    && !stages.iter().any(|stage| stage.work.does(kind))
                {
                    let problem = format!("no stage does what {threshold} judges");
                    let cure = format!("plan for {kind} operations, or leave it out");
                    mistakes.push(Invalid::new("--fail-if", problem, cure));
                }
                thresholds.push(threshold);
            }
        }
    }
    thresholds
}

/// What is asked of the target.
fn target(spec: &PlanSpec) -> Result<TargetPlan, Invalid> {
    if let Some(list) = &spec.http {
        return Ok(http::target(list, spec.tls_ca.clone()));
    }
    let prefix = match (spec.work.id_prefix(), &spec.ids) {
        (Some(prefix), _) => prefix,
        (None, Ids::Prefix(text)) => text,
        (None, _) => "",
    };
    TargetPlan::check(&TargetAsked {
        address: spec.target.clone(),
        flag: spec.target_flag,
        database: spec.database.clone(),
        existing: spec.existing,
        keep: spec.keep,
        auth: spec.auth.value,
        auth_flag: spec.auth.flag,
        tls_ca: spec.tls_ca.clone(),
        id_prefix: prefix.to_owned(),
        options: spec.options.clone(),
    })
}

/// What is wrong with the largest answer that is to be read.
pub(super) fn check_max_answer(bytes: u64) -> Option<Invalid> {
    let cure = "give 64MB, or as much as one answer may have";
    (bytes == 0).then(|| Invalid::new("--max-answer", "no answer has no bytes", cure))
}

#[cfg(test)]
#[path = "check_tests.rs"]
mod tests;
