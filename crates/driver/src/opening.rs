//! Opening a target: what the driver needs to know of the run, what it finds, and why it cannot be
//! used.

use crate::OpenShards;
use crate::http1::Watcher;
use crate::net::EndpointError;
use crate::op::plain;
use crate::words::OperationPlan;
use std::net::SocketAddr;
use std::sync::Arc;

/// Receives the printed line of each operation, on all threads.
pub type Echo = Arc<dyn Fn(&[u8]) + Send + Sync>;

/// The prefix of the names of springload's own servers, such as `springload stand-in`.
pub const OWN_SERVERS: &str = "springload ";

/// What a driver needs to know about a run to open its target.
#[derive(Clone, Default)]
pub struct Opening {
    /// Whether to leave the database alone: the operations will show whether it exists.
    pub as_it_is: bool,
    /// The name of a scratch database; `None` for a new one.
    pub scratch: Option<String>,
    /// The address of the stand-in that was started for the run.
    pub stand_in: Option<String>,
    /// The relay through which the load reaches one of the nodes.
    pub detour: Option<Detour>,
    /// The seed of the run.
    pub seed: u64,
    /// The operations that the plan defines.
    pub operations: Vec<OperationPlan>,
    /// The filter of the changes, if it must already exist.
    pub filter: Option<String>,
    /// The fields of the documents that will be written, if known.
    pub fields: Vec<String>,
    /// How long one operation may take, in nanoseconds.
    pub timeout_ns: u64,
    /// The largest answer that is read, in bytes.
    pub max_answer: u64,
    /// Receives each HTTP exchange, if exchanges are to be shown.
    pub exchanges: Option<Watcher>,
    /// Receives the line of each operation, if operations are to be shown.
    pub echo: Option<Echo>,
}

/// Sends the load for one node through a relay. Requests about the node still go straight to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Detour {
    /// Its place among the nodes, from 0.
    pub node: usize,
    /// Where the relay listens.
    pub relay: SocketAddr,
}

/// What is known about a server once its target is open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerFacts {
    /// The address, without credentials.
    pub url: String,
    /// What the server calls itself.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Whether it runs on this machine.
    pub same_machine: bool,
    /// The database.
    pub database: String,
    /// Whether springload created the database.
    pub created: bool,
    /// The shards of many databases, if the server tells of them.
    pub open_shards: Option<OpenShards>,
}

/// Why a target cannot be used. Each message says what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.chars().map(plain).collect::<String>())]
pub struct TargetError(pub String);

impl From<EndpointError> for TargetError {
    fn from(error: EndpointError) -> Self {
        Self(error.to_string())
    }
}
