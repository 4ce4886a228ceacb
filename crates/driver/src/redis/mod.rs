//! Redis, and whatever speaks its protocol, RESP, in the layout of YCSB's binding.
//!
//! A record is a hash under its key, with a member for each field. The keys are also members of a
//! sorted set, `_indices`, whose scores are Java's hashes of the keys; scans walk along it. A
//! [`Flavor`] describes how servers of this protocol differ.

mod binding;
mod client;
mod hash;
mod plan;
mod trouble;
mod words;

pub use plan::{Flavor, RedisPlan, RespPlan};
pub(crate) use words::CARDS as WORDS;

use super::library::{CallError, Clients, Database, Local, within};
use super::{Size, TargetError};
use crate::net::{Endpoint, Stream};
use ::redis::aio::MultiplexedConnection;
use ::redis::{AsyncConnectionConfig, Pipeline, RedisConnectionInfo, Value};
use client::RedisClient;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;

/// The sorted set of all keys.
const INDEX: &str = "_indices";

/// A server, and the part of its keys that a run uses.
#[derive(Clone)]
pub struct Keys {
    endpoint: Arc<Endpoint>,
    info: RedisConnectionInfo,
    /// The prefix of all keys.
    prefix: String,
    /// Whether keys are also members of the sorted set.
    indexed: bool,
    /// Whether the keys are removed at the end.
    removed: bool,
    timeout: Duration,
    /// The operations that the plan defines.
    own: words::Own,
}

/// A connection, and the task that serves it.
struct Connection {
    commands: MultiplexedConnection,
    task: JoinHandle<()>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Connection {
    /// Sends the commands together, and returns as many answers, which include refusals.
    async fn send(&mut self, pipeline: &Pipeline) -> Result<Vec<Value>, CallError> {
        let answers = match pipeline.cmd_iter().next() {
            // For several commands, the library does not say what was wrong with an answer.
            Some(command) if pipeline.len() == 1 => {
                self.commands.send_packed_command(command).await.map(|answer| vec![answer])
            }
            _ => self.commands.send_packed_commands(pipeline, 0, pipeline.len()).await,
        };
        answers.map_err(|error| trouble::of(&error))
    }

    /// Sends one command that is not part of the load.
    async fn ask(&mut self, words: &[&str]) -> Result<Value, CallError> {
        let mut pipeline = Pipeline::new();
        pipeline.cmd(words[0]).arg(&words[1..]);
        let answer = self.send(&pipeline).await?.pop().unwrap_or_default();
        answer.extract_error().map_err(|error| trouble::of(&error))
    }
}

impl Keys {
    /// Connects and authenticates. After `failed` attempts it starts with a different address.
    async fn connect(&self, failed: u32) -> Result<Connection, CallError> {
        let stream = Stream::connect(&self.endpoint, failed, false).await;
        let stream = stream.map_err(|error| trouble::of_connect(&error))?;
        // The session enforces the timeout.
        let config = AsyncConnectionConfig::new().set_response_timeout(None);
        let (commands, task) = match stream {
            Stream::Plain(stream) => serve(&self.info, stream, config).await,
            Stream::Tls(stream) => serve(&self.info, stream, config).await,
        }
        .map_err(|error| trouble::of(&error))?;
        Ok(Connection { commands, task })
    }

    /// The full name of a key.
    fn key(&self, name: &[u8]) -> Vec<u8> {
        [self.prefix.as_bytes(), name].concat()
    }

    fn index(&self) -> String {
        format!("{}{INDEX}", self.prefix)
    }

    /// The result of `work`, unless it takes too long.
    async fn within<T>(
        &self,
        work: impl Future<Output = Result<T, CallError>>,
    ) -> Result<T, CallError> {
        within(self.timeout, work, CallError::clone).await
    }

    async fn count(&self) -> Result<u64, CallError> {
        let mut connection = self.connect(0).await?;
        let count = if self.indexed {
            connection.ask(&["ZCARD", &self.index()]).await?
        } else {
            connection.ask(&["DBSIZE"]).await?
        };
        ::redis::from_redis_value(count).map_err(|error| trouble::of(&error.into()))
    }

    /// Removes all keys with the prefix, a thousand at a time.
    async fn remove(&self) -> Result<(), CallError> {
        let mut connection = self.within(self.connect(0)).await?;
        let pattern = format!("{}*", self.prefix);
        let mut cursor = "0".to_owned();
        loop {
            let words = ["SCAN", &cursor, "MATCH", &pattern, "COUNT", "1000"];
            let found = self.within(connection.ask(&words)).await?;
            let (next, keys): (String, Vec<Vec<u8>>) =
                ::redis::from_redis_value(found).map_err(|error| trouble::of(&error.into()))?;
            if !keys.is_empty() {
                let mut pipeline = Pipeline::new();
                pipeline.cmd("DEL").arg(keys);
                self.within(connection.send(&pipeline)).await?;
            }
            if next == "0" {
                return Ok(());
            }
            cursor = next;
        }
    }
}

async fn serve<S>(
    info: &RedisConnectionInfo,
    stream: S,
    config: AsyncConnectionConfig,
) -> ::redis::RedisResult<(MultiplexedConnection, JoinHandle<()>)>
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let (commands, task) = MultiplexedConnection::new_with_config(info, stream, config).await?;
    Ok((commands, tokio::spawn(task)))
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}

impl Database for Keys {
    fn clients(&self) -> Clients {
        let keys = Rc::new(self.clone());
        Box::new(move || Box::new(RedisClient::new(keys.clone())))
    }

    fn size(&self) -> Local<'_, Option<Size>> {
        Box::pin(async {
            let count = self.within(self.count()).await.ok()?;
            Some(Size { documents: Some(count), ..Size::default() })
        })
    }

    fn tear_down(&self) -> Local<'_, Result<bool, TargetError>> {
        Box::pin(async {
            if self.removed {
                self.remove().await.map_err(|trouble| {
                    let Self { prefix, .. } = self;
                    TargetError(format!("keys that begin with {prefix:?}: {}", trouble.reason))
                })?;
            }
            Ok(self.removed)
        })
    }
}

#[cfg(test)]
mod tests;
