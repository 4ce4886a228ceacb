//! The rate by the number of nodes: the measured values, and the curve fitted to them.

use super::{Chart, ChartAxis, ChartKind, Line, Scale, Stroke};
use crate::sizing::Sizing;

/// The number of points of the fitted curve.
const POINTS: u32 = 100;

pub(in crate::report) fn of_sizing(it: &Sizing) -> Vec<Chart> {
    let largest = it.measured.iter().map(|of| of.size).chain(it.needed).max().unwrap_or(1);
    let end = (largest as f64 * 1.2).max(2.0);
    let sizes: Vec<f64> =
        (0..POINTS).map(|at| 1.0 + (end - 1.0) * f64::from(at) / f64::from(POINTS - 1)).collect();
    let line = |name: &str, tone: usize, stroke: Stroke, points: Vec<(f64, f64)>| Line {
        name: name.to_owned(),
        tone,
        stroke,
        hidden: false,
        x: points.iter().map(|point| point.0).collect(),
        y: points.iter().map(|point| Some(point.1)).collect(),
    };
    let measured = it.measured.iter().map(|of| (of.size as f64, of.sustained_per_s)).collect();
    let law = sizes.iter().map(|n| (*n, it.law.rate(*n))).collect();
    let wanted = vec![(1.0, it.rate_per_s), (end, it.rate_per_s)];
    let mut lines = vec![
        line("measured", 0, Stroke::Dot, measured),
        line("by the law", 1, Stroke::Solid, law),
        line("asked for", 2, Stroke::Dash, wanted),
    ];
    if let Some(needed) = it.needed {
        let (needed, enough) = (needed as f64, it.law.rate(needed as f64));
        lines.push(line("the answer", 3, Stroke::Dot, vec![(needed, 0.0), (needed, enough)]));
    }
    let x = ChartAxis::new(it.unit.word(2), Scale::Linear);
    let y = ChartAxis::per_second(it.counted.many);
    let title = format!("Throughput by number of {}", it.unit.word(2));
    let chart = Chart::new(ChartKind::Throughput, title, x, y);
    vec![Chart { note: "Each point is a search.".to_owned(), lines, ..chart }.finished()]
}
