//! Reads what CouchDB reports about itself: which of its numbers are of interest, and what they
//! mean.
//!
//! Some of its own descriptions are wrong: times are in milliseconds where it says microseconds,
//! and numbers that it calls counters rise and fall. Histograms cover only the last ten seconds.

use crate::measure::Served;
use crate::observed::{Meter, Reading, Task};
use serde_json::Value;
use std::collections::BTreeMap;

/// Where a number is in `_stats`, below `couchdb` unless it begins with a slash, and what it is.
type StatsMeter = (&'static str, Meter);

const DISK: &str = "disk";
const DOCUMENTS: &str = "documents";
const INDEXES: &str = "indexes";
const QUEUES: &str = "queues";
const TIMES: &str = "times";
const MEMORY: &str = "memory";
const SIZES: &str = "sizes";
const FILES: &str = "open files";
const PROCESSES: &str = "processes";
const REQUESTS: &str = "requests";

/// Counts from the start of the node.
const COUNTS: [StatsMeter; 26] = [
    ("/fsync/count", Meter::rate("fsyncs_per_s", "fsyncs", DISK)),
    ("commits", Meter::rate("commits_per_s", "commits", DISK)),
    (
        "coalesced_updates/interactive",
        Meter::rate("coalesced_updates_per_s", "updates in another's commit", DISK),
    ),
    ("document_writes", Meter::rate("document_writes_per_s", "documents written", DOCUMENTS)),
    ("database_reads", Meter::rate("database_reads_per_s", "documents read", DOCUMENTS)),
    ("httpd/requests", Meter::rate("requests_per_s", "requests", REQUESTS)),
    ("httpd/aborted_requests", Meter::rate("aborted_per_s", "aborted requests", REQUESTS)),
    ("httpd/view_timeouts", Meter::rate("view_timeouts_per_s", "view timeouts", REQUESTS)),
    ("httpd_status_codes/202", Meter::rate("status_202_per_s", "answers 202", REQUESTS)),
    ("httpd_status_codes/500", Meter::rate("status_500_per_s", "answers 500", REQUESTS)),
    ("httpd_status_codes/503", Meter::rate("status_503_per_s", "answers 503", REQUESTS)),
    (
        "/fabric/doc_update/write_quorum_errors",
        Meter::rate("write_quorum_errors_per_s", "missed write quorums", REQUESTS),
    ),
    ("/fabric/read_repairs/success", Meter::rate("read_repairs_per_s", "read repairs", REQUESTS)),
    ("/rexi/dropped", Meter::rate("rexi_dropped_per_s", "dropped messages", REQUESTS)),
    ("mrview/map_doc", Meter::rate("map_docs_per_s", "documents mapped", INDEXES)),
    ("mrview/emits", Meter::rate("emits_per_s", "rows emitted", INDEXES)),
    ("query_server/calls/map", Meter::rate("map_calls_per_s", "map calls", INDEXES)),
    (
        "query_server/process_starts",
        Meter::rate("couchjs_starts_per_s", "couchjs started", INDEXES),
    ),
    (
        "/mango/docs_examined",
        Meter::rate("mango_docs_examined_per_s", "Mango: documents examined", INDEXES),
    ),
    (
        "/mango/keys_examined",
        Meter::rate("mango_keys_examined_per_s", "Mango: keys examined", INDEXES),
    ),
    (
        "/mango/results_returned",
        Meter::rate("mango_results_per_s", "Mango: results returned", INDEXES),
    ),
    ("query_server/time/map", Meter::each("map_us", "map call", "µs", TIMES, "map_calls_per_s")),
    (
        "query_server/time/reduce",
        Meter::each("reduce_us", "reduce call", "µs", TIMES, "reduce_calls_per_s"),
    ),
    ("query_server/calls/reduce", Meter::rate("reduce_calls_per_s", "reduce calls", INDEXES)),
    (
        "/mango/docs_examined",
        Meter::each(
            "mango_docs_examined_per_result",
            "Mango: documents examined for each result",
            "",
            INDEXES,
            "mango_results_per_s",
        ),
    ),
    (
        "/mango/unindexed_queries",
        Meter::rate("mango_unindexed_per_s", "Mango: queries without an index", INDEXES),
    ),
];

/// Numbers that rise and fall, even if `_stats` calls them counters.
const GAUGES: [StatsMeter; 4] = [
    ("open_databases", Meter::gauge("open_databases", "open shards", "", FILES)),
    ("open_os_files", Meter::gauge("open_os_files", "open files", "", FILES)),
    (
        "httpd/clients_requesting_changes",
        Meter::gauge("changes_clients", "followers of changes", "", QUEUES),
    ),
    (
        "query_server/acquired_processes",
        Meter::gauge("couchjs_in_use", "couchjs in use", "", QUEUES),
    ),
];

/// Histograms of the last ten seconds, in milliseconds: their 99th percentile.
const HISTOGRAMS: [StatsMeter; 3] = [
    ("/fsync/time", Meter::gauge("fsync_p99_ms", "fsync, p99 of 10 s", "ms", TIMES)),
    ("request_time", Meter::gauge("request_p99_ms", "request, p99 of 10 s", "ms", TIMES)),
    ("db_open_time", Meter::gauge("db_open_p99_ms", "opening a shard, p99 of 10 s", "ms", TIMES)),
];

/// The value at a path such as `httpd/requests`.
fn at<'a>(stats: &'a Value, path: &str) -> &'a Value {
    let nothing = &Value::Null;
    let (mut place, path) = match path.strip_prefix('/') {
        Some(path) => (stats, path),
        None => (&stats["couchdb"], path),
    };
    for name in path.split('/') {
        place = place.get(name).unwrap_or(nothing);
    }
    &place["value"]
}

/// `_node/_local/_stats`.
pub(super) fn stats(stats: &Value, reading: &mut Reading) {
    for (path, meter) in COUNTS.into_iter().chain(GAUGES) {
        reading.values.extend(at(stats, path).as_f64().map(|value| (meter, value)));
    }
    for (path, meter) in HISTOGRAMS {
        let histogram = at(stats, path);
        // Nothing happened in the last ten seconds, so there is no time to report.
        let some = histogram["n"].as_u64().is_some_and(|n| n > 0);
        let percentiles = histogram["percentile"].as_array().filter(|_| some);
        let p99 = percentiles.into_iter().flatten().find(|it| it[0].as_u64() == Some(99));
        reading.values.extend(p99.and_then(|it| it[1].as_f64()).map(|value| (meter, value)));
    }
    let counts = |place: &str| {
        let all = stats["couchdb"][place].as_object().into_iter().flatten();
        let one = |(name, leaf): (&String, &Value)| Some((name.clone(), leaf["value"].as_u64()?));
        all.filter_map(one).collect::<BTreeMap<_, _>>()
    };
    let methods = counts("httpd_request_methods");
    let statuses = counts("httpd_status_codes");
    reading.served = (!methods.is_empty()).then_some(Served { methods, statuses });
}

/// Subtracts the monitor's own requests from what a node has served. The node's counts include the
/// request for these counts, but not yet the answer to it.
pub(super) fn take_away(served: &mut Served, sent: &Served, answered: &Served) {
    for (method, count) in &sent.methods {
        take(&mut served.methods, method, *count);
    }
    for (status, count) in &answered.statuses {
        take(&mut served.statuses, status, *count);
    }
}

fn take(all: &mut BTreeMap<String, u64>, name: &str, count: u64) {
    if let Some(known) = all.get_mut(name) {
        *known = known.saturating_sub(count);
    }
}

/// `_node/_local/_system`.
pub(super) fn system(system: &Value, reading: &mut Reading) {
    reading.uptime_s = system["uptime"].as_f64();
    let mut add = |meter: Meter, value: Option<f64>| {
        reading.values.extend(value.map(|value| (meter, value)));
    };
    let number = |name: &str| system[name].as_f64();
    let parts = ["other", "atom", "processes", "binary", "code", "ets"];
    let memory: Vec<f64> =
        parts.iter().filter_map(|name| system["memory"][name].as_f64()).collect();
    let all = (memory.len() == parts.len()).then(|| memory.iter().sum());
    add(Meter::gauge("memory_bytes", "memory", "bytes", MEMORY), all);
    let binary = system["memory"]["binary"].as_f64();
    add(Meter::gauge("memory_binary_bytes", "memory of binaries", "bytes", MEMORY), binary);
    add(Meter::gauge("run_queue", "run queue", "", QUEUES), number("run_queue"));
    let dirty = number("run_queue_dirty_cpu");
    add(Meter::gauge("run_queue_dirty_cpu", "run queue, long work", "", QUEUES), dirty);
    add(Meter::gauge("processes", "Erlang processes", "", PROCESSES), number("process_count"));
    add(Meter::gauge("couchjs", "couchjs processes", "", QUEUES), number("os_proc_count"));
    let jobs = number("internal_replication_jobs");
    add(Meter::gauge("shard_sync_jobs", "shards to be synced", "", QUEUES), jobs);
    for (queue, meter) in [
        ("couch_file", Meter::gauge("couch_file_queue", "longest couch_file queue", "", QUEUES)),
        (
            "couch_db_updater",
            Meter::gauge("db_updater_queue", "longest couch_db_updater queue", "", QUEUES),
        ),
    ] {
        // Nothing is open, so nothing waits.
        let longest = system["message_queues"].get(queue);
        add(meter, longest.map(|it| it["max"].as_f64().unwrap_or(0.0)));
    }
    let longest = |prefix: &str| {
        let queues = system["message_queues"].as_object()?;
        let of_name = queues.iter().filter(|(name, _)| name.starts_with(prefix));
        of_name.filter_map(|(_, length)| length.as_f64()).reduce(f64::max)
    };
    let server = Meter::gauge("couch_server_queue", "couch_server queue", "", QUEUES);
    add(server, longest("couch_server"));
    add(Meter::gauge("ioq_queue", "ioq queue", "", QUEUES), longest("ioq"));
    add(Meter::gauge("rexi_queue", "longest rexi queue", "", QUEUES), longest("rexi_server"));
    let down = system["distribution_events"].as_object().into_iter().flatten();
    let down = down.filter(|(_, events)| is_down(events));
    let task =
        |(node, _): (&String, &Value)| Task { kind: "node_down".to_owned(), what: node.clone() };
    // Every node has its own view of the others.
    let down: Vec<Task> = down.map(task).collect();
    reading.tasks = system.get("distribution_events").map(|_| down);
}

/// Whether a node is down, according to the last event about it.
fn is_down(events: &Value) -> bool {
    let last = events.as_array().and_then(|all| all.last());
    last.is_some_and(|last| last[1] == "nodedown")
}

/// `_active_tasks`.
pub(super) fn tasks(tasks: &Value, reading: &mut Reading) {
    let text = |task: &Value, name: &str| task[name].as_str().unwrap_or_default().to_owned();
    let one = |task: &Value| {
        let what = match task["database"].as_str() {
            Some(shard) => {
                let design = task["design_document"].as_str();
                let design = design.map(|it| format!(" {it}")).unwrap_or_default();
                format!("{}{design}{}", shard_words(shard), node_words(task))
            }
            None => format!("{} → {}", text(task, "source"), text(task, "target")),
        };
        Task { kind: text(task, "type"), what }
    };
    let all: Option<Vec<Task>> = tasks.as_array().map(|all| all.iter().map(one).collect());
    reading.tasks = all;
    reading.of_all = true;
}

/// `shards/00000000-7fffffff/name.1795460081` as `name 00000000-7fffffff`.
fn shard_words(shard: &str) -> String {
    let parts = shard.strip_prefix("shards/").and_then(|rest| rest.split_once('/'));
    let Some((range, name)) = parts else { return shard.to_owned() };
    let name = name.rsplit_once('.').map_or(name, |(name, _)| name);
    format!("{name} {range}")
}

fn node_words(task: &Value) -> String {
    task["node"].as_str().map(|node| format!(" on {node}")).unwrap_or_default()
}

/// `GET /{db}`.
pub(super) fn database(database: &Value, reading: &mut Reading) {
    let sizes = &database["sizes"];
    for (meter, value) in [
        (Meter::gauge("file_bytes", "files", "bytes", SIZES), sizes["file"].as_f64()),
        (Meter::gauge("active_bytes", "live data", "bytes", SIZES), sizes["active"].as_f64()),
        (Meter::gauge("documents", "documents", "", SIZES), database["doc_count"].as_f64()),
        (Meter::gauge("fragmentation_percent", "fragmentation", "%", SIZES), fragmentation(sizes)),
    ] {
        reading.values.extend(value.map(|value| (meter, value)));
    }
}

/// The share of the files that is not live data, as a percentage.
fn fragmentation(sizes: &Value) -> Option<f64> {
    let (file, active) = (sizes["file"].as_f64()?, sizes["active"].as_f64()?);
    (file > 0.0).then(|| (file - active).max(0.0) / file * 100.0)
}

/// The shards and copies of the database, as in `GET /{db}`.
pub(super) fn cluster(database: &Value) -> Vec<(String, String)> {
    let members = database["cluster"].as_object().into_iter().flatten();
    members.map(|(name, value)| (format!("cluster.{name}"), value.to_string())).collect()
}

/// The sections of the configuration that matter for speed and contain nothing secret.
const SECTIONS: [&str; 9] = [
    "couchdb",
    "cluster",
    "fabric",
    "chttpd",
    "smoosh",
    "ioq",
    "ken",
    "query_server_config",
    "mango",
];

/// Settings left out of these sections: those that differ between any two installations, or might
/// be secret.
const LEFT_OUT: [&str; 10] = [
    "secret",
    "password",
    "token",
    "key",
    "uuid",
    "dir",
    "port",
    "bind_address",
    "handler",
    "vendor",
];

/// The settings of `_node/_local/_config` that matter for speed.
pub(super) fn settings(config: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (section, values) in config.as_object().into_iter().flatten() {
        let family = section.split('.').next().unwrap_or_default();
        if !SECTIONS.contains(&family) {
            continue;
        }
        for (name, value) in values.as_object().into_iter().flatten() {
            let is_plain = !LEFT_OUT.iter().any(|part| name.contains(part));
            let value = value.as_str().filter(|value| is_plain && value.len() <= 100);
            found.extend(value.map(|value| (format!("{section}.{name}"), value.to_owned())));
        }
    }
    found
}

#[cfg(test)]
#[path = "info_tests.rs"]
mod tests;
