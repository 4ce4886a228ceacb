//! The Python package: its launcher with stand-ins, its wheel and its sources.

mod launcher;
#[path = "../servers/mod.rs"]
mod servers;
mod wheel;

use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs a command that must succeed, and returns its output.
#[track_caller]
fn output_of(command: &mut Command) -> String {
    let output = command.output().expect("it runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}\n{stdout}{stderr}", output.status);
    stdout
}

/// A file of the repository.
fn root(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}
