//! The page of a sweep: whether its runs can be trusted, the highest and the lowest rate, a row per
//! run, charts, slopes, and the command that repeats it.

use super::escape::Html;
use super::facts;
use super::parts;
use super::parts::{grid, headline, list};
use super::{Page, PageData};
use crate::plan::{command_line, stage_title};
use crate::report::chart::{OfKind, Stage, of_sweep};
use crate::report::number::{decimal, grouped, millis};
use crate::report::pill::{Mood, Pill};
use crate::report::sweep::{SLOPES, rate_unit, slopes};
use crate::report::table::{Columns, in_ms};
use crate::statistics::median;
use crate::sweep::{CellRecord, CellResult, Setting, SweepRecord, without_effect};

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
    let data = PageData { runs: Vec::new(), stages: stages.into_iter().collect(), first };
    let page = Page {
        title: Html::text(format!("{} · springload", heading(sweep))),
        heading: Html::text(heading(sweep)),
        head: head(sweep),
        result: result(sweep),
        summary_note: Html::text("response times in ms"),
        trust: Html::default(),
        summary: table(sweep),
        more: words(sweep),
        settings: facts::rows(&settings(sweep)),
        reproduce: parts::command(&command(sweep)),
        source: "sweep.json",
        is_live: false,
    };
    page.filled(&data)
}

fn results(sweep: &SweepRecord) -> impl Iterator<Item = &CellResult> {
    sweep.cells.iter().filter_map(|cell| cell.result.as_ref())
}

fn place(sweep: &SweepRecord) -> &str {
    sweep.definition.target.as_deref().unwrap_or("embedded stand-ins, one per run")
}

fn varied(sweep: &SweepRecord) -> String {
    let names: Vec<&str> = sweep.definition.axes.iter().map(|axis| axis.name.as_str()).collect();
    format!("Sweep over {}", names.join(" and "))
}

fn heading(sweep: &SweepRecord) -> String {
    sweep.definition.label.clone().unwrap_or_else(|| varied(sweep))
}

fn head(sweep: &SweepRecord) -> Html {
    let what = sweep.definition.label.as_ref().map(|_| varied(sweep));
    let parts: Vec<String> = what.into_iter().chain([place(sweep).to_owned()]).collect();
    Html::tag("p", parts.join(" · "))
}

/// A run's settings, and its round if there are several.
fn name(sweep: &SweepRecord, cell: &CellRecord) -> String {
    let settings = cell.settings.iter().map(|it| format!("{}={}", it.name, it.value));
    let round = (sweep.definition.repeat > 1).then(|| format!("round {}", cell.round));
    settings.chain(round).collect::<Vec<_>>().join(" ")
}

/// What to know before trusting a run.
fn doubts(cell: &CellRecord) -> Vec<String> {
    let Some(result) = &cell.result else {
        return vec!["not measured: the run failed, or the sweep ended first".to_owned()];
    };
    let mut doubts = Vec::new();
    if !result.trustworthy {
        doubts.push(verdict(result));
    }
    if result.failed > 0 {
        doubts.push(format!("{} {} failed", grouped(result.failed), result.counted.many));
    }
    let gaps = result.curve.iter().flat_map(|curve| &curve.gaps);
    doubts.extend(gaps.map(|gap| {
        format!("the server was away from {} s to {} s of the stage", gap.from_s, gap.to_s)
    }));
    doubts
}

fn verdict(result: &CellResult) -> String {
    let known = Some(result.verdict.replace('_', " ")).filter(|name| !name.is_empty());
    let trust = if result.trustworthy { "valid" } else { "not trustworthy" };
    known.unwrap_or_else(|| trust.to_owned())
}

/// What to read before any number.
fn result(sweep: &SweepRecord) -> Html {
    let mut inside = headline(sweep_pill(sweep));
    if let Some(words) = extremes(sweep) {
        inside.push(&Html::tag("p class=\"story\"", words));
    }
    inside.push(&warning_list(&cautions(sweep)));
    let mut lines: Vec<String> = Vec::new();
    for cell in sweep.in_order() {
        let doubts = doubts(cell).into_iter();
        lines.extend(doubts.map(|doubt| format!("{}: {doubt}", name(sweep, cell))));
    }
    inside.push(&warning_list(&lines));
    inside.push(&warning_list(&warnings(sweep)));
    Html::element("div class=\"card\"", &inside)
}

/// How many runs there are, and how many of them can be trusted: a mood, a mark, and words.
pub fn sweep_pill(sweep: &SweepRecord) -> Pill {
    let (all, measured) = (sweep.cells.len(), results(sweep).count());
    let doubtful = results(sweep).filter(|result| !result.trustworthy).count();
    let s = if all == 1 { "" } else { "s" };
    match (measured, doubtful) {
        (0, _) => Mood::Unknown.pill(format!("none of {all} run{s} was measured")),
        (_, 0) if measured < all => {
            Mood::Fair.pill(format!("{} of {all} run{s} not measured", all - measured))
        }
        (_, 0) => Mood::Good.pill(format!("{all} run{s}, all valid")),
        (_, doubtful) if measured < all => Mood::Bad.pill(format!(
            "{doubtful} of {all} runs not trustworthy, {} not measured",
            all - measured
        )),
        (_, doubtful) => Mood::Bad.pill(format!("{doubtful} of {all} run{s} not trustworthy")),
    }
}

/// The settings with the highest and the lowest rate, by the medians of their runs.
fn extremes(sweep: &SweepRecord) -> Option<String> {
    let cells = sweep.in_order();
    let cells = cells.chunk_by(|one, other| one.settings == other.settings);
    let rates = cells.filter_map(|cells| {
        let results = cells.iter().filter_map(|cell| cell.result.as_ref());
        let rate = median(results.filter(|it| it.trustworthy).map(|it| it.per_s))?;
        let settings = cells[0].settings.iter().map(|it| format!("{}={}", it.name, it.value));
        Some((rate, settings.collect::<Vec<_>>().join(" ")))
    });
    let rates: Vec<(f64, String)> = rates.collect();
    let by_rate = |one: &&(f64, String), other: &&(f64, String)| one.0.total_cmp(&other.0);
    let (high, low) = (rates.iter().max_by(by_rate)?, rates.iter().min_by(by_rate)?);
    let unit = rate_unit(sweep.counted());
    let one =
        |(rate, settings): &(f64, String)| format!("{} {unit} at {settings}", decimal(*rate, 0));
    let ratio = high.0 / low.0;
    let times = if ratio >= 1.1 && ratio.is_finite() {
        format!(", {} times the lowest", decimal(ratio, 1))
    } else {
        ", hardly more than the lowest".to_owned()
    };
    (rates.len() > 1).then(|| format!("Highest: {}{times}: {}.", one(high), one(low)))
}

/// What cannot be concluded from this sweep.
fn cautions(sweep: &SweepRecord) -> Vec<String> {
    let mut lines = Vec::new();
    if sweep.definition.repeat < 2 {
        let line = "each combination was measured once, so it is not known how much runs with the \
                    same settings vary; --repeat 3 shows it";
        lines.push(line.to_owned());
    }
    for axis in without_effect(sweep) {
        lines.push(format!(
            "{axis} has no effect distinguishable from noise: its values differ no more than runs \
             with the same settings do"
        ));
    }
    lines
}

/// The warnings of all runs, each once, with the number of runs that have it.
fn warnings(sweep: &SweepRecord) -> Vec<String> {
    let mut distinct: Vec<(&str, usize)> = Vec::new();
    for warning in results(sweep).flat_map(|result| &result.warnings) {
        match distinct.iter_mut().find(|(it, _)| it == warning) {
            Some((_, count)) => *count += 1,
            None => distinct.push((warning, 1)),
        }
    }
    let runs = |count| if count == 1 { "1 run".to_owned() } else { format!("{count} runs") };
    distinct.into_iter().map(|(warning, count)| format!("{warning} ({})", runs(count))).collect()
}

fn warning_list(lines: &[String]) -> Html {
    let more = lines.len().saturating_sub(MOST_LINES);
    let more = (more > 0).then(|| Html::tag("li", format!("and {more} more")));
    let lines = lines.iter().take(MOST_LINES).map(|line| Html::tag("li", line));
    list("warnings", lines.chain(more).collect())
}

/// A run, or the medians of those with the same settings.
struct CellRow<'a> {
    class: &'static str,
    settings: &'a [Setting],
    round: String,
    results: Vec<&'a CellResult>,
    verdict: String,
}

impl CellRow<'_> {
    fn median(&self, of: fn(&CellResult) -> f64) -> String {
        let value = median(self.results.iter().map(|result| of(result)));
        value.map_or_else(|| "–".to_owned(), |value| decimal(value, 0))
    }

    fn time(&self, of: fn(&CellResult) -> Option<f64>) -> String {
        let known = median(self.results.iter().filter_map(|result| of(result)));
        let none = if self.results.is_empty() { "–" } else { "too few" };
        known.map_or_else(|| none.to_owned(), millis)
    }
}

/// A row per run, and rows of medians if settings were measured more than once.
fn table(sweep: &SweepRecord) -> Html {
    let (axes, rounds) = (&sweep.definition.axes, sweep.definition.repeat > 1);
    let columns = Columns::<'_, CellRow<'_>>::new()
        .each(0..axes.len(), |at| axes[at].name.clone(), |it, at| it.settings[at].value.clone())
        .and_if(rounds, "round", |it| it.round.clone())
        .and(rate_unit(sweep.counted()), |it| it.median(|result| result.per_s))
        .and("ok", |it| it.median(|result| result.ok as f64))
        .and("failed", |it| it.median(|result| result.failed as f64))
        .each(CellResult::TIMES, |(it, _)| in_ms(it), |row, (_, us)| row.time(us))
        .and("verdict", |it| it.verdict.clone());
    let mut rows = Vec::new();
    for cells in sweep.in_order().chunk_by(|one, other| one.settings == other.settings) {
        let settings: &[Setting] = &cells[0].settings;
        for cell in cells {
            let class = match &cell.result {
                Some(result) if !result.trustworthy => "doubt",
                None => "few",
                Some(_) => "",
            };
            let verdict = cell.result.as_ref().map_or("not measured".to_owned(), verdict);
            let (round, results) = (cell.round.to_string(), cell.result.iter().collect());
            rows.push(CellRow { class, settings, round, results, verdict });
        }
        let results: Vec<&CellResult> = cells.iter().filter_map(|it| it.result.as_ref()).collect();
        if rounds && !results.is_empty() {
            let trusted = results.iter().filter(|result| result.trustworthy).count();
            let verdict = format!("{trusted} of {} trustworthy", results.len());
            let (class, round) = ("differ", "median".to_owned());
            rows.push(CellRow { class, settings, round, results, verdict });
        }
    }
    grid(columns.marked(&rows, |row| row.class))
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
    command_line(words)
}
