//! The seconds of a stage, combined into as many intervals as a chart can show. Percentiles are
//! those of the merged histograms.

use crate::measure::{Histogram, SeriesKind, SeriesRow};
use crate::op::{Failure, OpKind};
use crate::record::StageRecord;
use std::collections::BTreeMap;

/// Widths of intervals, in seconds, that are easy to read off an axis.
pub(super) const WIDTHS_S: [u32; 13] = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600];
/// If intervals have too few samples for a percentile, it is taken from intervals longer by these
/// factors. Each is a multiple of the one before, so that its intervals can be merged from those.
const LONGER: [u32; 5] = [1, 5, 10, 30, 60];
/// Rows of a heat map from one power of ten to the next.
pub(super) const ROWS_PER_DECADE: f64 = 12.0;
/// The percentiles that are shown over time.
pub(super) const PERCENTILES: [f64; 3] = [50.0, 99.0, 99.9];

/// Whether operations of a kind belong to a view: of that kind or, without one, of all requests,
/// each counted once.
pub(super) fn covers(view: Option<OpKind>, kind: OpKind) -> bool {
    view.map_or_else(|| kind.is_request(), |wanted| wanted == kind)
}

/// How a stage's time is divided.
#[derive(Clone, Copy, Debug)]
pub(in crate::report) struct Cuts {
    width_s: u32,
    pub(in crate::report) count: usize,
    end_s: f64,
}

impl Cuts {
    /// A last interval of less than half the width is joined to the one before: a rate over a few
    /// milliseconds means nothing.
    pub(in crate::report) fn new(end_s: f64, width_s: u32) -> Self {
        let stretches = end_s / f64::from(width_s);
        let count = if stretches.fract() < 0.5 { stretches.floor() } else { stretches.ceil() };
        Self { width_s, count: (count as usize).max(1), end_s }
    }

    /// The number of the interval that a second is in.
    pub(in crate::report) fn of(self, second: u32) -> usize {
        ((second / self.width_s) as usize).min(self.count - 1)
    }

    /// Start and end of an interval, in seconds.
    pub(in crate::report) fn span(self, index: usize) -> (f64, f64) {
        let edge = |index: usize| index as f64 * f64::from(self.width_s);
        let to = if index + 1 == self.count { self.end_s } else { edge(index + 1) };
        (edge(index), to)
    }
}

/// The counts of one interval.
#[derive(Clone, Debug, Default)]
pub(super) struct Stretch {
    /// Start and end, in seconds since the start of the stage.
    pub(super) span_s: (f64, f64),
    pub(super) requests: u64,
    pub(super) ok: u64,
    pub(super) failures: BTreeMap<Failure, u64>,
    /// Requests by row of the heat map: response times from 10^(row/12) ms.
    pub(super) rows: BTreeMap<i32, u64>,
}

/// Percentiles of intervals of one width.
#[derive(Clone, Debug)]
pub(super) struct Rung {
    pub(super) width_s: u32,
    /// Start and end of each interval in seconds; response and service times in milliseconds.
    pub(super) points: Vec<((f64, f64), [Times; 2])>,
}

/// One value for each of [`PERCENTILES`], if enough samples lie beyond.
pub(super) type Times = [Option<f64>; PERCENTILES.len()];

/// A stage over time, for one kind of operation or all of them.
#[derive(Clone, Debug)]
pub(super) struct Timeline {
    pub(super) stretches: Vec<Stretch>,
    /// From the narrowest to the widest.
    pub(super) rungs: Vec<Rung>,
}

impl Timeline {
    /// Divides a stage into at most `most` intervals.
    pub(super) fn new(stage: &StageRecord, kind: Option<OpKind>, most: usize) -> Self {
        let last = stage.series.rows.last().map_or(0, |row| row.second);
        let end_s = stage.elapsed_s.max(f64::from(last) + 1e-3);
        let fits = |width: &u32| end_s / f64::from(*width) <= most as f64;
        // No row may span two intervals: longer rows begin at multiples of their length.
        let longest_s = stage.series.rows.iter().map(|row| row.seconds).max().unwrap_or(1);
        let whole = SeriesRow::length_s(longest_s);
        let width_s = WIDTHS_S.into_iter().filter(|width| width % whole == 0).find(fits);
        let width_s =
            width_s.unwrap_or_else(|| ((end_s / most as f64) as u32 + 1).next_multiple_of(whole));
        let cuts = Cuts::new(end_s, width_s);
        let mut stretches: Vec<Stretch> = (0..cuts.count)
            .map(|index| Stretch { span_s: cuts.span(index), ..Stretch::default() })
            .collect();
        let mut climbers: Vec<Climber> = LONGER
            .into_iter()
            .filter(|longer| *longer == 1 || f64::from(width_s * longer) * 2.0 <= end_s)
            .map(|longer| Climber::new(Cuts::new(end_s, width_s * longer)))
            .collect();
        for row in &stage.series.rows {
            let stretch = &mut stretches[cuts.of(row.second)];
            let parts = row.kinds.iter().filter(|(it, _)| covers(kind, **it));
            for (_, part) in parts {
                let times = [part.response.get(), part.service.get()];
                stretch.add(part, &times[0]);
                climb(&mut climbers, row.second, &times);
            }
        }
        for rung in 0..climbers.len() {
            let (second, times) = climbers[rung].flush();
            climb(&mut climbers[rung + 1..], second, &times);
        }
        Self { stretches, rungs: climbers.into_iter().map(|climber| climber.rung).collect() }
    }

    /// The narrowest width at which at least half of the intervals have the percentile; `None`: no
    /// width qualifies.
    pub(super) fn rung(&self, percentile: usize, time: usize) -> Option<&Rung> {
        self.rungs.iter().find(|rung| {
            let known = rung.points.iter().filter(|(_, t)| t[time][percentile].is_some()).count();
            known > 0 && known * 2 >= rung.points.len()
        })
    }
}

impl Stretch {
    fn add(&mut self, part: &SeriesKind, response: &Histogram) {
        self.requests += part.requests;
        self.ok += part.ok;
        for (class, count) in &part.failures {
            *self.failures.entry(*class).or_default() += count;
        }
        for step in response.inner().iter_recorded() {
            let ms = step.value_iterated_to().max(1) as f64 / 1e6;
            let row = (ms.log10() * ROWS_PER_DECADE).floor() as i32;
            *self.rows.entry(row).or_default() += step.count_since_last_iteration();
        }
    }

    /// `count` per second.
    pub(super) fn rate(&self, count: u64) -> f64 {
        let (from, to) = self.span_s;
        if to > from { count as f64 / (to - from) } else { 0.0 }
    }

    /// The middle of the interval, in seconds.
    pub(super) fn middle_s(&self) -> f64 {
        f64::midpoint(self.span_s.0, self.span_s.1)
    }
}

/// Merges seconds interval by interval, and keeps only the percentiles: the histograms of all
/// intervals would take too much memory.
struct Climber {
    cuts: Cuts,
    now: usize,
    times: [Histogram; 2],
    rung: Rung,
}

impl Climber {
    fn new(cuts: Cuts) -> Self {
        let nothing = |index| (cuts.span(index), [[None; PERCENTILES.len()]; 2]);
        let points = (0..cuts.count).map(nothing).collect();
        let rung = Rung { width_s: cuts.width_s, points };
        Self { cuts, now: 0, times: Default::default(), rung }
    }

    /// Adds a second; returns the previous interval when a new one begins.
    fn add(&mut self, second: u32, times: &[Histogram; 2]) -> Option<(u32, [Histogram; 2])> {
        let index = self.cuts.of(second);
        let last = (index != self.now).then(|| self.flush());
        self.now = index;
        self.times.iter_mut().zip(times).for_each(|(sum, part)| sum.merge(part));
        last
    }

    /// Computes the percentiles of the interval; returns it with the second it began at.
    fn flush(&mut self) -> (u32, [Histogram; 2]) {
        for (times, point) in self.times.iter().zip(&mut self.rung.points[self.now].1) {
            *point = PERCENTILES.map(|p| times.earns(p).then(|| times.percentile(p) as f64 / 1e6));
        }
        (self.now as u32 * self.cuts.width_s, std::mem::take(&mut self.times))
    }
}

/// Adds to the narrowest width; complete intervals are passed on to the next one.
fn climb(climbers: &mut [Climber], second: u32, times: &[Histogram; 2]) {
    let Some((first, others)) = climbers.split_first_mut() else { return };
    if let Some((second, times)) = first.add(second, times) {
        climb(others, second, &times);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::fixture::{part, stage};

    #[test]
    fn an_even_rate_is_even_in_rows_of_whatever_length() {
        let mut stage = stage("crud", vec![(0, OpKind::Read, part(1, 0))]);
        let model = stage.series.rows.remove(0);
        for (until, seconds) in [(600, 10), (1_200, 2), (1_260, 1)] {
            let mut second = stage.series.rows.last().map_or(0, SeriesRow::end);
            while second < until {
                let mut row = SeriesRow { second, seconds, ..model.clone() };
                row.kinds.values_mut().for_each(|kind| kind.ok = u64::from(7 * seconds));
                stage.series.rows.push(row);
                second += seconds;
            }
        }
        stage.elapsed_s = 1_260.0;
        for most in [50, 120, 400, 2_000] {
            let stretches = Timeline::new(&stage, None, most).stretches;
            assert!(stretches.len() <= most && stretches.len() > 30, "{most}");
            for stretch in stretches {
                assert!((stretch.rate(stretch.ok) - 7.0).abs() < 1e-9, "{most}: {stretch:?}");
            }
        }
    }
}
