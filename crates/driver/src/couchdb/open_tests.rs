//! What is asked of servers before the first stage and after the last, and what comes of their
//! answers.

use super::scripted_tests::{Answer, MISSING, Rule, Scripted, answers, open, opening, scripted};
use super::{CouchDb, CouchPlan, DriverPlan as _, ServerFacts, Target as _, TargetAsked};
use crate::{Existing, Size, TargetError};
use serde_json::{Value, json};

const WELCOME: Rule =
    ("GET /", &[("200 OK", r#"{"couchdb":"Welcome","version":"3.5.0","vendor":{}}"#)]);
const DONE: Answer = ("201 Created", r#"{"ok":true}"#);
const OK: Answer = ("200 OK", r#"{"ok":true}"#);
const THERE: Answer =
    ("412 Precondition Failed", r#"{"error":"file_exists","reason":"It is there."}"#);
const NO_ADMIN: Answer =
    ("401 Unauthorized", r#"{"error":"unauthorized","reason":"You are not a server admin."}"#);
const BAD: Answer = ("400 Bad Request", r#"{"error":"bad","reason":"It is there."}"#);
const FAILED: Answer = ("500 Oops", r#"{"error":"badmatch"}"#);
const BUSY: Answer = ("503 Busy", r#"{"error":"busy"}"#);

/// Opens the database `db` on a server with these rules, besides its welcome.
async fn opened(
    existing: Existing,
    rules: Vec<Rule>,
    options: Value,
) -> (Result<(CouchDb, ServerFacts), TargetError>, Scripted) {
    let server = scripted([vec![WELCOME], rules].concat());
    let Value::Object(options) = options else { panic!("options") };
    let opened = open(&TargetAsked { existing, options, ..server.plan("db") }).await;
    (opened, server)
}

/// The message that the user sees, or "open".
fn message_of(opened: &Result<(CouchDb, ServerFacts), TargetError>) -> String {
    opened.as_ref().map_or_else(ToString::to_string, |_| "open".to_owned())
}

#[tokio::test]
async fn a_new_database_is_made_as_planned_and_removed_at_the_end() {
    let rules = vec![WELCOME, ("PUT /db?q=2&n=1", &[DONE]), ("DELETE /db", &[BUSY, OK])];
    let server = scripted(rules);
    let (target, facts) = open(&server.plan("db?q=2&n=1")).await.unwrap();
    let wanted = ServerFacts {
        url: server.url.clone(),
        name: "couchdb".to_owned(),
        version: "3.5.0".to_owned(),
        same_machine: true,
        database: "db".to_owned(),
        created: true,
        open_shards: None,
    };
    assert_eq!(facts, wanted);
    assert_eq!(server.seen(), ["GET /", "PUT /db?q=2&n=1"]);
    assert!(target.tear_down().await.unwrap());
    assert_eq!(server.seen(), ["DELETE /db", "DELETE /db"], "it was busy");

    let kept = TargetAsked { keep: true, ..server.plan("db?q=2&n=1") };
    let (target, _) = open(&kept).await.unwrap();
    server.seen();
    assert!(!target.tear_down().await.unwrap() && server.seen().is_empty());
}

type Answers = &'static [Answer];

#[tokio::test]
async fn a_database_is_used_only_as_the_plan_says() {
    use Existing::{Maybe, No, Yes};
    const NONE: Answers = &[];
    let accepted: Answers = &[("202 Accepted", "")];
    let refused = "refuses the database name \"db\": It is there; choose another";
    let missing = "there is no database \"db\"";
    let cases: [(Existing, Answers, Answers, &str); 11] = [
        (No, NONE, &[DONE], "created"),
        (No, NONE, accepted, "created"),
        (No, NONE, &[THERE], "exists already"),
        (No, NONE, &[BAD], refused),
        (No, NONE, &[FAILED], "answers 500 to PUT /db: badmatch"),
        (Maybe, &[OK], NONE, "found"),
        (Maybe, &[MISSING], &[DONE], "created"),
        (Maybe, &[MISSING], &[THERE], "found"),
        (Maybe, &[FAILED], NONE, "answers 500 to GET /db"),
        (Yes, &[OK], NONE, "found"),
        (Yes, &[MISSING], NONE, missing),
    ];
    for (existing, get, put, wanted) in cases {
        let rules = [("GET /db", get), ("PUT /db", put), ("DELETE /db", &[OK])];
        let rules = rules.into_iter().filter(|(_, answers)| !answers.is_empty());
        let (opened, server) = opened(existing, rules.collect(), json!({})).await;
        let outcome = match &opened {
            Ok((_, facts)) if facts.created => "created".to_owned(),
            Ok(_) => "found".to_owned(),
            Err(error) => error.to_string(),
        };
        assert!(outcome.contains(wanted), "{outcome}, not {wanted}");
        let sent =
            [("GET /db", get), ("PUT /db", put)].map(|(it, answers)| it.repeat(answers.len()));
        let sent: Vec<_> = sent.into_iter().filter(|it| !it.is_empty()).collect();
        assert_eq!(server.seen()[1..], sent, "{wanted}");
        let Ok((target, _)) = opened else { continue };
        let is_own = existing == No;
        assert_eq!(target.tear_down().await.unwrap(), is_own, "{wanted}");
        assert_eq!(server.seen().len(), usize::from(is_own), "{wanted}");
    }
}

#[tokio::test]
async fn a_database_is_left_alone_if_the_operations_will_show_whether_it_is_there() {
    let server = scripted(vec![WELCOME]);
    let plan = CouchPlan::check(&server.plan("db")).unwrap();
    let as_it_is = crate::Opening { as_it_is: true, ..opening() };
    let (target, facts) = plan.open(&as_it_is).await.unwrap();
    assert!(!facts.created && !target.tear_down().await.unwrap());
    assert_eq!(server.seen(), ["GET /"]);
}

#[tokio::test]
async fn what_is_not_couchdb_is_left_alone() {
    for (welcome, is_couchdb) in [
        (r#"{"couchdb":"Welcome"}"#, true),
        (r#"{"express-pouchdb":"Welcome!"}"#, true),
        (r#"{"name":"couchdb"}"#, false),
        ("couchdb", false),
    ] {
        let answers: Answers = answers([("200 OK", welcome)]);
        let server = scripted(vec![("GET /", answers), ("PUT /db", &[DONE])]);
        let opened = open(&server.plan("db")).await;
        assert_eq!(opened.is_ok(), is_couchdb, "{welcome}");
        assert!(is_couchdb || message_of(&opened).contains("is not CouchDB"), "{welcome}");
        assert_eq!(server.seen().len(), if is_couchdb { 2 } else { 1 }, "{welcome}");
    }
}

/// Of two nodes: the new database is looked for on the other one, which may take a moment.
#[tokio::test]
async fn a_new_database_has_to_be_on_every_node_that_is_there() {
    let one = scripted(vec![WELCOME, ("PUT /db", &[DONE]), ("DELETE /db", &[OK])]);
    for (answers, wanted) in [
        (&[MISSING, OK][..], "open"),
        (&[NO_ADMIN][..], "requires a log-in: it refuses GET /db (You are not a server admin)"),
    ] {
        let other = scripted(vec![WELCOME, ("GET /db", answers)]);
        let asked = TargetAsked { nodes: vec![format!("{}/db", other.url)], ..one.plan("db") };
        let opened = open(&asked).await;
        assert!(message_of(&opened).contains(wanted), "{}", message_of(&opened));
        let asked: Vec<_> = answers.iter().map(|_| "GET /db").collect();
        assert_eq!(other.seen()[1..], asked);
        let removed: &[&str] = if wanted == "open" { &[] } else { &["DELETE /db"] };
        assert_eq!(one.seen()[2..], *removed, "it was created for nothing");
    }
    let away = "http://127.0.0.1:1/db".to_owned();
    let asked = TargetAsked { nodes: vec![away.clone()], ..one.plan("db") };
    let (target, facts) = open(&asked).await.unwrap();
    let gone: Vec<_> = target.nodes.iter().map(super::Node::is_gone).collect();
    assert_eq!((gone, facts.url), (vec![false, true], one.url.clone()), "one is away");
    let first = TargetAsked { nodes: vec![format!("{}/db", one.url)], ..TargetAsked::at(&away) };
    let (target, facts) = open(&first).await.unwrap();
    assert_eq!(facts.url, one.url, "the first is away");
    assert!(target.tear_down().await.unwrap(), "by the node that is there");
    let neither =
        TargetAsked { nodes: vec!["http://127.0.0.1:2/db".to_owned()], ..TargetAsked::at(&away) };
    let message = message_of(&open(&neither).await);
    assert!(message.ends_with("none of the other nodes answers either"), "{message}");
    assert!(message.contains("127.0.0.1:1") && !message.contains("127.0.0.1:2"), "{message}");
    let message = message_of(&open(&TargetAsked::at(&away)).await);
    assert!(message.starts_with("cannot reach 127.0.0.1:1"), "{message}");
    assert!(!message.contains("other nodes"), "there are none: {message}");
}

fn design() -> Value {
    json!({"_id": "_design/app", "views": {"by": {"map": "m"}}})
}

const DESIGN: &str = r#"{"_id":"_design/app","_rev":"1-a","views":{"by":{"map":"m"}}}"#;
const OTHER: &str = r#"{"_id":"_design/app","_rev":"1-a","views":{"by":{"map":"n"}}}"#;

#[tokio::test]
async fn design_documents_are_stored_and_never_replaced() {
    let stored = format!("PUT /db/_design/app {}", design());
    for (answer, builds, wanted, sent) in [
        (MISSING, false, "open", vec!["GET /db/_design/app", &*stored]),
        (MISSING, true, "open", vec!["GET /db/_design/app"]),
        (("200 OK", DESIGN), false, "open", vec!["GET /db/_design/app"]),
        (
            ("200 OK", OTHER),
            true,
            "--ddocs: _design/app of this database is another one",
            vec!["GET /db/_design/app", "DELETE /db"],
        ),
    ] {
        let answers: Answers = answers([answer]);
        let rules = vec![
            ("PUT /db", &[DONE][..]),
            ("DELETE /db", &[OK]),
            ("GET /db/_design/app", answers),
            ("PUT /db/_design/app", &[DONE]),
        ];
        let options = json!({"ddocs": [design()], "no_build": !builds});
        let (opened, server) = opened(Existing::No, rules, options).await;
        assert!(message_of(&opened).contains(wanted), "{}", message_of(&opened));
        assert_eq!(server.seen()[2..], sent);
    }
    let index = json!({"index": {"fields": ["a"]}, "ddoc": "mango", "name": "by_a"});
    let rules = vec![("PUT /db", &[DONE][..]), ("POST /db/_index", &[OK])];
    let options = json!({"ddocs": [index], "no_build": true});
    let (opened, server) = opened(Existing::No, rules, options).await;
    assert_eq!(message_of(&opened), "open");
    assert_eq!(server.seen()[2..], [format!("POST /db/_index {index}")]);
}

const LISTED: &str = r#"{"rows":[{"id":"_design/a"},{"id":"_design/b"}]}"#;

#[tokio::test]
async fn a_view_that_is_not_there_is_reported_before_the_load() {
    let list = "GET /db/_all_docs?startkey=%22_design%2F%22&endkey=%22_design0%22";
    let named = "no view \"by\" in _design/app";
    for (view, ddocs, stored, listed, wanted) in [
        ("app/by", json!([]), ("200 OK", DESIGN), OK, "open"),
        ("app/by", json!([design()]), MISSING, OK, "open"),
        ("app/no", json!([]), ("200 OK", DESIGN), OK, "(its views are: by)"),
        ("app/no", json!([design()]), MISSING, OK, "(its views are: by)"),
        ("app/by", json!([]), MISSING, ("200 OK", LISTED), "(there are: _design/a, _design/b)"),
        ("app/by", json!([]), MISSING, OK, "(the database has no design documents)"),
        ("app/by", json!([]), MISSING, OK, named),
    ] {
        let (stored, listed): (Answers, Answers) = (answers([stored]), answers([listed]));
        let rules = vec![
            ("PUT /db", &[DONE][..]),
            ("DELETE /db", &[OK]),
            ("GET /db/_design/app", stored),
            (list, listed),
        ];
        let options = json!({"ddocs": ddocs, "audit_view": [view]});
        let (opened, server) = opened(Existing::No, rules, options).await;
        let message = message_of(&opened);
        assert!(message.contains(wanted), "{view}: {message}");
        assert!(opened.is_ok() || message.starts_with("--audit-view: "), "{message}");
        let removed = server.seen().contains(&"DELETE /db".to_owned());
        assert_eq!(removed, opened.is_err(), "{view}: it was created for nothing");
    }
}

#[tokio::test]
async fn a_filter_that_the_server_does_not_take_is_reported_before_the_load() {
    let by_name = "GET /db/_changes?limit=1&since=now&filter=app/mine&x=1";
    let by_selector = "POST /db/_changes?limit=1&since=now&filter=_selector";
    for (filter, asked, answer, wanted) in [
        ("app/mine?x=1", by_name, OK, "open"),
        ("app/mine?x=1", by_name, MISSING, "the database has no filter app/mine?x=1;"),
        ("app/mine?x=1", by_name, FAILED, "answers 500 to GET /db/_changes?"),
        (r#"{"a":1}"#, by_selector, OK, "open"),
        (r#"{"a":1}"#, by_selector, MISSING, "answers 404 to POST /db/_changes?"),
    ] {
        let answer: Answers = answers([answer]);
        let server = scripted(vec![WELCOME, ("GET /db", &[OK]), (asked, answer)]);
        let asked = TargetAsked { existing: Existing::Yes, ..server.plan("db") };
        let filtered = crate::Opening { filter: Some(filter.to_owned()), ..opening() };
        let opened = CouchPlan::check(&asked).unwrap().open(&filtered).await;
        assert!(message_of(&opened).contains(wanted), "{filter}: {}", message_of(&opened));
        let body = if filter.starts_with('{') { r#" {"selector":{"a":1}}"# } else { "" };
        assert!(server.seen()[2].ends_with(body));
    }
}

#[tokio::test]
async fn the_size_is_that_of_the_documents_that_the_run_may_have_written() {
    let listed = "GET /db/_all_docs?startkey=%22_design%2F%22&endkey=%22_design0%22";
    let info = r#"{"doc_count":9,"sizes":{"file":100,"active":50}}"#;
    let infos = answers([("200 OK", info), ("200 OK", info), FAILED]);
    let server = scripted(vec![("GET /db", infos), (listed, &[("200 OK", LISTED), FAILED])]);
    let target = server.database();
    assert_eq!(target.documents().await, Some(7), "without two design documents");
    assert_eq!(target.documents().await, Some(9), "some may be design documents");
    assert_eq!(target.documents().await, None);
    let server = scripted(vec![("GET /db", answers([("200 OK", info)]))]);
    let sizes = Size {
        documents: Some(9),
        file_bytes: Some(100),
        active_bytes: Some(50),
        ..Size::default()
    };
    assert_eq!(server.database().size().await, Some(sizes));
}
