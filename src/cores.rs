//! Which processor a thread runs on. Used where client and stand-in share a machine: left to
//! themselves, they are now and then put on one processor and wait for each other.

/// Keeps the calling thread on one of the processors that it may use, counted from the first.
/// Does nothing where there is only one, or where the system cannot do it.
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
        // Without it results are noisier, not wrong.
        let _ = sched_setaffinity(None, &chosen);
    }
}

#[cfg(not(target_os = "linux"))]
fn pin(_: impl Fn(usize) -> usize) {}
