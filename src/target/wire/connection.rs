//! One keep-alive connection: sends a request, reads its answer, says how each went.
//!
//! An answer that comes while the request is still being sent ends the sending, and after an
//! error in sending, an answer that is already there is read first: servers that refuse early
//! answer and hang up. A request that finds its kept connection closed before any byte of an
//! answer came is sent once more on a fresh one.

use super::decode::{Decoder, Step};
use super::endpoint::Endpoint;
use super::stream::Stream;
use crate::clock::Clock;
use crate::measure::Probe;
use crate::op::Failure;
use crate::target::Buffers;
use crate::target::deadline::{Deadline, Deadlines};
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

/// The most that is made room for ahead of its arrival.
const MOST_AHEAD: usize = 1 << 20;
/// The pause after the first, second, ... failed attempt to connect doubles from here.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// A whole answer. Its body and headers lie in the connection until the next request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// The length of the decoded body in bytes.
    pub body_bytes: u64,
    /// Whether the request was sent a second time.
    pub resent: bool,
}

/// A connection to an endpoint, opened when first needed and again when lost.
#[derive(Debug)]
pub struct Connection {
    endpoint: Arc<Endpoint>,
    deadline: Deadline,
    stream: Option<Stream>,
    /// How many answers the present stream has given.
    answers: u64,
    /// Requests that were begun to be written, each try counted.
    sent: u64,
    /// Attempts in a row that brought no connection, or one that gave no answer.
    failures: u32,
    buffers: Rc<Buffers>,
    /// What the present answer is read into, and how much of it has been. Empty between answers.
    buffer: Vec<u8>,
    filled: usize,
    decoder: Decoder,
}

/// How one attempt to send and receive broke.
struct Broken {
    failure: Failure,
    /// Nothing of an answer had arrived.
    unanswered: bool,
}

impl Connection {
    /// A connection that is not yet open.
    pub fn new(endpoint: Arc<Endpoint>, deadlines: &Rc<Deadlines>) -> Self {
        Self {
            endpoint,
            deadline: deadlines.register(),
            stream: None,
            answers: 0,
            failures: 0,
            sent: 0,
            buffers: deadlines.buffers(),
            buffer: Vec::new(),
            filled: 0,
            decoder: Decoder::default(),
        }
    }

    /// Closes it. The last answer stays.
    pub fn close(&mut self) {
        self.stream = None;
    }

    /// Forgets the last answer. Opens the connection if it is not open, after the pause that
    /// earlier failures ask for.
    pub async fn ready(&mut self, clock: Clock) {
        if !self.buffer.is_empty() {
            self.decoder = Decoder::default();
            self.buffers.give(std::mem::take(&mut self.buffer));
        }
        if self.stream.is_some() {
            return;
        }
        if !self.rest().await {
            self.deadline.arm(clock.now());
            let _ = self.connect().await;
            self.deadline.disarm();
        }
    }

    /// Pauses as long as failures to connect ask for. Tells whether there were any.
    pub async fn rest(&self) -> bool {
        let Some(doublings) = self.failures.checked_sub(1) else { return false };
        tokio::time::sleep((FIRST_PAUSE * (1 << doublings.min(7))).min(LONGEST_PAUSE)).await;
        true
    }

    /// Sends `request` and reads its answer; `head_request` tells that it is a HEAD.
    ///
    /// # Errors
    /// When no whole answer came: which [`Failure`] tells why.
    pub async fn exchange(
        &mut self,
        request: &[u8],
        head_request: bool,
        probe: &mut Probe,
    ) -> Result<Answer, Failure> {
        self.deadline.arm(probe.began());
        let mut resent = false;
        let result = loop {
            if self.stream.is_some() {
                probe.mark_send_at_once();
            } else {
                if let Err(failure) = self.connect().await {
                    break Err(failure);
                }
                probe.mark_send();
            }
            let kept = self.answers > 0;
            match self.attempt(request, head_request, probe).await {
                Ok(()) => break Ok(()),
                Err(broken) => {
                    self.stream = None;
                    self.failures += u32::from(!kept);
                    let stale = kept && broken.unanswered && broken.failure == Failure::Reset;
                    if !stale || resent {
                        break Err(broken.failure);
                    }
                    resent = true;
                }
            }
        };
        self.deadline.disarm();
        result.inspect_err(|_| probe.mark_failed())?;
        self.answers += 1;
        self.failures = 0;
        let head = self.decoder.head();
        if !head.keep_alive {
            self.stream = None;
        }
        let body = self.decoder.body();
        Ok(Answer { status: head.status, body_bytes: body.len() as u64, resent })
    }

    /// How many requests it has sent in all, each try counted.
    pub const fn sent(&self) -> u64 {
        self.sent
    }

    /// The body of the last answer.
    pub fn body(&self) -> &[u8] {
        &self.buffer[self.decoder.body()]
    }

    /// The first `Set-Cookie` of the last answer, as sent.
    pub fn set_cookie(&self) -> Option<&[u8]> {
        Some(&self.buffer[self.decoder.head().set_cookie.clone()?])
    }

    /// The status line and headers of the last answer, as they came.
    pub fn head(&self) -> &[u8] {
        &self.buffer[self.decoder.head_text()]
    }

    async fn connect(&mut self) -> Result<(), Failure> {
        let endpoint = self.endpoint.clone();
        let mut connecting = std::pin::pin!(Stream::connect(&endpoint, self.failures));
        let deadline = &self.deadline;
        let result = poll_fn(|context| {
            if deadline.poll_expired(context) {
                return Poll::Ready(Err(Failure::Timeout));
            }
            connecting.as_mut().poll(context).map_err(|_| Failure::Connect)
        })
        .await;
        self.failures += u32::from(result.is_err());
        self.answers = 0;
        self.stream = Some(result?);
        Ok(())
    }

    async fn attempt(
        &mut self,
        request: &[u8],
        head_request: bool,
        probe: &mut Probe,
    ) -> Result<(), Broken> {
        self.decoder = Decoder::new(head_request);
        self.filled = 0;
        self.sent += 1;
        let whole = self.send(request, probe).await?;
        self.receive(probe).await?;
        if !whole {
            // The server answered without reading everything: what it reads next is unknown.
            self.answers += 1;
            self.stream = None;
        }
        Ok(())
    }

    /// Writes the request. `false`: an answer began, or writing failed, before all was written.
    async fn send(&mut self, request: &[u8], probe: &mut Probe) -> Result<bool, Broken> {
        let (stream, deadline) = (self.stream.as_mut().expect("connected"), &self.deadline);
        let (buffer, filled) = (&mut self.buffer, &mut self.filled);
        let buffers = &self.buffers;
        let mut written = 0;
        let result = poll_fn(|context| {
            loop {
                let poll = if written < request.len() {
                    stream.poll_write(context, &request[written..])
                } else {
                    stream.poll_flush(context).map_ok(|()| 0)
                };
                match poll {
                    Poll::Ready(Ok(_)) if written == request.len() => return Poll::Ready(Ok(true)),
                    Poll::Ready(Ok(0) | Err(_)) => return Poll::Ready(Ok(false)),
                    Poll::Ready(Ok(count)) => {
                        written += count;
                        if written == request.len() && !stream_is_tls(stream) {
                            return Poll::Ready(Ok(true));
                        }
                    }
                    Poll::Pending => break,
                }
            }
            if deadline.poll_expired(context) {
                return Poll::Ready(Err(Failure::Timeout));
            }
            if buffer.is_empty() {
                *buffer = buffers.take();
            }
            match stream.poll_read(context, buffer) {
                Poll::Ready(Ok(count)) => {
                    *filled = count;
                    Poll::Ready(Ok(false))
                }
                Poll::Ready(Err(_)) => Poll::Ready(Err(Failure::Reset)),
                Poll::Pending => Poll::Pending,
            }
        })
        .await;
        probe.mark_sent();
        if self.filled > 0 {
            probe.mark_received();
        }
        result.map_err(|failure| Broken { failure, unanswered: true })
    }

    /// Reads until the answer is whole.
    async fn receive(&mut self, probe: &mut Probe) -> Result<(), Broken> {
        loop {
            let mut wanted = 1;
            if self.filled > 0 {
                match self.decoder.step(&mut self.buffer[..self.filled]) {
                    Ok(Step::Done) => return Ok(()),
                    Ok(Step::More(more)) => wanted = more,
                    Err(_) => return Err(self.broken(Failure::Protocol)),
                }
            }
            // What a head announces is not yet there: memory follows what arrives.
            let size = self.filled + wanted.min(MOST_AHEAD);
            if self.filled > 0 && size > self.buffer.len() {
                self.buffer.resize(size.max(2 * self.buffer.len()), 0);
            }
            let (stream, deadline) = (self.stream.as_mut().expect("connected"), &self.deadline);
            let (buffer, filled) = (&mut self.buffer, self.filled);
            let buffers = &self.buffers;
            let read = poll_fn(|context| {
                if buffer.is_empty() {
                    *buffer = buffers.take();
                }
                let read = stream.poll_read(context, &mut buffer[filled..]);
                if read.is_pending() && filled == 0 {
                    buffers.give(std::mem::take(buffer));
                }
                match read {
                    Poll::Ready(result) => Poll::Ready(result.map_err(|_| Failure::Reset)),
                    Poll::Pending if deadline.poll_expired(context) => {
                        Poll::Ready(Err(Failure::Timeout))
                    }
                    Poll::Pending => Poll::Pending,
                }
            })
            .await;
            let count = read.map_err(|failure| self.broken(failure))?;
            if count == 0 {
                return if self.decoder.close(self.filled) {
                    Ok(())
                } else {
                    Err(self.broken(Failure::Reset))
                };
            }
            probe.mark_received();
            self.filled += count;
        }
    }

    fn broken(&self, failure: Failure) -> Broken {
        Broken { failure, unanswered: self.filled == 0 }
    }
}

/// Whether written bytes may still be held back by the TLS layer.
const fn stream_is_tls(stream: &Stream) -> bool {
    matches!(stream, Stream::Tls(_))
}
