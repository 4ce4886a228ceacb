//! One connection to a server. Sessions that share it send their requests without waiting for each
//! other's answers, which arrive in the order of the requests, or with the requests' numbers.
//!
//! No task serves it: the session that waits for the next answer reads, for the others as well.
//! Requests that several sessions send at about the same time go out in one write.

mod answers;
mod inner;
mod names;
mod reach;
mod seat;
mod sent;
mod waiting;

pub(crate) use answers::Answers;
pub(crate) use reach::{Reach, connect};
pub(crate) use seat::Seat;
pub(crate) use sent::{Sent, all_ended};
pub(crate) use waiting::Waiting;

use crate::call::CallError;
use crate::clock::Clock;
use crate::net::{Buffers, ShardContext, Stream, Timestamps};
use inner::Inner;
use std::cell::RefCell;
use std::fmt::Debug;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

/// How requests and answers are told apart.
pub(crate) trait Protocol: Default + Debug {
    /// How many requests can be in flight at once, if they have numbers; 0 if answers arrive in the
    /// order of the requests.
    const NUMBERS: u16;

    /// Returns where the first answer ends, once all of it has arrived. `most` is the largest size
    /// of an answer in bytes.
    ///
    /// # Errors
    /// Fails if it is not an answer, or too large.
    fn step(&mut self, bytes: &[u8], most: usize) -> Result<Option<usize>, CallError>;

    /// The request that an answer belongs to, given the beginning of the answer.
    fn whose(bytes: &[u8]) -> Whose;

    /// Writes the number of a request into it.
    fn number(_request: &mut [u8], _number: u16) {}
}

/// What an answer belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    /// The first waiting request.
    First,
    Numbered(u16),
    /// No request: it is unsolicited, such as a message to all clients.
    Nobody,
    /// Too little of it has arrived to tell.
    Unknown,
}

#[derive(Debug)]
pub(crate) struct Pipe<P> {
    inner: RefCell<Inner<P>>,
    shared: bool,
    clock: Clock,
    timestamps: Option<Rc<Timestamps>>,
    buffers: Rc<Buffers>,
    max_answer: usize,
}

impl<P: Protocol> Pipe<P> {
    /// The pipe on a stream, which several sessions share or only one uses.
    pub(crate) fn new(
        stream: Stream,
        shared: bool,
        context: &ShardContext,
        max_answer: usize,
    ) -> Self {
        Self {
            inner: RefCell::new(Inner::new(stream)),
            shared,
            clock: context.clock(),
            timestamps: context.timestamps(),
            buffers: context.buffers(),
            max_answer,
        }
    }

    /// Whether commands can be sent on it, as far as is known.
    pub(crate) fn is_usable(&self) -> bool {
        !self.inner.borrow().is_over()
    }

    /// Checks whether the server has ended the idle connection. Returns whether it sent anything.
    pub(crate) fn look(&self) -> bool {
        self.inner.borrow_mut().look()
    }

    /// Sends requests that have `count` answers, which go to `waiting`.
    pub(crate) fn send(
        self: &Rc<Self>,
        requests: &[u8],
        count: u32,
        waiting: &Rc<Waiting>,
    ) -> Wait<P> {
        waiting.begin(count);
        self.inner.borrow_mut().add(requests, None, waiting);
        self.wait(waiting)
    }

    /// Sends requests with numbers, each of which has one answer. `waiting` gets the answers in the
    /// order of the requests.
    ///
    /// # Errors
    /// Fails if too many requests are in flight.
    pub(crate) fn send_numbered<'a>(
        self: &Rc<Self>,
        requests: impl ExactSizeIterator<Item = &'a [u8]>,
        waiting: &Rc<Waiting>,
    ) -> Result<Wait<P>, CallError> {
        let inner = &mut *self.inner.borrow_mut();
        inner.has_numbers(requests.len())?;
        waiting.begin_any(requests.len());
        for (place, request) in requests.enumerate() {
            inner.add(request, Some(place as u32), waiting);
        }
        Ok(self.wait(waiting))
    }

    fn wait(self: &Rc<Self>, waiting: &Rc<Waiting>) -> Wait<P> {
        Wait { pipe: self.clone(), waiting: waiting.clone(), flushes: false, waited: !self.shared }
    }
}

/// The future of the answers to requests that were sent. Dropping it gives up these answers, and
/// the connection takes no further requests; other sessions still get their answers on it.
#[derive(Debug)]
pub(crate) struct Wait<P: Protocol> {
    pipe: Rc<Pipe<P>>,
    waiting: Rc<Waiting>,
    /// Whether it sends what is queued, for others as well.
    flushes: bool,
    /// Whether it has given others time to add to the queue.
    waited: bool,
}

impl<P: Protocol> Future for Wait<P> {
    type Output = Result<(), CallError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { pipe, waiting, flushes, waited } = &mut *self;
        let inner = &mut *pipe.inner.borrow_mut();
        if waiting.is_over() {
            inner.hand_on(flushes);
            return Poll::Ready(Ok(()));
        }
        if let Some(lost) = &inner.lost {
            waiting.stop();
            return Poll::Ready(Err(lost.clone()));
        }
        waiting.listen(context);
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
                inner.hand_on(flushes);
                // The next waiting session reads from here on.
                if let Some(reader) = inner.reader() {
                    reader.wake();
                }
                Poll::Ready(Ok(()))
            }
            Err(lost) => {
                let lost = inner.end(lost);
                // The error may have come after its answers.
                let is_over = waiting.is_over();
                waiting.stop();
                Poll::Ready(if is_over { Ok(()) } else { Err(lost) })
            }
        }
    }
}

impl<P: Protocol> Drop for Wait<P> {
    fn drop(&mut self) {
        let given_up = !self.waiting.is_over();
        if !given_up && !self.flushes {
            return;
        }
        let pipe = self.pipe.clone();
        let inner = &mut *pipe.inner.borrow_mut();
        self.waiting.give_up(given_up);
        inner.retired |= given_up;
        inner.hand_on(&mut self.flushes);
        if let Some(reader) = inner.reader() {
            reader.wake();
        }
    }
}
