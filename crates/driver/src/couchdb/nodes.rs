//! Several nodes of one cluster: which of them answer, and where each connection belongs.
//!
//! Connection i belongs to node i modulo the number of nodes. When its node is gone, it moves to
//! one that answers; when its node answers again, it goes back. This knowledge is local to a
//! thread: no two threads share it, except that a stage begins with what the previous one knew.

use super::credentials::{Credentials, Renewal};
use crate::clock::Nanos;
use crate::http1::{Connection, Request};
use crate::measure::{NodeLog, Probe};
use crate::net::{Endpoint, ShardContext, Stream};
use crate::op::Failure;
use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// How often a node that is gone is asked whether it is back.
const ASK_EVERY: Duration = Duration::from_secs(1);
/// How long it may take to answer that, or to take a connection back.
const ASK_TIMEOUT: Duration = Duration::from_secs(2);

/// One server, and how to talk to it.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) endpoint: Arc<Endpoint>,
    /// The way that the load takes there, which may lead through a relay.
    pub(super) way: Arc<Endpoint>,
    pub(super) credentials: Credentials,
    pub(super) renewal: Arc<Renewal>,
    /// All of a head after the target, from [`Credentials::common_head`].
    pub(super) common: Arc<[u8]>,
    /// Header lines of every request.
    pub(super) lines: Arc<str>,
    /// Whether it was gone when last heard of.
    gone: Arc<AtomicBool>,
}

impl Node {
    /// The node at `endpoint`; these headers, `Name: value`, are sent to it with every request.
    pub(super) fn new(
        endpoint: Arc<Endpoint>,
        credentials: Credentials,
        headers: &[String],
    ) -> Self {
        let more = headers.iter().map(|header| format!("{header}\r\n"));
        let lines = format!("Host: {}\r\n{}", endpoint.host(), more.collect::<String>());
        Self {
            common: credentials.common_head(&lines),
            lines: lines.into(),
            way: endpoint.clone(),
            endpoint,
            credentials,
            renewal: Arc::default(),
            gone: Arc::default(),
        }
    }

    /// The same node, with the load going through the relay that listens there.
    pub(super) fn through(self, relay: SocketAddr) -> Self {
        Self { way: Arc::new(self.endpoint.as_ref().clone().through(relay)), ..self }
    }

    /// The same node, marked as not answering.
    pub(super) fn gone(self) -> Self {
        self.gone.store(true, Ordering::Relaxed);
        self
    }

    pub(super) fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Relaxed)
    }
}

/// What the sessions of a shard know about the nodes.
#[derive(Debug)]
pub(super) struct Nodes {
    pub(super) all: Arc<[Node]>,
    context: Rc<ShardContext>,
    /// The path of the request that a node answers if it is there: information about the database.
    path: Vec<u8>,
    known: RefCell<Vec<Known>>,
    own: Weak<Self>,
}

/// What is known about one node.
#[derive(Clone, Debug, Default)]
struct Known {
    gone: bool,
    log: NodeLog,
}

impl Nodes {
    /// The initial knowledge of sessions; a node that answers a request for `path` is there.
    pub(super) fn new(all: &Arc<[Node]>, path: &str, context: &Rc<ShardContext>) -> Rc<Self> {
        let nodes = Rc::new_cyclic(|own| Self {
            all: all.clone(),
            context: context.clone(),
            path: path.as_bytes().to_vec(),
            known: RefCell::new(vec![Known::default(); all.len()]),
            own: own.clone(),
        });
        (0..all.len()).filter(|&node| all[node].is_gone()).for_each(|node| nodes.lose(node));
        nodes
    }

    /// What became of each node.
    pub(super) fn logs(&self) -> Vec<NodeLog> {
        self.known.borrow().iter().map(|known| known.log.clone()).collect()
    }

    fn now(&self) -> Nanos {
        self.context.clock().now()
    }

    fn is_gone(&self, node: usize) -> bool {
        self.known.borrow()[node].gone
    }

    /// Notes that a node did not answer: from now on it is asked whether it is back.
    pub(super) fn lose(&self, node: usize) {
        let known = &mut self.known.borrow_mut()[node];
        if std::mem::replace(&mut known.gone, true) {
            return;
        }
        known.log.lose(self.now());
        self.all[node].gone.store(true, Ordering::Relaxed);
        tokio::task::spawn_local(look_for(self.own.clone(), node));
    }

    fn find(&self, node: usize) {
        let known = &mut self.known.borrow_mut()[node];
        known.gone = false;
        known.log.find(self.now());
        self.all[node].gone.store(false, Ordering::Relaxed);
    }

    /// Whether a node answers a request about the database, regardless of who asks.
    async fn answers(&self, node: usize) -> bool {
        let node = &self.all[node];
        let request = [b"GET ", &*self.path, &*node.common, b"\r\n"].concat();
        let mut connection = Connection::new(node.way.clone(), &self.context);
        let (clock, now) = (self.context.clock(), self.now());
        let mut probe = Probe::new(clock, now, now);
        let answer = connection.exchange(Request::reading(&request), &mut probe);
        let answer = timeout(ASK_TIMEOUT, answer).await;
        matches!(answer, Ok(Ok(answer)) if matches!(answer.status, 200 | 401 | 403))
    }
}

/// Asks a node until it is back, or nobody needs to know any more.
async fn look_for(nodes: Weak<Nodes>, node: usize) {
    loop {
        tokio::time::sleep(ASK_EVERY).await;
        let Some(nodes) = nodes.upgrade() else { return };
        if nodes.answers(node).await {
            return nodes.find(node);
        }
    }
}

/// The place of one connection among the nodes.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) nodes: Rc<Nodes>,
    connection: usize,
    /// The node that it belongs to, and the one where it is now.
    pub(super) home: usize,
    pub(super) at: usize,
    /// The node that the last operation was sent to.
    pub(super) asked: usize,
    /// Since when it has been away from home.
    since: Nanos,
    /// Whether it never moves.
    pinned: bool,
    /// The connection to its own node, while it is being made.
    way: Option<JoinHandle<Result<Stream, Failure>>>,
}

impl Place {
    /// The place of connection number `connection`.
    pub(super) fn new(nodes: &Rc<Nodes>, connection: usize, pinned: bool) -> Self {
        let home = connection % nodes.all.len();
        nodes.known.borrow_mut()[home].log.connections += 1;
        let nodes = nodes.clone();
        Self { nodes, connection, home, at: home, asked: home, since: 0, pinned, way: None }
    }

    /// The node where it is now.
    pub(super) fn node(&self) -> &Node {
        &self.nodes.all[self.at]
    }

    /// Whether it should be somewhere else, given whether its connection `is_open`.
    #[inline]
    pub(super) fn is_restless(&self, is_open: bool) -> bool {
        !self.pinned && (!is_open || self.at != self.home && !self.nodes.is_gone(self.home))
    }

    /// Notes that there was no connection, or no answer, at its current node. To be called at once,
    /// before it turns to another node.
    pub(super) fn heed(&self, failure: Failure, timed_out: bool) {
        let silent = match failure {
            Failure::Connect | Failure::Unreachable | Failure::Timeout => true,
            // The connection was lost; the next one will show whether the node is, too.
            Failure::Unanswered => timed_out,
            _ => false,
        };
        if silent {
            self.nodes.lose(self.at);
        }
    }

    /// The node where it should be: its own, its current one, or one of those that answer, over
    /// which the connections of a node are spread. `None` if none answers.
    pub(super) fn best(&self) -> Option<usize> {
        let there: Vec<_> =
            (0..self.nodes.all.len()).filter(|&it| !self.nodes.is_gone(it)).collect();
        let known = [self.home, self.at].into_iter().find(|it| there.contains(it));
        let rank = self.connection / self.nodes.all.len();
        known.or_else(|| (!there.is_empty()).then(|| there[rank % there.len()]))
    }

    /// Notes that it is at another node from now on.
    pub(super) fn turn_to(&mut self, node: usize) {
        let now = self.nodes.now();
        let log = &mut self.nodes.known.borrow_mut()[self.home].log;
        if self.at == self.home {
            self.since = now;
            log.moved();
        } else if node == self.home {
            log.returned(now.saturating_sub(self.since));
        }
        self.at = node;
    }

    /// The connection to its own node, if it is ready. It is made alongside the operations of the
    /// current connection, so that none of them has to wait.
    pub(super) async fn way_home(&mut self) -> Option<Stream> {
        if self.at == self.home || self.nodes.is_gone(self.home) {
            self.way = None;
        } else if self.way.as_ref().is_some_and(JoinHandle::is_finished) {
            let stream = self.way.take()?.await.ok()?;
            if stream.as_ref().is_err_and(|failure| !failure.by_client()) {
                self.nodes.lose(self.home);
            }
            return stream.ok();
        } else if self.way.is_none() {
            let endpoint = self.nodes.all[self.home].way.clone();
            let noting = self.nodes.context.timestamps().is_some();
            self.way = Some(tokio::task::spawn_local(async move {
                match timeout(ASK_TIMEOUT, Stream::connect(&endpoint, 0, noting)).await {
                    Ok(connected) => connected.map_err(|error| Failure::of_connect(&error)),
                    Err(_) => Err(Failure::Timeout),
                }
            }));
        }
        None
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.at != self.home {
            let away_ns = self.nodes.now().saturating_sub(self.since);
            self.nodes.known.borrow_mut()[self.home].log.away_ns += away_ns;
        }
    }
}
