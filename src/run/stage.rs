//! One stage: shares the connections out to threads, collects what they measure.

use super::live::LiveStage;
use super::{Observer, Progress, RunError};
use crate::clock::{Clock, Nanos, SECOND_NS};
use crate::engine::{
    Lane, LaneResult, LoadCounts, Pace, ShardPlan, ShardResult, Start, Stop, StopReason, run_shard,
};
use crate::measure::{ConnectionTimes, Histogram, Interval, PhaseTable, Series, Totals};
use crate::op::OpKind;
use crate::plan::{CrudOrder, Plan, StageKind, StagePlan};
use crate::record::{ClientRecord, LoadRecord, StageRecord, Verdict};
use crate::schema::Documents;
use crate::target::couchdb::CouchDb;
use crate::workload::{Budget, BulkInsert, Crud, CurrentDocument, Live, Workload};
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often progress is told.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// The connections of a run: what each has in the database, from stage to stage.
pub(super) struct Connections<'a> {
    plan: &'a Plan,
    documents: Arc<Documents>,
    /// When the run began.
    began: Nanos,
    bulk: u64,
    live: Vec<Live>,
    warm: Vec<Crud>,
    pinned: bool,
}

/// What all shards of a stage left behind.
struct Collected<W> {
    lanes: Vec<LaneResult<W>>,
    totals: Totals,
    series: Series,
    load: LoadCounts,
    elapsed_s: f64,
    cpu_s: f64,
    busiest_thread: f64,
    lateness: Histogram,
}

impl<'a> Connections<'a> {
    /// The connections of `plan` before its first stage, in a run that began at `began`. With
    /// `pinned`, the server is in this process: each thread keeps to its processor.
    pub(super) fn new(
        plan: &'a Plan,
        documents: Arc<Documents>,
        began: Nanos,
        pinned: bool,
    ) -> Self {
        let live = vec![Live::default(); plan.connections];
        Self { plan, documents, began, bulk: 0, live, warm: Vec::new(), pinned }
    }

    /// Carries out one stage.
    pub(super) fn run_stage(
        &mut self,
        stage: &StagePlan,
        target: &CouchDb,
        stop: &Arc<Stop>,
        observer: &mut dyn Observer,
    ) -> Result<StageRecord, RunError> {
        let (plan, seed) = (self.plan, self.plan.seed);
        let connections = plan.connections;
        match &stage.kind {
            StageKind::BulkInsert { documents, batch } => {
                let make = |k| {
                    let keys = stage.kind.bulk_keys(k, connections);
                    BulkInsert::new(self.documents.clone(), keys, *batch)
                };
                let lanes = (0..connections).map(make).collect();
                let (record, lanes) = self.run_lanes(stage, target, lanes, (stop, observer))?;
                self.live = lanes.into_iter().map(BulkInsert::into_live).collect();
                self.bulk = *documents;
                Ok(record)
            }
            StageKind::Crud { order: CrudOrder::Current, .. } => {
                let make = |(k, live): (usize, Live)| {
                    let Budget::Counted(left) = stage.kind.budget(k, connections) else {
                        unreachable!("this order is planned with counts only")
                    };
                    let keys = stage.kind.create_keys(self.bulk, k, connections);
                    let of = (seed, k as u64);
                    CurrentDocument::new(self.documents.clone(), of, left, &live, keys)
                };
                let live = std::mem::take(&mut self.live).into_iter();
                let lanes = live.enumerate().map(make).collect();
                Ok(self.run_lanes(stage, target, lanes, (stop, observer))?.0)
            }
            StageKind::Crud { order: CrudOrder::Uniform, .. } => {
                let lanes = self.crud_lanes(stage);
                let (record, lanes) = self.run_lanes(stage, target, lanes, (stop, observer))?;
                self.warm = lanes;
                Ok(record)
            }
        }
    }

    /// The workloads of a CRUD stage: those of the warm-up with a new budget, or fresh ones.
    fn crud_lanes(&mut self, stage: &StagePlan) -> Vec<Crud> {
        let connections = self.plan.connections;
        if !self.warm.is_empty() {
            let warm = std::mem::take(&mut self.warm).into_iter().enumerate();
            return warm.map(|(k, w)| w.with_budget(stage.kind.budget(k, connections))).collect();
        }
        let live = std::mem::take(&mut self.live).into_iter().enumerate();
        let make = |(k, live)| {
            let keys = stage.kind.create_keys(self.bulk, k, connections);
            let budget = stage.kind.budget(k, connections);
            Crud::new(self.documents.clone(), (self.plan.seed, k as u64), budget, live, keys)
        };
        live.map(make).collect()
    }

    /// Runs the workloads, one per connection, and gives them back in the same order.
    fn run_lanes<W: Workload + Send + 'static>(
        &self,
        stage: &StagePlan,
        target: &CouchDb,
        workloads: Vec<W>,
        (stop, observer): (&Arc<Stop>, &mut dyn Observer),
    ) -> Result<(StageRecord, Vec<W>), RunError> {
        let threads = self.plan.threads;
        let mut shards: Vec<Vec<Lane<W>>> = (0..threads).map(|_| Vec::new()).collect();
        for (connection, workload) in workloads.into_iter().enumerate() {
            shards[connection % threads].push(Lane { connection, workload });
        }
        let (sink, source) = channel();
        let start = Arc::new(Start::new(threads));
        let handles: Vec<_> = shards
            .into_iter()
            .enumerate()
            .map(|(shard, lanes)| {
                let plan = ShardPlan {
                    shard: (shard, threads),
                    clock: Clock::system(),
                    connections: self.plan.connections,
                    operations: counted(&stage.kind, &lanes, self.plan.connections),
                    pace: stage.pace.clone(),
                    length_ns: stage.length_ns,
                    timeout_ns: self.plan.timeout_ns,
                    pinned: self.pinned,
                    stop: stop.clone(),
                    start: start.clone(),
                    sink: sink.clone(),
                };
                let target = target.clone();
                let name = format!("shard-{shard}");
                std::thread::Builder::new()
                    .name(name)
                    .spawn(move || run_shard(&plan, &target, lanes))
            })
            .collect::<io::Result<_>>()?;
        drop(sink);
        let connections = self.plan.connections;
        let watch = Watch { stage, connections, start: start.clone(), stop };
        let (totals, series) = watch.collect(&source, observer)?;
        let mut collected = join(handles, totals, series)?;
        collected.lanes.sort_by_key(|lane| lane.connection);
        let mut record = stage_record(stage, &collected);
        let waited_ns = start.moment().map_or(0, |moment| moment.saturating_sub(self.began));
        record.began_s = waited_ns as f64 / SECOND_NS as f64;
        Ok((record, collected.lanes.into_iter().map(|lane| lane.workload).collect()))
    }
}

/// What the conducting thread watches while shards work.
struct Watch<'a> {
    stage: &'a StagePlan,
    connections: usize,
    start: Arc<Start>,
    stop: &'a Stop,
}

impl Watch<'_> {
    /// Merges what the shards measure until they are done, and tells how it goes.
    fn collect(
        &self,
        source: &Receiver<Interval>,
        observer: &mut dyn Observer,
    ) -> Result<(Totals, Series), RunError> {
        let (mut totals, mut series) = (Totals::default(), Series::default());
        let mut progress = Progress {
            planned: planned(&self.stage.kind, self.connections).map(|(_, documents)| documents),
            length_s: self.stage.length_ns.map(|ns| ns as f64 / SECOND_NS as f64),
            ..Progress::default()
        };
        let mut told = true;
        let mut live = observer.watches().then(|| LiveStage::new(self.stage));
        loop {
            match source.recv_timeout(PROGRESS_EVERY) {
                Ok(interval) => {
                    totals.add(&interval);
                    series.add(&interval);
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

fn join<W>(
    handles: Vec<JoinHandle<io::Result<ShardResult<W>>>>,
    mut totals: Totals,
    series: Series,
) -> Result<Collected<W>, RunError> {
    let mut lanes = Vec::new();
    let (mut load, mut lateness) = (LoadCounts::default(), Histogram::default());
    let (mut elapsed_ns, mut cpu_ns, mut busiest_thread) = (0, 0, 0.0f64);
    for handle in handles {
        let shard = handle.join().map_err(|_| io::Error::other("a load thread panicked"))??;
        for (sum, part) in totals.issued.iter_mut().zip(shard.issued) {
            *sum += part;
        }
        lateness.merge(&shard.lateness);
        load.offered += shard.load.offered;
        load.begun += shard.load.begun;
        load.dropped += shard.load.dropped;
        load.unsent += shard.load.unsent;
        elapsed_ns = shard.elapsed_ns.max(elapsed_ns);
        cpu_ns += shard.cpu_ns;
        let busy = shard.cpu_ns as f64 / shard.elapsed_ns.max(1) as f64;
        busiest_thread = busiest_thread.max(busy);
        lanes.extend(shard.lanes);
    }
    let seconds = |ns: u64| ns as f64 / SECOND_NS as f64;
    let (elapsed_s, cpu_s) = (seconds(elapsed_ns), seconds(cpu_ns));
    Ok(Collected { lanes, totals, series, load, elapsed_s, cpu_s, busiest_thread, lateness })
}

/// The operations that these connections are to do, where they are counted.
fn counted<W>(kind: &StageKind, lanes: &[Lane<W>], connections: usize) -> Option<u64> {
    let budget = |lane: &Lane<W>| match kind.budget(lane.connection, connections) {
        Budget::Counted(left) => Some(left.iter().sum::<u64>()),
        Budget::Endless(_) => None,
    };
    lanes.iter().map(budget).sum()
}

/// Requests and documents that a stage's plan asks for, where it gives a number.
fn planned(kind: &StageKind, connections: usize) -> Option<(u64, u64)> {
    match kind {
        StageKind::BulkInsert { documents, batch } => {
            let requests = |k| {
                let keys = kind.bulk_keys(k, connections);
                (keys.end - keys.start).div_ceil(u64::from(*batch))
            };
            Some(((0..connections).map(requests).sum(), *documents))
        }
        StageKind::Crud { operations, .. } => operations.map(|count| (count, count)),
    }
}

fn stage_record<W>(stage: &StagePlan, collected: &Collected<W>) -> StageRecord {
    let Collected { totals, series, load, elapsed_s, .. } = collected;
    let operations = totals.summarise(*elapsed_s);
    let requests: u64 = operations.iter().map(|operation| operation.requests).sum();
    let open = matches!(stage.pace, Pace::Open { .. });
    let schedule_s = stage.length_ns.map_or(*elapsed_s, |ns| ns as f64 / SECOND_NS as f64);
    let per_s = |count: u64, seconds: f64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
    let load = LoadRecord {
        open,
        planned: planned(&stage.kind, collected.lanes.len()).map(|(requests, _)| requests),
        offered: load.offered,
        begun: load.begun,
        dropped: load.dropped,
        unsent: load.unsent,
        offered_per_s: per_s(load.offered, schedule_s.min(*elapsed_s)),
        served_per_s: per_s(requests, *elapsed_s),
    };
    let mut lag = Histogram::default();
    for operation in &operations {
        lag.merge(&operation.lag.histogram);
    }
    let micros = |it: &Histogram, p| it.earns(p).then(|| it.percentile(p) as f64 / 1e3);
    let client = ClientRecord {
        cpu_s: collected.cpu_s,
        cpu_per_request_us: per_s((collected.cpu_s * 1e6) as u64, requests as f64),
        busiest_thread: collected.busiest_thread,
        lag_p99_us: micros(&lag, 99.0),
        late_p99_us: micros(&collected.lateness, 99.0),
        late_p99_9_us: micros(&collected.lateness, 99.9),
    };
    let times: Vec<ConnectionTimes> =
        collected.lanes.iter().map(|lane| lane.times.clone()).collect();
    let kinds: Vec<OpKind> = totals.kinds();
    StageRecord {
        name: stage.name.clone(),
        began_s: 0.0,
        elapsed_s: *elapsed_s,
        verdict: Verdict::of(&load, &client, &operations, schedule_s.min(*elapsed_s)),
        load,
        client,
        operations,
        connections: PhaseTable::new(&times, &kinds),
        series: series.clone(),
    }
}
