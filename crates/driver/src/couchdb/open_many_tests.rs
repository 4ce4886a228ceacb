//! A load on many databases: what is asked before the first stage and after the last.

use super::scripted_tests::{
    Answer, MISSING, Rule, Scripted, TIMEOUT_NS, answers, open, opening, scripted,
};
use super::{CouchDb, CouchPlan, DriverPlan as _, ServerFacts, Target as _, TargetAsked};
use crate::op::Failure;
use crate::{Existing, OpenShards, Opening, TargetError};
use serde_json::{Value, json};

const WELCOME: Rule = ("GET /", &[("200 OK", r#"{"couchdb":"Welcome","version":"3.5.0"}"#)]);
const DONE: Answer = ("201 Created", r#"{"ok":true}"#);
const OK: Answer = ("200 OK", r#"{"ok":true}"#);
const NONE: Answer = ("200 OK", "[]");
const REFUSED: Answer = ("403 Forbidden", r#"{"error":"forbidden","reason":"No."}"#);
const ONE: Answer = ("200 OK", r#"{"cluster":{"q":2,"n":3}}"#);
const TWO_NODES: Answer = ("200 OK", r#"{"cluster_nodes":["a@x","b@x"]}"#);
const LIMIT: &str = "GET /_node/_local/_config/couchdb/max_dbs_open";

fn asked(server: &Scripted, existing: Existing, name: &str) -> TargetAsked {
    let mut asked = TargetAsked { existing, ..server.plan(name) };
    let spread = json!({"count": 5, "documents": 50, "batch": 10});
    asked.options.insert("databases".to_owned(), spread);
    asked
}

fn message_of(opened: &Result<(CouchDb, ServerFacts), TargetError>) -> String {
    opened.as_ref().map_or_else(ToString::to_string, |_| "open".to_owned())
}

/// Lists the databases `u-00000` to `u-00004`.
const LIST: &str = "GET /_all_dbs?startkey=%22u-00000%22&endkey=%22u-00005%22";

#[tokio::test]
async fn one_more_database_is_made_to_see_what_the_server_says() {
    let rules = vec![
        WELCOME,
        (LIST, &[NONE][..]),
        ("PUT /u-00005?q=2", &[DONE]),
        ("GET /u-00005", &[ONE]),
        ("DELETE /u-00005", &[OK]),
        (LIMIT, &[("200 OK", "\"700\"")]),
        ("GET /_membership", &[TWO_NODES]),
    ];
    let server = scripted(rules);
    let (_, facts) = open(&asked(&server, Existing::No, "u?q=2")).await.unwrap();
    let wanted = ["GET /", LIST, "PUT /u-00005?q=2", "GET /u-00005", "DELETE /u-00005", LIMIT];
    assert_eq!(server.seen()[..6], wanted);
    // Two shards of five databases, three copies each, on two nodes.
    assert_eq!(facts.open_shards, Some(OpenShards { needed: 15, limit: 700, q: 2 }));
    assert!(facts.created && facts.same_machine);
    assert_eq!((&*facts.database, &*facts.name, &*facts.version), ("u", "couchdb", "3.5.0"));
}

#[tokio::test]
async fn how_many_shards_a_node_keeps_open_is_known_if_the_server_says_so() {
    let unset =
        ("404 Object Not Found", r#"{"error":"not_found","reason":"unknown_config_value"}"#);
    for (one, limit, members, wanted) in [
        (ONE, ("200 OK", "\"700\""), TWO_NODES, Some((15, 700))),
        (ONE, unset, TWO_NODES, Some((15, 500))),
        (ONE, unset, MISSING, Some((30, 500))),
        (ONE, MISSING, TWO_NODES, None),
        (ONE, REFUSED, TWO_NODES, None),
        (ONE, ("200 OK", "700"), TWO_NODES, None),
        (OK, unset, TWO_NODES, None),
    ] {
        let rules = vec![
            WELCOME,
            ("GET /_all_dbs*", &[NONE][..]),
            ("PUT /*", &[DONE]),
            ("DELETE /*", &[OK]),
            (LIMIT, answers([limit])),
            ("GET /_membership", answers([members])),
            ("GET /u-00005", answers([one])),
        ];
        let (_, facts) = open(&asked(&scripted(rules), Existing::No, "u")).await.unwrap();
        let shards = facts.open_shards.map(|it| (it.needed, it.limit));
        assert_eq!(shards, wanted, "{limit:?}");
    }
}

#[tokio::test]
async fn databases_of_others_are_not_made_again() {
    let four = r#"["u-00000","u-00001","u-00002","u-00003","u-00009","u-x"]"#;
    let listed = "of 5 databases, \"u-00000\", \"u-00001\", \"u-00002\" and 1 more exist already";
    let cases: [(Answer, Answer, Answer, &str, bool); 5] = [
        (NONE, DONE, OK, "open", true),
        (("200 OK", r#"["u-00009"]"#), DONE, OK, "open", true),
        (("200 OK", four), DONE, OK, listed, false),
        (REFUSED, DONE, OK, "it refuses GET /_all_dbs", false),
        (NONE, REFUSED, OK, "it refuses PUT /u-00005", false),
    ];
    for (list, made, removed, wanted, makes) in cases {
        let rules = vec![
            WELCOME,
            (LIST, answers([list])),
            ("PUT /u-00005", answers([made])),
            ("GET /u-00005", &[OK]),
            ("DELETE /u-00005", answers([removed])),
        ];
        let server = scripted(rules);
        let opened = open(&asked(&server, Existing::No, "u")).await;
        assert!(message_of(&opened).contains(wanted), "{}", message_of(&opened));
        let removed = server.seen().contains(&"DELETE /u-00005".to_owned());
        assert_eq!(removed, makes, "{wanted}");
    }
    // Nobody else uses springload's own names.
    let rules =
        vec![WELCOME, ("PUT /*", &[DONE][..]), ("GET /springload*", &[OK]), ("DELETE /*", &[OK])];
    let server = scripted(rules);
    open(&asked(&server, Existing::No, "")).await.unwrap();
    assert!(!server.seen().iter().any(|it| it.contains("_all_dbs")));
}

#[tokio::test]
async fn databases_that_must_exist_are_all_looked_for() {
    let info = r#"{"doc_count":1,"sizes":{"file":10,"active":5}}"#;
    let all = |missing: &[u32]| -> Answer {
        let row = |n: u32| {
            let key = format!("u-{n:05}");
            let is_missing = missing.contains(&n);
            if is_missing {
                json!({"key": key, "error": "not_found"})
            } else {
                json!({"key": key, "info": {}})
            }
        };
        let rows: Vec<Value> = (0..5).map(row).collect();
        ("200 OK", Value::from(rows).to_string().leak())
    };
    let lacks = "of 5 databases, \"u-00001\", \"u-00004\" do not exist on http://";
    for (answer_for_all, each, wanted, asks) in [
        (all(&[]), REFUSED, "open", 0),
        (all(&[1, 4]), REFUSED, lacks, 0),
        (REFUSED, ("200 OK", info), "open", 5),
        (("200 OK", "{}"), ("200 OK", info), "open", 5),
        (
            REFUSED,
            MISSING,
            "of 5 databases, \"u-00000\", \"u-00001\", \"u-00002\" and 2 more do",
            5,
        ),
        (REFUSED, REFUSED, "it refuses GET /u-00000", 1),
    ] {
        let rules = vec![
            WELCOME,
            ("POST /_dbs_info", answers([answer_for_all])),
            ("GET /u-00000", if asks == 0 { &[OK] } else { answers([each]) }),
            ("GET /u-*", answers([each])),
        ];
        let server = scripted(rules);
        let opened = open(&asked(&server, Existing::Yes, "u")).await;
        assert!(message_of(&opened).contains(wanted), "{}", message_of(&opened));
        let seen = server.seen();
        assert!(seen[1].starts_with(r#"POST /_dbs_info {"keys":["u-00000","u-00001","#));
        let asked = seen.iter().filter(|it| it.starts_with("GET /u-")).count();
        assert_eq!(asked, asks + usize::from(wanted == "open"), "{wanted}");
        let Ok((target, facts)) = opened else { continue };
        assert!(!facts.created && !target.tear_down().await.unwrap(), "it is nobody's to remove");
    }
}

#[tokio::test]
async fn many_databases_are_left_alone_if_the_operations_will_show_what_is_there() {
    let server = scripted(vec![WELCOME]);
    let plan = CouchPlan::check(&asked(&server, Existing::No, "u")).unwrap();
    let as_it_is = Opening { as_it_is: true, ..opening() };
    let (target, facts) = plan.open(&as_it_is).await.unwrap();
    assert_eq!(server.seen(), ["GET /"]);
    assert!(!facts.created && !target.tear_down().await.unwrap());
}

#[tokio::test]
async fn of_many_databases_none_is_kept_from_being_compacted_by_a_user_who_may_not() {
    let rules = vec![
        WELCOME,
        (LIST, &[NONE][..]),
        ("PUT /u-00005", &[DONE]),
        ("GET /u-00005", &[OK]),
        ("DELETE /u-00005", &[OK]),
        ("GET /_node/_local/_config/smoosh.ignore", &[REFUSED]),
    ];
    let server = scripted(rules);
    let mut asked = asked(&server, Existing::No, "u");
    asked.options.insert("compaction".to_owned(), "off".into());
    let message = message_of(&open(&asked).await);
    assert!(message.starts_with("--compaction off needs an administrator"), "{message}");
    let plan = CouchPlan::check(&asked).unwrap();
    let as_it_is = Opening { as_it_is: true, ..opening() };
    assert!(plan.open(&as_it_is).await.is_ok(), "nothing is compacted then");
}

#[tokio::test]
async fn those_of_many_that_the_run_has_made_are_removed_at_the_end() {
    let left = r#"["u-00000","u-00001","u-00003","u-00007"]"#;
    let rules = vec![
        WELCOME,
        (LIST, answers([NONE, ("200 OK", left)])),
        ("PUT /u-00005", &[DONE]),
        ("GET /u-00005", &[OK]),
        ("DELETE /*", &[OK]),
    ];
    let server = scripted(rules);
    let (target, _) = open(&asked(&server, Existing::No, "u")).await.unwrap();
    let many = target.paths.many.clone().unwrap();
    for (number, result) in
        [(0, Ok(())), (1, Err(Failure::PreconditionFailed)), (3, Err(Failure::Unanswered))]
    {
        let before = many.ask(number);
        many.asked(number, before, result);
    }
    server.seen();
    assert!(target.tear_down().await.unwrap());
    let mut seen = server.seen();
    seen[1..].sort_unstable();
    assert_eq!(seen, [LIST, "DELETE /u-00000", "DELETE /u-00003"]);
    let gone = CouchDb::on(target.nodes.to_vec(), target.paths.clone());
    let kept = gone.with_administration(TIMEOUT_NS, false);
    assert!(!kept.tear_down().await.unwrap() && server.seen().is_empty());
}

#[tokio::test]
async fn the_size_of_many_is_known_if_all_are_there() {
    let row = |n: u32, compacting: bool| {
        let sizes = json!({"file": 10, "active": 5});
        let info = json!({"doc_count": 2, "sizes": sizes, "compact_running": compacting});
        json!({"key": format!("u-{n:05}"), "info": info})
    };
    let all = |compacting: u32| -> Answer {
        let rows: Vec<Value> = (0..5).map(|n| row(n, n == compacting)).collect();
        ("200 OK", Value::from(rows).to_string().leak())
    };
    let lacking: Answer = ("200 OK", r#"[{"key":"u-00000","error":"not_found"}]"#);
    let answers: &'static [Answer] = answers([all(9), all(9), all(9), all(3), lacking, MISSING]);
    let rules = vec![WELCOME, ("POST /_dbs_info", answers), ("GET /u-00000", &[OK])];
    let server = scripted(rules);
    let (target, _) = open(&asked(&server, Existing::Yes, "u")).await.unwrap();
    assert_eq!(target.documents().await, Some(10), "without asking for design documents");
    assert_eq!(target.is_compacting().await, Some(false));
    assert_eq!(target.is_compacting().await, Some(true));
    assert_eq!(target.size().await, None, "one is not there");
    assert_eq!(target.is_compacting().await, None);
}

#[tokio::test]
async fn many_are_compacted_while_any_node_has_a_task_for_one() {
    let task = |name: &str| -> Answer {
        let database = format!("shards/80000000-ffffffff/{name}.17");
        let task = json!({"type": "database_compaction", "node": "b@x", "database": database});
        ("200 OK", json!([task]).to_string().leak())
    };
    let tasks: &'static [Answer] = answers([task("u-00004"), task("u-00005"), task("u"), NONE]);
    let rules = vec![
        WELCOME,
        ("POST /_dbs_info", &[NONE][..]),
        ("GET /_active_tasks", tasks),
        ("GET /u-00000", &[OK]),
    ];
    let server = scripted(rules);
    let target = open(&asked(&server, Existing::Yes, "u")).await.unwrap().0;
    for wanted in [true, false, false, false] {
        assert_eq!(target.is_compacting().await, Some(wanted));
    }
}
