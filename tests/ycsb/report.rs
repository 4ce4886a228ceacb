//! YCSB's report, parsed as its readers do, and each of its forms for a stored record.

use serde_json::Value;
use springload::driver::TargetPlan;
use springload::driver::basic::BasicPlan;
use springload::measure::{FailedTimes, Histogram, Kept, Latency, RawRow};
use springload::op::{Failure, OpKind};
use springload::plan::{MeasurementPlan, PlanRecord};
use springload::properties::Properties;
use springload::record::{RunRecord, Running};
use springload::report::ycsb::{Status, hdr_logs, raw_rows};
use springload::report::{format, read_json};
use springload::run::{Observer, Progress, run};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const STORED: &str = include_str!("../reports/run.json");

/// A record of operations only, reported as `properties` ask; some of its updates failed.
fn record(properties: &str) -> RunRecord {
    let mut record = read_json(STORED).expect("the stored record can be read");
    record.stages.retain(|stage| stage.name == "crud");
    let crud = &mut record.stages[0];
    let update = crud.operations.iter_mut().find(|it| it.kind == OpKind::Update).unwrap();
    let second = crud.series.rows[0].kinds.get_mut(&OpKind::Update).unwrap();
    let whole = (update.service.histogram.clone(), update.response.histogram.clone());
    for (class, count, skip) in [(Failure::Conflict, 20, 3), (Failure::Timeout, 3, 0)] {
        // The slowest, so that confusing them with the others is noticed.
        let slowest = |whole: &Histogram| {
            let mut values: Vec<_> =
                whole.inner().iter_recorded().map(|it| it.value_iterated_to()).collect();
            values.reverse();
            let mut part = Histogram::default();
            values.into_iter().skip(skip).take(count).for_each(|ns| part.record(ns));
            part
        };
        let service = slowest(&whole.0);
        let response = slowest(&whole.1);
        update.service = Latency::new(update.service.histogram.without(&service));
        update.response = Latency::new(update.response.histogram.without(&response));
        second.service = Kept::Open(second.service.get().without(&service));
        second.response = Kept::Open(second.response.get().without(&response));
        second.failed_times.insert(
            class,
            FailedTimes {
                service: Kept::Open(service.clone()),
                response: Kept::Open(response.clone()),
            },
        );
        update.failed_times.insert(class, FailedTimes { service, response });
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

/// A report as its readers see it: the section, measure and number of each line that begins with a
/// bracket. Whether numbers are decimal depends on the version.
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

/// Compares every number of a run's report with the `run.json` of the same run.
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
            let (reported, wanted) = (of(&section, measure), wanted.as_f64().unwrap());
            assert!(
                (reported - wanted).abs() <= within,
                "{section} {measure}: {reported}, {wanted}"
            );
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
            // Nanoseconds, truncated to whole microseconds there and rounded to two decimals here:
            // 12.996 is 12 there and 13.00 here.
            let (reported, rounded) = (of(&section, measure), service[key].as_f64().unwrap());
            let cut = [(rounded - 0.005).floor(), (rounded + 0.005).floor()];
            assert!(cut.contains(&reported), "{section} {measure}: {reported}, {rounded}");
        }
        sections.insert(section);
    }
    let reported: BTreeSet<_> = numbers.keys().map(|(section, _)| section.clone()).collect();
    assert_eq!(reported, sections);
    assert!(sections.len() == 6, "{sections:?}");
}

/// Compared line by line with the output of YCSB's head of April 2026 on Java 17 for a mix of
/// reads, inserts and updates on its `BasicDB`: the same sections, measures and number formats in
/// the same order. Lines about garbage collection are left out, and so are the times of `CLEANUP`,
/// which are not measured here.
#[test]
fn lines_stand_in_the_order_of_ycsb() {
    let shape = |text: &str| -> Vec<String> {
        let numbers = text.lines().filter(|line| line.starts_with('['));
        let wanted =
            numbers.filter(|line| !line.contains("CLEANUP]") || line.contains("Operations"));
        let form = |line: &str| {
            let (head, number) = line.rsplit_once(", ").expect(line);
            format!("{head}, {}", if number.contains('.') { "decimal" } else { "whole" })
        };
        wanted.map(form).collect()
    };
    let mut compared = 0;
    for report in include_str!("reports.txt").split("== ").skip(1) {
        let (property, printed) = report.split_once('\n').expect("a first line");
        let buckets = ["measurementtype=histogram", "measurementtype=hdrhistogram+histogram"];
        let (buckets, verbose) = (buckets.contains(&property), property == buckets[0]);
        let mut ours = read_json(STORED).expect("the stored record can be read");
        ours.stages.retain(|stage| stage.name == "crud");
        ours.stages[0].operations.retain(|operation| operation.kind != OpKind::Delete);
        let all =
            format!("{property}\nhistogram.buckets=3\nmeasurement.histogram.verbose={verbose}");
        ours.plan.ycsb = Some(plan(&all));
        let (mut ours, mut theirs) = (shape(&render("ycsb", &ours)), shape(printed));
        // `INSERT` and `UPDATE` collide in YCSB's hash table, so the first one used comes first.
        theirs.sort_by_key(|line| (line.contains("Intended-"), line.contains("UPDATE]")));
        // A percentile beyond the last bucket has no line; whether there is one depends on the
        // speed.
        for lines in [&mut ours, &mut theirs] {
            lines.retain(|line| !(buckets && line.contains("99thPercentileLatency")));
        }
        assert_eq!(ours, theirs, "{property}");
        compared += 1;
    }
    assert_eq!(compared, 8);
}

/// If operations fail, `Operations` and times count only those that did not, and return codes count
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

/// The JSON exporters report the same numbers as the text.
#[test]
fn json_has_the_lines_of_the_text() {
    let record = record("measurement.interval=both");
    let lines = parse(&render("ycsb", &record));
    for name in ["ycsb-json", "ycsb-json-array"] {
        let json = render(name, &record);
        let objects: Vec<Value> = serde_json::from_str(&json).expect("one JSON document");
        assert_eq!(objects.len(), lines.len(), "{json}");
        assert!(objects[0]["trust"].as_str().unwrap().starts_with("mixed · "), "{}", objects[0]);
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

/// The same as YCSB's own with `-s`, except for numbers and time.
#[test]
fn status_lines_are_those_of_ycsb() {
    let plan = plan("status=true\nstatus.interval=1.5\nlabel=lab");
    let operations = record("").stages[0].operations.clone();
    let mut status = Status::new(&plan, Some(400_000)).expect("lines are wanted");
    let mut at = |elapsed_s: f64, operations: &[_], last| {
        let operations = operations.to_vec();
        let running = Running { elapsed_s, operations, ..Running::default() };
        status.line(1_795_240_972_676_123_456, &running, last)
    };
    let time = "lab2026-11-21 06:02:52:676";
    assert_eq!(at(0.0, &[], false), Some(format!("{time} 0 sec: 0 operations; ")));
    assert_eq!(at(1.0, &operations[..1], false), None);
    let line = at(2.0, &operations[..2], false).expect("it is due");
    let head = format!(
        "{time} 2 sec: 3750 operations; 1875 current ops/sec; est completion in 3 minutes \
         [INSERT: Count=1500, Max=5861, Min=21, Avg=149.16, 50=51, 90="
    );
    assert!(line.starts_with(&head), "{line}");
    assert!(line.contains("] [READ: Count=2250, Max=4124, Min=17, Avg=113.38, 50=50, "), "{line}");
    assert!(line.ends_with("] "), "{line}");
    // Only what is new since the last line, and only successes.
    let line = at(4.0, &operations, true).expect("the last is always due");
    let head = format!("{time} 4 sec: 6000 operations; 1125 current ops/sec; [UPDATE: Count=1477,");
    assert!(line.starts_with(&head), "{line}");
    assert!(!line.contains("READ"), "{line}");
    assert!(Status::new(&self::plan(""), None).is_none());
}

/// The format of YCSB, read as its users do.
#[test]
fn rows_of_raw_tell_each_request() {
    let row =
        |kind, failure, done| RawRow { kind, failure, done, service_ns: 1_999, response_ns: 3_000 };
    let rows = [
        row(OpKind::Read, None, 5_000_000),
        row(OpKind::Update, Some(Failure::Conflict), 6_999_999),
        row(OpKind::ReadModifyWrite, Some(Failure::Conflict), 7_000_000),
    ];
    let text = |properties: &str| raw_rows(&plan(properties), &rows, 1_795_240_000_000_000_000);
    let wanted = "READ,1795240000005,1\nUPDATE-FAILED,1795240000006,1\n\
                  READ-MODIFY-WRITE,1795240000007,1\n";
    assert_eq!(text("measurementtype=raw"), wanted);
    let both = text(
        "measurementtype=hdrhistogram+raw\nmeasurement.interval=both\n\
         latencytrackederrors=CONFLICT",
    );
    assert!(
        both.starts_with("RawREAD,1795240000005,1\nRawIntended-READ,1795240000005,3\n"),
        "{both}"
    );
    assert!(both.contains("RawUPDATE-CONFLICT,"), "{both}");
}

/// Each request is passed to the observer, but none is in the record.
#[test]
fn requests_are_reported_one_by_one_where_they_are_asked_for() {
    #[derive(Default)]
    struct Rows(Vec<RawRow>, u64);
    impl Observer for Rows {
        fn stage_begins(&mut self, _: &str) {}
        fn progress(&mut self, _: &Progress) {}
        fn raw(&mut self, rows: &[RawRow], epoch_ns: u64) {
            self.0.extend_from_slice(rows);
            self.1 = epoch_ns;
        }
        fn keep(&mut self, _: &RunRecord) {}
    }
    let mut plan = record("measurementtype=raw").plan;
    plan.target = TargetPlan::Basic(BasicPlan::default());
    plan.stages.retain(|stage| stage.name != "warm_up");
    let run = |plan: &PlanRecord| {
        let mut rows = Rows::default();
        let record =
            run(&plan.clone().checked_again().expect("a plan"), None, &Arc::default(), &mut rows)
                .expect("it runs");
        (record, rows)
    };
    let (record, Rows(rows, epoch_ns)) = run(&plan);
    for stage in &record.stages {
        for operation in &stage.operations {
            let of_kind = rows.iter().filter(|row| row.kind == operation.kind);
            let (count, sum) = of_kind.fold((0, 0), |(n, sum), row| (n + 1, sum + row.service_ns));
            assert_eq!(count, operation.requests, "{}", operation.kind);
            let mean_us = sum as f64 / count as f64 / 1e3;
            let near = (mean_us - operation.service.mean_us).abs() < 0.1 + mean_us / 100.0;
            assert!(near, "{mean_us} {}", operation.service.mean_us);
        }
    }
    let began = record.began().duration_since(std::time::UNIX_EPOCH).expect("after the epoch");
    let since_ms = |row: &RawRow| u128::from((row.done + epoch_ns) / 1_000_000) - began.as_millis();
    let (first, last) = (since_ms(&rows[0]), since_ms(rows.last().expect("rows")));
    assert!(began.as_millis() > 0 && first <= last, "{began:?}: {first} to {last} ms");
    assert!(last < 60_000, "{first} to {last} ms after the run began");
    plan.ycsb = Some(self::plan(""));
    assert!(run(&plan).1.0.is_empty());
}

/// A log contains what was measured, in microseconds.
#[test]
fn hdr_logs_hold_the_seconds() {
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
    let record = record("hdrhistogram.fileoutput=true\nhdrhistogram.output.path=out/");
    let logs = hdr_logs(&record);
    let names: Vec<_> = logs.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        ["READ", "INSERT", "UPDATE", "UPDATE-FAILED", "DELETE"]
            .map(|name| format!("out/{name}.hdr"))
    );
    let entries = IntervalLogIterator::new(logs[0].1.as_bytes());
    let intervals: Vec<_> = entries
        .filter_map(|entry| match entry.expect("every line can be read") {
            LogEntry::Interval(line) => Some(line.encoded_histogram().to_owned()),
            LogEntry::StartTime(_) | LogEntry::BaseTime(_) => None,
        })
        .collect();
    assert_eq!(intervals.len(), record.stages[0].series.rows.len());
    let first = Histogram::decode(&intervals[0]).expect("a histogram");
    assert_eq!(first.len(), 2250);
    // Three digits are stored.
    assert!(first.max().abs_diff(4124) <= 4, "{}", first.max());
}
