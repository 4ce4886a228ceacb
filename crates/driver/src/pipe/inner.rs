//! The work of a connection: sends, reads, and passes on answers.

use super::waiting::{Arrival, Waiting};
use super::{Pipe, Protocol, Whose};
use crate::call::CallError;
use crate::clock::Clock;
use crate::net::{CLOSED, Found, Stream, Trouble};
use crate::op::Failure;
use std::collections::VecDeque;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

/// The size of the largest buffer that is kept for further writes, in bytes.
const MOST_KEPT: usize = 4 << 20;

/// How much of an unsolicited answer is quoted, in bytes.
const MOST_QUOTED: usize = 80;

/// How often a session reads before others get their turn.
const MOST_READS: u32 = 256;

/// Requests that were sent together, or a single request that has a number.
#[derive(Debug)]
struct SentEntry {
    /// Differs from that of all others on the connection.
    id: u64,
    number: u16,
    /// The place of its answer, if it has a number.
    place: Option<u32>,
    waiting: Rc<Waiting>,
}

#[derive(Debug, Default)]
struct Numbers {
    /// The numbers that were used and are free again, and the first that was never used.
    free: Vec<u16>,
    next: u16,
}

impl Numbers {
    fn left(&self, most: u16) -> usize {
        self.free.len() + usize::from(most - self.next)
    }

    fn take(&mut self) -> u16 {
        self.free.pop().unwrap_or_else(|| {
            self.next += 1;
            self.next - 1
        })
    }

    fn give(&mut self, number: u16) {
        self.free.push(number);
    }
}

#[derive(Debug)]
pub(super) struct Inner<P> {
    stream: Stream,
    /// What is to be sent, and how much of it was.
    pub(super) out: Vec<u8>,
    written: usize,
    /// The entries still waiting for answers, in the order of their requests.
    queue: VecDeque<SentEntry>,
    /// How many entries at the end of the queue have requests in `out`.
    unsent: usize,
    /// Whether a session is about to send `out`.
    pub(super) flushing: bool,
    /// Received bytes of incomplete answers. Empty between answers.
    buffer: Vec<u8>,
    filled: usize,
    protocol: P,
    numbers: Numbers,
    /// The number of entries so far.
    added: u64,
    /// The reason why the connection has ended.
    pub(super) lost: Option<CallError>,
    /// Whether nothing more is to be sent on it.
    pub(super) retired: bool,
}

impl<P: Protocol> Inner<P> {
    pub(super) fn new(stream: Stream) -> Self {
        Self {
            stream,
            out: Vec::new(),
            written: 0,
            queue: VecDeque::new(),
            unsent: 0,
            flushing: false,
            buffer: Vec::new(),
            filled: 0,
            protocol: P::default(),
            numbers: Numbers::default(),
            added: 0,
            lost: None,
            retired: false,
        }
    }

    /// Whether nothing more can be sent.
    pub(super) const fn is_over(&self) -> bool {
        self.retired || self.lost.is_some()
    }

    /// Checks whether the server has ended the idle connection. Returns whether it sent anything.
    pub(super) fn look(&mut self) -> bool {
        if self.is_over() || !self.queue.is_empty() || !self.stream.has_news() {
            return false;
        }
        let found = self.stream.look();
        self.retired |= found != Found::Nothing;
        found == Found::Bytes
    }

    /// Checks that there are numbers for this many more requests.
    pub(super) fn has_numbers(&self, count: usize) -> Result<(), CallError> {
        if count <= self.numbers.left(P::NUMBERS) {
            return Ok(());
        }
        let reason = format!("more than {} requests are under way on a connection", P::NUMBERS);
        Err(CallError::new(Failure::Local, reason))
    }

    /// Queues requests for sending. With a place for the answer, they are one request that has a
    /// number.
    pub(super) fn add(&mut self, requests: &[u8], place: Option<u32>, waiting: &Rc<Waiting>) {
        if self.lost.is_some() {
            return;
        }
        let (start, mut number) = (self.out.len(), 0);
        self.out.extend_from_slice(requests);
        if place.is_some() {
            number = self.numbers.take();
            P::number(&mut self.out[start..], number);
        }
        self.added += 1;
        self.queue.push_back(SentEntry { id: self.added, number, place, waiting: waiting.clone() });
        self.unsent += 1;
    }

    /// Removes an entry whose requests are answered.
    fn remove(&mut self, at: usize) {
        // Other requests may not have been sent completely.
        self.unsent -= usize::from(at + self.unsent >= self.queue.len() && self.unsent > 0);
        if let Some(entry) = self.queue.remove(at)
            && entry.place.is_some()
        {
            self.numbers.give(entry.number);
        }
    }

    /// The first session that is still waiting: it reads.
    pub(super) fn reader(&self) -> Option<&Rc<Waiting>> {
        self.queue.iter().map(|it| &it.waiting).find(|it| !it.is_given_up())
    }

    /// Hands the sending on to another session, if this one was to do it.
    pub(super) fn hand_on(&mut self, flushes: &mut bool) {
        if std::mem::take(flushes) {
            self.flushing = false;
            if let Some(reader) = self.reader() {
                reader.wake();
            }
        }
    }

    pub(super) fn poll_flush(
        &mut self,
        context: &mut Context<'_>,
        clock: Clock,
    ) -> Poll<Result<(), CallError>> {
        let failed =
            |error: std::io::Error| CallError::new(Failure::Reset, Trouble::of_lost(&error));
        while self.written < self.out.len() {
            let written = self.stream.poll_write(context, &self.out[self.written..]);
            match ready!(written).map_err(failed)? {
                0 => return Poll::Ready(Err(failed(std::io::ErrorKind::WriteZero.into()))),
                count => self.written += count,
            }
        }
        ready!(self.stream.poll_flush(context)).map_err(failed)?;
        let now = clock.now();
        for entry in self.queue.iter().rev().take(self.unsent) {
            entry.waiting.sent_at(now);
        }
        (self.unsent, self.written, self.flushing) = (0, 0, false);
        if self.out.capacity() > MOST_KEPT {
            self.out = Vec::new();
        }
        self.out.clear();
        Poll::Ready(Ok(()))
    }

    /// Reads and passes on answers until those for `reader` have arrived.
    pub(super) fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        pipe: &Pipe<P>,
        reader: &Waiting,
    ) -> Poll<Result<(), CallError>> {
        let reset = |words: &str| CallError::new(Failure::Reset, words);
        let mut reads = 0;
        while !reader.is_over() {
            // A server that sends more than it was asked for must not keep the thread to itself.
            if reads == MOST_READS {
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            reads += 1;
            if self.buffer.is_empty() {
                self.buffer = pipe.buffers.take();
            }
            if self.filled == self.buffer.len() {
                self.buffer.resize(self.filled * 2, 0);
            }
            let room = &mut self.buffer[self.filled..];
            let read = self.stream.poll_read(context, room, pipe.timestamps.as_deref());
            let read = match read {
                Poll::Ready(read) => read.map_err(|error| reset(&Trouble::of_lost(&error)))?,
                Poll::Pending => {
                    // While nothing has arrived, other connections can use the buffer.
                    if self.filled == 0 {
                        pipe.buffers.give(std::mem::take(&mut self.buffer));
                    }
                    return Poll::Pending;
                }
            };
            let (count, noted) = read;
            if count == 0 {
                return Poll::Ready(Err(reset(CLOSED)));
            }
            self.filled += count;
            let at = noted.unwrap_or_else(|| pipe.clock.now());
            let arrival = Arrival { at, noted: noted.is_some() };
            self.pass_on(pipe, reader, arrival)?;
        }
        Poll::Ready(Ok(()))
    }

    /// Passes on complete answers, and wakes sessions other than `reader`.
    fn pass_on(
        &mut self,
        pipe: &Pipe<P>,
        reader: &Waiting,
        arrival: Arrival,
    ) -> Result<(), CallError> {
        let (mut start, mut marked) = (0, None);
        while start < self.filled {
            let bytes = &self.buffer[start..self.filled];
            let length = self.protocol.step(bytes, pipe.max_answer)?;
            let at = match P::whose(bytes) {
                Whose::First => Some(0).filter(|_| !self.queue.is_empty()),
                Whose::Numbered(number) => self.queue.iter().position(|it| it.number == number),
                Whose::Unknown => break,
                Whose::Nobody => {
                    let Some(length) = length else { break };
                    start += length;
                    continue;
                }
            };
            let Some(at) = at else {
                let words = String::from_utf8_lossy(&bytes[..bytes.len().min(MOST_QUOTED)]);
                let reason = format!("an answer that nobody asked for: {words}");
                return Err(CallError::new(Failure::Protocol, reason));
            };
            let entry = &self.queue[at];
            // Once for each piece that contains some of the answers.
            if marked.replace(entry.id) != Some(entry.id) {
                // The kernel notes when the last answer of a piece arrived.
                let is_last = length.is_none_or(|length| start + length == self.filled);
                let noted = arrival.noted && (is_last || !pipe.shared);
                entry.waiting.mark(Arrival { noted, ..arrival });
            }
            let Some(length) = length else { break };
            entry.waiting.take(&bytes[..length], entry.place);
            start += length;
            if entry.waiting.is_over() && !std::ptr::eq(&raw const *entry.waiting, reader) {
                entry.waiting.wake();
            }
            if P::NUMBERS > 0 || entry.waiting.is_over() {
                self.remove(at);
            }
        }
        if start == self.filled {
            self.filled = 0;
            pipe.buffers.give(std::mem::take(&mut self.buffer));
        } else {
            self.buffer.copy_within(start..self.filled, 0);
            self.filled -= start;
        }
        Ok(())
    }

    /// Ends the connection, and with it the waiting of all sessions.
    pub(super) fn end(&mut self, lost: CallError) -> CallError {
        for entry in self.queue.drain(..) {
            entry.waiting.wake();
        }
        self.lost.get_or_insert(lost).clone()
    }
}
