//! The same rate in every format and in thresholds: that of the main stage, whatever the fill
//! before it did.

use crate::springload::{Finished, measure, springload};
use serde_json::Value;
use springload::embedded::{Delay, Faults, Options, StandIn, bind};

/// Requests take 5 ms each, including those of a fill with many documents.
fn slow() -> StandIn {
    let delay = Delay::Constant { ns: 5_000_000 };
    let options = Options { faults: Faults { delay, ..Faults::default() }, ..Options::default() };
    StandIn::start(bind("127.0.0.1:0").expect("a free port"), options).expect("it starts")
}

/// 400 documents in a fill, then 100 operations one at a time, with limits on their rate.
fn run(url: &str, more: &[&str]) -> Finished {
    let words = ["run", url, "--docs", "400", "--batch", "100", "-c", "1", "--ops", "100"];
    measure([&words[..], &["--mix", "read=1,update=1"], more].concat())
}

/// The first number after `before`, without thousands separators.
#[track_caller]
fn number_after(text: &str, before: &str) -> f64 {
    let at = text.find(before).unwrap_or_else(|| panic!("no {before:?} in {text}"));
    let rest = text[at + before.len()..].trim_start();
    let end = rest.find(|c: char| !c.is_ascii_digit() && !",.".contains(c)).unwrap_or(rest.len());
    let digits = rest[..end].replace(',', "");
    digits.trim_end_matches('.').parse().unwrap_or_else(|_| panic!("no number: {rest}"))
}

/// The number that ends just before `after`.
#[track_caller]
fn number_before(text: &str, after: &str) -> f64 {
    let at = text.find(after).unwrap_or_else(|| panic!("no {after:?} in {text}"));
    let head = text[..at].trim_end();
    let begin = head
        .rfind(|c: char| !c.is_ascii_digit() && !",.".contains(c))
        .map_or(0, |at| at + head[at..].chars().next().map_or(1, char::len_utf8));
    head[begin..].replace(',', "").parse().unwrap_or_else(|_| panic!("no number: {head}"))
}

fn sum(stage: &Value, key: &str) -> f64 {
    let operations = stage["operations"].as_array().expect("operations");
    operations.iter().map(|it| it[key].as_f64().expect("a number")).sum()
}

#[test]
fn a_fast_fill_makes_no_slow_load_pass() {
    let server = slow();
    // 100 operations of 5 ms each, one at a time: less than 200/s. The fill alone has thousands.
    let limits = ["--fail-if", "throughput < 250", "--fail-if", "bulk_insert.throughput < 250"];
    let run = run(&server.url(), &limits);
    let broken: Vec<_> = run.record["thresholds"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["broken"].clone())
        .collect();
    assert_eq!(broken, [true, false], "{}", run.record["thresholds"]);
    assert!(matches!(run.code, 4 | 5), "{}", run.stderr);
}

#[track_caller]
fn same(found: f64, rate: f64, place: &str) {
    assert!((found - rate).abs() <= 0.51, "{place}: {found} for {rate}");
}

#[test]
fn every_format_has_the_same_rate() {
    let server = slow();
    let limits = ["--fail-if", "throughput < 1M", "--label", "one"];
    let run = run(&server.url(), &limits);
    let stage = run.stage("crud");
    let rate = sum(stage, "throughput_per_s");
    let fill = sum(run.stage("bulk_insert"), "throughput_per_s");
    assert!(rate > 10.0 && rate < 200.0 && fill > 2.0 * rate, "{rate}, {fill}");
    let measured_s = stage["measured_s"].as_f64().expect("a time");
    same(run.record["thresholds"][0]["value"].as_f64().unwrap(), rate, "run.json");
    same(number_after(&run.stdout, "throughput ≥ 1,000,000/s: missed,"), rate, "text, requirement");
    same(number_after(&run.full_report(), " all"), rate, "text, table");
    let page = run.report("html").stdout;
    let tile = &page[page.find("<dt>rate</dt>").expect("a tile")..];
    same(number_after(tile, "<dd class=\"value\">"), rate, "page, tile");
    let row = &page[page.find("<tr class=\"all\">").expect("a row")..];
    same(number_after(row, "<td class=\"\">"), rate, "page, table");
    same(number_after(&run.report("junit").stdout, "message=\"throughput"), rate, "junit");
    let metrics = run.report("openmetrics").stdout;
    let value = metrics.lines().find(|it| it.starts_with("springload_threshold_value"));
    same(number_after(value.expect("a value"), "\"}"), rate, "openmetrics, threshold");
    let ok: f64 = metrics
        .lines()
        .filter(|it| it.starts_with("springload_operations_total{stage=\"crud\""))
        .filter(|it| it.contains("result=\"ok\""))
        .map(|it| number_after(it, "} "))
        .sum();
    same(ok / measured_s, rate, "openmetrics, counters");
    let csv = run.report("csv").stdout;
    let counts = csv.lines().filter(|it| it.starts_with("crud,"));
    let ok: f64 = counts.map(|it| it.split(',').nth(4).unwrap().parse::<f64>().unwrap()).sum();
    same(ok / measured_s, rate, "csv");
    let ycsb = run.report("ycsb").stdout;
    let of_run = &ycsb[ycsb.rfind("[OVERALL], Throughput").expect("a line")..];
    same(number_after(of_run, "(ops/sec),"), rate, "ycsb");
    let folder = run.output();
    let parent = folder.parent().expect("a folder").display().to_string();
    let list = springload(["list", &parent, "--json"]).stdout;
    let list: Value = serde_json::from_str(&list).expect("JSON");
    same(list[0]["ok_per_s"].as_f64().expect("a rate"), rate, "list --json");
    let listed = springload(["list", &parent]).stdout;
    same(number_after(&listed, "throughput"), rate, "list");
    // A comparison with another run of the same plan.
    let other = self::run(&server.url(), &[]);
    let [a, b] = [&run, &other].map(|it| it.output().join("run.json").display().to_string());
    let compared = |format: &str| springload(["compare", &a, &b, "--format", format]).stdout;
    let json: Value = serde_json::from_str(&compared("json")).expect("JSON");
    let figure = &json["comparisons"][0];
    assert_eq!((&figure["kind"], &figure["metric"]), (&"all".into(), &"throughput".into()));
    same(figure["a"].as_f64().expect("a value"), rate, "compare, json");
    let markdown = compared("markdown");
    same(number_after(&markdown, "| **all throughput** |"), rate, "compare, markdown");
    same(number_after(&compared("text"), "\n  all\n    throughput"), rate, "compare, text");
    // The headline of a run that misses no threshold.
    let passed = self::run(&server.url(), &[]);
    let rate = sum(passed.stage("crud"), "throughput_per_s");
    if passed.code == 0 {
        same(number_before(&passed.stdout, "ops/s"), rate, "text, headline");
    }
}

#[test]
fn one_operation_in_a_moment_is_no_rate() {
    let server = StandIn::start(bind("127.0.0.1:0").expect("a port"), Options::default());
    let server = server.expect("it starts");
    let url = server.url();
    let short = ["run", &url, "--docs=20", "-d=1ms", "-r=1", "-c=1", "--mix=read=1"];
    // On a busy machine, none may have begun in that time.
    let begun = |it: &Finished| it.operation("crud", "read") != Value::Null;
    let once = |words: &[&str]| {
        let run = (0..20).map(|_| measure(words.iter().copied())).find(begun);
        run.expect("an operation")
    };
    let run = once(&short);
    let line = run.stdout.lines().next().unwrap_or_default();
    assert!(!line.contains("ops/s"), "{line}");
    assert!(run.stdout.contains(" · too short for a rate · "), "{}", run.stdout);
    assert!(!run.stdout.contains("1,000"), "{}", run.stdout);
    assert!(run.report("html").stdout.contains("<dd class=\"value\">too short</dd>"));
    let judged = once(&[&short[..], &["--fail-if", "throughput > 1"]].concat());
    let problem = judged.record["thresholds"][0]["problem"].as_str().unwrap_or_default();
    assert!(problem.starts_with("too short for a rate: "), "{}", judged.record["thresholds"]);
}

#[test]
fn the_stand_in_says_who_it_is_at_any_address() {
    let server = StandIn::start(bind("127.0.0.1:0").expect("a port"), Options::default());
    let server = server.expect("it starts");
    let run = measure(["run", &server.url(), "--docs", "20", "-c", "4", "--ops", "100"]);
    let info = &run.record["server"];
    assert_eq!((&info["name"], &info["stand_in"]), (&"springload stand-in".into(), &false.into()));
    let warnings = run.record["warnings"].as_array().expect("warnings");
    let own = warnings.iter().find(|it| it["code"] == "stand_in").expect("a warning");
    let words = "the server is springload's own stand-in: these numbers say nothing about CouchDB";
    assert_eq!(own["message"], words);
    assert!(run.stdout.contains("stand-in: these numbers say nothing about CouchDB"));
    let here = measure(["run", "--docs", "20", "-c", "4", "--ops", "100"]);
    let message = here.record["warnings"].as_array().expect("warnings")[0]["message"].clone();
    let all = here.record["warnings"].to_string();
    assert!(all.contains("own stand-in, in this process: "), "{message}");
}
