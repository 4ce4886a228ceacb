//! A compaction as it is reported: when it ends, and what if the server refuses it or is silent.

use super::super::couch_tests::{Answer, Couch, GONE};
use super::Compacting;
use crate::clock::{Clock, Nanos, SECOND_NS};
use crate::engine::{Start, Stop, StopReason};
use crate::measure::Compaction;
use serde_json::{Value, json};
use std::sync::Arc;

const MS: Nanos = 1_000_000;

fn sized(bytes: u64) -> Answer {
    (200, json!({ "sizes": { "file": bytes }, "compact_running": false }))
}

fn runs(running: bool) -> Answer {
    (200, json!({ "sizes": { "file": 300 }, "compact_running": running }))
}

/// A compaction in a stage that began a quarter of a second ago and is over already. These are the
/// answers about the database: its size, and then whether it is being compacted.
fn compacted(couch: &Couch, answers: &[Answer], stop: Arc<Stop>) -> Compaction {
    let target = couch.open("db");
    couch.instead("GET /db", answers);
    couch.seen();
    let start = Start::made(Clock::system().now() - 250 * MS);
    let compacting = Compacting::begin(target, Arc::new(start), stop).unwrap();
    let found = compacting.finish().expect("the stage has begun");
    assert!(found.began_s >= 0.25 && found.began_s < 60.0, "{found:?}");
    assert_eq!(found.before_bytes, Some(900));
    found
}

/// Between two shards, the server compacts nothing for a moment.
#[test]
fn a_compaction_ends_when_the_server_has_been_idle_for_a_while() {
    let couch = Couch::start();
    let answers = [sized(900), runs(false), runs(true), runs(false), runs(true), runs(false)];
    let found = compacted(&couch, &answers, Arc::default());
    assert!(found.ended && found.refused.is_none(), "{found:?}");
    assert_eq!(found.after_bytes, Some(300));
    // It was asked five times, with four pauses, before it was idle for good.
    assert!(found.length_s >= 0.08 && found.length_s < 60.0, "{found:?}");
    let seen = couch.seen();
    assert_eq!(seen[..2], ["GET /db", "POST /db/_compact"]);
}

/// The information about a database comes from one copy of each shard, and the others take longer.
#[test]
fn a_compaction_goes_on_while_a_node_of_the_cluster_has_a_task_for_it() {
    let couch = Couch::start();
    let shard = "shards/00000000-7fffffff/db.1700000000";
    let task = json!([{ "type": "database_compaction", "node": "b@x", "database": shard }]);
    let mut tasks = vec![(200, task); 8];
    tasks.push((200, json!([])));
    couch.instead("GET /_active_tasks", &tasks);
    let found = compacted(&couch, &[sized(900), runs(false)], Arc::default());
    assert!(found.ended && found.refused.is_none(), "{found:?}");
    // Eight times there was a task, with a pause after each.
    assert!(found.length_s >= 0.15 && found.length_s < 60.0, "{found:?}");
}

#[test]
fn a_compaction_that_is_refused_is_reported_with_the_reason() {
    let couch = Couch::start();
    let reason = json!({ "reason": "You are not a server admin." });
    couch.instead("POST /db/_compact", &[(401, reason)]);
    let found = compacted(&couch, &[sized(900)], Arc::default());
    let refused = found.refused.as_deref().unwrap_or_default();
    assert!(refused.contains("You are not a server admin"), "{refused}");
    assert!(!found.ended && found.after_bytes.is_none(), "{found:?}");
    assert!(found.length_s > 1e-6 && found.length_s < 60.0, "{found:?}");
}

/// A server that is silent for a moment may still be compacting, even after the stage.
#[test]
fn a_server_that_answers_again_is_waited_for() {
    let couch = Couch::start();
    let gone = (GONE, Value::Null);
    let answers = [sized(900), runs(true), gone.clone(), gone, runs(true), runs(false)];
    let found = compacted(&couch, &answers, Arc::default());
    assert!(found.ended && found.length_s >= 0.08, "{found:?}");
}

#[test]
fn a_user_who_asks_to_stop_does_not_wait_for_a_compaction() {
    let (couch, stop) = (Couch::start(), Arc::new(Stop::default()));
    stop.raise(StopReason::Interrupted);
    let found = compacted(&couch, &[sized(900), runs(true)], stop);
    assert!(!found.ended && found.length_s < 60.0, "{found:?}");
}

#[test]
fn nothing_is_compacted_in_a_stage_that_never_begins() {
    let couch = Couch::start();
    let target = couch.open("db");
    let far = Clock::system().now() + 3_600 * SECOND_NS;
    for start in [Start::new(1), Start::made(far)] {
        couch.seen();
        let begun = Compacting::begin(target.clone(), Arc::new(start), Arc::default()).unwrap();
        assert_eq!(begun.finish(), None);
        assert!(couch.seen().is_empty());
    }
}
