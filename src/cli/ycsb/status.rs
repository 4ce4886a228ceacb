//! The status lines of YCSB's `-s`, on stderr.
//!
//! What is measured is known in full seconds, so a line tells of the last one that is over.

use crate::clock::wall_ns;
use crate::measure::{Histogram, OperationSummary};
use crate::op::OpKind;
use crate::plan::{
    MeasuredInterval, MeasurementPlan, MeasurementType, Plan, StageKind, StagePlan,
};
use std::collections::HashMap;
use std::fmt::Write as _;

/// Makes a line now and then.
#[derive(Debug)]
pub(in crate::cli) struct StatusLines {
    plan: MeasurementPlan,
    stages: Vec<StagePlan>,
    every_s: f64,
    /// When the next line is due, in seconds from the stage's start.
    next_s: f64,
    /// What the line before told of: the time, operations, and the times of each kind.
    last: (f64, u64, HashMap<OpKind, Histogram>),
    /// Operations that are planned.
    planned: Option<u64>,
}

impl StatusLines {
    /// Lines as `plan` wants them; `None`: it wants none.
    pub(in crate::cli) fn new(plan: &Plan) -> Option<Self> {
        let (stages, plan) = (plan.stages.clone(), plan.ycsb.clone()?);
        let every_s = plan.status_s?;
        let (next_s, last) = (0.0, (0.0, 0, HashMap::new()));
        Some(Self { plan, stages, every_s, next_s, last, planned: None })
    }

    /// A stage begins.
    pub(in crate::cli) fn begin(&mut self, stage: &str) {
        let stage = self.stages.iter().find(|it| it.name == stage).map(|it| &it.kind);
        let planned = stage.and_then(|kind| match kind {
            StageKind::Ycsb(ycsb) => ycsb.records().or(ycsb.operations),
            _ => None,
        });
        (self.next_s, self.planned, self.last) = (0.0, planned, (0.0, 0, HashMap::new()));
    }

    /// A line, if one is due: after `elapsed_s` seconds there were these operations.
    pub(in crate::cli) fn look(
        &mut self,
        elapsed_s: f64,
        operations: &[OperationSummary],
    ) -> Option<String> {
        if elapsed_s < self.next_s {
            return None;
        }
        while self.next_s <= elapsed_s {
            self.next_s += self.every_s;
        }
        Some(self.line(elapsed_s, operations, false))
    }

    /// The line at a stage's end.
    pub(in crate::cli) fn end(
        &mut self,
        elapsed_s: f64,
        operations: &[OperationSummary],
    ) -> String {
        self.line(elapsed_s, operations, true)
    }

    fn line(&mut self, elapsed_s: f64, operations: &[OperationSummary], end: bool) -> String {
        // Of a read-modify-write both parts are told, too, but it is one operation.
        let of = |wanted: fn(OpKind) -> bool| -> u64 {
            operations.iter().filter(|it| wanted(it.kind)).map(|it| it.ok + it.failed()).sum()
        };
        let done = of(OpKind::is_request) - of(|kind| kind == OpKind::ReadModifyWrite);
        let (before_s, before, _) = self.last;
        let mut line = format!(
            "{}{} {} sec: {done} operations; ",
            self.plan.label,
            moment(),
            elapsed_s as u64
        );
        if done > 0 {
            let rate = (done - before) as f64 / (elapsed_s - before_s).max(1e-3);
            let _ = write!(line, "{} current ops/sec; ", (rate * 100.0).round() / 100.0);
        }
        let left = self.planned.map_or(0, |planned| planned.saturating_sub(done));
        if !end && left > 0 && done > 0 {
            let left_s = left as f64 * elapsed_s / done as f64;
            let _ = write!(line, "est completion in {} ", spelled(left_s.ceil() as u64));
        }
        for operation in operations {
            self.summary(operation, &mut line);
        }
        (self.last.0, self.last.1) = (elapsed_s, done);
        line
    }

    /// What was measured of one kind since the line before.
    fn summary(&mut self, operation: &OperationSummary, line: &mut String) {
        let name = section(operation.kind);
        let all = match self.plan.interval {
            MeasuredInterval::Intended => &operation.response.histogram,
            MeasuredInterval::Op | MeasuredInterval::Both => &operation.service.histogram,
        };
        let before = self.last.2.insert(operation.kind, all.clone()).unwrap_or_default();
        let since = all.since(&before);
        let us = |ns: u64| ns / 1000;
        let mean_us = (since.mean() / 10.0).round() / 100.0;
        let _ = match self.plan.measurement {
            MeasurementType::Histogram | MeasurementType::TimeSeries => {
                write!(line, "[{name} AverageLatency(us)={mean_us}] ")
            }
            MeasurementType::Raw => {
                write!(line, "{name} count: {}, average latency(us): {mean_us} ", since.len())
            }
            _ => {
                let _ = write!(
                    line,
                    "[{name}: Count={}, Max={}, Min={}, Avg={mean_us}",
                    since.len(),
                    us(since.max()),
                    us(since.min())
                );
                for percentile in [50.0, 90.0, 99.0, 99.9, 99.99] {
                    let _ = write!(line, ", {percentile}={}", us(since.percentile(percentile)));
                }
                write!(line, "] ")
            }
        };
    }
}

/// What YCSB calls operations of this kind.
const fn section(kind: OpKind) -> &'static str {
    match kind {
        OpKind::BulkInsert | OpKind::Create => "INSERT",
        OpKind::Read => "READ",
        OpKind::Update => "UPDATE",
        OpKind::Delete => "DELETE",
        OpKind::Scan => "SCAN",
        OpKind::ReadModifyWrite => "READ-MODIFY-WRITE",
        OpKind::Verify => "VERIFY",
        OpKind::Request => "REQUEST",
    }
}

/// The wall clock as YCSB prints it, in UTC.
fn moment() -> String {
    let now = jiff::Timestamp::from_nanosecond(i128::from(wall_ns())).unwrap_or_default();
    let ms = now.subsec_millisecond();
    format!("{}:{ms:03}", now.strftime("%Y-%m-%d %H:%M:%S"))
}

/// A time to wait: days, hours and minutes; seconds only where that is all.
fn spelled(seconds: u64) -> String {
    let parts = [
        (seconds / 86_400, "day"),
        (seconds / 3600 % 24, "hour"),
        (seconds / 60 % 60, "minute"),
        (if seconds < 60 { seconds } else { 0 }, "second"),
    ];
    let plural = |&(count, unit): &(u64, &str)| {
        format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
    };
    let there: Vec<_> = parts.iter().filter(|(count, _)| *count > 0).map(plural).collect();
    there.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{Interval, Totals};

    fn measured(reads: &[u64]) -> Vec<OperationSummary> {
        let mut interval = Interval::new(0);
        let kind = interval.kind_mut(OpKind::Read);
        for &us in reads {
            kind.requests += 1;
            kind.ok += 1;
            kind.service.record(us * 1000);
            kind.response.record(us * 1000);
            kind.lag.record(0);
        }
        let mut totals = Totals::default();
        totals.add(&interval);
        totals.so_far(1.0)
    }

    #[test]
    fn a_line_tells_of_the_time_since_the_one_before() {
        let plan = MeasurementPlan {
            status_s: Some(1.5),
            label: "A".to_owned(),
            ..MeasurementPlan::default()
        };
        let (next_s, last) = (0.0, (0.0, 0, HashMap::new()));
        let (every_s, planned) = (1.5, Some(10));
        let mut lines = StatusLines { plan, stages: Vec::new(), every_s, next_s, last, planned };
        let after = |line: &str| line.split_once(" sec: ").unwrap().1.to_owned();
        let first = lines.look(0.0, &[]).unwrap();
        assert!(first.starts_with("A2") && first.ends_with(" 0 sec: 0 operations; "), "{first}");
        assert_eq!(lines.look(1.0, &measured(&[900])), None);
        let second = lines.look(2.0, &measured(&[1000, 3000])).unwrap();
        assert_eq!(
            after(&second),
            "2 operations; 1 current ops/sec; est completion in 8 seconds [READ: Count=2, \
             Max=3000, Min=1000, Avg=2000, 50=1000, 90=3000, 99=3000, 99.9=3000, 99.99=3000] "
        );
        let last = lines.end(3.0, &measured(&[1000, 3000, 5000]));
        assert!(after(&last).starts_with("3 operations; 1 current ops/sec; [READ: Count=1, Max=5"));
    }

    #[test]
    fn times_to_wait() {
        assert_eq!(spelled(59), "59 seconds");
        assert_eq!(spelled(61), "1 minute");
        assert_eq!(spelled(86_400 + 2 * 3600 + 5), "1 day 2 hours");
    }
}
