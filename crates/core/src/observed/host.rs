//! Reads what Linux reports about the machine: its processors, memory and disks.

use super::{Meter, Reading};

const PROCESSORS: &str = "processors";
const MEMORY: &str = "memory of the machine";
const DISKS: &str = "disks";

/// Times in `/proc/stat` are in hundredths of a second, whatever unit the kernel counts in
/// (proc(5): `USER_HZ`).
const PER_S: f64 = 100.0;
/// Sizes in `/proc/diskstats` are in sectors of this many bytes, whatever the sector size of the
/// disk (iostats in the kernel's documentation).
const SECTOR: f64 = 512.0;
/// Devices whose I/O another device counts as well, or that are in memory.
const NO_DISKS: [&str; 6] = ["loop", "ram", "zram", "dm-", "md", "sr"];

/// `/proc/stat`: how many processors are busy, and how many wait for a disk.
pub fn processors(stat: &str, reading: &mut Reading) {
    let Some(line) = stat.lines().find(|line| line.starts_with("cpu ")) else { return };
    // user, nice, system, idle, iowait, irq, softirq, steal; guests are in user and nice.
    let times = line.split_whitespace().skip(1).take(8).map_while(|it| it.parse().ok());
    let times: Vec<f64> = times.collect();
    let [user, nice, system, _, iowait, irq, softirq, steal] = times[..] else { return };
    let busy = user + nice + system + irq + softirq;
    for (name, title, time) in [
        ("processors_busy", "busy", busy),
        ("processors_system", "in the system", system + irq + softirq),
        ("processors_waiting", "waiting for a disk", iowait),
        ("processors_stolen", "stolen by other machines", steal),
    ] {
        let meter = Meter::counted(name, title, PROCESSORS, PROCESSORS);
        reading.values.push((meter, time / PER_S));
    }
}

/// `/proc/meminfo`: how much memory is left, and how much data is not on the disk yet.
pub fn memory(meminfo: &str, reading: &mut Reading) {
    let bytes = |name: &str| {
        let line = meminfo.lines().find(|line| line.split(':').next() == Some(name))?;
        let kilobytes: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
        Some(kilobytes * 1_024.0)
    };
    for (name, title, from) in [
        ("memory_available_bytes", "available", "MemAvailable"),
        ("memory_cached_bytes", "cached files", "Cached"),
        ("memory_dirty_bytes", "to be written to disk", "Dirty"),
    ] {
        let meter = Meter::gauge(name, title, "bytes", MEMORY);
        reading.values.extend(bytes(from).map(|bytes| (meter, bytes)));
    }
}

/// `/proc/diskstats`: what all of `disks`, the names in `/sys/block`, read and write together.
pub fn disks(diskstats: &str, disks: &[String], reading: &mut Reading) {
    let (mut read, mut written, mut found) = (0.0, 0.0, false);
    for line in diskstats.lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let Some(name) = fields.get(2) else { continue };
        let is_disk = disks.iter().any(|disk| disk == name);
        if !is_disk || NO_DISKS.iter().any(|prefix| name.starts_with(prefix)) {
            continue;
        }
        let sectors = |at: usize| fields.get(at)?.parse::<f64>().ok();
        if let (Some(more_read), Some(more_written)) = (sectors(5), sectors(9)) {
            (read, written, found) = (read + more_read, written + more_written, true);
        }
    }
    if found {
        let each = [("disk_read", "read", read), ("disk_written", "written", written)];
        for (name, title, sectors) in each {
            let meter = Meter::counted(name, title, "bytes per second", DISKS);
            reading.values.push((meter, sectors * SECTOR));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(reading: &Reading) -> Vec<(&str, f64)> {
        reading.values.iter().map(|(meter, value)| (&*meter.name, *value)).collect()
    }

    #[test]
    fn processors_are_busy_with_everything_but_waiting() {
        let mut reading = Reading::default();
        processors("cpu  100 20 30 900 50 6 4 7 11 12\ncpu0 1 2 3 4 5 6 7 8 9 10\n", &mut reading);
        let expected = [
            ("processors_busy", 1.6),
            ("processors_system", 0.4),
            ("processors_waiting", 0.5),
            ("processors_stolen", 0.07),
        ];
        assert_eq!(values(&reading), expected);
        let mut again = Reading::default();
        processors("cpu  100 20 30 900 50 6 4 7\n", &mut again);
        assert_eq!(again, reading);
        for other in ["", "cpu  1 2 3\n", "cpu x"] {
            let mut nothing = Reading::default();
            processors(other, &mut nothing);
            assert_eq!(nothing, Reading::default(), "{other}");
        }
    }

    #[test]
    fn memory_is_reported_in_bytes() {
        let mut reading = Reading::default();
        memory(
            "MemTotal: 9 kB\nMemAvailable:   2 kB\nSwapCached: 7 kB\nDirty: 1 kB\n",
            &mut reading,
        );
        let expected = [("memory_available_bytes", 2_048.0), ("memory_dirty_bytes", 1_024.0)];
        assert_eq!(values(&reading), expected);
    }

    #[test]
    fn whole_disks_count_and_neither_partitions_nor_what_lies_on_them() {
        let text = " 254 0 vda 10 0 100 5 20 0 200 9 0 1 2\n 254 1 vda1 9 0 90 5 19 0 190 9 0 1 2\n\
            253 0 dm-0 9 0 90 5 19 0 190 9 0 1 2\n 8 16 sdb 1 0 10 5 2 0 20 9 0 1 2\n";
        let mut reading = Reading::default();
        let names = ["vda", "dm-0", "sdb", "loop0"].map(str::to_owned);
        disks(text, &names, &mut reading);
        assert_eq!(values(&reading), [("disk_read", 56_320.0), ("disk_written", 112_640.0)]);
        let mut nothing = Reading::default();
        disks(text, &[], &mut nothing);
        assert_eq!(nothing, Reading::default());
    }
}
