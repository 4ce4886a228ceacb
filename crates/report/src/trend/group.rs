//! Groups of comparable runs in chronological order, with what changed between them.

use super::{Change, Direction, Group, Mark, Point, Series, TrendRun};
use crate::plan::{Nouns, Quantity};
use crate::record::Unit;
use crate::statistics::change_points;
use std::collections::{BTreeMap, BTreeSet};

/// The most settings that are named if several changed at once.
const MOST_SETTINGS: usize = 8;

/// The groups of these runs; the group with the latest run comes first.
pub(super) fn groups(points: Vec<Point>) -> Vec<Group> {
    let mut by_plan: BTreeMap<String, Vec<Point>> = BTreeMap::new();
    for point in points {
        by_plan.entry(point.key.clone()).or_default().push(point);
    }
    let mut groups: Vec<Group> = by_plan.into_values().map(group).collect();
    let last = |group: &Group| group.runs.last().map(|run| run.started_at.clone());
    groups.sort_by_key(|group| std::cmp::Reverse(last(group)));
    groups
}

fn group(mut points: Vec<Point>) -> Group {
    let place = |point: &Point| (point.run.started_at.clone(), point.run.name.clone());
    points.sort_by_key(place);
    let runs: Vec<TrendRun> = points.iter().map(|point| point.run.clone()).collect();
    let mut quantities: Vec<Quantity> = Vec::new();
    for (quantity, _) in points.iter().flat_map(|point| &point.values) {
        if !quantities.contains(quantity) {
            quantities.push(*quantity);
        }
    }
    let series = quantities.into_iter().map(|quantity| {
        let own = |point: &Point| point.values.iter().find(|it| it.0 == quantity)?.1;
        series(quantity, points.iter().map(own).collect(), &runs)
    });
    let series = series.collect();
    let command = points.last().map(|point| point.command.clone()).unwrap_or_default();
    let counted = Nouns::common(points.iter().map(|point| point.counted));
    Group { command, counted, marks: marks(&runs), runs, series }
}

fn series(metric: Quantity, values: Vec<Option<f64>>, runs: &[TrendRun]) -> Series {
    // Runs without a value are not searched for changes.
    let known: Vec<(usize, f64)> =
        values.iter().enumerate().filter_map(|(at, value)| Some((at, (*value)?))).collect();
    let numbers: Vec<f64> = known.iter().map(|(_, value)| *value).collect();
    let change = |point: crate::statistics::ChangePoint| {
        let at = known[point.at].0;
        let (before, after) = (point.before, point.after);
        let rises = after > before;
        let better = rises == metric.metric.is_better_high();
        Change {
            at,
            run: runs[at].name.clone(),
            started_at: runs[at].started_at.clone(),
            before,
            after,
            percent: (before != 0.0).then(|| (after / before - 1.0) * 100.0),
            chance: point.chance,
            verdict: if better { Direction::Better } else { Direction::Worse },
        }
    };
    let changes = change_points(&numbers).into_iter().map(change).collect();
    Series { metric, unit: Unit::of(metric.metric), values, changes }
}

/// The settings that changed before a run, compared with the last known ones.
fn settings(runs: &[TrendRun], at: usize) -> Vec<Mark> {
    let now = &runs[at].settings;
    let earlier = runs[..at].iter().rev().map(|run| &run.settings).find(|it| !it.is_empty());
    let Some(before) = earlier.filter(|_| !now.is_empty()) else { return Vec::new() };
    let names: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    let value = |of: &BTreeMap<String, String>, name: &String| {
        of.get(name).map_or_else(|| "not set".to_owned(), Clone::clone)
    };
    let differ = names.into_iter().filter(|name| before.get(*name) != now.get(*name));
    let mark = |name: &String| Mark {
        at,
        what: format!("server's {name}"),
        before: value(before, name),
        after: value(now, name),
    };
    let mut marks: Vec<Mark> = differ.map(mark).collect();
    let more = marks.len().saturating_sub(MOST_SETTINGS);
    if more > 0 {
        marks.truncate(MOST_SETTINGS);
        let what = format!("server's {more} more settings:");
        marks.push(Mark { at, what, before: "others".to_owned(), after: "changed".to_owned() });
    }
    marks
}

/// The runs at which the server, machine, springload or a setting of the server changed.
fn marks(runs: &[TrendRun]) -> Vec<Mark> {
    let facts = |run: &TrendRun| {
        let TrendRun { server, machine, springload, .. } = run.clone();
        [("server", server), ("machine", machine), ("springload", springload)]
    };
    let mut marks = Vec::new();
    for (at, pair) in runs.windows(2).enumerate() {
        for ((what, before), (_, after)) in facts(&pair[0]).into_iter().zip(facts(&pair[1])) {
            if before != after {
                marks.push(Mark { at: at + 1, what: what.to_owned(), before, after });
            }
        }
        marks.extend(settings(runs, at + 1));
    }
    marks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{RunRecord, Verdict, fixture};
    use crate::trend::Trend;

    fn record(nth: usize) -> RunRecord {
        let mut record = fixture::record(&[]);
        record.started_at = format!("2026-03-{:02}T10:00:00Z", nth + 1);
        record.plan.seed = nth as u64;
        record.plan.label = Some(format!("run {nth}"));
        record.plan.command = format!("springload run --seed {nth}");
        record
    }

    fn point(record: &RunRecord) -> Point {
        Point::of(record, &record.started_at, &[]).expect("it counts")
    }

    fn slower(record: &mut RunRecord, factor: f64) {
        for stage in &mut record.stages {
            stage.elapsed_s *= factor;
            stage.measured_s *= factor;
        }
    }

    #[test]
    fn settings_of_the_server_that_changed_are_marked_and_unknown_ones_are_not() {
        let set = |q: Option<&str>| {
            let pairs = q.into_iter().flat_map(|q| [("cluster.q", q), ("cluster.n", "3")]);
            pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
        };
        let mut points: Vec<Point> = (0..6).map(|nth| point(&record(nth))).collect();
        let all = [Some("2"), None, Some("2"), Some("8"), None, Some("8")];
        for (point, q) in points.iter_mut().zip(all) {
            point.run.settings = set(q);
        }
        let group = Trend::of(points, Vec::new()).groups.remove(0);
        let what = "server's cluster.q".to_owned();
        let changed = Mark { at: 3, what, before: "2".to_owned(), after: "8".to_owned() };
        assert_eq!(group.marks, [changed]);

        // A setting that one of them lacks is reported, and long lists are cut.
        let mut points: Vec<Point> = (0..2).map(|nth| point(&record(nth))).collect();
        points[0].run.settings = set(Some("2"));
        let more = (0..20).map(|it| (format!("x.{it:02}"), "1".to_owned()));
        points[1].run.settings = set(Some("2")).into_iter().chain(more).collect();
        let marks = Trend::of(points, Vec::new()).groups.remove(0).marks;
        assert_eq!((marks.len(), &*marks[0].before, &*marks[0].after), (9, "not set", "1"));
        assert_eq!(marks[8].what, "server's 12 more settings:");
    }

    #[test]
    fn runs_of_one_plan_are_one_group_in_order_of_time() {
        let mut records: Vec<RunRecord> = (0..8).map(record).collect();
        records[5].server.version = "9.9".to_owned();
        for late in &mut records[5..] {
            late.server.version = "9.9".to_owned();
            slower(late, 2.0);
        }
        let mut other = record(8);
        other.plan.connections += 1;
        let mut points: Vec<Point> = records.iter().rev().map(point).collect();
        points.push(point(&other));
        let trend = Trend::of(points, Vec::new());
        assert_eq!(trend.groups.len(), 2, "another number of connections is another plan");
        assert_eq!(trend.runs(), 9);
        assert_eq!(trend.groups[0].runs.len(), 1, "the last run comes first");
        let group = &trend.groups[1];
        assert_eq!(group.command, "springload run --seed 7");
        let labels: Vec<_> = group.runs.iter().filter_map(|run| run.label.as_deref()).collect();
        assert_eq!(labels[0], "run 0");
        assert!(labels.is_sorted());
        let mark = &group.marks[0];
        assert_eq!((group.marks.len(), mark.at, &mark.what[..]), (1, 5, "server"));
        let of = |name: &str| {
            group.series.iter().find(|it| it.metric.to_string() == name).expect("a series")
        };
        let change = &of("read.throughput").changes[0];
        assert_eq!((change.at, change.verdict), (5, Direction::Worse));
        assert_eq!(change.started_at, "2026-03-06T10:00:00Z");
        assert!((change.percent.unwrap() + 50.0).abs() < 1e-6, "{change:?}");
        assert!(of("read.p99").changes.is_empty() && !of("read.p99").is_zero());
        assert_eq!(of("read.throughput").levels().len(), 2);
    }

    #[test]
    fn changes_of_level_server_and_machine_are_no_variation() {
        let values = |step: f64, bump: f64| -> Vec<f64> {
            let wave = |at: usize| 1.0 + [0.0, 0.02, 0.01, 0.03][at % 4];
            let level = |at: usize| if at < 6 { 100.0 } else { step };
            (0..12).map(|at| level(at) * wave(at) * if at == 3 { bump } else { 1.0 }).collect()
        };
        let group = |values: &[f64], count: usize, other_server_from: usize| {
            let run = |at: usize| {
                let mut record = record(at);
                if at >= other_server_from {
                    record.server.version = "9.9".to_owned();
                }
                point(&record).run
            };
            let runs: Vec<TrendRun> = (0..count).map(run).collect();
            let known = values[..count].iter().copied().map(Some).collect();
            let series = vec![series("throughput".parse().unwrap(), known, &runs)];
            let (command, counted) = Default::default();
            Group { command, counted, marks: marks(&runs), runs, series }
        };
        let variation = |group: &Group| group.variations().first().map(|it| it.1);
        let steady = variation(&group(&values(100.0, 1.0), 12, 99)).unwrap();
        assert!((0.008..0.016).contains(&steady), "{steady}");
        let stepped = variation(&group(&values(60.0, 1.0), 12, 99)).unwrap();
        assert!((stepped - steady).abs() < 0.003, "{stepped}");
        let unsteady = variation(&group(&values(100.0, 1.2), 12, 99)).unwrap();
        assert!(unsteady > 3.0 * steady, "one run that is off is variation: {unsteady}");
        // Five runs are too few to find a change in, but the server is a different one.
        let few = values(60.0, 1.0)[3..8].to_vec();
        assert!(variation(&group(&few, 5, 99)).unwrap() > 0.1);
        assert!(variation(&group(&few, 5, 3)).unwrap() < 0.03);
        assert!(variation(&group(&few, 4, 3)).is_none(), "three differences are needed");
        assert_eq!(variation(&group(&values(100.0, 1.0), 3, 99)), None);
        assert!(variation(&group(&values(100.0, 1.0), 4, 99)).is_some());
    }

    #[test]
    fn what_fails_a_run_is_no_other_plan() {
        let (one, mut other) = (record(0), record(1));
        other.plan.thresholds = fixture::record(&["err > 5%"]).plan.thresholds;
        assert_eq!(Trend::of(vec![point(&one), point(&other)], Vec::new()).groups.len(), 1);
    }

    #[test]
    fn runs_that_say_nothing_are_left_out() {
        let mut stopped = record(0);
        (stopped.partial, stopped.result) = (true, None);
        assert!(Point::of(&stopped, "a", &[]).unwrap_err().starts_with("stopped"));
        let mut bound = record(1);
        bound.result = None;
        for stage in &mut bound.stages {
            stage.verdict = Verdict::Empty;
        }
        assert!(Point::of(&bound, "a", &[]).unwrap_err().starts_with("not trustworthy"));
        let mut none = record(2);
        none.result = None;
        none.stages.clear();
        assert_eq!(Point::of(&none, "a", &[]).unwrap_err(), "nothing measured");
    }

    #[test]
    fn gaps_do_not_shift_a_change() {
        let values = (0..12).map(|at| (at != 3).then_some(if at < 7 { 100.0 } else { 50.0 }));
        let runs: Vec<TrendRun> = (0..12).map(|at| point(&record(at)).run).collect();
        let series = series("read.p99".parse().unwrap(), values.collect(), &runs);
        assert_eq!(series.changes[0].at, 7);
        assert_eq!(series.changes[0].verdict, Direction::Better);
    }
}
