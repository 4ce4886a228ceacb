//! What this machine can do when no real server limits it: requests per second between client and
//! null responder.

use super::harness::Load;
use crate::clock::Nanos;
use crate::engine::Stop;
use std::sync::Arc;

/// The null responder's responses per second to a closed loop on one thread, over this many
/// nanoseconds or until `stop` is raised.
///
/// # Errors
/// Fails if it could not be measured.
pub fn null_rate_per_s(length_ns: Nanos, stop: &Arc<Stop>) -> Result<f64, String> {
    let load = Load { length_ns, ..Load::default() };
    let seen = load.run_until(stop).map_err(|broken| broken.to_string())?;
    Ok(seen.reads().throughput_per_s)
}
