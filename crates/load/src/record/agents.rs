//! What each agent contributed to a run on several machines, or in several processes.

use crate::measure::{Span, is_default};
use serde::{Deserialize, Serialize};

/// One agent of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentRecord {
    /// Its number, from 0. Connection `c` of all belongs to agent `c` modulo the number of agents.
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
    #[cfg_attr(feature = "schema", schemars(extend("minimum" = null)))]
    pub clock_offset_us: f64,
    /// The most by which that can be wrong, in microseconds: half of the least round trip.
    pub clock_error_us: f64,
    /// Why and when it was lost, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<Lost>,
}

/// The loss of an agent. What it had reported until then is part of the results.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentStage {
    /// Its number.
    pub index: usize,
    /// When its first request was sent, in microseconds on the coordinator's clock after the time
    /// at which it should have been; `None`: it sent none, or was lost before it could say.
    #[cfg_attr(feature = "schema", schemars(extend("minimum" = null)))]
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
    /// What it lost of its own time; absent if it was lost, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<AgentClient>,
    /// Whether it was lost before the end of the stage: these are only the seconds that it
    /// reported.
    #[serde(default, skip_serializing_if = "is_default")]
    pub lost: bool,
    /// Second by second.
    pub series: Vec<AgentSecond>,
}

/// What one agent lost of its own time in a stage. Shares are those of the thread that lost most, 0
/// to 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentClient {
    /// The share of the time that a thread was ready to run but had no processor.
    pub waited_thread: f64,
    /// The share of the time that a thread was paused.
    pub paused_thread: f64,
    /// How late it began operations through its own fault, in microseconds: the 99th percentile;
    /// `null` in a closed loop.
    pub late_p99_us: Option<f64>,
    /// Requests that it held up for a millisecond or more.
    pub held: u64,
    /// For how long, in seconds over all of them.
    pub held_s: f64,
    /// Its longest pauses, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pauses: Vec<Span>,
}

/// One second of one agent, or several of a long stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentSecond {
    /// The second, or the first of them, counted from the stage's start.
    pub second: u32,
    /// How many seconds it covers.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub seconds: u32,
    /// Requests that ended.
    pub requests: u64,
    /// Documents that succeeded.
    pub ok: u64,
    /// Documents that failed.
    pub failed: u64,
}

/// The most rows of an agent. Beyond that they are joined in pairs.
const MOST_ROWS: usize = 600;

impl AgentStage {
    /// Adds what an agent did in a second of the stage.
    pub fn add(&mut self, second: u32, [requests, ok, failed]: [u64; 3]) {
        self.requests += requests;
        self.ok += ok;
        self.failed += failed;
        let after = self.series.partition_point(|row| row.second <= second);
        let place = after.checked_sub(1);
        let place = place.filter(|&at| second < self.series[at].second + self.series[at].seconds);
        let place = place.unwrap_or_else(|| {
            self.series.insert(after, AgentSecond { second, seconds: 1, ..AgentSecond::default() });
            after
        });
        self.series[place].count([requests, ok, failed]);
        while self.series.len() > MOST_ROWS {
            self.join();
        }
    }

    /// Joins rows to the next power of two of seconds.
    fn join(&mut self) {
        let length = self.series.iter().map(|row| row.seconds).max().unwrap_or(1) * 2;
        let mut joined: Vec<AgentSecond> = Vec::new();
        for row in self.series.drain(..) {
            match joined.last_mut() {
                Some(last) if last.second / length == row.second / length => {
                    last.seconds = row.second + row.seconds - last.second;
                    last.count([row.requests, row.ok, row.failed]);
                }
                _ => joined.push(row),
            }
        }
        self.series = joined;
    }
}

impl AgentSecond {
    fn count(&mut self, [requests, ok, failed]: [u64; 3]) {
        self.requests += requests;
        self.ok += ok;
        self.failed += failed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_of_an_agent_has_few_rows_and_all_counts() {
        let mut stage = AgentStage::default();
        for second in 0..86_400 {
            stage.add(second, [5, 3, 2]);
            stage.add(second.saturating_sub(1), [1, 1, 0]);
        }
        assert!(stage.series.len() <= MOST_ROWS, "{} rows", stage.series.len());
        let sum = |of: fn(&AgentSecond) -> u64| stage.series.iter().map(of).sum::<u64>();
        let sums = [sum(|it| it.requests), sum(|it| it.ok), sum(|it| it.failed)];
        assert_eq!(sums, [6 * 86_400, 4 * 86_400, 2 * 86_400]);
        assert_eq!([stage.requests, stage.ok, stage.failed], sums);
        assert!(stage.series.windows(2).all(|it| it[0].second + it[0].seconds <= it[1].second));
        assert_eq!(stage.series.iter().map(|row| u64::from(row.seconds)).sum::<u64>(), 86_400);
    }

    #[test]
    fn seconds_stay_apart_and_gaps_have_no_row() {
        let mut stage = AgentStage::default();
        for (second, count) in [(4, 1), (2, 1), (4, 2)] {
            stage.add(second, [count; 3]);
        }
        let rows: Vec<_> = stage.series.iter().map(|row| (row.second, row.ok)).collect();
        assert_eq!(rows, [(2, 1), (4, 3)]);
    }
}
