//! Bursts as planned: who does what, how long, how often.

use super::Invalid;
use super::spec::{LoadSpec, PlanSpec};
use super::stage::StagePlan;
use crate::clock::{Nanos, SECOND_NS};
use crate::engine::{Pace, Schedule};
use crate::schema::Ids;
use crate::workload::{BodySize, BurstPlan, Filling, Purpose, Role, WorkloadPlan};

/// What is asked of bursts.
#[derive(Clone, Debug)]
pub struct BurstSpec {
    /// The roles, [`Role::Write`] and [`Role::Read`] alone, in order.
    pub roles: Vec<Role>,
    /// How long each burst is.
    pub length_ns: Nanos,
    /// How large documents are.
    pub size: BodySize,
    /// What they are made of.
    pub filling: Filling,
    /// Readers name the revision that they have read.
    pub conditional: bool,
    /// How long the start waits for workers.
    pub gather_ns: Nanos,
    /// How many bursts of each role there are.
    pub rounds: u64,
    /// From the first burst of one round to that of the next.
    pub every_ns: Nanos,
}

/// The least wire size: room for names, a worker's number and the longest revision.
const LEAST_WIRE: u64 = 80;
/// Digits of the largest number of a worker.
const DIGITS: u64 = 5;
/// CouchDB's own limit for a document is 8 MB by default; this is what one may still want to try.
const MOST_BYTES: u64 = 100_000_000;
const MOST_ROUNDS: u64 = 10_000;

/// Refuses what cannot be carried out.
pub(super) fn check(burst: &BurstSpec, ids: &Ids, mistakes: &mut Vec<Invalid>) {
    let id = match ids {
        Ids::Sequential => DIGITS,
        Ids::Random { .. } => 16,
        Ids::Uuid { .. } => 32,
        Ids::Prefix(text) => text.len() as u64 + DIGITS,
    };
    let least = if burst.size.wire { LEAST_WIRE - DIGITS + id } else { 0 };
    for (flag, value, least, most) in [
        ("--size", burst.size.bytes, least, MOST_BYTES),
        ("--repeat", burst.rounds, 1, MOST_ROUNDS),
    ] {
        if value < least || value > most {
            let cure = format!("give a number from {least} to {most}");
            mistakes.push(Invalid::new(flag, format!("{value} is out of range"), cure));
        }
    }
    if burst.conditional && !burst.roles.contains(&Role::Read) {
        let cure = "give --read as well, or leave it out";
        mistakes.push(Invalid::new("--conditional", "nobody reads", cure));
    }
    for (flag, value) in [("--time", burst.length_ns), ("--gather", burst.gather_ns)] {
        if value == 0 {
            mistakes.push(Invalid::new(flag, "takes no time", "give 10s or so"));
        }
    }
}

/// The stages: documents for readers if no writer has made them, then burst after burst.
pub(super) fn stages(spec: &PlanSpec, burst: &BurstSpec) -> Vec<StagePlan> {
    let work = |role, not_before_ns| {
        let BurstSpec { size, filling, gather_ns, .. } = *burst;
        let conditional = burst.conditional && role == Role::Read;
        WorkloadPlan::from(BurstPlan { role, size, filling, conditional, gather_ns, not_before_ns })
    };
    let pace = match &spec.load {
        LoadSpec::Closed { think_ns } => Pace::Closed { think_ns: *think_ns },
        LoadSpec::Open { segments, arrivals, max_in_flight, slack_ns } => {
            let mut segments = segments.clone();
            for segment in &mut segments {
                segment.length_ns = burst.length_ns;
            }
            let peak = segments.iter().map(|it| it.from).fold(0.0, f64::max);
            let schedule = Schedule { segments, arrivals: *arrivals, seed: spec.seed };
            // The whole of a short burst may wait: what is late is seen in response times.
            let most = peak * burst.length_ns as f64 / SECOND_NS as f64;
            let max_in_flight = max_in_flight.unwrap_or((most as u64).max(1_000));
            Pace::Open { schedule, max_in_flight, slack_ns: *slack_ns }
        }
    };
    let mut stages = Vec::new();
    if burst.roles.first() == Some(&Role::Read) {
        stages.push(StagePlan {
            name: "burst_prepare".to_owned(),
            purpose: Some(Purpose::Prepare),
            work: work(Role::Prepare, 0),
            pace: Pace::Closed { think_ns: 0 },
            length_ns: None,
        });
    }
    for round in 0..burst.rounds.min(MOST_ROUNDS) {
        for (place, &role) in burst.roles.iter().enumerate() {
            let name = if role == Role::Write { "burst_write" } else { "burst_read" };
            let number = if round == 0 { String::new() } else { format!("_{}", round + 1) };
            let not_before_ns = if place == 0 { round.saturating_mul(burst.every_ns) } else { 0 };
            stages.push(StagePlan {
                name: format!("{name}{number}"),
                purpose: Some(Purpose::Main),
                work: work(role, not_before_ns),
                pace: pace.clone(),
                length_ns: Some(burst.length_ns),
            });
        }
    }
    stages
}
