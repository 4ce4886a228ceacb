//! What the sessions of a load thread share: the nodes, the connections to them, the statements.

use super::answer::Prepared;
use super::ring::Ring;
use super::servers::prepare;
use super::{Cassandra, Pipe, Seat};
use crate::call::{CallError, within};
use crate::clock::{Nanos, SECOND_NS};
use crate::net::{Endpoint, ShardContext};
use crate::op::Failure;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

/// How often a thread asks which nodes there are, at most.
const REFRESH_NS: Nanos = SECOND_NS;

/// A node: the connections to it.
#[derive(Debug)]
struct Node {
    name: Arc<str>,
    seats: Vec<Rc<Seat>>,
    /// Whether it was asked to prepare the statements that are likely to be needed.
    is_prepared: Cell<bool>,
    /// Whether a lost connection is being made again.
    reopening: Cell<bool>,
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
                let seats = (0..self.target.connections.get()).map(|_| seat()).collect();
                let (is_prepared, reopening) = Default::default();
                Some(Rc::new(Node { name: name.clone(), seats, is_prepared, reopening }))
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
            && let Some(pipe) = node.seats[number % node.seats.len()].pipe()
        {
            return Some(pipe);
        }
        for node in self.in_turn(token) {
            let seat = &node.seats[number % node.seats.len()];
            if let Some(pipe) = seat.pipe() {
                return Some(pipe);
            }
            self.reopen(node.clone(), number);
        }
        None
    }

    /// Whether there is any connection.
    pub(super) fn is_open(&self, number: usize) -> bool {
        let nodes = self.nodes.borrow();
        nodes.iter().flatten().any(|node| node.seats[number % node.seats.len()].pipe().is_some())
    }

    /// How often nodes said something that was not asked for, since the last call.
    pub(super) fn take_unsolicited(&self) -> u64 {
        let nodes = self.nodes.borrow();
        nodes.iter().flatten().flat_map(|node| &node.seats).map(|it| it.take_unsolicited()).sum()
    }

    /// Connects to all nodes.
    ///
    /// # Errors
    /// Why there is no connection to any of them.
    pub(super) async fn open(self: &Rc<Self>, number: usize) -> Result<(), CallError> {
        let nodes: Vec<_> = self.nodes.borrow().iter().flatten().cloned().collect();
        let mut why = CallError::new(Failure::Connect, "no node has an address");
        for node in nodes {
            if let Err(refusal) = self.connect(&node, number).await {
                why = refusal;
            }
        }
        if self.is_open(number) {
            return Ok(());
        }
        self.refresh();
        Err(why)
    }

    async fn connect(&self, node: &Node, number: usize) -> Result<(), CallError> {
        let seat = &node.seats[number % node.seats.len()];
        let (servers, context) = (&self.target.servers, &*self.context);
        seat.pause(context).await;
        let connect =
            async |endpoint: &Endpoint, failed| servers.connect(endpoint, failed, context).await;
        seat.open(context, connect).await;
        let pipe = seat.pipe().ok_or_else(|| seat.refusal())?;
        if !node.is_prepared.replace(true) {
            for cql in self.target.table.statements() {
                // If a statement is wrong, the operation that needs it will report that.
                if let Ok(prepared) = prepare(&pipe, &cql).await {
                    self.statements.borrow_mut().insert(cql, Rc::new(prepared));
                }
            }
        }
        Ok(())
    }

    /// Makes a lost connection again, beside the load.
    fn reopen(self: &Rc<Self>, node: Rc<Node>, number: usize) {
        if node.reopening.replace(true) {
            return;
        }
        self.refresh();
        let hub = self.clone();
        tokio::task::spawn_local(async move {
            let connecting = hub.connect(&node, number);
            let _ = within(hub.target.servers.timeout, connecting, CallError::clone).await;
            node.reopening.set(false);
        });
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
            let asking = async { hub.target.servers.first(&hub.context).await?.ring().await };
            if let Ok(ring) = within(hub.target.servers.timeout, asking, CallError::clone).await {
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
