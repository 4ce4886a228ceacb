//! A run as metrics: `--format openmetrics` prints those of a finished run, and a scraper reads
//! those of a running one. Both consist of the same families, from the same functions.

use super::exposition::{Exposition, Family, Kind, Writer};
use super::nodes::gone_s;
use super::replicated::named;
use super::{Format, Render};
use crate::measure::{Count, Latency, NodeSummary, OperationSummary, Statistic};
use crate::plan::REPLICATED;
use crate::record::{AgentStage, ClientRecord, LoadRecord, RunRecord, Running, StageRecord};
use std::borrow::Cow;

pub(super) const FORMAT: Format = Format {
    name: "openmetrics",
    summary: "the run's totals as OpenMetrics text",
    endings: &[],
    render: Render::One(|record| expose(record, None, Exposition::OpenMetrics)),
};

/// Picks one of the times of an operation; `None` if it has none.
type PickTime = fn(&OperationSummary) -> Option<Cow<'_, Latency>>;

/// A stage, finished or running.
struct MetricStage<'a> {
    name: &'a str,
    elapsed_s: f64,
    operations: &'a [OperationSummary],
    /// Values that are known only at the end.
    ended: Option<&'a StageRecord>,
    offered: Option<u64>,
    agents: &'a [AgentStage],
}

/// The metrics of a run: the stages in its record and the running one, if any.
pub fn expose(record: &RunRecord, running: Option<&Running>, dialect: Exposition) -> String {
    let ended = record.stages.iter().map(|stage| MetricStage {
        name: &stage.name,
        elapsed_s: stage.elapsed_s,
        operations: &stage.operations,
        ended: Some(stage),
        offered: Some(stage.load.offered),
        agents: &stage.agents,
    });
    let running = running.map(|stage| MetricStage {
        name: &stage.name,
        elapsed_s: stage.elapsed_s,
        operations: &stage.operations,
        ended: None,
        offered: stage.offered,
        agents: &stage.agents,
    });
    let stages: Vec<MetricStage<'_>> = ended.chain(running).collect();
    let mut out = Writer::new(dialect);
    run(record, &mut out);
    counts(&stages, &mut out);
    times(&stages, &mut out);
    load(&stages, &mut out);
    nodes(record, &mut out);
    agents(record, &stages, &mut out);
    replication(record, &mut out);
    judgments(record, &mut out);
    out.finish()
}

const fn counter(name: &'static str, unit: &'static str, help: &'static str) -> Family {
    Family { name: Cow::Borrowed(name), kind: Kind::Counter, unit, help }
}

const fn gauge(name: &'static str, unit: &'static str, help: &'static str) -> Family {
    Family { name: Cow::Borrowed(name), kind: Kind::Gauge, unit, help }
}

fn summary(name: impl Into<Cow<'static, str>>, help: &'static str) -> Family {
    Family { name: name.into(), kind: Kind::Summary, unit: "seconds", help }
}

fn run(record: &RunRecord, out: &mut Writer) {
    let help = "The run: version, server, database and seed.";
    out.family(Family { name: "springload_run".into(), kind: Kind::Info, unit: "", help });
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

fn counts(stages: &[MetricStage<'_>], out: &mut Writer) {
    let help = "Documents operated on, by result: ok, a failure class, or unfinished.";
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
            // While a stage runs, operations without a response are merely in flight.
            if stage.ended.is_some() {
                sample("unfinished", operation.unfinished);
            }
        }
    }
    for count in Count::ALL {
        let Some(name) = count.metric() else { continue };
        let unit = if count.is_bytes() { "bytes" } else { "" };
        out.family(counter(name, unit, count.meaning()));
        for stage in stages {
            for operation in stage.operations {
                let labels = [("stage", stage.name), ("kind", operation.kind.name())];
                out.sample(&labels, count.of(operation));
            }
        }
    }
}

fn times(stages: &[MetricStage<'_>], out: &mut Writer) {
    let families: [(&str, &str, PickTime); 5] = [
        (
            "response",
            "Time of successful requests, from when they were due to the last byte of the answer.",
            |operation| Some(Cow::Borrowed(&operation.response)),
        ),
        (
            "service",
            "Time of successful requests, from send to the last byte of the answer.",
            |operation| Some(Cow::Borrowed(&operation.service)),
        ),
        (
            "failed_response",
            "Time of failed requests, from when they were due to the end.",
            |operation| operation.failed_latency().map(|failed| Cow::Owned(failed.response)),
        ),
        ("failed_service", "Time of failed requests, from send to the end.", |operation| {
            operation.failed_latency().map(|failed| Cow::Owned(failed.service))
        }),
        (
            "lag",
            "Time of requests from when they were due to when they were started.",
            |operation| Some(Cow::Borrowed(&operation.lag)),
        ),
    ];
    for (name, help, latency) in families {
        out.family(summary(format!("springload_{name}_seconds"), help));
        for stage in stages {
            for operation in stage.operations {
                if let Some(latency) = latency(operation) {
                    let kind = operation.kind.name();
                    quantiles([("stage", stage.name), ("kind", kind)], &latency, out);
                }
            }
        }
        for (it, help) in Statistic::ALL.iter().filter_map(|it| Some((it, it.gauge()?))) {
            let name = format!("springload_{name}_{}_seconds", it.name()).into();
            out.family(Family { name, kind: Kind::Gauge, unit: "seconds", help });
            for stage in stages {
                for operation in stage.operations {
                    let latency = latency(operation).filter(|it| it.samples > 0);
                    let Some(latency) = latency else { continue };
                    let labels = [("stage", stage.name), ("kind", operation.kind.name())];
                    out.sample(&labels, seconds(it.in_ns(&latency.histogram)));
                }
            }
        }
    }
}

fn quantiles([stage, part]: [(&str, &str); 2], latency: &Latency, out: &mut Writer) {
    let histogram = &latency.histogram;
    for (it, quantile) in Statistic::ALL.iter().filter_map(|it| Some((it, it.quantile()?))) {
        if it.of_histogram(histogram).is_some() {
            let value = seconds(it.in_ns(histogram));
            out.sample(&[stage, part, ("quantile", &quantile)], value);
        }
    }
    let count = histogram.len();
    let sum = if count == 0 { 0.0 } else { histogram.mean() * count as f64 };
    out.sample_of("_sum", &[stage, part], seconds(sum));
    out.sample_of("_count", &[stage, part], count);
}

/// Converts nanoseconds to seconds, with no more digits than a histogram has.
fn seconds(ns: f64) -> f64 {
    ns.round() / 1e9
}

fn load(stages: &[MetricStage<'_>], out: &mut Writer) {
    out.family(gauge("springload_elapsed_seconds", "seconds", "Duration of the stage so far."));
    for stage in stages {
        out.sample(&[("stage", stage.name)], stage.elapsed_s);
    }
    out.family(counter("springload_offered_requests", "", "Requests that were due."));
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
    let help = "Requests dropped because too many were waiting or in flight.";
    of_load(counter("springload_dropped_requests", "", help), |load| load.dropped as f64);
    let help = "Requests still waiting when the stage ended.";
    of_load(gauge("springload_backlog_requests", "", help), |load| load.unsent as f64);
    let help = "Requests that were due per second.";
    of_load(gauge("springload_offered_requests_per_second", "", help), |load| load.offered_per_s);
    let help = "Completed requests per second.";
    of_load(gauge("springload_served_requests_per_second", "", help), |load| load.served_per_s);
    let mut of_client = |family: Family, value: fn(&ClientRecord) -> f64| {
        out.family(family);
        ended().for_each(|stage| out.sample(&[("stage", &stage.name)], value(&stage.client)));
    };
    let help = "CPU time of the load threads.";
    of_client(counter("springload_client_cpu_seconds", "seconds", help), |client| client.cpu_s);
    let help = "The share of the stage that the busiest load thread was computing.";
    of_client(gauge("springload_client_busy_ratio", "ratio", help), |client| client.busiest_thread);
}

/// What each node did in the completed stages, if there are several nodes.
fn nodes(record: &RunRecord, out: &mut Writer) {
    let all = || {
        let stages = record.stages.iter();
        stages.flat_map(|stage| stage.nodes.iter().map(move |node| (stage, node)))
    };
    let help = "Documents operated on at a node, by result: ok or a failure class.";
    out.family(counter("springload_node_operations", "", help));
    for (stage, node) in all() {
        let mut sample = |result, count| {
            out.sample(&[("stage", &stage.name), ("node", &node.url), ("result", result)], count);
        };
        sample("ok", node.ok);
        node.failures.iter().for_each(|(class, count)| sample(class.name(), *count));
    }
    let mut each = |family: Family, value: &dyn Fn(&StageRecord, &NodeSummary) -> f64| {
        out.family(family);
        for (stage, node) in all() {
            out.sample(&[("stage", &stage.name), ("node", &node.url)], value(stage, node));
        }
    };
    let help = "Completed requests to a node, successful or not.";
    each(counter("springload_node_requests", "", help), &|_, it| it.requests as f64);
    let help = "Documents that a node has accepted without a quorum of nodes.";
    each(counter("springload_node_accepted", "", help), &|_, it| it.accepted as f64);
    let help = "How long a node was gone.";
    each(gauge("springload_node_gone_seconds", "seconds", help), &|stage, it| gone_s(it, stage));
    let help = "Time of a node's successful requests, from when they were due to the last byte.";
    let name = "springload_node_response_seconds";
    out.family(summary(name, help));
    for (stage, node) in all() {
        quantiles([("stage", &stage.name), ("node", &node.url)], &node.response, out);
    }
}

/// How far the targets of replication lagged behind.
fn replication(record: &RunRecord, out: &mut Writer) {
    let all = record.replication.iter().flat_map(named);
    let all: Vec<_> = all.collect();
    let stage = ("stage", REPLICATED);
    let help = "Marker documents of replication, by whether they were seen at the target.";
    out.family(counter("springload_replication_markers", "", help));
    for (link, markers) in &all {
        let seen = markers.written.saturating_sub(markers.unseen);
        for (result, count) in [("seen", seen), ("unseen", markers.unseen)] {
            out.sample(&[stage, ("link", link), ("result", result)], count);
        }
    }
    let help = "Time from the acknowledgement of a marker to when the target showed it.";
    let name = "springload_replication_lag_seconds";
    out.family(summary(name, help));
    for (link, markers) in &all {
        quantiles([stage, ("link", link)], &markers.lag, out);
    }
}

/// What each agent did, and how precisely its clock is known.
fn agents(record: &RunRecord, stages: &[MetricStage<'_>], out: &mut Writer) {
    let name =
        |index: usize| (index.to_string(), record.agents.iter().find(|it| it.index == index));
    let mut each = |family: Family, value: fn(&AgentStage) -> Option<f64>| {
        out.family(family);
        for stage in stages {
            for agent in stage.agents {
                let Some(value) = value(agent) else { continue };
                let (index, known) = name(agent.index);
                let host = known.map_or("", |it| it.host.as_str());
                out.sample(&[("stage", stage.name), ("agent", &index), ("host", host)], value);
            }
        }
    };
    let help = "Completed requests of an agent, successful or not.";
    each(counter("springload_agent_requests", "", help), |it| Some(it.requests as f64));
    let help = "Documents of an agent that succeeded.";
    each(counter("springload_agent_ok", "", help), |it| Some(it.ok as f64));
    let help = "Documents of an agent that failed.";
    each(counter("springload_agent_failed", "", help), |it| Some(it.failed as f64));
    let help = "From the time that was set to the agent's first request.";
    let start: fn(&AgentStage) -> Option<f64> = |it| it.start_us.map(|us| us / 1e6);
    each(gauge("springload_agent_start_seconds", "seconds", help), start);
    let help = "The share of the response times of an agent's requests that is its own fault.";
    let share: fn(&AgentStage) -> Option<f64> = |it| Some(it.account.as_ref()?.client_share);
    each(gauge("springload_agent_client_share_ratio", "ratio", help), share);
    let help = "Time of an agent's successful requests, from when they were due to the last byte.";
    let family = "springload_agent_response_seconds";
    out.family(summary(family, help));
    for stage in stages {
        for agent in stage.agents {
            let Some(times) = &agent.response else { continue };
            let index = agent.index.to_string();
            quantiles([("stage", stage.name), ("agent", &index)], times, out);
        }
    }
    let help = "The most by which an agent's clock may be off.";
    out.family(gauge("springload_agent_clock_error_seconds", "seconds", help));
    for agent in &record.agents {
        let labels = [("agent", &*agent.index.to_string()), ("host", &agent.host)];
        out.sample(&labels, agent.clock_error_us / 1e6);
    }
    let help = "1 if the agent was lost.";
    out.family(gauge("springload_agent_lost", "", help));
    for agent in &record.agents {
        let labels = [("agent", &*agent.index.to_string()), ("host", &agent.host)];
        out.sample(&labels, u8::from(agent.lost.is_some()));
    }
}

fn judgments(record: &RunRecord, out: &mut Writer) {
    let help = "1 if the stage's numbers can be trusted.";
    out.family(gauge("springload_trustworthy", "", help));
    for stage in &record.stages {
        let labels = [("stage", stage.name.as_str()), ("verdict", stage.verdict.name())];
        out.sample(&labels, u8::from(stage.verdict.trustworthy()));
    }
    let help = "Warnings about the numbers.";
    out.family(gauge("springload_warning", "", help));
    for warning in &record.warnings {
        let stage = warning.stage.as_deref().unwrap_or("");
        out.sample(&[("stage", stage), ("message", &warning.message)], 1);
    }
    // Only once the run has ended.
    if let Some(result) = &record.result {
        let help = "The exit status of springload for the run: 0 if it passed.";
        out.family(gauge("springload_exit_status", "", help));
        out.sample(&[("result", &result.words())], result.exit_status);
    }
    out.family(gauge("springload_threshold_broken", "", "1 if the run fails by the threshold."));
    for judgment in &record.thresholds {
        let expression = judgment.expression.to_string();
        out.sample(&[("threshold", &expression)], u8::from(judgment.broken));
    }
    let help = "The measured value: seconds, a ratio, a count or a rate per second.";
    out.family(gauge("springload_threshold_value", "", help));
    for judgment in &record.thresholds {
        if let Some(value) = judgment.in_base_units() {
            out.sample(&[("threshold", &judgment.expression.to_string())], value);
        }
    }
    if !record.regressions.is_empty() {
        let help = "1 if the figure is worse than the baseline by more than is allowed.";
        out.family(gauge("springload_regression_broken", "", help));
        for figure in &record.regressions {
            let metric = figure.metric.to_string();
            out.sample(&[("metric", &metric)], u8::from(figure.broken));
        }
    }
}

#[cfg(test)]
#[path = "openmetrics_tests.rs"]
mod tests;
