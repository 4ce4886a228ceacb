//! `springload ab`: two settings alternately, against a server that is slower for one of them.

use crate::springload::{BINARY, Finished, binary, springload};
use crate::trend::{run, save};
use serde_json::Value;
use springload::embedded::{Delay, Faults, Options, StandIn, bind};
use std::path::Path;

fn server(delay_ms: u64) -> StandIn {
    let delay = Delay::Constant { ns: delay_ms * 1_000_000 };
    let faults = Faults { delay, ..Faults::default() };
    let options = Options { faults, ..Options::default() };
    StandIn::start(bind("127.0.0.1:0").expect("a free port"), options).expect("it starts")
}

const SHORT: [&str; 7] = ["--docs", "20", "--ops", "60", "-c", "2", "-q"];

fn ab(folder: &Path, words: &[&str]) -> Finished {
    let folder = folder.to_str().expect("UTF-8");
    springload([&["ab", "-o", folder], &SHORT[..], words].concat())
}

fn judged(run: &Finished) -> Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {}", run.stderr))
}

#[test]
fn a_slower_server_is_found_worse_and_the_verdict_is_saved() {
    let (fast, slow) = (server(10), server(30));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (a, b) = (fast.url(), slow.url());
    let sides = ["--a", &a, "--b", &b, "--pairs", "4", "--format", "json"];
    let run = ab(folder.path(), &sides);
    // A busy machine may make the client the limit, which is reported.
    assert!(matches!(run.code, 5 | 7), "{}: {}", run.code, run.stderr);
    let json = judged(&run);
    assert_eq!((&json["verdict"], &json["layout"]), (&"worse".into(), &"interleaved".into()));
    let p50 = json["comparisons"].as_array().expect("figures");
    let p50 = p50.iter().find(|it| it["metric"] == "p50").expect("a median");
    // The width of the interval depends on the machine, and of two pairs it is wide.
    let low = p50["low"].as_f64().expect("an end");
    assert!(low > 1.0 || p50["verdict"] == "cannot_tell", "{p50:#}");
    assert!(p50["ratio"].as_f64().expect("a ratio") > 1.5, "{p50:#}");
    assert_eq!(json["differs"][0]["what"], "command");
    let alarms = json["alarms"].as_f64().expect("a level");
    assert!(alarms < 0.0499, "looks share the level: {alarms}");
    // The machine was measured before each pair, and after the last.
    let control = &json["control"];
    let rates = control["rates_per_s"].as_array().expect("rates");
    assert_eq!(rates.len(), json["a"].as_array().expect("runs").len() + 1, "{control}");
    assert!(rates.iter().all(|rate| rate.as_f64().is_some_and(|rate| rate > 100.0)), "{control}");
    for key in ["rate_per_s", "variation_percent"] {
        assert!(control[key].is_number(), "{control}");
    }
    for warning in control["warnings"].as_array().expect("warnings") {
        assert!(json["notes"].as_array().expect("notes").contains(warning), "{json:#}");
    }
    let kept = std::fs::read_to_string(folder.path().join("ab.json")).expect("a file");
    let kept: Value = serde_json::from_str(&kept).expect("JSON");
    assert_eq!(kept["control_per_s"], control["rates_per_s"]);
    let page = std::fs::read_to_string(folder.path().join("report.html")).expect("a page");
    assert!(page.contains("B is worse") && page.contains("<svg class=\"forest\""));
    assert!(page.contains("<p>the machine itself: null responder "));
    // `compare` finds the same in the folders of the sides, later.
    let side = |name: &str| folder.path().join(name).display().to_string();
    let again = springload(["compare", &side("a"), &side("b"), "--format", "json"]);
    assert_eq!(judged(&again)["verdict"], "worse");
    for server in [&fast, &slow] {
        let counters = server.counters();
        assert_eq!(counters.databases_deleted, counters.databases_created, "each run its own");
    }
}

#[test]
fn sides_take_turns_with_their_own_flags() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let words = ["--a", "--batch 5 -c 3", "--b", "--batch=10", "--pairs", "4", "--dry-run"];
    let run = ab(folder.path(), &words);
    assert_eq!((run.code, &run.stderr[..]), (0, ""));
    let side = |line: &str| match (line.contains("--batch=5"), line.contains("--batch=10")) {
        (true, false) if line.contains("--connections=3") && !line.contains("--connections=2") => {
            'A'
        }
        (false, true) if line.contains("--connections=2") => 'B',
        _ => panic!("{line}"),
    };
    let order: String = run.stdout.lines().map(side).collect();
    assert!(["ABBAABBA", "BAABBAAB"].contains(&&*order), "{order}");
    assert!(!folder.path().join("ab.json").exists());
}

#[test]
fn saved_runs_tell_beforehand_how_many_pairs_it_takes() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let stderr_of = |more: &[&str]| {
        let mut command = binary();
        command.args(["ab", "basic", "--docs", "200", "--ops", "400", "-c", "2", "--b=-c 4"]);
        command.args(more).current_dir(folder.path());
        let output = command.output().expect("it runs");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).expect("UTF-8")
    };
    let few = "fewer than 4 saved runs of A's plan";
    assert!(stderr_of(&["--dry-run"]).contains(few));
    // Runs of B say nothing about A, even if the difference was only in a command before them.
    let runs = folder.path().join("springload-runs");
    for nth in 0..8 {
        save(&runs, &format!("ab-1/b/{nth:02}"), &run(nth, 1.0));
    }
    std::fs::write(runs.join("ab-1/ab.json"), "{}").expect("a file");
    for nth in 0..3 {
        save(&runs, &format!("{nth}"), &run(nth, 1.0));
    }
    assert!(stderr_of(&["--dry-run"]).contains(few));
    for nth in 3..6 {
        save(&folder.path().join("ab"), &format!("a/{nth}"), &run(nth, 1.0));
    }
    let of_both = stderr_of(&["--dry-run", "-o", "ab", "--pairs", "6"]);
    assert!(of_both.starts_with("6 saved runs of A's plan; "), "{of_both}");
    for part in ["6 pairs find", "for 5 %", "\n  all throughput", "\n  all p50", " pairs\n"] {
        assert!(of_both.contains(part), "{part}: {of_both}");
    }
    assert!(!of_both.contains("err"), "{of_both}");
    let gated = stderr_of(&["--dry-run", "-o", "ab", "--gate", "read.p50"]);
    assert!(gated.contains("\n  read p50") && !gated.contains("throughput"), "{gated}");
    assert!(stderr_of(&["--dry-run", "-o", "ab", "-d", "9s"]).contains(few), "another plan");
    assert_eq!(stderr_of(&["--dry-run", "-o", "ab", "-q"]), "");
}

#[test]
fn what_was_interrupted_goes_on_where_it_was() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let server = server(1);
    let (flag, output) = (folder.path().join("flag"), folder.path().join("ab"));
    let before = format!("test -e '{}'", flag.display());
    let url = server.url();
    let words = [&*url, "--before-a", &before, "--before-b", &before, "--pairs", "2"];
    let failed = ab(&output, &words);
    assert_eq!(failed.code, 1, "{}", failed.stderr);
    assert!(failed.stderr.contains("ended with exit status: 1"), "{}", failed.stderr);
    assert!(failed.stderr.contains("continues it"), "{}", failed.stderr);
    std::fs::write(&flag, "").expect("a file");
    let done = ab(&output, &words);
    assert!(matches!(done.code, 0 | 5 | 7), "{}", done.stderr);
    let began = |name: &str| {
        let file = output.join(name).join("run.json");
        let text = std::fs::read_to_string(file).expect("a record");
        serde_json::from_str::<Value>(&text).expect("JSON")["started_at"].clone()
    };
    let all = ["a/01", "b/01", "a/02", "b/02"];
    let first = all.map(began);
    let control = || {
        let text = std::fs::read_to_string(output.join("ab.json")).expect("a file");
        serde_json::from_str::<Value>(&text).expect("JSON")["control_per_s"].clone()
    };
    let measured = control();
    assert_eq!(measured.as_array().map(Vec::len), Some(3), "{measured}");
    // A run that is incomplete or has another plan is measured again, and nothing else.
    let change = |name: &str, change: &dyn Fn(&mut Value)| {
        let file = output.join(name).join("run.json");
        let text = std::fs::read_to_string(&file).expect("a record");
        let mut record: Value = serde_json::from_str(&text).expect("JSON");
        change(&mut record);
        std::fs::write(&file, record.to_string()).expect("a record");
    };
    change("a/02", &|record| record["plan"]["command"] = "springload run another".into());
    change("b/02", &|record| record["partial"] = true.into());
    let again = ab(&output, &words);
    assert!(matches!(again.code, 0 | 5 | 7), "{}", again.stderr);
    let second = all.map(began);
    assert_eq!(first[..2], second[..2]);
    assert!(first[2] != second[2] && first[3] != second[3], "{first:?} {second:?}");
    assert_eq!(control(), measured, "what is known of the machine is kept");
    let other = ["--a", "-c 3", "--pairs", "2"];
    ab(&output, &other).refused(2, &["contains another comparison"]);
}

/// The page of a comparison.
fn page(folder: &Path) -> String {
    std::fs::read_to_string(folder.join("report.html")).expect("a page")
}

#[test]
fn the_page_is_there_after_each_pair_and_says_that_nothing_is_decided() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (fast, slow) = (server(1), server(20));
    let (pages, output) = (folder.path().join("pages"), folder.path().join("ab"));
    // A command notes the page before each run of B; in the third pair it presses Ctrl-C.
    let note = format!(
        "n=$(ls '{0}'/b 2>/dev/null | wc -l); cp '{0}/report.html' '{1}'-$n 2>/dev/null; \
         test $n -lt 2 -o -e '{1}'-go || {{ kill -INT $PPID; sleep 2; }}",
        output.display(),
        pages.display()
    );
    let (a, b) = (fast.url(), slow.url());
    let words = ["--a", &*a, "--b", &*b, "--pairs", "6", "--before-b", &note];
    let failed = ab(&output, &words);
    assert_eq!(failed.code, 130, "{}", failed.stderr);
    assert!(failed.stderr.contains("the comparison is incomplete"), "{}", failed.stderr);
    let under_way = std::fs::read_to_string(folder.path().join("pages-1")).expect("a page");
    assert!(under_way.contains("after 1 of 6 pairs, no verdict yet"), "after the first");
    assert!(under_way.contains("this was written while the comparison was under way"));
    assert!(under_way.contains("http-equiv=\"refresh\""), "it is loaded again");
    let ended = page(&output);
    assert!(ended.contains("<h1>B against A, after 2 of 6 pairs</h1>"));
    // If the machine was too busy, "not trustworthy" comes before it.
    assert!(ended.contains("after 2 of 6 pairs, no verdict yet</strong>"));
    assert!(ended.contains("the comparison was ended early"), "it is not under way any more");
    assert!(ended.contains("There may be a verdict after 3, 5 or 6 pairs, not before"));
    assert!(!ended.contains("http-equiv=\"refresh\""));
    for verdict in ["B is worse", ">worse<", "class=\"worse\"", "scope=\"col\">verdict"] {
        assert!(!ended.contains(verdict) && !under_way.contains(verdict), "{verdict}");
    }
    std::fs::write(folder.path().join("pages-go"), "").expect("a file");
    let done = ab(&output, &words);
    assert!(matches!(done.code, 5 | 7), "{}: {}", done.code, done.stderr);
    let whole = page(&output);
    assert!(whole.contains("B is worse") && !whole.contains("no verdict yet"));
}

#[test]
fn a_page_that_cannot_be_written_does_not_end_it() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::create_dir_all(folder.path().join("report.html/in/the/way")).expect("a folder");
    let server = server(1);
    let url = server.url();
    let run = ab(folder.path(), &[&url, "--pairs", "3", "--delta", "100%"]);
    assert!(run.stdout.contains("A  3 runs: a/01 to a/03"), "{}", run.stdout);
    let complaints = run.stderr.matches("cannot write").count();
    assert_eq!((run.stderr.matches("warning: ").count(), complaints), (1, 2), "{}", run.stderr);
    assert!(run.stderr.contains("; the comparison goes on"), "{}", run.stderr);
    assert!(matches!(run.code, 1 | 5 | 7), "{}: {}", run.code, run.stderr);
}

#[test]
fn a_run_that_failed_as_a_whole_is_measured_again() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let server = server(1);
    // The command's output is not part of the report.
    let words = [&server.url(), "--pairs", "1", "--before-b", "echo again", "--format", "json"];
    let run = ab(folder.path(), &words);
    assert!(matches!(run.code, 0 | 5), "{}", run.stderr);
    assert!(judged(&run)["b"].is_array() && run.stderr.contains("again\n"), "{}", run.stderr);
    let file = folder.path().join("b/01/run.json");
    let read = || -> Value {
        serde_json::from_str(&std::fs::read_to_string(&file).expect("a record")).expect("JSON")
    };
    let mut failed = read();
    failed["result"] = serde_json::json!({ "kind": "failed", "exit_status": 3, "reason": "gone" });
    std::fs::write(&file, failed.to_string()).expect("a record");
    let run = ab(folder.path(), &words);
    assert!(matches!(run.code, 0 | 5), "{}", run.stderr);
    assert_ne!(read()["result"]["exit_status"], 3);
}

#[test]
fn a_dead_server_ends_it_and_mistakes_are_named() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let dead = ab(folder.path(), &["127.0.0.1:1", "--b", "-c 3"]);
    assert_eq!(dead.code, 3, "{}", dead.stderr);
    assert!(dead.stderr.contains("incomplete"), "{}", dead.stderr);
    for (words, message) in [
        (["--a", "--nope"], "--a"),
        (["--b", "'open"], "--b"),
        (["--b", "http://localhost:1/named"], "names a database"),
        (["--pairs", "0"], "--pairs"),
    ] {
        ab(&folder.path().join("new"), &words).refused(2, &[message]);
    }
}

#[test]
fn another_springload_can_measure_a() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (server, output) = (server(1), folder.path().join("ab"));
    let url = server.url();
    let words = [&*url, "--against", BINARY, "--pairs", "2", "--format", "json"];
    let run = ab(&output, &words);
    assert!(matches!(run.code, 0 | 5 | 7), "{}", run.stderr);
    let json = judged(&run);
    assert_eq!(json["a"].as_array().map(Vec::len), Some(2));
    // It is the same program with the same plan, so nothing differs.
    assert_eq!(json["differs"], serde_json::json!([]), "{}", json["differs"]);
    let secret = url.replace("http://", "http://user:s3cret@");
    ab(&output, &[&secret, "--against", BINARY]).refused(2, &["SPRINGLOAD_PASSWORD"]);
    ab(&output, &[&url, "--against", "/bin/echo"]).refused(2, &["is not springload"]);
    ab(&output, &[&url, "--against", "no/such"]).refused(2, &["cannot be started"]);
}

#[test]
fn passwords_of_sides_are_not_stored() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let server = server(0);
    let target = server.url().replace("http://", "http://user:s3cret@");
    ab(folder.path(), &["--a", &target, "--b", &target, "--pairs", "1"]);
    let text = std::fs::read_to_string(folder.path().join("ab.json")).expect("a file");
    assert!(text.contains("user:***@") && !text.contains("s3cret"), "{text}");
}
