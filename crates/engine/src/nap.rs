//! Naps: in an open loop a shard may sleep, together with everything that runs on its thread, until
//! the next operation is due. Answers that arrived in the meantime are read after that.

use crate::clock::{Clock, Nanos, SECOND_NS};
use crate::measure::{OLDEST_NOTE_NS, Probe};
use crate::net::ShardContext;
use std::future::poll_fn;
use std::task::Poll;

/// The longest nap of a shard: it leaves time to read what arrived meanwhile before the kernel's
/// timestamps are too old to be used.
pub(super) const NAP_NS: Nanos = OLDEST_NOTE_NS / 2;
/// For how long all answers must have been able to wait before a shard naps.
pub(super) const AWAKE_NS: Nanos = SECOND_NS / 10;
/// How long a napping shard may go without asking the kernel for other events: that a server has
/// closed a connection, or a timer has expired.
const ASK_NS: Nanos = 2_000_000;

/// Whether a shard may nap.
#[derive(Debug)]
pub(super) struct Naps {
    /// Until when it must stay awake; unlimited until an answer could have waited.
    awake_until: Nanos,
    /// Until when answers are read that came during a nap that was much too long.
    overslept_until: Nanos,
}

impl Default for Naps {
    fn default() -> Self {
        Self { awake_until: Nanos::MAX, overslept_until: 0 }
    }
}

impl Naps {
    /// Notes that an answer arrived at `now`, and whether it could have waited.
    pub(super) fn expect(&mut self, can_wait: bool, now: Nanos) {
        self.awake_until = if can_wait { self.awake_until.min(now + AWAKE_NS) } else { Nanos::MAX };
    }

    /// Notes how the answer to an operation of `one_request` arrived, which was read at `now`. One
    /// without a timestamp is no reason to stay awake if it was read late because the operating
    /// system woke the shard late.
    pub(super) fn answered(&mut self, one_request: bool, probe: &Probe, now: Nanos) {
        let could_wait = probe.can_wait() || probe.in_one_piece() && self.overslept(now);
        self.expect(one_request && could_wait, now);
    }

    /// Notes that a nap until `due` ended at `now`.
    pub(super) const fn woken(&mut self, due: Nanos, now: Nanos) {
        if now > due.saturating_add(NAP_NS) {
            self.overslept_until = now + NAP_NS;
        }
    }

    /// Whether an answer read at `now` may have lain too long for its timestamp, because the
    /// operating system woke the shard late. It says nothing about the answers to come.
    const fn overslept(&self, now: Nanos) -> bool {
        now <= self.overslept_until
    }

    pub(super) const fn allowed(&self, now: Nanos) -> bool {
        now >= self.awake_until
    }
}

/// What a shard does between two naps.
#[derive(Debug, Default)]
pub(super) struct Between {
    /// When the kernel is asked at the latest.
    ask_at: Nanos,
}

impl Between {
    /// Lets granted operations begin, and lets the answers to the `unread` operations that were in
    /// flight before be read.
    pub(super) async fn work(&mut self, clock: Clock, context: &ShardContext, unread: u64) {
        if clock.now() < self.ask_at && context.call_unread(unread) {
            let_others_run().await;
        } else {
            tokio::task::yield_now().await;
            self.ask_at = clock.now() + ASK_NS;
        }
    }
}

/// Lets tasks that were woken run. Unlike `tokio::task::yield_now`, it does not make the runtime
/// ask the kernel for events first.
async fn let_others_run() {
    let mut yielded = false;
    poll_fn(|context| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[cfg(test)]
mod tests {
    use super::{Between, NAP_NS, Naps, let_others_run};
    use crate::clock::{Clock, SECOND_NS};
    use crate::net::ShardContext;
    use std::cell::Cell;
    use std::rc::Rc;

    #[test]
    fn only_what_is_read_right_after_a_nap_that_was_too_long_is_excused() {
        let mut naps = Naps::default();
        assert!(!naps.overslept(1));
        naps.woken(SECOND_NS, SECOND_NS + NAP_NS);
        assert!(!naps.overslept(SECOND_NS + NAP_NS), "as late as a timestamp allows");
        let late = SECOND_NS + NAP_NS + 1;
        naps.woken(SECOND_NS, late);
        assert!(naps.overslept(late) && naps.overslept(late + NAP_NS));
        assert!(!naps.overslept(late + NAP_NS + 1));
    }

    /// Woken tasks run, and the kernel is asked again and again.
    #[tokio::test]
    async fn others_run_and_timers_go_on() {
        tokio::task::LocalSet::new()
            .run_until(async {
                let ran = Rc::new(Cell::new(false));
                let flag = ran.clone();
                let other = tokio::task::spawn_local(async move { flag.set(true) });
                let_others_run().await;
                assert!(ran.get());
                other.await.unwrap();
                let clock = Clock::system();
                let context = ShardContext::with_timestamps(clock, SECOND_NS);
                let sleep = std::time::Duration::from_millis(5);
                let timer = tokio::task::spawn_local(tokio::time::sleep(sleep));
                let mut between = Between::default();
                let until = clock.now() + 60 * SECOND_NS;
                while !timer.is_finished() && clock.now() < until {
                    between.work(clock, &context, 0).await;
                }
                assert!(timer.is_finished());
            })
            .await;
    }
}
