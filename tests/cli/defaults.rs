//! The defaults of a run: no more at once than a small server can bear.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::Value;
use springload::embedded::Options;

use crate::proxy::Proxy;
use crate::servers::Server;
use crate::springload::{measure, number, springload};

/// The plan of these arguments.
fn plan(arguments: &[&str]) -> Value {
    let run = springload(arguments.iter().copied().chain(["--dry-run"]));
    assert_eq!(run.code, 0, "{}", run.stderr);
    serde_json::from_str(&run.stdout).expect("a plan")
}

#[test]
fn the_documents_of_a_fill_that_are_under_way_at_once_are_bounded() {
    for (flags, connections, batch) in [
        (&[][..], 50, 100),
        (&["-c", "1"], 1, 1000),
        (&["-c", "8"], 8, 625),
        (&["-c", "1000"], 1000, 5),
        (&["-c", "7", "--docs", "100"], 7, 15),
        (&["--workload", "ycsb-a"], 50, 100),
        // Explicit settings take precedence.
        (&["--batch", "1000"], 50, 1000),
    ] {
        let plan = plan(&[&["run"][..], flags].concat());
        let fill = &plan["stages"][0];
        let found = (number(&plan["connections"]), number(&fill["batch"]));
        assert_eq!(found, (connections, batch), "{flags:?}");
        assert!(batch == 1000 || connections * batch <= 5_000);
    }
}

#[test]
fn a_label_is_kept_as_it_was_given() {
    for verb in [&["run"][..], &["burst"], &["http", "http://127.0.0.1:9/", "-r", "1"]] {
        assert_eq!(plan(verb).get("label"), None, "{verb:?}");
        let labeled = plan(&[verb, &["--label", " after <b>the</b> update "]].concat());
        assert_eq!(labeled["label"], "after <b>the</b> update", "{verb:?}");
    }
    for (label, says) in [("", "is empty"), ("a\tb", "one line"), (&"x".repeat(61), "60")] {
        let run = springload(["run", "--dry-run", "--label", label]);
        assert!(run.code == 2 && run.stderr.contains(says), "{label:?}: {}", run.stderr);
    }
}

#[test]
fn cells_of_a_sweep_have_one_batch() {
    let commands = |axis: &str| {
        let run = springload(["sweep", "-L", axis, "--ops=0", "--dry-run"]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        run.stdout
    };
    assert_eq!(commands("connections=1,10,100").matches(" --batch=50 ").count(), 3);
    assert_eq!(commands("docs=1k,10k").matches(" --batch=20 ").count(), 2);
    assert!(!commands("batch=10,20").contains("--batch=50"));
}

/// A relay that holds back these bulk requests for longer than a timeout of 1 s.
fn slow(server: &Server, late: Range<u32>) -> Proxy {
    let seen = AtomicU32::new(0);
    let hook = move |_: &str, path: &str| {
        if path.ends_with("_bulk_docs") && late.contains(&seen.fetch_add(1, Ordering::SeqCst)) {
            std::thread::sleep(Duration::from_secs(4));
        } else if path.ends_with("_bulk_docs") {
            std::thread::sleep(Duration::from_millis(200));
        }
    };
    Proxy::with_hook(&server.url, Box::new(hook))
}

#[test]
fn a_fill_that_times_out_names_what_helps() {
    let server = Server::stand_in(Options::default());
    let words = ["within 1 s", "2 requests of 10 documents", "--batch", "(-c)", "--timeout"];
    let flags = ["-c=2", "--docs=200", "--batch=10", "--timeout=1s", "--ops=0"];
    let all = slow(&server, 0..u32::MAX);
    let run = measure(["run", &all.url].into_iter().chain(flags));
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(words.iter().all(|word| run.stderr.contains(word)), "{}", run.stderr);
    // One request is late; the others are answered, some of them after the late one was given up.
    let one = slow(&server, 5..6);
    let run = measure(["run", &one.url].into_iter().chain(flags));
    let report = run.full_report();
    assert!(words.iter().all(|word| report.contains(word)), "{report}");
    let warnings = run.record["warnings"].as_array().expect("warnings");
    let warning = warnings.iter().find(|it| it["code"] == "fill_timed_out").expect("a warning");
    assert_eq!(warning["stage"], "bulk_insert");
}

/// Its figures are not those of the program that people use.
#[test]
fn a_debug_build_says_so() {
    let is_debug = env!("CARGO_BIN_EXE_springload").contains("/debug/");
    let run = measure(["run", "basic", "--duration", "100ms"]);
    assert_eq!(run.record["environment"]["debug_build"], is_debug);
    let report = run.full_report();
    assert_eq!(report.contains("was built without optimization"), is_debug, "{report}");
}
