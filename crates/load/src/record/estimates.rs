//! How far the figures of a stage can be relied on: intervals, the end of the warm-up, and trends.
//! Computed from the series alone, by the methods of [`crate::statistics`].

use crate::measure::{Growth, Histogram, Series, SeriesRow, is_default};
use crate::op::OpKind;
use crate::statistics::{Beginning, Bounds, Fit, Seen, Slope, beginning, mean, mean_interval};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// With fewer steps, nothing is reported.
const FEWEST_STEPS: usize = 20;
/// The least change over a stage that counts as one, as a share.
const LEAST_CHANGE: f64 = 0.01;
/// The least growth of a database for slopes to refer to it, in bytes.
const LEAST_GROWTH: f64 = 1e8;

/// Estimates for a stage, from its complete seconds; `docs/load-shapes.md` explains them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Estimates {
    /// The number of seconds that they are computed from; the last second is left out if it is
    /// incomplete.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub over_s: u32,
    /// The length of the steps that this time is divided into, in seconds; more than 1 only in long
    /// stages.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub step_s: u32,
    /// The confidence intervals of all requests together.
    pub all: Intervals,
    /// The confidence intervals of each kind.
    #[cfg_attr(
        feature = "schema",
        schemars(schema_with = "crate::op::keyed::<OpKind, Intervals>")
    )]
    pub operations: BTreeMap<OpKind, Intervals>,
    /// How long throughput and p50 took to settle, in seconds; 0 if they were settled from the
    /// start. `None` if the stage is too short to tell, or if they never settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady_from_s: Option<u32>,
    /// Whether throughput or p50 was still settling in the second half of the stage.
    #[serde(default, skip_serializing_if = "is_default")]
    pub unsettled: bool,
    /// Rises and falls after the warm-up that chance does not explain.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trends: Vec<Trend>,
}

/// The confidence intervals of one kind, or of all. Each is absent if nothing succeeded, or if
/// there is too little to tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Intervals {
    /// Documents that succeeded, per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throughput_per_s: Option<Estimate>,
    /// The median of response times, in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_us: Option<Estimate>,
    /// The 99th percentile of response times, in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_us: Option<Estimate>,
}

/// A 95 % confidence interval, or how long the stage would have to be to get one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Estimate {
    /// The interval, in the unit of the figure.
    Interval {
        /// Its lower end.
        low: f64,
        /// Its upper end.
        high: f64,
    },
    /// The stage is too short.
    TooShort {
        /// How many seconds are needed.
        #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
        needed_s: u32,
    },
}

/// The figure that has a trend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Trending {
    /// Documents that succeeded, per second.
    Throughput,
    /// The median of response times.
    P50,
}

/// What a trend refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Per {
    /// 10⁹ bytes by which the database's files grew.
    Gb,
    /// A minute.
    Minute,
}

/// A steady rise or fall.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Trend {
    /// The figure that changes.
    pub of: Trending,
    /// The change, in percent of the mean.
    #[cfg_attr(feature = "schema", schemars(extend("minimum" = null)))]
    pub percent: f64,
    /// Whether that is per gigabyte or per minute.
    pub per: Per,
}

/// What succeeded in each step, and the response times.
struct Steps {
    step_s: u32,
    /// Documents per second.
    rates: Vec<f64>,
    times: Vec<Histogram>,
}

impl Estimates {
    /// The estimates of a stage that started operations for `measured_s` seconds. `None`: not even
    /// one second is complete, or nothing succeeded.
    pub fn of(series: &Series, measured_s: f64, growth: Option<&Growth>) -> Option<Self> {
        let longest = series.rows.iter().map(|row| row.seconds).max()?;
        let step_s = SeriesRow::length_s(longest);
        // The last response may be counted a little early.
        let count = ((measured_s + 0.05) / f64::from(step_s)).floor() as usize;
        let kinds = |row: &SeriesRow| row.kinds.keys().copied().collect::<Vec<_>>();
        let mut kinds: Vec<OpKind> = series.rows.iter().flat_map(kinds).collect();
        kinds.sort_unstable();
        kinds.dedup();
        let steps = |wanted: &dyn Fn(OpKind) -> bool| Steps::of(series, step_s, count, wanted);
        let all = steps(&OpKind::is_request);
        if count == 0 || all.rates.iter().all(|rate| *rate <= 0.0) {
            return None;
        }
        let whole = all.intervals();
        let operation = |kind: OpKind| {
            // With a single kind, the result for all of them is reused.
            let of_kind = || steps(&|other| other == kind).intervals();
            (kind, if kinds == [kind] && kind.is_request() { whole } else { of_kind() })
        };
        let medians = all.medians();
        let begins = if count < FEWEST_STEPS {
            Vec::new()
        } else {
            [&all.rates, &medians].map(|it| beginning(it)).to_vec()
        };
        let unsettled = begins.contains(&Beginning::Unsettled);
        let settled = |it: &Beginning| match it {
            Beginning::SteadyFrom(step) => Some(*step),
            Beginning::Unsettled => None,
        };
        let from = begins.iter().filter_map(settled).max().filter(|_| !unsettled);
        let growth = growth.filter(|it| it.grew() >= LEAST_GROWTH);
        let trend = |(of, values): (Trending, &[f64])| {
            Trend::of(of, values, from.unwrap_or(0), step_s, growth)
        };
        let candidates = [(Trending::Throughput, all.rates.as_slice()), (Trending::P50, &medians)];
        Some(Self {
            over_s: step_s.saturating_mul(count as u32),
            step_s,
            all: whole,
            operations: kinds.iter().copied().map(operation).collect(),
            steady_from_s: from.map(|step| step as u32 * step_s),
            unsettled,
            trends: candidates.into_iter().filter_map(trend).collect(),
        })
    }
}

impl Steps {
    /// The complete steps of the `wanted` kinds. A second in which nothing ended has no row, but
    /// counts.
    fn of(series: &Series, step_s: u32, count: usize, wanted: &dyn Fn(OpKind) -> bool) -> Self {
        let (mut rates, mut times) = (vec![0.0; count], vec![Histogram::default(); count]);
        for row in &series.rows {
            let at = (row.second / step_s) as usize;
            if at >= count {
                break;
            }
            for (_, part) in row.kinds.iter().filter(|(kind, _)| wanted(**kind)) {
                rates[at] += part.ok as f64 / f64::from(step_s);
                times[at].merge(&part.response.get());
            }
        }
        Self { step_s, rates, times }
    }

    fn intervals(&self) -> Intervals {
        if self.rates.iter().all(|rate| *rate <= 0.0) {
            return Intervals::default();
        }
        let mut whole = Histogram::default();
        self.times.iter().for_each(|step| whole.merge(step));
        let times: Vec<_> = self.times.iter().map(Histogram::counts).collect();
        let seen = Seen::new(&times);
        let quantile = |percent: f64| {
            let bounds = || seen.as_ref()?.quantile_interval(percent / 100.0);
            whole.earns(percent).then(|| self.estimate(bounds(), 1e3))?
        };
        let throughput_per_s = self.estimate(mean_interval(&self.rates), 1.0);
        Intervals { throughput_per_s, p50_us: quantile(50.0), p99_us: quantile(99.0) }
    }

    /// An estimate of rates or times, which are never below 0.
    fn estimate(&self, bounds: Option<Bounds>, unit: f64) -> Option<Estimate> {
        if self.rates.len() < FEWEST_STEPS {
            let needed_s = self.step_s.saturating_mul(FEWEST_STEPS as u32);
            return Some(Estimate::TooShort { needed_s });
        }
        // Two decimals, as for all times.
        let rounded = |value: f64| (value.max(0.0) / unit * 100.0).round() / 100.0;
        let Bounds { low, high } = bounds?;
        Some(Estimate::Interval { low: rounded(low), high: rounded(high) })
    }

    /// The median of each step, in nanoseconds; if nothing ended, the median of the step before.
    fn medians(&self) -> Vec<f64> {
        let median = |step: &Histogram| (!step.is_empty()).then(|| step.percentile(50.0) as f64);
        let mut last = self.times.iter().find_map(median).unwrap_or(0.0);
        let mut next = |step: &Histogram| {
            last = median(step).unwrap_or(last);
            last
        };
        self.times.iter().map(&mut next).collect()
    }
}

impl Trend {
    /// The trend of a value per step, from a given step on. `None`: it may be noise, or is too
    /// small to matter.
    ///
    /// With few steps, the Mann-Kendall test alone too often takes autocorrelated noise for a
    /// trend, so a fitted line has to agree.
    fn of(
        of: Trending,
        values: &[f64],
        from: usize,
        step_s: u32,
        growth: Option<&Growth>,
    ) -> Option<Self> {
        let per = if growth.is_some() { Per::Gb } else { Per::Minute };
        let point = |(at, value): (usize, &f64)| {
            let second = (at as f64 + 0.5) * f64::from(step_s);
            (growth.map_or(second / 60.0, |it| it.bytes_at(second) / 1e9), *value)
        };
        let points: Vec<_> = values.iter().enumerate().skip(from).map(point).collect();
        if points.len() < FEWEST_STEPS {
            return None;
        }
        let slope = Slope::of(&points).filter(|it| !it.may_be_noise())?;
        let fit = Fit::of_runs(std::slice::from_ref(&points)).filter(|it| !it.may_be_noise())?;
        let level = mean(&values[from..]);
        let share = slope.per_x / level;
        let change = share * (points[points.len() - 1].0 - points[0].0);
        let agree = fit.slope * slope.per_x > 0.0 && change.is_finite();
        let percent = (share * 1e4).round() / 1e2;
        (agree && change.abs() >= LEAST_CHANGE && percent != 0.0).then_some(Self {
            of,
            percent,
            per,
        })
    }
}

#[cfg(test)]
#[path = "estimates_tests.rs"]
mod tests;
