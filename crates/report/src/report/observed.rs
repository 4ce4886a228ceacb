//! What the servers reported about themselves during a run, for readers of its report: what they
//! were busy with, which of their metrics changed together with the response times, and whether
//! they counted the same requests.

use super::number::{at, decimal, grouped, millis};
use crate::measure::{Histogram, SeriesRow, Served};
use crate::observed::{Activity, Column, Observed, Source, Table};
use crate::record::{Counted, RunRecord, StageRecord};
use crate::statistics::rank_correlation;

/// Activities of the same kind that are no further apart than this, in seconds, are combined.
const APART_S: f64 = 2.5;
/// The most activities of a stage to mention, the longest ones.
const MOST_BUSY: usize = 12;
/// An activity is mentioned in the text if the 99th percentile during it was this many times that
/// of the rest of the stage.
const WORSE: f64 = 1.5;
/// A metric counts as changing together with the response times from this rank correlation on ...
const TOGETHER: f64 = 0.7;
/// ... if there are at least this many values, since chance alone reaches it too often with fewer,
/// ...
const LEAST_VALUES: usize = 12;
/// ... and each second has this many requests; ...
const LEAST_REQUESTS: u64 = 50;
/// ... and this many of these metrics are named.
const MOST_TOGETHER: usize = 3;

/// The most methods and statuses of others' requests to name.
const MOST_KINDS: usize = 3;

/// An activity that kept a server busy for a while.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Busy {
    /// A description, such as `compaction of 2 shards`.
    pub(super) words: String,
    /// Its start and end within the stage, in seconds from the stage's start.
    pub(super) from_s: f64,
    pub(super) to_s: f64,
}

/// What the servers were busy with during a stage, in chronological order.
pub(super) fn busy(record: &RunRecord, stage: &StageRecord) -> Vec<Busy> {
    let Some(observed) = &record.observed else { return Vec::new() };
    let end_s = stage.elapsed_s;
    let mut runs: Vec<(Vec<&Activity>, f64, f64)> = Vec::new();
    for one in &observed.activities {
        let from_s = one.from_s - stage.began_s;
        let to_s = one.to_s.map_or(end_s, |to_s| to_s - stage.began_s);
        if to_s < 0.0 || from_s > end_s {
            continue;
        }
        let same = runs.iter_mut().rev().find(|(all, _, _)| all[0].kind == one.kind);
        match same.filter(|(_, _, until_s)| from_s <= *until_s + APART_S) {
            Some((all, _, until_s)) => {
                all.push(one);
                *until_s = until_s.max(to_s);
            }
            None => runs.push((vec![one], from_s, to_s)),
        }
    }
    let mut busy: Vec<Busy> = runs
        .iter()
        .map(|(all, from_s, to_s)| Busy {
            words: activity_words(all),
            from_s: from_s.max(0.0),
            to_s: to_s.min(end_s),
        })
        .collect();
    for source in &observed.sources {
        let times = source.restarts_s.iter().map(|time_s| time_s - stage.began_s);
        busy.extend(times.filter(|time_s| (0.0..=end_s).contains(time_s)).map(|time_s| Busy {
            words: format!("{} started again", source.name),
            from_s: time_s,
            to_s: time_s,
        }));
    }
    busy.sort_by(|a, b| (b.to_s - b.from_s).total_cmp(&(a.to_s - a.from_s)));
    busy.truncate(MOST_BUSY);
    busy.sort_by(|a, b| a.from_s.total_cmp(&b.from_s));
    busy
}

/// Describes activities of one kind together.
fn activity_words(all: &[&Activity]) -> String {
    let (what, of, many) = match all[0].kind.as_str() {
        "database_compaction" => ("compaction", "of", "shards"),
        "view_compaction" => ("compaction of indexes", "in", "shards"),
        "indexer" => ("building of indexes", "in", "shards"),
        "replication" => ("replication", "", "times"),
        "node_down" => ("node down", "", "nodes"),
        "compaction" => ("compaction", "of", "tables"),
        "rdb_save" => ("snapshot", "of", "servers"),
        "aof_rewrite" => ("rewriting of the append-only file", "of", "servers"),
        "loading" => ("loading", "of", "servers"),
        other => (other, "", "times"),
    };
    let mut about: Vec<&str> = all.iter().map(|it| it.what.as_str()).collect();
    about.sort_unstable();
    about.dedup();
    match (&about[..], of) {
        ([one], "") => format!("{what}: {one}"),
        ([one], _) => format!("{what} {of} {one}"),
        (several, "") => format!("{what}: {} {many}", several.len()),
        (several, _) => format!("{what} {of} {} {many}", several.len()),
    }
}

/// What explains the result, in at most two lines.
pub(super) fn lines(record: &RunRecord) -> Vec<String> {
    let Some(stage) = record.main_stage() else { return Vec::new() };
    let explained = slowed(record, stage).or_else(|| together_words(record, stage));
    let counted = record.counted().and_then(|counted| counted_words(&counted));
    explained.into_iter().chain(counted).collect()
}

/// The activity during which response times were worst, if they were worse than at other times.
fn slowed(record: &RunRecord, stage: &StageRecord) -> Option<String> {
    let beside = |it: &Busy| {
        let inside =
            |row: &SeriesRow| f64::from(row.end()) > it.from_s && f64::from(row.second) < it.to_s;
        let [during, otherwise] = [true, false].map(|wanted| {
            let mut times = Histogram::default();
            for row in stage.series.rows.iter().filter(|row| inside(row) == wanted) {
                row.kinds.values().for_each(|kind| times.merge(&kind.response.get()));
            }
            times.earns(99.0).then(|| times.percentile(99.0) as f64 / 1e3)
        });
        let (during, otherwise) = (during?, otherwise?);
        (during >= otherwise * WORSE).then_some((during / otherwise, during, otherwise))
    };
    let all = busy(record, stage);
    let worst = all.iter().filter_map(|it| Some((it, beside(it)?)));
    let worst = worst.max_by(|(_, (a, ..)), (_, (b, ..))| a.total_cmp(b))?;
    let (Busy { words, from_s, to_s }, (_, during, otherwise)) = worst;
    Some(format!(
        "p99 was {} ms during {words} ({}–{}), and {} ms otherwise",
        millis(during),
        at(*from_s).trim_end_matches(" s"),
        at(*to_s),
        millis(otherwise),
    ))
}

/// A metric of a server, and how closely it followed the response times.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Together {
    pub(super) name: String,
    /// Spearman's rank correlation with the 99th percentile.
    pub(super) correlation: f64,
}

/// The metrics that changed together with the 99th percentile of a stage, closest first.
pub(super) fn together(record: &RunRecord, stage: &StageRecord) -> Vec<Together> {
    let Some(observed) = &record.observed else { return Vec::new() };
    let several = several(observed);
    let p99 = p99_by_second(stage);
    let mut found = Vec::new();
    for source in &observed.sources {
        for (table, column) in columns(source) {
            let pairs = pairs(table, column, stage, &p99);
            let close = rank_correlation(&pairs).filter(|_| pairs.len() >= LEAST_VALUES);
            if let Some(correlation) = close.filter(|it| it.abs() >= TOGETHER) {
                found.push(Together { name: title(source, column, several), correlation });
            }
        }
    }
    found.sort_by(|a, b| b.correlation.abs().total_cmp(&a.correlation.abs()));
    found
}

fn together_words(record: &RunRecord, stage: &StageRecord) -> Option<String> {
    // If nothing went wrong, there is nothing to explain.
    let wrong = record.result().exit_status != 0 || !stage.outage.spans.is_empty();
    let all = together(record, stage);
    let first = all.iter().take(MOST_TOGETHER).filter(|_| wrong);
    let named: Vec<_> = first
        .map(|it| {
            let sign = if it.correlation < 0.0 { "−" } else { "" };
            format!("{} ({sign}{})", it.name, decimal(it.correlation.abs(), 2))
        })
        .collect();
    (!named.is_empty()).then(|| format!("p99 changed together with {}", named.join(", ")))
}

/// Whether there are several servers, whose metrics have to be distinguished.
pub(super) fn several(observed: &Observed) -> bool {
    observed.sources.iter().filter(|it| !it.machine).count() > 1
}

/// The columns of a source, each with its table.
pub(super) fn columns(source: &Source) -> impl Iterator<Item = (&Table, &Column)> {
    source.tables.iter().flat_map(|table| table.columns.iter().map(move |it| (table, it)))
}

/// The name of a metric, with its source if there are several.
pub(super) fn title(source: &Source, column: &Column, several: bool) -> String {
    let title = &column.meter.title;
    if several && !source.machine { format!("{} {title}", source.name) } else { title.to_string() }
}

/// The 99th percentile of a row, with its time in the stage.
struct RowP99 {
    from_s: f64,
    to_s: f64,
    p99_us: f64,
}

/// The 99th percentile of each row of a stage with enough requests for it to mean something.
fn p99_by_second(stage: &StageRecord) -> Vec<RowP99> {
    let of_row = |row: &SeriesRow| {
        let mut times = Histogram::default();
        row.kinds.values().for_each(|kind| times.merge(&kind.response.get()));
        let p99_us = times.percentile(99.0) as f64 / 1e3;
        let (from_s, to_s) = (f64::from(row.second), f64::from(row.end()));
        (times.len() >= LEAST_REQUESTS).then_some(RowP99 { from_s, to_s, p99_us })
    };
    stage.series.rows.iter().filter_map(of_row).collect()
}

/// Each value of a column with the highest 99th percentile since the one before.
fn pairs(table: &Table, column: &Column, stage: &StageRecord, p99: &[RowP99]) -> Vec<(f64, f64)> {
    let mut pairs = Vec::new();
    let mut since_s = f64::NEG_INFINITY;
    for (time_s, value) in table.at_s.iter().zip(&column.values) {
        let until_s = time_s - stage.began_s;
        let within = p99.iter().filter(|it| it.to_s > since_s && it.from_s < until_s);
        let highest = within.map(|it| it.p99_us).reduce(f64::max);
        // A rate over a time that began before the stage tells more about what came before.
        let is_within = until_s > 0.0 && (!column.meter.counted || since_s >= 0.0);
        if let (Some(value), Some(highest)) = (value, highest.filter(|_| is_within)) {
            pairs.push((*value, highest));
        }
        since_s = until_s;
    }
    pairs
}

/// What the server's own count shows, if it does not agree with the run's.
fn counted_words(counted: &Counted) -> Option<String> {
    let all = counted.served.requests();
    if let Some(others) = counted.of_others() {
        let share = others as f64 * 100.0 / all as f64;
        return Some(format!(
            "{} % of this server's requests were not this run's: {} of {}{}",
            decimal(share, usize::from(share < 10.0)),
            grouped(others),
            grouped(all),
            kinds_words(&counted.others_by(), counted.without_status() > 0),
        ));
    }
    let less = counted.not_counted()?;
    Some(format!(
        "the server has counted {} requests fewer than were answered: {} of {}",
        grouped(less),
        grouped(all),
        grouped(counted.sent),
    ))
}

/// What others requested and the responses to it, if known; `at_least`: there may be more of them.
fn kinds_words([methods, statuses]: &[Vec<(String, u64)>; 2], at_least: bool) -> String {
    let named = |all: &[(String, u64)], before: &str| {
        let each = |(name, count): &(String, u64)| format!("{} {before}{name}", grouped(*count));
        all.iter().take(MOST_KINDS).map(each).collect::<Vec<_>>().join(", ")
    };
    match (&methods[..], &statuses[..]) {
        ([], _) => String::new(),
        (methods, []) => format!(" ({})", named(methods, "")),
        (methods, statuses) => {
            let bound = if at_least { "at least " } else { "" };
            format!(" ({}; answered {bound}{})", named(methods, ""), named(statuses, "× "))
        }
    }
}

/// The same whether or not the counts agree, for the detailed report.
pub(super) fn count_words(counted: &Counted) -> String {
    let agrees = "the server has counted the same requests";
    counted_words(counted).unwrap_or_else(|| {
        let all = counted.served.requests();
        let sent = counted.by.as_ref().map_or(counted.sent, Served::requests);
        match all.abs_diff(sent) {
            0 => format!("{agrees}: {}", grouped(all)),
            few => format!("{agrees}, up to {few}: {} of {}", grouped(all), grouped(sent)),
        }
    })
}

#[cfg(test)]
#[path = "observed_tests.rs"]
mod tests;
