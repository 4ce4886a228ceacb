//! How the nodes are reached: addresses, credentials, and the requests beside the load.

use super::answer::{CqlAnswer, Prepared, checked, malformed, read};
use super::found::TextRows;
use super::frame::{Frames, Manner};
use super::ring::Ring;
use super::spelled::BoundValues;
use super::types::Type;
use super::{Pipe, trouble};
use crate::LogIn;
use crate::call::{CallError, within};
use crate::clock::wall_ns;
use crate::net::{Endpoint, ShardContext};
use crate::op::Failure;
use crate::pipe::{self, Answers, Reach, Waiting};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// The shortest timeout for a change of the schema.
const CHANGE: Duration = Duration::from_secs(10);

/// How often to check whether all nodes know a new table.
const ASK_AGAIN: Duration = Duration::from_millis(50);

/// How to connect to the cluster.
#[derive(Clone, Debug)]
pub(super) struct Servers {
    /// The nodes that the user named, `host:port`.
    pub(super) hosts: Vec<String>,
    pub(super) login: LogIn,
    pub(super) reach: Reach,
    pub(super) timeout: Duration,
}

impl Servers {
    /// Connects to a node and logs in. After `failed` attempts it starts with a different address.
    pub(super) async fn connect(
        &self,
        endpoint: &Endpoint,
        failed: u32,
        context: &ShardContext,
    ) -> Result<Rc<Pipe>, CallError> {
        let stream = pipe::connect(endpoint, failed, context).await?;
        let pipe = Rc::new(Pipe::new(stream, true, context, endpoint.max_answer));
        let mut frames = Frames::default();
        frames.startup();
        if is_ready(&ask(&pipe, &frames).await?)? {
            return Ok(pipe);
        }
        let Some(user) = &self.login.user else {
            let reason = "it requires a user and a password";
            return Err(CallError::new(Failure::Authentication, reason));
        };
        frames.clear();
        frames.log_in(user, self.login.password());
        let password = self.login.password();
        let answer = ask(&pipe, &frames).await.map_err(|lost| lost.without(password))?;
        if is_ready(&answer).map_err(|refused| refused.without(password))? {
            return Ok(pipe);
        }
        Err(CallError::new(Failure::Authentication, "it wants more than a user and a password"))
    }

    /// Connects to the first usable node among the hosts or, failing these, among `nodes`.
    pub(super) async fn first<'a>(
        &'a self,
        nodes: &'a [Arc<str>],
        context: &ShardContext,
    ) -> Result<Beside<'a>, CallError> {
        let mut why = CallError::new(Failure::Connect, "no server is named");
        let hosts = self.hosts.iter().map(String::as_str);
        for host in hosts.chain(nodes.iter().map(|node| &**node)) {
            let connecting = async {
                let endpoint = self.reach.endpoint(host).await?;
                self.connect(&endpoint, 0, context).await
            };
            match within(self.timeout, connecting, CallError::clone).await {
                Ok(pipe) => return Ok(Beside { servers: self, pipe, host }),
                Err(trouble) => why = trouble,
            }
        }
        Err(why)
    }
}

/// Whether an answer means that the connection can be used; `false` if a log-in is required.
fn is_ready(answer: &[u8]) -> Result<bool, CallError> {
    match read(answer) {
        Some(CqlAnswer::Ready) => Ok(true),
        Some(CqlAnswer::Authenticate) => Ok(false),
        Some(CqlAnswer::Refused(refusal)) => Err(refusal.error()),
        _ => Err(malformed()),
    }
}

pub(super) async fn ask(pipe: &Rc<Pipe>, frames: &Frames) -> Result<Vec<u8>, CallError> {
    let (waiting, mut answers) = (Rc::<Waiting>::default(), Answers::default());
    pipe.send_numbered(frames.iter(), &waiting)?.await?;
    waiting.swap(&mut answers);
    Ok(answers.get(0)?.to_vec())
}

pub(super) async fn prepare(pipe: &Rc<Pipe>, cql: &str) -> Result<Prepared, CallError> {
    let mut frames = Frames::default();
    frames.prepare(cql);
    match read(&ask(pipe, &frames).await?) {
        Some(CqlAnswer::Prepared(prepared)) => Ok(prepared),
        Some(CqlAnswer::Refused(refusal)) => Err(refusal.error()),
        _ => Err(malformed()),
    }
}

/// A connection to one node, beside the load.
#[derive(Debug)]
pub(super) struct Beside<'a> {
    pub(super) servers: &'a Servers,
    pub(super) pipe: Rc<Pipe>,
    pub(super) host: &'a str,
}

impl Beside<'_> {
    /// The rows that a statement returns, with its values bound as texts. Values that are not texts
    /// are returned as JSON.
    pub(super) async fn ask(&self, cql: &str, values: &[&str]) -> Result<TextRows, CallError> {
        self.ask_within(self.servers.timeout, cql, values).await
    }

    async fn ask_within(
        &self,
        timeout: Duration,
        cql: &str,
        values: &[&str],
    ) -> Result<TextRows, CallError> {
        let mut bound = BoundValues::default();
        for value in values {
            let _ = bound.push(|out| Type::Text.write(value.as_bytes(), out));
        }
        let mut frames = Frames::default();
        frames.query(cql, &bound, &Manner::PLAIN);
        let asking = ask(&self.pipe, &frames);
        let answer = within(timeout, asking, CallError::clone).await?;
        let rows = checked(&answer)?;
        rows.map_or_else(
            || Ok(TextRows::default()),
            |rows| TextRows::of(&rows).ok_or_else(malformed),
        )
    }

    pub(super) async fn prepare(&self, cql: &str) -> Result<Prepared, CallError> {
        within(self.servers.timeout, prepare(&self.pipe, cql), CallError::clone).await
    }

    /// Executes a statement that changes the schema. All nodes take part in it, so it takes longer
    /// than the operations that `--timeout` is meant for.
    pub(super) async fn change(&self, cql: &str) -> Result<(), CallError> {
        let timeout = self.servers.timeout.max(CHANGE);
        self.ask_within(timeout, cql, &[]).await.map(|_| ())
    }

    /// Waits until all nodes know the schema. If some are away for long, the run begins with the
    /// others.
    pub(super) async fn agree(&self) {
        let agreeing = async {
            loop {
                let own = self.ask("SELECT schema_version FROM system.local", &[]).await?;
                let others = self.ask("SELECT schema_version FROM system.peers", &[]).await?;
                let version = own.rows.first().cloned().unwrap_or_default();
                // Nothing is known about nodes that are away.
                if others.rows.iter().all(|it| *it == version || it.concat().is_empty()) {
                    return Ok(());
                }
                tokio::time::sleep(ASK_AGAIN).await;
            }
        };
        let _ = within(self.servers.timeout, agreeing, CallError::clone).await;
    }

    /// The nodes of the data center, and the tokens of each.
    pub(super) async fn ring(&self) -> Result<Ring, CallError> {
        let local = self.ask("SELECT * FROM system.local", &[]).await?;
        // Servers before version 4, and ScyllaDB, have only the older table.
        let peers = match self.ask("SELECT * FROM system.peers_v2", &[]).await {
            Err(refused) if refused.failure.answered() => {
                self.ask("SELECT * FROM system.peers", &[]).await?
            }
            peers => peers?,
        };
        Ok(Ring::of(self.host, &local, &peers))
    }

    /// How far the node's clock is ahead of this machine's, in microseconds; 0 if the node cannot
    /// tell.
    pub(super) async fn ahead(&self) -> i64 {
        let micros = || (wall_ns() / 1_000).cast_signed();
        let before = micros();
        let answer = self.ask("SELECT toUnixTimestamp(now()) FROM system.local", &[]).await;
        let here = before.midpoint(micros());
        let millis = answer.ok().and_then(|it| it.rows.first()?.first()?.parse::<i64>().ok());
        millis.map_or(0, |there| there.saturating_mul(1_000).saturating_sub(here))
    }

    pub(super) async fn version(&self) -> Result<String, CallError> {
        let found = self.ask("SELECT release_version FROM system.local", &[]).await?;
        Ok(found.rows.into_iter().flatten().next().unwrap_or_default())
    }
}

/// Whether a refusal only says that the node must prepare the statement again.
pub(super) fn is_unprepared(answer: &[u8]) -> bool {
    matches!(read(answer), Some(CqlAnswer::Refused(it)) if it.code == trouble::UNPREPARED)
}
