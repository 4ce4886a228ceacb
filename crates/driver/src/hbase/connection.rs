//! One connection to a server, shared by many calls: answers come in any order, with the number of
//! their call.
//!
//! Two tasks serve it. Requests that several sessions make at about the same time go out in one
//! write, and answers that arrive in one read are all passed on at once.

use super::cells::CODEC;
use super::exception::{cure, describe};
use super::frame::{CallAnswer, PREAMBLE, read_header, write_alone, write_request};
use super::messages::{ConnectionHeader, UserInformation, VersionInfo};
use crate::clock::{Clock, Nanos};
use crate::net::{CLOSED, Tls, Trouble};
use crate::op::Failure;
use prost::Message;
use prost::bytes::{Buf, BytesMut};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::AbortHandle;

/// How many bytes are read at once.
const READ: usize = 64 * 1024;
/// The size of the largest buffer that is kept for further writes, in bytes.
const MOST_KEPT: usize = 4 << 20;

#[derive(Clone, Debug)]
pub(super) struct ConnectionSettings {
    /// The user name for HBase's access rules.
    pub(super) user: String,
    /// How long a call may take, in nanoseconds.
    pub(super) timeout_ns: Nanos,
    /// The longest frame that is read, in bytes.
    pub(super) max_answer: usize,
    /// The settings for TLS; `None` for plain TCP.
    pub(super) tls: Option<Tls>,
    pub(super) clock: Clock,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lost {
    pub(super) failure: Failure,
    pub(super) reason: String,
    /// What to do about it, if that is known.
    pub(super) cure: Option<String>,
}

impl Lost {
    pub(super) fn new(failure: Failure, reason: impl Into<String>) -> Self {
        Self { failure, reason: reason.into(), cure: None }
    }

    /// For a connection that could not be made, or has failed.
    fn of(failure: Failure, error: &io::Error) -> Self {
        let trouble = Trouble::of(error);
        Self { failure, reason: trouble.reason(), cure: Some(trouble.cure) }
    }
}

/// Why a region or a master cannot be asked at the moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Setback {
    /// It is being moved, or its server is starting: ask again soon. Contains the server's words.
    NotYet(String),
    /// There was no answer, or a refusal.
    Lost(Lost),
}

impl From<Lost> for Setback {
    fn from(lost: Lost) -> Self {
        Self::Lost(lost)
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CallTimes {
    /// The request was passed to the operating system.
    pub(super) sent: Nanos,
    pub(super) first_byte: Nanos,
    pub(super) last_byte: Nanos,
}

/// A call that was sent.
#[derive(Debug, Default)]
struct WaitingCall {
    times: Cell<CallTimes>,
    done: RefCell<Option<Result<CallAnswer, Lost>>>,
    waker: RefCell<Option<Waker>>,
}

impl WaitingCall {
    fn end(&self, result: Result<CallAnswer, Lost>) {
        *self.done.borrow_mut() = Some(result);
        if let Some(waker) = self.waker.borrow_mut().take() {
            waker.wake();
        }
    }
}

#[derive(Debug)]
struct Shared {
    settings: ConnectionSettings,
    /// Calls without an answer.
    calls: RefCell<HashMap<u32, Rc<WaitingCall>>>,
    next: Cell<u32>,
    out: RefCell<Vec<u8>>,
    /// The calls in `out`.
    unsent: RefCell<Vec<Rc<WaitingCall>>>,
    writer: RefCell<Option<Waker>>,
    lost: RefCell<Option<Lost>>,
    last_read: Cell<Nanos>,
    /// Whether a call was given up and nothing had arrived since it was sent.
    silent: Cell<bool>,
    /// Whether no more calls are coming; the tasks end with the last answer.
    retired: Cell<bool>,
    tasks: RefCell<Vec<AbortHandle>>,
}

impl Shared {
    /// Ends the connection, and all calls with it.
    fn end(&self, lost: &Lost) {
        self.lost.borrow_mut().get_or_insert_with(|| lost.clone());
        let calls = std::mem::take(&mut *self.calls.borrow_mut());
        for call in calls.into_values() {
            call.end(Err(lost.clone()));
        }
        self.stop();
    }

    fn stop(&self) {
        self.tasks.borrow_mut().drain(..).for_each(|task| task.abort());
    }

    fn stop_if_unused(&self) {
        if self.retired.get() && self.calls.borrow().is_empty() {
            self.stop();
        }
    }

    /// Passes on an answer, which began to arrive at `first_byte`.
    fn answer(&self, frame: &[u8], first_byte: Nanos, last_byte: Nanos) -> Result<(), Lost> {
        let broken = || Lost::new(Failure::Protocol, "the answer is not one of HBase's");
        let (header, rest) = read_header(frame).ok_or_else(broken)?;
        let number = header.call_id.ok_or_else(broken)?;
        let call = self.calls.borrow_mut().remove(&number);
        let Some(call) = call else {
            // Either the call was given up, or the server is complaining about the connection as a
            // whole.
            return match header.exception {
                Some(exception) if number.cast_signed() < 0 => {
                    let cure = cure(&exception).map(str::to_owned);
                    Err(Lost { cure, ..Lost::new(Failure::Rejected, describe(&exception)) })
                }
                _ => Ok(()),
            };
        };
        let answer = CallAnswer::of(header, rest).ok_or_else(broken);
        let whole = answer.as_ref().map(|_| ()).map_err(Lost::clone);
        call.times.set(CallTimes { first_byte, last_byte, ..call.times.get() });
        call.end(answer);
        whole
    }
}

/// A connection. When it is dropped, calls in flight are still answered.
#[derive(Debug)]
pub(super) struct Connection {
    shared: Rc<Shared>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.shared.retired.set(true);
        self.shared.stop_if_unused();
    }
}

impl Connection {
    /// Connects to `host:port`, for calls of this service.
    pub(super) async fn open(
        address: &str,
        service: &str,
        settings: &ConnectionSettings,
    ) -> Result<Self, Lost> {
        let refused = |error: io::Error| Lost::of(Failure::of_connect(&error), &error);
        let stream = TcpStream::connect(address).await.map_err(refused)?;
        stream.set_nodelay(true).map_err(refused)?;
        let Some(tls) = &settings.tls else {
            let (reads, writes) = stream.into_split();
            return Ok(Self::on(reads, writes, service, settings));
        };
        let stream = tls.secure(address, stream).await.map_err(refused)?;
        let (reads, writes) = tokio::io::split(stream);
        Ok(Self::on(reads, writes, service, settings))
    }

    /// The connection on both halves of a stream.
    fn on(
        reads: impl AsyncRead + Unpin + 'static,
        writes: impl AsyncWrite + Unpin + 'static,
        service: &str,
        settings: &ConnectionSettings,
    ) -> Self {
        let header = ConnectionHeader {
            user_info: Some(UserInformation { effective_user: settings.user.clone() }),
            service_name: Some(service.to_owned()),
            cell_block_codec_class: Some(CODEC.to_owned()),
            version_info: Some(version()),
        };
        let mut out = PREAMBLE.to_vec();
        write_alone(&header, &mut out);
        let shared = Rc::new(Shared {
            settings: settings.clone(),
            calls: RefCell::default(),
            next: Cell::new(0),
            out: RefCell::new(out),
            unsent: RefCell::default(),
            writer: RefCell::default(),
            lost: RefCell::default(),
            last_read: Cell::new(0),
            silent: Cell::new(false),
            retired: Cell::new(false),
            tasks: RefCell::default(),
        });
        let tasks = [
            tokio::task::spawn_local(read(shared.clone(), reads)).abort_handle(),
            tokio::task::spawn_local(write(shared.clone(), writes)).abort_handle(),
        ];
        shared.tasks.borrow_mut().extend(tasks);
        Self { shared }
    }

    /// Whether calls can be sent on it.
    pub(super) fn is_usable(&self) -> bool {
        self.shared.lost.borrow().is_none() && !self.shared.silent.get()
    }

    /// Sends a call. Returns it with its size in bytes.
    pub(super) fn send(
        &self,
        method: &str,
        message: &impl Message,
        cells: &[u8],
    ) -> (SentCall, usize) {
        let shared = &self.shared;
        let number = shared.next.get();
        // Negative numbers are for complaints about the connection.
        shared.next.set((number + 1) & (u32::MAX >> 1));
        let timeout_ms = u32::try_from(shared.settings.timeout_ns / 1_000_000).unwrap_or(u32::MAX);
        let waiting = Rc::<WaitingCall>::default();
        let length = {
            let mut out = shared.out.borrow_mut();
            let before = out.len();
            write_request(number, method, timeout_ms.max(1), message, cells, &mut out);
            out.len() - before
        };
        if let Some(lost) = &*shared.lost.borrow() {
            waiting.end(Err(lost.clone()));
        } else {
            shared.calls.borrow_mut().insert(number, waiting.clone());
            shared.unsent.borrow_mut().push(waiting.clone());
            if let Some(writer) = shared.writer.borrow_mut().take() {
                writer.wake();
            }
        }
        (SentCall { number, waiting, shared: shared.clone() }, length)
    }
}

/// The version of HBase whose protocol this is. Servers send rows in cell blocks only to clients
/// from version 1.3 on.
fn version() -> VersionInfo {
    let client = concat!("springload ", env!("CARGO_PKG_VERSION"));
    VersionInfo {
        version: "2.6.1".to_owned(),
        user: client.to_owned(),
        version_major: Some(2),
        version_minor: Some(6),
        ..VersionInfo::default()
    }
}

/// A call that was sent: a future of its answer. Dropping it gives up the call.
#[derive(Debug)]
pub(super) struct SentCall {
    number: u32,
    waiting: Rc<WaitingCall>,
    shared: Rc<Shared>,
}

impl SentCall {
    pub(super) fn times(&self) -> CallTimes {
        self.waiting.times.get()
    }
}

impl Future for SentCall {
    type Output = Result<CallAnswer, Lost>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(done) = self.waiting.done.borrow_mut().take() {
            return Poll::Ready(done);
        }
        *self.waiting.waker.borrow_mut() = Some(context.waker().clone());
        Poll::Pending
    }
}

impl Drop for SentCall {
    fn drop(&mut self) {
        let open = self.shared.calls.borrow_mut().remove(&self.number).is_some();
        if open && self.shared.last_read.get() <= self.times().sent {
            // Further calls use another connection; calls on this one may still be answered.
            self.shared.silent.set(true);
        }
        self.shared.stop_if_unused();
    }
}

/// Passes on whatever arrives to the calls.
async fn read(shared: Rc<Shared>, mut stream: impl AsyncRead + Unpin) {
    let mut buffer = BytesMut::with_capacity(READ);
    // When the first byte of the incomplete frame arrived.
    let mut began = None;
    let lost = loop {
        buffer.reserve(READ);
        match stream.read_buf(&mut buffer).await {
            Ok(1..) => {}
            Ok(0) => break Lost::new(Failure::Reset, CLOSED),
            // The error that TLS reports if the end was not announced.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                break Lost::new(Failure::Reset, CLOSED);
            }
            Err(error) => break broken(&error),
        }
        let now = shared.settings.clock.now();
        shared.last_read.set(now);
        if let Err(lost) = frames(&shared, &mut buffer, &mut began, now) {
            break lost;
        }
    };
    shared.end(&lost);
}

/// Why an established connection ended.
fn broken(error: &io::Error) -> Lost {
    // With TLS 1.3, a server refuses a client's certificate only now.
    if error.kind() == io::ErrorKind::InvalidData {
        return Lost::of(Failure::Reset, error);
    }
    Lost::new(Failure::Reset, error.to_string())
}

/// Passes on all complete frames.
fn frames(
    shared: &Shared,
    buffer: &mut BytesMut,
    began: &mut Option<Nanos>,
    now: Nanos,
) -> Result<(), Lost> {
    while let Some(length) = buffer.first_chunk::<4>() {
        let length = u32::from_be_bytes(*length) as usize;
        if length > shared.settings.max_answer {
            let reason = format!(
                "an answer of {length} bytes is announced: it is too large, or not HBase's"
            );
            return Err(Lost::new(Failure::Protocol, reason));
        }
        let Some(frame) = buffer[4..].get(..length) else { break };
        shared.answer(frame, began.take().unwrap_or(now), now)?;
        buffer.advance(4 + length);
    }
    if !buffer.is_empty() {
        began.get_or_insert(now);
    }
    Ok(())
}

/// Sends the requests that calls have queued.
async fn write(shared: Rc<Shared>, mut stream: impl AsyncWrite + Unpin) {
    let mut spare = Vec::new();
    loop {
        poll_fn(|context| {
            if !shared.out.borrow().is_empty() {
                return Poll::Ready(());
            }
            *shared.writer.borrow_mut() = Some(context.waker().clone());
            Poll::Pending
        })
        .await;
        let mut bytes = shared.out.replace(std::mem::take(&mut spare));
        let calls = std::mem::take(&mut *shared.unsent.borrow_mut());
        let written = async {
            stream.write_all(&bytes).await?;
            // TLS may still hold some of it.
            stream.flush().await
        };
        if let Err(error) = written.await {
            // The server's own message before it ended the connection is more telling.
            tokio::task::yield_now().await;
            return shared.end(&broken(&error));
        }
        let sent = shared.settings.clock.now();
        for call in calls {
            call.times.set(CallTimes { sent, ..call.times.get() });
        }
        if bytes.capacity() <= MOST_KEPT {
            bytes.clear();
            spare = bytes;
        }
    }
}
