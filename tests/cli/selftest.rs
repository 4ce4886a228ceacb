//! The self-test, as far as it counts. What it times is no test: the machine may be busy.

use crate::springload::springload;

/// The claims that hold on any machine, however slow.
const COUNTED: [&str; 4] = ["T5", "T8", "T11", "T15"];

#[test]
fn claims_that_count_hold_on_any_machine() {
    for name in COUNTED {
        let run = springload(["selftest", "--quick", "--only", name]);
        assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
        let last = "1 of 1 claims hold on this machine now\n";
        assert!(run.stdout.starts_with(name) && run.stdout.ends_with(last), "{}", run.stdout);
    }
}

#[test]
fn a_claim_that_is_not_one_is_refused() {
    springload(["selftest", "--only", "T99"]).refused(2, &["--only", "T1 pause", "T15 replay"]);
}
