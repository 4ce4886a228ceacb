//! `--otlp` and `--remote-write` in a springload that was built without them: refused with a
//! message.

use super::sends::Sends;
use crate::cli::flags::push::{PushArgs, header};
use crate::plan::Invalid;

/// Refuses the flags if any were given.
///
/// # Errors
/// Fails if a flag is invalid, or if one of the two was given.
pub(super) fn asked(asked: &PushArgs, _run: &str) -> Result<Vec<Box<dyn Sends>>, Invalid> {
    asked.push_header.iter().try_for_each(|line| header(line).map(drop))?;
    // The flags exist in every build; these two only say how to push.
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
