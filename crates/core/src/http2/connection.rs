//! A session's place on an HTTP/2 connection: sends requests, reads their answers and reports how
//! each exchange went. It is used like an HTTP/1.1 connection.

use super::line::Line;
use super::seat::Seat;
use super::spelling::SpelledHeaders;
use super::stream::{Received, RequestStream};
use super::trouble::Broken;
use crate::clock::Nanos;
use crate::http1::{Answer, Noted, Request};
use crate::measure::{Probe, Tally};
use crate::net::{Deadline, ShardContext, Trouble};
use crate::op::Failure;
use std::cell::OnceCell;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// A session's place on a connection to a server. The connection is opened when first needed, and
/// again when lost.
#[derive(Debug)]
pub struct Connection {
    seat: Rc<Seat>,
    context: Rc<ShardContext>,
    deadline: Deadline,
    /// Requests that it began to send, counting each attempt.
    sent: u64,
    noted: Noted,
    trouble: Option<Box<Trouble>>,
    spelling: SpelledHeaders,
    received: Received,
    /// The status and headers of the last answer as lines, once they were asked for.
    text: OnceCell<Vec<u8>>,
    tally: Rc<Tally>,
}

/// How an attempt failed.
struct Lost {
    broken: Broken,
    /// No part of an answer had arrived.
    unanswered: bool,
    /// Whether any part of the request was sent.
    went_out: bool,
}

impl Connection {
    /// A place that shares the connection of `seat`.
    pub fn new(seat: Rc<Seat>, context: &Rc<ShardContext>) -> Self {
        Self {
            deadline: context.register(),
            sent: 0,
            noted: Noted::default(),
            trouble: None,
            spelling: SpelledHeaders::default(),
            received: Received::new(seat.endpoint().max_answer, context.buffers()),
            text: OnceCell::new(),
            tally: context.tally(),
            context: context.clone(),
            seat,
        }
    }

    /// Stops using the connection. The last answer remains available.
    pub fn close(&mut self) {
        self.seat.close();
    }

    /// Whether the connection is open, as far as is known.
    pub fn is_open(&self) -> bool {
        self.seat.line().is_some()
    }

    /// Discards the last answer. Opens the connection if necessary, and returns when opening began.
    /// After failures to connect it pauses instead, and the next request opens the connection.
    pub async fn ready(&mut self) -> Option<Nanos> {
        self.forget();
        if self.is_open() || self.rest().await {
            return None;
        }
        let since = self.context.clock().now();
        let opening = Box::pin(self.seat.open(&self.context));
        let _ = self.deadline.within(since, opening).await;
        Some(since)
    }

    /// Pauses after failures to connect, the longer the more there were. Returns whether there were
    /// any.
    pub async fn rest(&self) -> bool {
        self.seat.rest().await
    }

    fn forget(&mut self) {
        self.received.clear();
        self.text.take();
    }

    /// Sends `request` and reads its answer.
    ///
    /// # Errors
    /// Returns an error if there was no complete answer; the [`Failure`] says why.
    pub async fn exchange(
        &mut self,
        request: Request<'_>,
        probe: &mut Probe,
    ) -> Result<Answer, Failure> {
        self.forget();
        self.trouble = None;
        self.deadline.arm(probe.began());
        let (mut resent, sent) = (false, self.sent);
        let result = loop {
            let kept = self.seat.line();
            let line = match &kept {
                Some(line) => {
                    probe.mark_send_at_once();
                    Ok(line.clone())
                }
                None => self.open(probe).await,
            };
            let attempt = match line {
                Ok(line) => self.attempt(&line, request, probe).await,
                Err(broken) => Err(Lost { broken, unanswered: true, went_out: false }),
            };
            let Err(Lost { broken, unanswered, went_out }) = attempt else { break Ok(()) };
            let stale = kept.is_some() && unanswered && broken.closed;
            let again = broken.goes_away || stale && (request.resend || !went_out);
            if again && !resent {
                resent = true;
                continue;
            }
            self.trouble = broken.trouble.map(Box::new);
            let lost = matches!(broken.failure, Failure::Reset | Failure::Timeout);
            break Err(if lost && went_out && request.changes {
                Failure::Unanswered
            } else {
                broken.failure
            });
        };
        self.deadline.disarm();
        if let Err(failure) = result {
            probe.mark_failed();
            self.forget();
            if self.sent > sent {
                self.tally.count(request.bytes, None);
            }
            return Err(failure);
        }
        let head = &self.received.head;
        self.noted.answer(head.hints);
        self.tally.count(request.bytes, Some(head.status));
        Ok(Answer { status: head.status, body_bytes: self.received.filled as u64, resent })
    }

    async fn open(&self, probe: &mut Probe) -> Result<Rc<Line>, Broken> {
        // Rare and large: kept out of the future of every exchange.
        let mut opening = Box::pin(self.seat.open(&self.context));
        let opened = poll_fn(|context| match opening.as_mut().poll(context) {
            Poll::Pending if self.deadline.poll_expired(context) => {
                Poll::Ready(Err(Broken::timed_out()))
            }
            done => done,
        });
        let line = opened.await?;
        probe.mark_send();
        Ok(line)
    }

    /// Sends the request on `line` and reads its answer.
    async fn attempt(
        &mut self,
        line: &Rc<Line>,
        request: Request<'_>,
        probe: &mut Probe,
    ) -> Result<(), Lost> {
        let endpoint = self.seat.endpoint();
        let secure = endpoint.is_secure();
        let unsent = |broken| Lost { broken, unanswered: true, went_out: false };
        let (head, body) = self
            .spelling
            .of(request.bytes, secure)
            .map_err(|words| unsent(Broken::unspeakable(&words)))?;
        let Some(sender) = line.sender() else {
            return Err(unsent(Broken { goes_away: true, ..Broken::new(Failure::Reset, None) }));
        };
        line.hold();
        let begun = RequestStream::begin(line, sender, head, &request.bytes[body..]);
        if !line.is_shared() {
            line.drive();
        }
        let mut stream = begun.map_err(|error| {
            line.hand_back();
            unsent(Broken::of(&error, line.arrivals()))
        })?;
        self.sent += 1;
        let (received, deadline) = (&mut self.received, &self.deadline);
        let result = poll_fn(|context| {
            // This session drives a connection that it does not share, so no task needs to be
            // woken.
            let mut quiet = Context::from_waker(Waker::noop());
            let own = if line.is_shared() {
                &mut *context
            } else {
                line.take_over(context.waker());
                line.drive();
                &mut quiet
            };
            let polled = stream.poll(own, line, received, probe);
            if polled.is_pending() && deadline.poll_expired(context) {
                return Poll::Ready(Err(Broken::timed_out()));
            }
            polled
        })
        .await;
        let unanswered = !stream.answered;
        let timed_out = result.as_ref().is_err_and(|it| it.failure == Failure::Timeout);
        // An unfinished stream is reset, so that the server stops working on it.
        drop(stream);
        if result.is_err() {
            line.drive();
        }
        line.hand_back();
        if timed_out && !line.has_progressed_since(probe.began()) {
            // No session has received anything in that time, so the next request opens a new
            // connection.
            self.seat.close_if(line);
        }
        match result {
            Ok(()) => {
                line.note_answer();
                self.seat.note(true);
                Ok(())
            }
            Err(broken) => {
                if line.has_failed() {
                    self.seat.note(false);
                }
                Err(Lost { broken, unanswered, went_out: true })
            }
        }
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
        Some(self.received.head.status).filter(|&status| status > 0)
    }

    /// Why the last exchange got no answer, if more is known than the failure class.
    pub fn trouble(&self) -> Option<&Trouble> {
        self.trouble.as_deref()
    }

    /// The body of the last answer.
    pub fn body(&self) -> &[u8] {
        &self.received.buffer[..self.received.filled]
    }

    /// Whether the last answer sets a cookie.
    pub const fn sets_cookie(&self) -> bool {
        self.received.head.sets_cookie
    }

    /// The status and headers of the last answer, as lines.
    pub fn head(&self) -> &[u8] {
        let Some(status) = self.status() else { return &[] };
        self.text.get_or_init(|| {
            let mut text = format!("HTTP/2 {status}\r\n").into_bytes();
            for (name, value) in &self.received.headers {
                text.extend_from_slice(name.as_str().as_bytes());
                text.extend_from_slice(b": ");
                text.extend_from_slice(value.as_bytes());
                text.extend_from_slice(b"\r\n");
            }
            text.extend_from_slice(b"\r\n");
            text
        })
    }
}
