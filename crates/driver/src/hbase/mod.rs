//! HBase through its own RPC: with a gateway, the gateway would be measured, too.
//!
//! The sessions of a thread share a few connections to each region server, as the threads of an
//! HBase client do, and their knowledge of regions. Only SIMPLE authentication is supported.

mod admin;
mod binding;
pub mod cells;
mod connection;
mod exception;
mod frame;
mod messages;
mod monitor;
mod multi;
mod open;
mod pen;
mod plan;
mod regions;
mod rows;
mod scan;
mod seeds;
mod servers;
mod session;
mod table;
mod words;
mod worker;

pub use pen::HBasePen;
pub use plan::{Durability, HBasePlan};
pub use session::HBaseSession;
pub use table::{NewTable, SplitsAsked};

use super::{Monitor, Shard, Target, TargetError};
use crate::net::ShardContext;
use admin::MasterClient;
use connection::ConnectionSettings;
use monitor::HBaseMonitor;
use prost::bytes::Bytes;
use regions::{Region, Regions};
use servers::RegionServers;
use std::cell::Cell;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use worker::Cluster;

/// A table of HBase.
#[derive(Clone, Debug)]
pub struct HBase {
    opened: Arc<OpenedTable>,
}

/// What was found when the table was opened.
#[derive(Debug)]
struct OpenedTable {
    seeds: Vec<String>,
    table: Bytes,
    family: Box<[u8]>,
    durability: Option<Durability>,
    /// Connections per thread and server.
    connections: u32,
    regions: Vec<Region>,
    settings: ConnectionSettings,
    /// Whether the table is removed at the end.
    removed: bool,
    own: words::Own,
}

/// The table as seen by one thread.
#[derive(Debug)]
pub struct HBaseShard {
    shared: Rc<Cluster>,
    context: Rc<ShardContext>,
    connections: u32,
    sessions: Cell<u32>,
}

impl Target for HBase {
    type Shard = HBaseShard;

    /// Connects to all servers with regions of the table, so that connecting is part of no
    /// operation.
    async fn shard(&self, context: Rc<ShardContext>) -> io::Result<HBaseShard> {
        let opened = &*self.opened;
        let settings = ConnectionSettings { clock: context.clock(), ..opened.settings.clone() };
        let shared = Rc::new(Cluster {
            regions: Regions::new(opened.table.clone(), opened.seeds.clone(), &opened.regions),
            servers: RegionServers::new(settings),
            family: (*opened.family).into(),
            durability: opened.durability.map(Durability::number),
            own: opened.own.clone(),
        });
        let connecting = async {
            for server in shared.regions.servers() {
                for number in 0..opened.connections {
                    // Operations will report the servers that cannot be reached.
                    let _ = shared.servers.connection(&server, number).await;
                }
            }
        };
        let timeout = Duration::from_nanos(opened.settings.timeout_ns);
        let _ = tokio::time::timeout(timeout, connecting).await;
        let connections = opened.connections;
        Ok(HBaseShard { shared, context, connections, sessions: Cell::new(0) })
    }

    fn monitors(&self) -> Vec<Box<dyn Monitor>> {
        HBaseMonitor::each(self)
    }

    async fn tear_down(&self) -> Result<bool, TargetError> {
        let opened = &self.opened;
        if opened.removed {
            MasterClient::of(&opened.seeds, &opened.settings).remove_table(&opened.table).await?;
        }
        Ok(opened.removed)
    }
}

impl Shard for HBaseShard {
    type Session = HBaseSession;

    fn session(&self) -> HBaseSession {
        let number = self.sessions.replace(self.sessions.get() + 1) % self.connections;
        HBaseSession::new(self.shared.clone(), number, &self.context)
    }
}

#[cfg(test)]
mod stand_in;
#[cfg(test)]
mod tests;
