//! What some sessions of a shard share: a connection to the server, or to each node of a cluster.

use super::Keys;
use super::Pipe;
use super::Seat;
use super::cluster::Map;
use crate::call::CallError;
use crate::clock::{Nanos, SECOND_NS};
use crate::net::{Endpoint, ShardContext};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

/// How often a shard asks for the map of the slots, at most.
const REFRESH_NS: Nanos = SECOND_NS / 5;

/// The endpoint of a node, or the reason why it is not known.
type LookedUp = Result<Arc<Endpoint>, CallError>;

/// What all sessions of a shard share.
#[derive(Debug)]
pub(super) struct Hub {
    pub(super) keys: Keys,
    pub(super) context: Rc<ShardContext>,
    /// The map of the slots; `None` without a cluster.
    map: RefCell<Option<Map>>,
    /// The nodes whose names were looked up.
    endpoints: RefCell<HashMap<Arc<str>, LookedUp>>,
    /// When the map was last requested, and whether a request is in progress.
    refreshed: Cell<Nanos>,
    refreshing: Cell<bool>,
}

impl Hub {
    pub(super) fn new(keys: Keys, context: Rc<ShardContext>) -> Self {
        let map = RefCell::new(keys.map.clone());
        let (refreshed, refreshing) = (Cell::default(), Cell::default());
        let endpoints = RefCell::default();
        Self { keys, context, map, endpoints, refreshed, refreshing }
    }

    /// The endpoint of a node. Its name is looked up once.
    async fn endpoint(&self, node: &Arc<str>) -> LookedUp {
        let known = self.endpoints.borrow().get(node).cloned();
        if let Some(known) = known {
            return known;
        }
        let found = self.keys.nodes.reach.endpoint(node).await;
        self.endpoints.borrow_mut().insert(node.clone(), found.clone());
        found
    }

    pub(super) fn node(&self, slot: u16) -> Option<Arc<str>> {
        self.map.borrow().as_ref().and_then(|map| map.node(slot).cloned())
    }

    pub(super) fn moved(&self, slot: u16, node: &str) {
        if let Some(map) = &mut *self.map.borrow_mut() {
            map.moved(slot, node);
        }
    }

    /// Requests the current map of the slots, beside the load.
    pub(super) fn refresh(self: &Rc<Self>) {
        let now = self.context.clock().now();
        let Some(map) = self.map.borrow().clone() else { return };
        if self.refreshing.get() || now < self.refreshed.get() + REFRESH_NS {
            return;
        }
        self.refreshing.set(true);
        let hub = self.clone();
        tokio::task::spawn_local(async move {
            for node in map.nodes() {
                let asked = hub.keys.within(hub.keys.nodes.map(node, &hub.context)).await;
                if let Ok(map) = asked {
                    *hub.map.borrow_mut() = Some(map);
                    break;
                }
            }
            // Names that could not be looked up before may be known by now.
            hub.endpoints.borrow_mut().retain(|_, found| found.is_ok());
            hub.refreshed.set(hub.context.clock().now());
            hub.refreshing.set(false);
        });
    }
}

/// The connections that some sessions share.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) hub: Rc<Hub>,
    /// The server, or the node of the cluster that was named.
    first: Rc<Seat>,
    nodes: RefCell<HashMap<Arc<str>, Rc<Seat>>>,
}

impl Group {
    pub(super) fn new(hub: Rc<Hub>) -> Self {
        let first = Rc::new(Seat::new(hub.keys.endpoint.clone()));
        Self { hub, first, nodes: RefCell::default() }
    }

    pub(super) fn is_clustered(&self) -> bool {
        self.hub.keys.map.is_some()
    }

    /// The server, without a cluster.
    pub(super) const fn server(&self) -> &Rc<Seat> {
        &self.first
    }

    /// The node of a cluster with this address, if its endpoint is known.
    pub(super) fn known(&self, node: &Arc<str>) -> Option<Rc<Seat>> {
        self.nodes.borrow().get(node).cloned()
    }

    /// The node of a cluster with this address.
    pub(super) async fn node(&self, node: &Arc<str>) -> Result<Rc<Seat>, CallError> {
        if let Some(seat) = self.known(node) {
            return Ok(seat);
        }
        let endpoint = self.hub.endpoint(node).await?;
        let mut nodes = self.nodes.borrow_mut();
        // Another session may have been faster.
        let seat = nodes.entry(node.clone()).or_insert_with(|| Rc::new(Seat::new(endpoint)));
        Ok(seat.clone())
    }

    /// Whether no connection has to be made before an operation. Lost nodes of a cluster are
    /// connected again when an operation needs them, so that the others are not held up.
    pub(super) fn is_open(&self) -> bool {
        if self.is_clustered() {
            !self.nodes.borrow().is_empty()
        } else {
            self.first.pipe().is_some()
        }
    }

    /// Connects to the server, or to all nodes. Returns when that began.
    pub(super) async fn open(&self) -> Nanos {
        let began = self.hub.context.clock().now();
        if !self.is_clustered() {
            return self.connect(&self.first).await;
        }
        let nodes = self.hub.map.borrow().as_ref().map(|map| map.nodes().to_vec());
        for node in nodes.unwrap_or_default() {
            if let Ok(seat) = self.node(&node).await {
                self.connect(&seat).await;
            }
        }
        began
    }

    /// Pauses for as long as failures to connect to the server require.
    pub(super) async fn pause(&self) {
        if !self.is_clustered() {
            self.first.pause(&self.hub.context).await;
        }
    }

    async fn connect(&self, seat: &Seat) -> Nanos {
        let keys = &self.hub.keys;
        let (log_into, context) = (&keys.nodes.log_into, &*self.hub.context);
        let connect = async |endpoint: &Endpoint, failed| {
            log_into.connect(endpoint, failed, keys.pipeline > 1, context).await
        };
        seat.open(context, connect).await
    }

    /// The connection to a node, made if there is none.
    pub(super) async fn pipe(&self, seat: &Seat) -> Result<Rc<Pipe>, CallError> {
        if let Some(pipe) = seat.pipe() {
            return Ok(pipe);
        }
        // Connecting to a single server was already tried before the operation.
        if self.is_clustered() || !seat.has_failed() {
            seat.pause(&self.hub.context).await;
            self.connect(seat).await;
        }
        seat.pipe().ok_or_else(|| {
            self.hub.refresh();
            seat.refusal()
        })
    }

    /// How often servers sent something unsolicited since the last call.
    pub(super) fn take_unsolicited(&self) -> u64 {
        let nodes = self.nodes.borrow();
        let nodes: u64 = nodes.values().map(|seat| seat.take_unsolicited()).sum();
        nodes + self.first.take_unsolicited()
    }
}
