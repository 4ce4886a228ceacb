//! Measures the limits of this machine and this program in a few milliseconds before a run, to
//! compare its numbers with.

use crate::clock::{Clock, Nanos, SECOND_NS, Sleeper};
use crate::engine::turn_ns;
use crate::measure::Histogram;
use crate::record::Calibration;
use crate::schema::Documents;
use std::io;
use std::sync::Arc;

const CLOCK_READS: u32 = 10_000;
const SLEEPS: u32 = 40;
const SLEEP_NS: Nanos = 200_000;

/// Measures the clock, the timer and the loop.
pub(super) fn calibrate(documents: &Arc<Documents>, threads: usize) -> io::Result<Calibration> {
    let clock = Clock::system();
    let before = clock.now();
    for _ in 0..CLOCK_READS {
        std::hint::black_box(clock.now());
    }
    let clock_ns = (clock.now() - before) as f64 / f64::from(CLOCK_READS);
    let late = timer(clock)?;
    let loop_ns = turn_ns(clock, documents)?;
    Ok(Calibration {
        clock_ns,
        timer_late_p50_us: late.percentile(50.0) as f64 / 1e3,
        timer_late_max_us: late.max() as f64 / 1e3,
        loop_ns,
        ceiling_per_s: SECOND_NS as f64 / loop_ns.max(1.0) * threads as f64,
    })
}

/// Measures how late sleeps end.
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
