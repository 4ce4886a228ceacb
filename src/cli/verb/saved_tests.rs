//! Lists and names of runs, in folders that contain more than runs.

use super::*;
use crate::record::{RunRecord, fixture};

/// A folder with runs under these names that began at these times.
fn folder(runs: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, began) in runs {
        save(&folder.path().join(name).join("run.json"), began);
    }
    folder
}

fn save(file: &Path, began: &str) {
    let mut record = fixture::record(&[]);
    began.clone_into(&mut record.started_at);
    fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
    fs::write(file, serde_json::to_string(&record).expect("JSON")).expect("a file");
}

fn ids(folder: &Path) -> Vec<String> {
    list(folder).expect("a list").into_iter().map(|it| it.id).collect()
}

#[test]
fn runs_are_listed_newest_first_and_other_things_after_them() {
    let folder = folder(&[
        ("b", "2026-01-02T00:00:00.000Z"),
        ("a", "2026-01-03T00:00:00.000Z"),
        ("c", "2026-01-01T00:00:00.000Z"),
    ]);
    let at = |name: &str| folder.path().join(name);
    save(&at("c/run-1.json"), "2025-12-31T00:00:00.000Z");
    fs::write(at("c/notes.json"), "[]").expect("a file");
    fs::write(at(".hidden"), "").expect("a file");
    assert_eq!(ids(folder.path()), ["a", "b", "c", "c/run-1.json"]);
    let text = fs::read_to_string(at("a/run.json")).expect("a record");
    for (name, content) in [
        ("cut.json", &text[..text.len() / 2]),
        ("foreign.json", "{\"a\": 1}"),
        ("notes.txt", "to do"),
        ("newer.json", &text.replace("\"schema_version\":2", "\"schema_version\":999")),
        ("binary.json", "\u{0}"),
    ] {
        fs::write(at(name), content).expect("a file");
    }
    fs::create_dir(at("empty")).expect("a folder");
    let all = list(folder.path()).expect("a list");
    let readable = |it: &&Saved| matches!(it.state, Content::Readable(_));
    assert_eq!(all.iter().take_while(readable).count(), 4);
    let rest: Vec<_> = all[4..]
        .iter()
        .map(|it| match &it.state {
            Content::Unreadable { unreadable } => format!("{}: {unreadable}", it.id),
            _ => panic!("{} is no run", it.id),
        })
        .collect();
    assert_eq!(rest.len(), 6, "{rest:?}");
    for (line, words) in rest.iter().zip([
        "binary.json: not a complete run.json",
        "cut.json: not a complete run.json: EOF",
        "empty: contains no run.json",
        "foreign.json: not a complete run.json: missing field",
        "newer.json: written by a newer springload",
        "notes.txt: not a run.json",
    ]) {
        assert!(line.starts_with(words), "{line} is not {words}");
    }
    assert!(list(&at("nowhere")).is_err());
}

#[test]
fn a_sweep_is_one_entry_that_began_with_its_first_run() {
    let folder = folder(&[("a", "2026-01-02T00:00:00.000Z")]);
    let at = |name: &str| folder.path().join(name);
    save(&at("s/cells/001/run.json"), "2026-01-03T00:00:00.000Z");
    let axis = r#"{"name": "batch", "values": ["1", "2"]}"#;
    let result = r#"{"stage": "crud", "per_s": 1, "ok": 1, "failed": 0, "p50_us": null,
        "p99_us": null, "trustworthy": true, "warnings": []}"#;
    let cell = |value: u32, run: &str, result: &str| {
        format!(
            r#"{{"settings": [{{"name": "batch", "value": "{value}"}}], "round": 1,
                "run": "{run}", "result": {result}}}"#
        )
    };
    let cells = [cell(2, "cells/001/run.json", result), cell(1, "x", "null")].join(",");
    let sweep = format!(
        r#"{{"schema_version": 1, "cells": [{cells}],
            "definition": {{"label": "mine", "target": null, "axes": [{axis}], "common": [],
                "repeat": 1, "seed": 1, "by_size": false}}}}"#
    );
    fs::write(at("s/sweep.json"), &sweep).expect("a file");
    fs::create_dir(at("t")).expect("a folder");
    fs::write(at("t/sweep.json"), &sweep[..sweep.len() / 2]).expect("a file");
    assert_eq!(ids(folder.path()), ["s", "a", "t"]);
    let all = list(folder.path()).expect("a list");
    let Content::Several(outline) = &all[0].state else { panic!("{:?}", all[0]) };
    assert_eq!((outline.runs, outline.measured, all[0].label()), (2, 1, Some("mine")));
    assert!(all.iter().all(Saved::is_own) && !all[2].is_readable());
    fs::write(at("run.json"), "{").expect("a file");
    let all = list(folder.path()).expect("a list");
    assert!(!all.iter().find(|it| it.id == "run.json").expect("it is there").is_own());
}

#[test]
fn an_outline_agrees_with_the_record() {
    let mut record = fixture::record(&[]);
    let outline = |record: &RunRecord| -> Outline {
        serde_json::from_value(serde_json::to_value(record).expect("JSON")).expect("an outline")
    };
    let last = record.measured().last().expect("a stage");
    let rate: f64 = last.operations.iter().map(|it| it.throughput_per_s).sum();
    assert_eq!(outline(&record).ok_per_s(), Some(rate));
    assert_eq!(outline(&record).verdict(), "valid");
    record.stages[0].verdict = Verdict::Degraded { failed_share: 0.5, outage_s: 0.0 };
    assert_eq!(outline(&record).verdict(), "degraded");
    record.partial = true;
    assert_eq!(outline(&record).verdict(), "partial");
    record.stages.clear();
    assert_eq!(outline(&record).ok_per_s(), None);
    record.partial = false;
    assert_eq!(outline(&record).verdict(), "nothing measured");
}
