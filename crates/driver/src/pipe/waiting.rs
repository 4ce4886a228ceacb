//! The answers that a session waits for.

use super::Answers;
use crate::clock::Nanos;
use crate::measure::Probe;
use std::cell::{Cell, RefCell};
use std::task::{Context, Waker};

/// The times of requests that were sent in one piece, and of their answers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Times {
    /// When the commands were passed to the operating system.
    pub(crate) sent: Nanos,
    pub(crate) first_byte: Nanos,
    pub(crate) last_byte: Nanos,
    /// In how many pieces they arrived, and for how many of these the kernel recorded the time.
    pub(crate) pieces: u32,
    pub(crate) noted: u32,
}

impl Times {
    /// Marks them on the probe of an operation.
    pub(crate) const fn mark(self, probe: &mut Probe) {
        if self.sent > 0 {
            probe.mark_sent_at(self.sent);
        }
        if self.pieces > 1 {
            probe.mark_read_at(self.first_byte);
        }
        if self.pieces > 0 {
            if self.noted == self.pieces {
                probe.mark_received_at(self.last_byte);
            } else {
                probe.mark_read_at(self.last_byte);
            }
        }
    }
}

/// The arrival of a piece of answers: when, and whether the kernel recorded the time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub(super) at: Nanos,
    pub(super) noted: bool,
}

/// The answers that a session waits for on a connection.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    /// How many are still to come.
    due: Cell<u32>,
    /// True once no session waits for them.
    given_up: Cell<bool>,
    answers: RefCell<Answers>,
    times: Cell<Times>,
    waker: RefCell<Option<Waker>>,
}

impl Waiting {
    /// Begins to wait for this many answers.
    pub(super) fn begin(&self, count: u32) {
        self.due.set(count);
        // It may have been given up on another connection, where the answers arrived later.
        self.given_up.set(false);
        self.answers.borrow_mut().clear();
        self.times.set(Times::default());
    }

    /// The same for answers in any order.
    pub(super) fn begin_any(&self, count: usize) {
        self.begin(count as u32);
        self.answers.borrow_mut().expect(count);
    }

    pub(super) fn is_given_up(&self) -> bool {
        self.given_up.get()
    }

    /// Notes whether the answers have been given up.
    pub(super) fn give_up(&self, given_up: bool) {
        self.given_up.set(given_up);
    }

    /// Stops waiting, because nothing more will arrive.
    pub(super) fn stop(&self) {
        self.due.set(0);
    }

    /// Whether no more answers are due, so that it can be used again.
    pub(crate) fn is_over(&self) -> bool {
        self.due.get() == 0
    }

    pub(crate) fn times(&self) -> Times {
        self.times.get()
    }

    /// Exchanges the answers for others, whose memory is reused.
    pub(crate) fn swap(&self, answers: &mut Answers) {
        std::mem::swap(&mut *self.answers.borrow_mut(), answers);
    }

    /// Takes an answer: the next one, or the one for this place.
    pub(super) fn take(&self, answer: &[u8], place: Option<u32>) {
        if !self.given_up.get() {
            let answers = &mut *self.answers.borrow_mut();
            match place {
                Some(place) => answers.put(place as usize, answer),
                None => answers.push(answer),
            }
        }
        self.due.set(self.due.get() - 1);
    }

    /// Notes that a piece of the answers arrived.
    pub(super) fn mark(&self, Arrival { at, noted }: Arrival) {
        let mut times = self.times.get();
        if times.pieces == 0 {
            times.first_byte = at;
        }
        times.last_byte = at;
        times.pieces += 1;
        times.noted += u32::from(noted);
        self.times.set(times);
    }

    pub(super) fn wake(&self) {
        if let Some(waker) = &*self.waker.borrow() {
            waker.wake_by_ref();
        }
    }

    pub(super) fn sent_at(&self, now: Nanos) {
        self.times.set(Times { sent: now, ..self.times.get() });
    }

    /// Registers the task to be woken when something happens.
    pub(super) fn listen(&self, context: &Context<'_>) {
        let mut waker = self.waker.borrow_mut();
        if !waker.as_ref().is_some_and(|waker| waker.will_wake(context.waker())) {
            *waker = Some(context.waker().clone());
        }
    }
}
