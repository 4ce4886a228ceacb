//! The part of the page about replication.

use super::escape::Html;
use super::parts::{grid, letter};
use crate::record::{RunRecord, link_name};
use crate::report::replicated::{curve, facts, tables};

/// A section for all runs with replication; empty if none had any.
pub(super) fn section(runs: &[RunRecord]) -> Html {
    let mut inside = Html::default();
    for (run, record) in runs.iter().enumerate() {
        let Some(found) = &record.replication else { continue };
        let mut head = letter(runs, run);
        head.push(&Html::text(facts(record).join(" · ")));
        inside.push(&Html::element("p", &head));
        for rows in tables(record) {
            let rows = rows.into_iter().map(|row| ("", row));
            inside.push(&Html::element("div class=\"scroll\"", &grid(rows)));
        }
        for link in &found.links {
            let Some((curve, scale)) = curve(link) else { continue };
            let name = link_name(found, link);
            inside.push(&Html::tag("p", format!("Longest lag over time, {name}: {curve} {scale}")));
        }
    }
    if inside.as_str().is_empty() {
        return inside;
    }
    let mut section = Html::tag("h2", "Replication");
    section.push(&inside);
    Html::element("section id=\"replication\" class=\"card\"", &section)
}
