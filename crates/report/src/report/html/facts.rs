//! The settings of runs: server, database, client, stages.

use super::escape::Html;
use crate::plan::{StagePlan, stage_title};
use crate::record::RunRecord;
use crate::report::agents::crew;
use crate::report::chart::label;
use crate::report::number::{bytes, decimal, grouped};
use crate::report::words::{database, place};
use serde_json::Value;

/// A table with a column per run; rows in which runs differ are marked.
pub(super) fn table(runs: &[RunRecord]) -> Html {
    let columns: Vec<Vec<(String, String)>> = runs.iter().map(facts).collect();
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in columns.iter().flatten() {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let mut rows = Html::default();
    if runs.len() > 1 {
        let heads = (0..runs.len()).map(|run| Html::tag("th scope=\"col\"", label(run)));
        let heads: Html = std::iter::once(Html::raw("<td></td>")).chain(heads).collect();
        rows.push(&Html::element("tr", &heads));
    }
    for name in names {
        let value = |facts: &Vec<(String, String)>| {
            facts.iter().find(|(it, _)| it == name).map_or("–".to_owned(), |(_, it)| it.clone())
        };
        let values: Vec<String> = columns.iter().map(value).collect();
        let differ = values.windows(2).any(|pair| pair[0] != pair[1]);
        let mut row = Html::tag("th scope=\"row\"", name);
        row.push(&values.iter().map(|value| Html::tag("td", value)).collect());
        rows.push(&Html::element(if differ { "tr class=\"differ\"" } else { "tr" }, &row));
    }
    Html::element("table class=\"facts\"", &Html::element("tbody", &rows))
}

/// A table of names and values.
pub(super) fn rows(facts: &[(String, String)]) -> Html {
    let row = |(name, text): &(String, String)| {
        let mut row = Html::tag("th scope=\"row\"", name);
        row.push(&Html::tag("td", text));
        Html::element("tr", &row)
    };
    let rows = Html::element("tbody", &facts.iter().map(row).collect());
    Html::element("table class=\"facts\"", &rows)
}

fn facts(record: &RunRecord) -> Vec<(String, String)> {
    let (plan, server, environment) = (&record.plan, &record.server, &record.environment);
    let schemas: Vec<String> = plan
        .schemas
        .iter()
        .map(|schema| format!("{} (weight {})", schema.source, schema.weight))
        .collect();
    let mut facts = vec![("server", place(server))];
    if !server.database.is_empty() {
        facts.push((record.nouns().place, database(record)));
    }
    facts.extend(plan.target.facts());
    facts.extend(crew(record).map(|crew| ("agents", crew)));
    let mut connections = grouped(plan.connections as u64);
    if let Some(most) = plan.most_connections {
        connections = format!("{connections}, and up to {} as needed", grouped(most as u64));
    }
    facts.extend([
        ("connections", connections),
        ("threads", grouped(plan.threads as u64)),
        ("seed", plan.seed.to_string()),
        ("timeout", format!("{} s", decimal(plan.timeout_ns as f64 / 1e9, 1))),
        (record.nouns().many, schemas.join(", ")),
        ("started", record.started_at.clone()),
        ("springload", environment.springload.clone()),
        ("system", format!("{} {}", environment.system, environment.architecture)),
        ("processor", format!("{}, {} cores", environment.processor, environment.cores)),
        ("memory", bytes(environment.memory_bytes)),
    ]);
    if !plan.ids.is_sequential() {
        facts.push(("identifiers", plan.ids.to_string()));
    }
    if let Some(calibration) = &environment.calibration {
        let text = format!(
            "clock {} ns · sleep overshoot {} µs (p50) · loop {} ns, at most {}/s",
            decimal(calibration.clock_ns, 0),
            decimal(calibration.timer_late_p50_us, 0),
            decimal(calibration.loop_ns, 0),
            decimal(calibration.ceiling_per_s, 0),
        );
        facts.push(("calibration", text));
    }
    let stages =
        plan.stages.iter().map(|it| (format!("{} stage", stage_title(&it.name)), stage(it)));
    let known = facts.into_iter().filter(|(_, text)| !text.is_empty());
    known.map(|(name, text)| (name.to_owned(), text)).chain(stages).collect()
}

/// What a stage was planned to do, and when.
fn stage(stage: &StagePlan) -> String {
    let mut parts = stage.work.describe(&grouped);
    parts.extend(stage.length_ns.map(|ns| format!("{} s", decimal(ns as f64 / 1e9, 1))));
    parts.push(pace(&serde_json::to_value(&stage.pace).unwrap_or_default()));
    parts.join(" · ")
}

/// When operations were due, according to the plan stored in `run.json`.
fn pace(pace: &Value) -> String {
    let number = |value: &Value| value.as_f64().unwrap_or_default();
    let Some(segments) = pace["schedule"]["segments"].as_array() else {
        let think = number(&pace["think_ns"]);
        let pause = format!(", {} ms pause", decimal(think / 1e6, 1));
        return format!("closed loop{}", if think > 0.0 { &pause } else { "" });
    };
    let rate = |segment: &Value| {
        let [from, to] = ["from", "to"].map(|end| decimal(number(&segment[end]), 0));
        if from == to { format!("{from}/s") } else { format!("{from}..{to}/s") }
    };
    let rates: Vec<String> = segments.iter().map(rate).collect();
    let arrivals = pace["schedule"]["arrivals"].as_str().unwrap_or("constant");
    format!("open loop, {arrivals} arrivals at {}", rates.join(", then "))
}
