//! The part of the page about intervals, warm-up and trends.

use super::escape::Html;
use super::parts::{grid, letter};
use crate::record::RunRecord;
use crate::report::estimates;

/// A section for all measured stages of all runs; empty if none has intervals.
pub(super) fn section(runs: &[RunRecord]) -> Html {
    let mut inside = Html::default();
    for (run, record) in runs.iter().enumerate() {
        for stage in &record.stages {
            let Some(rows) = estimates::rows(stage) else { continue };
            let mut head = letter(runs, run);
            head.push(&Html::tag("strong", stage.title()));
            let steadiness = estimates::steadiness(stage);
            if !steadiness.is_empty() {
                head.push(&Html::text(format!(" · {}", steadiness.join(" · "))));
            }
            inside.push(&Html::element("p", &head));
            let rows = rows.into_iter().map(|row| ("", row));
            inside.push(&Html::element("div class=\"scroll\"", &grid(rows)));
        }
    }
    if inside.as_str().is_empty() {
        return inside;
    }
    let mut section = Html::tag("h2", "Certainty within the run");
    section.push(&inside);
    Html::element("section id=\"estimates\" class=\"card\"", &section)
}
