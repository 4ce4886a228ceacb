//! `springload trend`: runs of the same plan over time, and where they changed.

use crate::springload::{BINARY, Finished, Run, springload};
use serde_json::{Value, json};
use springload::{Histogram, Latency};
use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// The record of a run that is made once.
fn record() -> Value {
    static RECORD: OnceLock<Value> = OnceLock::new();
    let made = RECORD.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let output = folder.path().display().to_string();
        let few = ["run", "basic", "--docs", "200", "--ops", "400", "-c", "2", "-q", "-o", &output];
        Run::bare(&few).finish();
        let text = std::fs::read_to_string(folder.path().join("run.json")).expect("a record");
        let mut record: Value = serde_json::from_str(&text).expect("JSON");
        // Independent of how busy the machine was.
        for stage in record["stages"].as_array_mut().expect("stages") {
            stage["verdict"] = json!({ "kind": "closed" });
            for key in ["elapsed_s", "measured_s"] {
                stage[key] = json!(1.0);
            }
            for operation in stage["operations"].as_array_mut().expect("operations") {
                operation["response"] = times(1_000_000);
            }
        }
        record["warnings"] = json!([]);
        record["result"] = json!({ "kind": "passed", "exit_status": 0 });
        record
    });
    made.clone()
}

/// A hundred times that are all the same. Without a server, real ones may be 0.
pub(crate) fn times(ns: u64) -> Value {
    let mut times = Histogram::default();
    times.record_many(ns, 100);
    json!(Latency::new(times))
}

/// The `nth` of several runs, this many times as fast, with a little noise.
pub(crate) fn run(nth: usize, speed: f64) -> Value {
    let mut record = record();
    record["started_at"] = json!(format!("2026-03-{:02}T09:15:00Z", nth + 1));
    record["plan"]["seed"] = json!(nth);
    let noise = 1.0 + ((nth * 7 + 3) % 5) as f64 / 200.0;
    for stage in record["stages"].as_array_mut().expect("stages") {
        for key in ["elapsed_s", "measured_s"] {
            stage[key] = json!(noise / speed);
        }
    }
    record
}

pub(crate) fn save(folder: &Path, name: &str, record: &Value) {
    let folder = folder.join(name);
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("run.json"), record.to_string()).expect("a record");
}

/// A folder with twelve runs, the last five of them a fifth slower.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for nth in 0..12 {
        let speed = if nth < 7 { 1.0 } else { 0.8 };
        // Names do not reflect the order in time.
        save(folder.path(), &format!("deep/er/{}", 99 - nth), &run(nth, speed));
    }
    folder
}

fn trend(folder: &Path, arguments: &[&str]) -> Finished {
    let folder = folder.to_str().expect("UTF-8");
    springload([&["trend", folder], arguments].concat())
}

#[test]
fn a_change_is_found_in_every_format() {
    let folder = folder();
    let text = trend(folder.path(), &[]);
    assert_eq!((text.code, &text.stderr[..]), (0, ""), "{}", text.stdout);
    let line = "worse −20.";
    assert!(text.stdout.contains(line), "{}", text.stdout);
    assert!(text.stdout.contains("from 2026-03-08 09:15 on"), "{}", text.stdout);
    assert!(text.stdout.contains("run deep/er/92"), "{}", text.stdout);
    assert!(text.stdout.lines().all(|line| line.chars().count() <= 80), "{}", text.stdout);

    let read = trend(folder.path(), &["--metric", "read.throughput", "--format", "json"]);
    let json: Value = serde_json::from_str(&read.stdout).expect("JSON");
    let series = &json["groups"][0]["series"];
    assert_eq!(series.as_array().map(Vec::len), Some(1));
    assert_eq!(series[0]["metric"], "read.throughput");
    assert_eq!(series[0]["values"].as_array().map(Vec::len), Some(12));
    let change = &series[0]["changes"][0];
    assert_eq!((&change["at"], &change["verdict"]), (&json!(7), &json!("worse")));
    assert_eq!(change["started_at"], "2026-03-08T09:15:00Z");

    let csv = trend(folder.path(), &["--format", "csv"]).stdout;
    let mut lines = csv.lines();
    let head: Vec<&str> = lines.next().expect("a head").split(',').collect();
    assert_eq!(head[..2], ["time", "run"]);
    assert!(head.contains(&"read.throughput_per_s"), "{head:?}");
    let times: Vec<&str> = lines.filter_map(|line| line.split(',').next()).collect();
    assert_eq!(times.len(), 12);
    assert!(times.is_sorted(), "in order of time: {times:?}");

    let page = folder.path().join("page.html");
    let made = trend(folder.path(), &["-o", page.to_str().expect("UTF-8")]);
    assert_eq!((made.code, &made.stdout[..]), (0, ""), "{}", made.stderr);
    let page = std::fs::read_to_string(page).expect("a page");
    assert!(page.contains("worse −20.") && page.contains("2026-03-08"));
    let svg = trend(folder.path(), &["--format", "svg"]).stdout;
    assert!(svg.starts_with("<svg") && svg.contains("throughput worse −20."), "{}", &svg[..100]);
}

#[test]
fn broken_and_foreign_files_are_reported_and_left_out() {
    let folder = folder();
    std::fs::create_dir(folder.path().join("broken")).expect("a folder");
    std::fs::write(folder.path().join("broken/run.json"), "{\"schema_version\": 2,").expect("it");
    std::fs::write(folder.path().join("package.json"), "{}").expect("a file");
    let mut stopped = run(20, 1.0);
    stopped["partial"] = json!(true);
    save(folder.path(), "stopped", &stopped);
    let text = trend(folder.path(), &[]);
    assert_eq!(text.code, 0, "{}", text.stderr);
    for line in ["left out: broken: ", "left out: package.json: ", "left out: stopped: stopped"] {
        assert!(text.stdout.contains(line), "{line}: {}", text.stdout);
    }
    assert!(text.stdout.contains("12 runs of one plan"), "{}", text.stdout);
}

#[test]
#[cfg(unix)]
fn a_link_to_a_run_is_no_second_run() {
    let folder = folder();
    std::os::unix::fs::symlink("deep/er/99", folder.path().join("latest")).expect("a link");
    std::os::unix::fs::symlink(".", folder.path().join("loop")).expect("a link");
    let text = trend(folder.path(), &[]);
    assert!(text.stdout.contains("12 runs of one plan"), "{}", text.stdout);
}

#[test]
fn a_run_that_is_named_beside_its_folder_counts_once() {
    let folder = folder();
    // By its path it sorts before the others, and not beside itself.
    let one = folder.path().join("deep/er/95").display().to_string();
    let text = trend(folder.path(), &[&one]);
    assert!(text.stdout.contains("12 runs of one plan"), "{}", text.stdout);
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&one, &link).expect("a link");
    let text = springload(["trend", &one, &link.display().to_string()]);
    assert!(text.stdout.contains("1 run"), "{} {}", text.stdout, text.stderr);
}

#[test]
fn runs_of_arrivals_with_other_seeds_are_of_one_plan() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for seed in ["1", "2"] {
        let output = folder.path().join(seed).display().to_string();
        let words = ["run", "basic", "--docs", "50", "-d", "500ms", "-r", "200", "--seed", seed];
        Run::bare(&[&words[..], &["-q", "-o", &output]].concat()).finish();
    }
    let text = trend(folder.path(), &[]);
    assert!(text.stdout.contains("2 runs of one plan"), "{} {}", text.stdout, text.stderr);
}

#[test]
fn runs_of_several_plans_are_not_mixed() {
    let folder = folder();
    let mut other = run(15, 1.0);
    other["plan"]["connections"] = json!(77);
    save(folder.path(), "other", &other);
    let mut newer = run(16, 0.8);
    newer["server"]["version"] = json!("9.9");
    save(folder.path(), "newer", &newer);
    let text = trend(folder.path(), &[]).stdout;
    assert!(text.contains("14 runs of 2 plans"), "{text}");
    assert!(text.contains("13 runs, 2026-03-01 to 2026-03-17"), "a version is a mark: {text}");
    assert!(text.contains(" 9.9 from 2026-03-17 09:15 on"), "{text}");
    assert!(text.contains("1 run, 2026-03-16"), "{text}");
    let csv = trend(folder.path(), &["--format", "csv"]);
    csv.refused(
        2,
        &["--format csv: a table shows the runs of one plan, but these are of 2", "--group"],
    );
    let one = trend(folder.path(), &["--format", "csv", "--group", "2"]).stdout;
    assert_eq!(one.lines().count(), 2, "{one}");
    trend(folder.path(), &["--group", "3"]).refused(2, &["no group 3; give 1 to 2"]);
}

#[test]
fn nothing_to_draw_is_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    trend(folder.path(), &[]).refused(2, &["DIR: no runs in ", "; springload run -o"]);
    std::fs::write(folder.path().join("a.json"), "{}").expect("a file");
    let none = trend(folder.path(), &[]);
    assert_eq!(none.code, 2);
    assert!(none.stderr.contains("left out: a.json: "), "{}", none.stderr);
    assert!(none.stderr.contains("none of the 1 files in "), "{}", none.stderr);
    let gone = springload(["trend", "no/such/folder"]);
    assert_eq!(gone.code, 2, "{}", gone.stderr);
    let wrong = trend(folder.path(), &["--metric", "read.p98"]);
    wrong.refused(2, &["--metric: no metric \"p98\"; give one of p50"]);
    save(folder.path(), "one", &run(0, 1.0));
    let one = trend(folder.path(), &[]).stdout;
    assert!(one.contains("1 run of one plan"), "{one}");
    assert!(one.contains("finding changes takes 6 runs or more"), "{one}");
}

#[test]
fn labels_name_runs_and_steer_nothing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for nth in 0..3 {
        let mut record = run(nth, 1.0);
        record["plan"]["label"] = json!("nightly");
        record["server"]["name"] = json!("\u{1b}]0;pwned\u{7}");
        save(folder.path(), &format!("springload-runs/\u{1b}[31m{nth}"), &record);
    }
    save(folder.path(), "springload-runs/another", &run(5, 1.0));
    let ask = |arguments: &[&str]| {
        let mut command = Command::new(BINARY);
        command.arg("trend").args(arguments).current_dir(folder.path());
        command.env("SPRINGLOAD_STATE", "").output().expect("it runs")
    };
    for format in ["text", "json", "csv", "svg", "html"] {
        let output = ask(&["nightly", "--format", format]);
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        assert_eq!(output.status.code(), Some(0), "{format}: {text}");
        assert!(!text.contains(['\u{1b}', '\u{7}']), "{format}");
        if format == "json" {
            let json: Value = serde_json::from_str(&text).expect("JSON");
            assert_eq!(json["groups"][0]["runs"].as_array().map(Vec::len), Some(3));
        }
    }
    let all = String::from_utf8(ask(&[]).stdout).expect("UTF-8");
    assert!(all.contains("4 runs of one plan"), "{all}");
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let folder = folder();
    let mut child = Command::new(BINARY)
        .args(["trend", "--format", "html"])
        .arg(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut first = [0; 10];
    child.stdout.take().expect("a pipe").read_exact(&mut first).expect("it writes");
    let output = child.wait_with_output().expect("it ends");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), &stderr[..]), (Some(0), ""));
}
