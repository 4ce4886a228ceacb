//! Decides on which side of its limit a figure of a run certainly lies.

use crate::measure::{Histogram, Kept, OperationSummary, SeriesKind, SeriesRow};
use crate::op::OpKind;
use crate::plan::{Metric, Quantity, Span};
use crate::record::StageRecord;
use crate::statistics::{ALARMS, least_to_show, share_interval, squares, t_quantile};
use std::cmp::Ordering;

/// The factor by which a value must differ from its limit to count if the run has too few seconds.
const CLEAR: f64 = 1.5;
/// With fewer seconds, or batches of them, their variation is unknown.
const FEWEST_BATCHES: usize = 3;
/// The value of a response that never came: an hour, in microseconds.
pub(super) const NEVER_US: f64 = 3.6e9;

pub(super) struct Figure<'a> {
    pub(super) stage: &'a StageRecord,
    pub(super) quantity: Quantity,
}

/// The responses that a percentile is taken from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Answers {
    /// The number of them, including those that never came.
    pub(super) of: u64,
    /// With fewer responses, that none of them was late proves nothing.
    pub(super) least: u64,
    /// The percentile, in microseconds, however few responses there are.
    pub(super) value: f64,
}

impl Answers {
    /// How many times as many responses are needed to decide; 0: not known.
    pub(super) fn takes(self) -> f64 {
        if self.of == 0 { 0.0 } else { self.least as f64 / self.of as f64 }
    }
}

/// Times, and the number of responses that never came.
#[derive(Default)]
struct AnsweredTimes {
    answered: Histogram,
    never: u64,
}

impl AnsweredTimes {
    fn len(&self) -> u64 {
        self.answered.len() + self.never
    }

    fn percentile_us(&self, tenths: u16) -> f64 {
        let rank = f64::from(tenths) * self.len() as f64 / 10.0;
        let percentile = rank / self.answered.len() as f64;
        let answered = self.answered.percentile(percentile.min(100.0)) as f64 / 1e3;
        if percentile <= 100.0 { answered } else { NEVER_US }
    }
}

/// The side on which an interval lies; `None`: it contains the limit.
fn side((low, high): (f64, f64), limit: f64) -> Option<Ordering> {
    if high < limit { Some(Ordering::Less) } else { (low > limit).then_some(Ordering::Greater) }
}

/// The range of a value that may be off by this factor in either direction.
fn around(value: f64, factor: f64) -> (f64, f64) {
    (value / factor, value * factor)
}

/// The half-width of the 95 % interval of a mean (A. M. Law, "Simulation Modeling and Analysis",
/// 5th ed. 2015, 9.5.3, batch means).
fn reach(batches: &[f64]) -> Option<f64> {
    let count = batches.len() as f64;
    let error = (squares(batches) / (count - 1.0) / count).sqrt();
    (batches.len() >= FEWEST_BATCHES).then(|| t_quantile(ALARMS, count - 1.0) * error)
}

/// The share of responses that may be later than a percentile.
fn beyond(tenths: u16) -> f64 {
    f64::from(1_000_u16.saturating_sub(tenths).max(1)) / 1e3
}

impl Figure<'_> {
    /// Whether a percentile is below (`Less`) or above its limit, in microseconds; `None`: that is
    /// not certain.
    ///
    /// Both the number of late responses and the scatter from second to second must confirm it: the
    /// former treats responses as independent, which they seldom are.
    pub(super) fn percentile(&self, span: Span, tenths: u16, limit: f64) -> Option<Ordering> {
        let times = self.times(span);
        let late = times.answered.beyond((limit * 1e3) as u64) + times.never;
        let alone = side(share_interval(late, times.len(), ALARMS), beyond(tenths));
        let interval = self.interval().unwrap_or_else(|| {
            let batches = self.batches(span, tenths);
            let logs: Vec<f64> = batches.iter().map(|us| us.max(1.0).ln()).collect();
            around(times.percentile_us(tenths), reach(&logs).map_or(CLEAR, f64::exp))
        });
        alone.filter(|_| side(interval, limit) == alone)
    }

    /// Whether a mean or a rate is below (`Less`) or above its limit; `None`: that is not certain.
    pub(super) fn mean(&self, value: f64, limit: f64) -> Option<Ordering> {
        let interval = self.interval().unwrap_or_else(|| {
            let by_seconds = reach(&self.by_second()).map(|it| (value - it, value + it));
            by_seconds.unwrap_or_else(|| around(value, CLEAR))
        });
        side(interval, limit)
    }

    /// The responses that a percentile is taken from.
    pub(super) fn answers(&self, span: Span, tenths: u16) -> Answers {
        let times = self.times(span);
        let least = least_to_show(beyond(tenths), ALARMS) as u64;
        Answers { of: times.len(), least, value: times.percentile_us(tenths) }
    }

    /// The number of documents requested.
    pub(super) fn issued(&self) -> u64 {
        self.operations().map(|it| it.issued).sum()
    }

    fn operations(&self) -> impl Iterator<Item = &OperationSummary> {
        self.stage.operations.iter().filter(|it| self.concerns(it.kind))
    }

    fn concerns(&self, of: OpKind) -> bool {
        self.quantity.kind.map_or(of.is_request(), |kind| of == kind)
    }

    fn times(&self, span: Span) -> AnsweredTimes {
        let mut times = AnsweredTimes::default();
        for operation in self.operations() {
            times.answered.merge(match span {
                Span::Response => &operation.response.histogram,
                Span::Service => &operation.service.histogram,
                Span::Lag => &operation.lag.histogram,
            });
            times.never += if span == Span::Lag { 0 } else { operation.unanswered() };
        }
        times
    }

    /// The complete seconds.
    fn seconds(&self) -> impl Iterator<Item = &SeriesRow> {
        let complete = f64::from(self.whole_seconds());
        let rows = self.stage.series.rows.iter();
        rows.filter(move |row| f64::from(row.second + row.seconds) <= complete)
    }

    fn whole_seconds(&self) -> u32 {
        (self.stage.measured_s + 0.05).floor() as u32
    }

    fn parts<'a>(&'a self, row: &'a SeriesRow) -> impl Iterator<Item = &'a SeriesKind> {
        row.kinds.iter().filter(|(kind, _)| self.concerns(**kind)).map(|(_, part)| part)
    }

    /// The percentile of each second, or of several seconds that together have enough responses.
    fn batches(&self, span: Span, tenths: u16) -> Vec<f64> {
        let (mut batches, mut open) = (Vec::new(), AnsweredTimes::default());
        for row in self.seconds() {
            for part in self.parts(row) {
                open.answered.merge(&kept(part, span).get());
                let lost = part.failed_times.iter().filter(|(class, _)| !class.answered());
                let lost: u64 = lost.map(|(_, times)| times.response.get().len()).sum();
                open.never += if span == Span::Lag { 0 } else { lost };
            }
            if open.len() as f64 * beyond(tenths) >= 1.0 {
                batches.push(std::mem::take(&mut open).percentile_us(tenths));
            }
        }
        batches
    }

    /// The mean time or the rate of each second.
    fn by_second(&self) -> Vec<f64> {
        if let Metric::Time(span, _) = self.quantity.metric {
            let times = self.seconds().map(|row| {
                let mut times = Histogram::default();
                self.parts(row).for_each(|part| times.merge(&kept(part, span).get()));
                times
            });
            return times.filter(|it| !it.is_empty()).map(|it| it.mean() / 1e3).collect();
        }
        let mut rates = vec![0.0; self.whole_seconds() as usize];
        for row in self.seconds() {
            let ok: u64 = self.parts(row).map(|part| part.ok).sum();
            let covered = row.second as usize..(row.second + row.seconds) as usize;
            rates[covered].fill(ok as f64 / f64::from(row.seconds));
        }
        rates
    }

    /// The figure's interval, if the run is long enough for one.
    fn interval(&self) -> Option<(f64, f64)> {
        let bounds = self.stage.interval(self.quantity)?;
        Some((bounds.low, bounds.high))
    }
}

fn kept(part: &SeriesKind, span: Span) -> &Kept {
    match span {
        Span::Response => &part.response,
        Span::Service => &part.service,
        Span::Lag => &part.lag,
    }
}
