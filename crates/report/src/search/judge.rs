//! The outcome of a run at one level: whether the level was sustained, and within its limits.

use super::certain::{Answers, Figure, NEVER_US};
use super::walk::StepOutcome;
use crate::measure::Statistic;
use crate::op::OpKind;
use crate::plan::{Comparison, Limit, Metric, Quantity, Threshold};
use crate::record::{
    Code, Judgment, RunRecord, RunResult, StageRecord, Unit, Verdict, bound_words,
};
use crate::statistics::{ALARMS, share_interval};
use std::cmp::Ordering;

/// The reason a step shows nothing about the server.
const CLIENT: &str = "the client, not the server, is the limit";

/// The outcome of a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// Whether the level holds.
    pub outcome: StepOutcome,
    /// The reason it does not hold; empty if it does.
    pub reason: String,
    /// How many times as long the step has to be for the smallest number of responses that can
    /// decide; 0: nothing it is judged by depends on the number of responses.
    pub takes: f64,
}

/// The threshold that makes a run fail if it must meet `slo`: the opposite.
pub const fn requirement(slo: Threshold) -> Threshold {
    let comparison = match slo.comparison {
        Comparison::Above => Comparison::AtMost,
        Comparison::AtLeast => Comparison::Below,
        Comparison::Below => Comparison::AtLeast,
        Comparison::AtMost => Comparison::Above,
    };
    Threshold { comparison, ..slo }
}

/// Judges the main stage of a run by its verdict and by what makes it fail. The fill before it does
/// not count.
pub fn judge(record: &RunRecord, thresholds: &[Threshold]) -> Judged {
    let of = |(outcome, reason): (StepOutcome, String)| Judged { outcome, reason, takes: 0.0 };
    let Some(stage) = record.main_stage() else {
        return of((StepOutcome::Missed, "nothing was measured".to_owned()));
    };
    let result = record.result();
    if result.exit_status == RunResult::DATA_WRONG {
        return of((StepOutcome::Missed, result.reason.unwrap_or_else(|| "data wrong".to_owned())));
    }
    // Times count from when an operation was due, so a limit that was met although the client was
    // late was really met. A limit that was missed may have been missed because of the client.
    let client = matches!(stage.verdict, Verdict::ClientBound { .. }) && stage.load.is_sustained();
    if !client && !stage.verdict.trustworthy() {
        return of(match stage.verdict {
            // The client may not be the limit next time: a longer step will tell.
            Verdict::ClientBound { .. } => (StepOutcome::Undecided, CLIENT.to_owned()),
            Verdict::BoundByConnections { connections, needed } => {
                (StepOutcome::Undecided, bound_words(connections, needed))
            }
            verdict => (StepOutcome::Missed, verdict.name().replace('_', " ")),
        });
    }
    let mut own = RunRecord { stages: vec![stage.clone()], ..record.clone() };
    own.plan.thresholds = thresholds.to_vec();
    own.conclude();
    // A threshold that is missed even without the client's share is really missed.
    let sure = |it: &Judgment| match one(it, stage) {
        Judged { outcome: StepOutcome::Missed, takes, .. } if client && it.by_client => {
            Judged { takes, ..of((StepOutcome::Undecided, CLIENT.to_owned())) }
        }
        judged => judged,
    };
    let all: Vec<Judged> = own.thresholds.iter().map(sure).collect();
    let takes = all.iter().map(|it| it.takes).fold(0.0, f64::max);
    let first = |outcome: StepOutcome| all.iter().find(|it| it.outcome == outcome);
    let worst = match (first(StepOutcome::Missed), first(StepOutcome::Undecided)) {
        (Some(it), _) | (None, Some(it)) => (it.outcome, it.reason.clone()),
        // Documents that were not looked for may be lost.
        (None, None) => unaudited(record).map_or((StepOutcome::Held, String::new()), |why| {
            (StepOutcome::Undecided, why.to_owned())
        }),
    };
    Judged { takes, ..of(worst) }
}

/// The reason the audit of a run cannot tell whether its data is right.
fn unaudited(record: &RunRecord) -> Option<&str> {
    let found = record.warnings.iter().find(|it| it.code == Code::AuditIncomplete);
    found.map(|it| it.message.as_str())
}

fn one(judgment: &Judgment, stage: &StageRecord) -> Judged {
    let Judgment { expression, value, unit, problem, .. } = judgment;
    let Threshold { kind, metric, comparison, limit } = *expression;
    let figure = Figure { stage, quantity: Quantity { kind, metric } };
    let name = format!("{}.{metric}", kind.map_or("all", OpKind::name));
    let judged = |outcome, words: String| {
        let reason = name.clone() + &words;
        Judged { outcome, reason, takes: 0.0 }
    };
    let limit = match limit {
        Limit::Time(ns) => ns as f64 / 1e3,
        Limit::Percent(number) | Limit::Number(number) => number,
        Limit::Baseline(_) => return judged(StepOutcome::Undecided, ": no baseline".to_owned()),
    };
    // The side on which the run fails.
    let bad = match comparison {
        Comparison::Above | Comparison::AtLeast => Ordering::Greater,
        Comparison::Below | Comparison::AtMost => Ordering::Less,
    };
    let outcome_of = |side: Option<Ordering>| match side {
        Some(side) if side == bad => StepOutcome::Missed,
        Some(_) => StepOutcome::Held,
        None => StepOutcome::Undecided,
    };
    if let Metric::Time(span, statistic) = metric
        && let Some(tenths) = statistic.tenths()
    {
        let answers = figure.answers(span, tenths);
        let outcome = outcome_of(figure.percentile(span, tenths, limit));
        let takes = answers.takes();
        return Judged { takes, ..judged(outcome, percentile_words(outcome, answers)) };
    }
    let Some(value) = *value else {
        let problem = problem.as_deref().unwrap_or("it was not measured");
        return judged(StepOutcome::Undecided, format!(": {problem}"));
    };
    let words = match unit {
        Unit::Us => format!(" {:.1} ms", value / 1e3),
        Unit::Percent => format!(" {value:.2} %"),
        Unit::Count | Unit::PerSecond => format!(" {value:.0}"),
    };
    let outcome = match metric {
        Metric::Time(_, Statistic::Mean) | Metric::Throughput => {
            outcome_of(figure.mean(value, limit))
        }
        _ if !comparison.holds(value, limit) => StepOutcome::Held,
        // A few failures in a short step are no share yet.
        Metric::ERRORS | Metric::Class(_) if *unit == Unit::Percent && bad == Ordering::Greater => {
            let issued = figure.issued();
            let failed = (value / 100.0 * issued as f64).round() as u64;
            let sure = share_interval(failed, issued, ALARMS).0 * 100.0 > limit;
            if sure { StepOutcome::Missed } else { StepOutcome::Undecided }
        }
        _ => StepOutcome::Missed,
    };
    judged(outcome, words)
}

/// A percentile in words, to follow its name.
fn percentile_words(outcome: StepOutcome, Answers { of, least, value }: Answers) -> String {
    match (outcome, of) {
        (_, 0) => ": nothing was measured".to_owned(),
        (StepOutcome::Missed, _) if value >= NEVER_US => ": too many answers never came".to_owned(),
        (StepOutcome::Undecided, _) if of < least => {
            format!(": {of} answers, and it takes {least} to tell")
        }
        _ => format!(" {:.1} ms", value / 1e3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{FailedTimes, Histogram, KindInterval};
    use crate::op::Failure;
    use crate::record::fixture::{record, stage};
    use crate::record::{Estimate, Estimates, Intervals, ResultKind};
    use std::collections::BTreeMap;

    /// A run of reads that all took `us` microseconds, which must stay below 20 ms.
    fn run(us: u64, verdict: Verdict, p99: Option<(f64, f64)>) -> (RunRecord, Threshold) {
        let slo = requirement("read.p99 < 20ms".parse().unwrap());
        let mut record = record(&[]);
        let mut response = Histogram::default();
        response.record_many(us * 1_000, 2_000);
        let service = response.clone();
        let part =
            KindInterval { requests: 2_000, ok: 2_000, response, service, ..Default::default() };
        let mut stage = stage("crud", vec![(0, OpKind::Read, part)]);
        stage.verdict = verdict;
        let p99_us = p99.map(|(low, high)| Estimate::Interval { low, high });
        let read = Intervals { p99_us, ..Intervals::default() };
        let operations = BTreeMap::from([(OpKind::Read, read)]);
        let (all, trends) = (Intervals::default(), Vec::new());
        let (steady_from_s, unsettled) = (None, false);
        let estimates =
            Estimates { over_s: 2, step_s: 1, all, operations, steady_from_s, unsettled, trends };
        stage.estimates = Some(estimates);
        // The fill took longer, which does not matter.
        record.stages.truncate(1);
        record.stages.push(stage);
        (record, slo)
    }

    fn outcome_and_reason(
        us: u64,
        verdict: Verdict,
        p99: Option<(f64, f64)>,
    ) -> (StepOutcome, String) {
        let (record, slo) = run(us, verdict, p99);
        let Judged { outcome, reason, .. } = judge(&record, &[slo]);
        (outcome, reason)
    }

    fn outcome(us: u64, verdict: Verdict, p99: Option<(f64, f64)>) -> StepOutcome {
        outcome_and_reason(us, verdict, p99).0
    }

    #[test]
    fn a_step_is_judged_by_the_interval_or_by_a_clear_distance() {
        let held = Verdict::Sustained;
        assert_eq!(outcome(5_000, held, None), StepOutcome::Held);
        assert_eq!(outcome(18_000, held, None), StepOutcome::Undecided);
        assert_eq!(outcome(22_000, held, None), StepOutcome::Undecided);
        assert_eq!(outcome(50_000, held, None), StepOutcome::Missed);
        assert_eq!(outcome(18_000, held, Some((17_000.0, 19_000.0))), StepOutcome::Held);
        assert_eq!(outcome(18_000, held, Some((17_000.0, 21_000.0))), StepOutcome::Undecided);
        assert_eq!(outcome(22_000, held, Some((20_500.0, 23_000.0))), StepOutcome::Missed);
    }

    /// A step with this many reads per second, all of which took the given time in that second, in
    /// microseconds; without a time, none got a response.
    fn seconds(reads: u64, us: &[Option<u64>]) -> Judged {
        let rows: Vec<_> = us.iter().map(|us| (reads, *us)).collect();
        judged("read.p99 < 20ms", us.len() as f64, &rows)
    }

    /// A step of this length; its last second may be incomplete.
    fn judged(slo: &str, measured_s: f64, rows: &[(u64, Option<u64>)]) -> Judged {
        let seconds = (0..).zip(rows).map(|(second, &(reads, us))| {
            let mut times = Histogram::default();
            times.record_many(us.unwrap_or(1_000_000) * 1_000, reads);
            let mut part = KindInterval { requests: reads, ..Default::default() };
            if us.is_some() {
                (part.ok, part.response, part.service) = (reads, times.clone(), times);
            } else {
                part.failures[Failure::Timeout as usize] = reads;
                let failed = FailedTimes { response: times.clone(), service: times };
                part.failed_times = BTreeMap::from([(Failure::Timeout, failed)]);
            }
            (second, OpKind::Read, part)
        });
        let (mut record, _) = run(1_000, Verdict::Sustained, None);
        let mut stage = stage("crud", seconds.collect());
        (stage.verdict, stage.estimates) = (Verdict::Sustained, None);
        stage.measured_s = measured_s;
        record.stages[1] = stage;
        judge(&record, &[requirement(slo.parse().unwrap())])
    }

    #[test]
    fn a_short_step_is_judged_by_how_much_its_seconds_differ() {
        let of = |us: [u64; 3]| seconds(500, &us.map(Some)).outcome;
        assert_eq!(of([18_000, 18_200, 18_100]), StepOutcome::Held);
        assert_eq!(of([22_000, 22_200, 22_100]), StepOutcome::Missed);
        // 19 ms at the 99th percentile, but the next second may be unlike the last.
        assert_eq!(of([12_000, 15_000, 19_000]), StepOutcome::Undecided);
        assert_eq!(of([3_000, 3_900, 5_000]), StepOutcome::Held, "far enough whatever they do");
    }

    #[test]
    fn a_percentile_of_too_few_answers_holds_nothing() {
        let few = seconds(40, &[Some(1_000); 3]);
        assert_eq!((few.outcome, few.takes), (StepOutcome::Undecided, 368.0 / 120.0));
        assert_eq!(few.reason, "read.p99: 120 answers, and it takes 368 to tell");
        // Together they are enough, although a single second has too few for a percentile.
        let enough = seconds(40, &[Some(1_000); 10]);
        assert_eq!((enough.outcome, enough.takes), (StepOutcome::Held, 0.92));
        assert_eq!(enough.reason, "");
        // Fewer are needed to see that it is too slow.
        assert_eq!(
            seconds(3, &[Some(29_000); 4]).outcome,
            StepOutcome::Undecided,
            "no seconds to differ"
        );
        assert_eq!(seconds(3, &[Some(31_000); 4]).outcome, StepOutcome::Missed);
        // One in four hundred may as well be one in a hundred.
        let with_late = |late: usize, of: usize| {
            let all: Vec<_> =
                (0..of).map(|at| Some(if at < late { 30_000 } else { 1_000 })).collect();
            seconds(1, &all).outcome
        };
        assert_eq!(with_late(1, 400), StepOutcome::Undecided);
    }

    #[test]
    fn means_and_rates_are_judged_by_how_much_seconds_differ() {
        let rate = |slo: &str, reads: &[u64], measured_s: f64| {
            let rows: Vec<_> = reads.iter().map(|reads| (*reads, Some(1_000))).collect();
            judged(slo, measured_s, &rows).outcome
        };
        assert_eq!(rate("throughput > 480", &[500, 505, 495], 3.0), StepOutcome::Held);
        assert_eq!(rate("throughput > 520", &[500, 505, 495], 3.0), StepOutcome::Missed);
        assert_eq!(rate("throughput > 480", &[400, 500, 600], 3.0), StepOutcome::Undecided);
        // The last second is incomplete, which does not mean that the server varies.
        assert_eq!(rate("throughput > 480", &[500, 505, 495, 10], 3.02), StepOutcome::Held);
        // Two seconds tell nothing about how much they vary.
        assert_eq!(rate("throughput > 480", &[500, 505], 2.0), StepOutcome::Undecided);
        let mean = |us: [u64; 3]| judged("mean < 20ms", 3.0, &us.map(|us| (500, Some(us)))).outcome;
        assert_eq!(mean([18_000, 18_200, 18_100]), StepOutcome::Held);
        assert_eq!(mean([10_000, 18_000, 26_000]), StepOutcome::Undecided);
        assert_eq!(mean([22_000, 22_200, 22_100]), StepOutcome::Missed);
    }

    #[test]
    fn an_answer_that_never_came_was_late() {
        let none = seconds(500, &[None; 3]);
        assert_eq!(none.outcome, StepOutcome::Missed);
        assert_eq!(none.reason, "read.p99: too many answers never came");
        // One second without responses is more than 1 % of 20 seconds, and less than 1 % of 300.
        let outage = |of: usize| {
            let mut all = vec![Some(1_000); of];
            all[7] = None;
            seconds(100, &all).outcome
        };
        assert_eq!([outage(20), outage(300)], [StepOutcome::Missed, StepOutcome::Held]);
        // One of three may be the first of many: a longer step will tell.
        assert_eq!(seconds(100, &[Some(1_000), Some(1_000), None]).outcome, StepOutcome::Undecided);
        assert_eq!(seconds(0, &[Some(1); 3]).reason, "read.p99: nothing was measured");
    }

    #[test]
    fn what_is_not_sustained_is_missed_however_fast() {
        let lagging =
            Verdict::NotSustained { offered_per_s: 100.0, served_per_s: 90.0, backlog_per_s: 5.0 };
        let (outcome, reason) = outcome_and_reason(5_000, lagging, None);
        assert_eq!((outcome, reason.as_str()), (StepOutcome::Missed, "not sustained"));
        assert_eq!(self::outcome(5_000, Verdict::Closed, None), StepOutcome::Held);
    }

    #[test]
    fn where_data_is_wrong_nothing_holds() {
        let (mut record, slo) = run(1_000, Verdict::Sustained, None);
        assert_eq!(judge(&record, &[slo]).outcome, StepOutcome::Held);
        let reason = "data wrong: 2 lost, of 450 documents".to_owned();
        let (kind, exit_status) = (ResultKind::Failed, RunResult::DATA_WRONG);
        record.result = Some(RunResult { kind, exit_status, reason: Some(reason.clone()) });
        let Judged { outcome, reason: why, .. } = judge(&record, &[slo]);
        assert_eq!((outcome, why), (StepOutcome::Missed, reason));
    }

    #[test]
    fn where_not_all_data_was_looked_at_nothing_holds_for_sure() {
        let (mut record, slo) = run(1_000, Verdict::Sustained, None);
        record.journal_broken = Some("disk full".to_owned());
        record.refresh_warnings();
        let Judged { outcome, reason, .. } = judge(&record, &[slo]);
        let why = "audit incomplete: notes of writes are missing: disk full";
        assert_eq!((outcome, reason.as_str()), (StepOutcome::Undecided, why));
        // Too slow is too slow, regardless of the data.
        let (mut slow, slo) = run(50_000, Verdict::Sustained, None);
        slow.journal_broken = record.journal_broken;
        slow.refresh_warnings();
        assert_eq!(judge(&slow, &[slo]).outcome, StepOutcome::Missed);
    }

    #[test]
    fn what_is_missed_where_the_client_is_the_limit_is_undecided() {
        let by = crate::record::Hindrance::Late(9_000.0);
        let client = Verdict::ClientBound { busiest_thread: 0.99, late_p99_us: 9_000.0, by };
        let (outcome, reason) = outcome_and_reason(50_000, client, None);
        assert_eq!((outcome, reason.as_str()), (StepOutcome::Undecided, CLIENT));
        assert_eq!(self::outcome(5_000, client, None), StepOutcome::Held, "though it was late");
    }

    /// Those that were never begun have no response times, so these met the limit.
    #[test]
    fn what_the_client_did_not_keep_up_with_is_undecided_however_fast() {
        let by = crate::record::Hindrance::Late(9_000.0);
        let client = Verdict::ClientBound { busiest_thread: 0.99, late_p99_us: 9_000.0, by };
        let judged = |unsent| {
            let (mut record, slo) = run(5_000, client, None);
            let load = &mut record.stages[1].load;
            (load.open, load.begun) = (true, 2_000);
            (load.offered, load.unsent) = (2_000 + unsent, unsent);
            let Judged { outcome, reason, .. } = judge(&record, &[slo]);
            (outcome, reason)
        };
        assert_eq!(judged(20), (StepOutcome::Undecided, CLIENT.to_owned()));
        assert_eq!(judged(10), (StepOutcome::Held, String::new()), "within half a percent");
    }

    #[test]
    fn what_too_few_connections_carried_says_nothing_about_the_server() {
        let few = Verdict::BoundByConnections { connections: 50, needed: 110 };
        let (outcome, reason) = outcome_and_reason(5_000, few, None);
        let words = "bound by 50 connections; about 110 needed (-c 110)";
        assert_eq!((outcome, reason.as_str()), (StepOutcome::Undecided, words));
    }

    #[test]
    fn what_fails_a_run_is_the_opposite_of_the_slo() {
        for (slo, fails) in [("p99 < 20ms", ">="), ("p99 <= 20ms", ">"), ("throughput > 5", "<=")] {
            let slo: Threshold = slo.parse().unwrap();
            assert_eq!(requirement(slo).comparison.sign(), fails);
            assert_eq!(requirement(requirement(slo)), slo);
        }
    }

    #[test]
    fn errors_count_as_they_are_and_too_few_answers_tell_nothing() {
        let slo = |text: &str| requirement(text.parse().unwrap());
        let (mut record, _) = run(5_000, Verdict::Sustained, None);
        let reads = &mut record.stages[1].operations[0];
        reads.failures.insert(crate::op::Failure::Timeout, 3);
        assert_eq!(judge(&record, &[slo("err < 1%")]).outcome, StepOutcome::Held);
        let Judged { outcome, reason, .. } = judge(&record, &[slo("err < 0.01%")]);
        assert_eq!((outcome, reason.as_str()), (StepOutcome::Missed, "all.err 0.15 %"));
        // Three of 2,000 may be 0.03 % in the long run, or 0.44 %.
        assert_eq!(judge(&record, &[slo("err < 0.1%")]).outcome, StepOutcome::Undecided);
        assert_eq!(judge(&record, &[slo("update.p99 < 1s")]).outcome, StepOutcome::Undecided);
        record.stages.clear();
        assert_eq!(judge(&record, &[]).outcome, StepOutcome::Missed);
    }
}
