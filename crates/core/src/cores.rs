//! Pins threads to processors. Used when the client and the stand-in share a machine, since the
//! scheduler sometimes puts both on one processor, where they wait for each other.

/// Pins the calling thread to one of the processors it may use, counted from the first. Does
/// nothing if there is only one, or if the system does not support it.
pub fn pin_from_first(index: usize) {
    pin(|count| index % count);
}

/// Like [`pin_from_first`], counted from the last.
pub fn pin_from_last(index: usize) {
    pin(|count| count - 1 - index % count);
}

#[cfg(target_os = "linux")]
fn pin(choose: impl Fn(usize) -> usize) {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    let Ok(allowed) = sched_getaffinity(None) else { return };
    let cores: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core)).collect();
    if cores.len() > 1 {
        let mut chosen = CpuSet::new();
        chosen.set(cores[choose(cores.len())]);
        // Without pinning, results are noisier but not wrong.
        let _ = sched_setaffinity(None, &chosen);
    }
}

#[cfg(not(target_os = "linux"))]
fn pin(_: impl Fn(usize) -> usize) {}
