//! `--docs auto`: a fill bounded by time, so that measuring begins soon on any server.

use crate::springload::{Finished, Run, number, springload};
use serde_json::{Value, json};
use springload::embedded::{Delay, Faults, Options, StandIn, bind};
use std::path::Path;

/// The plan of these flags.
fn plan(flags: &[&str]) -> Value {
    let run = springload([&["run"][..], flags, &["--dry-run"]].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    serde_json::from_str(&run.stdout).expect("a plan")
}

/// A server that takes this long for each answer.
fn server(delay_ms: u64) -> StandIn {
    let delay = Delay::Constant { ns: delay_ms * 1_000_000 };
    let faults = Faults { delay, ..Faults::default() };
    let options = Options { faults, ..Options::default() };
    StandIn::start(bind("127.0.0.1:0").expect("a free port"), options).expect("it starts")
}

#[test]
fn the_time_of_a_fill_is_bounded_unless_its_number_is_what_counts() {
    let ten_s = json!(10_000_000_000_u64);
    for (flags, documents, within) in [
        (&[][..], 100_000, Some(&ten_s)),
        (&["--docs", "auto", "-r", "5"], 100_000, Some(&ten_s)),
        (&["--workload", "hot"], 100_000, Some(&ten_s)),
        (&["--databases", "10"], 100_000, Some(&ten_s)),
        (&["--docs", "100k"], 100_000, None),
        (&["--docs", "7k"], 7_000, None),
        // The fill is what is measured.
        (&["--ops", "0"], 100_000, None),
        (&["--workload", "bulk-insert"], 100_000, None),
        (&["--growth"], 100_000, None),
        (&["--wait-for-server", "5s"], 100_000, None),
    ] {
        let stages = &plan(flags)["stages"];
        let fill = stages.as_array().expect("stages").iter().find(|it| it["purpose"] == "fill");
        let fill = fill.expect("a fill");
        assert_eq!(number(&fill["documents"]), documents, "{flags:?}");
        assert_eq!(fill.get("within_ns"), within, "{flags:?}");
    }
}

/// A run with the plan of these flags, with a different bound on the time of its fill.
fn within(seconds: f64, flags: &[&str]) -> Finished {
    let mut plan = plan(flags);
    for stage in plan["stages"].as_array_mut().expect("stages") {
        if let Some(within) = stage.get_mut("within_ns") {
            *within = json!((seconds * 1e9) as u64);
        }
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("plan.json");
    std::fs::write(&file, plan.to_string()).expect("it is written");
    Run::of(&["run", file.to_str().expect("UTF-8")]).finish().passed()
}

/// The number of documents that a run has stored, and the time that took.
fn stored(run: &Finished) -> (u64, f64) {
    let fill = run.stage("bulk_insert");
    let operation = run.operation("bulk_insert", "bulk_insert");
    (number(&operation["ok"]), fill["elapsed_s"].as_f64().expect("a time"))
}

#[test]
fn a_slow_server_is_filled_for_the_time_and_then_measured() {
    let server = server(200);
    let run = within(1.0, &[&server.url(), "-d", "1s", "--audit", "--noise", "warn"]);
    let (documents, _) = stored(&run);
    // A second is enough for at most five requests, with 1 to 16 documents each.
    assert!((50..=50 * 31).contains(&documents), "{documents}");
    assert!(run.stdout.contains(" of at most 100,000 docs in "), "{}", run.stdout);
    assert!(run.stdout.contains("all as acknowledged"), "{}", run.stdout);
    assert!(number(&run.operation("crud", "read")["ok"]) > 0);
    // There are no warnings about a fill that ended as planned.
    let mut warnings = run.record["warnings"].as_array().expect("warnings").iter();
    let against = |it: &&Value| it["stage"] == "bulk_insert" && it["code"] != "disturbed";
    assert_eq!(warnings.find(against), None);
}

#[test]
fn a_fast_server_is_filled_to_the_number() {
    let server = server(0);
    let flags = ["-c", "4", "-d", "1s", "--batch", "1000", "--noise", "warn"];
    let run = within(300.0, &[&[&*server.url()], &flags[..]].concat());
    let (documents, took_s) = stored(&run);
    assert!(documents == 100_000 && took_s < 300.0, "{documents} in {took_s} s");
    assert!(!run.stdout.contains("at most"), "{}", run.stdout);
}

#[test]
fn agents_databases_and_nodes_are_filled_for_the_time_too() {
    let server = server(100);
    // The same server under another name: a node with the same documents.
    let (url, node) = (server.url(), server.url().replace("127.0.0.1", "localhost"));
    for more in [&["--agents", "2"][..], &["--databases", "7"], &[&node]] {
        let flags =
            [&[&*url], more, &["-d", "1s", "-c", "8", "--noise", "warn", "--audit"]].concat();
        let (documents, _) = stored(&within(1.0, &flags));
        assert!((8..=8 * 1_023).contains(&documents), "{documents} with {more:?}");
    }
}

/// The numbers of documents that the runs in these folders were to store, and in which way.
fn fills(folder: &Path, runs: &[&str]) -> Vec<(u64, bool, u64)> {
    let fill = |run: &&str| {
        let text = std::fs::read_to_string(folder.join(run).join("run.json")).expect("a record");
        let record: Value = serde_json::from_str(&text).expect("JSON");
        let fill = &record["plan"]["stages"][0];
        let stored = number(&record["stages"][0]["operations"][0]["ok"]);
        (number(&fill["documents"]), fill.get("within_ns").is_some(), stored)
    };
    runs.iter().map(fill).collect()
}

/// Asserts that the first run stored as many as time allowed, and the others as many as the first.
#[track_caller]
fn as_the_first(fills: &[(u64, bool, u64)]) {
    let (first, others) = fills.split_first().expect("a run");
    let stored = first.2;
    assert!(
        (first.0, first.1) == (100_000, true) && (4..=4 * 1_023).contains(&stored),
        "{fills:?}"
    );
    assert!(others.iter().all(|it| *it == (stored, false, stored)), "{fills:?}");
}

/// A study of short runs on a server that stores few documents in a fill of 10 s.
fn study(server: &StandIn, folder: &Path, words: &[&str]) -> String {
    let (url, place) = (server.url(), folder.display().to_string());
    let words = [&words[..1], &[&*url, "-o", &place, "-c", "4", "-d", "1s"], &words[1..]].concat();
    let run = springload(words);
    assert!(run.stderr.contains("the other runs store"), "{}", run.stderr);
    run.stderr
}

/// Changes the saved file of a study.
fn change(file: &Path, change: impl FnOnce(&mut Value)) {
    let text = std::fs::read_to_string(file).expect("what is kept");
    let mut kept = serde_json::from_str(&text).expect("JSON");
    change(&mut kept);
    std::fs::write(file, kept.to_string()).expect("it is written");
}

/// The message about a first run that cannot be read.
const UNKNOWN: &str = "the other runs store as many documents as there is time for, and not";

#[test]
fn the_runs_of_a_comparison_store_as_many_documents_as_the_first() {
    let (server, folder) = (server(1_000), tempfile::tempdir().expect("a temporary folder"));
    let words = ["ab", "--pairs", "1", "--a", "--seed=1", "--b", "--seed=2"];
    study(&server, folder.path(), &words);
    let mut runs = fills(folder.path(), &["a/01", "b/01"]);
    // Either side may be the first.
    runs.sort_by_key(|(_, bounded, _)| !bounded);
    as_the_first(&runs);
}

#[test]
fn the_runs_of_a_sweep_store_as_many_documents_as_the_first() {
    let (server, folder) = (server(1_000), tempfile::tempdir().expect("a temporary folder"));
    let cells = ["cells/000", "cells/001"];
    study(&server, folder.path(), &["sweep", "-L", "think=0ms,1ms"]);
    as_the_first(&fills(folder.path(), &cells));
    // A continued sweep asks for the same number.
    let again = || {
        std::fs::remove_dir_all(folder.path().join(cells[1])).expect("it is there");
        change(&folder.path().join("sweep.json"), |it| it["cells"][1]["result"] = Value::Null);
        springload(["sweep", "--resume", &folder.path().display().to_string(), "-q"]).stderr
    };
    let stderr = again();
    assert!(!stderr.contains(UNKNOWN), "{stderr}");
    as_the_first(&fills(folder.path(), &cells));
    let first = folder.path().join(cells[0]).join("run.json");
    std::fs::write(&first, "{").expect("it is written");
    let stderr = again();
    assert!(stderr.contains(UNKNOWN) && stderr.contains(&first.display().to_string()), "{stderr}");
    assert!(fills(folder.path(), &cells[1..])[0].1, "a time of its own");
}

#[test]
fn the_steps_of_a_search_store_as_many_documents_as_the_first() {
    let (server, folder) = (server(1_000), tempfile::tempdir().expect("a temporary folder"));
    let words = ["max", "--from", "1", "--to", "1", "--repeat", "1"];
    study(&server, folder.path(), &words);
    as_the_first(&fills(folder.path(), &["steps/000", "steps/001"]));
    // A continued search asks for the same number, if the first step can be read.
    for broken in [false, true] {
        change(&folder.path().join("max.json"), |it| {
            it["steps"].as_array_mut().expect("steps").truncate(1);
            it["ended"] = "stopped".into();
        });
        let first = folder.path().join("steps/000/run.json");
        if broken {
            std::fs::write(&first, "{").expect("it is written");
        }
        let stderr = study(&server, folder.path(), &words);
        assert_eq!(stderr.contains(UNKNOWN), broken, "{stderr}");
        assert_eq!(stderr.contains(&first.display().to_string()), broken, "{stderr}");
    }
}
