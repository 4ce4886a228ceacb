//! A stage in the text report: its figures in a line or two, and a table of its operations.

use super::sheet::{Cell, Sheet, Tone};
use crate::measure::{Count, Latency, Merged, OperationSummary, Shown, Statistic};
use crate::op::OpKind;
use crate::plan::{Nouns, Purpose, StagePlan};
use crate::record::{LoadRecord, OpenedRecord, RunRecord, StageRecord};
use crate::report::burst::{counted, start_line};
use crate::report::headline::{
    error_words, looked_for, rate_words, share_words, time_words, unconfirmed_words, unit,
};
use crate::report::number::{decimal, grouped, length, millis};
use crate::report::{agents, beside, drill, estimates, nodes, replicated};
use std::collections::BTreeMap;

/// The share by which a service time must differ from the response time to be shown.
const DIFFERS: f64 = 0.10;
/// The most columns of a stage's name.
const MOST_TITLE: usize = 16;
/// The columns before the percentiles: the name, the rate and failed documents.
const BEFORE: usize = 3;
const FAILED: usize = 2;

/// A stage other than the main one, in one line.
pub(super) fn in_short(record: &RunRecord, stage: &StageRecord, sheet: &mut Sheet) {
    let nouns = record.nouns();
    let verified = stage.operations.iter().find(|it| it.kind == OpKind::Verify);
    if let (Purpose::Audit, Some(verified)) = (stage.purpose(), verified) {
        let (checked, took) = (looked_for(stage, nouns, Some(verified)), length(stage.elapsed_s));
        let mut parts = vec![format!("{checked} in {took}")];
        let wrong = verified.failures.iter();
        parts.extend(wrong.map(|(class, count)| format!("{} {}", grouped(*count), class.words())));
        if verified.failures.is_empty() {
            parts.push("all as acknowledged".to_owned());
        }
        parts.extend(unconfirmed_words(verified));
        return sheet.parts(&title(stage, sheet), Tone::Strong, &parts);
    }
    let all = counted(stage);
    if stage.purpose() == Purpose::Index && all.ok > 0 {
        return sheet.parts(&title(stage, sheet), Tone::Strong, &built(stage, nouns, &all));
    }
    let mut parts = vec![if stage.operations.is_empty() {
        "nothing was measured".to_owned()
    } else {
        let most = record.cut_fill(stage).map(grouped);
        let most = most.map_or_else(String::new, |most| format!(" of at most {most}"));
        let took = length(stage.elapsed_s);
        format!("{}{most} {} in {took}", grouped(all.ok), unit(stage, nouns))
    }];
    if !stage.operations.is_empty() {
        parts.push(rate_words(stage, nouns, &all));
        parts.extend(time_words(&all.response));
        parts.push(error_words(&all));
    }
    sheet.parts(&title(stage, sheet), Tone::Strong, &parts);
}

/// The indexes that were built, and how fast.
fn built(stage: &StageRecord, nouns: Nouns, all: &Merged) -> Vec<String> {
    let documents: u64 = stage.operations.iter().map(|it| it.rows).sum();
    let es = if all.ok == 1 { "" } else { "es" };
    let mut parts = vec![format!("{} index{es} in {}", grouped(all.ok), length(stage.elapsed_s))];
    if documents > 0 {
        let rate = decimal(documents as f64 / stage.elapsed_s, 0);
        parts.push(format!("{} {}, {rate}/s", grouped(documents), nouns.short));
    }
    parts.push(error_words(all));
    parts
}

/// The name of a stage, not too long.
fn title(stage: &StageRecord, sheet: &Sheet) -> String {
    sheet.cut(&sheet.shown(&stage.title()), MOST_TITLE) + "  "
}

/// The figures of all operations of the main stage.
pub(super) fn figures(record: &RunRecord, stage: &StageRecord, sheet: &mut Sheet) {
    let title = title(stage, sheet);
    if stage.operations.is_empty() {
        sheet.line(&title, Tone::Strong, "nothing was measured");
        return;
    }
    let all = counted(stage);
    let mut parts = vec![length(stage.elapsed_s), loop_words(record, stage)];
    parts.push(rate_words(stage, record.nouns(), &all));
    parts.push(format!("{} ok", grouped(all.ok)));
    parts.push(match (all.failed(), all.unfinished) {
        (0, 0) => "none failed".to_owned(),
        (0, unfinished) => format!("{} unfinished", grouped(unfinished)),
        (failed, 0) => format!("{} failed ({})", grouped(failed), share(&all)),
        (failed, unfinished) => {
            let share = share(&all);
            let (failed, unfinished) = (grouped(failed), grouped(unfinished));
            format!("{failed} failed ({share}), {unfinished} unfinished")
        }
    });
    sheet.parts(&title, Tone::Strong, &parts);
    let indent = " ".repeat(title.chars().count());
    // One line each, so that no percentile appears below the name of another time.
    let mut times = vec![times_words("response", &all.response)];
    if differs(&all.response, &all.service) {
        times.push(times_words("service", &all.service));
    }
    for words in times.iter().filter(|words| !words.is_empty()) {
        sheet.parts(&indent, Tone::Plain, words);
    }
    for words in [estimates::parts(stage), estimates::steadiness(stage)] {
        if !words.is_empty() {
            sheet.parts(&indent, Tone::Plain, &words);
        }
    }
    let statuses = statuses(stage);
    if !statuses.is_empty() {
        sheet.parts(&indent, Tone::Plain, &statuses);
    }
}

fn share(all: &Merged) -> String {
    share_words(all.failed_share())
}

/// The kind of loop and, for an open one, what happened to the load that was not served.
fn loop_words(record: &RunRecord, stage: &StageRecord) -> String {
    let LoadRecord { open, offered_per_s, dropped, unsent, .. } = stage.load;
    if !open {
        let pause = record.plan_of(stage).and_then(StagePlan::mean_pause_ns);
        let thinks = pause.is_some_and(|ns| ns > 0);
        return if thinks { "closed loop with think time" } else { "closed loop" }.to_owned();
    }
    let mut words = match stage.rate_problem() {
        None => format!("open loop, {}/s offered", decimal(offered_per_s, 0)),
        Some(_) => "open loop".to_owned(),
    };
    for (count, what) in [(dropped, "dropped"), (unsent, "unsent")] {
        if count > 0 {
            words = format!("{words}, {} {what}", grouped(count));
        }
    }
    let opened = stage.load.pool.and_then(|pool| Some((pool.connections, pool.opened?)));
    if let Some((all, opened)) = opened {
        words = format!("{words}, {}", opened_words(all, &opened));
    }
    words
}

/// Connections that were opened under load, and how long that took.
fn opened_words(all: u64, opened: &OpenedRecord) -> String {
    let OpenedRecord { connections, refused, mean_ms, max_ms, last_s } = *opened;
    let mut words = format!("{} to {} connections", grouped(all - connections), grouped(all));
    if connections > 0 {
        let (last, mean, max) = (decimal(last_s, 1), decimal(mean_ms, 1), decimal(max_ms, 1));
        words = format!("{words} (until {last} s; {mean} ms to open one, {max} ms at most)");
    }
    if refused > 0 {
        words = format!("{words}, {} could not be opened", grouped(refused));
    }
    words
}

/// Times such as `response p50 0.9 ms`, with the statistics that every table has; empty: there are
/// no times.
fn times_words(name: &str, times: &Latency) -> Vec<String> {
    if times.samples == 0 {
        return Vec::new();
    }
    let figure = |it: Statistic| Some(format!("{} {} ms", it.name(), millis(it.of(times)?)));
    let mut words: Vec<String> = Statistic::shown(Shown::Always).filter_map(figure).collect();
    if let Some(first) = words.first_mut() {
        *first = format!("{name} {first}");
    }
    words
}

/// Whether the percentiles of two times differ visibly.
fn differs(response: &Latency, service: &Latency) -> bool {
    let pairs = [(response.p50_us, service.p50_us), (response.p99_us, service.p99_us)].into_iter();
    let apart = |(one, two): (Option<f64>, Option<f64>)| match (one, two) {
        (Some(one), Some(two)) => (one - two).abs() > one.max(two) * DIFFERS,
        _ => false,
    };
    pairs.into_iter().any(apart)
}

/// Responses per status over all kinds, most frequent first.
fn statuses(stage: &StageRecord) -> Vec<String> {
    let mut counts: BTreeMap<u16, u64> = BTreeMap::new();
    for operation in &stage.operations {
        for (&status, count) in &operation.statuses {
            *counts.entry(status).or_default() += count;
        }
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts
        .into_iter()
        .map(|(status, count)| format!("status {status}: {}", grouped(count)))
        .collect()
}

/// One row per kind of operation, after one of all together.
pub(super) fn table(stage: &StageRecord, sheet: &mut Sheet) {
    let statistics = Statistic::shown(Shown::Text);
    let mut names = vec!["response, ms", "ok/s", Count::Failed.title()];
    names.extend(statistics.clone().map(Statistic::name));
    let faint = |name: &&str| ((*name).to_owned(), Tone::Faint);
    let mut rows: Vec<Vec<Cell>> = vec![names.iter().map(faint).collect()];
    let all = stage.merged();
    let is_short = stage.rate_problem().is_some();
    let rate = |per_s: f64| {
        if is_short { "-".to_owned() } else { decimal(per_s, usize::from(per_s < 10.0)) }
    };
    if stage.requests().count() > 1 {
        let per_s = rate(all.throughput_per_s);
        rows.push(row("all", per_s, all.failed(), &all.response, Tone::Strong));
    }
    for operation in &stage.operations {
        let OperationSummary { kind, throughput_per_s, response, .. } = operation;
        let (per_s, failed) = (rate(*throughput_per_s), operation.failed());
        rows.push(row(kind.name(), per_s, failed, response, Tone::Plain));
    }
    let places = statistics.enumerate().map(|(place, it)| (BEFORE + place, it));
    let some = places.clone().filter(|(_, it)| it.is_wide());
    let mut spare: Vec<usize> = some.map(|(place, _)| place).collect();
    spare.push(FAILED);
    // Leaves out columns that are the same for all.
    if all.failed() == 0 && all.unfinished == 0 {
        spare.rotate_right(1);
    }
    let last = places.filter(|(_, it)| !it.is_wide() && it.percent().is_none());
    spare.extend(last.map(|(place, _)| place));
    sheet.table(&rows, &spare);
}

fn row(name: &str, rate: String, failed: u64, times: &Latency, tone: Tone) -> Vec<Cell> {
    let mut row = vec![(name.to_owned(), tone)];
    row.push((rate, tone));
    row.push((grouped(failed), if failed > 0 { Tone::Bad } else { tone }));
    for us in Statistic::shown(Shown::Text).map(|it| it.of(times)) {
        let none = if times.samples == 0 { "-" } else { "too few" };
        row.push(us.map_or_else(|| (none.to_owned(), Tone::Faint), |us| (millis(us), tone)));
    }
    row
}

/// What ran beside the load: probes and followers.
pub(super) fn beside(stage: &StageRecord, sheet: &mut Sheet) {
    let tone = |row: usize| if row == 0 { Tone::Faint } else { Tone::Plain };
    let cells = |(number, row): (usize, Vec<String>)| -> Vec<Cell> {
        row.into_iter().map(|cell| (cell, tone(number))).collect()
    };
    if sheet.look.verbose {
        // They have their own tables there.
        return;
    }
    for (_, rows) in beside::tables(stage) {
        sheet.gap();
        sheet.table(&rows.into_iter().enumerate().map(cells).collect::<Vec<_>>(), &[]);
    }
}

/// What was broken and mended, the phases, and the audits.
pub(super) fn drill(record: &RunRecord, stage: &StageRecord, sheet: &mut Sheet) {
    let lines = drill::lines(record, stage);
    if lines.is_empty() {
        return;
    }
    sheet.gap();
    for line in &lines {
        sheet.paragraph("  ", Tone::Plain, line, 4);
    }
    // The reasons for failures, in the last column, are given above, too.
    let why =
        |rows: &[nodes::NodeRow]| rows.first().map_or(0, |(_, row)| row.len().saturating_sub(1));
    if let Some(rows) = drill::phases(stage) {
        sheet.gap();
        let spare = [why(&rows), 2];
        toned_table(rows, &spare, sheet);
    }
    if let Some(rows) = drill::nodes(stage) {
        sheet.gap();
        let spare = [why(&rows)];
        toned_table(rows, &spare, sheet);
    }
    for rows in [drill::audits(record), drill::copies(record)].into_iter().flatten() {
        sheet.gap();
        toned_table(rows, &[], sheet);
    }
    if let Some(drill) = stage.drilled().filter(|_| sheet.look.verbose) {
        sheet.gap();
        sheet.paragraph("  ", Tone::Faint, &drill::note(drill), usize::MAX);
    }
}

/// The outcome of replication: its lag, and the response times without and with it.
pub(super) fn replication(record: &RunRecord, sheet: &mut Sheet) {
    // In a verbose report, it has its own section.
    let facts = replicated::facts(record);
    if sheet.look.verbose || facts.is_empty() {
        return;
    }
    sheet.gap();
    sheet.parts("", Tone::Plain, &facts);
    for rows in replicated::tables(record) {
        // Rates are less important than times.
        toned_table(rows.into_iter().map(|row| (false, row)).collect(), &[7, 8], sheet);
    }
}

/// A table whose first row is its header, with bad rows in their tone.
fn toned_table(rows: Vec<nodes::NodeRow>, spare: &[usize], sheet: &mut Sheet) {
    let cells = |(number, (bad, row)): (usize, (bool, Vec<String>))| {
        let tone = match (number, bad) {
            (0, _) => Tone::Faint,
            (_, true) => Tone::Bad,
            (_, false) => Tone::Plain,
        };
        row.into_iter().map(|text| (text, tone)).collect::<Vec<Cell>>()
    };
    let rows: Vec<_> = rows.into_iter().enumerate().map(cells).collect();
    sheet.table(&rows, spare);
}

/// One row per node, if there are several.
pub(super) fn nodes(stage: &StageRecord, sheet: &mut Sheet) {
    // In a verbose report, they have their own table.
    let Some(rows) = nodes::rows(stage).filter(|_| !sheet.look.verbose) else { return };
    sheet.gap();
    toned_table(rows, &[6, 4, 1], sheet);
}

/// How the workers of a burst started, and the agents.
pub(super) fn start(record: &RunRecord, stage: &StageRecord, sheet: &mut Sheet) {
    // In a verbose report, they are next to their tables.
    if sheet.look.verbose {
        return;
    }
    let workers = start_line(stage).into_iter();
    let agents = agents::parts(record, stage).into_iter().flat_map(|(lines, _)| lines);
    for line in workers.chain(agents) {
        sheet.paragraph("  ", Tone::Plain, &line, 3);
    }
}
