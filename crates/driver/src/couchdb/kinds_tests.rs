//! Operations that take more than one request, or are about more than one document: what is sent,
//! and what comes of the answers.

use super::scripted_tests::{
    Answer, MISSING, NEVER, Rule, Scripted, answers, carry_out, open, opening, scripted, session_of,
};
use super::{CouchDb, CouchPlan, CouchSession, DriverPlan as _, TargetAsked};
use crate::clock::Clock;
use crate::measure::Probe;
use crate::net::ShardContext;
use crate::op::{Failure, Op, OpKind, Pen as _};
use crate::words::OperationPlan;
use crate::{Existing, Opening, Outcome, Session as _};
use serde_json::{Value, json};

const WELCOME: Rule = ("GET /", &[("200 OK", r#"{"couchdb":"Welcome"}"#)]);
const OK: Answer = ("200 OK", r#"{"ok":true}"#);
const DONE: Answer = ("201 Created", r#"{"ok":true}"#);
const CONFLICT: Answer = ("409 Conflict", r#"{"error":"conflict","reason":"No."}"#);
const REV1: &str = "1-abababababababababababababababab";
const REV2: &str = "2-cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd";

fn leak(status: &'static str, body: String) -> Answer {
    (status, body.leak())
}

/// The database `db` on that server, opened with these settings; the requests for that are
/// forgotten.
pub(super) async fn with(server: &Scripted, options: Value, own: &[&str]) -> CouchDb {
    let Value::Object(options) = options else { panic!("options") };
    let asked = TargetAsked { existing: Existing::Yes, options, ..server.plan("db") };
    let plan = CouchPlan::check(&asked).unwrap_or_else(|mistake| panic!("{mistake}"));
    let operations = own.iter().map(|it| OperationPlan::parse(it).unwrap()).collect();
    let opening = Opening { operations, ..opening() };
    let (target, _) = plan.open(&opening).await.unwrap();
    server.seen();
    target
}

const DESIGNS: &str = "GET /db/_all_docs?startkey=%22_design%2F%22&endkey=%22_design0%22";
const VIEW: &str = "GET /db/_design/app/_view/by?limit=0&reduce=false";

#[tokio::test]
async fn an_index_is_built_when_its_first_answer_comes() {
    let design = json!({"_id": "_design/app", "views": {"by": {"map": "m", "reduce": "_count"}}});
    let index = json!({"index": {"fields": [{"a": "asc"}]}, "ddoc": "mango", "name": "by_a"});
    let plain = json!({"_id": "_design/none"});
    let find = json!({
        "selector": {"a": {"$gt": null}}, "use_index": ["mango", "by_a"], "limit": 1
    });
    let listed = leak("200 OK", json!({"rows": [{"id": "_design/app"}]}).to_string());
    let stored = format!("PUT /db/_design/app {design}");
    let indexed = format!("POST /db/_index {index}");
    let asked = format!("POST /db/_find {find}");
    for (number, sent, rows) in [
        (0, vec![&*stored, VIEW, "GET /db", DESIGNS], 6),
        (1, vec![&*indexed, &*asked, "GET /db", DESIGNS], 6),
        (2, vec!["PUT /db/_design/none {\"_id\":\"_design/none\"}"], 0),
    ] {
        let rules = vec![
            WELCOME,
            ("GET /db", &[OK, ("200 OK", r#"{"doc_count":7}"#)][..]),
            ("PUT /db/_design/app", &[DONE]),
            ("PUT /db/_design/none", &[CONFLICT]),
            ("POST /db/_index", &[OK]),
            ("POST /db/_find", &[OK]),
            (VIEW, &[OK]),
            (DESIGNS, answers([listed])),
        ];
        let server = scripted(rules);
        let target = with(&server, json!({"ddocs": [design, index, plain]}), &[]).await;
        let mut session = session_of(&target);
        let op = Op::single(OpKind::IndexBuild, number, None);
        assert!(!session.is_one_request(&op));
        let outcome = carry_out(&mut session, op, ("", "")).await;
        assert_eq!(outcome.result.map(|reply| reply.rows), Ok(rows), "{number}");
        assert_eq!(server.seen(), sent);
        assert_eq!(outcome.wire.requests, Some(sent.len() as u64));
    }
}

#[tokio::test]
async fn an_index_that_cannot_be_built_is_a_failure() {
    let forbidden = ("403 Forbidden", r#"{"error":"forbidden","reason":"no"}"#);
    let expired = ("401 Unauthorized", "{}");
    let broken = ("500 Oops", r#"{"error":"compilation_error"}"#);
    for (stored, asked, info, wanted) in [
        (("202 Accepted", "{}"), OK, MISSING, Ok(0)),
        (forbidden, OK, OK, Err(Failure::Rejected)),
        (expired, OK, OK, Err(Failure::Authentication)),
        (DONE, broken, OK, Err(Failure::ServerError)),
        (DONE, ("", ""), OK, Err(Failure::Reset)),
    ] {
        let rules = vec![
            WELCOME,
            ("GET /db", answers([OK, info])),
            ("PUT /db/_design/app", answers([stored])),
            ("GET /db/_design/app/_view/by?limit=0", answers([asked])),
        ];
        let server = scripted(rules);
        let design = json!({"_id": "_design/app", "views": {"by": {"map": "m"}}});
        let target = with(&server, json!({"ddocs": [design]}), &[]).await;
        let op = Op::single(OpKind::IndexBuild, 0, None);
        let outcome = carry_out(&mut session_of(&target), op, ("", "")).await;
        assert_eq!(outcome.result.map(|reply| reply.rows), wanted, "{stored:?} {asked:?}");
    }
}

/// A server that builds an index for longer than a request may take is asked how far it is, and
/// again for the index once it has got there.
#[tokio::test]
async fn an_index_is_waited_for_as_long_as_the_server_gets_on() {
    let view = "GET /db/_design/app/_view/by?limit=0";
    let pending = |left: u64, running: bool| {
        let pending = json!({"updates_pending": {"total": left}, "updater_running": running});
        leak("200 OK", json!({ "view_index": pending }).to_string())
    };
    let silent = (NEVER, "");
    let cases = [
        (vec![silent, OK], vec![pending(9, true), pending(0, true), pending(0, false)], Ok(()), 3),
        (vec![silent, silent, OK], vec![MISSING], Ok(()), 2),
        (vec![silent, OK], vec![("200 OK", "{}")], Ok(()), 1),
        // It takes longer than a request may, and gets on all the time.
        (vec![silent, OK], (0..7).rev().map(|left| pending(left, false)).collect(), Ok(()), 7),
        (vec![silent], vec![pending(9, true)], Err(Failure::Timeout), 3),
    ];
    for (asked, info, wanted, looks) in cases {
        let rules = vec![
            WELCOME,
            ("GET /db", &[OK][..]),
            ("PUT /db/_design/app", &[DONE]),
            (view, asked.leak()),
            ("GET /db/_design/app/_info", info.leak()),
        ];
        let server = scripted(rules);
        let design = json!({"_id": "_design/app", "views": {"by": {"map": "m"}}});
        let target = with(&server, json!({"ddocs": [design]}), &[]).await;
        let context = ShardContext::new(Clock::system(), 300_000_000);
        let mut session = CouchSession::new(&target, &context, None);
        let work = async {
            tokio::task::spawn_local(context.clone().sweep());
            carry_out(&mut session, Op::single(OpKind::IndexBuild, 0, None), ("", "")).await
        };
        let outcome = tokio::task::LocalSet::new().run_until(work).await;
        assert_eq!(outcome.result.map(|_| ()), wanted);
        let seen = server.seen();
        let count = seen.iter().filter(|it| it.ends_with("/_info")).count();
        assert!(count >= looks, "{seen:?}");
    }
}

#[tokio::test]
async fn an_audit_of_a_view_lists_the_documents_of_all_its_rows() {
    let start = "GET /db/_design/app/_view/by?reduce=false&limit=10000";
    let row = |id: &str| json!({"id": id, "key": 1, "value": null});
    let full: Vec<_> = (0..10_000).map(|n| row(&n.to_string())).collect();
    let next = "GET /db/_design/app/_view/by?reduce=false&limit=10000&startkey=1\
                &startkey_docid=9999&skip=1";
    let design = r#"{"_id":"_design/app","views":{"by":{"map":"m"}}}"#;
    let rules = vec![
        WELCOME,
        ("GET /db", &[OK][..]),
        ("GET /db/_design/app", answers([("200 OK", design)])),
        (start, answers([leak("200 OK", json!({ "rows": full }).to_string())])),
        (next, answers([leak("200 OK", json!({"rows": [row("a"), row("b")]}).to_string())])),
    ];
    let server = scripted(rules);
    let target = with(&server, json!({"audit_view": ["app/by"]}), &[]).await;
    let mut session = session_of(&target);
    let op = Op::single(OpKind::IndexAudit, 0, None);
    let outcome = carry_out(&mut session, op, ("", "")).await;
    assert_eq!(outcome.result.map(|reply| reply.rows), Ok(10_002));
    assert_eq!(server.seen(), [start, next]);
    let listed = session.answered().document.unwrap();
    let ids: Vec<String> = serde_json::from_slice(listed).unwrap();
    assert_eq!((ids.len(), &*ids[9_999], &*ids[10_001]), (10_002, "9999", "b"));
    assert!(!session.is_one_request(&op));
    let none = carry_out(&mut session, Op { key: 1, ..op }, ("", "")).await;
    assert_eq!(none.result.err(), Some(Failure::Protocol));

    for (answer, failure) in [
        (("200 OK", r#"{"rows":[],"error":"timeout"}"#), Failure::ServerError),
        (("200 OK", "{"), Failure::Protocol),
        (MISSING, Failure::NotFound),
    ] {
        let rules = vec![
            WELCOME,
            ("GET /db", &[OK][..]),
            ("GET /db/_design/app", answers([("200 OK", design)])),
            (start, answers([answer])),
        ];
        let server = scripted(rules);
        let target = with(&server, json!({"audit_view": ["app/by"]}), &[]).await;
        let outcome = carry_out(&mut session_of(&target), op, ("", "")).await;
        assert_eq!(outcome.result.err(), Some(failure), "{answer:?}");
    }
}

#[tokio::test]
async fn only_databases_that_the_run_has_asked_for_are_removed() {
    let refused = ("412 Precondition Failed", r#"{"error":"file_exists"}"#);
    let rules = vec![
        WELCOME,
        ("GET /_all_dbs*", answers([("200 OK", "[]")])),
        ("PUT /u-00000?q=2", answers([DONE, refused])),
        ("PUT /u-00001?q=2", answers([refused])),
        ("PUT /u-00002?q=2", answers([("500 Oops", "{}"), refused])),
        ("PUT /*", &[DONE]),
        ("GET /u-00005", &[OK]),
        ("DELETE /*", &[OK]),
    ];
    let server = scripted(rules);
    let mut asked = server.plan("u?q=2");
    let spread = json!({"count": 5, "documents": 50, "batch": 10});
    asked.options.insert("databases".to_owned(), spread);
    let (target, _) = open(&asked).await.unwrap();
    server.seen();
    let mut session = session_of(&target);
    for (kind, number, wanted, sent) in [
        (OpKind::DatabaseCreate, 0, None, "PUT /u-00000?q=2"),
        (OpKind::DatabaseCreate, 1, Some(Failure::PreconditionFailed), "PUT /u-00001?q=2"),
        (OpKind::DatabaseCreate, 2, Some(Failure::ServerError), "PUT /u-00002?q=2"),
        (OpKind::DatabaseCreate, 2, None, "PUT /u-00002?q=2"),
        (OpKind::DatabaseDelete, 0, None, "DELETE /u-00000"),
        (OpKind::DatabaseDelete, 0, Some(Failure::Rejected), ""),
        (OpKind::DatabaseDelete, 1, Some(Failure::Rejected), ""),
        (OpKind::DatabaseDelete, 2, None, "DELETE /u-00002"),
    ] {
        let op = Op::single(kind, number, None);
        let outcome = carry_out(&mut session, op, ("", "")).await;
        assert_eq!(outcome.result.err(), wanted, "{kind} {number}");
        let sent: Vec<_> = Some(sent).filter(|it| !it.is_empty()).into_iter().collect();
        assert_eq!(server.seen(), sent, "{kind} {number}");
    }
    assert_eq!(session.place_of(0).unwrap().len(), "u-00000".len());
    let alone = scripted(Vec::new());
    let mut session = session_of(&alone.database());
    let op = Op::single(OpKind::DatabaseCreate, 0, None);
    assert_eq!(carry_out(&mut session, op, ("", "")).await.result.err(), Some(Failure::Protocol));
    assert_eq!(session.place_of(0), None);
    assert!(alone.seen().is_empty(), "there is only one, and it is not made by operations");
}

#[tokio::test]
async fn several_documents_are_read_in_one_request() {
    let found = json!({"results": [
        {"id": "7", "docs": [{"ok": {"_id": "7", "_rev": REV1, "a": 1}}]},
        {"id": "8", "docs": [{"error": {"error": "not_found"}}]},
    ]});
    let body = serde_json::to_string(&found).unwrap();
    let length = body.len();
    let server = scripted(vec![("POST /db/_bulk_get", answers([leak("200 OK", body)]))]);
    let mut session = session_of(&server.database());
    let op = Op { documents: 2, ..Op::single(OpKind::Read, 7, None) };
    assert!(session.is_one_request(&op));
    let outcome = carry_out(&mut session, op, ("7\08", "")).await;
    assert!(outcome.result.is_ok());
    assert_eq!(server.seen(), [r#"POST /db/_bulk_get {"docs":[{"id":"7"},{"id":"8"}]}"#]);
    assert_eq!(outcome.bytes.received, length as u64);
    let answered = session.answered();
    assert!(answered.rows[0].is_ok() && answered.rows[1] == Err(Failure::NotFound));
    let first = &answered.document.unwrap()[answered.places[0].clone()];
    assert!(first.starts_with(b"{\"") && first.ends_with(b"}") && first.len() > 40);
}

/// With cached updates, one that follows a read or another update needs no read of its own.
#[tokio::test]
async fn an_update_is_based_on_the_document_seen_last() {
    let document =
        |rev: &str| leak("200 OK", format!("{{\"_id\":\"7\",\"_rev\":\"{rev}\",\"a\":1}}"));
    let written =
        |rev: &str| leak("201 Created", format!("{{\"ok\":true,\"id\":\"7\",\"rev\":\"{rev}\"}}"));
    let rules = vec![
        WELCOME,
        ("GET /db", &[OK][..]),
        ("GET /db/7", answers([document(REV1), document(REV2)])),
        ("PUT /db/7", answers([written(REV2), CONFLICT, written(REV2)])),
    ];
    let server = scripted(rules);
    let target = with(&server, json!({"cached_updates": true}), &[]).await;
    let mut session = session_of(&target);
    let update = Op::single(OpKind::Update, 7, None);
    let put = |rev: &str, b: u32| {
        format!("PUT /db/7 {{\"_id\":\"7\",\"_rev\":\"{rev}\",\"a\":1,\"b\":{b}}}")
    };
    carry_out(&mut session, Op::single(OpKind::Read, 7, None), ("7", "")).await;
    let first = carry_out(&mut session, update, ("7", r#"{"b":2}"#)).await;
    assert!(first.result.is_ok() && first.wire.requests == Some(1), "{first:?}");
    assert_eq!(server.seen(), ["GET /db/7".to_owned(), put(REV1, 2)]);
    // It has changed since: it is read again.
    let second = carry_out(&mut session, update, ("7", r#"{"b":3}"#)).await;
    assert_eq!((second.wire.requests, second.wire.retries), (Some(3), 1));
    let wanted = [put(REV2, 3), "GET /db/7".to_owned()];
    assert_eq!(server.seen()[..2], wanted);
    // Without that, each reads first.
    let mut plain = session_of(&server.database());
    carry_out(&mut plain, Op::single(OpKind::Read, 7, None), ("7", "")).await;
    carry_out(&mut plain, update, ("7", r#"{"b":2}"#)).await;
    assert_eq!(server.seen().iter().filter(|it| *it == "GET /db/7").count(), 2);
}

#[tokio::test]
async fn a_document_that_others_write_all_the_time_is_given_up_in_the_end() {
    let document = leak("200 OK", format!("{{\"_id\":\"7\",\"_rev\":\"{REV1}\"}}"));
    let server = scripted(vec![("GET /db/7", answers([document])), ("PUT /db/7", &[CONFLICT])]);
    let mut session = session_of(&server.database());
    let update = Op::single(OpKind::Update, 7, None);
    let outcome = carry_out(&mut session, update, ("7", r#"{"b":2}"#)).await;
    assert_eq!(outcome.result.err(), Some(Failure::Conflict));
    assert_eq!((outcome.wire.requests, outcome.wire.retries), (Some(512), 255));
    assert_eq!(server.connections(), 1);
    let gone = scripted(vec![("GET /db/7", &[MISSING])]);
    let mut session = session_of(&gone.database());
    let outcome = carry_out(&mut session, update, ("7", r#"{"b":2}"#)).await;
    assert_eq!((outcome.result.err(), outcome.wire.retries), (Some(Failure::NotFound), 0));
}

/// Executes an operation of a plan on the document `7`.
pub(super) async fn own(session: &mut CouchSession, kind: OpKind, looks: bool) -> Outcome {
    let mut pen = session.pen();
    pen.name().push(b'7');
    for _ in 0..2 {
        pen.value(|out| {
            out.push(b'7');
            true
        });
    }
    if looks {
        pen.look();
    }
    let op = Op::single(kind, 7, None);
    session.ready().await;
    session.prepare(&op, &mut pen);
    let now = session.clock.now();
    let mut probe = Probe::new(session.clock, now, now);
    session.execute(&op, &mut pen, &mut probe).await
}

#[tokio::test]
async fn operations_of_a_plan_are_sent_as_spelled_and_judged_by_what_is_expected() {
    let rows = r#"{"rows":[{"id":"7"},{"id":"8"}]}"#;
    let slow = r#"{"docs":[{"_id":"7"}],"warning":"no index"}"#;
    let document = r#"{"rows":[{"id":"8"}]}"#;
    let none = r#"{"error":"not_found","reason":"missing"}"#;
    let listed = r#"={"all_docs":"","expect":{"document":true}}"#;
    let post = "=request POST _ensure_full_commit";
    let body = r#"=request POST _find {"selector":{}}"#;
    let missing = r#"={"get":"","expect":{"status":404}}"#;
    let met = |rows, warned, accepted| Ok((rows, warned, accepted));
    for (number, (text, answer, sent, wanted)) in [
        ("=all_docs", ("200 OK", rows), "GET /db/_all_docs", met(2, false, false)),
        (body, ("200 OK", slow), r#"POST /db/_find {"selector":{}}"#, met(1, true, false)),
        (post, ("202 Accepted", "{}"), "POST /db/_ensure_full_commit", met(0, false, true)),
        (body, OK, r#"POST /db/_find {"selector":{}}"#, met(0, false, false)),
        ("=get", MISSING, "GET /db/7", Err(Failure::NotFound)),
        (missing, ("404 Object Not Found", none), "GET /db/7", met(0, false, false)),
        (missing, OK, "GET /db/7", Err(Failure::Unexpected)),
        (listed, ("200 OK", rows), "GET /db/_all_docs", met(2, false, false)),
        (listed, ("200 OK", document), "GET /db/_all_docs", Err(Failure::Unexpected)),
        ("=all_docs", ("200 OK", "{"), "GET /db/_all_docs", Err(Failure::Protocol)),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("own-kinds-{number}");
        let rules = vec![WELCOME, ("GET /db", &[OK][..]), ("*", answers([answer]))];
        let server = scripted(rules);
        let target = with(&server, json!({}), &[&format!("{name}{text}")]).await;
        let mut session = session_of(&target);
        let outcome = own(&mut session, OpKind::of_name(&name).unwrap(), false).await;
        let found = outcome.result.map(|it| (u64::from(it.rows), it.warned, it.accepted));
        assert_eq!(found, wanted, "{text}");
        assert_eq!(server.seen(), [sent], "{text}");
        if wanted == Err(Failure::Unexpected) {
            let reason = session.reason(Failure::Unexpected).unwrap();
            assert!(reason.reason.contains("expected"), "{reason:?}");
        }
    }
}

/// A request that changes something is not sent twice; one that reads may be, where the server has
/// closed a connection that was idle.
#[tokio::test]
async fn only_what_reads_is_sent_again() {
    let names = ["own-again-post", "own-again-get"];
    for (name, text, sends) in [(names[0], "=request POST a", 1), (names[1], "=request GET a", 2)] {
        let rules = vec![
            WELCOME,
            ("GET /db", &[OK][..]),
            ("GET /db/a", &[OK, ("", ""), OK]),
            ("POST /db/a", &[OK, ("", ""), OK]),
        ];
        let server = scripted(rules);
        let target = with(&server, json!({}), &[&format!("{name}{text}")]).await;
        let mut session = session_of(&target);
        let kind = OpKind::of_name(name).unwrap();
        own(&mut session, kind, false).await;
        server.seen();
        let outcome = own(&mut session, kind, false).await;
        assert_eq!(server.seen().len(), sends, "{text}");
        assert_eq!(outcome.result.is_ok(), sends == 2, "{text}: {:?}", outcome.result);
        assert_eq!(outcome.wire.resent, u64::from(sends == 2));
    }
}

#[tokio::test]
async fn what_an_answer_has_is_saved_and_looked_at() {
    let document = leak("200 OK", format!("{{\"_id\":\"7\",\"_rev\":\"{REV1}\",\"a\":\"x\"}}"));
    let rules = vec![WELCOME, ("GET /db", &[OK][..]), ("GET /db/7", answers([document]))];
    let server = scripted(rules);
    let text = r#"own-saves={"get":"","save":{"it":"a"}}"#;
    let lacks = r#"own-lacks={"get":"","save":{"it":"b"}}"#;
    let target = with(&server, json!({}), &[text, lacks]).await;
    let mut session = session_of(&target);
    let outcome = own(&mut session, OpKind::of_name("own-saves").unwrap(), true).await;
    assert!(outcome.result.is_ok(), "{:?}", outcome.result);
    let answered = session.answered();
    assert_eq!(answered.saved.len(), 1);
    assert_eq!((answered.rows.len(), answered.places.len()), (1, 1), "its document is looked at");
    let outcome = own(&mut session, OpKind::of_name("own-lacks").unwrap(), false).await;
    assert_eq!(outcome.result.err(), Some(Failure::Unexpected));
    assert!(session.answered().rows.is_empty(), "nobody looks");
}

#[tokio::test]
async fn an_operation_is_shown_as_it_was_sent_and_its_failure_with_the_server_s_words() {
    let said = r#"{"error":"forbidden","reason":"not you, secret."}"#;
    let bulk = r#"[{"id":"7","error":"forbidden","reason":"why not"}]"#;
    let rules = vec![
        ("PUT /db/7", answers([("403 Forbidden", said), CONFLICT])),
        ("POST /db/_bulk_docs", answers([("201 Created", bulk)])),
    ];
    let server = scripted(rules);
    let (name, password) = ("ann".to_owned(), "secret".to_owned());
    let credentials = super::Credentials::Basic { name, password };
    let mut session = session_of(&server.database_for(credentials));
    let op = Op::single(OpKind::Create, 7, None);
    let mut pen = session.pen();
    pen.begin(b"7");
    pen.payload.body_mut().extend_from_slice(b"{\"a\":1}");
    session.prepare(&op, &mut pen);
    let now = session.clock.now();
    let mut probe = Probe::new(session.clock, now, now);
    let outcome = session.execute(&op, &mut pen, &mut probe).await;
    assert_eq!(outcome.result.err(), Some(Failure::Rejected));
    let shown = session.shown(&pen).unwrap();
    assert_eq!(String::from_utf8(shown.request).unwrap(), "PUT /db/7\n{\"a\":1}");
    assert_eq!(shown.status, Some(403));
    let reason = session.reason(Failure::Rejected).unwrap();
    assert_eq!(reason.reason, "forbidden: not you, ….", "without the password");
    assert!(session.is_open());
    let bulk = Op::single(OpKind::BulkInsert, 7, None);
    carry_out(&mut session, bulk, ("7", r#"{"_id":"7"}"#)).await;
    let reason = session.reason(Failure::Rejected).unwrap();
    assert_eq!(reason.reason, "forbidden: why not", "that of its row");
    assert_eq!(session.node(), None);
}

#[tokio::test]
async fn a_scan_has_its_documents_and_a_connection_that_was_closed_is_known() {
    let document = format!("{{\"_id\":\"a\",\"_rev\":\"{REV1}\"}}");
    let rows = format!(r#"{{"rows":[{{"id":"a","key":"a","value":{{}},"doc":{document}}}]}}"#);
    let rules = vec![("GET /db/_all_docs*", answers([leak("200 OK", rows), ("", "")]))];
    let server = scripted(rules);
    let mut session = session_of(&server.database());
    assert!(!session.is_open());
    let op = Op { limit: 3, ..Op::single(OpKind::Scan, 7, None) };
    let outcome = carry_out(&mut session, op, ("a", "")).await;
    assert_eq!(outcome.result.map(|reply| reply.rows), Ok(1));
    assert_eq!(session.scanned(), Some(vec![document.as_bytes()]));
    assert!(session.is_open());
    assert!(carry_out(&mut session, op, ("a", "")).await.result.is_err());
    assert!(!session.is_open() && session.scanned().is_none());
}

/// Of the documents of a batch that exist already, only those with its content are its own.
#[tokio::test]
async fn a_batch_sent_again_has_only_its_own_documents() {
    let conflict = |id: &str| json!({"id": id, "error": "conflict", "reason": "No."});
    let found = |id: &str, a: u32| {
        let document = json!({"_id": id, "_rev": REV1, "a": a});
        json!({"id": id, "key": id, "value": {"rev": REV1}, "doc": document})
    };
    let rows = json!([conflict("7"), conflict("8")]).to_string();
    let looked = json!({"rows": [found("7", 1), found("8", 2)]}).to_string();
    let rules = vec![
        ("POST /db/_bulk_docs", answers([leak("201 Created", rows)])),
        ("POST /db/_all_docs?include_docs=true", answers([leak("200 OK", looked)])),
    ];
    let server = scripted(rules);
    let mut session = session_of(&server.database());
    let op = Op { documents: 2, settle: true, ..Op::single(OpKind::BulkInsert, 7, None) };
    let body = r#"{"_id":"7","a":1},{"_id":"8","a":1}"#;
    let outcome = carry_out(&mut session, op, ("7\08", body)).await;
    assert_eq!(outcome.wire.carried_out, 1);
    let rows = session.answered().rows;
    assert!(rows[0].is_ok() && rows[1] == Err(Failure::Conflict), "{rows:?}");
}
