//! How busy the machine's processors were with other programs, from the scheduler's accounts.

/// The shortest time for which a use is told, in ticks of each processor: usually 100 ms.
const LEAST_TICKS: u64 = 10;

/// The accounts at one moment, in kernel ticks of usually 10 ms. Only differences are meaningful.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// The time of all processors together.
    all: u64,
    /// The part used by programs.
    programs: u64,
    /// The part that a hypervisor gave to other machines.
    stolen: u64,
    /// The user time of this process.
    own: u64,
    /// Processors.
    count: u64,
}

impl Machine {
    /// The accounts now; `None` if the system does not provide them (Linux does, in `/proc`).
    pub fn now() -> Option<Self> {
        let stat = std::fs::read_to_string("/proc/stat").ok()?;
        Self::parse(&stat, &std::fs::read_to_string("/proc/self/stat").ok()?)
    }

    /// Parses `/proc/stat` and `/proc/self/stat` (proc(5)). Kernel time is left out, because
    /// kernels differ in which process they charge for network processing.
    fn parse(stat: &str, own: &str) -> Option<Self> {
        let ticks = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let ticks: Vec<u64> = ticks.split_whitespace().filter_map(|it| it.parse().ok()).collect();
        // user, nice, system, idle, iowait, irq, softirq, steal; user includes the time of guests.
        let [user, nice, .., stolen] = *ticks.get(..8)? else { return None };
        // The name of the program, in parentheses, may contain anything.
        let own = own.rsplit_once(')')?.1.split_whitespace().nth(11)?.parse().ok()?;
        let processor = |line: &&str| {
            line.strip_prefix("cpu").is_some_and(|it| it.starts_with(|c: char| c.is_ascii_digit()))
        };
        let count = stat.lines().filter(processor).count() as u64;
        Some(Self { all: ticks[..8].iter().sum(), programs: user + nice, stolen, own, count })
    }

    /// How many processors others used since `before`, on average: other programs, and other
    /// machines on the same host. `None` in the first 100 ms or so, of which a single tick is a
    /// large share.
    pub fn others_since(&self, before: &Self) -> Option<f64> {
        let since = |of: fn(&Self) -> u64| of(self).saturating_sub(of(before));
        let programs = since(|it| it.programs).saturating_sub(since(|it| it.own));
        let (all, others) = (since(|it| it.all), programs + since(|it| it.stolen));
        let long = all > 0 && all >= LEAST_TICKS * self.count;
        long.then(|| others as f64 * self.count as f64 / all as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(user: u64, idle: u64, stolen: u64, own: u64) -> Machine {
        let stat = format!(
            "cpu  {user} 10 30 {idle} 5 0 7 {stolen} 0 0\ncpu0 1 1 1 1\ncpu1 1 1 1 1\nintr 5\n"
        );
        let own = format!("77 (a) b c) R 1 2 3 4 5 6 7 8 9 10 {own} 12 0 0");
        Machine::parse(&stat, &own).expect("the form of proc(5)")
    }

    #[test]
    fn what_others_had_is_what_this_process_had_not() {
        let before = machine(1_000, 1_000, 0, 500);
        // 200 ticks on two processors are one second; programs used 60, 50 of them our own.
        let others = machine(1_060, 1_130, 10, 550).others_since(&before);
        assert!(others.is_some_and(|others| (others - 0.2).abs() < 1e-9), "{others:?}");
        let none = machine(1_050, 1_150, 0, 560).others_since(&before);
        assert!(none.is_some_and(|others| others.abs() < 1e-9), "{none:?}");
        assert_eq!(Machine::parse("cpu  1 2 3\n", "1 (a) R"), None);
    }

    #[test]
    fn a_few_ticks_tell_nothing_of_others() {
        let before = machine(1_000, 1_000, 0, 500);
        // On two processors: 10 ms of which others had all of one, then 95 ms, then 100 ms.
        assert_eq!(machine(1_001, 1_001, 0, 500).others_since(&before), None);
        assert_eq!(machine(1_010, 1_009, 0, 500).others_since(&before), None);
        let others = machine(1_010, 1_010, 0, 500).others_since(&before);
        assert!(others.is_some_and(|others| (others - 1.0).abs() < 1e-9), "{others:?}");
        assert_eq!(before.others_since(&before), None);
        let uncounted = Machine { count: 0, ..before };
        assert_eq!(uncounted.others_since(&uncounted), None);
    }
}
