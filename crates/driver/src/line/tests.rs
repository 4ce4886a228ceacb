//! Tests the driver with its own server, with servers that give wrong answers, and in whole runs.

use super::words::Own;
use super::*;
use crate::clock::Clock;
use crate::measure::Probe;
use crate::op::{Failure, Op, OpKind, Pen as _};
use crate::rehearsal::Text;
use crate::{DriverPlan as _, Existing, Opening, Outcome, Session as _, TargetAsked};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;

fn session(address: SocketAddr, timeout_ms: u64) -> (LineSession, Rc<ShardContext>) {
    let context = ShardContext::new(Clock::system(), timeout_ms * 1_000_000);
    (LineSession::new(address, Own::default(), &context), context)
}

/// Executes an operation on documents with these names.
async fn carry_out(
    session: &mut LineSession,
    op: Op,
    documents: &[(&str, &'static str)],
) -> Outcome {
    let mut pen = session.pen();
    for (name, text) in documents {
        pen.name().extend_from_slice(name.as_bytes());
        match op.kind {
            OpKind::Update if op.token.is_none() => pen.changes(Text(text)),
            OpKind::Read | OpKind::Delete => {}
            _ => pen.document(op.token, Text(text)),
        }
    }
    session.ready().await;
    session.prepare(&op, &mut pen);
    let now = Clock::system().now();
    let mut probe = Probe::new(Clock::system(), now, now);
    session.execute(&op, &mut pen, &mut probe).await
}

fn op(kind: OpKind) -> Op {
    let token = (kind != OpKind::Read).then(Token::default);
    Op::single(kind, 7, token)
}

use crate::op::Token;

#[tokio::test]
async fn documents_are_made_changed_read_and_removed() {
    let server = StandIn::start().unwrap();
    let (mut session, _context) = session(server.address(), 5_000);
    let name = "a b%\u{fc}";
    let ended = |outcome: Outcome| outcome.result.map(|_| ());
    let mut does =
        async |kind, text| ended(carry_out(&mut session, op(kind), &[(name, text)]).await);
    assert_eq!(does(OpKind::Read, "").await, Err(Failure::NotFound));
    assert_eq!(does(OpKind::Update, "{}").await, Err(Failure::NotFound));
    assert_eq!(does(OpKind::Create, "{\"x\":1,\"y\":\"z\"}").await, Ok(()));
    assert_eq!(does(OpKind::Create, "{}").await, Err(Failure::Conflict));
    assert_eq!(does(OpKind::Create, "[").await, Err(Failure::Rejected));
    assert_eq!(does(OpKind::Read, "").await, Ok(()));
    let some = Op::single(OpKind::Update, 7, None);
    assert!(carry_out(&mut session, some, &[(name, "{\"x\":2}")]).await.result.is_ok());
    carry_out(&mut session, op(OpKind::Read), &[(name, "")]).await;
    assert_eq!(session.answered().document, Some(&b"{\"x\":2,\"y\":\"z\"}"[..]));
    let mut does =
        async |kind, text| ended(carry_out(&mut session, op(kind), &[(name, text)]).await);
    assert_eq!(does(OpKind::Update, "{\"x\":3}").await, Ok(()));
    assert_eq!(does(OpKind::Delete, "").await, Ok(()));
    assert_eq!(does(OpKind::Delete, "").await, Err(Failure::NotFound));
}

#[tokio::test]
async fn a_batch_has_an_outcome_for_each_document() {
    let server = StandIn::start().unwrap();
    let (mut session, _context) = session(server.address(), 5_000);
    let bulk = Op { documents: 3, ..op(OpKind::BulkInsert) };
    carry_out(&mut session, op(OpKind::Create), &[("b", "{}")]).await;
    let outcome = carry_out(&mut session, bulk, &[("a", "{}"), ("b", "{}"), ("c", "{}")]).await;
    assert!(outcome.result.is_ok());
    let stored = Ok(Token::default());
    assert_eq!(session.answered().rows, [stored, Err(Failure::Conflict), stored]);
    assert_eq!(session.reason(Failure::Conflict).unwrap().reason, "EXISTS");
}

/// A server that gives this answer to each request, and closes the connection if the answer ends
/// with `!`.
fn liar(answer: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let mut line = String::new();
            while matches!(stream.read_line(&mut line), Ok(1..)) {
                let _ = stream.get_mut().write_all(answer.trim_end_matches('!').as_bytes());
                if answer.ends_with('!') {
                    break;
                }
            }
        }
    });
    address
}

#[tokio::test]
async fn what_a_server_does_wrong_is_known_by_its_class() {
    let (create, read) = (OpKind::Create, OpKind::Read);
    for (answer, kind, wanted) in [
        ("", read, Failure::Timeout),
        ("", create, Failure::Unanswered),
        ("!", read, Failure::Reset),
        ("O!", create, Failure::Unanswered),
        ("HTTP/1.1 400 Bad Request\n", read, Failure::Protocol),
        ("OK {\"cut\":\n", read, Failure::Protocol),
        ("OK {}\nOK {}\n", read, Failure::Protocol),
        ("OK {}\nOK", read, Failure::Protocol),
        ("ERROR no room\n", create, Failure::Rejected),
    ] {
        let (mut session, context) = session(liar(answer), 300);
        let outcome = tokio::select! {
            outcome = carry_out(&mut session, op(kind), &[("a", "{}")]) => outcome,
            () = context.sweep() => unreachable!("it never ends"),
        };
        assert_eq!(outcome.result.err(), Some(wanted), "{answer:?} to {kind}");
        assert_eq!(session.link.stream.is_none(), wanted != Failure::Rejected, "{answer:?}");
    }
}

#[tokio::test]
async fn what_nobody_asked_for_is_counted_and_gets_a_fresh_connection() {
    let server = StandIn::start().unwrap();
    let (mut session, _context) = session(server.address(), 5_000);
    session.ready().await;
    // A request whose answer is not read.
    let stream = session.link.stream.as_mut().unwrap();
    tokio::io::AsyncWriteExt::write_all(stream, b"GET x\n").await.unwrap();
    stream.readable().await.unwrap();
    let outcome = carry_out(&mut session, op(OpKind::Create), &[("a", "{}")]).await;
    assert!(outcome.result.is_ok());
    assert_eq!((outcome.wire.unsolicited, outcome.wire.requests), (1, Some(1)));
}

#[tokio::test]
async fn nobody_there_is_reported_before_a_run_and_counted_in_it() {
    // No server has this port; one that was just freed may be taken by another test.
    let closed = std::net::SocketAddr::from(([127, 0, 0, 1], 1));
    let plan = LinePlan { server: Some(format!("line://{closed}")) };
    let opening = Opening { timeout_ns: 1_000_000_000, ..Opening::default() };
    let message = plan.open(&opening).await.unwrap_err().to_string();
    assert!(message.starts_with(&format!("cannot reach line://{closed}: ")), "{message}");
    let (mut session, _context) = session(closed, 300);
    let outcome = carry_out(&mut session, op(OpKind::Create), &[("a", "{}")]).await;
    assert_eq!(outcome.result.err(), Some(Failure::Connect));
    assert_eq!(outcome.wire.requests, Some(0));
    assert_eq!(outcome.bytes, crate::measure::BodyBytes::default(), "nothing was sent");
}

#[tokio::test]
async fn an_earlier_answer_is_no_answer_to_the_next_request() {
    let server = StandIn::start().unwrap();
    let (mut session, _context) = session(server.address(), 5_000);
    carry_out(&mut session, op(OpKind::Create), &[("a", "{}")]).await;
    carry_out(&mut session, op(OpKind::Read), &[("a", "")]).await;
    assert_eq!(session.answered().document, Some(&b"{}"[..]));
    drop(server);
    // As if the connection had been found closed, with nothing listening any more.
    session.link.stream = None;
    let mut pen = session.pen();
    pen.name().push(b'a');
    session.prepare(&op(OpKind::Read), &mut pen);
    let now = Clock::system().now();
    let mut probe = Probe::new(Clock::system(), now, now);
    let outcome = session.execute(&op(OpKind::Read), &mut pen, &mut probe).await;
    assert_eq!(outcome.result.err(), Some(Failure::Connect));
    assert_eq!((outcome.bytes.received, session.answered().document), (0, None));
}

#[test]
fn addresses_are_a_host_and_a_port() {
    let server = |text: &str| LinePlan::check(&TargetAsked::at(text)).map(|plan| plan.server);
    assert_eq!(server("line"), Ok(None));
    assert_eq!(server("line://[::1]:7"), Ok(Some("line://[::1]:7".to_owned())));
    assert_eq!(server("line://h:7/"), Ok(Some("line://h:7".to_owned())));
    for wrong in ["line://h", "line://h:7/db", "line://u:pw@h:7", "line://h:7?x", "line://"] {
        let message = server(wrong).unwrap_err().to_string();
        assert!(message.starts_with("TARGET: ") && !message.contains("pw"), "{message}");
    }
    let existing = TargetAsked { existing: Existing::Yes, ..TargetAsked::at("line://h:7") };
    assert!(LinePlan::check(&existing).is_err());
}
