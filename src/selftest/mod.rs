//! springload holds itself to account: against a server whose every delay is known, are its
//! numbers right? Each claim is measured here and now, on this machine.
//!
//! Knows plan, run and the stand-in; prints nothing.

mod claims;
mod harness;
mod merge;
mod noise;
mod outcome;
mod replay;
mod shapes;

pub use claims::{Claim, Length, claims};
pub use noise::Noise;
pub use outcome::{Finding, Outcome};

/// What one measurement of a claim brought.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Measured {
    /// What was measured.
    text: String,
    /// Whether it is as claimed.
    held: bool,
}

impl Measured {
    fn new(held: bool, text: impl Into<String>) -> Self {
        Self { text: text.into(), held }
    }
}
