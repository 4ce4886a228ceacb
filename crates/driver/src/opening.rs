//! Opening a target: what the driver needs to know of the run, what it finds, and why it cannot be
//! used.

use crate::http1::Watcher;
use crate::net::EndpointError;
use crate::op::{grouped, plain};
use crate::words::OperationPlan;
use crate::{Nouns, OpenShards, SentBeside};
use std::net::SocketAddr;
use std::sync::Arc;

/// Receives the printed line of each operation, on all threads.
pub type Echo = Arc<dyn Fn(&[u8]) + Send + Sync>;

/// Counts the documents of an earlier run whose last write was acknowledged. `None`: not known.
pub type Acknowledged = Arc<dyn Fn() -> Option<u64> + Send + Sync>;

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
    /// What is to be looked for, if an earlier run is audited.
    pub acknowledged: Option<Acknowledged>,
    /// Counts the administrative requests, if the driver can.
    pub beside: SentBeside,
    /// Receives each HTTP exchange, if exchanges are to be shown.
    pub exchanges: Option<Watcher>,
    /// Receives the line of each operation, if operations are to be shown.
    pub echo: Option<Echo>,
}

impl Opening {
    /// The error for a database that must exist and does not; `what` names it with its server. A
    /// new one, which `cure` says how to create, is no help to an audit: what is to be looked for
    /// is gone with the one that the run wrote to.
    pub(crate) fn missing(&self, what: &str, cure: &str, nouns: Nouns) -> TargetError {
        let Some(acknowledged) = &self.acknowledged else {
            return TargetError(format!("there is no {what}; {cure}"));
        };
        let lost = match acknowledged() {
            Some(1) => format!("the one acknowledged {} of the run", nouns.one),
            Some(count) => format!("all {} acknowledged {} of the run", grouped(count), nouns.many),
            None => format!("all acknowledged {} of the run", nouns.many),
        };
        TargetError(format!(
            "there is no {what}: it is gone, and with it {lost}; if another server has it, give \
             that as TARGET"
        ))
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_audit_needs_is_gone_and_what_a_run_needs_can_be_created() {
        let missing = |opening: &Opening| {
            let what = "table \"t\" on h:1";
            opening.missing(what, "create it first", Nouns::ROWS).to_string()
        };
        let words = "there is no table \"t\" on h:1; create it first";
        assert_eq!(missing(&Opening::default()), words);
        for (count, lost) in [
            (Some(1_200), "all 1,200 acknowledged rows"),
            (Some(1), "the one acknowledged row"),
            (None, "all acknowledged rows"),
        ] {
            let acknowledged: Acknowledged = Arc::new(move || count);
            let audit = Opening { acknowledged: Some(acknowledged), ..Opening::default() };
            let words = format!(
                "there is no table \"t\" on h:1: it is gone, and with it {lost} of the run; if \
                 another server has it, give that as TARGET"
            );
            assert_eq!(missing(&audit), words);
        }
    }
}
