//! One keep-alive connection: sends requests, reads their answers and reports how each exchange
//! went.
//!
//! Before a request is sent, the connection is checked for anything unsolicited: an answer without
//! a request, or the peer's close. If there is any, the request is sent on a new connection.
//!
//! An answer that arrives while the request is still being sent stops the sending, and after an
//! error in sending, an answer that has already arrived is read first: servers that refuse a
//! request early answer and then close the connection. If the connection turns out to be closed
//! before any byte of an answer came, the request is resent on a new one, provided that none of it
//! was sent or that the request allows it.

use super::decode::{Decoder, Step};
use super::head::header_values;
use super::noted::Noted;
use super::request::{Answer, Request};
use crate::clock::{Clock, Nanos};
use crate::measure::{Probe, Tally};
use crate::net::{
    Buffers, Deadline, Endpoint, Found, ShardContext, Stream, TLS_ALERT, TLS_SPOKEN, Timestamps,
    Trouble, rest_after,
};
use crate::op::Failure;
use std::future::poll_fn;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// The most memory that is allocated before the data arrives.
const MOST_AHEAD: usize = 1 << 20;
/// How long to listen on a new connection if the server has sent something unsolicited before.
const LISTEN_NS: Nanos = 100_000_000;

/// A connection to an endpoint, opened when first needed and again when lost.
#[derive(Debug)]
pub struct Connection {
    endpoint: Arc<Endpoint>,
    clock: Clock,
    deadline: Deadline,
    /// The most bytes that an answer may have.
    max_answer: usize,
    stream: Option<Stream>,
    /// Answers received on the current stream.
    answers: u64,
    /// Requests that it began to send, counting each attempt.
    sent: u64,
    /// What the connection has seen besides answers since this was last taken.
    noted: Noted,
    /// The server has sent something before any request.
    wary: bool,
    /// The last request got no complete answer in time.
    timed_out: bool,
    /// Consecutive attempts that got no connection, or no answer on it.
    failures: u32,
    /// Details of a failure to connect or to get an answer, if more is known than the failure
    /// class.
    trouble: Option<Box<Trouble>>,
    buffers: Rc<Buffers>,
    timestamps: Option<Rc<Timestamps>>,
    tally: Rc<Tally>,
    /// The buffer for the current answer, and how much of it is filled. Empty between answers.
    buffer: Vec<u8>,
    filled: usize,
    decoder: Decoder,
}

enum Progress {
    /// How many bytes of the request have been written.
    Sending(usize),
    /// The request has been written: all of it, or as much as the server wanted.
    Sent { whole: bool },
}

/// How an attempt failed.
struct FailedAttempt {
    failure: Failure,
    /// No part of an answer had arrived.
    unanswered: bool,
}

impl Connection {
    /// A connection that is not yet open.
    pub fn new(endpoint: Arc<Endpoint>, context: &Rc<ShardContext>) -> Self {
        Self {
            max_answer: endpoint.max_answer,
            endpoint,
            deadline: context.register(),
            stream: None,
            answers: 0,
            timed_out: false,
            failures: 0,
            trouble: None,
            sent: 0,
            noted: Noted::default(),
            wary: false,
            clock: context.clock(),
            buffers: context.buffers(),
            timestamps: context.timestamps(),
            tally: context.tally(),
            buffer: Vec::new(),
            filled: 0,
            decoder: Decoder::default(),
        }
    }

    /// The buffers that the sessions of this shard share.
    pub fn buffers(&self) -> &Buffers {
        &self.buffers
    }

    /// Closes the connection. The last answer remains available.
    pub fn close(&mut self) {
        self.stream = None;
    }

    /// Whether the connection is open, as far as is known.
    pub const fn is_open(&self) -> bool {
        self.stream.is_some()
    }

    /// Whether anything arrived since the last answer, including the end of the stream.
    #[inline]
    pub fn has_news(&self) -> bool {
        self.stream.as_ref().is_some_and(Stream::has_news)
    }

    /// Switches to the server at `endpoint`. `stream` is connected to it; with `None`, the
    /// connection is opened when it is next needed. The last answer remains available.
    pub fn turn_to(&mut self, endpoint: Arc<Endpoint>, stream: Option<Stream>) {
        (self.endpoint, self.stream) = (endpoint, stream);
        (self.answers, self.failures, self.wary) = (0, 0, false);
    }

    /// Discards the last answer. Opens the connection if necessary, and returns when opening began.
    /// After failures to connect it pauses instead, and the next request opens the connection.
    pub async fn ready(&mut self) -> Option<Nanos> {
        if !self.buffer.is_empty() {
            self.decoder = Decoder::default();
            self.buffers.give(std::mem::take(&mut self.buffer));
        }
        if self.stream.is_some() || self.rest().await {
            return None;
        }
        let since = self.clock.now();
        self.deadline.arm(since);
        let _ = self.connect().await;
        self.deadline.disarm();
        Some(since)
    }

    /// Pauses after failures to connect, the longer the more there were. Returns whether there were
    /// any.
    pub async fn rest(&self) -> bool {
        if self.failures == 0 {
            return false;
        }
        tokio::time::sleep(rest_after(self.failures)).await;
        true
    }

    /// Whether the last request timed out on a connection that stayed open.
    pub const fn timed_out(&self) -> bool {
        self.timed_out
    }

    /// The timeout of an operation, in nanoseconds.
    pub const fn timeout_ns(&self) -> Nanos {
        self.deadline.timeout_ns()
    }

    /// Sends `request` and reads its answer.
    ///
    /// # Errors
    /// Returns an error if there was no complete answer; the [`Failure`] says why.
    pub fn exchange(
        &mut self,
        request: Request<'_>,
        probe: &mut Probe,
    ) -> impl Future<Output = Result<Answer, Failure>> {
        async move {
            self.deadline.arm(probe.began());
            let (mut resent, sent) = (false, self.sent);
            let result = loop {
                if self.answers == 0 || self.has_news() {
                    self.look();
                }
                let kept = self.stream.is_some();
                if kept {
                    probe.mark_send_at_once();
                } else {
                    if let Err(failure) = self.connect().await {
                        break Err(failure);
                    }
                    if self.wary && Box::pin(self.listen()).await {
                        // The failure itself reports what arrived.
                        self.noted.unsolicited -= 1;
                        self.failures += 1;
                        break Err(Failure::Protocol);
                    }
                    probe.mark_send();
                }
                self.decoder = Decoder::new(request.is_head);
                self.filled = 0;
                self.sent += 1;
                let mut progress = Progress::Sending(0);
                let attempt = poll_fn(|context| {
                    self.poll_attempt(context, request.bytes, &mut progress, probe)
                });
                match attempt.await {
                    Ok(()) => break Ok(()),
                    Err(broken) => {
                        self.stream = None;
                        self.failures += u32::from(self.answers == 0);
                        let FailedAttempt { failure, unanswered } = broken;
                        self.timed_out = failure == Failure::Timeout;
                        let went_out = !matches!(progress, Progress::Sending(0));
                        let stale = kept && unanswered && failure == Failure::Reset;
                        if stale && !resent && (request.resend || !went_out) {
                            resent = true;
                            continue;
                        }
                        let lost = matches!(failure, Failure::Reset | Failure::Timeout);
                        break Err(if lost && went_out && request.changes {
                            Failure::Unanswered
                        } else {
                            failure
                        });
                    }
                }
            };
            self.deadline.disarm();
            if let Err(failure) = result {
                probe.mark_failed();
                self.decoder = Decoder::default();
                if self.sent > sent {
                    self.tally.count(request.bytes, None);
                }
                return Err(failure);
            }
            self.answers += 1;
            self.failures = 0;
            let head = self.decoder.head();
            if !head.keep_alive {
                self.stream = None;
            }
            self.noted.answer(head.hints);
            self.tally.count(request.bytes, Some(head.status));
            let body = self.decoder.body();
            Ok(Answer { status: head.status, body_bytes: body.len() as u64, resent })
        }
    }

    /// Closes the connection if something unsolicited, or the end of the stream, has arrived on it.
    /// Returns whether anything arrived.
    #[cold]
    pub fn look(&mut self) -> bool {
        let found = self.stream.as_mut().map_or(Found::Nothing, Stream::look);
        if found != Found::Nothing {
            self.stream = None;
        }
        let speaks = found == Found::Bytes;
        self.noted.unsolicited += u32::from(speaks);
        self.wary |= speaks && self.answers == 0;
        speaks
    }

    /// Gives a server that has sent something unsolicited a moment to do it again.
    async fn listen(&mut self) -> bool {
        let over = self.clock.now() + LISTEN_NS;
        while self.clock.now() < over {
            if self.look() {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        self.wary = false;
        false
    }

    /// What the connection has seen besides answers since the last call.
    pub fn take_noted(&mut self) -> Noted {
        std::mem::take(&mut self.noted)
    }

    /// How many requests were sent, counting each attempt.
    pub const fn sent(&self) -> u64 {
        self.sent
    }

    /// The status of the last answer; `None` if the last exchange had none.
    pub fn status(&self) -> Option<u16> {
        Some(self.decoder.head().status).filter(|&status| status > 0)
    }

    /// Why the last exchange got no answer, if more is known than the failure class.
    pub fn trouble(&self) -> Option<&Trouble> {
        self.trouble.as_deref()
    }

    /// The body of the last answer.
    pub fn body(&self) -> &[u8] {
        &self.buffer[self.decoder.body()]
    }

    /// The first `Set-Cookie` of the last answer, as sent.
    pub fn set_cookie(&self) -> Option<&[u8]> {
        let sets = self.decoder.head().sets_cookie;
        sets.then(|| header_values(self.head(), "set-cookie").first().copied())?
    }

    /// The status line and headers of the last answer, as received.
    pub fn head(&self) -> &[u8] {
        &self.buffer[self.decoder.head_text()]
    }

    async fn connect(&mut self) -> Result<(), Failure> {
        let endpoint = self.endpoint.clone();
        // Rare and large: kept out of the future of every exchange.
        let noting = self.timestamps.is_some();
        let mut connecting = Box::pin(Stream::connect(&endpoint, self.failures, noting));
        let (deadline, mut trouble) = (&self.deadline, None);
        let result = poll_fn(|context| {
            if deadline.poll_expired(context) {
                return Poll::Ready(Err(Failure::Timeout));
            }
            connecting.as_mut().poll(context).map_err(|error| {
                trouble = Some(Box::new(Trouble::of(&error)));
                Failure::of_connect(&error)
            })
        })
        .await;
        self.trouble = trouble;
        self.failures += u32::from(result.is_err());
        self.answers = 0;
        self.stream = Some(result?);
        Ok(())
    }

    /// Sends the rest of the request, then reads until the answer is complete.
    fn poll_attempt(
        &mut self,
        context: &mut Context<'_>,
        request: &[u8],
        progress: &mut Progress,
        probe: &mut Probe,
    ) -> Poll<Result<(), FailedAttempt>> {
        let whole = match progress {
            Progress::Sent { whole } => *whole,
            Progress::Sending(written) => {
                let sent = ready!(self.poll_send(context, request, written));
                probe.mark_sent();
                if self.filled > 0 {
                    probe.mark_received();
                }
                let whole = sent.map_err(|failure| FailedAttempt { failure, unanswered: true })?;
                *progress = Progress::Sent { whole };
                whole
            }
        };
        let received = ready!(self.poll_receive(context, probe));
        received.map_err(|failure| FailedAttempt { failure, unanswered: self.filled == 0 })?;
        if !whole {
            // The server answered without reading everything, so it is unclear what it would read
            // next.
            self.answers += 1;
            self.stream = None;
        }
        Poll::Ready(Ok(()))
    }

    /// Writes the request. Returns `false` if an answer began, or writing failed, before everything
    /// was written.
    fn poll_send(
        &mut self,
        context: &mut Context<'_>,
        request: &[u8],
        written: &mut usize,
    ) -> Poll<Result<bool, Failure>> {
        let stream = self.stream.as_mut().expect("connected");
        loop {
            let poll = if *written < request.len() {
                stream.poll_write(context, &request[*written..])
            } else {
                stream.poll_flush(context).map_ok(|()| 0)
            };
            match poll {
                Poll::Ready(Ok(_)) if *written == request.len() => return Poll::Ready(Ok(true)),
                Poll::Ready(Ok(0) | Err(_)) => return Poll::Ready(Ok(false)),
                Poll::Ready(Ok(count)) => {
                    *written += count;
                    if *written == request.len() && !stream_is_tls(stream) {
                        return Poll::Ready(Ok(true));
                    }
                }
                Poll::Pending => break,
            }
        }
        if self.deadline.poll_expired(context) {
            return Poll::Ready(Err(Failure::Timeout));
        }
        if self.buffer.is_empty() {
            self.buffer = self.buffers.take();
        }
        let read = ready!(stream.poll_read(context, &mut self.buffer, None));
        (self.filled, _) = read.map_err(|error| lost(&error, &mut self.trouble))?;
        Poll::Ready(Ok(false))
    }

    /// Reads until the answer is complete.
    fn poll_receive(
        &mut self,
        context: &mut Context<'_>,
        probe: &mut Probe,
    ) -> Poll<Result<(), Failure>> {
        let stream = self.stream.as_mut().expect("connected");
        loop {
            let mut wanted = 1;
            if self.filled > 0 {
                match self.decoder.step(&mut self.buffer[..self.filled]) {
                    Ok(Step::Done) if self.filled <= self.max_answer => {
                        return Poll::Ready(Ok(()));
                    }
                    Ok(Step::More(more)) if more <= self.max_answer.saturating_sub(self.filled) => {
                        wanted = more;
                    }
                    Ok(_) => {
                        let words = "the answer is larger than --max-answer";
                        self.trouble = Some(Box::new(Trouble::new(words, "")));
                        return Poll::Ready(Err(Failure::Protocol));
                    }
                    Err(malformed) => {
                        let tls = self.buffer.starts_with(&TLS_ALERT);
                        let words = if tls { TLS_SPOKEN.into() } else { malformed.to_string() };
                        self.trouble = Some(Box::new(Trouble::new(words, "")));
                        return Poll::Ready(Err(Failure::Protocol));
                    }
                }
            }
            // The announced length has not arrived yet, so memory only grows with what arrives. One
            // extra byte detects excess data.
            let size = self.filled + wanted.min(MOST_AHEAD) + 1;
            if self.buffer.is_empty() {
                self.buffer = self.buffers.take();
            } else if size > self.buffer.len() {
                let ahead = (2 * self.buffer.len()).min(self.max_answer);
                self.buffer.resize(size.max(ahead), 0);
            }
            let room = &mut self.buffer[self.filled..];
            let (count, noted) = match stream.poll_read(context, room, self.timestamps.as_deref()) {
                Poll::Ready(read) => read.map_err(|error| lost(&error, &mut self.trouble))?,
                Poll::Pending => {
                    if self.filled == 0 {
                        self.buffers.give(std::mem::take(&mut self.buffer));
                    }
                    let expired = self.deadline.poll_expired(context);
                    return if expired {
                        Poll::Ready(Err(Failure::Timeout))
                    } else {
                        Poll::Pending
                    };
                }
            };
            if count == 0 {
                let done = self.decoder.close(self.filled);
                return Poll::Ready(if done { Ok(()) } else { Err(Failure::Reset) });
            }
            match noted {
                Some(moment) if self.filled == 0 && probe.before_send(moment) => {
                    return Poll::Ready(Err(Failure::Protocol));
                }
                Some(moment) => probe.mark_received_at(moment),
                None => probe.mark_received(),
            }
            self.filled += count;
        }
    }
}

/// The class of a connection's end, with the trouble that TLS reports, if it was that.
fn lost(error: &io::Error, trouble: &mut Option<Box<Trouble>>) -> Failure {
    *trouble = Trouble::by_tls(error).map(Box::new);
    Failure::Reset
}

/// Whether written bytes may still be held back by the TLS layer.
const fn stream_is_tls(stream: &Stream) -> bool {
    matches!(stream, Stream::Tls(_))
}

#[cfg(test)]
#[path = "connection_tests.rs"]
mod tests;
