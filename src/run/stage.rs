//! One stage: distributes the connections to threads, and collects their measurements.

use super::collect::{Collected, Frame, window_ns};
use super::live::LiveStage;
use super::sizes::Sizes;
use super::{Observer, Progress, RunError};
use crate::clock::{Clock, Nanos, SECOND_NS};
use crate::driver::{Driver, Target, WithTarget};
use crate::engine::{Lane, Patience, ShardPlan, ShardResult, Start, Stop, StopReason, run_shard};
use crate::measure::{HiccupMeter, Interval, Pulse, Series, SlotSums, Totals};
use crate::plan::{MeasurementPlan, Plan, StagePlan};
use crate::record::StageRecord;
use crate::workload::{StageWork as _, Workload};
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// How often progress is reported.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// The work of one thread, with any driver.
struct ShardWork<W> {
    plan: ShardPlan,
    lanes: Vec<Lane<W>>,
}

impl<W: Workload + 'static> WithTarget for ShardWork<W> {
    type Output = io::Result<ShardResult<W>>;

    fn with<T: Target>(self, target: &T) -> Self::Output {
        // Known at compile time, so that the loop is not compiled for pairs that never meet.
        if W::LISTED && T::LISTED || !W::LISTED && T::DOCUMENTS {
            return run_shard(&self.plan, target, self.lanes);
        }
        Err(io::Error::other("a workload that this driver has no operations for"))
    }
}

/// What the stages of a run share.
pub(super) struct Bench<'a> {
    pub(super) plan: &'a Plan,
    pub(super) target: &'a Driver,
    pub(super) stop: &'a Arc<Stop>,
    /// When the run began.
    pub(super) began: Nanos,
    /// The same on the wall clock, in nanoseconds since 1970.
    pub(super) began_wall: Nanos,
    /// The server is in this process: each thread is pinned to its processor.
    pub(super) pinned: bool,
}

impl Bench<'_> {
    /// Runs the workloads, one per connection, and returns them in the same order.
    pub(super) fn run<W: Workload + Send + 'static>(
        &self,
        stage: &StagePlan,
        workloads: Vec<W>,
        observer: &mut dyn Observer,
    ) -> Result<(StageRecord, Vec<W>), RunError> {
        let threads = stage.shards(self.plan.threads);
        let shards = dealt(workloads, threads);
        let window = self.window(stage);
        let measurement = self.plan.ycsb.as_ref();
        let raw = measurement.is_some_and(|it| it.measurement.is_raw());
        let slots_ms = measurement.and_then(MeasurementPlan::slots_ms);
        let mut slots = slots_ms.map(|ms| SlotSums::new(ms.into()));
        let (sink, source) = channel();
        let start = Arc::new(Start::new(threads));
        let pulse = Arc::new(Pulse::new(threads));
        let hiccups = HiccupMeter::start()?;
        let patience = Arc::new(Patience::new(self.patience_ns()));
        let handles: Vec<_> = shards
            .into_iter()
            .enumerate()
            .map(|(shard, lanes)| {
                let plan = ShardPlan {
                    shard: (shard, threads),
                    clock: Clock::system(),
                    connections: self.plan.connections,
                    operations: counted(stage, &lanes, self.plan.connections),
                    pace: stage.pace.clone(),
                    length_ns: stage.length_ns,
                    window_ns: window_ns(stage, self.plan.connections),
                    pulse: pulse.clone(),
                    timeout_ns: self.plan.timeout_ns,
                    patience: patience.clone(),
                    gather_ns: gather_ns(stage),
                    fill_chunk: window.map(|window| window / 100),
                    pinned: self.pinned,
                    raw: raw || slots.is_some(),
                    stop: self.stop.clone(),
                    start: start.clone(),
                    sink: sink.clone(),
                };
                let target = self.target.clone();
                let name = format!("shard-{shard}");
                std::thread::Builder::new()
                    .name(name)
                    .spawn(move || target.apply(ShardWork { plan, lanes }))
            })
            .collect::<io::Result<_>>()?;
        drop(sink);
        let sizes = window.map(|_| Sizes::ask(self.target.clone(), start.clone())).transpose()?;
        let connections = self.plan.connections;
        let epoch_ns = self.began_wall.saturating_sub(self.began);
        let watch =
            StageWatch { stage, connections, start: start.clone(), stop: self.stop, epoch_ns };
        let (totals, series) = watch.collect(&source, observer, slots.as_mut())?;
        let mut collected = Collected::new(totals, series);
        for handle in handles {
            collected.add(handle.join().map_err(|_| io::Error::other("a load thread panicked"))??);
        }
        let record = collected.record(Frame {
            plan: stage,
            connections,
            began: [self.began, start.moment().unwrap_or(self.began)],
            hiccups: hiccups.finish(),
            card: self.plan.target.card(),
            slots: slots.map(|slots| slots.finish()).unwrap_or_default(),
            growth: window.map(|it| (it, sizes.map(Sizes::finish).unwrap_or_default())),
        });
        Ok((record, collected.lanes.into_iter().map(|lane| lane.workload).collect()))
    }
}

impl Bench<'_> {
    /// The number of documents between two points of a fill's growth: what all connections insert
    /// at once, and at least a thousandth of all. svetlyak40wt's couchdb-performance-tests of 2008
    /// did the same.
    fn window(&self, stage: &StagePlan) -> Option<u64> {
        let fill = stage.work.fill().filter(|_| self.plan.fill.growth)?;
        let at_once = self.plan.connections as u64 * u64::from(fill.batch);
        Some(at_once.max(fill.documents / 1_000))
    }

    /// How long the server may be silent before it counts as gone.
    fn patience_ns(&self) -> Nanos {
        self.plan.fill.wait_for_server_ns.unwrap_or(self.plan.timeout_ns)
    }
}

/// Deals the connections out to the threads, one by one.
fn dealt<W>(workloads: Vec<W>, threads: usize) -> Vec<Vec<Lane<W>>> {
    let mut shards: Vec<Vec<Lane<W>>> = (0..threads).map(|_| Vec::new()).collect();
    for (connection, workload) in workloads.into_iter().enumerate() {
        shards[connection % threads].push(Lane { connection, workload });
    }
    shards
}

/// How long the start waits for connections; by default, as long as connecting may take.
fn gather_ns(stage: &StagePlan) -> Nanos {
    stage.work.gathering().map_or(86_400 * SECOND_NS, |it| it.patience_ns)
}

/// What the main thread watches while shards work.
struct StageWatch<'a> {
    stage: &'a StagePlan,
    connections: usize,
    start: Arc<Start>,
    stop: &'a Stop,
    /// The offset from the clock of the run to nanoseconds since 1970.
    epoch_ns: Nanos,
}

impl StageWatch<'_> {
    /// Merges the measurements of the shards until they are done, and reports progress.
    fn collect(
        &self,
        source: &Receiver<Interval>,
        observer: &mut dyn Observer,
        mut slots: Option<&mut SlotSums>,
    ) -> Result<(Totals, Series), RunError> {
        let (mut totals, mut series) = (Totals::default(), Series::default());
        let mut progress = Progress {
            planned: self.stage.work.documents(self.connections),
            length_s: self.stage.length_ns.map(|ns| ns as f64 / SECOND_NS as f64),
            ..Progress::default()
        };
        let mut told = true;
        let mut live = observer.watches().then(|| LiveStage::new(self.stage, self.connections));
        loop {
            match source.recv_timeout(PROGRESS_EVERY) {
                Ok(interval) => {
                    totals.add(&interval);
                    series.add(&interval);
                    if let (Some(slots), Some(start)) = (&mut slots, self.start.moment()) {
                        slots.add(&interval.raw, start);
                    } else if !interval.raw.is_empty() {
                        observer.raw(&interval.raw, self.epoch_ns);
                    }
                    told = false;
                }
                Err(RecvTimeoutError::Timeout) => {
                    if self.stop.reason() == Some(StopReason::Aborted) {
                        return Err(RunError::Aborted);
                    }
                    let now = Clock::system().now();
                    let elapsed = self.start.moment().map_or(0, |start| now - start);
                    progress.elapsed_s = elapsed as f64 / SECOND_NS as f64;
                    if !std::mem::replace(&mut told, true) {
                        progress.describe(&totals, &series);
                    }
                    observer.progress(&progress);
                    if let Some(running) = live.as_mut().and_then(|it| it.look(elapsed, &totals)) {
                        observer.running(running);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return Ok((totals, series)),
            }
        }
    }
}

/// The number of operations for these connections, if they are counted.
fn counted<W>(stage: &StagePlan, lanes: &[Lane<W>], connections: usize) -> Option<u64> {
    lanes.iter().map(|lane| stage.work.operations(lane.connection, connections)).sum()
}
