//! A relay between clients on this machine and one server, which can be cut: then nothing passes,
//! as when a network loses all packets, and neither side is notified.
//!
//! Knows nothing about the data it passes on.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{oneshot, watch};

/// How much is read at once, in bytes.
const PIECE: usize = 64 * 1024;
/// The pause after failing to accept a connection, for example for lack of file descriptors.
const REST: Duration = Duration::from_millis(50);

/// A relay on its own thread. It ends, with all of its connections, when dropped.
#[derive(Debug)]
pub struct Relay {
    address: SocketAddr,
    cut: Arc<watch::Sender<bool>>,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// The handle for cutting and rejoining a relay.
#[derive(Clone, Debug)]
pub struct Cutter(Arc<watch::Sender<bool>>);

impl Cutter {
    /// From now on nothing passes: data from clients and server waits, and so do new connections.
    pub fn cut(&self) {
        self.0.send_replace(true);
    }

    /// Lets everything pass again, beginning with what has waited.
    pub fn join(&self) {
        self.0.send_replace(false);
    }
}

impl Relay {
    /// Starts listening on a free port of the loopback interface, for connections to the first of
    /// `servers` that answers.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses the port or the thread.
    pub fn begin(servers: Vec<SocketAddr>) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
        let listener = runtime.block_on(bound)?;
        let address = listener.local_addr()?;
        let (cut, gate) = watch::channel(false);
        let (end, ended) = oneshot::channel();
        let servers: Arc<[SocketAddr]> = servers.into();
        let work = move || {
            runtime.block_on(async {
                tokio::select! {
                    () = serve(listener, servers, gate) => {}
                    _ = ended => {}
                }
            });
        };
        let thread = Some(std::thread::Builder::new().name("relay".to_owned()).spawn(work)?);
        Ok(Self { address, cut: Arc::new(cut), end: Some(end), thread })
    }

    /// The address it listens on.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The handle that cuts it.
    pub fn cutter(&self) -> Cutter {
        Cutter(self.cut.clone())
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            // The thread has no result, and a panic has been reported.
            let _ = thread.join();
        }
    }
}

/// Tells whether everything passes, and can be waited on until it does.
type Gate = watch::Receiver<bool>;

/// Waits until everything passes. Returns `false` if the relay ends.
async fn open(gate: &mut Gate) -> bool {
    gate.wait_for(|cut| !cut).await.is_ok()
}

async fn serve(listener: TcpListener, servers: Arc<[SocketAddr]>, mut gate: Gate) {
    while open(&mut gate).await {
        // Clients that connect in the meantime wait in the listener's queue.
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = gate.changed() => continue,
        };
        match accepted {
            Ok((client, _)) => {
                tokio::spawn(connect(client, servers.clone(), gate.clone()));
            }
            Err(_) => tokio::time::sleep(REST).await,
        }
    }
}

/// Connects a client to the server and passes data on in both directions.
async fn connect(client: TcpStream, servers: Arc<[SocketAddr]>, mut gate: Gate) {
    if !open(&mut gate).await {
        return;
    }
    // If the server refuses the connection, the client's is closed.
    let Ok(server) = TcpStream::connect(&servers[..]).await else { return };
    if client.set_nodelay(true).and(server.set_nodelay(true)).is_err() {
        return;
    }
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    tokio::join!(pass(from_client, to_server, gate.clone()), pass(from_server, to_client, gate));
}

/// Passes on all data in one direction, and then its end, but not while the relay is cut.
async fn pass(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut gate: Gate) {
    let mut piece = vec![0; PIECE];
    while open(&mut gate).await {
        let read = tokio::select! {
            read = from.read(&mut piece) => read,
            changed = gate.changed() => match changed {
                Ok(()) => continue,
                Err(_) => return,
            },
        };
        // The relay may have been cut since; then the data is passed on once it is joined.
        if !open(&mut gate).await {
            return;
        }
        match read {
            Ok(0) | Err(_) => break,
            Ok(length) if to.write_all(&piece[..length]).await.is_err() => break,
            Ok(_) => {}
        }
    }
    // A peer that has closed the connection cannot be notified.
    let _ = to.shutdown().await;
}

#[cfg(test)]
#[path = "relay_tests.rs"]
mod tests;
