//! Thresholds, metrics and logs of real runs of the program, against the stand-in.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use springload::measure::Histogram;
use springload::record::RunRecord;
use springload::report::read_json;

fn springload(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_springload"));
    command.args(arguments).stdin(Stdio::null());
    command
}

/// Runs a small benchmark that saves its record in `folder`.
fn run(folder: &Path, more: &[&str]) -> Output {
    let fixed = ["run", "--docs", "2k", "--batch", "100", "--ops", "3k", "-c", "4", "--quiet"];
    springload(&fixed).args(more).arg("--output").arg(folder).output().expect("springload starts")
}

/// Checks the exit status. A busy machine may make the run untrustworthy, which does not matter
/// here.
fn ended(output: &Output, status: i32) {
    let found = output.status.code().expect("it ends by itself");
    assert!(found == status || found == 5, "{found}: {}", text(&output.stderr));
}

fn record(folder: &Path) -> RunRecord {
    let text = std::fs::read_to_string(folder.join("run.json")).expect("a record");
    read_json(&text).expect("the record can be read")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_broken_threshold_ends_in_4_and_tells_the_value() {
    let folder = tempfile::tempdir().unwrap();
    let broken = ["--fail-if", "read.max > 1us", "--fail-if", "err > 50%", "--format", "text"];
    let output = run(folder.path(), &broken);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    ended(&output, 4);
    assert!(out.contains("✗ read max ≤ 1 µs: missed, ") && out.contains("✓ errors ≤ 50 %: met, 0"));
    assert!(err.starts_with("--fail-if: ✗ read max ≤ 1 µs: missed, "), "{err}");
    let schema = serde_json::from_str(include_str!("../docs/run.schema.json")).unwrap();
    let stored = std::fs::read_to_string(folder.path().join("run.json")).unwrap();
    jsonschema::validate(&schema, &serde_json::from_str(&stored).unwrap())
        .unwrap_or_else(|error| panic!("{error} at {}", error.instance_path));
    let mut record = record(folder.path());
    let judged = record.thresholds.clone();
    assert_eq!(judged.iter().map(|it| it.broken).collect::<Vec<_>>(), [true, false]);
    record.conclude();
    assert_eq!(record.thresholds, judged, "the record can be judged again");
}

#[test]
fn thresholds_that_are_kept_end_in_0_and_ones_that_cannot_be_judged_in_4() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), &["--fail-if", "throughput < 1", "--fail-if", "err > 50%"]);
    ended(&output, 0);
    let output = run(folder.path(), &["--fail-if", "delete.p99.9 > 1h30"]);
    assert_eq!(output.status.code(), Some(2));
    let output = run(folder.path(), &["--fail-if", "delete.p99.9 > 90m", "--format", "text"]);
    ended(&output, 4);
    assert!(text(&output.stdout).contains("cannot be judged: too few samples"));
}

#[test]
fn mistakes_are_refused_before_anything_is_sent() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, says) in [
        (["--fail-if", "read.p98 > 5ms"], "error: --fail-if: no metric \"p98\"; give one of p50"),
        (["--metrics", "nonsense"], "error: --metrics: cannot listen on \"nonsense\": "),
    ] {
        let output = run(&folder.path().join("run"), &arguments);
        let err = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{err}");
        assert!(err.starts_with(says) && err.lines().count() == 1, "{err}");
        assert!(!folder.path().join("run").exists());
    }
}

#[test]
fn an_interval_log_merges_to_the_totals_of_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), &["--format", "hlog"]);
    ended(&output, 0);
    let mut merged: BTreeMap<String, Histogram> = BTreeMap::new();
    for entry in IntervalLogIterator::new(&output.stdout) {
        if let LogEntry::Interval(line) = entry.expect("every line can be read") {
            let tag = line.tag().expect("a tag").as_str().to_owned();
            let part = Histogram::decode(line.encoded_histogram()).expect("a histogram");
            merged.entry(tag).or_default().merge(&part);
        }
    }
    let record = record(folder.path());
    let mut compared = 0;
    for operation in record.stages.iter().flat_map(|stage| &stage.operations) {
        for (suffix, latency) in [("", &operation.response), (".service", &operation.service)] {
            let tag = format!("{}{suffix}", operation.kind);
            assert_eq!(merged[&tag].encode(), latency.histogram.encode(), "{tag}");
            compared += 1;
        }
    }
    assert_eq!((compared, merged.len()), (10, 10));
}

/// One sample of a Prometheus page: `name{labels} value`.
fn samples(page: &str) -> BTreeMap<String, f64> {
    let mut samples = BTreeMap::new();
    for line in page.lines().filter(|line| !line.starts_with("# ")) {
        let (key, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("no value in {line:?}"));
        let name = key.split('{').next().unwrap();
        assert!(name.starts_with("springload_") && !name.contains(['"', ' ']), "{line}");
        assert!(key == name || key.ends_with("\"}"), "{line}");
        let value = value.parse().unwrap_or_else(|_| panic!("no number in {line:?}"));
        assert!(samples.insert(key.to_owned(), value).is_none(), "twice: {line}");
    }
    samples
}

#[test]
fn a_run_can_be_scraped_while_it_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let load = ["run", "--docs", "100", "--batch", "10", "-c", "4", "-r", "500", "-d", "4s"];
    let mut child = springload(&load)
        .args(["--quiet", "--metrics", "0", "--output"])
        .arg(folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("springload starts");
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    let url = line.trim().strip_prefix("metrics: ").expect("the address").to_owned();
    assert!(url.starts_with("http://127.0.0.1:") && url.ends_with("/metrics"), "{url}");
    let reads = "springload_requests_total{stage=\"crud\",kind=\"read\"}";
    let (mut last, mut grown) = (0.0, 0);
    // 40 checks over 4 s see the count of reads grow more than once.
    for _ in 0..40 {
        std::thread::sleep(Duration::from_millis(100));
        let Ok(mut answer) = ureq::get(&url).call() else { break };
        let kind = answer.headers()["content-type"].to_str().unwrap().to_owned();
        assert_eq!(kind, "text/plain; version=0.0.4; charset=utf-8");
        let samples = samples(&answer.body_mut().read_to_string().unwrap());
        let count = samples.get(reads).copied().unwrap_or(0.0);
        assert!(count >= last, "a counter went back from {last} to {count}");
        grown += u32::from(count > last);
        last = count;
    }
    let status = child.wait().unwrap();
    assert!(grown >= 2, "the count of reads grew {grown} times, to {last}; {status}");
    let record = record(folder.path());
    let crud = record.stages.last().unwrap();
    let reads = crud.operations.iter().find(|o| o.kind.name() == "read").unwrap();
    assert!(last <= reads.requests as f64);
}

#[test]
fn the_page_speaks_openmetrics_when_asked_and_nothing_else_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let load = ["run", "--docs", "100", "--batch", "10", "-c", "4", "-r", "100", "-d", "2s"];
    let mut child = springload(&load)
        .args(["--quiet", "--metrics", "127.0.0.1:0", "--output"])
        .arg(folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("springload starts");
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    let url = line.trim().strip_prefix("metrics: ").expect("the address").to_owned();
    let wanted = "application/openmetrics-text;version=1.0.0,text/plain;q=0.5";
    let mut answer = ureq::get(&url).header("Accept", wanted).call().unwrap();
    assert!(answer.body_mut().read_to_string().unwrap().ends_with("# EOF\n"));
    let status = |url: &str| match ureq::get(url).call() {
        Err(ureq::Error::StatusCode(code)) => code,
        other => panic!("{other:?}"),
    };
    assert_eq!(status(&url.replace("/metrics", "/")), 404);
    assert_eq!(status(&format!("{url}/more")), 404);
    assert!(matches!(ureq::delete(&url).call(), Err(ureq::Error::StatusCode(405))));
    // On a busy machine, the rate may not be sustained.
    let status = child.wait().unwrap();
    assert!(matches!(status.code(), Some(0 | 5)), "{status}");
}

/// `springload report` with these arguments.
fn report(arguments: &[&str]) -> Output {
    springload(&["report"]).args(arguments).output().expect("springload starts")
}

#[test]
fn every_run_leaves_its_page_and_runs_lie_side_by_side() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (one, two, page) = (place("one"), place("two"), place("both.html"));
    ended(&run(Path::new(&one), &[]), 0);
    ended(&run(Path::new(&two), &["--seed", "7"]), 0);
    let left = std::fs::read(folder.path().join("one/report.html")).unwrap();
    assert_eq!(report(&[&one, "--format", "html"]).stdout, left, "the page is made of the record");
    assert!(left.len() <= 2_500_000, "{} bytes", left.len());
    let both = report(&[&one, &two, "--format", "html", "--output", &page]);
    assert_eq!((both.status.code(), both.stdout.len()), (Some(0), 0), "{}", text(&both.stderr));
    let both = std::fs::read_to_string(&page).unwrap();
    assert!(both.contains("--seed 7") && both.contains("\"B served\""));
    let refused = report(&[&one, &two, "--format", "csv"]);
    let err = text(&refused.stderr);
    let says = "error: --format csv shows one run; name one RUN, or give one of html, svg, png\n";
    assert_eq!((refused.status.code(), &err[..]), (Some(2), says));
}

#[test]
fn charts_are_drawn_from_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let one = folder.path().join("one").to_str().unwrap().to_owned();
    ended(&run(Path::new(&one), &[]), 0);
    let all = report(&[&one, "--format", "png"]).stdout;
    assert!(all.starts_with(b"\x89PNG\r\n\x1a\n"), "{} bytes", all.len());
    for chart in ["throughput", "latency", "percentiles", "heatmap", "errors"] {
        let svg = text(&report(&[&one, "--format", "svg", "--chart", chart]).stdout);
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{chart}");
    }
    let [xml, pdf] =
        ["a.xml", "a.pdf"].map(|name| folder.path().join(name).to_str().unwrap().to_owned());
    assert_eq!(report(&[&one, "-o", &xml]).status.code(), Some(0));
    let test_cases = std::fs::read_to_string(&xml).unwrap();
    assert!(test_cases.starts_with("<?xml") && test_cases.contains("<testsuite"), "{test_cases}");
    let nowhere = folder.path().join("missing/a.svg").to_str().unwrap().to_owned();
    for (arguments, says) in [
        (vec!["--format", "svg", "--chart", "pie"], "--chart: unknown value \"pie\"; give one of "),
        (vec!["--chart", "errors"], "--chart works with --format svg or png, not with text; "),
        (vec!["-o", &pdf], "--output: no format has the ending .pdf; give --format, or a name "),
        (vec!["--format", "svg", "-o", &nowhere], "--output: cannot write "),
    ] {
        let refused = report(&[&[&one[..]], &arguments[..]].concat());
        let err = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{err}");
        assert!(err.contains(says) && err.lines().count() == 1, "{err}");
    }
}
