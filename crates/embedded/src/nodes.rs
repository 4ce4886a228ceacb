//! Where a stand-in listens, and its nodes if there are several: each listens on its own address,
//! and all have the same documents. Each node can be stopped, restarted or frozen.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::watch;

/// How many connections may wait to be accepted.
const BACKLOG: i32 = 4096;
/// How long a node waits before it tries to listen on its address again.
const AGAIN: Duration = Duration::from_millis(20);

/// Listens on an address such as `127.0.0.1:0`.
///
/// # Errors
/// Returns an error if the address does not resolve, or cannot be listened on.
pub fn bind(address: &str) -> io::Result<std::net::TcpListener> {
    let mut last = io::Error::new(io::ErrorKind::AddrNotAvailable, "no such address");
    for address in address.to_socket_addrs()? {
        match listen(address) {
            Ok(listener) => return Ok(listener),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn listen(address: SocketAddr) -> io::Result<std::net::TcpListener> {
    let domain = socket2::Domain::for_address(address);
    let socket = socket2::Socket::new(domain, socket2::Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// The state of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeState {
    /// It answers.
    Up,
    /// It does not answer but keeps its connections, like a stopped process.
    Still,
    /// Nothing listens and all connections are closed, as after the death of a process.
    Down,
}

/// How many nodes there are, and how many of them answer.
#[derive(Debug)]
pub(super) struct Quorum {
    all: usize,
    up: AtomicUsize,
}

impl Quorum {
    pub(super) fn of(all: usize) -> Arc<Self> {
        Arc::new(Self { all, up: AtomicUsize::new(all) })
    }

    /// Whether fewer than a majority of the nodes answer.
    pub(super) fn is_lost(&self) -> bool {
        self.up.load(Ordering::Relaxed) * 2 <= self.all
    }
}

#[derive(Debug)]
pub(super) struct Switch {
    state: watch::Sender<NodeState>,
    listens: watch::Sender<bool>,
    quorum: Arc<Quorum>,
}

impl Switch {
    /// The switch of a node that is up.
    pub(super) fn new(quorum: &Arc<Quorum>) -> Self {
        let (state, listens) = (watch::Sender::new(NodeState::Up), watch::Sender::new(true));
        Self { state, listens, quorum: quorum.clone() }
    }

    pub(super) fn node(&self, address: SocketAddr) -> Node {
        Node { address, state: self.state.subscribe(), listens: self.listens.clone() }
    }

    pub(super) fn set(&self, state: NodeState) {
        let before = self.state.send_replace(state);
        match (before == NodeState::Up, state == NodeState::Up) {
            (true, false) => _ = self.quorum.up.fetch_sub(1, Ordering::Relaxed),
            (false, true) => _ = self.quorum.up.fetch_add(1, Ordering::Relaxed),
            _ => {}
        }
    }
}

/// A node as seen by its tasks.
#[derive(Clone, Debug)]
pub(super) struct Node {
    address: SocketAddr,
    state: watch::Receiver<NodeState>,
    listens: watch::Sender<bool>,
}

impl Node {
    /// Serves a connection while the node is up, and pauses it while the node is frozen. When the
    /// node goes down, the connection is closed after the listener, so that a client that
    /// reconnects at once is refused rather than accepted by a dying node.
    pub(super) async fn during(mut self, connection: impl Future<Output = ()>) {
        let mut connection = std::pin::pin!(connection);
        self.until_down(connection.as_mut()).await;
        if *self.state.borrow() == NodeState::Down {
            let mut listens = self.listens.subscribe();
            tokio::select! {
                _ = listens.wait_for(|listens| !listens) => {}
                _ = self.state.changed() => {}
            }
        }
    }

    /// Does `work` while the node is up, until it goes down.
    async fn until_down(&mut self, work: impl Future<Output = ()>) {
        let mut work = std::pin::pin!(work);
        loop {
            let state = *self.state.borrow_and_update();
            match state {
                NodeState::Down => return,
                NodeState::Still => {
                    if self.state.changed().await.is_err() {
                        return;
                    }
                    continue;
                }
                NodeState::Up => {}
            }
            tokio::select! {
                biased;
                changed = self.state.changed() => if changed.is_err() { return },
                () = &mut work => return,
            }
        }
    }

    /// Accepts connections with `accept` whenever the node is up.
    pub(super) async fn listen<W: Future<Output = ()>>(
        mut self,
        listener: TcpListener,
        mut accept: impl FnMut(TcpListener) -> W,
    ) {
        let mut listener = Some(listener);
        loop {
            let state = *self.state.borrow_and_update();
            match state {
                NodeState::Up => match listener.take().or_else(|| self.bind()) {
                    Some(listener) => {
                        self.listens.send_replace(true);
                        self.clone().until_down(accept(listener)).await;
                    }
                    None => tokio::time::sleep(AGAIN).await,
                },
                other => {
                    listener = listener.filter(|_| other == NodeState::Still);
                    self.listens.send_replace(listener.is_some());
                    if self.state.changed().await.is_err() {
                        return;
                    }
                }
            }
        }
    }

    fn bind(&self) -> Option<TcpListener> {
        let listener = bind(&self.address.to_string()).ok()?;
        listener.set_nonblocking(true).ok()?;
        TcpListener::from_std(listener).ok()
    }
}
