//! The common start of the shards of a stage once all have connected: at once, or at a time that is
//! chosen elsewhere.

use crate::clock::{Clock, Nanos};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// Makes all shards start a stage at the same time.
#[derive(Debug)]
pub struct Start {
    state: Mutex<State>,
    changed: Condvar,
    /// Whether it also waits for [`Start::open`].
    gated: bool,
    moment: OnceLock<Nanos>,
}

#[derive(Debug, Default)]
struct State {
    /// Shards that have not connected yet.
    missing: usize,
    /// Whether a shard has ended without connecting.
    deserted: bool,
    /// The time of a gated start.
    opens: Option<Nanos>,
}

/// The place of one shard at a start. If it is dropped before the shard has waited, because
/// something failed, the other shards do not wait for it.
#[derive(Debug)]
pub struct Place<'a> {
    start: &'a Start,
    taken: bool,
}

impl Place<'_> {
    /// Waits for all shards; all return the same time. Blocks the thread, since nothing else runs
    /// in a shard that has not started.
    pub fn wait(mut self, clock: Clock) -> Nanos {
        self.taken = true;
        self.start.wait(clock)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if !self.taken {
            let mut state = self.start.state();
            state.deserted = true;
            self.start.arrive(&mut state);
        }
    }
}

impl Start {
    /// A start of `shards` shards, as soon as all have connected.
    pub fn new(shards: usize) -> Self {
        let state = State { missing: shards, ..State::default() };
        let (changed, moment) = (Condvar::new(), OnceLock::new());
        Self { state: Mutex::new(state), changed, gated: false, moment }
    }

    /// A start of `shards` shards at the time passed to [`Start::open`].
    pub fn gated(shards: usize) -> Self {
        Self { gated: true, ..Self::new(shards) }
    }

    /// A start that has already happened, at `moment`.
    pub fn made(moment: Nanos) -> Self {
        let start = Self::new(0);
        start.moment.get_or_init(|| moment);
        start
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that one more shard has arrived.
    fn arrive(&self, state: &mut State) {
        state.missing = state.missing.saturating_sub(1);
        self.changed.notify_all();
    }

    /// The place of one shard.
    pub const fn place(&self) -> Place<'_> {
        Place { start: self, taken: false }
    }

    fn wait(&self, clock: Clock) -> Nanos {
        let mut state = self.state();
        self.arrive(&mut state);
        let opens = loop {
            match state.opens {
                _ if state.missing > 0 => {}
                Some(opens) => break opens,
                None if !self.gated => break *self.moment.get_or_init(|| clock.now()),
                None => {}
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        };
        drop(state);
        let opens = *self.moment.get_or_init(|| opens);
        // Spinning would take the processor from other threads that are about to start.
        while let Some(left) = opens.checked_sub(clock.now()).filter(|&left| left > 0) {
            std::thread::sleep(Duration::from_nanos(left));
        }
        opens
    }

    /// Lets the shards start at `moment`, or at once if that has passed. Only the first call
    /// counts.
    pub fn open(&self, moment: Nanos) {
        if self.gated {
            self.state().opens.get_or_insert(moment);
            self.changed.notify_all();
        }
    }

    /// Whether all shards have connected, and are waiting for [`Start::open`].
    pub fn is_reached(&self) -> bool {
        self.gated && self.state().missing == 0
    }

    /// Whether a shard has ended before it could start; the other shards do not wait for it.
    pub fn is_deserted(&self) -> bool {
        self.state().deserted
    }

    /// When the stage started, once that is known.
    pub fn moment(&self) -> Option<Nanos> {
        self.moment.get().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_shard_that_fails_before_the_start_is_not_waited_for() {
        let (clock, start) = (Clock::system(), Arc::new(Start::new(2)));
        let other = start.clone();
        let waiting = std::thread::spawn(move || other.place().wait(clock));
        assert!(!start.is_deserted());
        let own = start.clone();
        let failed = std::thread::spawn(move || {
            let _place = own.place();
            panic!("it cannot connect");
        });
        assert!(failed.join().is_err());
        assert_eq!(waiting.join().unwrap(), start.moment().unwrap());
        assert!(start.is_deserted());
    }

    #[test]
    fn the_first_shard_waits_for_the_last() {
        let (clock, start) = (Clock::system(), Arc::new(Start::new(2)));
        let other = start.clone();
        let waiting = std::thread::spawn(move || other.place().wait(clock));
        while start.state().missing == 2 {
            std::thread::yield_now();
        }
        assert_eq!(start.moment(), None);
        let moment = start.place().wait(clock);
        assert_eq!((waiting.join().unwrap(), start.moment()), (moment, Some(moment)));
    }

    #[test]
    fn a_gated_start_waits_for_its_shards_and_then_for_its_time() {
        let (clock, start) = (Clock::system(), Arc::new(Start::gated(2)));
        let shard = |start: Arc<Start>| {
            std::thread::spawn(move || (start.place().wait(clock), clock.now()))
        };
        let first = shard(start.clone());
        std::thread::sleep(Duration::from_millis(5));
        assert!(!start.is_reached() && start.moment().is_none());
        let second = shard(start.clone());
        while !start.is_reached() {
            std::thread::sleep(Duration::from_millis(1));
        }
        let moment = clock.now() + 30_000_000;
        start.open(moment);
        start.open(moment + 1);
        for shard in [first, second] {
            let (began, woke) = shard.join().unwrap();
            assert_eq!(began, moment);
            assert!(woke >= moment);
        }
        assert_eq!(start.moment(), Some(moment));
    }

    #[test]
    fn a_time_that_has_passed_is_now() {
        let (clock, start) = (Clock::system(), Start::gated(1));
        start.open(7);
        assert_eq!(start.wait(clock), 7);
        assert!(start.is_reached());
        let free = Start::new(1);
        free.open(7);
        assert!(free.wait(clock) > 7 && !free.is_reached());
    }
}
