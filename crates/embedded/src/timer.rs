//! A `timerfd`, for sleeps more precise than those of tokio's timer, whose resolution is a
//! millisecond.

use std::io;
use std::os::fd::OwnedFd;

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use tokio::io::unix::AsyncFd;

use crate::clock::{Nanos, SECOND_NS};

pub(super) struct Timer(AsyncFd<OwnedFd>);

impl Timer {
    /// A timer on the current runtime.
    ///
    /// # Errors
    /// Returns an error if the process has no file descriptors left.
    #[allow(
        deprecated,
        reason = "its safe substitute is unsafe to call; an OwnedFd keeps its side"
    )]
    pub(super) fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        Ok(Self(AsyncFd::new(timerfd_create(TimerfdClockId::Monotonic, flags)?)?))
    }

    /// Waits for this many nanoseconds.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses the timer.
    pub(super) async fn sleep(&self, ns: Nanos) -> io::Result<()> {
        // Zero would disarm the timer.
        let ns = ns.max(1);
        let seconds = i64::try_from(ns / SECOND_NS).unwrap_or(i64::MAX);
        let it_value = Timespec { tv_sec: seconds, tv_nsec: (ns % SECOND_NS).cast_signed() };
        let it_interval = Timespec { tv_sec: 0, tv_nsec: 0 };
        let once = Itimerspec { it_interval, it_value };
        timerfd_settime(self.0.get_ref(), TimerfdTimerFlags::empty(), &once)?;
        loop {
            let mut ready = self.0.readable().await?;
            let read = ready.try_io(|fd| Ok(rustix::io::read(fd.get_ref(), &mut [0_u8; 8])?));
            match read {
                Ok(result) => return result.map(drop),
                Err(_would_block) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;

    #[tokio::test]
    async fn it_sleeps_at_least_as_long_and_again() {
        let timer = Timer::new().unwrap();
        for _ in 0..2 {
            let began = Clock::system().now();
            timer.sleep(300_000).await.unwrap();
            assert!(Clock::system().now() - began >= 300_000);
        }
    }
}
