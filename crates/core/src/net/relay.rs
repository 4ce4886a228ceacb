//! A relay between clients on this machine and one server, which can be cut: nothing passes then,
//! as when a network loses all packets, and nobody is notified.
//!
//! Knows nothing of what it passes on.

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
/// The pause after a connection could not be accepted, such as for want of file descriptors.
const REST: Duration = Duration::from_millis(50);

/// A relay, on a thread of its own. It ends, with all of its connections, when this is dropped.
#[derive(Debug)]
pub struct Relay {
    address: SocketAddr,
    cut: Arc<watch::Sender<bool>>,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// The handle with which a relay is cut and joined again.
#[derive(Clone, Debug)]
pub struct Cutter(Arc<watch::Sender<bool>>);

impl Cutter {
    /// From now on nothing passes: what clients and server send waits, and so does whoever
    /// connects.
    pub fn cut(&self) {
        self.0.send_replace(true);
    }

    /// Everything passes again, beginning with what has waited.
    pub fn join(&self) {
        self.0.send_replace(false);
    }
}

impl Relay {
    /// Begins to listen on a free port of the loopback interface, for connections to the
    /// first of `servers` that answers.
    ///
    /// # Errors
    /// If the operating system refuses the port or the thread.
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

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// What cuts it.
    pub fn cutter(&self) -> Cutter {
        Cutter(self.cut.clone())
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            // It has no result, and a panic has been reported.
            let _ = thread.join();
        }
    }
}

/// Whether everything passes, and a wait until it does.
type Gate = watch::Receiver<bool>;

/// Waits until everything passes. `false`: the relay ends.
async fn open(gate: &mut Gate) -> bool {
    gate.wait_for(|cut| !cut).await.is_ok()
}

async fn serve(listener: TcpListener, servers: Arc<[SocketAddr]>, mut gate: Gate) {
    while open(&mut gate).await {
        // Whoever connects in the meantime waits in the queue of the listener.
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

/// Passes on what comes from a client and, in return, from the server.
async fn connect(client: TcpStream, servers: Arc<[SocketAddr]>, mut gate: Gate) {
    if !open(&mut gate).await {
        return;
    }
    // A client whose server refuses it is hung up on.
    let Ok(server) = TcpStream::connect(&servers[..]).await else { return };
    if client.set_nodelay(true).and(server.set_nodelay(true)).is_err() {
        return;
    }
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    tokio::join!(pass(from_client, to_server, gate.clone()), pass(from_server, to_client, gate));
}

/// Passes on all that comes in one direction. The end is passed on, too, but not while it is cut.
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
        // It may have been cut since: then it is passed on afterwards.
        if !open(&mut gate).await {
            return;
        }
        match read {
            Ok(0) | Err(_) => break,
            Ok(length) if to.write_all(&piece[..length]).await.is_err() => break,
            Ok(_) => {}
        }
    }
    // Whoever has hung up cannot be notified.
    let _ = to.shutdown().await;
}

#[cfg(test)]
#[path = "relay_tests.rs"]
mod tests;
