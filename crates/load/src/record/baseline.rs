//! Judges a run by its baseline: figures that may not be much worse than those of earlier runs.

use super::{Code, RunRecord, Unit, Warning};
use crate::plan::{Baseline, Quantity};
use crate::statistics::{ALARMS, Difference, Layout, Observation, holm, mean};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Failed shares that differ by less than this are the same, in percentage points.
const SAME_POINTS: f64 = 0.1;

/// Larger changes are reported as this, in percent.
const MOST_PERCENT: f64 = 1e9;

/// The reason a figure that only the run has is not judged.
const NOT_IN_BASELINE: &str = "the baseline's runs have none";

/// A figure of a run, compared with that of its baseline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Regression {
    /// What was measured.
    pub metric: Quantity,
    /// The unit of the values.
    pub unit: Unit,
    /// The run's value; `None` if too little was measured.
    pub value: Option<f64>,
    /// The baseline's value: the geometric mean over its runs or, for shares, the arithmetic mean;
    /// `None` if none of its runs has one.
    pub baseline: Option<f64>,
    /// The number of the baseline's runs that have the figure.
    pub runs: usize,
    /// The change in percent of the baseline or, for shares, in percentage points; `None` if it
    /// cannot be determined.
    #[cfg_attr(feature = "schema", schemars(extend("minimum" = null)))]
    pub change: Option<f64>,
    /// The lower bound of the change's confidence interval; `None` if there are too few runs.
    #[cfg_attr(feature = "schema", schemars(extend("minimum" = null)))]
    pub low: Option<f64>,
    /// The upper bound, likewise.
    #[cfg_attr(feature = "schema", schemars(extend("minimum" = null)))]
    pub high: Option<f64>,
    /// How the run compares.
    pub verdict: Standing,
    /// Whether the run fails because of this figure: it is worse than allowed, or cannot be
    /// compared.
    pub broken: bool,
    /// The reason it cannot be compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// How runs compare with their baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Better, by more than chance explains.
    Better,
    /// Worse; for a run with a baseline, by more than is allowed.
    Worse,
    /// As good, or different by too little to matter; for a run with a baseline, worse by less than
    /// is allowed.
    Same,
    /// The runs vary too much to tell.
    CannotTell,
}

impl Standing {
    /// The verdict in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Same => "same",
            Self::CannotTell => "can't tell",
        }
    }
}

/// A change, with what is known about its interval.
struct Change {
    difference: f64,
    interval: Option<Difference>,
}

/// Judges every figure that `--max-regression` covers; none without it.
pub(super) fn judge(record: &RunRecord) -> Vec<Regression> {
    let Some(baseline) = &record.plan.baseline else { return Vec::new() };
    let Some(most) = baseline.max_regression_percent else { return Vec::new() };
    let known = Baseline::GATED.into_iter().filter_map(|metric| {
        let earlier = baseline.values(metric);
        // A figure that neither side has does not apply to such runs.
        let is_known = !earlier.is_empty() || record.value_of(metric).is_ok();
        is_known.then(|| one(record, metric, &earlier))
    });
    let figures: Vec<(Regression, Option<Change>)> = known.collect();
    // One-sided: the question is only whether the run is worse.
    let chance = |change: &Option<Change>| Some(change.as_ref()?.interval?.chance() / 2.0);
    let chances: Vec<f64> = figures.iter().filter_map(|(_, change)| chance(change)).collect();
    let mut clear = holm(&chances, ALARMS).into_iter();
    let settled = figures.into_iter().map(|(mut figure, change)| {
        if let Some(change) = change {
            let is_clear = change.interval.map(|_| clear.next().unwrap_or(false));
            settle(&mut figure, &change, is_clear, most);
        }
        figure
    });
    settled.collect()
}

/// A figure before its verdict.
fn one(record: &RunRecord, metric: Quantity, earlier: &[f64]) -> (Regression, Option<Change>) {
    let unit = Unit::of(metric.metric);
    let is_share = unit == Unit::Percent;
    let scaled = |value: f64| if is_share { value } else { value.max(f64::MIN_POSITIVE).ln() };
    let on_scale: Vec<f64> = earlier.iter().copied().map(scaled).collect();
    let middle = mean(&on_scale);
    let found = match record.value_of(metric) {
        Ok(_) if earlier.is_empty() => Err(NOT_IN_BASELINE.to_owned()),
        found => found,
    };
    let change = found.as_ref().ok().map(|&value| {
        let sample = |second, value| Observation { second, place: 0.0, value };
        let samples: Vec<Observation> = on_scale.iter().map(|&it| sample(false, it)).collect();
        let samples = [samples, vec![sample(true, scaled(value))]].concat();
        // The run is assumed to vary as those of the baseline do: this is the prediction interval
        // for one more run (G. J. Hahn, W. Q. Meeker, Statistical Intervals, Wiley 1991, for the
        // normal distribution), seen from that run.
        let interval = Difference::of(&samples, Layout::Apart);
        Change { difference: scaled(value) - middle, interval }
    });
    let figure = Regression {
        metric,
        unit,
        value: found.as_ref().ok().copied(),
        baseline: (!earlier.is_empty()).then(|| if is_share { middle } else { middle.exp() }),
        runs: earlier.len(),
        change: None,
        low: None,
        high: None,
        verdict: Standing::CannotTell,
        broken: found.is_err(),
        problem: found.err(),
    };
    (figure, change)
}

/// Sets the verdict. A single earlier run tells nothing about how much runs vary, so the plain
/// change decides (`is_clear` is `None`).
fn settle(figure: &mut Regression, change: &Change, is_clear: Option<bool>, most: f64) {
    let is_share = figure.unit == Unit::Percent;
    let percent = |it: f64| if is_share { it } else { (it.exp_m1() * 100.0).min(MOST_PERCENT) };
    figure.change = Some(percent(change.difference));
    if let Some(interval) = &change.interval {
        let half = interval.half_width(ALARMS);
        figure.low = Some(percent(change.difference - half));
        figure.high = Some(percent(change.difference + half));
    }
    let is_better = (change.difference > 0.0) == figure.metric.metric.is_better_high();
    let size = percent(change.difference).abs();
    let too_much = !is_better && size > if is_share { SAME_POINTS } else { most };
    figure.verdict = match (too_much, is_clear) {
        (true, Some(false)) => Standing::CannotTell,
        (true, _) => Standing::Worse,
        (false, Some(true)) if is_better && size > 0.0 => Standing::Better,
        (false, _) => Standing::Same,
    };
    figure.broken = figure.verdict == Standing::Worse;
}

/// What readers must know about the baseline before they read anything that is compared with it.
pub(super) fn warnings(record: &RunRecord, warnings: &mut Vec<Warning>) {
    let Some(baseline) = &record.plan.baseline else { return };
    let mut tell = |code, message: String| {
        warnings.push(Warning { code, stage: None, message });
    };
    let mut differs: Vec<String> = Vec::new();
    let facts = [
        ("server", &record.server_words(), baseline.runs.iter().map(|it| &it.server).collect()),
        (
            "machine",
            &record.environment.words(),
            baseline.runs.iter().map(|it| &it.machine).collect(),
        ),
    ];
    for (what, own, theirs) in facts {
        let theirs: BTreeSet<&String> = theirs;
        if theirs.iter().any(|it| *it != own) {
            let theirs: Vec<&str> = theirs.into_iter().map(String::as_str).collect();
            differs.push(format!("{what} {} → {own}", theirs.join(", ")));
        }
    }
    differs.extend(baseline.differs.iter().map(|it| format!("plan: {it}")));
    if !differs.is_empty() {
        let message = format!("the baseline is of another kind: {}", differs.join("; "));
        tell(Code::BaselineDiffers, message);
    }
    if let [run] = &baseline.runs[..] {
        let message = format!(
            "judged by one run, {}: one run each, run-to-run variation is unknown",
            run.name
        );
        tell(Code::BaselineOneRun, message);
    }
}

#[cfg(test)]
#[path = "baseline_tests.rs"]
mod tests;
