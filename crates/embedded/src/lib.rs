//! The stand-in CouchDB: an in-memory server that speaks CouchDB's protocol.
//!
//! It is a stand-in and **not a database**: nothing is written to a disk, and there are no conflict
//! trees, views, attachments or replication. It exists so that a run needs no server, so that the
//! client's own ceiling can be measured, and so that faults can be scripted.
//!
//! This crate knows CouchDB's statuses, bodies and revision rules, and shares no CouchDB code with
//! the client's driver, so that one bug cannot hide in both. Of springload's own code it imports
//! only `clock`.
//!
//! Deliberate differences from CouchDB:
//! * losing branches of a replicated document (`new_edits: false`) are dropped, not kept;
//! * `_local/` documents are plain documents: they are counted and listed;
//! * `?batch=ok` is applied at once, although its answer carries no revision;
//! * attachments, views, Mango and replication answer 501 or 405, never a made-up success.

mod capacity;
mod catalogue;
mod couch;
mod counters;
mod faults;
mod lies;
mod log;
mod nodes;
mod null;
mod server;
mod timer;
mod turnstile;
mod wire;

pub use catalogue::{Fault, Lie, Occurrence, Refused};
pub use counters::Counters;
pub use faults::{Delay, Faults, Stall};
pub use log::Log;
pub use nodes::{NodeState, bind};
pub use server::StandIn;
use springload_core::{clock, cores};
pub use wire::Wire;

use crate::clock::Nanos;
use std::time::Duration;

/// How a stand-in behaves.
#[derive(Clone, Debug)]
pub struct Options {
    /// Name and password of the only user, a server admin. Without it, every request has admin
    /// rights.
    pub admin: Option<(String, String)>,
    /// The lifetime of a session cookie, in nanoseconds.
    pub session_ns: Nanos,
    /// Serving threads, each with its own runtime. 0 counts as 1.
    pub threads: usize,
    /// What answers.
    pub mode: Mode,
    /// What happens to the answers.
    pub faults: Faults,
    /// The log of the times at which each request arrived and was answered.
    pub log: Option<Log>,
    /// How long a client may take to send a request, and to begin the next one. The null responder
    /// limits only the former.
    pub patience: Duration,
    /// The most connections at a time; others wait to be accepted.
    pub most_connections: usize,
    /// Whether to pin each serving thread to a processor, counted from the last: for clients in
    /// this process.
    pub pinned: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            admin: None,
            session_ns: couch::SESSION_NS,
            threads: 1,
            mode: Mode::Couch,
            faults: Faults::default(),
            log: None,
            patience: Duration::from_secs(60),
            most_connections: 1 << 16,
            pinned: false,
        }
    }
}

/// The engine that answers the requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The stand-in CouchDB, which keeps documents in memory.
    Couch,
    /// A responder that stores nothing and answers every request as if it had succeeded.
    Null,
}
