//! A self-contained page of a run, of several side by side, or of a sweep: text and tables as HTML,
//! charts as data for the library that draws them. The page's own parts are in `assets/report`, the
//! library is in `assets/plotly`.

mod agents;
mod burst;
mod compare;
mod comparison;
mod drill;
mod escape;
mod estimates;
mod facts;
mod forest;
mod max;
mod nodes;
mod parts;
mod replicated;
mod result;
mod server;
mod sizing;
mod summary;
mod sweep;
mod trend;
mod trust;
mod visible;

pub use comparison::comparison_page;
pub use max::max_page;
pub use sizing::sizing_page;
pub use sweep::{sweep_page, sweep_pill};
pub use trend::trend_page;

use super::chart::{Stage, foremost, label, stages};
use super::{Format, Render};
use crate::record::RunRecord;
use escape::{Html, json_in_html};
use serde::Serialize;
use std::io::{self, Write};

pub(super) const FORMAT: Format = Format {
    name: "html",
    summary: "one page with charts, for one run or several",
    endings: &["html", "htm"],
    render: Render::Several(render),
};

const PAGE: &str = include_str!("../../../assets/report/page.html");
/// Makes the browser reload the page every ten seconds.
const AGAIN: &str = "<meta http-equiv=\"refresh\" content=\"10\">\n";
/// The page around the page of a running run, which it reloads whenever there is a new one.
pub const LIVE_PAGE: &str = include_str!("../../../assets/report/live.html");
const STYLE: &str = include_str!("../../../assets/report/page.css");
const SCRIPT: &str = include_str!("../../../assets/report/page.js");
const LIBRARY: &str = include_str!("../../../assets/plotly/plotly-cartesian.min.js");

/// What the page's script reads.
#[derive(Serialize)]
struct PageData {
    runs: Vec<String>,
    stages: Vec<Stage>,
    /// The name of the stage to show first: the last one that is not preparation.
    first: Option<String>,
}

impl PageData {
    fn of(runs: &[RunRecord]) -> Self {
        let mut stages = stages(runs, true);
        for view in stages.iter_mut().flat_map(|stage| &mut stage.views) {
            view.charts.retain(|chart| !chart.is_empty());
        }
        let first = foremost(&stages).map(|stage| stage.name.clone());
        Self { runs: (0..runs.len()).map(label).collect(), stages, first }
    }
}

fn render(runs: &[RunRecord], out: &mut dyn Write) -> io::Result<()> {
    let page = Page {
        title: parts::page_title(runs),
        heading: Html::text(parts::heading(runs)),
        head: parts::head(runs),
        result: result::cards(runs),
        summary_note: Html::text(summary_note(runs)),
        summary: match runs {
            [run] => summary::table(run),
            _ => compare::table(runs),
        },
        trust: trust::details(runs),
        more: [
            drill::section(runs),
            estimates::section(runs),
            replicated::section(runs),
            visible::section(runs),
            burst::section(runs),
            nodes::section(runs),
            server::section(runs),
            agents::section(runs),
        ]
        .into_iter()
        .collect(),
        settings: facts::table(runs),
        reproduce: parts::reproduce(runs),
        source: "run.json",
        is_live: false,
    };
    page.write(&PageData::of(runs), out)
}

/// Explains how to read the table.
const fn summary_note(runs: &[RunRecord]) -> &'static str {
    if runs.len() > 1 {
        "differences are relative to A; each column is a single run, which does not show how much \
        runs with the same settings vary"
    } else {
        "response times in ms, unless service times are named"
    }
}

struct Page {
    title: Html,
    heading: Html,
    head: Html,
    result: Html,
    summary_note: Html,
    summary: Html,
    /// Collapsed at first.
    trust: Html,
    /// Sections that only some pages have.
    more: Html,
    settings: Html,
    reproduce: Html,
    /// The name of the file that the page was made from.
    source: &'static str,
    /// Whether a newer page replaces it while it is open.
    is_live: bool,
}

impl Page {
    fn filled(self, data: &PageData) -> String {
        let mut page = Vec::new();
        self.write(data, &mut page).expect("memory takes everything");
        String::from_utf8(page).expect("made of texts")
    }

    fn write(self, data: &PageData, out: &mut dyn Write) -> io::Result<()> {
        let data = serde_json::to_string(data).expect("charts are plain data");
        let again = if self.is_live { AGAIN } else { "" };
        let parts = [
            ("again", Html::raw(again)),
            ("title", self.title),
            ("heading", self.heading),
            ("head", self.head),
            ("result", self.result),
            ("summary_note", self.summary_note),
            ("summary", self.summary),
            ("trust", self.trust),
            ("more", self.more),
            ("settings", self.settings),
            ("reproduce", self.reproduce),
            ("source", Html::text(self.source)),
            ("style", Html::raw(STYLE)),
            ("library", Html::raw(LIBRARY)),
            ("script", Html::raw(SCRIPT)),
            ("data", json_in_html(&data)),
        ];
        fill(PAGE, &parts, out)
    }
}

/// Replaces each `{{ name }}` of the page with the part of that name. The parts themselves are not
/// searched for names.
fn fill(page: &str, parts: &[(&str, Html)], out: &mut dyn Write) -> io::Result<()> {
    let mut pieces = page.split("{{");
    out.write_all(pieces.next().unwrap_or_default().as_bytes())?;
    for piece in pieces {
        let (name, rest) = piece.split_once("}}").unwrap_or((piece, ""));
        let part = parts.iter().find(|(it, _)| *it == name.trim());
        out.write_all(part.map_or("", |(_, part)| part.as_str()).as_bytes())?;
        out.write_all(rest.as_bytes())?;
    }
    Ok(())
}

#[cfg(test)]
#[path = "html_tests.rs"]
mod tests;
