//! Python with the packages in `python/requirements.txt`, in its own environment.

use std::path::PathBuf;

use super::{absent, here};

/// Its interpreter; `None`, with a message, if it is not installed.
pub(crate) fn python() -> Option<PathBuf> {
    program("python")
}

/// A program from one of its packages.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    let program = here().join("built/python/bin").join(name);
    if program.exists() {
        return Some(program);
    }
    absent("Python", "install Python 3.10 or later with venv, and run make test-servers");
    None
}
