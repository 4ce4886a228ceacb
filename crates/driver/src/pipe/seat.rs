//! A server, or a node of a cluster, as the sessions that share a connection to it see it.

use super::{Pipe, Protocol};
use crate::call::CallError;
use crate::clock::Nanos;
use crate::net::{Endpoint, ShardContext, rest_after};
use crate::op::Failure;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;

/// A node, and the connection to it.
#[derive(Debug)]
pub(crate) struct Seat<P> {
    endpoint: Arc<Endpoint>,
    pipe: RefCell<Option<Rc<Pipe<P>>>>,
    /// Held by the session that connects.
    gate: Mutex<()>,
    /// The number of attempts to connect, and how many of the latest ones failed in a row.
    attempts: Cell<u64>,
    failed: Cell<u32>,
    /// The earliest time of the next attempt.
    not_before: Cell<Nanos>,
    /// When the last attempt began.
    began: Cell<Nanos>,
    refusal: RefCell<Option<CallError>>,
    /// How often the server sent something unsolicited.
    unsolicited: Cell<u64>,
}

impl<P: Protocol> Seat<P> {
    pub(crate) fn new(endpoint: Arc<Endpoint>) -> Self {
        Self {
            endpoint,
            pipe: RefCell::default(),
            gate: Mutex::default(),
            attempts: Cell::default(),
            failed: Cell::default(),
            not_before: Cell::default(),
            began: Cell::default(),
            refusal: RefCell::default(),
            unsolicited: Cell::default(),
        }
    }

    /// The connection, if there is one on which requests can be sent.
    pub(crate) fn pipe(&self) -> Option<Rc<Pipe<P>>> {
        let pipe = self.pipe.borrow();
        let pipe = pipe.as_ref()?;
        self.unsolicited.set(self.unsolicited.get() + u64::from(pipe.look()));
        pipe.is_usable().then(|| pipe.clone())
    }

    /// How often the server sent something unsolicited since the last call.
    pub(crate) fn take_unsolicited(&self) -> u64 {
        self.unsolicited.take()
    }

    /// Pauses for as long as earlier failures to connect require.
    pub(crate) async fn pause(&self, context: &ShardContext) {
        let left = self.not_before.get().saturating_sub(context.clock().now());
        if left > 0 && self.has_failed() {
            tokio::time::sleep(Duration::from_nanos(left)).await;
        }
    }

    /// Connects if there is no connection, passing `connect` the number of failed attempts.
    /// Sessions that call this while another one is connecting share its result. Returns when the
    /// attempt began.
    pub(crate) async fn open(
        &self,
        context: &ShardContext,
        connect: impl AsyncFnOnce(&Endpoint, u32) -> Result<Rc<Pipe<P>>, CallError>,
    ) -> Nanos {
        let (came, attempts) = (context.clock().now(), self.attempts.get());
        let _gate = self.gate.lock().await;
        if self.attempts.get() != attempts || self.pipe().is_some() {
            return self.began.get().max(came);
        }
        let failed = self.failed.get();
        self.began.set(context.clock().now());
        self.attempts.set(attempts + 1);
        // Counts as failed if it is dropped because its time is up.
        self.failed.set(failed.saturating_add(1));
        self.rest(context);
        *self.refusal.borrow_mut() = Some(CallError::new(Failure::Connect, "no answer in time"));
        match connect(&self.endpoint, failed).await {
            Ok(pipe) => {
                *self.pipe.borrow_mut() = Some(pipe);
                *self.refusal.borrow_mut() = None;
                self.failed.set(0);
            }
            Err(trouble) => {
                *self.refusal.borrow_mut() = Some(trouble);
                self.rest(context);
            }
        }
        self.began.get()
    }

    /// Delays the next attempt by the pause that the failures so far call for.
    fn rest(&self, context: &ShardContext) {
        let pause_ns = rest_after(self.failed.get()).as_nanos() as Nanos;
        self.not_before.set(context.clock().now() + pause_ns);
    }

    /// Whether the last attempt to connect failed.
    pub(crate) const fn has_failed(&self) -> bool {
        self.failed.get() > 0
    }

    /// The reason why there is no connection. Refused credentials end a run, so they are reported
    /// as such, and so is a server that has too many clients.
    pub(crate) fn refusal(&self) -> CallError {
        let refusal = self.refusal.borrow().clone().unwrap_or(Failure::Connect.into());
        match refusal.failure {
            Failure::Authentication | Failure::TooManyRequests => refusal,
            failure if failure.unconnected() => refusal,
            _ => CallError { failure: Failure::Connect, ..refusal },
        }
    }
}
