//! The page of a search for the highest load that a server sustains.

use super::escape::Html;
use super::facts;
use super::parts::{command, grid, headline};
use super::{Page, PageData};
use crate::report::chart::{OfKind, Stage, of_max};
use crate::report::max::{columns, limits, subject, verdict};
use crate::search::{MaxRecord, StepOutcome, StepRecord};

/// The page of a search.
pub fn max_page(max: &MaxRecord) -> String {
    let name = "steps".to_owned();
    let charts = of_max(max);
    let first = (!charts.is_empty()).then(|| name.clone());
    let views = vec![OfKind { name: "all", charts }];
    let stage = |title: String| Stage { name: title.clone(), title, measured: true, views };
    let data = PageData {
        runs: Vec::new(),
        stages: first.clone().map(stage).into_iter().collect(),
        first,
    };
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
    let steps: Vec<&StepRecord> = max.steps.iter().filter(|step| wanted(step)).collect();
    let with_reasons = steps.iter().any(|step| !step.reason.is_empty());
    let columns = columns(max).and_if(with_reasons, "why", |step| step.reason.clone());
    let rows = columns.marked(steps, |step| match step.outcome {
        StepOutcome::Held => "",
        StepOutcome::Missed => "doubt",
        StepOutcome::Undecided => "few",
    });
    Html::element("div class=\"scroll\"", &grid(rows))
}
