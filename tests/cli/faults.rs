//! The table in docs/trust.md, row by row: each fault of the stand-in, and what a run reports about
//! it.

use std::collections::{BTreeMap, BTreeSet};

use crate::servers::Server;
use crate::springload::{Finished, Run, number};
use serde_json::Value;
use springload::embedded::{Fault, Faults, Lie, Occurrence, Options, Wire};
use springload::op::Failure;

/// A row of the table: the classes in which a run surely counts the fault, and those in which it
/// may.
#[derive(Debug)]
struct Row {
    surely: BTreeSet<String>,
    sometimes: BTreeSet<String>,
}

/// The rows by fault.
fn table() -> BTreeMap<String, Row> {
    let text = include_str!("../../docs/trust.md");
    let classes = |cell: &str| -> BTreeSet<String> {
        let quoted = cell.split('`').skip(1).step_by(2);
        quoted.filter(|word| is_class(word)).map(str::to_owned).collect()
    };
    let mut rows = BTreeMap::new();
    for line in text.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<_> = line.split('|').map(str::trim).collect();
        let [_, fault, seen, ..] = cells[..] else { continue };
        if Fault::named(fault.trim_matches('`')).is_some() {
            let (surely, sometimes) = seen.split_once("sometimes").unwrap_or((seen, ""));
            let row = Row { surely: classes(surely), sometimes: classes(sometimes) };
            let twice = rows.insert(fault.trim_matches('`').to_owned(), row);
            assert!(twice.is_none(), "{fault} has two rows");
        }
    }
    rows
}

fn is_class(word: &str) -> bool {
    Failure::ALL.iter().any(|class| class.name() == word)
}

/// The share of requests with a fault: large enough to be seen, and small enough for the run to
/// continue.
fn share(fault: Fault) -> f64 {
    match fault {
        Fault::Lie(
            Lie::DropAcknowledged | Lie::DropDelete | Lie::UndoDelete | Lie::OldRevision,
        ) => 0.1,
        // Most late writes have been carried out before they are looked for.
        Fault::Lie(Lie::LateWrite) => 0.2,
        Fault::Wire(Wire::SlowBytes) => 0.01,
        _ => 0.02,
    }
}

/// A run against a stand-in with this fault, and how often it happened.
fn run(name: &str, fault: Fault) -> (Finished, u64) {
    let occurrence = Occurrence { fault, fraction: share(fault), from_ns: 0, until_ns: None };
    let faults = Faults { named: vec![occurrence], seed: 5, ..Faults::default() };
    let server = Server::stand_in(Options { faults, ..Options::default() });
    let url = format!("{}/{name}", server.url);
    let words = ["run", &url, "--docs", "400", "--batch", "20", "--ops", "1k", "-c", "4"];
    let mut run = Run::of(&words).args(&["--warmup", "0s", "--verify", "--audit", "--keep"]);
    if fault == Fault::Wire(Wire::SlowBytes) {
        run = run.args(&["--timeout", "100ms"]);
    }
    let run = run.finish();
    let mut answer = ureq::get(format!("{}/_springload/counters", server.url)).call().unwrap();
    let counters: Value =
        serde_json::from_str(&answer.body_mut().read_to_string().unwrap()).unwrap();
    (run, number(&counters["faults"][name]))
}

/// All classes with a count above 0. Those of the audit's own requests are left out.
fn classes(run: &Finished) -> BTreeSet<String> {
    let mut classes = BTreeSet::new();
    for stage in run.stages() {
        for operation in stage["operations"].as_array().expect("a list") {
            if stage["name"] != "audit" || operation["kind"] == "verify" {
                let failures = operation["failures"].as_object().expect("failures");
                classes.extend(failures.keys().cloned());
            }
        }
    }
    classes
}

#[test]
fn every_row_of_the_table_is_so() {
    let rows = table();
    for (name, fault) in Fault::NAMES {
        let row = rows.get(name).unwrap_or_else(|| panic!("docs/trust.md has no row for {name}"));
        let (run, happened) = run(name, fault);
        let found = classes(&run);
        // Only followers read a changes feed.
        let of_feeds = matches!(fault, Fault::Lie(Lie::DuplicateChange | Lie::SkipChange));
        assert!(happened > 0 || of_feeds, "{name}");
        assert!(found.is_superset(&row.surely), "{name}: {found:?}, but {row:?}");
        let known = &row.surely | &row.sometimes;
        assert!(found.is_subset(&known), "{name}: {found:?}, but {row:?}");
        // No fault of a connection or a status makes data wrong, or is taken for wrong data.
        let wrong = Failure::ALL.iter().filter(|it| it.is_wrong_data());
        let wrong = wrong.filter(|it| found.contains(it.name())).count() > 0;
        assert_eq!(run.code == 6, wrong, "{name}: {}", run.stderr);
        assert!(run.code == 3 || name != "lock-out", "{}: {}", run.code, run.stderr);
        assert!(!wrong || matches!(fault, Fault::Lie(_)), "{name}: {found:?}");
    }
}
