//! The names of scratch databases, and what a run has left on a server, found by such a name.

use crate::clock::{SECOND_NS, wall_ns};

/// A new name for a scratch database, made from the time and the process number.
pub fn scratch_name() -> String {
    let now = wall_ns();
    let (seconds, fraction) = (now / SECOND_NS, now % SECOND_NS);
    format!("springload_{seconds}_{fraction}_{}", std::process::id())
}

/// What a run has left on a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Leftover {
    /// A database.
    #[default]
    Database,
    /// A replication.
    Replication,
    /// The settings that keep a server from compacting a database.
    Compaction,
}

/// A database that a run created and named, or something else that has such a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scratch {
    /// Its name.
    pub name: String,
    /// The name without the number of one database of many: the same for all databases of a run.
    pub run: String,
    /// When it was created, in seconds since 1970.
    pub began_s: u64,
    /// The process that created it.
    pub process: u32,
    /// What has that name.
    pub kind: Leftover,
}

impl Scratch {
    /// Whether both belong to the same run and are of the same kind, and a run may leave many of
    /// that kind.
    pub fn is_of_run(&self, other: &Self) -> bool {
        let many = self.kind != Leftover::Replication;
        self.run == other.run && self.kind == other.kind && many
    }

    /// Parses the name of a scratch database. `None` if it is neither a name from [`scratch_name`]
    /// nor one from a run with many databases, which adds a number of five digits.
    pub fn of_name(name: &str) -> Option<Self> {
        let mut parts = name.strip_prefix("springload_")?.split('_');
        let mut number = || parts.next()?.parse::<u64>().ok();
        let (began_s, fraction, process) = (number()?, number()?, u32::try_from(number()?).ok()?);
        let run = format!("springload_{began_s}_{fraction}_{process}");
        let rest = name.strip_prefix(&run)?;
        let is_number =
            |digits: &str| digits.len() == 5 && digits.bytes().all(|it| it.is_ascii_digit());
        let same = rest.is_empty() || rest.strip_prefix('_').is_some_and(is_number);
        let could_be = (FIRST_S..LAST_S).contains(&began_s) && fraction < SECOND_NS;
        let name = name.to_owned();
        let kind = Leftover::Database;
        (same && could_be).then_some(Self { name, run, began_s, process, kind })
    }
}

/// springload did not exist before 2020, and will not make such names after 2100.
const FIRST_S: u64 = 1_577_836_800;
const LAST_S: u64 = 4_102_444_800;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_scratch_databases_are_known_and_no_others() {
        let own = scratch_name();
        let scratch = Scratch::of_name(&own).unwrap();
        assert_eq!((scratch.name, scratch.process), (own, std::process::id()));
        assert!(wall_ns() / SECOND_NS - scratch.began_s < 60);
        let one = Scratch::of_name("springload_1795000000_1_2_00003").unwrap();
        assert_eq!((&*one.run, one.process), ("springload_1795000000_1_2", 2));
        for other in [
            "springload_results",
            "springload_1795000000_1",
            "springload_1795000000_1_2_old",
            "springload_1795000000_1_2_3",
            "springload_1795000000_1_2_000031",
            "springload_1795000000_1_2_0003x",
            "springload_1795000000_1_2_00003_4",
            "springload_1795000000_1_2_",
            "springload_1795000000_1_99999999999",
            "springload_1795000000_9999999999_2",
            "springload_01795000000_1_2",
            "springload_1795000000_+1_2",
            "springload_1_2_3",
            "springload_1795000000_-1_2",
            "my_springload_1795000000_1_2",
            "Springload_1795000000_1_2",
            "springload_1795000000_1_2 ",
            "springload_",
            "",
        ] {
            assert_eq!(Scratch::of_name(other), None, "{other}");
        }
    }
}
