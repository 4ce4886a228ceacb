//! Texts about a run that all reports for people share.

use super::number::{decimal, grouped, millis};
use crate::plan::{StagePlan, stage_title};
use crate::record::{LoadRecord, RunRecord, ServerRecord, StageRecord, Verdict};

pub(super) fn capital(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map_or_else(String::new, |first| first.to_uppercase().chain(rest).collect())
}

/// The server that was measured.
pub(super) fn place(server: &ServerRecord) -> String {
    if server.url.is_empty() {
        "no server: every operation succeeds at once".to_owned()
    } else if server.stand_in {
        "embedded stand-in, in this process".to_owned()
    } else {
        let name = format!("{} {}", server.name, server.version);
        format!("{} at {}", name.trim_end(), server.url)
    }
}

/// The name of the database, or all of many, and what happened to it.
pub(super) fn database(record: &RunRecord) -> String {
    let (server, many) = (&record.server, record.plan.target.databases());
    let name = many.map_or_else(|| server.database.clone(), |it| it.called(&server.database));
    format!("{name} ({})", fate(server))
}

/// Whether this run created and removed the database.
const fn fate(server: &ServerRecord) -> &'static str {
    match (server.created, server.deleted) {
        (true, true) => "created and removed by this run",
        (true, false) => "created by this run, kept",
        (false, _) => "existed before, kept",
    }
}

/// The kind of loop of a stage, and the load of an open one.
pub(super) fn loop_words(load: &LoadRecord) -> String {
    if !load.open {
        return "closed loop".to_owned();
    }
    format!(
        "open loop · offered {}/s · served {}/s · dropped {} · unsent {}",
        decimal(load.offered_per_s, 0),
        decimal(load.served_per_s, 0),
        grouped(load.dropped),
        grouped(load.unsent),
    )
}

/// The warnings, each prefixed by the stage that it is about.
pub(super) fn warning_lines(record: &RunRecord) -> impl Iterator<Item = String> {
    record.warnings.iter().map(|warning| {
        let stage = warning
            .stage
            .as_ref()
            .map_or(String::new(), |stage| format!("{}: ", stage_title(stage)));
        format!("{stage}{}", warning.message)
    })
}

/// The result line, the same in every format.
pub(super) fn result_line(record: &RunRecord) -> String {
    format!("result: {}", record.result().words())
}

/// How good a stage's numbers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    Good,
    /// They depend on the length of the run.
    Fair,
    Bad,
    /// There is too little to judge.
    Unknown,
}

/// How good a stage's numbers are, by its verdict and its failures.
pub(super) fn standing(record: &RunRecord, stage: &StageRecord) -> Standing {
    match stage.verdict {
        Verdict::ClientBound { .. } | Verdict::Degraded { .. } | Verdict::AgentsLost { .. } => {
            Standing::Bad
        }
        Verdict::Drilled if is_invalid(record, stage) => Standing::Bad,
        _ if record.failing(stage) => Standing::Bad,
        Verdict::NotSustained { .. } | Verdict::BoundByConnections { .. } => Standing::Fair,
        Verdict::Empty | Verdict::TooShort | Verdict::Unfinished => Standing::Unknown,
        Verdict::Sustained | Verdict::Closed if !record.lost_by(stage).is_empty() => Standing::Fair,
        Verdict::Sustained | Verdict::Closed | Verdict::Drilled => Standing::Good,
    }
}

/// A stage's verdict in a few words; if it is trustworthy but too many operations failed, the
/// failures. Then how many agents were lost.
pub(super) fn verdict_words(record: &RunRecord, stage: &StageRecord) -> String {
    let (lost, of) = (record.lost_by(stage).len(), record.agents.len());
    let words = words_of_verdict(record, stage);
    if lost == 0 { words } else { format!("{words} · {lost} of {of} agents lost") }
}

fn words_of_verdict(record: &RunRecord, stage: &StageRecord) -> String {
    let words = trusted_words(record, stage);
    if !(stage.verdict.trustworthy() && record.failing(stage)) {
        return words.to_owned();
    }
    let (failed, issued) = stage.requests().fold((0, 0), |(failed, issued), operation| {
        (failed + operation.failed(), issued + operation.issued)
    });
    format!("{} of {} operations failed", grouped(failed), grouped(issued))
}

fn trusted_words(record: &RunRecord, stage: &StageRecord) -> &'static str {
    match stage.verdict {
        Verdict::Empty => "nothing measured",
        Verdict::ClientBound { .. } => "client-bound",
        Verdict::Degraded { .. } | Verdict::AgentsLost { .. } => "degraded",
        Verdict::NotSustained { .. } => "not sustained",
        Verdict::BoundByConnections { .. } => "bound by its connections",
        Verdict::Sustained => "sustained",
        Verdict::Drilled if is_invalid(record, stage) => {
            "not valid (not broken or mended as planned)"
        }
        Verdict::Drilled => "valid by phase (broken on purpose)",
        Verdict::TooShort => "too short to judge",
        Verdict::Unfinished => "unfinished",
        Verdict::Closed if !record.plan.target.card().server => {
            "valid (no server: measures springload's own cost)"
        }
        Verdict::Closed if thinks(record, stage) => "valid (closed loop with think time)",
        Verdict::Closed => "valid (closed loop: the server set the pace)",
    }
}

/// Whether the drill of this stage did not break or mend what it should have.
fn is_invalid(record: &RunRecord, stage: &StageRecord) -> bool {
    record.invalid_drill().is_some_and(|(it, _)| std::ptr::eq(it, stage))
}

/// Whether connections paused between operations.
fn thinks(record: &RunRecord, stage: &StageRecord) -> bool {
    let plan = record.plan_of(stage);
    plan.and_then(StagePlan::mean_pause_ns).is_some_and(|pause_ns| pause_ns > 0)
}

/// Whether each measured stage can be trusted, and why. Every format but siege-json has it.
pub(super) fn trust_lines(record: &RunRecord) -> impl Iterator<Item = String> {
    record.measured().map(|stage| trust_line(record, stage))
}

/// Whether a stage can be trusted, and why.
pub(super) fn trust_line(record: &RunRecord, stage: &StageRecord) -> String {
    let unfinished: u64 = stage.requests().map(|operation| operation.unfinished).sum();
    let drained = if unfinished == 0 {
        "all in flight drained".to_owned()
    } else {
        format!("{} unfinished", grouped(unfinished))
    };
    if stage.verdict == Verdict::Unfinished {
        return format!("{} · {}", stage.title(), verdict_words(record, stage));
    }
    let lag = stage.client.lag_p99_us.map_or("n/a".to_owned(), |us| millis(us) + " ms");
    format!(
        "{} · lag p99 {lag} · client CPU {:.0} % ({} µs per request) · {drained} · \
         dropped {} · {}",
        stage.title(),
        stage.client.busiest_thread * 100.0,
        decimal(stage.client.cpu_per_request_us, 2),
        grouped(stage.load.dropped),
        verdict_words(record, stage),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::OpKind;
    use crate::record::{DrillRecord, DrillStep, fixture};
    use crate::report::Look;

    #[test]
    fn a_drill_that_broke_nothing_is_not_called_valid() {
        let words = |problem: Option<&str>| {
            let mut record = fixture::record(&[]);
            let step = |from_s: f64| DrillStep { from_s, to_s: from_s, ..DrillStep::default() };
            let stop = DrillStep { problem: problem.map(str::to_owned), ..step(0.5) };
            let stage = fixture::crud(&mut record);
            *stage = fixture::stage("crud", vec![(0, OpKind::Read, fixture::part(100, 0))]);
            stage.drill = Some(DrillRecord { stop: Some(stop), start: Some(step(1.5)) });
            stage.verdict = Verdict::Drilled;
            let stage = record.stages.iter().find(|it| it.drill.is_some()).unwrap();
            (verdict_words(&record, stage), standing(&record, stage))
        };
        let valid = "valid by phase (broken on purpose)".to_owned();
        assert_eq!(words(None), (valid, Standing::Good));
        let invalid = "not valid (not broken or mended as planned)".to_owned();
        assert_eq!(words(Some("--maintenance: forbidden")), (invalid, Standing::Bad));
    }

    #[test]
    fn formats_say_whether_to_believe_the_numbers() {
        let record = fixture::record(&[]);
        let lines: Vec<_> = trust_lines(&record).collect();
        assert!(!lines.is_empty());
        // Siege's JSON has only siege's keys, and there are no agents here.
        let silent = ["siege-json", "agents-csv"];
        for format in super::super::FORMATS.iter().filter(|it| !silent.contains(&it.name)) {
            let look = Look { verbose: true, ..Look::default() };
            let records = std::slice::from_ref(&record);
            let Ok(bytes) = format.render_as(records, None, look) else { continue };
            let Ok(rendered) = String::from_utf8(bytes) else { continue };
            // The text format wraps its lines.
            let rendered = rendered.split_whitespace().collect::<Vec<_>>().join(" ");
            for (line, stage) in lines.iter().zip(record.measured()) {
                let said = rendered.contains(line) || rendered.contains(stage.verdict.name());
                assert!(said, "{}: {line}", format.name);
            }
        }
    }
}
