//! Outages: times in which operations failed one after the other because of the server, with no
//! success in between.
//!
//! In a closed loop, failures make the load back off, so counts of failed operations say little
//! about how long a server was away. A slow server is not away: the time of a successful operation
//! counts as served, however long it takes. And a single failure does not turn the time in which
//! nothing was sent into an outage.

use super::spans::{Span, Spans};
use super::{Histogram, Latency};
use crate::clock::{Nanos, SECOND_NS};
use crate::op::Failure;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Shorter times without success are just gaps between two operations, and shorter times with
/// successes are no recovery: a few stragglers do not make two outages of one.
const LEAST_NS: Nanos = 10_000_000;
/// This many gaps between operations without a success are no coincidence: if a server fails one
/// operation in ten, four in a row fail once in 10,000.
const GAPS: u64 = 3;
const MOST_LISTED: usize = Span::MOST_LISTED;
/// How long a connection may wait after a failure before it tries again: the longest pause of
/// `net::rest_after`, plus some time to connect. If the next attempt comes later than that, nothing
/// is known about the time in between.
const RETRY_NS: Nanos = 1_100_000_000;
/// A shard keeps the times between two of its successes that are longer than this: a failure may
/// become known only after later successes, once the server has said what became of a write.
const LULL_NS: Nanos = 100_000_000;
/// The most of them that a shard keeps, the latest: they reach back at least 25 s.
const MOST_LULLS: usize = 256;

/// State shared by the shards of a stage: whether any connection is failing, and since when none
/// has succeeded. The hot path reads it, but writes only to the shard's own cache line.
#[derive(Debug)]
pub struct Pulse {
    /// Failing connections, over all shards.
    down: AtomicU32,
    /// When the last failure on any shard ended, and whether there were several in a row.
    last_failure: AtomicU64,
    several: AtomicBool,
    shards: Box<[LastOk]>,
}

/// When operations of a shard last succeeded. Has a cache line to itself.
#[derive(Debug, Default)]
#[repr(align(128))]
struct LastOk {
    /// When the last one did.
    at: AtomicU64,
    /// When the last lull ended.
    resumed: AtomicU64,
    lulls: Mutex<VecDeque<Lull>>,
}

/// A time between two successes.
#[derive(Clone, Copy, Debug)]
struct Lull {
    /// When the one before succeeded; 0: none did.
    from: Nanos,
    /// When the first of those that succeeded after it was begun: it was served from then on.
    served: Nanos,
    /// When the first one after it succeeded.
    to: Nanos,
}

impl LastOk {
    /// Notes a success that ends a lull, or that was begun before one ended.
    #[cold]
    fn resume(&self, began: Nanos, done: Nanos) {
        let from = self.at.load(Ordering::Relaxed);
        let mut lulls = self.lulls.lock().unwrap_or_else(PoisonError::into_inner);
        if done > from.saturating_add(LULL_NS) {
            if lulls.len() == MOST_LULLS {
                lulls.pop_front();
            }
            lulls.push_back(Lull { from, served: began, to: done });
            self.resumed.store(done, Ordering::Relaxed);
        }
        for lull in lulls.iter_mut().rev().take_while(|lull| began < lull.to) {
            lull.served = lull.served.min(began);
        }
    }

    /// The time up to `at` in which nothing is known to have succeeded: its start and end.
    fn lull_by(&self, at: Nanos) -> (Nanos, Nanos) {
        let last = self.at.load(Ordering::Relaxed);
        if last <= at {
            return (last, at);
        }
        let lulls = self.lulls.lock().unwrap_or_else(PoisonError::into_inner);
        let lull = lulls.iter().rev().find(|lull| lull.from <= at);
        // Without a lull, there were successes all the time.
        lull.filter(|lull| at < lull.to).map_or((at, at), |lull| (lull.from, at.min(lull.served)))
    }
}

impl Pulse {
    /// The shared state of this many shards.
    pub fn new(shards: usize) -> Self {
        let shards = (0..shards).map(|_| LastOk::default()).collect();
        let (down, last_failure, several) = Default::default();
        Self { down, last_failure, several, shards }
    }

    #[inline]
    fn anybody_down(&self) -> bool {
        self.down.load(Ordering::Relaxed) > 0
    }

    /// Notes that an operation of a shard, begun at `began`, succeeded at `done`. Returns `true` if
    /// no connection is failing.
    #[inline]
    pub fn beats(&self, shard: usize, began: Nanos, done: Nanos) -> bool {
        let ok = &self.shards[shard];
        let lull_end = ok.at.load(Ordering::Relaxed).saturating_add(LULL_NS);
        if done > lull_end || began < ok.resumed.load(Ordering::Relaxed) {
            ok.resume(began, done);
        }
        ok.at.store(done, Ordering::Relaxed);
        !self.anybody_down()
    }

    fn last_ok(&self) -> Nanos {
        self.shards.iter().map(|shard| shard.at.load(Ordering::Relaxed)).max().unwrap_or(0)
    }

    /// The time up to `at` in which nothing is known to have succeeded on any shard: its start and
    /// end. Later successes do not matter, nor those that the log has as served.
    fn lull_by(&self, at: Nanos) -> (Nanos, Nanos) {
        let lulls = self.shards.iter().map(|shard| shard.lull_by(at));
        lulls.fold((0, at), |(from, to), lull| (from.max(lull.0), to.min(lull.1)))
    }

    /// Notes that an operation failed at `done`. Returns when the previous one failed, if none has
    /// succeeded since.
    fn fails(&self, done: Nanos) -> Option<Nanos> {
        let before = self.last_failure.fetch_max(done, Ordering::Relaxed);
        let goes_on = before > 0 && before >= self.last_ok();
        self.several.store(goes_on, Ordering::Relaxed);
        goes_on.then_some(before)
    }

    /// When the last failure ended, if there were several in a row.
    fn failing(&self) -> Option<Nanos> {
        let several = self.several.load(Ordering::Relaxed);
        several.then(|| self.last_failure.load(Ordering::Relaxed))
    }

    /// Ends a row of failures. Returns when the last failure ended, if there were several.
    fn recovers(&self) -> Option<Nanos> {
        let several = self.several.swap(false, Ordering::Relaxed);
        several.then(|| self.last_failure.load(Ordering::Relaxed))
    }
}

/// The failures of one connection since it last succeeded.
#[derive(Clone, Copy, Debug)]
pub struct Spell {
    /// When the first operation that failed was begun.
    began: Nanos,
    /// When the last one ended.
    last: Nanos,
}

/// The outages seen by one shard; after merging, by all shards.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct OutageLog {
    down: Spans,
    served: Spans,
    /// When operations failed although the server was reachable.
    #[serde(default)]
    reached: Spans,
    waits: Histogram,
    answered: bool,
}

impl OutageLog {
    /// Notes that an operation begun at `began` succeeded at `done` on a connection that was in
    /// `spell`. Returns the length of the spell, in nanoseconds.
    #[inline]
    pub fn succeeded(
        log: &std::cell::RefCell<Self>,
        pulse: &Pulse,
        shard: usize,
        spell: &mut Option<Spell>,
        began: Nanos,
        done: Nanos,
    ) -> Nanos {
        if pulse.beats(shard, began, done) && spell.is_none() {
            return 0;
        }
        log.borrow_mut().served_meanwhile(pulse, spell, began, done)
    }

    #[cold]
    fn served_meanwhile(
        &mut self,
        pulse: &Pulse,
        spell: &mut Option<Spell>,
        began: Nanos,
        done: Nanos,
    ) -> Nanos {
        self.served.add(began, done);
        self.down_until(began, pulse.recovers(), RETRY_NS);
        Self::end(&mut self.waits, pulse, spell, began, RETRY_NS)
    }

    /// Notes an operation that failed because the server did not serve it.
    #[cold]
    pub fn failed(
        &mut self,
        pulse: &Pulse,
        spell: &mut Option<Spell>,
        began: Nanos,
        done: Nanos,
        failure: Failure,
    ) {
        // An answer that makes no sense is one nevertheless.
        self.answered |= failure.answered() || failure == Failure::Protocol;
        if !failure.by_network() {
            self.reached.add(began, done.max(began + 1));
        }
        // Successes before the first failure were not tracked.
        let (ok, until) = pulse.lull_by(done);
        let alone = began.max(ok);
        self.down.add(pulse.fails(done).map_or(alone, |before| before.min(alone)), until);
        if spell.is_none() {
            pulse.down.fetch_add(1, Ordering::Relaxed);
        }
        *spell = Some(Spell { began: spell.map_or(began, |it| it.began), last: done });
    }

    /// Notes that the server was asked in vain, from `from` to `until`, what became of the
    /// operation that has just failed on a connection.
    #[cold]
    pub fn asked_in_vain(
        &mut self,
        pulse: &Pulse,
        spell: &mut Option<Spell>,
        from: Nanos,
        until: Nanos,
        failure: Failure,
    ) {
        if !failure.by_network() {
            self.reached.add(from, until);
        }
        let (ok, dry_until) = pulse.lull_by(until);
        self.down.add(from.max(ok), dry_until);
        pulse.last_failure.fetch_max(until, Ordering::Relaxed);
        if let Some(spell) = spell {
            spell.last = until;
        }
    }

    /// After several failures, the last of which ended at `last`, the pause before the next attempt
    /// is part of the outage, if it took no longer than `longest_ns`.
    fn down_until(&mut self, until: Nanos, last: Option<Nanos>, longest_ns: Nanos) {
        if let Some(last) = last
            && until <= last.saturating_add(longest_ns)
        {
            self.down.add(last, until);
        }
    }

    /// Notes that a connection begins no more operations from `until` on; `gave_up`: because the
    /// server did not answer when it was last asked, so nothing has succeeded since. Returns how
    /// long its failures lasted.
    pub fn leave(
        &mut self,
        pulse: &Pulse,
        spell: &mut Option<Spell>,
        until: Nanos,
        gave_up: bool,
    ) -> Nanos {
        let longest_ns = if gave_up { Nanos::MAX } else { RETRY_NS };
        if spell.is_some() {
            // The others may leave later: the row of failures ends with none of them.
            self.down_until(until, pulse.failing(), longest_ns);
        }
        Self::end(&mut self.waits, pulse, spell, until, longest_ns)
    }

    /// Ends the `spell` of a connection, if any, because it succeeded or left at `until`. Returns
    /// the spell's length, without any time more than `longest_ns` after its last failure.
    fn end(
        waits: &mut Histogram,
        pulse: &Pulse,
        spell: &mut Option<Spell>,
        until: Nanos,
        longest_ns: Nanos,
    ) -> Nanos {
        let Some(Spell { began, last }) = spell.take() else { return 0 };
        pulse.down.fetch_sub(1, Ordering::Relaxed);
        // Any later time was spent waiting for the connection's turn, not for the server.
        let waited_ns = until.min(last.saturating_add(longest_ns)).saturating_sub(began);
        waits.record(waited_ns);
        waited_ns
    }

    /// Adds another shard's outages.
    pub fn merge(&mut self, other: &Self) {
        self.down.merge(&other.down);
        self.served.merge(&other.served);
        self.reached.merge(&other.reached);
        self.waits.merge(&other.waits);
        self.answered |= other.answered;
    }

    /// Adds what another process saw of the same server: nothing succeeded only while neither
    /// process saw a success.
    pub fn join(&mut self, other: &Self) {
        let outage = |log: &Self| log.down.without(&log.served);
        self.down = outage(self).common(&outage(other));
        self.served = Spans::default();
        self.reached.merge(&other.reached);
        self.waits.merge(&other.waits);
        self.answered |= other.answered;
    }

    /// Converts the times to another clock, which shows `to` when this one shows `from`.
    pub fn convert(&mut self, from: Nanos, to: Nanos) {
        self.down.convert(from, to);
        self.served.convert(from, to);
        self.reached.convert(from, to);
    }

    /// How long passed from one success to the next on average, of `successes` in a stage that took
    /// `elapsed_ns` until `end`. If nothing succeeded at the end of it, how long that went on says
    /// nothing about chance.
    pub fn gap_ns(&self, successes: u64, elapsed_ns: Nanos, end: Nanos) -> Nanos {
        let down = self.down.without(&self.served);
        let last = down.bounds().last().filter(|(_, to)| to + LEAST_NS >= end);
        let dead_ns = last.map_or(0, |(from, to)| to - from);
        elapsed_ns.saturating_sub(dead_ns).checked_div(successes).unwrap_or(0)
    }

    /// When operations failed and none succeeded. If an operation succeeds every `gap_ns`, a few
    /// may fail in a row by chance.
    pub fn spans(&self, gap_ns: Nanos) -> Spans {
        let least_ns = LEAST_NS.max(gap_ns.saturating_mul(GAPS));
        self.down.without(&self.served).of_at_least(least_ns)
    }

    /// The outages in which no operation could reach the server.
    pub fn cut_off(&self, outages: &Spans) -> Spans {
        outages.apart_from(&self.reached)
    }

    /// The outages of a stage that began at `start`, with `spans` as the times in which the server
    /// was away, and `holding` as those in which the client held something up. Neither these nor
    /// moments in which something succeeded divide an outage, but they are not part of the total.
    pub fn finish(&self, start: Nanos, spans: &Spans, holding: &Spans) -> Outage {
        let held = holding.clone().of_at_least(LEAST_NS);
        Outage {
            total_s: spans.without(holding).total_ns() as f64 / SECOND_NS as f64,
            spans: spans.joined_around(LEAST_NS, &held).longest(start, MOST_LISTED),
            answered: self.answered,
            waits: (!self.waits.is_empty()).then(|| Latency::new(self.waits.clone())),
        }
    }
}

/// The outages of a stage.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Outage {
    /// Their total length, in seconds, less the moments in which something succeeded, and the time
    /// for which the client held something up.
    pub total_s: f64,
    /// The hundred longest, in chronological order. They last from their first moment to their
    /// last, including what the total leaves out in between.
    #[cfg_attr(feature = "schema", schemars(length(max = MOST_LISTED)))]
    pub spans: Vec<Span>,
    /// Whether the server responded at times, even if only with errors.
    pub answered: bool,
    /// How long each failing connection waited until one of its operations succeeded or the stage
    /// ended. `None` if none failed because of the server.
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

    /// Two shards with one connection each.
    struct Bed {
        pulse: Pulse,
        logs: [RefCell<OutageLog>; 2],
        spells: [Option<Spell>; 2],
    }

    fn finish(log: &OutageLog) -> Outage {
        log.finish(0, &log.spans(0), &Spans::default())
    }

    impl Bed {
        fn new() -> Self {
            let logs = [RefCell::default(), RefCell::default()];
            Self { pulse: Pulse::new(2), logs, spells: [None, None] }
        }

        fn ok(&mut self, of: usize, began_ms: u64, done_ms: u64) -> u64 {
            let spell = &mut self.spells[of];
            let (began, done) = (began_ms * MS, done_ms * MS);
            OutageLog::succeeded(&self.logs[of], &self.pulse, of, spell, began, done) / MS
        }

        fn failed(&mut self, of: usize, began_ms: u64) {
            self.failed_until(of, began_ms, began_ms);
        }

        fn failed_until(&mut self, of: usize, began_ms: u64, done_ms: u64) {
            let mut log = self.logs[of].borrow_mut();
            let (began, done) = (began_ms * MS, done_ms * MS);
            log.failed(&self.pulse, &mut self.spells[of], began, done, Failure::Connect);
        }

        fn leave(&mut self, of: usize, at_ms: u64, gave_up: bool) {
            let mut log = self.logs[of].borrow_mut();
            log.leave(&self.pulse, &mut self.spells[of], at_ms * MS, gave_up);
        }

        fn finish(&mut self, end_ms: u64) -> Outage {
            let mut all = OutageLog::default();
            for (log, spell) in self.logs.iter().zip(&mut self.spells) {
                log.borrow_mut().leave(&self.pulse, spell, end_ms * MS, false);
                all.merge(&log.borrow());
            }
            assert_eq!(self.pulse.down.load(Ordering::Relaxed), 0);
            finish(&all)
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
        let outage = finish(&cut_off);
        assert!(outage.total_s < 1e-9 && outage.waits.is_some_and(|it| it.samples == 1));
        let mut both = log(&[(1_000, 5_000)]);
        both.join(&log(&[(4_000, 9_000)]));
        assert!((finish(&both).total_s - 1.0).abs() < 1e-6);
    }

    #[test]
    fn the_network_is_to_blame_where_no_failure_had_a_way_to_the_server() {
        let log = |failures: &[(Failure, u64)]| {
            let (mut log, mut spell, pulse) = (OutageLog::default(), None, Pulse::new(1));
            for &(failure, ms) in failures {
                log.failed(&pulse, &mut spell, ms * MS, (ms + 50) * MS, failure);
            }
            log.leave(&pulse, &mut spell, 1_000 * MS, false);
            log
        };
        let cut_off_ms = |log: &OutageLog| {
            let outages = log.spans(0);
            assert_eq!(outages.total_ns(), 900 * MS);
            log.cut_off(&outages).total_ns() / MS
        };
        let unreachable = [(Failure::Unreachable, 100), (Failure::Unreachable, 600)];
        let mixed = [(Failure::Unreachable, 100), (Failure::Reset, 600)];
        assert_eq!(cut_off_ms(&log(&unreachable)), 900);
        assert_eq!(cut_off_ms(&log(&mixed)), 0);
        let mut both = log(&unreachable);
        both.join(&log(&mixed));
        assert_eq!(cut_off_ms(&both), 0, "another agent had one");
        let (mut three, mut spell, pulse) = (log(&unreachable), None, Pulse::new(1));
        let at = 300 * MS;
        three.failed(&pulse, &mut spell, at, at, Failure::Reset);
        assert_eq!(cut_off_ms(&three), 0, "a failure that took no time had one, too");
        both = log(&unreachable);
        both.merge(&log(&unreachable));
        both.convert(0, 7 * SECOND_NS);
        assert_eq!(cut_off_ms(&both), 900);
        assert!(both.spans(0).bounds().eq([(7_100 * MS, 8_000 * MS)]), "on the other clock");
    }

    #[test]
    fn an_outage_lasts_from_the_last_success_to_the_next() {
        let mut bed = Bed::new();
        bed.ok(0, 3_900, 4_000);
        bed.ok(1, 3_950, 4_010);
        bed.failed(0, 4_000);
        bed.failed(1, 4_010);
        for second in 5..18 {
            bed.failed(0, second * 1_000);
        }
        assert_eq!(bed.ok(0, 17_100, 17_120), 13_100, "what this connection lived through");
        bed.ok(1, 17_110, 17_130);
        let outage = bed.finish(20_000);
        assert_eq!(outage.spans.len(), 1);
        assert_eq!(outage.longest(), Some(outage.spans[0]));
        assert!(!outage.is_none() && Outage::default().is_none());
        assert!((outage.total_s - 13.09).abs() < 1e-6, "{outage:?}");
        assert!((outage.spans[0].from_s - 4.01).abs() < 1e-6);
        let waits = outage.waits.unwrap();
        assert_eq!(waits.samples, 2);
        assert!(waits.max_us > 13.0e6);
    }

    #[test]
    fn one_failure_is_no_outage_of_the_time_in_which_nothing_was_asked() {
        let mut bed = Bed::new();
        bed.ok(0, 0, 10);
        bed.failed_until(0, 500, 505);
        // The connection's own next turn comes late, and so does that of the other connection.
        bed.ok(1, 1_000, 1_010);
        assert_eq!(bed.ok(0, 3_000, 3_010), 1_105);
        bed.failed_until(0, 3_500, 3_505);
        let outage = bed.finish(9_000);
        assert!(outage.total_s < 1e-9 && outage.waits.is_some(), "{outage:?}");
    }

    #[test]
    fn failures_in_a_row_last_from_the_first_to_the_last() {
        let mut bed = Bed::new();
        bed.ok(0, 0, 10);
        bed.failed_until(0, 500, 505);
        bed.failed_until(1, 900, 905);
        // No connection waits this long before it tries again.
        bed.ok(1, 5_000, 5_010);
        assert!((bed.finish(9_000).total_s - 0.405).abs() < 1e-6);
    }

    #[test]
    fn two_in_a_row_are_no_outage_where_few_are_asked() {
        let mut log = OutageLog::default();
        log.down.add(500 * MS, 905 * MS);
        let total_s = |gap_ms: u64| log.spans(gap_ms * MS).total_ns() as f64 / 1e9;
        assert!((total_s(135) - 0.405).abs() < 1e-6, "three gaps are none by chance");
        assert!(total_s(136) < 1e-9);
    }

    /// The outages listed, each with its start and length, and their total length, if the server
    /// was away in these times; all in milliseconds.
    fn listed(down_ms: &[(u64, u64)]) -> (Vec<(u64, u64)>, u64) {
        let mut log = OutageLog::default();
        for (from, to) in down_ms {
            log.down.add(from * MS, to * MS);
        }
        let outage = finish(&log);
        let ms = |seconds: f64| (seconds * 1e3).round() as u64;
        let spans = outage.spans.iter().map(|it| (ms(it.from_s), ms(it.length_s))).collect();
        (spans, ms(outage.total_s))
    }

    #[test]
    fn a_few_stragglers_do_not_divide_an_outage() {
        let killed = listed(&[(1_000, 1_015), (1_019, 1_200), (1_209, 1_500)]);
        assert_eq!(killed, (vec![(1_000, 500)], 487), "the time of successes was served");
        let flaps = listed(&[(1_000, 1_500), (2_500, 3_000), (4_000, 4_500)]);
        assert_eq!(flaps, (vec![(1_000, 500), (2_500, 500), (4_000, 500)], 1_500));
        let recovered = listed(&[(1_000, 1_200), (1_210, 1_500)]);
        assert_eq!(recovered, (vec![(1_000, 200), (1_210, 290)], 490));
        let gaps = listed(&[(1_000, 1_009), (1_011, 1_020), (1_022, 1_031)]);
        assert_eq!(gaps, (Vec::new(), 0), "what is no outage by itself is none with others");
    }

    /// A server that keeps serving one request in five is not away all the time, also not after an
    /// outage.
    #[test]
    fn nine_tenths_of_an_outage_are_without_success() {
        let some = |from_ms: u64| move |i: u64| (from_ms + 20 * i, from_ms + 20 * i + 16);
        let down: Vec<_> = (0..3).map(some(1_000)).collect();
        assert_eq!(listed(&down), (vec![(1_000, 16), (1_020, 16), (1_040, 16)], 48));
        let down: Vec<_> = [(1_000, 1_100)].into_iter().chain((0..7).map(some(1_104))).collect();
        let spans = vec![(1_000, 200), (1_204, 16), (1_224, 16)];
        assert_eq!(listed(&down), (spans, 100 + 7 * 16));
    }

    /// With three successes, then nothing.
    #[test]
    fn few_successes_do_not_hide_that_a_server_died_for_good() {
        let gap_ms = |from_ms: u64, to_ms: u64| {
            let mut log = OutageLog::default();
            log.down.add(from_ms * MS, to_ms * MS);
            log.gap_ns(3, 3_000 * MS, 3_000 * MS) / MS
        };
        assert_eq!(gap_ms(30, 3_000), 10);
        assert_eq!(gap_ms(30, 2_990), 13, "connections end one after the other");
        assert_eq!(gap_ms(30, 2_980), 1_000, "it came back");
        assert_eq!(gap_ms(2_400, 3_000), 800);
        assert_eq!(OutageLog::default().gap_ns(3, 3_000 * MS, 3_000 * MS), 1_000 * MS);
        assert_eq!(OutageLog::default().gap_ns(0, 3_000 * MS, 3_000 * MS), 0);
    }

    #[test]
    fn a_time_out_lasts_until_it_is_over() {
        let mut bed = Bed::new();
        bed.ok(0, 0, 10);
        bed.failed_until(0, 500, 30_500);
        bed.ok(0, 30_500, 30_510);
        assert!((bed.finish(40_000).total_s - 30.0).abs() < 1e-6);
    }

    /// A server is stopped for 1.8 s. Writes give up after 1 s and ask what became of them, so they
    /// are known to have failed only after others have succeeded.
    #[test]
    fn a_failure_that_becomes_known_after_later_successes_lasted_as_long() {
        let mut bed = Bed::new();
        for ms in (0..5_000).step_by(50) {
            bed.ok(0, ms, ms + 5);
            bed.ok(1, ms + 2, ms + 7);
        }
        // They were sent while it was stopped. The one that is answered first was not sent first.
        for (of, began) in [(0, 6_500), (1, 6_000), (0, 5_900), (1, 6_700)] {
            bed.ok(of, began, 6_800);
        }
        for ms in (6_800..7_800).step_by(50) {
            bed.ok(0, ms, ms + 5);
            bed.ok(1, ms + 2, ms + 7);
        }
        for began in (5_000..5_800).step_by(50) {
            bed.failed_until(0, began, began + 1_000);
            bed.ok(0, 7_800, 7_805);
        }
        let outage = bed.finish(10_000);
        assert_eq!(outage.spans.len(), 1, "{outage:?}");
        assert!((outage.spans[0].from_s - 5.0).abs() < 1e-6, "{outage:?}");
        assert!((outage.total_s - 0.9).abs() < 1e-6, "the rest was served: {outage:?}");
    }

    #[test]
    fn a_failure_that_becomes_known_late_is_no_outage_where_others_succeeded() {
        for step in [1, 90] {
            let mut bed = Bed::new();
            for ms in (0..9_000).step_by(step) {
                bed.ok(1, ms, ms + 1);
            }
            bed.failed_until(0, 5_000, 6_000);
            assert!(bed.finish(9_000).total_s < 1e-9, "{step}");
        }
        // A single connection succeeded only slowly, and one failed meanwhile.
        let mut bed = Bed::new();
        for ms in (0..9_000).step_by(500) {
            bed.ok(1, ms, ms + 500);
        }
        bed.failed_until(0, 5_100, 6_100);
        assert!(bed.finish(9_000).total_s < 1e-9);
    }

    #[test]
    fn what_is_kept_of_the_past_has_an_end() {
        let mut bed = Bed::new();
        for second in 0..1_000 {
            bed.ok(0, second * 1_000, second * 1_000 + 1);
        }
        let kept = bed.pulse.shards[0].lulls.lock().unwrap().len();
        assert_eq!(kept, MOST_LULLS);
        bed.failed_until(1, 998_100, 998_900);
        bed.failed_until(1, 100_100, 100_900);
        assert!((bed.finish(1_000_000).total_s - 0.8).abs() < 1e-6, "the first alone is known");
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
    fn the_time_of_a_success_is_served_however_much_fails_meanwhile() {
        let mut bed = Bed::new();
        bed.failed(0, 1_000);
        bed.failed(0, 2_000);
        bed.ok(1, 900, 9_000);
        bed.ok(0, 9_000, 9_010);
        let outage = bed.finish(10_000);
        assert!(outage.total_s < 1e-9, "{outage:?}");
    }

    #[test]
    fn nothing_is_kept_while_nothing_fails() {
        let mut bed = Bed::new();
        bed.ok(0, 0, 10);
        bed.ok(1, 5, 20);
        assert!(bed.logs.iter().all(|log| log.borrow().served == Spans::default()));
        assert!(bed.pulse.beats(0, 29 * MS, 30 * MS));
        bed.failed(1, 40);
        assert!(!bed.pulse.beats(0, 49 * MS, 50 * MS));
    }

    #[test]
    fn a_server_that_refused_is_known_to_have_answered_by_all() {
        for answers in [[false, false], [true, false], [false, true], [true, true]] {
            let mut bed = Bed::new();
            for (of, answered) in answers.into_iter().enumerate() {
                let mut log = bed.logs[of].borrow_mut();
                let failure = if answered { Failure::ServerError } else { Failure::Connect };
                log.failed(&bed.pulse, &mut bed.spells[of], MS, MS, failure);
            }
            let (mut here, there) = (bed.logs[0].borrow().clone(), bed.logs[1].borrow().clone());
            here.join(&there);
            assert_eq!(here.answered, answers != [false, false], "another agent's count, too");
            assert_eq!(bed.finish(100).answered, answers != [false, false]);
        }
        let (mut log, pulse, mut spell) = (OutageLog::default(), Pulse::new(1), None);
        for ms in [1, 2] {
            log.failed(&pulse, &mut spell, ms * MS, ms * MS, Failure::ServerError);
            assert!(log.answered, "{ms}");
        }
        for (failure, answered) in [(Failure::Protocol, true), (Failure::Timeout, false)] {
            let (mut log, mut spell) = (OutageLog::default(), None);
            log.failed(&pulse, &mut spell, MS, MS, failure);
            assert_eq!(log.answered, answered, "{failure:?}");
        }
    }

    #[test]
    fn one_that_never_ends_lasts_to_the_end_of_the_stage() {
        let mut bed = Bed::new();
        bed.ok(0, 0, 10);
        for ms in [10, 1_000, 2_000] {
            bed.failed(0, ms);
        }
        let outage = bed.finish(3_010);
        assert!((outage.total_s - 3.0).abs() < 1e-6 && !outage.answered, "{outage:?}");
    }

    #[test]
    fn one_that_never_ends_lasts_until_the_last_connection_leaves() {
        let away_ms = |left_ms: [u64; 2], gave_up: bool| {
            let mut bed = Bed::new();
            bed.ok(0, 0, 10);
            for ms in [10, 1_000, 2_000] {
                bed.failed(0, ms);
                bed.failed(1, ms);
            }
            bed.leave(0, left_ms[0], gave_up);
            bed.leave(1, left_ms[1], gave_up);
            (bed.finish(9_000).total_s * 1e3).round() as u64
        };
        assert_eq!(away_ms([2_100, 2_900], false), 2_890, "each after its own pause");
        // The server was asked before it was given up, and did not answer.
        assert_eq!(away_ms([2_100, 6_000], true), 5_990);
        assert_eq!(away_ms([6_000, 6_000], false), 1_990, "nobody has asked since");
    }

    #[test]
    fn a_connection_that_leaves_does_not_hide_the_success_of_another() {
        let mut bed = Bed::new();
        bed.ok(0, 0, 10);
        for ms in [10, 1_000] {
            bed.failed(0, ms);
            bed.failed(1, ms);
        }
        bed.leave(0, 1_100, true);
        bed.ok(1, 1_500, 1_600);
        bed.failed(1, 3_000);
        bed.leave(1, 6_000, true);
        let outage = bed.finish(9_000);
        assert!((outage.total_s - 1.49).abs() < 1e-6, "{outage:?}");
    }
}
