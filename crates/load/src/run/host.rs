//! Reads the state of the machine from Linux, where the server runs on it, too.

use crate::clock::SECOND_NS;
use crate::driver::{Local, Monitor, NoReading, Question};
use crate::observed::{Reading, host};
use std::fs;

/// The machine that springload shares with the server.
#[derive(Debug)]
pub(super) struct Host;

impl Host {
    /// Returns `None` if there is no `/proc` to read.
    pub(super) fn here() -> Option<Self> {
        fs::metadata("/proc/stat").is_ok().then_some(Self)
    }
}

impl Monitor for Host {
    fn name(&self) -> String {
        "this machine".to_owned()
    }

    fn questions(&self) -> Vec<Question> {
        vec![Question { every_ns: SECOND_NS, of_all: false }]
    }

    fn ask(&mut self, _: usize) -> Local<'_, Result<Reading, NoReading>> {
        let mut reading = Reading::default();
        // What a system does not provide is left out.
        let text = |place: &str| fs::read_to_string(place).unwrap_or_default();
        host::processors(&text("/proc/stat"), &mut reading);
        host::memory(&text("/proc/meminfo"), &mut reading);
        let names = fs::read_dir("/sys/block").into_iter().flatten().flatten();
        let names: Vec<String> = names.filter_map(|it| it.file_name().into_string().ok()).collect();
        host::disks(&text("/proc/diskstats"), &names, &mut reading);
        Box::pin(async { Ok(reading) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_is_asked_every_second_under_a_name_of_its_own() {
        assert_eq!(Host.name(), "this machine");
        assert_eq!(Host.questions(), [Question { every_ns: SECOND_NS, of_all: false }]);
    }
}
