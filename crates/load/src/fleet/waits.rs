//! How long coordinator and agents wait for each other.

use super::{GRACE_NS, SILENCE_NS};
use crate::clock::Nanos;

/// How long a coordinator waits for its agents, and they for it, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Waits {
    /// The silence after which an agent or the coordinator is lost.
    pub silence_ns: Nanos,
    /// How much longer to wait for what a lost agent has measured.
    pub grace_ns: Nanos,
}

impl Default for Waits {
    fn default() -> Self {
        Self { silence_ns: SILENCE_NS, grace_ns: GRACE_NS }
    }
}
