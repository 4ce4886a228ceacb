//! Runs the launcher's tests, which are written in Python.

use std::process::Command;

use crate::servers::python::python;
use crate::{output_of, root};

#[test]
fn the_launcher_fails_as_it_should() {
    let Some(python) = python() else { return };
    let mut command = Command::new(python);
    command.args(["-B", "-m", "unittest", "discover"]).arg(root("tests/python"));
    // unittest writes to stderr, which is shown if one of them fails.
    output_of(&mut command);
}
