//! Latency and errors over the rate: the knee.

use super::{Axis, Chart, ChartKind, Line, Scale, Stroke};
use crate::search::{MaxRecord, Searched, StepRecord};

/// The least ratio of values that are told apart better on a logarithmic scale.
const CLOSE: f64 = 5.0;

/// All charts of a search; none, if nothing was tried.
pub(in crate::report) fn of_max(max: &MaxRecord) -> Vec<Chart> {
    if max.steps.is_empty() {
        return Vec::new();
    }
    let mut steps: Vec<&StepRecord> = max.steps.iter().collect();
    steps.sort_by(|one, other| {
        one.level.total_cmp(&other.level).then(one.length_s.total_cmp(&other.length_s))
    });
    // The longest step at a level says most of it.
    let mut levels: Vec<&StepRecord> = Vec::new();
    for step in steps {
        match levels.last_mut().filter(|it| it.level >= step.level) {
            Some(shorter) => *shorter = step,
            None => levels.push(step),
        }
    }
    let steps = levels;
    let x = match max.searched {
        Searched::Rate => "operations offered per second",
        Searched::Connections => "connections",
    };
    let line = |name: &str, tone: usize, value: &dyn Fn(&StepRecord) -> Option<f64>| Line {
        name: name.to_owned(),
        tone,
        stroke: Stroke::Solid,
        hidden: false,
        x: steps.iter().map(|step| step.level).collect(),
        y: steps.iter().map(|step| value(step)).collect(),
    };
    let chart = |(kind, title, note): (ChartKind, &str, &str), y: Axis, lines: Vec<Line>| {
        let across = scale(steps.iter().map(|step| step.level));
        let chart = Chart::new(kind, title, (Axis::new(x, across), y));
        Chart { note: note.to_owned(), lines, ..chart }.finished()
    };
    let positive = |us: f64| Some(us / 1e3).filter(|ms| *ms > 0.0);
    let times = vec![
        line("p50", 0, &|step| step.p50_us.and_then(positive)),
        line("p99", 1, &|step| step.p99_us.and_then(positive)),
    ];
    let note = "Each point is the longest step at a level. Where times rise steeply, the server is saturated.";
    let of_times = scale(times.iter().flat_map(|line| &line.y).filter_map(|y| *y));
    let latency = (ChartKind::Latency, "Response times by load", note);
    let served = vec![line("ok/s", 0, &|step| Some(step.per_s))];
    let note = "Each point is the longest step at a level. Where the line bends, more load gets no more done.";
    let throughput = (ChartKind::Throughput, "Rate by load", note);
    let failed = vec![line("failed", 0, &|step| Some(step.failed_percent))];
    let errors =
        (ChartKind::Errors, "Errors by load", "Each point is the longest step at a level.");
    let charts = [
        chart(latency, Axis::new("response time, ms", of_times), times),
        chart(throughput, Axis::new("documents per second", Scale::Linear), served),
        chart(errors, Axis::new("failed documents, %", Scale::Linear), failed),
    ];
    charts.into_iter().filter(|chart| !chart.is_empty()).collect()
}

/// Logarithmic, unless the values are so close together that hardly a mark would be among them.
fn scale(values: impl Iterator<Item = f64> + Clone) -> Scale {
    let least = values.clone().fold(f64::INFINITY, f64::min);
    let greatest = values.fold(0.0, f64::max);
    if greatest > least * CLOSE { Scale::Log } else { Scale::Linear }
}
