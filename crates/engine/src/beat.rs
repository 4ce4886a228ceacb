//! The heartbeat task of a shard: it notes pauses of the thread, and closes seconds.

use super::drive::Shared;
use super::heartbeat::BEAT_NS;
use crate::clock::Sleeper;
use std::rc::Rc;

/// Runs until dropped.
pub(super) async fn beat(shared: Rc<Shared>, sleeper: Sleeper) {
    let (clock, end) = (shared.clock, shared.watch.end);
    let mut due = shared.start.max(clock.now());
    loop {
        due = (due + BEAT_NS).max(clock.now());
        let wake_at = if clock.now() < end { due.min(end) } else { due };
        shared.watch.next_beat.set(wake_at);
        sleeper.sleep_until(wake_at).await;
        let now = clock.now();
        shared.watch.look(now);
        let end = shared.tickets.stopped().map_or(end, |stopped| stopped.min(end));
        let mut heartbeat = shared.watch.heartbeat.borrow_mut();
        heartbeat.late(now.saturating_sub(wake_at));
        if now >= end && heartbeat.at_end.is_none() {
            heartbeat.at_end = Some(heartbeat.used(now));
        }
        let mut recorder = shared.recorder.borrow_mut();
        recorder.end_at(end);
        if let Some((second, waited_ns)) = heartbeat.full_second(now) {
            recorder.waited(second, waited_ns);
        }
        recorder.rotate(now);
    }
}

#[cfg(test)]
#[path = "beat_tests.rs"]
mod tests;
