//! `springload max`: it stays within a server's capacity, saves its steps, and explains why it
//! found nothing.

use crate::springload::{Finished, Run, springload};
use serde_json::Value;
use springload::embedded::{Delay, Fault, Faults, Lie, Occurrence, Options, StandIn, bind};
use std::path::Path;

fn server(faults: Faults) -> StandIn {
    let options = Options { faults, ..Options::default() };
    StandIn::start(bind("127.0.0.1:0").expect("a free port"), options).expect("it starts")
}

const SHORT: [&str; 8] = ["--docs", "20", "-d", "1s", "--repeat", "1", "-q", "--format=json"];

fn max(folder: &Path, words: &[&str]) -> Finished {
    let folder = folder.to_str().expect("UTF-8");
    springload([&["max", "-o", folder], &SHORT[..], words].concat())
}

/// The report, which equals the file.
fn found(folder: &Path, run: &Finished) -> Value {
    let text = std::fs::read_to_string(folder.join("max.json")).expect("max.json");
    let kept: Value = serde_json::from_str(&text).expect("JSON");
    let printed: Value =
        serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{}", run.stderr));
    assert_eq!(kept, printed);
    for step in kept["steps"].as_array().expect("steps") {
        let run = folder.join(step["run"].as_str().expect("a path"));
        assert!(run.is_file(), "{step}");
    }
    kept
}

#[test]
fn no_more_than_the_capacity_is_found() {
    let server = server(Faults { capacity: Some(300.0), ..Faults::default() });
    let folder = tempfile::tempdir().expect("a temporary folder");
    let url = server.url();
    let run = max(folder.path(), &[&url, "--slo", "p99 < 40ms", "--from", "100"]);
    let found = found(folder.path(), &run);
    let steps = found["steps"].as_array().expect("steps");
    // A busy machine may find less, or nothing; the upper bound is strict.
    assert!(matches!(run.code, 0 | 4 | 5), "{}: {found:#}", run.code);
    assert!(found["sustained_per_s"].as_f64().is_none_or(|rate| rate <= 330.0), "{found:#}");
    assert!(!steps.is_empty());
    let held = |it: &&Value| it["outcome"] == "held";
    assert!(steps.iter().filter(held).all(|it| it["level"].as_f64() <= Some(350.0)), "{found:#}");
    let page = std::fs::read_to_string(folder.path().join("report.html")).expect("a page");
    assert!(page.contains("Response times by load"));
}

#[test]
fn where_not_even_the_lowest_holds_that_is_reported() {
    let delay = Delay::Constant { ns: 60_000_000 };
    let server = server(Faults { delay, ..Faults::default() });
    let folder = tempfile::tempdir().expect("a temporary folder");
    let url = server.url();
    let run = max(folder.path(), &[&url, "--slo", "max < 20ms", "--from", "2"]);
    let found = found(folder.path(), &run);
    assert_eq!((run.code, &found["ended"]), (4, &"nothing_holds".into()), "{}", run.stderr);
    assert_eq!(found["sustained_per_s"], Value::Null);
    let steps = found["steps"].as_array().expect("steps");
    assert_eq!(steps.last().expect("a step")["level"], 1.0);
    // The text report begins with it.
    let again = tempfile::tempdir().expect("a temporary folder");
    let output = again.path().display().to_string();
    let words = ["max", &url, "-o", &output, "--slo", "max < 20ms", "--from", "1", "-d", "1s"];
    let run = springload([&words[..], &["--docs", "20", "-q"]].concat());
    assert!(run.stdout.starts_with("✗ not even a rate of 1 holds: all.max "), "{}", run.stdout);
}

#[test]
fn a_dead_server_ends_the_search_at_once() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let run = max(folder.path(), &["http://127.0.0.1:1", "--slo", "p99 < 20ms"]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stderr.contains("127.0.0.1:1"), "{}", run.stderr);
    assert_eq!(found(folder.path(), &run)["ended"], "failed");
}

#[test]
fn wrong_data_is_no_success_at_any_rate() {
    let fault = Fault::Lie(Lie::WrongBody);
    let named = vec![Occurrence { fault, fraction: 0.2, from_ns: 0, until_ns: None }];
    let server = server(Faults { named, ..Faults::default() });
    let folder = tempfile::tempdir().expect("a temporary folder");
    let url = server.url();
    let words = [&url, "--verify", "--mix", "read=1", "-c", "4", "--from", "100", "--to", "100"];
    let run = max(folder.path(), &words);
    assert_eq!(run.code, 6, "{}", run.stderr);
    let found = found(folder.path(), &run);
    let first = &found["steps"][0];
    assert_eq!((&first["outcome"], &first["data_wrong"]), (&"missed".into(), &true.into()));
    assert!(first["reason"].as_str().expect("words").starts_with("data wrong: "), "{first:#}");
    let page = std::fs::read_to_string(folder.path().join("report.html")).expect("a page");
    assert!(page.contains("data was wrong in "));
}

#[test]
fn a_step_that_cannot_be_saved_ends_the_search() {
    let server = server(Faults::default());
    let url = server.url();
    let words = ["max", &url, "--docs", "20", "-d", "5s", "--repeat", "1", "--format", "json"];
    let run = Run::of(&[&words[..], &["--from", "20", "--to", "20"]].concat()).start();
    let place = run.output().join("steps/000");
    // Replaces the step's folder with a file, unless a second is just being saved there.
    let put = || {
        let there = server.counters().requests > 2;
        there && std::fs::remove_dir_all(&place).and_then(|()| std::fs::write(&place, "x")).is_ok()
    };
    // A minute at most.
    assert!((0..3_000).any(|_| put() || {
        std::thread::sleep(std::time::Duration::from_millis(20));
        false
    }));
    let run = run.finish();
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(run.stderr.contains("steps/000/run.json: "), "{}", run.stderr);
    let kept = std::fs::read_to_string(run.output().join("max.json")).expect("a file");
    let kept: Value = serde_json::from_str(&kept).expect("JSON");
    assert_eq!((&kept["ended"], &kept["steps"]), (&"failed".into(), &Value::Array(vec![])));
}

#[test]
fn what_was_tried_before_an_interruption_is_kept_and_goes_on() {
    let server = server(Faults::default());
    let url = server.url();
    let words = ["max", &url, "--slo", "p50 < 60s", "--from", "20", "--to", "40", "-d", "1s"];
    let more = ["--docs", "20", "--repeat", "2", "--format", "json"];
    let words = [&words[..], &more].concat();
    let run = Run::of(&words).start();
    let second = run.output().join("steps/001/run.json");
    // A minute at most.
    for _ in 0..3_000 {
        if second.exists() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    run.interrupt();
    let run = run.finish();
    let stopped = found(&run.output(), &run);
    assert_eq!((run.code, &stopped["ended"]), (130, &"stopped".into()), "{}", run.stderr);
    let kept = stopped["steps"].as_array().expect("steps");
    let folder = run.output().display().to_string();
    let how = format!("the same command with -o {folder} continues it");
    assert!(!kept.is_empty() && run.stderr.contains(&how), "{}", run.stderr);
    // With any other flag it is a different search.
    let again = |words: &[&str]| springload([words, &["-o", &folder]].concat());
    let other = again(&[&words[..], &["--seed", "7"]].concat());
    assert!(other.code == 2 && other.stderr.contains("has another search"), "{}", other.stderr);
    let whole = again(&words);
    assert!(matches!(whole.code, 0 | 4 | 5), "{}", whole.stderr);
    let whole = found(&run.output(), &whole);
    let steps = whole["steps"].as_array().expect("steps");
    assert!(steps.len() > kept.len() && steps[..kept.len()] == kept[..], "{whole:#}");
    assert_ne!(whole["ended"], "stopped");
    let refused = again(&words);
    assert!(refused.stderr.contains("has a complete search already"), "{}", refused.stderr);
}

/// As after a kill in between: the record of the last step is saved, but not yet noted in max.json.
#[test]
fn a_step_that_ended_before_it_was_noted_is_not_measured_again() {
    let server = server(Faults::default());
    let url = server.url();
    let common = ["-d", "1s", "--repeat", "1", "-q", "--format=json", "--from", "20", "--to", "20"];
    for steps in [&[&*url, "--docs", "20"][..], &["--", "http", &url]] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let output = folder.path().display().to_string();
        let words = [&["max", "-o", &output], &common[..], steps].concat();
        let run = springload(&words);
        let whole = found(folder.path(), &run);
        let count = whole["steps"].as_array().expect("steps").len();
        let (mut cut, last) =
            (whole.clone(), folder.path().join(format!("steps/{:03}", count - 1)));
        cut["steps"].as_array_mut().expect("steps").pop();
        cut["ended"] = "stopped".into();
        let before = std::fs::read(last.join("run.json")).expect("a record");
        std::fs::write(folder.path().join("max.json"), cut.to_string()).expect("a file");
        let again = springload(&words);
        assert_eq!(again.code, run.code, "{}", again.stderr);
        let kept = found(folder.path(), &again);
        assert_eq!((&kept["steps"], &kept["ended"]), (&whole["steps"], &whole["ended"]));
        let after = std::fs::read(last.join("run.json")).expect("a record");
        assert!(before == after && !last.join("run-1.json").exists(), "it was measured again");
        // A record with a different plan is measured again.
        let text = String::from_utf8(before).expect("UTF-8").replace("=20 ", "=21 ");
        std::fs::write(last.join("run.json"), text).expect("a record");
        std::fs::write(folder.path().join("max.json"), cut.to_string()).expect("a file");
        springload(&words);
        assert!(last.join("run-1.json").exists(), "it was not measured");
    }
}

#[test]
fn what_cannot_be_searched_is_refused() {
    let refused = |words: &[&str], text: &str| {
        let run = springload([&["max", "--slo", "p99 < 1s"], words].concat());
        assert!(run.code == 2 && run.stderr.contains(text), "{words:?}: {}", run.stderr);
    };
    refused(&["--rate", "5"], "--rate: is what the search varies");
    refused(&["--search", "connections", "-c", "5"], "--connections: is what the search varies");
    refused(&["--ops", "5"], "--ops: would end a step");
    refused(&["--agents", "2", "--allow-lost"], "--allow-lost: would try less than the level");
    refused(&["--", "http", "--allow-lost"], "--allow-lost: would try less than the level");
    refused(&["--from", "0"], "--from: ");
    refused(&["--from", "10", "--to", "5"], "--from: ");
    refused(&["--slo", "p99 = 5"], "has no >, >=, < or <=");
    for slo in ["throughput > 300", "p99 > 20ms", "read.throughput >= 5"] {
        refused(
            &["--slo", slo],
            " gets easier to meet as the load grows, so a search cannot go by it",
        );
    }
    let strange = "--slo: no step measures the operations of";
    refused(&["--slo", "scan.p99 < 1s"], &format!("{strange} scan.p99 < 1s"));
    refused(&["--slo", "bulk_insert.p99 < 1s"], &format!("{strange} bulk_insert.p99 < 1s"));
    refused(&["--slo", "update.p50 < 1s", "--mix", "read=1"], &format!("{strange} update.p50"));
}

/// The flags before the words of another verb.
const BEFORE: [&str; 6] = ["-d", "1s", "--repeat", "1", "-q", "--format=json"];

/// A search with the words of another verb.
fn with(folder: &Path, before: &[&str], words: &[&str]) -> Finished {
    let folder = folder.to_str().expect("UTF-8");
    springload([&["max", "-o", folder], &BEFORE[..], before, &["--"], words].concat())
}

/// Loads a few records with ycsb, and returns the words of its run phase.
fn ycsb(url: &str) -> Vec<String> {
    let words = |phase: &str| {
        let properties = [
            "workload=site.ycsb.workloads.CoreWorkload".to_owned(),
            "recordcount=50".to_owned(),
            "readproportion=1".to_owned(),
            format!("couchdb.url={url}"),
        ];
        let verb = ["ycsb", phase, "couchdb"].map(str::to_owned);
        let properties = properties.into_iter().flat_map(|it| ["-p".to_owned(), it]);
        verb.into_iter().chain(properties).collect::<Vec<_>>()
    };
    let loaded = springload(words("load").into_iter().chain(["-q".to_owned()]));
    assert!(matches!(loaded.code, 0 | 5), "{}", loaded.stderr);
    words("run")
}

#[test]
fn other_verbs_are_searched_by_their_own_command_lines() {
    let faults = Faults { capacity: Some(100.0), ..Faults::default() };
    let listeners = (0..2).map(|_| bind("127.0.0.1:0").expect("a free port")).collect();
    let server = StandIn::start_nodes(listeners, Options { faults, ..Options::default() });
    let server = server.expect("it starts");
    let [url, other] = &server.urls()[..] else { panic!("two nodes") };
    let (url, other) = (url.clone(), other.clone());
    let ycsb = ycsb(&url);
    let ycsb: Vec<&str> = ycsb.iter().map(String::as_str).collect();
    let rate = ["--slo", "p90 < 40ms", "--from", "80", "--to", "120"];
    let burst = ["springload", "burst", &url, &other, "-c", "4"];
    for (words, nodes) in [(&["http", &url][..], 1), (&burst, 2), (&ycsb, 1)] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let run = with(folder.path(), &rate, words);
        assert!(matches!(run.code, 0 | 4 | 5), "{words:?}: {}: {}", run.code, run.stderr);
        let found = found(folder.path(), &run);
        let sustained = found["sustained_per_s"].as_f64();
        assert!(sustained.is_none_or(|rate| rate <= 110.0), "{words:?}: {found:#}");
        let verb = words.iter().find(|word| **word != "springload").expect("a verb");
        let begins = format!("springload {verb} ");
        assert!(found["step_command"].as_str().expect("words").starts_with(&begins), "{found:#}");
        assert_eq!(found["step_verb"], *verb, "{found:#}");
        assert!(found["command"].as_str().expect("words").contains(" -- "), "{found:#}");
        assert_eq!(found["nodes"], nodes, "{words:?}");
        assert!(found["target"].as_str().expect("an address").contains("127.0.0.1:"), "{found:#}");
        for step in found["steps"].as_array().expect("steps") {
            let file = folder.path().join(step["run"].as_str().expect("a path"));
            let text = std::fs::read_to_string(file).expect("a record");
            let record: Value = serde_json::from_str(&text).expect("JSON");
            let command = record["plan"]["command"].as_str().expect("words");
            assert!(command.starts_with(&begins), "{command}");
            assert!(step["per_s"].as_f64() > Some(1.0), "{step:#}");
        }
    }
}

#[test]
fn connections_are_searched_with_other_verbs_too() {
    let server = server(Faults { capacity: Some(300.0), ..Faults::default() });
    let ycsb = ycsb(&server.url());
    let ycsb: Vec<&str> = ycsb.iter().map(String::as_str).collect();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let before = ["--search", "connections", "--from", "2", "--to", "4", "--slo", "p90 < 60s"];
    let run = with(folder.path(), &before, &ycsb);
    // A debug build may itself be the limit.
    assert!(matches!(run.code, 0 | 4 | 5), "{}: {}", run.code, run.stderr);
    let found = found(folder.path(), &run);
    for step in found["steps"].as_array().expect("steps") {
        let file = folder.path().join(step["run"].as_str().expect("a path"));
        let record: Value =
            serde_json::from_str(&std::fs::read_to_string(file).expect("a file")).expect("JSON");
        assert_eq!(record["plan"]["connections"].as_f64(), step["level"].as_f64(), "{step:#}");
    }
}

#[test]
fn what_another_verb_says_against_it_ends_the_search() {
    let server = server(Faults::default());
    let url = server.url();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let slo = ["--slo", "p99 < 1s"];
    // Mistakes are found first, and leave nothing behind.
    let none = folder.path().join("none");
    for (words, message) in [
        (&["sweep", "-L", "batch=1,2"][..], "--: \"sweep\" cannot be searched; give one of run, h"),
        (&["ycsb", "load", "couchdb"], "--: only the run phase of ycsb can be searched"),
        (&["http", &url, "-r", "5"], "-r: is what the search varies; leave it out"),
        (&["http", &url, "-d", "5s"], "-d: is the length of a step; give -d before --"),
        (&["http", &url, "--conections", "5"], "http has no flag --conections; did you mean"),
        (&["http"], "error: "),
        (&["burst", "ftp://h"], "error: "),
    ] {
        let run = with(&none, &slo, words);
        assert_eq!((run.code, &run.stdout[..]), (2, ""), "{words:?}: {}", run.stderr);
        assert!(run.stderr.contains(message) && run.stderr.lines().count() == 1, "{}", run.stderr);
        assert!(!none.exists(), "{words:?}");
    }
    let run = with(&none, &["--slo", "read.p99 < 1s"], &["http", &url]);
    let message = "error: --slo: no stage does the operations of read.p99 < 1s; ";
    assert!(run.code == 2 && run.stderr.starts_with(message), "{}", run.stderr);
    let run = with(&none, &["--docs", "5", "-k", "http://h"], &["http", &url]);
    for flag in ["TARGET", "--docs", "--insecure"] {
        assert!(
            run.stderr.contains(&format!("{flag}: is for steps of springload run; put")),
            "{}",
            run.stderr
        );
    }
    assert_eq!(run.code, 2, "{}", run.stderr);
    // A mistake that only shows in the first step.
    let fill = folder.path().join("fill");
    let run = with(&fill, &["--slo", "bulk_insert.p99 < 1s"], &["run", &url, "--docs", "20"]);
    let message = "error: --slo: no step measures the operations of bulk_insert.p99 < 1s; ";
    assert!(run.code == 2 && run.stderr.starts_with(message), "{}: {}", run.code, run.stderr);
    let failed = found(&fill, &run);
    assert_eq!((&failed["ended"], &failed["steps"]), (&"failed".into(), &Value::Array(vec![])));
    let missing = ["ycsb", "run", "couchdb", "-p", "workload=site.ycsb.workloads.CoreWorkload"];
    let at = format!("couchdb.url={url}");
    let missing = [&missing[..], &["-p", "recordcount=5", "-p", &at]].concat();
    for (name, words, message) in [
        ("dead", &["http", "http://127.0.0.1:1/"][..], "127.0.0.1:1"),
        ("missing", &missing, "no operation of the run stage succeeded"),
    ] {
        let folder = folder.path().join(name);
        let run = with(&folder, &slo, words);
        assert!(run.code == 3 && run.stderr.contains(message), "{}: {}", run.code, run.stderr);
        assert_eq!(found(&folder, &run)["ended"], "failed");
    }
}

/// A search in its first step.
fn under_way(server: &StandIn, words: &[&str]) -> crate::springload::Running {
    let own = ["max", "-o", "out", "--slo", "p99 < 60s", "-q", "--format=json", "--from", "10"];
    let run = Run::bare(&[&own[..], words].concat()).start();
    for _ in 0..3_000 {
        if server.counters().requests > 30 {
            return run;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    panic!("hardly anything was requested");
}

#[test]
fn an_interruption_ends_the_step_of_another_verb_too() {
    let server = server(Faults::default());
    let run = under_way(&server, &["-d", "60s", "--", "http", &server.url()]);
    run.interrupt();
    let run = run.finish();
    // The search did not wait for the step.
    let text = std::fs::read_to_string(run.output().join("steps/000/run.json")).expect("a record");
    let record: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(record["partial"], true);
    let found = found(&run.output(), &run);
    assert_eq!((run.code, &found["ended"]), (130, &"stopped".into()), "{}", run.stderr);
}

/// Kills the last process that the run started.
#[cfg(target_os = "linux")]
fn kill_a_child(run: &crate::springload::Running) {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", run.id())).expect("its threads");
    let children = tasks.filter_map(|task| {
        std::fs::read_to_string(task.expect("a thread").path().join("children")).ok()
    });
    let children: String = children.collect();
    let child = children.split_whitespace().next_back().and_then(|id| id.parse().ok());
    let child = child.and_then(rustix::process::Pid::from_raw).expect("a child");
    rustix::process::kill_process(child, rustix::process::Signal::KILL).expect("it runs");
}

#[test]
#[cfg(target_os = "linux")]
fn a_step_that_is_killed_fails_the_search() {
    let server = server(Faults::default());
    let run = under_way(&server, &["-d", "60s", "--", "http", &server.url()]);
    kill_a_child(&run);
    let run = run.finish();
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(run.stderr.contains("left no record: signal: 9"), "{}", run.stderr);
    assert_eq!(found(&run.output(), &run)["ended"], "failed");
}

/// Without the agent, there is less load than the level in this step and all that follow.
#[test]
#[cfg(target_os = "linux")]
fn a_lost_agent_ends_the_search_and_says_nothing_of_the_server() {
    let server = server(Faults::default());
    let words = ["-d", "8s", "--docs", "20", "--agents", "2", &server.url()];
    let run = under_way(&server, &words);
    kill_a_child(&run);
    let run = run.finish();
    assert_eq!(run.code, 5, "{}", run.stderr);
    assert!(run.stderr.contains("killed by signal 9"), "{}", run.stderr);
    let found = found(&run.output(), &run);
    assert_eq!((&found["ended"], &found["steps"]), (&"failed".into(), &Value::Array(vec![])));
}
