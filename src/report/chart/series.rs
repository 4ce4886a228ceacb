//! The charts of sweeps and bursts: the pictures that their originals drew.

use super::{Axis, Chart, ChartKind, Line, Scale, Stroke};
use crate::report::burst::BurstSecond;
use crate::sweep::{Curve, SweepRecord};

fn solid(name: String, tone: usize, (x, y): (Vec<f64>, Vec<Option<f64>>)) -> Line {
    Line { name, tone, stroke: Stroke::Solid, hidden: false, x, y }
}

fn chart(title: String, note: &str, (x, y): (Axis, &str), lines: Vec<Line>) -> Chart {
    let (kind, note) = (ChartKind::Throughput, note.to_owned());
    Chart { kind, title, note, x, y: Axis::new(y, Scale::Linear), lines, cells: None }
}

/// Points of one line: more than a picture can show apart only make it ragged.
const MOST_POINTS: usize = 200;

/// Documents per second against documents in the database, a line for each curve; a gap where the
/// server was away.
pub(in crate::report) fn by_size(curves: &[(String, &Curve)]) -> Chart {
    let line = |(tone, (name, curve)): (usize, &(String, &Curve))| {
        let whole: Vec<_> = curve.points.iter().filter(|point| !point.partial).collect();
        let (mut x, mut y, mut since) = (Vec::new(), Vec::new(), (0, 0.0));
        for stretch in whole.chunks(whole.len().div_ceil(MOST_POINTS).max(1)) {
            let last = stretch[stretch.len() - 1];
            let (documents, length_s) = (last.documents - since.0, last.at_s - since.1);
            let sound = length_s > 0.0 && !stretch.iter().any(|point| point.gap);
            x.push(last.documents as f64);
            y.push(sound.then(|| documents as f64 / length_s));
            since = (last.documents, last.at_s);
        }
        solid(name.clone(), tone, (x, y))
    };
    chart(
        "Rate by size of the database".to_owned(),
        "Each line is one fill; it is broken where the server was away.",
        (Axis::new("documents in the database", Scale::Linear), "documents per second"),
        curves.iter().enumerate().map(line).collect(),
    )
}

/// The rates at each value of a setting.
type Rates = Vec<(f64, Vec<f64>)>;

/// The rate against each setting of numbers, a line for each combination of the others.
pub(in crate::report) fn by_setting(sweep: &SweepRecord) -> Vec<Chart> {
    let axes = sweep.definition.axes.iter().enumerate();
    let of_axis = |(place, axis): (usize, &crate::sweep::Axis)| {
        let numbers = axis.numbers().filter(|numbers| numbers.len() > 1)?;
        let scale = if numbers.iter().all(|&it| it > 0.0) { Scale::Log } else { Scale::Linear };
        let mut lines: Vec<(String, Rates)> = Vec::new();
        for cell in &sweep.cells {
            let Some(result) = &cell.result else { continue };
            let others = cell.settings.iter().enumerate().filter(|(other, _)| *other != place);
            let name: Vec<_> = others.map(|(_, it)| format!("{}={}", it.name, it.value)).collect();
            let name = if name.is_empty() { "docs/s".to_owned() } else { name.join(" ") };
            let value = axis.values.iter().position(|it| *it == cell.settings[place].value)?;
            let index = lines.iter().position(|line| line.0 == name).unwrap_or_else(|| {
                lines.push((name, numbers.iter().map(|&x| (x, Vec::new())).collect()));
                lines.len() - 1
            });
            lines[index].1[value].1.push(result.per_s);
        }
        lines.sort_by(|a, b| a.0.cmp(&b.0));
        let line = |(tone, (name, points)): (usize, (String, Rates))| {
            let mean = |it: &Vec<f64>| it.iter().sum::<f64>() / it.len() as f64;
            let y = points.iter().map(|(_, it)| (!it.is_empty()).then(|| mean(it))).collect();
            solid(name, tone, (points.iter().map(|point| point.0).collect(), y))
        };
        Some(chart(
            format!("Rate by {}", axis.name),
            "The mean of all runs with the same settings.",
            (Axis::new(axis.name.clone(), scale), "documents per second"),
            lines.into_iter().enumerate().map(line).collect(),
        ))
    };
    axes.filter_map(of_axis).collect()
}

/// Operations in each whole second of a burst: of all workers, or per worker.
pub(in crate::report) fn burst(
    seconds: &[BurstSecond],
    (title, actions): (&str, &str),
    per_worker: bool,
) -> Chart {
    // The last second is no whole one: drawn, it would look like a collapse.
    let whole = || seconds.iter().filter(|second| !second.partial);
    let x = whole().map(|second| f64::from(second.second)).collect();
    let value = |second: &BurstSecond| if per_worker { second.average } else { second.sum as f64 };
    let y = whole().map(|second| Some(value(second))).collect();
    let name = if per_worker { "average per worker" } else { "total amount" };
    chart(
        title.to_owned(),
        "Each point is one second; the last one, which is no whole second, is left out.",
        (Axis::new("time (s)", Scale::Linear), &format!("number of {actions}")),
        vec![solid(name.to_owned(), 0, (x, y))],
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::CurvePoint;

    #[test]
    fn what_is_no_whole_second_is_not_drawn() {
        let second = |second, sum, partial| BurstSecond {
            second,
            sum,
            average: sum as f64 / 2.0,
            failed: 0,
            partial,
            p50_us: None,
            p99_us: None,
        };
        let seconds = [second(0, 10, false), second(1, 8, false), second(2, 1, true)];
        let chart = burst(&seconds, ("t", "writes"), true);
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
        let chart = by_size(&[("A".to_owned(), &Curve { points, gaps: Vec::new() })]);
        assert_eq!(chart.lines[0].y, [Some(5.0), None, Some(5.0)]);
    }
}
