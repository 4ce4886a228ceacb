//! The part of the page about agents: how they started, and what each did.

use super::escape::Html;
use super::parts::{grid, letter};
use crate::record::RunRecord;
use crate::report::agents::{self, RowKind};

/// A section for the agents of all stages of all runs; empty if there are none.
pub(super) fn section(runs: &[RunRecord]) -> Html {
    let mut inside = Html::default();
    for (run, record) in runs.iter().enumerate() {
        for stage in record.measured() {
            let Some((lines, rows)) = agents::parts(record, stage) else { continue };
            let mut head = letter(runs, run);
            head.push(&Html::tag("strong", stage.title()));
            head.push(&lines.iter().map(|line| Html::text(format!(" · {line}"))).collect());
            inside.push(&Html::element("p", &head));
            let rows = rows.into_iter().map(|(kind, row)| {
                let class = match kind {
                    RowKind::Lost => "doubt",
                    RowKind::Summary => "few",
                    RowKind::Head | RowKind::Agent => "",
                };
                (class, row)
            });
            inside.push(&Html::element("div class=\"scroll\"", &grid(rows)));
        }
    }
    if inside.as_str().is_empty() {
        return inside;
    }
    let mut section = Html::tag("h2", "Agents");
    section.push(&inside);
    Html::element("section id=\"agents\" class=\"card\"", &section)
}
