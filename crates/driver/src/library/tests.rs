//! Tests the pen, and the session with a client that follows a script.

use super::*;
use crate::Session as _;
use crate::clock::Clock;
use crate::op::{Failure, OpKind, Pen as _, Token};
use crate::rehearsal::Text;
use std::cell::RefCell;
use std::collections::VecDeque;

/// A document as its JSON text.
fn fields(pen: &LibraryPen, place: usize) -> Vec<(String, String)> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    pen.fields(place).map(|(name, value)| (name.to_owned(), text(value))).collect()
}

#[test]
fn a_pen_keeps_names_fields_and_what_is_wanted_until_it_is_cleared() {
    let mut pen = LibraryPen::new(Form::Fields);
    for round in 0..2 {
        pen.name().extend_from_slice(b"a\0b");
        pen.document(None, Text(r#"{"x":"1\n","y":{"z":[2]}}"#));
        pen.name().extend_from_slice(b"c");
        pen.document(None, Text("{}"));
        pen.name().extend_from_slice(b"");
        pen.document(None, Text(r#"{"x":null}"#));
        pen.want("x");
        assert_eq!(pen.names().collect::<Vec<_>>(), [&b"a\0b"[..], b"c", b""]);
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(fields(&pen, 0), [pair("x", "1\n"), pair("y", r#"{"z":[2]}"#)]);
        assert_eq!(fields(&pen, 1), []);
        assert_eq!(fields(&pen, 2), [pair("x", "null")]);
        assert_eq!(fields(&pen, 3), []);
        assert_eq!(
            (pen.wanted(), pen.json(0), pen.is_partial()),
            (&["x".into()][..], &b""[..], false)
        );
        pen.clear();
        assert_eq!((pen.names().len(), pen.wanted().len(), pen.bytes()), (0, 0, 0), "{round}");
        assert_eq!((pen.name().len(), fields(&pen, 0)), (0, vec![]));
        pen.clear();
    }
    pen.want("long name");
    pen.look();
    assert!(pen.looks());
    pen.clear();
    assert!(!pen.looks());
    pen.want("y");
    pen.changes(Text(r#"{"x":1}"#));
    assert!(pen.is_partial());
    assert_eq!(pen.wanted(), ["y"]);
}

#[test]
fn a_pen_for_json_keeps_documents_as_they_are() {
    let mut pen = LibraryPen::new(Form::Json);
    pen.name().push(b'a');
    pen.document(None, Text(r#"{"x":1}"#));
    pen.name().push(b'b');
    pen.document(None, Text(r#"{"y":2}"#));
    assert_eq!(
        (pen.json(0), pen.json(1), pen.json(2)),
        (&br#"{"x":1}"#[..], &br#"{"y":2}"#[..], &b""[..])
    );
    assert_eq!(fields(&pen, 0), []);
    assert_eq!(pen.bytes(), 14);
}

/// What a [`Scripted`] client does with each call; `None` means that it never answers.
type Script = Rc<RefCell<VecDeque<Option<Result<Reply, CallError>>>>>;

/// A client that follows its script and notes what it is asked for.
struct Scripted {
    script: Script,
    log: Rc<RefCell<Vec<&'static str>>>,
    connected: bool,
}

impl Scripted {
    async fn next(&self, call: &'static str) -> Result<Reply, CallError> {
        self.log.borrow_mut().push(call);
        let next = self.script.borrow_mut().pop_front().expect("nothing more is asked");
        match next {
            Some(result) => result,
            None => std::future::pending().await,
        }
    }
}

impl Client for Scripted {
    fn is_connected(&self) -> bool {
        self.connected
    }

    fn connect(&mut self) -> Local<'_, Result<(), CallError>> {
        Box::pin(async {
            self.next("connect").await?;
            self.connected = true;
            Ok(())
        })
    }

    fn disconnect(&mut self) {
        self.log.borrow_mut().push("disconnect");
        self.connected = false;
    }

    fn execute<'a>(&'a mut self, call: Call<'a>) -> Local<'a, Result<Reply, CallError>> {
        Box::pin(async {
            let result = self.next("execute").await;
            call.found.document = b"{}".to_vec();
            call.found.stored();
            call.found.failed(CallError::new(Failure::Conflict, "there already"));
            result
        })
    }
}

type Heard = Rc<RefCell<Vec<&'static str>>>;

/// A session with a client that follows this script, its notes, and its clock, with a timeout of
/// 100 ms.
fn session(
    script: Vec<Option<Result<Reply, CallError>>>,
) -> (LibrarySession, Heard, Rc<ShardContext>) {
    let context = ShardContext::new(Clock::virtual_time(), 100_000_000);
    let (script, log) = (Rc::new(RefCell::new(script.into())), Heard::default());
    let client = Scripted { script, log: log.clone(), connected: false };
    (LibrarySession::new(Box::new(client), Form::Fields, &context), log, context)
}

async fn carry_out(session: &mut LibrarySession, kind: OpKind, clock: Clock) -> Outcome {
    let mut pen = session.pen();
    pen.name().push(b'k');
    pen.document(None, Text(r#"{"x":"y"}"#));
    session.ready().await;
    let now = clock.now();
    let mut probe = Probe::new(clock, now, now);
    session.execute(&Op::single(kind, 0, None), &mut pen, &mut probe).await
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_passed_on_with_its_counts_and_forgotten_by_the_next() {
    let fine = || Some(Ok(Reply::default()));
    let refused = Some(Err(CallError::new(Failure::Rejected, "no room")));
    let (mut session, log, context) = session(vec![fine(), fine(), refused]);
    let outcome = carry_out(&mut session, OpKind::BulkInsert, context.clock()).await;
    assert_eq!(outcome.result, Ok(Reply::default()));
    assert_eq!((outcome.bytes.sent, outcome.wire.requests), (2, Some(1)));
    let rows = [Ok(Token::default()), Err(Failure::Conflict)];
    assert_eq!(session.answered().rows, rows);
    assert_eq!(session.reason(Failure::Conflict).unwrap().reason, "there already");
    assert_eq!(session.reason(Failure::Rejected), None);
    let outcome = carry_out(&mut session, OpKind::Create, context.clock()).await;
    assert_eq!(outcome.result, Err(Failure::Rejected));
    assert_eq!(session.reason(Failure::Rejected).unwrap().reason, "no room");
    // The connection is still good.
    assert_eq!(*log.borrow(), ["connect", "execute", "execute"]);
}

#[tokio::test(start_paused = true)]
async fn an_operation_without_an_answer_ends_in_time_and_gets_a_fresh_connection() {
    for (kind, failure) in [(OpKind::Read, Failure::Timeout), (OpKind::Update, Failure::Unanswered)]
    {
        let fine = || Some(Ok(Reply::default()));
        let (mut session, log, context) = session(vec![fine(), None, fine(), fine()]);
        let clock = context.clock();
        let both = async {
            let before = clock.now();
            let outcome = carry_out(&mut session, kind, clock).await;
            assert_eq!(outcome.result, Err(failure));
            let took_ms = (clock.now() - before) / 1_000_000;
            assert!((100..=110).contains(&took_ms), "{took_ms} ms");
            assert_eq!(carry_out(&mut session, kind, clock).await.result, Ok(Reply::default()));
        };
        tokio::select! {
            () = both => {}
            () = context.clone().sweep() => unreachable!("it never ends"),
        }
        assert_eq!(*log.borrow(), ["connect", "execute", "disconnect", "connect", "execute"]);
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_connection_nothing_is_sent_and_pauses_grow() {
    let closed = || Some(Err(CallError::new(Failure::Connect, "refused")));
    let (mut session, log, context) = session(vec![closed(), closed(), closed()]);
    let (clock, mut took_ms) = (context.clock(), Vec::new());
    for _ in 0..3 {
        let before = clock.now();
        let outcome = carry_out(&mut session, OpKind::Create, clock).await;
        took_ms.push((clock.now() - before) / 1_000_000);
        assert_eq!(outcome.result, Err(Failure::Connect));
        assert_eq!((outcome.wire.requests, outcome.bytes.sent), (Some(0), 0));
        assert_eq!(session.reason(Failure::Connect).unwrap().reason, "refused");
        assert!(session.answered().rows.is_empty() && session.answered().document.is_none());
    }
    assert_eq!(took_ms, [0, 10, 20]);
    assert!(!log.borrow().contains(&"execute"));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_not_ready_is_asked_again_after_pauses_that_grow() {
    let fine = || Some(Ok(Reply::default()));
    let loading = || Some(Err(CallError::new(Failure::NotReady, "LOADING")));
    let script = vec![fine(), loading(), fine(), loading(), fine(), fine()];
    let (mut session, _, context) = session(script);
    let (clock, mut took_ms) = (context.clock(), Vec::new());
    for result in [Err(Failure::NotReady), Err(Failure::NotReady), Ok(Reply::default())] {
        let before = clock.now();
        assert_eq!(carry_out(&mut session, OpKind::Create, clock).await.result, result);
        took_ms.push((clock.now() - before) / 1_000_000);
    }
    assert_eq!(took_ms, [0, 10, 20]);
}

#[tokio::test(start_paused = true)]
async fn refused_credentials_are_reported_as_such() {
    let refused = Some(Err(CallError::new(Failure::Authentication, "wrong password")));
    let (mut session, _, context) = session(vec![refused]);
    let outcome = carry_out(&mut session, OpKind::Read, context.clock()).await;
    assert_eq!(outcome.result, Err(Failure::Authentication));
    assert_eq!(outcome.wire.requests, Some(0));
}
