//! Sleeps with a precision of microseconds. Tokio's timer has a resolution of a millisecond, too
//! coarse for thousands of operations per second; a Linux timerfd is finer.

use super::{Clock, Nanos, SECOND_NS};
#[cfg(target_os = "linux")]
use rustix::time::{ClockId, Timespec};
use std::io;
#[cfg(target_os = "linux")]
use std::num::NonZeroU64;
use std::time::Duration;

/// Wakes a task at a time on the run's clock.
#[derive(Debug)]
pub struct Sleeper {
    clock: Clock,
    #[cfg(target_os = "linux")]
    timer: Option<tokio::io::unix::AsyncFd<std::os::fd::OwnedFd>>,
}

impl Sleeper {
    /// A sleeper on `clock`. Must be made inside a runtime.
    ///
    /// # Errors
    /// Returns an error if the operating system cannot create a timer.
    #[cfg(target_os = "linux")]
    pub fn new(clock: Clock) -> io::Result<Self> {
        use rustix::thread::set_current_timer_slack;
        use rustix::time::{TimerfdClockId, TimerfdFlags, timerfd_create};
        if clock.is_virtual() {
            return Ok(Self { clock, timer: None });
        }
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        // The timer slack that `nap` is subject to, 50 µs by default. If it may not be set, naps
        // end that much later.
        let _ = set_current_timer_slack(NonZeroU64::new(1));
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        let interest = tokio::io::Interest::READABLE;
        #[allow(
            deprecated,
            reason = "an OwnedFd stays open while registered: the case that is safe"
        )]
        let timer = tokio::io::unix::AsyncFd::with_interest(timer, interest)?;
        Ok(Self { clock, timer: Some(timer) })
    }

    /// A sleeper on `clock`. Must be made inside a runtime.
    ///
    /// # Errors
    /// Never fails on this operating system.
    #[cfg(not(target_os = "linux"))]
    pub fn new(clock: Clock) -> io::Result<Self> {
        Ok(Self { clock })
    }

    /// Returns at `moment`, or at once if it has passed.
    pub async fn sleep_until(&self, moment: Nanos) {
        while self.clock.now() < moment {
            #[cfg(target_os = "linux")]
            if let Some(timer) = &self.timer
                && arm(timer, moment).is_ok()
                && let Ok(mut guard) = timer.readable().await
            {
                // Edge-triggered: rearming the timer resets it, so there is nothing to read.
                guard.clear_ready();
                continue;
            }
            let left = moment.saturating_sub(self.clock.now());
            tokio::time::sleep(Duration::from_nanos(left)).await;
        }
    }

    /// Whether [`nap`](Self::nap) is supported: it blocks the thread until a given time.
    pub const fn naps(&self) -> bool {
        cfg!(target_os = "linux") && !self.clock.is_virtual()
    }

    /// Blocks the thread until `moment`, or until a signal arrives; nothing else runs on the thread
    /// meanwhile. Only to be used if it [`naps`](Self::naps).
    #[cfg(target_os = "linux")]
    #[allow(clippy::unused_self, reason = "a method, as `naps` is")]
    pub fn nap(&self, moment: Nanos) {
        let _ = rustix::thread::clock_nanosleep_absolute(ClockId::Monotonic, &timespec(moment));
    }

    /// Does nothing on this operating system.
    #[cfg(not(target_os = "linux"))]
    pub fn nap(&self, _: Nanos) {}
}

#[cfg(target_os = "linux")]
fn timespec(moment: Nanos) -> Timespec {
    Timespec {
        tv_sec: (moment / SECOND_NS).cast_signed(),
        tv_nsec: (moment % SECOND_NS).cast_signed(),
    }
}

#[cfg(target_os = "linux")]
fn arm(timer: &tokio::io::unix::AsyncFd<std::os::fd::OwnedFd>, moment: Nanos) -> io::Result<()> {
    use rustix::time::{Itimerspec, TimerfdTimerFlags, timerfd_settime};
    let value = Itimerspec { it_interval: timespec(0), it_value: timespec(moment) };
    timerfd_settime(timer.get_ref(), TimerfdTimerFlags::ABSTIME, &value)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn it_never_wakes_early() {
        let clock = Clock::system();
        let sleeper = Sleeper::new(clock).unwrap();
        for step_us in [1, 50, 700, 1_500] {
            let moment = clock.now() + step_us * 1_000;
            sleeper.sleep_until(moment).await;
            assert!(clock.now() >= moment);
        }
    }

    #[tokio::test]
    async fn a_nap_is_as_long_as_asked() {
        let clock = Clock::system();
        let sleeper = Sleeper::new(clock).unwrap();
        let moment = clock.now() + 700_000;
        if sleeper.naps() {
            sleeper.nap(moment);
            assert!(clock.now() >= moment);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn on_virtual_time_it_moves_the_clock() {
        let clock = Clock::virtual_time();
        let sleeper = Sleeper::new(clock).unwrap();
        let moment = clock.now() + 3_600 * SECOND_NS;
        sleeper.sleep_until(moment).await;
        assert!(clock.now() >= moment);
    }
}
