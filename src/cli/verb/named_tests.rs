//! Runs by name: every kind of name, and names that are slightly wrong.

use super::*;
use crate::cli::verb::saved::list;
use crate::record::fixture;
use std::fs;
use std::path::Path;

/// A folder with runs that have these names, start times and labels.
fn folder(runs: &[(&str, &str, Option<&str>)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, began, label) in runs {
        let mut record = fixture::record(&[]);
        (*began).clone_into(&mut record.started_at);
        record.plan.label = label.map(str::to_owned);
        let run = folder.path().join(name);
        fs::create_dir_all(&run).expect("a folder");
        fs::write(run.join("run.json"), serde_json::to_string(&record).expect("JSON")).unwrap();
    }
    folder
}

fn named(folder: &Path, name: &str) -> Result<PathBuf, Invalid> {
    find(Path::new(name), || list(folder).unwrap_or_default())
}

#[test]
fn a_run_has_many_names() {
    let folder = folder(&[
        ("20260101T000000Z", "2026-01-01T00:00:00.000Z", Some("after the update")),
        ("20260102T000000Z", "2026-01-02T00:00:00.000Z", Some("after the update")),
        ("20260102T000000Z-2", "2026-01-02T00:00:00.500Z", Some("20260101")),
        ("before", "2025-12-01T00:00:00.000Z", None),
        ("before-2", "2025-12-02T00:00:00.000Z", None),
    ]);
    let at = |name: &str| folder.path().join(name);
    fs::write(at("latest-notes.txt"), "").expect("a file");
    let named = |name: &str| named(folder.path(), name);
    let run = |name: &str| Ok(at(name).join("run.json"));
    for (name, wanted) in [
        ("latest", "20260102T000000Z-2"),
        ("latest~0", "20260102T000000Z-2"),
        ("latest~2", "20260101T000000Z"),
        ("20260101T", "20260101T000000Z"),
        ("20260102T000000Z", "20260102T000000Z"),
        ("20260102T000000Z-", "20260102T000000Z-2"),
        ("after the update", "20260102T000000Z"),
        // A label takes precedence over the prefix of another run's name, and a whole name over
        // both.
        ("20260101", "20260102T000000Z-2"),
        ("before", "before"),
    ] {
        assert_eq!(named(name), run(wanted), "{name}");
    }
    // An existing path is used as it is, and what looks like a path is left to its reader.
    let path = at("20260101T000000Z");
    assert_eq!(find(&path, Vec::new), Ok(path));
    assert_eq!(named("no/such"), Ok(PathBuf::from("no/such")));
    for (name, words) in [
        (
            "2026",
            "3 runs begin with \"2026\", such as \"20260102T000000Z-2\" and \"20260102T000000Z\"",
        ),
        ("1999", "no run is called \"1999\", and no name begins with it; see springload list"),
        (
            "after the updat",
            "no run is called \"after the updat\", and no name begins with it; did",
        ),
        ("latest~5", "latest~5 does not exist: there are 5 saved runs; see springload list"),
    ] {
        let mistake = named(name).expect_err(name).to_string();
        assert!(mistake.starts_with(&format!("RUN: {words}")), "{mistake}");
    }
}

#[test]
fn names_that_are_nearly_right_are_suggested() {
    let folder = folder(&[
        ("20260102T000000Z", "2026-01-02T00:00:00.000Z", Some("evil\u{1b}[31m label")),
        ("before", "2025-12-01T00:00:00.000Z", Some("after the update")),
    ]);
    for (name, meant) in [
        ("lastest", "did you mean latest?"),
        ("latest-1", "did you mean latest?"),
        ("befroe", "did you mean before?"),
        ("after teh update", "did you mean \"after the update\"?"),
        ("20260102T00000Z", "did you mean 20260102T000000Z?"),
        ("evil[31m label", "did you mean \"evil\\u{1b}[31m label\"?"),
    ] {
        let mistake = named(folder.path(), name).expect_err(name).to_string();
        assert!(mistake.ends_with(meant), "{mistake}");
        assert!(!mistake.contains('\u{1b}'), "{mistake:?}");
    }
    assert!(named(&folder.path().join("nowhere"), "latest").is_err());
}

#[test]
fn the_latest_is_of_this_folder_if_there_is_one() {
    let folder = folder(&[("one", "2026-01-02T00:00:00.000Z", Some("nightly"))]);
    let run = |at: &str, here: bool| {
        let mut saved = list(folder.path()).expect("a list");
        let saved = saved.pop().expect("a run");
        Saved { id: at.to_owned(), file: PathBuf::from(at), here, ..saved }
    };
    // The newest first, as they are listed.
    let both = || vec![run("/b/two", false), run("/a/one", true), run("/b/one", false)];
    for name in ["latest", "nightly"] {
        assert_eq!(find(Path::new(name), both), Ok(PathBuf::from("/a/one")), "{name}");
        let others = || vec![run("/b/two", false), run("/b/one", false)];
        assert_eq!(find(Path::new(name), others), Ok(PathBuf::from("/b/two")), "{name}");
    }
    // So it is with names, and with their beginnings.
    for (name, wanted) in [("one", "/a/one"), ("on", "/a/one"), ("two", "/b/two"), ("tw", "/b/two")]
    {
        assert_eq!(find(Path::new(name), both), Ok(PathBuf::from(wanted)), "{name}");
    }
    // Runs of another project are not counted after those of this one.
    let mistake = find(Path::new("latest~1"), both).expect_err("there is one").to_string();
    assert!(mistake.contains("latest~1 does not exist: there is one saved run;"), "{mistake}");
    let elsewhere = || vec![run("/b/two", false)];
    let mistake = find(Path::new("latest~1"), elsewhere).expect_err("there is one").to_string();
    assert!(mistake.contains("there is one saved run elsewhere, none here"), "{mistake}");
}

#[test]
fn where_no_runs_are_saved_the_message_names_the_folder_and_the_next_one_above_that_has_some() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let below = folder.path().join("docs/notes");
    fs::create_dir_all(folder.path().join(RUNS)).expect("a folder");
    let message = nowhere("latest~1", &below).to_string();
    let looked = below.join(RUNS).display().to_string();
    let start = format!("RUN: latest~1 does not exist: no runs are saved in {looked}; go to ");
    let rest = message.strip_prefix(&start).unwrap_or_else(|| panic!("{message}"));
    let above = folder.path().display().to_string();
    assert_eq!(rest, format!("{above}, which has some, or give the path of the run"));
    // So it is in the list.
    assert_eq!(none_in(&below), format!("no runs in {looked}; go to {above}, which has some"));
    let alone = |folder: &Path| {
        let message = nowhere("latest", folder).to_string();
        assert!(message.contains("go to the folder where the run was started"), "{message}");
        assert_eq!(none_in(folder), none_yet(&folder.join(RUNS)));
    };
    alone(Path::new("/"));
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o1777)).expect("as for /tmp");
    alone(&below);
}

#[test]
fn runs_saved_elsewhere_are_called_by_their_folder() {
    let folder = folder(&[("one", "2026-01-02T00:00:00.000Z", None)]);
    let run = |at: &str| {
        let mut saved = list(folder.path()).expect("a list");
        let saved = saved.pop().expect("a run");
        Saved { id: format!("{at}/one"), file: PathBuf::from(at), ..saved }
    };
    let both = || vec![run("/a"), run("/b")];
    for name in ["one", "on"] {
        assert_eq!(find(Path::new(name), || vec![run("/a")]), Ok(PathBuf::from("/a")));
        let mistake = find(Path::new(name), both).expect_err("there are two").to_string();
        assert!(mistake.starts_with("RUN: 2 runs begin with"), "{mistake}");
        assert!(mistake.contains("\"/a/one\" and \"/b/one\""), "{mistake}");
    }
    assert_eq!(find(Path::new("/b/one"), both), Ok(PathBuf::from("/b")));
}
