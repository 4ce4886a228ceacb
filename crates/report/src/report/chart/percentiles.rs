//! The time at each percentile, on an axis that gives each nine the same space.

use super::timeline::covers;
use super::view::View;
use super::{Chart, ChartAxis, ChartKind, Line, SERVICE_LEFT_OUT, Scale, Stroke};
use crate::measure::Histogram;

const POINTS_PER_NINE: u32 = 24;
/// More nines than any run has samples for.
const NINES: u32 = 12;

pub(super) fn chart(view: &View<'_>) -> Chart {
    let (mut lines, mut left_out) = (Vec::new(), false);
    for part in &view.parts {
        let wanted = |kind| covers(view.kind, kind);
        let mut times = [Histogram::default(), Histogram::default()];
        for operation in part.stage.operations.iter().filter(|it| wanted(it.kind)) {
            times[0].merge(&operation.response.histogram);
            times[1].merge(&operation.service.histogram);
        }
        let [response, service] = [0, 1].map(|time| {
            let (x, y) = curve(&times[time]);
            let tone = if view.overlay { part.run } else { time };
            let (name, stroke) = [("response", Stroke::Solid), ("service", Stroke::Dot)][time];
            Line { name: view.name(part, name), tone, stroke, hidden: false, x, y }
        });
        let same = response.covers(&service);
        left_out |= same;
        lines.extend(std::iter::once(response).chain((!same).then_some(service)));
    }
    let note = "At 99 %, read: 99 % of the requests took at most this long. A curve ends where \
    fewer than ten samples lie beyond.";
    let note = format!("{note}{}", if left_out { SERVICE_LEFT_OUT } else { "" });
    let x = ChartAxis::new("percentile, %", Scale::Nines);
    let y = ChartAxis::in_ms("time per request", Scale::Log);
    Chart { note, lines, ..Chart::new(ChartKind::Percentiles, "Latency by percentile", x, y) }
}

fn curve(times: &Histogram) -> (Vec<f64>, Vec<Option<f64>>) {
    let mut places: Vec<f64> = (0..=NINES * POINTS_PER_NINE)
        .map(|point| 10f64.powf(f64::from(point) / f64::from(POINTS_PER_NINE)))
        .collect();
    // The median is read off more often than any other.
    places.push(2.0);
    places.sort_by(f64::total_cmp);
    places
        .into_iter()
        .map(|x| (x, 100.0 * (1.0 - 1.0 / x)))
        .take_while(|(_, percentile)| times.earns(*percentile))
        .map(|(x, percentile)| (x, Some(times.percentile(percentile) as f64 / 1e6)))
        .unzip()
}
