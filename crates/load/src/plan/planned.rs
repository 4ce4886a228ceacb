//! A run that has been checked, and its record.

use super::baseline::{Baseline, BaselineBy};
use super::drill::DrillPlan;
use super::noise::Noise;
use super::observe::ObservePlan;
use super::probe::ProbePlan;
use super::replication::ReplicatePlan;
use super::schemas::SchemaPlan;
use super::stage::StagePlan;
use super::terms::differences;
use super::threshold::{Limit, Threshold};
use super::ycsb_measurement::MeasurementPlan;
use crate::clock::{Nanos, SECOND_NS};
use crate::driver::{FollowPlan, HttpPlan, OperationPlan, TargetPlan, with_left_out};
use crate::engine::Pace;
use crate::mistake::Invalid;
use crate::net::MAX_ANSWER;
use crate::redact;
use crate::schema::Ids;
use crate::values::Data;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Deref;

/// CouchDB itself accepts up to 65,536 connections.
pub(super) const MOST_CONNECTIONS: u64 = 65_536;
/// More threads than any machine has processors.
pub(super) const MOST_THREADS: u64 = 256;

/// The number that one coordinator is designed for; docs/scaling.md has the arithmetic.
const MOST_AGENTS: usize = 10_000;
/// More differences than this are counted, not listed.
const MOST_LISTED: usize = 5;

/// How long a server may be silent, unless the timeout is longer.
const GIVE_UP_NS: Nanos = 30 * SECOND_NS;

/// A run that has been checked, and can be carried out as is. Only the checks in this module create
/// one; other modules only read it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Plan(PlanRecord);

/// A plan that has been checked. Stored without passwords.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Plan"))]
pub struct PlanRecord {
    /// The verb and arguments that repeat the run, without passwords.
    pub command: String,
    /// The user's name for the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = super::units::MOST_LABEL)))]
    pub label: Option<String>,
    /// The server and database.
    pub target: TargetPlan,
    /// The number of connections in use at once.
    pub connections: usize,
    /// The maximum number of connections of an open loop, if it may open more than `connections`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub most_connections: Option<usize>,
    /// The number of load threads, which share the connections.
    pub threads: usize,
    /// The random seed for documents, operations and the gaps between them.
    pub seed: u64,
    /// How document IDs are formed; absent if they are `sequential` or the workload decides.
    #[serde(default, skip_serializing_if = "Ids::is_sequential")]
    pub ids: Ids,
    /// The timeout of each operation, in nanoseconds.
    pub timeout_ns: Nanos,
    /// How long the server may be silent before the run is abandoned, in nanoseconds; `None` for
    /// 30 s, or the timeout if that is longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub give_up_ns: Option<Nanos>,
    /// The largest response that is read, in bytes as received; absent if it is 64,000,000.
    #[serde(default = "max_answer", skip_serializing_if = "is_max_answer")]
    pub max_answer: u64,
    /// The document schemas, mixed by weight.
    pub schemas: Vec<SchemaPlan>,
    /// The stages, in order.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub stages: Vec<StagePlan>,
    /// Additional settings for a fill.
    #[serde(default, skip_serializing_if = "FillPlan::is_default")]
    pub fill: FillPlan,
    /// Whether documents that are read are compared with what was written.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub verify: bool,
    /// Whether every acknowledged write is recorded and checked at the end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub audit: bool,
    /// Documents written alongside the load to see when they become visible; absent if there are
    /// none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<ProbePlan>,
    /// Clients that follow the changes feed alongside the load; absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follow: Option<FollowPlan>,
    /// What is broken and mended in the middle of the main stage; absent without a drill.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drill: Option<DrillPlan>,
    /// Replication alongside the load; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replication: Option<ReplicatePlan>,
    /// What is observed on the servers during the run.
    #[serde(default, skip_serializing_if = "ObservePlan::is_default")]
    pub observe: ObservePlan,
    /// The operations that the plan defines; absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(deserialize_with = "super::operations::stored")]
    pub operations: Vec<OperationPlan>,
    /// The lists that these operations take values from.
    #[serde(default, skip_serializing_if = "Data::is_empty")]
    pub data: Data,
    /// Conditions that make the run fail, in the grammar of `docs/thresholds.md`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thresholds: Vec<Threshold>,
    /// What happens if this machine is too busy; absent if the run then fails.
    #[serde(default, skip_serializing_if = "Noise::is_fail")]
    pub noise: Noise,
    /// Earlier runs that this run is compared with; absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Baseline>,
    /// The requests, for runs of a list of URLs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<HttpPlan>,
    /// How reports in YCSB's dialect show the measurements; only for runs in that dialect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ycsb: Option<MeasurementPlan>,
    /// The agents that share the load; absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<FleetPlan>,
}

impl Deref for Plan {
    type Target = PlanRecord;

    fn deref(&self) -> &PlanRecord {
        &self.0
    }
}

/// What is settled about a plan once it has been checked.
impl Plan {
    /// Wraps a record in which a check has found no mistake.
    pub(super) const fn proved(record: PlanRecord) -> Self {
        Self(record)
    }

    /// The record, for storing.
    pub fn into_record(self) -> PlanRecord {
        self.0
    }

    /// The same plan, with the user's name for the run and what happens if this machine is busy.
    pub fn labeled(self, label: Option<String>, noise: Noise) -> Self {
        Self(PlanRecord { label: label.or(self.0.label), noise, ..self.0 })
    }

    /// Limits the connections it may open, but not below the number it starts with.
    pub fn open_at_most(&mut self, connections: usize) {
        let most = self.most_connections.map(|most| most.min(connections));
        self.0.most_connections = most.filter(|most| *most > self.connections);
    }

    /// The same plan, compared with earlier runs.
    ///
    /// # Errors
    /// Returns an error if a threshold asks for a figure that these runs lack.
    pub fn judged_by(self, baseline: Baseline) -> Result<Self, Invalid> {
        let plan = Self(PlanRecord { baseline: Some(baseline), ..self.0 });
        plan.baseline_mistake().map_or(Ok(plan), Err)
    }

    /// This plan, carried out by agents. `local`: they share the processors of one machine.
    ///
    /// # Errors
    /// Returns an error if it cannot be shared among this many.
    pub fn shared(self, fleet: FleetPlan, local: bool) -> Result<Self, Invalid> {
        let FleetPlan { agents, .. } = fleet;
        if let Some(mistake) = super::drill::shared(self.drill.as_ref()) {
            return Err(mistake);
        }
        let wrong = |problem: String, cure: String| Err(Invalid::new("--agents", problem, cure));
        if agents == 0 || agents > MOST_AGENTS {
            return wrong(format!("{agents} agents"), format!("give 1 to {MOST_AGENTS}"));
        }
        if agents > self.connections {
            let problem = format!(
                "{agents} agents for {} connections leave some without one",
                self.connections
            );
            return wrong(problem, "give fewer agents, or more connections".to_owned());
        }
        if self.stages.iter().all(|stage| stage.work.traits().audits) {
            let problem = "an audit is made by one process";
            return wrong(problem.to_owned(), "leave it out".to_owned());
        }
        if self.replication.is_some() {
            let problem = "replication is measured by one process";
            return wrong(problem.to_owned(), "leave it out".to_owned());
        }
        if self.target.shows() {
            let problem = "operations are printed by one process";
            return wrong(problem.to_owned(), "leave it out".to_owned());
        }
        if self.http.as_ref().is_some_and(|list| !list.log_in.is_empty()) {
            let problem = "users of a list log in within one process";
            return wrong(problem.to_owned(), "leave it out, or the login-url".to_owned());
        }
        let databases = self.target.databases();
        if databases.is_some_and(|it| it.made && it.removed && !it.own_names) {
            // Only the agent that created a database knows whose it is in the end.
            let problem = "databases with a name of your own are removed by the process that made \
                           them";
            let cure = "leave their name out, or give --keep";
            return wrong(problem.to_owned(), cure.to_owned());
        }
        for stage in &self.stages {
            if let Pace::Open { max_in_flight, .. } = stage.pace
                && max_in_flight < agents as u64
            {
                let problem = format!("--max-in-flight {max_in_flight} is less than one per agent");
                return wrong(problem, format!("give --max-in-flight {agents} or more"));
            }
        }
        let threads = if local { self.threads / agents } else { self.threads };
        let threads = threads.clamp(1, self.connections / agents);
        Ok(Self(PlanRecord { threads, fleet: Some(fleet), ..self.0 }))
    }

    /// The plan of an audit of the documents written by a run of plan `of`.
    pub(super) fn auditing(self, of: &PlanRecord) -> Self {
        let (ids, schemas) = (of.ids.clone(), of.schemas.clone());
        Self(PlanRecord { audit: true, seed: of.seed, ids, schemas, ..self.0 })
    }
}

impl PlanRecord {
    /// As JSON including its passwords: for the agents of a run, never for a record.
    pub fn with_secrets(&self) -> Value {
        let plan = with_left_out(self, "/target", self.target.secrets());
        let list = self.http.as_ref().map(HttpPlan::secrets).unwrap_or_default();
        plan.and_then(|it| with_left_out(&it, "/http", list)).expect("a plan is plain data")
    }

    /// As JSON including the bodies of its list, so that it can be run elsewhere; records leave
    /// them out.
    pub fn with_bodies(&self) -> Value {
        let bodies = self.http.as_ref().map(HttpPlan::bodies).unwrap_or_default();
        with_left_out(self, "/http", bodies).expect("a plan is plain data")
    }

    /// The followers' filter, if the server must have it before anything is stored: a design
    /// document of the run itself may come only after the fill.
    pub fn filter(&self) -> Option<String> {
        self.follow.as_ref()?.filter.clone().filter(|_| self.target.indexes() == 0)
    }

    /// How long the server may be silent before the run is given up, in nanoseconds.
    pub fn patience_ns(&self) -> Nanos {
        let asked = self.fill.wait_for_server_ns.or(self.give_up_ns);
        asked.unwrap_or_else(|| self.timeout_ns.max(GIVE_UP_NS))
    }

    /// The drill in a stage, if it has one.
    pub fn drill_of(&self, stage: &StagePlan) -> Option<&DrillPlan> {
        self.drill.as_ref().filter(|_| stage.purpose().is_main())
    }

    /// How many connections a stage may open beyond those it starts with.
    pub fn spare(&self, stage: &StagePlan) -> usize {
        let grows = matches!(stage.pace, Pace::Open { .. }) && stage.work.traits().grows;
        let most = self.most_connections.filter(|_| grows).unwrap_or(0);
        most.saturating_sub(self.connections)
    }

    /// The plan, without the parts that do not affect what is measured.
    pub fn essence(&self) -> BTreeMap<String, Value> {
        let plan = serde_json::to_value(self).unwrap_or_default();
        let mut members: BTreeMap<String, Value> = serde_json::from_value(plan).unwrap_or_default();
        for name in ["command", "label", "seed", "thresholds", "noise", "baseline", "observe"] {
            members.remove(name);
        }
        members.values_mut().for_each(without_seeds);
        members
    }

    /// The members that a baseline of this plan must have in common with it.
    pub fn essence_by(&self, by: BaselineBy) -> BTreeMap<String, Value> {
        let mut members = self.essence();
        if by == BaselineBy::Work {
            for name in ["target", "http", "replication"] {
                if let Some(member) = members.get_mut(name) {
                    without_addresses(member);
                }
            }
        }
        members
    }

    /// How two plans differ in what a baseline must have in common with the run, as `SETTING BEFORE
    /// → AFTER`.
    pub fn differs_by(&self, by: BaselineBy, before: &Self) -> Vec<String> {
        let mut all = differences(&before.essence_by(by), &self.essence_by(by));
        let more = all.len().saturating_sub(MOST_LISTED);
        all.truncate(MOST_LISTED);
        all.extend((more > 0).then(|| format!("{more} more")));
        all
    }

    /// The mistake in a threshold that refers to a baseline if there is none, or to a figure that
    /// the baseline lacks.
    pub fn baseline_mistake(&self) -> Option<Invalid> {
        let asks = |limit: &Limit| matches!(limit, Limit::Baseline(_));
        let threshold = self.thresholds.iter().find(|threshold| {
            let level = self.baseline.as_ref().and_then(|it| it.level(threshold.quantity()));
            asks(&threshold.limit) && level.is_none()
        })?;
        Some(if self.baseline.is_none() {
            let cure = "give --baseline with a run, or a folder of runs";
            Invalid::new("--fail-if", format!("{threshold} needs a baseline"), cure)
        } else {
            let metric = threshold.quantity();
            let problem = format!("the baseline has no {metric}: too little was measured");
            Invalid::new("--baseline", problem, "choose longer runs, or judge something else")
        })
    }
}

/// Leaves out the seeds of parts, such as the seed of a stage's arrivals.
fn without_seeds(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.remove("seed");
            members.values_mut().for_each(without_seeds);
        }
        Value::Array(items) => items.iter_mut().for_each(without_seeds),
        // As in records, which contain no secrets.
        Value::String(text) => {
            if let Cow::Owned(struck) = redact::strike(text) {
                *text = struck;
            }
        }
        _ => {}
    }
}

/// Leaves out the locations of servers: host and port of addresses, but not their schemes or
/// number.
fn without_addresses(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                match (name.as_str(), &mut *value) {
                    ("host" | "hosts" | "port" | "address", Value::String(text)) => text.clear(),
                    ("port", Value::Number(_)) => *value = Value::Null,
                    ("server" | "url" | "node" | "nodes", _) => without_hosts(value),
                    _ => without_addresses(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(without_addresses),
        _ => {}
    }
}

fn without_hosts(value: &mut Value) {
    match value {
        Value::String(text) => {
            let one = |address: &str| {
                let (scheme, rest) = address.split_once("://").unwrap_or(("", address));
                let path = rest.find('/').map_or("", |at| &rest[at..]);
                format!("{scheme}://{path}")
            };
            *text = text.split(", ").map(one).collect::<Vec<_>>().join(", ");
        }
        Value::Array(items) => items.iter_mut().for_each(without_hosts),
        other => without_addresses(other),
    }
}

const fn max_answer() -> u64 {
    MAX_ANSWER
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
const fn is_max_answer(bytes: &u64) -> bool {
    *bytes == MAX_ANSWER
}

/// The agents that share the load of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FleetPlan {
    /// The number of agents.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub agents: usize,
    /// Whether the run may pass even if agents were lost.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow_lost: bool,
}

/// Additional settings for a fill.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FillPlan {
    /// How long the fill waits for a server that has gone away, in nanoseconds, while batches
    /// without a response are resent. `None` if nothing is resent and the run is abandoned as
    /// usual.
    pub wait_for_server_ns: Option<Nanos>,
    /// Whether the fill's rate is recorded as the database grows, and the server is asked for the
    /// database's size.
    pub growth: bool,
}

impl FillPlan {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_change_nothing_of_what_is_measured() {
        let mut value = serde_json::json!({
            "seed": 1, "stages": [{ "pace": { "schedule": { "seed": 2, "rate": 5 } } }],
        });
        without_seeds(&mut value);
        assert_eq!(
            value,
            serde_json::json!({ "stages": [{ "pace": { "schedule": { "rate": 5 } } }] })
        );
    }
}
