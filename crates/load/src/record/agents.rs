//! What each agent contributed to a run on several machines, or in several processes.

use crate::account::Account;
use crate::measure::{Latency, Span, is_default};
use serde::{Deserialize, Serialize};

/// One agent of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentRecord {
    /// Its number, from 0. Connection `c` of the run belongs to agent `c` modulo the number of
    /// agents.
    pub index: usize,
    /// The name of its machine.
    pub host: String,
    /// Its process ID.
    pub pid: u32,
    /// Its version of springload.
    pub version: String,
    /// The number of processors available to it.
    pub cores: usize,
    /// The number of its load threads.
    pub threads: usize,
    /// The number of its connections.
    pub connections: usize,
    /// Its clock minus the coordinator's, in microseconds.
    #[cfg_attr(feature = "schema", schemars(extend("minimum" = null)))]
    pub clock_offset_us: f64,
    /// The maximum error of that offset, in microseconds: half of the shortest round trip.
    pub clock_error_us: f64,
    /// When and why it was lost, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<Lost>,
}

/// The loss of an agent. What it had reported until then is part of the results.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Lost {
    /// When it was lost, in seconds from the run's start.
    pub at_s: f64,
    /// The stage during which it was lost; `None` if between stages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
    /// The reason, such as `nothing heard for 3 s`.
    pub why: String,
    /// Whether it had delivered everything that it had measured until then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub handed_in: bool,
}

/// What one agent did in a stage.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentStage {
    /// Its number.
    pub index: usize,
    /// When its first request was sent, in microseconds after it was due, on the coordinator's
    /// clock; `None` if it sent none, or was lost before it could report this.
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
    /// The share of the time that its busiest thread spent computing, 0 to 1; 0 if it was lost.
    pub busiest_thread: f64,
    /// Response times of its requests that succeeded at least in part, to two significant digits;
    /// `None` if there were none, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<Latency>,
    /// Which lost time and failed requests of its own are due to the client, the server, the
    /// network or none of them; absent if it was lost, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<Account>,
    /// The time that the agent itself lost; absent if it was lost, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<AgentClient>,
    /// Whether it was lost before the end of the stage; its figures then cover only the seconds
    /// that it had reported.
    #[serde(default, skip_serializing_if = "is_default")]
    pub lost: bool,
    /// The measurements, second by second.
    pub series: Vec<AgentSecond>,
}

/// The time that one agent itself lost in a stage. Shares are those of the thread that lost most, 0
/// to 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentClient {
    /// The share of the time that a thread was ready to run but had no processor.
    pub waited_thread: f64,
    /// The share of the time that a thread was paused.
    pub paused_thread: f64,
    /// How late it started operations through its own fault, in microseconds: the 99th percentile;
    /// `None` in a closed loop.
    pub late_p99_us: Option<f64>,
    /// Requests that it delayed by a millisecond or more.
    pub held: u64,
    /// The total delay of those requests, in seconds.
    pub held_s: f64,
    /// Its longest pauses, in chronological order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pauses: Vec<Span>,
}

/// One second of one agent, or several in a long stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentSecond {
    /// The second, or the first of several, counted from the stage's start.
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
    /// Requests that succeeded at least in part, the only ones timed; absent in older records.
    #[serde(default, skip_serializing_if = "is_default")]
    pub timed: u64,
    /// The mean of their response times, in microseconds.
    #[serde(default, skip_serializing_if = "is_default")]
    pub response_mean_us: f64,
    /// The maximum of their response times, in microseconds.
    #[serde(default, skip_serializing_if = "is_default")]
    pub response_max_us: f64,
}

/// The most rows of an agent. Beyond that they are joined in pairs.
const MOST_ROWS: usize = 600;
/// The most rows of all agents together; each may have the fewest even beyond it.
const MOST_OF_ALL: usize = 120_000;
const LEAST_ROWS: usize = 12;

/// The most rows of each of `agents` agents.
pub(crate) fn most_rows(agents: usize) -> usize {
    (MOST_OF_ALL / agents.max(1)).clamp(LEAST_ROWS, MOST_ROWS)
}

impl AgentStage {
    /// Adds what an agent did in a second of the stage; rows are joined once there are more than
    /// `most`.
    pub(crate) fn add(&mut self, done: AgentSecond, most: usize) {
        self.requests += done.requests;
        self.ok += done.ok;
        self.failed += done.failed;
        let second = done.second;
        let after = self.series.partition_point(|row| row.second <= second);
        let place = after.checked_sub(1);
        let place = place.filter(|&at| second < self.series[at].second + self.series[at].seconds);
        let place = place.unwrap_or_else(|| {
            self.series.insert(after, AgentSecond { second, seconds: 1, ..AgentSecond::default() });
            after
        });
        self.series[place].count(&done);
        while self.series.len() > most {
            self.join();
        }
    }

    /// Joins rows so that each covers the next power of two of seconds.
    fn join(&mut self) {
        let length = self.series.iter().map(|row| row.seconds).max().unwrap_or(1) * 2;
        let mut joined: Vec<AgentSecond> = Vec::new();
        for row in self.series.drain(..) {
            match joined.last_mut() {
                Some(last) if last.second / length == row.second / length => {
                    last.seconds = row.second + row.seconds - last.second;
                    last.count(&row);
                }
                _ => joined.push(row),
            }
        }
        self.series = joined;
    }
}

impl AgentSecond {
    fn count(&mut self, other: &Self) {
        self.requests += other.requests;
        self.ok += other.ok;
        self.failed += other.failed;
        let sum_us = |row: &Self| row.response_mean_us * row.timed as f64;
        let sum_us = sum_us(self) + sum_us(other);
        self.timed += other.timed;
        if self.timed > 0 {
            self.response_mean_us = (sum_us / self.timed as f64 * 10.0).round() / 10.0;
        }
        self.response_max_us = self.response_max_us.max(other.response_max_us);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_of_an_agent_has_few_rows_and_all_counts() {
        let mut stage = AgentStage::default();
        let row = |second, timed, response_mean_us| AgentSecond {
            second,
            timed,
            response_mean_us,
            response_max_us: f64::from(second),
            ..AgentSecond::default()
        };
        for second in 0..86_400 {
            let done = AgentSecond { requests: 5, ok: 3, failed: 2, ..row(second, 3, 100.0) };
            stage.add(done, MOST_ROWS);
            let late = row(second.saturating_sub(1), 1, 300.0);
            stage.add(AgentSecond { requests: 1, ok: 1, ..late }, MOST_ROWS);
        }
        let timed: u64 = stage.series.iter().map(|row| row.timed).sum();
        let sum_us: f64 =
            stage.series.iter().map(|row| row.response_mean_us * row.timed as f64).sum();
        assert_eq!(timed, 4 * 86_400);
        assert!((sum_us / timed as f64 - 150.0).abs() < 1.0, "{sum_us}");
        let most = stage.series.last().map(|row| row.response_max_us);
        assert_eq!(most, Some(86_399.0));
        assert!(stage.series.len() <= MOST_ROWS, "{} rows", stage.series.len());
        let sum = |of: fn(&AgentSecond) -> u64| stage.series.iter().map(of).sum::<u64>();
        let sums = [sum(|it| it.requests), sum(|it| it.ok), sum(|it| it.failed)];
        assert_eq!(sums, [6 * 86_400, 4 * 86_400, 2 * 86_400]);
        assert_eq!([stage.requests, stage.ok, stage.failed], sums);
        assert!(stage.series.windows(2).all(|it| it[0].second + it[0].seconds <= it[1].second));
        assert_eq!(stage.series.iter().map(|row| u64::from(row.seconds)).sum::<u64>(), 86_400);
    }

    #[test]
    fn many_agents_have_fewer_rows_each() {
        assert_eq!(
            [1, 200, 201, 1_000, 10_000, 100_000].map(most_rows),
            [600, 600, 597, 120, 12, 12]
        );
        let mut stage = AgentStage::default();
        for second in 0..3_600 {
            stage.add(AgentSecond { second, ok: 1, ..AgentSecond::default() }, 12);
        }
        assert!(stage.series.len() <= 12);
        assert_eq!(stage.series.iter().map(|row| row.ok).sum::<u64>(), 3_600);
    }

    #[test]
    fn seconds_stay_apart_and_gaps_have_no_row() {
        let mut stage = AgentStage::default();
        for (second, count) in [(4, 1), (2, 1), (4, 2)] {
            let (requests, ok, failed) = (count, count, count);
            let done = AgentSecond { second, requests, ok, failed, ..AgentSecond::default() };
            stage.add(done, MOST_ROWS);
        }
        let rows: Vec<_> = stage.series.iter().map(|row| (row.second, row.ok)).collect();
        assert_eq!(rows, [(2, 1), (4, 3)]);
    }

    #[test]
    fn rows_are_joined_only_if_there_are_more_than_allowed() {
        let mut stage = AgentStage::default();
        let mut rows_after = |second: u32| {
            stage.add(AgentSecond { second, ..AgentSecond::default() }, 4);
            stage.series.iter().map(|row| (row.second, row.seconds)).collect::<Vec<_>>()
        };
        (1..4).for_each(|second| drop(rows_after(second)));
        assert_eq!(rows_after(4), [(1, 1), (2, 1), (3, 1), (4, 1)]);
        // Rows begin at multiples of their length, except the first.
        assert_eq!(rows_after(5), [(1, 1), (2, 2), (4, 2)]);
        assert_eq!(rows_after(6), [(1, 1), (2, 2), (4, 2), (6, 1)]);
        assert_eq!(rows_after(7), [(1, 3), (4, 4)]);
        assert_eq!(rows_after(8), [(1, 3), (4, 4), (8, 1)]);
        let untimed = stage.series[0].response_mean_us;
        assert!(untimed.abs() < f64::EPSILON, "{untimed}");
    }
}
