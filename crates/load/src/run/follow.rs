//! Followers: receive the changes of the database beside the load, on their own thread.

use super::RunError;
use crate::clock::{Clock, Nanos, SECOND_NS};
use crate::driver::{Driver, FollowPlan, Follower, Target, TargetError, WithTarget};
use crate::measure::{Ack, FollowedSum, Following, Follows, Histogram, Latency};
use crate::net::rest_after;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, SyncSender};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::{JoinHandle as Task, LocalSet, spawn_local};

/// How often changes are compared with writes.
const COMPARE_EVERY: Duration = Duration::from_millis(500);
/// How often the thread checks whether it is on time.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// How long to wait for changes after the end, as long as any are missing.
const PATIENCE_NS: Nanos = 10 * SECOND_NS;
/// How long to wait for changes if a filter decides which ones there are.
const SETTLE_NS: Nanos = SECOND_NS;
/// How long each follower may take to request all that is left.
const LAST_READ: Duration = Duration::from_secs(60);
/// How often each of them tries to.
const LAST_TRIES: u32 = 6;
/// The most followers that send requests at once, before the start and after the end.
const AT_ONCE: usize = 16;

pub(super) struct Followers {
    acks: UnboundedSender<Vec<Ack>>,
    over: Arc<AtomicBool>,
    thread: JoinHandle<Following>,
}

impl Followers {
    /// Starts, and returns once all followers know their position in the feed.
    pub(super) fn begin(target: Driver, plan: FollowPlan) -> Result<Self, RunError> {
        let over = Arc::new(AtomicBool::new(false));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (acks, source) = unbounded_channel();
        let (started, ready) = mpsc::sync_channel(1);
        let work = FollowWork { plan, source, started, over: over.clone(), runtime };
        let builder = std::thread::Builder::new().name("followers".to_owned());
        let thread = builder.spawn(move || target.apply(work))?;
        ready.recv().map_err(|_| io::Error::other("the thread of the followers ended"))??;
        Ok(Self { acks, over, thread })
    }

    pub(super) fn acknowledge(&self, acks: Vec<Ack>) {
        if !acks.is_empty() {
            // The thread is gone only if it panicked, and then nothing is found out.
            let _ = self.acks.send(acks);
        }
    }

    /// Waits until everything has arrived or been asked for, and returns what was found.
    pub(super) fn finish(self) -> Following {
        let Self { acks, over, thread } = self;
        drop(acks);
        over.store(true, Ordering::Relaxed);
        thread.join().unwrap_or_default()
    }
}

struct FollowWork {
    plan: FollowPlan,
    source: UnboundedReceiver<Vec<Ack>>,
    started: SyncSender<Result<(), TargetError>>,
    over: Arc<AtomicBool>,
    runtime: Runtime,
}

impl WithTarget for FollowWork {
    type Output = Following;

    fn with<T: Target>(self, target: &T) -> Following {
        let Self { plan, source, started, over, runtime } = self;
        let followers = target.followers(&plan);
        LocalSet::new().block_on(&runtime, carry_out(followers, plan, source, started, over))
    }
}

/// One follower, and what went wrong with it.
struct FollowerLane<F> {
    number: usize,
    follower: F,
    resumed: u64,
    reason: Option<String>,
    to_the_end: bool,
}

type SharedFollows = Rc<RefCell<Follows>>;

async fn carry_out<F: Follower>(
    followers: Vec<F>,
    plan: FollowPlan,
    source: UnboundedReceiver<Vec<Ack>>,
    started: SyncSender<Result<(), TargetError>>,
    over: Arc<AtomicBool>,
) -> Following {
    let lanes = followers.into_iter().enumerate().map(|(number, follower)| FollowerLane {
        number,
        follower,
        resumed: 0,
        reason: None,
        to_the_end: false,
    });
    let lanes = in_turn(lanes.collect(), |mut lane: FollowerLane<F>| async {
        let begun = lane.follower.begin().await;
        begun.map(|()| lane)
    });
    let lanes: Vec<FollowerLane<F>> = match lanes.await.into_iter().collect() {
        Ok(lanes) => lanes,
        Err(error) => {
            // The receiver reports the error.
            let _ = started.send(Err(error));
            return Following::default();
        }
    };
    let shared = Rc::new(RefCell::new(Follows::new(lanes.len(), plan.filter.is_some())));
    let _ = started.send(Ok(()));
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let feeds: Vec<Task<FollowerLane<F>>> = lanes
        .into_iter()
        .map(|lane| spawn_local(lane.follow(shared.clone(), stopped.clone())))
        .collect();
    let delays = spawn_local(delays(stopped));
    let least_ns = if plan.filter.is_some() { SETTLE_NS } else { 0 };
    until_complete(&shared, source, &over, least_ns).await;
    let _ = stop.send(true);
    let mut lanes = Vec::new();
    for feed in feeds {
        // A follower that panicked is not judged.
        lanes.extend(feed.await);
    }
    let lanes = in_turn(lanes, |mut lane: FollowerLane<F>| {
        let shared = shared.clone();
        async move {
            lane.read_rest(&shared).await;
            lane
        }
    });
    let lanes = lanes.await;
    let own_delay = Latency::new(delays.await.unwrap_or_default());
    summed(&shared.borrow(), &lanes, own_delay)
}

/// Applies `work` to each, a few at once.
async fn in_turn<T: 'static, U: 'static, W: Future<Output = U> + 'static>(
    all: Vec<T>,
    work: impl Fn(T) -> W,
) -> Vec<U> {
    let (mut done, mut all) = (Vec::new(), all.into_iter());
    loop {
        let some: Vec<_> = all.by_ref().take(AT_ONCE).map(|one| spawn_local(work(one))).collect();
        if some.is_empty() {
            return done;
        }
        for one in some {
            done.extend(one.await);
        }
    }
}

/// Compares changes with writes until the stage is over and everything has arrived, or too long has
/// passed; it waits at least `least_ns` after the end.
async fn until_complete(
    shared: &SharedFollows,
    mut source: UnboundedReceiver<Vec<Ack>>,
    over: &AtomicBool,
    least_ns: Nanos,
) {
    let clock = Clock::system();
    let mut ended_at = None;
    loop {
        let pause = if ended_at.is_some() { LOOK_EVERY } else { COMPARE_EVERY };
        tokio::time::sleep(pause).await;
        // The order matters: once the stage is over, no more writes are acknowledged.
        let is_over = over.load(Ordering::Relaxed);
        let mut follows = shared.borrow_mut();
        while let Ok(acks) = source.try_recv() {
            follows.acknowledge(&acks);
        }
        let now = clock.now();
        if !is_over {
            follows.compare(now);
            continue;
        }
        let after_ns = now.saturating_sub(*ended_at.get_or_insert(now));
        if is_enough(after_ns, least_ns, follows.is_complete()) {
            follows.compare(now);
            return;
        }
    }
}

/// Whether to stop waiting for changes, this long after the end.
const fn is_enough(after_ns: Nanos, least_ns: Nanos, is_complete: bool) -> bool {
    is_complete && after_ns >= least_ns || after_ns > PATIENCE_NS
}

/// Measures how late this thread is, as long as the feeds are read.
async fn delays(mut stopped: tokio::sync::watch::Receiver<bool>) -> Histogram {
    let (mut late, clock) = (Histogram::default(), Clock::system());
    loop {
        let due = clock.now() + LOOK_EVERY.as_nanos() as Nanos;
        tokio::select! {
            () = tokio::time::sleep(LOOK_EVERY) => {}
            _ = stopped.changed() => return late,
        }
        late.record(clock.now().saturating_sub(due));
    }
}

impl<F: Follower> FollowerLane<F> {
    /// Follows the changes until it is stopped.
    async fn follow(
        mut self,
        shared: SharedFollows,
        mut stopped: tokio::sync::watch::Receiver<bool>,
    ) -> Self {
        let mut failures = 0;
        loop {
            let (number, mut came) = (self.number, false);
            let follow = self.follower.follow(|change| {
                shared.borrow_mut().receive(number, change);
                came = true;
            });
            let ended = tokio::select! {
                ended = follow => ended,
                _ = stopped.changed() => return self,
            };
            // If a server ends each feed at once, pause before the next request.
            let failed = ended.is_err() || !came;
            failures = if came { 0 } else { failures } + u32::from(failed);
            if let Err(error) = ended {
                self.resumed += 1;
                self.reason.get_or_insert_with(|| error.to_string());
            }
            tokio::select! {
                () = tokio::time::sleep(rest_after(failures)) => {}
                _ = stopped.changed() => return self,
            }
        }
    }

    /// Requests all that is left, with a few retries.
    async fn read_rest(&mut self, shared: &SharedFollows) {
        let number = self.number;
        let read = async {
            for failures in 1..=LAST_TRIES {
                let each = |change| shared.borrow_mut().receive(number, change);
                match self.follower.rest(each).await {
                    Ok(()) => return true,
                    Err(error) => {
                        self.reason.get_or_insert_with(|| error.to_string());
                    }
                }
                tokio::time::sleep(rest_after(failures)).await;
            }
            false
        };
        let read = tokio::time::timeout(LAST_READ, read).await;
        self.to_the_end = read == Ok(true);
        if read.is_err() {
            let why = "there were more changes at the end than could be read in a minute";
            self.reason.get_or_insert_with(|| why.to_owned());
        }
    }
}

/// What all followers received, by node.
fn summed<F: Follower>(
    follows: &Follows,
    lanes: &[FollowerLane<F>],
    own_delay: Latency,
) -> Following {
    let mut sums: BTreeMap<Option<String>, FollowedSum> = BTreeMap::new();
    for lane in lanes {
        let sum = sums.entry(lane.follower.node()).or_default();
        follows.sum(lane.number, lane.to_the_end, sum);
        sum.resumed(lane.resumed, lane.reason.as_ref());
    }
    let (acknowledged, documents) = follows.acknowledged();
    let by = sums.into_iter().map(|(node, sum)| sum.finish(node)).collect();
    Following { acknowledged, documents, by, own_delay }
}

#[cfg(test)]
#[path = "follow_tests.rs"]
mod tests;
