//! The record of a search: `max.json`.

use super::judge::Judged;
use super::walk::{Ask, StepOutcome, Walk};
use crate::measure::Statistic;
use crate::plan::{Nouns, Threshold};
use crate::record::{RunRecord, RunResult, Verdict};
use serde::{Deserialize, Serialize};
use std::path::{Component, Path};

/// Searches disagree if the highest result is more than this many times the lowest: each is
/// accurate to 5 %.
const SCATTERED: f64 = 1.25;

/// What is searched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Searched {
    /// Operations per second of an open loop.
    Rate,
    /// Connections of a closed loop.
    Connections,
}

/// How a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// All searches have found a level.
    Found,
    /// Not even the lowest level holds, or no level that holds was found.
    NothingHolds,
    /// It was stopped, or is still running.
    Stopped,
    /// A run could not be carried out.
    Failed,
}

/// One step: an ordinary run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepRecord {
    /// The search it belongs to, from 1.
    pub search: u32,
    /// Operations per second, or connections.
    pub level: f64,
    /// Its length, in seconds.
    pub length_s: f64,
    /// Whether it repeats the winner of its search, for longer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub confirms: bool,
    /// Its outcome.
    pub outcome: StepOutcome,
    /// The reason it is not `held`; empty if it is.
    pub reason: String,
    /// How many times as long it has to be for the smallest number of responses that can decide; 0:
    /// it does not depend on the number of responses.
    #[serde(default)]
    pub takes: f64,
    /// Whether the client, or its number of connections, was the limit rather than the server.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub client_bound: bool,
    /// Whether data was found to be wrong or lost.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub data_wrong: bool,
    /// Documents that succeeded, per second.
    pub per_s: f64,
    /// The share of documents that failed, in percent.
    pub failed_percent: f64,
    /// The median response time, in microseconds.
    pub p50_us: Option<f64>,
    /// The 99th percentile of response times, in microseconds.
    pub p99_us: Option<f64>,
    /// The path of its record, relative to the folder of the search.
    pub run: String,
}

/// One search, with its repetitions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MaxRecord {
    /// Increased when readers of the previous layout would misread it.
    pub schema_version: u32,
    /// The user's name for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The server, without passwords; `None`: the stand-in, a new one for each step.
    pub target: Option<String>,
    /// The number of its addresses that were given.
    #[serde(default = "one")]
    pub nodes: u64,
    /// What its rates count, such as `rows`; documents if this is missing.
    #[serde(default, skip_serializing_if = "Nouns::are_documents")]
    pub counted: Nouns,
    /// The command line, without any password.
    #[serde(default)]
    pub command: String,
    /// The command line of each step, without level and length.
    #[serde(default)]
    pub step_command: String,
    /// Its verb; records of older versions have it only there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_verb: Option<String>,
    /// The limits that the server must meet.
    pub slo: Vec<Threshold>,
    /// What is searched for.
    pub searched: Searched,
    /// The seed for the starting points of repetitions.
    pub seed: u64,
    /// The first level to try.
    #[serde(default)]
    pub from: f64,
    /// The highest level to try.
    #[serde(default)]
    pub to: f64,
    /// The number of searches.
    #[serde(default)]
    pub repeat: u32,
    /// The length of the shortest step, in seconds.
    #[serde(default)]
    pub length_s: f64,
    /// How it ended.
    pub ended: Ended,
    /// The highest rate that holds, in documents per second: the median of all searches, or the
    /// lower of the two middle ones if their number is even. For connections, the rate that they
    /// reached.
    pub sustained_per_s: Option<f64>,
    /// The lowest result of all searches.
    pub low: Option<f64>,
    /// The highest result.
    pub high: Option<f64>,
    /// The result of each complete search, in documents per second.
    #[serde(default)]
    pub found_per_s: Vec<f64>,
    /// The highest number of connections that holds: the median of all searches, as for rates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections: Option<f64>,
    /// What was tried, in order.
    pub steps: Vec<StepRecord>,
}

/// The median of the results, each a level and its rate; the lower of the two middle ones if their
/// number is even, because no rate between them has held.
fn middle(mut found: Vec<(f64, f64)>) -> Option<(f64, f64)> {
    found.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.total_cmp(&other.1)));
    found.get(found.len().checked_sub(1)? / 2).copied()
}

/// The median of these rates, in the same sense.
pub fn middle_rate(found_per_s: &[f64]) -> Option<f64> {
    middle(found_per_s.iter().map(|rate| (*rate, *rate)).collect()).map(|(_, rate)| rate)
}

/// Records of the first layout do not have a number of nodes.
const fn one() -> u64 {
    1
}

type StepTime = fn(&StepRecord) -> Option<f64>;

impl StepRecord {
    /// Its statistics of response times, in microseconds.
    pub const TIMES: [(Statistic, StepTime); 2] =
        [(Statistic::P50, |it| it.p50_us), (Statistic::P99, |it| it.p99_us)];

    /// Makes the step of a run that has ended.
    pub fn of(
        record: &RunRecord,
        Ask { search, level, confirms, .. }: Ask,
        length_s: f64,
        run: String,
        Judged { outcome, reason, takes }: Judged,
    ) -> Self {
        let stage = record.main_stage();
        let all = stage.map(crate::record::StageRecord::merged);
        // The number of connections is the client's limit, too.
        let client_bound = |verdict: Verdict| {
            matches!(verdict, Verdict::ClientBound { .. } | Verdict::BoundByConnections { .. })
        };
        Self {
            search,
            level,
            length_s,
            confirms,
            outcome,
            reason,
            takes,
            data_wrong: record.result().exit_status == RunResult::DATA_WRONG,
            client_bound: stage.is_some_and(|stage| client_bound(stage.verdict)),
            per_s: all.as_ref().map_or(0.0, |all| all.throughput_per_s),
            failed_percent: all.as_ref().map_or(0.0, |all| all.failed_share() * 100.0),
            p50_us: all.as_ref().and_then(|all| all.response.p50_us),
            p99_us: all.as_ref().and_then(|all| all.response.p99_us),
            run,
        }
    }
}

impl MaxRecord {
    /// Takes over what the searches have found so far.
    pub fn conclude(&mut self, walk: &Walk, ended: Ended) {
        let rate_of = |(search, level): (u32, &f64)| match self.searched {
            Searched::Rate => Some(*level),
            Searched::Connections => {
                let winner = |it: &&StepRecord| it.confirms && it.outcome == StepOutcome::Held;
                let found = self.steps.iter().filter(winner).find(|it| it.search == search);
                found.map(|it| it.per_s)
            }
        };
        // The result of each search: the level, and its rate.
        let of_search = |(search, level): (u32, &f64)| Some((*level, rate_of((search, level))?));
        let found: Vec<(f64, f64)> = (1..).zip(walk.found()).filter_map(of_search).collect();
        let middle = middle(found.clone());
        self.found_per_s = found.into_iter().map(|(_, rate)| rate).collect();
        self.ended = ended;
        let found = || self.found_per_s.iter().copied();
        self.sustained_per_s = middle.map(|(_, rate)| rate);
        self.low = found().min_by(f64::total_cmp);
        self.high = found().max_by(f64::total_cmp);
        let of_connections = self.searched == Searched::Connections;
        self.connections = middle.map(|(level, _)| level).filter(|_| of_connections);
    }

    /// The verb of each step, if it is known.
    pub fn step_verb(&self) -> Option<&str> {
        let written = || self.step_command.strip_prefix("springload ")?.split(' ').next();
        self.step_verb.as_deref().or_else(written)
    }

    /// Continues an incomplete search that had the same request: takes over its steps.
    ///
    /// # Errors
    /// Returns an error if it is a different search, or already complete.
    pub fn go_on(&mut self, kept: Self, walk: &mut Walk) -> Result<(), &'static str> {
        if matches!(kept.ended, Ended::Found | Ended::NothingHolds) {
            return Err("has a complete search already");
        }
        let asked = |it: &Self| {
            let bounds = [it.from, it.to, it.length_s, f64::from(it.repeat)];
            (bounds, it.seed, it.searched, it.slo.clone(), it.step_command.clone())
        };
        let mut same = asked(self) == asked(&kept);
        for step in &kept.steps {
            same &= walk.next().is_some_and(|ask| {
                let length_s = f64::from(ask.lengths) * self.length_s;
                let bounds = [step.level - ask.level, step.length_s - length_s];
                (ask.search, ask.confirms) == (step.search, step.confirms)
                    && bounds.iter().all(|off| off.abs() < 1e-6)
            });
            if !same {
                break;
            }
            walk.tell(step.outcome, step.takes);
        }
        if !same {
            return Err("has another search");
        }
        (self.target, self.nodes, self.steps) = (kept.target, kept.nodes, kept.steps);
        Ok(())
    }

    /// Checks the contents of a file.
    ///
    /// # Errors
    /// Returns an error if they are impossible.
    pub fn check(&self) -> Result<(), &'static str> {
        let proper = |it: &f64| *it >= 0.0 && it.is_finite();
        let steps = self.steps.iter().all(|step| {
            let StepRecord { level, length_s, per_s, failed_percent, takes, .. } = step;
            [level, length_s, per_s, failed_percent, takes].into_iter().all(proper)
                && StepRecord::TIMES.iter().filter_map(|(_, us)| us(step)).all(|us| proper(&us))
        });
        let found = [self.sustained_per_s, self.low, self.high, self.connections];
        let found = found.iter().flatten().chain(&self.found_per_s).all(proper);
        let asked = [self.from, self.to, self.length_s].iter().all(proper);
        if !steps || !found || !asked {
            return Err("it has a negative number, or one that is not finite");
        }
        if self.nodes == 0 || self.nodes > 100_000 {
            return Err("it has no nodes, or too many");
        }
        let inside = |run: &str| {
            Path::new(run).components().all(|part| matches!(part, Component::Normal(_)))
        };
        if !self.steps.iter().all(|step| inside(&step.run)) {
            return Err("a run of it is not in its folder");
        }
        Ok(())
    }

    /// Whether no level above the one found was tried and missed: `--to` ended the searches, and
    /// the server may handle more.
    pub fn open_ended(&self) -> bool {
        let most = match self.searched {
            Searched::Rate => self.sustained_per_s,
            Searched::Connections => self.connections,
        };
        let beyond = |step: &StepRecord| step.level > most.unwrap_or(f64::INFINITY);
        most.is_some() && !self.steps.iter().any(beyond)
    }

    /// How many steps found data to be wrong or lost.
    pub fn data_wrong(&self) -> usize {
        self.steps.iter().filter(|it| it.data_wrong).count()
    }

    /// Whether the searches found levels so far apart that their median says little.
    pub fn scattered(&self) -> bool {
        self.low.zip(self.high).is_some_and(|(low, high)| high > low * SCATTERED)
    }

    /// Whether the client was the limit in half of the searches or more, so that it also limits the
    /// median: the lowest level that did not hold failed because of the client. If a search has
    /// several steps at one level, the longest decides.
    pub fn client_bound(&self) -> bool {
        let bound = |search: u32| {
            let own = || self.steps.iter().filter(move |it| it.search == search);
            let tells = |step: &&StepRecord| {
                let same = |it: &StepRecord| it.level.total_cmp(&step.level).is_eq();
                !own().any(|it| same(it) && it.length_s > step.length_s)
            };
            let open = own().filter(|it| it.outcome != StepOutcome::Held).filter(tells);
            open.min_by(|a, b| a.level.total_cmp(&b.level)).is_some_and(|it| it.client_bound)
        };
        let mut searches: Vec<u32> = self.steps.iter().map(|it| it.search).collect();
        searches.dedup();
        let spoilt = searches.iter().filter(|search| bound(**search)).count();
        spoilt > 0 && spoilt * 2 >= searches.len()
    }
}

#[cfg(test)]
#[path = "record_tests.rs"]
mod tests;
