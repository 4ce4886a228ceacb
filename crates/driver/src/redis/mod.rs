//! Redis, and whatever speaks its protocol, RESP, alone or as a cluster.
//!
//! A record is a hash under its key with a member for each field, in the layout of YCSB's binding:
//! the keys are also members of a sorted set, `_indices`, whose scores are Java's hashes of the
//! keys, and scans walk along it. Or it is a string. A [`Flavor`] describes how servers of this
//! protocol differ.
//!
//! From the wire upwards: `commands` and `answer` are the protocol, `group` is what some sessions
//! share, `exchange` sends the commands of an operation, `worker` interprets the answers, and
//! `session` is what the hot loop sees.

pub mod answer;
mod binding;
mod cluster;
mod commands;
mod exchange;
mod group;
mod hash;
mod info;
mod layout;
mod log_in;
mod monitor;
mod open;
mod pen;
mod plan;
mod session;
mod shape;
mod slots;
mod trouble;
mod words;
mod worker;

pub use monitor::RedisMonitor;
pub use open::{RedisShard, RedisTarget};
pub use pen::RedisPen;
pub use plan::{Flavor, RedisPlan, RespPlan};
pub use session::RedisSession;
pub use shape::Shape;
pub(crate) use words::CARDS as WORDS;

use crate::call::{CallError, within};
use crate::clock::Clock;
use crate::net::{Endpoint, ShardContext};
use cluster::{Map, NodeAccess};
use layout::Layout;
use log_in::LogInto;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

type Pipe = crate::pipe::Pipe<answer::Scan>;
/// A server, or a node of a cluster.
type Seat = crate::pipe::Seat<answer::Scan>;

/// The sorted set of all keys.
const INDEX: &str = "_indices";

/// A server, and the part of its keys that a run uses.
#[derive(Clone, Debug)]
struct Keys {
    endpoint: Arc<Endpoint>,
    /// How it is reached, and the nodes of its cluster.
    nodes: NodeAccess,
    /// The map of the slots, if it is a node of a cluster.
    map: Option<Map>,
    /// How many sessions share a connection.
    pipeline: usize,
    layout: Layout,
    /// Whether the keys are removed at the end.
    removed: bool,
    timeout: Duration,
    own: words::Own,
}

impl Keys {
    const fn log_into(&self) -> &LogInto {
        &self.nodes.log_into
    }

    /// A connection that is not part of the load.
    async fn connect(&self) -> Result<Rc<Pipe>, CallError> {
        self.connect_to(&self.endpoint).await
    }

    async fn connect_to(&self, endpoint: &Endpoint) -> Result<Rc<Pipe>, CallError> {
        let context = ShardContext::new(Clock::system(), self.timeout.as_nanos() as u64);
        self.log_into().connect(endpoint, 0, false, &context).await
    }

    /// The result of `work`, unless it takes too long.
    async fn within<T>(
        &self,
        work: impl Future<Output = Result<T, CallError>>,
    ) -> Result<T, CallError> {
        within(self.timeout, work, CallError::clone).await
    }
}

#[cfg(test)]
mod cluster_tests;
#[cfg(test)]
mod pipe_tests;
#[cfg(test)]
mod stand_in;
#[cfg(test)]
mod tests;
