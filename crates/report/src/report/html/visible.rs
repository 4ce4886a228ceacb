//! The parts of the page about what ran beside the load: probes and followers.

use super::escape::Html;
use super::parts::{grid, letter};
use crate::record::RunRecord;
use crate::report::beside;
use crate::report::words::capital;

/// A section for each kind of table, with those of all stages of all runs; empty without any.
pub(super) fn section(runs: &[RunRecord]) -> Html {
    let mut sections: Vec<(&str, Html)> = Vec::new();
    for (run, record) in runs.iter().enumerate() {
        for stage in &record.stages {
            for (title, rows) in beside::tables(stage) {
                let mut head = letter(runs, run);
                head.push(&Html::tag("strong", stage.title()));
                let at = sections.iter().position(|it| it.0 == title).unwrap_or_else(|| {
                    sections.push((title, Html::default()));
                    sections.len() - 1
                });
                let inside = &mut sections[at].1;
                inside.push(&Html::element("p", &head));
                let rows = rows.into_iter().map(|row| ("", row));
                inside.push(&Html::element("div class=\"scroll\"", &grid(rows)));
            }
        }
    }
    let mut all = Html::default();
    for (title, inside) in sections {
        let id = title.split(' ').next().unwrap_or_default();
        let mut section = Html::tag("h2", capital(title));
        section.push(&inside);
        all.push(&Html::element(&format!("section id=\"{id}\" class=\"card\""), &section));
    }
    all
}
