//! The part of the page about replication.

use super::escape::Html;
use super::parts::{grid, letter};
use crate::record::RunRecord;
use crate::report::replicated::{facts, tables};

/// A section for all runs with replication; empty if none had any.
pub(super) fn section(runs: &[RunRecord]) -> Html {
    let mut inside = Html::default();
    for (run, record) in runs.iter().enumerate() {
        if record.replication.is_none() {
            continue;
        }
        let mut head = letter(runs, run);
        head.push(&Html::text(facts(record).join(" · ")));
        inside.push(&Html::element("p", &head));
        for rows in tables(record) {
            let rows = rows.into_iter().map(|row| ("", row));
            inside.push(&Html::element("div class=\"scroll\"", &grid(rows)));
        }
    }
    if inside.as_str().is_empty() {
        return inside;
    }
    let mut section = Html::tag("h2", "Replication");
    section.push(&inside);
    Html::element("section id=\"replication\" class=\"card\"", &section)
}
