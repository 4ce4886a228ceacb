//! Timeouts without a timer per operation.
//!
//! Each session stores the time by which its operation must be done; one sweep per shard checks all
//! of them a few times per timeout and wakes those that have expired. An operation may thus end
//! late, by at most a twentieth of the timeout and at most 50 ms, but never early. If the thread
//! stood still, answers that lie unread are taken first: then it may end late by three times that.

use super::{Buffers, Timestamps};
use crate::clock::{Clock, Nanos};
use crate::measure::Tally;
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::{Rc, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

const NEVER: Nanos = Nanos::MAX;

/// All deadlines of one shard, and other state that its sessions share.
#[derive(Debug)]
pub struct ShardContext {
    clock: Clock,
    timeout_ns: Nanos,
    buffers: Rc<Buffers>,
    timestamps: Option<Rc<Timestamps>>,
    entries: RefCell<Vec<Weak<Entry>>>,
    tally: Rc<Tally>,
}

#[derive(Debug)]
struct Entry {
    at: Cell<Nanos>,
    expired: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

/// The deadline of one session's running operation.
#[derive(Debug)]
pub struct Deadline {
    entry: Rc<Entry>,
    timeout_ns: Nanos,
}

impl ShardContext {
    /// A context for sessions whose operations may take `timeout_ns`.
    pub fn new(clock: Clock, timeout_ns: Nanos) -> Rc<Self> {
        Self::with(clock, timeout_ns, None)
    }

    /// Like [`new`](Self::new), for sessions that ask the kernel when answers arrived, where
    /// supported.
    pub fn with_timestamps(clock: Clock, timeout_ns: Nanos) -> Rc<Self> {
        Self::with(clock, timeout_ns, Timestamps::new(clock).map(Rc::new))
    }

    fn with(clock: Clock, timeout_ns: Nanos, timestamps: Option<Rc<Timestamps>>) -> Rc<Self> {
        let (buffers, entries, tally) = (Rc::default(), RefCell::default(), Rc::default());
        Rc::new(Self { clock, timeout_ns, buffers, timestamps, entries, tally })
    }

    /// The clock for deadlines.
    pub const fn clock(&self) -> Clock {
        self.clock
    }

    /// The buffers for reading answers.
    pub fn buffers(&self) -> Rc<Buffers> {
        self.buffers.clone()
    }

    /// The reader of arrival times, if these were requested.
    pub fn timestamps(&self) -> Option<Rc<Timestamps>> {
        self.timestamps.clone()
    }

    /// Wakes the `expected` connections that are waiting for an answer, so that they try to read
    /// it. Returns `false` if this is not possible: then the runtime has to ask the kernel which
    /// ones are readable.
    pub fn call_unread(&self, expected: u64) -> bool {
        self.timestamps.as_ref().is_some_and(|it| it.unread.call(expected))
    }

    /// The counter of HTTP requests.
    pub fn tally(&self) -> Rc<Tally> {
        self.tally.clone()
    }

    /// A deadline for one session, not yet armed.
    pub fn register(&self) -> Deadline {
        let entry = Rc::new(Entry {
            at: Cell::new(NEVER),
            expired: Cell::new(false),
            waker: RefCell::default(),
        });
        self.entries.borrow_mut().push(Rc::downgrade(&entry));
        Deadline { entry, timeout_ns: self.timeout_ns }
    }

    /// Ends operations whose time is up. Runs until dropped.
    pub async fn sweep(self: Rc<Self>) {
        let period = Duration::from_nanos(self.timeout_ns / 20)
            .clamp(Duration::from_millis(1), Duration::from_millis(50));
        let period_ns = period.as_nanos() as Nanos;
        loop {
            let due = self.clock.now() + period_ns;
            tokio::time::sleep(period).await;
            // After a standstill, timers are due before the kernel was asked which answers came.
            if self.clock.now() > due + period_ns {
                tokio::time::sleep(period * 2).await;
            }
            self.expire(self.clock.now());
        }
    }

    /// Ends every operation whose deadline is `now` or earlier.
    pub fn expire(&self, now: Nanos) {
        self.entries.borrow_mut().retain(|weak| {
            let Some(entry) = weak.upgrade() else { return false };
            if entry.at.get() <= now {
                entry.at.set(NEVER);
                entry.expired.set(true);
                if let Some(waker) = entry.waker.borrow().as_ref() {
                    waker.wake_by_ref();
                }
            }
            true
        });
    }
}

impl Deadline {
    /// The timeout of an operation, in nanoseconds.
    pub const fn timeout_ns(&self) -> Nanos {
        self.timeout_ns
    }

    /// Starts the timeout of an operation that began at `began`.
    pub fn arm(&self, began: Nanos) {
        self.entry.expired.set(false);
        self.entry.at.set(began.saturating_add(self.timeout_ns));
    }

    /// Stops the timeout.
    pub fn disarm(&self) {
        self.entry.at.set(NEVER);
    }

    /// The result of `work`, an operation that began at `began`; `None` if it times out. The caller
    /// pins `work`: if it were passed by value, the future of each session would contain it twice.
    pub async fn within<T, F>(&self, began: Nanos, mut work: F) -> Option<T>
    where
        F: Future<Output = T> + Unpin,
    {
        self.arm(began);
        let done = poll_fn(|context| match Pin::new(&mut work).poll(context) {
            Poll::Ready(done) => Poll::Ready(Some(done)),
            Poll::Pending if self.poll_expired(context) => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        });
        let done = done.await;
        self.disarm();
        done
    }

    /// Whether the operation has timed out; if not, the task is woken when it does.
    pub fn poll_expired(&self, context: &Context<'_>) -> bool {
        if self.entry.expired.get() {
            return true;
        }
        let mut waker = self.entry.waker.borrow_mut();
        if !waker.as_ref().is_some_and(|waker| waker.will_wake(context.waker())) {
            *waker = Some(context.waker().clone());
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SECOND_NS;

    /// The result of `work` with a timeout of a second, and when it ended, in milliseconds, if the
    /// thread stands still for three seconds meanwhile.
    async fn after_a_standstill(work: impl Future<Output = ()>) -> (Option<()>, u64) {
        let clock = Clock::virtual_time();
        let context = ShardContext::new(clock, SECOND_NS);
        let (deadline, began) = (context.register(), clock.now());
        let mut work = std::pin::pin!(work);
        let both = async {
            let standstill = tokio::time::advance(Duration::from_secs(3));
            let (done, ()) = tokio::join!(deadline.within(began, work.as_mut()), standstill);
            done
        };
        tokio::select! {
            biased;
            () = context.clone().sweep() => unreachable!("it never ends"),
            done = both => (done, (clock.now() - began) / 1_000_000),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_came_during_a_standstill_is_taken() {
        let answer = async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            // The runtime hears of it a moment after the timers.
            tokio::time::sleep(Duration::from_millis(1)).await;
        };
        let (done, at_ms) = after_a_standstill(answer).await;
        assert_eq!(done, Some(()));
        assert!((3_000..=3_010).contains(&at_ms), "{at_ms} ms");
    }

    #[tokio::test(start_paused = true)]
    async fn silence_that_outlasts_a_standstill_is_a_timeout_a_moment_later() {
        let (done, at_ms) = after_a_standstill(std::future::pending()).await;
        assert_eq!(done, None);
        assert!((3_090..=3_160).contains(&at_ms), "{at_ms} ms");
    }

    #[tokio::test(start_paused = true)]
    async fn work_is_given_up_when_its_time_is_over() {
        let clock = Clock::virtual_time();
        let context = ShardContext::new(clock, 100_000_000);
        let deadline = context.register();
        let sleep = |ms| Box::pin(tokio::time::sleep(Duration::from_millis(ms)));
        let both = async {
            assert_eq!(deadline.within(clock.now(), sleep(90)).await, Some(()));
            let began = clock.now();
            assert_eq!(deadline.within(began, sleep(1_000)).await, None);
            let took_ms = (clock.now() - began) / 1_000_000;
            assert!((100..=110).contains(&took_ms), "{took_ms} ms");
            assert_eq!(deadline.within(clock.now(), std::future::ready(7)).await, Some(7));
        };
        tokio::select! {
            () = both => {}
            () = context.clone().sweep() => unreachable!("it never ends"),
        }
    }
}
