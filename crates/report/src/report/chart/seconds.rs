//! Each second of a burst: the operations of all workers, and the average per worker.

use super::view::View;
use super::{Chart, ChartAxis, ChartKind, Line, Scale, Stroke};
use crate::report::burst::{BurstSecond, burst_seconds};

/// The seconds of every run's burst; `None`: there is none, or only one kind of operation is shown.
pub(super) fn chart(view: &View<'_>) -> Option<Chart> {
    let is_burst =
        |part: &&super::view::Part<'_>| part.stage.start.is_some() && !part.stage.is_preparation();
    let mut lines = Vec::new();
    for part in view.parts.iter().filter(is_burst).filter(|_| view.kind.is_none()) {
        let seconds = burst_seconds(part.stage, part.plan.and_then(|plan| plan.length_ns));
        let whole = seconds.iter().take_while(|second| !second.partial).count();
        let tone = |own: usize| if view.overlay { part.run } else { own };
        let mut line = |name, (tone, stroke, hidden), seconds: &[BurstSecond], sum: bool| {
            let value = |it: &BurstSecond| Some(if sum { it.sum as f64 } else { it.average });
            // The middle of the second, or of its part within the burst.
            let middle = |it: &BurstSecond| {
                let from_s = f64::from(it.second);
                f64::midpoint(from_s, (from_s + 1.0).min(part.stage.elapsed_s.max(from_s)))
            };
            let x = seconds.iter().map(middle).collect();
            let (name, y) = (view.name(part, name), seconds.iter().map(value).collect());
            lines.push(Line { name, tone, stroke, hidden, x, y });
        };
        line("all workers", (tone(0), Stroke::Solid, false), &seconds[..whole], true);
        if whole < seconds.len() {
            let end = &seconds[whole.saturating_sub(1)..];
            line("partial second", (tone(0), Stroke::Dot, false), end, true);
        }
        line("average per worker", (tone(1), Stroke::Dash, true), &seconds[..whole], false);
    }
    (!lines.is_empty()).then(|| Chart {
        note: "Operations that succeeded, by the second of the answer. The dotted end is not a \
        whole second. Click the legend to show the average per worker."
            .to_owned(),
        lines,
        ..Chart::new(
            ChartKind::Throughput,
            "Each second of the burst",
            ChartAxis::time(),
            ChartAxis::new("operations in the second", Scale::Linear),
        )
    })
}
