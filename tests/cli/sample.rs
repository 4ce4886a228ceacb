//! The sample repository `examples/ci`: the steps of its workflow, as a runner carries them out,
//! with a test server in place of the service.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use springload::embedded::{Delay, Faults, Options};
use tempfile::TempDir;

use crate::action::Step;
use crate::servers::Server;

const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/ci");
const GUIDE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/ci.md");

fn workflow() -> String {
    let path = Path::new(SAMPLE).join(".github/workflows/load-test.yml");
    fs::read_to_string(path).expect("the workflow")
}

/// The script of the step that begins with this line.
fn script(step: &str) -> String {
    let workflow = workflow();
    let (_, step) = workflow.split_once(step).expect("the step");
    let (_, script) = step.split_once("run: |\n").expect("a script");
    let lines = script.lines().take_while(|line| line.starts_with("          "));
    lines.map(str::trim_start).collect::<Vec<_>>().join("\n")
}

/// A checkout of the sample whose plan has this server, and takes one second.
fn checkout(server: &Server) -> TempDir {
    let folder = TempDir::new().expect("a folder");
    let plan = fs::read_to_string(Path::new(SAMPLE).join("load.toml")).expect("the plan");
    let [target, docs, minute] = ["\"http://localhost:5984\"", "\"10k\"", "\"1m\""];
    assert!([target, docs, minute].into_iter().all(|it| plan.contains(it)), "{plan}");
    let plan = plan.replace(target, &format!("{:?}", server.url));
    let plan = plan.replace(docs, "200").replace(minute, "\"1s\"");
    fs::write(folder.path().join("load.toml"), plan).expect("the plan");
    folder
}

/// Runs the script of a step in `folder`. Returns its outputs for later steps.
fn run(step: &str, folder: &Path, environment: &[(&str, &str)]) -> String {
    let outputs = folder.join("outputs");
    fs::write(&outputs, "").expect("a file");
    let mut command = Command::new("bash");
    command.args(["-e", "-o", "pipefail", "-c", &script(step)]).current_dir(folder);
    command.env("GITHUB_OUTPUT", &outputs).envs(environment.iter().copied());
    let output = command.output().expect("bash is there");
    // Without a baseline the gate has nothing to list.
    assert!(output.status.success(), "{step}: {output:?}");
    fs::read_to_string(&outputs).expect("a file")
}

/// The steps up to and including springload.
fn measured(folder: &Path) -> Step {
    let gate = run("- id: gate", folder, &[]);
    let gate = gate.trim_end().strip_prefix("args=").unwrap_or_default();
    let workflow = workflow();
    let (_, arguments) = workflow.split_once("          args: ").expect("the arguments");
    let (arguments, _) = arguments.split_once('\n').expect("a line");
    Step::within(folder, &arguments.replace("${{ steps.gate.outputs.args }}", gate))
}

#[test]
fn the_workflow_of_the_guide_is_that_of_the_sample() {
    let guide = fs::read_to_string(GUIDE).expect("the guide");
    assert!(guide.contains(&format!("```yaml\n{}```\n", workflow())));
}

#[test]
fn a_fork_which_gets_no_secrets_can_run_it() {
    let workflow = workflow();
    assert!(!workflow.contains("secrets."), "{workflow}");
    assert!(workflow.contains("COUCHDB_PASSWORD: "), "CouchDB does not start without one");
}

/// A program of that name in `folder/bin`.
fn program(folder: &Path, name: &str, script: &str) {
    let bin = folder.join("bin");
    fs::create_dir_all(&bin).expect("a folder");
    fs::write(bin.join(name), format!("#!/bin/sh\n{script}\n")).expect("a file");
    fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).expect("it is ours");
}

#[test]
fn only_the_own_comment_is_replaced() {
    let folder = TempDir::new().expect("a folder");
    let folder = folder.path();
    program(folder, "springload", "echo compared");
    // Its list has what is in the file `own`.
    program(folder, "gh", "echo \"$@\" >>asked; case $* in *--paginate*) cat own ;; esac");
    let path = std::env::var("PATH").expect("there is one");
    let path = format!("{}:{path}", folder.join("bin").display());
    let summary = folder.join("summary").display().to_string();
    let environment = [
        ("PATH", &path[..]),
        ("GITHUB_STEP_SUMMARY", &summary),
        ("GITHUB_REPOSITORY", "o/r"),
        ("NUMBER", "3"),
        ("RUN", "run"),
    ];
    for (own, last) in [
        ("", "pr comment 3 --repo o/r --body-file comment.md"),
        ("7\n", "api --method PATCH repos/o/r/issues/comments/7 --field body=@comment.md --silent"),
    ] {
        fs::write(folder.join("own"), own).expect("a file");
        run("- name: Comment on the pull request", folder, &environment);
        let asked = fs::read_to_string(folder.join("asked")).expect("a file");
        assert_eq!(asked.lines().last(), Some(last), "{asked}");
        let comment = fs::read_to_string(folder.join("comment.md")).expect("a comment");
        let (mark, text) = comment.split_once('\n').expect("two lines");
        assert_eq!(text, "compared\n");
        assert!(asked.contains(&format!("startswith(\"{mark}\")")), "{asked}");
        assert!(asked.contains("api --paginate repos/o/r/issues/3/comments"), "{asked}");
    }
}

#[test]
fn a_push_becomes_a_baseline_and_what_is_slower_fails() {
    let server = Server::stand_in(Options::default());
    let folder = checkout(&server);
    let folder = folder.path();
    for kept in 1..=2 {
        let step = measured(folder);
        // Compared with a single baseline, a run on a busy machine may be worse.
        let ends = step.status();
        assert!(matches!(ends, Some(0 | 5)) || ends == Some(7) && kept == 2, "{step:?}");
        let judged = step.printed().contains("baseline");
        assert_eq!(judged, kept > 1, "{}", step.printed());
        let output = step.file("output");
        let (_, place) = output.trim_end().rsplit_once("run=").expect("the folder of the run");
        run("- name: Keep the run as a baseline", folder, &[("RUN", place)]);
        let runs = fs::read_dir(folder.join("baselines")).expect("runs");
        assert_eq!(runs.count(), kept);
    }
    let delay = Delay::Constant { ns: 300_000_000 };
    let faults = Faults { delay, ..Faults::default() };
    let slow = Server::stand_in(Options { faults, ..Options::default() });
    let plan = fs::read_to_string(checkout(&slow).path().join("load.toml")).expect("the plan");
    fs::write(folder.join("load.toml"), plan).expect("the plan");
    let step = measured(folder);
    assert_eq!(step.status(), Some(4), "{step:?}");
    assert!(step.printed().contains("::error::p99 ≤ 250 ms: "), "{}", step.printed());
}
