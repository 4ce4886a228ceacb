//! Latency and errors over the rate: the knee, the limits, and the result.

use super::{Chart, ChartAxis, ChartKind, Line, Scale, Stroke};
use crate::plan::{Comparison, Limit, Metric, Span, Threshold};
use crate::search::{MaxRecord, Searched, StepRecord};

/// Values whose ratio is at least this are easier to tell apart on a logarithmic scale.
const CLOSE: f64 = 5.0;

/// All charts of a search; none if nothing was tried.
pub(in crate::report) fn of_max(max: &MaxRecord) -> Vec<Chart> {
    // In steps where the client was the limit, times include the client's own delays.
    let (bound, steps): (Vec<_>, Vec<_>) = max.steps.iter().partition(|it| it.client_bound);
    let steps = longest(steps);
    if steps.is_empty() {
        return Vec::new();
    }
    let levels: Vec<f64> = steps.iter().map(|step| step.level).collect();
    let line = |name: &str, tone: usize, value: &dyn Fn(&StepRecord) -> Option<f64>| {
        let y = steps.iter().map(|step| value(step)).collect();
        let (name, x) = (name.to_owned(), levels.clone());
        Line { name, tone, stroke: Stroke::Solid, hidden: false, x, y }
    };
    let positive = |us: f64| Some(us / 1e3).filter(|ms| *ms > 0.0);
    let times = vec![
        line("p50", 0, &|step| step.p50_us.and_then(positive)),
        line("p99", 1, &|step| step.p99_us.and_then(positive)),
    ];
    let served = vec![line("ok/s", 0, &|step| Some(step.per_s))];
    let failed = vec![line("failed", 0, &|step| Some(step.failed_percent))];
    let many = max.counted.many;
    let of_times = scale(times.iter().flat_map(|line| &line.y).filter_map(|y| *y));
    let charts = [
        (
            (ChartKind::Latency, "Response times by load"),
            " Where times rise steeply, the server is saturated.",
            ChartAxis::in_ms("response time", of_times),
            times,
        ),
        (
            (ChartKind::Throughput, "Throughput by load"),
            " Where the line bends, more load achieves nothing more.",
            ChartAxis::per_second(many),
            served,
        ),
        (
            (ChartKind::Errors, "Errors by load"),
            "",
            ChartAxis::new(format!("failed {many}, %"), Scale::Linear),
            failed,
        ),
    ];
    let across = match max.searched {
        Searched::Rate => "operations offered per second",
        Searched::Connections => "connections",
    };
    let across = ChartAxis::new(across, scale(levels.iter().copied()));
    let left_out = match bound.len() {
        0 => String::new(),
        count => format!("; steps with the client at its limit ({count}) are left out"),
    };
    let charts = charts.into_iter().map(|((kind, title), more, y, lines)| {
        let chart = Chart::new(kind, title, across.clone(), y);
        let note = format!("Each point is the longest step at a level{left_out}.{more}");
        Chart { note, lines, ..chart }
    });
    charts.filter(|chart| !chart.is_empty()).map(|chart| marked(chart, max).finished()).collect()
}

/// The longest step at each level, which tells the most about it, in ascending order of levels.
fn longest(mut steps: Vec<&StepRecord>) -> Vec<&StepRecord> {
    steps.sort_by(|one, other| {
        one.level.total_cmp(&other.level).then(one.length_s.total_cmp(&other.length_s))
    });
    let mut levels: Vec<&StepRecord> = Vec::new();
    for step in steps {
        match levels.last_mut().filter(|it| it.level >= step.level) {
            Some(shorter) => *shorter = step,
            None => levels.push(step),
        }
    }
    levels
}

/// Adds a line for each limit that applies to the chart, and one at the level found.
fn marked(mut chart: Chart, max: &MaxRecord) -> Chart {
    let ends = |values: &mut dyn Iterator<Item = f64>| {
        values.fold((f64::INFINITY, 0.0_f64), |(low, high), it| (low.min(it), high.max(it)))
    };
    let (left, right) = ends(&mut chart.lines.iter().flat_map(|line| &line.x).copied());
    let limits = max.slo.iter().filter_map(|slo| Some((slo.to_string(), limit(chart.kind, slo)?)));
    let across = |(tone, (name, limit)): (usize, (String, f64))| Line {
        name,
        tone,
        stroke: Stroke::Dash,
        hidden: false,
        x: vec![left, right],
        y: vec![Some(limit), Some(limit)],
    };
    let limits: Vec<Line> = (3..).zip(limits).map(across).collect();
    chart.lines.extend(limits);
    let (low, high) = ends(&mut chart.lines.iter().flat_map(|line| &line.y).filter_map(|it| *it));
    let found = match max.searched {
        Searched::Rate => max.sustained_per_s,
        Searched::Connections => max.connections,
    };
    chart.lines.extend(found.filter(|_| low < high).map(|level| Line {
        name: "sustained".to_owned(),
        tone: 2,
        stroke: Stroke::Dot,
        hidden: false,
        x: vec![level, level],
        y: vec![Some(low), Some(high)],
    }));
    chart
}

/// The upper limit that applies to such a chart, in the chart's unit.
fn limit(kind: ChartKind, slo: &Threshold) -> Option<f64> {
    let at_most = matches!(slo.comparison, Comparison::Below | Comparison::AtMost);
    let limit = match (kind, slo.metric, slo.limit) {
        (ChartKind::Latency, Metric::Time(Span::Response, _), Limit::Time(ns)) => ns as f64 / 1e6,
        (ChartKind::Errors, Metric::ERRORS, Limit::Percent(percent)) => percent,
        _ => return None,
    };
    // A logarithmic scale has no 0.
    (at_most && limit > 0.0).then_some(limit)
}

/// Logarithmic, unless the values are so close together that hardly any tick would lie between
/// them.
fn scale(values: impl Iterator<Item = f64> + Clone) -> Scale {
    let least = values.clone().fold(f64::INFINITY, f64::min);
    let greatest = values.fold(0.0, f64::max);
    if greatest > least * CLOSE { Scale::Log } else { Scale::Linear }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::max::tests::{max, step};
    use crate::search::{Ended, StepOutcome};

    fn searched(ended: Ended) -> MaxRecord {
        let steps = [
            (2_400.0, StepOutcome::Missed),
            (800.0, StepOutcome::Held),
            (1_950.0, StepOutcome::Held),
        ];
        let steps = steps.into_iter().enumerate().map(|(at, (level, outcome))| StepRecord {
            p99_us: Some(level * 10.0),
            failed_percent: at as f64,
            ..step(level, outcome, false)
        });
        max(ended, steps.collect())
    }

    fn names(chart: &Chart) -> Vec<&str> {
        chart.lines.iter().map(|line| line.name.as_str()).collect()
    }

    #[test]
    fn limits_and_what_was_found_are_drawn_where_they_are() {
        let mut found = searched(Ended::Found);
        found.slo.extend(
            ["err < 0.5%", "throughput > 5", "service.p50 < 1s"]
                .map(|it| it.parse::<Threshold>().unwrap()),
        );
        let [times, rate, errors] = &of_max(&found)[..] else { panic!("three charts") };
        assert_eq!(names(times), ["p50", "p99", "read.p99 < 20ms", "sustained"]);
        assert_eq!(
            (&times.lines[2].x[..], times.lines[2].y[1]),
            (&[800.0, 2_400.0][..], Some(20.0))
        );
        assert_eq!(times.lines[3].x, [1_950.0; 2]);
        assert_eq!(times.lines[3].y, [Some(0.8), Some(24.0)], "from the least to the greatest");
        assert_eq!((names(rate), names(errors)[1]), (vec!["ok/s", "sustained"], "all.err < 0.5%"));
        let words = "; read.p99 < 20ms 20 ms throughout; sustained at 1,950 operations offered per";
        assert!(times.words.contains(words), "{}", times.words);
    }

    #[test]
    fn nothing_is_marked_where_nothing_was_found_or_failed() {
        let mut none = searched(Ended::NothingHolds);
        none.steps.iter_mut().for_each(|step| step.failed_percent = 0.0);
        none.slo = vec!["err < 0.5%".parse().unwrap()];
        let charts = of_max(&none);
        assert_eq!(charts.len(), 2, "no chart of errors for the sake of their limit");
        assert!(charts.iter().all(|chart| chart.lines.iter().all(|it| it.name != "sustained")));
        none.steps.clear();
        assert!(of_max(&none).is_empty());
    }

    #[test]
    fn what_the_client_limited_is_no_point_of_the_curve() {
        let bound = |level| StepRecord {
            client_bound: true,
            length_s: 12.0,
            ..step(level, StepOutcome::Undecided, false)
        };
        let held = step(400.0, StepOutcome::Held, false);
        let record = max(Ended::Stopped, vec![held, bound(400.0), bound(1_600.0)]);
        let charts = of_max(&record);
        assert_eq!(charts[1].lines[0].x, [400.0], "the longer step tells of the client");
        let note = "; steps with the client at its limit (2) are left out.";
        assert!(charts[1].note.contains(note), "{}", charts[1].note);
        assert!(of_max(&max(Ended::Stopped, vec![bound(400.0)])).is_empty());
        let all = of_max(&max(Ended::Stopped, vec![step(400.0, StepOutcome::Held, false)]));
        assert!(!all[1].note.contains("left out"), "{}", all[1].note);
    }

    #[test]
    fn of_several_steps_at_a_level_the_longest_is_drawn() {
        let short = step(800.0, StepOutcome::Missed, false);
        let long = StepRecord { length_s: 9.0, per_s: 750.0, ..short.clone() };
        let record = max(Ended::Stopped, vec![long, short, step(400.0, StepOutcome::Held, false)]);
        let served = &of_max(&record)[1].lines[0];
        assert_eq!(
            (&served.x[..], &served.y[..]),
            (&[400.0, 800.0][..], &[Some(400.0), Some(750.0)][..])
        );
    }
}
