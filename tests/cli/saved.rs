//! Saved runs: `list`, `show`, and `report` by name.

use crate::springload::{BINARY, Finished, number, springload};
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

/// A verb in `folder`.
fn inside(folder: &Path, arguments: &[&str]) -> std::process::Output {
    let mut command = assert_cmd::Command::new(BINARY);
    command.args(arguments).current_dir(folder).timeout(Duration::from_secs(120));
    command.output().expect("it runs")
}

fn out(folder: &Path, arguments: &[&str]) -> String {
    let output = inside(folder, arguments);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {error}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn runs_are_found_again() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path();
    assert_eq!(out(folder, &["list"]), "", "nothing yet");
    let run = |documents: &str| {
        let arguments =
            ["run", "--docs", documents, "--ops", "40", "-c", "2", "-q", "--format", "text"];
        let output = inside(folder, &arguments);
        assert!(matches!(output.status.code(), Some(0 | 5)), "{output:?}");
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let (first, second) = (run("30"), run("50"));
    let runs = folder.join("springload-runs");
    std::fs::write(runs.join("damaged.json"), "{\"schema_version\": 1, ").expect("a file");

    let json: Value = serde_json::from_str(&out(folder, &["list", "--json"])).expect("JSON");
    let all = json.as_array().expect("a list");
    assert_eq!(all.len(), 3);
    let id = |nth: usize| all[nth]["id"].as_str().expect("a name");
    assert!(all[0]["started_at"].as_str() > all[1]["started_at"].as_str(), "newest first");
    assert_eq!(all[0]["stages"][0]["operations"][0]["ok"], 50);
    let size = std::fs::metadata(runs.join(id(0)).join("run.json")).expect("a record").len();
    assert_eq!(number(&all[0]["size_bytes"]), size);
    assert!(all[2]["unreadable"].as_str().expect("a reason").contains("not a complete run.json"));

    let table = out(folder, &["list"]);
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 4, "{table}");
    for (line, nth) in [(lines[1], 0), (lines[2], 1)] {
        assert!(line.starts_with(id(nth)) && line.contains("run stand-in"), "{table}");
        assert!(line.contains("bulk insert, mixed"), "{table}");
    }
    assert!(lines[3].starts_with("unreadable: springload-runs"), "{table}");
    assert_eq!(out(folder, &["list", "springload-runs"]), table);

    for name in ["latest", "latest~0", id(0)] {
        assert_eq!(out(folder, &["show", name]), second, "{name}");
        assert_eq!(out(folder, &["report", name]), second, "{name}");
    }
    let path = format!("springload-runs/{}/run.json", id(1));
    for name in ["latest~1", id(1), path.trim_end_matches("/run.json"), &path] {
        assert_eq!(out(folder, &["show", name]), first, "{name}");
    }
    let stored = std::fs::read_to_string(folder.join(&path)).expect("a record");
    assert_eq!(out(folder, &["show", "latest~1", "--format", "json"]), stored);

    for (name, words) in [("latest~9", "contains 2 runs"), ("20", "2 runs begin with \"20\"")] {
        let output = inside(folder, &["show", name]);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.starts_with("error: RUN: ") && error.contains(words), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

#[test]
fn passwords_are_in_no_list() {
    let server = crate::servers::Server::stand_in(springload::embedded::Options {
        admin: Some(("admin".to_owned(), "geheim".to_owned())),
        ..springload::embedded::Options::default()
    });
    let folder = tempfile::tempdir().expect("a temporary folder");
    let url = server.url.replace("://", "://admin:geheim@");
    let run = ["run", &url, "--docs", "20", "--ops", "20", "-c", "1", "-q"];
    assert!(matches!(inside(folder.path(), &run).status.code(), Some(0 | 5)));
    let (table, json) = (out(folder.path(), &["list"]), out(folder.path(), &["list", "--json"]));
    assert!(table.contains(&format!("run {}", server.url)), "{table}");
    assert!(json.contains("***"), "{json}");
    for text in [table, json] {
        assert!(!text.contains("geheim"), "{text}");
    }
}

#[test]
fn a_folder_that_is_not_there_is_refused() {
    springload(["list", "no/such"]).refused(2, &["DIR: cannot read no/such", "; name a folder"]);
    let nothing: Finished = springload(["list", "--json"]);
    assert_eq!((nothing.code, &nothing.stdout[..]), (0, "[]\n"));
    springload(["show", "latest"]).refused(2, &["RUN: latest does not exist", "contains 0 runs"]);
}

#[test]
fn an_output_that_ends_like_a_format_is_a_file() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let run = |arguments: &[&str]| {
        let mut command = assert_cmd::Command::new(crate::springload::BINARY);
        let output = command.args(arguments).current_dir(folder.path()).output().expect("it runs");
        (output.status.code(), String::from_utf8(output.stderr).expect("UTF-8"))
    };
    let small = ["run", "basic", "--docs", "20", "--ops", "20", "-c", "1", "-q", "-o"];
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect(name);
    run(&[&small[..], &["page.html", "--format", "html"]].concat());
    assert!(read("page.html").starts_with("<!doctype html>"), "{}", &read("page.html")[..40]);
    run(&[&small[..], &["table.csv"]].concat());
    assert!(read("table.csv").contains(','));
    let runs = std::fs::read_dir(folder.path().join("springload-runs")).expect("runs are saved");
    assert_eq!(runs.count(), 2);
    let (code, told) = run(&[&small[..], &["a.csv", "--format", "html"]].concat());
    assert_eq!(code, Some(2), "{told}");
    assert!(told.contains("--output: a.csv is not a name for --format html; "), "{told}");
    let (code, told) = run(&[&small[..], &["none/a.html"]].concat());
    assert_eq!(code, Some(2), "{told}");
    assert!(told.contains("; name a file in a folder that exists"), "{told}");
    let (code, told) = run(&["report", "latest", "-o", "chart.svg"]);
    assert_eq!((code, &told[..]), (Some(0), ""));
    assert!(read("chart.svg").starts_with("<svg"));
}
