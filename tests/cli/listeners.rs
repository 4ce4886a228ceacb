//! What listens does so for this machine alone, unless others are let in by a flag.

use crate::springload::{Run, springload};

#[test]
fn an_address_for_others_wants_a_password_or_a_flag() {
    for place in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        springload(["serve", "--listen", place])
            .refused(2, &["--listen: other machines", place, "--admin USER:PASSWORD", "--public"]);
        springload(["serve", "--null", "--listen", place])
            .refused(2, &["--listen: other machines"]);
        let run = ["run", "--docs", "5", "--ops", "5", "--metrics", place];
        springload(run).refused(2, &["--metrics: other machines", place, "--metrics-public"]);
    }
    // Nothing but the flag is in the way.
    let words = ["run", "--docs", "5", "--ops", "5", "-c", "1", "--metrics", "0.0.0.0:0"];
    let run = Run::of(&[&words[..], &["--metrics-public"]].concat()).finish().passed();
    assert!(run.stderr.contains("metrics: http://0.0.0.0:"), "{}", run.stderr);
    // 192.0.2.1 is nobody's: listening is tried, with a password and without.
    for let_in in [&["--admin", "ann:pw"][..], &["--public"]] {
        let words = [&["serve", "--listen", "192.0.2.1:0"][..], let_in].concat();
        springload(words).refused(2, &["--listen: cannot listen on 192.0.2.1:0"]);
    }
}
