//! Asks each named server of MongoDB about itself: `serverStatus`. What a server does not have is
//! left out: `FerretDB` reports its commands, MongoDB everything.

use super::{CallError, Mongo, trouble, within};
use crate::observed::{Meter, Reading};
use crate::op::Failure;
use crate::{Local, Monitor, NoReading};
use ::mongodb::Client;
use ::mongodb::bson::{Bson, Document, doc};
use ::mongodb::options::ClientOptions;
use std::collections::BTreeMap;
use std::time::Duration;

/// How long a server may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);

const COMMANDS: &str = "commands";
const DOCUMENTS: &str = "documents";
const QUEUES: &str = "queues";
const CACHE: &str = "cache";
const DISK: &str = "disk";
const NETWORK: &str = "network";
const TIMES: &str = "times";
const CLIENTS: &str = "clients";
const BYTES_PER_S: &str = "bytes per second";

/// Members of the answer, and what they measure.
const METERS: [(&[&str], Meter); 34] = [
    (&["metrics", "commands", "find", "total"], Meter::rate("finds_per_s", "find", COMMANDS)),
    (&["metrics", "commands", "insert", "total"], Meter::rate("inserts_per_s", "insert", COMMANDS)),
    (&["metrics", "commands", "update", "total"], Meter::rate("updates_per_s", "update", COMMANDS)),
    (&["metrics", "commands", "delete", "total"], Meter::rate("deletes_per_s", "delete", COMMANDS)),
    (
        &["metrics", "commands", "getMore", "total"],
        Meter::rate("get_mores_per_s", "getMore", COMMANDS),
    ),
    (
        &["metrics", "commands", "aggregate", "total"],
        Meter::rate("aggregates_per_s", "aggregate", COMMANDS),
    ),
    (
        &["metrics", "document", "inserted"],
        Meter::rate("documents_inserted_per_s", "documents inserted", DOCUMENTS),
    ),
    (
        &["metrics", "document", "updated"],
        Meter::rate("documents_updated_per_s", "documents updated", DOCUMENTS),
    ),
    (
        &["metrics", "document", "returned"],
        Meter::rate("documents_returned_per_s", "documents returned", DOCUMENTS),
    ),
    (
        &["metrics", "queryExecutor", "scannedObjects"],
        Meter::rate("documents_examined_per_s", "documents examined", DOCUMENTS),
    ),
    (
        &["metrics", "queryExecutor", "scanned"],
        Meter::rate("keys_examined_per_s", "index keys examined", DOCUMENTS),
    ),
    (
        &["metrics", "operation", "writeConflicts"],
        Meter::rate("write_conflicts_per_s", "write conflicts", DOCUMENTS),
    ),
    (&["opLatencies", "reads", "ops"], Meter::rate("reads_per_s", "reads", COMMANDS)),
    (
        &["opLatencies", "reads", "latency"],
        Meter::each("read_us", "time of a read", "µs", TIMES, "reads_per_s"),
    ),
    (&["opLatencies", "writes", "ops"], Meter::rate("writes_per_s", "writes", COMMANDS)),
    (
        &["opLatencies", "writes", "latency"],
        Meter::each("write_us", "time of a write", "µs", TIMES, "writes_per_s"),
    ),
    (
        &["globalLock", "currentQueue", "readers"],
        Meter::gauge("readers_waiting", "readers waiting", "", QUEUES),
    ),
    (
        &["globalLock", "currentQueue", "writers"],
        Meter::gauge("writers_waiting", "writers waiting", "", QUEUES),
    ),
    (&["connections", "current"], Meter::gauge("connections", "connections", "", CLIENTS)),
    (
        &["connections", "active"],
        Meter::gauge("active_connections", "active connections", "", CLIENTS),
    ),
    (
        &["wiredTiger", "cache", "bytes currently in the cache"],
        Meter::gauge("cache_bytes", "in the cache", "bytes", CACHE),
    ),
    (
        &["wiredTiger", "cache", "tracked dirty bytes in the cache"],
        Meter::gauge("dirty_bytes", "dirty in the cache", "bytes", CACHE),
    ),
    (
        &["wiredTiger", "cache", "pages read into cache"],
        Meter::rate("pages_read_per_s", "pages read into the cache", "pages"),
    ),
    (
        &["wiredTiger", "cache", "pages written from cache"],
        Meter::rate("pages_written_per_s", "pages written from the cache", "pages"),
    ),
    (
        &["wiredTiger", "cache", "pages evicted by application threads"],
        Meter::rate("evicted_by_requests_per_s", "pages evicted by requests", "pages"),
    ),
    (
        &["wiredTiger", "log", "log sync operations"],
        Meter::rate("journal_syncs_per_s", "journal syncs", DISK),
    ),
    (
        &["wiredTiger", "connection", "total fsync I/Os"],
        Meter::rate("fsyncs_per_s", "fsyncs", DISK),
    ),
    (
        &["wiredTiger", "log", "log bytes written"],
        Meter::counted("journal_bytes_per_s", "journal", BYTES_PER_S, "journal"),
    ),
    (&["extra_info", "page_faults"], Meter::rate("page_faults_per_s", "page faults", "memory")),
    (
        &["network", "bytesIn"],
        Meter::counted("received_bytes_per_s", "received", BYTES_PER_S, NETWORK),
    ),
    (&["network", "bytesOut"], Meter::counted("sent_bytes_per_s", "sent", BYTES_PER_S, NETWORK)),
    (&["asserts", "user"], Meter::rate("errors_per_s", "answers with an error", COMMANDS)),
    (
        &["metrics", "ttl", "deletedDocuments"],
        Meter::rate("expired_per_s", "documents expired", DOCUMENTS),
    ),
    (
        &["metrics", "repl", "network", "ops"],
        Meter::rate("replicated_per_s", "operations replicated", DOCUMENTS),
    ),
];

/// A number at this place of the answer.
fn number(status: &Document, place: &[&str]) -> Option<f64> {
    let (last, before) = place.split_last()?;
    let parent = before.iter().try_fold(status, |at, name| at.get_document(name).ok())?;
    match parent.get(last)? {
        Bson::Double(number) => Some(*number),
        Bson::Int32(number) => Some(f64::from(*number)),
        Bson::Int64(number) => Some(*number as f64),
        _ => None,
    }
}

fn reading_of(status: &Document) -> Reading {
    let value = |(place, meter)| Some((meter, number(status, place)?));
    Reading {
        values: METERS.into_iter().filter_map(value).collect(),
        uptime_s: number(status, &["uptime"]),
        ..Reading::default()
    }
}

/// A connection to one server.
#[derive(Debug)]
pub(super) struct MongoMonitor {
    name: String,
    options: ClientOptions,
    client: Option<Client>,
}

impl MongoMonitor {
    /// One for each server that was named.
    pub(super) fn each(target: &Mongo) -> Vec<Box<dyn Monitor>> {
        let hosts = &target.options.hosts;
        let monitor = |host| {
            let mut options = target.options.clone();
            options.hosts = vec![host];
            if hosts.len() > 1 {
                // Otherwise the library would look for the primary.
                (options.direct_connection, options.repl_set_name) = (Some(true), None);
            }
            options.server_selection_timeout = Some(PATIENCE);
            options.connect_timeout = Some(PATIENCE);
            (options.min_pool_size, options.max_pool_size) = (None, Some(1));
            Self { name: options.hosts[0].to_string(), options, client: None }
        };
        hosts.iter().map(|host| Box::new(monitor(host.clone())) as Box<dyn Monitor>).collect()
    }

    async fn status(&mut self) -> Result<Document, CallError> {
        let client = match self.client.take() {
            Some(client) => client,
            None => Client::with_options(self.options.clone()).map_err(|it| trouble::of(&it))?,
        };
        let database = client.database("admin");
        let command = database.run_command(doc! {"serverStatus": 1}).into_future();
        let answer = within(PATIENCE, command, trouble::of).await;
        // A new client does not expect the late answer.
        self.client = Some(client).filter(|_| answer.is_ok());
        answer
    }

    async fn answer(&mut self) -> Result<Reading, NoReading> {
        let status = self.status().await.map_err(|trouble| match trouble.failure {
            Failure::Authentication => NoReading::Refused(trouble.reason),
            failure if failure.answered() => NoReading::Unknown,
            _ => NoReading::Missed(trouble.reason),
        })?;
        // FerretDB counts a command only once it has been used.
        let reading = reading_of(&status);
        let says_nothing = reading.values.is_empty() && !status.contains_key("metrics");
        if says_nothing { Err(NoReading::Unknown) } else { Ok(reading) }
    }

    async fn set(&mut self) -> BTreeMap<String, String> {
        let Ok(status) = self.status().await else { return BTreeMap::new() };
        let engine = status.get_document("storageEngine").and_then(|it| it.get_str("name"));
        let cache = ["wiredTiger", "cache", "maximum bytes configured"];
        let cache = number(&status, &cache).map(|it| (it as u64).to_string());
        let engine = engine.ok().map(str::to_owned);
        let all = [("storageEngine", engine), ("wiredTiger.cache_bytes", cache)];
        all.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }
}

impl Monitor for MongoMonitor {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn ask(&mut self, _: usize) -> Local<'_, Result<Reading, NoReading>> {
        Box::pin(self.answer())
    }

    fn settings(&mut self) -> Local<'_, BTreeMap<String, String>> {
        Box::pin(self.set())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_width_are_read_and_the_rest_is_left_out() {
        let status = doc! {
            "uptime": 77.0,
            "metrics": {"commands": {"find": {"total": 12_i64, "failed": 1_i64}}},
            "connections": {"current": 5_i32},
            "opLatencies": {"reads": {"latency": 900_i64, "ops": 3_i64}},
            "asserts": "none",
        };
        let reading = reading_of(&status);
        let known: Vec<_> =
            reading.values.iter().map(|(meter, value)| (&*meter.name, *value)).collect();
        let expected =
            [("finds_per_s", 12.0), ("reads_per_s", 3.0), ("read_us", 900.0), ("connections", 5.0)];
        assert_eq!(known, expected);
        assert_eq!(reading.uptime_s, Some(77.0));
        assert!(reading_of(&doc! {}).values.is_empty());
    }
}
