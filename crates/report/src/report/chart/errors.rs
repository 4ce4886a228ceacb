//! Failures over time.

use super::timeline::Stretch;
use super::view::{Part, View};
use super::{Chart, ChartAxis, ChartKind, Line, Stroke};
use crate::op::Failure;
use crate::report::words::capital;

pub(super) fn chart(view: &View<'_>) -> Chart {
    let mut lines = Vec::new();
    for part in &view.parts {
        let classes: Vec<Failure> = Failure::ALL
            .into_iter()
            .filter(|class| {
                part.timeline.stretches.iter().any(|it| it.failures.contains_key(class))
            })
            .collect();
        if view.overlay || classes.is_empty() {
            let all = |stretch: &Stretch| stretch.failures.values().sum();
            lines.push(line(part, view.name(part, "all failures"), part.run, all));
            continue;
        }
        for (tone, class) in classes.into_iter().enumerate() {
            let of_class = |stretch: &Stretch| stretch.failures.get(&class).copied().unwrap_or(0);
            lines.push(line(part, class.to_string(), tone, of_class));
        }
    }
    let none = lines.iter().flat_map(|line| &line.y).all(|count| *count == Some(0.0));
    let many = capital(view.nouns().many);
    let of_failures = || format!("{many} whose operation failed, by cause.");
    let note = if none { "Nothing failed.".to_owned() } else { of_failures() };
    let y = ChartAxis::per_second("failures");
    Chart { note, lines, ..Chart::new(ChartKind::Errors, "Errors", ChartAxis::time(), y) }
}

fn line(part: &Part<'_>, name: String, tone: usize, count: impl Fn(&Stretch) -> u64) -> Line {
    let stretches = &part.timeline.stretches;
    Line {
        name,
        tone,
        stroke: Stroke::Solid,
        hidden: false,
        x: stretches.iter().map(Stretch::middle_s).collect(),
        y: stretches.iter().map(|stretch| Some(stretch.rate(count(stretch)))).collect(),
    }
}
