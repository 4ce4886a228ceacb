//! springload holds itself to account: against a server whose every delay is known, are its
//! numbers right? Each claim is measured here and now, on this machine.
//!
//! Knows plan, run and the stand-in; prints nothing.

mod claims;
mod harness;
mod merge;
mod replay;
mod shapes;

pub use claims::{Claim, Length, claims};

/// What became of one claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What was measured.
    pub measured: String,
    /// Whether it is as claimed.
    pub passed: bool,
}

impl Finding {
    fn new(passed: bool, measured: impl Into<String>) -> Self {
        Self { measured: measured.into(), passed }
    }
}
