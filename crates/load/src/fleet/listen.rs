//! The coordinator's side of agents that connect by themselves: listens until all are present. A
//! client that does not know the token, or sends nothing, occupies a thread for a few seconds at
//! most.

use super::channel::{Arrived, Channel, Full, Outbox, To, WAITING};
use super::door::{Knock, Reply, STEP_NS, Token, hear, say};
use super::pipe::{Pipes, named, read, writer};
use super::wire::{Reading, Wire, Writing};
use crate::clock::SECOND_NS;
use crate::mistake::Invalid;
use crate::net::{Identity, server_config};
use std::collections::VecDeque;
use std::io::{self, BufReader};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio_rustls::rustls::{ServerConfig, ServerConnection};

/// How often to check for new connections.
const LOOK: Duration = Duration::from_millis(10);
/// The most connections that may be unidentified; beyond that, the oldest one is closed.
const DOORSTEP: usize = 64;
/// The most refused connections that are reported.
const REPORTED: usize = 20;
/// The flags for the certificate and its key.
const FLAGS: [&str; 2] = ["--listen-cert", "--listen-key"];

/// Where a coordinator listens for agents.
#[derive(Clone, Debug)]
pub struct Door {
    address: SocketAddr,
    identity: Option<Identity>,
    token: Token,
}

/// Receives which connections were refused, and why.
pub type Report = Box<dyn Fn(&str) + Send + Sync>;

/// What all threads share.
struct Hall {
    run: String,
    agents: usize,
    token: Token,
    tls: Option<Arc<ServerConfig>>,
    /// The pipes to the admitted agents, by number.
    pipes: Mutex<Pipes>,
    /// The connections that have not identified themselves yet.
    doorstep: Mutex<VecDeque<(usize, TcpStream)>>,
    arrived: SyncSender<Arrived>,
    refused: AtomicUsize,
    report: Report,
}

impl Door {
    /// Listens at `address`, given by `--listen`, with a certificate for TLS.
    ///
    /// # Errors
    /// Returns an error if it is not an address, or lacks TLS although it can be reached from
    /// elsewhere.
    pub fn new(address: &str, identity: Option<Identity>, token: Token) -> Result<Self, Invalid> {
        let wrong = |problem: &str, cure: &str| Err(Invalid::new("--listen", problem, cure));
        let port = address.strip_prefix("localhost:").and_then(|port| port.parse().ok());
        let local = port.map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        let Some(address) = local.or_else(|| address.parse().ok()) else {
            return wrong("not an address to listen at", "give ADDRESS:PORT, such as 0.0.0.0:5985");
        };
        if identity.is_none() && !address.ip().is_loopback() {
            let cure = "give --listen-cert and --listen-key, or an address of this machine alone";
            return wrong("without TLS, everybody could read token and passwords", cure);
        }
        Ok(Self { address, identity, token })
    }

    /// The text that shows how to start agents that connect to `address`.
    pub fn invitation(&self, run: &str, agents: usize, address: SocketAddr) -> String {
        let (scheme, more, unless) = match self.identity {
            Some(_) => ("tls", " --tls-ca FILE", " (--tls-ca unless it trusts the authority)"),
            None => ("tcp", "", ""),
        };
        let place = if address.ip().is_unspecified() {
            let node = rustix::system::uname().nodename().to_string_lossy().into_owned();
            format!("{node}:{}", address.port())
        } else {
            address.to_string()
        };
        format!(
            "run {run}: waiting for {agents} agents at {address}; start each with the same \
             SPRINGLOAD_JOIN_TOKEN{unless}:\n  springload agent --join {scheme}://{place}{more}"
        )
    }

    /// Listens for the agents of `run`; returns the address, and the coordinator's end.
    ///
    /// # Errors
    /// Returns an error if that is not possible.
    pub fn open(
        &self,
        run: &str,
        agents: usize,
        report: Report,
    ) -> Result<(Channel, SocketAddr), String> {
        let tls = self.identity.as_ref().map(|identity| server_config(identity, FLAGS));
        let tls = tls.transpose().map_err(|error| error.to_string())?;
        let failed = |error: io::Error| {
            let address = self.address;
            format!("cannot listen at {address}: {error}; give another --listen ADDRESS:PORT")
        };
        let listener = TcpListener::bind(self.address).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let (arrived, inbox) = sync_channel(WAITING);
        let hall = Arc::new(Hall {
            run: run.to_owned(),
            agents,
            token: self.token.clone(),
            tls,
            pipes: Mutex::default(),
            doorstep: Mutex::default(),
            arrived,
            refused: AtomicUsize::new(0),
            report,
        });
        let weak = Arc::downgrade(&hall);
        named("door").spawn(move || watch(&listener, &weak)).map_err(failed)?;
        Ok((Channel { outbox: Box::new(hall), inbox, lossy: false }, address))
    }
}

/// Admits agents until all are present, or they are no longer awaited.
fn watch(listener: &TcpListener, hall: &Weak<Hall>) {
    for number in 0.. {
        let (socket, peer) = loop {
            let waits = |hall: Arc<Hall>| held(&hall.pipes).writers.len() < hall.agents;
            if !hall.upgrade().is_some_and(waits) {
                return;
            }
            match listener.accept() {
                Ok(come) => break come,
                Err(_) => std::thread::sleep(LOOK),
            }
        };
        let Some(hall) = hall.upgrade() else { return };
        let Ok(again) = socket.try_clone() else { continue };
        let mut doorstep = held(&hall.doorstep);
        doorstep.push_back((number, again));
        if doorstep.len() > DOORSTEP
            && let Some((_, oldest)) = doorstep.pop_front()
        {
            let _ = oldest.shutdown(Shutdown::Both);
        }
        drop(doorstep);
        // Without a thread for it, the connection is closed.
        let _ = named("doorstep").spawn(move || hall.meet(number, socket, peer));
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Hall {
    /// Admits a connection and passes on its messages, or reports why it was refused.
    fn meet(self: Arc<Self>, number: usize, socket: TcpStream, peer: SocketAddr) {
        let admitted = self.admit(number, socket);
        self.leaves_doorstep(number);
        let (lines, agent) = match admitted {
            Ok(admitted) => admitted,
            Err(why) => return self.tell(peer, &why),
        };
        let arrived = self.arrived.clone();
        // An admitted agent must not keep the others waiting.
        drop(self);
        let why = read(lines, &arrived).map_or_else(
            |error| format!("its connection broke: {error}"),
            |()| "its connection was closed".to_owned(),
        );
        let _ = arrived.send(Arrived::AgentGone(agent, why));
    }

    /// Identifies a connection. Returns where to read its further messages, and the agent's number.
    fn admit(
        &self,
        number: usize,
        socket: TcpStream,
    ) -> Result<(BufReader<Reading>, usize), String> {
        let tls = self.tls.clone().map(ServerConnection::new).transpose();
        let tls = tls.map_err(|error| error.to_string())?;
        let broken = |error: io::Error| error.to_string();
        let wire = Wire::new(socket, tls.map(Into::into), STEP_NS).map_err(broken)?;
        let (reading, mut writing) = wire.ends();
        let mut lines = BufReader::new(reading);
        let refused = |to: &mut Writing, why: String| {
            let _ = say(to, &Reply::Refused(why.clone()));
            why
        };
        let knock: Knock = hear(&mut lines).map_err(|error| match error.kind() {
            io::ErrorKind::TimedOut => format!("it said too little for {} s", STEP_NS / SECOND_NS),
            // An agent that expects TLS can tell from any reply that there is none.
            io::ErrorKind::InvalidData => refused(&mut writing, error.to_string()),
            _ => error.to_string(),
        })?;
        let own = env!("CARGO_PKG_VERSION");
        if !knock.token.is(&self.token) {
            let why =
                "its token is not the coordinator's; give both the same SPRINGLOAD_JOIN_TOKEN";
            return Err(refused(&mut writing, why.to_owned()));
        }
        if knock.springload != own {
            let theirs = knock.springload;
            let why = format!("it is springload {theirs}, not {own}; install the same version");
            return Err(refused(&mut writing, why));
        }
        let mut pipes = held(&self.pipes);
        let index = pipes.writers.len();
        if index >= self.agents {
            let why = format!("the run {} has all of its {} agents", self.run, self.agents);
            return Err(refused(&mut writing, why));
        }
        if !self.leaves_doorstep(number) {
            return Err("others were waiting".to_owned());
        }
        say(&mut writing, &Reply::Welcome { run: self.run.clone(), index }).map_err(broken)?;
        wire.release().map_err(broken)?;
        pipes.writers.push(writer(writing).map_err(broken)?);
        Ok((lines, index))
    }

    /// Removes a connection from the doorstep. Returns whether it was still there.
    fn leaves_doorstep(&self, number: usize) -> bool {
        let mut doorstep = held(&self.doorstep);
        let place = doorstep.iter().position(|(it, _)| *it == number);
        place.and_then(|place| doorstep.remove(place)).is_some()
    }

    fn tell(&self, peer: SocketAddr, why: &str) {
        match self.refused.fetch_add(1, Ordering::Relaxed) {
            before if before < REPORTED => {
                (self.report)(&format!("{peer} was not let in: {why}"));
            }
            REPORTED => (self.report)("more were not let in, who are not listed"),
            _ => {}
        }
    }
}

impl Outbox for Arc<Hall> {
    fn send(&mut self, to: To, message: Vec<u8>) -> Result<(), Full> {
        held(&self.pipes).send(to, message)
    }
}
