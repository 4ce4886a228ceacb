//! Tests commands that go to the nodes of a cluster and are redirected to others.

use super::RedisPlan;
use super::stand_in::{StandInData, server};
use super::tests::{asked, document, opened, opening, session};
use crate::op::{Failure, Op, OpKind};
use crate::rehearsal::{carry_out, op};
use crate::{DriverPlan as _, Existing, Session as _, Shard as _, Target as _, TargetAsked};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Two nodes; the map says that the first has all slots.
fn cluster() -> [(SocketAddr, Arc<Mutex<StandInData>>); 2] {
    let nodes = [server(), server()];
    for (_, kept) in &nodes {
        let kept = &mut *kept.lock().unwrap();
        (kept.mode, kept.owner) = ("cluster", nodes[0].0.to_string());
    }
    nodes
}

fn count(kept: &Mutex<StandInData>, start: &str) -> usize {
    kept.lock().unwrap().seen.iter().filter(|it| it.starts_with(start)).count()
}

#[tokio::test]
async fn commands_are_sent_on_to_where_their_keys_have_moved() {
    let tasks = tokio::task::LocalSet::new();
    tasks
        .run_until(async {
            let [(first, a), (second, b)] = cluster();
            a.lock().unwrap().elsewhere.push(("moved", "MOVED", second.to_string()));
            a.lock().unwrap().elsewhere.push(("asked", "ASK", second.to_string()));
            b.lock().unwrap().elsewhere.push(("asked", "MOVED", first.to_string()));
            let (target, facts) = opened(first, asked("redis://HOST")).await;
            assert_eq!(facts.name, "redis");
            let (mut session, _context) = session(&target, 5_000).await;
            let s = &mut session;
            // The index stays on the first node.
            for key in ["here", "moved", "asked"] {
                let made = carry_out(s, op(OpKind::Create), &[(key, r#"{"a":"1"}"#)], &[]).await;
                assert_eq!(made.result.err(), None, "{key}");
                assert_eq!(made.wire.relocated, u64::from(key != "here"), "{key}");
                let read = carry_out(s, op(OpKind::Read), &[(key, "")], &[]).await;
                assert_eq!((read.result.err(), document(s)), (None, r#"{"a":"1"}"#.to_owned()));
                // A slot that has moved is remembered; one that is still moving is not.
                assert_eq!(read.wire.relocated, u64::from(key == "asked"), "{key}");
            }
            assert_eq!((count(&b, "ASKING"), count(&a, "HGETALL moved")), (2, 0));
            let keys =
                |kept: &Mutex<StandInData>| kept.lock().unwrap().hashes.keys().cloned().collect();
            let (on_a, on_b): (Vec<_>, Vec<_>) = (keys(&a), keys(&b));
            assert_eq!(
                (on_a, on_b),
                (vec!["here".to_owned()], vec!["asked".into(), "moved".into()])
            );
            assert_eq!(a.lock().unwrap().index["_indices"].len(), 3);
            // A batch is divided, and its answers are put together again.
            let bulk = Op { documents: 3, ..op(OpKind::BulkInsert) };
            let documents =
                [("x", r#"{"a":"1"}"#), ("full", r#"{"a":"2"}"#), ("moved", r#"{"a":"3"}"#)];
            assert_eq!(carry_out(s, bulk, &documents, &[]).await.result.err(), None);
            let rows: Vec<_> = s.answered().rows.iter().map(|row| row.err()).collect();
            assert_eq!(rows, [None, Some(Failure::ServerError), None]);
            let scan = Op { limit: 9, ..op(OpKind::Scan) };
            let all = carry_out(s, scan, &[("here", "")], &[]).await;
            assert!(all.result.unwrap().rows >= 3, "{all:?}");
        })
        .await;
}

/// Users often may not use `INFO`, and old servers have no `HELLO`.
#[tokio::test]
async fn a_cluster_is_known_also_where_info_is_refused() {
    let tasks = tokio::task::LocalSet::new();
    tasks
        .run_until(async {
            for (refused, version) in [(vec!["INFO"], "9.9"), (vec!["INFO", "HELLO"], "")] {
                let [(first, a), (second, _)] = cluster();
                a.lock().unwrap().refused.clone_from(&refused);
                a.lock().unwrap().elsewhere.push(("moved", "MOVED", second.to_string()));
                let (target, facts) = opened(first, asked("redis://HOST")).await;
                assert_eq!(facts.version, version, "{refused:?}");
                let (mut session, _context) = session(&target, 5_000).await;
                let there = [("moved", r#"{"a":"1"}"#)];
                let made = carry_out(&mut session, op(OpKind::Create), &there, &[]).await;
                assert_eq!((made.result.err(), made.wire.relocated), (None, 1), "{refused:?}");
            }
        })
        .await;
}

#[tokio::test]
async fn a_single_server_is_not_taken_for_a_cluster_where_info_is_refused() {
    for refused in [vec!["INFO"], vec!["INFO", "HELLO"], vec!["INFO", "HELLO", "CLUSTER"]] {
        let (address, kept) = server();
        kept.lock().unwrap().mode = "standalone";
        kept.lock().unwrap().refused.clone_from(&refused);
        let (target, _) = opened(address, asked("redis://HOST/3")).await;
        let (mut session, _context) = session(&target, 5_000).await;
        let here = [("k", r#"{"a":"1"}"#)];
        let made = carry_out(&mut session, op(OpKind::Create), &here, &[]).await;
        assert_eq!((made.result.err(), count(&kept, "CLUSTER SLOTS")), (None, 0), "{refused:?}");
    }
}

/// Nothing that a user may do tells that it is a cluster, or which nodes it has.
#[tokio::test]
async fn a_cluster_that_cannot_be_asked_is_named_with_what_to_allow() {
    let [(first, a), (second, _)] = cluster();
    a.lock().unwrap().refused = vec!["INFO", "HELLO", "CLUSTER"];
    a.lock().unwrap().elsewhere.push(("moved", "MOVED", second.to_string()));
    let (target, _) = opened(first, asked("redis://HOST")).await;
    let (mut session, _context) = session(&target, 5_000).await;
    let read = carry_out(&mut session, op(OpKind::Read), &[("moved", "")], &[]).await;
    assert_eq!(read.result.err(), Some(Failure::Rejected));
    let reason = session.reason(Failure::Rejected).unwrap().reason;
    assert!(reason.contains("allow HELLO or INFO, and CLUSTER SLOTS"), "{reason}");
    a.lock().unwrap().refused = vec!["CLUSTER"];
    let plan = RedisPlan::check(&asked(&format!("redis://{first}"))).unwrap();
    let message = plan.open(&opening()).await.unwrap_err().to_string();
    assert!(message.contains("NOPERM") && message.contains("SLOTS: allow it"), "{message}");
}

#[tokio::test]
async fn a_command_that_is_sent_in_circles_fails() {
    let tasks = tokio::task::LocalSet::new();
    tasks
        .run_until(async {
            let [(first, a), (second, b)] = cluster();
            a.lock().unwrap().elsewhere.push(("k", "MOVED", second.to_string()));
            b.lock().unwrap().elsewhere.push(("k", "MOVED", first.to_string()));
            let (target, _) = opened(first, asked("redis://HOST")).await;
            let (mut session, _context) = session(&target, 5_000).await;
            let read = carry_out(&mut session, op(OpKind::Read), &[("k", "")], &[]).await;
            assert_eq!(read.result.err(), Some(Failure::ServerError));
            let reason = session.reason(Failure::ServerError).unwrap().reason;
            assert!(reason.contains("from one node to another"), "{reason}");
        })
        .await;
}

/// The record is stored, but its place in the index is not: this must not be reported as if nothing
/// was done.
#[tokio::test]
async fn a_write_that_only_some_nodes_took_is_not_called_undone() {
    let tasks = tokio::task::LocalSet::new();
    tasks
        .run_until(async {
            let [(first, a), _] = cluster();
            a.lock().unwrap().elsewhere.push(("_indices", "MOVED", "127.0.0.1:1".to_owned()));
            let (target, _) = opened(first, asked("redis://HOST")).await;
            let (mut session, _context) = session(&target, 5_000).await;
            let made =
                carry_out(&mut session, op(OpKind::Create), &[("k", r#"{"a":"1"}"#)], &[]).await;
            assert_eq!(made.result.err(), Some(Failure::Unanswered));
            assert!(a.lock().unwrap().hashes.contains_key("k"));
            // If every part of it leads nowhere, nothing was done.
            a.lock().unwrap().elsewhere.push(("lost", "MOVED", "127.0.0.1:1".to_owned()));
            let made =
                carry_out(&mut session, op(OpKind::Update), &[("lost", r#"{"a":"1"}"#)], &[]).await;
            assert_eq!(made.result.err(), Some(Failure::Connect));
        })
        .await;
}

/// An index on another node still counts; if its node cannot answer, the size is unknown.
#[tokio::test]
async fn the_size_is_that_of_the_index_or_unknown() {
    let [(first, a), (second, _)] = cluster();
    let (target, _) = opened(first, asked("redis://HOST")).await;
    let size = async || target.size().await.map(|size| size.documents);
    assert_eq!(size().await, Some(Some(0)));
    let says = |word| ("_indices", word, second.to_string());
    a.lock().unwrap().elsewhere = vec![says("MOVED")];
    assert_eq!(size().await, Some(Some(0)));
    a.lock().unwrap().elsewhere = vec![says("LOADING")];
    assert_eq!(size().await, None);
}

#[tokio::test]
async fn clusters_that_cannot_be_used_are_refused_before_a_run() {
    let (address, kept) = server();
    kept.lock().unwrap().mode = "cluster";
    for (path, wanted) in [("", "is not ready: no node"), ("/3", "no databases but number 0")] {
        let plan = RedisPlan::check(&asked(&format!("redis://{address}{path}"))).unwrap();
        let message = plan.open(&opening()).await.unwrap_err().to_string();
        assert!(message.contains(wanted), "{message}");
    }
}

#[tokio::test]
async fn keys_of_all_nodes_are_removed() {
    let nodes = cluster();
    let [(first, a), (second, b)] = &nodes;
    let scratch = TargetAsked { existing: Existing::No, ..asked("redis://HOST") };
    let (target, facts) = opened(*first, scratch).await;
    for kept in [a, b] {
        let kept = &mut *kept.lock().unwrap();
        kept.hashes.insert(format!("{}:k", facts.database), [].into());
        kept.hashes.insert("theirs".to_owned(), [].into());
    }
    assert_eq!(target.tear_down().await, Ok(true));
    assert_eq!(a.lock().unwrap().hashes.len(), 1);
    // Only masters have keys, and the map has no other.
    assert_eq!(b.lock().unwrap().hashes.len(), 2, "{second}");
}

/// A key has moved to a node whose name is resolved by a slow name server: other sessions of the
/// thread go on meanwhile.
#[tokio::test]
async fn a_slow_look_up_delays_no_other_session() {
    let tasks = tokio::task::LocalSet::new();
    tasks
        .run_until(async {
            let [(first, a), (second, b)] = cluster();
            let elsewhere = format!("node.test:{}", second.port());
            a.lock().unwrap().elsewhere.push(("moved", "MOVED", elsewhere));
            let plan = RedisPlan::check(&asked(&format!("redis://{first}"))).unwrap();
            let mut keys = plan.keys(&opening()).unwrap();
            let (answer, answered) = std::sync::mpsc::channel::<()>();
            let answered = Mutex::new(answered);
            keys.nodes.reach = keys.nodes.reach.with_names(move |name, _| {
                assert_eq!(name, "node.test");
                let _ = answered.lock().unwrap().recv_timeout(Duration::from_secs(10));
                Ok(vec![second])
            });
            keys.greet("redis").await.unwrap();
            let target = super::RedisTarget::new(keys);
            let (mut one, context) = session(&target, 5_000).await;
            let mut other = target.shard(context).await.unwrap().session();
            let read = [("moved", "")];
            let waiting = carry_out(&mut one, op(OpKind::Read), &read, &[]);
            let others = async {
                for _ in 0..50 {
                    let here = [("here", r#"{"a":"1"}"#)];
                    let made = carry_out(&mut other, op(OpKind::Create), &here, &[]).await;
                    assert_eq!(made.result.err(), None);
                }
                assert_eq!(count(&b, "HGETALL moved"), 0);
                answer.send(()).unwrap();
            };
            let (read, ()) = tokio::join!(waiting, others);
            assert_eq!(read.result.err(), Some(Failure::NotFound));
            assert_eq!((count(&b, "HGETALL moved"), read.wire.relocated), (1, 1));
        })
        .await;
}
