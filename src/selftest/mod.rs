//! The self-test: measures servers whose delays are all known, and checks whether springload's
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
pub use claims::{CLAIMS, Claim};
pub use noise::Noise;
pub use outcome::{Finding, Outcome};

/// How long the self-test may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// Under three minutes.
    Full,
    /// Under thirty seconds: the same claims on shorter runs.
    Quick,
}

impl Length {
    const fn pick<T: Copy>(self, full: T, quick: T) -> T {
        match self {
            Self::Full => full,
            Self::Quick => quick,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Measured {
    /// What was measured.
    text: String,
    held: bool,
}

impl Measured {
    fn new(held: bool, text: impl Into<String>) -> Self {
        Self { text: text.into(), held }
    }
}
