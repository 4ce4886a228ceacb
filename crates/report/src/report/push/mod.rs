//! A run as metrics for systems that receive metrics: OTLP, and Prometheus' remote write. They get
//! the same families as scrapers, but times as whole histograms.

mod buckets;
mod otlp;
mod remote_write;

pub use otlp::{encode as otlp, rejected as otlp_rejected};
pub use remote_write::RemoteWrite;

use super::exposition::Exposition;
use super::openmetrics::expose;
use crate::measure::{Histogram, OperationSummary};
use crate::observed::exposition::{Exposition as Read, Kind};
use crate::record::{RunRecord, Running};
use crate::redact::strike;

/// What is sent about a run at one time.
#[derive(Clone, Copy, Debug)]
pub struct Pushed<'a> {
    /// The name of the run.
    pub run: &'a str,
    /// The stages that have ended.
    pub record: &'a RunRecord,
    /// The running stage.
    pub running: Option<&'a Running>,
    /// The time, in nanoseconds since 1970.
    pub at_ns: u64,
    /// Whether this is the end: nothing more will be sent.
    pub over: bool,
}

/// Labels by name, in the order of names.
type Labels = Vec<(String, String)>;

/// A number.
struct NumberSample {
    name: String,
    labels: Labels,
    value: f64,
    /// Whether it only ever grows.
    counts: bool,
}

struct TimesMetric<'a> {
    name: &'static str,
    help: &'static str,
    labels: Labels,
    histogram: &'a Histogram,
}

/// The families of times, which are sent as histograms rather than summaries.
const TIMES: [(&str, &str); 5] = [
    ("springload_response_seconds", "Time of successful requests, from when they were due."),
    ("springload_service_seconds", "Time of successful requests, from send."),
    ("springload_lag_seconds", "Time of requests from when they were due to their start."),
    ("springload_failed_response_seconds", "Time of failed requests, from when they were due."),
    ("springload_failed_service_seconds", "Time of failed requests, from send."),
];

impl Pushed<'_> {
    /// The labels of everything that is sent: the run, and the user's name for it.
    fn labels(&self) -> Labels {
        let label = self.record.plan.label.as_deref().map(|label| ("plan", label));
        let all = [("run", self.run)].into_iter().chain(label);
        all.map(|(name, value)| (name.to_owned(), strike(value).into_owned())).collect()
    }

    /// All numbers other than times.
    fn samples(&self) -> Vec<NumberSample> {
        let text = expose(self.record, self.running, Exposition::Prometheus);
        let text = strike(&text);
        let read = Read::read(&text);
        let of_times = |name: &str| {
            let base = name.strip_suffix("_sum").or_else(|| name.strip_suffix("_count"));
            TIMES.iter().any(|(times, _)| *times == base.unwrap_or(name))
        };
        let own = self.labels();
        let samples = read.samples.into_iter().filter(|it| !of_times(it.name));
        let sample = samples.map(|it| NumberSample {
            name: it.name.to_owned(),
            labels: sorted(own.iter().cloned().chain(pairs(&it.labels))),
            value: it.value,
            counts: it.kind == Kind::Count,
        });
        sample.collect()
    }

    /// The times of each kind of operation in each stage.
    fn times(&self) -> Vec<TimesMetric<'_>> {
        let ended = self.record.stages.iter().map(|it| (&it.name, &it.operations));
        let running = self.running.iter().map(|it| (&it.name, &it.operations));
        let own = self.labels();
        let mut times = Vec::new();
        for (stage, operations) in ended.chain(running) {
            for operation in operations {
                let labels = |result: Option<&str>| {
                    let kind = operation.kind.name();
                    let result = result.map(|result| ("result", result));
                    let more =
                        [("stage", stage.as_str()), ("kind", kind)].into_iter().chain(result);
                    let more = more.map(|(name, value)| (name.to_owned(), value.to_owned()));
                    sorted(own.iter().cloned().chain(more))
                };
                times.extend(of_operation(operation, labels));
            }
        }
        times
    }
}

fn of_operation<'a>(
    operation: &'a OperationSummary,
    labels: impl Fn(Option<&str>) -> Labels,
) -> Vec<TimesMetric<'a>> {
    let of = |at: usize, result: Option<&str>, histogram: &'a Histogram| {
        let (name, help) = TIMES[at];
        TimesMetric { name, help, labels: labels(result), histogram }
    };
    let mut times = vec![
        of(0, Some("ok"), &operation.response.histogram),
        of(1, Some("ok"), &operation.service.histogram),
        of(2, None, &operation.lag.histogram),
    ];
    for (class, failed) in &operation.failed_times {
        times.push(of(3, Some(class.name()), &failed.response));
        times.push(of(4, Some(class.name()), &failed.service));
    }
    times
}

fn sorted(labels: impl Iterator<Item = (String, String)>) -> Labels {
    let mut labels: Labels = labels.collect();
    labels.sort();
    labels
}

/// The labels in `{a="b",c="d"}`.
fn pairs(text: &str) -> Labels {
    let mut pairs = Labels::new();
    let mut rest = text.trim_start_matches('{');
    while let Some((name, after)) = rest.split_once("=\"") {
        let (mut value, mut signs) = (String::new(), after.char_indices());
        let end = loop {
            match signs.next() {
                Some((at, '"')) => break at + 1,
                Some((_, '\\')) => match signs.next() {
                    Some((_, 'n')) => value.push('\n'),
                    Some((_, sign)) => value.push(sign),
                    None => break after.len(),
                },
                Some((_, sign)) => value.push(sign),
                None => break after.len(),
            }
        };
        pairs.push((name.trim_matches([',', ' ']).to_owned(), value));
        rest = &after[end..];
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_read_as_they_were_meant() {
        let read = pairs(r#"{stage="crud",message="a \"b\", c=\"d\"\n\\e",x=""}"#);
        let wanted = [("stage", "crud"), ("message", "a \"b\", c=\"d\"\n\\e"), ("x", "")];
        assert_eq!(read, wanted.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert_eq!(pairs(""), []);
    }
}
