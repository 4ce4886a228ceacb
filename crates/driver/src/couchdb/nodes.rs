//! Several nodes of one cluster: which of them answer, and where each connection belongs.
//!
//! Connection i belongs to node i modulo the number of nodes. When its node is gone, it moves to
//! one that answers; when its node answers again, it goes back. Each thread keeps this knowledge to
//! itself; only at the beginning of a stage does it start with what the previous stage knew.

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
/// How long a node may take to answer that, or to accept a connection again.
const ASK_TIMEOUT: Duration = Duration::from_secs(2);

/// One server, and how to talk to it.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) endpoint: Arc<Endpoint>,
    /// The endpoint that the load uses for it, which may lead through a relay.
    pub(super) way: Arc<Endpoint>,
    pub(super) credentials: Credentials,
    pub(super) renewal: Arc<Renewal>,
    /// The rest of a request head after the target, from [`Credentials::common_head`].
    pub(super) common: Arc<[u8]>,
    /// Header lines of every request.
    pub(super) lines: Arc<str>,
    /// Whether it was gone when last tried.
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
    /// The path of the request that shows whether a node is there: information about the database.
    path: Vec<u8>,
    known: RefCell<Vec<NodeState>>,
    own: Weak<Self>,
}

#[derive(Clone, Debug, Default)]
struct NodeState {
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
            known: RefCell::new(vec![NodeState::default(); all.len()]),
            own: own.clone(),
        });
        (0..all.len()).filter(|&node| all[node].is_gone()).for_each(|node| nodes.lose(node));
        nodes
    }

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

    /// Whether a node answers a request about the database, with or without permission.
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

/// Asks a node until it is back, or its state no longer matters.
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
    pub(super) fn new(nodes: &Rc<Nodes>, connection: usize, pinned: bool) -> Self {
        let home = connection % nodes.all.len();
        nodes.known.borrow_mut()[home].log.connections += 1;
        let nodes = nodes.clone();
        Self { nodes, connection, home, at: home, asked: home, since: 0, pinned, way: None }
    }

    pub(super) fn node(&self) -> &Node {
        &self.nodes.all[self.at]
    }

    /// Whether it should be somewhere else, given whether its connection `is_open`.
    #[inline]
    pub(super) fn is_restless(&self, is_open: bool) -> bool {
        !self.pinned && (!is_open || self.at != self.home && !self.nodes.is_gone(self.home))
    }

    /// Notes that there was no connection to its current node, or no answer from it. To be called
    /// at once, before the connection turns to another node.
    pub(super) fn heed(&self, failure: Failure, timed_out: bool) {
        let silent = match failure {
            Failure::Connect | Failure::Unreachable | Failure::Timeout => true,
            // The connection was lost; the next one will show whether the node is gone, too.
            Failure::Unanswered => timed_out,
            _ => false,
        };
        if silent {
            self.nodes.lose(self.at);
        }
    }

    /// The node where it should be: its own, its current one, or one of those that answer;
    /// connections of the same node are spread over these. `None` if none answers.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::net::TlsOptions;

    /// The knowledge of three nodes on whose ports nothing listens; to be used on a [`LocalSet`].
    fn three() -> Rc<Nodes> {
        on_ports([1, 2, 3])
    }

    fn on_ports(ports: [u16; 3]) -> Rc<Nodes> {
        let node = |port: u16| {
            let url = format!("http://127.0.0.1:{port}").parse().unwrap();
            let endpoint = Endpoint::resolve(&url, &TlsOptions::default()).unwrap();
            Node::new(Arc::new(endpoint), Credentials::None, &[])
        };
        let all: Arc<[Node]> = ports.into_iter().map(node).collect();
        Nodes::new(&all, "/db", &ShardContext::new(Clock::system(), 1_000_000_000))
    }

    /// Runs a test on a shard's thread; no task checks whether a node is back before it returns.
    fn on_shard(test: impl FnOnce(Rc<Nodes>)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        tokio::task::LocalSet::new().block_on(&runtime, async { test(three()) });
    }

    #[test]
    fn a_node_is_gone_if_nothing_came_from_it() {
        let cases = [
            (Failure::Connect, false, true),
            (Failure::Unreachable, false, true),
            (Failure::Timeout, false, true),
            (Failure::Unanswered, true, true),
            (Failure::Unanswered, false, false),
            (Failure::Reset, false, false),
            (Failure::Reset, true, false),
            (Failure::ServerError, true, false),
        ];
        for (failure, timed_out, gone) in cases {
            on_shard(|nodes| {
                Place::new(&nodes, 1, false).heed(failure, timed_out);
                let known = [0, 1, 2].map(|node| nodes.is_gone(node));
                assert_eq!(known, [false, gone, false], "{failure:?}, {timed_out}");
                assert_eq!(nodes.all[1].is_gone(), gone, "what the next stage begins with");
                assert_eq!(nodes.logs()[1].absences.len(), usize::from(gone));
            });
        }
    }

    #[test]
    fn connections_of_a_node_that_is_gone_are_spread_over_the_others() {
        on_shard(|nodes| {
            let best = |connection| Place::new(&nodes, connection, false).best();
            assert_eq!([0, 1, 2, 3, 4].map(best), [0, 1, 2, 0, 1].map(Some), "each at home");
            nodes.lose(1);
            assert_eq!([1, 4, 7, 10].map(best), [0, 2, 0, 2].map(Some));
            assert_eq!([0, 2].map(best), [0, 2].map(Some), "the others stay");
            nodes.lose(0);
            // A connection that has found a place keeps it, although its rank would now give
            // another one.
            let mut moved = Place::new(&nodes, 1, false);
            moved.turn_to(2);
            assert_eq!(moved.best(), Some(2));
            nodes.find(1);
            assert_eq!(moved.best(), Some(1), "home again");
            nodes.lose(1);
            nodes.lose(2);
            assert_eq!(best(1), None);
        });
    }

    #[test]
    fn a_connection_moves_when_it_is_lost_or_its_node_is_back() {
        on_shard(|nodes| {
            let mut place = Place::new(&nodes, 1, false);
            let pinned = Place::new(&nodes, 1, true);
            let restless = |place: &Place| [true, false].map(|open| place.is_restless(open));
            assert_eq!(restless(&place), [false, true]);
            assert_eq!(restless(&pinned), [false, false]);
            nodes.lose(1);
            place.turn_to(2);
            assert_eq!(restless(&place), [false, true], "it is where it should be");
            nodes.find(1);
            assert_eq!(restless(&place), [true, true], "its node is back");
            place.turn_to(1);
            assert_eq!(restless(&place), [false, true]);
        });
    }

    /// Waits until its connection to its own node is made, or cannot be made.
    async fn way_of(place: &mut Place) -> Option<Stream> {
        assert!(place.way_home().await.is_none() && place.way.is_some(), "it takes a moment");
        while !place.way.as_ref().is_some_and(JoinHandle::is_finished) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        place.way_home().await
    }

    #[test]
    fn a_connection_goes_home_once_its_node_takes_it_again() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let there = listener.local_addr().unwrap().port();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        tokio::task::LocalSet::new().block_on(&runtime, async {
            let nodes = on_ports([there, 2, 3]);
            let mut place = Place::new(&nodes, 0, false);
            assert!(place.way_home().await.is_none() && place.way.is_none(), "it is at home");
            nodes.lose(0);
            place.turn_to(1);
            assert!(place.way_home().await.is_none() && place.way.is_none(), "that is gone");
            nodes.find(0);
            assert!(way_of(&mut place).await.is_some() && !nodes.is_gone(0));
            // One that was found, but takes no connection.
            let mut place = Place::new(&nodes, 1, false);
            place.turn_to(0);
            assert!(way_of(&mut place).await.is_none() && nodes.is_gone(1));
        });
    }

    #[test]
    fn moves_are_counted_for_the_node_that_a_connection_belongs_to() {
        on_shard(|nodes| {
            let mut place = Place::new(&nodes, 1, false);
            let stays = Place::new(&nodes, 4, false);
            let counted = || {
                let absence = &nodes.logs()[1].absences;
                absence.iter().map(|it| (it.to.is_some(), it.moved, it.returned)).next()
            };
            nodes.lose(1);
            nodes.lose(1);
            assert_eq!(nodes.logs()[1].absences.len(), 1, "it is lost once");
            assert_eq!(counted(), Some((false, 0, 0)));
            place.turn_to(0);
            assert_eq!(place.node().endpoint.host(), nodes.all[0].endpoint.host());
            place.turn_to(2);
            assert_eq!(counted(), Some((false, 1, 0)), "it had left already");
            nodes.find(1);
            assert_eq!(nodes.logs()[1].away_ns, 0, "it is not back yet");
            std::thread::sleep(Duration::from_millis(2));
            place.turn_to(1);
            assert_eq!(counted(), Some((true, 1, 1)));
            let away_ns = nodes.logs()[1].away_ns;
            assert!(away_ns >= 2_000_000, "{away_ns}");
            drop((place, stays));
            assert_eq!(nodes.logs()[1].away_ns, away_ns, "both were at home");
            let connections: Vec<u64> = nodes.logs().iter().map(|it| it.connections).collect();
            assert_eq!(connections, [0, 2, 0]);
        });
    }

    #[test]
    fn one_that_is_away_to_the_end_was_away() {
        on_shard(|nodes| {
            let mut place = Place::new(&nodes, 1, false);
            nodes.lose(1);
            place.turn_to(2);
            std::thread::sleep(Duration::from_millis(2));
            drop(place);
            let logs = nodes.logs();
            assert!(logs[1].away_ns >= 2_000_000, "{logs:?}");
            assert_eq!((logs[2].away_ns, logs[1].absences[0].returned), (0, 0));
        });
    }

    #[test]
    fn a_stage_begins_with_what_the_one_before_knew() {
        on_shard(|nodes| {
            nodes.lose(2);
            let next = Nodes::new(&nodes.all, "/db", &nodes.context);
            assert_eq!([0, 1, 2].map(|node| next.is_gone(node)), [false, false, true]);
            nodes.find(2);
            let after = Nodes::new(&nodes.all, "/db", &nodes.context);
            assert!(!after.is_gone(2));
        });
    }
}
