//! What every report for people says of a run in the same words.

use super::number::{decimal, grouped, millis};
use crate::plan::{StagePlan, stage_title};
use crate::record::{LoadRecord, RunRecord, ServerRecord, StageRecord, Verdict};

/// What was measured, and where it is.
pub(super) fn place(server: &ServerRecord) -> String {
    if server.url.is_empty() {
        "no server: all is answered at once".to_owned()
    } else if server.stand_in {
        "embedded stand-in, in this process".to_owned()
    } else {
        format!("{} {} at {}", server.name, server.version, server.url)
    }
}

/// What became of the database.
pub(super) const fn fate(server: &ServerRecord) -> &'static str {
    match (server.created, server.deleted) {
        (true, true) => "made and removed by this run",
        (true, false) => "made by this run, kept",
        (false, _) => "existed before, kept",
    }
}

/// Which loop a stage ran in, and what became of what fell due.
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

/// The warnings, each after the stage that it is about.
pub(super) fn warning_lines(record: &RunRecord) -> impl Iterator<Item = String> {
    record.warnings.iter().map(|warning| {
        let stage = warning
            .stage
            .as_ref()
            .map_or(String::new(), |stage| format!("{}: ", stage_title(stage)));
        format!("{stage}{}", warning.message)
    })
}

/// What the run came to: the line that every format has.
pub(super) fn result_line(record: &RunRecord) -> String {
    format!("result: {}", record.result().words())
}

/// What is to be thought of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    Good,
    /// Its numbers depend on the length of the run.
    Fair,
    Bad,
    /// There is too little to tell.
    Unknown,
}

/// What is to be thought of a stage, by its verdict and by what failed.
pub(super) fn standing(record: &RunRecord, stage: &StageRecord) -> Standing {
    match stage.verdict {
        Verdict::ClientBound { .. } | Verdict::Degraded { .. } => Standing::Bad,
        _ if record.failing(stage) => Standing::Bad,
        Verdict::NotSustained { .. } => Standing::Fair,
        Verdict::Empty | Verdict::TooShort => Standing::Unknown,
        Verdict::Sustained | Verdict::Closed => Standing::Good,
    }
}

/// A stage's verdict, in a few words: where its numbers can be believed, but tell of little but
/// failures, that.
pub(super) fn verdict_words(record: &RunRecord, stage: &StageRecord) -> String {
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
        Verdict::ClientBound { .. } => "client-bound, result not valid",
        Verdict::Degraded { .. } => "degraded, result not valid",
        Verdict::NotSustained { .. } => "not sustained",
        Verdict::Sustained => "sustained",
        Verdict::TooShort => "too short to judge",
        Verdict::Closed if !record.plan.target.card().server => {
            "valid (no server: what springload itself costs)"
        }
        Verdict::Closed if thinks(record, stage) => "valid (closed loop with think time)",
        Verdict::Closed => "valid (closed loop: the server set the pace)",
    }
}

/// Whether connections paused between operations.
fn thinks(record: &RunRecord, stage: &StageRecord) -> bool {
    let plan = record.plan_of(stage);
    plan.and_then(StagePlan::mean_pause_ns).is_some_and(|pause_ns| pause_ns > 0)
}

/// For each measured stage whether to believe it, and why. Every format but siege-json carries it.
pub(super) fn trust_lines(record: &RunRecord) -> impl Iterator<Item = String> {
    record.measured().map(|stage| trust_line(record, stage))
}

/// Whether to believe a stage, and why.
pub(super) fn trust_line(record: &RunRecord, stage: &StageRecord) -> String {
    let unfinished: u64 = stage.requests().map(|operation| operation.unfinished).sum();
    let drained = if unfinished == 0 {
        "all in flight drained".to_owned()
    } else {
        format!("{} unfinished", grouped(unfinished))
    };
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
    use crate::record::fixture;

    #[test]
    fn formats_say_whether_to_believe_the_numbers() {
        let record = fixture::record(&[]);
        let lines: Vec<_> = trust_lines(&record).collect();
        assert!(!lines.is_empty());
        // Siege's JSON has siege's keys and no others.
        for format in super::super::FORMATS.iter().filter(|it| it.name != "siege-json") {
            let Ok(bytes) = format.render(std::slice::from_ref(&record), None) else { continue };
            let Ok(rendered) = String::from_utf8(bytes) else { continue };
            for (line, stage) in lines.iter().zip(record.measured()) {
                let said = rendered.contains(line) || rendered.contains(stage.verdict.name());
                assert!(said, "{}: {line}", format.name);
            }
        }
    }
}
