//! The page of a search for the highest load that a server sustains.

use super::escape::Html;
use super::facts;
use super::parts::{command, grid, headline};
use super::{Data, Page};
use crate::report::chart::{OfKind, Stage, of_max};
use crate::report::max::{limits, rows, subject, verdict};
use crate::search::{MaxRecord, StepOutcome, StepRecord};

/// The page of a search.
pub fn max_page(max: &MaxRecord) -> String {
    let name = "steps".to_owned();
    let charts = of_max(max);
    let first = (!charts.is_empty()).then(|| name.clone());
    let views = vec![OfKind { name: "all", charts }];
    let stage = |title: String| Stage { name: title.clone(), title, measured: true, views };
    let data =
        Data { runs: Vec::new(), stages: first.clone().map(stage).into_iter().collect(), first };
    let heading = max.label.clone().unwrap_or_else(|| "Highest sustained load".to_owned());
    let steps = table(max, |_| true);
    let won = |step: &StepRecord| step.confirms && step.outcome == StepOutcome::Held;
    let (summary, more) = if max.steps.iter().any(won) {
        let mut section = Html::tag("h2", "All steps");
        section.push(&steps);
        (table(max, won), Html::element("section id=\"steps\" class=\"card\"", &section))
    } else {
        (steps, Html::default())
    };
    let page = Page {
        title: Html::text(format!("{heading} · springload")),
        heading: Html::text(heading),
        head: Html::tag("p", subject(max)),
        result: Html::element("div class=\"card\"", &headline(verdict(max))),
        summary_note: Html::text("response times in ms"),
        summary,
        trust: Html::default(),
        more,
        settings: facts::rows(&[
            ("slo".to_owned(), limits(&max.slo)),
            ("each step".to_owned(), max.step_command.clone()),
            ("seed".to_owned(), max.seed.to_string()),
        ]),
        reproduce: command(&max.command),
        source: "max.json",
        is_live: false,
    };
    page.filled(&data)
}

/// The steps that `wanted` selects, as a table.
fn table(max: &MaxRecord, wanted: impl Fn(&StepRecord) -> bool) -> Html {
    let classed = max.steps.iter().map(|step| match step.outcome {
        _ if !wanted(step) => None,
        StepOutcome::Held => Some(""),
        StepOutcome::Missed => Some("doubt"),
        StepOutcome::Undecided => Some("few"),
    });
    let classed = std::iter::once(Some("")).chain(classed);
    let reasons = max.steps.iter().map(|step| step.reason.as_str());
    let all = rows(max).into_iter().zip(std::iter::once("why").chain(reasons));
    let with_reasons = max.steps.iter().any(|step| wanted(step) && !step.reason.is_empty());
    let all = all.map(|(mut row, reason)| {
        row.extend(with_reasons.then(|| reason.to_owned()));
        row
    });
    let rows = classed.zip(all).filter_map(|(class, row)| Some((class?, row)));
    Html::element("div class=\"scroll\"", &grid(rows))
}
