//! What the sessions of a load thread share: the nodes, the connections to them, the statements.

use super::answer::Prepared;
use super::ring::Ring;
use super::roster::Located;
use super::servers::prepare;
use super::{Cassandra, Pipe, Seat};
use crate::call::CallError;
use crate::clock::{Nanos, SECOND_NS, wall_ns};
use crate::measure::NodeLog;
use crate::net::{Endpoint, ShardContext};
use crate::op::Failure;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::pin::pin;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// How often a thread asks which nodes exist, at most.
const REFRESH_NS: Nanos = SECOND_NS;

/// How often to look for a node that the user named, but that is not among those with keys.
const LOOK_FOR: Duration = Duration::from_secs(1);

/// How much longer the other nodes may take to connect once one has connected, and how long a
/// silent node may take to accept a connection.
const MOMENT: Duration = Duration::from_millis(250);

/// A node: the connections to it.
#[derive(Debug)]
struct NodeConnections {
    number: usize,
    name: Arc<str>,
    seats: Vec<Rc<Seat>>,
    /// Whether it was asked to prepare the statements that are likely to be needed.
    is_prepared: Cell<bool>,
    /// Which connections are being established.
    connecting: Vec<Cell<bool>>,
}

impl NodeConnections {
    fn seat(&self, number: usize) -> &Rc<Seat> {
        &self.seats[number % self.seats.len()]
    }

    fn connecting(&self, number: usize) -> &Cell<bool> {
        &self.connecting[number % self.connecting.len()]
    }

    fn is_open(&self) -> bool {
        self.seats.iter().any(|seat| seat.pipe().is_some())
    }
}

/// A connection, and the number of its node.
pub(super) struct Way {
    pub(super) pipe: Rc<Pipe>,
    pub(super) node: usize,
}

/// What is known about a node.
#[derive(Debug, Default)]
struct NodeFate {
    gone: bool,
    log: NodeLog,
}

/// What all sessions of a thread share.
#[derive(Debug)]
pub(super) struct Hub {
    pub(super) target: Cassandra,
    context: Rc<ShardContext>,
    ring: RefCell<Ring>,
    /// By place in the ring; `None` for a node whose name has no address.
    nodes: RefCell<Vec<Option<Rc<NodeConnections>>>>,
    /// What is known about each node, by its number.
    fates: RefCell<Vec<NodeFate>>,
    statements: RefCell<HashMap<String, Rc<Prepared>>>,
    /// How many sessions there are, and whose turn it is among the nodes for statements without a
    /// key.
    pub(super) sessions: Cell<usize>,
    turn: Cell<usize>,
    /// When the ring was last requested, and whether a request is in progress.
    refreshed: Cell<Nanos>,
    refreshing: Cell<bool>,
    /// Notified when an attempt to connect has ended.
    attempted: Notify,
    /// The time of the last statement, in microseconds.
    stamped: Cell<i64>,
}

impl Hub {
    pub(super) fn new(target: Cassandra, context: Rc<ShardContext>) -> Rc<Self> {
        let (ring, nodes) = (RefCell::new(target.ring.clone()), target.nodes.clone());
        let hub = Rc::new(Self {
            target,
            context,
            ring,
            nodes: RefCell::default(),
            fates: RefCell::default(),
            statements: RefCell::default(),
            sessions: Cell::default(),
            turn: Cell::default(),
            refreshed: Cell::default(),
            refreshing: Cell::default(),
            attempted: Notify::new(),
            stamped: Cell::default(),
        });
        let (nodes, others): (Vec<_>, Vec<_>) = nodes.into_iter().partition(|it| it.has_keys);
        hub.take(&nodes);
        for other in &others {
            hub.lose(other.number);
            tokio::task::spawn_local(look_for(Rc::downgrade(&hub), hub.node(other)));
        }
        hub
    }

    /// A node whose connections have not been made yet; `None` if it has no address.
    fn node(&self, at: &Located) -> Option<Rc<NodeConnections>> {
        let endpoint = at.endpoint.as_ref()?;
        let count = self.target.connections.get();
        Some(Rc::new(NodeConnections {
            number: at.number,
            name: at.name.clone(),
            seats: (0..count).map(|_| Rc::new(Seat::new(endpoint.clone()))).collect(),
            is_prepared: Cell::default(),
            connecting: (0..count).map(|_| Cell::default()).collect(),
        }))
    }

    /// Replaces the nodes of the ring by these. Known nodes keep their connections, even under a
    /// new address, as long as these connections last.
    fn take(&self, all: &[Located]) {
        let known = self.nodes.take();
        let known = |at: &Located| {
            let mut known = known.iter().flatten();
            known.find(|it| it.number == at.number && (it.name == at.name || it.is_open())).cloned()
        };
        let nodes = all.iter().map(|at| known(at).or_else(|| self.node(at)));
        *self.nodes.borrow_mut() = nodes.collect();
        for at in all {
            self.fate(at.number, |fate| {
                fate.log.connections = u64::from(self.target.connections.get());
            });
            if at.endpoint.is_none() {
                self.lose(at.number);
            }
        }
    }

    fn fate(&self, node: usize, change: impl FnOnce(&mut NodeFate)) {
        let mut fates = self.fates.borrow_mut();
        if fates.len() <= node {
            fates.resize_with(node + 1, NodeFate::default);
        }
        change(&mut fates[node]);
    }

    /// Notes that a node does not answer, or cannot be reached.
    fn lose(&self, node: usize) {
        self.lose_since(node, self.context.clock().now());
    }

    fn lose_since(&self, node: usize, since: Nanos) {
        self.fate(node, |fate| {
            if !std::mem::replace(&mut fate.gone, true) {
                fate.log.lose(since);
            }
        });
    }

    /// Notes that a node answers.
    fn find(&self, node: usize) {
        let now = self.context.clock().now();
        self.fate(node, |fate| {
            if std::mem::take(&mut fate.gone) {
                fate.log.find(now);
            }
        });
    }

    /// Whether operations are recorded by the node that they were sent to.
    pub(super) fn has_several(&self) -> bool {
        self.fates.borrow().len() > 1
    }

    /// The history of each node, if there are several.
    pub(super) fn logs(&self) -> Vec<NodeLog> {
        if !self.has_several() {
            return Vec::new();
        }
        let (names, fates) = (self.target.roster.names(), self.fates.borrow());
        let log = |(number, name): (usize, &Arc<str>)| NodeLog {
            url: self.target.servers.url_of(name),
            ..fates.get(number).map(|fate| fate.log.clone()).unwrap_or_default()
        };
        names.iter().enumerate().map(log).collect()
    }

    /// The nodes in the order in which they are tried for a token.
    fn in_turn(&self, token: Option<i64>) -> Vec<Rc<NodeConnections>> {
        let nodes = self.nodes.borrow();
        let first = token.and_then(|token| self.ring.borrow().place(token)).unwrap_or_else(|| {
            self.turn.set(self.turn.get().wrapping_add(1));
            self.turn.get()
        });
        (0..nodes.len())
            .filter_map(|it| nodes[(first.wrapping_add(it)) % nodes.len()].clone())
            .collect()
    }

    /// The connection with this number to the first connected node in the order for this token.
    /// Lost connections are made again, beside the load.
    pub(super) fn pipe(self: &Rc<Self>, token: Option<i64>, number: usize) -> Option<Way> {
        let first = token.and_then(|token| {
            let nodes = self.nodes.borrow();
            nodes.get(self.ring.borrow().place(token)?)?.clone()
        });
        // Nearly always the case: no list is built.
        if let Some(node) = first
            && let Some(pipe) = node.seat(number).pipe()
        {
            return Some(Way { pipe, node: node.number });
        }
        for node in self.in_turn(token) {
            if let Some(pipe) = node.seat(number).pipe() {
                return Some(Way { pipe, node: node.number });
            }
            self.reopen(&node, number);
        }
        None
    }

    /// To be called when an operation sent to this node has had no answer in time. If the node does
    /// not accept a new connection within a moment either, it counts as gone since this call.
    pub(super) fn doubt(self: &Rc<Self>, node: usize, number: usize) {
        let since = self.context.clock().now();
        let known = self.nodes.borrow().iter().flatten().find(|it| it.number == node).cloned();
        let Some(known) = known else { return };
        self.reopen(&known, number);
        let hub = self.clone();
        tokio::task::spawn_local(async move {
            tokio::time::sleep(MOMENT).await;
            if !known.is_open() {
                hub.lose_since(node, since);
            }
        });
    }

    /// Whether there is any connection.
    pub(super) fn is_open(&self, number: usize) -> bool {
        let nodes = self.nodes.borrow();
        nodes.iter().flatten().any(|node| node.seat(number).pipe().is_some())
    }

    /// How often nodes sent something unsolicited since the last call.
    pub(super) fn take_unsolicited(&self) -> u64 {
        let nodes = self.nodes.borrow();
        nodes.iter().flatten().flat_map(|node| &node.seats).map(|it| it.take_unsolicited()).sum()
    }

    /// Connects to all nodes. Once one of them is connected, the others have only a moment longer,
    /// so that a silent node does not hold up the session.
    ///
    /// # Errors
    /// Fails if no node can be connected.
    pub(super) async fn open(self: &Rc<Self>, number: usize) -> Result<(), CallError> {
        let nodes: Vec<_> = self.nodes.borrow().iter().flatten().cloned().collect();
        for node in &nodes {
            self.begin(node, number);
        }
        let goes_on = || nodes.iter().any(|node| node.connecting(number).get());
        self.until(|| self.is_open(number) || !goes_on()).await;
        if self.is_open(number) {
            let _ = tokio::time::timeout(MOMENT, self.until(|| !goes_on())).await;
            // The session begins without the nodes that are not connected yet.
            nodes.iter().filter(|node| !node.is_open()).for_each(|node| self.lose(node.number));
            return Ok(());
        }
        // The nodes may have moved.
        self.refresh();
        let refusals = nodes.iter().map(|node| node.seat(number).refusal());
        // A refused log-in ends a run, so it takes precedence.
        let refusal = refusals.reduce(|one, other| match one.failure {
            Failure::Authentication => one,
            _ => other,
        });
        Err(refusal.unwrap_or(CallError::new(Failure::Connect, "no node has an address")))
    }

    /// Waits for a condition that an attempt to connect may change.
    async fn until(&self, holds: impl Fn() -> bool) {
        loop {
            let mut attempted = pin!(self.attempted.notified());
            attempted.as_mut().enable();
            if holds() {
                return;
            }
            attempted.await;
        }
    }

    async fn connect(&self, node: &NodeConnections, number: usize) {
        let seat = node.seat(number);
        let (servers, context) = (&self.target.servers, &*self.context);
        seat.pause(context).await;
        let connect =
            async |endpoint: &Endpoint, failed| servers.connect(endpoint, failed, context).await;
        seat.open(context, connect).await;
        let Some(pipe) = seat.pipe() else { return };
        if !node.is_prepared.replace(true) {
            let own = self.target.own.iter().map(|(_, own)| own.cql.clone());
            for cql in self.target.table.statements().into_iter().chain(own) {
                // If a statement is wrong, the operation that needs it will report it.
                if let Ok(prepared) = prepare(&pipe, &cql).await {
                    self.statements.borrow_mut().insert(cql, Rc::new(prepared));
                }
            }
        }
    }

    /// Starts to replace a lost connection, beside the load.
    fn reopen(self: &Rc<Self>, node: &Rc<NodeConnections>, number: usize) {
        if !node.connecting(number).get() {
            self.refresh();
            self.begin(node, number);
        }
    }

    /// Begins to connect to a node, unless it is connected or an attempt is under way.
    fn begin(self: &Rc<Self>, node: &Rc<NodeConnections>, number: usize) {
        if node.seat(number).pipe().is_some() || node.connecting(number).replace(true) {
            return;
        }
        let (hub, node) = (self.clone(), node.clone());
        tokio::task::spawn_local(async move {
            let connecting = hub.connect(&node, number);
            let _ = tokio::time::timeout(hub.target.servers.timeout, connecting).await;
            let refused = || node.seat(number).refusal().failure == Failure::Authentication;
            if node.is_open() {
                hub.find(node.number);
            } else if !refused() {
                hub.lose(node.number);
            }
            node.connecting(number).set(false);
            hub.attempted.notify_waiters();
        });
    }

    /// The timestamp of the next statement by the cluster's clock, in microseconds since 1970. It
    /// is later than all before it, so that the statement sent last prevails, whichever node it is
    /// sent to.
    pub(super) fn stamp(&self) -> i64 {
        let now = (wall_ns() / 1_000).cast_signed().saturating_add(self.target.ahead);
        self.stamped.set(now.max(self.stamped.get().saturating_add(1)));
        self.stamped.get()
    }

    /// Finds out which nodes exist now, beside the load.
    fn refresh(self: &Rc<Self>) {
        let now = self.context.clock().now();
        if self.refreshing.get() || now < self.refreshed.get() + REFRESH_NS {
            return;
        }
        self.refreshing.set(true);
        let hub = self.clone();
        tokio::task::spawn_local(async move {
            let names = hub.ring.borrow().names();
            let asking = async {
                let beside = hub.target.servers.first(&names, &hub.context).await?;
                beside.ring().await
            };
            if let Ok(ring) = asking.await {
                let nodes = hub.target.roster.locate(&ring, &hub.target.servers.reach).await;
                *hub.ring.borrow_mut() = ring;
                hub.take(&nodes);
            }
            hub.refreshed.set(hub.context.clock().now());
            hub.refreshing.set(false);
        });
    }

    pub(super) fn known(&self, cql: &str) -> Option<Rc<Prepared>> {
        self.statements.borrow().get(cql).cloned()
    }

    /// Has a statement prepared on the node of a connection.
    pub(super) async fn prepare(
        &self,
        pipe: &Rc<Pipe>,
        cql: &str,
    ) -> Result<Rc<Prepared>, CallError> {
        let prepared = Rc::new(prepare(pipe, cql).await?);
        self.statements.borrow_mut().insert(cql.to_owned(), prepared.clone());
        Ok(prepared)
    }
}

/// Tries to reach a node without known keys, until it answers.
async fn look_for(hub: Weak<Hub>, node: Option<Rc<NodeConnections>>) {
    let Some(node) = node else { return };
    loop {
        tokio::time::sleep(LOOK_FOR).await;
        let Some(hub) = hub.upgrade() else { return };
        if node.is_open() {
            return;
        }
        hub.begin(&node, 0);
    }
}
