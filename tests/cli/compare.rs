//! `springload compare`: two sides of saved runs in every format, good and bad.

use crate::springload::{Finished, springload};
use crate::trend::{run, save, times};
use serde_json::{Value, json};
use std::path::Path;

/// Folders `a` and `b` of four runs each, measured alternately, B's this many times as fast.
fn sides(speed: f64) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for nth in 0..8 {
        let second = matches!(nth % 4, 1 | 2);
        let (side, speed) = if second { ("b", speed) } else { ("a", 1.0) };
        save(folder.path(), &format!("{side}/{nth}"), &run(nth, speed));
    }
    folder
}

fn compare(folder: &Path, more: &[&str]) -> Finished {
    let side = |name: &str| folder.join(name).display().to_string();
    let (a, b) = (side("a"), side("b"));
    springload([&["compare", &*a, &*b], more].concat())
}

fn figure<'a>(json: &'a Value, kind: &str, metric: &str) -> &'a Value {
    let all = json["comparisons"].as_array().expect("comparisons");
    let found = all.iter().find(|it| it["kind"] == kind && it["metric"] == metric);
    found.unwrap_or_else(|| panic!("no {kind} {metric} in {json:#}"))
}

#[test]
fn a_slower_side_is_worse_in_every_format_and_the_exit_status() {
    let folder = sides(0.8);
    let text = compare(folder.path(), &[]);
    assert_eq!((text.code, &text.stderr[..]), (7, ""), "{}", text.stdout);
    assert!(text.stdout.contains("B is worse: all throughput −20 %"), "{}", text.stdout);
    assert!(text.stdout.lines().all(|line| line.chars().count() <= 80), "{}", text.stdout);
    let json = compare(folder.path(), &["--format", "json"]);
    let json: Value = serde_json::from_str(&json.stdout).expect("JSON");
    assert_eq!((&json["verdict"], &json["layout"]), (&json!("worse"), &json!("interleaved")));
    let rate = figure(&json, "all", "throughput");
    assert_eq!(rate["verdict"], "worse");
    let [ratio, low, high] = ["ratio", "low", "high"].map(|it| rate[it].as_f64().expect("a ratio"));
    assert!(low < ratio && ratio < high && (ratio - 0.8).abs() < 0.03, "{rate:#}");
    // The times in these records are all those of the same run.
    assert_eq!(figure(&json, "all", "p50")["verdict"], "same");
    let p99 = figure(&json, "all", "p99");
    assert_eq!((&p99["gated"], &p99["ratio"]), (&json!(false), &Value::Null));
    assert_eq!(figure(&json, "read", "err")["points"]["difference"], 0.0);
    let markdown = compare(folder.path(), &["--format", "markdown"]).stdout;
    assert!(markdown.starts_with("### 🔴 B is worse"), "{markdown}");
    assert!(markdown.contains("| **all throughput** |"), "{markdown}");
    let junit = compare(folder.path(), &["--format", "junit"]).stdout;
    assert!(junit.contains("<failure message=\"−20 %"), "{junit}");
    assert!(junit.contains("failures=\"1\""), "{junit}");
    let page = folder.path().join("both.html");
    let made = compare(folder.path(), &["-o", page.to_str().expect("UTF-8")]);
    assert_eq!((made.code, &made.stdout[..]), (7, ""));
    let page = std::fs::read_to_string(page).expect("a page");
    assert!(page.contains("<svg class=\"forest\"") && page.contains("<g class=\"worse\">"));
    assert!(page.contains("\"runs\":[\"A\",\"B\"]"), "a run of each side is drawn");
}

#[test]
fn equal_sides_are_the_same_and_a_faster_one_is_better() {
    let same = compare(sides(1.0).path(), &[]);
    assert_eq!(same.code, 0, "{}", same.stdout);
    assert!(same.stdout.contains("B is the same: nothing differs by more than 3 %"));
    let better = compare(sides(1.3).path(), &[]);
    assert_eq!(better.code, 0);
    assert!(better.stdout.contains("B is better: all throughput +3"), "{}", better.stdout);
    // Worse, but not in the gated figure.
    let gated = compare(sides(0.8).path(), &["--gate", "read.p50"]);
    assert_eq!(gated.code, 0, "{}", gated.stdout);
    let chosen = compare(sides(0.8).path(), &["--metric", "throughput", "--format", "json"]);
    let json: Value = serde_json::from_str(&chosen.stdout).expect("JSON");
    assert_eq!(json["comparisons"].as_array().map(Vec::len), Some(1));
}

/// Operations without a server may take less than the clock can tell.
#[test]
fn a_gated_time_of_0_was_measured_but_has_no_ratio() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for nth in 0..8 {
        let mut record = run(nth, 1.0);
        for stage in record["stages"].as_array_mut().expect("stages") {
            for operation in stage["operations"].as_array_mut().expect("operations") {
                operation["response"] = times(0);
            }
        }
        let side = if nth % 2 == 0 { "a" } else { "b" };
        save(folder.path(), &format!("{side}/{nth}"), &record);
    }
    let gated = compare(folder.path(), &["--gate", "read.p50", "--format", "json"]);
    assert_eq!(gated.code, 0, "{}", gated.stderr);
    let json: Value = serde_json::from_str(&gated.stdout).expect("JSON");
    let p50 = figure(&json, "read", "p50");
    assert_eq!(
        (&p50["verdict"], &p50["problem"]),
        (&json!("cannot_tell"), &json!("it was 0 in a run"))
    );
    let none = compare(folder.path(), &["--gate", "scan.p50"]);
    none.refused(2, &["no run has scan.p50"]);
}

#[test]
fn one_run_each_is_reported_and_decides_nothing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    save(folder.path(), "a", &run(0, 1.0));
    save(folder.path(), "b", &run(1, 0.5));
    let it = compare(folder.path(), &[]);
    assert_eq!(it.code, 0, "{}", it.stdout);
    assert!(it.stdout.contains("note: one run each"), "{}", it.stdout);
    assert!(it.stdout.contains("can't tell"), "{}", it.stdout);
    assert!(!it.stdout.to_lowercase().contains("significant"), "{}", it.stdout);
}

/// Gives each stage intervals of ± 2 % for the throughput, and none for p99.
fn with_estimates(mut record: Value) -> Value {
    for stage in record["stages"].as_array_mut().expect("stages") {
        let elapsed_s = stage["elapsed_s"].as_f64().expect("a time");
        let rate = |operations: &[Value]| -> f64 {
            operations.iter().filter_map(|it| Some(it["ok"].as_f64()? / elapsed_s)).sum()
        };
        let of = |rate: f64| {
            json!({
                "throughput_per_s": { "low": rate * 0.98, "high": rate * 1.02 },
                "p99_us": { "needed_s": 90 },
            })
        };
        let operations = stage["operations"].as_array().expect("operations").clone();
        let kind = |it: &Value| it["kind"].as_str().expect("a kind").to_owned();
        let own = |it: &Value| (kind(it), of(rate(std::slice::from_ref(it))));
        let each: serde_json::Map<String, Value> = operations.iter().map(own).collect();
        stage["estimates"] = json!({
            "over_s": 60, "step_s": 1, "all": of(rate(&operations)), "operations": each,
        });
    }
    record
}

#[test]
fn one_run_each_has_intervals_within_the_runs_that_decide_nothing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    save(folder.path(), "a", &with_estimates(run(0, 1.0)));
    save(folder.path(), "b", &with_estimates(run(1, 0.5)));
    let text = compare(folder.path(), &[]);
    assert_eq!(text.code, 0, "{}", text.stdout);
    assert!(text.stdout.lines().all(|line| line.chars().count() <= 80), "{}", text.stdout);
    for phrase in ["within the runs", "the intervals are within the two runs", "can't tell"] {
        assert!(text.stdout.contains(phrase), "{phrase}: {}", text.stdout);
    }
    assert!(!text.stdout.contains("95 % interval"), "{}", text.stdout);
    let json = compare(folder.path(), &["--format", "json"]);
    let json: Value = serde_json::from_str(&json.stdout).expect("JSON");
    let rate = figure(&json, "read", "throughput");
    let end = |name: &str| rate[name].as_f64().expect("an end");
    let (low, high) = (end("within_low"), end("within_high"));
    assert!(low < end("ratio") && end("ratio") < high, "{rate:#}");
    assert!(high / low < 1.08 && high / low > 1.04, "{rate:#}");
    assert_eq!((&rate["low"], &rate["verdict"]), (&Value::Null, &json!("cannot_tell")));
    let short = figure(&json, "read", "p99");
    assert_eq!(short["within_low"], Value::Null, "too short");
    let markdown = compare(folder.path(), &["--format", "markdown"]).stdout;
    assert!(markdown.contains("| change | within the runs | verdict |"), "{markdown}");
    let page = compare(folder.path(), &["--format", "html"]).stdout;
    assert!(page.contains("<g class=\"open within\"><line"), "it is drawn");
    assert!(page.contains(">within the runs</th>"));
    // With several runs, their variation is known.
    save(folder.path(), "b/2", &with_estimates(run(2, 0.5)));
    let several = compare(folder.path(), &[]);
    assert!(!several.stdout.contains("within the"), "{}", several.stdout);
}

#[test]
fn what_differs_and_what_is_not_to_be_trusted_comes_first() {
    let folder = sides(1.0);
    let mut other = run(9, 1.0);
    other["server"]["version"] = json!("9.9.9\u{1b}[31m");
    save(folder.path(), "b/9", &other);
    let it = compare(folder.path(), &[]);
    assert_eq!((it.code, &it.stderr[..]), (0, ""), "{}", it.stdout);
    assert!(it.stdout.contains("differs: server"), "{}", it.stdout);
    assert!(!it.stdout.contains('\u{1b}'));
    // A run that would not count as a baseline is not compared either, unless it is named.
    let distrusted =
        json!({ "kind": "not_trustworthy", "exit_status": 5, "reason": "client-bound" });
    other["result"] = distrusted.clone();
    save(folder.path(), "b/9", &other);
    let it = compare(folder.path(), &[]);
    assert_eq!(it.code, 0, "{}", it.stdout);
    assert!(it.stderr.contains("b/9/run.json: not trustworthy: client-bound"), "{}", it.stderr);
    assert!(!it.stdout.contains("differs: server"), "{}", it.stdout);
    let [a, b] = ["a", "b/9"].map(|it| folder.path().join(it).display().to_string());
    let file = format!("{b}/run.json");
    let named = springload(["compare", &a, "--", &file]);
    assert_eq!(named.code, 5, "{}", named.stdout);
    assert!(named.stdout.contains("note: the run of B: not trustworthy"), "{}", named.stdout);
    // If none would count, the verdict on them decides.
    for nth in [1, 2, 5, 6] {
        let mut it = run(nth, 1.0);
        it["result"] = distrusted.clone();
        save(folder.path(), &format!("b/{nth}"), &it);
    }
    let it = compare(folder.path(), &[]);
    assert_eq!(it.code, 5, "{}", it.stdout);
    assert!(it.stdout.contains("note: 5 of the 5 runs of B"), "{}", it.stdout);
    let page = compare(folder.path(), &["--format", "html"]).stdout;
    assert!(!page.contains('\u{1b}') && page.contains("5 of the 5 runs of B"));
    let junit = compare(folder.path(), &["--format", "junit"]).stdout;
    assert!(junit.contains("errors=\"1\"") && junit.contains("<error message="), "{junit}");
    for nth in [1, 2, 5, 6] {
        save(folder.path(), &format!("b/{nth}"), &run(nth, 1.0));
    }
    // Wrong data takes precedence over any figure.
    other["result"] = json!({ "kind": "failed", "exit_status": 6, "reason": "data wrong: 7 lost" });
    save(folder.path(), "b/9", &other);
    let it = compare(folder.path(), &[]);
    assert_eq!(it.code, 6, "{}", it.stdout);
    assert!(it.stdout.contains("data was wrong in B; "), "{}", it.stdout);
    let markdown = compare(folder.path(), &["--format", "markdown"]).stdout;
    assert!(markdown.starts_with("### 🔴 data was wrong in B; "), "{markdown}");
    let junit = compare(folder.path(), &["--format", "junit"]).stdout;
    assert!(junit.contains("errors=\"1\""), "{junit}");
    let page = compare(folder.path(), &["--format", "html"]).stdout;
    assert!(page.contains("class=\"headline bad\""));
    // A stopped run is not compared, unless it is named.
    let mut stopped = run(10, 1.0);
    stopped["partial"] = json!(true);
    save(folder.path(), "b/9", &stopped);
    let it = compare(folder.path(), &[]);
    assert_eq!(it.code, 0, "{}", it.stdout);
    assert!(it.stderr.contains("b/9/run.json: stopped: the run was ended early"), "{}", it.stderr);
}

#[test]
fn mistakes_are_named_with_their_cure() {
    let folder = sides(1.0);
    let (a, b) = (folder.path().join("a"), folder.path().join("b"));
    let [a, b] = [&a, &b].map(|it| it.to_str().expect("UTF-8"));
    for (words, message) in [
        (vec![a], "nothing to compare with"),
        (vec![a, a], "is on both sides"),
        (vec![a, b, "--gate", "read.p98"], "--gate"),
        (vec![a, b, "--gate", "scan.p99"], "no run has scan.p99"),
        (vec![a, b, "--delta", "300%"], "is not a share"),
        (vec![a, b, "-o", "it.docx"], "no format has the ending .docx"),
        (vec![a, "--", "no/such/run"], "no/such/run"),
    ] {
        springload([vec!["compare"], words].concat()).refused(2, &[message]);
    }
    // Broken files are left out of a folder, and reported.
    std::fs::create_dir(folder.path().join("b/10")).expect("a folder");
    let hostile = r#"{"schema_version":1,"started_at":"\u001b[31m","partial":"\u001b]0;x"}"#;
    std::fs::write(folder.path().join("b/10/run.json"), hostile).expect("a file");
    std::fs::create_dir(folder.path().join("b/\u{1b}[2J")).expect("a folder");
    std::fs::write(folder.path().join("b/\u{1b}[2J/run.json"), "{").expect("a file");
    let it = compare(folder.path(), &[]);
    assert_eq!(it.code, 0, "{}", it.stdout);
    assert_eq!(it.stderr.matches("left out").count(), 2, "{}", it.stderr);
    assert!(!it.stderr.contains('\u{1b}'), "{:?}", it.stderr);
    let broken = folder.path().join("b/10/run.json");
    let one = springload(["compare", a, "--", broken.to_str().expect("UTF-8")]);
    one.refused(2, &["run.json"]);
}

#[test]
fn a_run_that_is_named_beside_its_folder_counts_once() {
    let folder = sides(1.0);
    let [a, one, b] = ["a", "a/3", "b"].map(|it| folder.path().join(it).display().to_string());
    let compared = springload(["compare", "--format", "json", &a, &one, "--", &b]);
    let json: Value = serde_json::from_str(&compared.stdout).expect("JSON");
    let runs = ["a", "b"].map(|side| json[side].as_array().map(Vec::len));
    assert_eq!(runs, [Some(4), Some(4)], "{}", compared.stderr);
}
