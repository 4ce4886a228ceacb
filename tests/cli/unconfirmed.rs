//! Writes that a server reports as failed: the audit finds out by looking whether they were carried
//! out, and counts neither case as an error. Refused writes are different.

use crate::ledger;
use crate::relay::{Deed, Relay};
use crate::servers::Server;
use crate::springload::{Finished, measure, number};
use serde_json::Value;
use springload::embedded::{Fault, Faults, Lie, Occurrence, Options, Wire};
use springload::op::{Certainty, Failure};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// A server with these faults, and the share of each.
fn faulty(faults: &[(Fault, f64)]) -> Server {
    let occurrence =
        |&(fault, fraction)| Occurrence { fault, fraction, from_ns: 0, until_ns: None };
    let named = faults.iter().map(occurrence).collect();
    let faults = Faults { named, seed: 11, ..Faults::default() };
    Server::stand_in(Options { faults, ..Options::default() })
}

/// The server's response; its faults also affect this request.
fn get(url: &str) -> Value {
    let mut answer = (0..50).find_map(|_| ureq::get(url).call().ok()).expect("an answer");
    let text = answer.body_mut().read_to_string().expect("UTF-8");
    serde_json::from_str(&text).expect("JSON")
}

/// The number of times a fault has happened.
fn happened(server: &Server, name: &str) -> u64 {
    number(&get(&format!("{}/_springload/counters", server.url))["faults"][name])
}

/// The number of documents, as reported by the server.
fn stored(server: &Server, database: &str) -> u64 {
    number(&get(&format!("{}/{database}", server.url))["doc_count"])
}

/// The errors that an audit found, by class.
fn wrong(run: &Finished, stage: &str) -> BTreeMap<String, u64> {
    let verify = run.operation(stage, "verify");
    let failures = verify["failures"].as_object().cloned().unwrap_or_default();
    failures.into_iter().map(|(class, count)| (class, number(&count))).collect()
}

/// What an audit found out about failed writes: how many were carried out, and how many not.
fn failed(run: &Finished) -> (u64, u64) {
    let verify = run.operation("audit", "verify");
    let of = |key: &str| verify.get(key).map_or(0, number);
    (of("failed_carried_out"), of("failed_not_carried_out"))
}

const FILL: [&str; 6] = ["--docs", "2k", "--batch", "50", "-c", "4"];

/// A fill of a database that is kept, with an audit.
fn fill(server: &Server, more: &[&str]) -> Finished {
    let url = format!("{}/filled", server.url);
    let words = ["run", &url, "--workload", "bulk-insert", "--audit", "--keep"];
    measure([&words[..], &FILL[..], more].concat())
}

#[test]
fn what_a_server_fails_is_looked_for_and_reported() {
    for (name, lie) in [("fail-stored", Lie::FailStored), ("fail-dropped", Lie::FailDropped)] {
        let server = faulty(&[(Fault::Lie(lie), 0.1)]);
        let run = fill(&server, &[]);
        let faults = happened(&server, name);
        assert!(faults > 100, "{name}: {faults}");
        let expected = if lie == Lie::FailStored { (faults, 0) } else { (0, faults) };
        let there = 2_000 - expected.1;
        let later = measure(["audit", run.output().to_str().expect("UTF-8"), &server.url]);
        for audited in [&run, &later] {
            assert_eq!(wrong(audited, "audit"), BTreeMap::new(), "{name}: {}", audited.stderr);
            assert!(audited.code != 6, "{name}: {}", audited.stderr);
            assert_eq!(failed(audited), expected, "{name}");
            let verify = audited.operation("audit", "verify");
            assert_eq!((number(&verify["ok"]), number(&verify["issued"])), (2_000, 2_000));
            let (done, were) = (expected.0, if expected.0 == 1 { "was" } else { "were" });
            let words = format!("failed: {faults}, of which {done} {were} carried out");
            let report = audited.report("text").stdout;
            assert!(report.contains(&words), "{words}: {report}");
        }
        // By row, although the status is 500: the other rows count as stored.
        let insert = run.operation("bulk_insert", "bulk_insert");
        assert_eq!(number(&insert["failures"]["server_error"]), faults, "{name}");
        assert_eq!(number(&insert["ok"]), 2_000 - faults, "{name}");
        assert_eq!(stored(&server, "filled"), there, "{name}");
    }
}

#[test]
fn a_request_that_failed_as_a_whole_is_looked_for_too() {
    let status = Fault::named("status-500").expect("a fault");
    let server = faulty(&[(status, 0.2)]);
    let run = fill(&server, &[]);
    let lost = number(&run.operation("bulk_insert", "bulk_insert")["failures"]["server_error"]);
    assert!(lost > 0 && lost.is_multiple_of(50), "{lost}");
    assert_eq!((wrong(&run, "audit"), failed(&run)), (BTreeMap::new(), (0, lost)));
}

#[test]
fn updates_and_deletions_that_failed_may_have_been_done() {
    for (name, lie) in [("fail-stored", Lie::FailStored), ("fail-dropped", Lie::FailDropped)] {
        for workload in ["mixed", "hot"] {
            let server = faulty(&[(Fault::Lie(lie), 0.05)]);
            let url = format!("{}/{workload}", server.url);
            let words = ["run", &url, "--workload", workload, "--ops", "4k", "--verify", "--audit"];
            let run = measure([&words[..], &["--docs", "400", "-c", "4", "--keep"]].concat());
            let stage = if workload == "mixed" { "crud" } else { workload };
            for stage in [stage, "audit"] {
                let wrong = wrong(&run, stage);
                assert!(wrong.is_empty(), "{name} {workload} {stage}: {wrong:?} {}", run.stderr);
            }
            assert!(run.code != 6, "{name} {workload}: {}", run.stderr);
            // Some are written or read again, which resolves the doubt.
            let (done, not) = failed(&run);
            let faults = happened(&server, name);
            assert!(
                faults > 50 && done + not <= faults,
                "{name} {workload}: {done} {not} {faults}"
            );
            let expected = if lie == Lie::FailStored { done } else { not };
            assert!(expected > 0 && expected == done + not, "{name} {workload}: {done} {not}");
        }
    }
}

#[test]
fn every_verb_looks_for_what_failed() {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/schemas/example.json");
    for line in [
        "burst {url} -c 8 -d 400ms --both --audit --verify",
        "ycsb load couchdb -P workloads/workloada -p couchdb.url={url} --audit",
        "ycsb run couchdb -P workloads/workloada -p couchdb.url={url} --audit -threads 4 \
         -p readproportion=0 -p insertproportion=0.5",
        "bulk-perf 100 2000 4 {url} --audit",
        "cushion --database_address={url} --database_name=db --audit --num_crud_operations=200 \
         --create_weight=1 --read_weight=2 --update_weight=3 --delete_weight=1 \
         --json_document_schema_filename={example}",
    ] {
        for lie in [Lie::FailStored, Lie::FailDropped] {
            let server = faulty(&[(Fault::Lie(lie), 0.02)]);
            ureq::put(format!("{}/db", server.url)).send_empty().expect("a database");
            let line = line.replace("{url}", &server.url).replace("{example}", example);
            let run = measure(line.split(' '));
            let name = if lie == Lie::FailStored { "fail-stored" } else { "fail-dropped" };
            assert!(happened(&server, name) > 0, "{line} {lie:?}");
            assert_eq!(wrong(&run, "audit"), BTreeMap::new(), "{line} {lie:?}: {}", run.stderr);
            assert!(run.code != 6, "{line} {lie:?}: {}", run.stderr);
        }
    }
}

#[test]
fn what_is_there_although_it_was_refused_is_a_finding() {
    let server = faulty(&[(Fault::Lie(Lie::RefuseStored), 0.1)]);
    let words = ["run", &server.url, "--workload", "bulk-insert", "--audit"];
    let run = measure([&words[..], &FILL[..]].concat());
    let faults = happened(&server, "refuse-stored");
    assert!(faults > 100, "{faults}");
    assert_eq!(run.code, 6, "{}", run.stderr);
    assert_eq!(wrong(&run, "audit"), BTreeMap::from([("extra".to_owned(), faults)]));
    assert_eq!(failed(&run), (0, 0));
    let words = ["run", &server.url, "--ops", "2k", "--docs", "400", "-c", "4", "--audit"];
    let run = measure(words);
    let wrong = wrong(&run, "audit");
    let classes: Vec<&str> = wrong.keys().map(String::as_str).collect();
    assert_eq!(run.code, 6, "{}", run.stderr);
    assert_eq!(classes, ["extra", "lost", "unknown_revision"], "{}", run.stderr);
}

/// A write stored by a request without a response is a conflict when it is sent again. That counts
/// as a success of the first request, even if the server fails other documents of the same batch.
#[test]
fn what_is_sent_again_after_an_error_accuses_nobody() {
    let reset = Fault::Wire(Wire::ResetAfter);
    let server = faulty(&[(reset, 0.3), (Fault::Lie(Lie::FailStored), 0.05)]);
    let run = fill(&server, &["--wait-for-server", "10s"]);
    assert!(happened(&server, "reset-after") > 5, "{}", run.stderr);
    assert!(happened(&server, "fail-stored") > 20, "{}", run.stderr);
    assert_eq!(wrong(&run, "audit"), BTreeMap::new(), "{}", run.stderr);
    let insert = run.operation("bulk_insert", "bulk_insert");
    assert!(insert["failures"].get("conflict").is_none(), "{insert}");
    assert_eq!(stored(&server, "filled"), 2_000);
    let (done, not) = failed(&run);
    let last = insert["failures"].get("server_error").map_or(0, number);
    assert_eq!((done, not), (last, 0), "{insert}");
    // Each attempt to send a document is noted: a refusal takes back only one of these notes.
    let unanswered = number(&insert["failures"]["unanswered"]);
    assert!(unanswered > 200, "{insert}");
    assert_eq!(ledger::sent(&run.output()), 2_000 + unanswered, "{insert}");
}

/// A relay that passes on every third bulk insert, and hangs up instead of sending the response.
fn losing_answers(server: &Server) -> Relay {
    let (url, seen) = (server.url.clone(), AtomicU64::default());
    Relay::before(server, move |request| {
        let path = request.head.split(' ').nth(1).expect("a path");
        let is_bulk = request.is("POST ") && path.ends_with("/_bulk_docs");
        if !is_bulk || !seen.fetch_add(1, Ordering::Relaxed).is_multiple_of(3) {
            return Deed::Pass;
        }
        let post = ureq::post(format!("{url}{path}")).header("content-type", "application/json");
        post.send(&request.body[..]).expect("an answer");
        Deed::HangUp
    })
}

/// A batch without a response, in a database that already has other documents of these names, in
/// their first revisions: they are not taken for those of the batch.
#[test]
fn what_others_had_stored_is_not_called_carried_out() {
    let server = Server::stand_in(Options::default());
    let url = format!("{}/theirs", losing_answers(&server).url);
    let words = ["run", &url, "--workload", "bulk-insert", "--id", "sequential", "-c", "2"];
    let words = [&words[..], &["--docs", "400", "--batch", "20", "--audit"]].concat();
    // For documents of its own it knows; for two identical ones, it cannot be known.
    for (seed, more, known) in
        [("1", "--keep", true), ("1", "--use-existing", true), ("2", "--use-existing", false)]
    {
        let run = measure([&words[..], &["--seed", seed, more]].concat());
        let insert = run.operation("bulk_insert", "bulk_insert");
        let lost = number(&insert["failures"]["unanswered"]);
        assert!(lost >= 120, "{insert}");
        let carried_out = insert["carried_out"].as_u64().unwrap_or(0);
        assert_eq!(carried_out, if known { lost } else { 0 }, "{seed} {more}: {insert}");
        assert_eq!(wrong(&run, "audit"), BTreeMap::new(), "{seed} {more}: {}", run.stderr);
        assert_eq!(stored(&server, "theirs"), 400);
    }
}

/// The rows of the table in docs/trust.md: the classes of each, and the text about them.
fn table() -> Vec<(Vec<String>, String)> {
    let text = include_str!("../../docs/trust.md");
    let (_, after) = text.split_once("| a write that failed as | ").expect("the table");
    let rows = after.lines().skip(2).take_while(|line| line.starts_with('|'));
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let classes = cells[0].split('`').skip(1).step_by(2).map(str::to_owned).collect();
        (classes, cells[1].to_owned())
    };
    rows.map(row).collect()
}

#[test]
fn the_table_says_what_is_known_of_a_write_by_its_class() {
    let mut said = BTreeMap::new();
    for (classes, certainty) in table() {
        for class in classes {
            assert_eq!(said.insert(class.clone(), certainty.clone()), None, "{class} twice");
        }
    }
    for class in Failure::ALL.into_iter().filter(|it| !it.is_wrong_data()) {
        let words = match class.certainty() {
            Certainty::NotDone => "certainly not done",
            Certainty::Failed => "may be done: the server said that it failed",
            Certainty::Unknown => "may be done: there was no answer that tells",
        };
        let found = said.remove(class.name());
        assert_eq!(found.as_deref(), Some(words), "{class}");
    }
    assert_eq!(said.keys().collect::<Vec<_>>(), ["unexpected_state"]);
    assert_eq!(Failure::UnexpectedState.certainty(), Certainty::Failed);
}
