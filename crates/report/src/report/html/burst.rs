//! The part of the page about bursts: how they started, and their seconds.

use super::escape::Html;
use super::parts::{grid, letter};
use crate::record::RunRecord;
use crate::report::burst;

/// A section for all bursts of all runs; empty if there are none.
pub(super) fn section(runs: &[RunRecord]) -> Html {
    let mut inside = Html::default();
    for (run, record) in runs.iter().enumerate() {
        for stage in record.measured() {
            let Some((line, seconds)) = burst::parts(record, stage) else { continue };
            let mut head = letter(runs, run);
            head.push(&Html::tag("strong", stage.title()));
            head.push(&Html::text(format!(" · {line}")));
            inside.push(&Html::element("p", &head));
            let Some(seconds) = seconds else { continue };
            let rows = seconds.into_iter().map(|row| {
                let partial = row[0].ends_with("(partial)");
                (if partial { "few" } else { "" }, row)
            });
            inside.push(&Html::element("div class=\"scroll\"", &grid(rows)));
        }
    }
    if inside.as_str().is_empty() {
        return inside;
    }
    let mut section = Html::tag("h2", "Bursts");
    section.push(&inside);
    Html::element("section id=\"bursts\" class=\"card\"", &section)
}
