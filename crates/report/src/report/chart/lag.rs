//! How far the targets of replication lagged behind, over time.

use super::view::View;
use super::{Chart, ChartAxis, ChartKind, Line, Scale, Stroke};
use crate::measure::LagPoint;
use crate::report::replicated::named;

/// The chart of a single run, if markers were looked for in the stage.
pub(super) fn charts(view: &View<'_>) -> Vec<Chart> {
    let [part] = &view.parts[..] else { return Vec::new() };
    let found = part.replication.filter(|_| view.kind.is_none() && !view.overlay);
    let lines = found.into_iter().flat_map(named).map(|(name, markers)| {
        let (x, y) = points(&markers.over_time);
        Line { name, tone: 0, stroke: Stroke::Solid, hidden: false, x, y }
    });
    let lines: Vec<Line> = lines.enumerate().map(|(tone, line)| Line { tone, ..line }).collect();
    if lines.iter().all(|line| line.x.is_empty()) {
        return Vec::new();
    }
    let y = ChartAxis::in_ms("longest lag of a marker", Scale::Log);
    let title = "Longest lag over time";
    vec![Chart {
        note: "By the second in which the marker was written; a gap is a time without a marker \
               that was seen."
            .to_owned(),
        lines,
        says_time: true,
        ..Chart::new(ChartKind::Lag, title, ChartAxis::time(), y)
    }]
}

/// The points of a line, with a gap where there were no markers.
fn points(over_time: &[LagPoint]) -> (Vec<f64>, Vec<Option<f64>>) {
    let (mut x, mut y) = (Vec::new(), Vec::new());
    let mut next = None;
    for point in over_time {
        if let Some(next) = next.filter(|next| point.at_s > *next) {
            x.push(f64::from(next));
            y.push(None);
        }
        x.push(f64::from(point.at_s));
        y.push(Some(point.longest_us / 1e3).filter(|ms| ms.is_finite() && *ms > 0.0));
        next = Some(point.at_s.saturating_add(point.seconds));
    }
    (x, y)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_without_markers_is_a_gap() {
        let point = |at_s, longest_us| LagPoint { at_s, seconds: 1, markers: 1, longest_us };
        let (x, y) = points(&[point(0, 2_000.0), point(1, 4_000.0), point(5, 1_000.0)]);
        assert_eq!(x, [0.0, 1.0, 2.0, 5.0]);
        assert_eq!(y, [Some(2.0), Some(4.0), None, Some(1.0)]);
    }
}
