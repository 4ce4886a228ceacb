//! Pieces that several parts of the page share, its heading, and how to reproduce the run.

use super::escape::Html;
use crate::record::RunRecord;
use crate::report::chart::label;
use crate::report::pill::Pill;
use crate::report::title::{names, subject, title};
use crate::report::words::place;

pub(super) fn page_title(runs: &[RunRecord]) -> Html {
    Html::text(format!("{} · springload", heading(runs)))
}

pub(super) fn heading(runs: &[RunRecord]) -> String {
    match runs {
        [] => "springload".to_owned(),
        [run] => title(run),
        runs => names(runs).join(" · "),
    }
}

/// One line per run: what was measured and when.
pub(super) fn head(runs: &[RunRecord]) -> Html {
    let line = |(run, record): (usize, &RunRecord)| {
        let mut line = letter(runs, run);
        let time = record.started_at.get(..16).unwrap_or(&record.started_at).replace('T', " ");
        // With a label, the heading does not say what was measured.
        let what =
            if record.plan.label.is_some() { subject(record) } else { place(&record.server) };
        line.push(&Html::text(format!(
            "{what} · {time} UTC · springload {}",
            record.environment.springload
        )));
        Html::element("p", &line)
    };
    runs.iter().enumerate().map(line).collect()
}

/// A run's letter, if there are several runs.
pub(super) fn letter(runs: &[RunRecord], run: usize) -> Html {
    if runs.len() < 2 {
        return Html::default();
    }
    Html::tag(&format!("span class=\"letter tone-{run}\""), label(run))
}

/// A list of items, each an element; nothing if there are none.
pub(super) fn list(class: &str, items: Html) -> Html {
    if items.as_str().is_empty() {
        return items;
    }
    Html::element(&format!("ul class=\"{class}\""), &items)
}

pub(super) fn headline(Pill { mood, mark, words }: Pill) -> Html {
    let mut line = Html::tag("span class=\"mark\" aria-hidden=\"true\"", mark);
    line.push(&Html::tag("strong", words));
    Html::element(&format!("p class=\"headline {}\"", mood.class()), &line)
}

pub(super) fn command(text: &str) -> Html {
    Html::element("pre", &Html::tag("code", text))
}

pub(super) fn reproduce(runs: &[RunRecord]) -> Html {
    let block = |(run, record): (usize, &RunRecord)| {
        let mut block = letter(runs, run);
        block.push(&command(&record.plan.command));
        Html::element("div class=\"command\"", &block)
    };
    runs.iter().enumerate().map(block).collect()
}

/// A table of rows with their classes; the first row is the header.
pub(super) fn grid<'a>(rows: impl IntoIterator<Item = (&'a str, Vec<String>)>) -> Html {
    let mut rows = rows.into_iter();
    let (_, head) = rows.next().unwrap_or_default();
    let head: Html = head.iter().map(|name| Html::tag("th scope=\"col\"", name)).collect();
    let row = |(class, cells): (&str, Vec<String>)| {
        let cells: Html = cells.iter().map(|text| Html::tag("td", text)).collect();
        Html::element(&format!("tr class=\"{class}\""), &cells)
    };
    let mut table = Html::element("thead", &Html::element("tr", &head));
    table.push(&Html::element("tbody", &rows.map(row).collect()));
    Html::element("table", &table)
}
