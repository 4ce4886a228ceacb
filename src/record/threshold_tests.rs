//! Thresholds against a record whose values are known.

use super::*;
use crate::op::Failure;
use crate::record::fixture::record;

/// The value of an expression, and whether the run fails by it.
fn judged(expression: &str) -> (Option<f64>, bool) {
    let judgement = record(&[expression]).thresholds.remove(0);
    assert_eq!(judgement.value.is_none(), judgement.problem.is_some());
    (judgement.value, judgement.broken)
}

/// The value, which is there, as a whole number.
fn whole(expression: &str) -> (f64, bool) {
    let (value, broken) = judged(expression);
    (value.expect("a value").round(), broken)
}

#[test]
fn values_are_those_of_the_measured_stages() {
    assert_eq!(whole("read.max > 1ms"), (1_970.0, true));
    assert_eq!(whole("read.max > 5ms"), (1_970.0, false));
    assert_eq!(whole("read.service.max >= 1ms"), (985.0, false));
    assert_eq!(whole("read.lag.max > 0s"), (0.0, false));
    assert_eq!(whole("read.lag.max >= 0s"), (0.0, true));
    let (p50, broken) = whole("read.p50 > 1ms");
    assert!((742.0..=743.0).contains(&p50) && !broken, "{p50}");
    assert_eq!(whole("read.err > 30"), (30.0, false));
    assert_eq!(whole("read.err > 0.9%"), (1.0, true));
    assert_eq!(whole("update.conflict > 4%"), (5.0, true));
    assert_eq!(whole("update.timeout > 0"), (0.0, false));
    assert_eq!(whole("dropped > 0"), (100.0, true));
    assert_eq!(whole("dropped >= 4%"), (3.0, false));
    assert_eq!(whole("unfinished > 0"), (0.0, false));
    // 2,000 of bulk and 3,065 of single documents in 5 s.
    assert_eq!(whole("throughput < 1000"), (1_013.0, false));
    assert_eq!(whole("bulk_insert.throughput <= 800"), (800.0, true));
    assert_eq!(whole("err < 40"), (35.0, true));
}

#[test]
fn values_have_units_and_base_units() {
    for (expression, unit, limit_in_base) in [
        ("read.max > 1ms", Unit::Us, 0.001_97),
        ("read.err > 30", Unit::Count, 30.0),
        ("update.conflict > 4%", Unit::Percent, 0.05),
        ("bulk_insert.throughput <= 800", Unit::PerSecond, 800.0),
    ] {
        let judgement = record(&[expression]).thresholds.remove(0);
        assert_eq!(judgement.unit, unit, "{expression}");
        let value = judgement.in_base_units().expect("a value");
        let off = (value - limit_in_base).abs() / limit_in_base;
        assert!(off < 0.01, "{expression}: {value} of {limit_in_base}");
    }
    let untold = record(&["delete.mean > 9s"]).thresholds.remove(0);
    assert_eq!(untold.in_base_units(), None);
}

#[test]
fn what_cannot_be_told_is_broken_and_says_so() {
    for (expression, says) in [
        ("update.p99 > 9s", "too few samples: 95 of at least 1000"),
        ("update.p99.9 < 1us", "too few samples: 95 of at least 10000"),
        ("delete.mean > 9s", "nothing was measured"),
        ("delete.err > 90%", "nothing was measured"),
        ("delete.throughput > 1", "nothing was measured"),
    ] {
        let judgement = record(&[expression]).thresholds.remove(0);
        assert!(judgement.broken && judgement.value.is_none(), "{judgement:?}");
        assert_eq!(judgement.problem.as_deref(), Some(says));
    }
    assert!(judged("update.p50 > 9s").0.is_some());
}

/// Times are of what succeeded: a timeout must not make them look good.
#[test]
fn no_time_holds_for_requests_without_an_answer() {
    let mut record = record(&["read.p99 > 9s", "read.p95 > 9s", "read.max > 9s", "read.mean > 9s"]);
    let judged = |record: &mut RunRecord, class: Failure| {
        let reads = &mut record.stages[2].operations[0];
        let times = std::mem::take(&mut reads.failed_times).into_values().next();
        reads.failed_times.insert(class, times.expect("30 failed"));
        record.conclude();
        record.thresholds.iter().map(|it| it.broken).collect::<Vec<_>>()
    };
    assert_eq!(judged(&mut record, Failure::Conflict), [false; 4]);
    // 30 of 3,000 are 1 %: p99 holds for the others, the maximum does not hold for all.
    assert_eq!(judged(&mut record, Failure::Timeout), [false, false, true, false]);
    let says = "30 of 3000 requests had no answer, so no time covers 100 %";
    assert_eq!(record.thresholds[2].problem.as_deref(), Some(says));
    record.stages[2].operations[0].requests -= 1;
    assert_eq!(judged(&mut record, Failure::Reset), [true, false, true, false]);
    record.plan.thresholds = vec!["read.lag.max > 9s".parse().unwrap()];
    assert_eq!(judged(&mut record, Failure::Connect), [false], "when it began is known");
}

#[test]
fn they_survive_storing() {
    let record = record(&["update.p99 > 9s", "read.err > 0.9%"]);
    let json = serde_json::to_value(&record).unwrap();
    assert_eq!(json["thresholds"][1]["expression"], "read.err > 0.9%");
    assert_eq!(json["thresholds"][1]["unit"], "percent");
    assert_eq!(json["thresholds"][0]["value"], serde_json::Value::Null);
    assert_eq!(json["plan"]["thresholds"][0], "update.p99 > 9s");
    let mut again: RunRecord = serde_json::from_value(json.clone()).unwrap();
    again.thresholds.clear();
    again.conclude();
    assert_eq!(again.thresholds, record.thresholds);
    assert_eq!(serde_json::to_value(&again).unwrap(), json);
}
