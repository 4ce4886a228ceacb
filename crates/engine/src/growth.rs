//! Opens more connections of an open loop while it runs, ahead of need. Knows nothing about plans.

use super::drive::{Prepared, Shared, run_lane};
use super::lane::{AnyWorkload, Lane, LaneResult, TaskResult};
use super::pace::{Pace, Schedule};
use super::share::STOP_CHECK_NS;
use super::usage::more;
use crate::clock::{Nanos, SECOND_NS};
use crate::driver::{Session, Shard};
use crate::measure::Held;
use std::collections::VecDeque;
use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;
use tokio::task::JoinHandle;

/// How often the need is checked, unless something calls for a check earlier.
const CHECK_NS: Nanos = SECOND_NS / 10;
/// The shortest time between two checks: beginning operations can call for one.
const PAUSE_NS: Nanos = SECOND_NS / 200;
/// The need is estimated for the highest rate within this time from now.
const AHEAD_NS: Nanos = SECOND_NS;
/// How many checks back operations are taken into account.
const CHECKS: usize = 5;

/// The connections of a shard that may still be opened.
pub(super) struct Growth<'a, S: Shard> {
    shared: Rc<Shared>,
    shard: &'a S,
    /// When operations are due, and this shard's share of them; `None` in a closed loop, which
    /// opens no connections.
    schedule: Option<(&'a Schedule, f64)>,
    /// Their indices among the connections of the shard, and their workloads.
    spare: VecDeque<(usize, Lane<AnyWorkload<S::Session>>)>,
    tasks: Vec<JoinHandle<TaskResult<S::Session>>>,
    /// For how long all operations had held connections at the last checks, and the times of these.
    seen: VecDeque<(Nanos, Held)>,
}

impl<'a, S: Shard> Growth<'a, S> {
    /// Manages the connections `spare` of `shard`, one of `shards`, which follow the `open` that
    /// are already open.
    pub(super) fn new(
        pace: &'a Pace,
        shards: usize,
        shard: &'a S,
        shared: Rc<Shared>,
        open: usize,
        spare: Vec<Lane<AnyWorkload<S::Session>>>,
    ) -> Self {
        let schedule = match pace {
            Pace::Open { schedule, .. } => Some((schedule, 1.0 / shards as f64)),
            _ => None,
        };
        let spare = spare.into_iter().enumerate().map(|(place, lane)| (open + place, lane));
        let seen = VecDeque::from([(shared.start, Held::default())]);
        Self { shared, shard, schedule, spare: spare.collect(), tasks: Vec::new(), seen }
    }

    /// Opens connections as they are needed. Never ends.
    pub(super) async fn run(&mut self) {
        while let Some((schedule, share)) = self.schedule.filter(|_| !self.spare.is_empty()) {
            let now = self.shared.clock.now();
            let offset = now.saturating_sub(self.shared.start);
            let due = schedule.due_by(offset + AHEAD_NS) - schedule.due_by(offset);
            let per_s = due * share * SECOND_NS as f64 / AHEAD_NS as f64;
            for _ in 0..self.missing(now, per_s) {
                let Some((seat, lane)) = self.spare.pop_front() else { break };
                let session = Box::new(self.shard.session_of(lane.connection));
                self.shared.tickets.opening();
                let joining = join(self.shared.clone(), seat, lane, session);
                self.tasks.push(tokio::task::spawn_local(erased(joining)));
            }
            tokio::time::sleep(Duration::from_nanos(PAUSE_NS)).await;
            let check = Duration::from_nanos(CHECK_NS);
            let _ = tokio::time::timeout(check, self.shared.tickets.crowded()).await;
        }
        std::future::pending::<()>().await;
    }

    /// How many more connections to open if this rate is coming up.
    fn missing(&mut self, now: Nanos, per_s: f64) -> u64 {
        let need = self.shared.tickets.need();
        let held = self.seen.front().map_or(need.held, |(_, seen)| need.held.since(seen));
        if self.seen.back().is_none_or(|(at, _)| now >= at + CHECK_NS) {
            self.seen.push_back((now, need.held));
        }
        if self.seen.len() > CHECKS {
            self.seen.pop_front();
        }
        more(per_s * held.mean_s().unwrap_or(0.0), &need)
    }

    /// The results of these connections, once the others have ended.
    ///
    /// # Errors
    /// Returns an error if one of them panicked.
    pub(super) async fn finish(self) -> std::io::Result<Vec<TaskResult<S::Session>>> {
        let mut lanes = Vec::with_capacity(self.tasks.len() + self.spare.len());
        for task in self.tasks {
            lanes.push(task.await?);
        }
        let unopened = |lane| Box::new(LaneResult::unopened(lane));
        lanes.extend(self.spare.into_iter().map(|(_, lane)| unopened(lane)));
        Ok(lanes)
    }
}

fn erased<'a, O>(future: impl Future<Output = O> + 'a) -> Pin<Box<dyn Future<Output = O> + 'a>> {
    Box::pin(future)
}

/// Opens a connection, which then takes part like all others. No operation waits for it in the
/// meantime.
async fn join<S: Session>(
    shared: Rc<Shared>,
    seat: usize,
    mut lane: Lane<AnyWorkload<S>>,
    mut session: Box<S>,
) -> TaskResult<S> {
    let since = shared.clock.now();
    let is_open = opened(&shared, &mut *session).await;
    let now = shared.clock.now();
    shared.tickets.opened(is_open, since, now);
    if !is_open {
        return Box::new(LaneResult::unopened(lane));
    }
    let pen = session.pen();
    let mut first = Box::new(Prepared::new(&mut *lane.workload, pen));
    first.since = Some(now);
    run_lane(shared, seat, lane, first, session, false).await
}

/// Whether a connection could be opened before the stage was over.
async fn opened(shared: &Shared, session: &mut impl Session) -> bool {
    {
        let mut ready = std::pin::pin!(session.ready());
        let check = Duration::from_nanos(STOP_CHECK_NS);
        while tokio::time::timeout(check, ready.as_mut()).await.is_err() {
            if shared.tickets.ended() {
                return false;
            }
        }
    }
    session.is_open() && !shared.tickets.ended()
}
