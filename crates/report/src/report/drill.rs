//! A drill in words and rows: what was broken and when, the figures of each phase, how long it took
//! until everything was back to normal, and how much of what was acknowledged each node has.

use super::nodes::host;
use super::number::{at, decimal, grouped, length, millis};
use super::table::Columns;
use crate::measure::{Copies, NodeCopies, Span, Statistic};
use crate::op::Failure;
use crate::record::{
    Backlog, Drill, DrillRecord, DrillStep, NodeAudit, Phase, PhaseFigures, RunRecord, StageRecord,
};

/// A row of a table, and whether something was wrong.
pub(super) type DrillRow = (bool, Vec<String>);

/// What was broken in a stage, for the bands of charts: a description, and its start and end.
pub(super) fn broken(stage: &StageRecord) -> Option<(String, f64, f64)> {
    let drill = stage.drilled()?;
    let (from_s, to_s) = drill.broken_s();
    Some((format!("broken for {}", length(to_s - from_s)), from_s, to_s))
}

/// What was done and its outcome, one per line; empty if there was no drill.
pub(super) fn lines(record: &RunRecord, stage: &StageRecord) -> Vec<String> {
    let Some(DrillRecord { stop, start }) = &stage.drill else { return Vec::new() };
    let mut lines = Vec::new();
    match stop {
        None => lines.push("nothing was broken: the stage ended before".to_owned()),
        Some(stop) => lines.push(step_words("broken", stop)),
    }
    lines.extend(start.iter().map(|start| step_words("mended", start)));
    let Some(drill) = stage.drilled() else { return lines };
    let times = drill.times(record.observed.as_ref());
    lines.push(failure_words(times.first_failure_s, times.first_success_s));
    let success = times.healed_success_s.map_or_else(
        || "after it was mended, nothing succeeded".to_owned(),
        |it| format!("first success {} of the mending", within(it)),
    );
    lines.push(format!("{success}, {}", caught_up_words(drill, times.caught_up_s)));
    lines.extend(times.backlog_s.map(backlog_words));
    lines.extend(record.copies.as_ref().map(copies_words));
    if !drill.has_changed() {
        lines.push("nothing changed while it was broken".to_owned());
    }
    lines
}

/// The drill in one line: what failed during it, whether everything got back to normal, and what is
/// missing; `None`: nothing was broken.
pub(super) fn headline(record: &RunRecord, stage: &StageRecord) -> Option<String> {
    let drill = stage.drilled()?;
    let failed = drill.figures(Phase::Broken).failed();
    let caught_up = drill.times(None).caught_up_s;
    let failed = if failed == 0 { "none".to_owned() } else { grouped(failed) };
    // Operations that waited through it did not fail, but were not served either.
    let (from_s, to_s) = drill.broken_s();
    let meanwhile = |it: &&Span| it.from_s < to_s && it.from_s + it.length_s > from_s;
    let away = stage.away();
    let unanswered = away.iter().filter(|it| it.silent).map(|it| &it.span);
    let silent = stage.silences.iter().chain(unanswered).filter(meanwhile).map(|it| it.length_s);
    let silent = silent.reduce(f64::max);
    let silent = silent.map_or_else(String::new, |it| format!(", {} without answer", length(it)));
    let failed = format!("{failed} failed while broken{silent}");
    let audits = record.audits();
    let looked = audits.iter().map(|it| it.found).max().map(|found| {
        let through = match audits.len() {
            1 => String::new(),
            nodes => format!(" through each of {nodes} nodes"),
        };
        format!("{} {} as acknowledged{through}", grouped(found), record.nouns().many)
    });
    let parts = [Some(failed), Some(caught_up_words(drill, caught_up)), looked];
    Some(parts.into_iter().flatten().collect::<Vec<_>>().join(" · "))
}

fn within(seconds: f64) -> String {
    format!("within {} s", decimal(seconds.max(0.1), 1))
}

/// Says when the first request failed, and when the next one succeeded.
fn failure_words(failure_s: Option<f64>, success_s: Option<f64>) -> String {
    let Some(failure_s) = failure_s else { return "nothing failed".to_owned() };
    let success = success_s.map_or_else(
        || "nothing succeeded afterwards".to_owned(),
        |it| format!("next success {} of it", within(it)),
    );
    format!("first failure {} of the break, {success}", within(failure_s))
}

/// Says when everything was back to normal.
fn caught_up_words(drill: Drill<'_>, caught_up_s: Option<f64>) -> String {
    match caught_up_s {
        Some(it) if it < 1.0 => "as before at once".to_owned(),
        Some(it) => format!("as before after {}", length(it)),
        None if drill.ends_too_soon() => "too short to tell whether all was as before".to_owned(),
        None => "not yet as before at the end".to_owned(),
    }
}

fn step_words(what: &str, step: &DrillStep) -> String {
    let DrillStep { command, from_s, to_s, problem, output } = step;
    let took = length((to_s - from_s).max(0.0));
    let mut words = format!("{what} at {} (took {took}): {command}", at(*from_s));
    for more in [problem, output].into_iter().flatten() {
        words = format!("{words}; {}", more.trim().replace('\n', " · "));
    }
    words
}

fn backlog_words(backlog: Backlog) -> String {
    let what = "internal replication";
    match backlog {
        Backlog::Gone(seconds) => {
            format!("{what}: no jobs left {} after the mending", length(seconds))
        }
        Backlog::Left => format!("{what}: there were jobs left when last asked"),
        Backlog::Never => format!("{what}: no jobs whenever asked"),
    }
}

/// A phase, of one node or of all.
struct PhaseRow<'a> {
    node: &'a str,
    phase: Phase,
    figures: &'a PhaseFigures,
}

/// The columns of phases; those `of_nodes` have no seconds, which are the same as the phase's.
fn columns<'a>(of_nodes: bool, accepted: bool) -> Columns<'a, PhaseRow<'a>> {
    let none = || "-".to_owned();
    let rate = |per_s: f64| decimal(per_s, usize::from(per_s < 10.0));
    Columns::<'_, PhaseRow<'_>>::new()
        .and_if(of_nodes, "node", |it| it.node.to_owned())
        .and("phase", |it| it.phase.name().to_owned())
        .and_if(!of_nodes, "seconds", |it| {
            let (from_s, to_s) = it.figures.span_s;
            format!("{}–{}", decimal(from_s, 0), decimal(to_s, 0))
        })
        .and("requests", |it| grouped(it.figures.requests))
        .and("ok/s", move |it| it.figures.ok_per_s().map_or_else(none, rate))
        .each(
            Statistic::percentiles(),
            |it| it.name().to_owned(),
            move |row, it| it.of_histogram(&row.figures.response).map_or_else(none, millis),
        )
        .and("failed", |it| grouped(it.figures.failed()))
        .and_if(accepted, "202", |it| grouped(it.figures.accepted))
        .and("why", |it| why(it.figures))
}

/// The classes of failures, the most frequent first.
fn why(figures: &PhaseFigures) -> String {
    let mut why: Vec<_> = figures.failures.iter().collect();
    why.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let words = |class: Failure, count: u64| format!("{} {}", grouped(count), class.words());
    let why = why.iter().map(|(class, count)| words(**class, **count));
    why.collect::<Vec<_>>().join(", ")
}

fn has_failed(row: &PhaseRow<'_>) -> bool {
    row.figures.failed() > 0
}

/// The figures of each phase, below the names of the columns; `None`: nothing was broken.
pub(super) fn phases(stage: &StageRecord) -> Option<Vec<DrillRow>> {
    let drill = stage.drilled()?;
    let all = Phase::ALL.map(|phase| (phase, drill.figures(phase)));
    let accepted = all.iter().any(|(_, it)| it.accepted > 0);
    let rows = all.each_ref().map(|(phase, figures)| PhaseRow { node: "", phase: *phase, figures });
    Some(columns(false, accepted).marked(&rows, has_failed))
}

/// The figures of each phase for each node, below the names of the columns; `None`: there is only
/// one node, or nothing was broken.
pub(super) fn nodes(stage: &StageRecord) -> Option<Vec<DrillRow>> {
    let drill = stage.drilled()?;
    let all = Phase::ALL.map(|phase| (phase, drill.figures_of_nodes(phase)));
    let mut rows = Vec::new();
    for (place, node) in stage.nodes.iter().enumerate() {
        for (phase, figures) in &all {
            let Some(figures) = figures.get(place) else { continue };
            let node = if *phase == Phase::Before { host(&node.url) } else { "" };
            rows.push(PhaseRow { node, phase: *phase, figures });
        }
    }
    (!rows.is_empty()).then(|| columns(true, false).marked(&rows, has_failed))
}

/// What the copies on each node contain, below the names of the columns; `None`: they were not
/// compared.
pub(super) fn copies(record: &RunRecord) -> Option<Vec<DrillRow>> {
    let copies = record.copies.as_ref().filter(|copies| !copies.nodes.is_empty())?;
    let known = |it: &NodeCopies, count: u64| match it.problem {
        Some(_) => "-".to_owned(),
        None => grouped(count),
    };
    let columns = Columns::<'_, NodeCopies>::new()
        .and("copies on", |it| it.node.clone())
        .and("documents", move |it| known(it, it.documents))
        .and("missing", move |it| known(it, it.missing))
        .and("older", move |it| known(it, it.older));
    let is_bad = |it: &NodeCopies| it.missing > 0 || it.older > 0 || it.problem.is_some();
    Some(columns.marked(&copies.nodes, is_bad))
}

/// Says in one line whether the copies matched.
fn copies_words(copies: &Copies) -> String {
    if let Some(why) = &copies.problem {
        return format!("single copies: not compared: {why}");
    }
    let first = copies.looked_s < 1.0;
    if !copies.are_alike() && !copies.differ() {
        return "single copies: not all of them could be compared".to_owned();
    }
    match (copies.are_alike(), first) {
        (true, true) => "single copies: all alike at the first look".to_owned(),
        (true, false) => format!("single copies: all alike after {}", length(copies.looked_s)),
        (false, _) => format!("single copies: not alike, even {} later", length(copies.looked_s)),
    }
}

/// How much of what was acknowledged each node has, below the names of the columns; `None`: that
/// was not checked, or there was no drill.
pub(super) fn audits(record: &RunRecord) -> Option<Vec<DrillRow>> {
    record.stages.iter().find(|stage| stage.drill.is_some())?;
    let audits = record.audits();
    if audits.is_empty() {
        return None;
    }
    let columns = Columns::<'_, NodeAudit>::new()
        .and("audit through", |it| {
            let name = if it.url.is_empty() { "the server" } else { host(&it.url) };
            name.to_owned()
        })
        .and("as expected", |it| grouped(it.found))
        .and("lost", |it| grouped(it.lost))
        .and("wrong", |it| grouped(it.wrong))
        .and("unknown", |it| match (it.unknown, &it.problem) {
            (Some(unknown), _) => grouped(unknown),
            (None, Some(problem)) => format!("all: {problem}"),
            (None, None) => "all".to_owned(),
        });
    let is_bad = |it: &NodeAudit| it.lost > 0 || it.wrong > 0 || it.unknown != Some(0);
    Some(columns.marked(&audits, is_bad))
}

/// Explains how to read the times of a drill.
pub(super) fn note(drill: Drill<'_>) -> String {
    let (from_s, to_s) = drill.broken_s();
    let exact = match drill.resolution_s() {
        1 => "the second".to_owned(),
        seconds => format!("{seconds} s"),
    };
    format!(
        "Broken from {} to {}. Times are known to {exact}; a second in which it was broken for a \
         part counts as broken. As before: five seconds in a row with no larger share of \
         failures, a throughput of at least 90 % and a p99 of at most 110 % of the worst second \
         before.",
        at(from_s),
        at(to_s),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::KindInterval;
    use crate::op::OpKind;
    use crate::record::fixture;

    fn part(kind: OpKind, ok: u64, failures: &[(Failure, u64)]) -> (u32, OpKind, KindInterval) {
        let failed: u64 = failures.iter().map(|(_, count)| count).sum();
        let mut part = KindInterval { requests: ok + failed, ok, ..KindInterval::default() };
        for (class, count) in failures {
            part.failures[class.index()] = *count;
        }
        (0, kind, part)
    }

    fn broken_and_mended() -> DrillRecord {
        let step = |from_s: f64| Some(DrillStep { from_s, to_s: from_s, ..DrillStep::default() });
        DrillRecord { stop: step(10.5), start: step(20.5) }
    }

    #[test]
    fn what_each_audit_found_is_in_the_column_of_its_name() {
        let audited = |parts: Vec<(u32, OpKind, KindInterval)>| {
            let mut record = fixture::record(&[]);
            fixture::crud(&mut record).drill = Some(broken_and_mended());
            let mut stage = fixture::stage("audit", parts);
            let plan = serde_json::json!({
                "name": "audit", "workload": "audit",
                "pace": { "loop": "closed", "think_ns": 0 }, "length_ns": null,
            });
            stage.plan = Some(serde_json::from_value(plan).unwrap());
            record.stages.push(stage);
            audits(&record).unwrap()
        };
        let verify = |failures: &[(Failure, u64)]| vec![part(OpKind::Verify, 1_200, failures)];
        let head = ["audit through", "as expected", "lost", "wrong", "unknown"];
        let found = audited(verify(&[
            (Failure::Lost, 4),
            (Failure::Stale, 2),
            (Failure::Resurrected, 1),
            (Failure::Timeout, 5),
        ]));
        assert_eq!(found[0], (false, head.map(str::to_owned).to_vec()));
        let row = |bad: bool, cells: [&str; 5]| (bad, cells.map(str::to_owned).to_vec());
        assert_eq!(found[1], row(true, ["the server", "1,200", "4", "3", "5"]));
        assert_eq!(audited(verify(&[]))[1], row(false, ["the server", "1,200", "0", "0", "0"]));
        // What could not be asked is not as expected, nor is it lost.
        let nothing = audited(vec![part(OpKind::Read, 0, &[(Failure::Connect, 7)])]);
        assert_eq!(nothing[1], row(true, ["the server", "0", "0", "0", "all: 7 connect"]));
        assert_eq!(audits(&fixture::record(&[])), None, "there was no drill");
    }

    #[test]
    fn what_is_as_before_is_told_from_what_is_not_and_from_what_ended_too_soon() {
        // Ten seconds before, and after the mending so many in which so much succeeds.
        let words = |after: u32, ok: u64, caught_up_s: Option<f64>| {
            let second = |second: u32, ok: u64| {
                let (_, kind, mut part) = part(OpKind::Update, ok, &[]);
                part.response.record_many(10_000_000, ok);
                part.service.record_many(10_000_000, ok);
                (second, kind, part)
            };
            let before = (0..10).map(|at| second(at, 200));
            let healed = (21..21 + after).map(|at| second(at, ok));
            let mut stage = fixture::stage("crud", before.chain(healed).collect());
            let seconds = f64::from(21 + after);
            (stage.elapsed_s, stage.measured_s) = (seconds + 0.01, seconds);
            stage.drill = Some(broken_and_mended());
            caught_up_words(stage.drilled().unwrap(), caught_up_s)
        };
        assert_eq!(words(10, 200, Some(0.9)), "as before at once");
        assert_eq!(words(10, 200, Some(2.5)), "as before after 2.5 s");
        assert_eq!(words(10, 100, None), "not yet as before at the end");
        assert_eq!(words(3, 200, None), "too short to tell whether all was as before");
        assert_eq!(words(3, 100, None), "not yet as before at the end");
    }

    /// As the lines about the outage say.
    #[test]
    fn a_server_that_was_gone_did_not_answer_for_as_long_as_the_outage_lasted() {
        let words = |answered: bool, silences: &[Span]| {
            let mut stage = fixture::stage("crud", vec![part(OpKind::Update, 200, &[])]);
            (stage.measured_s, stage.drill) = (33.0, Some(broken_and_mended()));
            stage.outage.spans = vec![Span { from_s: 10.6, length_s: 4.0 }];
            (stage.outage.answered, stage.silences) = (answered, silences.to_vec());
            headline(&fixture::record(&[]), &stage).unwrap()
        };
        let silence = Span { from_s: 11.0, length_s: 4.5 };
        let silent = words(true, &[silence]);
        assert!(
            silent.starts_with("none failed while broken, 4.9 s without answer · "),
            "{silent}"
        );
        let refused = words(false, &[]);
        assert!(refused.contains(", 4.0 s without answer · "), "{refused}");
        let errors = words(true, &[]);
        assert!(errors.starts_with("none failed while broken · "), "{errors}");
    }

    #[test]
    fn a_server_that_never_came_back_has_no_next_success() {
        let words = |success_s| failure_words(Some(1.04), success_s);
        let failure = "first failure within 1.0 s of the break";
        assert_eq!(words(None), format!("{failure}, nothing succeeded afterwards"));
        assert_eq!(words(Some(2.0)), format!("{failure}, next success within 2.0 s of it"));
        assert_eq!(failure_words(None, None), "nothing failed");
    }
}
