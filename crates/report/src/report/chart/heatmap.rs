//! The distribution of response times over time.

use super::timeline::{ROWS_PER_DECADE, Stretch};
use super::view::View;
use super::{Chart, ChartAxis, ChartKind, CountGrid, Scale, bands};

/// One heat map per run: they cannot be overlaid.
pub(super) fn charts(view: &View<'_>) -> Vec<Chart> {
    let chart = |part: &super::view::Part<'_>| Chart {
        note: "Each cell counts the successful requests of that time and duration; two bands show \
        what an average hides."
            .to_owned(),
        cells: Some(cells(&part.timeline.stretches)),
        bands: bands::of_part(part),
        ..Chart::new(
            ChartKind::Heatmap,
            view.name(part, "Heat map of response times"),
            ChartAxis::time(),
            ChartAxis::in_ms("response time", Scale::Log),
        )
    };
    view.parts.iter().map(chart).collect()
}

fn cells(stretches: &[Stretch]) -> CountGrid {
    let rows = || stretches.iter().flat_map(|stretch| stretch.rows.keys().copied());
    let (low, high) = (rows().min().unwrap_or(0), rows().max().unwrap_or(0));
    let begins = stretches.iter().map(|stretch| stretch.span_s.0);
    let end = stretches.last().map(|stretch| stretch.span_s.1);
    let count = |row: i32| {
        let count = |stretch: &Stretch| stretch.rows.get(&row).copied().unwrap_or(0);
        stretches.iter().map(count).collect()
    };
    CountGrid {
        x: begins.chain(end).collect(),
        y: (low..=high + 1).map(|row| 10f64.powf(f64::from(row) / ROWS_PER_DECADE)).collect(),
        counts: (low..=high).map(count).collect(),
    }
}
