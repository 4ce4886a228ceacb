//! Offered and served load over time.

use super::view::{Part, View};
use super::{Chart, ChartAxis, ChartKind, Line, Stroke};

pub(super) fn chart(view: &View<'_>) -> Chart {
    let unit = view.unit();
    let mut lines = Vec::new();
    for part in &view.parts {
        let (mut x, mut y) = (Vec::new(), Vec::new());
        for stretch in &part.timeline.stretches {
            x.push(stretch.middle_s());
            let count = if view.fills() { stretch.ok } else { stretch.requests };
            y.push(Some(stretch.rate(count)));
        }
        let (name, tone) = (view.name(part, "served"), part.run);
        lines.push(Line { name, tone, stroke: Stroke::Solid, hidden: false, x, y });
        // The kinds of due operations are random, so there is no load offered per kind.
        if view.kind.is_none() {
            lines.extend(offered(view, part));
        }
    }
    let open = view.parts.iter().any(|part| part.stage.load.open);
    let note = if open {
        "Offered is what was due, whether or not the server kept up; while served stays below \
        offered, a backlog grows."
    } else {
        "A closed loop: each connection waits for its answer, so the server sets the pace."
    };
    let y = ChartAxis::per_second(unit);
    let chart = Chart::new(ChartKind::Throughput, "Throughput", ChartAxis::time(), y);
    Chart { note: note.to_owned(), lines, ..chart }
}

/// The offered load of an open loop, up to the requested number of operations.
fn offered(view: &View<'_>, part: &Part<'_>) -> Option<Line> {
    let plan = part.plan?;
    let most = plan.work.planned(part.connections).map_or(f64::INFINITY, |most| most as f64);
    let due = |second: f64| Some(plan.pace.due_by((second * 1e9) as u64)?.min(most));
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for stretch in &part.timeline.stretches {
        let (from, to) = stretch.span_s;
        x.push(stretch.middle_s());
        y.push(Some((due(to)? - due(from)?) / (to - from)));
    }
    let (name, tone) = (view.name(part, "offered"), if view.overlay { part.run } else { 1 });
    Some(Line { name, tone, stroke: Stroke::Dash, hidden: false, x, y })
}
