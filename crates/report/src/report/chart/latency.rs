//! Percentiles over time.

use super::timeline::PERCENTILES;
use super::view::{Part, View};
use super::{Chart, ChartAxis, ChartKind, Line, SERVICE_LEFT_OUT, Scale, Stroke};
use std::fmt::Write as _;

pub(super) fn chart(view: &View<'_>) -> Chart {
    let mut lines = Vec::new();
    let mut missing = Vec::new();
    let mut left_out = false;
    for part in &view.parts {
        let of_part = |at| [0, 1].map(|time| line(view, part, at, time));
        let pairs: Vec<_> = (0..PERCENTILES.len()).map(of_part).collect();
        let same = pairs.iter().all(|[response, service]| match (response, service) {
            (Some(response), Some(service)) => response.covers(service),
            (_, service) => service.is_none(),
        });
        for ([response, service], value) in pairs.into_iter().zip(PERCENTILES) {
            if response.is_none() {
                missing.push(view.name(part, &format!("p{value}")));
            }
            left_out |= same && service.is_some();
            lines.extend(response);
            lines.extend(service.filter(|_| !same));
        }
    }
    let mut note = "Response time counts from when a request was due, service time from when it \
    was sent; both end with the answer."
        .to_owned();
    if left_out {
        note += SERVICE_LEFT_OUT;
    }
    if !missing.is_empty() {
        note += " Left out, with too few samples: ";
        note += &missing.join(", ");
        note += ".";
    }
    let y = ChartAxis::in_ms("time per request", Scale::Log);
    Chart {
        note,
        lines,
        says_time: true,
        ..Chart::new(ChartKind::Latency, "Latency over time", ChartAxis::time(), y)
    }
}

/// One percentile of response times (0) or service times (1).
fn line(view: &View<'_>, part: &Part<'_>, percentile: usize, time: usize) -> Option<Line> {
    let rung = part.timeline.rung(percentile, time)?;
    let mut name = format!("p{} {}", PERCENTILES[percentile], ["response", "service"][time]);
    // Longer intervals are named, and drawn from end to end.
    let longer = rung.width_s != part.timeline.rungs[0].width_s;
    if longer {
        let _ = write!(name, " of {} s", rung.width_s);
    }
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for &((from, to), times) in &rung.points {
        let places = if longer { vec![from, to] } else { vec![f64::midpoint(from, to)] };
        y.extend(places.iter().map(|_| times[time][percentile]));
        x.extend(places);
    }
    let strokes = [Stroke::Dot, Stroke::Solid, Stroke::Dash];
    let (tone, stroke) = match (view.overlay, time) {
        (true, _) => (part.run, strokes[percentile]),
        (false, 0) => (percentile, Stroke::Solid),
        (false, _) => (percentile, Stroke::Dot),
    };
    Some(Line {
        name: view.name(part, &name),
        tone,
        stroke,
        hidden: view.overlay && time == 1,
        x,
        y,
    })
}
