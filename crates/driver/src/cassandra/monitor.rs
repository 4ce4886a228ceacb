//! Asks each node of Cassandra about itself: its virtual tables, which tell nothing about other
//! nodes.

use super::found::TextRows;
use super::servers::Beside;
use super::{Cassandra, Pipe, Servers};
use crate::call::{CallError, within};
use crate::clock::SECOND_NS;
use crate::observed::{Meter, Reading, Task};
use crate::op::Failure;
use crate::{Local, Monitor, NoReading, Question};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// How long a node may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// The unit in which it reports the size of a table, in bytes.
const MEBIBYTE: f64 = 1_048_576.0;

const QUEUES: &str = "queues";
const REQUESTS: &str = "requests";
const CACHES: &str = "caches";
const DISK: &str = "disk";
const SIZES: &str = "sizes";

/// A question to the nodes.
struct CqlQuestion {
    cql: &'static str,
    /// Whether it is about the table of the run.
    of_table: bool,
    every_s: u64,
    read: fn(&TextRows, &mut Reading),
}

const ASKED: [CqlQuestion; 4] = [
    CqlQuestion {
        cql: "SELECT * FROM system_views.thread_pools",
        of_table: false,
        every_s: 2,
        read: thread_pools,
    },
    CqlQuestion {
        cql: "SELECT * FROM system_views.sstable_tasks",
        of_table: false,
        every_s: 1,
        read: sstable_tasks,
    },
    CqlQuestion {
        cql: "SELECT * FROM system_views.caches",
        of_table: false,
        every_s: 2,
        read: caches,
    },
    CqlQuestion {
        cql: "SELECT mebibytes FROM system_views.disk_usage \
              WHERE keyspace_name = ? AND table_name = ?",
        of_table: true,
        every_s: 2,
        read: disk_usage,
    },
];

/// Columns of `thread_pools`: the pool, the column, and what it measures.
const POOLS: [(&str, &str, Meter); 9] = [
    (
        "Native-Transport-Requests",
        "completed_tasks",
        Meter::rate("requests_per_s", "requests", REQUESTS),
    ),
    ("ReadStage", "completed_tasks", Meter::rate("local_reads_per_s", "local reads", REQUESTS)),
    (
        "MutationStage",
        "completed_tasks",
        Meter::rate("local_writes_per_s", "local writes", REQUESTS),
    ),
    ("MemtableFlushWriter", "completed_tasks", Meter::rate("flushes_per_s", "flushes", DISK)),
    (
        "Native-Transport-Requests",
        "pending_tasks",
        Meter::gauge("requests_waiting", "requests waiting", "", QUEUES),
    ),
    (
        "Native-Transport-Requests",
        "blocked_tasks",
        Meter::gauge("requests_blocked", "requests blocked", "", QUEUES),
    ),
    (
        "ReadStage",
        "pending_tasks",
        Meter::gauge("local_reads_waiting", "local reads waiting", "", QUEUES),
    ),
    (
        "MutationStage",
        "pending_tasks",
        Meter::gauge("local_writes_waiting", "local writes waiting", "", QUEUES),
    ),
    (
        "CompactionExecutor",
        "pending_tasks",
        Meter::gauge("compactions_waiting", "compactions waiting", "", QUEUES),
    ),
];

fn number(found: &TextRows, row: usize, column: &str) -> Option<f64> {
    found.get(row, column).parse().ok()
}

/// The row whose column `name` has this value.
fn row_of(found: &TextRows, name: &str) -> Option<usize> {
    (0..found.rows.len()).find(|&row| found.get(row, "name") == name)
}

fn thread_pools(found: &TextRows, reading: &mut Reading) {
    for (pool, column, meter) in POOLS {
        let value = row_of(found, pool).and_then(|row| number(found, row, column));
        reading.values.extend(value.map(|value| (meter, value)));
    }
}

/// Compactions and other tasks that work on the files of tables.
fn sstable_tasks(found: &TextRows, reading: &mut Reading) {
    let task = |row| {
        let place = format!("{}.{}", found.get(row, "keyspace_name"), found.get(row, "table_name"));
        Task { kind: found.get(row, "kind").to_lowercase().replace(' ', "_"), what: place }
    };
    let mut tasks: Vec<Task> = (0..found.rows.len()).map(task).collect();
    tasks.sort();
    // Several tasks on the same table count as one.
    tasks.dedup();
    reading.tasks = Some(tasks);
}

fn caches(found: &TextRows, reading: &mut Reading) {
    let misses = |cache: &str| {
        let row = row_of(found, cache)?;
        Some(number(found, row, "request_count")? - number(found, row, "hit_count")?)
    };
    for (cache, meter) in [
        ("chunks", Meter::rate("chunk_cache_misses_per_s", "chunk cache misses", CACHES)),
        ("keys", Meter::rate("key_cache_misses_per_s", "key cache misses", CACHES)),
    ] {
        reading.values.extend(misses(cache).map(|value| (meter, value)));
    }
}

fn disk_usage(found: &TextRows, reading: &mut Reading) {
    let meter = Meter::gauge("file_bytes", "files", "bytes", SIZES);
    let value = number(found, 0, "mebibytes").map(|value| value * MEBIBYTE);
    reading.values.extend(value.map(|value| (meter, value)));
}

/// The settings of a node that matter for speed and contain nothing secret.
const SETTINGS: [&str; 19] = [
    "cdc_enabled",
    "commitlog_sync",
    "commitlog_sync_group_window",
    "commitlog_sync_period",
    "compaction_throughput",
    "concurrent_compactors",
    "concurrent_counter_writes",
    "concurrent_reads",
    "concurrent_writes",
    "disk_access_mode",
    "disk_optimization_strategy",
    "file_cache_size",
    "key_cache_size",
    "memtable_allocation_type",
    "memtable_heap_space",
    "memtable_offheap_space",
    "native_transport_max_threads",
    "num_tokens",
    "row_cache_size",
];

/// A connection to one node.
#[derive(Debug)]
pub(super) struct CassandraMonitor {
    servers: Servers,
    /// `host:port`
    host: Arc<str>,
    /// The keyspace and the table of the run.
    place: [String; 2],
    pipe: Option<Rc<Pipe>>,
}

impl CassandraMonitor {
    /// One for each node of the data center.
    pub(super) fn each(target: &Cassandra) -> Vec<Box<dyn Monitor>> {
        let place = target.table.place();
        let monitor = |host: &Arc<str>| Self {
            servers: Servers { timeout: PATIENCE, ..target.servers.clone() },
            host: host.clone(),
            place: place.clone(),
            pipe: None,
        };
        let nodes = target.ring.nodes().iter();
        nodes.map(|it| Box::new(monitor(&it.name)) as Box<dyn Monitor>).collect()
    }

    /// The rows that a statement returns; its values are the keyspace and the table, if it has any.
    async fn find(&mut self, cql: &str, of_table: bool) -> Result<TextRows, CallError> {
        let finding = async {
            let pipe = if let Some(pipe) = self.pipe.take() {
                pipe
            } else {
                let endpoint = self.servers.reach.endpoint(&self.host).await?;
                self.servers.connect(&endpoint, 0, &self.servers.context()).await?
            };
            let beside = Beside { servers: &self.servers, pipe: pipe.clone(), host: &self.host };
            let place = self.place.each_ref().map(String::as_str);
            let found = beside.ask(cql, if of_table { &place } else { &[] }).await;
            let is_usable = found.as_ref().err().is_none_or(|it| it.failure.answered());
            Ok((found, Some(pipe).filter(|_| is_usable)))
        };
        let (found, pipe) = within(PATIENCE, finding, CallError::clone).await?;
        self.pipe = pipe;
        found
    }

    async fn answer(&mut self, question: usize) -> Result<Reading, NoReading> {
        let CqlQuestion { cql, of_table, read, .. } = ASKED[question];
        let found = self.find(cql, of_table).await.map_err(no_reading)?;
        let mut reading = Reading::default();
        read(&found, &mut reading);
        Ok(reading)
    }

    async fn set(&mut self) -> BTreeMap<String, String> {
        let mut settings = BTreeMap::new();
        if let Ok(found) = self.find("SELECT name, value FROM system_views.settings", false).await {
            let rows = (0..found.rows.len()).map(|row| (found.get(row, "name"), row));
            let wanted = rows.filter(|(name, _)| SETTINGS.contains(name));
            let set = wanted.map(|(name, row)| (name.to_owned(), found.get(row, "value").into()));
            settings.extend(set.filter(|(_, value): &(String, String)| !value.is_empty()));
        }
        let cql = "SELECT compaction, compression, caching, gc_grace_seconds, \
                   speculative_retry FROM system_schema.tables \
                   WHERE keyspace_name = ? AND table_name = ?";
        if let Ok(found) = self.find(cql, true).await
            && !found.rows.is_empty()
        {
            let set = |name: &String| (format!("table.{name}"), found.get(0, name).to_owned());
            settings.extend(found.columns.iter().map(set));
        }
        settings
    }
}

/// The reason why there is no reading.
fn no_reading(trouble: CallError) -> NoReading {
    match trouble.failure {
        Failure::Rejected if trouble.reason.contains("permission") => {
            NoReading::Refused(trouble.reason)
        }
        // The node has no such table: it is older, or not Cassandra.
        Failure::NotFound | Failure::Rejected => NoReading::Unknown,
        Failure::Authentication => NoReading::Refused(trouble.reason),
        _ => NoReading::Missed(trouble.reason),
    }
}

impl Monitor for CassandraMonitor {
    fn name(&self) -> String {
        self.host.to_string()
    }

    fn questions(&self) -> Vec<Question> {
        let every_ns = |it: &CqlQuestion| it.every_s * SECOND_NS;
        ASKED.iter().map(|it| Question { every_ns: every_ns(it), of_all: false }).collect()
    }

    fn ask(&mut self, question: usize) -> Local<'_, Result<Reading, NoReading>> {
        Box::pin(self.answer(question))
    }

    fn settings(&mut self) -> Local<'_, BTreeMap<String, String>> {
        Box::pin(self.set())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(columns: &[&str], rows: &[&[&str]]) -> TextRows {
        let texts = |texts: &[&str]| texts.iter().map(|it| (*it).to_owned()).collect();
        TextRows { columns: texts(columns), rows: rows.iter().map(|row| texts(row)).collect() }
    }

    fn values(read: fn(&TextRows, &mut Reading), found: &TextRows) -> Vec<(String, f64)> {
        let mut reading = Reading::default();
        read(found, &mut reading);
        reading.values.iter().map(|(meter, value)| (meter.name.to_string(), *value)).collect()
    }

    #[test]
    fn pools_and_caches_are_known_by_name_wherever_they_stand() {
        let pools = found(
            &["name", "blocked_tasks", "completed_tasks", "pending_tasks"],
            &[&["ReadStage", "0", "70", "3"], &["Other", "9", "9", "9"]],
        );
        let expected = [("local_reads_per_s", 70.0), ("local_reads_waiting", 3.0)];
        assert_eq!(values(thread_pools, &pools), expected.map(|(it, value)| (it.into(), value)));
        let cache = found(&["hit_count", "name", "request_count"], &[&["40", "chunks", "50"]]);
        assert_eq!(values(caches, &cache), [("chunk_cache_misses_per_s".into(), 10.0)]);
        let size = found(&["mebibytes"], &[&["2"]]);
        assert_eq!(values(disk_usage, &size), [("file_bytes".into(), 2_097_152.0)]);
        assert!(values(disk_usage, &TextRows::default()).is_empty());
    }

    #[test]
    fn tasks_of_one_table_are_one() {
        let row: &[&str] = &["ks", "t", "Compaction"];
        let tasks = found(&["keyspace_name", "table_name", "kind"], &[row, row]);
        let mut reading = Reading::default();
        sstable_tasks(&tasks, &mut reading);
        let compaction = Task { kind: "compaction".into(), what: "ks.t".into() };
        assert_eq!(reading.tasks, Some(vec![compaction]));
        sstable_tasks(&TextRows::default(), &mut reading);
        assert_eq!(reading.tasks, Some(vec![]), "nothing goes on");
    }

    #[test]
    fn a_server_without_such_tables_is_not_asked_again_and_silence_is_no_refusal() {
        let of = |failure, words: &str| no_reading(CallError::new(failure, words));
        assert_eq!(
            of(Failure::NotFound, "table system_views.x does not exist"),
            NoReading::Unknown
        );
        let words = "User ann has no SELECT permission on <table system_views.caches>";
        assert_eq!(of(Failure::Rejected, words), NoReading::Refused(words.into()));
        assert_eq!(of(Failure::Timeout, "no answer"), NoReading::Missed("no answer".into()));
    }
}
