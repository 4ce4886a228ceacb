//! Intervals for means and quantiles of a series whose steps resemble their neighbors, such as the
//! seconds of a run.
//!
//! How far off a mean can be depends on how strong the slow waves of the series are. So it is
//! compared with the six slowest cosines that fit into the series: they are as strong as the error
//! of the mean, but do not depend on the mean itself. Student's t then has six degrees of freedom,
//! however long the series is, which makes up for not knowing how far its memory reaches (U. K.
//! Müller, "A theory of robust long-run variance estimation", Journal of Econometrics 141, 2007,
//! 1331–1352; E. Lazarus, D. J. Lewis, J. H. Stock and M. W. Watson, "HAR inference:
//! recommendations for practice", Journal of Business & Economic Statistics 36, 2018, 541–559).
//!
//! If the memory is long compared with the series, even these waves are too fast, and weaker than
//! the error of the mean. So they are corrected as for an autoregressive series of order one, which
//! is what prewhitening does (D. W. K. Andrews and J. C. Monahan, "An improved heteroskedasticity
//! and autocorrelation consistent covariance matrix estimator", Econometrica 60, 1992, 953–966).
//! `docs/load-shapes.md` says how often these intervals contain the true value, as simulated.

use super::autocorrelation::{STRONGEST, correlation};
use super::{ALARMS, mean, t_quantile};
use std::collections::BTreeMap;
use std::f64::consts::PI;

/// The number of cosines. With eight, the intervals are at best 5 % narrower, and contain the true
/// value less often wherever there is memory (60 steps whose neighbors correlate by 0.9: 73 instead
/// of 79 %, before the correction).
const WAVES: usize = 6;

/// A 95 % interval, in the unit of the estimate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

/// The interval for the mean of a series. `None` for six steps or fewer.
pub fn mean_interval(series: &[f64]) -> Option<Bounds> {
    let waves = Waves::of(series.len())?;
    let middle = mean(series);
    let strengths = waves.strengths(series);
    let reach = waves.reach(strengths, waves.weakness(series)) / (series.len() as f64).sqrt();
    Some(Bounds { low: middle - reach, high: middle + reach })
}

/// A cosine of length 1 over `count` steps, orthogonal to a constant and to the other waves. The
/// first wave is half a period.
pub(super) fn cosine(wave: usize, count: usize) -> Vec<f64> {
    let length = (2.0 / count as f64).sqrt();
    let angle = |at: usize| PI * wave as f64 * (at as f64 + 0.5) / count as f64;
    (0..count).map(|at| angle(at).cos() * length).collect()
}

/// How strong each of the slowest waves is in a series.
type Strengths = [f64; WAVES];

/// The slowest cosines over a number of steps.
struct Waves {
    steps: usize,
    /// For each step, the value of each cosine.
    cosines: Vec<Strengths>,
    /// The t of intervals from so many waves.
    widest: f64,
}

impl Waves {
    fn of(steps: usize) -> Option<Self> {
        let mut cosines = vec![[0.0; WAVES]; steps];
        for wave in 0..WAVES {
            let values = cosine(wave + 1, steps);
            cosines.iter_mut().zip(values).for_each(|(step, value)| step[wave] = value);
        }
        (steps > WAVES).then(|| Self { steps, cosines, widest: t_quantile(ALARMS, WAVES as f64) })
    }

    fn strengths(&self, series: &[f64]) -> Strengths {
        let mut sums = [0.0; WAVES];
        for (step, value) in self.cosines.iter().zip(series) {
            add(&mut sums, step, *value);
        }
        sums
    }

    /// The factor by which the waves of such a series have less power than its mean, at least 1.
    fn weakness(&self, series: &[f64]) -> f64 {
        let found = correlation(series);
        // The estimate is too low by about this much (M. G. Kendall, "Note on bias in the
        // estimation of autocorrelation", Biometrika 41, 1954, 403–404).
        let bias = (1.0 + 3.0 * found) / self.steps as f64;
        let phi = (found + bias).clamp(0.0, STRONGEST);
        let wave = |wave: usize| power(self.cosines.iter().map(|step| step[wave]), phi);
        let waves = (0..WAVES).map(wave).sum::<f64>() / WAVES as f64;
        let level = std::iter::repeat_n((1.0 / self.steps as f64).sqrt(), self.steps);
        (power(level, phi) / waves).max(1.0)
    }

    /// The half-width of the interval for the component of the series along a constant of length 1.
    fn reach(&self, strengths: Strengths, weakness: f64) -> f64 {
        let power = strengths.iter().map(|it| it * it).sum::<f64>() / WAVES as f64;
        (power * weakness).sqrt() * self.widest
    }
}

fn add(sums: &mut Strengths, step: &Strengths, times: f64) {
    sums.iter_mut().zip(step).for_each(|(sum, value)| *sum += value * times);
}

/// The power that a series has in a wave if neighbors correlate by `phi`, values two steps apart by
/// `phi`² and so on, and each step has variance 1.
fn power(wave: impl Iterator<Item = f64>, phi: f64) -> f64 {
    let (mut before, mut sum) = (0.0, 0.0);
    for value in wave {
        sum += value * (value + 2.0 * before);
        before = phi * (before + value);
    }
    sum
}

/// How often each value occurred in each step.
pub struct Seen<'a> {
    steps: &'a [Vec<(u64, u64)>],
    waves: Waves,
    /// How many samples there are up to each value, ascending.
    up_to: Vec<(u64, UpTo)>,
}

/// The samples up to some value.
#[derive(Clone, Copy, Default)]
struct UpTo {
    samples: u64,
    /// The strengths of the waves in the number of samples per step.
    strengths: Strengths,
}

impl<'a> Seen<'a> {
    /// Takes the values of each step with their counts, ascending. `None` if there are six steps or
    /// fewer, or no samples.
    pub fn new(steps: &'a [Vec<(u64, u64)>]) -> Option<Self> {
        let waves = Waves::of(steps.len())?;
        let mut at: BTreeMap<u64, UpTo> = BTreeMap::new();
        for (step, cosines) in steps.iter().zip(&waves.cosines) {
            for &(value, count) in step {
                let own = at.entry(value).or_default();
                own.samples += count;
                add(&mut own.strengths, cosines, count as f64);
            }
        }
        let mut sum = UpTo::default();
        let up_to = at.into_iter().map(|(value, own)| {
            sum.samples += own.samples;
            add(&mut sum.strengths, &own.strengths, 1.0);
            (value, sum)
        });
        let up_to: Vec<_> = up_to.collect();
        (sum.samples > 0).then_some(Self { steps, waves, up_to })
    }

    /// The interval for a quantile, given as a `share` between 0 and 1.
    ///
    /// It consists of the values that cannot be rejected as that quantile, given how the share of
    /// samples up to them varies from step to step (C. A. Francisco and W. A. Fuller, "Quantile
    /// estimation with a complex survey design", Annals of Statistics 19, 1991, 454–469). Shares
    /// are compared as logits: shares near 0 or 1 vary less when they are off by chance towards
    /// that side, so that intervals for p99 would end too low.
    pub fn quantile_interval(&self, share: f64) -> Option<Bounds> {
        let (_, all) = self.up_to.last()?;
        let samples = all.samples as f64;
        let logit = |share: f64| (share / (1.0 - share)).ln();
        let rank = self.up_to.partition_point(|(_, it)| (it.samples as f64) < share * samples);
        let (middle, _) = *self.up_to.get(rank)?;
        let weakness = self.waves.weakness(&self.pulls(middle, share));
        let (mut low, mut high) = (None, None);
        for (value, it) in &self.up_to {
            let found = it.samples as f64 / samples;
            if it.samples == all.samples {
                break;
            }
            let mut strengths = it.strengths;
            add(&mut strengths, &all.strengths, -found);
            let reach = self.waves.reach(strengths, weakness);
            let per_logit = found * (1.0 - found) * samples / (self.waves.steps as f64).sqrt();
            let off = (logit(found) - logit(share)) * per_logit;
            if low.is_none() && off >= -reach {
                low = Some(*value);
            }
            if off >= reach {
                high = Some(*value);
                break;
            }
        }
        let (last, _) = self.up_to.last()?;
        let [low, high] = [low, high].map(|it| it.unwrap_or(*last) as f64);
        Some(Bounds { low, high })
    }

    /// What each step contributes to the error of the quantile, up to a factor: how many more of
    /// its samples than expected lie above `value`.
    fn pulls(&self, value: u64, share: f64) -> Vec<f64> {
        let pull = |step: &Vec<(u64, u64)>| {
            let all: u64 = step.iter().map(|it| it.1).sum();
            let below: u64 = step.iter().take_while(|it| it.0 <= value).map(|it| it.1).sum();
            share * all as f64 - below as f64
        };
        self.steps.iter().map(pull).collect()
    }
}

#[cfg(test)]
#[path = "long_run_tests.rs"]
mod tests;
