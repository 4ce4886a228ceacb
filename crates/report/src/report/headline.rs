//! The result of a run in one line: its mark, its name, and the most useful information in a few
//! words.

use super::burst::counted;
use super::drill;
use super::failures::{Failed, failures};
use super::number::{decimal, grouped, millis};
use super::threshold::requirements;
use crate::measure::{Latency, Merged, OperationSummary, Statistic, Wire};
use crate::op::OpKind;
use crate::plan::{Nouns, Purpose};
use crate::record::{
    Cause, EndedBy, Hindrance, ResultKind, RunRecord, StageRecord, Verdict, away_in_all_words,
    bound_words,
};
use std::time::{Duration, SystemTime};
use time::OffsetDateTime;
use time::macros::format_description;

/// The result of a run in one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Headline {
    /// The kind of result.
    pub kind: ResultKind,
    /// The most useful information in a few words: the rate, times and errors of a run that passed,
    /// otherwise what went wrong. One line, but of any length.
    pub words: String,
}

/// The headline of a run.
pub fn headline(record: &RunRecord) -> Headline {
    let result = record.result();
    if let Some(at_ns) = record.seen_running_ns.filter(|_| result.kind == ResultKind::Running) {
        return Headline { kind: result.kind, words: running_words(record, at_ns) };
    }
    // A stored result may follow another version's rules.
    let cause = record.cause();
    let words = match cause {
        None if result.kind == ResultKind::Passed => passed_words(record),
        Some(cause) => cause_words(record, cause).filter(|_| result.kind != ResultKind::Passed),
        None => None,
    };
    let words = words.or(result.reason).unwrap_or_else(|| figures_words(record));
    Headline { kind: result.kind, words }
}

impl Headline {
    /// The mark of the result: `✓`, `✗`, `!`, `■`, or `→` for a run still going on.
    pub const fn mark(&self) -> char {
        match self.kind {
            ResultKind::Passed => '✓',
            ResultKind::Failed => '✗',
            ResultKind::NotTrustworthy => '!',
            ResultKind::Stopped => '■',
            ResultKind::Running => '→',
        }
    }

    /// The name of the result in capitals, such as `FAILED`.
    pub const fn name(&self) -> &'static str {
        match self.kind {
            ResultKind::Passed => "PASSED",
            ResultKind::Failed => "FAILED",
            ResultKind::NotTrustworthy => "NOT TRUSTWORTHY",
            ResultKind::Stopped => "STOPPED",
            ResultKind::Running => "RUNNING",
        }
    }

    /// The headline as a line, such as `✗ FAILED  read p99 640 ms, limit 50 ms`.
    pub fn line(&self) -> String {
        format!("{} {}  {}", self.mark(), self.name(), self.words)
    }
}

/// How long a run has been going on, the time of that reading, and its figures so far.
fn running_words(record: &RunRecord, at_ns: u64) -> String {
    let at = SystemTime::UNIX_EPOCH + Duration::from_nanos(at_ns);
    let past = at.duration_since(record.began()).unwrap_or_default();
    let time = OffsetDateTime::from(at).format(format_description!("[hour]:[minute]:[second]"));
    let measured = record.main_stage().is_some_and(|it| !it.operations.is_empty());
    let figures = if measured { figures_words(record) } else { "nothing is measured".to_owned() };
    let time = time.unwrap_or_default();
    format!("for {}, as of {time} UTC · so far {figures}", age(past.as_secs()))
}

/// A time in its two largest units, such as `2 min 5 s`.
fn age(seconds: u64) -> String {
    match (seconds / 3_600, seconds / 60 % 60, seconds % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, min, s) => format!("{min} min {s} s"),
        (h, min, _) => format!("{} h {min} min", grouped(h)),
    }
}

fn passed_words(record: &RunRecord) -> Option<String> {
    let main = record.main_stage();
    if let Some(words) = main.and_then(|stage| drill::headline(record, stage)) {
        return Some(words);
    }
    main.map(|_| figures_words(record)).or_else(|| audit_words(record))
}

/// What an audit judged: documents that were or may have been written, and their rows in indexes.
/// It also looked for others, but there is nothing to say of those that were rightly not there.
pub(super) fn looked_for(
    stage: &StageRecord,
    nouns: Nouns,
    verified: Option<&OperationSummary>,
) -> String {
    let count = verified.map_or(0, OperationSummary::looked_for);
    let indexes = stage.operations.iter().any(|it| it.kind == OpKind::IndexAudit);
    let (count, many) = (grouped(count), nouns.many);
    if indexes { format!("{count} {many} and index rows") } else { format!("{count} {many}") }
}

/// What an audit found, if there was one.
pub(super) fn audit_words(record: &RunRecord) -> Option<String> {
    let audits = |stage: &&StageRecord| stage.purpose() == Purpose::Audit;
    let stage = record.stages.iter().find(audits)?;
    let verified = stage.operations.iter().find(|it| it.kind == OpKind::Verify);
    let documents = looked_for(stage, record.nouns(), verified);
    let wrong = verified.into_iter().flat_map(|it| &it.failures);
    let wrong = wrong.map(|(class, count)| format!("{} {}", grouped(*count), class.words()));
    let wrong = wrong.collect::<Vec<_>>().join(", ");
    let judged = match &wrong[..] {
        "" => format!("{documents}, all as acknowledged"),
        wrong => format!("{documents}, of which {wrong}"),
    };
    let left_open = verified.map(unconfirmed_words).unwrap_or_default();
    Some([vec![judged], left_open].concat().join("; "))
}

/// What an audit found out about writes that were neither acknowledged nor refused, such as
/// `failed: 10,500, of which 220 were carried out`.
pub(super) fn unconfirmed_words(verified: &OperationSummary) -> Vec<String> {
    let Wire { carried_out, not_carried_out, .. } = verified.wire;
    let Wire { failed_carried_out, failed_not_carried_out, .. } = verified.wire;
    let kinds = [
        ("failed", failed_carried_out, failed_not_carried_out),
        ("unanswered", carried_out, not_carried_out),
    ];
    let words = |(kind, done, not): (&str, u64, u64)| {
        let all = done + not;
        let were = if done == 1 { "was" } else { "were" };
        let (all_words, done) = (grouped(all), grouped(done));
        (all > 0).then(|| format!("{kind}: {all_words}, of which {done} {were} carried out"))
    };
    kinds.into_iter().filter_map(words).collect()
}

/// Rate, times and errors of the main stage.
fn figures_words(record: &RunRecord) -> String {
    let Some(stage) = record.main_stage().filter(|stage| !stage.operations.is_empty()) else {
        return "nothing was measured".to_owned();
    };
    let all = counted(stage);
    let rate = stage.rate_problem().unwrap_or_else(|| rate_words(stage, record.nouns(), &all));
    let parts = [Some(rate), time_words(&all.response), Some(error_words(&all))];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// The rate in words, such as `1,234 ops/s`, or `docs/s` for a fill; or that there is none.
pub(in crate::report) fn rate_words(stage: &StageRecord, nouns: Nouns, all: &Merged) -> String {
    if stage.rate_problem().is_some() {
        return "too short for a rate".to_owned();
    }
    let per_s = all.throughput_per_s;
    let places = usize::from(per_s < 100.0);
    format!("{} {}/s", decimal(per_s, places), unit(stage, nouns))
}

/// The unit of a stage's counts: `ops`; for a fill, a word such as `docs` or `rows`; or
/// `databases`.
pub(in crate::report) fn unit(stage: &StageRecord, nouns: Nouns) -> &'static str {
    if stage.purpose() == Purpose::Databases {
        return "databases";
    }
    let bulk = stage.requests().any(|operation| operation.kind == OpKind::BulkInsert);
    if bulk { nouns.short } else { "ops" }
}

/// The highest percentile with enough samples, or else the maximum; `None`: nothing succeeded.
pub(in crate::report) fn time_words(times: &Latency) -> Option<String> {
    let (leading, us) = Statistic::leading(|it| it.of(times))?;
    Some(format!("{} {} ms", leading.name(), millis(us)))
}

/// The errors in words, such as `none failed` or `0.3 % failed`.
pub(in crate::report) fn error_words(all: &Merged) -> String {
    if all.failed() == 0 {
        return "none failed".to_owned();
    }
    format!("{} failed", share_words(all.failed_share()))
}

/// A share in percent, never rounded to 0 % or 100 %.
pub(in crate::report) fn share_words(share: f64) -> String {
    let percent = share * 100.0;
    let places = match percent {
        it if !(1.0..99.95).contains(&it) => 2,
        it if it >= 10.0 => 0,
        _ => 1,
    };
    match percent {
        it if it >= 100.0 => "100 %".to_owned(),
        it if it > 99.99 => ">99.99 %".to_owned(),
        it if it < 0.01 => "<0.01 %".to_owned(),
        it => format!("{} %", decimal(it, places)),
    }
}

/// What went wrong in a few words; `None`: the result's reason is short enough.
fn cause_words(record: &RunRecord, cause: Cause<'_>) -> Option<String> {
    Some(match cause {
        Cause::Ended(ended) => {
            let ended = ended?;
            if ended.by != EndedBy::User {
                return None;
            }
            let after = format!("after {} s", decimal(ended.at_s, 1));
            let measured = record.main_stage().is_some_and(|it| !it.operations.is_empty());
            if measured { format!("{after} · {}", figures_words(record)) } else { after }
        }
        Cause::NotLoaded(left_out) => {
            let why = why(left_out.stage).map_or_else(String::new, |why| format!(": {why}"));
            left_out.words() + &why
        }
        Cause::NoneOk(stage) => {
            let why = why(stage).unwrap_or_else(|| "no answer".to_owned());
            format!("{}no operation succeeded: {why}", of_stage(record, stage))
        }
        Cause::Left | Cause::DataWrong(_) | Cause::Drill(_) | Cause::NotReplicated => return None,
        Cause::AgentsLost => {
            let lost: Vec<_> = record.agents.iter().filter_map(|it| it.lost.as_ref()).collect();
            let first = lost.first()?;
            let of = record.agents.len();
            if lost.len() == 1 {
                let one = record.agents.iter().find(|agent| agent.lost.is_some())?;
                return Some(format!("agent {} of {of} lost: {}", one.index, first.why));
            }
            format!("{} of {} agents lost: {}", lost.len(), of, first.why)
        }
        Cause::Doubtful(stage) => {
            format!("{}{}", of_stage(record, stage), doubt_words(stage)?)
        }
        Cause::Threshold | Cause::Regression => {
            let missed: Vec<_> = requirements(record).filter(|it| !it.met).collect();
            let more = match missed.len() {
                0 | 1 => String::new(),
                count => format!(" · and {} more missed", count - 1),
            };
            missed.first()?.missed_words() + &more
        }
        Cause::Failures(stage) if stage.drill.is_some() => return None,
        Cause::Failures(stage) => {
            let all = stage.merged();
            let why = why(stage).map_or_else(String::new, |why| format!(": {why}"));
            format!("{}{}{why}", of_stage(record, stage), error_words(&all))
        }
    })
}

/// The most frequent failure of a stage.
fn why(stage: &StageRecord) -> Option<String> {
    failures(stage.requests()).first().map(Failed::why)
}

/// The title of a stage, unless it is the main one.
fn of_stage(record: &RunRecord, stage: &StageRecord) -> String {
    let main = record.main_stage().is_some_and(|main| std::ptr::eq(main, stage));
    if main { String::new() } else { format!("{}: ", stage.title()) }
}

fn doubt_words(stage: &StageRecord) -> Option<String> {
    Some(match stage.verdict {
        Verdict::Empty => "nothing was measured".to_owned(),
        Verdict::ClientBound { busiest_thread, by, .. } => match by {
            Hindrance::Unknown => format!(
                "client-bound: springload's busiest thread was busy {} of the time",
                share_words(busiest_thread)
            ),
            Hindrance::Computed(share) => format!(
                "client-bound: springload's busiest thread was busy {} of the time",
                share_words(share)
            ),
            Hindrance::Waited(share) => format!(
                "client-bound: springload waited for CPU {} of the time; use a quieter machine",
                share_words(share)
            ),
            Hindrance::Held(share) => format!(
                "client-bound: springload itself took {} of the response times; use a quieter \
                 machine",
                share_words(share)
            ),
            Hindrance::Late(us) => format!(
                "client-bound: springload began operations {} ms late (p99); use a quieter machine",
                millis(us)
            ),
        },
        Verdict::Degraded { outage_s, .. } if stage.verdict.is_outage() => {
            away_in_all_words(stage, outage_s)
        }
        Verdict::Degraded { failed_share, .. } => {
            let why = why(stage).map_or_else(String::new, |why| format!(": {why}"));
            format!("{} failed through the server's fault{why}", share_words(failed_share))
        }
        Verdict::NotSustained { offered_per_s, served_per_s, .. } => format!(
            "not sustained: {}/s of {}/s served",
            decimal(served_per_s, 0),
            decimal(offered_per_s, 0)
        ),
        Verdict::BoundByConnections { connections, needed } => bound_words(connections, needed),
        _ => return None,
    })
}

#[cfg(test)]
#[path = "headline_tests.rs"]
mod tests;
