//! A TCP connection that carries HTTP/2.
//!
//! If a single session uses the connection, that session drives it while it waits for an answer.
//! Otherwise a background task does, which also answers the server's frames while no request is in
//! flight. Requests made by several sessions at about the same time go out in one write.

use super::signal::Signal;
use super::tap::{Arrivals, Tap};
use super::trouble::Broken;
use crate::clock::{Clock, Nanos};
use crate::net::{Endpoint, ShardContext, Stream};
use bytes::Bytes;
use h2::client::{Builder, SendRequest};
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// How many bytes a server may send on a stream, and on a connection, before it has to wait for the
/// client: so many that it never waits. An answer is read as it arrives, up to --max-answer.
const WINDOW: u32 = 1 << 24;
const CONNECTION_WINDOW: u32 = (1 << 30) - 1;
/// The longest headers of an answer, in bytes, as for HTTP/1.1.
const MOST_HEADERS: u32 = 64 * 1024;
/// How many cancelled streams are remembered, because data may still arrive on them.
const MOST_GIVEN_UP: usize = 1_000;

type Driver = h2::client::Connection<Tap, Bytes>;

/// An HTTP/2 connection.
#[derive(Debug)]
pub(super) struct Line {
    driver: RefCell<Option<Driver>>,
    sender: RefCell<Option<SendRequest<Bytes>>>,
    arrivals: Rc<Arrivals>,
    /// Whether several sessions use the connection.
    shared: bool,
    /// Whether the only session that uses the connection is driving it.
    attended: Cell<bool>,
    /// Whether any answer has ever arrived, and when a part of one last did.
    answered: Cell<bool>,
    progress: Cell<Nanos>,
    /// Whether its failure has been reported.
    is_reported: Cell<bool>,
    /// The cells in which to note when requests have been written.
    unsent: RefCell<Vec<Rc<Cell<Nanos>>>>,
    clock: Clock,
    signal: Arc<Signal>,
    waker: Waker,
    task: RefCell<Waker>,
}

/// The settings with which the handshake is made.
pub(super) fn builder(streams: usize) -> Builder {
    let mut builder = Builder::new();
    builder
        .enable_push(false)
        .initial_max_send_streams(streams)
        .initial_window_size(WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_header_list_size(MOST_HEADERS)
        .max_concurrent_reset_streams(MOST_GIVEN_UP);
    builder
}

impl Line {
    /// Connects, after `failed` consecutive failures.
    ///
    /// # Errors
    /// Returns an error if the connection or the handshake fails.
    pub(super) async fn connect(
        endpoint: &Endpoint,
        failed: u32,
        streams: usize,
        context: &ShardContext,
    ) -> Result<Rc<Self>, Broken> {
        let noting = context.timestamps().is_some();
        let stream = Stream::connect(endpoint, failed, noting).await;
        let stream = stream.map_err(|error| Broken::connecting(&error))?;
        if !stream.speaks_http2() {
            return Err(Broken::not_spoken());
        }
        let tap = Tap::new(stream, context);
        let arrivals = tap.arrivals();
        let (sender, driver) =
            builder(streams).handshake(tap).await.map_err(|error| Broken::of(&error, &arrivals))?;
        let signal = Signal::new();
        let line = Rc::new(Self {
            driver: RefCell::new(Some(driver)),
            sender: RefCell::new(Some(sender)),
            arrivals,
            shared: streams > 1,
            attended: Cell::default(),
            answered: Cell::default(),
            progress: Cell::default(),
            is_reported: Cell::default(),
            unsent: RefCell::default(),
            clock: context.clock(),
            waker: signal.clone().into(),
            signal,
            task: RefCell::new(Waker::noop().clone()),
        });
        tokio::task::spawn_local(line.clone().serve());
        Ok(line)
    }

    /// The background task: drives the connection until it ends, whenever no session does.
    async fn serve(self: Rc<Self>) {
        poll_fn(|context| {
            self.task.borrow_mut().clone_from(context.waker());
            if !self.attended.get() {
                self.signal.aim(context.waker());
                self.drive();
            }
            if self.driver.borrow().is_none() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }

    pub(super) const fn is_shared(&self) -> bool {
        self.shared
    }

    pub(super) fn arrivals(&self) -> &Arrivals {
        &self.arrivals
    }

    /// Called by the only session that uses the connection before it sends: no task is to be woken
    /// by that.
    pub(super) fn hold(&self) {
        if !self.shared {
            self.attended.set(true);
            self.signal.aim(Waker::noop());
        }
    }

    /// From now on, the only session that uses the connection drives it.
    pub(super) fn take_over(&self, waker: &Waker) {
        if !self.shared {
            self.signal.aim(waker);
        }
    }

    /// From now on, the background task drives the connection when something happens: whatever is
    /// left to send can wait until then.
    pub(super) fn hand_back(&self) {
        if !self.shared {
            self.attended.set(false);
            self.signal.aim_quietly(&self.task.borrow());
        }
    }

    /// Sends what is queued, and takes in what has arrived.
    pub(super) fn drive(&self) {
        let mut driver = self.driver.borrow_mut();
        let Some(connection) = driver.as_mut() else { return };
        self.signal.look();
        if Pin::new(connection).poll(&mut Context::from_waker(&self.waker)).is_ready() {
            *driver = None;
            self.sender.take();
            self.task.borrow().wake_by_ref();
        }
        let unsent = &mut *self.unsent.borrow_mut();
        if !unsent.is_empty() && !self.arrivals.is_blocked() {
            let now = self.clock.now();
            unsent.drain(..).for_each(|it| it.set(now));
        }
    }

    /// The handle for sending requests; `None` if no more can be sent.
    pub(super) fn sender(&self) -> Option<SendRequest<Bytes>> {
        self.sender.borrow().clone()
    }

    /// Whether requests can be sent on the connection, as far as is known.
    pub(super) fn is_usable(&self) -> bool {
        let mut sender = self.sender.borrow_mut();
        let mut context = Context::from_waker(Waker::noop());
        let ready = sender.as_mut().map(|it| it.poll_ready(&mut context));
        if matches!(ready, Some(Poll::Ready(Err(_)))) {
            // The server is going away.
            sender.take();
        }
        sender.is_some()
    }

    /// Sends no more requests. The connection is closed once those in flight have ended.
    pub(super) fn retire(&self) {
        self.sender.take();
    }

    /// Sets `sent` as soon as everything handed to `h2` so far has been written.
    pub(super) fn note_sent(&self, sent: &Rc<Cell<Nanos>>) {
        self.unsent.borrow_mut().push(sent.clone());
    }

    pub(super) fn note_answer(&self) {
        self.answered.set(true);
    }

    /// Notes that part of an answer has arrived.
    pub(super) fn note_progress(&self) {
        self.progress.set(self.arrivals.at());
    }

    /// Whether part of any answer has arrived since `moment`.
    pub(super) const fn has_progressed_since(&self, moment: Nanos) -> bool {
        self.progress.get() >= moment
    }

    /// Whether the connection ended before any answer arrived. Returns `true` only once.
    pub(super) fn has_failed(&self) -> bool {
        let failed = !self.answered.get() && self.driver.borrow().is_none();
        failed && !self.is_reported.replace(true)
    }
}
