//! YCSB's status lines, at the interval of the plan.

use super::lines::{mean_us, min_us, percentile_us};
use super::sections::{operations, tells_failures};
use super::value::brief;
use crate::measure::{Histogram, OperationSummary};
use crate::plan::{MeasuredInterval, MeasurementPlan, MeasurementType};
use crate::record::Running;
use std::fmt::Write as _;
use time::OffsetDateTime;
use time::macros::format_description;

/// The status lines of one stage.
#[derive(Debug)]
pub struct Status {
    plan: MeasurementPlan,
    /// The number of operations planned for the stage, if there is one.
    planned: Option<u64>,
    next_s: f64,
    last: Running,
}

impl Status {
    /// The lines of a stage of `planned` operations. `None`: the plan asks for no lines.
    pub fn new(plan: &MeasurementPlan, planned: Option<u64>) -> Option<Self> {
        plan.status_s?;
        Some(Self { plan: plan.clone(), planned, next_s: 0.0, last: Running::default() })
    }

    /// The line for what has been measured so far, without a newline. `None`: it is not due; the
    /// last line of a stage always is. `wall_ns` is the time since 1970 in UTC.
    pub fn line(&mut self, wall_ns: u64, running: &Running, last: bool) -> Option<String> {
        let every_s = self.plan.status_s?;
        if running.elapsed_s < self.next_s && !last {
            return None;
        }
        // Measurements arrive per second: a line is due in the first second that reaches its time.
        while self.next_s <= running.elapsed_s {
            self.next_s += every_s;
        }
        let done = operations(&running.operations);
        let mut line = format!(
            "{}{} {} sec: {done} operations; ",
            self.plan.label,
            time_of_day(wall_ns),
            running.elapsed_s as u64
        );
        let since_s = running.elapsed_s - self.last.elapsed_s;
        if done > 0 && since_s > 0.0 {
            let since = done - operations(&self.last.operations).min(done);
            let _ = write!(line, "{} current ops/sec; ", brief(since as f64 / since_s));
        }
        if let Some(remaining) = self.planned.and_then(|planned| planned.checked_sub(done))
            && remaining > 0
            && done > 0
            && !last
        {
            let seconds = remaining as f64 * running.elapsed_s / done as f64;
            let _ = write!(line, "est completion in {} ", remaining_time(seconds.ceil() as u64));
        }
        for operation in &running.operations {
            self.summary(operation, &mut line);
        }
        self.last = running.clone();
        Some(line)
    }

    /// Adds one kind of operation since the last line.
    fn summary(&self, operation: &OperationSummary, line: &mut String) {
        let before = self.last.operations.iter().find(|it| it.kind == operation.kind);
        let all = |operation: &OperationSummary, intended: bool| {
            let times = if intended { &operation.response } else { &operation.service };
            let mut times = times.histogram.clone();
            if !tells_failures(operation.kind) {
                for failed in operation.failed_times.values() {
                    times.merge(if intended { &failed.response } else { &failed.service });
                }
            }
            times
        };
        let sections: &[(&str, bool)] = match self.plan.interval {
            MeasuredInterval::Op => &[("", false)],
            MeasuredInterval::Intended => &[("", true)],
            MeasuredInterval::Both => &[("", false), ("Intended-", true)],
        };
        for &(prefix, intended) in sections {
            let times = all(operation, intended);
            let times =
                before.map_or_else(|| times.clone(), |it| times.without(&all(it, intended)));
            let name = format!("{prefix}{}", operation.kind.ycsb());
            if !times.is_empty() {
                line.push_str(&summary(self.plan.measurement, &name, &times));
                line.push(' ');
            }
        }
    }
}

fn summary(measurement: MeasurementType, name: &str, times: &Histogram) -> String {
    let hdr = |name: &str| {
        let mut text = format!(
            "[{name}: Count={}, Max={}, Min={}, Avg={}",
            times.len(),
            times.max() / 1_000,
            min_us(times),
            brief(mean_us(times)),
        );
        for percentile in [50.0, 90.0, 99.0, 99.9, 99.99] {
            let _ = write!(text, ", {percentile}={}", percentile_us(times, percentile));
        }
        text + "]"
    };
    let average = |name: &str| format!("[{name} AverageLatency(us)={}]", brief(mean_us(times)));
    let raw = |name: &str| {
        format!("{name} count: {}, average latency(us): {:.2}", times.len(), mean_us(times))
    };
    match measurement {
        MeasurementType::HdrHistogram => hdr(name),
        MeasurementType::Histogram | MeasurementType::TimeSeries => average(name),
        MeasurementType::Raw => raw(name),
        MeasurementType::HdrHistogramAndHistogram => {
            format!("{}{}", hdr(&format!("Hdr{name}")), average(&format!("Bucket{name}")))
        }
        MeasurementType::HdrHistogramAndRaw => {
            format!("{}{}", hdr(&format!("Hdr{name}")), raw(&format!("Raw{name}")))
        }
    }
}

/// A time such as `2026-11-21 05:00:00:000`.
fn time_of_day(wall_ns: u64) -> String {
    let form =
        format_description!("[year]-[month]-[day] [hour]:[minute]:[second]:[subsecond digits:3]");
    let time = OffsetDateTime::from_unix_timestamp_nanos(i128::from(wall_ns));
    time.ok().and_then(|it| it.format(form).ok()).unwrap_or_default()
}

/// Days and hours, or hours and minutes, or seconds; YCSB uses no plurals.
fn remaining_time(seconds: u64) -> String {
    let (minutes, hours, days) = (seconds / 60 % 60, seconds / 3600 % 24, seconds / 86_400);
    let unit = |count: u64, name: &str| match count {
        0 => None,
        1 => Some(format!("1 {name}")),
        _ => Some(format!("{count} {name}s")),
    };
    let parts = match (days, hours, minutes) {
        (0, 0, 0) => return format!("{seconds} second"),
        (0, _, _) => [unit(hours, "hour"), unit(minutes, "minute")],
        _ => [unit(days, "day"), unit(hours, "hour")],
    };
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}
