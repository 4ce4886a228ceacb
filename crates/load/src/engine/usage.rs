//! How the connections of a shard are used in an open loop: whether one is free, and for how long
//! operations hold theirs. Knows no rate.

use super::growth::{Need, alarm};
use crate::clock::Nanos;
use crate::measure::PoolLog;
use std::task::Waker;

/// The use of one shard's connections.
#[derive(Debug)]
pub(super) struct Usage {
    start: Nanos,
    /// Since when no connection has been free.
    none_free: Option<Nanos>,
    /// What each connection works on.
    seats: Vec<(Nanos, Crowd)>,
    /// Operations that hold a connection.
    in_use: u64,
    /// Connections that are being opened.
    opening: u64,
    /// Once this many are in use, `grower` is called; no limit if there are no more to open.
    alarm: u64,
    grower: Option<Waker>,
    log: PoolLog,
}

/// How many connections were in use when an operation began.
#[derive(Clone, Copy, Debug)]
enum Crowd {
    /// At most half of them.
    Few,
    Some,
    /// All of them.
    Full,
}

impl Usage {
    /// The use of `own` connections, the first `open` of which are open at `start`.
    pub(super) fn new(start: Nanos, (open, own): (usize, usize)) -> Self {
        Self {
            start,
            none_free: Some(start),
            seats: vec![(start, Crowd::Some); own],
            in_use: 0,
            opening: 0,
            alarm: u64::MAX,
            grower: None,
            log: PoolLog { connections: open as u64, ..PoolLog::default() },
        }
    }

    /// What connections are needed for, with `waiting` operations that have none.
    pub(super) const fn need(&self, waiting: u64) -> Need {
        let PoolLog { connections: open, held, .. } = self.log;
        Need { in_use: self.in_use, waiting, open, opening: self.opening, held }
    }

    /// Has `grower` called once so many connections are in use that there should be more.
    pub(super) fn watch(&mut self, grower: &Waker) {
        self.alarm = alarm(self.log.connections + self.opening);
        self.grower = Some(grower.clone());
    }

    /// Whether `grower` was called.
    pub(super) const fn called(&self) -> bool {
        self.grower.is_none()
    }

    /// One more is being opened.
    pub(super) const fn opening(&mut self) {
        self.opening += 1;
    }

    /// One that was being opened is open, or cannot be opened; from when to when that was tried.
    pub(super) fn opened(&mut self, is_open: bool, (from, to): (Nanos, Nanos)) {
        self.opening -= 1;
        if is_open {
            self.log.connections += 1;
            self.log.opened.add((from.saturating_sub(self.start), to.saturating_sub(self.start)));
        } else {
            self.log.opened.refused += 1;
        }
    }

    /// Some connection is free from `now` on, after none was.
    pub(super) fn free(&mut self, now: Nanos) {
        if let Some(since) = self.none_free.take() {
            self.log.none_free_ns += now.saturating_sub(since);
        }
    }

    /// No connection is free any more from `now` on.
    pub(super) const fn none_free(&mut self, now: Nanos) {
        self.none_free = Some(now);
    }

    /// A connection begins an operation; `last`: no other one is free.
    pub(super) fn begin(&mut self, connection: usize, began: Nanos, last: bool) {
        self.in_use += 1;
        if self.in_use >= self.alarm
            && let Some(grower) = self.grower.take()
        {
            grower.wake();
        }
        let crowd = match () {
            () if self.in_use * 2 <= self.log.connections => Crowd::Few,
            () if last => Crowd::Full,
            () => Crowd::Some,
        };
        self.seats[connection] = (began, crowd);
    }

    /// The operation of a connection has ended.
    pub(super) fn end(&mut self, connection: usize, done: Nanos) {
        let (began, crowd) = self.seats[connection];
        let held_ns = done.saturating_sub(began);
        self.in_use -= 1;
        self.log.held.add(held_ns);
        match crowd {
            Crowd::Few => self.log.few.add(held_ns),
            Crowd::Full => self.log.full.add(held_ns),
            Crowd::Some => {}
        }
    }

    /// Nothing is begun from `now` on.
    pub(super) fn close(&mut self, now: Nanos) {
        self.free(now);
        if self.log.over_ns == 0 {
            self.log.over_ns = now.saturating_sub(self.start);
        }
    }

    pub(super) const fn log(&self) -> PoolLog {
        self.log
    }
}
