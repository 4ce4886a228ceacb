//! The common start of the shards of a stage, once each has connected: at once, or at a time that
//! others choose.

use crate::clock::{Clock, Nanos};
use std::sync::{Barrier, Condvar, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// Makes all shards start a stage at the same time.
#[derive(Debug)]
pub struct Start {
    barrier: Barrier,
    gate: Option<Gate>,
    moment: OnceLock<Nanos>,
}

/// What a start waits for besides the shards.
#[derive(Debug, Default)]
struct Gate {
    state: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct GateState {
    /// All shards have connected.
    reached: bool,
    /// When they are to start.
    opens: Option<Nanos>,
}

impl Start {
    /// A start of `shards` shards, as soon as all have connected.
    pub fn new(shards: usize) -> Self {
        Self { barrier: Barrier::new(shards), gate: None, moment: OnceLock::new() }
    }

    /// A start of `shards` shards at the time that [`Start::open`] names.
    pub fn gated(shards: usize) -> Self {
        Self { gate: Some(Gate::default()), ..Self::new(shards) }
    }

    /// A start that has been made, at `moment`.
    pub fn made(moment: Nanos) -> Self {
        let start = Self::new(1);
        start.moment.get_or_init(|| moment);
        start
    }

    /// Waits for all shards; all return the same time. Blocks the thread: nothing else runs in a
    /// shard that has not started.
    pub fn wait(&self, clock: Clock) -> Nanos {
        self.barrier.wait();
        let Some(gate) = &self.gate else { return *self.moment.get_or_init(|| clock.now()) };
        let mut state = gate.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.reached = true;
        gate.changed.notify_all();
        let opens = loop {
            match state.opens {
                Some(opens) => break opens,
                None => state = gate.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        };
        drop(state);
        let opens = *self.moment.get_or_init(|| opens);
        // Spinning would take the processor from those that are to start as well.
        while let Some(left) = opens.checked_sub(clock.now()).filter(|&left| left > 0) {
            std::thread::sleep(Duration::from_nanos(left));
        }
        opens
    }

    /// Lets the shards start at `moment`, or at once if that has passed. The first call counts.
    pub fn open(&self, moment: Nanos) {
        let Some(gate) = &self.gate else { return };
        let mut state = gate.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.opens.get_or_insert(moment);
        gate.changed.notify_all();
    }

    /// All shards have connected, and wait for [`Start::open`].
    pub fn is_reached(&self) -> bool {
        let gate = self.gate.as_ref();
        gate.is_some_and(|it| it.state.lock().unwrap_or_else(PoisonError::into_inner).reached)
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
    fn a_gated_start_waits_for_its_shards_and_then_for_its_time() {
        let (clock, start) = (Clock::system(), Arc::new(Start::gated(2)));
        let shard =
            |start: Arc<Start>| std::thread::spawn(move || (start.wait(clock), clock.now()));
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
