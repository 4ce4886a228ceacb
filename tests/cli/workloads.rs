//! `run --workload`: each name is known, and one that needs more explains what to use.

use crate::springload::{measure, number, springload};

#[test]
fn a_workload_is_found_by_its_name() {
    let counts = ["--docs=60", "-c=2", "--ops=40"];
    let run = measure([&["run", "--workload=mixed"], &counts[..]].concat()).passed();
    assert_eq!(run.stage("crud")["plan"]["workload"], "crud");
    assert_eq!(run.stage("crud")["plan"]["purpose"], "main");
    let hot = ["run", "--workload=hot", "--docs=400", "-c=2", "--ops=800", "--warmup=200ms"];
    let run = measure(hot).passed();
    assert_eq!(run.stage("hot")["load"]["begun"], 800);
    assert_eq!(number(&run.operation("hot", "read")["ok"]), 300);
    let few = ["run", "--workload=hot", "--docs=100", "-c=2"];
    springload(few).refused(2, &["--docs: ", "; give 200 or more, "]);
    let run = measure(["run", "--workload=bulk-insert", "--docs=60", "-c=2"]).passed();
    assert_eq!(run.stages().count(), 1);
    assert_eq!(number(&run.operation("bulk_insert", "bulk_insert")["ok"]), 60);
}

#[test]
fn one_that_run_cannot_start_says_what_can() {
    let refused = |name: &str, words: &[&str]| {
        springload(["run", "--workload", name]).refused(2, words);
    };
    refused("urls", &["--workload: ", "; use springload http"]);
    refused("burst", &["--workload: ", "; use springload burst"]);
    refused("ycsb", &["--workload: ", "; use springload ycsb"]);
    refused("nonsense", &["nonsense", "--workload", "mixed", "ycsb-a"]);
    let words = ["run", "--workload=ycsb-a", "--mix=read=1"];
    springload(words).refused(2, &["--mix: the workload has its own mix; "]);
    let words = ["run", "--workload=bulk-insert", "--ops=1"];
    springload(words).refused(2, &["--ops: ", "leave this out, or --workload"]);
    let help = springload(["run", "--help"]);
    assert!(help.stdout.contains("Creates, reads, updates and deletes"), "{}", help.stdout);
}
