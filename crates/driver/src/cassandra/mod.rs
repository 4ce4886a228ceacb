//! Apache Cassandra, and whatever speaks CQL's binary protocol, in the layout of YCSB's binding.
//!
//! A record is a row with a text key and a text column for each field. The sessions of a load
//! thread share a few connections to each node, as the threads of a driver do. Nothing is retried.
//! From the wire upwards: `reader`, `frame` and `answer` are the protocol, `types` its values,
//! `servers` connects and sends requests, `ring` and `token` know which node has which keys,
//! `roster` knows all nodes, `hub` is what the sessions of a thread share, `client` and `bulk`
//! execute operations, and `rows` turns rows into documents.

mod answer;
mod binding;
mod bulk;
mod client;
mod consistency;
mod cql;
mod found;
mod frame;
mod hub;
mod monitor;
mod open;
mod plan;
mod reader;
mod ring;
mod roster;
mod rows;
mod schema;
mod servers;
mod spelled;
mod token;
mod trouble;
mod types;
mod words;

pub use consistency::{BatchKind, Consistency};
pub use plan::CassandraPlan;
pub use rows::of_bytes;

use super::{Monitor, TargetError};
use crate::call::CallError;
use crate::clock::Clock;
use crate::library::{Clients, Database, Local};
use crate::net::ShardContext;
use crate::op::Reason;
use client::CassandraClient;
use cql::Table;
use hub::Hub;
use monitor::CassandraMonitor;
use plan::CARD;
use ring::Ring;
use roster::{Located, Roster};
use servers::Servers;
use std::num::NonZeroU32;
use std::rc::Rc;
use std::sync::Arc;

type Pipe = crate::pipe::Pipe<frame::Framing>;
/// The place of a connection to a node.
type Seat = crate::pipe::Seat<frame::Framing>;
type Sent = crate::pipe::Sent<frame::Framing>;

/// The maximum number of rows that all sessions of a thread have in flight together. Each needs a
/// number on its connection, which has twice as many.
const MOST_UNDER_WAY: usize = 1 << 14;

/// A table, ready for load.
#[derive(Clone, Debug)]
pub struct Cassandra {
    servers: Servers,
    ring: Ring,
    /// All nodes: those of the ring, in its order, and those that were only named by the user.
    nodes: Vec<Located>,
    roster: Arc<Roster>,
    /// How far the cluster's clock is ahead of the one here, in microseconds.
    ahead: i64,
    table: Table,
    read: Consistency,
    write: Consistency,
    /// Connections of a thread to each node.
    connections: NonZeroU32,
    /// The kind of batch used for the rows of a bulk insert.
    batch: Option<BatchKind>,
    /// The maximum number of rows in one answer.
    page: NonZeroU32,
    /// The statement that removes what the run created, if it is not kept.
    removal: Option<String>,
    own: words::Own,
}

impl Servers {
    /// The address of a node, without credentials.
    fn url_of(&self, node: &str) -> String {
        let scheme = CARD.schemes[usize::from(self.reach.is_secure())];
        format!("{scheme}://{node}")
    }

    /// The context of connections beside the load.
    fn context(&self) -> Rc<ShardContext> {
        ShardContext::new(Clock::system(), self.timeout.as_nanos() as u64)
    }
}

impl Database for Cassandra {
    fn clients(&self, context: &Rc<ShardContext>) -> Clients {
        let hub = Hub::new(self.clone(), context.clone());
        let logs = hub.clone();
        Clients {
            client: Box::new(move || Box::new(CassandraClient::new(hub.clone()))),
            nodes: Box::new(move || logs.logs()),
        }
    }

    fn monitors(&self) -> Vec<Box<dyn Monitor>> {
        CassandraMonitor::each(self)
    }

    fn tear_down(&self) -> Local<'_, Result<bool, TargetError>> {
        Box::pin(async {
            let Some(removal) = &self.removal else { return Ok(false) };
            let names = self.ring.names();
            let removed = async {
                let beside = self.servers.first(&names, &self.servers.context()).await?;
                beside.change(removal).await
            };
            removed.await.map_err(|trouble: CallError| {
                let reason = Reason::new(None, &trouble.reason).reason;
                TargetError(format!("{removal}: {reason}"))
            })?;
            Ok(true)
        })
    }
}

#[cfg(test)]
mod node_tests;
#[cfg(test)]
mod pipe_tests;
#[cfg(test)]
mod session_tests;
#[cfg(test)]
mod stand_in;
#[cfg(test)]
mod tests;
