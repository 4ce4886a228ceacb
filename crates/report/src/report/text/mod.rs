//! The report for people: the result of the run first, then the reasons, in 24 lines for a usual
//! run.

mod saved;
mod sheet;
mod spark;
mod stage;
mod trend;

use super::detail;
use super::failures::failures;
use super::headline::headline;
use super::look::Look;
use super::number::decimal;
use super::story::{Event, lines as story_lines, story};
use super::threshold::requirements;
use super::words::{
    Standing, database, place, result_line, standing, trust_lines, verdict_words, warning_lines,
};
use super::{Format, Render, agents, beside, estimates, nodes, observed, replicated};
use crate::plan::{Purpose, stage_title};
use crate::record::{Code, ResultKind, RunRecord, StageRecord, Verdict, Warning};
pub use saved::{SavedRow, saved_text};
use sheet::{Sheet, Tone};
pub use trend::trend_text;

pub(super) const FORMAT: Format = Format {
    name: "text",
    summary: "text for people",
    endings: &["txt"],
    render: Render::Text(render),
};

/// The most lines for events, and for failures.
const MOST_LINES: usize = 4;
/// The most lines of a warning.
const WARNING_LINES: usize = 2;

fn render(record: &RunRecord, look: Look) -> String {
    let mut sheet = Sheet::new(look);
    let result = headline(record);
    let lead = format!("{} {}", result.mark(), result.name());
    sheet.line(&lead, tone(result.kind), &format!("  {}", result.words));
    sheet.gap();
    head(record, &mut sheet);
    let main = record.main_stage();
    let is_main = |stage: &StageRecord| main.is_some_and(|main| std::ptr::eq(main, stage));
    for stage in &record.stages {
        if is_main(stage) {
            stage::figures(record, stage, &mut sheet);
        } else if stage.purpose() == Purpose::Audit && audits_have_rows(record) {
            // Each audit has a row below.
        } else if look.verbose || !stage.is_preparation() || stage.purpose().is_news() {
            stage::in_short(record, stage, &mut sheet);
        }
    }
    happened(record, &mut sheet);
    for line in observed::lines(record) {
        sheet.paragraph("  ~ ", Tone::Plain, &line, WARNING_LINES);
    }
    failed(record, &mut sheet);
    judged(record, &mut sheet);
    if let Some(stage) = main.filter(|stage| !stage.operations.is_empty()) {
        sheet.gap();
        stage::table(stage, &mut sheet);
        stage::nodes(stage, &mut sheet);
        stage::drill(record, stage, &mut sheet);
        sheet.gap();
        spark::lines(stage, record.nouns(), &mut sheet);
        stage::start(record, stage, &mut sheet);
        stage::beside(stage, &mut sheet);
    }
    stage::replication(record, &mut sheet);
    if look.verbose {
        details(record, &mut sheet);
    }
    sheet.gap();
    warnings(record, &mut sheet);
    trust(record, &mut sheet);
    sheet.paragraph("", Tone::Plain, &result_line(record), usize::MAX);
    sheet.finish()
}

/// Whether audits are rows of a table.
fn audits_have_rows(record: &RunRecord) -> bool {
    record.main_stage().is_some_and(|stage| stage.drill.is_some())
}

/// The result of a run in one line with this look, and where it is saved.
pub fn one_line(record: &RunRecord, saved: &str, look: Look) -> String {
    let mut sheet = Sheet::new(Look { width: usize::MAX, ..look });
    let result = headline(record);
    let lead = format!("{} {}", result.mark(), result.name());
    let saved = if saved.is_empty() { String::new() } else { format!(" · {saved}") };
    sheet.line(&lead, tone(result.kind), &format!("  {}{saved}", result.words));
    sheet.finish()
}

const fn tone(kind: ResultKind) -> Tone {
    match kind {
        ResultKind::Passed => Tone::Good,
        ResultKind::Failed => Tone::Bad,
        ResultKind::NotTrustworthy | ResultKind::Stopped => Tone::Doubtful,
        ResultKind::Running => Tone::Plain,
    }
}

/// What was measured, and with what.
fn head(record: &RunRecord, sheet: &mut Sheet) {
    let (server, environment, plan) = (&record.server, &record.environment, &record.plan);
    let count =
        |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let crew = agents::crew(record);
    let each = if crew.is_some() { " each" } else { "" };
    let threads = count(plan.threads, "thread");
    let mut parts: Vec<String> = plan.label.clone().into_iter().collect();
    parts.push(place(server));
    parts.push(match crew {
        Some(crew) => {
            format!("{} on {crew}, {threads}{each}", count(plan.connections, "connection"))
        }
        None => format!("{} on {threads}", count(plan.connections, "connection")),
    });
    if !server.database.is_empty() && (sheet.look.verbose || !server.deleted) {
        let place = record.nouns().place;
        parts.push(format!("{place} {}", database(record)));
    }
    if sheet.look.verbose {
        if !plan.ids.is_sequential() {
            parts.push(format!("ids {}", plan.ids));
        }
        parts.push(format!("seed {}", plan.seed));
        parts.push(record.started_at.clone());
        parts.push(format!(
            "{} {}, {} cores",
            environment.system, environment.architecture, environment.cores
        ));
        parts.push(format!("springload {}", environment.springload));
    }
    sheet.parts("", Tone::Plain, &parts);
    if let Some(calibration) = environment.calibration.filter(|_| sheet.look.verbose) {
        let parts = [
            format!("calibration: clock {} ns", decimal(calibration.clock_ns, 0)),
            format!("sleep overshoot {} µs (p50)", decimal(calibration.timer_late_p50_us, 0)),
            format!("loop {} ns", decimal(calibration.loop_ns, 0)),
            format!("at most {}/s", decimal(calibration.ceiling_per_s, 0)),
        ];
        sheet.parts("", Tone::Plain, &parts);
    }
}

/// What happened and when, most important first; events of other stages are prefixed with the
/// stage's title.
fn happened(record: &RunRecord, sheet: &mut Sheet) {
    let events = story(record);
    let main = record.main_stage().map(|stage| stage.name.as_str());
    let mut lines: Vec<String> = Vec::new();
    for (number, stage) in record.stages.iter().enumerate().rev() {
        let of_stage: Vec<&Event> = events.iter().filter(|it| it.stage == number).collect();
        let title = match main {
            Some(name) if name == stage.name => String::new(),
            _ => format!("{}, ", stage.title()),
        };
        let stage_lines = story_lines(record, &of_stage, sheet.look.verbose);
        lines.extend(stage_lines.into_iter().map(|line| title.clone() + &line));
    }
    let most = if sheet.look.verbose { usize::MAX } else { MOST_LINES };
    for line in lines.iter().take(most) {
        sheet.paragraph("  ! ", Tone::Doubtful, line, WARNING_LINES);
    }
    if lines.len() > most {
        let more = format!("{} more with --verbose", lines.len() - most);
        sheet.line("    ", Tone::Plain, &more);
    }
}

/// Failures of the measured stages, most frequent first.
fn failed(record: &RunRecord, sheet: &mut Sheet) {
    let verbose = sheet.look.verbose;
    for stage in record.measured() {
        let failed = failures(stage.requests());
        let most = if verbose { usize::MAX } else { MOST_LINES };
        for one in failed.iter().take(most) {
            if verbose {
                sheet.paragraph("  ✗ ", Tone::Bad, &one.words(), usize::MAX);
            } else {
                sheet.line("  ✗ ", Tone::Bad, &one.words());
            }
        }
        if let Some(rest) = failed.get(most..).filter(|rest| !rest.is_empty()) {
            let count: u64 = rest.iter().map(|one| one.count).sum();
            let classes = rest.len();
            let more = format!("{count} more of {classes} other kinds, with --verbose");
            sheet.line("    ", Tone::Plain, &more);
        }
    }
}

/// The requirements of the run, and whether it met them.
fn judged(record: &RunRecord, sheet: &mut Sheet) {
    for requirement in requirements(record) {
        let lead = format!("  {} ", requirement.mark());
        let tone = if requirement.met { Tone::Good } else { Tone::Bad };
        sheet.paragraph(&lead, tone, &requirement.words(), WARNING_LINES);
    }
}

/// All figures of all stages.
fn details(record: &RunRecord, sheet: &mut Sheet) {
    for stage in &record.stages {
        let mut out = String::new();
        detail::stage(stage, record.nouns(), &mut out);
        estimates::section(stage, &mut out);
        beside::section(stage, &mut out);
        super::burst::section(record, stage, &mut out);
        agents::section(record, stage, &mut out);
        nodes::section(stage, &mut out);
        sheet.gap();
        sheet.block(&out);
    }
    let mut out = String::new();
    replicated::section(record, &mut out);
    if !out.is_empty() {
        sheet.gap();
        sheet.block(&out);
    }
}

/// Warnings, except those covered elsewhere; a verbose report has all of them.
fn warnings(record: &RunRecord, sheet: &mut Sheet) {
    if sheet.look.verbose {
        for line in warning_lines(record) {
            sheet.paragraph("! ", Tone::Doubtful, &line, usize::MAX);
        }
        return;
    }
    for warning in record.warnings.iter().filter(|it| !is_covered(record, it)) {
        let words = match warning.code {
            Code::StandIn => {
                let own = record.server.own().unwrap_or("stand-in");
                format!("{own}: these numbers say nothing about CouchDB")
            }
            Code::DebugBuild => "springload was built without optimization".to_owned(),
            _ => warning.message.clone(),
        };
        let stage = warning.stage.as_ref().map(|stage| stage_title(stage) + ": ");
        let line = stage.unwrap_or_default() + &words;
        // Anything that has to be cleaned up is shown in full.
        let most = if warning.code == Code::NotRemoved { usize::MAX } else { WARNING_LINES };
        sheet.paragraph("! ", Tone::Doubtful, &line, most);
    }
}

/// Whether the rest of the report covers a warning.
fn is_covered(record: &RunRecord, warning: &Warning) -> bool {
    let result = record.result().reason.unwrap_or_default();
    let measured = |name: &String| record.measured().any(|stage| stage.name == *name);
    let pauses = || story(record).iter().any(|it| it.kind == super::story::EventKind::Pause);
    match warning.code {
        Code::Partial => true,
        // Covered by the events, the failures and the trust line.
        Code::Failures
        | Code::Outage
        | Code::Degraded
        | Code::NotSustained
        | Code::BoundByConnections => warning.stage.as_ref().is_some_and(measured),
        Code::ClientPaused => pauses(),
        _ => result.contains(&warning.message),
    }
}

/// Whether the numbers can be trusted: those of the main stage, and those of other stages only if
/// they cannot.
fn trust(record: &RunRecord, sheet: &mut Sheet) {
    if sheet.look.verbose {
        for line in trust_lines(record) {
            sheet.paragraph("trust: ", Tone::Faint, &line, usize::MAX);
        }
        return;
    }
    let main = record.main_stage();
    for stage in record.measured() {
        let is_main = main.is_some_and(|main| std::ptr::eq(main, stage));
        if is_main {
            let mut parts = vec![verdict_words(record, stage)];
            let client = &stage.client;
            if stage.verdict != Verdict::Unfinished {
                parts.push(format!("client CPU {} %", decimal(client.busiest_thread * 100.0, 0)));
            }
            if let Some(us) = client.lag_p99_us.filter(|_| stage.load.open) {
                parts.push(format!("lag p99 {} ms", super::number::millis(us)));
            }
            sheet.parts("trust: ", Tone::Faint, &parts);
        } else if matches!(standing(record, stage), Standing::Fair | Standing::Bad) {
            let words = format!("{}: {}", stage.title(), verdict_words(record, stage));
            sheet.paragraph("trust: ", Tone::Faint, &words, usize::MAX);
        }
    }
}
