//! One number, one value: every format of a record with failures is read back, and each of its
//! times equals that of the sorted requests.

use std::collections::BTreeMap;

use super::text::verbose;
use super::{closed, page_data, render};
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use springload::measure::{FailedTimes, Histogram, Interval, SeriesLog, Totals};
use springload::op::{Failure, OpKind};
use springload::record::RunRecord;
use springload::report::read_json;
use springload::sweep::CellResult;

/// Times of one kind of operation in nanoseconds, in the order in which they ended.
#[derive(Default)]
struct Truth {
    succeeded: Vec<u64>,
    failed: Vec<(Failure, u64)>,
}

/// The times of each second. A service time is nine tenths of a response time.
type Seconds = [Truth; 2];

const fn service(response_ns: u64) -> u64 {
    response_ns / 10 * 9
}

/// An operation that a plan defines.
fn by_city() -> OpKind {
    OpKind::of_name("by_city").expect("a name")
}

/// Reads that took 0.1 to 12 ms, 10,000 in total, some of which timed out; and custom operations of
/// the plan that were refused at once.
fn truth() -> BTreeMap<OpKind, Seconds> {
    let succeeded = |second: u64, count: u64| {
        (0..count).map(|i| 100_000 + (i * 7_919 % count) * 1_187 + second * 130).collect()
    };
    let failed = |class, count: u64, from_ns: u64| -> Vec<(Failure, u64)> {
        (0..count).map(|i| (class, from_ns + i * 997)).collect()
    };
    let mut slow = failed(Failure::Timeout, 60, 1_000_000_000);
    slow.extend(failed(Failure::NotFound, 40, 20_000));
    let reads = [
        Truth { succeeded: succeeded(0, 4_000), failed: slow },
        Truth {
            succeeded: succeeded(1, 6_000),
            failed: failed(Failure::Timeout, 30, 1_500_000_000),
        },
    ];
    let updates = [
        Truth { succeeded: succeeded(0, 5_001), failed: failed(Failure::Conflict, 1_200, 30_000) },
        Truth { succeeded: succeeded(1, 5_001), failed: Vec::new() },
    ];
    BTreeMap::from([(OpKind::Read, reads), (by_city(), updates)])
}

/// A record of these requests.
fn record(truth: &BTreeMap<OpKind, Seconds>) -> RunRecord {
    let (mut totals, mut series) = (Totals::default(), SeriesLog::default());
    for second in 0..2 {
        let mut interval = Interval::new(second);
        for (&kind, seconds) in truth {
            let Truth { succeeded, failed } = &seconds[second as usize];
            let part = interval.kind_mut(kind);
            part.requests = (succeeded.len() + failed.len()) as u64;
            part.ok = succeeded.len() as u64;
            for &ns in succeeded {
                part.response.record(ns);
                part.service.record(service(ns));
                part.lag.record(0);
            }
            for &(class, ns) in failed {
                let times = part.failed_times.entry(class).or_default();
                times.response.record(ns);
                times.service.record(service(ns));
                part.lag.record(0);
                part.failures[class.index()] += 1;
            }
        }
        totals.add(&interval);
        series.add(&interval);
    }
    for (kind, part) in totals.sum().clone().iter() {
        *totals.issued.of(kind) = part.requests;
    }
    let mut record = closed();
    record.stages.drain(..2);
    let crud = &mut record.stages[0];
    crud.elapsed_s = 2.0;
    (crud.operations, crud.series) = (totals.summarize(2.0), series.finish().0);
    let thresholds = ["read.p95 > 90m", "by_city.p99.9 > 90m", "by_city.service.max > 90m"];
    record.plan.thresholds = thresholds.map(|text| text.parse().expect("a threshold")).to_vec();
    record.refresh_warnings();
    record.conclude();
    record
}

/// The response times of a kind, sorted, for one second or all.
fn sorted(seconds: &Seconds, of: Option<usize>, failed: bool) -> Vec<u64> {
    let wanted = seconds.iter().enumerate().filter(|(at, _)| of.is_none_or(|of| of == *at));
    let mut times: Vec<u64> = wanted
        .flat_map(|(_, it)| {
            if failed { it.failed.iter().map(|it| it.1).collect() } else { it.succeeded.clone() }
        })
        .collect();
    times.sort_unstable();
    times
}

/// The value at `tenths` of a percent, by rank; 1000 is the maximum.
fn at(sorted: &[u64], tenths: usize) -> u64 {
    sorted[(sorted.len() * tenths).div_ceil(1_000).max(1) - 1]
}

/// Checks that a reported value is the true one, within its digits.
#[track_caller]
fn is(what: &str, reported_ns: f64, true_ns: u64, digits: f64) {
    let off = (reported_ns - true_ns as f64).abs() / true_ns as f64;
    assert!(off <= digits, "{what}: {reported_ns} ns is reported, {true_ns} ns is true");
}

/// The relative error of a histogram.
const KEPT: f64 = 1.1e-3;
/// The relative error of three digits printed from it.
const PRINTED: f64 = 6.5e-3;

const TENTHS: [usize; 6] = [500, 900, 950, 990, 999, 1_000];

/// Each kind, whether the times are of failures, and whether they are service times.
fn rows() -> impl Iterator<Item = (OpKind, bool, bool)> {
    [OpKind::Read, by_city()].into_iter().flat_map(|kind| {
        [(kind, false, false), (kind, false, true), (kind, true, false), (kind, true, true)]
    })
}

/// The true value of a row of a report.
fn value(truth: &BTreeMap<OpKind, Seconds>, row: (OpKind, bool, bool), tenths: usize) -> u64 {
    let (kind, failed, of_service) = row;
    let response = at(&sorted(&truth[&kind], None, failed), tenths);
    if of_service { service(response) } else { response }
}

#[test]
fn text_and_siege_tell_the_record() {
    let truth = truth();
    for format in ["text", "siege"] {
        let record = record(&truth);
        let text = if format == "text" { verbose(&record) } else { render(format, &record) };
        for row @ (kind, failed, of_service) in rows() {
            let failed = if failed { "failed, " } else { "" };
            let name =
                format!("{kind} {failed}{}", if of_service { "service" } else { "response" });
            let line = text.lines().find_map(|line| line.trim().strip_prefix(&name));
            let line = line.unwrap_or_else(|| panic!("no {name} in {text}"));
            let cells: Vec<&str> =
                line.split("  ").map(str::trim).filter(|it| !it.is_empty()).collect();
            for (cell, tenths) in cells.iter().zip(TENTHS) {
                if let Ok(ms) = cell.replace(',', "").parse::<f64>() {
                    let wanted = value(&truth, row, tenths);
                    is(&format!("{format}, {name}, {tenths}"), ms * 1e6, wanted, PRINTED);
                }
            }
            assert_eq!(cells.len(), TENTHS.len(), "{line}");
        }
    }
}

#[test]
fn the_page_and_its_data_tell_the_record() {
    let truth = truth();
    let page = render("html", &record(&truth));
    for (name, kind, failed) in [
        ("read", OpKind::Read, false),
        ("read, failed", OpKind::Read, true),
        ("by_city", by_city(), false),
        ("by_city, failed", by_city(), true),
    ] {
        let (_, rest) = page.split_once(&format!("<th scope=\"row\">{name}</th>")).expect(name);
        let (row, _) = rest.split_once("</tr>").expect("its end");
        let cells: Vec<f64> = row
            .split("</td>")
            .filter_map(|cell| cell.rsplit('>').next())
            .map(|text| text.replace(',', "").parse().unwrap_or(f64::NAN))
            .collect();
        // Rate, times, counts except those that are 0 everywhere, service times.
        let cells = [&cells[1..5], &cells[cells.len() - 3..]].concat();
        let columns = [(500, false), (990, false), (999, false), (1_000, false)];
        let columns = columns.into_iter().chain([(500, true), (990, true)]);
        for ((tenths, of_service), ms) in columns.zip(&cells).filter(|(_, ms)| !ms.is_nan()) {
            let wanted = value(&truth, (kind, failed, of_service), tenths);
            is(&format!("page, {name}, {tenths}"), ms * 1e6, wanted, PRINTED);
        }
        assert!(!cells[0].is_nan() && !cells[3].is_nan(), "{row}");
    }
    let data = page_data(&page);
    let views = data["stages"][0]["views"].as_array().expect("views");
    for kind in [OpKind::Read, by_city()] {
        let view = views.iter().find(|it| it["name"] == kind.name()).expect("a view");
        let charts = view["charts"].as_array().expect("charts");
        let chart = charts.iter().find(|it| it["kind"] == "percentiles").expect("percentiles");
        for (line, of_service) in [(0, false), (1, true)] {
            let numbers = |axis: &str| -> Vec<f64> {
                let numbers = chart["lines"][line][axis].as_array().expect("numbers").iter();
                numbers.map(|it| it.as_f64().expect("a number")).collect()
            };
            let (x, y) = (numbers("x"), numbers("y"));
            for (nines, tenths) in [(10.0, 900), (100.0, 990), (1_000.0, 999)] {
                let place = x.iter().position(|it| (it - nines).abs() < 1e-6).expect("a point");
                let wanted = value(&truth, (kind, false, of_service), tenths);
                is(&format!("chart, {kind}, {tenths}"), y[place] * 1e6, wanted, KEPT);
            }
        }
        let chart = charts.iter().find(|it| it["kind"] == "latency").expect("over time");
        let line = chart["lines"].as_array().expect("lines").iter();
        let line = line.into_iter().find(|it| it["name"] == "p50 response").expect("p50");
        for second in 0..2 {
            let wanted = at(&sorted(&truth[&kind], Some(second), false), 500);
            let ms = line["y"][second].as_f64().expect("a number");
            is(&format!("chart over time, {kind}, {second}"), ms * 1e6, wanted, KEPT);
        }
    }
}

#[test]
fn tables_and_logs_tell_the_record() {
    let truth = truth();
    let record = record(&truth);
    let csv = render("csv", &record);
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let head = lines.next().expect("a head");
    let mut read = 0;
    for row in lines {
        let cell = |name: &str| row[head.iter().position(|it| *it == name).expect(name)];
        let kind = OpKind::named(cell("kind")).expect("a kind");
        let second = cell("second").parse().expect("a second");
        for (prefix, failed) in [("", false), ("failed_", true)] {
            let sorted = sorted(&truth[&kind], Some(second), failed);
            for (suffix, tenths) in [("p50", 500), ("p99", 990), ("p99_9", 999), ("max", 1_000)] {
                for (time, of_service) in [("response", false), ("service", true)] {
                    let name = format!("{prefix}{time}_{suffix}_us");
                    let Ok(us) = cell(&name).parse::<f64>() else { continue };
                    let wanted = at(&sorted, tenths);
                    let wanted = if of_service { service(wanted) } else { wanted };
                    is(&format!("csv, {kind}, {second}, {name}"), us * 1e3, wanted, KEPT);
                    read += 1;
                }
            }
        }
    }
    // p99.9 of no second, p50 and max of three seconds with failures, p99 of one.
    assert_eq!(read, 4 * 3 * 2 + 3 * 2 * 2 + 2, "{csv}");

    let log = render("hlog", &record);
    let mut merged: BTreeMap<String, Histogram> = BTreeMap::new();
    for entry in IntervalLogIterator::new(log.as_bytes()) {
        if let LogEntry::Interval(line) = entry.expect("a line") {
            let tag = line.tag().expect("a tag").as_str().to_owned();
            let part = Histogram::decode(line.encoded_histogram()).expect("a histogram");
            merged.entry(tag).or_default().merge(&part);
        }
    }
    for row @ (kind, failed, of_service) in rows() {
        let (failed, time) =
            (if failed { ".failed" } else { "" }, if of_service { ".service" } else { "" });
        let tag = format!("{kind}{failed}{time}");
        for tenths in TENTHS {
            let reported = merged[&tag].percentile(tenths as f64 / 10.0);
            is(
                &format!("hlog, {tag}, {tenths}"),
                reported as f64,
                value(&truth, row, tenths),
                KEPT,
            );
        }
    }
}

#[test]
fn metrics_tell_the_record() {
    let truth = truth();
    let text = render("openmetrics", &record(&truth));
    let sample = |key: &str| -> Option<f64> {
        text.lines().find_map(|line| line.strip_prefix(key)?.trim().parse().ok())
    };
    for row @ (kind, failed, of_service) in rows() {
        let failed_name = if failed { "failed_" } else { "" };
        let time = if of_service { "service" } else { "response" };
        let family = format!("springload_{failed_name}{time}");
        let labels = format!("stage=\"crud\",kind=\"{kind}\"");
        let quantiles = [("0.5", 500), ("0.9", 900), ("0.95", 950), ("0.99", 990), ("0.999", 999)];
        for (quantile, tenths) in quantiles {
            let key = format!("{family}_seconds{{{labels},quantile=\"{quantile}\"}}");
            let exposed = sample(&key);
            assert!(failed || exposed.is_some(), "no {key}");
            if let Some(seconds) = exposed {
                is(&key, seconds * 1e9, value(&truth, row, tenths), KEPT);
            }
        }
        let key = format!("{family}_max_seconds{{{labels}}}");
        is(&key, sample(&key).expect("a maximum") * 1e9, value(&truth, row, 1_000), KEPT);
        let count = sample(&format!("{family}_seconds_count{{{labels}}}"));
        let all = sorted(&truth[&kind], None, failed).len();
        assert_eq!(count, Some(all as f64), "{family} of {kind}");
    }
}

#[test]
fn the_stored_record_and_what_is_judged_by_it_tell_the_same() {
    let truth = truth();
    let record = record(&truth);
    let read = read_json(&render("json", &record)).expect("a record");
    for operation in &read.stages[0].operations {
        let kind = operation.kind;
        let failed = operation.failed_latency().expect("some failed");
        for (times, row) in [
            (&operation.response, (kind, false, false)),
            (&operation.service, (kind, false, true)),
            (&failed.response, (kind, true, false)),
            (&failed.service, (kind, true, true)),
        ] {
            let percentiles =
                [times.p50_us, times.p90_us, times.p95_us, times.p99_us, times.p99_9_us];
            for (us, tenths) in percentiles.into_iter().chain([Some(times.max_us)]).zip(TENTHS) {
                let Some(us) = us else { continue };
                is(&format!("json, {row:?}, {tenths}"), us * 1e3, value(&truth, row, tenths), KEPT);
            }
        }
    }
    let judged: Vec<f64> = record.thresholds.iter().map(|it| it.value.expect("reported")).collect();
    is("read.p95", judged[0] * 1e3, value(&truth, (OpKind::Read, false, false), 950), KEPT);
    is("by_city.p99.9", judged[1] * 1e3, value(&truth, (by_city(), false, false), 999), KEPT);
    is("by_city max", judged[2] * 1e3, value(&truth, (by_city(), false, true), 1_000), KEPT);
    let mut all: Vec<u64> = truth.values().flat_map(|it| sorted(it, None, false)).collect();
    all.sort_unstable();
    let headline = CellResult::of(&record, false).expect("it was measured");
    is("sweep, p50", headline.p50_us.expect("reported") * 1e3, at(&all, 500), KEPT);
    is("sweep, p99", headline.p99_us.expect("reported") * 1e3, at(&all, 990), KEPT);
}

/// Where the original tools define a figure differently, formats for their readers follow them.
#[test]
fn the_originals_formats_tell_what_the_originals_do() {
    let truth = truth();
    let record = record(&truth);
    let figures: serde_json::Value =
        serde_json::from_str(&render("siege-json", &record)).expect("JSON");
    let mut all: Vec<u64> = truth.values().flat_map(|it| sorted(it, None, false)).collect();
    all.extend(truth.values().flat_map(|it| sorted(it, None, true)));
    let mean = all.iter().sum::<u64>() / all.len() as u64;
    let seconds = |name: &str| figures[name].as_f64().expect("a number") * 1e9;
    is("siege mean", seconds("response_time"), mean, KEPT);
    is("siege longest", seconds("longest_transaction"), *all.iter().max().expect("some"), KEPT);
    is("siege shortest", seconds("shortest_transaction"), *all.iter().min().expect("some"), 0.05);

    let text = render("ycsb", &record);
    for (section, row) in [
        ("[READ]", (OpKind::Read, false, true)),
        ("[READ-FAILED]", (OpKind::Read, true, true)),
        ("[BY-CITY]", (by_city(), false, true)),
        ("[BY-CITY-FAILED]", (by_city(), true, true)),
    ] {
        for (name, tenths) in [
            ("50thPercentile", 500),
            ("95thPercentile", 950),
            ("99thPercentile", 990),
            ("Max", 1_000),
        ] {
            let name = format!("{section}, {name}Latency(us), ");
            let us = text.lines().find_map(|line| line.strip_prefix(&name)?.parse::<f64>().ok());
            let us = us.unwrap_or_else(|| panic!("no {name} in {text}"));
            // YCSB truncates microseconds.
            let wanted = value(&truth, row, tenths) / 1_000;
            is(&name, us, wanted, KEPT + 1.0 / wanted as f64);
        }
    }
}

/// Up to layout 1, service and response times included failed requests.
#[test]
fn a_record_of_the_first_layout_reads_as_one_of_today() {
    let record = record(&truth());
    let mut old = record.clone();
    old.schema_version = 1;
    let with = |all: &Histogram, part: &Histogram| {
        let mut sum = all.clone();
        sum.merge(part);
        sum
    };
    let crud = &mut old.stages[0];
    for operation in &mut crud.operations {
        let failed = operation.failed_latency().expect("some failed");
        let FailedTimes { service, response } = failed;
        operation.service.histogram = with(&operation.service.histogram, &service.histogram);
        operation.response.histogram = with(&operation.response.histogram, &response.histogram);
    }
    for part in crud.series.rows.iter_mut().flat_map(|row| row.kinds.values_mut()) {
        let failed = part.failed_latency();
        part.service.merge(&failed.service);
        part.response.merge(&failed.response);
    }
    let read = read_json(&serde_json::to_string(&old).expect("plain data")).expect("a record");
    for format in ["text", "csv", "openmetrics", "ycsb", "siege"] {
        assert_eq!(render(format, &read), render(format, &record), "{format}");
    }
}
