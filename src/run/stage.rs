//! One stage: shares the connections out to threads, collects what they measure.

use super::live::LiveStage;
use super::sizes::{Inspect, Sizes};
use super::{Observer, Progress, RunError};
use crate::clock::{Clock, Nanos, SECOND_NS};
use crate::engine::{
    Lane, LaneResult, LoadCounts, Pace, Patience, ShardPlan, ShardResult, Start, Stop, StopReason,
    run_shard,
};
use crate::measure::{
    ConnectionTimes, FillLog, Growth, Histogram, Interval, PhaseTable, Series, SlotSums, Totals,
};
use crate::op::OpKind;
use crate::plan::{DriverName, MeasurementPlan, Plan, StageKind, StagePlan};
use crate::record::{ClientRecord, LoadRecord, StageRecord, StartRecord, Verdict};
use crate::target::{Driver, Target, WithTarget};
use crate::workload::Workload;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often progress is told.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

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
    fills: Vec<FillLog>,
}

/// What one thread does, with whatever driver.
struct ShardWork<W> {
    plan: ShardPlan,
    lanes: Vec<Lane<W>>,
}

impl<W: Workload + 'static> WithTarget for ShardWork<W> {
    type Output = io::Result<ShardResult<W>>;

    fn with<T: Target<Session: 'static>>(self, target: &T) -> Self::Output {
        run_shard(&self.plan, target, self.lanes)
    }
}

/// What the stages of a run have in common.
pub(super) struct Bench<'a> {
    pub(super) plan: &'a Plan,
    pub(super) target: &'a Driver,
    pub(super) stop: &'a Arc<Stop>,
    /// When the run began.
    pub(super) began: Nanos,
    /// The same on the wall clock, in nanoseconds since 1970.
    pub(super) began_wall: Nanos,
    /// The server is in this process: each thread keeps to its processor.
    pub(super) pinned: bool,
    /// How the size of the database is asked for, where it is.
    pub(super) inspect: Option<&'a Inspect>,
}

impl Bench<'_> {
    /// Runs the workloads, one per connection, and gives them back in the same order.
    pub(super) fn run<W: Workload + Send + 'static>(
        &self,
        stage: &StagePlan,
        workloads: Vec<W>,
        observer: &mut dyn Observer,
    ) -> Result<(StageRecord, Vec<W>), RunError> {
        let threads = stage.shards(self.plan.threads);
        let mut shards: Vec<Vec<Lane<W>>> = (0..threads).map(|_| Vec::new()).collect();
        for (connection, workload) in workloads.into_iter().enumerate() {
            shards[connection % threads].push(Lane { connection, workload });
        }
        let window = self.window(stage);
        let measurement = self.plan.ycsb.as_ref();
        let raw = measurement.is_some_and(|it| it.measurement.is_raw());
        let slots_ms = measurement.and_then(MeasurementPlan::slots_ms);
        let mut slots = slots_ms.map(|ms| SlotSums::new(ms.into()));
        let (sink, source) = channel();
        let start = Arc::new(Start::new(threads));
        let patience = Arc::new(Patience::new(self.patience_ns()));
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
                    patience: patience.clone(),
                    gather_ns: gather_ns(&stage.kind),
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
        let sizes = match (window, self.inspect) {
            (Some(_), Some(inspect)) => Some(Sizes::ask(inspect.clone(), start.clone())?),
            _ => None,
        };
        let connections = self.plan.connections;
        let epoch_ns = self.began_wall.saturating_sub(self.began);
        let watch = Watch { stage, connections, start: start.clone(), stop: self.stop, epoch_ns };
        let (totals, series) = watch.collect(&source, observer, slots.as_mut())?;
        let mut collected = join(handles, totals, series)?;
        collected.lanes.sort_by_key(|lane| lane.connection);
        let mut record = stage_record(stage, &collected);
        record.slots = slots.map(|slots| slots.finish()).unwrap_or_default();
        record.growth = window.map(|window| Growth {
            sizes: sizes.map(Sizes::finish).unwrap_or_default(),
            ..Growth::new(&collected.fills, window)
        });
        if matches!(stage.kind, StageKind::Burst(_)) {
            record.start = Some(start_record(&collected.lanes));
        }
        let waited_ns = start.moment().map_or(0, |moment| moment.saturating_sub(self.began));
        if self.plan.target.driver == DriverName::Basic
            && matches!(record.verdict, Verdict::ClientBound { .. })
        {
            // There is no server: springload itself is what is measured.
            record.verdict = Verdict::Closed;
        }
        record.began_s = waited_ns as f64 / SECOND_NS as f64;
        Ok((record, collected.lanes.into_iter().map(|lane| lane.workload).collect()))
    }
}

impl Bench<'_> {
    /// Documents between two points of a fill whose growth is kept: what all connections insert
    /// at once, and a thousandth of all at least. So it was in svetlyak40wt's
    /// couchdb-performance-tests of 2008.
    fn window(&self, stage: &StagePlan) -> Option<u64> {
        let StageKind::BulkInsert { documents, batch } = stage.kind else { return None };
        let at_once = self.plan.connections as u64 * u64::from(batch);
        self.plan.fill.growth.then_some(at_once.max(documents / 1_000))
    }

    /// How long the server may answer nothing before it counts as gone.
    fn patience_ns(&self) -> Nanos {
        self.plan.fill.wait_for_server_ns.unwrap_or(self.plan.timeout_ns)
    }
}

/// How long the start waits for connections; where nobody asked, as long as connecting may take.
const fn gather_ns(kind: &StageKind) -> Nanos {
    match kind {
        StageKind::Burst(burst) => burst.gather_ns,
        _ => 86_400 * SECOND_NS,
    }
}

/// What the conducting thread watches while shards work.
struct Watch<'a> {
    stage: &'a StagePlan,
    connections: usize,
    start: Arc<Start>,
    stop: &'a Stop,
    /// From the clock of the run to nanoseconds since 1970.
    epoch_ns: Nanos,
}

impl Watch<'_> {
    /// Merges what the shards measure until they are done, and tells how it goes.
    fn collect(
        &self,
        source: &Receiver<Interval>,
        observer: &mut dyn Observer,
        mut slots: Option<&mut SlotSums>,
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

fn join<W>(
    handles: Vec<JoinHandle<io::Result<ShardResult<W>>>>,
    mut totals: Totals,
    series: Series,
) -> Result<Collected<W>, RunError> {
    let mut lanes = Vec::new();
    let mut fills = Vec::new();
    let (mut load, mut lateness) = (LoadCounts::default(), Histogram::default());
    let (mut elapsed_ns, mut cpu_ns, mut busiest_thread) = (0, 0, 0.0f64);
    for handle in handles {
        let shard = handle.join().map_err(|_| io::Error::other("a load thread panicked"))??;
        for (sum, part) in totals.issued.iter_mut().zip(shard.issued) {
            *sum += part;
        }
        lateness.merge(&shard.lateness);
        fills.push(shard.fill);
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
    Ok(Collected { lanes, totals, series, load, elapsed_s, cpu_s, busiest_thread, lateness, fills })
}

/// The operations that these connections are to do, where they are counted.
fn counted<W>(kind: &StageKind, lanes: &[Lane<W>], connections: usize) -> Option<u64> {
    lanes.iter().map(|lane| kind.operations(lane.connection, connections)).sum()
}

/// Operations and documents that a stage's plan asks for, where it gives a number.
fn planned(kind: &StageKind, connections: usize) -> Option<(u64, u64)> {
    let operations =
        (0..connections).map(|k| kind.operations(k, connections)).sum::<Option<_>>()?;
    match kind {
        StageKind::BulkInsert { documents, .. } => Some((operations, *documents)),
        StageKind::Crud { .. } | StageKind::Burst(_) | StageKind::Urls { .. } => {
            Some((operations, operations))
        }
        StageKind::Ycsb(ycsb) => Some((operations, ycsb.records().unwrap_or(operations))),
    }
}

fn stage_record<W>(stage: &StagePlan, collected: &Collected<W>) -> StageRecord {
    let Collected { totals, series, load, elapsed_s, .. } = collected;
    let operations = totals.summarise(*elapsed_s);
    let of = |wanted: fn(OpKind) -> bool| -> u64 {
        operations.iter().filter(|it| wanted(it.kind)).map(|it| it.requests).sum()
    };
    let requests = of(OpKind::is_request);
    // A read-modify-write falls due once and makes two requests.
    let served = requests - of(|kind| kind == OpKind::ReadModifyWrite);
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
        served_per_s: per_s(served, *elapsed_s),
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
        noted_answers: collected.lanes.iter().map(|lane| lane.times.noted_answers).sum(),
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
        slots: Vec::new(),
        growth: None,
        start: None,
    }
}

/// When the workers sent their first requests: by rank, exactly.
fn start_record<W>(lanes: &[LaneResult<W>]) -> StartRecord {
    let mut sent: Vec<Nanos> = lanes.iter().filter_map(|lane| lane.first_sent_ns).collect();
    sent.sort_unstable();
    let rank = |share: f64| {
        let place = (share * sent.len() as f64).ceil() as usize;
        sent.get(place.max(1) - 1).map_or(0.0, |&ns| ns as f64 / 1e3)
    };
    StartRecord {
        workers: sent.len() as u64,
        late: lanes.iter().filter(|lane| lane.late).count() as u64,
        first_us: rank(0.0),
        p50_us: rank(0.5),
        p99_us: rank(0.99),
        last_us: rank(1.0),
    }
}
