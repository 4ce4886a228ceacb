//! What was broken and mended in a stage, and the outcome: figures by phase, how long it took until
//! requests succeeded again, and how long until everything was back to normal.
//!
//! Everything is derived from the record's own rows, so times are accurate to the second.

use super::away::before_break_s;
use super::{StageRecord, Verdict};
use crate::account::Facts;
use crate::measure::{Histogram, SeriesNode, SeriesRow, Spans};
use crate::observed::Observed;
use crate::op::{Failure, grouped, with_all};
use crate::plan::StagePlan;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Back to normal means that this many seconds in a row are like those before the break ...
const STEADY_S: f64 = 5.0;
/// ... where a second may be this much worse than the worst of them.
const WORSE: f64 = 0.10;
/// The share of the operations of the phase before that may fail because of the server.
const DEGRADED: f64 = 0.10;
/// The length of outages that is harmless in the phase before, in seconds, and as a share of it.
const AWAY: (f64, f64) = (1.0, 0.01);
/// The share of an open loop's load that must be served in the phase before.
const SERVED: f64 = 0.95;
/// CouchDB's name for the shards that it still has to bring up to date.
const BACKLOG: &str = "internal_replication_jobs";
/// A number in the same response that no other database has, and that is never 0.
const BESIDE: &str = "memory_binary_bytes";

/// What a drill did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DrillRecord {
    /// How something was broken; absent if the stage ended before that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<DrillStep>,
    /// How it was mended; absent if nothing was broken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<DrillStep>,
}

/// A command of a drill, or a request to a node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DrillStep {
    /// The command, without secrets, or the request to a node.
    pub command: String,
    /// When it was started, in seconds from the stage's start.
    pub from_s: f64,
    /// When it ended or was abandoned, in seconds from the stage's start.
    pub to_s: f64,
    /// The reason it did not have the intended effect; absent if it had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The end of its output, without secrets; only if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}

with_all! {
    /// A part of a drilled stage; in the order of time.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Phase {
        /// Until something was broken.
        Before,
        /// Until it was mended, including the time that breaking and mending took.
        Broken,
        /// Until the end.
        Healed,
    }
}

impl Phase {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::Broken => "broken",
            Self::Healed => "healed",
        }
    }
}

/// The figures of a phase, over all kinds of requests.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PhaseFigures {
    /// Its start and end, in seconds from the stage's start.
    pub span_s: (f64, f64),
    /// Requests that ended.
    pub requests: u64,
    /// Documents that succeeded.
    pub ok: u64,
    /// Of these, documents stored in fewer copies than requested.
    pub accepted: u64,
    /// Documents that failed, per class.
    pub failures: BTreeMap<Failure, u64>,
    /// Response times of requests that succeeded at least in part.
    pub response: Histogram,
}

impl PhaseFigures {
    /// Documents that failed.
    pub fn failed(&self) -> u64 {
        self.failures.values().sum()
    }

    /// Documents that succeeded per second; `None`: the phase had no length.
    pub fn ok_per_s(&self) -> Option<f64> {
        let length_s = self.span_s.1 - self.span_s.0;
        (length_s > 0.0).then(|| self.ok as f64 / length_s)
    }

    fn add(&mut self, row: &SeriesRow) {
        for part in row.kinds.iter().filter(|(kind, _)| kind.is_request()).map(|(_, it)| it) {
            self.requests += part.requests;
            self.ok += part.ok;
            self.accepted += part.accepted;
            for (class, count) in &part.failures {
                *self.failures.entry(*class).or_default() += count;
            }
            self.response.merge(&part.response.get());
        }
    }

    fn add_node(&mut self, part: &SeriesNode) {
        self.requests += part.requests;
        self.ok += part.ok;
        self.accepted += part.accepted;
        for (class, count) in &part.failures {
            *self.failures.entry(*class).or_default() += count;
        }
        self.response.merge(&part.response.get());
    }

    fn p99_ns(&self) -> Option<u64> {
        (!self.response.is_empty()).then(|| self.response.percentile(99.0))
    }
}

/// How long it took until something happened, in seconds: an upper bound. `None`: it did not
/// happen.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DrillDelays {
    /// From the break until the first request failed.
    pub first_failure_s: Option<f64>,
    /// From the break until the first success after that failure.
    pub first_success_s: Option<f64>,
    /// From the mending until the first request succeeded.
    pub healed_success_s: Option<f64>,
    /// From the mending until everything was back to normal.
    pub caught_up_s: Option<f64>,
    /// From the mending until the server had no shards left to bring up to date.
    pub backlog_s: Option<Backlog>,
}

/// What a server reported about the shards that it still has to bring up to date.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Backlog {
    /// It was 0 this many seconds after the mending, and stayed 0.
    Gone(f64),
    /// It was not 0 in the last reading.
    Left,
    /// It was 0 in every reading.
    Never,
}

/// A drill with its stage.
#[derive(Clone, Copy, Debug)]
pub struct Drill<'a> {
    stage: &'a StageRecord,
    /// When something was broken, and when it was mended, in seconds from the stage's start.
    broken_s: (f64, f64),
}

impl StageRecord {
    /// Its drill, if something was broken.
    pub fn drilled(&self) -> Option<Drill<'_>> {
        let DrillRecord { stop, start } = self.drill.as_ref()?;
        let from_s = stop.as_ref()?.from_s;
        let to_s = start.as_ref().map_or(f64::INFINITY, |it| it.to_s);
        Some(Drill { stage: self, broken_s: (from_s, to_s) })
    }
}

impl Drill<'_> {
    /// When the break began and ended, in seconds from the stage's start.
    pub fn broken_s(&self) -> (f64, f64) {
        (self.broken_s.0, self.broken_s.1.min(self.end_s()))
    }

    /// The resolution of times, in seconds.
    pub fn resolution_s(&self) -> u32 {
        self.stage.series.rows.iter().map(|row| row.seconds).max().unwrap_or(1)
    }

    /// When the stage's load ends.
    fn end_s(&self) -> f64 {
        self.stage.rates_over_s().max(self.broken_s.0)
    }

    /// The phase of a second, or a longer row: that of the break if anything was broken during any
    /// part of it.
    fn phase_of(&self, from_s: f64, to_s: f64) -> Phase {
        if to_s <= self.broken_s.0 {
            Phase::Before
        } else if from_s < self.broken_s.1 {
            Phase::Broken
        } else {
            Phase::Healed
        }
    }

    fn phase_of_row(&self, row: &SeriesRow) -> Phase {
        self.phase_of(f64::from(row.second), f64::from(row.end()))
    }

    /// The figures of a phase.
    pub fn figures(&self, phase: Phase) -> PhaseFigures {
        let mut sum = PhaseFigures::default();
        let seconds = self.seconds();
        let of_phase =
            || seconds.iter().filter(|it| self.phase_of(it.span_s.0, it.span_s.1) == phase);
        if let (Some(first), Some(last)) = (of_phase().next(), of_phase().next_back()) {
            sum.span_s = (first.span_s.0, last.span_s.1);
        }
        let rows = self.stage.series.rows.iter();
        // What ends after the load was in flight at its end.
        rows.filter(|row| self.phase_of_row(row) == phase).for_each(|row| sum.add(row));
        sum
    }

    /// The figures of a phase for each node, by its position; empty if there is only one.
    pub fn figures_of_nodes(&self, phase: Phase) -> Vec<PhaseFigures> {
        let span_s = self.figures(phase).span_s;
        let empty = PhaseFigures { span_s, ..PhaseFigures::default() };
        let known = self.stage.series.rows.iter().any(|row| !row.nodes.is_empty());
        let count = if known { self.stage.nodes.len() } else { 0 };
        let mut sums = vec![empty; count];
        for row in self.stage.series.rows.iter().filter(|row| self.phase_of_row(row) == phase) {
            for (sum, part) in sums.iter_mut().zip(&row.nodes) {
                sum.add_node(part);
            }
        }
        sums
    }

    /// The seconds of the stage up to the end of the load, including those in which nothing ended.
    fn seconds(&self) -> Vec<PhaseFigures> {
        let mut seconds: Vec<PhaseFigures> = Vec::new();
        let end_s = self.end_s();
        let empty = |from_s: f64| PhaseFigures {
            span_s: (from_s, (from_s + 1.0).min(end_s)),
            ..PhaseFigures::default()
        };
        let next = |all: &[PhaseFigures]| all.last().map_or(0.0, |it| it.span_s.1);
        for row in &self.stage.series.rows {
            let (from_s, to_s) = (f64::from(row.second), f64::from(row.end()));
            while next(&seconds) < from_s.min(end_s) {
                let from_s = next(&seconds);
                seconds.push(empty(from_s));
            }
            if from_s < end_s {
                let span_s = (from_s, to_s.min(end_s));
                let mut sum = PhaseFigures { span_s, ..PhaseFigures::default() };
                sum.add(row);
                seconds.push(sum);
            }
        }
        while next(&seconds) < end_s {
            let from_s = next(&seconds);
            seconds.push(empty(from_s));
        }
        seconds
    }

    /// The complete seconds of a phase; in the first phase without the first second, in which
    /// connections are opened.
    fn whole(&self, seconds: &[PhaseFigures], phase: Phase) -> Vec<PhaseFigures> {
        let is_whole = |it: &&PhaseFigures| it.span_s.1 - it.span_s.0 > 0.999;
        let skipped = usize::from(phase == Phase::Before);
        let of_phase = seconds.iter().filter(|it| self.phase_of(it.span_s.0, it.span_s.1) == phase);
        of_phase.skip(skipped).filter(is_whole).cloned().collect()
    }

    /// How long each event of the drill took.
    pub fn times(&self, observed: Option<&Observed>) -> DrillDelays {
        let seconds = self.seconds();
        let (from_s, to_s) = self.broken_s;
        let within = |at_s: f64| move |it: &PhaseFigures| it.span_s.1 - at_s;
        let failed = seconds.iter().position(|it| it.span_s.1 > from_s && it.failed() > 0);
        let succeeded = failed.and_then(|at| {
            // In the second of the failure, successes may have come before it, unless all is well
            // in the next.
            let next = seconds.get(at + 1);
            let is_over = next.is_none_or(|next| next.ok > 0 && next.failed() == 0);
            seconds[at..].iter().skip(usize::from(!is_over)).find(|it| it.ok > 0)
        });
        let healed = seconds.iter().find(|it| it.span_s.0 >= to_s && it.ok > 0);
        let healed = healed.or_else(|| {
            // In the second of the mending, successes may have come before it.
            seconds.iter().find(|it| it.span_s.1 > to_s && it.ok > 0)
        });
        DrillDelays {
            first_failure_s: failed.map(|at| &seconds[at]).map(within(from_s)),
            first_success_s: succeeded.map(within(from_s)),
            healed_success_s: healed.map(within(to_s)),
            caught_up_s: self.caught_up_s(&seconds),
            backlog_s: observed.and_then(|it| self.backlog(it)),
        }
    }

    /// The time from the mending to the first of several seconds in a row that are like those
    /// before.
    fn caught_up_s(&self, seconds: &[PhaseFigures]) -> Option<f64> {
        let usual = Usual::of(&self.whole(seconds, Phase::Before))?;
        let healed = self.whole(seconds, Phase::Healed);
        let lasts = |at: &usize| {
            let mut length_s = 0.0;
            for second in &healed[*at..] {
                if !usual.has(second) {
                    return false;
                }
                length_s += second.span_s.1 - second.span_s.0;
                if length_s >= STEADY_S {
                    return true;
                }
            }
            false
        };
        let first = (0..healed.len()).find(lasts)?;
        Some((healed[first].span_s.0 - self.broken_s.1).max(0.0))
    }

    /// Whether too little time was left after the mending to tell whether all was as before, as it
    /// was that far.
    pub fn ends_too_soon(&self) -> bool {
        let seconds = self.seconds();
        let healed = self.whole(&seconds, Phase::Healed);
        let length_s: f64 = healed.iter().map(|it| it.span_s.1 - it.span_s.0).sum();
        let usual = Usual::of(&self.whole(&seconds, Phase::Before));
        length_s < STEADY_S && usual.is_none_or(|usual| healed.iter().all(|it| usual.has(it)))
    }

    /// Whether anything was different while it was broken.
    pub fn has_changed(&self) -> bool {
        let Some(usual) = Usual::of(&self.whole(&self.seconds(), Phase::Before)) else {
            return true;
        };
        let (from_s, to_s) = self.broken_s();
        let within = |at_s: f64, until_s: f64| at_s < to_s && until_s > from_s;
        let gone = self.stage.nodes.iter().flat_map(|node| &node.unreachable);
        let gone = gone.map(|it| (it.from_s, it.to_s.unwrap_or(f64::INFINITY)));
        let silent = self.stage.outage.spans.iter();
        let silent = silent.map(|it| (it.from_s, it.from_s + it.length_s));
        let (before, broken) = (self.figures(Phase::Before), self.figures(Phase::Broken));
        gone.chain(silent).any(|(at_s, until_s)| within(at_s, until_s))
            || broken.accepted > 0 && before.accepted == 0
            || !usual.has(&broken)
    }

    /// What the servers reported about shards that are not up to date.
    fn backlog(&self, observed: &Observed) -> Option<Backlog> {
        let mended_s = self.stage.began_s + self.broken_s.1;
        let (mut asked, mut last): (bool, Option<Backlog>) = (false, None);
        for table in observed.sources.iter().flat_map(|source| &source.tables) {
            asked |= table.columns.iter().any(|it| it.meter.name == BESIDE);
            let Some(jobs) = table.columns.iter().find(|it| it.meter.name == BACKLOG) else {
                continue;
            };
            let known: Vec<(f64, f64)> = table
                .at_s
                .iter()
                .zip(&jobs.values)
                .filter_map(|(at_s, jobs)| Some((*at_s, (*jobs)?)))
                .collect();
            let Some(at) = known.iter().rposition(|(_, jobs)| *jobs > 0.0) else { continue };
            let gone = known.get(at + 1).map(|(at_s, _)| (at_s - mended_s).max(0.0));
            last = match (last, gone) {
                (Some(Backlog::Left), _) | (_, None) => Some(Backlog::Left),
                (Some(Backlog::Gone(other)), Some(gone)) => Some(Backlog::Gone(gone.max(other))),
                (_, Some(gone)) => Some(Backlog::Gone(gone)),
            };
        }
        last.or_else(|| asked.then_some(Backlog::Never))
    }

    /// The figures that are judged as in any other run: those before the break, and the last
    /// seconds.
    fn judged(&self) -> [PhaseFigures; 2] {
        let mut last = PhaseFigures::default();
        let end_s = self.end_s();
        let healed = |row: &&SeriesRow| {
            self.phase_of_row(row) == Phase::Healed && f64::from(row.second) >= end_s - STEADY_S
        };
        self.stage.series.rows.iter().filter(healed).for_each(|row| last.add(row));
        [self.figures(Phase::Before), last]
    }

    /// Documents that failed, and all documents, in the worse of the two parts that are judged as
    /// in any other run.
    pub(super) fn failed(&self, counts: impl Fn(Failure) -> bool) -> (u64, u64) {
        let [before, last] = self.judged().map(|it| {
            let failed = it.failures.iter().filter(|(class, _)| counts(**class));
            (failed.map(|(_, count)| count).sum::<u64>(), it.ok + it.failed())
        });
        let share = |(failed, all): (u64, u64)| failed as f64 / all.max(1) as f64;
        if share(last) > share(before) { last } else { before }
    }

    /// Says which of the two parts is worse, and what failed in it.
    pub(super) fn failing_words(&self) -> String {
        let [before, last] = self.judged();
        let (part, when) = if share(&last) > share(&before) {
            (last, format!("in the last {STEADY_S} s"))
        } else {
            (before, "before anything was broken".to_owned())
        };
        let classes = part.failures.iter();
        let classes =
            classes.map(|(class, count)| format!("{} {}", grouped(*count), class.words()));
        format!("{when}: {}", classes.collect::<Vec<_>>().join(", "))
    }

    /// Whether requests were made after the mending, but none succeeded.
    pub(super) fn stays_down(&self) -> bool {
        let healed = self.figures(Phase::Healed);
        let waited = healed.span_s.1 > healed.span_s.0;
        waited && healed.ok == 0
    }

    /// The verdict on the stage, leaving out the failures that the drill provoked.
    pub(super) fn verdict(&self, plan: Option<&StagePlan>) -> Verdict {
        let Some(account) = &self.stage.account else { return self.stage.verdict };
        let mut facts = Facts { away: Spans::default(), ..self.stage.facts() };
        facts.documents.1 = 0;
        match Verdict::of(&facts, account) {
            Verdict::Empty => return Verdict::Empty,
            bound @ (Verdict::ClientBound { .. } | Verdict::TooShort) => return bound,
            _ => {}
        }
        let before = self.figures(Phase::Before);
        let unserved = before.failures.iter().filter(|(class, _)| class.unserved());
        let unserved: u64 = unserved.map(|(_, count)| count).sum();
        let all = (before.ok + before.failed()).max(1);
        let failed_share = unserved as f64 / all as f64;
        let (length_s, broken_s) = (before.span_s.1 - before.span_s.0, self.broken_s.0);
        let outages = self.stage.outage.spans.iter();
        let outage_s = outages.map(|it| before_break_s(it, broken_s, AWAY.0)).sum::<f64>();
        if failed_share > DEGRADED || outage_s > AWAY.0 || outage_s > length_s * AWAY.1 {
            return Verdict::Degraded { failed_share, outage_s };
        }
        let due = plan.and_then(|it| it.pace.due_by((before.span_s.1 * 1e9) as u64));
        match due {
            Some(due) if (before.requests as f64) < due * SERVED => Verdict::NotSustained {
                offered_per_s: due / length_s.max(1.0),
                served_per_s: before.requests as f64 / length_s.max(1.0),
                backlog_per_s: (due - before.requests as f64) / length_s.max(1.0),
            },
            _ => Verdict::Drilled,
        }
    }
}

/// The range of the seconds before.
struct Usual {
    least_ok_per_s: f64,
    most_failed: f64,
    p99_ns: f64,
}

impl Usual {
    /// Returns `None` if there are none.
    fn of(seconds: &[PhaseFigures]) -> Option<Self> {
        let least = seconds.iter().filter_map(PhaseFigures::ok_per_s).reduce(f64::min)?;
        let p99 = seconds.iter().filter_map(PhaseFigures::p99_ns).max().unwrap_or(0);
        Some(Self {
            least_ok_per_s: least * (1.0 - WORSE),
            most_failed: seconds.iter().map(share).fold(0.0, f64::max),
            p99_ns: p99 as f64 * (1.0 + WORSE),
        })
    }

    /// Whether a second, or a longer row, is no worse.
    fn has(&self, it: &PhaseFigures) -> bool {
        it.ok_per_s().is_some_and(|per_s| per_s >= self.least_ok_per_s)
            && share(it) <= self.most_failed
            && it.p99_ns().is_none_or(|p99| p99 as f64 <= self.p99_ns)
    }
}

/// The share of documents that failed.
fn share(it: &PhaseFigures) -> f64 {
    it.failed() as f64 / (it.ok + it.failed()).max(1) as f64
}

#[cfg(test)]
#[path = "drill_tests.rs"]
mod tests;
