//! `--otlp` and `--remote-write` in a springload that was built without them: refused in words.

use super::live::Sends;
use crate::cli::flags::push::{PushArgs, header};
use crate::plan::Invalid;

/// Refuses what is asked for, if anything is.
///
/// # Errors
/// What is wrong with a flag, or that there is none.
pub(super) fn asked(asked: &PushArgs, _run: &str) -> Result<Vec<Box<dyn Sends>>, Invalid> {
    asked.push_header.iter().try_for_each(|line| header(line).map(drop))?;
    // The flags are the same everywhere, and these say how.
    let _ = (&asked.push_ca, asked.push_every);
    let flags = [("--otlp", &asked.otlp), ("--remote-write", &asked.remote_write)];
    match flags.into_iter().find(|(_, urls)| !urls.is_empty()) {
        None => Ok(Vec::new()),
        Some((flag, _)) => {
            let problem = "this springload was built without it";
            Err(Invalid::new(flag, problem, "build it with --features push"))
        }
    }
}
