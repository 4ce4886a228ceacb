//! The part of the page about a drill: what was broken, the phases, and the audits of the nodes.

use super::escape::Html;
use super::parts::{grid, letter, list};
use crate::record::RunRecord;
use crate::report::drill::{DrillRow, audits, copies, lines, nodes, note, phases};

/// A section for all runs with a drill; empty if there is none.
pub(super) fn section(runs: &[RunRecord]) -> Html {
    let mut inside = Html::default();
    for (run, record) in runs.iter().enumerate() {
        for stage in record.stages.iter().filter(|stage| stage.drill.is_some()) {
            inside.push(&Html::element("p", &letter(runs, run)));
            let lines = lines(record, stage);
            let items = lines.iter().map(|line| Html::tag("li", line));
            inside.push(&list("drill", items.collect()));
            let tables = [phases(stage), nodes(stage), audits(record), copies(record)];
            tables.into_iter().flatten().for_each(|rows| inside.push(&table(rows)));
            if let Some(drill) = stage.drilled() {
                inside.push(&Html::tag("p", note(drill)));
            }
        }
    }
    if inside.as_str().is_empty() {
        return inside;
    }
    let mut section = Html::tag("h2", "Drill");
    section.push(&inside);
    Html::element("section id=\"drill\" class=\"card\"", &section)
}

fn table(rows: Vec<DrillRow>) -> Html {
    let rows = rows.into_iter().map(|(bad, row)| (if bad { "doubt" } else { "" }, row));
    Html::element("div class=\"scroll\"", &grid(rows))
}
