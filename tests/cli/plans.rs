//! Plan files: what they define, what overrides them, and how their mistakes are reported.

use crate::servers::Server;
use crate::springload::{Finished, Run};
use serde_json::Value;
use springload::embedded::Options;
use std::fs;

/// A run in a folder with these files.
fn with(files: &[(&str, &str)], words: &[&str]) -> Run {
    let run = Run::bare(words);
    for (name, text) in files {
        let file = run.folder().join(name);
        fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        fs::write(file, text).expect("a file");
    }
    run
}

/// The output of `--dry-run`, without its command line.
#[track_caller]
fn planned(run: Run) -> Value {
    let ended = run.args(&["--dry-run"]).finish();
    assert_eq!((ended.code, &ended.stderr[..]), (0, ""));
    let mut plan: Value = serde_json::from_str(&ended.stdout).expect("a plan");
    plan["command"].take();
    plan
}

#[track_caller]
fn refused(text: &str, words: &[&str]) -> Finished {
    with(&[("plan.toml", text)], &["run", "plan.toml"]).finish().refused(2, words)
}

#[test]
fn the_plan_of_init_is_that_of_no_flags() {
    let example = Run::bare(&["init"]).finish();
    assert_eq!((example.code, &example.stderr[..]), (0, ""));
    let of_file = planned(with(&[("plan.toml", &example.stdout)], &["run", "plan.toml"]));
    assert_eq!(of_file, planned(Run::bare(&["run"])));
}

#[test]
fn a_file_asks_for_what_its_flags_ask_for() {
    let text = "target = \"http://127.0.0.1:1\"\nconnections = 4\ndocs = 2_000\nops = 0x10\n\
        batch = \"20\"\ngrowth = true\nkeep = false\nrate = 1e3\ntimeout = 2.5\n\
        mix = { read = 3, create = 1 }\nfail-if = [\"read.p99 > 20ms\", \"err > 0.1%\"]\n\
        schema = [\"3:a.json\", \"schemas/b.json\"]\narrivals = \"poisson\"\n";
    let schemas = [("plans/a.json", "{\"a\": 1}"), ("plans/schemas/b.json", "{\"b\": 1}")];
    let files = [&schemas[..], &[("plans/x.toml", text)]].concat();
    let flags = [
        "run",
        "http://127.0.0.1:1",
        "-c",
        "4",
        "--docs",
        "2000",
        "--ops",
        "16",
        "--batch",
        "20",
        "--growth",
        "--rate",
        "1000",
        "--timeout",
        "2.5s",
        "--mix",
        "read=3,create=1",
        "--fail-if",
        "read.p99 > 20ms",
        "--fail-if",
        "err > 0.1%",
        "--schema",
        "3:plans/a.json",
        "--schema",
        "plans/schemas/b.json",
        "--arrivals",
        "poisson",
    ];
    let of_flags = planned(with(&schemas, &flags));
    assert_eq!(planned(with(&files, &["run", "plans/x.toml"])), of_flags);
    assert_eq!(of_flags["schemas"][0]["weight"], 3);
    // Settings that can be written in several ways.
    let stages = "stages = [\"10s:100\", \"20s:100..500\"]\n";
    let of_file = planned(with(&[("x.toml", stages)], &["run", "x.toml"]));
    assert_eq!(of_file, planned(Run::bare(&["run", "--stages", "10s:100,20s:100..500"])));
}

#[test]
fn flags_override_the_file_and_the_file_the_environment() {
    let text = "target = \"http://127.0.0.1:1\"\ndocs = 500\nrate = 100\nfail-if = \"err > 1%\"\n";
    let run =
        |words: &[&str]| planned(with(&[("x.toml", text)], &[&["run", "x.toml"], words].concat()));
    let plan = run(&["--docs", "700", "--fail-if", "p99 > 1s"]);
    assert_eq!(plan["stages"][0]["documents"], 700);
    assert_eq!(plan["thresholds"], serde_json::json!(["all.p99 > 1s"]));
    assert_eq!(plan["stages"][1]["pace"]["loop"], "open");
    // A flag that conflicts with one in the file replaces it.
    let plan = run(&["--stages", "10s:50"]);
    assert_eq!(plan["stages"][1]["pace"]["schedule"]["segments"][0]["from"], 50.0);
    // Stages have their own length: the duration in the file is dropped with its rate.
    let timed = |words: &[&str]| {
        let text = "rate = 100\nduration = \"2m\"\n";
        planned(with(&[("x.toml", text)], &[&["run", "x.toml"], words].concat()))
    };
    for stages in ["10s:50", "5m:50"] {
        assert_eq!(
            timed(&["--stages", stages])["stages"],
            planned(Run::bare(&["run", "--stages", stages]))["stages"]
        );
    }
    let length = |plan: Value| plan["stages"][1]["length_ns"].as_u64();
    assert_eq!(length(timed(&["--rate", "50"])), Some(120_000_000_000));
    assert_eq!(length(timed(&["--stages", "10s:50", "-d", "5s"])), Some(5_000_000_000));
    assert_eq!(run(&["--think", "1s"])["stages"][1]["pace"]["loop"], "closed");
    assert_eq!(run(&["http://127.0.0.1:2"])["target"]["server"], "http://127.0.0.1:2");
    let named = with(&[("x.toml", text)], &["run", "x.toml"]);
    let named = named.envs([("SPRINGLOAD_URL", "http://127.0.0.1:3")]);
    assert_eq!(planned(named)["target"]["server"], "http://127.0.0.1:1");
    // A required flag may be in the file, and the one that requires it on the command line.
    assert_eq!(
        run(&["--arrivals", "poisson"])["stages"][1]["pace"]["schedule"]["arrivals"],
        "poisson"
    );
}

#[test]
fn a_plan_is_run_and_logs_in_from_the_environment() {
    let server = Server::stand_in(Options {
        admin: Some(("ann".to_owned(), "geheim".to_owned())),
        ..Options::default()
    });
    let text = format!("target = \"{}\"\ndocs = 20\nops = 10\nconnections = 2\n", server.url);
    let run = Run::of(&["run", "x.toml"])
        .envs([("SPRINGLOAD_USER", "ann"), ("SPRINGLOAD_PASSWORD", "geheim")]);
    fs::write(run.folder().join("x.toml"), text).expect("a file");
    let run = run.finish().passed();
    assert_eq!(run.sum("bulk_insert", "ok"), 20);
    let command = run.record["plan"]["command"].as_str().expect("a command");
    assert!(command.starts_with("springload run x.toml "), "{command}");
}

#[test]
fn mistakes_are_reported_with_their_line() {
    for (text, words) in [
        (
            "docs = 1\ncnnections = 5\n",
            ["plan.toml:2: cnnections: no such key", "did you mean connections?"],
        ),
        ("whatever = 5\n", ["plan.toml:1: whatever: no such key", "springload init"]),
        ("max_answer = 5\n", ["plan.toml:1: max_answer: no such key", "did you mean max-answer?"]),
        (
            "\ndocs = \"many\"\n",
            ["plan.toml:2: docs: \"many\" is not a count", "give a whole number"],
        ),
        ("docs = -5\n", ["plan.toml:1: docs: \"-5\" is not a count", "50, 20k or 1M"]),
        (
            "workload = \"hat\"\n",
            ["plan.toml:1: workload: unknown value \"hat\"", "did you mean hot?"],
        ),
        ("growth = 1\n", ["plan.toml:1: growth: neither true nor false", "true or false"]),
        ("docs = 1979-05-27\n", ["plan.toml:1: docs: a date", "quotation marks"]),
        ("docs = [[1]]\n", ["plan.toml:1: docs: a list inside a list", "give numbers"]),
        ("docs = \"\"\n", ["plan.toml:1: docs: ", "give"]),
        ("docs = 1\ndocs = 2\n", ["plan.toml:2: ", "duplicate key"]),
        ("docs = \n", ["plan.toml:1: ", "key = value"]),
        ("[run]\ndocs = 5\n", ["plan.toml:1: run: no such key", ";"]),
        ("rate = 5\nstages = \"1s:5\"\n", ["plan.toml:", "cannot be combined"]),
        (
            "password = \"x\"\n",
            ["plan.toml:1: password: passwords do not belong here", "SPRINGLOAD_PASSWORD"],
        ),
        (
            "target = \"http://a:b@h\"\n",
            ["plan.toml:1: target: it has a password", "--password-file"],
        ),
        ("target = 5\n", ["plan.toml:1: target: not an address", "quotation marks"]),
        ("target = \"ftp://h\"\n", ["plan.toml:1: target", "http"]),
        ("dry-run = true\n", ["plan.toml:1: dry-run: not part of a plan", "command line"]),
        // Found when the whole plan is checked.
        (
            "docs = 5\nops = 0\nduration = 5\n",
            ["plan.toml:3: duration: --ops 0 runs no operations", ";"],
        ),
        ("timeout = 0\n", ["plan.toml:1: timeout: must be above 0", "30s"]),
        ("fail-if = \"nonsense\"\n", ["plan.toml:1: fail-if: ", "write it like"]),
        (
            "schema = \"none.json\"\n",
            ["plan.toml:1: schema: cannot read none.json", "readable file"],
        ),
        ("arrivals = \"poisson\"\n", ["plan.toml: ", "--rate"]),
    ] {
        refused(text, &words);
    }
    let both = with(&[("plan.toml", "docs = \"a\"\nrate = \"b\"\nx = 1\n")], &["run", "plan.toml"])
        .finish();
    assert_eq!((both.code, both.stderr.lines().count()), (2, 3), "{}", both.stderr);
    // Mistakes on the command line are reported as usual.
    let typed = with(&[("x.toml", "docs = 5\n")], &["run", "x.toml", "--timeout", "0"]).finish();
    typed.refused(2, &["error: --timeout: must be above 0"]);
    let typed = with(&[("x.toml", "docs = 5\n")], &["run", "x.toml", "--docs", "z"]).finish();
    typed.refused(2, &["error: --docs: "]);
    Run::bare(&["run", "none.toml"])
        .finish()
        .refused(2, &["PLAN: cannot read none.toml", "springload init"]);
    let two = with(&[("x.toml", ""), ("y.toml", "")], &["run", "x.toml", "y.toml"]).finish();
    two.refused(2, &["PLAN: x.toml and y.toml are both plans"]);
    let two = Run::bare(&["run", "http://h/a", "http://g/b"]).finish();
    two.refused(2, &["TARGET: ", "are not the same"]);
}
