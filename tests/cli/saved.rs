//! Saved runs: `list`, `show`, and `report` by name.

use crate::springload::{Finished, binary, number, springload};
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

/// A verb in `folder`, with nothing remembered.
fn inside(folder: &Path, arguments: &[&str]) -> std::process::Output {
    with_state(folder, Path::new(""), arguments)
}

/// A verb in `folder`, with this state folder.
fn with_state(folder: &Path, state: &Path, arguments: &[&str]) -> std::process::Output {
    let mut command = assert_cmd::Command::from_std(binary());
    command.args(arguments).current_dir(folder).timeout(Duration::from_secs(120));
    command.env("SPRINGLOAD_STATE", state).output().expect("it runs")
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
    assert_eq!(lines.len(), 3, "files beside the runs are nobody's business: {table}");
    assert_eq!(lines[0].split_whitespace().collect::<Vec<_>>(), ["run", "ago", "what", "result"]);
    for (line, report, nth) in [(lines[1], &second, 0), (lines[2], &first, 1)] {
        assert!(line.starts_with(id(nth)) && line.contains("  run stand-in  "), "{table}");
        // The beginning of the report, as far as it fits.
        let (_, result) = line.split_once("stand-in  ").expect("a result");
        let result = result.trim_end_matches('…');
        assert!(report.starts_with(result) && result.len() > 20, "{result:?}: {report}");
    }
    assert_eq!(out(folder, &["list", "springload-runs"]).lines().count(), 3);

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

    for (name, words) in
        [("latest~9", "there are 2 saved runs"), ("20", "2 runs begin with \"20\"")]
    {
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
    assert!(table.contains("run 127.0.0.1:"), "{table}");
    assert!(json.contains("***"), "{json}");
    for text in [table, json] {
        assert!(!text.contains("geheim"), "{text}");
    }
}

#[test]
fn a_folder_that_is_not_there_is_refused() {
    springload(["list", "no/such"]).refused(2, &["DIR: cannot read no/such", "; give a folder"]);
    let nothing: Finished = springload(["list", "--json"]);
    assert_eq!((nothing.code, &nothing.stdout[..]), (0, "[]\n"));
    springload(["show", "latest"]).refused(
        2,
        &["RUN: latest does not exist: no runs are saved in /", "springload-runs; go to"],
    );
}

#[test]
fn an_output_that_ends_like_a_format_is_a_file() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let run = |arguments: &[&str]| {
        let output = inside(folder.path(), arguments);
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
    let (code, stderr) = run(&[&small[..], &["a.csv", "--format", "html"]].concat());
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stderr.contains("--output: the name a.csv does not fit --format html; "), "{stderr}");
    let (code, stderr) = run(&[&small[..], &["none/a.html"]].concat());
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stderr.contains("; choose a file in an existing folder"), "{stderr}");
    let (code, stderr) = run(&["report", "latest", "-o", "chart.svg"]);
    assert_eq!((code, &stderr[..]), (Some(0), ""));
    assert!(read("chart.svg").starts_with("<svg"));
}

/// A small run without a server.
const SMALL: [&str; 9] = ["run", "basic", "--docs", "20", "--ops", "20", "-c", "1", "-q"];

#[test]
fn cargo_keeps_tests_from_remembering() {
    let variable = std::env::var_os("SPRINGLOAD_STATE");
    assert_eq!(variable.as_deref(), Some("".as_ref()), "cargo and tests/run.sh set it");
}

#[test]
fn runs_saved_elsewhere_are_remembered() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = |name: &str| folder.path().join(name);
    let (here, there, state) = (at("here"), at("there"), at("home/state"));
    std::fs::create_dir(&here).expect("a folder");
    std::fs::create_dir(&there).expect("a folder");
    let run = |more: &[&str]| {
        let output = with_state(&here, &state, &[&SMALL[..], more].concat());
        assert!(matches!(output.status.code(), Some(0 | 5)), "{output:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    };
    let stdout_of = |place: &Path, arguments: &[&str]| {
        let output = with_state(place, &state, arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    run(&["--label", "at home"]);
    assert!(!state.exists(), "what is in springload-runs is found anyway");
    run(&["-o", "out/first", "--label", "the first"]);
    run(&["-o", "springload-runs/second"]);
    run(&["-o", "page.html"]);
    let index = std::fs::read_to_string(state.join("runs.jsonl")).expect("an index");
    assert_eq!(index.lines().count(), 1, "{index}");
    let entry: Value = serde_json::from_str(&index).expect("JSON");
    assert_eq!(
        (&entry["label"], entry["path"].as_str().map(|it| it.ends_with("out/first"))),
        (&Value::from("the first"), Some(true))
    );

    assert_eq!(stdout_of(&here, &["list"]).lines().count(), 5);
    assert!(
        stdout_of(&here, &["list"]).contains("\nout/first "),
        "{}",
        stdout_of(&here, &["list"])
    );
    assert_eq!(stdout_of(&here, &["list", "springload-runs"]).lines().count(), 4);
    let elsewhere = stdout_of(&there, &["list"]);
    assert_eq!(elsewhere.lines().count(), 2, "{elsewhere}");
    assert!(elsewhere.contains("out/first  ") && elsewhere.contains("  the first  "));
    let json: Value = serde_json::from_str(&stdout_of(&there, &["list", "--json"])).expect("JSON");
    assert!(json[0]["headline"].is_string() && json[0]["result"]["kind"].is_string(), "{json}");
    let shown = stdout_of(&here, &["show", "out/first"]);
    for name in ["first", "fir", "the first", "latest"] {
        assert_eq!(stdout_of(&there, &["show", name]), shown, "{name}");
    }
    assert_eq!(out(&there, &["list"]), "", "nobody else knows of it");
    std::fs::remove_dir_all(here.join("out")).expect("a folder");
    assert_eq!(stdout_of(&there, &["list"]), "");
    assert_eq!(with_state(&there, &state, &["show", "first"]).status.code(), Some(2));
}

#[test]
fn a_state_folder_that_cannot_be_used_costs_a_warning() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("file");
    std::fs::write(&file, "").expect("a file");
    let output = with_state(folder.path(), &file, &[&SMALL[..], &["-o", "out"]].concat());
    let stderr = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(matches!(output.status.code(), Some(0 | 5)), "{stderr}");
    assert!(
        stderr.starts_with("warning: cannot remember this run ") && stderr.lines().count() == 1
    );
    assert!(stderr.contains("set SPRINGLOAD_STATE= (empty) to remember no runs"), "{stderr}");
    assert!(folder.path().join("out/run.json").exists());
    // A folder in place of the index, which readers treat as a missing index.
    let state = folder.path().join("state");
    std::fs::create_dir_all(state.join("runs.jsonl")).expect("a folder");
    let listed = with_state(folder.path(), &state, &["list"]);
    assert!(listed.status.success() && listed.stdout.is_empty(), "{listed:?}");
    // Without a home, the user is not warned.
    let mut command = assert_cmd::Command::from_std(binary());
    command.env_remove("SPRINGLOAD_STATE").env_remove("HOME").env_remove("XDG_STATE_HOME");
    let output = command.args(SMALL).args(["-o", "out2"]).current_dir(folder.path()).output();
    assert_eq!(String::from_utf8_lossy(&output.expect("it runs").stderr), "");
}

#[test]
fn a_list_has_rows_for_runs_and_sweeps_alone() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let runs = folder.path().join("springload-runs");
    let label = "日本語の長い名前 and yet a lot more of it, up to the end";
    for more in [&["--label", label][..], &["-o", "springload-runs/hostile"]] {
        inside(folder.path(), &[&SMALL[..], more].concat());
    }
    let hostile = runs.join("hostile/run.json");
    let text = std::fs::read_to_string(&hostile).expect("a record");
    let text = text.replace("\"plan\": {", "\"plan\": {\n    \"label\": \"a\\u001b[31mb\\u202e\",");
    std::fs::write(&hostile, text).expect("a record");
    let sweep = ["sweep", "basic", "-L", "connections=1,2", "--docs", "20", "--ops", "20", "-q"];
    inside(folder.path(), &[&sweep[..], &["-o", "springload-runs/swept"]].concat());
    for (name, content) in [("cut/run.json", "{"), ("notes.txt", "to do"), ("broken.json", "{")] {
        std::fs::create_dir_all(runs.join("cut")).expect("a folder");
        std::fs::write(runs.join(name), content).expect("a file");
    }
    std::fs::create_dir(runs.join("empty")).expect("a folder");
    let table = out(folder.path(), &["list"]);
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 5, "{table}");
    assert!(lines[1].starts_with("swept ") && lines[1].contains("  sweep conn"), "{table}");
    assert!(lines[1].contains("2 runs, all valid") || lines[1].contains("of 2 runs"), "{table}");
    assert!(lines[2].starts_with("hostile ") && lines[2].contains("  a\u{fffd}[31mb\u{fffd}  "));
    assert!(lines[3].contains("  日本語の長い") && lines[3].contains('…'), "{table}");
    assert_eq!(lines[4], "springload-runs/cut/run.json: broken; remove it, or restore a copy");
    assert!(!table.contains(['\u{1b}', '\u{202e}']), "{table:?}");
    // Wide characters take two columns.
    let columns = |c: char| 1 + usize::from(c > '\u{2fff}' && c < '\u{fffd}');
    let width = |line: &&str| line.chars().map(columns).sum::<usize>();
    assert!(lines[..4].iter().all(|line| width(line) <= 80), "{table}");
    let json: Value = serde_json::from_str(&out(folder.path(), &["list", "--json"])).expect("JSON");
    assert_eq!(json.as_array().map(Vec::len), Some(7), "{json}");
    assert_eq!(json[0]["sweep"]["axes"][0]["name"], "connections");
    assert!(out(folder.path(), &["show", "swept"]).contains("connections"));
    assert_eq!(out(folder.path(), &["show", "latest"]), out(folder.path(), &["show", "swept"]));
}

#[test]
fn a_run_that_measures_nothing_leaves_no_folder() {
    let server = crate::servers::Server::stand_in(springload::embedded::Options {
        admin: Some(("admin".to_owned(), "right".to_owned())),
        ..springload::embedded::Options::default()
    });
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::create_dir(folder.path().join("mine")).expect("a folder");
    let url = server.url.replace("://", "://admin:wrong@");
    for more in [&[][..], &["-o", "made/by/it"], &["-o", "mine"]] {
        for target in [&url[..], "http://127.0.0.1:1"] {
            let output = inside(folder.path(), &[&["run", target, "-q"], more].concat());
            assert_eq!(output.status.code(), Some(3), "{output:?}");
        }
    }
    let left = std::fs::read_dir(folder.path()).expect("a folder");
    let left: Vec<_> = left.map(|it| it.expect("an entry").file_name()).collect();
    assert_eq!(left, ["mine"], "what was there before stays");
}

#[test]
fn runs_of_two_projects_do_not_mix() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = |name: &str| folder.path().join(name);
    let state = at("state");
    let run = |place: &str, label: &str| {
        std::fs::create_dir_all(at(place)).expect("a folder");
        let words = [&SMALL[..], &["-o", "out", "--label", label]].concat();
        let output = with_state(&at(place), &state, &words);
        assert!(matches!(output.status.code(), Some(0 | 5)), "{output:?}");
    };
    run("one", "nightly");
    // Later than the first, and so the first row of any list.
    run("two", "nightly");
    let ask = |place: &str, words: &[&str]| {
        let output = with_state(&at(place), &state, words);
        let [out, err] =
            [output.stdout, output.stderr].map(|it| String::from_utf8(it).expect("UTF-8"));
        (output.status.code().expect("an exit status"), out, err)
    };
    let own = |place: &str| {
        let path = at(place).join("out").display().to_string();
        ask("one", &["report", &path]).1
    };
    let (one, two) = (own("one"), own("two"));
    assert_ne!(one, two);
    std::fs::create_dir(at("three")).expect("a folder");
    for name in ["latest", "nightly"] {
        assert_eq!(ask("one", &["report", name]), (0, one.clone(), String::new()), "{name}");
        assert_eq!(ask("two", &["report", name]), (0, two.clone(), String::new()), "{name}");
        let (code, shown, note) = ask("three", &["report", name]);
        assert_eq!((code, &shown), (0, &two), "{name}");
        let begins = format!("note: {name} is not of this folder, which has none: it is ");
        assert!(note.starts_with(&begins) && note.trim_end().ends_with("two/out"), "{note}");
        assert_eq!(note.lines().count(), 1, "{note}");
    }
    // A unique name is announced as well; a path is not.
    std::fs::rename(at("two/out"), at("two/unique")).expect("a folder");
    let index = std::fs::read_to_string(state.join("runs.jsonl")).expect("an index");
    std::fs::write(state.join("runs.jsonl"), index.replace("two/out", "two/unique")).unwrap();
    let (code, shown, note) = ask("one", &["report", "unique"]);
    assert_eq!((code, &shown), (0, &two), "{note}");
    assert!(note.starts_with("note: unique is not of this folder"), "{note}");
    let path = at("two").join("unique").display().to_string();
    assert_eq!(ask("one", &["report", &path]), (0, two, String::new()));
    // A run is not judged by another project's, unless that is named by its path.
    let judged = |place: &str, baseline: &str| {
        ask(place, &[&SMALL[..], &["-o", "judged", "--baseline", baseline]].concat())
    };
    for name in ["nightly", "unique"] {
        let (code, _, error) = judged("three", name);
        let begins = format!("error: --baseline: {name} is not of this folder, which has none: ");
        assert!(code == 2 && error.contains(&begins), "{error}");
        assert!(error.contains("two/unique; give that path"), "{error}");
        assert!(!at("three/judged").exists());
    }
    for (place, name) in [("three", &path[..]), ("one", "nightly")] {
        let (code, _, error) = judged(place, name);
        assert!(matches!(code, 0 | 5), "{place} {name}: {error}");
    }
    let (_, list, _) = ask("one", &["list"]);
    let (here, elsewhere) = list.split_once("\nelsewhere:\n").expect("two parts");
    assert!(here.contains("\nout ") && !here.contains("unique"), "{list}");
    assert!(elsewhere.contains("two/unique ") && !elsewhere.contains("\nout "), "{list}");
    let (code, _, error) = ask("one", &["report", "latest~2"]);
    assert!(code == 2 && error.contains("there are 2 saved runs;"), "{error}");
    // All runs with that label are looked for in this folder, too.
    let (_, trend, _) = ask("one", &["trend", "nightly", "--format", "csv"]);
    assert!(!trend.contains("two"), "{trend}");
}
