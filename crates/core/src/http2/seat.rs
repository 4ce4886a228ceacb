//! A server and the connection to it, as seen by the sessions that share the connection.

use super::line::Line;
use super::trouble::Broken;
use crate::net::{Endpoint, ShardContext, rest_after};
use crate::op::Failure;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::Mutex;

/// A server and the connection to it, shared by some sessions.
#[derive(Debug)]
pub struct Seat {
    endpoint: Arc<Endpoint>,
    /// How many sessions share the connection.
    streams: usize,
    line: RefCell<Option<Rc<Line>>>,
    /// Held by the session that is connecting.
    gate: Mutex<()>,
    /// Attempts to connect, ...
    attempts: Cell<u64>,
    /// ... and how many of them in a row got no connection, or no answer on it.
    failed: Cell<u32>,
    /// Why the last attempt failed.
    refusal: RefCell<Broken>,
}

impl Seat {
    /// A seat shared by `streams` sessions, not yet connected.
    pub fn new(endpoint: Arc<Endpoint>, streams: usize) -> Self {
        Self {
            endpoint,
            streams,
            line: RefCell::default(),
            gate: Mutex::default(),
            attempts: Cell::default(),
            failed: Cell::default(),
            refusal: RefCell::new(Broken::timed_out()),
        }
    }

    pub(super) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// The connection, if requests can be sent on it.
    pub(super) fn line(&self) -> Option<Rc<Line>> {
        self.line.borrow().as_ref().filter(|line| line.is_usable()).cloned()
    }

    pub(super) fn close(&self) {
        if let Some(line) = self.line.take() {
            line.retire();
        }
    }

    /// Like [`close`](Self::close), but only if `line` is still the current connection.
    pub(super) fn close_if(&self, line: &Rc<Line>) {
        if self.line.borrow().as_ref().is_some_and(|it| Rc::ptr_eq(it, line)) {
            self.close();
        }
    }

    /// The connection, which is opened if there is none. Sessions that arrive while another is
    /// opening it share the result.
    pub(super) async fn open(&self, context: &ShardContext) -> Result<Rc<Line>, Broken> {
        let attempts = self.attempts.get();
        let _gate = self.gate.lock().await;
        if let Some(line) = self.line() {
            return Ok(line);
        }
        if self.attempts.get() != attempts && self.failed.get() > 0 {
            return Err(self.refusal.borrow().clone());
        }
        let failed = self.failed.get();
        self.attempts.set(self.attempts.get() + 1);
        // If this is dropped because of a timeout, the attempt has failed.
        self.failed.set(failed.saturating_add(1));
        *self.refusal.borrow_mut() = Broken::new(Failure::Connect, None);
        match Line::connect(&self.endpoint, failed, self.streams, context).await {
            Ok(line) => {
                self.failed.set(failed);
                *self.line.borrow_mut() = Some(line.clone());
                Ok(line)
            }
            Err(broken) => {
                *self.refusal.borrow_mut() = broken.clone();
                Err(broken)
            }
        }
    }

    /// Notes whether a connection has brought an answer, or ended without any.
    pub(super) fn note(&self, answered: bool) {
        self.failed.set(if answered { 0 } else { self.failed.get().saturating_add(1) });
    }

    /// Pauses after failures, the longer the more there were. Returns whether there were any.
    pub(super) async fn rest(&self) -> bool {
        if self.failed.get() == 0 {
            return false;
        }
        tokio::time::sleep(rest_after(self.failed.get())).await;
        true
    }
}
