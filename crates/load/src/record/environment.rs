//! The machine and the program that measured.

use serde::{Deserialize, Serialize};

/// The machine and the program that measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Environment {
    /// springload's version.
    pub springload: String,
    /// Whether springload was built without optimization, which makes the numbers nearly
    /// meaningless.
    pub debug_build: bool,
    /// The operating system and its version.
    pub system: String,
    /// The processor's architecture.
    pub architecture: String,
    /// The processor's name; empty if the system does not provide it.
    pub processor: String,
    /// The number of usable processors.
    pub cores: usize,
    /// Memory in bytes; 0 if the system does not provide it.
    pub memory_bytes: u64,
    /// The limits of the machine and of springload on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Calibration>,
}

/// The limits of this machine and of springload on it, measured just before the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Calibration {
    /// The cost of reading the clock, in nanoseconds.
    pub clock_ns: f64,
    /// How late sleeping threads wake up, in microseconds: the median.
    pub timer_late_p50_us: f64,
    /// The same, the maximum of forty sleeps.
    pub timer_late_max_us: f64,
    /// The cost of one operation without a network, from choosing it to recording it, in
    /// nanoseconds.
    pub loop_ns: f64,
    /// How many operations per second all threads together could do without a network.
    pub ceiling_per_s: f64,
}

/// Joins the non-empty parts with spaces.
pub(super) fn joined(parts: &[&str]) -> String {
    let known: Vec<&str> = parts.iter().copied().filter(|part| !part.is_empty()).collect();
    known.join(" ")
}

impl Environment {
    /// The processor, the number of cores and the system, in words.
    pub fn words(&self) -> String {
        joined(&[&self.processor, &format!("{} cores", self.cores), &self.system])
    }

    /// Describes this machine.
    pub fn here() -> Self {
        let name = rustix::system::uname();
        let text = |part: &std::ffi::CStr| part.to_string_lossy().into_owned();
        Self {
            springload: env!("CARGO_PKG_VERSION").to_owned(),
            debug_build: springload_engine::DEBUG_BUILD,
            system: format!("{} {}", text(name.sysname()), text(name.release())),
            architecture: text(name.machine()),
            processor: proc_value("/proc/cpuinfo", "model name").unwrap_or_default(),
            cores: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            calibration: None,
            memory_bytes: proc_value("/proc/meminfo", "MemTotal")
                .and_then(|text| text.split(' ').next()?.parse::<u64>().ok())
                .map_or(0, |kib| kib * 1024),
        }
    }
}

/// The first value of `name` in a file of `name : value` lines, if the file exists.
fn proc_value(file: &str, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_of_a_machine_leaves_no_gap_in_its_words() {
        let (processor, system) = ("P 1".to_owned(), "Linux 6".to_owned());
        let mut machine = Environment { processor, cores: 8, system, ..Environment::default() };
        assert_eq!(machine.words(), "P 1 8 cores Linux 6");
        machine.processor.clear();
        assert_eq!(machine.words(), "8 cores Linux 6");
    }

    #[test]
    fn this_machine_is_described_as_its_system_does() {
        let here = Environment::here();
        assert_eq!(here.springload, env!("CARGO_PKG_VERSION"));
        assert!(here.cores > 0 && !here.system.is_empty(), "{here:?}");
        let memory = proc_value("/proc/meminfo", "MemTotal");
        assert_eq!(memory.is_some(), cfg!(target_os = "linux"));
        if let Some(memory) = memory {
            assert_eq!(format!("{} kB", here.memory_bytes / 1024), memory);
        }
    }
}
