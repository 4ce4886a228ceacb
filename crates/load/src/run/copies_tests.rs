//! Copies that are compared after a drill: when, and until when.

use super::super::couch_tests::{Answer, Couch, Told};
use super::super::ending::begun;
use super::super::fixture_tests::{few, planned};
use super::compare;
use crate::clock::{Nanos, SECOND_NS};
use crate::driver::Existing;
use crate::engine::{Stop, StopReason};
use crate::measure::Copies;
use crate::plan::{Plan, PlanSpec};
use crate::record::{DrillRecord, DrillStep, RunRecord, ServerRecord, fixture};
use serde_json::json;
use std::sync::Arc;

/// The changes of a copy with this many documents.
fn copy(documents: u64) -> Answer {
    let change =
        |seq: u64| json!({ "seq": seq, "id": seq.to_string(), "changes": [{ "rev": "1-a" }] });
    let results: Vec<_> = (1..=documents).map(change).collect();
    (200, json!({ "results": results }))
}

/// A database of one shard with two copies: one of three documents, and the other as given, each
/// time that it is read.
fn cluster(other: &[Answer]) -> Couch {
    let couch = Couch::start();
    couch.put("db", "x", "1-a");
    couch.instead("GET /db", &[(200, json!({ "db_name": "db", "instance_start_time": "1" }))]);
    couch.instead("GET /db/_shards", &[(200, json!({ "shards": { "0-f": ["n1", "n2"] } }))]);
    couch.instead("GET /_node/_local/*", &[copy(3)]);
    couch.instead("GET /_node/_local", &[(200, json!({ "name": "n1" }))]);
    couch.instead("GET /_node/n2/*", other);
    couch
}

/// A plan with or without an audit.
fn plan(couch: &Couch, audit: bool) -> Plan {
    let few = few(10, Some(format!("{}/db", couch.url)));
    planned(&PlanSpec { existing: Existing::Yes, audit, ..few })
}

/// The record of a stage in which something was broken, or not.
fn record(plan: &Plan, broken: bool) -> RunRecord {
    let server = ServerRecord { database: "db".to_owned(), ..ServerRecord::default() };
    let mut record = begun(plan, 0, server);
    let step = DrillStep { from_s: 1.0, to_s: 2.0, ..DrillStep::default() };
    let drill = DrillRecord { stop: Some(step.clone()).filter(|_| broken), start: Some(step) };
    let mut stage = fixture::stage("crud", Vec::new());
    stage.drill = Some(drill);
    record.stages.push(stage);
    record
}

/// What a comparison with this much time finds; `told` gets the messages for the user.
fn compared(couch: &Couch, told: &mut Told, patience_ns: Nanos) -> Option<Copies> {
    let plan = plan(couch, true);
    let stop = told.stops.clone().unwrap_or_default();
    compare(&plan, &record(&plan, true), &stop, told, patience_ns)
}

/// How often the copy of the other node was asked for.
fn looks(couch: &Couch) -> usize {
    couch.seen().iter().filter(|it| it.starts_with("GET /_node/n2/")).count()
}

#[test]
fn copies_are_compared_until_they_match() {
    let couch = cluster(&[copy(1), copy(3)]);
    let mut told = Told::default();
    let copies = compared(&couch, &mut told, 6 * SECOND_NS).unwrap();
    let found: Vec<_> =
        copies.nodes.iter().map(|it| (it.node.as_str(), it.documents, it.missing)).collect();
    assert_eq!(found, [("n1", 3, 0), ("n2", 3, 0)]);
    assert!(copies.are_alike(), "{copies:?}");
    assert_eq!(looks(&couch), 2);
    assert!(copies.looked_s >= 0.2, "a thirtieth of the time: {}", copies.looked_s);
    assert_eq!(told.news, ["comparing the copies on each node"]);
}

#[test]
fn a_user_who_asks_to_stop_does_not_wait_for_copies_to_match() {
    let couch = cluster(&[copy(1)]);
    let mut told = Told { stops: Some(Arc::default()), ..Told::default() };
    let copies = compared(&couch, &mut told, 60 * SECOND_NS).unwrap();
    assert!(copies.differ() && copies.looked_s < 25.0, "{copies:?}");
}

/// The run is over then, but for its record.
#[test]
fn a_comparison_that_is_ended_at_once_says_so_and_ends_nothing_else() {
    let couch = cluster(&[copy(3)]);
    let mut told = Told { stops: Some(Arc::default()), twice: true, ..Told::default() };
    let copies = compared(&couch, &mut told, 60 * SECOND_NS).unwrap();
    let why = "exited immediately; a scratch database may remain";
    assert_eq!((copies.problem.as_deref(), copies.nodes.len()), (Some(why), 0));
    assert!(!copies.are_alike() && !copies.differ(), "{copies:?}");
}

/// After a drill, a node may take a while until it answers again.
#[test]
fn copies_that_cannot_be_read_yet_are_looked_at_again() {
    let starting = || (404, json!({ "reason": "Database does not exist." }));
    let couch = cluster(&[starting(), starting(), copy(3)]);
    let copies = compared(&couch, &mut Told::default(), 6 * SECOND_NS).unwrap();
    assert!(copies.are_alike(), "{copies:?}");
    assert_eq!(looks(&couch), 3);
    let couch = cluster(&[copy(3)]);
    let shards = (200, json!({ "shards": { "0-f": ["n1", "n2"] } }));
    couch.instead("GET /db/_shards", &[(500, json!({ "reason": "badmatch" })), shards]);
    let copies = compared(&couch, &mut Told::default(), 6 * SECOND_NS).unwrap();
    assert!(copies.are_alike(), "{copies:?}");
}

#[test]
fn copies_that_this_user_may_not_read_are_not_waited_for() {
    for status in [401, 403] {
        let couch = cluster(&[(status, json!({ "reason": "You are not a server admin." }))]);
        let copies = compared(&couch, &mut Told::default(), 60 * SECOND_NS).unwrap();
        let problem = copies.nodes[1].problem.clone().unwrap_or_default();
        assert_eq!(problem, format!("status {status} (You are not a server admin)"));
        assert_eq!(looks(&couch), 1);
    }
}

#[test]
fn copies_that_cannot_be_compared_have_a_reason() {
    let couch = cluster(&[copy(3)]);
    couch.instead("GET /db/_shards", &[(500, json!({ "reason": "badmatch" }))]);
    let copies = compared(&couch, &mut Told::default(), SECOND_NS / 10).unwrap();
    let problem = copies.problem.as_deref().unwrap_or_default();
    assert!(problem.contains(" answers 500 to GET /db/_shards: badmatch"), "{copies:?}");
    assert!(copies.looked_s >= 0.1 && copies.nodes.is_empty(), "{copies:?}");
    let couch = cluster(&[(404, json!({ "reason": "Database does not exist." }))]);
    let copies = compared(&couch, &mut Told::default(), SECOND_NS / 10).unwrap();
    let problems: Vec<_> = copies.nodes.iter().map(|it| it.problem.as_deref()).collect();
    assert_eq!(problems, [None, Some("status 404 (Database does not exist)")]);
    assert!(copies.looked_s >= 0.1 && looks(&couch) > 1, "{copies:?}");
}

#[test]
fn one_copy_is_not_compared_with_anything() {
    let couch = cluster(&[copy(3)]);
    couch.instead("GET /db/_shards", &[(200, json!({ "shards": { "0-f": ["n1"] } }))]);
    assert_eq!(compared(&couch, &mut Told::default(), SECOND_NS), None);
}

/// Without a drill, an audit, or time, nobody looks at the copies.
#[test]
fn copies_are_compared_only_if_something_was_broken_and_everything_looked_for() {
    let couch = cluster(&[copy(3)]);
    for (audit, broken, stopped) in
        [(false, true, false), (true, false, false), (true, true, true), (false, false, false)]
    {
        let (plan, stop, mut told) = (plan(&couch, audit), Stop::default(), Told::default());
        if stopped {
            stop.raise(StopReason::Interrupted);
        }
        let found = compare(&plan, &record(&plan, broken), &stop, &mut told, SECOND_NS);
        assert_eq!(found, None, "{audit} {broken} {stopped}");
        assert!(told.news.is_empty() && couch.seen().is_empty(), "{audit} {broken} {stopped}");
    }
}
