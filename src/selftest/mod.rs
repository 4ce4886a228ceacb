//! The self-test: measures servers whose every delay is known, and checks whether springload's
//! numbers are right on this machine.
//!
//! Knows plan, run and the stand-in; prints nothing.

mod ceiling;
mod claims;
mod harness;
mod merge;
mod noise;
mod outcome;
mod replay;
mod shapes;

pub use ceiling::null_rate_per_s;
pub use claims::{Claim, Length, claims};
pub use noise::Noise;
pub use outcome::{Finding, Outcome};

/// One measurement of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Measured {
    /// What was measured.
    text: String,
    /// Whether the claim holds.
    held: bool,
}

impl Measured {
    fn new(held: bool, text: impl Into<String>) -> Self {
        Self { text: text.into(), held }
    }
}
