//! The answers of servers as they arrive: counts become rates, missing answers become gaps, and a
//! day takes no more rows than ten minutes.

use super::{Activity, Column, Evicted, Meter, Observed, Reading, Source, Table, Task};
use crate::measure::Served;
use crate::op::plain;
use std::collections::BTreeMap;

/// The most rows of a table. Beyond that, older ones are merged ...
const MOST_ROWS: usize = 600;
/// ... until there are no more than this ...
const JOINED_ROWS: usize = 400;
/// ... except for the latest.
const LATEST_ROWS: usize = 100;
/// Larger numbers are limits, such as the whole address space; records leave them out.
const MOST_VALUE: f64 = 1e15;
/// No server counts or measures larger numbers than this.
const MOST_SENSE: f64 = u64::MAX as f64;
/// The most activities that are kept; the longest ones are.
const MOST_ACTIVITIES: usize = 300;
/// The most tasks per answer, and the most settings, that are examined.
const MOST_ENTRIES: usize = 1_000;
/// The longest text from a server that is kept, in characters.
const MOST_WORDS: usize = 300;

/// One number of a source over time.
#[derive(Clone, Debug)]
struct MeterColumn {
    meter: Meter,
    /// The last count and when it arrived.
    last: Option<(f64, f64)>,
    /// Its values, one for each row; `None` where there was none.
    values: Vec<Option<f64>>,
}

#[derive(Clone, Debug, Default)]
struct AnswerTable {
    at_s: Vec<f64>,
    /// How many seconds each of the older rows covers.
    step_s: f64,
    columns: Vec<MeterColumn>,
}

#[derive(Clone, Debug, Default)]
struct KnownSource {
    source: Source,
    uptime: Option<(f64, f64)>,
    /// How many values made no sense, and a description of the first.
    nonsense: Option<(u64, String)>,
    answers: Vec<AnswerTable>,
    first: Option<Served>,
    last: Option<Served>,
    /// How many documents had been evicted at the first answer, and what had been at the last one.
    evicted: Option<(u64, Evicted)>,
    /// Whether an answer was missed before the first one, or after the last one: then requests are
    /// missing from its counts.
    uncounted: [bool; 2],
}

/// The source that was asked, unless the answer concerns all of them, and the question.
type Asked = (Option<usize>, usize);

/// What has been observed so far.
#[derive(Clone, Debug, Default)]
pub struct ObservedLog {
    sources: Vec<KnownSource>,
    /// The tasks in progress, by who was asked and what, and since when.
    running: BTreeMap<(Asked, Task), f64>,
    over: Vec<Activity>,
    settings: BTreeMap<String, String>,
}

impl ObservedLog {
    /// A log for these sources, given by name.
    pub fn new(names: impl IntoIterator<Item = String>) -> Self {
        let known = |name| KnownSource {
            source: Source { name, ..Source::default() },
            ..KnownSource::default()
        };
        Self { sources: names.into_iter().map(known).collect(), ..Self::default() }
    }

    /// Notes the URL of a source's metrics, which has no password.
    pub fn at(&mut self, source: usize, url: String) {
        self.sources[source].source.url = Some(url);
    }

    /// Marks a source as the machine that springload shares with a server.
    pub fn of_machine(&mut self, source: usize) {
        self.sources[source].source.machine = true;
    }

    /// Notes the settings of the servers.
    pub fn set(&mut self, settings: &BTreeMap<String, String>) {
        let each = settings
            .iter()
            .take(MOST_ENTRIES)
            .map(|(name, value)| (one_line(name), one_line(value)));
        self.settings = each.collect();
    }

    /// Notes a source's answer to question number `question`, at this time in seconds from the
    /// run's start.
    pub fn answered(&mut self, source: usize, question: usize, at_s: f64, reading: &Reading) {
        let known = &mut self.sources[source];
        known.source.polls += 1;
        known.look_for_a_restart(at_s, reading);
        let sense = known.sense(reading);
        let restarted = known.answers(question).add(at_s, &sense, reading.lone_counts);
        if restarted {
            known.restarted(at_s);
        }
        if reading.note.is_some() {
            known.source.note = reading.note.as_deref().map(one_line);
        }
        if let Some(served) = &reading.served {
            known.first.get_or_insert_with(|| served.clone());
            known.last = Some(served.clone());
            known.uncounted[1] = false;
        }
        if let Some(Evicted { documents, policy }) = &reading.evicted {
            let before = known.evicted.as_ref().map_or(*documents, |(before, _)| *before);
            let last = Evicted { documents: *documents, policy: one_line(policy) };
            known.evicted = Some((before, last));
        }
        if let Some(tasks) = &reading.tasks {
            let tasks = &tasks[..tasks.len().min(MOST_ENTRIES)];
            self.busy(((!reading.of_all).then_some(source), question), at_s, tasks);
        }
    }

    /// Notes that a source did not answer a question in time.
    pub fn missed(&mut self, source: usize, question: usize, at_s: f64, why: &str) {
        let known = &mut self.sources[source];
        known.source.polls += 1;
        known.source.missed += 1;
        let place = usize::from(known.first.is_some());
        known.uncounted[place] = true;
        known.source.reason.get_or_insert_with(|| one_line(why));
        known.answers(question).gap(at_s);
    }

    /// Notes that a question could not be asked when it was due, because the source was still
    /// silent.
    pub fn silent(&mut self, source: usize, question: usize, at_s: f64) {
        self.sources[source].answers(question).gap(at_s);
    }

    /// Notes that a source does not answer questions about itself.
    pub fn refused(&mut self, source: usize, why: &str) {
        let source = &mut self.sources[source].source;
        source.polls += 1;
        source.refused.get_or_insert_with(|| one_line(why));
    }

    fn busy(&mut self, asked: Asked, at_s: f64, tasks: &[Task]) {
        let is_over = |(of, task): &&(Asked, Task)| *of == asked && !tasks.contains(task);
        let over: Vec<_> = self.running.keys().filter(is_over).cloned().collect();
        for ended in over {
            let from_s = self.running.remove(&ended).unwrap_or(at_s);
            self.over.push(activity(ended.1, from_s, Some(at_s)));
        }
        for task in tasks {
            self.running.entry((asked, task.clone())).or_insert(at_s);
        }
        if self.over.len() > MOST_ACTIVITIES {
            let length = |it: &Activity| it.to_s.unwrap_or(at_s) - it.from_s;
            let shortest = self.over.iter().enumerate();
            let shortest = shortest.min_by(|(_, a), (_, b)| length(a).total_cmp(&length(b)));
            if let Some((place, _)) = shortest {
                self.over.remove(place);
            }
        }
    }

    /// What has been observed so far.
    pub fn so_far(&self) -> Observed {
        let mut activities = self.over.clone();
        let running = self.running.iter();
        let running = running.map(|((_, task), from_s)| activity(task.clone(), *from_s, None));
        activities.extend(running);
        let sources = self.sources.iter().map(KnownSource::so_far).collect();
        let activities = merged(activities);
        Observed { sources, activities, settings: self.settings.clone() }
    }
}

/// Sorts by time and merges reports of the same activity by several nodes.
fn merged(mut all: Vec<Activity>) -> Vec<Activity> {
    all.sort_by(|a, b| a.from_s.total_cmp(&b.from_s));
    let mut merged: Vec<Activity> = Vec::new();
    for one in all {
        let same = merged.iter_mut().rev().find(|it| it.kind == one.kind && it.what == one.what);
        let end = |it: &Activity| it.to_s.unwrap_or(f64::INFINITY);
        match same.filter(|same| end(same) >= one.from_s) {
            Some(same) if end(same) < end(&one) => same.to_s = one.to_s,
            Some(_) => {}
            None => merged.push(one),
        }
    }
    merged
}

/// Text from a server as one line, without control characters for a terminal.
fn one_line(words: &str) -> String {
    let mut line: String = words.chars().take(MOST_WORDS).map(plain).collect();
    if words.chars().nth(MOST_WORDS).is_some() {
        line.push('…');
    }
    line
}

/// Whether a server can plausibly count or measure this. An exporter's gauge may be any number.
fn makes_sense(meter: &Meter, value: f64, of_exporter: bool) -> bool {
    let any = of_exporter && !meter.counted;
    value.is_finite() && (any || (0.0..=MOST_SENSE).contains(&value))
}

fn activity(Task { kind, what }: Task, from_s: f64, to_s: Option<f64>) -> Activity {
    let (kind, what) = (one_line(&kind), one_line(&what));
    Activity { kind, what, from_s: rounded(from_s), to_s: to_s.map(rounded) }
}

/// Rounds to the millisecond, or to six significant digits: anything beyond that is noise.
fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return 0.0;
    }
    let digits = (5.0 - value.abs().log10().floor()).clamp(-15.0, 15.0) as i32;
    let scale = 10f64.powi(digits.max(0));
    (value * scale).round() / scale
}

impl KnownSource {
    fn answers(&mut self, question: usize) -> &mut AnswerTable {
        if self.answers.len() <= question {
            self.answers.resize_with(question + 1, AnswerTable::default);
        }
        &mut self.answers[question]
    }

    /// The plausible values of an answer; the others are counted.
    fn sense<'a>(&mut self, reading: &'a Reading) -> Vec<&'a (Meter, f64)> {
        let is_sane = |it: &&(Meter, f64)| makes_sense(&it.0, it.1, reading.lone_counts);
        let (sense, nonsense): (Vec<_>, Vec<_>) = reading.values.iter().partition(is_sane);
        if let Some((meter, value)) = nonsense.first() {
            let first = || (0, format!("{} = {value:e}", one_line(&meter.title)));
            self.nonsense.get_or_insert_with(first).0 += nonsense.len() as u64;
        }
        sense
    }

    /// Detects a restart: the server has been up for less time than before.
    fn look_for_a_restart(&mut self, at_s: f64, reading: &Reading) {
        let uptime_s = reading.uptime_s.filter(|it| (0.0..=MOST_SENSE).contains(it));
        let Some(uptime_s) = uptime_s else { return };
        let earlier = self.uptime.replace((at_s, uptime_s));
        if earlier.is_some_and(|(_, before_s)| uptime_s < before_s) {
            self.restarted(at_s);
        }
    }

    /// Notes a restart. Earlier counts can no longer be compared with later ones.
    fn restarted(&mut self, at_s: f64) {
        // The restart shows in the answers to each question separately.
        let known = self.source.restarts_s.last().is_some_and(|last_s| at_s - last_s < SAME_S);
        if !known {
            self.source.restarts_s.push(rounded(at_s));
        }
    }

    fn so_far(&self) -> Source {
        let is_whole = self.uncounted == [false; 2] && self.source.restarts_s.is_empty();
        let served = match (&self.first, &self.last) {
            (Some(first), Some(last)) if is_whole => last.since(first),
            _ => None,
        };
        let evicted = self.evicted.as_ref().filter(|_| self.source.restarts_s.is_empty());
        let evicted = evicted.map(|(before, last)| {
            let documents = last.documents.saturating_sub(*before);
            Evicted { documents, policy: last.policy.clone() }
        });
        let evicted = evicted.filter(|it| it.documents > 0);
        let tables = self.answers.iter().map(AnswerTable::so_far);
        let tables = tables.filter(|it| !it.columns.is_empty()).collect();
        let nonsense = self.nonsense.as_ref().map(|(count, first)| match count {
            1 => format!("a value that makes no sense was left out: {first}"),
            count => format!("{count} values that make no sense were left out, such as {first}"),
        });
        let notes: Vec<String> = self.source.note.iter().cloned().chain(nonsense).collect();
        let note = Some(notes.join("; ")).filter(|note| !note.is_empty());
        Source { note, tables, served, evicted, ..self.source.clone() }
    }
}

/// Restarts found by different questions within this time are the same restart.
const SAME_S: f64 = 15.0;

impl AnswerTable {
    /// Whether counts are below the last ones: any count, or for `lone_counts` most of them.
    fn fell(&self, values: &[&(Meter, f64)], lone_counts: bool) -> bool {
        let counts = values.iter().filter_map(|(meter, value)| {
            let column =
                self.columns.iter().find(|it| meter.counted && it.meter.name == meter.name);
            let (_, last) = column?.last?;
            (last > 0.0).then_some(*value < last)
        });
        let (fell, grew): (Vec<bool>, Vec<bool>) = counts.partition(|fell| *fell);
        if lone_counts { fell.len() > grew.len() } else { !fell.is_empty() }
    }

    /// Adds a row. Returns whether the counts started again.
    fn add(&mut self, at_s: f64, numbers: &[&(Meter, f64)], lone_counts: bool) -> bool {
        let restarted = self.fell(numbers, lone_counts);
        let rows = self.at_s.len();
        self.at_s.push(at_s);
        for (meter, value) in numbers {
            let place = self.columns.iter().position(|it| it.meter.name == meter.name);
            let place = place.unwrap_or_else(|| {
                let values = vec![None; rows];
                self.columns.push(MeterColumn { meter: meter.clone(), last: None, values });
                self.columns.len() - 1
            });
            let column = &mut self.columns[place];
            if column.values.len() > rows {
                // The number occurs twice in this answer.
                continue;
            }
            let before = column.last.replace((at_s, *value)).filter(|_| !restarted);
            column.values.push(match before {
                _ if !meter.counted => Some(*value),
                Some((then_s, then)) if at_s > then_s && *value >= then => {
                    Some((value - then) / (at_s - then_s))
                }
                _ => None,
            });
        }
        self.divide();
        self.fill();
        restarted
    }

    /// In the last row, divides the rates that are given per unit of another number.
    fn divide(&mut self) {
        for place in 0..self.columns.len() {
            let Some(per) = self.columns[place].meter.per else { continue };
            let units = self.columns.iter().find(|it| it.meter.name == per);
            // There were no units, so there is no value per unit.
            let units = units.and_then(|it| *it.values.last()?).filter(|units| *units > 0.0);
            if let Some(value) = self.columns[place].values.last_mut() {
                *value = value.zip(units).map(|(all, units)| all / units);
            }
        }
    }

    fn gap(&mut self, at_s: f64) {
        self.at_s.push(at_s);
        self.fill();
    }

    /// Completes the columns that are missing from the last row, and merges rows if there are too
    /// many.
    fn fill(&mut self) {
        let rows = self.at_s.len();
        self.columns.iter_mut().for_each(|it| it.values.resize(rows, None));
        if rows > MOST_ROWS {
            self.join();
            while self.at_s.len() > JOINED_ROWS {
                self.step_s *= 2.0;
                self.join();
            }
        }
    }

    /// Merges older rows, so that there is one for each `step_s`.
    fn join(&mut self) {
        self.step_s = self.step_s.max(1.0);
        let old = self.at_s.len().saturating_sub(LATEST_ROWS);
        let step = |row: &usize| (self.at_s[*row] / self.step_s) as u64;
        let rows: Vec<usize> = (0..old).collect();
        let groups: Vec<&[usize]> = rows.chunk_by(|a, b| step(a) == step(b)).collect();
        let length_s =
            |row: usize| self.at_s[row] - if row == 0 { 0.0 } else { self.at_s[row - 1] };
        for column in &mut self.columns {
            let joined = |group: &&[usize]| {
                let known = group.iter().filter_map(|&row| Some((row, column.values[row]?)));
                let known: Vec<(usize, f64)> = known.collect();
                // A row stays a gap if most of its values are unknown.
                if known.len() * 2 < group.len() || known.is_empty() {
                    return None;
                }
                if !column.meter.counted {
                    return known.iter().map(|(_, value)| *value).reduce(f64::max);
                }
                let all_s: f64 = known.iter().map(|(row, _)| length_s(*row)).sum();
                let sum: f64 = known.iter().map(|(row, value)| value * length_s(*row)).sum();
                Some(if all_s > 0.0 { sum / all_s } else { known[0].1 })
            };
            let values: Vec<_> = groups.iter().map(joined).collect();
            column.values.splice(..old, values);
        }
        let last = |group: &&[usize]| group.last().map(|&row| self.at_s[row]);
        let times: Vec<f64> = groups.iter().filter_map(last).collect();
        self.at_s.splice(..old, times);
    }

    fn so_far(&self) -> Table {
        let is_sensible = |value: &f64| value.abs() < MOST_VALUE;
        let known =
            |it: &MeterColumn| it.values.iter().flatten().any(|it| is_sensible(it) && *it != 0.0);
        let said = |it: &&MeterColumn| known(it);
        let column = |it: &MeterColumn| Column {
            meter: it.meter.clone(),
            values: it.values.iter().map(|value| value.filter(is_sensible).map(rounded)).collect(),
        };
        let columns = self.columns.iter().filter(said).map(column).collect();
        Table { at_s: self.at_s.iter().copied().map(rounded).collect(), columns }
    }
}

#[cfg(test)]
#[path = "log_tests.rs"]
mod tests;
