//! `--baseline`: a run compared with earlier ones.

use crate::springload::{BINARY, springload};
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::OnceLock;

/// Small and always the same, at a rate that any machine sustains.
const FLAGS: [&str; 9] = ["run", "basic", "--docs=50", "-n", "300", "-r", "300", "-c", "2"];

/// Runs the usual plan in `folder`, with more flags.
fn run(folder: &Path, more: &[&str]) -> Output {
    let mut command = Command::new(BINARY);
    command.args(FLAGS).args(["--format", "text"]).args(more).current_dir(folder);
    command.env("SPRINGLOAD_STATE", "").output().expect("it runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The record of such a run, made once.
fn record() -> Value {
    static RECORD: OnceLock<Value> = OnceLock::new();
    let made = RECORD.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        run(folder.path(), &["-o", "one"]);
        let mut record = stored(&folder.path().join("one"));
        // Independent of how busy the machine was.
        for stage in record["stages"].as_array_mut().expect("stages") {
            stage["verdict"] = json!({ "kind": "closed" });
        }
        record["warnings"] = json!([]);
        record["result"] = json!({ "kind": "passed", "exit_status": 0 });
        record
    });
    made.clone()
}

fn stored(folder: &Path) -> Value {
    let text = std::fs::read_to_string(folder.join("run.json")).expect("a record");
    serde_json::from_str(&text).expect("JSON")
}

/// Saves such a run, this many times as fast.
fn save(folder: &Path, name: &str, speed: f64) {
    let mut record = record();
    for stage in record["stages"].as_array_mut().expect("stages") {
        for key in ["elapsed_s", "measured_s"] {
            if let Some(seconds) = stage[key].as_f64() {
                stage[key] = json!(seconds / speed);
            }
        }
    }
    let folder = folder.join(name);
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("run.json"), record.to_string()).expect("a record");
}

#[test]
fn a_run_that_is_much_slower_than_its_baseline_ends_in_7() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for nth in 0..5 {
        save(folder.path(), &format!("fast/{nth}"), 100.0 + f64::from(nth));
    }
    let gate = ["--baseline", "fast", "--max-regression", "20%", "-o", "new"];
    let output = run(folder.path(), &gate);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(7), "{out}{err}");
    assert!(err.contains("baseline: 5 runs of fast, "), "{err}");
    assert!(out.starts_with("✗ FAILED  throughput "), "{out}");
    assert!(out.contains("✗ throughput ≥ baseline "), "{out}");
    assert!(err.contains("--max-regression: ✗ throughput ≥ baseline "), "{err}");
    assert!(err.contains("error: failed: all.throughput is 99.0 % worse"), "{err}");
    let record = stored(&folder.path().join("new"));
    let figure = &record["regressions"][0];
    assert_eq!(figure["metric"], "all.throughput");
    assert_eq!((&figure["verdict"], &figure["broken"]), (&json!("worse"), &json!(true)));
    assert!(figure["low"].as_f64() < figure["change"].as_f64(), "{figure}");
    assert_eq!(record["result"]["exit_status"], 7);
    // The record contains all that its verdict needs.
    std::fs::remove_dir_all(folder.path().join("fast")).expect("they are there");
    let ask = |format: &str| {
        let new = folder.path().join("new").display().to_string();
        springload(["report", &new, "--format", format]).stdout
    };
    assert!(ask("text").contains("✗ throughput ≥ baseline "));
    let junit = ask("junit");
    assert!(junit.contains("<failure message=\"throughput "), "{junit}");
    assert!(
        junit.contains("<testcase classname=\"springload\" name=\"the run passed\" time=\"0\"/>")
    );
    assert!(ask("html").contains("throughput ≥ baseline "));
}

#[test]
fn a_run_as_good_as_its_baseline_passes() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    save(folder.path(), "slow", 0.01);
    let gate = ["--baseline", "slow", "--fail-if", "throughput < 0.9 * baseline", "-o", "new"];
    let output = run(folder.path(), &gate);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    let code = output.status.code();
    assert!(matches!(code, Some(0 | 5)), "{out}{err}");
    assert!(out.contains("✓ throughput ≥ 0.9 × baseline ("), "{out}");
    assert!(out.contains("one run each, run-to-run variation is unknown"), "{out}");
    let record = stored(&folder.path().join("new"));
    let judged = &record["thresholds"][0];
    assert_eq!(judged["expression"], "all.throughput < 0.9 * baseline");
    assert!(judged["limit"].as_f64() < judged["value"].as_f64(), "{judged}");
    // The plan contains the baseline's value: it can be run again without the baseline.
    std::fs::remove_dir_all(folder.path().join("slow")).expect("it is there");
    let again = Command::new(BINARY)
        .args(["run", "new/run.json", "-q"])
        .current_dir(folder.path())
        .env("SPRINGLOAD_STATE", "")
        .output()
        .expect("it runs");
    assert!(matches!(again.status.code(), Some(0 | 5)), "{}", text(&again.stderr));
}

/// Asserts that the run is refused before anything is sent.
fn refused(folder: &Path, more: &[&str], words: &[&str]) {
    let output = run(folder, &[more, &["-o", "new"]].concat());
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!((output.status.code(), &out[..]), (Some(2), ""), "{err}");
    assert!(err.starts_with("error: ") && err.lines().count() == 1, "{err}");
    for word in words {
        assert!(err.contains(word), "no {word:?} in {err}");
    }
    assert!(!folder.join("new").exists(), "nothing was begun");
}

#[test]
fn a_baseline_that_is_none_is_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path();
    let max = ["--max-regression", "5%"];
    let gate = |name: &'static str| [["--baseline", name], max].concat();
    refused(folder, &gate("gone"), &["--baseline: ", "gone", "no run is called"]);
    std::fs::create_dir(folder.join("empty")).expect("a folder");
    refused(folder, &gate("empty"), &["no run in empty can be a baseline; name a run"]);
    std::fs::create_dir(folder.join("broken")).expect("a folder");
    std::fs::write(folder.join("broken/run.json"), "{\"schema_version\": 2,").expect("a file");
    refused(folder, &gate("broken"), &["--baseline: broken cannot be a baseline: broken at byte"]);
    let mut other = record();
    other["plan"]["connections"] = json!(77);
    std::fs::create_dir_all(folder.join("others/one")).expect("a folder");
    std::fs::write(folder.join("others/one/run.json"), other.to_string()).expect("a record");
    let differs = "the last, one, differs: connections 77 → 2";
    refused(folder, &gate("others"), &["no run in others has this plan; ", differs]);
    let mut stopped = record();
    stopped["partial"] = json!(true);
    std::fs::create_dir(folder.join("stopped")).expect("a folder");
    std::fs::write(folder.join("stopped/run.json"), stopped.to_string()).expect("a record");
    refused(folder, &gate("stopped"), &["stopped cannot be a baseline: stopped"]);
    refused(folder, &["--fail-if", "p99 > 1.1 * baseline"], &["needs a baseline; give --baseline"]);
    save(folder, "good", 1.0);
    let missing = ["--baseline", "good", "--fail-if", "delete.p99.9 > 2 * baseline"];
    refused(folder, &missing, &["--baseline: the baseline has no delete.p99.9: too little"]);
}

#[test]
fn another_plan_and_machine_are_reported_first() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut other = record();
    other["plan"]["connections"] = json!(77);
    other["environment"]["processor"] = json!("an abacus");
    std::fs::create_dir(folder.path().join("other")).expect("a folder");
    std::fs::write(folder.path().join("other/run.json"), other.to_string()).expect("a record");
    let output = run(folder.path(), &["--baseline", "other", "--max-regression", "1000%"]);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    for line in [
        "warning: the baseline's plan differs: connections 77 → 2",
        "warning: the baseline was measured on another machine: an abacus ",
    ] {
        assert!(err.contains(line), "{err}");
    }
    assert!(out.contains("the baseline is of another kind: machine an abacus"), "{out}");
    let quiet = run(folder.path(), &["--baseline", "other", "-q"]);
    assert!(!text(&quiet.stderr).contains("warning: the baseline"), "{}", text(&quiet.stderr));
}

#[test]
fn a_server_on_another_port_has_the_same_baseline_unless_told_otherwise() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let work = ["--docs=50", "-n", "300", "-r", "300", "-c", "2", "--noise", "warn"];
    let measured = |gate: &[&str]| {
        // The port is new each time.
        let server = crate::servers::Server::stand_in(springload::embedded::Options::default());
        let mut command = Command::new(BINARY);
        command.args(["run", &server.url]).args(work).args(gate).current_dir(folder.path());
        let output = command.env("SPRINGLOAD_STATE", "").output().expect("it runs");
        (output.status.code(), text(&output.stderr))
    };
    let (code, stderr) = measured(&["-o", "runs/one"]);
    assert!(matches!(code, Some(0 | 5)), "{stderr}");
    let file = folder.path().join("runs/one/run.json");
    let mut record = stored(&folder.path().join("runs/one"));
    for stage in record["stages"].as_array_mut().expect("stages") {
        stage["verdict"] = json!({ "kind": "closed" });
    }
    record["warnings"] = json!([]);
    record["result"] = json!({ "kind": "passed", "exit_status": 0 });
    std::fs::write(file, record.to_string()).expect("a record");
    // A run that does not count is listed with the reason.
    let other = folder.path().join("runs/other");
    std::fs::create_dir(&other).expect("a folder");
    record["plan"]["connections"] = json!(77);
    std::fs::write(other.join("run.json"), record.to_string()).expect("a record");
    let broken = folder.path().join("runs/broken");
    std::fs::create_dir(&broken).expect("a folder");
    std::fs::write(broken.join("run.json"), "{").expect("a file");

    let gate = ["--baseline", "runs", "--fail-if", "throughput < 0.01 * baseline"];
    let (code, stderr) = measured(&[&gate[..], &["-o", "new"]].concat());
    assert!(matches!(code, Some(0 | 5)), "{stderr}");
    assert!(
        stderr.contains("baseline: 1 run of runs, ") && stderr.contains(", 2 left out:"),
        "{stderr}"
    );
    assert!(stderr.contains("\n  other: another plan: connections 77 → 2\n"), "{stderr}");
    assert!(stderr.contains("\n  broken: "), "{stderr}");
    assert!(!stderr.contains("plan differs"), "{stderr}");
    let (code, stderr) =
        measured(&[&gate[..], &["--baseline-by", "plan", "-o", "by-plan"]].concat());
    assert_eq!(code, Some(2), "{stderr}");
    assert!(
        stderr.contains("no run in runs has this plan") && stderr.contains("127.0.0.1"),
        "{stderr}"
    );
}
