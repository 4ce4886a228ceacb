//! Which answers count as success, and what is sent so that they can be judged.

use super::scripted_tests::{Answer, MISSING, answers, carry_out, open, scripted, session_of};
use super::{Quorum, Revision, TargetAsked};
use crate::op::{Failure, Op, OpKind, ReadCopies, Token};
use crate::{Existing, Session as _};
use serde_json::{Value, json};
use std::num::NonZeroU16;

const REV1: &str = "1-abababababababababababababababab";

fn leak(status: &'static str, body: &Value) -> Answer {
    (status, body.to_string().leak())
}

fn stored(id: &str) -> Value {
    json!({"ok": true, "id": id, "rev": REV1})
}

fn document(id: &str) -> Value {
    json!({"_id": id, "_rev": REV1})
}

/// A bulk insert of `7` and `8`.
fn batch() -> Op {
    Op { documents: 2, ..Op::single(OpKind::BulkInsert, 7, None) }
}

const NAMES: &str = "7\08";
const BATCH: &str = r#"{"_id":"7"},{"_id":"8"}"#;

/// CouchDB answers 500 with rows if it could store only some of the documents.
#[tokio::test]
async fn of_a_batch_that_failed_the_documents_that_are_stored_count() {
    let failed = |id: &str| json!({"id": id, "error": "error", "reason": "internal_server_error"});
    let some = leak("500 Oops", &json!([stored("7"), failed("8")]));
    let none = leak("500 Oops", &json!([failed("7"), failed("8")]));
    let whole = ("500 Oops", r#"{"error":"error","reason":"internal_server_error"}"#);
    for (answer, wanted, rows) in [
        (some, None, vec![None, Some(Failure::ServerError)]),
        (none, Some(Failure::ServerError), Vec::new()),
        (whole, Some(Failure::ServerError), Vec::new()),
    ] {
        let server = scripted(vec![("POST /db/_bulk_docs", answers([answer]))]);
        let mut session = session_of(&server.database());
        let outcome = carry_out(&mut session, batch(), (NAMES, BATCH)).await;
        assert_eq!(outcome.result.err(), wanted, "{answer:?}");
        let found: Vec<_> = session.answered().rows.iter().map(|row| row.err()).collect();
        assert_eq!(found, rows, "{answer:?}");
    }
    let server = scripted(vec![("PUT /db/7", answers([some]))]);
    let create = Op::single(OpKind::Create, 7, None);
    let outcome = carry_out(&mut session_of(&server.database()), create, ("7", "{}")).await;
    assert_eq!(outcome.result.err(), Some(Failure::ServerError), "it is no batch");
}

/// Without knowing that nobody else writes the documents, a conflict is one.
#[tokio::test]
async fn conflicts_of_a_batch_are_looked_up_only_if_they_may_be_its_own_documents() {
    let conflict = json!({"id": "8", "error": "conflict", "reason": "No."});
    for (settle, second) in [(false, conflict), (true, stored("8"))] {
        let answer = leak("201 Created", &json!([stored("7"), second]));
        let server = scripted(vec![("POST /db/_bulk_docs", answers([answer]))]);
        let mut session = session_of(&server.database());
        let outcome = carry_out(&mut session, Op { settle, ..batch() }, (NAMES, BATCH)).await;
        assert!(outcome.result.is_ok(), "{:?}", outcome.result);
        assert_eq!((outcome.wire.requests, outcome.wire.carried_out), (Some(1), 0), "{settle}");
        let failed: Vec<_> = session.answered().rows.iter().filter_map(|row| row.err()).collect();
        assert_eq!(failed.is_empty(), settle, "{failed:?}");
    }
}

#[tokio::test]
async fn a_connection_whose_answer_does_not_fit_the_request_is_closed() {
    let read = Op::single(OpKind::Read, 7, None);
    let conflict = json!({"id": "8", "error": "conflict", "reason": "No."});
    for (op, answer, is_open) in [
        (read, leak("200 OK", &document("7")), true),
        (read, MISSING, true),
        (read, leak("200 OK", &document("8")), false),
        (read, ("200 OK", "<html>"), false),
        (batch(), leak("201 Created", &json!([stored("7"), conflict])), true),
        (batch(), leak("201 Created", &json!([stored("7")])), false),
    ] {
        let server = scripted(vec![("*", answers([answer]))]);
        let mut session = session_of(&server.database());
        let (names, body) = if op.documents == 2 { (NAMES, BATCH) } else { ("7", "") };
        carry_out(&mut session, op, (names, body)).await;
        assert_eq!(session.is_open(), is_open, "{answer:?}");
    }
}

#[tokio::test]
async fn an_update_that_cannot_be_joined_with_the_stored_document_is_not_sent() {
    let found = leak("200 OK", &document("7"));
    let written = leak("201 Created", &stored("7"));
    let rules = vec![("GET /db/7", answers([found])), ("PUT /db/7", answers([written]))];
    let server = scripted(rules);
    let update = Op::single(OpKind::Update, 7, None);
    let outcome = carry_out(&mut session_of(&server.database()), update, ("7", "[]")).await;
    assert_eq!(outcome.result.err(), Some(Failure::Protocol));
    assert_eq!(server.seen(), ["GET /db/7"]);
}

#[tokio::test]
async fn a_quorum_is_asked_for_with_each_document_and_with_nothing_else() {
    let token = Revision::parse(REV1.as_bytes()).map(Token::from);
    let read = Op::single(OpKind::Read, 7, None);
    let scan = Op { limit: 3, ..Op::single(OpKind::Scan, 7, None) };
    let delete = format!("DELETE /db/7?rev={REV1}&w=2");
    for (op, body, sent) in [
        (read, "", "GET /db/7?r=1"),
        (Op { copies: ReadCopies::Usual, ..read }, "", "GET /db/7"),
        (Op::single(OpKind::Create, 7, None), "{}", "PUT /db/7?w=2 {}"),
        (Op::single(OpKind::Delete, 7, token), "", &*delete),
        (Op::single(OpKind::BulkInsert, 7, None), "{}", r#"POST /db/_bulk_docs?w=2 {"docs":[{}]}"#),
        (scan, "", "GET /db/_all_docs?include_docs=true&limit=3&startkey=%227%22"),
    ] {
        let server = scripted(Vec::new());
        let mut target = server.database();
        target.quorum = Quorum { r: NonZeroU16::new(1), w: NonZeroU16::new(2) };
        carry_out(&mut session_of(&target), op, ("7", body)).await;
        assert_eq!(server.seen(), [sent]);
    }
}

#[tokio::test]
async fn a_request_without_a_body_says_nothing_of_one() {
    let session = session_of(&scripted(Vec::new()).database());
    let head = |kind, body_bytes| {
        let mut head = Vec::new();
        session.write_head(&Op::single(kind, 7, None), b"7", body_bytes, &mut head);
        String::from_utf8(head).unwrap()
    };
    assert!(!head(OpKind::Read, 0).contains("Content-"));
    assert!(head(OpKind::Create, 7).ends_with("Content-Length: 7\r\n\r\n"));
}

#[tokio::test]
async fn a_log_in_that_expires_while_an_index_is_built_is_renewed() {
    let granted = ("200 OK\r\nSet-Cookie: AuthSession=new; Path=/", "{}");
    let rules = vec![
        ("POST /_session", answers([granted])),
        ("GET /", answers([("200 OK", r#"{"couchdb":"Welcome"}"#)])),
        ("GET /db/_design/app", answers([MISSING])),
        ("PUT /db/_design/app", answers([("401 Unauthorized", "{}"), ("201 Created", "{}")])),
        ("GET /db*", answers([("200 OK", r#"{"doc_count":7,"rows":[]}"#)])),
    ];
    let server = scripted(rules);
    let address = server.url.replace("//", "//ann:secret@") + "/db";
    let mut asked = TargetAsked { existing: Existing::Yes, ..TargetAsked::at(&address) };
    let design = json!({"_id": "_design/app", "views": {"by": {"map": "m"}}});
    asked.options.insert("ddocs".to_owned(), json!([design]));
    let (target, _) = open(&asked).await.unwrap();
    server.seen();
    let build = Op::single(OpKind::IndexBuild, 0, None);
    let outcome = carry_out(&mut session_of(&target), build, ("", "")).await;
    assert_eq!(outcome.result.map(|reply| reply.rows), Ok(7));
    let seen = server.seen();
    let count = |start: &str| seen.iter().filter(|it| it.starts_with(start)).count();
    assert_eq!((count("PUT "), count("POST ")), (2, 1), "{seen:?}");
}
