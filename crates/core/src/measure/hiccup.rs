//! How late this machine wakes a thread that only sleeps.
//!
//! After jHiccup (Gil Tene): a thread that does nothing but sleep wakes late because of the
//! machine, not because of the load, so the client's own work is no excuse.

use super::Histogram;
use crate::clock::{Clock, Nanos};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// The time between two wake-ups: longer stalls are detected, and 200 wake-ups per second cost
/// about 0.2 % of one processor.
const PERIOD: Duration = Duration::from_millis(5);

/// A thread that sleeps and notes how late it wakes.
#[derive(Debug)]
pub struct HiccupMeter {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<Hiccups>>,
}

/// How late a sleeping thread woke.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Hiccups {
    /// Lateness of each wake-up. A stall counts once for each wake-up that it prevented.
    pub late: Histogram,
}

impl HiccupMeter {
    /// Starts the thread.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn start() -> std::io::Result<Self> {
        let over = Arc::new(AtomicBool::new(false));
        let flag = over.clone();
        let watch = move || {
            let (clock, mut hiccups) = (Clock::system(), Hiccups::default());
            while !flag.load(Ordering::Relaxed) {
                let due = clock.now() + PERIOD.as_nanos() as Nanos;
                std::thread::sleep(PERIOD);
                hiccups.note(clock.now().saturating_sub(due));
            }
            hiccups
        };
        let thread = std::thread::Builder::new().name("hiccups".to_owned()).spawn(watch)?;
        Ok(Self { over, thread: Some(thread) })
    }

    /// Stops the thread, and returns what it measured.
    pub fn finish(mut self) -> Hiccups {
        self.over.store(true, Ordering::Relaxed);
        self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or_default()
    }
}

impl Drop for HiccupMeter {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

impl Hiccups {
    /// Records the lateness of a wake-up and of those it prevented, as HdrHistogram's
    /// `recordValueWithExpectedInterval` does.
    fn note(&mut self, late_ns: Nanos) {
        let period = PERIOD.as_nanos() as Nanos;
        let mut late_ns = Some(late_ns);
        while let Some(late) = late_ns {
            self.late.record(late);
            late_ns = late.checked_sub(period);
        }
    }

    /// The mean of a property of stalls over the time that they took: `of` a length in
    /// nanoseconds.
    ///
    /// A stall of r stands here as r, r − 5 ms, r − 10 ms and so on, so each entry has the share of
    /// the sum r · `of`(r) by which that exceeds the one of the next. 0: there were no stalls.
    pub fn mean_over_time(&self, of: impl Fn(f64) -> f64) -> f64 {
        let period = PERIOD.as_nanos() as f64;
        let (mut sum, mut time) = (0.0, 0.0);
        for (late_ns, count) in self.late.counts() {
            let (late, count) = (late_ns as f64, count as f64);
            let before = (late - period).max(0.0);
            sum += count * (late * of(late) - before * of(before));
            time += count * (late - before);
        }
        if time > 0.0 { sum / time } else { 0.0 }
    }

    /// The greatest lateness, in nanoseconds.
    pub fn longest_ns(&self) -> Nanos {
        self.late.max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_counts_for_each_wake_up_that_it_swallowed() {
        let mut hiccups = Hiccups::default();
        for _ in 0..98 {
            hiccups.note(100_000);
        }
        hiccups.note(12_000_000);
        assert_eq!(hiccups.late.len(), 101);
        assert_eq!(hiccups.longest_ns() / 1_000_000, 12);
        assert!(hiccups.late.percentile(98.0) > 1_900_000, "2, 7 and 12 ms stand at the end");
    }

    #[test]
    fn long_stalls_weigh_as_much_as_they_take() {
        let mut hiccups = Hiccups::default();
        assert!(hiccups.mean_over_time(|_| 1.0).abs() < 1e-9);
        for _ in 0..10 {
            hiccups.note(1_000_000);
        }
        hiccups.note(22_000_000);
        let near = |value: f64, expected: f64| assert!((value / expected - 1.0).abs() < 0.01);
        near(hiccups.mean_over_time(|_| 0.3), 0.3);
        near(hiccups.mean_over_time(|ns| ns), (10.0 + 22.0 * 22.0) / (10.0 + 22.0) * 1e6);
    }

    #[test]
    fn the_meter_sees_the_time_it_watches() {
        let meter = HiccupMeter::start().unwrap();
        let clock = Clock::system();
        let begun = clock.now();
        while clock.now() - begun < 60_000_000 {
            std::thread::sleep(Duration::from_millis(10));
        }
        let seen = meter.finish();
        // Each wake-up stands for less than two periods: what it was late by and did not swallow.
        assert!(seen.late.len() >= 5, "{} of 12 wake-ups", seen.late.len());
    }
}
