//! A sweep made by hand, as text and as tables.

use super::*;
use crate::sweep::{Definition, Gap};

pub(in crate::report) fn sweep(
    axes: &[&str],
    by_size: bool,
    rate: impl Fn(&[f64]) -> f64,
) -> SweepRecord {
    let axes: Vec<Axis> = axes.iter().map(|axis| axis.parse().unwrap()).collect();
    let cell = |settings: Vec<Setting>| {
        let values: Vec<f64> = settings.iter().map(|it| it.value.parse().unwrap()).collect();
        let per_s = rate(&values);
        let point = |n: u64| CurvePoint {
            documents: n * 100_000,
            at_s: n as f64,
            per_s: 1_000.0 - 10.0 * n as f64,
            file_bytes: Some(n as f64 * 1e8),
            gap: n == 5,
            ..CurvePoint::default()
        };
        let points = (1..=20).map(point).collect();
        let curve = by_size.then_some(Curve { points, gaps: vec![Gap { from_s: 4, to_s: 5 }] });
        let result = CellResult {
            stage: "bulk_insert".to_owned(),
            per_s,
            ok: 1_000,
            trustworthy: true,
            curve,
            ..CellResult::default()
        };
        CellRecord { settings, round: 1, run: "cells/1/run.json".to_owned(), result: Some(result) }
    };
    let cells = crate::sweep::matrix(&axes).into_iter().map(cell).collect();
    let definition = Definition {
        label: None,
        target: None,
        nodes: Vec::new(),
        common: Vec::new(),
        axes,
        repeat: 1,
        seed: 1,
        by_size,
        preset: None,
    };
    SweepRecord { schema_version: 1, definition, cells }
}

#[test]
fn two_settings_make_a_map_and_each_has_its_slope() {
    // 100 more with each doubling of batch, whatever the connections; 1,000 on average.
    let two = sweep(&["batch=1,2,4", "connections=1,8,64"], false, |v| 900.0 + 100.0 * v[0].log2());
    let text = sweep_text(&two);
    assert!(text.contains("+10.0 % per doubling of batch (R² 1.00, 9 runs)"), "{text}");
    assert!(
        text.contains("+0.0 % per doubling of connections (R² 0.00, 9 runs; may be noise)"),
        "{text}"
    );
    assert!(text.contains("batch ↓ connections →"), "{text}");
    assert!(text.contains("1,100 █"), "{text}");
    let csv = sweep_csv(&two);
    assert!(csv.starts_with("batch,connections,round,docs_per_s,ok,failed,p50_us,p99_us"), "{csv}");
    assert!(csv.contains("\n4,64,1,1100,1000,0,,,true\n"), "{csv}");
}

#[test]
fn the_rate_by_size_has_a_slope_per_gigabyte_and_a_marked_gap() {
    let text = sweep_text(&sweep(&["batch=100"], true, |_| 1_000.0));
    // 100 docs/s less per GB; without the point in the gap the mean is 892.1.
    assert!(text.contains("batch=100: −11.2 % per GB of files (R² 1.00, 19 windows)"), "{text}");
    assert!(text.contains("n/a per GB of live data"), "{text}");
    assert!(text.contains("the server was away"), "{text}");
}

#[test]
fn runs_that_cannot_be_believed_make_no_slope() {
    let mut doubtful = sweep(&["batch=1,2,4,8", "connections=1,8"], false, |v| {
        1_000.0 + 100.0 * v[1] + v[0].log2()
    });
    // Twice as fast with many connections, but not trustworthy: neither slope may follow it.
    let cell = doubtful.cells.iter_mut().rfind(|cell| cell.settings[0].value == "8").unwrap();
    let result = cell.result.as_mut().unwrap();
    (result.trustworthy, result.per_s) = (false, 9_000.0);
    let text = sweep_text(&doubtful);
    assert!(text.contains("+0.071 % per doubling of batch (R² 1.00, 7 runs)"), "{text}");
    assert!(text.contains("1 run is not trustworthy and left out"), "{text}");
    for result in doubtful.cells.iter_mut().filter_map(|cell| cell.result.as_mut()) {
        result.trustworthy = false;
    }
    let text = sweep_text(&doubtful);
    assert!(!text.contains("per doubling"), "{text}");
    assert!(text.contains("8 runs are not trustworthy and left out"), "{text}");
    let mut fill = sweep(&["batch=1,2"], true, |_| 1_000.0);
    fill.cells[0].result.as_mut().unwrap().trustworthy = false;
    let text = sweep_text(&fill);
    assert!(!text.contains("batch=1: −") && text.contains("batch=2: −11.2 % per GB"), "{text}");
}

#[test]
fn the_series_of_2008_is_bare_but_for_comments() {
    let point = |documents, at_s, partial| CurvePoint {
        documents,
        at_s,
        per_s: 50.5,
        partial,
        ..CurvePoint::default()
    };
    let points = vec![point(100, 1.0, false), point(200, 6.0, false), point(250, 7.0, true)];
    let curve = Curve { points, gaps: vec![Gap { from_s: 2, to_s: 5 }] };
    let wanted = "100 50.5\n# gap: no answer from 2 s to 5 s\n200 50.5\n\
                  # the last window is not full:\n# 250 50.5\n";
    assert_eq!(bulk_perf_dat(&curve), wanted);
}
