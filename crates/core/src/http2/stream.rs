//! One request in flight, and its answer as it arrives.

use super::line::Line;
use super::trouble::Broken;
use crate::clock::Nanos;
use crate::http1::Head;
use crate::measure::Probe;
use crate::net::Buffers;
use bytes::Bytes;
use h2::client::{ResponseFuture, SendRequest};
use h2::{RecvStream, SendStream};
use http::HeaderMap;
use std::cell::Cell;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

/// Bodies up to this size are handed over in one piece.
const SMALL: usize = 16 * 1024;

#[derive(Debug)]
pub(super) struct Received {
    pub(super) head: Head,
    pub(super) headers: HeaderMap,
    /// The buffer for the body, and how much of it is filled. Empty between answers.
    pub(super) buffer: Vec<u8>,
    pub(super) filled: usize,
    /// The length of its headers, in bytes.
    head_bytes: usize,
    /// The most bytes that the answer may have.
    most: usize,
    buffers: Rc<Buffers>,
}

impl Received {
    pub(super) fn new(most: usize, buffers: Rc<Buffers>) -> Self {
        let (head, headers, buffer) = Default::default();
        Self { head, headers, buffer, filled: 0, head_bytes: 0, most, buffers }
    }

    pub(super) fn clear(&mut self) {
        self.head = Head::default();
        (self.filled, self.head_bytes) = (0, 0);
        if !self.buffer.is_empty() {
            self.buffers.give(std::mem::take(&mut self.buffer));
        }
    }

    /// Reads the relevant headers.
    fn begin(&mut self, parts: http::response::Parts) {
        let mut head = Head { status: parts.status.as_u16(), keep_alive: true, ..Head::default() };
        for (name, value) in &parts.headers {
            head.note(name.as_str().as_bytes(), value.as_bytes());
            self.head_bytes += name.as_str().len() + value.len();
        }
        (self.head, self.headers) = (head, parts.headers);
    }

    /// Adds a piece of the body, unless the answer becomes too large.
    fn add(&mut self, piece: &[u8]) -> Result<(), Broken> {
        let most = self.most;
        let end = self.filled + piece.len();
        if end + self.head_bytes > most {
            return Err(Broken::too_large());
        }
        if self.buffer.is_empty() && !piece.is_empty() {
            self.buffer = self.buffers.take();
        }
        if end > self.buffer.len() {
            self.buffer.resize(end.max(2 * self.buffer.len()).min(most), 0);
        }
        self.buffer[self.filled..end].copy_from_slice(piece);
        self.filled = end;
        Ok(())
    }
}

/// The rest of a request, and the answer to it.
pub(super) struct RequestStream {
    send: Option<SendStream<Bytes>>,
    body: Bytes,
    response: Option<ResponseFuture>,
    receive: Option<RecvStream>,
    /// When the whole request was written; 0 before that.
    sent: Rc<Cell<Nanos>>,
    is_marked: bool,
    /// How many times data had arrived on the connection when the answer was last marked.
    seen: u64,
    /// Whether any part of the answer has come.
    pub(super) answered: bool,
}

impl RequestStream {
    /// Hands the request over to `h2`.
    pub(super) fn begin(
        line: &Line,
        mut sender: SendRequest<Bytes>,
        head: http::Request<()>,
        body: &[u8],
    ) -> Result<Self, h2::Error> {
        let (response, send) = sender.send_request(head, body.is_empty())?;
        let mut stream = Self {
            send: Some(send),
            body: Bytes::copy_from_slice(body),
            response: Some(response),
            receive: None,
            sent: Rc::default(),
            is_marked: false,
            seen: line.arrivals().count(),
            answered: false,
        };
        if body.len() <= SMALL {
            let small = std::mem::take(&mut stream.body);
            if let (Some(send), false) = (&mut stream.send, small.is_empty()) {
                send.send_data(small, true)?;
            }
            stream.handed_over(line);
        }
        Ok(stream)
    }

    /// The whole request has been handed to `h2`.
    fn handed_over(&mut self, line: &Line) {
        self.send = None;
        line.note_sent(&self.sent);
    }

    /// Sends as much of the request as the server allows, and reads what has arrived of the answer.
    pub(super) fn poll(
        &mut self,
        context: &mut Context<'_>,
        line: &Line,
        received: &mut Received,
        probe: &mut Probe,
    ) -> Poll<Result<(), Broken>> {
        let broken = |error: h2::Error| Broken::of(&error, line.arrivals());
        if self.send.is_some() {
            self.poll_send(context, line);
        }
        if !self.is_marked && self.sent.get() > 0 {
            self.is_marked = true;
            probe.mark_sent_at(self.sent.get());
        }
        if let Some(response) = &mut self.response {
            let answer = ready!(std::pin::Pin::new(response).poll(context)).map_err(broken)?;
            self.mark(line, probe);
            let (parts, receive) = answer.into_parts();
            received.begin(parts);
            (self.response, self.receive) = (None, Some(receive));
        }
        let Some(receive) = &mut self.receive else { return Poll::Ready(Ok(())) };
        loop {
            match ready!(receive.poll_data(context)) {
                None => break,
                Some(Ok(piece)) => {
                    // A failure here does no harm: the stream has ended then.
                    let _ = receive.flow_control().release_capacity(piece.len());
                    received.add(&piece)?;
                }
                // `h2` reports no reset after a complete answer, with which a server says that it
                // needs no more of the request (RFC 9113, 8.1). Any other leaves a part missing.
                Some(Err(error)) => return Poll::Ready(Err(broken(error))),
            }
            let arrived = line.arrivals().count();
            if arrived != self.seen {
                self.seen = arrived;
                mark(line, probe);
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Hands over the rest of the body, as far as the server's flow-control windows allow.
    fn poll_send(&mut self, context: &mut Context<'_>, line: &Line) {
        let Some(send) = &mut self.send else { return };
        loop {
            send.reserve_capacity(self.body.len());
            match send.poll_capacity(context) {
                Poll::Pending => return,
                // The reason why `h2` takes no more is reported where the answer is read.
                Poll::Ready(None | Some(Err(_))) => break,
                Poll::Ready(Some(Ok(0))) => {}
                Poll::Ready(Some(Ok(room))) => {
                    let piece = self.body.split_to(room.min(self.body.len()));
                    if send.send_data(piece, self.body.is_empty()).is_err() {
                        break;
                    }
                    if self.body.is_empty() {
                        return self.handed_over(line);
                    }
                }
            }
        }
        self.send = None;
    }

    /// Marks the first part of the answer.
    fn mark(&mut self, line: &Line, probe: &mut Probe) {
        if !self.is_marked {
            // The server did not need the whole request.
            self.is_marked = true;
            probe.mark_sent();
        }
        (self.answered, self.seen) = (true, line.arrivals().count());
        mark(line, probe);
    }
}

/// Marks what has arrived. On a connection with several streams, the kernel's timestamp may belong
/// to another stream.
fn mark(line: &Line, probe: &mut Probe) {
    let arrivals = line.arrivals();
    line.note_progress();
    if arrivals.noted() && !line.is_shared() {
        probe.mark_received_at(arrivals.at());
    } else {
        probe.mark_read_at(arrivals.at());
    }
}
