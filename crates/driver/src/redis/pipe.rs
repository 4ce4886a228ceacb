//! One connection to a server. Sessions that share it send their commands without waiting for each
//! other's answers, which come in the order of the commands.
//!
//! No task serves it: the session that waits for the next answer reads, also for the others. What
//! several sessions send at about the same time goes out in one write.

use super::answer::{Scan, Wrong};
use super::answers::Answers;
use crate::call::CallError;
use crate::clock::{Clock, Nanos};
use crate::net::{Buffers, Found, ShardContext, Stream, Timestamps};
use crate::op::Failure;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker, ready};

/// The size of the largest buffer that is kept for further writes, in bytes.
const MOST_KEPT: usize = 4 << 20;

/// The times of what was sent in one piece.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Times {
    /// The commands were passed to the operating system.
    pub(super) sent: Nanos,
    /// The answers began to arrive.
    pub(super) first_byte: Nanos,
    /// They were complete.
    pub(super) last_byte: Nanos,
    /// In how many pieces they arrived, and of how many the kernel noted the time.
    pub(super) pieces: u32,
    pub(super) noted: u32,
}

/// How often a session reads before others have their turn.
const MOST_READS: u32 = 256;

/// A piece of answers: when it came, and whether the kernel noted that.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    at: Nanos,
    noted: bool,
}

/// The answers that a session waits for on a connection.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    /// How many are still to come.
    due: Cell<u32>,
    /// Whether nobody waits for them any more.
    given_up: Cell<bool>,
    /// Those that are there.
    answers: RefCell<Answers>,
    times: Cell<Times>,
    waker: RefCell<Option<Waker>>,
}

impl Waiting {
    /// Begins to wait for so many answers.
    fn begin(&self, count: u32) {
        self.due.set(count);
        // It may have been given up on another connection, where the answers came later.
        self.given_up.set(false);
        self.answers.borrow_mut().clear();
        self.times.set(Times::default());
    }

    /// Whether it waits no longer: it can be used again.
    pub(super) fn is_over(&self) -> bool {
        self.due.get() == 0
    }

    pub(super) fn times(&self) -> Times {
        self.times.get()
    }

    /// Exchanges the answers for others, whose memory is used again.
    pub(super) fn swap(&self, answers: &mut Answers) {
        std::mem::swap(&mut *self.answers.borrow_mut(), answers);
    }

    /// Takes an answer.
    fn take(&self, answer: &[u8]) {
        if !self.given_up.get() {
            self.answers.borrow_mut().push(answer);
        }
        self.due.set(self.due.get() - 1);
    }

    /// Notes that a piece of the answers arrived.
    fn mark(&self, Arrival { at, noted }: Arrival) {
        let mut times = self.times.get();
        if times.pieces == 0 {
            times.first_byte = at;
        }
        times.last_byte = at;
        times.pieces += 1;
        times.noted += u32::from(noted);
        self.times.set(times);
    }

    fn wake(&self) {
        if let Some(waker) = &*self.waker.borrow() {
            waker.wake_by_ref();
        }
    }
}

/// A connection.
#[derive(Debug)]
pub(super) struct Pipe {
    inner: RefCell<Inner>,
    /// Whether several sessions use it.
    shared: bool,
    clock: Clock,
    timestamps: Option<Rc<Timestamps>>,
    buffers: Rc<Buffers>,
    max_answer: usize,
}

#[derive(Debug)]
struct Inner {
    stream: Stream,
    /// What is to be sent, and how much of it was.
    out: Vec<u8>,
    written: usize,
    /// Those who wait, in the order of their commands.
    queue: VecDeque<Rc<Waiting>>,
    /// How many of the last of them have commands in `out`.
    unsent: usize,
    /// Whether somebody is about to send `out`.
    flushing: bool,
    /// What has arrived of answers that are not complete. Empty between answers.
    buffer: Vec<u8>,
    filled: usize,
    scan: Scan,
    /// Why the connection has ended.
    lost: Option<CallError>,
    /// Whether nothing more is to be sent on it.
    retired: bool,
}

impl Pipe {
    /// The pipe on a stream that several sessions share, or only one.
    pub(super) fn new(
        stream: Stream,
        shared: bool,
        context: &ShardContext,
        max_answer: usize,
    ) -> Self {
        let inner = Inner {
            stream,
            out: Vec::new(),
            written: 0,
            queue: VecDeque::new(),
            unsent: 0,
            flushing: false,
            buffer: Vec::new(),
            filled: 0,
            scan: Scan::default(),
            lost: None,
            retired: false,
        };
        Self {
            inner: RefCell::new(inner),
            shared,
            clock: context.clock(),
            timestamps: context.timestamps(),
            buffers: context.buffers(),
            max_answer,
        }
    }

    /// Whether commands can be sent on it, as far as is known.
    pub(super) fn is_usable(&self) -> bool {
        let inner = self.inner.borrow();
        inner.lost.is_none() && !inner.retired
    }

    /// Looks whether the server has ended it while nothing was asked. Returns whether it said
    /// anything.
    pub(super) fn look(&self) -> bool {
        let inner = &mut *self.inner.borrow_mut();
        let is_over = inner.retired || inner.lost.is_some();
        if is_over || !inner.queue.is_empty() || !inner.stream.has_news() {
            return false;
        }
        let found = inner.stream.look();
        inner.retired |= found != Found::Nothing;
        found == Found::Bytes
    }

    /// Sends commands that have `count` answers; `waiting` gets these.
    pub(super) fn send(
        self: &Rc<Self>,
        commands: &[u8],
        count: u32,
        waiting: &Rc<Waiting>,
    ) -> Wait {
        let inner = &mut *self.inner.borrow_mut();
        waiting.begin(count);
        if inner.lost.is_none() {
            inner.out.extend_from_slice(commands);
            inner.queue.push_back(waiting.clone());
            inner.unsent += 1;
        }
        Wait { pipe: self.clone(), waiting: waiting.clone(), flushes: false, waited: !self.shared }
    }
}

impl Inner {
    /// The first of those who still wait: it reads.
    fn reader(&self) -> Option<&Rc<Waiting>> {
        self.queue.iter().find(|it| !it.given_up.get())
    }

    /// One who was to send what is left does not: somebody else does.
    fn hand_on(&mut self, flushes: &mut bool) {
        if std::mem::take(flushes) {
            self.flushing = false;
            if let Some(reader) = self.reader() {
                reader.wake();
            }
        }
    }

    /// Sends what is to be sent.
    fn poll_flush(
        &mut self,
        context: &mut Context<'_>,
        clock: Clock,
    ) -> Poll<Result<(), CallError>> {
        let failed = |error: std::io::Error| CallError::new(Failure::Reset, error.to_string());
        while self.written < self.out.len() {
            let written = self.stream.poll_write(context, &self.out[self.written..]);
            match ready!(written).map_err(failed)? {
                0 => return Poll::Ready(Err(failed(std::io::ErrorKind::WriteZero.into()))),
                count => self.written += count,
            }
        }
        ready!(self.stream.poll_flush(context)).map_err(failed)?;
        let now = clock.now();
        for waiting in self.queue.iter().rev().take(self.unsent) {
            waiting.times.set(Times { sent: now, ..waiting.times.get() });
        }
        (self.unsent, self.written, self.flushing) = (0, 0, false);
        if self.out.capacity() > MOST_KEPT {
            self.out = Vec::new();
        }
        self.out.clear();
        Poll::Ready(Ok(()))
    }

    /// Reads and passes on answers until those of `reader` are there.
    fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        pipe: &Pipe,
        reader: &Waiting,
    ) -> Poll<Result<(), CallError>> {
        let reset = |words: &str| CallError::new(Failure::Reset, words);
        let mut reads = 0;
        while !reader.is_over() {
            // A server that says more than it was asked must not keep the thread for itself.
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
                Poll::Ready(read) => read.map_err(|error| reset(&error.to_string()))?,
                Poll::Pending => {
                    // While nothing has arrived, others can have the buffer.
                    if self.filled == 0 {
                        pipe.buffers.give(std::mem::take(&mut self.buffer));
                    }
                    return Poll::Pending;
                }
            };
            let (count, noted) = read;
            if count == 0 {
                return Poll::Ready(Err(reset("the server closed the connection")));
            }
            self.filled += count;
            let at = noted.unwrap_or_else(|| pipe.clock.now());
            let arrival = Arrival { at, noted: noted.is_some() };
            self.pass_on(pipe, reader, arrival)?;
        }
        Poll::Ready(Ok(()))
    }

    /// Passes on the answers that are complete; others than `reader` are woken.
    fn pass_on(
        &mut self,
        pipe: &Pipe,
        reader: &Waiting,
        arrival: Arrival,
    ) -> Result<(), CallError> {
        let mut start = 0;
        // Who has had an answer of this piece already.
        let mut marked = false;
        while start < self.filled {
            let scanned = self.scan.step(&self.buffer[start..self.filled], pipe.max_answer);
            let length = scanned.map_err(Wrong::told)?;
            if self.buffer[start] == b'>' {
                // Something that was not asked for, such as a message to all clients.
                let Some(length) = length else { break };
                start += length;
                continue;
            }
            let Some(first) = self.queue.front() else {
                let words = String::from_utf8_lossy(&self.buffer[start..self.filled]);
                let reason = format!("an answer that nobody asked for: {words}");
                return Err(CallError::new(Failure::Protocol, reason));
            };
            if !marked {
                // The kernel notes when the last of a piece came.
                let is_last = length.is_none_or(|length| start + length == self.filled);
                let noted = arrival.noted && (is_last || !pipe.shared);
                first.mark(Arrival { noted, ..arrival });
                marked = true;
            }
            let Some(length) = length else { break };
            first.take(&self.buffer[start..start + length]);
            start += length;
            if first.is_over() {
                marked = false;
                if !std::ptr::eq(&raw const **first, reader) {
                    first.wake();
                }
                self.queue.pop_front();
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

    /// Ends the connection, and the waiting of all.
    fn end(&mut self, lost: CallError) -> CallError {
        for waiting in self.queue.drain(..) {
            waiting.wake();
        }
        self.lost.get_or_insert(lost).clone()
    }
}

impl Wrong {
    fn told(self) -> CallError {
        CallError::new(
            Failure::Protocol,
            match self {
                Self::Malformed => "the answer is not one of Redis's protocol",
                Self::TooLarge => "the answer is larger than --max-answer",
            },
        )
    }
}

/// The future of the answers to commands that were sent. Dropping it gives them up, and with them
/// the connection for further commands; others still get their answers on it.
#[derive(Debug)]
pub(super) struct Wait {
    pipe: Rc<Pipe>,
    waiting: Rc<Waiting>,
    /// Whether it sends what is to be sent, also for others.
    flushes: bool,
    /// Whether it has given others time to add to that.
    waited: bool,
}

impl Future for Wait {
    type Output = Result<(), CallError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { pipe, waiting, flushes, waited } = &mut *self;
        let inner = &mut *pipe.inner.borrow_mut();
        if waiting.is_over() {
            inner.hand_on(flushes);
            return Poll::Ready(Ok(()));
        }
        if let Some(lost) = &inner.lost {
            waiting.due.set(0);
            return Poll::Ready(Err(lost.clone()));
        }
        listen(waiting, context);
        if !inner.out.is_empty() && !inner.flushing {
            (*flushes, inner.flushing) = (true, true);
        }
        if *flushes && !std::mem::replace(waited, true) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let mut result = Poll::Pending;
        if *flushes && let Poll::Ready(flushed) = inner.poll_flush(context, pipe.clock) {
            *flushes = false;
            if let Err(lost) = flushed {
                result = Poll::Ready(Err(lost));
            }
        }
        let reads = inner.reader().is_some_and(|it| Rc::ptr_eq(it, waiting));
        if reads && result.is_pending() {
            result = inner.poll_read(context, pipe, waiting);
        }
        match ready!(result) {
            Ok(()) => {
                // The next one reads from here on.
                if let Some(reader) = inner.reader() {
                    reader.wake();
                }
                Poll::Ready(Ok(()))
            }
            Err(lost) => {
                let lost = inner.end(lost);
                // What was wrong may have come after its answers.
                let is_over = waiting.is_over();
                waiting.due.set(0);
                Poll::Ready(if is_over { Ok(()) } else { Err(lost) })
            }
        }
    }
}

/// Has the task woken when something happens.
fn listen(waiting: &Waiting, context: &Context<'_>) {
    let mut waker = waiting.waker.borrow_mut();
    if !waker.as_ref().is_some_and(|waker| waker.will_wake(context.waker())) {
        *waker = Some(context.waker().clone());
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        let given_up = !self.waiting.is_over();
        if !given_up && !self.flushes {
            return;
        }
        let pipe = self.pipe.clone();
        let inner = &mut *pipe.inner.borrow_mut();
        self.waiting.given_up.set(given_up);
        inner.retired |= given_up;
        inner.hand_on(&mut self.flushes);
        if let Some(reader) = inner.reader() {
            reader.wake();
        }
    }
}
