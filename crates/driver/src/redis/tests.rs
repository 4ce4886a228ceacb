//! Tests the driver against a small server, and against peers that misbehave.

use super::hash::java_hash;
use super::open::answers_plain;
use super::plan::{Flavor, Redis};
use super::stand_in::server;
use super::{RedisPlan, RedisSession, RedisTarget};
use crate::clock::Clock;
use crate::measure::Probe;
use crate::net::ShardContext;
use crate::op::{Failure, Op, OpKind, Pen as _, Token};
use crate::rehearsal::{carry_out, op};
use crate::{
    DatabasePlan, DriverPlan as _, Existing, Opening, Planned as _, ServerFacts, Session as _,
    Shard as _, Target as _, TargetAsked,
};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::rc::Rc;

pub(super) fn asked(address: &str) -> TargetAsked {
    TargetAsked { existing: Existing::Yes, ..TargetAsked::at(address) }
}

/// A peer that answers this to anything, and closes the connection if the answer ends with `!`.
fn liar(answer: &'static str) -> SocketAddr {
    peer(answer, answer)
}

/// The same with another answer to a `PING`.
fn peer(to_ping: &'static str, to_others: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || {
                let mut bytes = [0; 4096];
                while let Ok(count @ 1..) = stream.read(&mut bytes) {
                    let is_ping = bytes[..count].ends_with(b"PING\r\n");
                    let answer = if is_ping { to_ping } else { to_others };
                    let _ = stream.write_all(answer.trim_end_matches('!').as_bytes());
                    if answer.ends_with('!') {
                        break;
                    }
                }
            });
        }
    });
    address
}

pub(super) fn opening() -> Opening {
    Opening { timeout_ns: 1_000_000_000, max_answer: 10_000, ..Opening::default() }
}

pub(super) async fn opened(address: SocketAddr, asked: TargetAsked) -> (RedisTarget, ServerFacts) {
    let address = asked.address.as_ref().map(|text| text.replace("HOST", &address.to_string()));
    RedisPlan::check(&TargetAsked { address, ..asked }).unwrap().open(&opening()).await.unwrap()
}

pub(super) async fn session(
    target: &RedisTarget,
    timeout_ms: u64,
) -> (RedisSession, Rc<ShardContext>) {
    let context = ShardContext::new(Clock::system(), timeout_ms * 1_000_000);
    (target.shard(context.clone()).await.unwrap().session(), context)
}

/// A session with a peer that was not checked first.
pub(super) async fn unseen(
    address: SocketAddr,
    timeout_ms: u64,
) -> (RedisSession, Rc<ShardContext>) {
    let plan = RedisPlan::check(&asked(&format!("redis://{address}"))).unwrap();
    session(&RedisTarget::new(plan.keys(&opening()).unwrap()), timeout_ms).await
}

pub(super) fn document(session: &RedisSession) -> String {
    String::from_utf8(session.answered().document.unwrap_or_default().to_vec()).unwrap()
}

#[tokio::test]
async fn a_server_without_tls_is_named_long_before_the_timeout() {
    let patient = Opening { timeout_ns: 60_000_000_000, ..opening() };
    for answer in ["+PONG\r\n", "-NOAUTH Authentication required.\r\n"] {
        // It waits for the end of anything but a command.
        let plain = peer(answer, "");
        let plan = RedisPlan::check(&asked(&format!("rediss://{plain}"))).unwrap();
        let message = plan.open(&patient).await.map(|_| ()).unwrap_err().to_string();
        let words = format!(": the server does not use TLS; write redis://{plain}");
        assert!(message.ends_with(&words), "{message}");
    }
    // What speaks TLS answers with an alert, and others close the connection.
    for (answer, is_plain) in
        [("+PONG\r\n", true), ("\x15\x03\x03\0\x02\x02F", false), ("HTTP/1.1 400", false)]
    {
        let address = peer(answer, "");
        let plan = RedisPlan::check(&asked(&format!("rediss://{address}"))).unwrap();
        let endpoint = plan.keys(&opening()).unwrap().endpoint;
        assert_eq!(answers_plain(&endpoint).await.unwrap(), is_plain, "{answer:?}");
    }
    let closed = peer("!", "!");
    let plan = RedisPlan::check(&asked(&format!("rediss://{closed}"))).unwrap();
    assert!(answers_plain(&plan.keys(&opening()).unwrap().endpoint).await.is_err());
}

#[tokio::test]
async fn a_record_lives_and_dies_in_the_layout_of_ycsb() {
    let (address, kept) = server();
    let (target, facts) = opened(address, asked("redis://HOST")).await;
    assert_eq!(
        (facts.version.as_str(), facts.database.as_str(), facts.created),
        ("9.9", "0", false)
    );
    let (mut session, _context) = session(&target, 5_000).await;
    let s = &mut session;
    let made = carry_out(s, op(OpKind::Create), &[("k1", r#"{"a":"1","b":{"c":[2]}}"#)], &[]).await;
    assert_eq!((made.result.err(), made.bytes.sent), (None, 12));
    {
        let kept = kept.lock().unwrap();
        assert_eq!(kept.hashes["k1"]["b"], r#"{"c":[2]}"#);
        assert_eq!(kept.index["_indices"]["k1"], i64::from(java_hash(b"k1")));
    }
    let changed = carry_out(s, op(OpKind::Update), &[("k1", r#"{"a":"\"x\""}"#)], &[]).await;
    assert_eq!(changed.result.err(), None);
    let read = carry_out(s, op(OpKind::Read), &[("k1", "")], &[]).await;
    assert_eq!(document(s), r#"{"a":"\"x\"","b":"{\"c\":[2]}"}"#);
    assert_eq!((read.bytes.received, read.wire.requests), (14, Some(1)));
    carry_out(s, op(OpKind::Read), &[("k1", "")], &["b", "none"]).await;
    assert_eq!(document(s), r#"{"b":"{\"c\":[2]}"}"#);
    for (kind, key) in [(OpKind::Read, "k2"), (OpKind::Delete, "k2")] {
        let missing = carry_out(s, op(kind), &[(key, "")], &[]).await;
        assert_eq!(missing.result.err(), Some(Failure::NotFound), "{kind}");
        assert_eq!(document(s), "");
    }
    // If the document will not be looked at, none is made.
    let mut pen = s.pen();
    pen.name().extend_from_slice(b"k1");
    s.prepare(&op(OpKind::Read), &mut pen);
    let now = Clock::system().now();
    let mut probe = Probe::new(Clock::system(), now, now);
    let unseen = s.execute(&op(OpKind::Read), &mut pen, &mut probe).await;
    assert_eq!(
        (unseen.result.err(), unseen.bytes.received, document(s)),
        (None, 14, String::new())
    );
    assert_eq!(target.size().await.unwrap().documents, Some(1));
    assert_eq!(carry_out(s, op(OpKind::Delete), &[("k1", "")], &[]).await.result.err(), None);
    assert!(kept.lock().unwrap().hashes.is_empty());
    assert!(kept.lock().unwrap().index["_indices"].is_empty());
    assert_eq!(target.tear_down().await, Ok(false));
}

#[tokio::test]
async fn a_batch_has_an_outcome_for_each_document_and_a_scan_brings_records() {
    let (address, kept) = server();
    let (target, _) = opened(address, asked("redis://HOST")).await;
    let (mut session, _context) = session(&target, 5_000).await;
    let s = &mut session;
    let bulk = Op { documents: 3, ..op(OpKind::BulkInsert) };
    let documents = [("a", r#"{"x":"1"}"#), ("full", r#"{"x":"2"}"#), ("c", r#"{"x":"3"}"#)];
    assert_eq!(carry_out(s, bulk, &documents, &[]).await.result.err(), None);
    let stored = Ok(Token::default());
    assert_eq!(s.answered().rows, [stored, Err(Failure::ServerError), stored]);
    assert_eq!(s.reason(Failure::ServerError).unwrap().reason, "OOM used memory > 'maxmemory'");
    // "full" is in the index, but there is no such record.
    assert_eq!(kept.lock().unwrap().index["_indices"].len(), 3);
    let scan = |limit| Op { limit, ..op(OpKind::Scan) };
    let all = carry_out(s, scan(9), &[("a", "")], &[]).await;
    assert_eq!((all.result.unwrap().rows, all.wire.requests, all.bytes.received), (2, Some(2), 4));
    let found = s.scanned().unwrap();
    assert_eq!(found, [&br#"{"x":"1"}"#[..], &br#"{"x":"3"}"#[..]]);
    let one = carry_out(s, scan(1), &[("b", "")], &["x"]).await;
    assert_eq!((one.result.unwrap().rows, s.scanned().unwrap()), (1, vec![&br#"{"x":"3"}"#[..]]));
    let none = carry_out(s, scan(5), &[("zzzz", "")], &[]).await;
    assert_eq!((none.result.unwrap().rows, none.wire.requests), (0, Some(1)));
    let range = Op { limit: 5, ..op(OpKind::Read) };
    let ranged = carry_out(s, range, &[("a", ""), ("c", "")], &[]).await;
    assert_eq!(ranged.result.err(), Some(Failure::Rejected), "there is no order to read along");
}

/// The other nodes of its cluster must not get the batch again and again at full speed.
#[tokio::test]
async fn a_server_that_is_not_ready_for_some_of_a_batch_gets_a_pause() {
    let (address, kept) = server();
    let refusal = |key| (key, "CLUSTERDOWN", "The cluster is down".to_owned());
    kept.lock().unwrap().elsewhere.push(refusal("away"));
    let (target, _) = opened(address, asked("redis://HOST")).await;
    let (mut session, _context) = session(&target, 5_000).await;
    let s = &mut session;
    let there = r#"{"a":"1"}"#;
    for (second, settle, wanted) in [
        ("away", true, Some(Failure::Unanswered)),
        ("away", false, None),
        ("b", true, None),
        ("full", true, None),
    ] {
        let bulk = Op { documents: 2, settle, ..op(OpKind::BulkInsert) };
        let made = carry_out(s, bulk, &[("a", there), (second, there)], &[]).await;
        assert_eq!(made.result.err(), wanted, "{second}");
        assert_eq!(s.ready().await.is_some(), second == "away", "{second}");
    }
    // The record was stored, but its place in the index was not.
    kept.lock().unwrap().elsewhere.push(refusal("_indices"));
    let made = carry_out(s, op(OpKind::Create), &[("c", there)], &[]).await;
    assert_eq!(made.result.err(), Some(Failure::Unanswered));
    assert!(s.ready().await.is_some());
}

/// The pauses between attempts grow beyond the timeout, which does not apply to them.
#[tokio::test]
async fn a_server_that_was_away_for_long_is_found_again_however_short_the_timeout() {
    let (address, kept) = server();
    let (target, _) = opened(address, asked("redis://HOST?resp=3")).await;
    let (mut session, context) = session(&target, 50).await;
    let s = &mut session;
    kept.lock().unwrap().away = true;
    let tries = async {
        for _ in 0..8 {
            let made = carry_out(s, op(OpKind::Update), &[("k", r#"{"a":"1"}"#)], &[]).await;
            assert_eq!(made.result.err(), Some(Failure::Connect));
        }
        kept.lock().unwrap().away = false;
        for _ in 0..3 {
            let made = carry_out(s, op(OpKind::Update), &[("k", r#"{"a":"1"}"#)], &[]).await;
            if made.result.is_ok() {
                return;
            }
        }
        panic!("it is not tried any more");
    };
    tokio::select! {
        () = tries => {}
        () = context.sweep() => unreachable!("it never ends"),
    }
}

/// The server accepts the record, but not its place in the index: the record exists all the same.
#[tokio::test]
async fn a_record_without_its_place_in_the_index_is_not_called_refused() {
    let (address, kept) = server();
    for code in ["NOPERM", "OOM"] {
        kept.lock().unwrap().elsewhere = vec![("_indices", code, "not for you".to_owned())];
        let (target, _) = opened(address, asked("redis://HOST")).await;
        let (mut session, _context) = session(&target, 5_000).await;
        let s = &mut session;
        let bulk = Op { documents: 2, ..op(OpKind::BulkInsert) };
        let there = r#"{"a":"1"}"#;
        for (op, keys, words) in [
            (op(OpKind::Create), &[("a", there)][..], "the record is stored, but not in"),
            (bulk, &[("b", there), ("c", there)], "records are stored, but not in"),
            // The other reason of this batch is that of a record.
            (bulk, &[("full", there), ("c", there)], "records are stored, but not in"),
            (op(OpKind::Delete), &[("a", "")], "the record is deleted, but still in"),
        ] {
            let made = carry_out(s, op, keys, &[]).await;
            assert_eq!(made.result.err(), Some(Failure::ServerError), "{code} {keys:?}");
            let reason = s.reason(Failure::ServerError).unwrap().reason;
            let start = format!("{words} the index _indices: {code} ");
            assert!(reason.starts_with(&start), "{reason}");
        }
        assert!(kept.lock().unwrap().hashes.keys().eq(["b", "c"]), "{code}");
        // Documents that were not stored are not counted.
        let bulk = Op { documents: 1, ..op(OpKind::BulkInsert) };
        let made = carry_out(s, bulk, &[("full", there)], &[]).await;
        assert_eq!(made.result.err(), None, "{code}");
        assert_eq!(s.answered().rows, [Err::<Token, _>(Failure::ServerError)], "{code}");
        let reason = s.reason(Failure::ServerError).unwrap().reason;
        assert_eq!(reason, "OOM used memory > 'maxmemory'", "{code}");
    }
}

#[tokio::test]
async fn only_the_keys_of_a_scratch_database_are_removed() {
    let (address, kept) = server();
    kept.lock().unwrap().hashes.entry("other".to_owned()).or_default();
    let scratch = TargetAsked { existing: Existing::No, ..asked("redis://HOST") };
    for keep in [false, true] {
        let (target, facts) = opened(address, TargetAsked { keep, ..scratch.clone() }).await;
        let (mut session, _context) = session(&target, 5_000).await;
        carry_out(&mut session, op(OpKind::Create), &[("k", r#"{"a":"1"}"#)], &[]).await;
        let key = format!("{}:k", facts.database);
        assert!(facts.created && kept.lock().unwrap().hashes.contains_key(&key), "{key}");
        assert_eq!(target.size().await.unwrap().documents, Some(1));
        assert_eq!(target.tear_down().await, Ok(!keep));
        let kept = kept.lock().unwrap();
        assert_eq!((kept.hashes.len(), kept.index.len()), if keep { (2, 1) } else { (1, 0) });
    }
}

#[tokio::test]
async fn what_a_server_does_wrong_is_known_by_its_class() {
    let (create, read) = (OpKind::Create, OpKind::Read);
    for (answer, kind, wanted) in [
        ("", read, Failure::Timeout),
        ("", create, Failure::Unanswered),
        ("!", read, Failure::Reset),
        ("!", create, Failure::Unanswered),
        ("*2\r\n$1\r\n!", read, Failure::Reset),
        ("HTTP/1.1 400 Bad Request\r\n", read, Failure::Protocol),
        ("-NOAUTH Authentication required.\r\n", read, Failure::Authentication),
        ("-READONLY You can't write against a replica.\r\n-ERR\r\n", create, Failure::NotReady),
    ] {
        let (mut session, context) = unseen(peer("+PONG\r\n", answer), 300).await;
        let outcome = tokio::select! {
            outcome = carry_out(&mut session, op(kind), &[("a", "{}")], &[]) => outcome,
            () = context.sweep() => unreachable!("it never ends"),
        };
        assert_eq!(outcome.result.err(), Some(wanted), "{answer:?} to {kind}");
        let pause = session.ready().await;
        assert_eq!(pause.is_some(), !wanted.answered(), "{answer:?}: a fresh connection");
    }
}

/// It says so without having been asked, and closes the connection.
#[tokio::test]
async fn a_server_with_too_many_clients_is_known_by_its_class() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let _ = stream.write_all(b"-ERR max number of clients reached\r\n");
        }
    });
    for kind in [OpKind::Read, OpKind::Create] {
        let (mut session, _context) = unseen(address, 5_000).await;
        let outcome = carry_out(&mut session, op(kind), &[("a", "{}")], &[]).await;
        assert_eq!(outcome.result.err(), Some(Failure::TooManyRequests), "{kind}");
        let reason = session.reason(Failure::TooManyRequests).unwrap().reason;
        assert_eq!(reason, "ERR max number of clients reached", "{kind}");
    }
}

/// What holds for commands, such as writes, does not end a connection that others can use.
#[tokio::test]
async fn a_connection_is_used_unless_the_server_refuses_it() {
    for (to_ping, wanted) in [
        ("+PONG\r\n", Failure::NotFound),
        ("-MISCONF Redis is configured to save RDB snapshots\r\n", Failure::NotFound),
        ("-BUSY Redis is busy running a script\r\n", Failure::NotFound),
        ("-LOADING Redis is loading the dataset in memory\r\n", Failure::NotFound),
        ("-NOAUTH Authentication required.\r\n", Failure::Authentication),
        ("-ERR too many connections\r\n", Failure::Connect),
    ] {
        let (mut session, _context) = unseen(peer(to_ping, "*0\r\n"), 5_000).await;
        let read = carry_out(&mut session, op(OpKind::Read), &[("a", "")], &[]).await;
        assert_eq!(read.result.err(), Some(wanted), "{to_ping}");
    }
}

#[tokio::test]
async fn peers_that_cannot_be_used_are_refused_before_a_run() {
    // No server has this port; one that was just freed may be taken by another test.
    let closed = std::net::SocketAddr::from(([127, 0, 0, 1], 1));
    for (address, wanted) in [
        (closed, "cannot reach redis://HOST: connection refused: nothing listens there; start a"),
        (liar(""), "cannot reach redis://HOST: no answer in time"),
        (liar("HTTP/1.1 400 Bad Request\r\n!"), "the server at redis://HOST does not speak"),
        (liar("!"), "the server at redis://HOST does not speak Redis's protocol"),
        (liar("-NOAUTH Authentication required.\r\n"), "redis://HOST requires a log-in ("),
        (liar(":1\r\n"), "the server at redis://HOST does not speak Redis's protocol"),
    ] {
        let plan = RedisPlan::check(&asked(&format!("redis://{address}"))).unwrap();
        let message = plan.open(&opening()).await.unwrap_err().to_string();
        let start = wanted.replace("HOST", &address.to_string());
        assert!(message.starts_with(&start), "{message}");
    }
}

#[test]
fn what_a_run_has_kept_is_found_again() {
    let of = |existing, address: &str| {
        RedisPlan::check(&TargetAsked { existing, ..asked(address) }).map_err(|it| it.to_string())
    };
    let scratch = of(Existing::No, "redis://h/3").unwrap();
    assert_eq!(scratch.place_of("springload_1_2_3").unwrap(), "/3/springload_1_2_3");
    let again = of(Existing::Yes, "redis://h/3/springload_1_2_3").unwrap();
    assert_eq!((again.number, again.prefix.as_deref()), (3, Some("springload_1_2_3")));
    assert_eq!(again.place_of("springload_1_2_3"), scratch.place_of("springload_1_2_3"));
    assert_eq!(of(Existing::Yes, "redis://h/3").unwrap().place_of("3").unwrap(), "/3");
    for parameters in
        ["?index=false", "?shape=string&pipeline=4&resp=3", "?index=true&shape=string"]
    {
        let plan = of(Existing::No, &format!("redis://h{parameters}")).unwrap();
        assert_eq!(plan.place_of("x").unwrap(), format!("/0/x{parameters}"));
    }
    let message = of(Existing::No, "redis://h/3/x").unwrap_err();
    assert!(message.contains("a prefix of keys, but no --use-existing"), "{message}");
}

#[test]
fn addresses_name_a_server_a_number_and_an_index() {
    let plan = |text: &str| RedisPlan::check(&asked(text));
    let full = plan("rediss://ann:p%40w@[::1]:7/3?index=false").unwrap();
    assert_eq!((full.server.as_str(), full.number, full.index), ("rediss://[::1]:7", 3, false));
    assert_eq!((full.login.user.as_deref(), full.login.password()), (Some("ann"), "p@w"));
    assert_eq!(full.database, DatabasePlan::Existing { name: "3".to_owned() });
    assert!(!full.operations().unwrap().contains(OpKind::Scan));
    let short = plan("redis://h").unwrap();
    assert_eq!((short.server.as_str(), short.number, short.index), ("redis://h:6379", 0, true));
    assert_eq!((short.operations(), Redis::CARD.operations.contains(OpKind::Scan)), (None, true));
    for wrong in [
        "redis://",
        "redis://u:pw@h:7/db",
        "redis://u:pw@h:7?x=1",
        "redis://u:pw@h?index=maybe",
        "redis://u:pw@h?shape=list",
        "redis://u:pw@h?pipeline=0",
        "redis://u:pw@h?pipeline=10001",
        "redis://u:pw@h?resp=4",
        "redis://u:pw@h#f",
    ] {
        let message = plan(wrong).unwrap_err().to_string();
        assert!(message.starts_with("TARGET: ") && !message.contains("pw"), "{message}");
    }
    let table = TargetAsked { database: Some("t".to_owned()), ..asked("redis://h") };
    assert!(RedisPlan::check(&table).unwrap_err().to_string().contains("a table other than"));
    let authority = TargetAsked {
        tls: crate::net::TlsOptions {
            authorities: Some("ca.pem".into()),
            ..crate::net::TlsOptions::default()
        },
        ..asked("redis://h")
    };
    assert!(RedisPlan::check(&authority).unwrap_err().to_string().contains("rediss://"));
}

#[test]
fn a_plan_is_stored_without_its_password() {
    let mut plan = RedisPlan::check(&asked("redis://ann:secret@h/1")).unwrap();
    let stored = serde_json::to_string(&plan).unwrap();
    assert!(stored.contains("ann") && !stored.contains("secret"), "{stored}");
    let again: RedisPlan = serde_json::from_str(&stored).unwrap();
    plan.login.password = None;
    assert_eq!(again, plan);
}

#[tokio::test]
async fn strings_are_documents_as_they_are() {
    let (address, kept) = server();
    let (target, _) = opened(address, asked("redis://HOST?shape=string&resp=3")).await;
    let (mut session, _context) = session(&target, 5_000).await;
    let s = &mut session;
    carry_out(s, op(OpKind::Create), &[("k", r#"{"a":1,"b":1}"#)], &[]).await;
    assert_eq!(kept.lock().unwrap().strings["k"], r#"{"a":1,"b":1}"#);
    assert!(kept.lock().unwrap().seen.contains(&"HELLO 3".to_owned()));
    // Unchanged fields stay.
    let changed = carry_out(s, op(OpKind::Update), &[("k", r#"{"b":2}"#)], &[]).await;
    assert_eq!((changed.result.err(), changed.wire.requests), (None, Some(2)));
    let read = carry_out(s, op(OpKind::Read), &[("k", "")], &[]).await;
    assert_eq!((document(s).as_str(), read.bytes.received), (r#"{"a":1,"b":2}"#, 13));
    let missing = carry_out(s, op(OpKind::Read), &[("none", "")], &[]).await;
    assert_eq!(missing.result.err(), Some(Failure::NotFound));
    assert!(kept.lock().unwrap().index.is_empty(), "strings have no index");
}

#[tokio::test]
async fn sessions_share_connections_as_the_pipeline_says() {
    let (address, _) = server();
    let (target, _) = opened(address, asked("redis://HOST?pipeline=3")).await;
    let context = ShardContext::new(Clock::system(), 1_000_000_000);
    let shard = target.shard(context).await.unwrap();
    let mut sessions: Vec<_> = (0..7).map(|number| shard.session_of(number)).collect();
    for session in &mut sessions {
        session.ready().await;
    }
    let group = |session: &RedisSession| Rc::as_ptr(&session.worker.exchange.group);
    let groups: Vec<_> = sessions.iter().map(group).collect();
    assert!(groups[..3].iter().all(|it| *it == groups[0]) && groups[3] != groups[0]);
    assert!(groups[3..6].iter().all(|it| *it == groups[3]) && groups[6] != groups[3]);
    // A session that is created again does not take another place.
    assert_eq!(group(&shard.session_of(4)), groups[4]);
}
