//! What each agent contributed to a run on several machines, or in several processes.

use crate::measure::is_default;
use serde::{Deserialize, Serialize};

/// One agent of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentRecord {
    /// Its number, from 0.
    pub index: usize,
    /// The name of its machine.
    pub host: String,
    /// Its process.
    pub pid: u32,
    /// Its version of springload.
    pub version: String,
    /// The processors that it may use.
    pub cores: usize,
    /// Its threads.
    pub threads: usize,
    /// Its connections.
    pub connections: usize,
    /// Its clock minus the coordinator's, in microseconds.
    pub clock_offset_us: f64,
    /// The most by which that can be wrong, in microseconds: half of the least round trip.
    pub clock_error_us: f64,
    /// Why and when it was lost, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<Lost>,
}

/// The loss of an agent. What it had reported until then is part of the results.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Lost {
    /// When, in seconds from the run's start.
    pub at_s: f64,
    /// The stage in which it was lost; `None`: between stages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
    /// Why, such as `nothing heard for 3 s`.
    pub why: String,
}

/// What one agent did in a stage.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentStage {
    /// Its number.
    pub index: usize,
    /// When its first request was sent, in microseconds on the coordinator's clock after the time
    /// at which it should have been; `None`: it sent none, or was lost before it could say.
    pub start_us: Option<f64>,
    /// Requests that ended.
    pub requests: u64,
    /// Documents that succeeded.
    pub ok: u64,
    /// Documents that failed.
    pub failed: u64,
    /// CPU time of its load threads, in seconds; 0 if it was lost.
    pub cpu_s: f64,
    /// The share of the time that its busiest thread was computing, 0 to 1; 0 if it was lost.
    pub busiest_thread: f64,
    /// It was lost before the end of the stage: these are only the seconds that it reported.
    #[serde(default, skip_serializing_if = "is_default")]
    pub lost: bool,
    /// Second by second.
    pub series: Vec<AgentSecond>,
}

/// One second of one agent, or several of a long stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentSecond {
    /// The second, or the first of them, counted from the stage's start.
    pub second: u32,
    /// How many seconds it covers.
    pub seconds: u32,
    /// Requests that ended.
    pub requests: u64,
    /// Documents that succeeded.
    pub ok: u64,
    /// Documents that failed.
    pub failed: u64,
}
