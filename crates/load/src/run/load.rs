//! The load of one stage: distributes connections to threads, and waits for them to end.

use super::RunError;
use super::bench::Bench;
use super::collect::window_ns;
use crate::clock::{Clock, Nanos, SECOND_NS};
use crate::engine::{Details, ShardPlan, ShardResult, ShardWork, Start, Worked, Workloads};
use crate::measure::{HiccupMeter, Hiccups, Interval, Pulse};
use crate::plan::{MeasurementPlan, StagePlan};
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;

/// The threads of a stage while they work.
pub(super) struct Load {
    threads: Vec<JoinHandle<io::Result<Worked>>>,
    hiccups: HiccupMeter,
}

/// What the threads of a stage leave behind, besides the seconds that they sent.
pub(super) struct Ended {
    pub(super) shards: Vec<ShardResult<()>>,
    pub(super) hiccups: Hiccups,
    pub(super) workloads: Vec<Workloads>,
}

impl Load {
    /// Starts the threads for the connections of this process; they wait for `start`. Their
    /// measurements arrive at the receiver.
    pub(super) fn begin(
        bench: &Bench<'_>,
        stage: &StagePlan,
        work: Vec<ShardWork>,
        start: &Arc<Start>,
    ) -> Result<(Self, Receiver<Interval>), RunError> {
        let shards = bench.deal(stage).shards;
        let plan = bench.plan;
        let raw = |it: &MeasurementPlan| it.measurement.is_raw() || it.slots_ms().is_some();
        let details = Details {
            raw: plan.ycsb.as_ref().is_some_and(raw),
            acks: bench.follows(stage).is_some(),
            ages: plan.operations.iter().any(|it| it.expect.wants_document()),
        };
        let within_ns = stage.work.traits().fill.and_then(|fill| fill.within_ns);
        let (sink, source) = channel();
        let pulse = Arc::new(Pulse::new(shards));
        let hiccups = HiccupMeter::start()?;
        bench.patience.begin(bench.patience_ns(stage));
        let threads = work
            .into_iter()
            .map(|work| {
                let shard = work.shard;
                let plan = ShardPlan {
                    shard: (shard, shards),
                    clock: Clock::system(),
                    connections: plan.connections,
                    operations: counted(stage, shard, shards, plan.connections),
                    pace: stage.pace.clone(),
                    length_ns: within_ns.or(stage.length_ns),
                    within: within_ns.is_some(),
                    window_ns: window_ns(stage, plan.connections),
                    pulse: pulse.clone(),
                    timeout_ns: plan.timeout_ns,
                    patience: bench.patience.clone(),
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
                    .spawn(move || work.run(&plan, &target))
            })
            .collect::<io::Result<_>>()?;
        Ok((Self { threads, hiccups }, source))
    }

    /// Waits for the threads.
    pub(super) fn join(self) -> Result<Ended, RunError> {
        let (mut shards, mut workloads) = (Vec::new(), Vec::new());
        for thread in self.threads {
            let ended = thread.join().map_err(|_| io::Error::other("a load thread panicked"))?;
            let worked = ended?;
            shards.push(worked.measured);
            workloads.push(worked.workloads);
        }
        Ok(Ended { shards, hiccups: self.hiccups.finish(), workloads })
    }
}

/// How long the start waits for connections; by default, as long as connecting may take.
fn gather_ns(stage: &StagePlan) -> Nanos {
    stage.work.traits().gathering.map_or(86_400 * SECOND_NS, |it| it.patience_ns)
}

/// The number of operations for the connections of thread `shard` out of `shards`, if the number is
/// limited.
fn counted(stage: &StagePlan, shard: usize, shards: usize, connections: usize) -> Option<u64> {
    let own = (shard..connections).step_by(shards);
    own.map(|connection| stage.work.operations(connection, connections)).sum()
}
