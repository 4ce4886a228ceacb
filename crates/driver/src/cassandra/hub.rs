//! What the sessions of a load thread share: the nodes, the connections to them, the statements.

use super::answer::Prepared;
use super::ring::Ring;
use super::servers::prepare;
use super::{Cassandra, Pipe, Seat};
use crate::call::CallError;
use crate::clock::{Nanos, SECOND_NS, wall_ns};
use crate::net::{Endpoint, ShardContext};
use crate::op::Failure;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// How often a thread asks which nodes there are, at most.
const REFRESH_NS: Nanos = SECOND_NS;

/// How long the last nodes may take to be connected once another one is.
const MOMENT: Duration = Duration::from_millis(250);

/// A node: the connections to it.
#[derive(Debug)]
struct Node {
    name: Arc<str>,
    seats: Vec<Rc<Seat>>,
    /// Whether it was asked to prepare the statements that are likely to be needed.
    is_prepared: Cell<bool>,
    /// Which connections are being made.
    connecting: Vec<Cell<bool>>,
}

impl Node {
    fn seat(&self, number: usize) -> &Rc<Seat> {
        &self.seats[number % self.seats.len()]
    }

    fn connecting(&self, number: usize) -> &Cell<bool> {
        &self.connecting[number % self.connecting.len()]
    }
}

/// What all sessions of a thread share.
#[derive(Debug)]
pub(super) struct Hub {
    pub(super) target: Cassandra,
    context: Rc<ShardContext>,
    ring: RefCell<Ring>,
    /// By the place of each in the ring; `None` if its name has no address.
    nodes: RefCell<Vec<Option<Rc<Node>>>>,
    statements: RefCell<HashMap<String, Rc<Prepared>>>,
    /// How many sessions there are, and which node has its turn for what is nobody's.
    pub(super) sessions: Cell<usize>,
    turn: Cell<usize>,
    /// When the ring was asked for, and whether it is being asked for.
    refreshed: Cell<Nanos>,
    refreshing: Cell<bool>,
    /// Told when an attempt to connect has ended.
    attempted: Notify,
    /// The time of the last statement, in microseconds.
    stamped: Cell<i64>,
}

impl Hub {
    pub(super) fn new(target: Cassandra, context: Rc<ShardContext>) -> Self {
        let ring = RefCell::new(target.ring.clone());
        let hub = Self {
            target,
            context,
            ring,
            nodes: RefCell::default(),
            statements: RefCell::default(),
            sessions: Cell::default(),
            turn: Cell::default(),
            refreshed: Cell::default(),
            refreshing: Cell::default(),
            attempted: Notify::new(),
            stamped: Cell::default(),
        };
        hub.find_nodes();
        hub
    }

    /// Finds the nodes of the ring. Those that were known before keep their connections.
    fn find_nodes(&self) {
        let known = self.nodes.take();
        let known = |name: &Arc<str>| known.iter().flatten().find(|it| it.name == *name).cloned();
        let node = |name: &Arc<str>| {
            known(name).or_else(|| {
                let endpoint = self.target.servers.reach.endpoint(name).ok()?;
                let seat = || Rc::new(Seat::new(endpoint.clone()));
                let count = self.target.connections.get();
                let seats = (0..count).map(|_| seat()).collect();
                let connecting = (0..count).map(|_| Cell::default()).collect();
                let is_prepared = Cell::default();
                Some(Rc::new(Node { name: name.clone(), seats, is_prepared, connecting }))
            })
        };
        let nodes = self.ring.borrow().nodes().iter().map(node).collect();
        *self.nodes.borrow_mut() = nodes;
    }

    /// The nodes in the order in which they are tried for a token.
    fn in_turn(&self, token: Option<i64>) -> Vec<Rc<Node>> {
        let nodes = self.nodes.borrow();
        let first = token.and_then(|token| self.ring.borrow().place(token)).unwrap_or_else(|| {
            self.turn.set(self.turn.get().wrapping_add(1));
            self.turn.get()
        });
        (0..nodes.len())
            .filter_map(|it| nodes[(first.wrapping_add(it)) % nodes.len()].clone())
            .collect()
    }

    /// The connection with this number to the first node from a token on to which there is one.
    /// Those that are lost are made again, beside the load.
    pub(super) fn pipe(self: &Rc<Self>, token: Option<i64>, number: usize) -> Option<Rc<Pipe>> {
        let first = token.and_then(|token| {
            let nodes = self.nodes.borrow();
            nodes.get(self.ring.borrow().place(token)?)?.clone()
        });
        // Nearly always: nothing is put together.
        if let Some(node) = first
            && let Some(pipe) = node.seat(number).pipe()
        {
            return Some(pipe);
        }
        for node in self.in_turn(token) {
            let seat = node.seat(number);
            if let Some(pipe) = seat.pipe() {
                return Some(pipe);
            }
            self.reopen(&node, number);
        }
        None
    }

    /// Whether there is any connection.
    pub(super) fn is_open(&self, number: usize) -> bool {
        let nodes = self.nodes.borrow();
        nodes.iter().flatten().any(|node| node.seat(number).pipe().is_some())
    }

    /// How often nodes said something that was not asked for, since the last call.
    pub(super) fn take_unsolicited(&self) -> u64 {
        let nodes = self.nodes.borrow();
        nodes.iter().flatten().flat_map(|node| &node.seats).map(|it| it.take_unsolicited()).sum()
    }

    /// Connects to all nodes. Once there is a connection to one of them, the others have only a
    /// moment more: one that is silent keeps nobody waiting.
    ///
    /// # Errors
    /// Why there is none to any.
    pub(super) async fn open(self: &Rc<Self>, number: usize) -> Result<(), CallError> {
        let nodes: Vec<_> = self.nodes.borrow().iter().flatten().cloned().collect();
        for node in &nodes {
            self.begin(node, number);
        }
        let goes_on = || nodes.iter().any(|node| node.connecting(number).get());
        self.until(|| self.is_open(number) || !goes_on()).await;
        if self.is_open(number) {
            let _ = tokio::time::timeout(MOMENT, self.until(|| !goes_on())).await;
            return Ok(());
        }
        // They may be elsewhere by now.
        self.refresh();
        let refusals = nodes.iter().map(|node| node.seat(number).refusal());
        // That nobody may log in ends a run.
        let refusal = refusals.reduce(|one, other| match one.failure {
            Failure::Authentication => one,
            _ => other,
        });
        Err(refusal.unwrap_or(CallError::new(Failure::Connect, "no node has an address")))
    }

    /// Waits until something holds that an attempt to connect may change.
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

    async fn connect(&self, node: &Node, number: usize) {
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
                // If a statement is wrong, the operation that needs it will report that.
                if let Ok(prepared) = prepare(&pipe, &cql).await {
                    self.statements.borrow_mut().insert(cql, Rc::new(prepared));
                }
            }
        }
    }

    /// Makes a lost connection again, beside the load.
    fn reopen(self: &Rc<Self>, node: &Rc<Node>, number: usize) {
        if !node.connecting(number).get() {
            self.refresh();
            self.begin(node, number);
        }
    }

    /// Begins to connect to a node, unless that goes on or there is a connection.
    fn begin(self: &Rc<Self>, node: &Rc<Node>, number: usize) {
        if node.seat(number).pipe().is_some() || node.connecting(number).replace(true) {
            return;
        }
        let (hub, node) = (self.clone(), node.clone());
        tokio::task::spawn_local(async move {
            let connecting = hub.connect(&node, number);
            let _ = tokio::time::timeout(hub.target.servers.timeout, connecting).await;
            node.connecting(number).set(false);
            hub.attempted.notify_waiters();
        });
    }

    /// The time of the next statement by the cluster's clock, in microseconds since 1970: later
    /// than that of all before, so that the last one to be sent is the one that holds, whichever
    /// node has its turn.
    pub(super) fn stamp(&self) -> i64 {
        let now = (wall_ns() / 1_000).cast_signed().saturating_add(self.target.ahead);
        self.stamped.set(now.max(self.stamped.get().saturating_add(1)));
        self.stamped.get()
    }

    /// Finds out which nodes there are now, beside the load.
    fn refresh(self: &Rc<Self>) {
        let now = self.context.clock().now();
        if self.refreshing.get() || now < self.refreshed.get() + REFRESH_NS {
            return;
        }
        self.refreshing.set(true);
        let hub = self.clone();
        tokio::task::spawn_local(async move {
            let nodes = hub.ring.borrow().nodes().to_vec();
            let asking = async {
                let beside = hub.target.servers.first(&nodes, &hub.context).await?;
                beside.ring().await
            };
            if let Ok(ring) = asking.await {
                *hub.ring.borrow_mut() = ring;
                hub.find_nodes();
            }
            hub.refreshed.set(hub.context.clock().now());
            hub.refreshing.set(false);
        });
    }

    /// The statement, if it is known.
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
