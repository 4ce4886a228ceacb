//! Intervals by a circular block bootstrap: the steps of a run, in blocks that are long against its
//! memory, are drawn again and again, and what is estimated is computed of each draw.
//!
//! D. N. Politis and J. P. Romano, "A circular block-resampling procedure for stationary data", in
//! Exploring the Limits of Bootstrap, Wiley, 1992, 263–270.

use super::{ALARMS, autocorrelation_time, t_quantile};
use crate::generate::{Stream, below};
use statrs::distribution::{ContinuousCDF, Normal};

/// How often the steps are drawn again.
const RESAMPLES: usize = 1_000;
/// The fewest independent values of which an interval is computed.
const FEWEST: f64 = 20.0;
/// The most different values: beyond, neighbours are taken as one.
const MOST_VALUES: usize = 4_096;

/// A 95 % interval, in the unit of what is estimated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

/// An interval, or why there is none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bounded {
    /// The interval.
    Within(Bounds),
    /// Too few steps against their memory: about so many are needed.
    TooShort(usize),
}

/// A mean per step, such as a rate. `None`: there are no steps.
pub fn mean_interval(steps: &[f64], draws: &mut Stream) -> Option<Bounded> {
    let blocks = Blocks::of(steps)?;
    let Ok(blocks) = blocks else { return blocks.err().map(Bounded::TooShort) };
    let sums = prefix(steps.iter().copied());
    let mean = |starts: &[usize]| blocks.sum(&sums, starts) / steps.len() as f64;
    Some(Bounded::Within(blocks.bounds(draws, mean)))
}

/// How often each value was seen in each step.
pub struct Seen {
    /// The values, ascending.
    values: Vec<u64>,
    /// For each value, how many samples up to it were seen before step n, for each n.
    up_to: Vec<Vec<u64>>,
    steps: usize,
}

impl Seen {
    /// From the values of each step, each with its count, ascending.
    pub fn new(steps: &[Vec<(u64, u64)>]) -> Self {
        let mut values: Vec<u64> = steps.iter().flatten().map(|(value, _)| *value).collect();
        values.sort_unstable();
        values.dedup();
        if values.len() > MOST_VALUES {
            let together = values.len().div_ceil(MOST_VALUES);
            values = values.chunks(together).filter_map(|them| them.last().copied()).collect();
        }
        let mut up_to = vec![vec![0; steps.len() + 1]; values.len()];
        for (at, step) in steps.iter().enumerate() {
            let mut row = 0;
            for (value, count) in step {
                row += values[row..].partition_point(|it| it < value);
                up_to[row][at + 1] += count;
            }
        }
        let mut below: Vec<u64> = vec![0; steps.len() + 1];
        for row in &mut up_to {
            let mut sum = 0;
            for (count, below) in row.iter_mut().zip(&mut below) {
                sum += *count;
                *below += sum;
                *count = *below;
            }
        }
        Self { values, up_to, steps: steps.len() }
    }

    /// The interval of a quantile, `share` from 0 to 1. `None`: nothing was seen.
    pub fn quantile_interval(&self, share: f64, draws: &mut Stream) -> Option<Bounded> {
        let every = self.up_to.last()?;
        let whole = |row: &[u64]| row[self.steps] as f64;
        let rank = (share * whole(every)).ceil().max(1.0);
        let near = self.up_to.partition_point(|row| whole(row) < rank);
        // What each step adds to the error of the quantile, but for a factor: how many more of its
        // samples are above it than belong there.
        let step = |row: &[u64], at: usize| (row[at + 1] - row[at]) as f64;
        let pulls: Vec<f64> = (0..self.steps)
            .map(|at| share * step(every, at) - step(&self.up_to[near], at))
            .collect();
        let blocks = Blocks::of(&pulls)?;
        let Ok(blocks) = blocks else { return blocks.err().map(Bounded::TooShort) };
        let quantile = |starts: &[usize]| {
            let samples = blocks.sum(every, starts);
            let rank = (share * samples).ceil().max(1.0);
            let mut all = 0..self.values.len() - 1;
            while !all.is_empty() {
                let middle = all.start.midpoint(all.end);
                if blocks.sum(&self.up_to[middle], starts) < rank {
                    all.start = middle + 1;
                } else {
                    all.end = middle;
                }
            }
            self.values[all.start] as f64
        };
        Some(Bounded::Within(blocks.bounds(draws, quantile)))
    }
}

/// Sums up to each step, from zero.
fn prefix(steps: impl Iterator<Item = f64>) -> Vec<f64> {
    let sums = steps.scan(0.0, |sum, step| {
        *sum += step;
        Some(*sum)
    });
    std::iter::once(0.0).chain(sums).collect()
}

/// Counts and sums of any kind as numbers.
trait Sum: Copy {
    fn number(self) -> f64;
}

impl Sum for f64 {
    fn number(self) -> f64 {
        self
    }
}

impl Sum for u64 {
    fn number(self) -> f64 {
        self as f64
    }
}

/// How the steps are drawn: in blocks of twice their autocorrelation time, a fifth of them at most.
struct Blocks {
    steps: usize,
    length: usize,
    /// How many independent values the steps are worth.
    effective: f64,
}

impl Blocks {
    /// For a series of this memory; the error is how many steps would be needed. `None`: there are
    /// no steps.
    fn of(series: &[f64]) -> Option<Result<Self, usize>> {
        let steps = series.len();
        if steps == 0 {
            return None;
        }
        let time = autocorrelation_time(series);
        let effective = steps as f64 / time;
        if effective < FEWEST {
            return Some(Err((FEWEST * time).ceil() as usize));
        }
        let length = ((2.0 * time).round() as usize).clamp(1, (steps / 5).max(1));
        Some(Ok(Self { steps, length, effective }))
    }

    /// The sum over the blocks that begin at `starts`; after the last step the first follows.
    fn sum<T: Sum>(&self, sums: &[T], starts: &[usize]) -> f64 {
        let mut left = self.steps;
        let mut total = 0.0;
        for &start in starts {
            let end = start + self.length.min(left);
            left -= end - start;
            total += sums[end.min(self.steps)].number() - sums[start].number();
            if end > self.steps {
                total += sums[end - self.steps].number();
            }
        }
        total
    }

    /// The interval of what `estimate` computes from the starts of blocks: percentiles of the
    /// resamples, as far out as Student's t is against the normal distribution (T. C. Hesterberg,
    /// "What Teachers Should Know About the Bootstrap", The American Statistician 69, 2015, 371–386,
    /// section 5.3: the expanded percentile interval).
    fn bounds(&self, draws: &mut Stream, estimate: impl Fn(&[usize]) -> f64) -> Bounds {
        let mut starts = vec![0; self.steps.div_ceil(self.length)];
        let mut estimates: Vec<f64> = (0..RESAMPLES)
            .map(|_| {
                for start in &mut starts {
                    *start = below(draws.draw(), self.steps as u64) as usize;
                }
                estimate(&starts)
            })
            .collect();
        estimates.sort_by(f64::total_cmp);
        let freedom = self.effective - 1.0;
        let out = (self.effective / freedom).sqrt() * t_quantile(ALARMS, freedom);
        let beyond = RESAMPLES as f64 * Normal::standard().sf(out);
        let last = (beyond as usize).min(RESAMPLES / 2);
        Bounds { low: estimates[last], high: estimates[RESAMPLES - 1 - last] }
    }
}

#[cfg(test)]
#[path = "bootstrap_tests.rs"]
mod tests;
