//! Charts against records whose contents are known.

use super::view::View;
use super::*;
use crate::measure::Span;
use crate::op::OpKind;
use crate::plan::StagePlan;
use crate::record::fixture::{fleet, lose, part, record, stage};
use crate::record::{RunRecord, StageRecord};
use serde_json::json;

/// A run whose CRUD stage is made of these seconds: reads, some of which fail.
fn run(elapsed_s: f64, seconds: &[(u32, u64, u64)]) -> RunRecord {
    let mut run = record(&[]);
    let parts = seconds.iter().map(|&(at, count, failed)| (at, OpKind::Read, part(count, failed)));
    let mut crud = stage("crud", parts.collect());
    crud.elapsed_s = elapsed_s;
    *run.stages.last_mut().unwrap() = crud;
    run
}

fn crud(runs: &[RunRecord], kind: ChartKind) -> Chart {
    let stages = stages(runs, false);
    let charts = &foremost(&stages).unwrap().views[0].charts;
    charts.iter().find(|chart| chart.kind == kind).unwrap().clone()
}

fn rates(line: &Line) -> Vec<f64> {
    line.y.iter().map(|y| y.unwrap()).collect()
}

#[test]
fn a_second_in_which_nothing_ended_is_shown_as_nothing() {
    let chart = crud(&[run(4.0, &[(0, 100, 0), (3, 50, 0)])], ChartKind::Throughput);
    assert_eq!(rates(&chart.lines[0]), [100.0, 0.0, 0.0, 50.0]);
    assert_eq!(chart.lines[0].x, [0.5, 1.5, 2.5, 3.5]);
}

#[test]
fn what_is_not_a_request_counts_only_for_itself() {
    let mut run = run(1.0, &[]);
    let parts = [(OpKind::Read, 100), (OpKind::Verify, 60), (OpKind::ReadModifyWrite, 30)];
    let parts = parts.map(|(kind, count)| (0, kind, part(count, 0)));
    *run.stages.last_mut().unwrap() =
        StageRecord { elapsed_s: 1.0, ..stage("crud", parts.to_vec()) };
    let stages = stages(&[run], true);
    let served = |view: &OfKind| {
        let chart = view.charts.iter().find(|chart| chart.kind == ChartKind::Throughput).unwrap();
        (view.name, rates(&chart.lines[0])[0])
    };
    let found: Vec<_> = foremost(&stages).unwrap().views.iter().map(served).collect();
    let wanted = [("all", 100.0), ("read", 100.0), ("read_modify_write", 30.0), ("verify", 60.0)];
    assert_eq!(found, wanted);
}

#[test]
fn the_end_of_a_stage_is_no_second_of_its_own() {
    // 30 requests in the last 0.2 s are not 150 per second: together with the others, they count
    // over 1.2 s.
    let chart = crud(&[run(2.2, &[(0, 100, 0), (1, 90, 0), (2, 30, 0)])], ChartKind::Throughput);
    let found = rates(&chart.lines[0]);
    assert!(found.len() == 2 && found.iter().all(|rate| (rate - 100.0).abs() < 1e-6), "{found:?}");
    let chart = crud(&[run(2.6, &[(0, 100, 0), (1, 90, 0), (2, 30, 0)])], ChartKind::Throughput);
    assert!((rates(&chart.lines[0])[2] - 50.0).abs() < 1e-9);
}

#[test]
fn what_is_offered_follows_the_schedule_until_all_is_offered() {
    let mut run = run(4.0, &[(0, 10, 0), (3, 50, 0)]);
    let plan = |operations: Option<u64>| -> StagePlan {
        serde_json::from_value(json!({
            "name": "crud", "workload": "crud", "order": "uniform", "operations": operations,
            "mix": { "create": 0, "read": 1, "update": 0, "delete": 0 }, "length_ns": null,
            "pace": { "loop": "open", "max_in_flight": 10, "schedule": {
                "arrivals": "constant", "seed": 1,
                "segments": [{ "length_ns": 4_000_000_000u64, "from": 0.0, "to": 80.0 }] } },
        }))
        .unwrap()
    };
    for (operations, expected) in
        [(None, [10.0, 30.0, 50.0, 70.0]), (Some(100), [10.0, 30.0, 50.0, 10.0])]
    {
        run.plan.stages = vec![plan(operations)];
        let chart = crud(std::slice::from_ref(&run), ChartKind::Throughput);
        let offered = chart.lines.iter().find(|line| line.name == "offered").unwrap();
        let near = rates(offered).iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6);
        assert!(near, "{:?}", offered.y);
    }
}

#[test]
fn a_percentile_without_ten_samples_beyond_is_read_off_longer_stretches() {
    // p99 needs 1,000 samples: 300 in a second are too few, 1,500 in five seconds are enough.
    let seconds: Vec<_> = (0..20).map(|second| (second, 300, 0)).collect();
    let chart = crud(&[run(20.0, &seconds)], ChartKind::Latency);
    let names: Vec<_> = chart.lines.iter().map(|line| line.name.as_str()).collect();
    assert_eq!(names, ["p50 response", "p50 service", "p99 response of 5 s", "p99 service of 5 s"]);
    assert!(chart.note.ends_with("Left out, with too few samples: p99.9."), "{}", chart.note);
    let (p50, p99) = (&chart.lines[0], &chart.lines[2]);
    assert_eq!((p50.x.len(), &p99.x[..4]), (20, &[0.0, 5.0, 5.0, 10.0][..]));
    // Response times are 1 to 300 µs in each second.
    assert!((p50.y[7].unwrap() - 0.150).abs() < 1e-3 && (p99.y[3].unwrap() - 0.297).abs() < 1e-3);
}

#[test]
fn the_curve_goes_through_the_percentiles_of_the_summary() {
    let run = run(2.0, &[(0, 6_000, 0), (1, 6_000, 0)]);
    let chart = crud(std::slice::from_ref(&run), ChartKind::Percentiles);
    let response = &run.stages.last().unwrap().operations[0].response;
    for (x, us) in [(1e1, response.p90_us), (1e2, response.p99_us), (1e3, response.p99_9_us)] {
        let at = chart.lines[0].x.iter().position(|it| (it / x - 1.0).abs() < 1e-9).unwrap();
        assert!((chart.lines[0].y[at].unwrap() * 1e3 - us.unwrap()).abs() < 0.02, "{x}");
    }
    // 12,000 samples are just enough for p99.9.
    assert!(*chart.lines[0].x.last().unwrap() <= 1_200.0);
}

#[test]
fn every_request_is_in_a_cell_that_holds_its_time() {
    let run = run(3.0, &[(0, 500, 0), (2, 80, 0)]);
    let cells = crud(&[run], ChartKind::Heatmap).cells.unwrap();
    let column = |at: usize| cells.counts.iter().map(|row| row[at]).sum::<u64>();
    assert_eq!((cells.x.len(), column(0), column(1), column(2)), (4, 500, 0, 80));
    assert!(cells.y.windows(2).all(|pair| pair[0] < pair[1]));
    // 1 to 500 µs.
    assert!(cells.y[0] <= 0.0011 && *cells.y.last().unwrap() > 0.5);
    for (row, edges) in cells.y.windows(2).enumerate() {
        let wanted = (1..=500).filter(|us| (edges[0]..edges[1]).contains(&(f64::from(*us) / 1e3)));
        let wanted = wanted.count() as u64;
        assert!(cells.counts[row][0].abs_diff(wanted) <= 1, "{edges:?}");
    }
}

#[test]
fn service_times_that_no_one_could_tell_apart_are_left_out() {
    let mut run = run(2.0, &[(0, 3_000, 0), (1, 3_000, 0)]);
    let names = |run: &RunRecord, kind| -> Vec<String> {
        crud(std::slice::from_ref(run), kind).lines.into_iter().map(|line| line.name).collect()
    };
    assert_eq!(names(&run, ChartKind::Percentiles), ["response", "service"]);
    let crud_of = run.stages.last_mut().unwrap();
    for part in crud_of.series.rows.iter_mut().flat_map(|row| row.kinds.values_mut()) {
        part.service = part.response.clone();
    }
    for operation in &mut crud_of.operations {
        operation.service = operation.response.clone();
    }
    assert_eq!(names(&run, ChartKind::Percentiles), ["response"]);
    assert_eq!(names(&run, ChartKind::Latency), ["p50 response", "p99 response"]);
    let note = crud(&[run], ChartKind::Latency).note;
    assert!(note.contains("same to within 3 %"), "{note}");
}

#[test]
fn a_chart_is_described_in_words() {
    let mut run = run(3.0, &[(0, 100, 0), (1, 200, 5), (2, 300, 0)]);
    run.stages.last_mut().unwrap().silences = vec![Span { from_s: 1.25, length_s: 0.8 }];
    let words = |kind| crud(std::slice::from_ref(&run), kind).words;
    assert_eq!(
        words(ChartKind::Throughput),
        "Throughput over time: median 200/s, lowest 100/s at 0.5 s, highest 300/s at 2.5 s; \
         no answer for 0.8 s at 1.25 s"
    );
    let errors = words(ChartKind::Errors);
    assert!(errors.starts_with("Errors over time: conflict median 0/s, lowest 0/s at"), "{errors}");
    let percentiles = words(ChartKind::Percentiles);
    let start = "Latency by percentile: response 0.";
    assert!(percentiles.starts_with(start) && percentiles.contains(" at 50 %"), "{percentiles}");
    let heat = words(ChartKind::Heatmap);
    assert!(heat.contains("most requests, ") && heat.contains(" around 2.5 s"), "{heat}");
}

/// Tables and meters have names of their own.
#[test]
fn units_and_times_are_not_guessed_from_titles() {
    let words = |title: &str, says_time, y: ChartAxis| {
        let line = Line {
            name: "rate".to_owned(),
            tone: 0,
            stroke: Stroke::Solid,
            hidden: false,
            x: vec![0.5, 1.5],
            y: vec![Some(3.0); 2],
        };
        let chart = Chart::new(ChartKind::Server, title, ChartAxis::time(), y);
        Chart { lines: vec![line], says_time, ..chart }.finished().words
    };
    let plain = |title: &str| ChartAxis::new(title, Scale::Linear);
    for (title, says_time, y, expected) in [
        ("Jobs", false, ChartAxis::per_second("jobs"), "Jobs over time: 3/s throughout"),
        ("Jobs over time", true, plain("jobs"), "Jobs over time: 3 throughout"),
        ("Jobs", false, ChartAxis::in_ms("a job", Scale::Log), "Jobs over time: 3 ms throughout"),
        ("Jobs", false, plain("jobs per second"), "Jobs over time: 3 throughout"),
        ("Jobs", false, plain("jobs, ms"), "Jobs over time: 3 throughout"),
        ("Over time", false, plain(""), "Over time over time: 3 throughout"),
    ] {
        assert_eq!(words(title, says_time, y), expected);
    }
}

#[test]
fn silences_are_bands_over_time() {
    let mut run = run(3.0, &[(0, 100, 0), (2, 300, 0)]);
    run.stages.last_mut().unwrap().silences = vec![Span { from_s: 1.0, length_s: 0.8 }];
    let stages = stages(&[run], false);
    for chart in &foremost(&stages).unwrap().views[0].charts {
        let bands: Vec<_> = chart.bands.iter().map(|it| (it.from_s, it.to_s, &*it.text)).collect();
        let wanted = [(1.0, 1.8, "no answer for 0.8 s")];
        assert_eq!(bands == wanted, chart.x.scale == Scale::Time, "{}: {bands:?}", chart.title);
    }
}

/// Where the lines of several runs overlap, a band would seem to apply to all of them.
#[test]
fn bands_are_drawn_only_over_their_own_run() {
    let mut first = run(3.0, &[(0, 100, 0), (2, 300, 0)]);
    first.stages.last_mut().unwrap().silences = vec![Span { from_s: 1.0, length_s: 0.8 }];
    let stages = stages(&[first, run(3.0, &[(0, 100, 0), (2, 300, 0)])], false);
    let charts = &foremost(&stages).unwrap().views[0].charts;
    let with: Vec<&str> =
        charts.iter().filter(|it| !it.bands.is_empty()).map(|it| it.title.as_str()).collect();
    assert_eq!(with, ["A Heat map of response times"]);
}

#[test]
fn failures_are_shown_by_cause_and_by_run() {
    let run = run(2.0, &[(0, 100, 7), (1, 100, 0)]);
    let chart = crud(std::slice::from_ref(&run), ChartKind::Errors);
    assert_eq!((chart.lines.len(), chart.lines[0].name.as_str()), (1, "conflict"));
    assert_eq!(rates(&chart.lines[0]), [7.0, 0.0]);
    let both = crud(&[run.clone(), run], ChartKind::Errors);
    let names: Vec<_> = both.lines.iter().map(|line| line.name.as_str()).collect();
    assert_eq!(names, ["A all failures", "B all failures"]);
}

#[test]
fn a_long_run_has_no_more_points_than_a_screen() {
    let seconds: Vec<_> = (0..330).map(|second| (second, 20, 0)).collect();
    let run = run(330.4, &seconds);
    for count in [1, 4] {
        let runs = vec![run.clone(); count];
        let view = View::new(&runs, "crud", None);
        let points: usize = view.parts.iter().map(|part| part.timeline.stretches.len()).sum();
        assert!((150..=310).contains(&points), "{points}");
        let all: u64 = view.parts[0].timeline.stretches.iter().map(|it| it.requests).sum();
        assert_eq!(all, 6_600);
    }
}

#[test]
fn numbers_are_as_long_as_they_mean_something() {
    let line = Line {
        name: String::new(),
        tone: 0,
        stroke: Stroke::Solid,
        hidden: false,
        x: vec![0.0, 1.5, 12_345.678],
        y: vec![None, Some(0.001_234_567_8), Some(3.0)],
    };
    let value = serde_json::to_value(&line).unwrap();
    assert_eq!(
        (&value["x"], &value["y"]),
        (&json!([0, 1.5, 12_346]), &json!([null, 0.001_234_6, 3]))
    );
}

#[test]
fn each_agent_has_a_row_that_ends_where_it_was_lost() {
    let mut run = fleet(3);
    lose(&mut run, 1, 4);
    let series = &mut run.stages[2].agents[2].series;
    // Two seconds in one row, and one in which nothing ended.
    series[4].ok += series.remove(5).ok;
    series[4].seconds = 2;
    series.remove(7);
    let chart = crud(&[run.clone()], ChartKind::Agents);
    let map = chart.map.unwrap();
    assert_eq!(map.edges, (0..=10).map(f64::from).collect::<Vec<_>>());
    assert_eq!(
        (chart.y.names, &*map.rows[1]),
        (vec!["0".into(), "1".into(), "2".into()], "agent 1 on load-0")
    );
    let full = Some(100.0);
    assert_eq!(map.rates[0], [full; 10]);
    assert_eq!(map.rates[1], [[full; 4].as_slice(), &[None; 6]].concat());
    let bands: Vec<_> = chart.bands.iter().map(|it| (it.from_s, it.to_s, &*it.text)).collect();
    assert_eq!(bands, [(4.0, 7.0, "agent 1 lost")]);
    assert_eq!(map.rates[2], [[full; 8].as_slice(), &[Some(0.0), full]].concat());
    // Agents do not report single kinds of operations, and runs without agents have no such chart.
    let stages = stages(&[run, record(&[])], true);
    let agents = |view: &OfKind| {
        view.charts
            .iter()
            .filter(|it| it.kind == ChartKind::Agents)
            .map(|it| it.title.clone())
            .collect::<Vec<_>>()
    };
    let found: Vec<_> = foremost(&stages).unwrap().views.iter().map(agents).collect();
    assert_eq!(found, [vec!["A Agents".to_owned()], vec![], vec![]]);
}

#[test]
fn a_thousand_agents_of_a_long_stage_fit_a_page() {
    let mut run = fleet(1_000);
    run.stages[2].elapsed_s = 3_000.0;
    for agent in &mut run.stages[2].agents {
        agent.series[9].seconds = 2_991;
        agent.series[9].ok = 299_100;
    }
    run.stages[2].agents[7].lost = true;
    let map = crud(&[run], ChartKind::Agents).map.unwrap();
    let (rows, columns) = (map.rates.len(), map.rates[0].len());
    assert_eq!((rows, columns, &*map.rows[1]), (200, 150, "agents 5–9, mean"));
    assert!(map.rates.iter().flatten().all(|rate| *rate == Some(100.0)), "{:?}", map.rates[1]);
}
