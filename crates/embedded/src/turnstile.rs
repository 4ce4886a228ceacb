//! Holds answers back, or drops them, according to the faults. There is one gate for the whole
//! server and one turnstile per connection.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::capacity::Queue;
use super::catalogue::{Fault, Happened};
use super::counters::Tally;
use super::faults::{Fate, Faults};
use super::log::Log;
use super::timer::Timer;
use crate::clock::{Clock, Nanos};

/// The faults of a server, and the time since its first request.
#[derive(Debug)]
pub(super) struct Gate {
    faults: Faults,
    queue: Option<Queue>,
    log: Option<Log>,
    clock: Clock,
    /// How long a client may take for a request.
    patience: Duration,
    /// When the first request was read; 0 before that.
    first: AtomicU64,
    pub(super) happened: Happened,
}

impl Gate {
    /// A gate that applies `faults`, waits this long for the rest of a request, and keeps a log if
    /// given.
    pub(super) fn new(faults: Faults, patience: Duration, log: Option<Log>) -> Self {
        let queue = faults.capacity.map(Queue::new);
        let (clock, first) = (Clock::system(), AtomicU64::new(0));
        Self { faults, queue, log, clock, patience, first, happened: Happened::default() }
    }

    /// The clock that all times are read from.
    pub(super) const fn clock(&self) -> Clock {
        self.clock
    }

    /// How long a client may take for a request.
    pub(super) const fn patience(&self) -> Duration {
        self.patience
    }

    pub(super) const fn faults(&self) -> &Faults {
        &self.faults
    }

    /// The time since the first request, in nanoseconds.
    pub(super) fn elapsed_ns(&self) -> Nanos {
        let now = self.clock.now();
        now.saturating_sub(self.first(now))
    }

    /// All counters, including those of the named faults.
    pub(super) fn counters(&self, tally: &Tally) -> serde_json::Value {
        let mut counters = serde_json::json!(tally.snapshot());
        if !self.faults.named.is_empty() {
            counters["faults"] = serde_json::json!(self.happened.snapshot());
        }
        counters
    }

    /// Whether every answer passes at once and unchanged, and nothing is logged.
    pub(super) fn is_open(&self) -> bool {
        self.faults.is_prompt() && self.log.is_none()
    }

    /// Logs a request that was read at `read`, and answered now if `is_answered`.
    pub(super) fn log(&self, read: Nanos, is_answered: bool) {
        if let Some(log) = &self.log {
            let first = self.first(read);
            let answered = is_answered.then(|| self.clock.now().saturating_sub(first));
            log.enter(read.saturating_sub(first), answered);
        }
    }

    /// When a request read at `read` has been served; both in nanoseconds after the first request.
    fn serve(&self, read: Nanos) -> Nanos {
        self.queue.as_ref().map_or(read, |queue| queue.take(read, &self.faults.stalls))
    }

    /// When the very first request was read; `now` if this is the first.
    fn first(&self, now: Nanos) -> Nanos {
        match self.first.load(Ordering::Relaxed) {
            0 => match self.first.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => now,
                Err(first) => first,
            },
            first => first,
        }
    }
}

/// One connection's passage through the gate.
pub(super) struct Turnstile {
    gate: Arc<Gate>,
    random: Xoshiro256PlusPlus,
    timer: Option<Timer>,
}

impl Turnstile {
    /// The passage of the connection with this number, from which its own random draws follow.
    pub(super) fn new(gate: Arc<Gate>, number: u64) -> Self {
        let seed = gate.faults.seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Self { gate, random: Xoshiro256PlusPlus::seed_from_u64(seed), timer: None }
    }

    pub(super) fn gate(&self) -> &Gate {
        &self.gate
    }

    /// Draws and counts the fault of a request read at `read`, except for lies.
    pub(super) fn fault(&mut self, read: Nanos) -> Option<Fault> {
        let now = read.saturating_sub(self.gate.first(read));
        let fault = self.gate.faults.of_request(now, &mut self.random)?;
        self.gate.happened.count(fault);
        Some(fault)
    }

    /// Waits until the answer to a request read at `read` is due; returns `false` if it never is.
    ///
    /// # Errors
    /// Returns an error if the process has no file descriptors left for a timer.
    pub(super) async fn pass(&mut self, read: Nanos) -> io::Result<bool> {
        let first = self.gate.first(read);
        let served = self.gate.serve(read.saturating_sub(first));
        match self.gate.faults.fate(served, &mut self.random) {
            Fate::Drop => Ok(false),
            Fate::Answer(due) => {
                let ns = (first + due).saturating_sub(self.gate.clock.now());
                if ns > 0 {
                    let timer = match self.timer.take() {
                        Some(timer) => timer,
                        None => Timer::new()?,
                    };
                    timer.sleep(ns).await?;
                    self.timer = Some(timer);
                }
                Ok(true)
            }
        }
    }
}
