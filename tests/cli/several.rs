//! What is saved besides runs: searches and comparisons in `list`, `show`, `report` and
//! completions, and next to the runs that `trend` and `compare` look for.

use crate::springload::{Run, binary};
use crate::trend::{run, save};
use serde_json::{Value, json};
use springload::embedded::{Delay, Faults, Options, StandIn, bind};
use std::path::Path;
use std::process::Output;
use std::time::Duration;

/// A verb in `folder`, with nothing remembered.
fn inside(folder: &Path, words: &[&str]) -> Output {
    with_state(folder, Path::new(""), words)
}

/// The same with this state folder.
fn with_state(folder: &Path, state: &Path, words: &[&str]) -> Output {
    let mut command = assert_cmd::Command::from_std(binary());
    command.args(words).current_dir(folder).timeout(Duration::from_secs(120));
    command.env("SPRINGLOAD_STATE", state).output().expect("it runs")
}

#[track_caller]
fn out(folder: &Path, words: &[&str]) -> String {
    let output = inside(folder, words);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{words:?}: {error}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The single line of a verb's error message.
#[track_caller]
fn refusal(folder: &Path, words: &[&str]) -> String {
    let output = inside(folder, words);
    let error = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(2), "{words:?}: {error}");
    assert!(output.stdout.is_empty() && error.lines().count() == 1, "{error}");
    error
}

fn write(file: &Path, text: &str) {
    std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
    std::fs::write(file, text).expect("a file");
}

/// A search that has found something, with a step.
fn search(label: &str) -> Value {
    let step = |level: f64, outcome: &str| {
        json!({
            "search": 1, "level": level, "length_s": 3.0, "outcome": outcome, "reason": "",
            "per_s": level, "failed_percent": 0.0, "p50_us": 800.0, "p99_us": null,
            "run": "steps/000/run.json",
        })
    };
    json!({
        "schema_version": 1, "label": label, "target": "http://node1:5984", "nodes": 1,
        "slo": ["p99 < 20ms"], "searched": "rate", "seed": 1, "ended": "found",
        "sustained_per_s": 1_950.0, "low": 1_930.0, "high": 1_980.0,
        "found_per_s": [1_930.0, 1_950.0, 1_980.0],
        "steps": [step(1_950.0, "held"), step(3_900.0, "missed")],
    })
}

/// A comparison of `pairs` pairs, of which `done` are there; B takes `times` as long as A.
fn comparison(folder: &Path, (pairs, done): (u64, u64), times: f64) {
    let ab = json!({
        "schema_version": 1, "a": "springload run http://node1:5984 --batch=1",
        "b": "springload run http://node1:5984 --batch=2", "pairs": pairs, "seed": 1,
    });
    write(&folder.join("ab.json"), &ab.to_string());
    for pair in 1..=done {
        for (at, (side, times)) in [("a", 1.0), ("b", times)].into_iter().enumerate() {
            let day = pair as usize * 2 + at;
            save(folder, &format!("{side}/{pair:02}"), &run(day, 1.0 / times));
        }
    }
}

/// The row of a list that begins with `name`.
#[track_caller]
fn row<'a>(table: &'a str, name: &str) -> &'a str {
    table.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name}: {table}"))
}

/// Runs in `springload-runs`: a run, a search, and three comparisons.
fn several() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let runs = folder.path().join("springload-runs");
    save(&runs, "plain", &run(1, 1.0));
    write(&runs.join("found/max.json"), &search("the \u{1b}[31mmost\u{202e}").to_string());
    save(&runs, "found/steps/000", &run(20, 1.0));
    comparison(&runs.join("slower"), (4, 4), 1.5);
    comparison(&runs.join("begun"), (4, 1), 1.5);
    comparison(&runs.join("empty"), (4, 0), 1.5);
    folder
}

#[test]
fn a_list_tells_what_searches_and_comparisons_came_to() {
    let folder = several();
    let table = out(folder.path(), &["list"]);
    assert_eq!(table.lines().count(), 6, "{table}");
    assert!(!table.contains(['\u{1b}', '\u{202e}']), "{table:?}");
    let found = row(&table, "found ");
    assert!(
        found.contains("  the \u{fffd}[31mmost\u{fffd}  ✓  sustained: 1,950/s (1,9"),
        "{found}"
    );
    let slower = row(&table, "slower ");
    assert!(slower.contains("  ab node1:5984 ") && slower.contains("  ✗  B is worse: "), "{table}");
    assert!(row(&table, "begun ").ends_with("  !  A/B: 1 of 4 pairs"), "{table}");
    assert!(row(&table, "empty ").ends_with("  !  A/B: 0 of 4 pairs"), "{table}");
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    let all: Value = serde_json::from_str(&out(folder.path(), &["list", "--json"])).expect("JSON");
    let of = |id: &str| {
        let all = all.as_array().expect("a list");
        all.iter().find(|it| it["id"] == id).unwrap_or_else(|| panic!("{id}: {all:#?}"))
    };
    assert_eq!(of("found")["max"]["sustained_per_s"], 1_950.0);
    assert_eq!((&of("found")["runs"], &of("found")["measured"]), (&2.into(), &2.into()));
    assert_eq!((&of("begun")["runs"], &of("begun")["measured"]), (&8.into(), &2.into()));
    assert_eq!(of("slower")["ab"]["pairs"], 4);
    // The newest step is newer than everything else; an entry without runs counts as the oldest.
    assert_eq!((&all[0]["id"], &all[4]["id"]), (&"found".into(), &"empty".into()));
    let names = out(folder.path(), &["list", "--names"]);
    for name in ["latest", "found", "slower", "begun", "plain"] {
        assert!(names.lines().any(|line| line.starts_with(&format!("{name}\t"))), "{names}");
    }
    assert!(!names.contains('\u{1b}'), "{names:?}");
}

#[test]
fn searches_and_comparisons_are_shown_in_their_formats() {
    let folder = several();
    let show = |words: &[&str]| out(folder.path(), &[&["show"], words].concat());
    let text = show(&["latest"]);
    assert!(text.starts_with("✓ sustained: 1,950/s (1,930 to 1,980 in 3 searches)\n"), "{text}");
    assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text:?}");
    for name in ["found", "fou", "springload-runs/found", "springload-runs/found/max.json"] {
        assert_eq!(show(&[name]), text, "{name}");
    }
    let stored: Value = serde_json::from_str(&show(&["found", "--format", "json"])).expect("JSON");
    assert_eq!(stored["steps"].as_array().map(Vec::len), Some(2));
    let worse = show(&["slower"]);
    assert!(worse.contains("B is worse: all throughput"), "{worse}");
    let json: Value = serde_json::from_str(&show(&["slower", "--format=json"])).expect("JSON");
    assert_eq!((&json["verdict"], &json["progress"]), (&"worse".into(), &Value::Null), "{json:#}");
    let begun: Value = serde_json::from_str(&show(&["begun", "--format=json"])).expect("JSON");
    assert_eq!((&begun["progress"]["pairs"], &begun["progress"]["of"]), (&1.into(), &4.into()));
    for (name, file, begins) in [
        ("found", "a.html", &b"<!doctype html>"[..]),
        ("found", "a.svg", b"<svg"),
        ("found", "a.png", b"\x89PNG"),
        ("slower", "b.html", b"<!doctype html>"),
        ("slower", "b.xml", b"<?xml"),
    ] {
        assert_eq!(out(folder.path(), &["report", name, "-o", file]), "");
        let bytes = std::fs::read(folder.path().join(file)).expect(file);
        assert!(bytes.starts_with(begins), "{file}");
    }
    for (words, message) in [
        (&["show", "slower", "--format", "svg"][..], "shows runs, not comparisons; give one of t"),
        (&["show", "found", "--format", "csv"], "shows runs, not searches; give one of text, json"),
        (&["show", "found", "plain"], "is a search and cannot be combined with others; give it a"),
        (&["show", "found", "--chart", "latency"], "--chart is for runs, not for searches; leave"),
        (&["show", "empty"], "it has no pair of runs yet"),
        (&["compare", "found", "plain"], "found is a search, not a run; name one of its runs"),
        (&["compare", "latest", "plain"], "found is a search, not a run; name one of its runs"),
    ] {
        let error = refusal(folder.path(), words);
        assert!(error.contains(message), "{words:?}: {error}");
    }
}

#[test]
fn the_runs_of_a_search_are_runs_and_its_own_file_is_none() {
    let folder = several();
    let (trend, compared) = (["trend", "springload-runs"], ["springload-runs/found", "plain"]);
    let trend = inside(folder.path(), &trend);
    let printed = String::from_utf8_lossy(&[trend.stdout, trend.stderr].concat()).into_owned();
    assert!(trend.status.success() && !printed.contains("max.json"), "{printed}");
    assert!(!printed.contains("ab.json") && !printed.contains("left out"), "{printed}");
    let words = ["compare", compared[0], "--", compared[1]];
    let compared = inside(folder.path(), &words);
    let stderr = String::from_utf8_lossy(&compared.stderr).into_owned();
    assert!(compared.status.code() != Some(2) && stderr.is_empty(), "{stderr}");
}

#[test]
fn what_is_broken_or_newer_is_reported_and_steers_no_terminal() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let runs = folder.path().join("springload-runs");
    let newer = |mut it: Value| {
        it["schema_version"] = 99.into();
        it.to_string()
    };
    let whole = search("x").to_string();
    let odd = whole.replace("\"held\"", "\"\\u001b[31m\\u202e\"");
    let ab = json!({"schema_version": 1, "a": "x", "b": "y", "pairs": 4, "seed": 1});
    for (file, text) in [
        ("cut/max.json", whole[..whole.len() / 2].to_owned()),
        ("odd/max.json", odd),
        ("huge/max.json", whole.replace("3900.0", "1e300")),
        ("newer/max.json", newer(search("x"))),
        ("torn/ab.json", "{\"schema_version\": 1".to_owned()),
        ("later/ab.json", newer(ab.clone())),
        ("endless/ab.json", ab.to_string().replace(":4", ":900000000")),
        ("damaged/ab.json", ab.to_string()),
        ("damaged/a/01/run.json", "{".to_owned()),
        ("damaged/b/01/run.json", "{".to_owned()),
    ] {
        write(&runs.join(file), &text);
    }
    let table = out(folder.path(), &["list"]);
    for name in ["cut/max", "odd/max", "huge/max", "torn/ab", "endless/ab"] {
        let line = row(&table, &format!("springload-runs/{name}.json: "));
        assert!(line.ends_with(": broken; remove it, or restore a copy"), "{table}");
    }
    for name in ["newer/max", "later/ab"] {
        let line = row(&table, &format!("springload-runs/{name}.json: "));
        assert!(line.ends_with(": from a newer version; update springload"), "{table}");
    }
    assert!(row(&table, "damaged ").ends_with("  ?  2 of 8 runs measured"), "{table}");
    for (name, message) in [
        ("cut", "max.json: EOF while parsing"),
        ("odd", "max.json: unknown variant"),
        ("huge", "is a number that no run has"),
        ("newer", "written by a newer springload; update springload"),
        ("torn", "not a complete ab.json: EOF"),
        ("later", "written by a newer springload; update springload"),
        ("endless", "it has no pairs, or too many"),
        ("damaged", "a/01/run.json: broken at byte"),
    ] {
        let error = refusal(folder.path(), &["show", &format!("springload-runs/{name}")]);
        assert!(error.contains(message), "{name}: {error}");
        assert!(!error.contains(['\u{1b}', '\u{202e}']), "{error:?}");
    }
}

#[test]
fn a_search_saved_elsewhere_is_remembered() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (here, there) = (folder.path().join("here"), folder.path().join("there"));
    std::fs::create_dir_all(&here).expect("a folder");
    write(&there.join("most/max.json"), &search("kept").to_string());
    let state = folder.path().join("state");
    let path = there.join("most").canonicalize().expect("a path");
    let entry = json!({"path": path, "began": "", "label": "kept"});
    write(&state.join("runs.jsonl"), &format!("{entry}\n"));
    let table = with_state(&here, &state, &["list"]);
    let table = String::from_utf8(table.stdout).expect("UTF-8");
    assert!(table.contains("  kept  ✓  sustained: 1,950/s"), "{table}");
    let shown = with_state(&here, &state, &["show", "kept"]);
    assert!(shown.stdout.starts_with("✓ sustained".as_bytes()), "{shown:?}");
}

/// All kinds of studies lock their folder while they are measured.
#[test]
fn nobody_else_writes_into_the_folder_of_a_study_and_its_label_stays() {
    let delay = Delay::Constant { ns: 20_000_000 };
    let options = Options { faults: Faults { delay, ..Faults::default() }, ..Options::default() };
    let server = StandIn::start(bind("127.0.0.1:0").expect("a free port"), options);
    let server = server.expect("it starts");
    let url = server.url();
    let studies: [(&str, &[&str]); 3] = [
        ("sweep", &["-L", "connections=2,3", "--docs", "50"]),
        ("max", &["--slo", "p50 < 60s", "--from", "20", "--docs", "50"]),
        ("ab", &["--a", "--batch 5", "--b", "--batch 10", "--docs", "50", "-c", "5"]),
    ];
    let under_way = |run: Run| {
        let (run, before) = (run.start(), server.counters().requests);
        for _ in 0..3_000 {
            if server.counters().requests > before + 20 {
                return run;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("hardly anything was requested");
    };
    for (verb, own) in studies {
        let words = [&[verb, &url, "-d", "60s", "--seed", "5"], own].concat();
        let run = under_way(Run::of(&[&words[..], &["--label", "mine"]].concat()));
        let folder = run.output().display().to_string();
        let again = [&words[..], &["-q", "-o", &folder]].concat();
        let error = refusal(Path::new("."), &again);
        assert!(error.starts_with("error: --output: cannot write to "), "{error}");
        assert!(error.contains(": another run is writing to it; "), "{error}");
        run.interrupt();
        let first = run.finish();
        assert_eq!(first.code, 130, "{verb}: {}", first.stderr);
        for (more, wanted) in [(&[][..], "mine"), (&["--label", "other"], "other")] {
            let run = under_way(Run::bare(&[&again[..], more].concat()));
            run.interrupt();
            let run = run.finish();
            assert_eq!(run.code, 130, "{verb}: {}", run.stderr);
            let file = Path::new(&folder).join(format!("{verb}.json"));
            let text = std::fs::read_to_string(file).expect("a file");
            let kept: Value = serde_json::from_str(&text).expect("JSON");
            let label = kept.get("label").unwrap_or(&kept["definition"]["label"]);
            assert_eq!(label, wanted, "{verb} {more:?}");
        }
    }
}
