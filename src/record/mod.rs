//! All that one run leaves behind: stored as `run.json`, rendered by every report.

#[cfg(test)]
#[path = "fixture_tests.rs"]
pub(crate) mod fixture;

mod begun;
mod environment;
mod fill;
mod result;
mod threshold;
mod verdict;
mod warning;

pub use environment::{Calibration, Environment};
pub use result::{Ended, EndedBy, ResultKind, RunResult};
pub use threshold::{Judgement, Unit};
pub use verdict::Verdict;
pub use warning::{Code, Warning, unanswered};

use crate::driver::ServerFacts;
use crate::measure::{
    Growth, OperationSummary, Outage, PhaseTable, Series, Slot, Span, is_default,
};
use crate::plan::{Plan, Purpose, StagePlan, stage_title};
use serde::{Deserialize, Serialize};

/// The version of the layout of `run.json`. Grows when a reader of the last one would misread.
pub const SCHEMA_VERSION: u32 = 2;

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// [`SCHEMA_VERSION`] of the program that wrote this.
    pub schema_version: u32,
    /// When the run began, in UTC, as RFC 3339.
    pub started_at: String,
    /// The run was stopped, or is still going on: not all of the plan was measured.
    pub partial: bool,
    /// What was to be done.
    pub plan: Plan,
    /// What it was done to.
    pub server: ServerRecord,
    /// Where it was done.
    pub environment: Environment,
    /// What was measured.
    pub stages: Vec<StageRecord>,
    /// What a reader must know before believing a number.
    pub warnings: Vec<Warning>,
    /// What became of the plan's thresholds; empty until the run has ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thresholds: Vec<Judgement>,
    /// Why and when it ended, where not all of the plan was carried out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Ended>,
    /// What it came to; `None` until it has ended, and in records of before there was a result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<RunResult>,
}

/// The server and database of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own, read by name")]
pub struct ServerRecord {
    /// The address, without credentials.
    pub url: String,
    /// What the server calls itself, such as `couchdb`.
    pub name: String,
    /// Its version.
    pub version: String,
    /// It is the embedded stand-in, in this process.
    pub stand_in: bool,
    /// It runs on this machine.
    pub same_machine: bool,
    /// The database that was used.
    pub database: String,
    /// springload made the database.
    pub created: bool,
    /// springload removed the database at the end.
    pub deleted: bool,
    /// Why springload could not remove the database that it made, if it could not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<String>,
}

impl ServerRecord {
    /// What is known of a server before the first stage.
    pub fn of(facts: ServerFacts, stand_in: bool) -> Self {
        let ServerFacts { url, name, version, same_machine, database, created } = facts;
        Self { url, name, version, stand_in, same_machine, database, created, ..Self::default() }
    }
}

/// One stage of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StageRecord {
    /// As in its plan.
    pub name: String,
    /// What was to be done in it; `None` in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<StagePlan>,
    /// From the run's start to the stage's, in seconds.
    #[serde(default)]
    pub began_s: f64,
    /// From the common start to the last answer, in seconds.
    pub elapsed_s: f64,
    /// What rates are over: the same without the time in which the last operations were waited
    /// for, where the plan tells how long operations are begun.
    #[serde(default, skip_serializing_if = "is_default")]
    pub measured_s: f64,
    /// What became of the operations that were due.
    pub load: LoadRecord,
    /// What springload itself needed.
    pub client: ClientRecord,
    /// Whether the numbers can be believed.
    pub verdict: Verdict,
    /// How long nothing succeeded, where that happened.
    #[serde(default, skip_serializing_if = "Outage::is_none")]
    pub outage: Outage,
    /// The measurements of each kind of operation.
    pub operations: Vec<OperationSummary>,
    /// Where the connections' time went.
    pub connections: PhaseTable,
    /// Second by second.
    pub series: Series,
    /// In steps of another length than a second, where the plan asks for that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slots: Vec<Slot>,
    /// How the database grew, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub growth: Option<Growth>,
    /// How the workers of a burst came off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<StartRecord>,
}

/// How the workers of a burst came off: when each one's first request was sent, in microseconds
/// from the common start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StartRecord {
    /// Workers that sent a request.
    pub workers: u64,
    /// Workers that were not connected in time: they began when they could.
    pub late: u64,
    /// The first request of all.
    pub first_us: f64,
    /// Half of the workers had sent theirs.
    pub p50_us: f64,
    /// 99 % of them had.
    pub p99_us: f64,
    /// All of them had.
    pub last_us: f64,
}

impl StartRecord {
    /// From the first request of all to the last worker's first one, in microseconds.
    pub fn spread_us(&self) -> f64 {
        self.last_us - self.first_us
    }
}

/// A stage that is going on, as far as it is known: never stored.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Running {
    /// The stage's name.
    pub name: String,
    /// The time since its start, in seconds.
    pub elapsed_s: f64,
    /// Requests that have fallen due, in an open loop whose schedule tells.
    pub offered: Option<u64>,
    /// What was measured up to the last full second.
    pub operations: Vec<OperationSummary>,
}

/// What became of the operations that were due. offered = begun + dropped + unsent, exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadRecord {
    /// Operations fell due at given times, whether or not the server kept up.
    pub open: bool,
    /// Requests that the plan asks for, where it gives a number.
    pub planned: Option<u64>,
    /// Requests that fell due.
    pub offered: u64,
    /// Requests that were begun.
    pub begun: u64,
    /// Requests dropped because too many were due and not done.
    pub dropped: u64,
    /// Requests still waiting when the stage ended.
    pub unsent: u64,
    /// Requests that fell due per second of the schedule.
    pub offered_per_s: f64,
    /// Requests that ended per second of it.
    pub served_per_s: f64,
    /// By how many per second what was due and not done grew from the middle of the schedule to
    /// its end; 0 where that could be chance.
    #[serde(default, skip_serializing_if = "is_default")]
    pub backlog_growth_per_s: f64,
}

/// What springload itself needed in a stage, and what it lost.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClientRecord {
    /// CPU time of all threads that put load on the server, in seconds.
    pub cpu_s: f64,
    /// The same per request, in microseconds.
    pub cpu_per_request_us: f64,
    /// The share of the time that the busiest thread was computing, 0 to 1.
    pub busiest_thread: f64,
    /// The same with the time that a thread was ready to run and had no processor.
    #[serde(default, skip_serializing_if = "is_default")]
    pub occupied_thread: f64,
    /// The share of the time that a thread was ready to run and had no processor, 0 to 1, of the
    /// one that waited most.
    #[serde(default, skip_serializing_if = "is_default")]
    pub waited_thread: f64,
    /// How long threads were ready to run and had no processor, in seconds of all threads; `null`:
    /// the system does not tell.
    #[serde(default, skip_serializing_if = "is_default")]
    pub waited_s: Option<f64>,
    /// How often threads were taken off their processors while they had work.
    #[serde(default, skip_serializing_if = "is_default")]
    pub preempted: Option<u64>,
    /// The share of the time that a thread stood still for 5 ms or more at a time, 0 to 1, of the
    /// one that did most.
    #[serde(default, skip_serializing_if = "is_default")]
    pub paused_thread: f64,
    /// When a thread did: the hundred longest times, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pauses: Vec<Span>,
    /// How late a thread woke that only slept, in microseconds: 99 % of its wake-ups were at most
    /// this late.
    #[serde(default, skip_serializing_if = "is_default")]
    pub hiccup_p99_us: Option<f64>,
    /// The same, the latest.
    #[serde(default, skip_serializing_if = "is_default")]
    pub hiccup_max_us: Option<f64>,
    /// How late operations were begun, in microseconds: 99 % were at most this late.
    pub lag_p99_us: Option<f64>,
    /// The same, as far as the client itself is at fault: a connection was free, or the thread
    /// stood still.
    #[serde(default)]
    pub late_p99_us: Option<f64>,
    /// The same, 99.9 %.
    #[serde(default)]
    pub late_p99_9_us: Option<f64>,
    /// Answers that count from when the kernel noted their arrival: all others count from when
    /// they were read.
    #[serde(default)]
    pub noted_answers: u64,
}

impl StageRecord {
    /// What rates are over, in seconds: all of the stage in records of before that was kept apart.
    pub fn rates_over_s(&self) -> f64 {
        if self.measured_s > 0.0 { self.measured_s } else { self.elapsed_s }
    }

    /// The name that people read.
    pub fn title(&self) -> String {
        stage_title(&self.name)
    }

    /// What it was there for.
    pub fn purpose(&self) -> Purpose {
        self.plan.as_ref().map_or_else(|| Purpose::of_name(&self.name), StagePlan::purpose)
    }

    /// Whether it only prepares what is measured.
    pub fn is_preparation(&self) -> bool {
        !self.purpose().is_measured()
    }

    /// The measurements of what was sent; not of what is made up of it.
    pub fn requests(&self) -> impl Iterator<Item = &OperationSummary> {
        self.operations.iter().filter(|operation| operation.kind.is_request())
    }
}

impl RunRecord {
    /// What was to be done in a stage of this run. Older records keep it among the stages of the
    /// run's plan alone.
    pub fn plan_of<'a>(&'a self, stage: &'a StageRecord) -> Option<&'a StagePlan> {
        let same = |plan: &&StagePlan| plan.name == stage.name;
        stage.plan.as_ref().or_else(|| self.plan.stages.iter().find(same))
    }

    /// Works out the warnings anew from what is on record.
    pub fn refresh_warnings(&mut self) {
        self.warnings = warning::all(self);
    }

    /// Adds a stage that has ended. Warnings are those of the stages so far.
    pub fn add(&mut self, stage: StageRecord) {
        self.stages.push(stage);
        self.refresh_warnings();
    }

    /// Closes the record of a run: why it ended before its plan was carried out, if it did, and
    /// whether the database was removed, or why it could not be.
    pub fn close(&mut self, ended: Option<Ended>, removed: Result<bool, String>) {
        self.partial = ended.is_some();
        self.ended = ended;
        self.server.deleted = removed == Ok(true);
        self.server.left = removed.err();
        self.conclude();
    }

    /// Judges a run that has ended: warnings, thresholds, and what it came to.
    pub fn conclude(&mut self) {
        self.refresh_warnings();
        self.thresholds = threshold::judge(self);
        self.result = Some(result::of(self));
    }

    /// What the run came to: as it was stored, or as the record tells.
    pub fn result(&self) -> RunResult {
        self.result.clone().unwrap_or_else(|| result::of(self))
    }

    /// The stages whose numbers count: all but the warm-up and the making of what bursts read.
    pub fn measured(&self) -> impl Iterator<Item = &StageRecord> {
        self.stages.iter().filter(|stage| !stage.is_preparation())
    }
}
