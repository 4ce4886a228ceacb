//! The record of a search: `max.json`.

use super::judge::Judged;
use super::walk::{Ask, Outcome, Walk};
use crate::plan::Threshold;
use crate::record::{RunRecord, Verdict};
use crate::statistics::median;
use serde::{Deserialize, Serialize};

/// The ratio of the greatest to the least of the searches beyond which they disagree: each is good
/// to 5 %.
const SCATTERED: f64 = 1.25;

/// What is searched.
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
    /// Not even the lowest level holds, or none that holds was found.
    NothingHolds,
    /// It was stopped, or is still under way.
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
    /// It is the winner of its search, tried for longer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub confirms: bool,
    /// What it came to.
    pub outcome: Outcome,
    /// Why it is not `held`; empty, if it is.
    pub reason: String,
    /// How many times as long it has to be for the fewest answers that can tell; 0: it does not
    /// depend on how many there are.
    #[serde(default)]
    pub takes: f64,
    /// The client was the limit, not the server.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub client_bound: bool,
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
    /// Increased when readers of the last layout would misread.
    pub schema_version: u32,
    /// What the user calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The server, without passwords; `None`: the stand-in, a new one for each step.
    pub target: Option<String>,
    /// How many addresses of it were named.
    #[serde(default = "one")]
    pub nodes: u64,
    /// The command line, without any password.
    #[serde(default)]
    pub command: String,
    /// That of each step, without level and length.
    #[serde(default)]
    pub step_command: String,
    /// What the server must keep to.
    pub slo: Vec<Threshold>,
    /// What is searched.
    pub searched: Searched,
    /// The seed of where repetitions begin.
    pub seed: u64,
    /// The first level to try.
    #[serde(default)]
    pub from: f64,
    /// The highest.
    #[serde(default)]
    pub to: f64,
    /// How often it is searched.
    #[serde(default)]
    pub repeat: u32,
    /// The length of the shortest step, in seconds.
    #[serde(default)]
    pub length_s: f64,
    /// How it ended.
    pub ended: Ended,
    /// The highest rate that holds, in documents per second: the median of all searches. Of
    /// connections: the rate that they got.
    pub sustained_per_s: Option<f64>,
    /// The least of all searches.
    pub low: Option<f64>,
    /// The greatest.
    pub high: Option<f64>,
    /// What each complete search has found, in documents per second.
    #[serde(default)]
    pub found_per_s: Vec<f64>,
    /// The highest number of connections that holds: the median of all searches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections: Option<f64>,
    /// What was tried, in order.
    pub steps: Vec<StepRecord>,
}

/// Records of the first layout name no number of nodes.
const fn one() -> u64 {
    1
}

impl StepRecord {
    /// Of a run that has ended.
    pub fn of(
        record: &RunRecord,
        Ask { search, level, confirms, .. }: Ask,
        (length_s, run): (f64, String),
        Judged { outcome, reason, takes }: Judged,
    ) -> Self {
        let stage = record.main_stage();
        let all = stage.map(crate::record::StageRecord::merged);
        let client_bound = |verdict: Verdict| matches!(verdict, Verdict::ClientBound { .. });
        Self {
            search,
            level,
            length_s,
            confirms,
            outcome,
            reason,
            takes,
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
    /// Takes what the searches have found so far.
    pub fn conclude(&mut self, walk: &Walk, ended: Ended) {
        let rate_of = |level: &f64| match self.searched {
            Searched::Rate => Some(*level),
            Searched::Connections => {
                let winner = |it: &&StepRecord| it.confirms && it.outcome == Outcome::Held;
                let found =
                    self.steps.iter().filter(winner).find(|it| (it.level - level).abs() < 0.5);
                found.map(|it| it.per_s)
            }
        };
        self.found_per_s = walk.found().iter().filter_map(rate_of).collect();
        self.ended = ended;
        let found = || self.found_per_s.iter().copied();
        self.sustained_per_s = median(found());
        self.low = found().min_by(f64::total_cmp);
        self.high = found().max_by(f64::total_cmp);
        let levels = walk.found().iter().copied();
        self.connections = median(levels).filter(|_| self.searched == Searched::Connections);
    }

    /// Goes on with a search that was not complete and asked for the same: takes its steps.
    ///
    /// # Errors
    /// Why it is another search.
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
        (self.target, self.steps) = (kept.target, kept.steps);
        Ok(())
    }

    /// Checks what a file may claim.
    ///
    /// # Errors
    /// What cannot be.
    pub fn check(&self) -> Result<(), &'static str> {
        let proper = |it: &f64| *it >= 0.0 && it.is_finite();
        let times = |step: &StepRecord| [step.p50_us, step.p99_us].into_iter().flatten();
        let steps = self.steps.iter().all(|step| {
            let StepRecord { level, length_s, per_s, failed_percent, takes, .. } = step;
            [level, length_s, per_s, failed_percent, takes].into_iter().all(proper)
                && times(step).all(|us| proper(&us))
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
        Ok(())
    }

    /// Whether nothing above what was found was tried and did not hold: `--to` ended the searches,
    /// and the server may bear more.
    pub fn open_ended(&self) -> bool {
        let most = match self.searched {
            Searched::Rate => self.sustained_per_s,
            Searched::Connections => self.connections,
        };
        let beyond = |step: &StepRecord| step.level > most.unwrap_or(f64::INFINITY);
        most.is_some() && !self.steps.iter().any(beyond)
    }

    /// Whether the searches found levels so far apart that their median says little.
    pub fn scattered(&self) -> bool {
        self.low.zip(self.high).is_some_and(|(low, high)| high > low * SCATTERED)
    }

    /// Whether the client was the limit in half of the searches or more, so that the median is no
    /// better: the least level that did not hold did not for that. Of several steps of a search at
    /// a level the longest tells.
    pub fn client_bound(&self) -> bool {
        let bound = |search: u32| {
            let own = || self.steps.iter().filter(move |it| it.search == search);
            let tells = |step: &&StepRecord| {
                let same = |it: &StepRecord| it.level.total_cmp(&step.level).is_eq();
                !own().any(|it| same(it) && it.length_s > step.length_s)
            };
            let open = own().filter(|it| it.outcome != Outcome::Held).filter(tells);
            open.min_by(|a, b| a.level.total_cmp(&b.level)).is_some_and(|it| it.client_bound)
        };
        let mut searches: Vec<u32> = self.steps.iter().map(|it| it.search).collect();
        searches.dedup();
        let spoilt = searches.iter().filter(|search| bound(**search)).count();
        spoilt > 0 && spoilt * 2 >= searches.len()
    }
}

#[cfg(test)]
mod tests {
    use super::super::walk::Within;
    use super::*;

    fn step(level: f64, length_s: f64, outcome: Outcome) -> StepRecord {
        StepRecord {
            search: 1,
            level,
            length_s,
            confirms: false,
            outcome,
            reason: String::new(),
            takes: 0.0,
            client_bound: false,
            per_s: level,
            failed_percent: 0.0,
            p50_us: None,
            p99_us: None,
            run: String::new(),
        }
    }

    fn max(searched: Searched, steps: Vec<StepRecord>) -> MaxRecord {
        MaxRecord {
            schema_version: 1,
            label: None,
            target: None,
            nodes: 1,
            command: String::new(),
            step_command: String::new(),
            slo: Vec::new(),
            searched,
            seed: 1,
            from: 100.0,
            to: 1e6,
            repeat: 3,
            length_s: 3.0,
            ended: Ended::Stopped,
            sustained_per_s: None,
            low: None,
            high: None,
            found_per_s: Vec::new(),
            connections: None,
            steps,
        }
    }

    fn bound(step: StepRecord) -> StepRecord {
        StepRecord { client_bound: true, ..step }
    }

    #[test]
    fn the_client_is_the_limit_where_the_least_level_that_does_not_hold_says_so() {
        let (held, missed, open) = (Outcome::Held, Outcome::Missed, Outcome::Undecided);
        let is_bound = |steps: Vec<StepRecord>| max(Searched::Rate, steps).client_bound();
        let below = step(100.0, 3.0, held);
        assert!(is_bound(vec![below.clone(), bound(step(200.0, 12.0, open))]));
        assert!(is_bound(vec![bound(step(200.0, 3.0, missed)), step(400.0, 3.0, missed)]));
        assert!(!is_bound(vec![step(200.0, 3.0, missed), bound(step(400.0, 12.0, open))]));
        // It was so in a short step alone.
        let short = bound(step(200.0, 3.0, open));
        assert!(!is_bound(vec![short.clone(), step(200.0, 6.0, held)]));
        assert!(!is_bound(vec![short.clone(), step(200.0, 6.0, held), step(210.0, 3.0, missed)]));
        // In another search, that level says nothing of this one.
        let other = StepRecord { search: 2, ..step(200.0, 6.0, held) };
        assert!(is_bound(vec![short.clone(), other.clone()]));
        // Nor do two honest searches owe anything to the third.
        let third = StepRecord { search: 3, ..step(210.0, 3.0, missed) };
        assert!(!is_bound(vec![short, other, third]));
        assert!(!is_bound(vec![bound(below)]) && !is_bound(Vec::new()));
    }

    /// A walk that has found these levels, all in one step and its confirmation.
    fn walked(levels: &[f64]) -> Walk {
        let searches = levels.len() as u32;
        let mut walk = Walk::new(Within { from: levels[0], to: 1e6, searches, seed: 1 });
        while let Some(ask) = walk.next() {
            let most = levels[ask.search as usize - 1];
            walk.tell(if ask.level <= most { Outcome::Held } else { Outcome::Missed }, 0.0);
        }
        walk
    }

    #[test]
    fn what_is_found_is_the_median_with_the_least_and_the_greatest() {
        let walk = walked(&[1_000.0, 1_300.0, 1_100.0]);
        let mut it = max(Searched::Rate, Vec::new());
        it.conclude(&walk, Ended::Found);
        let mut sorted = walk.found().to_vec();
        assert_eq!((it.ended, &it.found_per_s), (Ended::Found, &sorted));
        sorted.sort_by(f64::total_cmp);
        let told = [it.low, it.sustained_per_s, it.high].map(Option::unwrap_or_default);
        assert_eq!(told.to_vec(), sorted);
        assert_eq!(it.connections, None);
    }

    #[test]
    fn connections_have_the_rate_of_the_run_that_confirmed_them() {
        let walk = walked(&[16.0]);
        let level = walk.found()[0];
        let confirmed =
            StepRecord { confirms: true, per_s: 900.0, ..step(level, 9.0, Outcome::Held) };
        let failed = StepRecord { outcome: Outcome::Missed, per_s: 100.0, ..confirmed.clone() };
        let short = StepRecord { per_s: 800.0, ..step(level, 3.0, Outcome::Held) };
        let mut it = max(Searched::Connections, vec![short, failed, confirmed]);
        it.conclude(&walk, Ended::Found);
        assert_eq!((it.sustained_per_s, it.connections), (Some(900.0), Some(level)));
    }

    #[test]
    fn a_search_that_ends_at_the_highest_level_is_open_ended() {
        let held = |level| step(level, 3.0, Outcome::Held);
        let mut it = max(Searched::Rate, vec![held(100.0), held(200.0), held(200.0)]);
        assert!(!it.open_ended() && !it.scattered(), "nothing is found yet");
        (it.sustained_per_s, it.low, it.high) = (Some(200.0), Some(200.0), Some(200.0));
        assert!(it.open_ended() && !it.scattered());
        it.steps.push(step(210.0, 3.0, Outcome::Undecided));
        assert!(!it.open_ended());
        it.high = Some(250.0);
        assert!(!it.scattered());
        it.high = Some(251.0);
        assert!(it.scattered());
        let by_connections = |connections| MaxRecord {
            searched: Searched::Connections,
            sustained_per_s: Some(5_000.0),
            connections: Some(connections),
            ..it.clone()
        };
        assert!(by_connections(210.0).open_ended() && !by_connections(200.0).open_ended());
    }

    #[test]
    fn an_incomplete_search_goes_on_where_it_was() {
        let within = Within { from: 100.0, to: 1e6, searches: 3, seed: 1 };
        let walked = |steps: usize| {
            let (mut walk, mut it) = (Walk::new(within), max(Searched::Rate, Vec::new()));
            while let Some(ask) = walk.next().filter(|_| it.steps.len() < steps) {
                let few = ask.level < 150.0 && ask.lengths < 2;
                let outcome = match ask.level <= 700.0 {
                    true if few => Outcome::Undecided,
                    true => Outcome::Held,
                    false => Outcome::Missed,
                };
                let takes = if few { 1.2 } else { 0.0 };
                walk.tell(outcome, takes);
                let step = step(ask.level, f64::from(ask.lengths) * 3.0, outcome);
                let Ask { search, confirms, .. } = ask;
                it.steps.push(StepRecord { search, confirms, takes, ..step });
            }
            (walk, it)
        };
        let (whole, _) = walked(usize::MAX);
        for steps in [0, 1, 4, 12] {
            let (walk, kept) = walked(steps);
            let (mut again, mut it) = (Walk::new(within), max(Searched::Rate, Vec::new()));
            it.go_on(kept.clone(), &mut again).unwrap();
            assert_eq!((it.steps.len(), again.next()), (steps, walk.next()));
            while let Some(ask) = again.next() {
                again.tell(if ask.level <= 700.0 { Outcome::Held } else { Outcome::Missed }, 0.0);
            }
            assert_eq!(again.found(), whole.found());
        }
        let (_, kept) = walked(4);
        for change in [
            |it: &mut MaxRecord| it.seed = 2,
            |it: &mut MaxRecord| it.to = 1e5,
            |it: &mut MaxRecord| it.length_s = 2.0,
            |it: &mut MaxRecord| it.repeat = 4,
            |it: &mut MaxRecord| it.searched = Searched::Connections,
            |it: &mut MaxRecord| it.slo = vec!["p99 < 1s".parse().unwrap()],
            |it: &mut MaxRecord| it.step_command = "springload run other".to_owned(),
            |it: &mut MaxRecord| it.steps[2].level = 350.0,
            |it: &mut MaxRecord| it.steps[1].takes = 9.0,
            |it: &mut MaxRecord| it.steps[3].confirms = true,
            |it: &mut MaxRecord| it.ended = Ended::Found,
            |it: &mut MaxRecord| it.ended = Ended::NothingHolds,
        ] {
            let mut other = kept.clone();
            change(&mut other);
            let mut it = max(Searched::Rate, Vec::new());
            let told = it.go_on(other, &mut Walk::new(within));
            assert!(told.is_err() && it.steps.is_empty(), "{told:?}");
        }
    }

    #[test]
    fn a_file_cannot_claim_what_cannot_be() {
        let sound = || max(Searched::Rate, vec![step(1.0, 1.0, Outcome::Held)]);
        assert!(sound().check().is_ok());
        for change in [
            |it: &mut MaxRecord| it.steps[0].level = -1.0,
            |it: &mut MaxRecord| it.steps[0].length_s = f64::NAN,
            |it: &mut MaxRecord| it.steps[0].per_s = f64::INFINITY,
            |it: &mut MaxRecord| it.steps[0].failed_percent = -0.1,
            |it: &mut MaxRecord| it.steps[0].p50_us = Some(-1.0),
            |it: &mut MaxRecord| it.steps[0].p99_us = Some(f64::NAN),
            |it: &mut MaxRecord| it.sustained_per_s = Some(-1.0),
            |it: &mut MaxRecord| it.low = Some(f64::NAN),
            |it: &mut MaxRecord| it.high = Some(f64::INFINITY),
            |it: &mut MaxRecord| it.connections = Some(-1.0),
            |it: &mut MaxRecord| it.found_per_s = vec![-1.0],
            |it: &mut MaxRecord| it.nodes = 0,
            |it: &mut MaxRecord| it.nodes = 100_001,
            |it: &mut MaxRecord| it.steps[0].takes = f64::NAN,
            |it: &mut MaxRecord| it.to = -1.0,
        ] {
            let mut it = sound();
            change(&mut it);
            assert!(it.check().is_err(), "{it:?}");
        }
    }
}
