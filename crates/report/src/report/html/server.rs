//! The part of the page about what the servers reported about themselves: which were observed, what
//! they were busy with, and their settings.

use super::escape::Html;
use super::parts::{grid, letter, list};
use crate::observed::Source;
use crate::record::RunRecord;
use crate::report::number::{at, decimal, grouped};
use crate::report::observed::{busy, count_words, together};

/// A section for all runs that observed a server; empty if none did.
pub(super) fn section(runs: &[RunRecord]) -> Html {
    let mut inside = Html::default();
    for (run, record) in runs.iter().enumerate() {
        let Some(observed) = &record.observed else { continue };
        if runs.len() > 1 {
            inside.push(&Html::element("p", &letter(runs, run)));
        }
        inside.push(&list("observed", said(record).into_iter().collect()));
        let rows = std::iter::once(("", head())).chain(observed.sources.iter().map(row));
        inside.push(&Html::element("div class=\"scroll\"", &grid(rows)));
        if !observed.settings.is_empty() {
            let settings = observed.settings.iter().map(|(name, value)| format!("{name}={value}"));
            let settings = settings.collect::<Vec<_>>().join(", ");
            inside.push(&Html::tag("p", format!("Settings: {settings}")));
        }
    }
    if inside.as_str().is_empty() {
        return inside;
    }
    let mut section = Html::tag("h2", "The server meanwhile");
    section.push(&inside);
    Html::element("section id=\"server\" class=\"card\"", &section)
}

/// Notable facts, one per line.
fn said(record: &RunRecord) -> Vec<Html> {
    let mut lines = Vec::new();
    for stage in record.measured() {
        for it in busy(record, stage) {
            let title = stage.title();
            lines.push(format!("{title}, {}–{}: {}", at(it.from_s), at(it.to_s), it.words));
        }
        let together = together(record, stage);
        let named = together.iter().take(10);
        let named = named.map(|it| format!("{} ({})", it.name, signed(it.correlation)));
        let named = named.collect::<Vec<_>>().join(", ");
        if !named.is_empty() {
            lines.push(format!(
                "{}: p99 changed together with {named}. These are rank correlations, not causes.",
                stage.title()
            ));
        }
    }
    lines.extend(record.counted().map(|counted| count_words(&counted)));
    lines.into_iter().map(|line| Html::tag("li", &line)).collect()
}

fn signed(value: f64) -> String {
    format!("{}{}", if value < 0.0 { "−" } else { "" }, decimal(value.abs(), 2))
}

fn head() -> Vec<String> {
    ["server", "asked", "no answer", "requests served", "notes"].map(str::to_owned).into()
}

fn row(source: &Source) -> (&'static str, Vec<String>) {
    let mut notes: Vec<String> = Vec::new();
    notes.extend(source.refused.as_ref().map(|why| format!("refuses to say: {why}")));
    notes.extend(source.reason.clone());
    notes.extend(source.note.clone());
    let restarts = source.restarts_s.iter().map(|time_s| at(*time_s));
    let restarts = restarts.collect::<Vec<_>>().join(", ");
    if !restarts.is_empty() {
        notes.push(format!("started again {restarts} after the start of the run"));
    }
    let served = source.served.as_ref().map_or_else(|| "-".to_owned(), |it| grouped(it.requests()));
    let bad = source.missed > 0 || source.refused.is_some() || !source.restarts_s.is_empty();
    let row = [source.name.clone(), grouped(source.polls), grouped(source.missed), served];
    let row = row.into_iter().chain([notes.join("; ")]).collect();
    (if bad { "doubt" } else { "" }, row)
}
