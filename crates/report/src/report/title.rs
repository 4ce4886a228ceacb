//! Names for runs: for one by itself, and for several so that they can be distinguished.

use super::chart::label;
use super::number::{decimal, grouped};
use super::words::loop_words;
use crate::record::{RunRecord, StageRecord};

/// The most traits in the name of a run.
const MOST_TRAITS: usize = 3;

/// The name of a run: its label or, without one, its server, workload and connections.
pub(super) fn title(record: &RunRecord) -> String {
    record.plan.label.clone().unwrap_or_else(|| subject(record))
}

/// Server, workload and connections, such as `CouchDB at host:5984 · mixed · 32 connections`.
pub(super) fn subject(record: &RunRecord) -> String {
    let stage = record.main_stage().map(StageRecord::title);
    let parts = [Some(server(record)), stage, Some(connections(record))];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// The server, such as `CouchDB at host:5984`.
fn server(record: &RunRecord) -> String {
    let server = &record.server;
    if server.url.is_empty() {
        return "no server".to_owned();
    }
    if server.stand_in {
        return "embedded stand-in".to_owned();
    }
    format!("{} at {}", proper(record), host(&server.url))
}

/// The server's name for itself, capitalized the way its driver writes it.
fn proper(record: &RunRecord) -> &str {
    let (name, summary) = (&record.server.name, record.plan.target.card().summary);
    let proper = summary.split(' ').next().unwrap_or_default();
    if proper.eq_ignore_ascii_case(name) { proper } else { name }
}

/// An address without its scheme.
fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.trim_end_matches('/')
}

fn connections(record: &RunRecord) -> String {
    let count = record.plan.connections;
    let s = if count == 1 { "" } else { "s" };
    format!("{} connection{s}", grouped(count as u64))
}

/// Distinct names for several runs: their labels, or otherwise what differs between them. Two names
/// are the same only if everything known about the runs is.
pub(super) fn names(runs: &[RunRecord]) -> Vec<String> {
    let traits: Vec<Vec<String>> = runs.iter().map(traits).collect();
    let differs = |at: &usize| {
        let value = |run: usize| traits[run].get(*at);
        (1..runs.len()).any(|run| value(run) != value(0))
    };
    let count = traits.iter().map(Vec::len).min().unwrap_or(0);
    let telling: Vec<usize> = (0..count).filter(differs).take(MOST_TRAITS).collect();
    let name = |(record, traits): (&RunRecord, &Vec<String>)| {
        let from_traits =
            || telling.iter().map(|&at| traits[at].clone()).collect::<Vec<_>>().join(", ");
        record.plan.label.clone().unwrap_or_else(from_traits)
    };
    let names: Vec<String> = runs.iter().zip(&traits).map(name).collect();
    let alone = |name: &String| names.iter().filter(|it| *it == name).count() == 1;
    let time = |record: &RunRecord| {
        let time = record.started_at.get(..19).unwrap_or(&record.started_at);
        time.replace('T', " ")
    };
    let named = |(record, name): (&RunRecord, &String)| match name.as_str() {
        "" => time(record),
        name if alone(&name.to_owned()) => name.to_owned(),
        name => format!("{name}, {}", time(record)),
    };
    runs.iter().zip(&names).map(named).collect()
}

/// The traits by which a reader would recognize a run, most telling first.
fn traits(record: &RunRecord) -> Vec<String> {
    let main = record.main_stage();
    let plan = main.and_then(|stage| record.plan_of(stage));
    let work = plan.map(|plan| plan.work.describe(&grouped).join(", "));
    let length = plan.and_then(|plan| plan.length_ns);
    let load = main.map_or_else(String::new, |stage| {
        if stage.load.open {
            format!("{}/s offered", decimal(stage.load.offered_per_s, 0))
        } else {
            loop_words(&stage.load)
        }
    });
    let threads = record.plan.threads;
    vec![
        server(record),
        format!("{} {}", proper(record), record.server.version).trim().to_owned(),
        main.map_or_else(String::new, StageRecord::title),
        connections(record),
        load,
        work.unwrap_or_default(),
        length.map_or_else(String::new, |ns| format!("{} s", decimal(ns as f64 / 1e9, 1))),
        if threads == 1 { "1 thread".to_owned() } else { format!("{threads} threads") },
        format!("springload {}", record.environment.springload),
    ]
}

/// A mark for each of several runs, such as `A `; empty for a single run.
pub(super) fn mark(runs: &[RunRecord], run: usize) -> String {
    if runs.len() > 1 { label(run) } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::fixture;

    #[test]
    fn a_run_is_called_by_its_label_or_by_what_it_is() {
        let mut run = fixture::record(&[]);
        run.server.stand_in = false;
        (run.server.name, run.server.url) = ("couchdb".to_owned(), "http://h:5984/".to_owned());
        run.plan.connections = 1;
        assert_eq!(title(&run), "CouchDB at h:5984 · mixed · 1 connection");
        run.server.name = "cloudant".to_owned();
        run.plan.connections = 2_000;
        assert_eq!(title(&run), "cloudant at h:5984 · mixed · 2,000 connections");
        run.plan.label = Some("after".to_owned());
        assert_eq!(title(&run), "after");
    }

    #[test]
    fn several_runs_are_called_by_what_differs() {
        let run = |connections, label: Option<&str>, at: &str| {
            let mut run = fixture::record(&[]);
            run.plan.connections = connections;
            run.plan.label = label.map(str::to_owned);
            run.started_at = format!("2026-01-01T{at}Z");
            run
        };
        let two = [run(4, None, "10:00:00"), run(8, None, "11:00:00")];
        assert_eq!(names(&two), ["4 connections", "8 connections"]);
        let same = [run(4, None, "10:00:00"), run(4, None, "11:00:00")];
        assert_eq!(names(&same), ["2026-01-01 10:00:00", "2026-01-01 11:00:00"]);
        let labeled = [run(4, Some("old"), "10:00:00"), run(8, Some("new"), "11:00:00")];
        assert_eq!(names(&labeled), ["old", "new"]);
        let twice = [run(4, Some("x"), "10:00:00"), run(4, Some("x"), "11:00:00")];
        assert_eq!(names(&twice), ["x, 2026-01-01 10:00:00", "x, 2026-01-01 11:00:00"]);
    }
}
