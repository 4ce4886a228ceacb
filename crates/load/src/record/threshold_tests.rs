//! Thresholds against a record whose values are known.

use super::*;
use crate::op::{Failure, OpKind};
use crate::plan::{Purpose, StagePlan};
use crate::record::fixture::{self, part, record};

/// The value of an expression, and whether the run fails because of it.
fn judged(expression: &str) -> (Option<f64>, bool) {
    let judgment = record(&[expression]).thresholds.remove(0);
    assert_eq!(judgment.value.is_none(), judgment.problem.is_some());
    (judgment.value, judgment.broken)
}

/// The value, which must exist, as a whole number.
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
    // 3,065 single documents in 2.5 s: the 2,000 of the fill before them are not counted.
    assert_eq!(whole("throughput < 1000"), (1_226.0, false));
    assert_eq!(whole("bulk_insert.throughput <= 800"), (800.0, true));
    assert_eq!(whole("err < 40"), (35.0, true));
}

#[test]
fn a_count_is_judged_as_it_is_or_as_a_share_of_its_whole() {
    assert_eq!(whole("issued < 3100"), (3_100.0, false));
    assert_eq!(whole("requests >= 3100"), (3_100.0, true));
    assert_eq!(whole("read.ok < 2971"), (2_970.0, true));
    // 98.9 % of the operations started.
    assert_eq!((whole("ok < 99%"), whole("ok < 98%")), ((99.0, true), (99.0, false)));
    assert_eq!(whole("resent > 0%"), (0.0, false));
    for metric in ["issued", "requests", "rows", "sent_bytes", "received_bytes"] {
        let refused = format!("{metric} > 1%").parse::<Threshold>().unwrap_err().to_string();
        assert!(refused.ends_with("give a number, such as 0, 10k or 10M"), "{refused}");
        // In comparisons and charts, it is the number as well.
        let quantity = metric.parse::<Quantity>().expect("a metric").metric;
        assert_eq!(Unit::of(quantity), Unit::Count, "{metric}");
    }
}

/// The rate and the 99th percentile of a run's quantity, as whole numbers.
fn rate_and_p99(record: &RunRecord, of: &str) -> (f64, f64) {
    let value = |metric: &str| {
        let quantity = format!("{of}{metric}").parse().expect("a quantity");
        record.value_of(quantity).expect("it was measured").round()
    };
    (value("throughput"), value("p99"))
}

/// Makes the fill of the fixture fast, with as many requests as the load: the two must not mix.
fn with_a_fast_fill() -> RunRecord {
    let mut record = record(&[]);
    let fast = vec![(0, OpKind::BulkInsert, part(100_000, 0)), (1, OpKind::Update, part(2_000, 0))];
    record.stages[0] = fixture::stage("bulk_insert", fast);
    record
}

#[test]
fn a_bare_metric_is_of_what_the_run_is_about() {
    let record = with_a_fast_fill();
    let main = record.main_stage().expect("the crud stage").merged();
    let (rate, p99) = rate_and_p99(&record, "");
    assert!((rate - main.throughput_per_s).abs() < 1.0, "{rate}");
    assert!((p99 - main.response.p99_us.unwrap()).abs() < 1.0, "{p99}");
    assert!((rate_and_p99(&record, "bulk_insert.").0 - 40_000.0).abs() < 1e-9);
    // A kind that also occurs in the fill is taken from the load.
    assert_eq!(record.value_of("update.throughput".parse().unwrap()), Ok(38.0));
    let bare = ["throughput < 1000", "throughput < 2000", "bulk_insert.throughput < 2000"];
    let mut judged = record;
    judged.plan.thresholds = bare.map(|it| it.parse().unwrap()).to_vec();
    judged.conclude();
    let broken: Vec<bool> = judged.thresholds.iter().map(|it| it.broken).collect();
    assert_eq!(broken, [false, true, false]);
}

#[test]
fn a_run_that_only_fills_is_about_its_fill() {
    let mut record = with_a_fast_fill();
    record.stages.truncate(1);
    assert!((rate_and_p99(&record, "").0 - 40_800.0).abs() < 1e-9);
    // A run that was to do more, but did not get that far, has no such figure.
    let main = StagePlan { name: "crud".to_owned(), ..stage_plan() };
    record.plan.stages = vec![StagePlan { purpose: Some(Purpose::Fill), ..stage_plan() }, main];
    let found = record.value_of("throughput".parse().unwrap());
    assert_eq!(found, Err("nothing was measured".to_owned()));
    assert_eq!(record.value_of("bulk_insert.throughput".parse().unwrap()), Ok(40_000.0));
}

/// A plan of a stage; only its name and purpose count here.
fn stage_plan() -> StagePlan {
    let stored = serde_json::json!({
        "name": "bulk_insert", "workload": "bulk_insert", "documents": 1, "batch": 1,
        "pace": { "loop": "closed", "think_ns": 0 }, "length_ns": null,
    });
    serde_json::from_value(stored).expect("a stage's plan")
}

#[test]
fn the_only_kind_is_known_whatever_the_fill_did() {
    let mut record = with_a_fast_fill();
    assert_eq!(record.only_kind(), None, "reads and updates");
    record.stages[2].operations.truncate(1);
    assert_eq!(record.only_kind(), Some(OpKind::Read));
    record.stages.truncate(1);
    assert_eq!(record.only_kind(), None, "the fill of this one updates, too");
    record.stages.clear();
    assert_eq!(record.only_kind(), None);
}

#[test]
fn several_bursts_are_judged_together() {
    let mut record = with_a_fast_fill();
    let burst = |name, count| fixture::stage(name, vec![(0, OpKind::Read, part(count, 0))]);
    record.stages = vec![burst("burst_read", 5_000), burst("burst_read_2", 1_000)];
    assert_eq!(rate_and_p99(&record, ""), (1_200.0, rate_and_p99(&record, "read.").1));
    let last = record.stages[1].merged().response.p99_us.unwrap();
    assert!(rate_and_p99(&record, "").1 > 2.0 * last, "the slow first burst counts");
}

#[test]
fn values_have_units_and_base_units() {
    for (expression, unit, limit_in_base) in [
        ("read.max > 1ms", Unit::Us, 0.001_97),
        ("read.err > 30", Unit::Count, 30.0),
        ("update.conflict > 4%", Unit::Percent, 0.05),
        ("bulk_insert.throughput <= 800", Unit::PerSecond, 800.0),
    ] {
        let judgment = record(&[expression]).thresholds.remove(0);
        assert_eq!(judgment.unit, unit, "{expression}");
        let value = judgment.in_base_units().expect("a value");
        let off = (value - limit_in_base).abs() / limit_in_base;
        assert!(off < 0.01, "{expression}: {value} of {limit_in_base}");
    }
    let unknown = record(&["delete.mean > 9s"]).thresholds.remove(0);
    assert_eq!(unknown.in_base_units(), None);
}

#[test]
fn what_cannot_be_judged_is_broken_and_says_so() {
    for (expression, says) in [
        ("update.p99 > 9s", "too few samples: 95 of at least 1,000"),
        ("update.p99.9 < 1us", "too few samples: 95 of at least 10,000"),
        ("delete.mean > 9s", "nothing was measured"),
        ("delete.err > 90%", "nothing was measured"),
        ("delete.throughput > 1", "nothing was measured"),
    ] {
        let judgment = record(&[expression]).thresholds.remove(0);
        assert!(judgment.broken && judgment.value.is_none(), "{judgment:?}");
        assert_eq!(judgment.problem.as_deref(), Some(says));
    }
    assert!(judged("update.p50 > 9s").0.is_some());
}

/// Times cover successes only: a timeout must not make them look good.
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
    let says = "30 of 3,000 requests had no answer, so no time covers 100 %";
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

#[test]
fn a_rate_is_that_of_the_main_stages_without_what_came_after_their_time() {
    let mut record = fixture::record(&[]);
    let reads = &mut record.stages[2].operations[0];
    assert_eq!(reads.ok, 2_970);
    reads.drained_ok = 500;
    let quantity = Quantity { kind: None, metric: Metric::Throughput };
    // 95 updates, in 2.5 s.
    let per_s = record.value_of(quantity).unwrap();
    assert!((per_s - 1_026.0).abs() < 1e-9, "{per_s}");
    // A run that is to fill a database and nothing more is about that.
    let plan = serde_json::json!({
        "name": record.stages[0].name, "workload": "bulk_insert", "documents": 2_000, "batch": 100,
        "pace": { "loop": "closed", "think_ns": 0 }, "length_ns": null,
    });
    record.plan.stages = vec![serde_json::from_value(plan).unwrap()];
    record.stages.truncate(1);
    let per_s = record.value_of(quantity).unwrap();
    assert!((per_s - 800.0).abs() < 1e-9, "{per_s}");
}

#[test]
fn a_kind_of_which_nothing_was_issued_is_not_one_of_several() {
    let mut record = fixture::record(&[]);
    assert_eq!(record.only_kind(), None);
    record.stages[2].operations[1].issued = 0;
    assert_eq!(record.only_kind(), Some(OpKind::Read));
}
