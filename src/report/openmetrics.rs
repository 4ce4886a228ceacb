//! A run as metrics: what `--format openmetrics` prints of a finished one and what a scraper reads
//! of one that is going on. Both are the same families, from the same functions.

use super::exposition::{Exposition, Family, Kind, Writer};
use super::{Format, Render};
use crate::measure::{Latency, OperationSummary};
use crate::record::{ClientRecord, LoadRecord, RunRecord, Running, StageRecord};
use std::borrow::Cow;

pub(super) const FORMAT: Format = Format {
    name: "openmetrics",
    summary: "the run's totals as OpenMetrics text",
    render: Render::One(|record| expose(record, None, Exposition::OpenMetrics)),
};

/// Quantiles of summaries, as percentiles.
const PERCENTILES: [(f64, &str); 5] =
    [(50.0, "0.5"), (90.0, "0.9"), (95.0, "0.95"), (99.0, "0.99"), (99.9, "0.999")];

/// Picks one of the times of an operation; `None` where it has none.
type Time = fn(&OperationSummary) -> Option<Cow<'_, Latency>>;

/// A stage as far as it is known.
struct Stage<'a> {
    name: &'a str,
    elapsed_s: f64,
    operations: &'a [OperationSummary],
    /// What is known only at its end.
    ended: Option<&'a StageRecord>,
    offered: Option<u64>,
}

/// The metrics of a run: its stages on record and, while it goes on, the running one.
pub fn expose(record: &RunRecord, running: Option<&Running>, dialect: Exposition) -> String {
    let ended = record.stages.iter().map(|stage| Stage {
        name: &stage.name,
        elapsed_s: stage.elapsed_s,
        operations: &stage.operations,
        ended: Some(stage),
        offered: Some(stage.load.offered),
    });
    let running = running.map(|stage| Stage {
        name: &stage.name,
        elapsed_s: stage.elapsed_s,
        operations: &stage.operations,
        ended: None,
        offered: stage.offered,
    });
    let stages: Vec<Stage<'_>> = ended.chain(running).collect();
    let mut out = Writer::new(dialect);
    run(record, &mut out);
    counts(&stages, &mut out);
    times(&stages, &mut out);
    load(&stages, &mut out);
    judgements(record, &mut out);
    out.finish()
}

const fn counter(name: &'static str, unit: &'static str, help: &'static str) -> Family {
    Family { name, kind: Kind::Counter, unit, help }
}

const fn gauge(name: &'static str, unit: &'static str, help: &'static str) -> Family {
    Family { name, kind: Kind::Gauge, unit, help }
}

fn run(record: &RunRecord, out: &mut Writer) {
    let help = "The run: what it was done with, to which server, from which seed.";
    out.family(Family { name: "springload_run", kind: Kind::Info, unit: "", help });
    let seed = record.plan.seed.to_string();
    let server = &record.server;
    let stand_in = if server.stand_in { "true" } else { "false" };
    let labels = [
        ("version", record.environment.springload.as_str()),
        ("server", server.name.as_str()),
        ("server_version", server.version.as_str()),
        ("stand_in", stand_in),
        ("database", server.database.as_str()),
        ("seed", seed.as_str()),
    ];
    out.sample(&labels, 1);
}

/// A family with one sample for each stage and kind.
fn each(
    stages: &[Stage<'_>],
    family: Family,
    count: fn(&OperationSummary) -> u64,
    out: &mut Writer,
) {
    out.family(family);
    for stage in stages {
        for operation in stage.operations {
            let labels = [("stage", stage.name), ("kind", operation.kind.name())];
            out.sample(&labels, count(operation));
        }
    }
}

fn counts(stages: &[Stage<'_>], out: &mut Writer) {
    let help = "Documents operated on, by how that ended: ok, a failure class, or unfinished.";
    out.family(counter("springload_operations", "", help));
    for stage in stages {
        for operation in stage.operations {
            let kind = operation.kind.name();
            let mut sample = |result, count| {
                out.sample(&[("stage", stage.name), ("kind", kind), ("result", result)], count);
            };
            sample("ok", operation.ok);
            for (class, count) in &operation.failures {
                sample(class.name(), *count);
            }
            // Before its end, what has no answer is merely on its way.
            if stage.ended.is_some() {
                sample("unfinished", operation.unfinished);
            }
        }
    }
    let help = "Requests that ended, however they ended.";
    each(stages, counter("springload_requests", "", help), |o| o.requests, out);
    let help = "Bytes of JSON sent.";
    each(stages, counter("springload_sent_bytes", "bytes", help), |o| o.bytes.sent, out);
    let help = "Bytes of JSON received.";
    each(stages, counter("springload_received_bytes", "bytes", help), |o| o.bytes.received, out);
}

fn times(stages: &[Stage<'_>], out: &mut Writer) {
    let families: [(&str, &str, &str, Time); 5] = [
        (
            "springload_response_seconds",
            "springload_response_max_seconds",
            "Time per request that succeeded, from when it was due to the last byte of its answer.",
            |operation| Some(Cow::Borrowed(&operation.response)),
        ),
        (
            "springload_service_seconds",
            "springload_service_max_seconds",
            "Time per request that succeeded, from send to the last byte of its answer.",
            |operation| Some(Cow::Borrowed(&operation.service)),
        ),
        (
            "springload_failed_response_seconds",
            "springload_failed_response_max_seconds",
            "Time per request that failed, from when it was due to its end.",
            |operation| operation.failed_latency().map(|failed| Cow::Owned(failed.response)),
        ),
        (
            "springload_failed_service_seconds",
            "springload_failed_service_max_seconds",
            "Time per request that failed, from send to its end.",
            |operation| operation.failed_latency().map(|failed| Cow::Owned(failed.service)),
        ),
        (
            "springload_lag_seconds",
            "springload_lag_max_seconds",
            "Time per request, from when it was due to when it was begun.",
            |operation| Some(Cow::Borrowed(&operation.lag)),
        ),
    ];
    for (name, max, help, latency) in families {
        out.family(Family { name, kind: Kind::Summary, unit: "seconds", help });
        for stage in stages {
            for operation in stage.operations {
                if let Some(latency) = latency(operation) {
                    summary(stage.name, operation, &latency, out);
                }
            }
        }
        out.family(gauge(max, "seconds", "The greatest of these times."));
        for stage in stages {
            for operation in stage.operations {
                let Some(latency) = latency(operation).filter(|it| it.samples > 0) else {
                    continue;
                };
                let labels = [("stage", stage.name), ("kind", operation.kind.name())];
                out.sample(&labels, seconds(latency.histogram.max() as f64));
            }
        }
    }
}

fn summary(stage: &str, operation: &OperationSummary, latency: &Latency, out: &mut Writer) {
    let histogram = &latency.histogram;
    let (stage, kind) = (("stage", stage), ("kind", operation.kind.name()));
    for (percentile, quantile) in PERCENTILES {
        if histogram.earns(percentile) {
            let value = seconds(histogram.percentile(percentile) as f64);
            out.sample(&[stage, kind, ("quantile", quantile)], value);
        }
    }
    let count = histogram.len();
    let sum = if count == 0 { 0.0 } else { histogram.mean() * count as f64 };
    out.sample_of("_sum", &[stage, kind], seconds(sum));
    out.sample_of("_count", &[stage, kind], count);
}

/// Nanoseconds as seconds, without digits that a histogram does not have.
fn seconds(ns: f64) -> f64 {
    ns.round() / 1e9
}

fn load(stages: &[Stage<'_>], out: &mut Writer) {
    out.family(gauge("springload_elapsed_seconds", "seconds", "How long the stage has gone on."));
    for stage in stages {
        out.sample(&[("stage", stage.name)], stage.elapsed_s);
    }
    out.family(counter("springload_offered_requests", "", "Requests that fell due."));
    for stage in stages {
        if let Some(offered) = stage.offered {
            out.sample(&[("stage", stage.name)], offered);
        }
    }
    let ended = || stages.iter().filter_map(|stage| stage.ended);
    let mut of_load = |family: Family, value: fn(&LoadRecord) -> f64| {
        out.family(family);
        ended().for_each(|stage| out.sample(&[("stage", &stage.name)], value(&stage.load)));
    };
    let help = "Requests dropped because too many were due and not done.";
    of_load(counter("springload_dropped_requests", "", help), |load| load.dropped as f64);
    let help = "Requests still waiting when the stage ended.";
    of_load(gauge("springload_backlog_requests", "", help), |load| load.unsent as f64);
    let help = "Requests that fell due per second.";
    of_load(gauge("springload_offered_requests_per_second", "", help), |load| load.offered_per_s);
    let help = "Requests that ended per second.";
    of_load(gauge("springload_served_requests_per_second", "", help), |load| load.served_per_s);
    let mut of_client = |family: Family, value: fn(&ClientRecord) -> f64| {
        out.family(family);
        ended().for_each(|stage| out.sample(&[("stage", &stage.name)], value(&stage.client)));
    };
    let help = "CPU time of the threads that put load on the server.";
    of_client(counter("springload_client_cpu_seconds", "seconds", help), |client| client.cpu_s);
    let help = "The share of the stage that the busiest of these threads was computing.";
    of_client(gauge("springload_client_busy_ratio", "ratio", help), |client| client.busiest_thread);
}

fn judgements(record: &RunRecord, out: &mut Writer) {
    let help = "1 where the stage's numbers can be believed.";
    out.family(gauge("springload_trustworthy", "", help));
    for stage in &record.stages {
        let labels = [("stage", stage.name.as_str()), ("verdict", stage.verdict.name())];
        out.sample(&labels, u8::from(stage.verdict.trustworthy()));
    }
    let help = "What a reader must know before believing a number.";
    out.family(gauge("springload_warning", "", help));
    for warning in &record.warnings {
        let stage = warning.stage.as_deref().unwrap_or("");
        out.sample(&[("stage", stage), ("message", &warning.message)], 1);
    }
    // Until the run has ended there is none.
    if let Some(result) = &record.result {
        let help = "What springload exits with for the run: 0 where it passed.";
        out.family(gauge("springload_exit_status", "", help));
        out.sample(&[("result", &result.words())], result.exit_status);
    }
    out.family(gauge("springload_threshold_broken", "", "1 where the run fails by a threshold."));
    for judgement in &record.thresholds {
        let expression = judgement.expression.to_string();
        out.sample(&[("threshold", &expression)], u8::from(judgement.broken));
    }
    let help = "What was measured, in seconds, as a ratio, a count or documents per second.";
    out.family(gauge("springload_threshold_value", "", help));
    for judgement in &record.thresholds {
        if let Some(value) = judgement.in_base_units() {
            out.sample(&[("threshold", &judgement.expression.to_string())], value);
        }
    }
}

#[cfg(test)]
#[path = "openmetrics_tests.rs"]
mod tests;
