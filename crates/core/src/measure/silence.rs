//! Silences: times in which the server did not answer although operations were due or in flight.
//!
//! Each shard notes the long gaps between its answers, and in each gap, since when an operation was
//! waiting. The server was silent where all shards had a gap and at least one of them was waiting.
//! A shard without work also has a gap, but is not waiting.

use super::loss::READING_NS;
use super::probe::Timing;
use super::spans::{Span, Spans};
use crate::clock::{Nanos, SECOND_NS};
use serde::{Deserialize, Serialize};
use std::cell::{Cell, RefCell};

/// Shorter silences are not noted: a person perceives an answer within this time as immediate.
const LEAST_NS: Nanos = 100_000_000;
/// The most gaps that a shard keeps; it keeps the longest.
const MOST_KEPT: usize = 1_000;
const MOST_LISTED: usize = Span::MOST_LISTED;
/// The end of a gap that no answer ended, small enough for sums with it not to overflow.
const NEVER: Nanos = Nanos::MAX / 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Gap {
    from: Nanos,
    to: Nanos,
    /// Since when an operation answered at the end of the gap or later had been due or in flight;
    /// `to` if there was none.
    due: Nanos,
}

/// The answers of one shard as they arrive.
#[derive(Debug)]
pub struct Answers {
    last: Cell<Nanos>,
    gaps: RefCell<Vec<Gap>>,
}

/// The answers from one of several nodes to one shard. Here an operation counts from when it was
/// sent: while it was waiting for a connection, this node had not been asked yet.
#[derive(Debug)]
pub struct NodeAnswers {
    answers: Answers,
    /// Operations in flight since the last answer that were never answered: when the first was
    /// sent, and when the last ended.
    lost: Cell<Option<(Nanos, Nanos)>>,
}

/// The gaps between the answers of one shard; after merging, those common to all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Silences {
    gaps: Vec<Gap>,
}

impl Answers {
    /// No answers yet in a stage that begins at `start`.
    pub fn new(start: Nanos) -> Self {
        Self { last: Cell::new(start), gaps: RefCell::default() }
    }

    /// Notes an answered operation. As long as nothing is late, this takes two comparisons and a
    /// store.
    #[inline]
    pub fn add(&self, timing: &Timing) {
        let (last, done) = (self.last.get(), timing.done);
        // Where the kernel timestamps arrivals, answers may be read out of order.
        self.last.set(last.max(done));
        if timing.response_ns >= LEAST_NS || done >= last + LEAST_NS {
            self.note(last, timing);
        }
    }

    #[cold]
    fn note(&self, last: Nanos, timing: &Timing) {
        let (due, done) = (timing.done.saturating_sub(timing.response_ns), timing.done);
        let mut gaps = self.gaps.borrow_mut();
        if done >= last + LEAST_NS {
            gaps.push(Gap { from: last, to: done, due: due.clamp(last, done) });
        }
        // The operation answered first is not necessarily the one that waited longest.
        for gap in gaps.iter_mut().rev().take_while(|gap| gap.to > due) {
            gap.due = gap.due.min(due.max(gap.from));
        }
        if gaps.len() >= 2 * MOST_KEPT {
            gaps.sort_unstable_by_key(|gap| std::cmp::Reverse(gap.to - gap.from));
            gaps.truncate(MOST_KEPT);
            gaps.sort_unstable_by_key(|gap| gap.from);
        }
    }

    /// The gaps. If a gap ended when the thread resumed after one of `pauses`, it really ended at
    /// an unknown time during the pause. A pause after which no answer was found changes nothing.
    pub fn finish(&self, pauses: &Spans) -> Silences {
        let mut gaps = self.gaps.take();
        for gap in &mut gaps {
            let ends = |pause: &(Nanos, Nanos)| pause.0 < gap.to && gap.to <= pause.1 + READING_NS;
            gap.to = pauses.bounds().find(ends).map_or(gap.to, |pause| pause.0.max(gap.from));
            gap.due = gap.due.min(gap.to);
        }
        gaps.retain(|gap| gap.to >= gap.from + LEAST_NS);
        gaps.push(Gap { from: self.last.get(), to: NEVER, due: NEVER });
        Silences { gaps }
    }
}

impl NodeAnswers {
    /// No answers yet in a stage that begins at `start`.
    pub fn new(start: Nanos) -> Self {
        Self { answers: Answers::new(start), lost: Cell::default() }
    }

    /// Notes that an operation sent to the node has ended, `answered` or not.
    pub fn add(&self, timing: &Timing, answered: bool) {
        let (sent, done) = (timing.done.saturating_sub(timing.service_ns), timing.done);
        if !answered {
            // An operation that failed at once was refused, so it was not waiting.
            if done - sent >= LEAST_NS {
                let (from, to) = self.lost.get().unwrap_or((sent, done));
                self.lost.set(Some((from.min(sent), to.max(done))));
            }
            return;
        }
        let last = self.answers.last.get();
        self.answers.add(&Timing::between(sent, done));
        if let Some((since, until)) = self.lost.take() {
            let mut gaps = self.answers.gaps.borrow_mut();
            let waited = |gap: &&mut Gap| gap.from >= last && until >= gap.from + LEAST_NS;
            if let Some(gap) = gaps.last_mut().filter(waited) {
                gap.due = gap.due.min(since.max(gap.from));
            }
        }
    }

    /// The gaps, as for [`Answers::finish`].
    pub fn finish(&self, pauses: &Spans) -> Silences {
        let mut silences = self.answers.finish(pauses);
        if let (Some((since, until)), Some(open)) = (self.lost.get(), silences.gaps.pop()) {
            let (from, to) = (open.from, until.max(open.from));
            silences.gaps.push(Gap { from, to, due: since.clamp(from, to) });
            silences.gaps.push(Gap { from: to, ..open });
        }
        silences
    }
}

impl Silences {
    /// The gaps that these and those of another shard have in common.
    #[must_use]
    pub fn common(&self, other: &Self) -> Self {
        let mut gaps = Vec::new();
        let (mut ours, mut theirs) = (self.gaps.iter().peekable(), other.gaps.iter().peekable());
        while let (Some(one), Some(two)) = (ours.peek(), theirs.peek()) {
            let (from, to) = (one.from.max(two.from), one.to.min(two.to));
            if to >= from.saturating_add(LEAST_NS) {
                gaps.push(Gap { from, to, due: one.due.min(two.due).clamp(from, to) });
            }
            if one.to < two.to {
                ours.next()
            } else {
                theirs.next()
            };
        }
        Self { gaps }
    }

    /// Converts the times to another clock, which shows `to` when this one shows `from`.
    pub fn convert(&mut self, from: Nanos, to: Nanos) {
        for gap in &mut self.gaps {
            for time in [&mut gap.from, &mut gap.to, &mut gap.due] {
                *time = to.saturating_add(*time).saturating_sub(from);
            }
        }
    }

    /// Silences of at least `least_ns`.
    pub fn of_at_least(&self, least_ns: Nanos) -> Spans {
        let mut spans = Spans::default();
        for gap in self.gaps.iter().filter(|gap| gap.to - gap.due >= least_ns.max(LEAST_NS)) {
            spans.add(gap.due, gap.to);
        }
        spans
    }

    /// The longest silences of a stage that began at `start`, in order.
    pub fn finish(&self, start: Nanos) -> Vec<Span> {
        let waited = |gap: &Gap| gap.to - gap.due;
        let mut gaps: Vec<Gap> =
            self.gaps.iter().copied().filter(|gap| waited(gap) >= LEAST_NS).collect();
        gaps.sort_unstable_by_key(|gap| std::cmp::Reverse(waited(gap)));
        gaps.truncate(MOST_LISTED);
        gaps.sort_unstable_by_key(|gap| gap.due);
        let seconds = |ns: Nanos| ns as f64 / SECOND_NS as f64;
        let span = |gap: Gap| Span {
            from_s: seconds(gap.due.saturating_sub(start)),
            length_s: seconds(waited(&gap)),
        };
        gaps.into_iter().map(span).collect()
    }
}

#[cfg(test)]
#[path = "silence_tests.rs"]
mod tests;
