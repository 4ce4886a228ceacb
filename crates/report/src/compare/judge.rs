//! The verdict on each figure, and on all together.

use super::{Compared, ComparedRun, Comparison, Points, SCHEMA_VERSION, differs};
use crate::plan::Quantity;
use crate::record::{Standing, Unit};
use crate::statistics::{
    Bounds, Difference, Layout, Observation, difference_interval, holm_levels, mean,
};

/// Shares that differ by less than this count as the same, in percentage points.
const SAME_POINTS: f64 = 0.1;

/// What to know about an interval within the runs.
const WITHIN: &str = "the intervals are within the two runs: how certain their ratio is, not how \
                      much the next two runs would differ";

/// How to compare.
#[derive(Clone, Debug, PartialEq)]
pub struct CompareAsked {
    /// Changes smaller than this share count as the same, such as 0.03.
    pub delta: f64,
    /// How often noise may be taken for a difference.
    pub alarms: f64,
    /// The quantities that decide the verdict; empty: all quantities of all requests together.
    pub gated: Vec<Quantity>,
}

impl Default for CompareAsked {
    fn default() -> Self {
        Self { delta: 0.03, alarms: crate::statistics::ALARMS, gated: Vec::new() }
    }
}

/// A figure before its verdict.
struct UnjudgedFigure {
    quantity: Quantity,
    compared: Compared,
    difference: Option<Difference>,
}

/// Compares side `b` with side `a`, the baseline.
pub fn compare(a: Vec<ComparedRun>, b: Vec<ComparedRun>, asked: &CompareAsked) -> Comparison {
    let places = places(&a, &b);
    let layout = Layout::of(&samples(&places, &vec![Some(0.0); places.len()]));
    let mut figures: Vec<UnjudgedFigure> =
        quantities(&a, &b).into_iter().map(|it| figure(it, &a, &b, &places, layout)).collect();
    gate(&mut figures, &asked.gated);
    let (gated, others): (Vec<_>, Vec<_>) = figures.iter_mut().partition(|it| it.compared.gated);
    judge(gated, asked);
    judge(others, asked);
    let comparisons: Vec<Compared> = figures.into_iter().map(|it| it.compared).collect();
    let mut notes = differs::doubts(&a, &b);
    notes.extend(of_number(&a, &b, layout));
    if comparisons.iter().any(|it| it.within_low.is_some()) {
        notes.push(WITHIN.to_owned());
    }
    notes.extend(of_drift(&comparisons, asked.delta));
    Comparison {
        schema_version: SCHEMA_VERSION,
        verdict: overall(&comparisons),
        differs: differs::differs(&a, &b),
        layout,
        delta_percent: asked.delta * 100.0,
        alarms: asked.alarms,
        notes,
        control: None,
        progress: None,
        comparisons,
        a,
        b,
    }
}

/// What the number and order of runs mean for the verdicts.
fn of_number(a: &[ComparedRun], b: &[ComparedRun], layout: Layout) -> Option<String> {
    match (a.len(), b.len()) {
        (0, _) | (_, 0) => None,
        (1, 1) => Some("one run each: the variation between runs is not known".to_owned()),
        (1, _) | (_, 1) => Some(
            "a single run on one side: it is assumed to vary like the runs of the other".to_owned(),
        ),
        _ if layout == Layout::Apart => Some(
            "one side was measured after the other: any drift in between counts as a difference; \
             springload ab alternates"
                .to_owned(),
        ),
        _ => None,
    }
}

/// The largest drift among the gated figures, if it matters.
fn of_drift(comparisons: &[Compared], delta: f64) -> Option<String> {
    let gated = comparisons.iter().filter(|it| it.gated && it.ratio.is_some());
    let drifts = gated.filter_map(|it| Some((it, it.drift_percent?)));
    let (it, percent) = drifts.max_by(|one, other| one.1.abs().total_cmp(&other.1.abs()))?;
    (percent.abs() > delta * 100.0).then(|| {
        let Compared { kind, metric, .. } = it;
        let percent = format!("{percent:+.1}").replace('-', "−");
        format!(
            "{kind} {metric} drifted by {percent} % from the first run to the last; as the sides \
             alternated, this does not affect their difference"
        )
    })
}

/// For each run, those of A first: whether it belongs to B, and its position in time.
fn places(a: &[ComparedRun], b: &[ComparedRun]) -> Vec<(bool, f64)> {
    let all: Vec<(bool, &ComparedRun)> =
        a.iter().map(|run| (false, run)).chain(b.iter().map(|run| (true, run))).collect();
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by(|&one, &other| all[one].1.started_at.cmp(&all[other].1.started_at));
    let mut places = vec![0.0; all.len()];
    for (place, at) in order.into_iter().enumerate() {
        places[at] = place as f64;
    }
    all.iter().zip(places).map(|((second, _), place)| (*second, place)).collect()
}

fn samples(places: &[(bool, f64)], values: &[Option<f64>]) -> Vec<Observation> {
    let known = places.iter().zip(values).filter_map(|(place, value)| Some((*place, (*value)?)));
    known.map(|((second, place), value)| Observation { second, place, value }).collect()
}

fn quantities(a: &[ComparedRun], b: &[ComparedRun]) -> Vec<Quantity> {
    let mut all: Vec<Quantity> = Vec::new();
    for (quantity, _) in a.iter().chain(b).flat_map(|run| &run.values) {
        if !all.contains(quantity) {
            all.push(*quantity);
        }
    }
    all
}

fn figure(
    quantity: Quantity,
    a: &[ComparedRun],
    b: &[ComparedRun],
    places: &[(bool, f64)],
    layout: Layout,
) -> UnjudgedFigure {
    let unit = Unit::of(quantity.metric);
    let of = |run: &ComparedRun| {
        let own = run.values.iter().find(|it| it.0 == quantity);
        own.map_or_else(|| Err("nothing was measured".to_owned()), |it| it.1.clone())
    };
    let found: Vec<Result<f64, String>> = a.iter().chain(b).map(of).collect();
    let is_share = unit == Unit::Percent;
    let scaled = |value: f64| match (is_share, value > 0.0) {
        (true, _) => Ok(value),
        (false, true) => Ok(value.ln()),
        (false, false) => Err("it was 0 in a run".to_owned()),
    };
    let on_scale: Vec<Result<f64, String>> =
        found.iter().map(|value| value.clone().and_then(scaled)).collect();
    let problem = on_scale.iter().find_map(|it| it.clone().err());
    let values: Vec<Option<f64>> = on_scale.into_iter().map(Result::ok).collect();
    let middle = |second: bool| {
        let own = samples(places, &values).into_iter().filter(|it| it.second == second);
        let own: Vec<f64> = own.map(|it| it.value).collect();
        let middle = (!own.is_empty()).then(|| mean(&own))?;
        Some(if is_share { middle } else { middle.exp() })
    };
    let (a_mean, b_mean) = (middle(false), middle(true));
    // A figure that some runs lack may be missing for a reason, so there is no interval.
    let difference = match &problem {
        None => Difference::of(&samples(places, &values), layout),
        Some(_) => None,
    };
    let values: Vec<Option<f64>> = found.into_iter().map(Result::ok).collect();
    let (a_values, b_values) = values.split_at(a.len());
    let within = within(quantity, a, b).filter(|_| !is_share);
    let percent = |it: f64| if is_share { it } else { it.exp_m1() * 100.0 };
    let compared = Compared {
        kind: quantity.kind.map_or("all", crate::op::OpKind::name).to_owned(),
        metric: quantity.metric.to_string(),
        unit,
        gated: false,
        a_values: a_values.to_vec(),
        b_values: b_values.to_vec(),
        ratio: if is_share { None } else { a_mean.zip(b_mean).map(|(a, b)| b / a) },
        points: a_mean.zip(b_mean).filter(|_| is_share).map(|(a, b)| Points {
            difference: b - a,
            low: None,
            high: None,
        }),
        a: a_mean,
        b: b_mean,
        low: None,
        high: None,
        alarms: None,
        within_low: within.map(|it| it.low.exp()),
        within_high: within.map(|it| it.high.exp()),
        chance: difference.map(|it| it.chance()),
        variation_percent: difference.map(|it| percent(it.deviation)),
        drift_percent: difference.and_then(|it| it.drift).map(percent),
        verdict: Standing::CannotTell,
        more_runs: None,
        problem,
    };
    UnjudgedFigure { quantity, compared, difference }
}

/// The interval of the ratio's logarithm within the runs, if there is one on each side.
fn within(quantity: Quantity, a: &[ComparedRun], b: &[ComparedRun]) -> Option<Bounds> {
    let of = |side: &[ComparedRun]| {
        let [run] = side else { return None };
        let value = run.values.iter().find(|it| it.0 == quantity)?.1.as_ref().ok()?;
        let bounds = run.within.iter().find(|it| it.0 == quantity)?.1;
        let on_logs = Bounds { low: bounds.low.ln(), high: bounds.high.ln() };
        (*value > 0.0 && bounds.low > 0.0).then_some((value.ln(), on_logs))
    };
    Some(difference_interval(of(a)?, of(b)?))
}

/// Marks the figures that decide the verdict. A figure that no run has decides nothing, unless it
/// was requested.
fn gate(figures: &mut [UnjudgedFigure], gated: &[Quantity]) {
    let all_kinds = figures.iter().any(|it| it.quantity.kind.is_none());
    for figure in figures {
        figure.compared.gated = if gated.is_empty() {
            figure.compared.is_known() && (figure.quantity.kind.is_none() || !all_kinds)
        } else {
            gated.contains(&figure.quantity)
        };
    }
}

/// Judges figures that belong together: the requested probability of taking noise for a difference
/// applies to all of them together, rather than to each.
fn judge(mut figures: Vec<&mut UnjudgedFigure>, asked: &CompareAsked) {
    let p: Vec<f64> = figures.iter().filter_map(|it| it.compared.chance).collect();
    let mut levels = holm_levels(&p, asked.alarms).into_iter();
    for figure in &mut figures {
        let Some(difference) = figure.difference else { continue };
        let level = levels.next().unwrap_or(0.0);
        settle(figure, &difference, level, asked);
    }
}

/// Sets the verdict on one figure, and the interval that it is based on. `level` is the level of
/// the test for a difference, adjusted for the other figures.
///
/// The verdict "same" needs no wider interval, because no figure is picked from among others: noise
/// leads to "same" in all of them no more often than it would in one alone.
fn settle(figure: &mut UnjudgedFigure, difference: &Difference, level: f64, asked: &CompareAsked) {
    let UnjudgedFigure { quantity, compared, .. } = figure;
    let is_share = compared.unit == Unit::Percent;
    let same = if is_share { SAME_POINTS } else { asked.delta.ln_1p() };
    let middle = difference.mean;
    let is_same = middle.abs() + difference.half_width(asked.alarms) <= same;
    let alarms = if is_same { asked.alarms } else { level };
    let half = difference.half_width(alarms);
    let (low, high) = (middle - half, middle + half);
    compared.alarms = Some(alarms);
    if is_share {
        compared.points = Some(Points { difference: middle, low: Some(low), high: Some(high) });
    } else {
        compared.ratio = Some(middle.exp());
        (compared.low, compared.high) = (Some(low.exp()), Some(high.exp()));
    }
    compared.verdict = if is_same {
        Standing::Same
    } else if low > 0.0 || high < 0.0 {
        let better = (middle > 0.0) == quantity.metric.is_better_high();
        if better { Standing::Better } else { Standing::Worse }
    } else {
        Standing::CannotTell
    };
    if compared.verdict == Standing::CannotTell {
        // Whichever needs fewer runs: confirming the apparent difference, or showing that it is too
        // small to matter.
        let size = middle.abs().max(same - middle.abs());
        let runs = compared.a_values.len().min(compared.b_values.len()) as f64;
        compared.more_runs = Some((difference.values_for(size) - runs).max(1.0) as u64);
    }
}

/// The overall verdict: worse if any figure is.
fn overall(comparisons: &[Compared]) -> Standing {
    let any = |wanted: Standing| comparisons.iter().any(|it| it.gated && it.verdict == wanted);
    if any(Standing::Worse) {
        Standing::Worse
    } else if any(Standing::Better) {
        Standing::Better
    } else if any(Standing::CannotTell) || !any(Standing::Same) {
        Standing::CannotTell
    } else {
        Standing::Same
    }
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
