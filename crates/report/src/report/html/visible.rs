//! The part of the page about visibility probes.

use super::escape::Html;
use super::parts::{grid, letter};
use crate::record::RunRecord;
use crate::report::visible;

/// A section for all stages with probes of all runs; empty if there are none.
pub(super) fn section(runs: &[RunRecord]) -> Html {
    let mut inside = Html::default();
    for (run, record) in runs.iter().enumerate() {
        for stage in &record.stages {
            let Some(rows) = visible::rows(stage) else { continue };
            let mut head = letter(runs, run);
            head.push(&Html::tag("strong", stage.title()));
            inside.push(&Html::element("p", &head));
            let rows = rows.into_iter().map(|row| ("", row));
            inside.push(&Html::element("div class=\"scroll\"", &grid(rows)));
        }
    }
    if inside.as_str().is_empty() {
        return inside;
    }
    let mut section = Html::tag("h2", "Visible after an acknowledged write");
    section.push(&inside);
    Html::element("section id=\"visible\" class=\"card\"", &section)
}
