//! Checks replication beside the load, and adds its stage.

use super::replication::ReplicatePlan;
use super::spec::PlanSpec;
use super::stage::StagePlan;
use super::target::asked_target;
use crate::clock::{Nanos, SECOND_NS};
use crate::driver::{Existing, TargetAsked, TargetPlan};
use crate::mistake::Invalid;
use crate::op::Feature;
use crate::workload::{Purpose, REPLICATED, Step};

/// The most databases of a run.
const MOST_PLACES: usize = 32;
/// The shortest time between two markers, in nanoseconds.
const LEAST_EVERY_NS: Nanos = SECOND_NS / 100;
const YEAR_NS: Nanos = 366 * 86_400 * SECOND_NS;
const FLAG: &str = "TARGET";

/// Adds the stage in which the load goes on beside the replication, if there is one.
pub(super) fn add_step(spec: &PlanSpec, steps: &mut Vec<Step>) {
    let is_main = |step: &Step| step.purpose == Purpose::Main;
    if spec.replicate.is_some()
        && let Some(main) = steps.iter().rposition(is_main)
    {
        let (name, purpose) = (REPLICATED.to_owned(), Purpose::Replicated);
        let again = Step { name, purpose, ..steps[main].clone() };
        steps.insert(main + 1, again);
    }
}

/// Checks the requested replication; `target` is the first database.
pub(super) fn check(
    spec: &PlanSpec,
    target: Option<&TargetPlan>,
    stages: &[StagePlan],
    mistakes: &mut Vec<Invalid>,
) -> Option<ReplicatePlan> {
    let asked = spec.replicate.as_ref()?;
    let mut refuse =
        |flag: &str, problem: String, cure: &str| mistakes.push(Invalid::new(flag, problem, cure));
    if spec.probe.is_some() {
        let problem = "markers already show when a write can be seen at a target";
        refuse("--probe", problem.to_owned(), "leave it out");
    }
    if spec.fill.growth {
        let problem = "replication changes how the database grows";
        refuse("--growth", problem.to_owned(), "leave it out, or use run");
    }
    if !stages.iter().any(|stage| stage.purpose() == Purpose::Replicated) {
        let problem = "without operations there is no load to compare with and without replication";
        refuse("--ops", problem.to_owned(), "leave it out, or give a number above 0");
    }
    let cure = "give a time such as 100ms";
    for (flag, ns, least, words) in [
        ("--marker-every", asked.marker_every_ns, LEAST_EVERY_NS, "is below 10ms"),
        ("--start-timeout", asked.start_timeout_ns, 1, "must be above 0"),
        ("--converge-timeout", asked.converge_timeout_ns, 1, "must be above 0"),
    ] {
        if ns < least {
            refuse(flag, words.to_owned(), cure);
        }
    }
    let target = target?;
    let card = target.card();
    if target.is_stand_in() {
        let problem = "the stand-in does not replicate";
        refuse(FLAG, problem.to_owned(), "give the addresses of two CouchDB servers");
        return None;
    }
    if let Some(lack) = card.lack(FLAG, Feature::Replication) {
        mistakes.push(lack);
        return None;
    }
    let count = asked.others.len() + 1;
    if count == 1 || count > MOST_PLACES {
        let problem = match count {
            1 => "there is only one address, so nothing to replicate to".to_owned(),
            _ => format!("{count} addresses"),
        };
        let cure = "give from 2 to 32; the same server may be given several times";
        refuse(FLAG, problem, cure);
        return None;
    }
    let others = others(spec, &asked.others, mistakes)?;
    let places: Vec<_> = std::iter::once(target).chain(&others).collect();
    mistakes.extend(twice(&places, FLAG));
    Some(ReplicatePlan {
        topology: asked.topology,
        others,
        push: asked.push,
        marker_every_ns: asked.marker_every_ns,
        start_timeout_ns: asked.start_timeout_ns,
        converge_timeout_ns: asked.converge_timeout_ns,
    })
}

/// The other databases; `None` after a mistake.
fn others(
    spec: &PlanSpec,
    addresses: &[String],
    mistakes: &mut Vec<Invalid>,
) -> Option<Vec<TargetPlan>> {
    let mut others = Vec::new();
    for address in addresses {
        let mut asked = asked_target(spec);
        // Design documents arrive by replication.
        asked.options.retain(|name, _| name == "roles");
        let named = address.split_once("://").map_or(&**address, |(_, rest)| rest);
        let named = named.split('?').next().unwrap_or_default();
        let named = named.split_once('/').is_some_and(|(_, name)| !name.is_empty());
        let existing = if named { asked.existing } else { Existing::No };
        let address = Some(address.clone());
        match TargetPlan::check(&TargetAsked { address, existing, ..asked }) {
            Ok(target) => match target.card().lack(FLAG, Feature::Replication) {
                None => others.push(target),
                Some(lack) => mistakes.push(lack),
            },
            Err(mistake) => mistakes.push(mistake),
        }
    }
    (others.len() == addresses.len()).then_some(others)
}

/// Refuses a named database that is given twice: it would be replicated to itself.
fn twice(places: &[&TargetPlan], flag: &str) -> Option<Invalid> {
    let of = |it: &TargetPlan| Some((it.address()?, it.named_database()?.to_owned()));
    let same = |(place, it): (usize, &&TargetPlan)| {
        let named = of(it)?;
        let before = places[..place].iter().any(|other| of(other).as_ref() == Some(&named));
        before.then_some(named)
    };
    let (server, name) = places.iter().enumerate().find_map(same)?;
    let problem = format!("database {name:?} on {server} is given twice");
    Some(Invalid::new(flag, problem, "give each database once: nothing is replicated to itself"))
}

/// As [`check`], for a stored plan.
pub(super) fn check_again(
    plan: &ReplicatePlan,
    target: &TargetPlan,
    stages: &[StagePlan],
    mistakes: &mut Vec<Invalid>,
) {
    let cure = "make the plan again, from its command line";
    let mut refuse = |problem: String| {
        mistakes.push(Invalid::new("replication", problem, cure));
    };
    let places: Vec<_> = std::iter::once(target).chain(&plan.others).collect();
    if !(2..=MOST_PLACES).contains(&places.len()) {
        refuse(format!("{} databases", places.len()));
    }
    let unfit = |it: &&&TargetPlan| {
        it.is_stand_in() || it.card().lack(FLAG, Feature::Replication).is_some()
    };
    if places.iter().find(unfit).is_some() {
        refuse("a database that does not replicate".to_owned());
    }
    for problem in plan.others.iter().filter_map(|it| it.problem()) {
        refuse(problem);
    }
    let times = [plan.marker_every_ns, plan.start_timeout_ns, plan.converge_timeout_ns];
    if plan.marker_every_ns < LEAST_EVERY_NS || times.iter().any(|ns| !(1..=YEAR_NS).contains(ns)) {
        refuse("times out of range".to_owned());
    }
    if stages.iter().filter(|stage| stage.purpose() == Purpose::Replicated).count() != 1 {
        refuse(format!("not one stage called {REPLICATED}"));
    }
    mistakes.extend(twice(&places, "replication"));
}
