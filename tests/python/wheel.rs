//! The wheel, built and installed into an empty environment, and the contents of a source
//! distribution.

use std::collections::BTreeSet;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::servers::python::{program, python};
use crate::{output_of, root};

/// Runs maturin with these words, and returns the one file that it made.
fn made_by_maturin(words: &[&str], cargo: Option<&Path>, folder: &Path) -> Option<PathBuf> {
    let mut maturin = Command::new(program("maturin")?);
    maturin.envs(cargo.map(|cargo| ("CARGO", cargo)));
    maturin.current_dir(root("")).args(words).arg("--out").arg(folder);
    output_of(&mut maturin);
    let mut files =
        std::fs::read_dir(folder).expect("a folder").map(|file| file.expect("it").path());
    let file = files.next().expect("a file");
    assert_eq!(files.next(), None);
    Some(file)
}

/// The package's metadata from cargo.
fn package() -> Value {
    let words = ["metadata", "--no-deps", "--offline", "--format-version", "1"];
    let metadata = output_of(Command::new(env!("CARGO")).current_dir(root("")).args(words));
    let metadata: Value = serde_json::from_str(&metadata).expect("JSON");
    named(&metadata["packages"], |_| true)
}

/// The item called springload for which `wanted` is true.
fn named(all: &Value, wanted: impl Fn(&Value) -> bool) -> Value {
    let mut own = all.as_array().expect("a list").iter().filter(|it| it["name"] == "springload");
    own.find(|it| wanted(it)).expect("springload").clone()
}

/// A cargo that delivers the tests' program instead of building one, and notes its arguments. A
/// real build would compile all dependencies again, because the tests enable other features of
/// them.
fn cargo_of_the_tests(package: &Value, folder: &Path) -> PathBuf {
    std::fs::create_dir(folder).expect("a new folder");
    // A copy, because maturin moves the file away and puts a new one there, while other tests run
    // it.
    let program = folder.join("springload");
    std::fs::copy(env!("CARGO_BIN_EXE_springload"), &program).expect("it can be copied");
    let profile = json!({"opt_level": "0", "debuginfo": 1, "debug_assertions": true,
        "overflow_checks": true, "test": false});
    let artifact = json!({"reason": "compiler-artifact", "package_id": package["id"],
        "manifest_path": package["manifest_path"],
        "target": named(&package["targets"], |it| it["kind"][0] == "bin"),
        "profile": profile, "features": [], "filenames": [program], "executable": program,
        "fresh": true});
    std::fs::write(folder.join("artifact"), artifact.to_string()).expect("it can be written");
    let place = folder.display();
    let script = format!(
        "#!/bin/sh\ncase $1 in\nrustc) echo \"$@\" >'{place}/asked'; cat '{place}/artifact' ;;\n\
         *) exec '{}' \"$@\" ;;\nesac\n",
        env!("CARGO")
    );
    let cargo = folder.join("cargo");
    std::fs::write(&cargo, script).expect("it can be written");
    std::fs::set_permissions(&cargo, Permissions::from_mode(0o755)).expect("it is ours");
    cargo
}

/// Checks the build that maturin requests from cargo: the program with all features and the lock
/// file.
fn is_asked_for(package: &Value, asked: &str) {
    let features = package["features"].as_object().expect("a table");
    let all = features["databases"].as_array().expect("a list");
    // Other features are only for the tests.
    let opens_up = |name: &&str| {
        !features[*name].as_array().is_none_or(Vec::is_empty) && !all.contains(&json!(name))
    };
    let wanted: BTreeSet<&str> = features.keys().map(String::as_str).filter(opens_up).collect();
    let words: Vec<&str> = asked.split_whitespace().collect();
    let pairs = words.windows(2).filter(|pair| pair[0] == "--features");
    assert_eq!(pairs.map(|pair| pair[1]).collect::<BTreeSet<_>>(), wanted, "{asked}");
    for word in ["--locked", "--bin springload", "--profile dev"] {
        assert!(asked.contains(word), "{word}: {asked}");
    }
}

/// A program in the environment, isolated from the variables of this one.
fn clean(folder: &Path, program: &str) -> Command {
    let mut command = Command::new(folder.join("bin").join(program));
    command.current_dir(folder).env_clear().env("PATH", "/usr/bin:/bin");
    command
}

#[test]
fn the_wheel_brings_the_programs() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let words = ["build", "--profile", "dev", "--offline"];
    let package = package();
    let cargo = cargo_of_the_tests(&package, &folder.path().join("cargo"));
    let wheel = made_by_maturin(&words, Some(&cargo), &folder.path().join("made"));
    let wheel = wheel.expect("maturin is there");
    let asked = std::fs::read_to_string(cargo.with_file_name("asked"));
    is_asked_for(&package, &asked.expect("cargo was asked for the program"));
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
    // Without the extra, it explains how to get it.
    let mut launcher = clean(&folder, "springload-lithops");
    launcher.args(["-n", "1", "--broker", "amqp://127.0.0.1", "--", "run"]);
    let output = launcher.output().expect("it runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr.contains("pip install 'lithops>=3.8,<4'"), "{stderr}");
    // All features: the error is about a missing server, not a missing driver.
    for target in ["redis://127.0.0.1:1", "mongodb://127.0.0.1:1", "cassandra://127.0.0.1:1"] {
        let output = clean(&folder, "springload").args(["run", target, "--ops", "1"]).output();
        let output = output.expect("it runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!stderr.contains("built without"), "{stderr}");
        assert_eq!(output.status.code(), Some(3), "{stderr}");
    }
    let output = clean(&folder, "springload").args(["http", "--http2", "127.0.0.1:1"]).output();
    assert_eq!(output.expect("it runs").status.code(), Some(3), "nothing listens there");
}

#[test]
fn a_source_distribution_holds_what_builds_it() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let archive = made_by_maturin(&["sdist"], None, folder.path()).expect("maturin is there");
    let held = output_of(Command::new(python).args(["-m", "tarfile", "-l"]).arg(archive));
    let held: BTreeSet<&str> =
        held.lines().filter_map(|line| Some(line.trim().split_once('/')?.1)).collect();
    // The last one if `make notices` was run here.
    let made = BTreeSet::from(["PKG-INFO", "target/package-files/NOTICES.txt"]);
    let mut git = Command::new("git");
    git.args(["-c", "safe.directory=*", "ls-files", "--cached", "--others", "--exclude-standard"]);
    let tracked = output_of(git.current_dir(root("")));
    let tracked: BTreeSet<&str> = tracked.lines().collect();
    let junk: Vec<_> = held.difference(&tracked).filter(|name| !made.contains(**name)).collect();
    assert!(junk.is_empty(), "{junk:?}");
    let own = ["benches/", "docs/", "examples/", "fuzz/", "proptest-regressions/", "tests/", "."];
    let needed = |name: &&str| !own.iter().any(|folder| name.starts_with(folder));
    // Nor files that only developers need.
    let of_developers = |name: &str| {
        let at_top = !name.contains('/');
        let builds = name.starts_with("Cargo.") || name.starts_with("LICENSE-");
        let builds = builds || ["CHANGELOG.md", "README.md", "pyproject.toml"].contains(&name);
        let of_tests = ["/tests/", "/snapshots/", "/proptest-regressions/"];
        let of_tests = of_tests.iter().any(|folder| name.contains(folder));
        of_tests || name.ends_with("tests.rs") || at_top && !builds
    };
    let wanted = tracked.iter().filter(|name| needed(name) && !of_developers(name));
    let missing: Vec<_> = wanted.filter(|name| !held.contains(**name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    assert!(held.iter().all(needed), "{held:?}");
}
