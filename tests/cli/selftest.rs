//! The self-test: claims about counts hold on any machine; claims about times hold, or cannot be
//! decided because the machine is busy. Claims that would only fail on a slow machine are left out.

use crate::servers::{absent, skipped};
use crate::springload::{BINARY, springload};
use std::process::{Command, Output};

/// The claims that hold on any machine, however slow.
const COUNTED: [&str; 4] = ["T5", "T8", "T11", "T15"];

#[test]
fn claims_that_count_hold_on_any_machine() {
    for name in COUNTED {
        let run = springload(["selftest", "--quick", "--only", name]);
        assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
        let last = "1 of 1 claims hold on this machine\n";
        assert!(run.stdout.starts_with(name) && run.stdout.ends_with(last), "{}", run.stdout);
    }
}

/// What counts may not depend on what watches the process: valgrind schedules its threads one at a
/// time, and lets system calls fail that it does not know.
#[test]
fn claims_that_count_hold_under_valgrind() {
    for name in WATCHED {
        let Some(run) = watched(&["valgrind", "--quiet", "--tool=none"], name) else {
            return absent("valgrind", "install the package valgrind");
        };
        holds(&run);
    }
}

/// perf interrupts the threads a thousand times a second, and with them their system calls.
#[test]
fn claims_that_count_hold_under_perf() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("perf.data");
    let record = ["perf", "record", "--quiet", "--freq", "999", "-o", file.to_str().unwrap()];
    let may = Command::new(record[0]).args(&record[1..]).arg("true").output();
    match may {
        Err(_) => return absent("perf", "install the package linux-perf"),
        // A kernel may keep its counters to itself, and those of virtual machines have none.
        Ok(run) if !run.status.success() => {
            return skipped("perf", &String::from_utf8_lossy(&run.stderr));
        }
        Ok(_) => {}
    }
    let size = || file.metadata().unwrap().len();
    let least = size();
    for name in WATCHED {
        holds(&watched(&record, name).expect("perf, which was there"));
        assert!(size() > least, "it was watched");
    }
}

/// Claims that take little time, however slow the process is.
const WATCHED: [&str; 2] = ["T5", "T15"];

/// What a claim prints if the process runs under this program; `None`: there is no such program.
fn watched(by: &[&str], claim: &str) -> Option<Output> {
    let claim = [BINARY, "selftest", "--quick", "--only", claim];
    Command::new(by[0]).args(&by[1..]).args(claim).output().ok()
}

fn holds(run: &Output) {
    let (out, err) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    assert!(run.status.success() && err.is_empty(), "{}: {out}{err}", run.status);
    assert!(out.ends_with("1 of 1 claims hold on this machine\n"), "{out}");
}

/// Timed claims that a debug build on a busy machine can meet: pauses and overloads of the server
/// are long compared with its delays, or the claim itself starves the client.
const TIMED: [&str; 3] = ["T1", "T9", "T10"];

#[test]
fn claims_that_are_timed_do_not_fail() {
    for name in TIMED {
        let run = springload(["selftest", "--quick", "--strict", "--only", name]);
        let outcome = run.stdout.lines().nth(1).unwrap_or_default().trim_start();
        let code = match outcome {
            holds if holds.starts_with("pass ") => 0,
            unjudged if unjudged.starts_with("cannot tell ") => 5,
            other => panic!("{other}: {}{}", run.stdout, run.stderr),
        };
        assert_eq!(run.code, code, "{}{}", run.stdout, run.stderr);
        assert!(run.stdout.starts_with(name), "{}", run.stdout);
    }
}

#[test]
fn a_claim_that_is_not_one_is_refused() {
    springload(["selftest", "--only", "T99"]).refused(2, &["--only", "T1 pause", "T15 replay"]);
}
