//! Outages: time in which operations failed by the server's fault, or connections waited to retry,
//! and no successful operation was in flight.
//!
//! In a closed loop, failures make the load back off, so counts of failed operations say little
//! about how long a server was away. A slow server is not away: the time of a successful operation
//! counts as served, however long it takes.

use super::spans::{Span, Spans};
use super::{Histogram, Latency};
use crate::clock::{Nanos, SECOND_NS};
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Shorter times without success are just gaps between two operations.
const LEAST_NS: Nanos = 10_000_000;
/// The most outages to list.
const MOST_LISTED: usize = 100;

/// What the shards of a stage share: whether any connection fails, and since when none has
/// succeeded. Read on the hot path, but written there only to a cache line of the shard's own.
#[derive(Debug)]
pub struct Pulse {
    /// Failing connections, over all shards.
    down: AtomicU32,
    shards: Box<[LastOk]>,
}

/// When a shard's last operation succeeded, alone on its cache line.
#[derive(Debug, Default)]
#[repr(align(128))]
struct LastOk(AtomicU64);

impl Pulse {
    /// The shared state of this many shards.
    pub fn new(shards: usize) -> Self {
        Self { down: AtomicU32::new(0), shards: (0..shards).map(|_| LastOk::default()).collect() }
    }

    /// Whether any connection is failing.
    #[inline]
    fn anybody_down(&self) -> bool {
        self.down.load(Ordering::Relaxed) > 0
    }

    /// An operation of a shard succeeded at `done`. Returns whether no connection is failing.
    #[inline]
    pub fn beats(&self, shard: usize, done: Nanos) -> bool {
        self.shards[shard].0.store(done, Ordering::Relaxed);
        !self.anybody_down()
    }

    fn last_ok(&self) -> Nanos {
        self.shards.iter().map(|shard| shard.0.load(Ordering::Relaxed)).max().unwrap_or(0)
    }
}

/// Since when a connection has failed.
#[derive(Clone, Copy, Debug)]
pub struct Spell {
    /// When the first operation that failed was begun.
    began: Nanos,
    /// The same, or when any operation last succeeded before the failure was known.
    alone: Nanos,
}

/// The outages that one shard has seen; after merging, that all have seen.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct OutageLog {
    down: Spans,
    served: Spans,
    waits: Histogram,
    answered: bool,
}

impl OutageLog {
    /// An operation begun at `began` succeeded at `done` on a connection that was in `spell`.
    /// Returns the length of the spell, in nanoseconds.
    #[inline]
    pub fn succeeded(
        log: &std::cell::RefCell<Self>,
        (pulse, shard): (&Pulse, usize),
        spell: &mut Option<Spell>,
        (began, done): (Nanos, Nanos),
    ) -> Nanos {
        if pulse.beats(shard, done) && spell.is_none() {
            return 0;
        }
        log.borrow_mut().served_meanwhile(pulse, spell, (began, done))
    }

    #[cold]
    fn served_meanwhile(
        &mut self,
        pulse: &Pulse,
        spell: &mut Option<Spell>,
        (began, done): (Nanos, Nanos),
    ) -> Nanos {
        self.served.add(began, done);
        self.end(pulse, spell, began)
    }

    /// An operation begun at `began` failed by the server's fault; `answered`: the server did
    /// answer.
    #[cold]
    pub fn failed(
        &mut self,
        pulse: &Pulse,
        spell: &mut Option<Spell>,
        (began, answered): (Nanos, bool),
    ) {
        self.answered |= answered;
        if spell.is_none() {
            // Successes before this were not tracked.
            *spell = Some(Spell { began, alone: began.max(pulse.last_ok()) });
            pulse.down.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Ends the `spell` of a connection, if any, at `until`. Returns its length.
    pub fn end(&mut self, pulse: &Pulse, spell: &mut Option<Spell>, until: Nanos) -> Nanos {
        let Some(Spell { began, alone }) = spell.take() else { return 0 };
        pulse.down.fetch_sub(1, Ordering::Relaxed);
        self.down.add(alone, until);
        let waited_ns = until.saturating_sub(began);
        self.waits.record(waited_ns);
        waited_ns
    }

    /// Adds another shard's outages.
    pub fn merge(&mut self, other: &Self) {
        self.down.merge(&other.down);
        self.served.merge(&other.served);
        self.waits.merge(&other.waits);
        self.answered |= other.answered;
    }

    /// Adds what another process saw of the same server: nothing succeeded only when nothing did
    /// in either.
    pub fn join(&mut self, other: &Self) {
        let outage = |log: &Self| log.down.without(&log.served);
        self.down = outage(self).common(&outage(other));
        self.served = Spans::default();
        self.waits.merge(&other.waits);
        self.answered |= other.answered;
    }

    /// Converts the times to another clock, on which `from` is `to`.
    pub fn convert(&mut self, (from, to): (Nanos, Nanos)) {
        self.down.convert((from, to));
        self.served.convert((from, to));
    }

    /// The outages of a stage that began at `start`.
    pub fn finish(&self, start: Nanos) -> Outage {
        let spans = self.down.without(&self.served).of_at_least(LEAST_NS);
        Outage {
            total_s: spans.total_ns() as f64 / SECOND_NS as f64,
            spans: spans.longest(start, MOST_LISTED),
            answered: self.answered,
            waits: (!self.waits.is_empty()).then(|| Latency::new(self.waits.clone())),
        }
    }
}

/// The outages of a stage.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outage {
    /// The total, in seconds.
    pub total_s: f64,
    /// The hundred longest, in order.
    pub spans: Vec<Span>,
    /// The server answered at times, if only with errors.
    pub answered: bool,
    /// How long each failing connection waited until one of its operations succeeded, or the stage
    /// ended. `null`: none failed by the server's fault.
    pub waits: Option<Latency>,
}

impl Outage {
    /// Whether there were none.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// The longest outage.
    pub fn longest(&self) -> Option<Span> {
        self.spans.iter().copied().max_by(|a, b| a.length_s.total_cmp(&b.length_s))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    const MS: Nanos = 1_000_000;

    /// Two shards with a connection each.
    struct Bed {
        pulse: Pulse,
        logs: [RefCell<OutageLog>; 2],
        spells: [Option<Spell>; 2],
    }

    impl Bed {
        fn new() -> Self {
            let logs = [RefCell::default(), RefCell::default()];
            Self { pulse: Pulse::new(2), logs, spells: [None, None] }
        }

        fn ok(&mut self, of: usize, began_ms: u64, done_ms: u64) -> u64 {
            let spell = &mut self.spells[of];
            let times = (began_ms * MS, done_ms * MS);
            OutageLog::succeeded(&self.logs[of], (&self.pulse, of), spell, times) / MS
        }

        fn failed(&mut self, of: usize, began_ms: u64) {
            let mut log = self.logs[of].borrow_mut();
            log.failed(&self.pulse, &mut self.spells[of], (began_ms * MS, false));
        }

        fn finish(&mut self, end_ms: u64) -> Outage {
            let mut all = OutageLog::default();
            for (log, spell) in self.logs.iter().zip(&mut self.spells) {
                log.borrow_mut().end(&self.pulse, spell, end_ms * MS);
                all.merge(&log.borrow());
            }
            assert_eq!(self.pulse.down.load(Ordering::Relaxed), 0);
            all.finish(0)
        }
    }

    #[test]
    fn processes_are_in_an_outage_only_together() {
        let log = |down: &[(u64, u64)]| {
            let mut log = OutageLog::default();
            for (from, to) in down {
                log.down.add(from * MS, to * MS);
            }
            log.waits.record(MS);
            log
        };
        let mut cut_off = log(&[(1_000, 5_000)]);
        cut_off.join(&OutageLog::default());
        let outage = cut_off.finish(0);
        assert!(outage.total_s < 1e-9 && outage.waits.is_some_and(|it| it.samples == 1));
        let mut both = log(&[(1_000, 5_000)]);
        both.join(&log(&[(4_000, 9_000)]));
        assert!((both.finish(0).total_s - 1.0).abs() < 1e-6);
    }

    #[test]
    fn an_outage_lasts_from_the_last_success_to_the_next() {
        let mut bed = Bed::new();
        bed.ok(0, 3_900, 4_000);
        bed.ok(1, 3_950, 4_010);
        bed.failed(0, 4_000);
        bed.failed(1, 4_010);
        bed.failed(0, 5_000);
        assert_eq!(bed.ok(0, 18_100, 18_120), 14_100, "what this connection lived through");
        bed.ok(1, 18_110, 18_130);
        let outage = bed.finish(20_000);
        assert_eq!(outage.spans.len(), 1);
        assert_eq!(outage.longest(), Some(outage.spans[0]));
        assert!(!outage.is_none() && Outage::default().is_none());
        assert!((outage.total_s - 14.09).abs() < 1e-6, "{outage:?}");
        assert!((outage.spans[0].from_s - 4.01).abs() < 1e-6);
        let waits = outage.waits.unwrap();
        assert_eq!(waits.samples, 2);
        assert!(waits.max_us > 14.0e6);
    }

    #[test]
    fn a_dead_connection_beside_one_that_works_is_no_outage() {
        let mut bed = Bed::new();
        for ms in 0..2_000 {
            bed.ok(1, ms, ms + 1);
            if ms % 100 == 0 {
                bed.failed(0, ms);
            }
        }
        let outage = bed.finish(2_000);
        assert!(outage.total_s < 1e-9, "{outage:?}");
        assert_eq!(outage.waits.unwrap().samples, 1);
    }

    #[test]
    fn a_time_out_among_successes_is_no_outage() {
        let mut bed = Bed::new();
        for ms in 0..30_000 {
            bed.ok(1, ms, ms + 1);
        }
        bed.failed(0, 0);
        bed.ok(0, 30_001, 30_002);
        assert!(bed.finish(31_000).total_s < 1e-9);
    }

    #[test]
    fn a_slow_server_is_no_outage() {
        let mut bed = Bed::new();
        bed.failed(0, 1_000);
        bed.ok(1, 900, 9_000);
        bed.ok(0, 9_000, 9_010);
        let outage = bed.finish(10_000);
        assert!(outage.total_s < 1e-9, "{outage:?}");
    }

    #[test]
    fn a_server_that_refused_is_known_to_have_answered_by_all() {
        for answers in [[false, false], [true, false], [false, true], [true, true]] {
            let mut bed = Bed::new();
            for (of, answered) in answers.into_iter().enumerate() {
                let mut log = bed.logs[of].borrow_mut();
                log.failed(&bed.pulse, &mut bed.spells[of], (MS, answered));
            }
            assert_eq!(bed.finish(100).answered, answers != [false, false]);
        }
    }

    #[test]
    fn one_that_never_ends_lasts_to_the_end_of_the_stage() {
        let mut bed = Bed::new();
        bed.ok(0, 0, 10);
        bed.failed(0, 10);
        let outage = bed.finish(3_010);
        assert!((outage.total_s - 3.0).abs() < 1e-6 && !outage.answered, "{outage:?}");
    }
}
