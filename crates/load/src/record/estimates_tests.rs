//! Estimates of series made by hand.

use super::*;
use crate::generate::{mix, unit};
use crate::measure::{Interval, KindInterval, SeriesLog, SizePoint};

/// A second with `ok` reads of about `us` microseconds.
fn reads(second: u32, ok: u64, us: u64) -> Interval {
    let mut interval = Interval::new(second);
    let mut part = KindInterval { requests: ok, ok, ..KindInterval::default() };
    part.response.record_many(us * 1_000, ok);
    *interval.kind_mut(OpKind::Read) = part;
    interval
}

fn series(seconds: impl Iterator<Item = Interval>) -> Series {
    let mut log = SeriesLog::default();
    seconds.for_each(|second| log.add(&second));
    log.finish().0
}

fn of(series: &Series, measured_s: f64) -> Option<Estimates> {
    Estimates::of(series, measured_s, None)
}

/// Random noise for a second, given by its number.
fn noise(second: u32) -> u64 {
    mix(7, u64::from(second), 0) % 11
}

fn bounds(estimate: Option<Estimate>) -> (f64, f64) {
    match estimate {
        Some(Estimate::Interval { low, high }) => (low, high),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_steady_stage_has_narrow_intervals_per_kind_and_no_trend() {
    let series = series((0..60).map(|at| reads(at, 100 + noise(at), 1_000 + noise(at))));
    let estimates = of(&series, 60.0).unwrap();
    assert_eq!((estimates.over_s, estimates.step_s), (60, 1));
    assert_eq!((estimates.steady_from_s, estimates.unsettled), (Some(0), false));
    assert_eq!(estimates.trends, []);
    let (low, high) = bounds(estimates.all.throughput_per_s);
    assert!(103.0 < low && low < 105.0 && 105.0 < high && high < 107.0, "{low} {high}");
    let (low, high) = bounds(estimates.all.p99_us);
    assert!(1_007.0 < low && low <= high && high < 1_012.0, "{low} {high}");
    let (low, high) = bounds(estimates.all.p50_us);
    assert!(1_002.0 < low && low <= high && high < 1_008.0, "{low} {high}");
    assert_eq!(estimates.operations.keys().collect::<Vec<_>>(), [&OpKind::Read]);
}

#[test]
fn the_last_second_counts_only_if_it_is_complete_and_an_empty_one_counts_as_none() {
    // Nothing in every third second; the last lasts a quarter of a second and has a few responses.
    let seconds = (0..60).filter(|at| at % 3 > 0).map(|at| reads(at, 90, 1_000));
    let seconds = seconds.chain([reads(60, 20, 1_000)]);
    let estimates = of(&series(seconds), 60.25).unwrap();
    assert_eq!(estimates.over_s, 60);
    let (low, high) = bounds(estimates.all.throughput_per_s);
    assert!(low <= 60.0 && (60.0..75.0).contains(&high), "{low} {high}");
}

#[test]
fn a_short_stage_says_how_long_it_must_be() {
    let estimates = of(&series((0..3).map(|at| reads(at, 1_000, 1_000))), 3.0).unwrap();
    let short = Some(Estimate::TooShort { needed_s: 20 });
    let all = Intervals { throughput_per_s: short, p50_us: short, p99_us: short };
    assert_eq!((estimates.all, estimates.steady_from_s), (all, None));
    assert!(!estimates.unsettled && estimates.trends.is_empty());
    // From 20 s on, all stages have an interval, whatever their autocorrelation.
    let slow = |at: u32| reads(at, 1_000 + 200 * u64::from(at / 10 % 2) + noise(at), 1_000);
    let intervals =
        |seconds: u32| of(&series((0..seconds).map(slow)), f64::from(seconds)).unwrap().all;
    assert_eq!(intervals(19), all);
    for seconds in [20, 60, 300] {
        let Intervals { throughput_per_s, p50_us, p99_us } = intervals(seconds);
        let (low, high) = bounds(throughput_per_s);
        assert!(low < 1_105.0 && 1_105.0 < high, "{seconds} s: {low} {high}");
        bounds(p50_us);
        bounds(p99_us);
    }
}

#[test]
fn an_interval_of_a_stage_that_remembers_covers_the_truth() {
    // Neighboring seconds correlate by 0.8: in an earlier version, most such stages had no
    // interval, and a third of the others missed the true value.
    let covers = |trial: u64| {
        let mut level = 0.0;
        let mut next = |at: u32| {
            // Twelve uniform numbers minus their mean: nearly normal, with variance 1.
            let drawn = |nth: u64| unit(mix(trial, u64::from(at), nth));
            let news = (0..12).map(drawn).sum::<f64>() - 6.0;
            level = if at == 0 { news } else { 0.8 * level + 0.6 * news };
            reads(at, (1_000.0 + 100.0 * level).round() as u64, 1_000)
        };
        let series = series((0..60).map(&mut next));
        let (low, high) = bounds(of(&series, 60.0).unwrap().all.throughput_per_s);
        low <= 1_000.0 && 1_000.0 <= high
    };
    let covered = (0..40).filter(|trial| covers(*trial)).count();
    // 94 % do, according to docs/load-shapes.md.
    assert!(covered >= 34, "{covered} of 40");
}

#[test]
fn a_stage_without_answers_has_no_estimates() {
    assert_eq!(of(&Series::default(), 10.0), None);
    let failed = |at| {
        let mut interval = Interval::new(at);
        interval.kind_mut(OpKind::Read).requests = 50;
        interval
    };
    assert_eq!(of(&series((0..30).map(failed)), 30.0), None, "all failed");
    assert_eq!(of(&series([reads(0, 10, 1_000)].into_iter()), 0.5), None, "not a second");
    // One response: the rate has an interval that begins at 0, and the time has none.
    let one = of(&series([reads(7, 1, 1_000)].into_iter()), 30.0).unwrap();
    let (low, high) = bounds(one.all.throughput_per_s);
    assert!(low < 1e-9 && high > 0.03 && high < 0.3, "{low} {high}");
    assert_eq!((one.all.p50_us, one.all.p99_us), (None, None));
}

#[test]
fn a_stall_makes_the_interval_wide() {
    let stalled =
        |at: u32| if at % 20 == 10 { reads(at, 60, 900_000) } else { reads(at, 100, 1_000) };
    let estimates = of(&series((0..60).map(stalled)), 60.0).unwrap();
    let (low, high) = bounds(estimates.all.p99_us);
    assert!(high > 100.0 * low, "{low} {high}");
}

#[test]
fn a_long_stage_is_taken_in_longer_steps() {
    let series = series((0..1_500).map(|at| reads(at, 100 + noise(at), 1_000)));
    let estimates = of(&series, 1_500.4).unwrap();
    assert_eq!((estimates.over_s, estimates.step_s), (1_500, 10));
    let (low, high) = bounds(estimates.all.throughput_per_s);
    // The noise has a mean of 5, and of 5.12 in these steps.
    assert!(104.5 < low && low < 105.12 && 105.12 < high && high < 105.7, "{low} {high}");
}

#[test]
fn a_warm_up_is_marked_and_a_fill_that_slows_down_has_a_slope() {
    let warming = |at: u32| reads(at, if at < 10 { 40 } else { 100 } + noise(at), 1_000);
    let estimates = of(&series((0..60).map(warming)), 60.0).unwrap();
    assert_eq!((estimates.steady_from_s, estimates.unsettled), (Some(10), false));
    assert_eq!(estimates.trends, []);

    let slowing = |at: u32| reads(at, 1_000 - u64::from(at) * 2 + noise(at), 1_000);
    let series = series((0..100).map(slowing));
    let estimates = of(&series, 100.0).unwrap();
    let [Trend { of: Trending::Throughput, percent, per: Per::Minute }] = estimates.trends[..]
    else {
        panic!("{:?}", estimates.trends)
    };
    // 120 of about 906 a minute.
    assert!((percent + 13.3).abs() < 0.7, "{percent}");
    // Two gigabytes over the whole stage.
    let size = |at_s, bytes| SizePoint { at_s, file_bytes: Some(bytes), ..SizePoint::default() };
    let sizes = vec![size(0.0, 1_000_000_000), size(100.0, 3_000_000_000)];
    let growth = Growth { sizes, ..Growth::default() };
    let estimates = Estimates::of(&series, 100.0, Some(&growth)).unwrap();
    let [Trend { percent, per: Per::Gb, .. }] = estimates.trends[..] else {
        panic!("{:?}", estimates.trends)
    };
    assert!((percent + 11.1).abs() < 0.7, "{percent}");
}

#[test]
fn growth_of_little_is_none_and_so_is_a_change_of_little() {
    let slowing = |at: u32| reads(at, 1_000 - u64::from(at) * 2 + noise(at), 1_000);
    let slowing = series((0..100).map(slowing));
    let size = |at_s, bytes| SizePoint { at_s, file_bytes: Some(bytes), ..SizePoint::default() };
    let sizes = vec![size(0.0, 1_000_000_000), size(100.0, 1_050_000_000)];
    let growth = Growth { sizes, ..Growth::default() };
    let estimates = Estimates::of(&slowing, 100.0, Some(&growth)).unwrap();
    assert!(matches!(estimates.trends[..], [Trend { per: Per::Minute, .. }]), "{estimates:?}");
    // Half a percent in total, however clear it is.
    let little = |at: u32| reads(at, 100_000 - u64::from(at) * 5, 1_000);
    let estimates = of(&series((0..100).map(little)), 100.0).unwrap();
    assert_eq!(estimates.trends, []);
}

#[test]
fn an_operation_of_several_requests_is_not_counted_with_them() {
    let second = |at: u32| {
        let mut interval = reads(at, 100 + noise(at), 1_000);
        let mut both = KindInterval { requests: 50, ok: 50, ..KindInterval::default() };
        both.response.record_many(9_000_000, 50);
        *interval.kind_mut(OpKind::ReadModifyWrite) = both;
        interval
    };
    let estimates = of(&series((0..60).map(second)), 60.0).unwrap();
    let (low, high) = bounds(estimates.all.throughput_per_s);
    assert!(100.0 < low && high < 110.0, "{low} {high}");
    assert!(bounds(estimates.all.p99_us).1 < 2_000.0);
    let (low, high) = bounds(estimates.operations[&OpKind::ReadModifyWrite].throughput_per_s);
    assert!((low - 50.0).abs() < 1e-9 && (high - 50.0).abs() < 1e-9, "{low} {high}");
}

#[test]
fn what_settles_in_the_second_half_was_never_steady() {
    let settling = |at: u32| reads(at, 100 + 10 * u64::from(at.min(45)) + noise(at), 1_000);
    let estimates = of(&series((0..60).map(settling)), 60.0).unwrap();
    assert_eq!((estimates.steady_from_s, estimates.unsettled), (None, true));
}

#[test]
fn a_step_without_answers_has_the_median_before_it() {
    let series = series([reads(1, 10, 1_000), reads(3, 10, 2_000)].into_iter());
    let medians = Steps::of(&series, 1, 5, &|_| true).medians();
    let wanted = [1e6, 1e6, 1e6, 2e6, 2e6];
    let near = medians.iter().zip(wanted).all(|(it, wanted)| (it / wanted - 1.0).abs() < 0.01);
    assert!(near && medians.len() == 5, "{medians:?}");
}

#[test]
fn they_read_back_as_they_were_written() {
    let series = series((0..30).map(|at| reads(at, 100 + noise(at), 1_000)));
    let mut estimates = of(&series, 30.0).unwrap();
    estimates.all.p99_us = Some(Estimate::TooShort { needed_s: 90 });
    let text = serde_json::to_string(&estimates).unwrap();
    assert_eq!(serde_json::from_str::<Estimates>(&text).unwrap(), estimates);
    assert!(text.contains(r#""p99_us":{"needed_s":90}"#), "{text}");
}

#[test]
fn when_a_stage_became_steady_is_told_in_seconds_and_from_twenty_steps_on() {
    let steady_from_s = |seconds: u32| {
        let series = series((0..seconds).map(|at| reads(at, 100, 1_000)));
        of(&series, f64::from(seconds)).unwrap().steady_from_s
    };
    assert_eq!((steady_from_s(19), steady_from_s(20)), (None, Some(0)));
    // Steps of 10 s; the rate is a little different in every other 50 s.
    let rate = |at: u32| if at < 100 { 40 } else { 100 + u64::from(at / 50 % 2) };
    let series = series((0..1_500).map(|at| reads(at, rate(at), 1_000)));
    let estimates = of(&series, 1_500.0).unwrap();
    assert_eq!((estimates.steady_from_s, estimates.step_s), (Some(100), 10));
}

#[test]
fn a_trend_is_one_from_twenty_steps_and_a_change_of_a_percent_on() {
    // The change in percent a minute.
    let trend = |count: u32, (from, step): (f64, f64), step_s: u32| {
        let values: Vec<f64> = (0..count).map(|at| from + step * f64::from(at)).collect();
        Some(Trend::of(Trending::Throughput, &values, 0, step_s, None)?.percent)
    };
    // 120 of 981 a minute, and 6 of 985.5.
    for (count, step, step_s, expected) in [(20, -2.0, 1, -12.23), (30, -1.0, 10, -0.61)] {
        let percent = trend(count, (1_000.0, step), step_s).unwrap();
        assert!((percent - expected).abs() < 0.015, "{percent}, not {expected}");
    }
    assert_eq!(trend(19, (1_000.0, -2.0), 1), None);
    // 0.97 % from the first to the last, and 1.03 %.
    assert_eq!(trend(20, (100_000.0, -51.0), 1), None);
    assert!(trend(20, (100_000.0, -54.0), 1).is_some());
    assert_eq!(trend(20, (-9.5, 1.0), 1), None, "there is no share of nothing");
}
