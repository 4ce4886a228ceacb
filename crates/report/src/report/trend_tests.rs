//! Trends as text, as CSV and as pictures, whatever their records contain.

use super::*;
use crate::report::drawn::trend_picture;
use crate::report::html::trend_page;
use crate::report::text::trend_text;
use crate::report::{Look, Picture, cleaned};
use crate::trend::{Direction, LeftOut, TrendRun};

/// Eight runs; from the sixth on, reads are a fifth slower, on another server.
pub(in crate::report) fn trend() -> Trend {
    let run = |at: usize| TrendRun {
        settings: std::collections::BTreeMap::new(),
        name: format!("run-{at}"),
        label: (at == 7).then(|| "a, \"b\"".to_owned()),
        started_at: format!("2026-03-{:02}T10:00:00Z", at + 1),
        server: format!("couchdb {}", if at < 5 { "3.4" } else { "3.5" }),
        machine: "a processor 2 cores".to_owned(),
        springload: "0.1.0".to_owned(),
    };
    let runs: Vec<TrendRun> = (0..8).map(run).collect();
    let series = |metric: &str, values: Vec<Option<f64>>, changes: Vec<Change>| {
        let metric: crate::plan::Quantity = metric.parse().expect("a quantity");
        Series { metric, unit: Unit::of(metric.metric), values, changes }
    };
    let change = Change {
        at: 5,
        run: "run-5".to_owned(),
        started_at: runs[5].started_at.clone(),
        before: 1_000.0,
        after: 800.0,
        percent: Some(-20.0),
        chance: 1e-6,
        verdict: Direction::Worse,
    };
    let mark = Mark {
        at: 5,
        what: "server".to_owned(),
        before: "couchdb 3.4".to_owned(),
        after: "couchdb 3.5".to_owned(),
    };
    let rates = (0..8).map(|at| Some(if at < 5 { 1_000.0 } else { 800.0 })).collect();
    let times = (0..8).map(|at| (at != 2).then_some(1_500.0)).collect();
    let group = Group {
        command: "springload run http://localhost:5984 -d 30s".to_owned(),
        counted: crate::plan::Nouns::default(),
        runs,
        marks: vec![mark],
        series: vec![
            series("read.throughput", rates, vec![change]),
            series("read.p99", times, Vec::new()),
            series("read.err", vec![Some(0.0); 8], Vec::new()),
        ],
    };
    let reason = "stopped: the run was stopped early".to_owned();
    Trend { groups: vec![group], left_out: vec![LeftOut { name: "run-9".to_owned(), reason }] }
}

#[test]
fn text_of_a_trend() {
    let text = trend_text(&trend(), Look::default());
    let wanted = "\
springload trend  8 runs of one plan · 1 change

springload run http://localhost:5984 -d 30s
8 runs, 2026-03-01 to 2026-03-08 · couchdb 3.5
! server couchdb 3.4 → couchdb 3.5 from 2026-03-06 10:00 on
  read throughput  █████│▁▁▁  800.0/s
    worse −20.0 % from 2026-03-06 10:00 on: 1,000.0/s → 800.0/s, run run-5
  read p99         ██ █████   1.50 ms
  0 in every run: read errors

left out: run-9: stopped: the run was stopped early
";
    assert_eq!(text, wanted);
    let ascii = trend_text(&trend(), Look { ascii: true, width: 60, ..Look::default() });
    assert!(ascii.is_ascii() && ascii.contains("#####|..."), "{ascii}");
    assert!(ascii.contains("-20.0 %") && ascii.contains("->"), "{ascii}");
    assert!(ascii.lines().all(|line| line.len() <= 60), "{ascii}");
}

#[test]
fn csv_has_a_row_per_run() {
    let csv = trend_csv(&trend().groups[0]);
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(
        lines[0],
        "time,run,label,server,machine,springload,read.throughput_per_s,read.p99_us,\
         read.err_percent"
    );
    assert_eq!(lines.len(), 9);
    let last = "2026-03-08T10:00:00Z,run-7,\"a, \"\"b\"\"\",couchdb 3.5,a processor 2 cores,0.1.0,\
                800.000000,1500.000000,0.000000";
    assert_eq!(lines[8], last);
    assert!(lines[3].ends_with(",1000.000000,,0.000000"), "not measured is empty: {}", lines[3]);
}

#[test]
fn what_records_say_is_shown_as_text() {
    let mut trend = trend();
    trend.groups[0].runs[7].label = Some("\u{1b}[31m<script>".to_owned());
    trend.groups[0].series[0].changes[0].run = "<b>\u{1b}]0;x\u{7}".to_owned();
    trend.left_out[0].name = "a\u{9b}2J\nb".to_owned();
    let trend: Trend = cleaned(&trend).expect("numbers").expect("there is something to clean");
    let page = trend_page(&trend);
    assert!(!page.contains("<script>\u{fffd}") && !page.contains("[31m<script>"));
    assert!(page.contains("&lt;b&gt;"));
    let svg = trend_picture(&trend, Picture::Svg);
    for bytes in [trend_text(&trend, Look::default()), trend_csv(&trend.groups[0]), page] {
        assert!(!bytes.contains(['\u{1b}', '\u{9b}', '\u{7}']), "{bytes}");
    }
    assert!(String::from_utf8(svg).expect("text").contains("read throughput"));
}

#[test]
fn one_run_is_no_trend_yet() {
    let mut one = trend();
    one.left_out.clear();
    let group = &mut one.groups[0];
    group.runs.truncate(1);
    group.marks.clear();
    for series in &mut group.series {
        series.values.truncate(1);
        series.changes.clear();
    }
    let text = trend_text(&one, Look::default());
    assert!(text.contains("1 run of one plan · 0 changes"), "{text}");
    assert!(text.contains("finding changes takes 6 runs or more of the same plan"), "{text}");
    assert!(text.contains("read throughput  █  1,000.0/s"), "{text}");
    assert!(trend_page(&one).contains("6 runs or more"));
}
