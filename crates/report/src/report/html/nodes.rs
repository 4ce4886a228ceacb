//! The part of the page about the nodes of a cluster: a row for each.

use super::escape::Html;
use super::parts::{grid, letter};
use crate::record::RunRecord;
use crate::report::nodes;

/// A section for the nodes of all stages of all runs; empty if there are none.
pub(super) fn section(runs: &[RunRecord]) -> Html {
    let mut inside = Html::default();
    for (run, record) in runs.iter().enumerate() {
        for stage in record.measured() {
            let Some(rows) = nodes::rows(stage) else { continue };
            let mut head = letter(runs, run);
            head.push(&Html::tag("strong", stage.title()));
            head.push(&Html::text(" · response times in ms"));
            inside.push(&Html::element("p", &head));
            let rows = rows.into_iter().map(|(bad, row)| (if bad { "doubt" } else { "" }, row));
            inside.push(&Html::element("div class=\"scroll\"", &grid(rows)));
        }
    }
    if inside.as_str().is_empty() {
        return inside;
    }
    let mut section = Html::tag("h2", "Nodes");
    section.push(&inside);
    Html::element("section id=\"nodes\" class=\"card\"", &section)
}
