//! YCSB's report, read back as its readers do, and each of its forms on a stored record.

use serde_json::Value;
use springload::measure::{FailedTimes, Histogram};
use springload::op::{Failure, OpKind};
use springload::plan::MeasurementPlan;
use springload::record::RunRecord;
use springload::report::ycsb::{Status, hdr_logs, raw_rows};
use springload::report::{format, read_json};
use springload::workload::ycsb::Properties;
use std::collections::{BTreeMap, BTreeSet};

const STORED: &str = include_str!("../reports/run.json");

/// A record of operations alone, told as `properties` want it; of its updates, some failed.
fn record(properties: &str) -> RunRecord {
    let mut record = read_json(STORED).expect("the stored record can be read");
    record.stages.retain(|stage| stage.name == "crud");
    let crud = &mut record.stages[0];
    let update = crud.operations.iter_mut().find(|it| it.kind == OpKind::Update).unwrap();
    for (class, count) in [(Failure::Conflict, 20), (Failure::Timeout, 3)] {
        let mut failed = Histogram::default();
        let whole = update.service.histogram.inner();
        let greatest: Vec<_> = whole.iter_recorded().map(|it| it.value_iterated_to()).collect();
        let skip = if class == Failure::Conflict { 3 } else { 0 };
        greatest.iter().rev().skip(skip).take(count).for_each(|&ns| failed.record(ns));
        let times = FailedTimes { service: failed.clone(), response: Histogram::default() };
        update.failed_times.insert(class, times);
        update.failures.insert(class, count as u64);
        update.ok -= count as u64;
    }
    record.plan.connections = 4;
    record.plan.ycsb = Some(plan(properties));
    record.refresh_warnings();
    record
}

fn plan(properties: &str) -> MeasurementPlan {
    let properties = Properties::parse(properties.as_bytes()).expect("properties");
    MeasurementPlan::read(&properties).expect("properties with a meaning")
}

fn render(name: &str, record: &RunRecord) -> String {
    let format = format(name).expect("a format");
    let bytes = format.render(std::slice::from_ref(record), None).expect("of one run");
    String::from_utf8(bytes).expect("text")
}

/// A report as its readers see it: of each line that begins with a bracket, section and measure
/// with the number. Numbers are decimal or not, as of the version.
fn parse(text: &str) -> BTreeMap<(String, String), f64> {
    let mut numbers = BTreeMap::new();
    for line in text.lines().filter(|line| line.starts_with('[')) {
        let parts: Vec<&str> = line.split(", ").collect();
        let [section, measure, number] = parts[..] else { panic!("{line:?}") };
        let section = section.strip_prefix('[').and_then(|it| it.strip_suffix(']')).expect(line);
        let number = number.parse().expect(line);
        let key = (section.to_owned(), measure.to_owned());
        assert_eq!(numbers.insert(key, number), None, "{line:?} is there twice");
    }
    numbers
}

/// Every number of a run's report beside those of the `run.json` that the same run has left.
#[test]
fn a_report_read_back_has_the_numbers_of_run_json() {
    let folder = tempfile::tempdir().unwrap();
    let output = assert_cmd::Command::cargo_bin("springload")
        .unwrap()
        .timeout(std::time::Duration::from_secs(60))
        .args(["run", "basic", "--docs", "0", "-n", "8000", "-c", "4", "--quiet"])
        .args(["--format", "ycsb", "--output"])
        .arg(folder.path())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let numbers = parse(&text);
    let file = std::fs::read_to_string(folder.path().join("run.json")).unwrap();
    let run: Value = serde_json::from_str(&file).unwrap();
    let stage = &run["stages"][0];
    let of = |section: &str, measure: &str| {
        let key = (section.to_owned(), measure.to_owned());
        *numbers.get(&key).unwrap_or_else(|| panic!("no {section} {measure} in {text}"))
    };
    let run_ms = of("OVERALL", "RunTime(ms)");
    assert!((stage["elapsed_s"].as_f64().unwrap() * 1e3 - run_ms).abs() < 1.0);
    let per_s = of("OVERALL", "Throughput(ops/sec)");
    assert!((per_s * run_ms / 1e3 - 8000.0).abs() < 1e-3, "{per_s} {run_ms}");
    assert!((of("CLEANUP", "Operations") - 4.0).abs() < 1e-9);
    let mut sections = BTreeSet::from(["OVERALL".to_owned(), "CLEANUP".to_owned()]);
    for operation in stage["operations"].as_array().unwrap() {
        let kind = operation["kind"].as_str().unwrap();
        let section = if kind == "create" { "INSERT".to_owned() } else { kind.to_uppercase() };
        let same = |measure: &str, wanted: &Value, within: f64| {
            let (told, wanted) = (of(&section, measure), wanted.as_f64().unwrap());
            assert!((told - wanted).abs() <= within, "{section} {measure}: {told}, {wanted}");
        };
        same("Operations", &operation["ok"], 0.0);
        same("Return=OK", &operation["ok"], 0.0);
        let service = &operation["service"];
        same("AverageLatency(us)", &service["mean_us"], 0.006);
        for (measure, key) in [
            ("MinLatency(us)", "min_us"),
            ("MaxLatency(us)", "max_us"),
            ("50thPercentileLatency(us)", "p50_us"),
            ("95thPercentileLatency(us)", "p95_us"),
            ("99thPercentileLatency(us)", "p99_us"),
        ] {
            // Cut to whole microseconds.
            let told = of(&section, measure);
            assert!(told.fract() == 0.0);
            same(measure, &Value::from((service[key].as_f64().unwrap() + 0.004).floor()), 0.0);
        }
        sections.insert(section);
    }
    let told: BTreeSet<_> = numbers.keys().map(|(section, _)| section.clone()).collect();
    assert_eq!(told, sections);
    assert!(sections.len() == 6, "{sections:?}");
}

/// Where operations fail, `Operations` and times are of those that did not, and return codes of
/// all.
#[test]
fn failures_have_sections_of_their_own() {
    let of = |properties: &str| parse(&render("ycsb", &record(properties)));
    let get = |numbers: &BTreeMap<_, f64>, section: &str, measure: &str| {
        numbers.get(&(section.to_owned(), measure.to_owned())).copied()
    };
    let together = of("");
    let count = |measure| get(&together, "UPDATE", measure).unwrap();
    assert!((count("Operations") - count("Return=OK")).abs() < 1e-9);
    assert_eq!(get(&together, "UPDATE", "Return=CONFLICT"), Some(20.0));
    assert_eq!(get(&together, "UPDATE", "Return=ERROR"), Some(3.0));
    assert_eq!(get(&together, "UPDATE-FAILED", "Operations"), Some(23.0));
    let slowest_failure = get(&together, "UPDATE-FAILED", "MaxLatency(us)").unwrap();
    assert!(slowest_failure > count("MaxLatency(us)"));
    let each = of("reportlatencyforeacherror=true");
    assert_eq!(get(&each, "UPDATE-CONFLICT", "Operations"), Some(20.0));
    assert_eq!(get(&each, "UPDATE-ERROR", "Operations"), Some(3.0));
    assert_eq!(get(&each, "UPDATE-FAILED", "Operations"), None);
    let some = of("latencytrackederrors=CONFLICT");
    assert_eq!(get(&some, "UPDATE-CONFLICT", "Operations"), Some(20.0));
    assert_eq!(get(&some, "UPDATE-FAILED", "Operations"), Some(3.0));
}

#[test]
fn each_measurement_type() {
    for (name, properties) in [
        ("hdrhistogram", "hdrhistogram.percentiles=50,91,99.9,100\nmeasurement.gc=true"),
        ("histogram", "histogram.buckets=3\nmeasurement.histogram.verbose=true"),
        ("timeseries", ""),
        ("raw", ""),
        ("hdrhistogram+histogram", "histogram.buckets=2"),
        ("hdrhistogram+raw", "measurement.raw.no_summary=true"),
    ] {
        let properties = format!("{properties}\nmeasurementtype={name}");
        insta::assert_snapshot!(name.replace('+', "_and_"), render("ycsb", &record(&properties)));
    }
    let both = record("measurement.interval=both");
    insta::assert_snapshot!("both_intervals", render("ycsb", &both));
}

/// The JSON exporters tell the same numbers as text.
#[test]
fn json_has_the_lines_of_the_text() {
    let record = record("measurement.interval=both");
    let lines = parse(&render("ycsb", &record));
    for name in ["ycsb-json", "ycsb-json-array"] {
        let json = render(name, &record);
        let objects: Vec<Value> = serde_json::from_str(&json).expect("one JSON document");
        assert_eq!(objects.len(), lines.len());
        assert!(objects[0]["trust"].as_str().unwrap().starts_with("crud · "), "{}", objects[0]);
        assert_eq!(objects[0]["warnings"].as_array().unwrap().len(), record.warnings.len());
        for object in objects {
            let text = |key: &str| object[key].as_str().unwrap().to_owned();
            let wanted = lines[&(text("metric"), text("measurement"))];
            assert!((object["value"].as_f64().unwrap() - wanted).abs() < 1e-12, "{object}");
        }
    }
    let array = render("ycsb-json-array", &record);
    let start = "[ {\n  \"metric\" : \"OVERALL\",\n  \"measurement\" : \"RunTime(ms)\",\n";
    assert!(array.starts_with(start), "{array}");
}
