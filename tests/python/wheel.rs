//! The wheel, built and installed into an empty environment, and what a source distribution holds.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::servers::python::{program, python};
use crate::{output_of, root};

/// maturin with these words, and the one file that it made.
fn made_by_maturin(words: &[&str], folder: &Path) -> Option<PathBuf> {
    let mut maturin = Command::new(program("maturin")?);
    // What cargo tells the test of its package: build scripts would see a change, and ring and all
    // that is built on it would be compiled again, here and then by the next `cargo test`.
    let told = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_", "CARGO_PRIMARY_"];
    for (name, _) in std::env::vars_os() {
        if told.iter().any(|start| name.to_string_lossy().starts_with(start)) {
            maturin.env_remove(name);
        }
    }
    maturin.current_dir(root("")).args(words).arg("--out").arg(folder);
    output_of(&mut maturin);
    let mut files =
        std::fs::read_dir(folder).expect("a folder").map(|file| file.expect("it").path());
    let file = files.next().expect("a file");
    assert_eq!(files.next(), None);
    Some(file)
}

/// A program in the environment, which must not find anything of this one.
fn clean(folder: &Path, program: &str) -> Command {
    let mut command = Command::new(folder.join("bin").join(program));
    command.current_dir(folder).env_clear().env("PATH", "/usr/bin:/bin");
    command
}

#[test]
fn the_wheel_brings_the_programs() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    // The profile of the tests: what they have compiled is not compiled again.
    let words = ["build", "--profile", "dev", "--offline"];
    let wheel = made_by_maturin(&words, &folder.path().join("made")).expect("maturin is there");
    let held = output_of(Command::new(&python).args(["-m", "zipfile", "-l"]).arg(&wheel));
    for name in [
        "/licenses/LICENSE-MIT",
        "/licenses/LICENSE-APACHE",
        "/licenses/crates/report/assets/dejavu/LICENSE",
        "/licenses/crates/report/assets/plotly/LICENSE",
        "springload/py.typed",
    ] {
        assert!(held.contains(name), "{name}: {held}");
    }
    assert!(!held.contains("__pycache__") && !held.contains("tests"), "{held}");

    let folder = folder.path().join("installed");
    output_of(Command::new(&python).args(["-m", "venv"]).arg(&folder));
    let offline = ["-m", "pip", "install", "--quiet", "--no-index", "--no-deps"];
    output_of(clean(&folder, "python").args(offline).arg(&wheel));
    let version = format!("springload {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(output_of(clean(&folder, "springload").arg("--version")), version);
    let module = ["-m", "springload", "--version"];
    assert_eq!(output_of(clean(&folder, "python").args(module)), version);
    let found = "import springload; print(springload.find_springload_bin())";
    let found = output_of(clean(&folder, "python").args(["-c", found]));
    assert_eq!(Path::new(found.trim()), folder.join("bin/springload"));
    for launcher in [&["springload-lithops"][..], &["python", "-m", "springload.lithops"]] {
        let help = output_of(clean(&folder, launcher[0]).args(&launcher[1..]).arg("--help"));
        assert!(help.starts_with("usage: springload-lithops -n AGENTS"), "{help}");
    }
    // Without the extra, it says how to get it.
    let mut launcher = clean(&folder, "springload-lithops");
    launcher.args(["-n", "1", "--broker", "amqp://127.0.0.1", "--", "run"]);
    let output = launcher.output().expect("it runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr.contains("pip install 'lithops>=3.8,<4'"), "{stderr}");
    // All features: a database that is not there, and not one that is not built in.
    for target in ["redis://127.0.0.1:1", "mongodb://127.0.0.1:1", "cassandra://127.0.0.1:1"] {
        let output = clean(&folder, "springload").args(["run", target, "--ops", "1"]).output();
        let output = output.expect("it runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!stderr.contains("built without"), "{stderr}");
        assert_eq!(output.status.code(), Some(3), "{stderr}");
    }
}

#[test]
fn a_source_distribution_holds_what_builds_it() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let archive = made_by_maturin(&["sdist"], folder.path()).expect("maturin is there");
    let held = output_of(Command::new(python).args(["-m", "tarfile", "-l"]).arg(archive));
    let held: BTreeSet<&str> =
        held.lines().filter_map(|line| Some(line.trim().split_once('/')?.1)).collect();
    let made = BTreeSet::from(["PKG-INFO"]);
    let mut git = Command::new("git");
    git.args(["-c", "safe.directory=*", "ls-files", "--cached", "--others", "--exclude-standard"]);
    let tracked = output_of(git.current_dir(root("")));
    let tracked: BTreeSet<&str> = tracked.lines().collect();
    let junk: Vec<_> = held.difference(&tracked).filter(|name| !made.contains(**name)).collect();
    assert!(junk.is_empty(), "{junk:?}");
    let own = ["benches/", "docs/", "examples/", "fuzz/", "proptest-regressions/", "tests/", "."];
    let needed = |name: &&str| !own.iter().any(|folder| name.starts_with(folder));
    let missing: Vec<_> =
        tracked.iter().filter(|name| needed(name) && !held.contains(**name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    assert!(held.iter().all(needed), "{held:?}");
}
