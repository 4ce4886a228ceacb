//! Operations against a small server of its own, which does what tests want of it.

use super::stand_in::{Mood, node};
use super::*;
use crate::clock::Clock;
use crate::library::{Library, LibrarySession};
use crate::measure::NodeLog;
use crate::op::{Failure, Op, OpKind};
use crate::rehearsal::op;
use crate::words::OperationPlan;
use crate::{
    DriverPlan as _, Opening, Outcome, Session as _, Shard as _, Target as _, TargetAsked,
};
use std::net::SocketAddr;
use tokio::task::LocalSet;

fn opening() -> Opening {
    let fields = vec!["name".to_owned(), "title".to_owned()];
    Opening { timeout_ns: 1_000_000_000, max_answer: 10_000, fields, ..Opening::default() }
}

async fn opened(address: SocketAddr, parameters: &str) -> Library {
    let asked = TargetAsked::at(&format!("cassandra://{address}{parameters}"));
    CassandraPlan::check(&asked).unwrap().open(&opening()).await.unwrap().0
}

async fn session(target: &Library) -> (LibrarySession, Rc<ShardContext>) {
    let context = ShardContext::new(Clock::system(), 300_000_000);
    (target.shard(context.clone()).await.unwrap().session(), context)
}

async fn carry_out(
    session: &mut LibrarySession,
    op: Op,
    documents: &[(&str, &'static str)],
) -> Outcome {
    crate::rehearsal::carry_out(session, op, documents, &[]).await
}

fn bulk(documents: u32) -> Op {
    Op { documents, ..op(OpKind::BulkInsert) }
}

const ANN: (&str, &str) = ("ann", r#"{"name":"Ann","title":"Dr"}"#);
const BOB: (&str, &str) = ("bob", r#"{"name":"Bob"}"#);

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
            // Two are enough, whatever the server says.
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
async fn what_a_server_does_wrong_is_told_by_its_class() {
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
                    // The connection that gave no answer is not used any more.
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

/// As after a change of the table, or of a node that was started again.
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
                // To execute, to prepare, to execute again.
                assert_eq!((outcome.result.map(|_| ()), outcome.wire.requests), (Ok(()), Some(3)));
                asked(1);
                carry_out(&mut session, bulk(2), &[ANN, BOB]).await.result.unwrap();
                assert_eq!(session.answered().rows.iter().filter(|it| it.is_ok()).count(), 2);
                assert_eq!(kept.lock().unwrap().rows.len(), 2);
                // One that forgets for ever fails, and is not asked for ever.
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

/// Two nodes, each of which has half of the keys: requests go where the key is, and to the other
/// one while that is away.
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
            let keys = |kept: &std::sync::Mutex<stand_in::Kept>| {
                kept.lock().unwrap().rows.keys().cloned().collect::<std::collections::BTreeSet<_>>()
            };
            assert_eq!(keys(&kept_one), first.iter().map(|it| (*it).clone()).collect());
            assert_eq!(keys(&kept_two), second.iter().map(|it| (*it).clone()).collect());
            kept_two.lock().unwrap().mood = Mood::Away;
            let create = |name: &str| [(name.to_owned(), BOB.1)];
            // The first one finds out that it is away.
            for (place, name) in second.iter().enumerate() {
                let [(name, text)] = create(name);
                let outcome = carry_out(&mut session, op(OpKind::Create), &[(&name, text)]).await;
                let wanted = if place == 0 { Err(Failure::Unanswered) } else { Ok(()) };
                assert_eq!(outcome.result.map(|_| ()), wanted, "{place}");
            }
            assert_eq!(keys(&kept_one).len(), 39);
            kept_two.lock().unwrap().mood = Mood::Well;
            let mut tries = 0;
            // It is found again, beside the load.
            while kept_two.lock().unwrap().executed < 100 && tries < 1_000 {
                tries += 1;
                carry_out(&mut session, op(OpKind::Read), &[(second[0], "")]).await.result.ok();
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
            assert!(kept_two.lock().unwrap().executed >= 100, "{tries}");
        })
        .await;
}

/// Two nodes that know each other, the second of which has the larger tokens.
fn two_nodes() -> [(SocketAddr, Arc<std::sync::Mutex<stand_in::Kept>>); 2] {
    let nodes = [node(), node()];
    for (own, other) in [(0, 1), (1, 0)] {
        let tokens = [0, i64::MAX];
        let mut kept = nodes[own].1.lock().unwrap();
        (kept.token, kept.peers) = (tokens[own], vec![(nodes[other].0.port(), tokens[other])]);
    }
    nodes
}

/// A name whose row the first or the second of these nodes has.
fn name_at(node: usize) -> String {
    let mut names = (0..).map(|it| format!("key{it}"));
    names.find(|it| (token::token_of(it.as_bytes()) > 0) == (node == 1)).unwrap()
}

/// How often a node was gone, and whether it is gone still.
fn gone(log: &NodeLog) -> (usize, bool) {
    (log.absences.len(), log.absences.last().is_some_and(|it| it.to.is_none()))
}

#[tokio::test]
async fn nodes_that_are_there_are_told_apart_and_none_is_called_gone() {
    let [(one, _), (two, _)] = two_nodes();
    LocalSet::new()
        .run_until(async {
            // The second is known by its address, too, and by a name that is the same one's.
            let others = format!("{two},localhost:{}", two.port());
            let target = opened(one, &format!(",{others}")).await;
            let context = ShardContext::new(Clock::system(), 300_000_000);
            let shard = target.shard(context).await.unwrap();
            let mut session = shard.session();
            for at in [0, 1, 0] {
                let name = name_at(at);
                let row = [(name.as_str(), BOB.1)];
                carry_out(&mut session, op(OpKind::Create), &row).await.result.unwrap();
                assert_eq!((session.node(), session.row_nodes()), (Some(at), &[][..]));
            }
            let names = [1, 0, 1].map(name_at);
            let documents = names.each_ref().map(|it| (it.as_str(), BOB.1));
            carry_out(&mut session, bulk(3), &documents).await.result.unwrap();
            assert_eq!(session.row_nodes(), [Some(1), Some(0), Some(1)]);
            let logs = shard.nodes();
            let urls: Vec<_> = logs.iter().map(|it| it.url.clone()).collect();
            assert_eq!(urls, [format!("cassandra://{one}"), format!("cassandra://{two}")]);
            assert!(logs.iter().all(|it| gone(it) == (0, false) && it.connections == 1));
        })
        .await;
    // There is nothing to tell of the nodes of one server.
    let (address, _) = node();
    LocalSet::new()
        .run_until(async {
            let target = opened(address, "").await;
            let context = ShardContext::new(Clock::system(), 300_000_000);
            let shard = target.shard(context).await.unwrap();
            let mut session = shard.session();
            carry_out(&mut session, op(OpKind::Create), &[BOB]).await.result.unwrap();
            assert_eq!((session.node(), shard.nodes().len()), (None, 0));
        })
        .await;
}

#[tokio::test]
async fn a_node_that_is_lost_is_on_record_until_it_is_back() {
    let [(one, _), (_, kept)] = two_nodes();
    let dead = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let place = dead.local_addr().unwrap();
    drop(dead);
    LocalSet::new()
        .run_until(async {
            let target = opened(one, &format!(",{place}")).await;
            let context = ShardContext::new(Clock::system(), 300_000_000);
            let sweeping = tokio::task::spawn_local(context.clone().sweep());
            let shard = target.shard(context).await.unwrap();
            let mut session = shard.session();
            let name = name_at(1);
            let row = [(name.as_str(), BOB.1)];
            carry_out(&mut session, op(OpKind::Create), &row).await.result.unwrap();
            let all = |logs: &[NodeLog]| logs.iter().map(gone).collect::<Vec<_>>();
            assert_eq!(all(&shard.nodes()), [(0, false), (0, false), (1, true)]);
            assert_eq!(shard.nodes()[2].url, format!("cassandra://{place}"));
            assert_eq!(shard.nodes()[2].connections, 0);
            // One that closes connections, and one that takes them and is silent.
            for (mood, times) in [(Mood::Away, 1), (Mood::Silent, 2)] {
                kept.lock().unwrap().mood = mood;
                let outcome = carry_out(&mut session, op(OpKind::Create), &row).await;
                assert_eq!(outcome.result, Err(Failure::Unanswered));
                assert_eq!(session.node(), Some(1));
                while kept.lock().unwrap().mood == Mood::Away
                    && gone(&shard.nodes()[1]) != (1, true)
                {
                    carry_out(&mut session, op(OpKind::Create), &row).await.result.unwrap();
                    assert_eq!(session.node(), Some(0), "the other one has its turn");
                }
                kept.lock().unwrap().mood = Mood::Well;
                while gone(&shard.nodes()[1]) != (times, false) {
                    carry_out(&mut session, op(OpKind::Create), &row).await.result.unwrap();
                    tokio::time::sleep(std::time::Duration::from_millis(1)).await;
                }
            }
            let absence = shard.nodes()[1].absences[1];
            assert!(absence.to.is_some_and(|to| to > absence.from), "{absence:?}");
            // It may come yet.
            assert_eq!(gone(&shard.nodes()[2]), (1, true));
            let (_, late) = stand_in::node_at(place);
            while gone(&shard.nodes()[2]) != (1, false) {
                tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            }
            assert_eq!(late.lock().unwrap().executed, 0, "it has no keys");
            sweeping.abort();
        })
        .await;
}

/// A node that is silent when a run begins is left out, and that is told.
#[tokio::test]
async fn a_node_that_is_left_out_from_the_start_is_on_record() {
    let (address, kept) = node();
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    kept.lock().unwrap().peers = vec![(silent.local_addr().unwrap().port(), i64::MAX)];
    LocalSet::new()
        .run_until(async {
            let target = opened(address, "").await;
            let context = ShardContext::new(Clock::system(), 20_000_000_000);
            let shard = target.shard(context).await.unwrap();
            let mut session = shard.session();
            session.ready().await;
            let logs = shard.nodes();
            assert_eq!(logs.iter().map(gone).collect::<Vec<_>>(), [(0, false), (1, true)]);
        })
        .await;
}

/// As one that was switched off, but is still known to the others.
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

/// Without a key in the values, nodes take turns: one after the other has to prepare it.
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

/// It answers everything else, so that a run has begun to make its table.
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

/// Whatever the clock here says: rows that were written by another machine must not hide these.
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
            // Of the rows of a batch, some may be stored by then.
            kept.lock().unwrap().refuses = Some((0x1001, "too busy"));
            let outcome = carry_out(&mut session, bulk(2), &[ANN, BOB]).await;
            assert_eq!(outcome.result, Err(Failure::ServerError));
        })
        .await;
}

/// More rows at once than have numbers on a connection, had nobody divided them.
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
            // It answers nobody until all have asked.
            let (held, is_held) = std::sync::mpsc::channel();
            let (release, released) = std::sync::mpsc::channel::<()>();
            let holder = std::thread::spawn({
                let kept = kept.clone();
                move || {
                    let _kept = kept.lock().unwrap();
                    held.send(()).unwrap();
                    let _ = released.recv();
                }
            });
            is_held.recv().unwrap();
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
            drop(release);
            holder.join().unwrap();
            for task in tasks {
                task.await.unwrap();
            }
            assert_eq!(kept.lock().unwrap().rows.len(), 45_000);
        })
        .await;
}
