//! Apache CouchDB and databases that speak its protocol, over HTTP/1.1.

mod admin;
pub mod answer;
mod binding;
mod building;
mod compaction;
mod copies;
mod creating;
mod credentials;
mod database;
mod design;
pub mod feed;
mod fetch;
mod follower;
mod head;
mod info;
mod leaf;
mod leftover;
mod listing;
mod log_in;
mod maintenance;
mod making;
mod many;
mod monitor;
mod moves;
mod nodes;
mod open;
mod open_many;
mod own;
mod pen;
mod plan;
mod planned;
mod prober;
mod queries;
mod quorum;
mod replicator;
mod revision;
mod seen;
mod session;
mod settle;
mod settling;
mod several;
mod stored;
mod view_name;
mod whole;
mod words;

pub use admin::{Admin, AdminError};
pub use credentials::Credentials;
pub use fetch::fetch_document;
pub use follower::CouchFollower;
pub use making::Making;
use many::Paths;
pub use monitor::CouchMonitor;
use nodes::{Node, Nodes, Place};
pub use pen::CouchPen;
pub use plan::{CouchPlan, NodePlan};
pub use prober::CouchProber;
pub use quorum::Quorum;
pub use replicator::CouchReplicator;
pub use revision::Revision;
pub use session::CouchSession;

use super::{
    Binding, Card, DriverPlan, FollowPlan, Follower, Monitor, Opening, Prober, Replicator,
    ServerFacts, Shard, Size, Target, TargetAsked, TargetError, Unsettled, UnsettledWrites,
};
use crate::measure::NodeLog;
use crate::mistake::Invalid;
#[cfg(test)]
use crate::net::Endpoint;
use crate::net::ShardContext;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use std::io;
use std::rc::Rc;
use std::sync::Arc;

/// In a path segment, everything except RFC 3986's unreserved characters is encoded.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// A percent-encoded path segment: a database's name or a document's identifier.
pub fn encode_segment(segment: &str) -> String {
    utf8_percent_encode(segment, SEGMENT).to_string()
}

/// One database on one server, or on the nodes of a cluster.
#[derive(Clone, Debug)]
pub struct CouchDb {
    /// The address of the first server that answered, without credentials.
    server: Arc<str>,
    /// At least one node.
    nodes: Arc<[Node]>,
    /// Whether connections stay with their nodes.
    pinned: bool,
    paths: Paths,
    cached_updates: bool,
    own: Arc<words::Operations>,
    /// How many copies answer for a document.
    quorum: Quorum,
    /// The design documents that come with the plan.
    designs: Arc<[design::Design]>,
    audit_views: Arc<[view_name::ViewName]>,
    /// The timeout of each administrative request, in nanoseconds.
    timeout_ns: u64,
    /// Whether the database is removed at the end.
    removed: bool,
    /// The settings that keep the server from compacting it.
    held: compaction::HeldSettings,
    /// Writes without an answer, over all sessions.
    unsettled: Arc<Unsettled>,
}

impl CouchDb {
    /// The database `name` on the server at `endpoint`.
    #[cfg(test)]
    pub fn new(endpoint: Arc<Endpoint>, credentials: Credentials, name: &str) -> Self {
        Self::on(vec![Node::new(endpoint, credentials, &[])], Paths::one(name))
    }

    /// Everything below these paths on these nodes, at least one.
    fn on(nodes: Vec<Node>, paths: Paths) -> Self {
        Self {
            server: Arc::default(),
            nodes: nodes.into(),
            pinned: false,
            paths,
            cached_updates: false,
            own: Arc::default(),
            quorum: Quorum::default(),
            designs: Arc::default(),
            audit_views: Arc::default(),
            timeout_ns: 0,
            removed: false,
            held: Arc::default(),
            unsettled: Arc::default(),
        }
    }

    /// The same target, reported with this address.
    fn at(mut self, server: &str) -> Self {
        self.server = server.into();
        self
    }

    /// With `pinned`, connections stay with their nodes.
    const fn with_pinned(mut self, pinned: bool) -> Self {
        self.pinned = pinned;
        self
    }

    /// Sets what administration needs: the timeout of a request, and whether the database is
    /// removed at the end.
    const fn with_administration(mut self, timeout_ns: u64, removed: bool) -> Self {
        (self.timeout_ns, self.removed) = (timeout_ns, removed);
        self
    }

    /// With the operations of a plan, its design documents and the views of its audit.
    fn with_operations(mut self, own: words::Operations, plan: &CouchPlan) -> Self {
        (self.own, self.designs) = (own.into(), plan.designs[..].into());
        self.quorum = plan.quorum;
        self.audit_views = plan.audit_views[..].into();
        self
    }

    /// With `cached`, sessions keep the documents that they see, and an update without a revision
    /// is based on the version seen last.
    #[must_use]
    pub const fn with_cached_updates(mut self, cached: bool) -> Self {
        self.cached_updates = cached;
        self
    }
}

impl DriverPlan for CouchPlan {
    type Target = CouchDb;

    const CARD: Card = plan::CARD;

    const BINDING: Option<Binding> = Some(binding::BINDING);

    fn check(asked: &TargetAsked) -> Result<Self, Invalid> {
        Self::checked(asked)
    }

    async fn open(&self, opening: &Opening) -> Result<(CouchDb, ServerFacts), TargetError> {
        open::open(self, opening).await
    }
}

impl Target for CouchDb {
    type Shard = CouchShard;

    async fn shard(&self, context: Rc<ShardContext>) -> io::Result<CouchShard> {
        let several = self.nodes.len() > 1;
        let nodes = several.then(|| Nodes::new(&self.nodes, self.path_of_all(), &context));
        Ok(CouchShard { target: self.clone(), context, nodes })
    }

    async fn size(&self) -> Option<Size> {
        self.ask_size().await
    }

    async fn answers(&self, timeout_ns: u64) -> Option<Result<(), crate::op::Failure>> {
        let path = self.database_path().as_bytes();
        let asked =
            |node: &Node| (node.way.clone(), [b"GET ", path, &*node.common, b"\r\n"].concat());
        let asked: Vec<_> = self.nodes.iter().map(asked).collect();
        Some(crate::http1::answers(&asked, timeout_ns).await)
    }

    async fn documents(&self) -> Option<u64> {
        let all = self.ask_size().await?.documents?;
        if self.paths.many.is_some() {
            return Some(all);
        }
        // The server counts design documents as well.
        Some(all.saturating_sub(self.ask_designs().await.unwrap_or(0)))
    }

    fn unsettled(&self) -> UnsettledWrites {
        self.unsettled.writes()
    }

    fn probers(&self, mark: &str) -> Vec<impl Prober> {
        CouchProber::each(self, mark)
    }

    fn followers(&self, plan: &FollowPlan) -> Vec<impl Follower> {
        CouchFollower::all(self, plan)
    }

    fn monitors(&self) -> Vec<Box<dyn Monitor>> {
        let all = CouchMonitor::each(self).into_iter();
        all.map(|it| Box::new(it) as Box<dyn Monitor>).collect()
    }

    fn replicator(&self) -> Option<Box<dyn Replicator>> {
        CouchReplicator::new(self).map(|it| Box::new(it) as Box<dyn Replicator>)
    }

    async fn hold_compaction(&self) -> Result<(), TargetError> {
        self.hold().await
    }

    async fn begin_compaction(&self) -> Result<(), TargetError> {
        self.ask_to_compact().await
    }

    async fn is_compacting(&self) -> Option<bool> {
        self.compacts().await
    }

    async fn tear_down(&self) -> Result<bool, TargetError> {
        let released = self.release().await;
        let removed = self.remove().await?;
        released.map(|()| removed)
    }
}

/// A database as seen by the sessions of one shard.
#[derive(Debug)]
pub struct CouchShard {
    target: CouchDb,
    context: Rc<ShardContext>,
    /// What is known about the nodes, if there are several.
    nodes: Option<Rc<Nodes>>,
}

impl Shard for CouchShard {
    type Session = CouchSession;

    fn session(&self) -> CouchSession {
        self.session_of(0)
    }

    fn session_of(&self, connection: usize) -> CouchSession {
        let place = self.nodes.as_ref();
        let place = place.map(|nodes| Place::new(nodes, connection, self.target.pinned));
        CouchSession::new(&self.target, &self.context, place)
    }

    fn nodes(&self) -> Vec<NodeLog> {
        self.nodes.as_ref().map_or_else(Vec::new, |nodes| nodes.logs())
    }
}

#[cfg(test)]
mod admin_tests;
#[cfg(test)]
mod judged_tests;
#[cfg(test)]
mod kinds_tests;
#[cfg(test)]
mod lost_tests;
#[cfg(test)]
mod moves_tests;
#[cfg(test)]
mod open_many_tests;
#[cfg(test)]
mod open_tests;
#[cfg(test)]
mod own_tests;
#[cfg(test)]
mod planned_tests;
#[cfg(test)]
mod scripted_tests;
#[cfg(test)]
mod services_tests;
#[cfg(test)]
mod upkeep_tests;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_encoded_whole() {
        assert_eq!(encode_segment("a/b +c_d-e"), "a%2Fb%20%2Bc_d-e");
        assert_eq!(encode_segment("_design/ü"), "_design%2F%C3%BC");
    }
}
