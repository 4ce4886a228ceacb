//! The load of one stage: distributes connections to threads, and waits for them to end.

use super::RunError;
use super::bench::Bench;
use super::window::window_ns;
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
pub(super) struct EndedStage {
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
        let details = Details {
            raw: plan.ycsb.as_ref().is_some_and(keeps_requests),
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
                    fill_chunk: bench.window(stage).map(chunk),
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

    pub(super) fn join(self) -> Result<EndedStage, RunError> {
        let (mut shards, mut workloads) = (Vec::new(), Vec::new());
        for thread in self.threads {
            let ended = thread.join().map_err(|_| io::Error::other("a load thread panicked"))?;
            let worked = ended?;
            shards.push(worked.measured);
            workloads.push(worked.workloads);
        }
        Ok(EndedStage { shards, hiccups: self.hiccups.finish(), workloads })
    }
}

/// Whether each request is kept: to be listed, or summed over intervals other than a second.
fn keeps_requests(plan: &MeasurementPlan) -> bool {
    plan.measurement.is_raw() || plan.slots_ms().is_some()
}

/// How many documents may pass between two entries of a fill's log, given those between two points
/// of its growth.
const fn chunk(window: u64) -> u64 {
    window / 100
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

#[cfg(test)]
mod tests {
    use super::super::fixture_tests::{planned, spec};
    use super::*;
    use crate::plan::{MeasurementType, PlanSpec};

    #[test]
    fn requests_are_kept_to_be_listed_or_for_intervals_of_their_own() {
        let of = |measurement, granularity_ms| {
            let plan = MeasurementPlan::default();
            keeps_requests(&MeasurementPlan { measurement, granularity_ms, ..plan })
        };
        assert!(of(MeasurementType::Raw, None));
        assert!(of(MeasurementType::TimeSeries, Some(100)));
        assert!(!of(MeasurementType::TimeSeries, None), "seconds are always there");
        assert!(!of(MeasurementType::HdrHistogram, Some(100)));
    }

    #[test]
    fn the_log_of_a_fill_is_a_hundred_times_finer_than_its_growth() {
        assert_eq!([60, 200, 12_345].map(chunk), [0, 2, 123]);
    }

    #[test]
    fn a_limited_number_of_operations_is_that_of_all_threads_together() {
        let plan = planned(&spec(60, Some(81)));
        let of = |shard| counted(&plan.stages[1], shard, 3, plan.connections);
        let counts: Vec<u64> = (0..3).map(|shard| of(shard).expect("it is limited")).collect();
        assert_eq!(counts.iter().sum::<u64>(), 81);
        assert!(counts.iter().all(|count| (26..=28).contains(count)), "{counts:?}");
        let endless = spec(60, None);
        let endless = planned(&PlanSpec { duration_ns: Some(SECOND_NS), ..endless });
        assert_eq!(counted(&endless.stages[1], 0, 3, 6), None);
    }

    #[test]
    fn a_stage_without_a_common_start_waits_for_connections_as_long_as_connecting_takes() {
        let plan = planned(&spec(60, Some(81)));
        let day_ns = 24 * 60 * 60 * SECOND_NS;
        assert_eq!(gather_ns(&plan.stages[1]), day_ns);
    }
}
