//! The test cases that CI systems show.

use springload::plan::{Baseline, BaselineFigure, BaselineRun, Quantity};
use springload::record::RunRecord;

use super::{closed, not_sustained, render, with_failures};

/// A record whose plan has these thresholds.
fn judged(mut record: RunRecord, thresholds: &[&str]) -> RunRecord {
    let parsed = thresholds.iter().map(|it| it.parse().expect("a threshold"));
    record.plan.thresholds = parsed.collect();
    record.conclude();
    record
}

#[test]
fn a_case_for_each_threshold_and_one_for_the_run() {
    let record = judged(
        with_failures(),
        &["read.p99 > 1ms", "err > 90%", "read.p99.9 > 1s", "throughput < 1/s"],
    );
    insta::assert_snapshot!("junit_with_failures", render("junit", &record));
    insta::assert_snapshot!("junit_closed", render("junit", &judged(closed(), &[])));
}

/// A CI system reports a failure exactly if the exit status is not 0.
#[test]
fn a_case_is_red_exactly_where_the_exit_status_is_not_0() {
    let lost = super::fleet::lost();
    let mut seen = std::collections::BTreeSet::new();
    for thresholds in [&["err > 99%"][..], &["read.max > 1us", "err > 99%"], &[]] {
        for record in [closed(), with_failures(), not_sustained(), lost.clone()] {
            let mut whole = record.clone();
            whole.partial = false;
            for record in [record, whole] {
                let record = judged(record, thresholds);
                let status = record.result().exit_status;
                let xml = render("junit", &record);
                let red = xml.contains("<failure ") || xml.contains("<error ");
                assert_eq!(red, status != 0, "{status}: {xml}");
                seen.insert(status);
            }
        }
    }
    assert!(seen.len() >= 4, "{seen:?}");
}

/// CI systems follow a case by its name, from run to run.
#[test]
fn names_of_cases_do_not_change_with_the_baseline() {
    let names = |level: f64| {
        let mut record = judged(closed(), &["p99 > 1.1 * baseline", "throughput < baseline"]);
        let figure = |metric: Quantity| BaselineFigure { metric, values: vec![Some(level)] };
        record.plan.baseline = Some(Baseline {
            runs: vec![BaselineRun::default()],
            figures: Baseline::GATED.map(figure).to_vec(),
            max_regression_percent: Some(5.0),
            differs: Vec::new(),
        });
        record.conclude();
        let xml = render("junit", &record);
        let name = |case: &str| case.split('"').next().unwrap_or_default().to_owned();
        let cases = xml.split("<testcase classname=\"springload\" name=\"").skip(1);
        cases.map(name).collect::<Vec<_>>()
    };
    let wanted = [
        "p99 ≤ 1.1 × baseline",
        "throughput ≥ baseline",
        "throughput ≥ baseline − 5 %",
        "p50 ≤ baseline + 5 %",
        "p99 ≤ baseline + 5 %",
        "errors ≤ baseline + 0.1 points",
        "the run passed",
    ];
    assert_eq!(names(100.0), wanted);
    assert_eq!(names(123_456.0), wanted);
}

#[test]
fn what_servers_say_stays_text() {
    let mut record = closed();
    record.server.url = "http://a\u{1b}[31m<b>&\"'\0/".to_owned();
    (record.server.stand_in, record.partial) = (false, false);
    record.conclude();
    let xml = render("junit", &record);
    assert!(xml.contains("a\u{fffd}[31m&lt;b&gt;&amp;&quot;"), "{xml}");
    assert!(!xml.contains('\u{1b}') && !xml.contains('\0'), "{xml}");
}
