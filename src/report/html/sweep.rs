//! The page of a sweep: what is missing or not trustworthy, a row per run, charts, slopes, and
//! the command that repeats it.

use super::escape::Html;
use super::facts;
use super::parts::grid;
use super::{Data, Page};
use crate::plan::stage_title;
use crate::report::chart::{OfKind, Stage, of_sweep};
use crate::report::number::{decimal, grouped, millis};
use crate::report::sweep::{SLOPES, slopes};
use crate::sweep::{CellRecord, Headline, SweepRecord, median};

/// The most lines of one kind to show.
const MOST_LINES: usize = 30;

/// The page of a sweep.
pub fn sweep_page(sweep: &SweepRecord) -> String {
    let stage = results(sweep).next().map(|result| result.stage.clone());
    let charts = of_sweep(sweep);
    let first = stage.filter(|_| !charts.is_empty());
    let views = vec![OfKind { name: "all", charts }];
    let stage = |name: String| Stage { title: stage_title(&name), name, measured: true, views };
    let stages = first.clone().map(stage);
    let data = Data { runs: Vec::new(), stages: stages.into_iter().collect(), first };
    let page = Page {
        title: Html::text(format!("springload sweep · {}", place(sweep))),
        head: head(sweep),
        trust: trust(sweep),
        summary: table(sweep),
        more: words(sweep),
        settings: facts::rows(&settings(sweep)),
        reproduce: Html::element("pre", &Html::tag("code", command(sweep))),
        source: "sweep.json",
    };
    page.filled(&data)
}

fn results(sweep: &SweepRecord) -> impl Iterator<Item = &Headline> {
    sweep.cells.iter().filter_map(|cell| cell.result.as_ref())
}

fn place(sweep: &SweepRecord) -> &str {
    sweep.definition.target.as_deref().unwrap_or("embedded stand-ins, one per run")
}

fn head(sweep: &SweepRecord) -> Html {
    let names: Vec<&str> = sweep.definition.axes.iter().map(|axis| axis.name.as_str()).collect();
    let mut line = Html::tag("strong", format!("Sweep over {}", names.join(" and ")));
    line.push(&Html::text(format!(" · {}", place(sweep))));
    Html::element("p", &line)
}

/// A run's settings, and its round if there are several.
fn name(sweep: &SweepRecord, cell: &CellRecord) -> String {
    let settings = cell.settings.iter().map(|it| format!("{}={}", it.name, it.value));
    let round = (sweep.definition.repeat > 1).then(|| format!("round {}", cell.round));
    settings.chain(round).collect::<Vec<_>>().join(" ")
}

/// What a reader must know before trusting a run.
fn doubts(cell: &CellRecord) -> Vec<String> {
    let Some(result) = &cell.result else {
        return vec!["not measured: the run failed, or the sweep ended first".to_owned()];
    };
    let mut doubts = Vec::new();
    if !result.trustworthy {
        doubts.push(format!("{}, result not valid", verdict(result)));
    }
    if result.failed > 0 {
        doubts.push(format!("{} documents failed", grouped(result.failed)));
    }
    let gaps = result.curve.iter().flat_map(|curve| &curve.gaps);
    doubts.extend(gaps.map(|gap| {
        format!("the server was away from {} s to {} s of the stage", gap.from_s, gap.to_s)
    }));
    doubts
}

fn verdict(result: &Headline) -> String {
    let known = Some(result.verdict.replace('_', " ")).filter(|name| !name.is_empty());
    let trust = if result.trustworthy { "valid" } else { "not trustworthy" };
    known.unwrap_or_else(|| trust.to_owned())
}

/// What must be read before any number.
fn trust(sweep: &SweepRecord) -> Html {
    let (all, measured) = (sweep.cells.len(), results(sweep).count());
    let trusted = results(sweep).filter(|result| result.trustworthy).count();
    let (colour, word) = match (measured, trusted) {
        (0, _) => ("none", "nothing measured"),
        _ if trusted < measured => ("bad", "not all trustworthy"),
        _ if measured < all => ("fair", "not all measured"),
        _ => ("good", "valid"),
    };
    let mut line = Html::tag(&format!("span class=\"badge {colour}\""), word);
    let text = format!("trust: {measured} of {all} runs measured · {trusted} of them trustworthy");
    line.push(&Html::tag("span", text));
    let mut inside = Html::element("p class=\"trust\"", &line);
    let mut lines: Vec<String> = Vec::new();
    for cell in sweep.in_order() {
        let doubts = doubts(cell).into_iter();
        lines.extend(doubts.map(|doubt| format!("{}: {doubt}", name(sweep, cell))));
    }
    inside.push(&list(&lines));
    inside.push(&list(&warnings(sweep)));
    Html::element("div class=\"card\"", &inside)
}

/// The warnings of all runs, each once, with the number of runs that have it.
fn warnings(sweep: &SweepRecord) -> Vec<String> {
    let mut told: Vec<(&str, usize)> = Vec::new();
    for warning in results(sweep).flat_map(|result| &result.warnings) {
        match told.iter_mut().find(|(it, _)| it == warning) {
            Some((_, count)) => *count += 1,
            None => told.push((warning, 1)),
        }
    }
    let runs = |count| if count == 1 { "1 run".to_owned() } else { format!("{count} runs") };
    told.into_iter().map(|(warning, count)| format!("{warning} ({})", runs(count))).collect()
}

fn list(lines: &[String]) -> Html {
    if lines.is_empty() {
        return Html::default();
    }
    let more = lines.len().saturating_sub(MOST_LINES);
    let more = (more > 0).then(|| Html::tag("li", format!("and {more} more")));
    let lines = lines.iter().take(MOST_LINES).map(|line| Html::tag("li", line));
    Html::element("ul class=\"warnings\"", &lines.chain(more).collect())
}

/// A row per run, and one of medians if settings were measured more than once.
fn table(sweep: &SweepRecord) -> Html {
    let definition = &sweep.definition;
    let rounds = definition.repeat > 1;
    let mut head: Vec<String> = definition.axes.iter().map(|axis| axis.name.clone()).collect();
    head.extend(rounds.then(|| "round".to_owned()));
    head.extend(["docs/s", "ok", "failed", "p50, ms", "p99, ms", "verdict"].map(str::to_owned));
    let mut rows = vec![("", head)];
    for cells in sweep.in_order().chunk_by(|one, other| one.settings == other.settings) {
        let row = |round: String, results: &[&Headline], verdict: String| -> Vec<String> {
            let of = |value: &dyn Fn(&Headline) -> f64| {
                let value = median(results.iter().map(|result| value(result)));
                value.map_or_else(|| "–".to_owned(), |value| decimal(value, 0))
            };
            let time = |value: fn(&Headline) -> Option<f64>| {
                let known = median(results.iter().filter_map(|result| value(result)));
                let none = if results.is_empty() { "–" } else { "too few" };
                known.map_or_else(|| none.to_owned(), millis)
            };
            let values = cells[0].settings.iter().map(|it| it.value.clone());
            let numbers = [of(&|it| it.per_s), of(&|it| it.ok as f64), of(&|it| it.failed as f64)];
            let times = [time(|it| it.p50_us), time(|it| it.p99_us), verdict];
            let round = rounds.then_some(round);
            values.chain(round).chain(numbers).chain(times).collect()
        };
        for cell in cells {
            let results: Vec<&Headline> = cell.result.iter().collect();
            let class = match results.first() {
                Some(result) if !result.trustworthy => "doubt",
                None => "few",
                Some(_) => "",
            };
            let verdict = results.first().map_or("not measured".to_owned(), |it| verdict(it));
            rows.push((class, row(cell.round.to_string(), &results, verdict)));
        }
        let results: Vec<&Headline> = cells.iter().filter_map(|it| it.result.as_ref()).collect();
        if rounds && !results.is_empty() {
            let trusted = results.iter().filter(|result| result.trustworthy).count();
            let verdict = format!("{trusted} of {} trustworthy", results.len());
            rows.push(("differ", row("median".to_owned(), &results, verdict)));
        }
    }
    grid(rows)
}

/// The slopes.
fn words(sweep: &SweepRecord) -> Html {
    let lines: Html = slopes(sweep).into_iter().map(|line| Html::tag("li", line)).collect();
    if lines.as_str().is_empty() {
        return lines;
    }
    let mut inside = Html::tag("h2", "Slopes");
    inside.push(&Html::tag("p class=\"note\"", format!("The {SLOPES}.")));
    inside.push(&Html::element("ul class=\"thresholds\"", &lines));
    Html::element("section id=\"slopes\" class=\"card\"", &inside)
}

fn settings(sweep: &SweepRecord) -> Vec<(String, String)> {
    let definition = &sweep.definition;
    let mut facts = vec![("server".to_owned(), place(sweep).to_owned())];
    let axes = definition.axes.iter();
    facts.extend(axes.map(|axis| (format!("varied: {}", axis.name), axis.values.join(", "))));
    let stage = results(sweep).next().map_or("–".to_owned(), |result| stage_title(&result.stage));
    let mut add = |name: &str, text: String| facts.push((name.to_owned(), text));
    add("flags of all runs", definition.common.join(" "));
    add("runs of each combination", definition.repeat.to_string());
    add("order", format!("shuffled with seed {}", definition.seed));
    add("rates of stage", stage);
    if let Some(preset) = &definition.preset {
        add("preset", preset.clone());
    }
    facts
}

/// The command that repeats the sweep.
fn command(sweep: &SweepRecord) -> String {
    let definition = &sweep.definition;
    let mut words = vec!["springload".to_owned(), "sweep".to_owned()];
    words.extend(definition.target.clone());
    words.extend(definition.preset.iter().map(|preset| format!("--preset={preset}")));
    for axis in &definition.axes {
        words.extend(["-L".to_owned(), format!("{}={}", axis.name, axis.values.join(","))]);
    }
    words.extend(definition.common.iter().cloned());
    words.extend((definition.repeat > 1).then(|| format!("--repeat={}", definition.repeat)));
    words.extend(definition.by_size.then(|| "--x=docs".to_owned()));
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// Quotes a word for a shell (POSIX, Shell Command Language, 2.2.2).
fn quoted(word: &str) -> String {
    let plain = |sign: char| sign.is_ascii_alphanumeric() || "-_./:=,@%+".contains(sign);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}
