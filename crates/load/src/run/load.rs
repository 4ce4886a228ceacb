//! The load of one stage: distributes connections to threads, and waits for the threads to end.

use super::RunError;
use super::bench::Bench;
use super::collect::window_ns;
use crate::clock::{Clock, Nanos, SECOND_NS};
use crate::driver::{Target, WithTarget};
use crate::engine::{Details, Lane, Patience, ShardPlan, ShardResult, Start, run_shard};
use crate::measure::{HiccupMeter, Hiccups, Interval, Pulse};
use crate::plan::{MeasurementPlan, StagePlan};
use crate::workload::Workload;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;

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

/// The threads of a stage while they work.
pub(super) struct Load<W> {
    threads: Vec<JoinHandle<io::Result<ShardResult<W>>>>,
    hiccups: HiccupMeter,
    /// The workloads of connections that belong to other agents, by their numbers.
    others: Vec<(usize, W)>,
}

/// What the threads of a stage leave behind, besides the seconds that they sent.
pub(super) struct Ended<W> {
    pub(super) shards: Vec<ShardResult<()>>,
    pub(super) hiccups: Hiccups,
    /// One per connection of the run, in their order.
    pub(super) workloads: Vec<W>,
}

impl<W: Workload + Send + 'static> Load<W> {
    /// Starts the threads of this process's connections. `start` is for as many as
    /// [`Bench::own_shards`]; what they measure arrives at the receiver.
    pub(super) fn begin(
        bench: &Bench<'_>,
        stage: &StagePlan,
        workloads: Vec<W>,
        start: &Arc<Start>,
    ) -> Result<(Self, Receiver<Interval>), RunError> {
        let shards = bench.shards(stage);
        let (own, others) = bench.dealt(workloads, shards);
        let plan = bench.plan;
        let raw = |it: &MeasurementPlan| it.measurement.is_raw() || it.slots_ms().is_some();
        let details = Details {
            raw: plan.ycsb.as_ref().is_some_and(raw),
            acks: bench.follows(stage).is_some(),
            ages: plan.operations.iter().any(|it| it.expect.wants_document()),
        };
        let (sink, source) = channel();
        let pulse = Arc::new(Pulse::new(shards));
        let hiccups = HiccupMeter::start()?;
        let patience = Arc::new(Patience::new(bench.patience_ns(stage)));
        let threads = own
            .into_iter()
            .map(|(shard, lanes)| {
                let plan = ShardPlan {
                    shard: (shard, shards),
                    clock: Clock::system(),
                    connections: plan.connections,
                    operations: counted(stage, &lanes, plan.connections),
                    pace: stage.pace.clone(),
                    length_ns: stage.length_ns,
                    window_ns: window_ns(stage, plan.connections),
                    pulse: pulse.clone(),
                    timeout_ns: plan.timeout_ns,
                    patience: patience.clone(),
                    gather_ns: gather_ns(stage),
                    fill_chunk: bench.window(stage).map(|window| window / 100),
                    pinned: bench.pinned,
                    details,
                    journal: bench.noted(stage),
                    stop: bench.stop.clone(),
                    start: start.clone(),
                    sink: sink.clone(),
                };
                let target = bench.target.clone();
                std::thread::Builder::new()
                    .name(format!("shard-{shard}"))
                    .spawn(move || target.apply(ShardWork { plan, lanes }))
            })
            .collect::<io::Result<_>>()?;
        Ok((Self { threads, hiccups, others }, source))
    }

    /// Waits for the threads.
    pub(super) fn join(self) -> Result<Ended<W>, RunError> {
        let (mut shards, mut workloads) = (Vec::new(), self.others);
        for thread in self.threads {
            let shard = thread.join().map_err(|_| io::Error::other("a load thread panicked"))??;
            let (shard, own) = shard.parted();
            shards.push(shard);
            workloads.extend(own);
        }
        workloads.sort_unstable_by_key(|(connection, _)| *connection);
        let workloads = workloads.into_iter().map(|(_, workload)| workload).collect();
        Ok(Ended { shards, hiccups: self.hiccups.finish(), workloads })
    }
}

/// How long the start waits for connections; by default, as long as connecting may take.
fn gather_ns(stage: &StagePlan) -> Nanos {
    stage.work.traits().gathering.map_or(86_400 * SECOND_NS, |it| it.patience_ns)
}

/// The number of operations for these connections, if they are counted.
fn counted<W>(stage: &StagePlan, lanes: &[Lane<W>], connections: usize) -> Option<u64> {
    let first = lanes.iter().filter(|lane| lane.connection < connections);
    first.map(|lane| stage.work.operations(lane.connection, connections)).sum()
}
