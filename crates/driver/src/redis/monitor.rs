//! Asks a Redis, or each master of a cluster, about itself: `INFO`, which costs it less than a
//! tenth of a millisecond.

use super::answer::Value;
use super::info::value;
use super::log_in::asked;
use super::{Keys, Pipe};
use crate::call::{CallError, within};
use crate::observed::{Evicted, Meter, Reading, Task};
use crate::op::Failure;
use crate::{Local, Monitor, NoReading};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// How long a server may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);

const COMMANDS: &str = "commands";
const MEMORY: &str = "memory";
const CLIENTS: &str = "clients";
const NETWORK: &str = "network";
const PROCESSORS: &str = "processors";

/// Lines of `INFO`, and what they measure. Processor times are in seconds.
const METERS: [(&str, Meter); 17] = [
    ("total_commands_processed", Meter::rate("commands_per_s", "commands", COMMANDS)),
    ("keyspace_hits", Meter::rate("hits_per_s", "keys found", COMMANDS)),
    ("keyspace_misses", Meter::rate("misses_per_s", "keys not found", COMMANDS)),
    ("expired_keys", Meter::rate("expired_per_s", "keys expired", COMMANDS)),
    ("evicted_keys", Meter::rate("evicted_per_s", "keys evicted", COMMANDS)),
    ("total_error_replies", Meter::rate("errors_per_s", "answers with an error", COMMANDS)),
    (
        "used_cpu_user_main_thread",
        Meter::counted("main_thread_user", "main thread, user", PROCESSORS, PROCESSORS),
    ),
    (
        "used_cpu_sys_main_thread",
        Meter::counted("main_thread_system", "main thread, system", PROCESSORS, PROCESSORS),
    ),
    (
        "total_net_input_bytes",
        Meter::counted("received_bytes_per_s", "received", "bytes per second", NETWORK),
    ),
    (
        "total_net_output_bytes",
        Meter::counted("sent_bytes_per_s", "sent", "bytes per second", NETWORK),
    ),
    ("used_memory", Meter::gauge("memory_bytes", "used", "bytes", MEMORY)),
    ("used_memory_rss", Meter::gauge("memory_resident_bytes", "resident", "bytes", MEMORY)),
    (
        "aof_current_size",
        Meter::gauge("aof_bytes", "append-only file", "bytes", "append-only file"),
    ),
    ("connected_clients", Meter::gauge("clients", "connected", "", CLIENTS)),
    ("blocked_clients", Meter::gauge("blocked_clients", "blocked", "", CLIENTS)),
    ("latest_fork_usec", Meter::gauge("fork_us", "last fork", "µs", "fork")),
    ("aof_delayed_fsync", Meter::rate("delayed_fsyncs_per_s", "delayed fsyncs", "disk")),
];

/// Lines of `INFO` that are 1 while a task is running.
const TASKS: [(&str, &str); 4] = [
    ("rdb_bgsave_in_progress", "rdb_save"),
    ("aof_rewrite_in_progress", "aof_rewrite"),
    ("loading", "loading"),
    ("async_loading", "loading"),
];

/// The reading in `INFO`; `server` is the one that sent it.
fn reading_of(info: &str, server: &str) -> Reading {
    let number = |name: &str| value(info, name)?.parse::<f64>().ok();
    let values = METERS.into_iter().filter_map(|(line, meter)| Some((meter, number(line)?)));
    let goes_on = |(line, _): &(&str, &str)| number(line).is_some_and(|it| it > 0.0);
    let tasks = TASKS.into_iter().filter(goes_on);
    let tasks = tasks.map(|(_, kind)| Task { kind: kind.to_owned(), what: server.to_owned() });
    let evicted = value(info, "evicted_keys").and_then(|it| it.parse().ok());
    let policy = value(info, "maxmemory_policy").unwrap_or("unknown");
    let policy = format!("maxmemory-policy {policy}");
    Reading {
        values: values.collect(),
        uptime_s: number("uptime_in_seconds"),
        evicted: evicted.map(|documents| Evicted { documents, policy }),
        tasks: Some(tasks.collect()),
        ..Reading::default()
    }
}

/// A connection to one server.
#[derive(Debug)]
pub struct RedisMonitor {
    keys: Arc<Keys>,
    /// The server, or the node of the cluster, `host:port`.
    name: String,
    pipe: Option<Rc<Pipe>>,
}

impl RedisMonitor {
    /// One for the server, or for each master of the cluster as it was when the run began.
    pub(super) fn each(keys: &Arc<Keys>) -> Vec<Box<dyn Monitor>> {
        let nodes = keys.map.as_ref().map_or_else(
            || vec![keys.endpoint.host().to_owned()],
            |map| map.nodes().iter().map(ToString::to_string).collect(),
        );
        let monitor = |name| Self { keys: keys.clone(), name, pipe: None };
        nodes.into_iter().map(|it| Box::new(monitor(it)) as Box<dyn Monitor>).collect()
    }

    async fn info(&mut self) -> Result<Vec<u8>, CallError> {
        let pipe = match self.pipe.take() {
            Some(pipe) => pipe,
            None if self.keys.map.is_none() => self.keys.connect().await?,
            None => {
                let endpoint = self.keys.nodes.reach.endpoint(&self.name).await?;
                self.keys.connect_to(&endpoint).await?
            }
        };
        let answer = asked(&pipe, &["INFO"]).await;
        // After any failure, it is unknown what would arrive next.
        self.pipe = Some(pipe).filter(|_| answer.is_ok());
        answer
    }

    async fn answer(&mut self) -> Result<Reading, NoReading> {
        let answer = within(PATIENCE, self.info(), CallError::clone).await;
        let answer = answer.map_err(|trouble| match trouble.failure {
            Failure::Rejected if trouble.reason.starts_with("NOPERM") => {
                NoReading::Refused(trouble.reason)
            }
            Failure::Rejected => NoReading::Unknown,
            _ => NoReading::Missed(trouble.reason),
        })?;
        let text = Value::of(&answer).text().unwrap_or_default();
        let reading = reading_of(&String::from_utf8_lossy(text), &self.name);
        if reading.values.is_empty() { Err(NoReading::Unknown) } else { Ok(reading) }
    }
}

impl Monitor for RedisMonitor {
    fn name(&self) -> String {
        self.name.clone()
    }

    // A server's configuration requires `CONFIG`, which most users may not use.
    fn ask(&mut self, _: usize) -> Local<'_, Result<Reading, NoReading>> {
        Box::pin(self.answer())
    }
}
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_info_are_numbers_and_what_goes_on() {
        let info = "# Server\r\nredis_version:7.0.15\r\nuptime_in_seconds:77\r\n# Stats\r\n\
            total_commands_processed:1200\r\nused_memory:900000\r\nused_memory_human:878.91K\r\n\
            used_cpu_user_main_thread:1.250000\r\nrdb_bgsave_in_progress:1\r\n\
            aof_rewrite_in_progress:0\r\nloading:0\r\n";
        let reading = reading_of(info, "h:6379");
        let known: Vec<_> =
            reading.values.iter().map(|(meter, value)| (&*meter.name, *value)).collect();
        let expected =
            [("commands_per_s", 1_200.0), ("main_thread_user", 1.25), ("memory_bytes", 900_000.0)];
        assert_eq!(known, expected);
        assert_eq!(reading.uptime_s, Some(77.0));
        let save = Task { kind: "rdb_save".to_owned(), what: "h:6379".to_owned() };
        assert_eq!(reading.tasks, Some(vec![save]));
        assert_eq!(reading.evicted, None);
        let info = format!("{info}maxmemory_policy:allkeys-lru\r\nevicted_keys:12\r\n");
        let policy = "maxmemory-policy allkeys-lru".to_owned();
        assert_eq!(reading_of(&info, "h").evicted, Some(Evicted { documents: 12, policy }));
        assert!(reading_of("", "h").values.is_empty());
    }
}
