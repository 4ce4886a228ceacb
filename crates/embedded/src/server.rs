//! Accepts connections, and runs the serving threads. Knows nothing about CouchDB.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use hdrhistogram::Histogram;
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};

use super::couch::{SharedState, connection};
use super::counters::{Counters, Tally, count};
use super::nodes::{Node, NodeState, Quorum, Switch};
use super::null::{self, Script, histogram};
use super::turnstile::Gate;
use super::{Mode, Options};

/// The URL of this listener for a client on this machine.
fn url_of(mut address: SocketAddr) -> String {
    if address.ip().is_unspecified() {
        address.set_ip(Ipv4Addr::LOCALHOST.into());
    }
    format!("http://{address}")
}

/// The engine that answers on a connection.
#[derive(Clone, Debug)]
enum Engine {
    Couch(Arc<SharedState>, Arc<Gate>),
    Null(Arc<Script>),
}

impl Engine {
    fn tally(&self) -> &Tally {
        match self {
            Self::Couch(shared, _) => &shared.tally,
            Self::Null(script) => &script.tally,
        }
    }
}

/// A running stand-in. Dropping it stops it.
#[derive(Debug)]
pub struct StandIn {
    address: SocketAddr,
    engine: Engine,
    served: Vec<Arc<Mutex<Histogram<u64>>>>,
    shutdown: watch::Sender<bool>,
    threads: Vec<JoinHandle<()>>,
    pinned: bool,
    /// The nodes, if there are several.
    nodes: Vec<(SocketAddr, Switch)>,
}

impl StandIn {
    /// Starts serving on new threads.
    ///
    /// # Errors
    /// Returns an error if a thread, a runtime or the listener cannot be set up.
    pub fn start(listener: TcpListener, options: Options) -> io::Result<Self> {
        Self::start_nodes(vec![listener], options)
    }

    /// Starts serving on new threads, with one node on each listener; there must be at least one.
    /// If there are several, writes are answered with 202 while at most half of the nodes are up.
    ///
    /// # Errors
    /// Returns an error if a thread, a runtime or a listener cannot be set up.
    pub fn start_nodes(listeners: Vec<TcpListener>, options: Options) -> io::Result<Self> {
        let quorum = Quorum::of(listeners.len());
        let several = listeners.len() > 1;
        let mut listeners = listeners.into_iter();
        let listener = listeners.next().ok_or(io::ErrorKind::InvalidInput)?;
        listener.set_nonblocking(true)?;
        let gate = Arc::new(Gate::new(options.faults, options.patience, options.log));
        let engine = match options.mode {
            Mode::Couch => {
                let mut state =
                    SharedState::new(options.admin, options.session_ns, Arc::clone(&gate));
                state.quorum = several.then(|| quorum.clone());
                Engine::Couch(Arc::new(state), gate)
            }
            Mode::Null => Engine::Null(Arc::new(Script::new(gate))),
        };
        let mut stand_in = Self {
            address: listener.local_addr()?,
            engine,
            served: Vec::new(),
            shutdown: watch::Sender::new(false),
            threads: Vec::new(),
            pinned: options.pinned,
            nodes: Vec::new(),
        };
        let free = Arc::new(Semaphore::new(options.most_connections));
        let first = several.then(|| stand_in.add_node(stand_in.address, &quorum));
        for listener in listeners {
            listener.set_nonblocking(true)?;
            let node = stand_in.add_node(listener.local_addr()?, &quorum);
            let worker = stand_in.worker();
            let acceptor = Acceptor::new(worker, Vec::new(), free.clone(), Some(node));
            stand_in.spawn(acceptor.accept(listener))?;
        }
        let mut others = Vec::new();
        for _ in 1..options.threads.max(1) {
            let (sender, mut arrivals) = mpsc::unbounded_channel();
            others.push(sender);
            let worker = stand_in.worker();
            stand_in.spawn(async move {
                while let Some(Arrival { stream, number, slot }) = arrivals.recv().await {
                    if let Ok(stream) = TcpStream::from_std(stream) {
                        worker.serve(stream, number, slot);
                    }
                }
            })?;
        }
        let worker = stand_in.worker();
        stand_in.spawn(Acceptor::new(worker, others, free, first).accept(listener))?;
        Ok(stand_in)
    }

    fn add_node(&mut self, address: SocketAddr, quorum: &Arc<Quorum>) -> Node {
        let switch = Switch::new(quorum);
        let node = switch.node(address);
        self.nodes.push((address, switch));
        node
    }

    /// The URLs of all nodes for a client on this machine.
    pub fn urls(&self) -> Vec<String> {
        if self.nodes.is_empty() {
            return vec![self.url()];
        }
        self.nodes.iter().map(|(address, _)| url_of(*address)).collect()
    }

    /// Puts one of several nodes, counted from 0, into another state.
    pub fn set_node(&self, node: usize, state: NodeState) {
        if let Some((_, switch)) = self.nodes.get(node) {
            switch.set(state);
        }
    }

    /// The address on which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its URL for a client on this machine, without a trailing slash.
    pub fn url(&self) -> String {
        url_of(self.address)
    }

    /// The counters so far.
    pub fn counters(&self) -> Counters {
        self.engine.tally().snapshot()
    }

    /// How long the null responder took from reading a request to writing its answer, in
    /// nanoseconds, as measured by the responder itself. An answer may be counted slightly after
    /// the client has received it. Empty in [`Mode::Couch`].
    pub fn served(&self) -> Histogram<u64> {
        let mut merged = histogram();
        for served in &self.served {
            let served = served.lock().unwrap_or_else(PoisonError::into_inner);
            merged.add(&*served).expect("both histograms have the same bounds");
        }
        merged
    }

    /// Stops serving, closes all connections and joins the threads.
    pub fn stop(self) {
        drop(self);
    }

    fn worker(&mut self) -> Worker {
        let served = Arc::new(Mutex::new(histogram()));
        self.served.push(Arc::clone(&served));
        Worker { engine: self.engine.clone(), served }
    }

    fn spawn(&mut self, work: impl Future<Output = ()> + Send + 'static) -> io::Result<()> {
        let runtime: Runtime = Builder::new_current_thread().enable_all().build()?;
        let mut shutdown = self.shutdown.subscribe();
        let index = self.threads.len();
        let pinned = self.pinned;
        let name = format!("stand-in-{index}");
        let thread = std::thread::Builder::new().name(name).spawn(move || {
            if pinned {
                crate::cores::pin_from_last(index);
            }
            // Connections are tasks of this runtime and end with it.
            runtime.block_on(async {
                tokio::select! {
                    () = work => {}
                    _ = shutdown.wait_for(|stop| *stop) => {}
                }
            });
        })?;
        self.threads.push(thread);
        Ok(())
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        self.shutdown.send_replace(true);
        for thread in self.threads.drain(..) {
            // A panic in a thread was reported when it happened.
            let _ = thread.join();
        }
    }
}

/// A connection that was accepted for another thread.
struct Arrival {
    stream: std::net::TcpStream,
    number: u64,
    slot: Slot,
}

/// A thread's part in serving.
struct Worker {
    engine: Engine,
    served: Arc<Mutex<Histogram<u64>>>,
}

/// The slot of a connection among those served at the same time.
struct Slot {
    permit: OwnedSemaphorePermit,
    /// The node that accepted the connection, if there are several.
    node: Option<Node>,
}

impl Slot {
    /// Serves a connection as long as its node is up.
    fn spawn(self, connection: impl Future<Output = ()> + Send + 'static) {
        let Self { permit, node } = self;
        tokio::spawn(async move {
            match node {
                Some(node) => node.during(connection).await,
                None => connection.await,
            }
            drop(permit);
        });
    }
}

impl Worker {
    /// Serves a connection, which frees its slot for another when it ends.
    fn serve(&self, stream: TcpStream, number: u64, slot: Slot) {
        count(&self.engine.tally().connections);
        // If this fails, answers may be delayed by 40 ms, but they arrive.
        let _ = stream.set_nodelay(true);
        match &self.engine {
            Engine::Couch(shared, gate) => {
                let (shared, gate) = (Arc::clone(shared), Arc::clone(gate));
                slot.spawn(connection::serve(shared, gate, stream, number));
            }
            Engine::Null(script) => {
                let connection =
                    null::serve(Arc::clone(script), Arc::clone(&self.served), stream, number);
                // A client that closes the connection is not an error here.
                slot.spawn(async move { _ = connection.await });
            }
        }
    }
}

/// Accepts connections on one listener, and distributes them in turn to its thread and the others.
struct Acceptor {
    worker: Worker,
    others: Vec<mpsc::UnboundedSender<Arrival>>,
    free: Arc<Semaphore>,
    /// The node of this listener, if there are several.
    node: Option<Node>,
    accepted: AtomicU64,
}

impl Acceptor {
    fn new(
        worker: Worker,
        others: Vec<mpsc::UnboundedSender<Arrival>>,
        free: Arc<Semaphore>,
        node: Option<Node>,
    ) -> Self {
        Self { worker, others, free, node, accepted: AtomicU64::new(0) }
    }

    /// Accepts connections whenever the node is up.
    async fn accept(self, listener: TcpListener) {
        let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
        let accept = |listener| self.accept_on(listener);
        match &self.node {
            Some(node) => node.clone().listen(listener, accept).await,
            None => accept(listener).await,
        }
    }

    async fn accept_on(&self, listener: tokio::net::TcpListener) {
        let Self { worker, others, free, node, accepted } = self;
        loop {
            let Ok(permit) = Arc::clone(free).acquire_owned().await else { return };
            let Ok((stream, _)) = listener.accept().await else {
                // Most likely out of file descriptors: wait until some are free.
                tokio::time::sleep(Duration::from_millis(10)).await;
                continue;
            };
            let number = accepted.fetch_add(1, Ordering::Relaxed);
            let slot = Slot { permit, node: node.clone() };
            let turn = number as usize % (others.len() + 1);
            match turn.checked_sub(1).and_then(|turn| others.get(turn)) {
                None => worker.serve(stream, number, slot),
                Some(other) => {
                    if let Ok(stream) = stream.into_std() {
                        // The other thread only ends when this one does.
                        let _ = other.send(Arrival { stream, number, slot });
                    }
                }
            }
        }
    }
}
