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
    let reading_ns = clock.now() - before;
    let late = timer(clock)?;
    Ok(figures(reading_ns, &late, turn_ns(clock, documents)?, threads))
}

/// The limits of `threads` threads: from how long all readings of the clock took, how late sleeps
/// ended, and how long one turn of the loop takes.
fn figures(reading_ns: Nanos, late: &Histogram, loop_ns: f64, threads: usize) -> Calibration {
    Calibration {
        clock_ns: reading_ns as f64 / f64::from(CLOCK_READS),
        timer_late_p50_us: late.percentile(50.0) as f64 / 1e3,
        timer_late_max_us: late.max() as f64 / 1e3,
        loop_ns,
        ceiling_per_s: SECOND_NS as f64 / loop_ns.max(1.0) * threads as f64,
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::SchemaPlan;

    fn close(value: f64, expected: f64) {
        assert!((value - expected).abs() <= expected.abs() * 2e-3, "{value}, not {expected}");
    }

    #[test]
    fn limits_are_per_reading_in_microseconds_and_for_all_threads() {
        let mut late = Histogram::default();
        late.record_many(60_000, 39);
        late.record(5_250_000);
        let found = figures(255_000, &late, 128.0, 3);
        close(found.clock_ns, 25.5);
        close(found.timer_late_p50_us, 60.0);
        close(found.timer_late_max_us, 5_250.0);
        close(found.loop_ns, 128.0);
        close(found.ceiling_per_s, 3.0 * 7_812_500.0);
        // However fast the loop is, the clock has no finer unit.
        close(figures(0, &late, 0.5, 1).ceiling_per_s, 1e9);
    }

    #[test]
    fn what_is_measured_fits_into_the_time_that_it_took() {
        let clock = Clock::system();
        let documents = SchemaPlan::documents(1, &[SchemaPlan::built_in()]).unwrap();
        let before = clock.now();
        let found = calibrate(&Arc::new(documents), 2).unwrap();
        let took_ns = (clock.now() - before) as f64;
        let reading_ns = found.clock_ns * f64::from(CLOCK_READS);
        assert!(found.clock_ns > 1.0 && reading_ns < took_ns, "{found:?} in {took_ns} ns");
        assert!(found.loop_ns > 1.0 && found.loop_ns < took_ns, "{found:?} in {took_ns} ns");
        let late_ns = found.timer_late_max_us * 1e3;
        assert!(late_ns > 0.0 && late_ns < took_ns, "{found:?} in {took_ns} ns");
        assert!(found.timer_late_p50_us <= found.timer_late_max_us, "{found:?}");
    }

    #[test]
    fn each_sleep_is_timed_from_when_it_should_have_ended() {
        let clock = Clock::system();
        let before = clock.now();
        let late = timer(clock).unwrap();
        let took_ns = clock.now() - before;
        assert_eq!(late.len(), u64::from(SLEEPS));
        let slept_ns = u64::from(SLEEPS) * SLEEP_NS;
        assert!(took_ns >= slept_ns, "{took_ns}");
        let late_ns = late.mean() * late.len() as f64;
        assert!(late_ns > 0.0 && late_ns < (took_ns - slept_ns) as f64 * 1.01, "{late_ns}");
    }
}
