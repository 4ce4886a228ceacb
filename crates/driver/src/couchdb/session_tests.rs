//! What each operation sends, and how the answers are read, against a server that gives prepared
//! answers.

use super::*;
use crate::couchdb::scripted_tests::{answers, carry_out, read, scripted, session_of};
use crate::couchdb::{CouchDb, Credentials, Node, Nodes, Place};
use crate::net::ShardContext;
use crate::net::{Endpoint, TlsOptions};
use crate::{Target as _, UnsettledWrites};
use std::io::{BufReader, Write as _};
use std::net::TcpListener;
use std::sync::Mutex;

const REV1: &str = "1-abababababababababababababababab";
const REV2: &str = "2-cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd";

fn token(text: &str) -> Option<Token> {
    Revision::parse(text.as_bytes()).map(Token::from)
}

/// Requests as received, as [`read`] returns them.
type Seen = Arc<Mutex<Vec<String>>>;

/// A server that gives these answers in order: a status, possibly followed by headers, and a body.
/// Without a status it closes the connection.
fn server(answers: Vec<(&'static str, String)>) -> (CouchDb, Seen) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    let seen = Seen::default();
    let log = seen.clone();
    std::thread::spawn(move || {
        let mut answers = answers.into_iter();
        while answers.len() > 0 {
            let mut stream = BufReader::new(listener.accept().unwrap().0);
            while let Some(request) = read(&mut stream) {
                log.lock().unwrap().push(request);
                let Some((status, body)) = answers.next().filter(|it| !it.0.is_empty()) else {
                    break;
                };
                let length = body.len();
                let head = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n\r\n");
                stream.get_mut().write_all((head + &body).as_bytes()).unwrap();
            }
        }
    });
    let endpoint = Arc::new(Endpoint::resolve(&url, &TlsOptions::default()).unwrap());
    let credentials = Credentials::Cookie {
        name: "me".to_owned(),
        password: "secret".to_owned(),
        cookie: "AuthSession=old".to_owned(),
    };
    (CouchDb::new(endpoint, credentials, "db"), seen)
}

fn document(id: &str, rev: &str) -> String {
    format!("{{\"_id\":\"{id}\",\"_rev\":\"{rev}\",\"a\":1}}")
}

fn written(id: &str, rev: &str) -> String {
    format!("{{\"ok\":true,\"id\":\"{id}\",\"rev\":\"{rev}\"}}")
}

fn conflict() -> (&'static str, String) {
    ("409 Conflict", r#"{"error":"conflict","reason":"Document update conflict."}"#.to_owned())
}

/// An operation with its name and body, the answers to it, and the requests that it sends.
type Case = (Op, &'static str, &'static str, Vec<(&'static str, String)>, Vec<String>);

const BODY: &str = r#"{"_id":"7","b":2}"#;

fn merged() -> String {
    format!("PUT /db/7 {{\"_id\":\"7\",\"_rev\":\"{REV1}\",\"a\":1,\"b\":2}}")
}

fn plain() -> Vec<Case> {
    let single = |kind, rev| Op::single(kind, 7, rev);
    let delete = format!("DELETE /db/7?rev={REV1}");
    vec![
        (
            single(OpKind::Read, None),
            "a/b",
            "",
            vec![("200 OK", document("a/b", REV2))],
            vec!["GET /db/a%2Fb".to_owned()],
        ),
        (
            single(OpKind::Create, None),
            "7",
            BODY,
            vec![("201 Created", written("7", REV2))],
            vec![format!("PUT /db/7 {BODY}")],
        ),
        (
            single(OpKind::Delete, token(REV1)),
            "7",
            "",
            vec![("200 OK", written("7", REV2))],
            vec![delete.clone()],
        ),
        (
            single(OpKind::Delete, None),
            "7",
            "",
            vec![("200 OK", document("7", REV1)), ("200 OK", written("7", REV2))],
            vec!["GET /db/7".to_owned(), delete],
        ),
        (
            single(OpKind::Update, None),
            "7",
            BODY,
            vec![("200 OK", document("7", REV1)), ("201 Created", written("7", REV2))],
            vec!["GET /db/7".to_owned(), merged()],
        ),
    ]
}

fn special() -> Vec<Case> {
    let single = |kind, rev| Op::single(kind, 7, rev);
    let bulk = Op { documents: 2, ..single(OpKind::BulkInsert, None) };
    let scan = Op { limit: 3, ..single(OpKind::Scan, None) };
    let range = Op { limit: 2, ..single(OpKind::Read, None) };
    let known = Op { conditional: true, ..single(OpKind::Read, token(REV1)) };
    let over = Op { overwrite: true, ..single(OpKind::Create, None) };
    let rows = format!("[{},{}]", written("7", REV1), written("8", REV1));
    let none = r#"{"total_rows":0,"offset":0,"rows":[]}"#.to_owned();
    let condition = format!("GET /db/7 [If-None-Match: \"{REV1}\"]");
    let all = "GET /db/_all_docs?include_docs=true&limit=";
    vec![
        (
            over,
            "7",
            BODY,
            vec![conflict(), ("200 OK", document("7", REV1)), ("201 Created", written("7", REV2))],
            vec![format!("PUT /db/7 {BODY}"), "GET /db/7".to_owned(), merged()],
        ),
        (
            bulk,
            "7\08",
            r#"{"_id":"7"},{"_id":"8"}"#,
            vec![("201 Created", rows)],
            vec![r#"POST /db/_bulk_docs {"docs":[{"_id":"7"},{"_id":"8"}]}"#.to_owned()],
        ),
        (scan, "k", "", vec![("200 OK", none.clone())], vec![format!("{all}3&startkey=%22k%22")]),
        (
            range,
            "k\0m",
            "",
            vec![("200 OK", none)],
            vec![format!("{all}2&startkey=%22k%22&endkey=%22m%22")],
        ),
        (known, "7", "", vec![("304 Not Modified", String::new())], vec![condition]),
    ]
}

#[tokio::test]
async fn each_operation_is_spelled_as_couchdb_reads_it() {
    for (op, name, body, answers, sent) in plain().into_iter().chain(special()) {
        let requests = answers.len();
        let (target, seen) = server(answers);
        let mut session = session_of(&target);
        let outcome = carry_out(&mut session, op, (name, body)).await;
        assert_eq!(*seen.lock().unwrap(), sent);
        let reply = outcome.result.unwrap_or_else(|failure| panic!("{failure}: {sent:?}"));
        let expected = match op.kind {
            OpKind::BulkInsert | OpKind::Scan => None,
            OpKind::Read if op.limit > 0 => None,
            OpKind::Read if op.conditional => token(REV1),
            _ => token(REV2),
        };
        assert_eq!((reply.token, reply.accepted), (expected, false), "{sent:?}");
        assert_eq!(outcome.wire.requests, Some(requests as u64), "{sent:?}");
        assert_eq!(outcome.wire.retries, u64::from(op.overwrite));
        assert_eq!(session.statuses(), if op.conditional { &[304][..] } else { &[] });
        let alone = requests == 1;
        assert_eq!(session.is_one_request(&op), alone && !op.overwrite, "{sent:?}");
    }
}

#[tokio::test]
async fn a_status_that_says_something_else_is_a_failure() {
    for (kind, status, ok) in [
        (OpKind::Read, "201 Created", false),
        (OpKind::Read, "304 Not Modified", false),
        (OpKind::Create, "200 OK", false),
        (OpKind::Create, "202 Accepted", true),
        (OpKind::Update, "202 Accepted", true),
        (OpKind::Delete, "201 Created", false),
        (OpKind::Delete, "202 Accepted", true),
    ] {
        let body = if kind == OpKind::Read { document("7", REV2) } else { written("7", REV2) };
        let body = if status.starts_with("304") { String::new() } else { body };
        let (target, _) = server(vec![(status, body)]);
        let mut session = session_of(&target);
        let op = Op::single(kind, 7, token(REV1));
        let outcome = carry_out(&mut session, op, ("7", r#"{"_id":"7"}"#)).await;
        let accepted = outcome.result.map(|reply| reply.accepted);
        assert_eq!(accepted.is_ok(), ok, "{kind} {status}: {accepted:?}");
        assert!(!ok || accepted == Ok(true), "not yet on a quorum");
    }
}

/// An answer with several documents is not one of them, and would fill the memory for those.
#[tokio::test]
async fn only_a_document_that_was_read_alone_is_kept_for_an_update() {
    let one = |id: &str| format!(r#"{{"id":"{id}","docs":[{{"ok":{}}}]}}"#, document(id, REV1));
    let both = format!(r#"{{"results":[{},{}]}}"#, one("7"), one("8"));
    let (target, _) = server(vec![("200 OK", both), ("200 OK", document("7", REV1))]);
    let mut session = session_of(&target.with_cached_updates(true));
    let single = Op::single(OpKind::Read, 7, None);
    let several = Op { documents: 2, ..single };
    for (op, names, kept) in [(several, "7\08", false), (single, "7", true)] {
        let outcome = carry_out(&mut session, op, (names, "")).await;
        assert!(outcome.result.is_ok(), "{:?}", outcome.result);
        let seen = session.seen.as_ref().expect("updates are cached");
        assert_eq!(seen.get(names.as_bytes()).is_some(), kept, "{names:?}");
    }
}

const GRANTED: &str = "200 OK\r\nSet-Cookie: AuthSession=new; Path=/";

#[tokio::test]
async fn a_cookie_that_has_expired_is_renewed_by_one_session_for_all() {
    let read = ("200 OK", document("7", REV1));
    let (target, seen) = server(vec![
        ("401 Unauthorized", "{}".to_owned()),
        (GRANTED, "{}".to_owned()),
        read.clone(),
        read.clone(),
        ("200 OK\r\nSet-Cookie: AuthSession=newer; Path=/", document("7", REV1)),
        read,
    ]);
    let mut session = session_of(&target);
    let op = Op::single(OpKind::Read, 7, None);
    let mut sent = Vec::new();
    for _ in 0..4 {
        let outcome = carry_out(&mut session, op, ("7", "")).await;
        assert_eq!(outcome.result.map(|reply| reply.token), Ok(token(REV1)));
        sent.push(outcome.wire.requests.unwrap());
    }
    assert_eq!(sent, [3, 1, 1, 1]);
    let expected = [
        "GET /db/7",
        r#"POST /_session {"name":"me","password":"secret"}"#,
        "GET /db/7 [Cookie: AuthSession=new]",
        "GET /db/7 [Cookie: AuthSession=new]",
        "GET /db/7 [Cookie: AuthSession=new]",
        "GET /db/7 [Cookie: AuthSession=newer]",
    ];
    assert_eq!(*seen.lock().unwrap(), expected);
}

#[tokio::test]
async fn a_session_uses_the_cookie_that_another_one_received() {
    let expired = ("401 Unauthorized", "{}");
    let found = ("200 OK", &*document("7", REV1).leak());
    let rules = vec![
        ("POST /_session", answers([(GRANTED, "{}")])),
        ("GET /db/7", answers([expired, found, expired, found])),
    ];
    let server = scripted(rules);
    let (name, password) = ("me".to_owned(), "secret".to_owned());
    let cookie = "AuthSession=old".to_owned();
    let target = server.database_for(Credentials::Cookie { name, password, cookie });
    let op = Op::single(OpKind::Read, 7, None);
    for mut session in [session_of(&target), session_of(&target)] {
        let outcome = carry_out(&mut session, op, ("7", "")).await;
        assert!(outcome.result.is_ok(), "{:?}", outcome.result);
    }
    let log_in = r#"POST /_session {"name":"me","password":"secret"}"#;
    let again = "GET /db/7 [Cookie: AuthSession=new]";
    assert_eq!(server.seen(), ["GET /db/7", log_in, again, "GET /db/7", again]);
}

#[tokio::test]
async fn only_a_refusal_ends_logging_in() {
    for (answer, failure, again) in [
        ("401 Unauthorized", Failure::Authentication, false),
        ("403 Forbidden", Failure::Authentication, false),
        ("503 Service Unavailable", Failure::ServerError, true),
        // Without a cookie.
        ("200 OK", Failure::Protocol, true),
    ] {
        let refused = ("401 Unauthorized", "{}".to_owned());
        let (target, seen) = server(vec![
            refused.clone(),
            (answer, "{}".to_owned()),
            refused,
            (GRANTED, "{}".to_owned()),
            ("200 OK", document("7", REV1)),
        ]);
        let mut session = session_of(&target);
        let op = Op::single(OpKind::Read, 7, None);
        let outcome = carry_out(&mut session, op, ("7", "")).await;
        assert_eq!(outcome.result.err(), Some(failure), "{answer}");
        let outcome = carry_out(&mut session, op, ("7", "")).await;
        assert_eq!(outcome.result.is_ok(), again, "{answer}: {:?}", outcome.result);
        let asked = |line: &&String| line.starts_with("POST /_session");
        let asked = seen.lock().unwrap().iter().filter(asked).count();
        assert_eq!(asked, 1 + usize::from(again), "a refusal is counted by the server");
    }
}

#[tokio::test]
async fn a_write_without_an_answer_is_not_sent_again_but_looked_for() {
    let body = r#"{"_id":"7","a":1}"#;
    let missing = r#"{"error":"not_found","reason":"missing"}"#.to_owned();
    for (looked, carried_out, not_carried_out, settled) in [
        (("200 OK", document("7", REV1)), 1, 0, token(REV1)),
        (("404 Object Not Found", missing), 0, 1, None),
    ] {
        let looked_bytes = looked.1.len() as u64;
        let (target, seen) = server(vec![("", String::new()), looked]);
        let mut session = session_of(&target);
        let op = Op::single(OpKind::Create, 7, None);
        let outcome = carry_out(&mut session, op, ("7", body)).await;
        assert_eq!(outcome.result.err(), Some(Failure::Unanswered));
        assert_eq!(
            (outcome.wire.carried_out, outcome.wire.not_carried_out),
            (carried_out, not_carried_out)
        );
        assert_eq!(outcome.bytes.received, looked_bytes, "what was looked up came, too");
        let found = session.settled().and_then(|reply| reply.token);
        assert_eq!(found, settled);
        assert_eq!(session.reason(Failure::Unanswered), None);
        let sent = [format!("PUT /db/7 {body}"), "GET /db/7".to_owned()];
        assert_eq!(*seen.lock().unwrap(), sent);
    }
}

#[tokio::test]
async fn a_server_is_silent_until_it_says_what_became_of_a_write() {
    let lost = || ("", String::new());
    for (answers, silent) in [
        (vec![lost(), ("200 OK", document("7", REV1))], false),
        (vec![lost(), lost(), ("200 OK", document("7", REV1))], true),
    ] {
        let (target, _) = server(answers);
        let mut session = session_of(&target);
        let op = Op::single(OpKind::Create, 7, None);
        let mut pen = session.pen();
        pen.begin(b"7");
        pen.payload.body_mut().extend_from_slice(br#"{"_id":"7","a":1}"#);
        session.ready().await;
        session.prepare(&op, &mut pen);
        let mut probe = Probe::new(session.clock, session.clock.now(), session.clock.now());
        let outcome = session.execute(&op, &mut pen, &mut probe).await;
        assert_eq!(outcome.wire.carried_out, 1);
        // In vain once, and then until the answer.
        let until = probe.silent_until();
        assert_eq!(until > 0, silent);
        assert!(!silent || until >= probe.finish().done, "{until}");
    }
}

#[tokio::test]
async fn a_write_is_unsettled_while_the_server_is_asked_what_became_of_it() {
    let (target, _) = server(vec![("", String::new())]);
    let mut session = session_of(&target);
    let (op, clock) = (Op::single(OpKind::Create, 7, None), session.clock);
    let mut pen = session.pen();
    pen.begin(b"7");
    pen.payload.body_mut().extend_from_slice(br#"{"_id":"7","a":1}"#);
    session.ready().await;
    session.prepare(&op, &mut pen);
    assert_eq!(target.unsettled(), UnsettledWrites::default());
    let began = clock.now();
    let mut probe = Probe::new(clock, began, began);
    let unsettled = async {
        while target.unsettled().writes == 0 {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
        target.unsettled()
    };
    let unsettled = tokio::select! {
        unsettled = unsettled => unsettled,
        outcome = session.execute(&op, &mut pen, &mut probe) => panic!("{outcome:?}"),
    };
    assert_eq!(unsettled.writes, 1);
    assert!(unsettled.until > began, "{unsettled:?}");
    // An agent that is stuck is given up only after that.
    let latest = clock.now() + session.connection.timeout_ns();
    assert!(unsettled.until <= latest, "{unsettled:?}");
    assert_eq!(target.unsettled().writes, 0, "nobody asks any more");
}

/// A node that takes a request without answering it, accepts one more connection, and is gone: like
/// one that is killed while connections are waiting to be accepted.
fn dying() -> Arc<Endpoint> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    std::thread::spawn(move || {
        let accept = || BufReader::new(listener.accept().unwrap().0);
        read(&mut accept());
        let mut last = accept();
        drop(listener);
        read(&mut last);
    });
    Arc::new(Endpoint::resolve(&url, &TlsOptions::default()).unwrap())
}

#[tokio::test]
async fn a_write_whose_node_died_is_looked_for_at_another_one() {
    let (other, seen) = server(vec![("200 OK", document("7", REV1))]);
    let dying = Node::new(dying(), other.nodes[0].credentials.clone(), &[]);
    let target = CouchDb::on(vec![dying, other.nodes[0].clone()], super::Paths::one("db"));
    let context = ShardContext::new(Clock::system(), 3_000_000_000);
    let nodes = Nodes::new(&target.nodes, "/db", &context);
    let place = Place::new(&nodes, 0, false);
    let mut session = CouchSession::new(&target, &context, Some(place));
    let op = Op::single(OpKind::Create, 7, None);
    let write = carry_out(&mut session, op, ("7", r#"{"_id":"7","a":1}"#));
    let outcome = tokio::task::LocalSet::new().run_until(write).await;
    assert_eq!(outcome.result.err(), Some(Failure::Unanswered));
    assert_eq!(*seen.lock().unwrap(), ["GET /db/7"], "the dead one was asked until the timeout");
    assert_eq!(outcome.wire.carried_out, 1);
    let log = &nodes.logs()[0];
    assert_eq!((log.absences.len(), log.absences[0].moved), (1, 1), "{log:?}");
}

#[tokio::test]
async fn a_batch_sent_again_is_settled_by_looking_at_its_conflicts() {
    let row = r#"{"id":"8","error":"conflict","reason":"Document update conflict."}"#;
    let rows = format!("[{},{row}]", written("7", REV1));
    let found = format!(
        "{{\"total_rows\":2,\"offset\":0,\"rows\":[{{\"id\":\"8\",\"key\":\"8\",\"value\":\
         {{\"rev\":\"{REV1}\"}},\"doc\":{{\"_id\":\"8\",\"_rev\":\"{REV1}\"}}}}]}}"
    );
    let received = (rows.len() + found.len()) as u64;
    let (target, seen) = server(vec![("201 Created", rows), ("200 OK", found)]);
    let mut session = session_of(&target);
    let op = Op { documents: 2, settle: true, ..Op::single(OpKind::BulkInsert, 7, None) };
    let outcome = carry_out(&mut session, op, ("7\08", r#"{"_id":"7"},{"_id":"8"}"#)).await;
    assert!(outcome.result.is_ok(), "{:?}", outcome.result);
    assert_eq!((outcome.wire.carried_out, outcome.wire.requests), (1, Some(2)));
    assert_eq!(outcome.bytes.received, received);
    let seen = seen.lock().unwrap();
    let bodies = seen.iter().filter_map(|it| it.find('{').map(|at| it.len() - at));
    assert_eq!(outcome.bytes.sent, bodies.sum::<usize>() as u64);
    assert_eq!(seen[1], r#"POST /db/_all_docs?include_docs=true {"keys":["8"]}"#);
}

/// One of its documents is stored, but the server that could say what happened to the other is
/// gone: the batch must not count as having done nothing.
#[tokio::test]
async fn a_batch_whose_conflicts_cannot_be_looked_up_has_no_answer() {
    let row = r#"{"id":"8","error":"conflict","reason":"Document update conflict."}"#;
    let (target, seen) = server(vec![("201 Created", format!("[{},{row}]", written("7", REV1)))]);
    let mut session = session_of(&target);
    let op = Op { documents: 2, settle: true, ..Op::single(OpKind::BulkInsert, 7, None) };
    let outcome = carry_out(&mut session, op, ("7\08", r#"{"_id":"7"},{"_id":"8"}"#)).await;
    assert_eq!(outcome.result.err(), Some(Failure::Unanswered));
    assert!(session.answered().rows.is_empty() && outcome.wire.carried_out == 0);
    assert!(seen.lock().unwrap()[1].starts_with("POST /db/_all_docs?"));
}

/// There may be tens of thousands of connections.
#[tokio::test]
async fn a_connection_that_waits_for_an_answer_takes_little_memory() {
    let (target, _) = server(Vec::new());
    let mut session = session_of(&target);
    assert!(size_of_val(&session) <= 664, "{} bytes", size_of_val(&session));
    let (op, mut pen) = (Op::single(OpKind::Read, 7, None), session.pen());
    let mut probe = Probe::new(session.clock, 0, 0);
    let waiting = size_of_val(&session.execute(&op, &mut pen, &mut probe));
    assert!(waiting <= 224, "{waiting} bytes");
}
