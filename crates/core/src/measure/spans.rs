//! Spans of time: in order, disjoint, and limited in number.

use crate::clock::{Nanos, SECOND_NS};
use serde::{Deserialize, Serialize};

/// The most spans to keep. Beyond that, neighbors are merged.
const MOST: usize = 4_096;
/// Spans closer than this are always merged.
const CLOSE_NS: Nanos = 1_000_000;
/// Spans are joined as long as the gaps take up at most one part in this many of the whole.
const JOINED_PARTS: Nanos = 10;

/// A span of a stage's time, in seconds from its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Span {
    /// When it began.
    pub from_s: f64,
    /// How long it lasted.
    pub length_s: f64,
}

impl Span {
    /// The most spans of one kind that a stage's record lists: the longest.
    pub const MOST_LISTED: usize = 100;
}

/// Spans of time on the clock of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spans {
    spans: Vec<(Nanos, Nanos)>,
    close_ns: Nanos,
}

impl Default for Spans {
    fn default() -> Self {
        Self { spans: Vec::new(), close_ns: CLOSE_NS }
    }
}

impl Spans {
    /// Adds the time from `from` to `to`, in any order.
    pub fn add(&mut self, from: Nanos, to: Nanos) {
        if to <= from {
            return;
        }
        let close_ns = self.close_ns;
        // The spans that the new one touches: from the first that does not end before it to the
        // last that does not begin after it.
        let first = self.spans.partition_point(|&(_, end)| end + close_ns < from);
        let behind = self.spans.partition_point(|&(begin, _)| begin <= to + close_ns);
        let touched = &self.spans[first..behind];
        let begin = touched.first().map_or(from, |&(begin, _)| begin.min(from));
        let end = touched.last().map_or(to, |&(_, end)| end.max(to));
        self.spans.splice(first..behind, [(begin, end)]);
        while self.spans.len() > MOST {
            self.coarsen();
        }
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.close_ns = self.close_ns.max(other.close_ns);
        for &(from, to) in &other.spans {
            self.add(from, to);
        }
    }

    /// Converts the times to another clock, which shows `to` when this one shows `from`.
    pub fn convert(&mut self, from: Nanos, to: Nanos) {
        for (begin, end) in &mut self.spans {
            *begin = to.saturating_add(*begin).saturating_sub(from);
            *end = to.saturating_add(*end).saturating_sub(from);
        }
    }

    /// The time that is in both.
    #[must_use]
    pub fn common(&self, other: &Self) -> Self {
        self.without(&self.without(other))
    }

    /// These spans without the time in `other`.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        let mut left = Self { close_ns: 0, ..Self::default() };
        let mut cuts = other.spans.as_slice();
        for &(mut from, to) in &self.spans {
            while let [(_, end), rest @ ..] = cuts
                && *end <= from
            {
                cuts = rest;
            }
            for &(begin, end) in cuts.iter().take_while(|(begin, _)| *begin < to) {
                left.spans.extend((from < begin).then_some((from, begin)));
                from = from.max(end);
            }
            left.spans.extend((from < to).then_some((from, to)));
        }
        left
    }

    /// The spans that have no time in common with `other`.
    #[must_use]
    pub fn apart_from(&self, other: &Self) -> Self {
        let meets = |&(from, to): &(Nanos, Nanos)| {
            let after = other.spans.partition_point(|&(_, end)| end <= from);
            other.spans.get(after).is_some_and(|&(begin, _)| begin < to)
        };
        let spans = self.spans.iter().copied().filter(|span| !meets(span)).collect();
        Self { spans, close_ns: self.close_ns }
    }

    /// The spans of at least `least_ns`.
    #[must_use]
    pub fn of_at_least(mut self, least_ns: Nanos) -> Self {
        self.spans.retain(|(from, to)| to - from >= least_ns);
        self
    }

    /// These spans, with those joined that are less than `gap_ns` apart, as long as nine tenths of
    /// the whole are in them.
    #[must_use]
    pub fn joined(&self, gap_ns: Nanos) -> Self {
        let mut joined: Vec<(Nanos, Nanos)> = Vec::with_capacity(self.spans.len());
        // Of the last one.
        let mut gaps_ns = 0;
        for &(from, to) in &self.spans {
            match joined.last_mut() {
                Some((begin, end))
                    if from - *end < gap_ns
                        && (gaps_ns + from - *end) * JOINED_PARTS <= to - *begin =>
                {
                    gaps_ns += from - *end;
                    *end = to;
                }
                _ => {
                    gaps_ns = 0;
                    joined.push((from, to));
                }
            }
        }
        Self { spans: joined, close_ns: self.close_ns }
    }

    /// The spans [joined](Self::joined) over these gaps, without the time in `cut`. If no more than
    /// half of one was cut out, it is not divided by that, but only shortened at its ends.
    #[must_use]
    pub fn joined_around(&self, gap_ns: Nanos, cut: &Self) -> Self {
        let left = self.without(cut);
        let mut around = Self { spans: Vec::new(), close_ns: self.close_ns };
        for (begin, end) in self.joined(gap_ns).bounds() {
            let first = left.spans.partition_point(|&(_, to)| to <= begin);
            let behind = left.spans.partition_point(|&(from, _)| from < end);
            let parts = &left.spans[first..behind];
            let left_ns: Nanos = parts.iter().map(|(from, to)| to - from).sum();
            match parts {
                [(from, _), .., (_, to)] if 2 * left_ns >= to - from => {
                    around.spans.push((*from, *to));
                }
                _ => {
                    let parts = Self { spans: parts.to_vec(), close_ns: left.close_ns };
                    around.spans.extend(parts.joined(gap_ns).spans);
                }
            }
        }
        around
    }

    /// The start and end of each, in order.
    pub(super) fn bounds(&self) -> impl Iterator<Item = (Nanos, Nanos)> {
        self.spans.iter().copied()
    }

    /// The total time, in nanoseconds.
    pub fn total_ns(&self) -> Nanos {
        self.spans.iter().map(|(from, to)| to - from).sum()
    }

    /// The `most` longest spans in order of time, relative to `start`.
    pub fn longest(&self, start: Nanos, most: usize) -> Vec<Span> {
        let mut longest = self.spans.clone();
        longest.sort_by_key(|(from, to)| std::cmp::Reverse(to - from));
        longest.truncate(most);
        longest.sort_unstable();
        let seconds = |ns: Nanos| ns as f64 / SECOND_NS as f64;
        let span = |(from, to): (Nanos, Nanos)| Span {
            from_s: seconds(from.saturating_sub(start)),
            length_s: seconds(to - from),
        };
        longest.into_iter().map(span).collect()
    }

    /// Doubles the distance below which spans are merged.
    #[cold]
    fn coarsen(&mut self) {
        self.close_ns *= 2;
        let close_ns = self.close_ns;
        let mut joined: Vec<(Nanos, Nanos)> = Vec::with_capacity(self.spans.len());
        for &(from, to) in &self.spans {
            match joined.last_mut() {
                Some((_, end)) if *end + close_ns >= from => *end = to,
                _ => joined.push((from, to)),
            }
        }
        self.spans = joined;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: Nanos = 1_000_000;

    fn spans(parts: &[(u64, u64)]) -> Spans {
        let mut spans = Spans::default();
        for (from, to) in parts {
            spans.add(from * MS, to * MS);
        }
        spans
    }

    #[test]
    fn what_is_common_is_in_both_and_other_clocks_keep_lengths() {
        let (one, other) = (spans(&[(10, 50), (100, 200)]), spans(&[(40, 120), (150, 160)]));
        let common = one.common(&other);
        let expected = [(40 * MS, 50 * MS), (100 * MS, 120 * MS), (150 * MS, 160 * MS)];
        assert_eq!(common.spans, expected);
        assert_eq!(other.common(&one).spans, expected);
        let mut converted = one.clone();
        converted.convert(10 * MS, 1_010 * MS);
        assert_eq!(converted.longest(1_000 * MS, 9), one.longest(0, 9));
        converted.convert(1_010 * MS, 10 * MS);
        assert_eq!(converted, one);
    }

    #[test]
    fn what_touches_is_one() {
        let spans = spans(&[(10, 20), (30, 40), (5, 8), (19, 31), (9, 9)]);
        assert_eq!(spans.total_ns(), 33 * MS);
        let longest = spans.longest(0, 9);
        assert_eq!(longest.len(), 2);
        assert!(
            (longest[1].from_s - 0.010).abs() < 1e-9 && (longest[1].length_s - 0.030).abs() < 1e-9
        );
    }

    #[test]
    fn what_was_covered_is_taken_out() {
        let left =
            spans(&[(0, 100), (200, 300)]).without(&spans(&[(10, 20), (90, 250), (400, 500)]));
        assert_eq!(left.spans, [(0, 10 * MS), (20 * MS, 90 * MS), (250 * MS, 300 * MS)]);
        assert_eq!(left.of_at_least(50 * MS).total_ns(), 120 * MS);
    }

    #[test]
    fn what_is_cut_out_divides_a_span_only_if_it_is_more_than_half_of_it() {
        let around = |all: &[(u64, u64)], cut: &[(u64, u64)]| -> Vec<_> {
            let joined = spans(all).joined_around(10 * MS, &spans(cut));
            joined.bounds().map(|(from, to)| (from / MS, to / MS)).collect()
        };
        assert_eq!(around(&[(0, 600)], &[(100, 150), (300, 400)]), [(0, 600)]);
        assert_eq!(around(&[(0, 600)], &[(0, 50), (590, 700)]), [(50, 590)], "not at its ends");
        assert_eq!(around(&[(0, 600)], &[(100, 400)]), [(0, 600)]);
        assert_eq!(around(&[(0, 600)], &[(100, 401)]), [(0, 100), (401, 600)]);
        assert!(around(&[(0, 600)], &[(0, 600)]).is_empty());
        // Where one is joined over a gap, it does not matter that the gap was cut out, too.
        assert_eq!(around(&[(0, 300), (304, 600)], &[(290, 320)]), [(0, 600)]);
        assert_eq!(around(&[(0, 300), (320, 600)], &[(290, 330)]), [(0, 290), (330, 600)]);
    }

    #[test]
    fn what_only_touches_has_no_time_in_common() {
        let all = spans(&[(10, 20), (30, 40), (50, 60)]);
        assert_eq!(all.apart_from(&spans(&[(20, 30), (40, 45)])), all);
        let others = spans(&[(19, 21), (49, 51)]);
        assert_eq!(all.apart_from(&others).spans, [(30 * MS, 40 * MS)]);
        let bounds: Vec<_> = others.bounds().collect();
        assert_eq!(bounds, [(19 * MS, 21 * MS), (49 * MS, 51 * MS)]);
    }

    #[test]
    fn the_longest_are_listed_in_order_from_the_start() {
        let spans = spans(&[(100, 110), (200, 250), (300, 320), (400, 490)]);
        let ms = |s: f64| (s * 1e3).round() as u64;
        let listed = |most: usize| -> Vec<_> {
            let longest = spans.longest(50 * MS, most);
            longest.iter().map(|it| (ms(it.from_s), ms(it.length_s))).collect()
        };
        assert_eq!(listed(3), [(150, 50), (250, 20), (350, 90)]);
        assert_eq!(listed(2), [(150, 50), (350, 90)], "not the latest");
    }

    #[test]
    fn what_lies_close_is_one_and_what_is_left_of_it_is_not() {
        let mut close = Spans::default();
        close.add(0, 10);
        close.add(10 + CLOSE_NS, 20 + CLOSE_NS);
        assert_eq!(close.spans, [(0, 20 + CLOSE_NS)]);
        let mut earlier = Spans::default();
        earlier.add(10 + CLOSE_NS, 20 + CLOSE_NS);
        earlier.add(0, 10);
        assert_eq!(earlier, close, "in any order");
        let mut apart = Spans::default();
        apart.add(0, 10);
        apart.add(11 + CLOSE_NS, 20 + CLOSE_NS);
        assert_eq!(apart.spans.len(), 2);
        apart.coarsen();
        assert_eq!((apart.spans.len(), apart.close_ns), (1, 2 * CLOSE_NS));
        let mut far = spans(&[(0, 10), (12, 20), (22, 30), (33, 40)]);
        far.coarsen();
        assert_eq!(far.spans, [(0, 30 * MS), (33 * MS, 40 * MS)]);
        // Parts left by a cut are not merged, however close they are.
        let mut left = spans(&[(0, 10)]).without(&Spans { spans: vec![(5, 6)], close_ns: 0 });
        left.add(20 * MS, 20 * MS + 1);
        left.add(20 * MS + 2, 20 * MS + 3);
        assert_eq!(left.spans.len(), 4);
    }

    #[test]
    fn memory_has_an_end() {
        let mut spans = Spans::default();
        for i in 0..100_000 {
            spans.add(i * 10 * MS, (i * 10 + 3) * MS);
        }
        assert!(spans.spans.len() <= MOST);
        assert!(spans.total_ns() >= 300_000 * MS, "nothing that was added is lost");
        let mut few = Spans::default();
        (0..MOST as u64).for_each(|i| few.add(i * 10 * MS, (i * 10 + 3) * MS));
        assert_eq!(few.spans.len(), MOST, "as many as are kept are kept as they are");
    }

    proptest! {
        #[test]
        fn each_millisecond_is_in_or_out(
            parts in proptest::collection::vec((0u64..400, 0u64..60), 0..30),
            cuts in proptest::collection::vec((0u64..400, 0u64..60), 0..30),
        ) {
            // Four milliseconds apart, so that none are merged for being too close.
            let scale = |parts: &[(u64, u64)]| -> Vec<(u64, u64)> {
                parts.iter().map(|(from, length)| (from * 4, (from + length) * 4)).collect()
            };
            let (parts, cuts) = (scale(&parts), scale(&cuts));
            let within =
                |parts: &[(u64, u64)], ms: u64| parts.iter().any(|(a, b)| *a <= ms && ms < *b);
            let in_and_out = |&ms: &u64| within(&parts, ms) && !within(&cuts, ms);
            let expected = (0..2_000).filter(in_and_out).count();
            let left = spans(&parts).without(&spans(&cuts));
            prop_assert_eq!(left.total_ns(), expected as u64 * MS);
        }
    }
}
