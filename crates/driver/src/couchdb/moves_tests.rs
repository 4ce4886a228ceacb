//! How sessions move among the nodes of a cluster, and what nodes are asked meanwhile.

use super::scripted_tests::{
    Answer, MISSING, Scripted, TIMEOUT_NS, answers, carry_out, opening, scripted,
};
use super::{
    CouchDb, CouchPlan, Credentials, DriverPlan as _, Node, Paths, Shard as _, Target as _,
    TargetAsked,
};
use crate::clock::Clock;
use crate::measure::Probe;
use crate::net::{Endpoint, ShardContext, TlsOptions};
use crate::op::{Failure, Op, OpKind};
use crate::{Detour, Existing, Opening, Session as _};
use std::net::TcpListener;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::LocalSet;

const OK: Answer = ("200 OK", r#"{"ok":true}"#);
const FOUND: Answer = ("200 OK", r#"{"_id":"7","_rev":"1-abababababababababababababababab"}"#);
const WRITTEN: Answer =
    ("201 Created", r#"{"ok":true,"id":"7","rev":"1-abababababababababababababababab"}"#);

/// The database `db` on these nodes.
fn cluster(nodes: &[&Scripted]) -> CouchDb {
    let nodes = nodes.iter().map(|it| it.database().nodes[0].clone());
    CouchDb::on(nodes.collect(), Paths::one("db"))
}

fn context() -> Rc<ShardContext> {
    ShardContext::new(Clock::system(), TIMEOUT_NS)
}

#[tokio::test]
async fn connections_are_counted_by_node_where_there_are_several() {
    let (one, other) = (scripted(Vec::new()), scripted(Vec::new()));
    let alone = cluster(&[&one]).shard(context()).await.unwrap();
    assert_eq!((alone.session().node(), alone.nodes().len()), (None, 0));
    let shard = cluster(&[&one, &other]).shard(context()).await.unwrap();
    let sessions = [0, 1, 2].map(|connection| shard.session_of(connection));
    assert_eq!(sessions.map(|it| it.node()), [0, 1, 0].map(Some));
    let connections: Vec<_> = shard.nodes().iter().map(|it| it.connections).collect();
    assert_eq!(connections, [2, 1]);
}

/// Its connection is closed after the request was written for that node.
#[tokio::test]
async fn an_operation_whose_node_is_gone_before_it_is_sent_goes_to_another_one() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    let dying = Arc::new(Endpoint::resolve(&url, &TlsOptions::default()).unwrap());
    let other = scripted(vec![("PUT /db/7", answers([WRITTEN]))]);
    let basic = |name: &str| Credentials::Basic { name: name.to_owned(), password: "x".to_owned() };
    let there = other.database_for(basic("bob")).nodes[0].clone();
    let target = CouchDb::on(vec![Node::new(dying, basic("ann"), &[]), there], Paths::one("db"));
    let work = async {
        let shard = target.shard(context()).await.unwrap();
        let mut session = shard.session();
        session.ready().await;
        assert!(session.is_open() && !target.nodes[0].is_gone());
        let accepted = listener.accept().unwrap();
        let op = Op::single(OpKind::Create, 7, None);
        let mut pen = session.pen();
        pen.begin(b"7");
        pen.payload.body_mut().extend_from_slice(b"{}");
        session.prepare(&op, &mut pen);
        drop((accepted, listener));
        while !session.connection.has_news() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let now = session.clock.now();
        let mut probe = Probe::new(session.clock, now, now);
        let outcome = session.execute(&op, &mut pen, &mut probe).await;
        (outcome, session.node(), shard.nodes())
    };
    let (outcome, node, logs) = LocalSet::new().run_until(work).await;
    assert!(outcome.result.is_ok(), "{:?}", outcome.result);
    assert_eq!(other.seen(), ["PUT /db/7 [Authorization: Basic Ym9iOng=] {}"]);
    assert_eq!(node, Some(1));
    assert_eq!((logs[0].absences.len(), logs[0].absences[0].moved), (1, 1), "{logs:?}");
    assert!(logs[1].absences.is_empty(), "{logs:?}");
}

#[tokio::test]
async fn a_node_that_takes_connections_and_closes_them_is_there() {
    let closed = ("", "");
    let one = scripted(vec![("GET /db/7", answers([closed, closed, FOUND]))]);
    let other = scripted(Vec::new());
    let target = cluster(&[&one, &other]);
    let work = async {
        let shard = target.shard(context()).await.unwrap();
        let mut session = shard.session();
        let read = Op::single(OpKind::Read, 7, None);
        let first = carry_out(&mut session, read, ("7", "")).await;
        let second = carry_out(&mut session, read, ("7", "")).await;
        (first.result.err(), second.result.err())
    };
    assert_eq!(LocalSet::new().run_until(work).await, (Some(Failure::Reset), None));
    assert!(!target.nodes[0].is_gone() && other.seen().is_empty());
}

/// A node without the database is not there; one that only asks for a log-in is.
#[tokio::test]
async fn a_node_that_is_gone_is_asked_for_the_database_until_it_answers() {
    let refused = ("401 Unauthorized", r#"{"error":"unauthorized"}"#);
    let back = scripted(vec![("GET /db", answers([MISSING, refused]))]);
    let other = scripted(Vec::new());
    let target = cluster(&[&back, &other]);
    let work = async {
        let shard = target.shard(context()).await.unwrap();
        shard.nodes.as_ref().unwrap().lose(0);
        assert!(target.nodes[0].is_gone());
        while target.nodes[0].is_gone() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        shard.nodes()
    };
    let logs = LocalSet::new().run_until(work).await;
    assert_eq!(back.seen(), ["GET /db", "GET /db"]);
    assert!(logs[0].absences[0].to.is_some() && other.seen().is_empty(), "{logs:?}");
}

#[tokio::test]
async fn only_the_load_of_one_node_goes_through_a_relay() {
    let welcome = ("200 OK", r#"{"couchdb":"Welcome"}"#);
    let rules = || {
        vec![
            ("GET /", answers([welcome])),
            ("GET /db", answers([OK])),
            ("GET /db/7", answers([FOUND])),
        ]
    };
    let (one, other, relay) = (scripted(rules()), scripted(rules()), scripted(rules()));
    let nodes = vec![format!("{}/db", other.url)];
    let asked = TargetAsked { existing: Existing::Yes, nodes, ..one.plan("db") };
    let address = relay.url.trim_start_matches("http://").parse().unwrap();
    let detour = Some(Detour { node: 1, relay: address });
    let plan = CouchPlan::check(&asked).unwrap();
    let (target, _) = plan.open(&Opening { detour, ..opening() }).await.unwrap();
    assert_eq!([&one, &other, &relay].map(|it| it.seen().is_empty()), [false, false, true]);
    let shard = target.shard(context()).await.unwrap();
    for connection in [0, 1] {
        let read = Op::single(OpKind::Read, 7, None);
        let outcome = carry_out(&mut shard.session_of(connection), read, ("7", "")).await;
        assert!(outcome.result.is_ok(), "{:?}", outcome.result);
    }
    assert_eq!([&one, &other, &relay].map(|it| it.seen().len()), [1, 0, 1]);
}
