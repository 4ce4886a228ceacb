//! The scheduler's accounts of the calling thread: how long it was ready to run but had no
//! processor, and how often it was preempted.

use super::Nanos;
use serde::{Deserialize, Serialize};
#[cfg(target_os = "linux")]
use std::os::unix::fs::FileExt as _;

/// The accounts of one thread so far; `None` where the system does not provide a figure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scheduled {
    /// Time on the run queue: ready to run, without a processor.
    pub waited_ns: Option<Nanos>,
    /// How often it was given a processor.
    #[serde(default)]
    pub turns: Option<u64>,
    /// How often the thread was preempted.
    pub preempted: Option<u64>,
}

impl Scheduled {
    /// The difference to `before`.
    pub fn since(&self, before: &Self) -> Self {
        let part = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then?));
        Self {
            waited_ns: part(self.waited_ns, before.waited_ns),
            turns: part(self.turns, before.turns),
            preempted: part(self.preempted, before.preempted),
        }
    }
}

/// Reads the accounts of the thread that creates it.
#[derive(Debug)]
pub struct Scheduler {
    #[cfg(target_os = "linux")]
    schedstat: Option<std::fs::File>,
    #[cfg(target_os = "linux")]
    status: Option<std::fs::File>,
}

impl Scheduler {
    /// Opens Linux's files about the calling thread, if they are readable (`proc(5)`; `schedstat`
    /// needs a kernel with `CONFIG_SCHED_INFO`).
    #[cfg(target_os = "linux")]
    pub fn here() -> Self {
        let open = |name: &str| std::fs::File::open(format!("/proc/thread-self/{name}")).ok();
        Self { schedstat: open("schedstat"), status: open("status") }
    }

    /// Not supported on this operating system.
    #[cfg(not(target_os = "linux"))]
    pub fn here() -> Self {
        Self {}
    }

    /// The accounts so far.
    #[cfg(target_os = "linux")]
    pub fn read(&self) -> Scheduled {
        let (waited_ns, turns) = text(self.schedstat.as_ref()).and_then(|it| waited(&it)).unzip();
        let preempted = text(self.status.as_ref()).and_then(|it| preempted(&it));
        Scheduled { waited_ns, turns, preempted }
    }

    /// Only the time on the run queue, which costs 1 µs to read.
    #[cfg(target_os = "linux")]
    pub fn waited_ns(&self) -> Option<Nanos> {
        text(self.schedstat.as_ref()).and_then(|it| waited(&it)).map(|(ns, _)| ns)
    }

    /// Not supported on this operating system.
    #[cfg(not(target_os = "linux"))]
    pub fn waited_ns(&self) -> Option<Nanos> {
        None
    }

    /// Not supported on this operating system.
    #[cfg(not(target_os = "linux"))]
    pub fn read(&self) -> Scheduled {
        Scheduled::default()
    }
}

/// The contents of an open file of `/proc`.
#[cfg(target_os = "linux")]
fn text(file: Option<&std::fs::File>) -> Option<String> {
    let mut buffer = [0; 4096];
    let length = file?.read_at(&mut buffer, 0).ok()?;
    Some(String::from_utf8_lossy(&buffer[..length]).into_owned())
}

/// The second and third numbers of `schedstat`: nanoseconds on the run queue, and how often the
/// thread was given a processor. All zero on a kernel without these statistics.
#[cfg(target_os = "linux")]
fn waited(schedstat: &str) -> Option<(Nanos, u64)> {
    let numbers: Vec<u64> =
        schedstat.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
    let [_, waited, turns, ..] = numbers[..] else { return None };
    (turns > 0).then_some((waited, turns))
}

/// The figure `nonvoluntary_ctxt_switches` in `status`.
#[cfg(target_os = "linux")]
fn preempted(status: &str) -> Option<u64> {
    status
        .lines()
        .find_map(|line| line.strip_prefix("nonvoluntary_ctxt_switches:")?.trim().parse().ok())
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    #[test]
    fn it_reads_what_linux_writes_and_nothing_else() {
        assert_eq!(waited("81234 23120 17\n"), Some((23_120, 17)));
        assert_eq!(waited("0 0 0\n"), None);
        assert_eq!(waited("81234 x 17\n"), None);
        assert_eq!(waited(""), None);
        let status = "Name:\tx\nvoluntary_ctxt_switches:\t3\nnonvoluntary_ctxt_switches:\t42\n";
        assert_eq!(preempted(status), Some(42));
        assert_eq!(preempted("Name:\tx\n"), None);
    }

    #[test]
    fn what_is_not_reported_stays_unknown() {
        let after = Scheduled { waited_ns: Some(9), turns: Some(7), preempted: None };
        let before = Scheduled { waited_ns: Some(4), turns: Some(5), preempted: Some(1) };
        let since = Scheduled { waited_ns: Some(5), turns: Some(2), preempted: None };
        assert_eq!(after.since(&before), since);
    }
}
