//! The common part of drivers that execute one call at a time, such as those that use a client
//! library: one target, one session and one pen for all of them, so that the hot loop is compiled
//! only once.
//!
//! A driver implements [`Database`], which is opened once per load thread, and [`Client`], which
//! executes requests. A call costs a box. Libraries hide when a request is sent and when its answer
//! begins, so they have no phases. Requests are never retried.

mod found;
mod pen;
mod servers;
mod session;

pub use super::Local;
pub use super::call::{CallError, unusable, within};
pub use found::{Found, Scanned};
pub use pen::{Form, LibraryPen};
pub use servers::{is_here, reach};
pub use session::LibrarySession;

use super::{Monitor, Outcome, Shard, Size, Target, TargetError};
use crate::measure::{NodeLog, Probe};
use crate::net::ShardContext;
use crate::op::{Op, OpKind, Reply};
use std::fmt;
use std::io;
use std::rc::Rc;
use std::sync::Arc;

/// A database whose sessions execute one call at a time.
pub trait Database: fmt::Debug + Send + Sync {
    /// How documents are kept until they are sent.
    fn form(&self) -> Form {
        Form::Fields
    }

    /// Opens it for the sessions of one shard, inside that shard's runtime.
    fn clients(&self, context: &Rc<ShardContext>) -> Clients;

    /// Asks for its size.
    fn size(&self) -> Local<'_, Option<Size>> {
        Box::pin(async { None })
    }

    /// Connections that ask the servers about themselves, one for each node; none if they say
    /// nothing about themselves.
    fn monitors(&self) -> Vec<Box<dyn Monitor>> {
        Vec::new()
    }

    /// Removes what was created on opening, unless it is to be kept. Returns whether it did.
    fn tear_down(&self) -> Local<'_, Result<bool, TargetError>> {
        Box::pin(async { Ok(false) })
    }
}

/// A database as seen by one shard.
pub struct Clients {
    /// Makes the client of a session, not yet connected.
    pub client: Box<dyn Fn() -> Box<dyn Client>>,
    /// Returns the history of each node, if there are several.
    pub nodes: Box<dyn Fn() -> Vec<NodeLog>>,
}

impl Clients {
    /// The clients for a single server, or for a library that does not distinguish its nodes.
    pub fn of_one(client: impl Fn() -> Box<dyn Client> + 'static) -> Self {
        Self { client: Box::new(client), nodes: Box::new(Vec::new) }
    }
}

/// Executes the requests of one session, one at a time.
pub trait Client {
    /// Whether there is a connection, as far as is known without waiting.
    fn is_connected(&self) -> bool;

    /// Connects. Never called more often than the pauses after failures allow.
    fn connect(&mut self) -> Local<'_, Result<(), CallError>>;

    /// Drops the connection: an answer may still be on its way.
    fn disconnect(&mut self);

    /// Encodes as much as possible of the request before `op` is due.
    fn prepare(&mut self, _op: &Op, _pen: &LibraryPen) {}

    /// Whether an operation is one request whose answer is not shared with other requests.
    fn is_one_request(&self, op: &Op) -> bool {
        // The answer may make another request necessary.
        op.kind != OpKind::Scan
    }

    /// Whether an operation may change something.
    fn changes(&self, op: &Op) -> bool {
        !op.kind.only_reads()
    }

    /// How often the server sent something unsolicited since the last call.
    fn take_unsolicited(&mut self) -> u64 {
        0
    }

    /// Executes the operation, and sets the probe's marks around the call of the library.
    fn execute<'a>(&'a mut self, call: Call<'a>) -> Local<'a, Result<Reply, CallError>>;
}

/// One operation, with what is needed to execute it.
pub struct Call<'a> {
    /// The operation.
    pub op: &'a Op,
    /// The names and documents.
    pub pen: &'a LibraryPen,
    /// Receives the contents of the answer.
    pub found: &'a mut Found,
    /// The marks.
    pub probe: &'a mut Probe,
}

/// The database of any such driver, ready for load.
#[derive(Clone, Debug)]
pub struct Library(Arc<dyn Database>);

impl Library {
    /// The target for this database.
    pub fn new(database: impl Database + 'static) -> Self {
        Self(Arc::new(database))
    }
}

impl Target for Library {
    type Shard = LibraryShard;

    async fn shard(&self, context: Rc<ShardContext>) -> io::Result<LibraryShard> {
        Ok(LibraryShard { clients: self.0.clients(&context), form: self.0.form(), context })
    }

    async fn size(&self) -> Option<Size> {
        self.0.size().await
    }

    fn monitors(&self) -> Vec<Box<dyn Monitor>> {
        self.0.monitors()
    }

    async fn tear_down(&self) -> Result<bool, TargetError> {
        self.0.tear_down().await
    }
}

/// The database as seen by one shard.
pub struct LibraryShard {
    clients: Clients,
    form: Form,
    context: Rc<ShardContext>,
}

impl Shard for LibraryShard {
    type Session = LibrarySession;

    fn session(&self) -> LibrarySession {
        LibrarySession::new((self.clients.client)(), self.form, &self.context)
    }

    fn nodes(&self) -> Vec<NodeLog> {
        (self.clients.nodes)()
    }
}

#[cfg(test)]
mod tests;
