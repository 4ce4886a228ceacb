//! Makes a plan from a specification, or reports every mistake in it.

use super::check_drill;
use super::databases;
use super::http;
use super::load::{
    check_give_up, check_length, check_load, check_max_answer, check_threads, most_connections,
    pace, staged, thresholds,
};
use super::noise::Noise;
use super::operations::{self, Defined};
use super::planned::{FillPlan, MOST_CONNECTIONS, MOST_THREADS, Plan, PlanRecord};
use super::replicate;
use super::schemas::SchemaPlan;
use super::spec::{LoadSpec, PlanSpec};
use super::stage::StagePlan;
use super::target::target;
use crate::clock::SECOND_NS;
use crate::driver::{Card, Databases, Existing, TargetPlan};
use crate::engine::Pace;
use crate::mistake::{Flagged, Invalid};
use crate::op::Feature;
use crate::workload::{AuditDemand, Purpose, build_indexes, create_databases, delete_databases};

/// Makes a plan from a specification.
///
/// # Errors
/// Returns every mistake found, each with its flag and its cure.
pub fn check(spec: &PlanSpec) -> Result<Plan, Vec<Invalid>> {
    let drilled = spec.drill.as_ref().map(|asked| check_drill::complete(spec, asked));
    let plan = check_complete(drilled.as_ref().unwrap_or(spec))?;
    Ok(match &spec.audited {
        Some(of) => plan.auditing(of),
        None => plan,
    })
}

/// As [`check`], once a drill's additions have been made.
fn check_complete(spec: &PlanSpec) -> Result<Plan, Vec<Invalid>> {
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
    let stages = stages(spec, target.as_ref());
    let (operations, data) = operations::read(spec, &mut mistakes);
    let thresholds = thresholds(&spec.thresholds, &stages, &operations, &mut mistakes);
    let most_connections = most_connections(&spec.load, connections as u64, &stages, &mut mistakes);
    if mistakes.is_empty() {
        spec.work.check_shares(connections, &mut mistakes);
    }
    if let Some(card) = target.as_ref().map(TargetPlan::card) {
        check_driver(spec, &stages, &card, &mut mistakes);
    }
    if let Some(target) = &target {
        let listed = http::is_list(target);
        let defined = Defined { operations: &operations, data: &data, ids: &spec.ids, listed };
        operations::check(defined, target, &stages, &schemas, &mut mistakes);
        databases::check(spec, target, &stages, &mut mistakes);
    }
    let observe = super::observe::check(&spec.observe, &spec.tls, &mut mistakes);
    let drill = check_drill::check(spec, target.as_ref(), &stages, &mut mistakes);
    super::probe::check(spec.probe.as_ref(), target.as_ref().map(|it| it.ways()), &mut mistakes);
    let replication = replicate::check(spec, target.as_ref(), &stages, &mut mistakes);
    let Some(target) = target.filter(|_| mistakes.is_empty()) else { return Err(mistakes) };
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    // The stand-in runs on this machine, too, and needs its own cores.
    let default = if target.is_stand_in() { cores / 2 } else { cores };
    Ok(Plan::proved(PlanRecord {
        command: spec.command.clone(),
        label: None,
        target,
        connections,
        most_connections,
        threads: spec.threads.map_or(default, |it| it as usize).clamp(1, connections),
        seed: spec.seed,
        ids: spec.ids.clone(),
        timeout_ns: spec.timeout_ns,
        give_up_ns: spec.give_up_ns,
        max_answer: spec.max_answer,
        schemas,
        stages,
        fill: spec.fill,
        verify: spec.verify,
        audit: spec.audit,
        probe: spec.probe.clone(),
        follow: spec.follow.clone(),
        drill,
        replication,
        observe,
        operations,
        data,
        thresholds,
        noise: Noise::default(),
        baseline: None,
        http: spec.http.clone(),
        ycsb: spec.measurement.clone(),
        fleet: None,
    }))
}

/// Refuses requests that the driver cannot fulfill.
fn check_driver(spec: &PlanSpec, stages: &[StagePlan], card: &Card, mistakes: &mut Vec<Invalid>) {
    mistakes.extend(verify_mistake(spec, stages, card));
    mistakes.extend(audit_mistake(spec, stages, card));
    let designs = card.lack("--ddocs", Feature::Designs);
    mistakes.extend(designs.filter(|_| spec.options.contains_key("ddocs")));
    super::follow::check(spec, card, mistakes);
    check_card(card, spec.target_flag, stages, &spec.fill, mistakes);
}

/// Refuses plans that the driver cannot carry out.
pub(super) fn check_card(
    card: &Card,
    flag: &str,
    stages: &[StagePlan],
    fill: &FillPlan,
    mistakes: &mut Vec<Invalid>,
) {
    mistakes.extend(card.refusal(flag, |kind| stages.iter().any(|stage| stage.work.does(kind))));
    let resends = fill.wait_for_server_ns.is_some();
    let needed = |feature: &Feature| match feature {
        Feature::Settling => {
            resends && stages.iter().any(|stage| stage.work.traits().fill.is_some())
        }
        _ => stages.iter().any(|stage| stage.work.traits().needs.contains(feature)),
    };
    // Time series need several features; one message is enough.
    let mut needed = Feature::ALL.into_iter().filter(needed);
    mistakes.extend(needed.find_map(|feature| card.lack(flag, feature)));
}

/// Refuses `--verify` where nothing would be compared.
fn verify_mistake(spec: &PlanSpec, stages: &[StagePlan], card: &Card) -> Option<Invalid> {
    let problem = if !spec.verify {
        return None;
    } else if !card.documents {
        format!("{} does not return documents", card.name)
    } else if !stages.iter().any(|stage| stage.work.traits().verifies) {
        "this workload does not read documents that it has written".to_owned()
    } else {
        return None;
    };
    Some(Invalid::new("--verify", problem, "leave it out"))
}

/// Refuses `--audit` where some writes could not be looked for.
fn audit_mistake(spec: &PlanSpec, stages: &[StagePlan], card: &Card) -> Option<Invalid> {
    let lost = |stage: &&StagePlan| !stage.work.traits().is_auditable;
    let problem = match stages.iter().find(lost) {
        _ if !spec.audit => return None,
        _ if !card.documents => format!("{} does not return documents", card.name),
        Some(_) => "what this workload has written cannot be reconstructed".to_owned(),
        None => return None,
    };
    Some(Invalid::new("--audit", problem, "leave it out"))
}

fn check_ranges(spec: &PlanSpec, mistakes: &mut Vec<Invalid>) {
    mistakes.extend(spec.connections.out_of_range(1, MOST_CONNECTIONS));
    spec.work.check(&spec.ids, mistakes);
    let threads = Flagged::new("--threads", spec.threads.unwrap_or(1));
    mistakes.extend(threads.out_of_range(1, MOST_THREADS));
    mistakes.extend(check_threads(spec.threads, spec.connections));
    if spec.fill.wait_for_server_ns.is_some() && spec.existing == Existing::Yes {
        let problem = "an existing database may already hold documents that are not this run's";
        let cure = "leave out --use-existing";
        mistakes.push(Invalid::new("--wait-for-server", problem, cure));
    }
    mistakes.extend(check_max_answer(spec.max_answer));
    if spec.timeout_ns == 0 {
        mistakes.push(Invalid::new("--timeout", "must be above 0", "give a time such as 30s"));
    }
    mistakes.extend(check_give_up(spec.give_up_ns));
    if spec.schemas.iter().any(|(_, _, weight)| *weight == 0) {
        let cure = "give WEIGHT:FILE with a weight of 1 or more";
        mistakes.push(Invalid::new("--schema", "the weight is 0", cure));
    }
    check_load(&spec.load, mistakes);
    mistakes.extend(check_length(&spec.load, "--duration", spec.duration_ns));
    if spec.duration_ns == Some(0) {
        let cure = "give a time such as 10s, or --ops 0 for none";
        mistakes.push(Invalid::new("--duration", "must be above 0", cure));
    }
    mistakes.extend(spec.headers.iter().filter_map(|header| http::check_header(header)));
}

fn stages(spec: &PlanSpec, target: Option<&TargetPlan>) -> Vec<StagePlan> {
    let databases = target.and_then(|target| target.databases());
    let (pace, length_ns) = paced(spec);
    let indexes = target.map_or(0, |target| target.indexes());
    let mut steps = spec.work.steps();
    if indexes > 0 {
        let fills = steps.iter().take_while(|step| step.purpose == Purpose::Fill).count();
        steps.insert(fills, build_indexes(indexes));
    }
    replicate::add_step(spec, &mut steps);
    if spec.audit {
        // Operations that the plan defines may store documents that are not noted.
        let alone = spec.existing == Existing::No && spec.operations.is_empty();
        let audit = AuditDemand::of(steps.iter().map(|step| &step.work), alone);
        let audit = audit.with_indexes(target.map(|it| it.audited()).unwrap_or_default());
        let nodes = target.filter(|_| spec.drill.is_some()).map_or(0, |it| it.nodes().len());
        steps.extend(audit.steps_at(nodes));
    }
    if let Some(Databases { spread, made, removed, .. }) = databases {
        let count = spread.count.into();
        steps.splice(0..0, made.then(|| create_databases(count)));
        steps.extend(removed.then(|| delete_databases(count)));
    }
    staged(steps, &pace, length_ns, |length_ns| short(&spec.load, spec.seed, length_ns))
}

/// The pace of a stage of length `length_ns`, with every rate lasting that long.
fn short(load: &LoadSpec, seed: u64, length_ns: u64) -> Pace {
    let mut load = load.clone();
    if let LoadSpec::Open { segments, max_in_flight, .. } = &mut load {
        for segment in &mut *segments {
            segment.length_ns = length_ns;
        }
        let peak = segments.iter().map(|it| it.from).fold(0.0, f64::max);
        // All operations of a short stage may be waiting: lateness shows in the response times.
        let most = peak * length_ns as f64 / SECOND_NS as f64;
        max_in_flight.get_or_insert((most as u64).max(1_000));
    }
    pace(&load, seed).0
}

/// The pace of the main stage, and its length if known in advance.
fn paced(spec: &PlanSpec) -> (Pace, Option<u64>) {
    let (pace, schedule_ns) = pace(&spec.load, spec.seed);
    let length_ns = match (schedule_ns, spec.duration_ns) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    };
    (pace, length_ns)
}

#[cfg(test)]
#[path = "check_tests.rs"]
mod tests;
