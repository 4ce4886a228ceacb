//! Tests operations against a small server that does what the tests want.

use super::stand_in::{Mood, node};
use super::*;
use crate::clock::Clock;
use crate::library::{Library, LibrarySession};
use crate::observed::Reading;
use crate::op::{Failure, Op, OpKind};
use crate::rehearsal::op;
use crate::words::OperationPlan;
use crate::{
    DriverPlan as _, NoReading, Opening, Outcome, Session as _, Shard as _, Target as _,
    TargetAsked,
};
use std::net::SocketAddr;
use tokio::task::LocalSet;

fn opening() -> Opening {
    let fields = vec!["name".to_owned(), "title".to_owned()];
    Opening { timeout_ns: 1_000_000_000, max_answer: 10_000, fields, ..Opening::default() }
}

pub(super) async fn opened(address: SocketAddr, parameters: &str) -> Library {
    let asked = TargetAsked::at(&format!("cassandra://{address}{parameters}"));
    CassandraPlan::check(&asked).unwrap().open(&opening()).await.unwrap().0
}

async fn session(target: &Library) -> (LibrarySession, Rc<ShardContext>) {
    let context = ShardContext::new(Clock::system(), 300_000_000);
    (target.shard(context.clone()).await.unwrap().session(), context)
}

pub(super) async fn carry_out(
    session: &mut LibrarySession,
    op: Op,
    documents: &[(&str, &'static str)],
) -> Outcome {
    crate::rehearsal::carry_out(session, op, documents, &[]).await
}

pub(super) fn bulk(documents: u32) -> Op {
    Op { documents, ..op(OpKind::BulkInsert) }
}

const ANN: (&str, &str) = ("ann", r#"{"name":"Ann","title":"Dr"}"#);
pub(super) const BOB: (&str, &str) = ("bob", r#"{"name":"Bob"}"#);

#[tokio::test]
async fn a_row_lives_and_dies_in_the_layout_of_ycsb() {
    let (address, kept) = node();
    LocalSet::new()
        .run_until(async {
            let target = opened(address, "").await;
            let (mut session, _context) = session(&target).await;
            for (kind, document) in [
                (OpKind::Create, ANN),
                (OpKind::Update, ("ann", r#"{"title":"Prof"}"#)),
                (OpKind::Create, BOB),
            ] {
                let outcome = carry_out(&mut session, op(kind), &[document]).await;
                assert_eq!((outcome.result.map(|_| ()), outcome.wire.requests), (Ok(()), Some(1)));
            }
            let outcome = carry_out(&mut session, op(OpKind::Read), &[("ann", "")]).await;
            assert!(outcome.result.is_ok(), "{outcome:?}");
            let document = session.answered().document.unwrap();
            assert_eq!(document, br#"{"_id":"ann","name":"Ann","title":"Prof"}"#);
            kept.lock().unwrap().page = 1;
            let scan = Op { limit: 5, ..op(OpKind::Scan) };
            let outcome = carry_out(&mut session, scan, &[("", "")]).await;
            assert_eq!((outcome.result.unwrap().rows, outcome.wire.requests), (2, Some(2)));
            let listed = session.scanned().unwrap();
            assert_eq!(listed[1], br#"{"_id":"bob","name":"Bob"}"#);
            // Two rows are enough, even if the server says that there are more.
            kept.lock().unwrap().endless = true;
            let scan = Op { limit: 2, ..op(OpKind::Scan) };
            let outcome = carry_out(&mut session, scan, &[("", "")]).await;
            assert_eq!((outcome.result.unwrap().rows, outcome.wire.requests), (2, Some(2)));
            let outcome = carry_out(&mut session, op(OpKind::Delete), &[("ann", "")]).await;
            assert!(outcome.result.is_ok());
            let outcome = carry_out(&mut session, op(OpKind::Read), &[("ann", "")]).await;
            assert_eq!(outcome.result, Err(Failure::NotFound));
        })
        .await;
}

#[tokio::test]
async fn what_a_server_does_wrong_is_known_by_its_class() {
    let (address, kept) = node();
    LocalSet::new()
        .run_until(async {
            let target = opened(address, "").await;
            let (mut session, context) = session(&target).await;
            let sweeping = tokio::task::spawn_local(context.sweep());
            carry_out(&mut session, bulk(2), &[ANN, BOB]).await.result.unwrap();
            kept.lock().unwrap().returns = Some("bob");
            let outcome = carry_out(&mut session, op(OpKind::Read), &[("ann", "")]).await;
            assert_eq!(outcome.result, Err(Failure::WrongDocument));
            for (code, failure) in [
                (0x1001, Failure::TooManyRequests),
                (0x1100, Failure::ServerError),
                (0x2100, Failure::Rejected),
            ] {
                kept.lock().unwrap().refuses = Some((code, "its words"));
                for kind in [OpKind::Read, OpKind::Create] {
                    let outcome = carry_out(&mut session, op(kind), &[ANN]).await;
                    assert_eq!(outcome.result, Err(failure), "{kind:?} {code:x}");
                    let reason = session.reason(failure).unwrap().reason;
                    assert!(reason.contains("its words"), "{reason}");
                }
                carry_out(&mut session, bulk(1), &[ANN]).await.result.unwrap();
                assert_eq!(session.answered().rows, [Err(failure)]);
            }
            kept.lock().unwrap().refuses = None;
            for (mood, read, write) in [
                (Mood::Silent, Failure::Timeout, Failure::Unanswered),
                (Mood::Away, Failure::Reset, Failure::Unanswered),
            ] {
                for (kind, failure) in [(OpKind::Read, read), (OpKind::Create, write)] {
                    // The connection without an answer is not used any more.
                    carry_out(&mut session, op(OpKind::Update), &[ANN]).await.result.unwrap();
                    kept.lock().unwrap().mood = mood;
                    let outcome = carry_out(&mut session, op(kind), &[ANN]).await;
                    assert_eq!(outcome.result, Err(failure), "{kind:?}");
                    kept.lock().unwrap().mood = Mood::Well;
                }
            }
            carry_out(&mut session, op(OpKind::Update), &[ANN]).await.result.unwrap();
            kept.lock().unwrap().mood = Mood::Away;
            carry_out(&mut session, bulk(1), &[ANN]).await.result.unwrap();
            assert_eq!(session.answered().rows, [Err(Failure::Unanswered)]);
            sweeping.abort();
        })
        .await;
}

/// This happens after a change of the table, or when a node was restarted.
#[tokio::test]
async fn a_statement_that_a_node_has_forgotten_is_prepared_again() {
    for parameters in ["", "?batch=unlogged"] {
        let (address, kept) = node();
        LocalSet::new()
            .run_until(async {
                let target = opened(address, parameters).await;
                let (mut session, _context) = session(&target).await;
                let asked = |forgets| kept.lock().unwrap().forgets = forgets;
                asked(1);
                let outcome = carry_out(&mut session, op(OpKind::Create), &[ANN]).await;
                // Three requests: execute, prepare, execute again.
                assert_eq!((outcome.result.map(|_| ()), outcome.wire.requests), (Ok(()), Some(3)));
                asked(1);
                carry_out(&mut session, bulk(2), &[ANN, BOB]).await.result.unwrap();
                assert_eq!(session.answered().rows.iter().filter(|it| it.is_ok()).count(), 2);
                assert_eq!(kept.lock().unwrap().rows.len(), 2);
                // A node that keeps forgetting makes the operation fail, and is not asked forever.
                asked(u32::MAX);
                let before = kept.lock().unwrap().executed;
                let outcome = carry_out(&mut session, op(OpKind::Read), &[("ann", "")]).await;
                assert_eq!(outcome.result, Err(Failure::ServerError));
                assert_eq!(kept.lock().unwrap().executed, before + 2);
                let outcome = carry_out(&mut session, bulk(1), &[BOB]).await;
                let rows = session.answered().rows;
                assert!(
                    outcome.result == Err(Failure::ServerError)
                        || rows == [Err(Failure::ServerError)]
                );
            })
            .await;
    }
}

/// Two nodes, each of which has half of the keys: requests go to the node with the key, and to the
/// other one while that is away.
#[tokio::test]
async fn requests_go_to_the_node_that_has_the_key_while_it_is_there() {
    let ((one, kept_one), (two, kept_two)) = (node(), node());
    kept_one.lock().unwrap().token = 0;
    kept_one.lock().unwrap().peers = vec![(two.port(), i64::MAX)];
    kept_two.lock().unwrap().token = i64::MAX;
    kept_two.lock().unwrap().peers = vec![(one.port(), 0)];
    LocalSet::new()
        .run_until(async {
            let target = opened(one, "").await;
            let (mut session, _context) = session(&target).await;
            session.ready().await;
            while kept_two.lock().unwrap().knows() == 0 {
                tokio::time::sleep(std::time::Duration::from_millis(1)).await;
            }
            let names: Vec<String> = (0..40).map(|it| format!("key{it}")).collect();
            let documents: Vec<_> = names.iter().map(|it| (it.as_str(), BOB.1)).collect();
            carry_out(&mut session, bulk(40), &documents).await.result.unwrap();
            assert!(session.answered().rows.iter().all(Result::is_ok));
            let is_first = |name: &str| token::token_of(name.as_bytes()) <= 0;
            let (first, second): (Vec<_>, Vec<_>) = names.iter().partition(|it| is_first(it));
            assert!(first.len() > 5 && second.len() > 5);
            let keys = |kept: &std::sync::Mutex<stand_in::NodeData>| {
                kept.lock().unwrap().rows.keys().cloned().collect::<std::collections::BTreeSet<_>>()
            };
            assert_eq!(keys(&kept_one), first.iter().map(|it| (*it).clone()).collect());
            assert_eq!(keys(&kept_two), second.iter().map(|it| (*it).clone()).collect());
            kept_two.lock().unwrap().mood = Mood::Away;
            let create = |name: &str| [(name.to_owned(), BOB.1)];
            // The first operation finds out that the node is away.
            for (place, name) in second.iter().enumerate() {
                let [(name, text)] = create(name);
                let outcome = carry_out(&mut session, op(OpKind::Create), &[(&name, text)]).await;
                let wanted = if place == 0 { Err(Failure::Unanswered) } else { Ok(()) };
                assert_eq!(outcome.result.map(|_| ()), wanted, "{place}");
            }
            assert_eq!(keys(&kept_one).len(), 39);
            kept_two.lock().unwrap().mood = Mood::Well;
            let mut tries = 0;
            // The node is found again, beside the load.
            while kept_two.lock().unwrap().executed < 100 && tries < 1_000 {
                tries += 1;
                carry_out(&mut session, op(OpKind::Read), &[(second[0], "")]).await.result.ok();
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
            assert!(kept_two.lock().unwrap().executed >= 100, "{tries}");
        })
        .await;
}

/// Makes a node stop responding until the returned sender is dropped.
pub(super) fn held(
    kept: &Arc<std::sync::Mutex<stand_in::NodeData>>,
) -> std::sync::mpsc::Sender<()> {
    let (holds, is_held) = std::sync::mpsc::channel();
    let (release, released) = std::sync::mpsc::channel::<()>();
    let kept = kept.clone();
    std::thread::spawn(move || {
        let _kept = kept.lock().unwrap();
        holds.send(()).unwrap();
        let _ = released.recv();
    });
    is_held.recv().unwrap();
    release
}

/// Like a node that was switched off, but is still known to the others.
#[tokio::test]
async fn a_node_that_is_silent_keeps_nobody_waiting() {
    let (address, kept) = node();
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    kept.lock().unwrap().peers = vec![(port, i64::MAX)];
    LocalSet::new()
        .run_until(async {
            let target = opened(address, "").await;
            let context = ShardContext::new(Clock::system(), 20_000_000_000);
            let mut session = target.shard(context).await.unwrap().session();
            for name in ["a", "b", "c", "d", "e", "f"] {
                let outcome = carry_out(&mut session, op(OpKind::Create), &[(name, BOB.1)]).await;
                assert!(outcome.result.is_ok(), "{name}: {outcome:?}");
            }
            assert_eq!(kept.lock().unwrap().rows.len(), 6);
        })
        .await;
}

/// Without a key in the values, nodes take turns, and each in turn has to prepare the statement.
#[tokio::test]
async fn what_was_prepared_again_is_executed_on_the_same_node() {
    let nodes = [node(), node(), node()];
    let ports: Vec<_> = nodes.iter().map(|(address, _)| address.port()).collect();
    for ((_, kept), place) in nodes.iter().zip(0_i64..) {
        let others = ports.iter().zip(0_i64..).filter(|(_, it)| *it != place);
        let mut kept = kept.lock().unwrap();
        kept.peers = others.map(|(port, it)| (*port, it * 1_000)).collect();
        kept.token = place * 1_000;
    }
    LocalSet::new()
        .run_until(async {
            let target = opened(nodes[0].0, "").await;
            let (mut session, _context) = session(&target).await;
            session.ready().await;
            for _ in 0..3 {
                for (_, kept) in &nodes {
                    kept.lock().unwrap().forgets = 1;
                }
                for _ in 0..3 {
                    let scan = Op { limit: 5, ..op(OpKind::Scan) };
                    let outcome = carry_out(&mut session, scan, &[("", "")]).await;
                    assert!(outcome.result.is_ok(), "{outcome:?}");
                }
            }
        })
        .await;
}

/// It answers everything else, so that a run gets as far as creating its table.
#[tokio::test]
async fn a_server_that_prepares_nothing_does_not_keep_a_run_waiting() {
    let (address, kept) = node();
    kept.lock().unwrap().mood = Mood::Dumb;
    let plan =
        OperationPlan::parse("own=cql SELECT * FROM {{table}} WHERE y_id = {{key}}").unwrap();
    let opening = Opening { timeout_ns: 50_000_000, operations: vec![plan], ..opening() };
    let asked = TargetAsked::at(&format!("cassandra://{address}"));
    let refused = CassandraPlan::check(&asked).unwrap().open(&opening).await.unwrap_err();
    assert!(refused.to_string().contains("no answer in time"), "{refused}");
}

/// Times follow the server's clock, not this machine's: rows written by another machine must not
/// hide these.
#[tokio::test]
async fn writes_have_increasing_times_by_the_clock_of_the_server() {
    let (address, kept) = node();
    kept.lock().unwrap().ahead_ms = 3_600_000;
    LocalSet::new()
        .run_until(async {
            let target = opened(address, "").await;
            let (mut session, _context) = session(&target).await;
            carry_out(&mut session, op(OpKind::Create), &[ANN]).await.result.unwrap();
            carry_out(&mut session, op(OpKind::Read), &[("ann", "")]).await.result.unwrap();
            carry_out(&mut session, bulk(2), &[ANN, BOB]).await.result.unwrap();
            let stamps = kept.lock().unwrap().stamps.clone();
            assert_eq!(stamps.len(), 3, "of writes alone");
            let now = (crate::clock::wall_ns() / 1_000).cast_signed();
            assert!(stamps.iter().all(|it| (1_800_000_000..).contains(&(it - now))), "{stamps:?}");
            assert!(stamps[0] < stamps[1] && stamps[1] <= stamps[2], "{stamps:?}");
        })
        .await;
}

#[tokio::test]
async fn a_batch_is_one_request() {
    let (address, kept) = node();
    LocalSet::new()
        .run_until(async {
            let target = opened(address, "?batch=logged").await;
            let (mut session, _context) = session(&target).await;
            let outcome = carry_out(&mut session, bulk(2), &[ANN, BOB]).await;
            assert_eq!((outcome.result.map(|_| ()), outcome.wire.requests), (Ok(()), Some(1)));
            assert_eq!((kept.lock().unwrap().rows.len(), session.answered().rows.len()), (2, 2));
            // Some rows of a batch may be stored by then.
            kept.lock().unwrap().refuses = Some((0x1001, "too busy"));
            let outcome = carry_out(&mut session, bulk(2), &[ANN, BOB]).await;
            assert_eq!(outcome.result, Err(Failure::ServerError));
        })
        .await;
}

/// Without the limit, there would be more rows in flight than numbers on a connection.
#[tokio::test]
async fn more_sessions_than_have_room_for_their_rows_share_it() {
    let (address, kept) = node();
    LocalSet::new()
        .run_until(async {
            let target = opened(address, "").await;
            let context = ShardContext::new(Clock::system(), 60_000_000_000);
            let shard = target.shard(context).await.unwrap();
            let mut sessions: Vec<_> = (0..150).map(|_| shard.session()).collect();
            for session in &mut sessions {
                session.ready().await;
            }
            // It holds all answers back until every session has sent its rows.
            let released = held(&kept);
            let names: Vec<Vec<String>> =
                (0..150).map(|it| (0..300).map(|row| format!("{it}-{row}")).collect()).collect();
            let tasks = sessions.into_iter().zip(names).map(|(mut session, names)| {
                tokio::task::spawn_local(async move {
                    let documents: Vec<_> = names.iter().map(|it| (it.as_str(), BOB.1)).collect();
                    carry_out(&mut session, bulk(300), &documents).await.result.unwrap();
                    assert!(session.answered().rows.iter().all(Result::is_ok));
                })
            });
            let tasks: Vec<_> = tasks.collect();
            tokio::task::yield_now().await;
            tokio::task::yield_now().await;
            drop(released);
            for task in tasks {
                task.await.unwrap();
            }
            assert_eq!(kept.lock().unwrap().rows.len(), 45_000);
        })
        .await;
}

#[tokio::test]
async fn a_node_that_is_asked_about_itself_may_be_silent_or_gone_or_talk_nonsense() {
    let (address, kept) = node();
    LocalSet::new()
        .run_until(async {
            let target = opened(address, "").await;
            kept.lock().unwrap().pool = Some(["70", "3", "0"]);
            let mut monitor = target.monitors().remove(0);
            let reads = |reading: &Reading| {
                let named = |name: &str| {
                    let found = reading.values.iter().find(|(it, _)| it.name == name);
                    found.map(|(_, value)| *value)
                };
                [named("local_reads_per_s"), named("local_reads_waiting")]
            };
            assert_eq!(reads(&monitor.ask(0).await.unwrap()), [Some(70.0), Some(3.0)]);
            for mood in [Mood::Silent, Mood::Away] {
                kept.lock().unwrap().mood = mood;
                let missed = monitor.ask(0).await.unwrap_err();
                assert!(matches!(missed, NoReading::Missed(_)), "{missed:?}");
                kept.lock().unwrap().mood = Mood::Well;
                assert_eq!(reads(&monitor.ask(0).await.unwrap()), [Some(70.0), Some(3.0)]);
            }
            // What is not a number is left out; whether a number is plausible is decided by the
            // log.
            kept.lock().unwrap().pool = Some(["none", "1e300", "-1"]);
            assert_eq!(reads(&monitor.ask(0).await.unwrap()), [None, Some(1e300)]);
            // Tables without rows for the run give a reading without values.
            assert!(monitor.ask(1).await.unwrap().values.is_empty());
        })
        .await;
}
