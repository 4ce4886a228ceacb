//! The pauses of a closed loop: their lengths, and one timer per shard that ends them with a
//! precision of microseconds.

use super::pace::Pace;
use super::share::{STOP_CHECK_NS, Share};
use crate::clock::{Clock, Nanos, Sleeper};
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::future::poll_fn;
use std::task::{Poll, Waker};

pub(super) struct Pauses {
    pace: Pace,
    shard: (usize, usize),
    /// How many operations each connection of the shard has begun, if pauses are random.
    begun: RefCell<Vec<u64>>,
    asleep: RefCell<Asleep>,
}

struct Asleep {
    /// The end of each pause, and its connection.
    until: BinaryHeap<Reverse<(Nanos, usize)>>,
    /// Their tasks, by connection, and whether they were woken.
    wakers: Vec<Option<Waker>>,
    /// The task that wakes them.
    timer: Option<Waker>,
}

impl Pauses {
    pub(super) fn new(pace: &Pace, share: &Share) -> Self {
        let drawn = matches!(pace, Pace::Thinking { .. });
        // Schedules may be long, so they are not copied: an open loop does not pause.
        let pace = match pace {
            Pace::Open { .. } => Pace::Closed { think_ns: 0 },
            closed => closed.clone(),
        };
        let begun = RefCell::new(vec![0; if drawn { share.own } else { 0 }]);
        let wakers = vec![None; share.own];
        let asleep = RefCell::new(Asleep { until: BinaryHeap::new(), wakers, timer: None });
        Self { pace, shard: share.shard, begun, asleep }
    }

    #[inline]
    pub(super) const fn none(&self) -> bool {
        matches!(self.pace, Pace::Closed { think_ns: 0 })
    }

    /// The pause before the next operation of connection `seat` of the shard.
    pub(super) fn next_ns(&self, seat: usize) -> Nanos {
        let mut begun = self.begun.borrow_mut();
        let n = begun.get_mut(seat).map_or(0, |n| {
            *n += 1;
            *n
        });
        // Connections are assigned to shards in turn, so draws do not depend on the number of
        // shards.
        let (shard, shards) = self.shard;
        self.pace.pause_ns((seat * shards + shard) as u64, n)
    }

    /// Sleeps until `until`, or the end of the stage. [`Pauses::end`] wakes it.
    pub(super) async fn sleep(&self, seat: usize, until: Nanos) {
        let mut queued = false;
        poll_fn(|context| {
            let asleep = &mut *self.asleep.borrow_mut();
            if queued && asleep.wakers[seat].is_none() {
                return Poll::Ready(());
            }
            asleep.wakers[seat] = Some(context.waker().clone());
            if !queued {
                queued = true;
                let first = asleep.until.peek().is_none_or(|Reverse((at, _))| until < *at);
                asleep.until.push(Reverse((until, seat)));
                if let (true, Some(timer)) = (first, asleep.timer.take()) {
                    timer.wake();
                }
            }
            Poll::Pending
        })
        .await;
    }

    /// Ends pauses on time. Runs until the stage is over.
    ///
    /// # Errors
    /// Returns an error if the operating system cannot create a timer.
    pub(super) async fn end(
        &self,
        clock: Clock,
        end: Nanos,
        over: impl Fn(Nanos) -> bool,
    ) -> std::io::Result<()> {
        let sleeper = Sleeper::new(clock)?;
        loop {
            let now = clock.now();
            let over = over(now);
            let first = self.asleep.borrow_mut().call(if over { Nanos::MAX } else { now });
            if over {
                return Ok(());
            }
            let wake_at = first.unwrap_or(Nanos::MAX).min(now + STOP_CHECK_NS).min(end);
            let mut sleep = std::pin::pin!(sleeper.sleep_until(wake_at));
            poll_fn(|context| {
                if sleep.as_mut().poll(context).is_ready() {
                    return Poll::Ready(());
                }
                let asleep = &mut *self.asleep.borrow_mut();
                if asleep.until.peek().is_some_and(|Reverse((at, _))| *at < wake_at) {
                    return Poll::Ready(());
                }
                asleep.timer = Some(context.waker().clone());
                Poll::Pending
            })
            .await;
        }
    }
}

impl Asleep {
    /// Wakes all connections whose pause is over by `now`. Returns when the next pause ends.
    fn call(&mut self, now: Nanos) -> Option<Nanos> {
        while let Some(&Reverse((until, seat))) = self.until.peek() {
            if until > now {
                return Some(until);
            }
            self.until.pop();
            if let Some(waker) = self.wakers[seat].take() {
                waker.wake();
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SECOND_NS;
    use std::time::Duration;

    const MS: Nanos = SECOND_NS / 1_000;

    #[test]
    fn a_connection_draws_the_same_pauses_in_whatever_shard_it_is() {
        let pace = Pace::Thinking { most_ns: SECOND_NS / 10, seed: 7 };
        let share = Share { shard: (1, 3), own: 4, open: 4, all: 12, operations: None };
        let pauses = Pauses::new(&pace, &share);
        // The third connection of the second of three shards is number 7 of the run.
        for n in 1..4 {
            assert_eq!(pauses.next_ns(2), pace.pause_ns(7, n));
        }
        assert_eq!(pauses.next_ns(0), pace.pause_ns(1, 1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_short_pause_that_begins_during_a_long_one_ends_first() {
        let share = Share { shard: (0, 1), own: 2, open: 2, all: 2, operations: None };
        let pauses = Pauses::new(&Pace::Closed { think_ns: MS }, &share);
        let clock = Clock::virtual_time();
        let start = clock.now();
        let pause = async |seat, from_ms, to_ms: Nanos| {
            tokio::time::sleep(Duration::from_millis(from_ms)).await;
            pauses.sleep(seat, start + to_ms * MS).await;
            (clock.now() - start) / MS
        };
        let ended = tokio::select! {
            ended = async { tokio::join!(pause(0, 0, 90), pause(1, 5, 10)) } => ended,
            _ = pauses.end(clock, Nanos::MAX, |_| false) => unreachable!("it goes on"),
        };
        assert_eq!(ended, (90, 10));
    }
}
