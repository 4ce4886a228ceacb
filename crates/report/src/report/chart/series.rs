//! The charts of sweeps and bursts: those of the original programs, and a map of two settings.

use super::{Chart, ChartAxis, ChartKind, Line, Map, Scale, Stroke};
use crate::plan::Nouns;
use crate::report::burst::BurstSecond;
use crate::report::words::capital;
use crate::statistics::median;
use crate::sweep::{CellRecord, Curve, Setting, SweepRecord};

fn solid(name: String, tone: usize, (x, y): (Vec<f64>, Vec<Option<f64>>)) -> Line {
    Line { name, tone, stroke: Stroke::Solid, hidden: false, x, y }
}

fn chart(title: String, note: &str, x: ChartAxis, y: ChartAxis, lines: Vec<Line>) -> Chart {
    let chart = Chart::new(ChartKind::Throughput, title, x, y);
    Chart { note: note.to_owned(), lines, ..chart }.finished()
}

/// The most points of a line: more would only make it ragged.
const MOST_POINTS: usize = 200;

pub(in crate::report) fn of_sweep(sweep: &SweepRecord) -> Vec<Chart> {
    let cells = sweep.in_order();
    let mut charts = Vec::new();
    if sweep.definition.by_size {
        let curves = cells.iter().filter_map(|cell| {
            let curve = cell.result.as_ref()?.curve.as_ref()?;
            let round = (sweep.definition.repeat > 1).then(|| format!("round {}", cell.round));
            let settings = Some(named(&cell.settings)).filter(|it| !it.is_empty());
            Some((settings.into_iter().chain(round).collect::<Vec<_>>().join(" "), curve))
        });
        let curves: Vec<_> = curves.collect();
        charts.extend((!curves.is_empty()).then(|| by_size(&curves, sweep.counted())));
    }
    if cells.iter().any(|cell| cell.result.is_some()) {
        charts.extend(by_setting(sweep, &cells));
        charts.extend(by_pair(sweep));
    }
    charts
}

/// `batch=10 connections=2`.
fn named<'a>(settings: impl IntoIterator<Item = &'a Setting>) -> String {
    let pairs = settings.into_iter().map(|it| format!("{}={}", it.name, it.value));
    pairs.collect::<Vec<_>>().join(" ")
}

/// Documents per second against documents in the database, a line per curve. While the server was
/// away, the line is interrupted, and a dotted line shows the rate over that time.
pub(in crate::report) fn by_size(curves: &[(String, &Curve)], counted: Nouns) -> Chart {
    let Nouns { many, place, .. } = counted;
    let lines = |(tone, (name, curve)): (usize, &(String, &Curve))| {
        let points = stretches(curve);
        let near = |at: usize, gap: bool| {
            let around = at.saturating_sub(1)..(at + 2).min(points.len());
            if gap { points[around].iter().any(|point| point.2) } else { !points[at].2 }
        };
        let line = |gap: bool| -> (Vec<f64>, Vec<Option<f64>>) {
            let shown = |(at, point): (usize, &(f64, Option<f64>, bool))| {
                (point.0, point.1.filter(|_| near(at, gap)))
            };
            points.iter().enumerate().map(shown).unzip()
        };
        let mut lines = vec![solid(name.clone(), tone, line(false))];
        if points.iter().any(|point| point.2) {
            let away = solid(format!("{name} · server away"), tone, line(true));
            lines.push(Line { stroke: Stroke::Dot, ..away });
        }
        lines
    };
    chart(
        format!("Throughput by size of the {place}"),
        "Each line is one fill, dotted while the server was away.",
        ChartAxis::new(format!("{many} in the {place}"), Scale::Linear),
        ChartAxis::per_second(many),
        curves.iter().enumerate().flat_map(lines).collect(),
    )
}

/// Documents at the end of each interval of a curve, the rate over it, and whether the server was
/// away during it.
fn stretches(curve: &Curve) -> Vec<(f64, Option<f64>, bool)> {
    let whole: Vec<_> = curve.points.iter().filter(|point| !point.partial).collect();
    let mut since = (0, 0.0);
    let each = whole.chunks(whole.len().div_ceil(MOST_POINTS).max(1));
    each.map(|stretch| {
        let last = stretch[stretch.len() - 1];
        let (documents, length_s) = (last.documents.saturating_sub(since.0), last.at_s - since.1);
        since = (last.documents, last.at_s);
        let rate = (length_s > 0.0).then(|| documents as f64 / length_s);
        (last.documents as f64, rate, stretch.iter().any(|point| point.gap))
    })
    .collect()
}

/// The rates at each value of a setting.
type Rates = Vec<(f64, Vec<f64>)>;

/// The rate against each setting, a line per combination of the others.
fn by_setting(sweep: &SweepRecord, cells: &[&CellRecord]) -> Vec<Chart> {
    let axes = sweep.definition.axes.iter().enumerate();
    let of_axis = |(place, axis): (usize, &crate::sweep::Axis)| {
        if axis.values.len() < 2 {
            return None;
        }
        let numbers = axis.numbers();
        let names = if numbers.is_some() { Vec::new() } else { axis.values.clone() };
        let places = || (0..axis.values.len()).map(|at| at as f64).collect();
        let positive = numbers.iter().flatten().all(|&it| it > 0.0);
        let scale = if positive && names.is_empty() { Scale::Log } else { Scale::Linear };
        let numbers: Vec<f64> = numbers.unwrap_or_else(places);
        let mut lines: Vec<(String, Rates)> = Vec::new();
        for cell in cells {
            let Some(result) = &cell.result else { continue };
            let others = cell.settings.iter().enumerate().filter(|(other, _)| *other != place);
            let name = named(others.map(|(_, it)| it));
            let name = if name.is_empty() { "rate".to_owned() } else { name };
            let value = axis.values.iter().position(|it| *it == cell.settings[place].value)?;
            let index = lines.iter().position(|line| line.0 == name).unwrap_or_else(|| {
                lines.push((name, numbers.iter().map(|&x| (x, Vec::new())).collect()));
                lines.len() - 1
            });
            lines[index].1[value].1.push(result.per_s);
        }
        let line = |(tone, (name, mut points)): (usize, (String, Rates))| {
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            solid(name, tone, points.into_iter().map(|(x, rates)| (x, median(rates))).unzip())
        };
        Some(chart(
            format!("Throughput by {}", axis.name),
            "The median of all runs with the same settings.",
            ChartAxis { names, ..ChartAxis::new(axis.name.clone(), scale) },
            ChartAxis::per_second(sweep.counted().many),
            lines.into_iter().enumerate().map(line).collect(),
        ))
    };
    axes.filter_map(of_axis).collect()
}

/// The rate at each pair of values, if two settings are varied.
fn by_pair(sweep: &SweepRecord) -> Option<Chart> {
    let [down, across] = &sweep.definition.axes[..] else { return None };
    if down.values.len() < 2 || across.values.len() < 2 {
        return None;
    }
    let rate = |pair: [&String; 2]| {
        let is_pair = |cell: &&CellRecord| cell.settings.iter().map(|it| &it.value).eq(pair);
        let results = sweep.cells.iter().filter(is_pair).filter_map(|cell| cell.result.as_ref());
        median(results.map(|result| result.per_s))
    };
    let row = |one: &String| across.values.iter().map(|other| rate([one, other])).collect();
    let axis = |it: &crate::sweep::Axis| ChartAxis {
        names: it.values.clone(),
        ..ChartAxis::new(it.name.clone(), Scale::Linear)
    };
    let title = format!("Throughput by {} and {}", down.name, across.name);
    let unit = format!("{} per second", sweep.counted().many);
    let median = "the median of all runs with the same settings; blank if not measured.";
    let note = format!("{}, {median}", capital(&unit));
    let rates = down.values.iter().map(row).collect();
    let map = Map { rates, unit, edges: Vec::new(), rows: Vec::new() };
    let chart = Chart::new(ChartKind::Heatmap, title, axis(across), axis(down));
    Some(Chart { note, map: Some(map), ..chart }.finished())
}

/// Operations in each whole second of a burst, of all workers or per worker.
pub(in crate::report) fn burst(
    seconds: &[BurstSecond],
    title: &str,
    actions: &str,
    per_worker: bool,
) -> Chart {
    // The last second is partial: if drawn, it would look like a collapse.
    let whole = || seconds.iter().filter(|second| !second.partial);
    let x = whole().map(|second| f64::from(second.second)).collect();
    let value = |second: &BurstSecond| if per_worker { second.average } else { second.sum as f64 };
    let y = whole().map(|second| Some(value(second))).collect();
    let name = if per_worker { "average per worker" } else { "total amount" };
    chart(
        title.to_owned(),
        "Each point is one second; the last, partial second is left out.",
        ChartAxis::new("time (s)", Scale::Linear),
        ChartAxis::new(format!("number of {actions}"), Scale::Linear),
        vec![solid(name.to_owned(), 0, (x, y))],
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::CurvePoint;
    use std::collections::BTreeMap;

    #[test]
    fn what_is_no_whole_second_is_not_drawn() {
        let second = |second, sum, partial| BurstSecond {
            second,
            sum,
            average: sum as f64 / 2.0,
            failed: 0,
            partial,
            times_us: BTreeMap::new(),
        };
        let seconds = [second(0, 10, false), second(1, 8, false), second(2, 1, true)];
        let chart = burst(&seconds, "t", "writes", true);
        assert_eq!(chart.lines[0].y, [Some(5.0), Some(4.0)]);
        assert_eq!(
            (&chart.y.title[..], &chart.lines[0].name[..]),
            ("number of writes", "average per worker")
        );
    }

    #[test]
    fn a_line_is_broken_where_the_server_was_away() {
        let point = |documents, gap| CurvePoint {
            documents,
            at_s: documents as f64 / 5.0,
            gap,
            ..CurvePoint::default()
        };
        let points = vec![point(10, false), point(20, true), point(30, false)];
        let chart = by_size(&[("A".to_owned(), &Curve { points, gaps: Vec::new() })], Nouns::ROWS);
        assert_eq!(chart.lines[0].y, [Some(5.0), None, Some(5.0)]);
        assert_eq!(chart.title, "Throughput by size of the table");
        assert_eq!(chart.x.title, "rows in the table");
        assert_eq!(chart.y.title, "rows per second");
        assert_eq!(chart.lines[1].y, [Some(5.0); 3]);
        assert_eq!(chart.lines[1].stroke, Stroke::Dot);
    }
}
