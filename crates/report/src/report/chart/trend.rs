//! The charts of trends: a quantity over runs, and its levels.

use super::{Chart, ChartAxis, ChartKind, Line, Scale, Stroke};
use crate::record::Unit;
use crate::report::trend::{change, mark, name};
use crate::report::words::capital;
use crate::trend::{Group, Series, Trend};

/// All charts of a trend; those of a group are together.
pub(in crate::report) fn of_trend(trend: &Trend) -> Vec<Chart> {
    let several = trend.groups.len() > 1;
    let of_group = |(at, group): (usize, &Group)| {
        let lead = if several { format!("{} · ", at + 1) } else { String::new() };
        let shown = group.series.iter().filter(|it| !it.is_zero());
        shown.map(|it| of_series(&lead, group, it)).collect::<Vec<_>>()
    };
    trend.groups.iter().enumerate().flat_map(of_group).collect()
}

fn of_series(lead: &str, group: &Group, series: &Series) -> Chart {
    let plain = |title| ChartAxis::new(title, Scale::Linear);
    let (kind, y_axis, factor) = match series.unit {
        Unit::Us => (ChartKind::Latency, ChartAxis::in_ms("time", Scale::Linear), 1e-3),
        Unit::Percent => (ChartKind::Throughput, plain("share, %"), 1.0),
        Unit::Count => (ChartKind::Throughput, plain("number"), 1.0),
        Unit::PerSecond => (ChartKind::Throughput, ChartAxis::per_second(group.counted.many), 1.0),
    };
    let day = |started_at: &str| started_at.get(..10).unwrap_or(started_at).to_owned();
    let names = group.runs.iter().map(|run| day(&run.started_at)).collect();
    let x: Vec<f64> = (0..series.values.len()).map(|at| at as f64).collect();
    let measured = Line {
        name: "measured".to_owned(),
        tone: 0,
        stroke: Stroke::Solid,
        hidden: false,
        x: x.clone(),
        y: series.values.iter().map(|value| value.map(|it| it * factor)).collect(),
    };
    let x_axis = ChartAxis { names, ..ChartAxis::new("run of", Scale::Linear) };
    let chart = Chart::new(kind, format!("{lead}{}", name(series)), x_axis, y_axis);
    Chart {
        note: note(group, series),
        lines: std::iter::once(measured).chain(levels(series, factor)).collect(),
        ..chart
    }
    .finished()
}

/// A line for the level of the runs between one change and the next.
fn levels(series: &Series, factor: f64) -> Vec<Line> {
    if series.changes.is_empty() {
        return Vec::new();
    }
    let line = |(from, to, level): (usize, usize, f64)| Line {
        name: "level".to_owned(),
        tone: 1,
        stroke: Stroke::Dash,
        hidden: false,
        // As far as halfway to the next run.
        x: vec![from as f64 - 0.5, to as f64 - 0.5],
        y: vec![Some(level * factor); 2],
    };
    let mut all = series.levels().into_iter().map(line);
    let mut joined = all.next();
    for level in all {
        if let Some(line) = &mut joined {
            let end = line.x[line.x.len() - 1];
            line.x.push(end);
            line.y.push(None);
            line.x.extend(level.x);
            line.y.extend(level.y);
        }
    }
    joined.into_iter().collect()
}

/// Describes what changed, and what else changed along with it.
fn note(group: &Group, series: &Series) -> String {
    let changes = series.changes.iter();
    let changes =
        changes.map(|it| format!("{} {}.", capital(it.verdict.name()), change(series, it)));
    let marks = group.marks.iter().map(|it| format!("{}.", capital(&mark(group, it))));
    let all: Vec<String> = changes.chain(marks).collect();
    if all.is_empty() { "Each point is a run.".to_owned() } else { all.join(" ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::trend::tests::trend;

    #[test]
    fn levels_are_drawn_from_change_to_change() {
        let charts = of_trend(&trend());
        let chart = &charts[0];
        assert_eq!(chart.lines[0].y.len(), 8);
        let level = &chart.lines[1];
        assert_eq!(level.x, [-0.5, 4.5, 4.5, 4.5, 7.5]);
        assert_eq!(level.y, [Some(1_000.0), Some(1_000.0), None, Some(800.0), Some(800.0)]);
        assert!(chart.note.starts_with("Worse −20.0 % from 2026-03-06 10:00 on"), "{}", chart.note);
        assert!(chart.note.contains("Server couchdb 3.4 → couchdb 3.5 from"), "{}", chart.note);
        assert_eq!(chart.x.names[0], "2026-03-01");
        assert!(charts.iter().all(|it| !it.title.contains("errors")), "nothing to see");
    }
}
