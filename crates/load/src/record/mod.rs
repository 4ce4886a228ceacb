//! The record of one run: stored as `run.json`, rendered by every report.

#[cfg(any(test, feature = "testing"))]
#[path = "fixture_tests.rs"]
pub mod fixture;

mod agent_words;
mod agents;
mod away;
mod baseline;
mod begun;
mod beside;
mod blame;
mod code;
mod drill;
mod drilled;
mod ended;
mod environment;
mod estimates;
mod facts;
mod fill;
mod fleet;
#[cfg(feature = "schema")]
mod json_schema;
mod not_loaded;
mod pool;
mod rate;
mod replication;
mod result;
mod running;
mod served;
mod server;
#[cfg(test)]
mod stage_tests;
mod sure;
mod threshold;
mod unanswered;
mod unlike;
mod warning;
#[cfg(test)]
mod warnings_tests;
mod within;

pub use agent_words::numbers as agent_numbers;
pub(crate) use agents::most_rows;
pub use agents::{AgentClient, AgentRecord, AgentSecond, AgentStage, Lost};
pub use away::Away;
pub use baseline::{Regression, Standing};
pub use blame::{away_in_all_words, bound_words};
pub use code::{Code, Warning};
pub use drill::{Backlog, Drill, DrillDelays, DrillRecord, DrillStep, Phase, PhaseFigures};
pub use drilled::NodeAudit;
pub use ended::{Ended, EndedBy};
pub use environment::{Calibration, Environment};
pub use estimates::{Estimate, Estimates, Intervals, Per, Trend, Trending};
pub use fleet::AgentStarts;
#[cfg(feature = "schema")]
pub use json_schema::json_schema;
pub use not_loaded::NotLoaded;
pub use pool::{HeldRecord, OpenedRecord, PoolRecord};
pub use rate::too_short_for_a_rate;
pub use replication::{link_name, place_name};
pub use result::{Cause, ResultKind, RunResult};
pub use running::Running;
pub use served::Counted;
pub use server::ServerRecord;
pub use threshold::{Judgment, Unit};

pub use crate::account::{Account, Hindrance, Sureness, Trust, Verdict, silence_ns};

use crate::driver::Nouns;
use crate::measure::{
    Compaction, Copies, Following, Growth, Merged, NodeSummary, OperationSummary, Outage,
    PhaseTable, Replication, Series, Served, Slot, Span, Visibility, is_default,
};
use crate::observed::Observed;
use crate::op::OpKind;
use crate::plan::{PlanRecord, Purpose, StagePlan, stage_title};
use environment::joined;
use serde::{Deserialize, Serialize};
use std::time::SystemTime;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// The version of the layout of `run.json`. It increases when readers of the previous version would
/// misread it.
pub const SCHEMA_VERSION: u32 = 2;

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunRecord {
    /// The version of the layout of `run.json` used here. It increases when readers of the previous
    /// version would misread it.
    #[cfg_attr(feature = "schema", schemars(extend("const" = SCHEMA_VERSION)))]
    pub schema_version: u32,
    /// When the run began, in UTC, as RFC 3339.
    #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
    pub started_at: String,
    /// Whether the plan was not measured in full: the run was stopped, or is still running.
    pub partial: bool,
    /// What the run was to do. Contains no password.
    pub plan: PlanRecord,
    /// The server and database that were measured.
    pub server: ServerRecord,
    /// The machine and the program that measured.
    pub environment: Environment,
    /// The agents that generated the load; absent if this process did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<AgentRecord>,
    /// The stages that were measured, in order.
    pub stages: Vec<StageRecord>,
    /// What to know before trusting the numbers.
    pub warnings: Vec<Warning>,
    /// How the run compares with the plan's thresholds; only once the run has ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thresholds: Vec<Judgment>,
    /// How the run compares with its baseline; only once the run has ended, and absent without a
    /// baseline.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub regressions: Vec<Regression>,
    /// The reason some writes could not be recorded for the audit; absent if all were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub journal_broken: Option<String>,
    /// The number of documents in the database that the run did not write; absent if they were not
    /// counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra_documents: Option<u64>,
    /// What the servers reported about themselves during the run; absent if nothing was observed,
    /// and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed: Option<Observed>,
    /// What happened in replication alongside the load and after it; absent without replication.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replication: Option<Replication>,
    /// What each copy of the database contained after a drill; absent if they were not compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copies: Option<Copies>,
    /// Why and when the run ended early; absent if the plan was carried out in full.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Ended>,
    /// The result; `None` until the run has ended, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<RunResult>,
    /// When the run was last seen running, in nanoseconds since 1970; never stored.
    #[serde(skip)]
    pub seen_running_ns: Option<u64>,
}

/// One stage of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StageRecord {
    /// Its name, as in its plan.
    #[cfg_attr(feature = "schema", schemars(extend("pattern" = crate::plan::STAGE_NAME)))]
    pub name: String,
    /// Its plan; `None` in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<StagePlan>,
    /// When the stage began, in seconds from the run's start. Absent in older records.
    #[serde(default)]
    pub began_s: f64,
    /// The time from the common start of all connections to the last response, in seconds.
    pub elapsed_s: f64,
    /// The time that rates refer to, in seconds: without the wait for the last operations, if the
    /// plan limits how long operations are started or a load at a rate was stopped. Absent in older
    /// records.
    #[serde(default, skip_serializing_if = "is_default")]
    pub measured_s: f64,
    /// What happened to the operations that were due.
    pub load: LoadRecord,
    /// The cost of springload itself, and the time it lost.
    pub client: ClientRecord,
    /// Whether the numbers can be trusted.
    pub verdict: Verdict,
    /// Which lost time and failed requests are due to the client, the server, the network or none
    /// of them. Absent in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<Account>,
    /// The times in which nothing succeeded; absent if there were none.
    #[serde(default, skip_serializing_if = "Outage::is_none")]
    pub outage: Outage,
    /// When the server gave no response for a tenth of a second or more although operations were
    /// due or in flight: the hundred longest such times, in chronological order. Absent if there
    /// were none, and in older records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(length(max = Span::MOST_LISTED)))]
    pub silences: Vec<Span>,
    /// The measurements of each kind of operation.
    pub operations: Vec<OperationSummary>,
    /// How the connections spent their time.
    pub connections: PhaseTable,
    /// The measurements, second by second.
    pub series: Series,
    /// Intervals and trends, for stages that are measured; absent in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimates: Option<Estimates>,
    /// The series in steps of another length than a second, if the plan asks for that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slots: Vec<Slot>,
    /// How the database grew, if that was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub growth: Option<Growth>,
    /// How long acknowledged writes took to become visible, if that was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visibility: Option<Visibility>,
    /// What followers of the changes feed received, if there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub following: Option<Following>,
    /// What was broken and mended in the middle, if that was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drill: Option<DrillRecord>,
    /// The reason an audit through a single node could not reach that node; absent if it could.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unasked: Option<String>,
    /// The compaction that the run requested at the start of the stage, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compaction: Option<Compaction>,
    /// How the workers of a burst started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<StartRecord>,
    /// The measurements of each node, if there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(length(min = 2)))]
    pub nodes: Vec<NodeSummary>,
    /// The stage's HTTP requests by method and by response status, including logins; empty if it
    /// sent none.
    #[serde(default, skip_serializing_if = "crate::measure::is_default")]
    pub sent: Served,
    /// What each agent did; absent without agents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<AgentStage>,
}

/// When the workers of a burst sent their first requests, in microseconds from the common start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StartRecord {
    /// The number of workers that sent a request.
    pub workers: u64,
    /// The number of workers that were not connected in time, and started later.
    pub late: u64,
    /// When the first worker sent its request.
    pub first_us: f64,
    /// When half of the workers had sent theirs.
    pub p50_us: f64,
    /// When 99 % of them had sent theirs.
    pub p99_us: f64,
    /// When all of them had sent theirs.
    pub last_us: f64,
}

impl StartRecord {
    /// The time between the first and the last worker's first requests, in microseconds.
    pub fn spread_us(&self) -> f64 {
        self.last_us - self.first_us
    }
}

/// What happened to the operations that were due. Always offered = begun + dropped + unsent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoadRecord {
    /// Whether it was an open loop: operations were due at given times, regardless of whether the
    /// server kept up.
    pub open: bool,
    /// The number of requests in the plan; `None` if it sets no number.
    pub planned: Option<u64>,
    /// Requests that were due.
    pub offered: u64,
    /// Requests that were started.
    pub begun: u64,
    /// Requests dropped because too many were waiting or in flight.
    pub dropped: u64,
    /// Requests still waiting when the stage ended.
    pub unsent: u64,
    /// Those of `unsent` that became due while springload was paused, in a pause that lasted until
    /// the stage ended.
    #[serde(default, skip_serializing_if = "is_default")]
    pub unsent_by_client: u64,
    /// Requests due per second of the schedule.
    pub offered_per_s: f64,
    /// Requests completed per second of the schedule.
    pub served_per_s: f64,
    /// How much the number of requests waiting or in flight grew per second, from the middle of the
    /// schedule to its end; 0 or absent if that could be chance.
    #[serde(default, skip_serializing_if = "is_default")]
    pub backlog_growth_per_s: f64,
    /// How the connections of an open loop were used; absent in closed loops, if no operation
    /// ended, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<PoolRecord>,
}

/// The cost of springload itself in a stage, and the time it lost; with agents, of all of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClientRecord {
    /// CPU time of all load threads, in seconds.
    pub cpu_s: f64,
    /// The same per request, in microseconds; 0 if there were no requests.
    pub cpu_per_request_us: f64,
    /// The share of the time that the busiest thread spent computing, 0 to 1.
    pub busiest_thread: f64,
    /// The share of the time that a thread was computing, or ready to run but without a processor,
    /// 0 to about 1: the largest of all threads. The latter only if the system reports it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub occupied_thread: f64,
    /// The share of the time that a thread was ready to run but had no processor, 0 to 1, for the
    /// thread that waited longest; absent if that is 0, or the system does not report it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub waited_thread: f64,
    /// How long threads were ready to run but had no processor, in seconds summed over all threads;
    /// `None` if the system does not report it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub waited_s: Option<f64>,
    /// How often threads were preempted, over all threads; `None` if the system does not report it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub preempted: Option<u64>,
    /// The share of the time that a thread was paused for 5 ms or more at a time, 0 to 1, for the
    /// thread that was paused longest.
    #[serde(default, skip_serializing_if = "is_default")]
    pub paused_thread: f64,
    /// When threads were paused for 5 ms or more, until the last answer came: the hundred longest
    /// pauses, in chronological order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(length(max = Span::MOST_LISTED)))]
    pub pauses: Vec<Span>,
    /// How late a thread that only sleeps woke up, in microseconds: the 99th percentile; `None` if
    /// it was not measured.
    #[serde(default, skip_serializing_if = "is_default")]
    pub hiccup_p99_us: Option<f64>,
    /// The same, the maximum.
    #[serde(default, skip_serializing_if = "is_default")]
    pub hiccup_max_us: Option<f64>,
    /// How late operations were started, in microseconds: the 99th percentile; `None` if there were
    /// too few samples.
    pub lag_p99_us: Option<f64>,
    /// The same, counting only lateness that is the client's fault: a connection was free, or the
    /// thread was paused. `None` in a closed loop, and if no operation was begun.
    #[serde(default)]
    pub late_p99_us: Option<f64>,
    /// The same, the 99.9th percentile; `None` in the same cases.
    #[serde(default)]
    pub late_p99_9_us: Option<f64>,
    /// The number of responses timed by the kernel's timestamp of their arrival; all others were
    /// timed when they were read.
    #[serde(default)]
    pub noted_answers: u64,
}

impl StageRecord {
    /// The time that rates refer to, in seconds; in older records the whole stage.
    pub fn rates_over_s(&self) -> f64 {
        if self.measured_s > 0.0 { self.measured_s } else { self.elapsed_s }
    }

    /// The name shown to readers.
    pub fn title(&self) -> String {
        stage_title(&self.name)
    }

    /// Its purpose.
    pub fn purpose(&self) -> Purpose {
        self.plan.as_ref().map_or_else(|| Purpose::of_name(&self.name), StagePlan::purpose)
    }

    /// Whether the load went on beside replication in it.
    pub fn is_replicated(&self) -> bool {
        self.purpose() == Purpose::Replicated
    }

    /// Whether it only prepares what is measured.
    pub fn is_preparation(&self) -> bool {
        !self.purpose().is_measured()
    }

    /// How far its numbers can be relied on. Older records have only their verdict.
    pub fn trust(&self) -> Trust {
        self.account.as_ref().map_or_else(Trust::default, |account| account.trust)
    }

    /// The measurements of requests, without composite operations.
    pub fn requests(&self) -> impl Iterator<Item = &OperationSummary> {
        self.operations.iter().filter(|operation| operation.kind.is_request())
    }

    /// All requests together, without composite operations.
    pub fn merged(&self) -> Merged {
        Merged::of(self.requests())
    }
}

impl RunRecord {
    /// The database's own words for what the run counts.
    pub fn nouns(&self) -> Nouns {
        self.plan.target.card().nouns
    }

    /// The plan of a stage of this run. Older records keep it only in the plan of the run.
    pub fn plan_of<'a>(&'a self, stage: &'a StageRecord) -> Option<&'a StagePlan> {
        let same = |plan: &&StagePlan| plan.name == stage.name;
        stage.plan.as_ref().or_else(|| self.plan.stages.iter().find(same))
    }

    /// Recomputes the warnings from the record, after adapting the verdicts to the loss of agents.
    pub fn refresh_warnings(&mut self) {
        if !self.allows_losses() {
            let agents = self.agents.len();
            let lost: Vec<usize> = self.stages.iter().map(|it| self.lost_by(it).len()).collect();
            for (stage, lost) in self.stages.iter_mut().zip(lost) {
                stage.verdict = stage.verdict.with_lost(lost, agents);
            }
        }
        for at in 0..self.stages.len() {
            let drill = self.stages[at].drilled();
            if let Some(verdict) = drill.map(|it| it.verdict(self.plan_of(&self.stages[at]))) {
                self.stages[at].verdict = verdict;
            }
        }
        let mut warnings = warning::all(self);
        replication::warnings(self, &mut warnings);
        drilled::copies_warning(self, &mut warnings);
        self.warnings = warnings;
        self.account_for_others();
    }

    /// Adds a stage that has ended. The warnings then cover the stages so far.
    pub fn add(&mut self, stage: StageRecord) {
        self.stages.push(stage);
        self.refresh_warnings();
    }

    /// Closes the record of a run. `ended`: why it ended before its plan was carried out, if it
    /// did. `removed`: whether the database was removed, or why it could not be.
    pub fn close(&mut self, ended: Option<Ended>, removed: Result<bool, String>) {
        self.partial = ended.is_some();
        self.ended = ended;
        self.server.deleted = removed == Ok(true);
        self.server.left = removed.err();
        self.conclude();
    }

    /// Judges a run that has ended: warnings, thresholds and result.
    pub fn conclude(&mut self) {
        self.refresh_warnings();
        self.thresholds = threshold::judge(self);
        self.regressions = baseline::judge(self);
        self.result = Some(result::of(self));
    }

    /// The server's name and version.
    pub fn server_words(&self) -> String {
        joined(&[&self.server.name, &self.server.version])
    }

    /// When the run began; the epoch if that cannot be read.
    pub fn began(&self) -> SystemTime {
        let began = OffsetDateTime::parse(&self.started_at, &Rfc3339);
        began.map_or(SystemTime::UNIX_EPOCH, SystemTime::from)
    }

    /// The result of the run: as stored, or computed from the record.
    pub fn result(&self) -> RunResult {
        self.result.clone().unwrap_or_else(|| result::of(self))
    }

    /// The main stage of the run: the last one that was measured.
    pub fn main_stage(&self) -> Option<&StageRecord> {
        self.stages.iter().rev().find(|stage| !stage.is_preparation())
    }

    /// The kinds of requests that were measured, in the order of the run.
    pub fn kinds(&self) -> Vec<OpKind> {
        let mut kinds = Vec::new();
        for operation in self.measured().flat_map(|stage| &stage.operations) {
            let kind = operation.kind;
            if kind.is_request() && operation.issued > 0 && !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        kinds
    }

    /// The measured stages: all but warm-ups and the preparation of bursts.
    pub fn measured(&self) -> impl Iterator<Item = &StageRecord> {
        self.stages.iter().filter(|stage| !stage.is_preparation())
    }
}
