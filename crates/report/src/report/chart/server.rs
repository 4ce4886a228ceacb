//! The servers' own metrics over time: one chart per subject.

use super::view::{Part, View};
use super::{Chart, ChartAxis, ChartKind, Line, Scale, Stroke};
use crate::observed::{Column, Observed, Source, Table};
use crate::report::observed::{columns, several, title};

/// The charts for all operations of a single run: the lines of several runs would be too many to
/// tell apart.
pub(super) fn charts(view: &View<'_>) -> Vec<Chart> {
    match &view.parts[..] {
        [part] if view.kind.is_none() && !view.overlay => {
            part.observed.map_or_else(Vec::new, |observed| of_run(part, observed))
        }
        _ => Vec::new(),
    }
}

fn of_run(part: &Part<'_>, observed: &Observed) -> Vec<Chart> {
    let several = several(observed);
    let mut charts: Vec<(String, Chart)> = Vec::new();
    for source in &observed.sources {
        for (table, column) in columns(source) {
            let name = title(source, column, several);
            let Some(line) = line(part, name, table, column) else { continue };
            let meter = &column.meter;
            let about = format!("{} {}", meter.about, meter.unit);
            let place = charts.iter().position(|(known, _)| *known == about);
            let place = place.unwrap_or_else(|| {
                charts.push((about, chart(source, column)));
                charts.len() - 1
            });
            let lines = &mut charts[place].1.lines;
            lines.push(Line { tone: lines.len(), ..line });
        }
    }
    charts.into_iter().map(|(_, chart)| chart).collect()
}

fn chart(source: &Source, column: &Column) -> Chart {
    let meter = &column.meter;
    let y = match &*meter.unit {
        "bytes per second" => ChartAxis::per_second("MB"),
        "seconds per second" => ChartAxis::per_second("seconds"),
        "per second" => ChartAxis { unit: "/s", ..ChartAxis::new("per second", Scale::Linear) },
        "" => ChartAxis::new("number", Scale::Linear),
        "bytes" => ChartAxis::new("MB", Scale::Linear),
        unit => ChartAxis::new(unit, Scale::Linear),
    };
    let whose = if source.machine { "Machine" } else { "Server" };
    Chart {
        note: "As the server says itself; a gap is a time without an answer.".to_owned(),
        ..Chart::new(ChartKind::Server, format!("{whose}: {}", meter.about), ChartAxis::time(), y)
    }
}

/// The values within the stage; `None`: there are none. A rate over a time that began before the
/// stage is left out, as it tells more about what came before.
fn line(part: &Part<'_>, name: String, table: &Table, column: &Column) -> Option<Line> {
    let (mut x, mut y) = (Vec::new(), Vec::new());
    let scale = if column.meter.unit.starts_with("bytes") { 1e6 } else { 1.0 };
    let mut since_s = f64::NEG_INFINITY;
    for (time_s, value) in table.at_s.iter().zip(&column.values) {
        let at_s = time_s - part.stage.began_s;
        let is_whole = !column.meter.counted || since_s >= 0.0;
        if (0.0..=part.stage.elapsed_s).contains(&at_s) && is_whole {
            x.push(at_s);
            y.push(value.map(|value| value / scale));
        }
        since_s = at_s;
    }
    let line = Line { name, tone: 0, stroke: Stroke::Solid, hidden: false, x, y };
    line.y.iter().any(Option::is_some).then_some(line)
}
