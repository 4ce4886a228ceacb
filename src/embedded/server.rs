//! Listens, and runs the serving threads. Knows nothing about CouchDB.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, ToSocketAddrs};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use hdrhistogram::Histogram;
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};

use super::couch::{SharedState, connection};
use super::counters::{Counters, Tally, count};
use super::null::{self, Script, histogram};
use super::turnstile::Gate;
use super::{Mode, Options};

/// Connections which may wait to be accepted.
const BACKLOG: i32 = 4096;

/// Listens on an address such as `127.0.0.1:0`.
///
/// # Errors
/// When the address does not resolve, or cannot be listened on.
pub fn bind(address: &str) -> io::Result<TcpListener> {
    let mut last = io::Error::new(io::ErrorKind::AddrNotAvailable, "no such address");
    for address in address.to_socket_addrs()? {
        match listen(address) {
            Ok(listener) => return Ok(listener),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let domain = socket2::Domain::for_address(address);
    let socket = socket2::Socket::new(domain, socket2::Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// What answers on a connection.
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
}

impl StandIn {
    /// Starts serving on new threads.
    ///
    /// # Errors
    /// When a thread, a runtime or the listener cannot be set up.
    pub fn start(listener: TcpListener, options: Options) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let gate = Arc::new(Gate::new(options.faults, options.patience));
        let engine = match options.mode {
            Mode::Couch => {
                let state = SharedState::new(options.admin, options.session_ns, Arc::clone(&gate));
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
        };
        let free = Arc::new(Semaphore::new(options.most_connections));
        let mut others = Vec::new();
        for _ in 1..options.threads.max(1) {
            let (sender, mut arrivals) = mpsc::unbounded_channel();
            others.push(sender);
            let worker = stand_in.worker();
            stand_in.spawn(async move {
                while let Some((stream, number, place)) = arrivals.recv().await {
                    if let Ok(stream) = TcpStream::from_std(stream) {
                        worker.serve(stream, number, place);
                    }
                }
            })?;
        }
        let worker = stand_in.worker();
        stand_in.spawn(accept(listener, (worker, others), free))?;
        Ok(stand_in)
    }

    /// Where it listens.
    #[cfg(feature = "internals")]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its URL for a client on this machine, without a trailing slash.
    pub fn url(&self) -> String {
        let mut address = self.address;
        if address.ip().is_unspecified() {
            address.set_ip(Ipv4Addr::LOCALHOST.into());
        }
        format!("http://{address}")
    }

    /// What it has counted so far.
    pub fn counters(&self) -> Counters {
        self.engine.tally().snapshot()
    }

    /// How long the null responder took from reading a request to writing its answer, in
    /// nanoseconds, as measured by the responder. An answer may be counted slightly after the
    /// client has it. Empty in [`Mode::Couch`].
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
            // Connections are tasks of this runtime: they end with it.
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

/// A connection with its number, and its place among those that are open.
type Arrival = (std::net::TcpStream, u64, OwnedSemaphorePermit);

/// A thread's part in serving.
struct Worker {
    engine: Engine,
    served: Arc<Mutex<Histogram<u64>>>,
}

impl Worker {
    /// Serves a connection, which gives its place to another when it ends.
    fn serve(&self, stream: TcpStream, number: u64, place: OwnedSemaphorePermit) {
        count(&self.engine.tally().connections);
        // Without it answers may wait 40 ms, but they arrive.
        let _ = stream.set_nodelay(true);
        match &self.engine {
            Engine::Couch(shared, gate) => {
                let (shared, gate) = (Arc::clone(shared), Arc::clone(gate));
                let connection = connection::serve(shared, gate, stream, number);
                tokio::spawn(async move {
                    connection.await;
                    drop(place);
                });
            }
            Engine::Null(script) => {
                let connection =
                    null::serve(Arc::clone(script), Arc::clone(&self.served), stream, number);
                tokio::spawn(async move {
                    // A client which closes the connection is not an error here.
                    let _ = connection.await;
                    drop(place);
                });
            }
        }
    }
}

/// Accepts connections, and distributes them in turn to this thread and the `others`.
async fn accept(
    listener: TcpListener,
    (worker, others): (Worker, Vec<mpsc::UnboundedSender<Arrival>>),
    free: Arc<Semaphore>,
) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    let mut number = 0;
    loop {
        let Ok(place) = Arc::clone(&free).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            // Most likely out of file descriptors: wait until some are free.
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        let turn = number as usize % (others.len() + 1);
        match turn.checked_sub(1).and_then(|turn| others.get(turn)) {
            None => worker.serve(stream, number, place),
            Some(other) => {
                if let Ok(stream) = stream.into_std() {
                    // The other thread ends only when this one does.
                    let _ = other.send((stream, number, place));
                }
            }
        }
        number += 1;
    }
}
