//! Grants the right to begin an operation, with the time at which it was due.
//!
//! A closed loop grants it at once. In an open loop, due operations wait in a queue; those beyond
//! the limit are dropped and counted.

use super::nap::{Between, NAP_NS, Naps};
use super::pace::Pace;
use super::pauses::Pauses;
use super::share::{LoadCounts, STOP_CHECK_NS, Share, share_out};
use super::stop::Stop;
use super::usage::{Need, Usage};
use crate::clock::{Clock, Nanos, Sleeper};
use crate::measure::{PoolLog, Probe};
use crate::net::ShardContext;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, Waker};

/// The right to begin one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket {
    /// When the operation was due.
    pub intended: Nanos,
    /// When it is begun: now.
    pub began: Nanos,
    /// How long the connection waited for it to become due.
    pub idle_ns: Nanos,
    /// Whether the connection was already free when it became due: a late start is then the
    /// client's fault.
    pub awaited: bool,
}

/// The tickets of one shard.
pub struct Tickets {
    clock: Clock,
    stop: Arc<Stop>,
    /// No operation is begun from this time on.
    end: Nanos,
    pauses: Pauses,
    counts: Cell<LoadCounts>,
    queue: Option<RefCell<Queue>>,
}

struct Queue {
    start: Nanos,
    /// Operations that are due within this time of each other may begin together.
    slack_ns: Nanos,
    steps: Box<dyn Iterator<Item = Nanos>>,
    /// When the next operation is due.
    next: Option<Nanos>,
    /// Up to when operations have fallen due: since then, the stage may have been stopped.
    filled: Nanos,
    /// How many operations have yet to become due, if their number is limited.
    left: u64,
    due: VecDeque<Nanos>,
    /// Operations that were granted and have not ended.
    in_flight: u64,
    limit: u64,
    /// Connections that are waiting for an operation, the longest-waiting first.
    waiting: VecDeque<usize>,
    /// The tasks of waiting connections, by connection, and whether they were woken.
    seats: Vec<Seat>,
    pacer: Option<Waker>,
    naps: Naps,
    usage: Usage,
}

#[derive(Default)]
struct Seat {
    waker: Option<Waker>,
    granted: Option<Nanos>,
}

impl std::fmt::Debug for Tickets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tickets").field("counts", &self.counts.get()).finish_non_exhaustive()
    }
}

impl Tickets {
    /// The tickets of one shard's `share`, from `start` until `end`.
    pub(super) fn new(
        clock: Clock,
        stop: Arc<Stop>,
        pace: &Pace,
        share: Share,
        (start, end): (Nanos, Nanos),
    ) -> Self {
        let pauses = Pauses::new(pace, &share);
        let queue = match pace {
            Pace::Closed { .. } | Pace::Thinking { .. } => None,
            Pace::Open { schedule, max_in_flight, slack_ns } => {
                let Share { shard: (shard, shards), own, open, all, operations } = share;
                let of = (shard as u64, shards as u64);
                let mut queue = Queue {
                    start,
                    slack_ns: *slack_ns,
                    steps: Box::new(schedule.steps(of, all as u64)),
                    next: None,
                    filled: start,
                    left: operations.unwrap_or(u64::MAX),
                    due: VecDeque::new(),
                    in_flight: 0,
                    limit: share_out(*max_in_flight, all as u64, (shard, shards)),
                    waiting: VecDeque::with_capacity(own),
                    seats: (0..own).map(|_| Seat::default()).collect(),
                    pacer: None,
                    naps: Naps::default(),
                    usage: Usage::new(start, open, own),
                };
                queue.step();
                Some(RefCell::new(queue))
            }
        };
        Self { clock, stop, end, pauses, counts: Cell::default(), queue }
    }

    /// Whether operations may become due after their connection is free.
    pub(super) const fn has_pace(&self) -> bool {
        self.queue.is_some() || !self.pauses.none()
    }

    fn over(&self, now: Nanos) -> bool {
        now >= self.end || self.stop.reason().is_some()
    }

    /// The right to begin at once, which a closed loop without pauses grants until the stage is
    /// over. Otherwise, use [`Tickets::take`].
    ///
    /// In a closed loop an operation is due when its connection is free or, if it had to be
    /// reopened, when reopening began, at `reopening`.
    #[inline]
    pub fn at_once(&self, reopening: Option<Nanos>) -> Option<Ticket> {
        let endless = self.queue.is_none() && self.pauses.none();
        let now = self.clock.now();
        (endless && !self.over(now)).then(|| self.begin(reopening.unwrap_or(now), now, 0))
    }

    /// Waits until connection number `connection` of this shard, which has had nothing to do since
    /// `free`, may begin an operation. `None` if the stage is over.
    pub async fn take(
        &self,
        connection: usize,
        free: Nanos,
        reopening: Option<Nanos>,
    ) -> Option<Ticket> {
        let now = self.clock.now();
        let Some(queue) = &self.queue else {
            return self.take_closed(connection, reopening, now).await;
        };
        let due = {
            let mut queue = queue.borrow_mut();
            self.fill(&mut queue, now);
            queue.due.pop_front()
        };
        let awaited = due.is_none() || !queue.borrow().waiting.is_empty();
        let (intended, waited) = match due {
            Some(due) if !self.over(now) => {
                queue.borrow_mut().in_flight += 1;
                (due, None)
            }
            Some(due) => {
                queue.borrow_mut().due.push_front(due);
                return None;
            }
            None if self.over(now) || queue.borrow().left == 0 => return None,
            None => {
                let due = wait(queue, connection, now).await?;
                // Until the operation was due, the connection was idle; after that it was late.
                (due, Some(self.clock.now()))
            }
        };
        self.count(|counts| counts.begun += 1);
        let idle_ns = if waited.is_some() { intended.saturating_sub(free) } else { 0 };
        let began = waited.unwrap_or(now).max(intended);
        queue.borrow_mut().begin(connection, began);
        Some(Ticket { intended, began, idle_ns, awaited })
    }

    /// How long to sleep before `until` without missing the end of the stage. `None` if `until` has
    /// passed, or the stage is over.
    pub(super) fn left(&self, until: Nanos) -> Option<Nanos> {
        let now = self.clock.now();
        (now < until && !self.over(now)).then(|| (until.min(self.end) - now).min(STOP_CHECK_NS))
    }

    /// Begins a later part of an operation whose previous part has ended.
    pub fn proceed(&self, reopening: Option<Nanos>) -> Ticket {
        let now = self.clock.now();
        Ticket { intended: reopening.unwrap_or(now), began: now, idle_ns: 0, awaited: false }
    }

    async fn take_closed(
        &self,
        connection: usize,
        reopening: Option<Nanos>,
        asked: Nanos,
    ) -> Option<Ticket> {
        // The connection was reopened during the pause.
        let until = reopening.unwrap_or(asked) + self.pauses.next_ns(connection);
        if asked < until && !self.over(asked) {
            self.pauses.sleep(connection, until).await;
        }
        let now = if asked < until { self.clock.now() } else { asked };
        if self.over(now) {
            return None;
        }
        let intended = if asked < until { now } else { until };
        Some(self.begin(intended, now, now - asked))
    }

    /// Begins an operation of a closed loop, after the connection waited `idle_ns`.
    fn begin(&self, intended: Nanos, began: Nanos, idle_ns: Nanos) -> Ticket {
        self.count(|counts| {
            counts.offered += 1;
            counts.begun += 1;
        });
        Ticket { intended, began, idle_ns, awaited: false }
    }

    /// Notes that an answer arrived at `now`. `can_wait` if the kernel timestamped it and no
    /// request has to follow. Otherwise answers must be read as soon as they arrive.
    pub fn expect(&self, can_wait: bool, now: Nanos) {
        if let Some(queue) = &self.queue {
            queue.borrow_mut().naps.expect(can_wait, now);
        }
    }

    /// Notes how the answer to an operation of `one_request` arrived, which was read at `now`.
    pub(super) fn answered(&self, one_request: bool, probe: &Probe, now: Nanos) {
        if let Some(queue) = &self.queue {
            queue.borrow_mut().naps.answered(one_request, probe, now);
        }
    }

    /// Notes that the operation begun by connection number `connection` of this shard ended at
    /// `done`.
    #[inline]
    pub fn done(&self, connection: usize, done: Nanos) {
        if let Some(queue) = &self.queue {
            self.done_in(queue, connection, done);
        }
    }

    fn done_in(&self, queue: &RefCell<Queue>, connection: usize, done: Nanos) {
        let mut queue = queue.borrow_mut();
        // Operations that became due before then saw one more in flight.
        self.fill(&mut queue, done);
        queue.in_flight -= 1;
        queue.usage.end(connection, done);
    }

    fn count(&self, change: impl FnOnce(&mut LoadCounts)) {
        let mut counts = self.counts.get();
        change(&mut counts);
        self.counts.set(counts);
    }

    /// Queues the operations that are due by `now`. Once the stage is stopped, no more fall due,
    /// though answers are still awaited.
    fn fill(&self, queue: &mut Queue, now: Nanos) {
        if self.stop.reason().is_some() {
            return;
        }
        queue.filled = queue.filled.max(now);
        while let Some(due) = queue.next
            && due <= now
            && due < self.end
        {
            let dropped = queue.due.len() as u64 + queue.in_flight >= queue.limit;
            if !dropped {
                queue.due.push_back(due);
            }
            self.count(|counts| {
                counts.offered += 1;
                counts.dropped += u64::from(dropped);
            });
            queue.left -= 1;
            queue.step();
        }
    }

    /// Wakes connections when operations become due or pauses are over, until the stage is over.
    ///
    /// # Errors
    /// Returns an error if the operating system cannot create a timer.
    pub async fn pace(&self, context: &ShardContext) -> std::io::Result<()> {
        match &self.queue {
            Some(queue) => self.call_when_due(queue, context).await,
            None if self.pauses.none() => Ok(()),
            None => self.pauses.end(self.clock, self.end, |now| self.over(now)).await,
        }
    }

    async fn call_when_due(
        &self,
        queue: &RefCell<Queue>,
        context: &ShardContext,
    ) -> std::io::Result<()> {
        let sleeper = Sleeper::new(self.clock)?;
        let mut between = Between::default();
        loop {
            let now = self.clock.now();
            let (wake_at, short, unread) = {
                let mut queue = queue.borrow_mut();
                let unread = queue.in_flight;
                self.fill(&mut queue, now);
                queue.grant(now);
                // Connections stop waiting once no more operations will become due.
                if self.over(now) || (queue.left == 0 && queue.due.is_empty()) {
                    queue.close(now.min(self.end));
                    return Ok(());
                }
                let wake_at = queue.wake_at(now).min(now + STOP_CHECK_NS).min(self.end);
                (wake_at, queue.may_nap(now) && wake_at - now <= NAP_NS, unread)
            };
            if short && sleeper.naps() {
                between.work(self.clock, context, unread).await;
                if queue.borrow().may_nap(now) {
                    sleeper.nap(wake_at);
                    queue.borrow_mut().naps.woken(wake_at, self.clock.now());
                }
                continue;
            }
            let mut sleep = std::pin::pin!(sleeper.sleep_until(wake_at));
            poll_fn(|context| {
                if sleep.as_mut().poll(context).is_ready() {
                    return Poll::Ready(());
                }
                let mut queue = queue.borrow_mut();
                let called = queue.pacer.take().is_none() && !queue.waiting.is_empty();
                queue.pacer = Some(context.waker().clone());
                let sooner = queue.next.is_some_and(|next| next < wake_at);
                if called && sooner { Poll::Ready(()) } else { Poll::Pending }
            })
            .await;
        }
    }

    /// The due times of operations that are still waiting.
    pub(super) fn left_over(&self) -> Vec<Nanos> {
        self.queue
            .as_ref()
            .map_or_else(Vec::new, |queue| queue.borrow().due.iter().copied().collect())
    }

    /// Whether nothing more will be begun.
    pub(super) fn ended(&self) -> bool {
        let spent = |queue: &RefCell<Queue>| {
            let queue = queue.borrow();
            queue.left == 0 && queue.due.is_empty()
        };
        self.over(self.clock.now()) || self.queue.as_ref().is_some_and(spent)
    }

    /// Up to when operations fell due, if an open loop was stopped.
    pub(super) fn stopped(&self) -> Option<Nanos> {
        let queue = self.queue.as_ref()?;
        self.stop.reason().map(|_| queue.borrow().filled)
    }

    /// The demand for connections; empty in a closed loop.
    pub(super) fn need(&self) -> Need {
        let Some(queue) = &self.queue else { return Need::default() };
        let mut queue = queue.borrow_mut();
        self.fill(&mut queue, self.clock.now());
        queue.usage.need(queue.due.len() as u64)
    }

    /// Waits until so many connections are in use that more are needed.
    pub(super) async fn crowded(&self) {
        let mut watching = false;
        poll_fn(|context| {
            let Some(queue) = &self.queue else { return Poll::Pending };
            let usage = &mut queue.borrow_mut().usage;
            if watching && usage.called() {
                return Poll::Ready(());
            }
            watching = true;
            usage.watch(context.waker());
            Poll::Pending
        })
        .await;
    }

    /// Notes that a connection is being opened.
    pub(super) fn opening(&self) {
        if let Some(queue) = &self.queue {
            queue.borrow_mut().usage.opening();
        }
    }

    /// Notes that a connection was opened, or could not be; the attempt began at `from` and ended
    /// at `to`.
    pub(super) fn opened(&self, is_open: bool, from: Nanos, to: Nanos) {
        if let Some(queue) = &self.queue {
            queue.borrow_mut().usage.opened(is_open, from, to);
        }
    }

    /// How the connections were used in an open loop, once the stage is over.
    pub(super) fn pool(&self) -> Option<PoolLog> {
        let mut queue = self.queue.as_ref()?.borrow_mut();
        queue.usage.close(self.clock.now().min(self.end));
        Some(queue.usage.log())
    }

    /// What happened to the operations, once the stage is over.
    pub fn counts(&self) -> LoadCounts {
        let mut counts = self.counts.get();
        if let Some(queue) = &self.queue {
            counts.unsent = queue.borrow().due.len() as u64;
        }
        counts
    }
}

/// Waits for the pacer. `None` if the stage is over.
async fn wait(queue: &RefCell<Queue>, connection: usize, now: Nanos) -> Option<Nanos> {
    let mut queued = false;
    poll_fn(|context| {
        let mut queue = queue.borrow_mut();
        let queue = &mut *queue;
        let seat = &mut queue.seats[connection];
        if queued && seat.waker.is_none() {
            return Poll::Ready(seat.granted.take());
        }
        seat.waker = Some(context.waker().clone());
        if !queued {
            queued = true;
            queue.waiting.push_back(connection);
            if queue.waiting.len() == 1 {
                queue.usage.free(now);
                if let Some(pacer) = queue.pacer.take() {
                    pacer.wake();
                }
            }
        }
        Poll::Pending
    })
    .await
}

impl Queue {
    /// Determines when the next operation becomes due, if there is one.
    fn step(&mut self) {
        let offset = if self.left > 0 { self.steps.next() } else { None };
        self.next = offset.map(|offset| self.start + offset);
    }

    /// Whether the shard may nap: a connection is free for the next operation, and all answers only
    /// need to be recorded.
    fn may_nap(&self, now: Nanos) -> bool {
        !self.waiting.is_empty() && self.naps.allowed(now)
    }

    /// When the next operation can begin, as far as known at `now`.
    fn wake_at(&self, now: Nanos) -> Nanos {
        let due = if self.waiting.is_empty() { None } else { self.next };
        due.unwrap_or(Nanos::MAX).max(now + self.slack_ns)
    }

    /// Assigns due operations to waiting connections.
    fn grant(&mut self, now: Nanos) {
        while !self.due.is_empty()
            && let Some(connection) = self.waiting.pop_front()
        {
            self.call(connection, true);
            if self.waiting.is_empty() {
                self.usage.none_free(now);
            }
        }
    }

    /// Notes that a connection begins an operation.
    fn begin(&mut self, connection: usize, began: Nanos) {
        self.usage.begin(connection, began, self.waiting.is_empty());
    }

    /// Wakes all waiting connections, as the stage is over from `now` on.
    fn close(&mut self, now: Nanos) {
        self.usage.close(now);
        while let Some(connection) = self.waiting.pop_front() {
            self.call(connection, false);
        }
    }

    fn call(&mut self, connection: usize, with_ticket: bool) {
        let granted = if with_ticket { self.due.pop_front() } else { None };
        self.in_flight += u64::from(granted.is_some());
        let seat = &mut self.seats[connection];
        seat.granted = granted;
        if let Some(waker) = seat.waker.take() {
            waker.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SECOND_NS;
    use crate::nap::AWAKE_NS;
    use crate::pace::{Arrivals, Schedule, Segment};
    use std::time::Duration;

    impl Tickets {
        /// Whether the shard may nap at `now` if a connection is free.
        pub(crate) fn answers_can_wait(&self, now: Nanos) -> bool {
            self.queue.as_ref().is_some_and(|queue| queue.borrow().naps.allowed(now))
        }
    }

    #[test]
    fn what_falls_due_when_the_time_is_over_is_not_offered() {
        let segments = vec![Segment { length_ns: 2 * SECOND_NS, from: 1.0, to: 1.0 }];
        let schedule = Schedule { segments, arrivals: Arrivals::Constant, seed: 1 };
        let pace = Pace::Open { schedule, max_in_flight: 10, slack_ns: 0 };
        let share = Share { shard: (0, 1), own: 1, open: 1, all: 1, operations: None };
        for (end, offered) in [(SECOND_NS, 1), (SECOND_NS + 1, 2)] {
            // Due at 0 and after exactly one second.
            let clock = Clock::system();
            let tickets = Tickets::new(clock, Arc::default(), &pace, share, (0, end));
            tickets.fill(&mut tickets.queue.as_ref().unwrap().borrow_mut(), 9 * SECOND_NS);
            assert_eq!(tickets.counts().offered, offered);
            assert_eq!(tickets.left_over().len() as u64, offered);
        }
    }

    #[test]
    fn a_total_is_dealt_to_connections_and_these_to_shards() {
        // 11 for four connections: 3, 3, 3 and 2. Each shard has every other connection.
        assert_eq!([0, 1].map(|shard| share_out(11, 4, (shard, 2))), [6, 5]);
        assert_eq!([0, 1, 2].map(|shard| share_out(2, 3, (shard, 3))), [1, 1, 0]);
        for (total, connections, shards) in [(0, 1, 1), (100, 7, 3), (5, 9, 4), (1_000, 1, 1)] {
            let parts = (0..shards).map(|shard| share_out(total, connections, (shard, shards)));
            assert_eq!(parts.sum::<u64>(), total);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_sleep_is_cut_where_the_stage_may_end() {
        let clock = Clock::virtual_time();
        let (now, stop) = (clock.now(), Arc::<Stop>::default());
        let share = Share { shard: (0, 1), own: 1, open: 1, all: 1, operations: None };
        let pace = Pace::Closed { think_ns: 0 };
        let until = |end| Tickets::new(clock, stop.clone(), &pace, share, (now, end));
        let tickets = until(now + SECOND_NS);
        assert_eq!(tickets.left(now + 70), Some(70));
        assert_eq!(tickets.left(now + SECOND_NS), Some(STOP_CHECK_NS));
        assert_eq!((tickets.left(now), tickets.left(now - 1)), (None, None));
        assert_eq!(until(now).left(now + 70), None, "it is over");
        let at_once = Ticket { intended: now, began: now, idle_ns: 0, awaited: false };
        assert_eq!(tickets.at_once(None), Some(at_once));
        let reopened = Ticket { intended: now - 9, ..at_once };
        assert_eq!(tickets.at_once(Some(now - 9)), Some(reopened));
        stop.raise(crate::StopReason::Interrupted);
        assert_eq!((tickets.left(now + 70), tickets.at_once(None)), (None, None));
        assert_eq!((tickets.counts().begun, tickets.counts().offered), (2, 2));
    }

    #[test]
    fn a_shard_naps_when_all_answers_of_a_while_could_have_waited() {
        let segments = vec![Segment { length_ns: SECOND_NS, from: 1_000.0, to: 1_000.0 }];
        let schedule = Schedule { segments, arrivals: Arrivals::Constant, seed: 1 };
        let pace = Pace::Open { schedule, max_in_flight: 10, slack_ns: 0 };
        let share = Share { shard: (0, 1), own: 1, open: 1, all: 1, operations: None };
        let tickets = Tickets::new(Clock::system(), Arc::default(), &pace, share, (0, SECOND_NS));
        let naps = |now| {
            let mut queue = tickets.queue.as_ref().unwrap().borrow_mut();
            queue.waiting = [0].into();
            queue.may_nap(now)
        };
        assert!(!naps(SECOND_NS), "nothing is known of answers yet");
        tickets.expect(true, 5);
        tickets.expect(true, 7);
        assert!(!naps(4 + AWAKE_NS) && naps(5 + AWAKE_NS));
        tickets.expect(false, 9);
        assert!(!naps(SECOND_NS), "until one can wait again");
        tickets.expect(true, 11);
        assert!(!naps(10 + AWAKE_NS) && naps(11 + AWAKE_NS));
        let answer = |stamps: &[bool]| {
            let mut probe = Probe::new(Clock::system(), 0, 0);
            for stamped in stamps {
                if *stamped { probe.mark_received_at(1) } else { probe.mark_received() }
            }
            probe
        };
        let late = 2 * SECOND_NS;
        tickets.queue.as_ref().unwrap().borrow_mut().naps.woken(0, late);
        tickets.answered(true, &answer(&[false]), late);
        assert!(naps(late), "its timestamp was too old because the shard was woken late");
        // Two requests, two pieces, and no timestamp although nobody was late.
        for (one_request, stamps, at) in [
            (false, &[true][..], late),
            (true, &[true, false], late),
            (true, &[false], late + SECOND_NS),
        ] {
            tickets.answered(true, &answer(&[true]), at - AWAKE_NS);
            assert!(naps(at));
            tickets.answered(one_request, &answer(stamps), at);
            assert!(!naps(at + SECOND_NS), "{stamps:?}");
        }
        tickets.queue.as_ref().unwrap().borrow_mut().waiting.clear();
        assert!(!tickets.queue.as_ref().unwrap().borrow().may_nap(SECOND_NS), "nobody is free");
    }

    /// Two connections at one operation per second: one gets the last operation, the other is
    /// waiting for more.
    #[tokio::test(start_paused = true)]
    async fn who_waits_is_sent_home_as_soon_as_nothing_more_falls_due() {
        let clock = Clock::virtual_time();
        let segments = vec![Segment { length_ns: 20 * SECOND_NS, from: 1.0, to: 1.0 }];
        let schedule = Schedule { segments, arrivals: Arrivals::Constant, seed: 1 };
        let pace = Pace::Open { schedule, max_in_flight: 10, slack_ns: 0 };
        for (operations, end_s, taken, home_s) in [(Some(2), 9, 2, 1), (None, 3, 3, 3)] {
            let start = clock.now();
            let share = Share { shard: (0, 1), own: 2, open: 2, all: 2, operations };
            let tickets = Tickets::new(
                clock,
                Arc::default(),
                &pace,
                share,
                (start, start + end_s * SECOND_NS),
            );
            let connection = async |connection| {
                let mut taken = 0;
                while tickets.take(connection, start, None).await.is_some() {
                    taken += 1;
                    tickets.done(connection, clock.now());
                }
                (taken, (clock.now() - start) / SECOND_NS)
            };
            let context = ShardContext::new(clock, SECOND_NS);
            let all = async { tokio::join!(tickets.pace(&context), connection(0), connection(1)) };
            let (paced, first, second) =
                tokio::time::timeout(Duration::from_secs(15), all).await.expect("they go home");
            assert!(paced.is_ok());
            assert_eq!((first.0 + second.0, first.1.max(second.1)), (taken, home_s));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn only_who_was_free_when_it_fell_due_has_awaited_an_operation() {
        let clock = Clock::virtual_time();
        let start = clock.now();
        let segments = vec![Segment { length_ns: 20 * SECOND_NS, from: 1.0, to: 1.0 }];
        let schedule = Schedule { segments, arrivals: Arrivals::Constant, seed: 1 };
        let pace = Pace::Open { schedule, max_in_flight: 10, slack_ns: 0 };
        let share = Share { shard: (0, 1), own: 2, open: 2, all: 2, operations: None };
        let tickets = Tickets::new(clock, Arc::default(), &pace, share, (start, Nanos::MAX));
        let due = Ticket { intended: start, began: start, idle_ns: 0, awaited: false };
        assert_eq!(tickets.take(0, start, None).await, Some(due));
        let context = ShardContext::new(clock, SECOND_NS);
        let second = tokio::select! {
            ticket = tickets.take(1, start, None) => ticket.expect("one falls due"),
            _ = tickets.pace(&context) => unreachable!("more fall due"),
        };
        assert_eq!(second.intended, start + SECOND_NS);
        assert_eq!((second.idle_ns, second.awaited), (SECOND_NS, true));
        // The third falls due while both connections are busy.
        tokio::time::advance(Duration::from_millis(1_500)).await;
        let third = tickets.take(0, start + 9 * SECOND_NS / 4, None).await.expect("it is due");
        assert_eq!(third.intended, start + 2 * SECOND_NS);
        assert_eq!((third.idle_ns, third.awaited), (0, false));
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_begins_when_the_connection_is_free_or_begins_to_reopen() {
        let clock = Clock::virtual_time();
        let share = Share { shard: (0, 1), own: 1, open: 1, all: 1, operations: None };
        let context = ShardContext::new(clock, SECOND_NS);
        tokio::time::advance(Duration::from_millis(100)).await;
        // How long ago it began to reopen; when the operation is due, and when it begins.
        for (reopening_us, due_us, began_us) in [
            (None, 2_000, 2_000),
            (Some(500), 1_000, 1_000),
            (Some(1_500), 0, 0),
            (Some(3_500), -2_000, 0),
        ] {
            let now = clock.now();
            let pace = Pace::Closed { think_ns: 1_500_000 };
            let tickets = Tickets::new(clock, Arc::default(), &pace, share, (now, Nanos::MAX));
            let reopening = reopening_us.map(|us: Nanos| now - us * 1_000);
            let ticket = tokio::select! {
                biased;
                ticket = tickets.take(0, now, reopening) => ticket.expect("it goes on"),
                _ = tickets.pace(&context) => unreachable!("it goes on"),
            };
            let since_us = |at: Nanos| (at.cast_signed() - now.cast_signed()) / 1_000;
            let Ticket { intended, began, idle_ns, awaited } = ticket;
            assert_eq!((since_us(intended), since_us(began)), (due_us, began_us));
            assert_eq!((idle_ns, awaited), (began - now, false));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_paces_a_loop_without_pauses() {
        let clock = Clock::virtual_time();
        let share = Share { shard: (0, 1), own: 1, open: 1, all: 1, operations: None };
        let pace = Pace::Closed { think_ns: 0 };
        let tickets = Tickets::new(clock, Arc::default(), &pace, share, (0, Nanos::MAX));
        let context = ShardContext::new(clock, SECOND_NS);
        let paced = tokio::time::timeout(Duration::from_secs(1), tickets.pace(&context)).await;
        assert!(matches!(paced, Ok(Ok(()))), "{paced:?}");
    }
}
