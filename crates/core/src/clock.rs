//! The only place that reads clocks, and what the scheduler did to a thread. Times are nanoseconds
//! on the monotonic clock.
//!
//! Tests run the engine on tokio's paused time: [`Clock::virtual_time`] reads that instead.

mod machine;
mod scheduler;
mod sleeper;

pub use machine::Machine;
pub use scheduler::{Scheduled, Scheduler};
pub use sleeper::Sleeper;

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds since an arbitrary start; only differences are meaningful.
pub type Nanos = u64;

/// One second in nanoseconds.
pub const SECOND_NS: Nanos = 1_000_000_000;

/// A source of monotonic time. Copying it copies the source.
#[derive(Clone, Copy, Debug)]
pub struct Clock(TimeSource);

#[derive(Clone, Copy, Debug)]
enum TimeSource {
    System,
    Virtual(tokio::time::Instant),
}

impl Clock {
    /// The operating system's monotonic clock (`CLOCK_MONOTONIC`).
    pub const fn system() -> Self {
        Self(TimeSource::System)
    }

    /// Tokio's clock, which tests can pause. Must be made inside a runtime.
    #[allow(clippy::disallowed_methods, reason = "the only place that reads tokio's clock")]
    pub fn virtual_time() -> Self {
        Self(TimeSource::Virtual(tokio::time::Instant::now()))
    }

    /// Whether this clock is tokio's.
    pub const fn is_virtual(self) -> bool {
        matches!(self.0, TimeSource::Virtual(_))
    }

    /// The current time.
    #[inline]
    pub fn now(self) -> Nanos {
        match self.0 {
            TimeSource::System => nanos(clock_gettime(ClockId::Monotonic)),
            // One second ahead, so that a start in the past can be expressed.
            TimeSource::Virtual(start) => SECOND_NS + start.elapsed().as_nanos() as Nanos,
        }
    }
}

/// CPU time, user and system, that the calling thread has used.
pub fn thread_cpu_ns() -> Nanos {
    nanos(clock_gettime(ClockId::ThreadCPUTime))
}

/// The wall clock, in nanoseconds since 1970-01-01T00:00:00Z: runs are named after it, and the
/// kernel timestamps arrivals with it.
pub fn wall_ns() -> Nanos {
    nanos(clock_gettime(ClockId::Realtime))
}

fn nanos(time: rustix::time::Timespec) -> Nanos {
    // Monotonic and CPU clocks start at zero; a wall clock before 1970 reads as 1970.
    time.tv_sec.max(0).unsigned_abs() * SECOND_NS + time.tv_nsec.max(0).unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_clock_moves_forward() {
        let clock = Clock::system();
        let before = clock.now();
        assert!(clock.now() >= before);
    }

    #[tokio::test(start_paused = true)]
    async fn virtual_time_moves_only_when_told() {
        let clock = Clock::virtual_time();
        let before = clock.now();
        assert_eq!(clock.now(), before);
        tokio::time::advance(std::time::Duration::from_millis(7)).await;
        assert_eq!(clock.now() - before, 7_000_000);
    }
}
