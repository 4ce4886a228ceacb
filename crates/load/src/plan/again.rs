//! Checks a stored plan, which this or another version may have written, and which may have been
//! edited by hand. What [`check`](super::check()) refuses in a specification, this refuses in the
//! plan itself.

use super::baseline::Baseline;
use super::check::check_card;
use super::load::{MOST_SLACK_NS, check_max_answer};
use super::operations::Defined;
use super::planned::{MOST_CONNECTIONS, MOST_THREADS, Plan, PlanRecord};
use super::schemas::{SchemaPlan, SchemaSource};
use super::stage::StagePlan;
use crate::clock::SECOND_NS;
use crate::engine::Pace;
use crate::mistake::{Flagged, Invalid};
use crate::redact::STRUCK;
use crate::workload::Restored;
use serde_json::Value;

/// More stages than any plan with bursts has.
const MOST_STAGES: usize = 100_000;
/// No run takes longer, in nanoseconds.
const YEAR_NS: u64 = 366 * 86_400 * SECOND_NS;
/// The highest rate, in operations per second.
const MOST_RATE: f64 = 1e8;
const CURE: &str = "make the plan again, from its command line";

impl PlanRecord {
    /// Returns the plan if it can be run. Mistakes name its members, as in JSON.
    ///
    /// # Errors
    /// Returns every mistake found.
    pub fn checked_again(mut self) -> Result<Plan, Vec<Invalid>> {
        let mut mistakes = Vec::new();
        self.check_numbers(&mut mistakes);
        for (place, schema) in self.schemas.iter().enumerate() {
            let source =
                SchemaSource::Text { name: schema.source.clone(), text: schema.text.clone() };
            let flag = format!("schemas.{place}");
            mistakes.extend(SchemaPlan::load(&flag, &source, schema.weight).err());
            if schema.weight == 0 {
                mistakes.push(Invalid::new(flag, "the weight is 0", "give 1 or more"));
            }
        }
        if self.schemas.is_empty() && self.http.is_none() {
            mistakes.push(Invalid::new("schemas", "there are none", CURE));
        }
        self.check_stages(&mut mistakes);
        self.check_target(&mut mistakes);
        let struck = |value: &Value| value.as_str().is_some_and(|it| it.contains(STRUCK));
        for (name, _) in self.data.iter().filter(|(_, list)| list.one_of.iter().any(struck)) {
            let problem = "the list was stored without its secrets";
            mistakes.push(Invalid::new(format!("data.{name}"), problem, CURE));
        }
        let defined = Defined {
            operations: &self.operations,
            data: &self.data,
            ids: &self.ids,
            listed: super::http::is_list(&self.target),
        };
        super::operations::check(defined, &self.target, &self.stages, &self.schemas, &mut mistakes);
        for threshold in &self.thresholds {
            let done = |kind| super::operations::is_done(kind, &self.stages, &self.operations);
            if threshold.kind.is_some_and(|kind| !done(kind)) {
                let problem = format!("no stage does the operations of {threshold}");
                mistakes.push(Invalid::new("thresholds", problem, "leave it out"));
            }
        }
        super::databases::check_again(&self, &mut mistakes);
        super::drill::check_again(self.drill.as_ref(), &mut mistakes);
        super::observe::check_again(&self.observe, &mut mistakes);
        if let Some(plan) = &self.replication {
            super::replicate::check_again(plan, &self.target, &self.stages, &mut mistakes);
        }
        if let Some(problem) = self.baseline.as_ref().and_then(Baseline::mistake) {
            mistakes.push(Invalid::new("baseline", problem, "leave it out"));
        }
        mistakes.extend(self.baseline_mistake());
        if let Some(list) = &mut self.http {
            mistakes.extend(super::http::restore(list, self.schemas.len(), &self.data).err());
        }
        if !mistakes.is_empty() {
            return Err(mistakes);
        }
        if let Some(list) = &self.http {
            self.target = super::http::restored_target(&self.target, list);
        }
        let Some(fleet) = self.fleet else { return Ok(Plan::proved(self)) };
        // Its threads are already those of one agent.
        let threads = self.threads;
        let shared = Plan::proved(self).shared(fleet, false).map_err(|mistake| vec![mistake])?;
        let shared = shared.into_record();
        Ok(Plan::proved(Self { threads: threads.min(shared.threads), ..shared }))
    }

    /// Names a value larger than in any real plan, as in an edited record: going through it would
    /// take forever.
    pub fn beyond(&self) -> Option<&'static str> {
        let segments = |stage: &StagePlan| match &stage.pace {
            Pace::Open { schedule, .. } => schedule.segments.len(),
            _ => 0,
        };
        let beyond_all = |most: usize| most as u64 > MOST_CONNECTIONS;
        let beyond = [
            (self.connections as u64 > MOST_CONNECTIONS, "connections"),
            (self.most_connections.is_some_and(beyond_all), "most_connections"),
            (self.threads as u64 > MOST_CONNECTIONS, "threads"),
            (self.stages.len() > MOST_STAGES, "stages"),
            (self.stages.iter().any(|it| segments(it) > MOST_STAGES), "segments of a load"),
        ];
        beyond.into_iter().find_map(|(is_beyond, what)| is_beyond.then_some(what))
    }

    fn check_numbers(&self, mistakes: &mut Vec<Invalid>) {
        let connections = self.connections as u64;
        let numbers = [
            Flagged::new("connections", connections).out_of_range(1, MOST_CONNECTIONS),
            Flagged::new("most_connections", self.most_connections.unwrap_or(1) as u64)
                .out_of_range(1, MOST_CONNECTIONS),
            Flagged::new("threads", self.threads as u64)
                .out_of_range(1, MOST_THREADS.min(connections).max(1)),
            Flagged::new("timeout_ns", self.timeout_ns).out_of_range(1, YEAR_NS),
            Flagged::new("give_up_ns", self.give_up_ns.unwrap_or(1)).out_of_range(1, YEAR_NS),
            check_max_answer(self.max_answer),
            Flagged::new("fill.wait_for_server_ns", self.fill.wait_for_server_ns.unwrap_or(0))
                .out_of_range(0, YEAR_NS),
        ];
        mistakes.extend(numbers.into_iter().flatten());
    }

    fn check_stages(&self, mistakes: &mut Vec<Invalid>) {
        if self.stages.is_empty() || self.stages.len() > MOST_STAGES {
            let problem = format!("there are {}", self.stages.len());
            mistakes.push(Invalid::new("stages", problem, CURE));
            return;
        }
        // No connections is refused already, and with too many each stage would go through all of
        // them.
        if self.connections == 0 || self.connections as u64 > MOST_CONNECTIONS {
            return;
        }
        let mut stored = 0u64;
        for (place, stage) in self.stages.iter().enumerate() {
            let restored = Restored {
                connections: self.connections,
                stored,
                ids: &self.ids,
                requests: self.http.as_ref().map_or(0, |list| list.requests.len()),
            };
            let before = mistakes.len();
            let mut own = Vec::new();
            stage.work.check_again(&restored, &mut own);
            if own.is_empty()
                && let Err(problem) = check_pace(stage)
            {
                own.push(Invalid::new("pace", problem, CURE));
            }
            mistakes.append(&mut own);
            if stage.name.is_empty() || stage.name.chars().any(char::is_control) {
                mistakes.push(Invalid::new("name", "not a name", CURE));
            }
            for mistake in &mut mistakes[before..] {
                let key = mistake.flag().trim_start_matches('-').to_owned();
                *mistake = mistake.clone().under(&format!("stages.{place}.{key}"));
            }
            stored =
                stored.saturating_add(stage.work.traits().fill.map_or(0, |fill| fill.documents));
        }
    }

    fn check_target(&self, mistakes: &mut Vec<Invalid>) {
        check_card(&self.target.card(), "target", &self.stages, &self.fill, mistakes);
        if let Some(problem) = self.target.problem() {
            mistakes.push(Invalid::new("target", problem, CURE));
        }
        if super::http::is_list(&self.target) != self.http.is_some() {
            let problem = "a list of requests goes with the driver http, and only with that";
            mistakes.push(Invalid::new("http", problem, CURE));
        }
    }
}

/// What is wrong with the times at which a stage's operations are due.
fn check_pace(stage: &StagePlan) -> Result<(), String> {
    if stage.length_ns.is_some_and(|length| length == 0 || length > YEAR_NS) {
        return Err("length_ns is 0 or more than a year".to_owned());
    }
    match &stage.pace {
        Pace::Closed { think_ns: pause_ns } | Pace::Thinking { most_ns: pause_ns, .. } => {
            if *pause_ns > YEAR_NS {
                return Err("a pause of more than a year".to_owned());
            }
        }
        Pace::Open { schedule, max_in_flight, slack_ns } => {
            let sane = |rate: f64| (0.0..=MOST_RATE).contains(&rate);
            let mut sum = 0u64;
            for segment in &schedule.segments {
                if !sane(segment.from) || !sane(segment.to) || segment.from + segment.to <= 0.0 {
                    return Err(format!("rates from {} to {}", segment.from, segment.to));
                }
                sum = sum.saturating_add(segment.length_ns);
                if segment.length_ns == 0 {
                    return Err("a rate for no time".to_owned());
                }
            }
            if sum == 0 || sum > 2 * YEAR_NS {
                return Err("rates for no time, or for more than a year".to_owned());
            }
            if *max_in_flight == 0 || *slack_ns > MOST_SLACK_NS {
                return Err("max_in_flight is 0, or slack_ns more than a millisecond".to_owned());
            }
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "again_tests.rs"]
mod tests;
