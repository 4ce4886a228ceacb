//! Every format of a fixed record, byte for byte. Independent of how records are made.
//!
//! `run.json` next to this file was saved by a run; what it lacks is added here. After an intended
//! change, review the new snapshots and accept them with `INSTA_UPDATE=always`.

mod assets;
mod fleet;
mod grafana;
mod hostile;
mod junit;
mod numbers;
mod schema;
mod text;

use std::collections::BTreeMap;

use serde_json::{Value, json};
use springload::account::Account;
use springload::engine::Pace;
use springload::measure::{FailedTimes, Histogram, Latency, Spread};
use springload::op::{Failure, OpKind};
use springload::plan::{ErrorLatency, MeasurementPlan, Purpose, StagePlan};
use springload::record::{RunRecord, StageRecord, Verdict};
use springload::report::{FORMATS, format, read_json, siege_log_line, sweep_page};
use springload::sweep::SweepRecord;
use springload::workload::{UrlOrder, UrlsPlan};

const STORED: &str = include_str!("run.json");

/// A closed loop without failures.
fn closed() -> RunRecord {
    read_json(STORED).expect("the stored record can be read")
}

/// The same with failures, missing responses, and an early end.
fn with_failures() -> RunRecord {
    let mut record = closed();
    record.partial = true;
    let crud = record.stages.last_mut().expect("a stage");
    for operation in &mut crud.operations {
        match operation.kind {
            OpKind::Update => {
                operation.failures =
                    BTreeMap::from([(Failure::Conflict, 120), (Failure::Timeout, 3)]);
                operation.ok -= 123;
                (operation.wire.retries, operation.wire.requests) = (37, Some(3_074));
                // Refused at once: the fastest.
                let refused = |times: &Histogram| {
                    let values = times.inner().iter_recorded();
                    let each = values.flat_map(|it| {
                        std::iter::repeat_n(it.value_iterated_to(), it.count_at_value() as usize)
                    });
                    let mut part = Histogram::default();
                    each.take(120).for_each(|ns| part.record(ns));
                    part
                };
                let service = refused(&operation.service.histogram);
                let response = refused(&operation.response.histogram);
                operation.service = Latency::new(operation.service.histogram.without(&service));
                operation.response = Latency::new(operation.response.histogram.without(&response));
                let times = FailedTimes { service, response };
                operation.failed_times = BTreeMap::from([(Failure::Conflict, times)]);
            }
            OpKind::Create => (operation.accepted, operation.wire.resent) = (17, 1),
            OpKind::Read => (operation.ok, operation.unfinished) = (operation.ok - 2, 2),
            _ => {}
        }
    }
    let errors = ErrorLatency::These(vec!["NOT_FOUND".to_owned()]);
    record.plan.ycsb = Some(MeasurementPlan { errors, ..MeasurementPlan::default() });
    record.refresh_warnings();
    record
}

/// The verdict on a stage, as in a record.
fn judged(stage: &StageRecord) -> Verdict {
    let facts = stage.facts();
    Verdict::of(&facts, &Account::of(&facts))
}

/// An open loop whose server did not keep up.
fn not_sustained() -> RunRecord {
    let mut record = closed();
    let crud = record.stages.last_mut().expect("a stage");
    crud.load.open = true;
    crud.load.planned = None;
    (crud.load.offered, crud.load.dropped, crud.load.unsent) = (12_345, 6_000, 345);
    crud.load.offered_per_s = 12_345.0 / crud.elapsed_s;
    crud.client.lag_p99_us = Some(25_430.7);
    crud.verdict = judged(crud);
    assert!(matches!(crud.verdict, Verdict::NotSustained { .. }), "{:?}", crud.verdict);
    record.refresh_warnings();
    record
}

fn render(name: &str, record: &RunRecord) -> String {
    let format = format(name).expect("a format");
    let bytes = format.render(std::slice::from_ref(record), None).expect("of one run");
    String::from_utf8(bytes).expect("text")
}

#[test]
fn csv() {
    insta::assert_snapshot!("csv_closed", render("csv", &closed()));
}

#[test]
fn cushion() {
    insta::assert_snapshot!("cushion_closed", render("cushion", &closed()));
    insta::assert_snapshot!("cushion_with_failures", render("cushion", &with_failures()));
    insta::assert_snapshot!("cushion_not_sustained", render("cushion", &not_sustained()));
}

/// The data for a page's script.
fn page_data(page: &str) -> Value {
    let opening = "<script type=\"application/json\" id=\"data\">";
    let (_, rest) = page.split_once(opening).expect("the data");
    let (json, _) = rest.split_once("</script>").expect("its end");
    serde_json::from_str(json).expect("JSON")
}

#[test]
fn html() {
    let data = page_data(&render("html", &closed()));
    insta::assert_snapshot!("html_data_closed", compact(&data));
    let runs = [closed(), not_sustained()];
    let page = format("html").expect("a format").render(&runs, None).expect("of several runs");
    let data = page_data(std::str::from_utf8(&page).expect("text"));
    assert_eq!(data["runs"], json!(["A", "B"]));
}

/// Two settings, two rounds: one cell lost, one whose server was unreachable, one that failed.
fn sweep() -> SweepRecord {
    let points = |rate: f64| {
        let point = |n: u32| {
            let (at_s, gap) = (f64::from(n) * 1_000.0 / rate, n == 3);
            json!({ "documents": n * 1_000, "at_s": at_s, "per_s": rate, "gap": gap,
                "file_bytes": f64::from(n) * 1e6, "active_bytes": null })
        };
        (1..=5).map(point).collect::<Vec<_>>()
    };
    let settings = |batch: &str, auth: &str| json!([{ "name": "batch", "value": batch }, { "name": "auth", "value": auth }]);
    let cell = |batch: &str, auth: &str, round: u64, rate: f64| {
        json!({ "settings": settings(batch, auth), "round": round, "run": "cells/000/run.json",
            "result": { "stage": "bulk_insert", "per_s": rate, "ok": 5_000, "failed": 0,
                "p50_us": 1_500.0, "p99_us": null, "trustworthy": true, "verdict": "closed",
                "warnings": ["<b>small</b>"], "curve": { "points": points(rate),
                    "gaps": [{ "from_s": 2, "to_s": 5 }] } } })
    };
    let mut cells = Vec::new();
    for (round, batch, auth, rate) in [
        (2, "10", "cookie", 140.0),
        (1, "10", "basic", 100.0),
        (1, "100", "basic", 400.0),
        (2, "100", "basic", 600.0),
        (1, "10", "cookie", 120.0),
        (2, "10", "basic", 110.0),
        (1, "100", "cookie", 900.0),
        (2, "100", "cookie", 500.0),
    ] {
        cells.push(cell(batch, auth, round, rate));
    }
    cells[7]["result"] = Value::Null;
    let doubtful = &mut cells[6]["result"];
    doubtful["trustworthy"] = json!(false);
    doubtful["verdict"] = json!("client_bound");
    doubtful["failed"] = json!(12);
    let definition = json!({ "target": "http://127.0.0.1:5984", "common": ["--docs=5k", "--ops=0"],
        "axes": [{ "name": "batch", "values": ["10", "100"] },
            { "name": "auth", "values": ["basic", "cookie"] }],
        "repeat": 2, "seed": 7, "by_size": true });
    let sweep = json!({ "schema_version": 1, "definition": definition, "cells": cells });
    serde_json::from_value(sweep).expect("a sweep")
}

#[test]
fn the_page_of_a_sweep() {
    let page = sweep_page(&sweep());
    insta::assert_snapshot!("sweep_data", compact(&page_data(&page)));
    let text = page.split("<script type=\"application/json\"").next().expect("text");
    let (_, text) = text.split_once("<body>").expect("a body");
    insta::assert_snapshot!("sweep_words", text.replace("</tr>", "</tr>\n"));
    assert!(!page.contains("<b>small"), "markup of others");
}

/// JSON with each array of numbers on one line, so that a snapshot is readable.
fn compact(value: &Value) -> String {
    let pretty = serde_json::to_string_pretty(value).expect("plain data");
    let mut out = String::new();
    for line in pretty.lines() {
        let content = line.trim_start();
        let plain = content.starts_with(|c: char| c.is_ascii_digit() || "-n]".contains(c));
        if plain && !out.ends_with('}') {
            out.push_str(content);
        } else {
            out.push('\n');
            out.push_str(line);
        }
    }
    out
}

#[test]
fn formats_of_one_run_refuse_two() {
    let runs = [closed(), closed()];
    for format in FORMATS {
        match (format.name, format.render(&runs, None)) {
            ("html" | "svg" | "png", drawn) => assert!(drawn.is_ok(), "{}", format.name),
            (name, refused) => {
                let says = refused.expect_err("of one run").to_string();
                assert!(says.starts_with(&format!("--format {name} shows one run; ")), "{says}");
            }
        }
    }
    let html = format("html").expect("a format");
    let many = html.render(&vec![closed(); 11], None).expect_err("too many").to_string();
    assert_eq!(many, "11 runs are too many to tell apart; give at most 10");
}

/// A run of requests with the figures that a blog published about siege on CouchDB in 2011, with
/// siege's default think time of that time.
fn the_blog() -> RunRecord {
    let mut record = closed();
    let mut stage = record.stages.pop().expect("a stage");
    let mut reads = stage.operations.swap_remove(1);
    assert_eq!(reads.kind, OpKind::Read);
    reads.kind = OpKind::Request;
    (reads.requests, reads.issued, reads.ok) = (76_700, 76_700, 76_700);
    reads.statuses = BTreeMap::from([(201, 76_700)]);
    reads.wire.requests = Some(76_700);
    reads.bytes.received = 76_700 * 95;
    reads.response.samples = 76_700;
    (reads.response.min_us, reads.response.mean_us) = (1_200.0, 14_480.0);
    reads.response.max_us = 200_000.0;
    reads.throughput_per_s = 76_700.0 / 393.84;
    stage.operations = vec![reads];
    (stage.name, stage.elapsed_s) = ("urls".to_owned(), 393.84);
    stage.load.served_per_s = 76_700.0 / 393.84;
    let work = UrlsPlan { operations: None, order: UrlOrder::Sequential, kinds: Vec::new() }.into();
    let pace = Pace::Thinking { most_ns: 1_000_000_000, seed: 1 };
    record.plan.stages = vec![StagePlan {
        name: "urls".to_owned(),
        purpose: Some(Purpose::Main),
        work,
        pace,
        length_ns: None,
    }];
    record.plan.connections = 100;
    record.stages = vec![stage];
    record.refresh_warnings();
    record
}

#[test]
fn siege() {
    insta::assert_snapshot!("siege_blog", render("siege", &the_blog()));
    insta::assert_snapshot!("siege_with_failures", render("siege", &with_failures()));
    insta::assert_snapshot!("siege_json_blog", render("siege-json", &the_blog()));
    insta::assert_snapshot!("siege_log_blog", siege_log_line(&the_blog()));
    insta::assert_snapshot!("text_blog", render("text", &the_blog()));
}

#[test]
fn json_is_the_stored_record_to_the_byte() {
    assert_eq!(render("json", &closed()), STORED);
}

#[test]
fn every_record_survives_storage_in_every_format() {
    for record in [closed(), with_failures(), not_sustained(), the_blog(), fleet::lost()] {
        let read = read_json(&render("json", &record)).expect("what is written can be read");
        assert_eq!(read, record);
        for format in FORMATS {
            let [one, two] =
                [&read, &record].map(|it| format.render(std::slice::from_ref(it), None));
            assert_eq!(one, two, "{}", format.name);
        }
    }
}

#[test]
fn warnings_stand_in_every_report_for_people() {
    let record = with_failures();
    let cushion = render("cushion", &record);
    let text = text::words(&text::verbose(&record));
    assert!(record.warnings.len() >= 4, "{:?}", record.warnings);
    for warning in &record.warnings {
        assert!(text.contains(&warning.message), "{}", warning.message);
        let measured = warning.stage.is_some();
        assert_eq!(cushion.contains(&warning.message), measured, "{}", warning.message);
    }
}

/// Percentiles match the histogram beside them, and histograms the sum of the seconds.
#[test]
fn percentiles_are_those_of_the_merged_seconds() {
    for stage in closed().stages {
        for operation in &stage.operations {
            let mut merged = springload::measure::Histogram::default();
            for row in &stage.series.rows {
                if let Some(part) = row.kinds.get(&operation.kind) {
                    merged.merge(&part.response.get());
                }
            }
            let response = &operation.response;
            assert_eq!(merged.len(), operation.requests);
            assert_eq!(merged, response.histogram, "{}", operation.kind);
            for (percentile, us) in [(50.0, response.p50_us), (99.0, response.p99_us)] {
                let expected = merged.percentile(percentile) as f64 / 1e3;
                let near = us.is_none_or(|us| (us - expected).abs() < 0.01);
                assert!(near, "p{percentile} of {}: {us:?}, {expected}", operation.kind);
                assert_eq!(us.is_some(), merged.earns(percentile));
            }
        }
        let spread = Spread::of(&stage.connections.send_s);
        assert_eq!(stage.connections.spread["send"], spread);
    }
}
