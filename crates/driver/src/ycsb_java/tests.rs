//! Tests the driver against peers that answer in place of the Java process; `tests/java` uses the
//! real one.

use super::frame::{KEY, put, put_count};
use super::*;
use crate::clock::Clock;
use crate::measure::{Probe, Timing};
use crate::op::{Failure, Op, OpKind, Pen as _, Token};
use crate::properties::{Properties, PropertyReader};
use crate::rehearsal::Text;
use crate::{Binding, Outcome, Planned as _, Session as _, TargetAsked};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};

const OURS: [u8; KEY] = [7; KEY];
const THEIRS: [u8; KEY] = [9; KEY];

fn framed(content: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    put(content, &mut frame);
    frame
}

fn greeting(theirs: [u8; KEY], refusal: &str) -> Vec<u8> {
    let mut content = theirs.to_vec();
    put(refusal.as_bytes(), &mut content);
    framed(&content)
}

/// An answer: the time inside, results with their texts, and rows.
fn answer(inside_ns: u64, results: &[(u8, &str)], rows: &[&[(&str, &str)]]) -> Vec<u8> {
    let mut content = inside_ns.to_be_bytes().to_vec();
    put_count(results.len(), &mut content);
    for (code, text) in results {
        content.push(*code);
        put(text.as_bytes(), &mut content);
    }
    put_count(rows.len(), &mut content);
    for row in rows {
        put_count(row.len(), &mut content);
        for (name, value) in *row {
            put(name.as_bytes(), &mut content);
            put(value.as_bytes(), &mut content);
        }
    }
    framed(&content)
}

/// A peer that greets each connection with `greeting`, then gives `answer` to each request, and
/// closes the connection after it if `closes`. Also returns the requests that it received.
fn peer(greeting: Vec<u8>, answer: Vec<u8>, closes: bool) -> (SocketAddr, Receiver<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (tell, arrived) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream: TcpStream = stream.unwrap();
            let mut key = [0; KEY];
            if stream.read_exact(&mut key).is_err() || key != OURS {
                continue;
            }
            let _ = stream.write_all(&greeting);
            let mut length = [0; 4];
            while stream.read_exact(&mut length).is_ok() {
                let mut request = vec![0; u32::from_be_bytes(length) as usize];
                stream.read_exact(&mut request).unwrap();
                let _ = tell.send(request);
                let _ = stream.write_all(&answer);
                if closes {
                    break;
                }
            }
        }
    });
    (address, arrived)
}

fn session(address: SocketAddr, timeout_ms: u64) -> (JavaSession, Rc<ShardContext>) {
    let context = ShardContext::new(Clock::system(), timeout_ms * 1_000_000);
    let door = Door { address, ours: OURS, theirs: THEIRS };
    let target = YcsbJava { door, host: None, timeout: Duration::from_secs(1) };
    (JavaSession::new(&target, &context), context)
}

/// Executes an operation on documents with these names.
async fn carry_out(
    session: &mut JavaSession,
    op: Op,
    documents: &[(&str, &'static str)],
) -> (Outcome, Timing) {
    let mut pen = session.pen();
    pen.look();
    for (name, text) in documents {
        pen.name().extend_from_slice(name.as_bytes());
        match op.kind {
            OpKind::Update => pen.changes(Text(text)),
            OpKind::Read | OpKind::Scan if !text.is_empty() => pen.want(text),
            OpKind::Read | OpKind::Scan | OpKind::Delete => {}
            _ => pen.document(op.token, Text(text)),
        }
    }
    session.ready().await;
    session.prepare(&op, &mut pen);
    let now = Clock::system().now();
    let mut probe = Probe::new(Clock::system(), now, now);
    (session.execute(&op, &mut pen, &mut probe).await, probe.finish())
}

const fn op(kind: OpKind) -> Op {
    Op::single(kind, 7, None)
}

/// The outcome of an operation that gets this answer.
async fn answered(op: Op, documents: &[(&str, &'static str)], answer: Vec<u8>) -> Outcome {
    let (address, _arrived) = peer(greeting(THEIRS, ""), answer, false);
    let (mut session, _context) = session(address, 5_000);
    carry_out(&mut session, op, documents).await.0
}

#[tokio::test]
async fn a_request_has_the_parts_that_the_java_side_reads() {
    let (address, arrived) = peer(greeting(THEIRS, ""), answer(1, &[(0, "")], &[]), false);
    let (mut session, _context) = session(address, 5_000);
    let ask = async |session: &mut _, op, documents: &[(&str, &'static str)]| {
        assert!(carry_out(session, op, documents).await.0.result.is_ok());
        arrived.recv().unwrap()
    };
    let numbers = |all: &[u32]| all.iter().flat_map(|it| it.to_be_bytes()).collect::<Vec<_>>();
    let text = |text: &str| [&numbers(&[text.len() as u32])[..], text.as_bytes()].concat();
    let parts = |all: &[Vec<u8>]| all.concat();
    assert_eq!(
        ask(&mut session, op(OpKind::Create), &[("k", "{\"a\":\"x\",\"b\":2}")]).await,
        parts(&[
            b"i".to_vec(),
            numbers(&[1]),
            text("k"),
            numbers(&[0, 2]),
            text("a"),
            text("x"),
            text("b"),
            text("2")
        ])
    );
    assert_eq!(
        ask(&mut session, op(OpKind::Update), &[("k", "{\"a\":\"y\"}")]).await,
        parts(&[b"u".to_vec(), numbers(&[1]), text("k"), numbers(&[0, 1]), text("a"), text("y")])
    );
    assert_eq!(
        ask(&mut session, op(OpKind::Delete), &[("k", "")]).await,
        parts(&[b"d".to_vec(), numbers(&[1]), text("k"), numbers(&[0, 0])])
    );
    assert_eq!(
        ask(&mut session, op(OpKind::Read), &[("k", "")]).await,
        parts(&[b"r".to_vec(), numbers(&[1]), text("k"), numbers(&[0, 0])])
    );
    let scan = Op { limit: 9, ..op(OpKind::Scan) };
    assert_eq!(
        ask(&mut session, scan, &[("k", "f")]).await,
        parts(&[b"s".to_vec(), numbers(&[1]), text("k"), numbers(&[9, 1]), text("f"), text("")])
    );
}

#[tokio::test]
async fn rows_become_documents() {
    let fields: &[(&str, &str)] = &[("a\"", "x\ny"), ("b", "")];
    let read = answer(1, &[(0, "")], &[fields]);
    let (address, _arrived) = peer(greeting(THEIRS, ""), read, false);
    let (mut session, _context) = session(address, 5_000);
    let (outcome, _) = carry_out(&mut session, op(OpKind::Read), &[("k", "")]).await;
    assert_eq!((outcome.result.unwrap().rows, outcome.bytes.received), (0, 6));
    assert_eq!(session.answered().document, Some(&br#"{"a\"":"x\ny","b":""}"#[..]));
    let rows = answer(1, &[(0, "")], &[fields, &[]]);
    let (address, _arrived) = peer(greeting(THEIRS, ""), rows, false);
    let (mut session, _context) = super::tests::session(address, 5_000);
    let scan = Op { limit: 2, ..op(OpKind::Scan) };
    let (outcome, _) = carry_out(&mut session, scan, &[("k", "")]).await;
    assert_eq!(outcome.result.unwrap().rows, 2);
    assert_eq!(session.scanned().unwrap()[1], b"{}");
}

#[tokio::test]
async fn each_status_of_ycsb_has_its_class() {
    use Failure::{
        Authentication, NotFound, Rejected, ServerError, TooLarge, TooManyRequests, UnexpectedState,
    };
    for (code, class) in [
        (1, ServerError),
        (2, NotFound),
        (3, Rejected),
        (4, UnexpectedState),
        (5, Rejected),
        (6, Authentication),
        (7, TooManyRequests),
        (9, ServerError),
        (10, ServerError),
        (11, TooLarge),
    ] {
        let (address, _arrived) =
            peer(greeting(THEIRS, ""), answer(1, &[(code, "why")], &[]), false);
        let (mut session, _context) = session(address, 5_000);
        let (outcome, _) = carry_out(&mut session, op(OpKind::Create), &[("k", "{}")]).await;
        assert_eq!(outcome.result.err(), Some(class), "{code}");
        assert_eq!(session.reason(class).unwrap().reason, "why");
        assert!(session.link.stream.is_some());
    }
    for (code, accepted) in [(0, false), (8, true)] {
        let outcome = answered(op(OpKind::Create), &[("k", "{}")], answer(1, &[(code, "")], &[]));
        assert_eq!(outcome.await.result.unwrap().accepted, accepted);
    }
}

#[tokio::test]
async fn a_batch_has_a_result_for_each_record() {
    let results = [(0, ""), (10, "java.lang.Error: x"), (8, "BATCHED_OK: it is kept")];
    let (address, _arrived) = peer(greeting(THEIRS, ""), answer(1, &results, &[]), false);
    let (mut session, _context) = session(address, 5_000);
    let bulk = Op { documents: 3, ..op(OpKind::BulkInsert) };
    let documents = [("a", "{}"), ("b", "{}"), ("c", "{}")];
    let (outcome, _) = carry_out(&mut session, bulk, &documents).await;
    assert!(outcome.result.unwrap().accepted, "one is enough to warn of all");
    let stored = Ok(Token::default());
    assert_eq!(session.answered().rows, [stored, Err(Failure::ServerError), stored]);
    assert_eq!(session.reason(Failure::ServerError).unwrap().reason, "java.lang.Error: x");
}

#[tokio::test]
async fn only_the_time_inside_the_binding_is_service() {
    let (address, _arrived) = peer(greeting(THEIRS, ""), answer(1_000, &[(0, "")], &[]), false);
    let (mut session, _context) = session(address, 5_000);
    let (outcome, timing) = carry_out(&mut session, op(OpKind::Create), &[("k", "{}")]).await;
    assert!(outcome.result.is_ok() && outcome.wire.outside_ns > 0);
    assert_eq!((timing.service_ns, timing.remote_ns), (1_000, 1_000));
    assert!(timing.response_ns >= outcome.wire.outside_ns + 1_000, "nothing is left out of it");
}

#[tokio::test]
async fn what_a_peer_does_wrong_is_known_by_its_class() {
    let (create, read) = (OpKind::Create, OpKind::Read);
    let row: &[(&str, &str)] = &[("a", "b")];
    let ok = answer(1, &[(0, "")], &[]);
    let cut = ok[..ok.len() - 1].to_vec();
    let longer = [&ok[..], b"x"].concat();
    let inner = framed(&[&ok[4..], b"x"].concat());
    let mut miscounted = ok.clone();
    miscounted[15] = 2;
    // A row with a field whose length is given as 4 GB.
    let mut huge = answer(1, &[(0, "")], &[row]);
    let place = huge.len() - 10;
    huge[place..place + 4].copy_from_slice(&[255; 4]);
    for (name, answer, closes, kind, wanted) in [
        ("silence", vec![], false, read, Failure::Timeout),
        ("silence", vec![], false, create, Failure::Unanswered),
        ("end", vec![], true, read, Failure::Reset),
        ("cut", cut.clone(), true, create, Failure::Unanswered),
        ("cut", cut, false, create, Failure::Unanswered),
        ("text", b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(), false, read, Failure::Protocol),
        ("two answers", longer, false, create, Failure::Protocol),
        ("something behind", inner, false, create, Failure::Protocol),
        ("no result", answer(1, &[], &[]), false, create, Failure::Protocol),
        ("two results", answer(1, &[(0, ""), (0, "")], &[]), false, create, Failure::Protocol),
        ("no status", answer(1, &[(12, "")], &[]), false, create, Failure::Protocol),
        ("a row of a write", answer(1, &[(0, "")], &[row]), false, create, Failure::Protocol),
        ("two rows", answer(1, &[(0, "")], &[row, row]), false, read, Failure::Protocol),
        ("a row of a failure", answer(1, &[(2, "")], &[row]), false, read, Failure::Protocol),
        ("a huge field", huge, false, read, Failure::Protocol),
        ("results not there", miscounted, false, create, Failure::Protocol),
        ("time", answer(u64::MAX, &[(0, "")], &[row]), false, read, Failure::Protocol),
    ] {
        let (address, _arrived) = peer(greeting(THEIRS, ""), answer, closes);
        let (mut session, context) = session(address, 300);
        let outcome = tokio::select! {
            (outcome, _) = carry_out(&mut session, op(kind), &[("a", "{}")]) => outcome,
            () = context.sweep() => unreachable!("it never ends"),
        };
        assert_eq!(outcome.result.err(), Some(wanted), "{name} to {kind}");
        assert!(session.link.stream.is_none(), "{name} to {kind}");
        assert!(session.answered().document.is_none(), "{name} to {kind}");
    }
}

#[tokio::test]
async fn a_peer_that_does_not_show_its_key_gets_no_request() {
    let impostor = greeting(OURS, "");
    let endless = u32::MAX.to_be_bytes().to_vec();
    for (greeting, reason) in [
        (impostor, "not the Java process"),
        (endless, "not the Java process"),
        (b"SSH-2.0-OpenSSH_9.2\r\n".to_vec(), "not the Java process"),
        (greeting(THEIRS, "a.B: no"), "init of the binding failed: a.B: no"),
    ] {
        let (address, arrived) = peer(greeting, answer(1, &[(0, "")], &[]), false);
        let (mut session, _context) = session(address, 5_000);
        let (outcome, _) = carry_out(&mut session, op(OpKind::Create), &[("a", "{}")]).await;
        assert_eq!(outcome.result.err(), Some(Failure::Connect));
        assert_eq!(outcome.wire.requests, Some(0));
        assert_eq!(session.reason(Failure::Connect).unwrap().reason, reason);
        assert!(arrived.try_recv().is_err());
    }
}

#[tokio::test]
async fn nobody_there_is_no_connection() {
    // No server has this port; one that was just freed may be taken by another test.
    let closed = std::net::SocketAddr::from(([127, 0, 0, 1], 1));
    let (mut session, _context) = session(closed, 300);
    let (outcome, _) = carry_out(&mut session, op(OpKind::Create), &[("a", "{}")]).await;
    assert_eq!(outcome.result.err(), Some(Failure::Connect));
    assert_eq!((outcome.wire.requests, outcome.bytes.sent), (Some(0), 0));
    assert!(session.reason(Failure::Connect).is_some());
}

#[tokio::test]
async fn what_nobody_asked_for_is_counted_and_gets_a_fresh_connection() {
    let ok = answer(1, &[(0, "")], &[]);
    let (address, _arrived) = peer(greeting(THEIRS, ""), ok, false);
    let (mut session, _context) = session(address, 5_000);
    session.ready().await;
    // A request whose answer is not read.
    let stream = session.link.stream.as_mut().unwrap();
    tokio::io::AsyncWriteExt::write_all(stream, &framed(b"x")).await.unwrap();
    stream.readable().await.unwrap();
    let outcome = tokio::time::timeout(
        Duration::from_secs(5),
        carry_out(&mut session, op(OpKind::Create), &[("a", "{}")]),
    );
    let (outcome, _) = outcome.await.unwrap();
    assert_eq!((outcome.wire.unsolicited, outcome.wire.requests), (1, Some(1)));
}

#[tokio::test]
async fn a_range_with_an_end_and_a_frame_too_long_are_not_sent() {
    let (address, arrived) = peer(greeting(THEIRS, ""), answer(1, &[(0, "")], &[]), false);
    let (mut session, _context) = session(address, 5_000);
    let range = Op { limit: 5, ..op(OpKind::Read) };
    let (outcome, _) = carry_out(&mut session, range, &[("a", ""), ("z", "")]).await;
    assert_eq!(outcome.result.err(), Some(Failure::Rejected));
    let mut pen = session.pen();
    pen.name().resize(super::frame::MOST, b'a');
    pen.spell(&op(OpKind::Read));
    assert_eq!(pen.refused, Some(Failure::TooLarge));
    assert!(arrived.try_recv().is_err());
}

#[test]
fn an_address_has_a_class_and_properties() {
    let plan = YcsbJavaPlan::check(&TargetAsked::at(
        "ycsb-java:site.ycsb.db.My$1Client?cp=/a:/b/*&jvm-args=-XX:+UseG1GC%20-Xmx1g&log=/l&\
         table=t&a.url=jdbc:x://h/d?y%3D1%26z&basicdb.verbose=false",
    ));
    let plan = plan.unwrap();
    assert_eq!(plan.class, "site.ycsb.db.My$1Client");
    assert_eq!(plan.class_path.as_deref(), Some("/a:/b/*"));
    assert_eq!(plan.jvm_args.as_deref(), Some("-XX:+UseG1GC -Xmx1g"));
    assert_eq!((plan.log.as_deref(), plan.table.as_str()), (Some("/l"), "t"));
    assert_eq!(plan.properties["a.url"], "jdbc:x://h/d?y=1&z");
    assert_eq!(plan.properties["basicdb.verbose"], "false");
    let bare = YcsbJavaPlan::check(&TargetAsked::at("ycsb-java:Db")).unwrap();
    assert_eq!((bare.table.as_str(), bare.class_path), ("usertable", None));
    for wrong in ["", "//h:1", "a..b", "a.1b", "a b", "a?x", "a?x=%ff", "a/b"] {
        let message =
            YcsbJavaPlan::check(&TargetAsked::at(&format!("ycsb-java:{wrong}"))).unwrap_err();
        assert!(message.to_string().starts_with("TARGET: "), "{wrong}: {message}");
    }
    assert!(YcsbJavaPlan::check(&TargetAsked::at("ycsb-java")).is_err());
}

#[test]
fn what_may_be_secret_is_not_stored() {
    let plan = YcsbJavaPlan::check(&TargetAsked::at(
        "ycsb-java:a.B?jdbc.passwd=pw&mongodb.url=mongodb://u:pw@h/d&jdbc.user=ann",
    ));
    let plan = plan.unwrap();
    assert_eq!(plan.properties["jdbc.passwd"], "pw");
    let stored = serde_json::to_value(&plan).unwrap();
    let properties = &stored["binding_properties"];
    assert_eq!(properties["jdbc.passwd"], "***");
    assert_eq!(properties["mongodb.url"], "mongodb://u:***@h/d");
    assert_eq!(properties["jdbc.user"], "ann");
    assert_eq!(plan.address().as_deref(), Some("ycsb-java:a.B"));
}

#[test]
fn ycsbs_command_line_passes_everything_on() {
    let mut properties = Properties::default();
    for (name, value) in [
        ("db", "a.B"),
        ("x.url", "u?v=w"),
        (Binding::CLASS_PATH, "/l/*"),
        (Binding::JVM_ARGUMENTS, "-Xmx1g"),
        ("springload.log", "/log"),
    ] {
        properties.set(name, value);
    }
    let (card, binding) = Binding::named("java").unwrap();
    let mut read = PropertyReader::new(&properties);
    let bound = (binding.read)(&mut read);
    assert_eq!(read.end(()), Ok(()));
    let address = bound.address.unwrap();
    assert_eq!(binding.refusal(card, &address), None);
    let asked = TargetAsked {
        options: bound.options,
        database: Some("t".to_owned()),
        ..TargetAsked::at(&address)
    };
    let plan = YcsbJavaPlan::check(&asked).unwrap();
    assert_eq!((plan.class.as_str(), plan.table.as_str()), ("a.B", "t"));
    assert_eq!((plan.class_path.as_deref(), plan.log.as_deref()), (Some("/l/*"), Some("/log")));
    assert_eq!(plan.jvm_args.as_deref(), Some("-Xmx1g"));
    let given: Vec<_> = plan.properties.iter().map(|(name, value)| (&**name, &**value)).collect();
    assert_eq!(given, [("db", "a.B"), ("x.url", "u?v=w")]);
    let none = Properties::default();
    let mut read = PropertyReader::new(&none);
    let _ = (binding.read)(&mut read);
    assert_eq!(read.end(()).unwrap_err()[0].property, "db");
    assert!(Binding::of_class("*").is_none());
}
