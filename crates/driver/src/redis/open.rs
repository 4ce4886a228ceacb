//! The server before, between and after the stages of a run.

use super::Keys;
use super::Pipe;
use super::answer::Value;
use super::cluster::Map;
use super::commands::Commands;
use super::group::{Group, Hub};
use super::info::value;
use super::log_in::{ask, asked};
use super::monitor::RedisMonitor;
use super::session::RedisSession;
use super::trouble::checked;
use crate::call::CallError;
use crate::clock::Clock;
use crate::groups::Groups;
use crate::net::{Endpoint, ShardContext};
use crate::op::Failure;
use crate::{Monitor, Shard, Size, Target, TargetError};
use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

/// How long the handshake of TLS may take before the server is asked whether it uses TLS at all ...
const SHAKING: Duration = Duration::from_secs(1);
/// ... and how long it may take to answer that.
const ANSWERING: Duration = Duration::from_secs(2);

/// Redis, ready for load.
#[derive(Clone, Debug)]
pub struct RedisTarget(Arc<Keys>);

impl RedisTarget {
    pub(super) fn new(keys: Keys) -> Self {
        Self(Arc::new(keys))
    }
}

impl Target for RedisTarget {
    type Shard = RedisShard;

    async fn shard(&self, context: Rc<ShardContext>) -> io::Result<RedisShard> {
        let hub = Rc::new(Hub::new((*self.0).clone(), context));
        Ok(RedisShard { hub, groups: RefCell::default() })
    }

    async fn size(&self) -> Option<Size> {
        let count = self.0.within(self.0.count()).await.ok()?;
        Some(Size { documents: Some(count), ..Size::default() })
    }

    fn monitors(&self) -> Vec<Box<dyn Monitor>> {
        RedisMonitor::each(&self.0)
    }

    async fn tear_down(&self) -> Result<bool, TargetError> {
        if self.0.removed {
            self.0.remove().await.map_err(|trouble| {
                let prefix = &self.0.layout.prefix;
                TargetError(format!("keys that begin with {prefix:?}: {}", trouble.reason))
            })?;
        }
        Ok(self.0.removed)
    }
}

/// Redis as seen by one shard.
#[derive(Debug)]
pub struct RedisShard {
    hub: Rc<Hub>,
    /// The sessions, by their number in the run, and the connections that some share.
    groups: RefCell<Groups<Group>>,
}

impl Shard for RedisShard {
    type Session = RedisSession;

    fn session(&self) -> RedisSession {
        RedisSession::new(Rc::new(Group::new(self.hub.clone())))
    }

    /// As many sessions as the pipeline setting says share their connections.
    fn session_of(&self, connection: usize) -> RedisSession {
        if self.hub.keys.pipeline < 2 {
            return self.session();
        }
        let make = || Rc::new(Group::new(self.hub.clone()));
        let group = self.groups.borrow_mut().of(connection, self.hub.keys.pipeline, make);
        RedisSession::new(group)
    }
}

/// A server's name and version, as it reports them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Greeting {
    pub(super) name: String,
    pub(super) version: String,
}

/// Servers that say in `INFO` that they are not Redis: the name of the line, and of the server.
const OTHERS: [(&str, &str); 3] = [
    ("valkey_version", "valkey"),
    ("dragonfly_version", "dragonfly"),
    ("garnet_version", "garnet"),
];

impl Greeting {
    /// Reads the answers to `INFO` and `HELLO`; `own` is the name of a server that reports neither
    /// its own name nor a version of Redis.
    fn of(info: &str, hello: Value<'_>, own: &str) -> Self {
        // One server calls itself "Infinispan RESP".
        let first = |brand: &str| brand.split_whitespace().next().map(str::to_lowercase);
        let server = told(hello, "server").and_then(|brand| first(&brand));
        let version = value(info, "redis_version").map(str::to_owned);
        let other = OTHERS.iter().find_map(|(line, name)| Some((*name, value(info, line)?)));
        if let Some((name, version)) = other {
            return Self { name: name.to_owned(), version: version.to_owned() };
        }
        let name = if version.is_some() { "redis" } else { own };
        Self {
            name: server.unwrap_or_else(|| name.to_owned()),
            version: version.or_else(|| told(hello, "version")).unwrap_or_default(),
        }
    }
}

/// The text under a name in the answer to `HELLO`.
fn told(hello: Value<'_>, name: &str) -> Option<String> {
    let mut words = hello.list();
    while let (Some(key), Some(value)) = (words.next(), words.next()) {
        if key.text() == Some(name.as_bytes()) {
            return value.text().map(|text| String::from_utf8_lossy(text).into_owned());
        }
    }
    None
}

/// Whether a server is a node of a cluster, if `INFO` or `HELLO` says so.
fn is_clustered(info: &str, hello: Value<'_>) -> Option<bool> {
    // Valkey names that line differently.
    let line = ["redis_mode", "server_mode"].iter().find_map(|name| value(info, name));
    // Infinispan says "cluster" there even if it is alone; each of its nodes accepts every key.
    let is_infinispan = told(hello, "server").is_some_and(|it| it.starts_with("Infinispan"));
    let mode = line.map(str::to_owned).or_else(|| told(hello, "mode").filter(|_| !is_infinispan));
    mode.map(|mode| mode == "cluster")
}

/// Ends once a server that should use TLS has shown that it does not, and never otherwise. A Redis
/// without TLS takes a handshake for the beginning of a command, and waits for its end.
pub(super) async fn lacks_tls(endpoint: &Endpoint) {
    if endpoint.is_secure() {
        sleep(SHAKING).await;
        if let Ok(Ok(true)) = timeout(ANSWERING, answers_plain(endpoint)).await {
            return;
        }
    }
    std::future::pending::<()>().await;
}

/// Whether a server answers `PING` without TLS, if only with an error: nobody has logged in.
pub(super) async fn answers_plain(endpoint: &Endpoint) -> io::Result<bool> {
    let mut stream = TcpStream::connect(endpoint.addresses()).await?;
    stream.write_all(b"*1\r\n$4\r\nPING\r\n").await?;
    Ok(matches!(stream.read_u8().await?, b'+' | b'-'))
}

impl Keys {
    /// Finds out which server this is, and which nodes its cluster has.
    pub(super) async fn greet(&mut self, own: &str) -> Result<Greeting, CallError> {
        let pipe = self.connect().await?;
        if Value::of(&asked(&pipe, &["PING"]).await?).text() != Some(b"PONG") {
            return Err(CallError::new(Failure::Protocol, "no PONG to PING"));
        }
        // Not every server of this protocol supports these, and not every user may use them.
        let info = asked(&pipe, &["INFO"]).await.unwrap_or_default();
        let info = String::from_utf8_lossy(Value::of(&info).text().unwrap_or_default());
        let version = if self.log_into().resp3 { "3" } else { "2" };
        let hello = asked(&pipe, &["HELLO", version]).await.unwrap_or_default();
        let hello = Value::of(&hello);
        let clustered = match is_clustered(&info, hello) {
            Some(clustered) => clustered,
            // Servers that are not nodes of a cluster refuse it.
            None => asked(&pipe, &["CLUSTER", "INFO"]).await.is_ok(),
        };
        if clustered {
            self.map = Some(self.cluster(&pipe).await?);
        }
        Ok(Greeting::of(&info, hello, own))
    }

    async fn cluster(&self, pipe: &Rc<Pipe>) -> Result<Map, CallError> {
        if self.log_into().number > 0 {
            let reason = "a cluster has no databases but number 0";
            return Err(CallError::new(Failure::Rejected, reason));
        }
        let slots = asked(pipe, &["CLUSTER", "SLOTS"]).await.map_err(|trouble| {
            let cure = match trouble.failure {
                Failure::Rejected => "; a cluster cannot be used without CLUSTER SLOTS: allow it",
                _ => "",
            };
            CallError { reason: format!("{}{cure}", trouble.reason), ..trouble }
        })?;
        let map = Map::of(Value::of(&slots), self.endpoint.host());
        map.ok_or_else(|| CallError::new(Failure::NotReady, "no node of the cluster has any slots"))
    }

    /// A connection to the server, or to each node of the cluster.
    async fn connect_to_all(&self) -> Result<Vec<Rc<Pipe>>, CallError> {
        let Some(known) = &self.map else { return Ok(vec![self.within(self.connect()).await?]) };
        let (mut map, mut pipes) = (known.clone(), Vec::new());
        let context = ShardContext::new(Clock::system(), self.timeout.as_nanos() as u64);
        // Other nodes may have become masters since the map was requested.
        for node in known.nodes() {
            if let Ok(now) = self.within(self.nodes.map(node, &context)).await {
                map = now;
                break;
            }
        }
        for node in map.nodes() {
            let endpoint = self.nodes.reach.endpoint(node).await?;
            pipes.push(self.within(self.connect_to(&endpoint)).await?);
        }
        Ok(pipes)
    }

    async fn count(&self) -> Result<u64, CallError> {
        let words = self.layout.index.as_ref().map_or(vec!["DBSIZE"], |it| vec!["ZCARD", it]);
        let mut count = 0;
        for pipe in self.connect_to_all().await? {
            match asked(&pipe, &words).await {
                Ok(answer) => {
                    let Value::Number(number) = Value::of(&answer) else {
                        return Err(CallError::new(Failure::Protocol, "no number of keys"));
                    };
                    count += u64::try_from(number).unwrap_or_default();
                }
                // The index is on one node of a cluster; all others redirect to it.
                Err(trouble) if trouble.reason.starts_with("MOVED ") => {}
                Err(trouble) => return Err(trouble),
            }
        }
        Ok(count)
    }

    /// Removes all keys with the prefix, a thousand at a time.
    async fn remove(&self) -> Result<(), CallError> {
        let pattern = format!("{}*", self.layout.prefix);
        for pipe in self.connect_to_all().await? {
            let mut cursor = "0".to_owned();
            loop {
                let words = ["SCAN", &cursor, "MATCH", &pattern, "COUNT", "1000"];
                let found = self.within(asked(&pipe, &words)).await?;
                let mut found = Value::of(&found).list();
                let next = found.next().and_then(|value| value.text()).unwrap_or(b"0");
                let mut commands = Commands::default();
                for key in found.next().unwrap_or(Value::Null).list().filter_map(|it| it.text()) {
                    commands.begin("DEL", 2).word(key);
                }
                if commands.len() > 0 {
                    for answer in self.within(ask(&pipe, &commands)).await?.iter() {
                        checked(answer)?;
                    }
                }
                if next == b"0" {
                    break;
                }
                cursor = String::from_utf8_lossy(next).into_owned();
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_named_as_what_they_say_they_are() {
        let of = |info: &str, hello: &str| {
            let Greeting { name, version } = Greeting::of(info, Value::of(hello.as_bytes()), "own");
            format!("{name} {version}")
        };
        let resp3 = "%2\r\n$2\r\nid\r\n:1\r\n$6\r\nserver\r\n$5\r\nredis\r\n";
        assert_eq!(of("# Server\r\nredis_version:7.0.15\r\n", resp3), "redis 7.0.15");
        let resp2 = "*2\r\n$6\r\nserver\r\n$15\r\nInfinispan RESP\r\n";
        assert_eq!(of("redis_version:15.2\r\n", resp2), "infinispan 15.2");
        assert_eq!(of("redis_version:7.2.4\r\nvalkey_version:8.0.1\r\n", resp3), "valkey 8.0.1");
        assert_eq!(of("redis_version:5.0\r\n", ""), "redis 5.0");
        let alone = "*4\r\n+server\r\n+redis\r\n+version\r\n+7.0.15\r\n";
        assert_eq!(of("", alone), "redis 7.0.15");
        assert_eq!(of("x", ""), "own ");
    }

    #[test]
    fn nodes_of_clusters_say_so() {
        let hello = |server: &str, mode: &str| {
            format!("%2\r\n+server\r\n+{server}\r\n+mode\r\n+{mode}\r\n")
        };
        let [cluster, alone] = ["cluster", "standalone"].map(|mode| hello("redis", mode));
        let infinispan = hello("Infinispan RESP", "cluster");
        for (info, hello, clustered) in [
            ("redis_version:7.0.15\r\nredis_mode:cluster\r\n", "", Some(true)),
            ("valkey_version:8.0.1\r\nserver_mode:cluster\r\n", "", Some(true)),
            ("redis_mode:standalone\r\n", "", Some(false)),
            ("server_mode:standalone\r\n", "", Some(false)),
            ("redis_mode:standalone\r\n", &*infinispan, Some(false)),
            ("", &*cluster, Some(true)),
            ("", &*alone, Some(false)),
            ("", &*infinispan, None),
            ("cluster_enabled:1\r\n", "", None),
        ] {
            let found = is_clustered(info, Value::of(hello.as_bytes()));
            assert_eq!(found, clustered, "{info}{hello}");
        }
    }
}
