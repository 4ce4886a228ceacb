//! How late this machine wakes a thread that does nothing but sleep.
//!
//! After jHiccup (Gil Tene): such a thread wakes late because of the machine, not because of the
//! load, so the client's own work cannot be the reason.

use super::Histogram;
use crate::clock::{Clock, Nanos};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// The time between two wake-ups. Stalls longer than this are detected, and 200 wake-ups per second
/// cost about 0.2 % of one processor.
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
    /// Returns an error if the thread cannot be started.
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
    /// Records the lateness of a wake-up and of those it prevented.
    fn note(&mut self, late_ns: Nanos) {
        self.late.record_stall(late_ns, PERIOD.as_nanos() as Nanos);
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
    fn the_meter_sees_the_time_it_watches() {
        let meter = HiccupMeter::start().unwrap();
        let clock = Clock::system();
        let begun = clock.now();
        while clock.now() - begun < 60_000_000 {
            std::thread::sleep(Duration::from_millis(10));
        }
        let seen = meter.finish();
        // Each wake-up accounts for less than two periods: its own, and a delay too short to
        // prevent another.
        assert!(seen.late.len() >= 5, "{} of 12 wake-ups", seen.late.len());
    }
}
