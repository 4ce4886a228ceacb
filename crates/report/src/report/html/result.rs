//! The top of the page: the result of the run, its four figures, what happened, and the
//! requirements that it met or missed.

use super::escape::Html;
use super::parts::{letter, list};
use crate::measure::Latency;
use crate::record::{ResultKind, RunRecord, StageRecord};
use crate::report::burst::counted;
use crate::report::headline::{headline, share_words, unit};
use crate::report::number::{decimal, grouped, millis};
use crate::report::story::{Event, lines, story};
use crate::report::threshold::requirements;
use crate::report::title::names;
use crate::report::words::warning_lines;

/// A card for each run, and one for the warnings that several runs share.
pub(super) fn cards(runs: &[RunRecord]) -> Html {
    let names = names(runs);
    let has = |record: &RunRecord, line: &String| warning_lines(record).any(|it| it == *line);
    let common: Vec<String> = match runs {
        [first, others @ ..] if !others.is_empty() => warning_lines(first)
            .filter(|line| others.iter().all(|record| has(record, line)))
            .collect(),
        _ => Vec::new(),
    };
    let card = |(run, record): (usize, &RunRecord)| {
        let mut inside = headline_of(record);
        if runs.len() > 1 {
            let mut name = letter(runs, run);
            name.push(&Html::tag("strong", &names[run]));
            let mut named = Html::element("p class=\"name\"", &name);
            named.push(&inside);
            inside = named;
        } else {
            inside.push(&tiles(record));
        }
        inside.push(&happened(record));
        let kept = requirements(record).map(|it| {
            let class = if it.met { "met" } else { "missed" };
            let mut line = Html::tag("span class=\"mark\" aria-hidden=\"true\"", it.mark());
            line.push(&Html::text(it.words()));
            Html::element(&format!("li class=\"{class}\""), &line)
        });
        inside.push(&list("requirements", kept.collect()));
        let warnings = warning_lines(record).filter(|line| !common.contains(line));
        let warnings = warnings.map(|line| Html::tag("li", line));
        inside.push(&list("warnings", warnings.collect()));
        Html::element("div class=\"card\"", &inside)
    };
    let mut cards: Html = runs.iter().enumerate().map(card).collect();
    if !common.is_empty() {
        let mut inside = Html::tag("p class=\"name\"", "All runs");
        let lines = common.iter().map(|line| Html::tag("li", line));
        inside.push(&list("warnings", lines.collect()));
        cards.push(&Html::element("div class=\"card\"", &inside));
    }
    cards
}

/// The color of a result; its mark and its name convey the same.
const fn color(kind: ResultKind) -> &'static str {
    match kind {
        ResultKind::Passed => "good",
        ResultKind::Stopped => "none",
        ResultKind::Running => "running",
        ResultKind::NotTrustworthy => "fair",
        ResultKind::Failed => "bad",
    }
}

fn headline_of(record: &RunRecord) -> Html {
    let headline = headline(record);
    let mut line = Html::tag("span class=\"mark\" aria-hidden=\"true\"", headline.mark());
    line.push(&Html::tag("strong", headline.name()));
    line.push(&Html::tag("span class=\"why\"", &headline.words));
    Html::element(&format!("p class=\"headline {}\"", color(headline.kind)), &line)
}

/// Rate, p50, p99 and errors of the main stage, all kinds together.
fn tiles(record: &RunRecord) -> Html {
    let Some(stage) = record.main_stage().filter(|stage| !stage.operations.is_empty()) else {
        return Html::default();
    };
    let all = counted(stage);
    let per_s = all.throughput_per_s;
    let rate = decimal(per_s, usize::from(per_s > 0.0 && per_s < 100.0));
    let rate_unit = format!("{}/s", unit(stage, record.nouns()));
    let short = stage.rate_problem();
    let (rate, rate_unit) = if short.is_some() { ("too short", "") } else { (&*rate, &*rate_unit) };
    let load = if stage.load.open {
        format!("{}/s offered", decimal(stage.load.offered_per_s, 0))
    } else {
        let count = record.plan.connections;
        let s = if count == 1 { "" } else { "s" };
        format!("closed loop, {} connection{s}", grouped(count as u64))
    };
    let failed = all.failed();
    let errors = if failed == 0 { "0 %".to_owned() } else { share_words(all.failed_share()) };
    let counts = match (failed, all.unfinished) {
        (0, 0) => format!("none of {}", grouped(all.issued)),
        (failed, 0) => format!("{} of {}", grouped(failed), grouped(all.issued)),
        (failed, open) => format!("{} failed, {} unanswered", grouped(failed), grouped(open)),
    };
    let tiles = [
        tile("rate", "", rate, rate_unit, &short.unwrap_or(load)),
        time("p50", all.response.p50_us, &all.response, record, stage),
        time("p99", all.response.p99_us, &all.response, record, stage),
        tile("errors", if failed > 0 { "bad" } else { "" }, &errors, "", &counts),
    ];
    Html::element("div class=\"tiles\"", &tiles.into_iter().collect())
}

fn tile(name: &str, class: &str, value: &str, unit: &str, hint: &str) -> Html {
    let mut value = Html::text(value);
    if !unit.is_empty() {
        value.push(&Html::tag("small", format!(" {unit}")));
    }
    let mut inside = Html::tag("dt", name);
    inside.push(&Html::element("dd class=\"value\"", &value));
    inside.push(&Html::tag("dd class=\"note\"", hint));
    Html::element(&format!("dl class=\"tile {class}\""), &inside)
}

/// A percentile of response times; red if it missed a requirement.
fn time(
    name: &str,
    us: Option<f64>,
    times: &Latency,
    record: &RunRecord,
    stage: &StageRecord,
) -> Html {
    let ends = format!(" {name}");
    let missed = requirements(record)
        .any(|it| !it.met && (it.subject == name || it.subject.ends_with(&ends)));
    let kind = if stage.load.open { "response time" } else { "response time, closed loop" };
    let class = if missed { "bad" } else { "" };
    if let Some(us) = us {
        return tile(name, class, &millis(us), "ms", kind);
    }
    if times.samples == 0 {
        return tile(name, class, "–", "", "nothing succeeded");
    }
    let most = format!("of {} samples; max {} ms", grouped(times.samples), millis(times.max_us));
    tile(name, class, "too few", "", &most)
}

/// What happened and when, as a sentence.
fn happened(record: &RunRecord) -> Html {
    let story = story(record);
    if story.is_empty() {
        return Html::default();
    }
    let events: Vec<&Event> = story.iter().collect();
    let text = lines(record, &events, false).join(" · ");
    Html::element("p class=\"story\"", &Html::text(text))
}
