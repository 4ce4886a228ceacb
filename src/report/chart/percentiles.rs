//! The time at each percentile, on an axis that gives each nine the same room.

use super::view::View;
use super::{Axis, Chart, ChartKind, Line, Scale, Stroke};
use crate::measure::Histogram;

/// Points per nine.
const POINTS_PER_NINE: u32 = 24;
/// More nines than any run has samples for.
const NINES: u32 = 12;

pub(super) fn chart(view: &View<'_>) -> Chart {
    let mut lines = Vec::new();
    for part in &view.parts {
        let wanted = |kind| view.kind.is_none_or(|it| it == kind);
        let mut times = [Histogram::default(), Histogram::default()];
        for operation in part.stage.operations.iter().filter(|it| wanted(it.kind)) {
            times[0].merge(&operation.response.histogram);
            times[1].merge(&operation.service.histogram);
        }
        for (time, name) in ["response", "service"].into_iter().enumerate() {
            let (x, y) = curve(&times[time]);
            let tone = if view.overlay { part.run } else { time };
            let stroke = [Stroke::Solid, Stroke::Dot][time];
            lines.push(Line { name: view.name(part, name), tone, stroke, hidden: false, x, y });
        }
    }
    Chart {
        kind: ChartKind::Percentiles,
        title: "Latency by percentile".to_owned(),
        note: "At 99 %, read: 99 % of the requests took at most this long. A curve ends where \
        fewer than ten samples lie beyond."
            .to_owned(),
        x: Axis::new("percentile, %", Scale::Nines),
        y: Axis::new("time per request, ms", Scale::Log),
        lines,
        cells: None,
        map: None,
        bands: Vec::new(),
    }
}

fn curve(times: &Histogram) -> (Vec<f64>, Vec<Option<f64>>) {
    (0..=NINES * POINTS_PER_NINE)
        .map(|point| 10f64.powf(f64::from(point) / f64::from(POINTS_PER_NINE)))
        .map(|x| (x, 100.0 * (1.0 - 1.0 / x)))
        .take_while(|(_, percentile)| times.earns(*percentile))
        .map(|(x, percentile)| (x, Some(times.percentile(percentile) as f64 / 1e6)))
        .unzip()
}
