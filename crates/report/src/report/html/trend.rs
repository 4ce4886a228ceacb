//! The page of a trend: first what changed, then a chart per quantity and a row per run.

use super::escape::Html;
use super::facts;
use super::parts::{command, grid, list};
use super::{Page, PageData};
use crate::report::chart::{OfKind, Stage, of_trend};
use crate::report::trend::{change, date, headline, mark, name, span, too_few, value};
use crate::trend::{Direction, Group, Trend};

/// The name for charts that do not belong to a stage.
const ALL: &str = "trend";

/// The page of a trend.
pub fn trend_page(trend: &Trend) -> String {
    let charts = of_trend(trend);
    let first = (!charts.is_empty()).then(|| ALL.to_owned());
    let views = vec![OfKind { name: "all", charts }];
    let stage = |name: String| Stage { title: name.clone(), name, measured: true, views };
    let stages = first.clone().map(stage);
    let data = PageData { runs: Vec::new(), stages: stages.into_iter().collect(), first };
    let tables: Html = trend.groups.iter().map(table).collect();
    let page = Page {
        title: Html::text("Trend · springload"),
        heading: Html::text("Trend"),
        head: Html::tag("p", headline(trend)),
        result: result(trend),
        summary_note: Html::text("one row per run, in the order of time"),
        trust: Html::default(),
        summary: tables,
        more: Html::default(),
        settings: facts::rows(&settings(trend)),
        reproduce: trend.groups.iter().map(|group| command(&group.command)).collect(),
        source: "run.json",
        is_live: false,
    };
    page.filled(&data)
}

/// The changes in each group, and remarks about it.
fn result(trend: &Trend) -> Html {
    let mut inside = Html::default();
    for group in &trend.groups {
        let mut counts = (0, 0);
        let mut items = Html::default();
        for series in &group.series {
            for it in &series.changes {
                match it.verdict {
                    Direction::Better => counts.0 += 1,
                    Direction::Worse => counts.1 += 1,
                }
                let words =
                    format!("{} {} {}", name(series), it.verdict.name(), change(series, it));
                items.push(&Html::tag("li", words));
            }
        }
        let (color, sign, words) = match counts {
            (0, 0) if too_few(group).is_some() => ("none", '?', "Too few runs".to_owned()),
            (0, 0) => ("good", '✓', "No change found".to_owned()),
            (better, 0) => ("good", '✓', format!("{better} better, none worse")),
            (better, worse) => ("bad", '✗', format!("{worse} worse, {better} better")),
        };
        let mut line = Html::tag("span class=\"mark\" aria-hidden=\"true\"", sign);
        line.push(&Html::tag("strong", words));
        inside.push(&Html::element(&format!("p class=\"headline {color}\""), &line));
        inside.push(&Html::tag("p class=\"story\"", format!("{}: {}", group.command, span(group))));
        inside.push(&list("thresholds", items));
        let marks = group.marks.iter().map(|it| mark(group, it));
        let notes = marks.chain(too_few(group)).map(|line| Html::tag("li", line));
        inside.push(&list("warnings", notes.collect()));
    }
    let left_out = trend.left_out.iter();
    let left_out = left_out.map(|it| format!("left out: {}: {}", it.name, it.reason));
    inside.push(&list("warnings", left_out.map(|line| Html::tag("li", line)).collect()));
    Html::element("div class=\"card\"", &inside)
}

/// A row per run; the first run at a new level is marked.
fn table(group: &Group) -> Html {
    let mut head = vec!["began, UTC".to_owned(), "run".to_owned(), "label".to_owned()];
    let shown = || group.series.iter().filter(|series| !series.is_zero());
    head.extend(shown().map(name));
    let row = |(at, run): (usize, &crate::trend::TrendRun)| {
        let mut cells = vec![date(&run.started_at), run.name.clone()];
        cells.push(run.label.clone().unwrap_or_default());
        cells.extend(shown().map(|series| {
            series.values[at].map_or_else(|| "–".to_owned(), |it| value(series, it))
        }));
        let changed = group.series.iter().flat_map(|it| &it.changes).any(|it| it.at == at);
        (if changed { "differ" } else { "" }, cells)
    };
    grid(std::iter::once(("", head)).chain(group.runs.iter().enumerate().map(row)))
}

fn settings(trend: &Trend) -> Vec<(String, String)> {
    let last = |group: &Group| group.runs.last().cloned();
    let facts = trend.groups.iter().filter_map(last).flat_map(|run| {
        let known =
            [("server", run.server), ("machine", run.machine), ("springload", run.springload)];
        known.map(|(name, text)| (name.to_owned(), text))
    });
    facts.collect()
}
