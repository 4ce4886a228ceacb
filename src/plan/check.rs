//! Makes a plan of what was asked, or says everything that is wrong with it.

use super::Invalid;
use super::burst;
use super::schemas::SchemaPlan;
use super::spec::{LoadSpec, PlanSpec};
use super::stage::StagePlan;
use super::threshold::Threshold;
use super::{MOST_CONNECTIONS, Plan, TargetPlan, ycsb};
use crate::clock::SECOND_NS;
use crate::driver::http::HttpTarget;
use crate::driver::{Existing, TargetAsked};
use crate::engine::{Pace, Schedule};
use crate::schema::Ids;
use crate::workload::{Budget, BulkInsertPlan, CrudOrder, MixedPlan, Purpose, StageWork as _};

/// At 32 bytes each in memory, more than this is out of any client's reach.
const MOST_DOCUMENTS: u64 = 10_000_000_000;
pub(super) const MOST_BATCH: u64 = 1_000_000;
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
    let connections = spec.connections.clamp(1, MOST_CONNECTIONS) as usize;
    let stages = stages(spec);
    let thresholds = thresholds(&spec.thresholds, &stages, &mut mistakes);
    if mistakes.is_empty() {
        // YCSB's operations go to records that others may have loaded.
        check_documents(spec, connections, &mut mistakes);
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
        http: ycsb::http(spec),
        ycsb: spec.ycsb.as_ref().and_then(|ycsb| ycsb.measurement.clone()),
    })
}

fn check_ranges(spec: &PlanSpec, mistakes: &mut Vec<Invalid>) {
    let cushion = spec.order == CrudOrder::Current;
    let name = |native, original| if cushion { original } else { native };
    let native = if spec.burst.is_some() { "--workers" } else { "--connections" };
    let connections = name(native, "--num_connections");
    let documents = name("--docs", "--num_documents_per_bulk_insert");
    let batch = name("--batch", "--num_documents_per_bulk_insert");
    let operations = name("--ops", "--num_crud_operations");
    for (flag, value, least, most) in [
        (connections, spec.connections, 1, MOST_CONNECTIONS),
        (documents, spec.documents, 0, MOST_DOCUMENTS),
        (batch, spec.batch, u64::from(spec.documents > 0), MOST_BATCH),
        (operations, spec.operations.unwrap_or(0), 0, MOST_DOCUMENTS),
        ("--threads", spec.threads.unwrap_or(1), 1, MOST_THREADS),
    ] {
        check_range((flag, value), (least, most), mistakes);
    }
    mistakes.extend(check_threads(spec.threads, (connections, spec.connections)));
    if let Some(burst) = &spec.burst {
        burst::check(burst, &spec.ids, mistakes);
    }
    if spec.fill.wait_for_server_ns.is_some() && spec.use_existing {
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
    if spec.documents == 0 && spec.operations == Some(0) && spec.ycsb.is_none() {
        let cure = "insert documents, or do operations on them";
        mistakes.push(Invalid::new(operations, "there is nothing to do", cure));
    }
}

/// Refuses a number out of its range.
pub(super) fn check_range(
    (flag, value): (&str, u64),
    (least, most): (u64, u64),
    mistakes: &mut Vec<Invalid>,
) {
    if value < least || value > most {
        let cure = format!("give a number from {least} to {most}");
        mistakes.push(Invalid::new(flag, format!("{value} is out of range"), cure));
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
pub(super) fn check_threads(threads: Option<u64>, (flag, count): (&str, u64)) -> Option<Invalid> {
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

/// Refuses operations that would find no document, connection by connection.
fn check_documents(spec: &PlanSpec, connections: usize, mistakes: &mut Vec<Invalid>) {
    if spec.burst.is_some() || spec.ycsb.is_some() || spec.operations == Some(0) {
        return;
    }
    let batch = spec.batch.clamp(1, MOST_BATCH) as u32;
    let bulk = BulkInsertPlan { documents: spec.documents, batch };
    let mixed = MixedPlan { mix: spec.mix, operations: spec.operations, order: spec.order };
    let cushion = spec.order == CrudOrder::Current;
    let (mix, docs) = if cushion {
        ("--delete_weight", "--num_bulk_insert_operations")
    } else {
        ("--mix", "--docs")
    };
    for k in 0..connections {
        let keys = bulk.keys(k, connections);
        let inserted = keys.end - keys.start;
        match mixed.budget(k, connections) {
            Budget::Counted([creates, reads, updates, deletes]) => {
                if deletes > inserted + creates {
                    let problem = format!(
                        "{deletes} docs deleted > {} docs inserted per connection",
                        inserted + creates
                    );
                    let cure =
                        format!("raise {docs} or the weight of creates, or lower that of deletes");
                    mistakes.push(Invalid::new(mix, problem, cure));
                } else if inserted + creates == 0 && reads + updates > 0 {
                    mistakes.push(nothing_to_read(docs, connections));
                }
            }
            Budget::Endless(weights) => {
                if inserted == 0 && weights.create == 0 {
                    mistakes.push(nothing_to_read(docs, connections));
                }
            }
            Budget::Shared(_) => {}
        }
        if !mistakes.is_empty() {
            return;
        }
    }
}

fn nothing_to_read(flag: &str, connections: usize) -> Invalid {
    let problem = "a connection would have no document to read, update or delete";
    let cure = format!(
        "insert at least one for each of the {connections} connections, use fewer, or mix in creates"
    );
    Invalid::new(flag, problem, cure)
}

fn stages(spec: &PlanSpec) -> Vec<StagePlan> {
    if let Some(ycsb) = &spec.ycsb {
        return ycsb::stages(spec, ycsb, paced(spec));
    }
    let closed = Pace::Closed { think_ns: 0 };
    if let Some(burst) = &spec.burst {
        return burst::stages(spec, burst);
    }
    let mut stages = Vec::new();
    if spec.documents > 0 {
        let batch = spec.batch.clamp(1, MOST_BATCH) as u32;
        let work = BulkInsertPlan { documents: spec.documents, batch }.into();
        stages.push(StagePlan {
            name: "bulk_insert".into(),
            purpose: Some(Purpose::Fill),
            work,
            pace: closed,
            length_ns: None,
        });
    }
    if spec.operations == Some(0) {
        return stages;
    }
    let (pace, length_ns) = paced(spec);
    let mixed = |operations| MixedPlan { mix: spec.mix, operations, order: spec.order };
    if spec.warmup_ns > 0 {
        stages.push(StagePlan {
            name: "warm_up".into(),
            purpose: Some(Purpose::WarmUp),
            work: mixed(None).into(),
            pace: pace.clone(),
            length_ns: Some(spec.warmup_ns),
        });
    }
    let work = mixed(spec.operations).into();
    let (name, purpose) = ("crud".to_owned(), Some(Purpose::Main));
    stages.push(StagePlan { name, purpose, work, pace, length_ns });
    stages
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
    if let Some(list) = ycsb::http(spec) {
        return Ok(TargetPlan::Http(HttpTarget::new(&list, spec.tls_ca.clone())));
    }
    let kept = spec.ycsb.as_ref().is_some_and(|ycsb| ycsb.kept);
    let prefix = match (&spec.ycsb, &spec.ids) {
        (Some(ycsb), _) => &*ycsb.config.keys.prefix,
        (None, Ids::Prefix(text)) => text,
        (None, _) => "",
    };
    TargetPlan::check(&TargetAsked {
        address: spec.target.clone(),
        flag: spec.target_flag,
        database: spec.database.clone(),
        existing: match (kept, spec.use_existing) {
            (true, _) => Existing::Maybe,
            (false, true) => Existing::Yes,
            (false, false) => Existing::No,
        },
        keep: spec.keep,
        auth: spec.auth,
        auth_flag: if kept { "--basic-auth" } else { "--auth" },
        tls_ca: spec.tls_ca.clone(),
        id_prefix: prefix.to_owned(),
        options: spec.ycsb.as_ref().map(|ycsb| ycsb.options.clone()).unwrap_or_default(),
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
