//! How the connections of a shard are used in an open loop: whether one is free, and for how long
//! operations hold theirs. Knows nothing about rates.

use crate::clock::Nanos;
use crate::measure::{Held, PoolLog};
use std::task::Waker;

/// The number of operations in flight is random: room is kept for this many standard deviations
/// above the mean, as for a Poisson count.
const SPARE: f64 = 3.0;

#[derive(Debug)]
pub(super) struct Usage {
    start: Nanos,
    /// Since when no connection has been free.
    none_free: Option<Nanos>,
    /// For each connection, when its operation began, and how many connections were in use then.
    seats: Vec<(Nanos, Crowd)>,
    /// Operations that hold a connection.
    in_use: u64,
    opening: u64,
    /// Once this many are in use, `grower` is woken; no limit if there are no more to open.
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
    pub(super) fn new(start: Nanos, open: usize, own: usize) -> Self {
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

    /// The demand for connections, with `waiting` operations that have none.
    pub(super) const fn need(&self, waiting: u64) -> Need {
        let PoolLog { connections: open, held, .. } = self.log;
        Need { in_use: self.in_use, waiting, open, opening: self.opening, held }
    }

    /// Wakes `grower` once so many connections are in use that more are needed.
    pub(super) fn watch(&mut self, grower: &Waker) {
        self.alarm = alarm(self.log.connections + self.opening);
        self.grower = Some(grower.clone());
    }

    /// Whether `grower` was woken.
    pub(super) const fn called(&self) -> bool {
        self.grower.is_none()
    }

    /// Notes that one more connection is being opened.
    pub(super) const fn opening(&mut self) {
        self.opening += 1;
    }

    /// Notes that a connection was opened or could not be; the attempt began at `from` and ended at
    /// `to`.
    pub(super) fn opened(&mut self, is_open: bool, from: Nanos, to: Nanos) {
        self.opening -= 1;
        if is_open {
            self.log.connections += 1;
            self.log.opened.add(from.saturating_sub(self.start), to.saturating_sub(self.start));
        } else {
            self.log.opened.refused += 1;
        }
    }

    /// Notes that a connection is free from `now` on, after none was.
    pub(super) fn free(&mut self, now: Nanos) {
        if let Some(since) = self.none_free.take() {
            self.log.none_free_ns += now.saturating_sub(since);
        }
    }

    /// Notes that no connection is free from `now` on.
    pub(super) const fn none_free(&mut self, now: Nanos) {
        self.none_free = Some(now);
    }

    /// Notes that a connection begins an operation; `last` if no other one is free.
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

    /// Notes that the operation of a connection has ended.
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

    /// Notes that nothing is begun from `now` on.
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

/// The demand for connections of a shard.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Need {
    /// Operations in flight.
    pub(super) in_use: u64,
    /// Operations that are due and waiting for a connection.
    pub(super) waiting: u64,
    pub(super) open: u64,
    pub(super) opening: u64,
    /// For how long operations have held connections.
    pub(super) held: Held,
}

/// How many more connections to open if this many operations will soon be in flight on average, by
/// Little's law: with room for chance; at least a quarter more, so that this is rarely needed; and
/// at most as many as there are, so that a stalled server is not flooded at once.
pub(super) fn more(soon: f64, need: &Need) -> u64 {
    let mean = soon.max((need.in_use + need.waiting) as f64);
    let wanted = (mean + SPARE * mean.sqrt()).ceil() as u64;
    let all = need.open + need.opening;
    if wanted <= all {
        return 0;
    }
    wanted.max(all + need.open / 4).min(need.open * 2).saturating_sub(all)
}

/// How many operations must be in flight before another connection is needed: the inverse of what
/// [`more`] provides for.
fn alarm(connections: u64) -> u64 {
    let root = ((SPARE * SPARE + 4.0 * connections as f64).sqrt() - SPARE) / 2.0;
    (root * root).floor() as u64 + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_for_chance_and_growth_is_neither_timid_nor_rash() {
        let need = |in_use, waiting, open, opening| Need {
            in_use,
            waiting,
            open,
            opening,
            held: Held::default(),
        };
        assert_eq!(more(0.0, &need(33, 0, 50, 0)), 12, "33 and 3 * sqrt(33) are 51");
        assert_eq!(more(0.0, &need(32, 0, 50, 0)), 0);
        assert_eq!(more(0.0, &need(33, 0, 50, 12)), 0, "they are being opened already");
        assert_eq!(more(60.0, &need(10, 0, 50, 0)), 34, "a rate that is to come");
        assert_eq!(more(0.0, &need(50, 400, 50, 0)), 50, "twice as many");
        assert_eq!(more(0.0, &need(50, 400, 50, 50)), 0, "but those first");
        for open in 1..2_000 {
            let at = alarm(open);
            assert!(more(0.0, &need(at, 0, open, 0)) > 0, "{open}");
            assert_eq!(more(0.0, &need(at - 1, 0, open, 0)), 0, "{open}");
        }
    }

    #[test]
    fn whoever_opens_connections_is_woken_once_so_many_are_in_use() {
        let mut usage = Usage::new(0, 50, 60);
        (0..10).for_each(|_| usage.opening());
        usage.watch(Waker::noop());
        for connection in 0..41 {
            assert!(!usage.called(), "{connection} of 60 in use");
            usage.begin(connection, 0, false);
        }
        assert!(usage.called(), "41 and 3 * sqrt(41) are more than 60");
    }

    #[test]
    fn an_operation_counts_by_how_many_others_there_were_when_it_began() {
        let mut usage = Usage::new(0, 2, 3);
        usage.begin(0, 10, false);
        // More than half of them are in use, but another one is free.
        usage.begin(1, 10, false);
        usage.end(1, 11);
        usage.begin(1, 20, true);
        (0..2).for_each(|connection| usage.end(connection, 40));
        usage.opening();
        usage.opened(false, 5, 6);
        let PoolLog { held, few, full, connections, opened, .. } = usage.log();
        let means_ns = [few, full].map(|it| it.mean_s().map(|s| (s * 1e9).round()));
        assert_eq!(means_ns, [Some(30.0), Some(20.0)]);
        assert_eq!([held.count, few.count, full.count], [3, 1, 1]);
        assert_eq!((connections, opened.count, opened.refused), (2, 0, 1));
    }
}
