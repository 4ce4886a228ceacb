//! The limits of this machine and this program, measured in a few milliseconds before a run, to
//! compare its numbers with.

use crate::clock::{Clock, Nanos, SECOND_NS, Sleeper};
use crate::driver;
use crate::engine::{Lane, ShardPlan, run_shard};
use crate::measure::Histogram;
use crate::record::Calibration;
use crate::schema::Documents;
use crate::workload::{Budget, Crud, KeySequence, Live, LiveEntry, Mix};
use std::io;
use std::sync::Arc;
use std::sync::mpsc::channel;

const CLOCK_READS: u32 = 10_000;
const SLEEPS: u32 = 40;
const SLEEP_NS: Nanos = 200_000;
const LOOPS: u64 = 5_000;

/// Measures the clock, the timer and the loop.
pub(super) fn calibrate(documents: &Arc<Documents>, threads: usize) -> io::Result<Calibration> {
    let clock = Clock::system();
    let before = clock.now();
    for _ in 0..CLOCK_READS {
        std::hint::black_box(clock.now());
    }
    let clock_ns = (clock.now() - before) as f64 / f64::from(CLOCK_READS);
    let late = timer(clock)?;
    let loop_ns = one_loop(clock, documents)?;
    Ok(Calibration {
        clock_ns,
        timer_late_p50_us: late.percentile(50.0) as f64 / 1e3,
        timer_late_max_us: late.max() as f64 / 1e3,
        loop_ns,
        ceiling_per_s: SECOND_NS as f64 / loop_ns.max(1.0) * threads as f64,
    })
}

/// How late sleeps end.
fn timer(clock: Clock) -> io::Result<Histogram> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let (sleeper, mut late) = (Sleeper::new(clock)?, Histogram::default());
        for _ in 0..SLEEPS {
            let moment = clock.now() + SLEEP_NS;
            sleeper.sleep_until(moment).await;
            late.record(clock.now() - moment);
        }
        Ok(late)
    })
}

/// The duration of one turn of the loop without a wire, in nanoseconds: reads from a target that
/// answers at once.
fn one_loop(clock: Clock, documents: &Arc<Documents>) -> io::Result<f64> {
    let mut live = Live::default();
    (0..100).for_each(|key| live.add(LiveEntry::new(key, 0, None)));
    let (budget, keys) =
        (Budget::Counted(Mix::crud([0, LOOPS, 0, 0])), KeySequence { next: 100, step: 1 });
    let workload = Crud::new(documents.clone(), (0, 0), budget, live, keys);
    let (sink, _source) = channel();
    let plan = ShardPlan { clock, ..ShardPlan::alone((0, 1), 1, sink) };
    let run = move || run_shard(&plan, &driver::at_once(), vec![Lane { connection: 0, workload }]);
    // On a new thread: a shard's runtime needs one.
    let shard = std::thread::spawn(run).join().map_err(|_| io::Error::other("panicked"))??;
    Ok(shard.elapsed_ns as f64 / LOOPS as f64)
}
