//! The scripts behind `action.yml`, with the files that GitHub gives to a step.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::springload::BINARY;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/.github/action/run.sh");

/// A step of a workflow.
struct Step {
    folder: TempDir,
    output: Output,
}

impl Step {
    fn of(arguments: &str) -> Self {
        let folder = TempDir::new().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        std::os::unix::fs::symlink(BINARY, at("springload")).expect("a link");
        let path = std::env::var_os("PATH").expect("there is one");
        let paths = [folder.path().to_owned()].into_iter().chain(std::env::split_paths(&path));
        let output = Command::new("bash")
            .arg(SCRIPT)
            .env("PATH", std::env::join_paths(paths).expect("paths"))
            .env("RUNNER_TEMP", folder.path())
            .env("GITHUB_OUTPUT", at("output"))
            .env("GITHUB_STEP_SUMMARY", at("summary"))
            .env("ARGS", arguments)
            .current_dir(folder.path())
            .output()
            .expect("bash is there");
        Self { folder, output }
    }

    fn file(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).unwrap_or_default()
    }

    fn status(&self) -> Option<i32> {
        let told = format!("status={}\n", self.output.status.code().expect("it ended"));
        assert!(self.file("output").contains(&told), "{told}: {:?}", self.output);
        self.output.status.code()
    }
}

#[test]
fn a_run_is_kept_and_summed_up() {
    let step = Step::of("run basic --docs 0 --ops 1000 --fail-if 'err > 1%'");
    assert_eq!(step.status(), Some(0), "{:?}", step.output);
    let output = step.file("output");
    let (_, run) = output.trim_end().rsplit_once("run=").expect("the folder of the run");
    for name in ["run.json", "report.html", "junit.xml"] {
        assert!(Path::new(run).join(name).is_file(), "{name}");
    }
    let junit = fs::read_to_string(Path::new(run).join("junit.xml")).expect("test cases");
    assert!(junit.contains("failures=\"0\"") && junit.contains("errors ≤ 1 %"), "{junit}");
    let summary = step.file("summary");
    assert!(summary.contains("PASSED") && summary.trim_end().ends_with("``````"), "{summary}");
}

#[test]
fn what_fails_fails_the_step() {
    let step = Step::of("run basic --docs 0 --ops 200000 --fail-if 'throughput < 1000000000k'");
    assert_eq!(step.status(), Some(4), "{:?}", step.output);
    assert!(step.file("summary").contains("FAILED"), "{}", step.file("summary"));
    assert!(step.file("springload-run/junit.xml").contains("<failure"), "no case failed");
    let told = String::from_utf8_lossy(&step.output.stdout).into_owned();
    let annotation = "\n::error::throughput ≥ 1,000,000,000,000/s: missed, ";
    assert!(told.contains(annotation), "{told}");
    let step = Step::of("run basic --docs 0 --ops 1000 --fail-if 'err >= 0%'");
    let told = String::from_utf8_lossy(&step.output.stdout).into_owned();
    assert!(told.contains("\n::error::errors < 0 %25: missed, 0 %25\n"), "{told}");

    // Port 1 of this machine: nothing is there, so there is nothing to keep.
    let step = Step::of("run http://127.0.0.1:1");
    assert_eq!(step.status(), Some(3), "{:?}", step.output);
    let step = Step::of("run \"not closed");
    assert_eq!(step.output.status.code(), Some(2), "{:?}", step.output);
    // Nothing in the arguments is carried out by the shell.
    let step = Step::of("run $(touch carried-out) `touch carried-out`; touch carried-out");
    assert_eq!(step.output.status.code(), Some(2), "{:?}", step.output);
    assert!(!step.folder.path().join("carried-out").exists());
}
