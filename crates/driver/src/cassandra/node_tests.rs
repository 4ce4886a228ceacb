//! Tests that tell the nodes of a cluster apart: what was sent to each, and when each was gone.

use super::session_tests::{BOB, bulk, carry_out, held, opened};
use super::stand_in::{Mood, node};
use super::*;
use crate::clock::Clock;
use crate::measure::NodeLog;
use crate::op::{Failure, OpKind};
use crate::rehearsal::op;
use crate::{Session as _, Shard as _, Target as _};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::task::LocalSet;

/// Two nodes that know each other, the second of which has the larger tokens.
fn two_nodes() -> [(SocketAddr, Arc<std::sync::Mutex<stand_in::NodeData>>); 2] {
    let nodes = [node(), node()];
    for (own, other) in [(0, 1), (1, 0)] {
        let tokens = [0, i64::MAX];
        let mut kept = nodes[own].1.lock().unwrap();
        (kept.token, kept.peers) = (tokens[own], vec![(nodes[other].0.port(), tokens[other])]);
    }
    nodes
}

/// A name whose row is on the first or the second of these nodes.
fn name_at(node: usize) -> String {
    let mut names = (0..).map(|it| format!("key{it}"));
    names.find(|it| (token::token_of(it.as_bytes()) > 0) == (node == 1)).unwrap()
}

/// How often a node was gone, and whether it still is.
fn gone(log: &NodeLog) -> (usize, bool) {
    (log.absences.len(), log.absences.last().is_some_and(|it| it.to.is_none()))
}

#[tokio::test]
async fn nodes_that_are_there_are_told_apart_and_none_is_called_gone() {
    let [(one, _), (two, _)] = two_nodes();
    LocalSet::new()
        .run_until(async {
            // The second node is given by its address and also by its name.
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
    // A single server has no history of nodes.
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
    let tasks = LocalSet::new();
    let test = tasks.run_until(async {
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
        // First a node that closes connections, then one that has stopped responding.
        for times in [1, 2] {
            let released = match times {
                1 => {
                    kept.lock().unwrap().mood = Mood::Away;
                    None
                }
                _ => Some(held(&kept)),
            };
            let outcome = carry_out(&mut session, op(OpKind::Create), &row).await;
            assert_eq!(outcome.result, Err(Failure::Unanswered));
            assert_eq!(session.node(), Some(1));
            while gone(&shard.nodes()[1]) != (times, true) {
                carry_out(&mut session, op(OpKind::Create), &row).await.result.unwrap();
                assert_eq!(session.node(), Some(0), "the other one has its turn");
            }
            drop(released);
            kept.lock().unwrap().mood = Mood::Well;
            while gone(&shard.nodes()[1]) != (times, false) {
                carry_out(&mut session, op(OpKind::Create), &row).await.result.unwrap();
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
        let absence = shard.nodes()[1].absences[1];
        assert!(absence.to.is_some_and(|to| to > absence.from), "{absence:?}");
        // A node that accepts connections, but does nothing, counts as there.
        kept.lock().unwrap().mood = Mood::Silent;
        let outcome = carry_out(&mut session, op(OpKind::Create), &row).await;
        assert_eq!(outcome.result, Err(Failure::Unanswered));
        kept.lock().unwrap().mood = Mood::Well;
        tokio::time::sleep(Duration::from_millis(400)).await;
        assert_eq!(gone(&shard.nodes()[1]), (2, false));
        // It may still appear.
        assert_eq!(gone(&shard.nodes()[2]), (1, true));
        let (_, late) = stand_in::node_at(place);
        while gone(&shard.nodes()[2]) != (1, false) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(late.lock().unwrap().executed, 0, "it has no keys");
        sweeping.abort();
    });
    tokio::time::timeout(Duration::from_secs(20), test).await.expect("it is told");
}

/// A node that is silent when a run begins is left out, and that is reported.
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
