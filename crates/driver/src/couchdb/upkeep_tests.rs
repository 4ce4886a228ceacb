//! Compaction, maintenance, copies, and what runs leave behind: what is sent, and what is reported.

use super::scripted_tests::{Answer, MISSING, Rule, answers, open, opening, scripted};
use super::{CouchPlan, DriverPlan as _, Target as _, TargetAsked};
use crate::{Existing, Leftover, Planned as _, Scratch};
use serde_json::json;

const WELCOME: Rule = ("GET /", &[("200 OK", r#"{"couchdb":"Welcome"}"#)]);
const OK: Answer = ("200 OK", r#"{"ok":true}"#);
const REFUSED: Answer =
    ("401 Unauthorized", r#"{"error":"unauthorized","reason":"You are not a server admin."}"#);
const BUSY: Answer = ("503 Busy", r#"{"error":"busy"}"#);

#[tokio::test]
async fn a_user_who_may_not_decide_about_compaction_is_refused_before_the_load() {
    let readable = "GET /_node/_local/_config/smoosh.ignore";
    let user = r#"{"userCtx":{"name":"ann","roles":["dev"]}}"#;
    let server_admin = r#"{"userCtx":{"name":"ann","roles":["_admin"]}}"#;
    let nobody = r#"{"userCtx":{"name":null,"roles":[]}}"#;
    let by_name = r#"{"admins":{"names":["ann"],"roles":[]}}"#;
    let by_role = r#"{"admins":{"names":[],"roles":["x","dev"]}}"#;
    let of_others = r#"{"admins":{"names":["bob",null],"roles":["ops"]}}"#;
    let force = "--compaction force needs an administrator of the server (the user is not one)";
    let off = "--compaction off needs an administrator of the server (You are not a server admin)";
    for (mode, config, session, security, wanted) in [
        ("off", OK, user, of_others, "open"),
        ("off", REFUSED, server_admin, by_name, off),
        ("off", MISSING, server_admin, by_name, "has no automatic compaction that could be turned"),
        ("force", MISSING, server_admin, of_others, "open"),
        ("force", MISSING, user, by_name, "open"),
        ("force", MISSING, user, by_role, "open"),
        ("force", MISSING, user, of_others, force),
        ("force", MISSING, nobody, of_others, force),
        ("auto", REFUSED, nobody, of_others, "open"),
    ] {
        let rules = vec![
            WELCOME,
            ("GET /db", &[OK]),
            (readable, answers([config])),
            ("GET /_session", answers([("200 OK", session)])),
            ("GET /db/_security", answers([("200 OK", security)])),
        ];
        let server = scripted(rules);
        let mut asked = TargetAsked { existing: Existing::Yes, ..server.plan("db") };
        asked.options.insert("compaction".to_owned(), mode.into());
        let message = open(&asked).await.map_or_else(|it| it.to_string(), |_| "open".to_owned());
        assert!(message.contains(wanted), "{mode}, {session}: {message}");
    }
    let welcome = r#"{"couchdb":"Welcome","vendor":{"name":"springload stand-in"}}"#;
    let own =
        vec![("GET /", answers([("200 OK", welcome)])), ("GET /db", &[OK]), (readable, &[OK])];
    let server = scripted(own);
    let mut asked = TargetAsked { existing: Existing::Yes, ..server.plan("db") };
    asked.options.insert("compaction".to_owned(), "off".into());
    let message = open(&asked).await.unwrap_err().to_string();
    assert!(message.contains("the stand-in compacts nothing"), "{message}");
}

const INFO: Answer =
    ("200 OK", r#"{"db_name":"db","instance_start_time":"17","compact_running":true}"#);
const SHARDS: Answer = ("200 OK", r#"{"shards":{"0-7":["a@x","b@x"],"8-f":["b@x"]}}"#);

#[tokio::test]
async fn a_server_is_kept_from_compacting_for_as_long_as_the_run_takes() {
    let config = "/_node/";
    let setting = |node: &str, range: &str| {
        format!("{config}{node}/_config/smoosh.ignore/shards%2F{range}%2Fdb%2E17")
    };
    let settings = [setting("a@x", "0%2D7"), setting("b@x", "0%2D7"), setting("b@x", "8%2Df")];
    let rules = vec![
        ("GET /db", answers([INFO])),
        ("GET /db/_shards", answers([SHARDS])),
        ("PUT /_node/*", &[OK][..]),
        ("DELETE /_node/a@x/*", &[BUSY]),
        ("DELETE /_node/*", &[OK, MISSING]),
        ("POST /db/_compact", &[("202 Accepted", "{}"), BUSY]),
    ];
    let server = scripted(rules);
    let target = server.database();
    target.hold_compaction().await.unwrap();
    let memory = "[X-Couch-Persist: false]";
    let put = settings.iter().map(|it| format!("PUT {it} {memory} \"true\""));
    assert_eq!(server.seen()[2..], put.collect::<Vec<_>>());
    let message = target.release().await.unwrap_err().to_string();
    let deleted = settings.iter().map(|it| format!("DELETE {it} {memory}"));
    assert_eq!(server.seen(), deleted.collect::<Vec<_>>(), "those after a failure, too");
    assert!(
        message.starts_with(&format!("{} could not be taken back: ", settings[0])),
        "{message}"
    );
    target.release().await.unwrap();
    assert!(server.seen().is_empty(), "there are none left");

    target.begin_compaction().await.unwrap();
    assert_eq!(target.is_compacting().await, Some(true));
    assert_eq!(server.seen(), ["POST /db/_compact", "GET /db"]);
    assert!(target.begin_compaction().await.is_err(), "it is busy");
}

/// The information about a database comes from one copy of each shard; the tasks are those of all
/// nodes.
#[tokio::test]
async fn a_compaction_goes_on_while_a_node_has_a_task_for_it() {
    let idle: Answer = ("200 OK", r#"{"db_name":"db","compact_running":false}"#);
    let tasks = |all: &[(&str, &str)]| -> Answer {
        let all = all.iter().map(|(kind, name)| json!({"type": kind, "database": name}));
        ("200 OK", json!(all.collect::<Vec<_>>()).to_string().leak())
    };
    let compaction = "database_compaction";
    let own = (compaction, "shards/80000000-ffffffff/db.17");
    let others = [
        (compaction, "shards/80000000-ffffffff/db2.17"),
        (compaction, "shards/80000000-ffffffff/x/db.17"),
        (compaction, "db2"),
        ("view_compaction", own.1),
        ("indexer", own.1),
    ];
    for (info, answer, wanted) in [
        (INFO, tasks(&[]), Some(true)),
        (INFO, REFUSED, Some(true)),
        (idle, tasks(&[]), Some(false)),
        (idle, tasks(&[others[0], own]), Some(true)),
        (idle, tasks(&[(compaction, "db")]), Some(true)),
        (idle, tasks(&others), Some(false)),
        (idle, REFUSED, Some(false)),
        (idle, ("403 Forbidden", r#"{"error":"forbidden"}"#), Some(false)),
        (idle, MISSING, Some(false)),
        (idle, BUSY, Some(false)),
        (idle, ("200 OK", "<html>"), Some(false)),
        (idle, ("", ""), None),
        (BUSY, tasks(&[own]), None),
    ] {
        let rules = vec![("GET /db", answers([info])), ("GET /_active_tasks", answers([answer]))];
        let compacting = scripted(rules).database().is_compacting().await;
        assert_eq!(compacting, wanted, "{info:?}, {answer:?}");
    }
}

#[tokio::test]
async fn what_runs_left_on_a_server_is_found_and_removed() {
    let [one, two, three] = [1, 2, 3].map(|n| format!("springload_1795000000_{n}_7"));
    let leak = |text: String| answers([("200 OK", &*text.leak())]);
    let names = json!(["_users", two, format!("{one}_00001"), one, "springload_results"]);
    let jobs = json!({"rows": [{"id": "_design/x"}, {"id": three}, {"id": "mine"}]});
    let section = |shard: &str| json!({ format!("shards/0-f/{shard}.17"): "true", "_users": "x" });
    let a = "/_node/a@x/_config/smoosh.ignore";
    let rules = vec![
        WELCOME,
        ("GET /_all_dbs", leak(names.to_string())),
        ("GET /_replicator/_all_docs", leak(jobs.to_string())),
        ("GET /_membership", answers([("200 OK", r#"{"cluster_nodes":["a@x","b@x","c@x"]}"#)])),
        ("GET /_node/a@x/_config/smoosh.ignore", leak(section(&one).to_string())),
        ("GET /_node/b@x/_config/smoosh.ignore", leak(section("other").to_string())),
        ("GET /_replicator/*", &[("200 OK", r#"{"_rev":"3-a"}"#)]),
        ("DELETE *", &[OK]),
    ];
    let server = scripted(rules);
    let plan = CouchPlan::check(&server.plan("")).unwrap();
    let found = plan.scratches(&opening()).await.unwrap().unwrap();
    let listed: Vec<_> = found.iter().map(|it| (it.kind, &*it.name)).collect();
    let many = format!("{one}_00001");
    let wanted = [
        (Leftover::Database, &*one),
        (Leftover::Database, &many),
        (Leftover::Database, &two),
        (Leftover::Replication, &three),
        (Leftover::Compaction, &one),
    ];
    assert_eq!(listed, wanted);
    server.seen();
    plan.remove_scratches(&opening(), &found).await.unwrap();
    let deleted: Vec<_> = server.seen().into_iter().filter(|it| it.starts_with('D')).collect();
    assert_eq!(deleted[0], format!("DELETE /_replicator/{three}?rev=3-a"), "it writes");
    let mut databases = deleted[1..4].to_vec();
    databases.sort_unstable();
    assert_eq!(databases, [&one, &many, &two].map(|it| format!("DELETE /{it}")));
    let shard = format!("shards%2F0%2Df%2F{}%2E17", one.replace('_', "%5F"));
    assert_eq!(deleted[4..], [format!("DELETE {a}/{shard} [X-Couch-Persist: false]")]);

    // Without settings to take back, nobody is asked for them.
    let only: Vec<Scratch> = found[..1].to_vec();
    plan.remove_scratches(&opening(), &only).await.unwrap();
    assert_eq!(server.seen(), ["GET /".to_owned(), format!("DELETE /{one}")]);
}

#[tokio::test]
async fn what_a_user_may_not_see_does_not_hide_the_databases() {
    let own = "springload_1795000000_1_7";
    let names: &'static str = format!("[{own:?}]").leak();
    let rules =
        vec![WELCOME, ("GET /_all_dbs", answers([("200 OK", names)])), ("GET /*", &[REFUSED])];
    let plan = CouchPlan::check(&scripted(rules).plan("")).unwrap();
    let found = plan.scratches(&opening()).await.unwrap().unwrap();
    assert_eq!(found.iter().map(|it| &*it.name).collect::<Vec<_>>(), [own]);
    for (answer, wanted) in [(OK, "does not answer GET /_all_dbs with a list"), (REFUSED, "log-in")]
    {
        let server = scripted(vec![WELCOME, ("GET /_all_dbs", answers([answer]))]);
        let plan = CouchPlan::check(&server.plan("")).unwrap();
        let message = plan.scratches(&opening()).await.unwrap_err().to_string();
        assert!(message.contains(wanted), "{message}");
    }
}

/// Of many databases, each is tried again while the server is busy, and one that cannot be removed
/// keeps none of the others.
#[tokio::test]
async fn a_removal_that_fails_keeps_no_other_from_being_removed() {
    let name = |n: u32| format!("springload_1795000000_1_7_{n:05}");
    let scratches: Vec<_> = (0..20).filter_map(|n| Scratch::of_name(&name(n))).collect();
    let first: &'static str = format!("DELETE /{}", name(0)).leak();
    let second: &'static str = format!("DELETE /{}", name(1)).leak();
    let failed = ("409 Conflict", r#"{"error":"x","reason":"no"}"#);
    let rules = vec![
        WELCOME,
        (first, answers([failed])),
        (second, &[("500 Oops", "{}"), ("429 Too Many", "{}"), MISSING]),
        ("DELETE *", &[OK]),
    ];
    let server = scripted(rules);
    let plan = CouchPlan::check(&server.plan("")).unwrap();
    let message = plan.remove_scratches(&opening(), &scratches).await.unwrap_err().to_string();
    assert!(message.contains(&format!("answers 409 to {first}")), "{message}");
    let seen = server.seen();
    for n in 0..20 {
        let count = seen.iter().filter(|it| **it == format!("DELETE /{}", name(n))).count();
        assert_eq!(count, if n == 1 { 3 } else { 1 }, "{n}");
    }
}

#[tokio::test]
async fn the_mode_of_a_node_is_read_and_set_on_the_node_itself() {
    let mode = "/_node/_local/_config/couchdb/maintenance_mode";
    let rules = vec![
        WELCOME,
        (
            "GET /_node/_local/_config/couchdb/maintenance_mode",
            &[MISSING, ("200 OK", "\"nolb\""), BUSY][..],
        ),
        ("PUT /_node/_local/_config/couchdb/maintenance_mode", &[OK, BUSY]),
        ("DELETE /_node/_local/_config/couchdb/maintenance_mode", &[OK, MISSING, BUSY]),
    ];
    let (first, second) = (scripted(vec![WELCOME]), scripted(rules));
    let asked = TargetAsked { nodes: vec![format!("{}/db", second.url)], ..first.plan("db") };
    let (plan, opening) = (CouchPlan::check(&asked).unwrap(), opening());
    assert_eq!(plan.maintained(&opening, 1).await.unwrap(), None);
    assert_eq!(plan.maintained(&opening, 1).await.unwrap().as_deref(), Some("nolb"));
    assert!(plan.maintained(&opening, 1).await.is_err());
    second.seen();
    plan.maintain(&opening, 1, Some("true")).await.unwrap();
    plan.maintain(&opening, 1, None).await.unwrap();
    plan.maintain(&opening, 1, None).await.unwrap();
    let seen: Vec<_> = second.seen().into_iter().filter(|it| it != "GET /").collect();
    assert_eq!(
        seen,
        [format!("PUT {mode} \"true\""), format!("DELETE {mode}"), format!("DELETE {mode}")]
    );
    assert!(plan.maintain(&opening, 1, Some("true")).await.is_err());
    assert!(plan.maintain(&opening, 1, None).await.is_err());
    let none = plan.maintained(&opening, 2).await.unwrap_err();
    assert_eq!(none.to_string(), "there is no such node");
    assert!(first.seen().is_empty());
}

#[tokio::test]
async fn copies_of_a_database_are_compared_node_by_node() {
    let two = r#"{"results":[{"seq":1,"id":"d","changes":[{"rev":"1-a"}]},
        {"seq":2,"id":"e","changes":[{"rev":"2-a"}]}]}"#;
    let older = r#"{"results":[{"seq":5,"id":"e","changes":[{"rev":"1-b"}]}]}"#;
    let one = r#"{"results":[{"seq":1,"id":"f","changes":[{"rev":"1-a"}]}]}"#;
    let shards = r#"{"shards":{"0-7":["a@x","b@x"],"8-f":["a@x","b@x","c@x"]}}"#;
    let (first, second) = ("shards%2F0%2D7%2Fdb%2E17", "shards%2F8%2Df%2Fdb%2E17");
    let path = |node: &str, shard: &str| -> &'static str {
        format!("GET /_node/{node}/{shard}/_changes?since=0&limit=5000").leak()
    };
    let rules = vec![
        WELCOME,
        ("GET /db", answers([INFO])),
        ("GET /db/_shards", answers([("200 OK", shards)])),
        ("GET /_node/_local", answers([("200 OK", r#"{"name":"a@x"}"#)])),
        (path("_local", first), answers([("200 OK", two)])),
        (path("b@x", first), answers([("200 OK", older)])),
        (path("_local", second), answers([("200 OK", one)])),
        (path("b@x", second), answers([("200 OK", one)])),
        (path("c@x", second), &[("404 Object Not Found", r#"{"reason":"no copy."}"#)]),
    ];
    let server = scripted(rules);
    let plan = CouchPlan::check(&server.plan("db")).unwrap();
    let copies = plan.copies(&opening(), "db").await.unwrap().unwrap();
    let compared = copies
        .nodes
        .iter()
        .map(|it| (&*it.node, it.documents, it.missing, it.older, it.problem.as_deref()));
    let wanted = [
        ("a@x", 3, 0, 0, None),
        ("b@x", 2, 1, 1, None),
        ("c@x", 0, 0, 0, Some("status 404 (no copy)")),
    ];
    assert_eq!(compared.collect::<Vec<_>>(), wanted);
    let statuses: Vec<_> = copies.nodes.iter().map(|it| it.status).collect();
    assert_eq!(statuses, [None, None, Some(404)]);
}

#[tokio::test]
async fn a_large_copy_is_read_to_its_end() {
    let shards = ("200 OK", r#"{"shards":{"0-f":["a@x","b@x"]}}"#);
    let page = |numbers: std::ops::Range<u64>| -> Answer {
        let change = |n: u64| json!({"seq": n, "id": n.to_string(), "changes": [{"rev": "1-a"}]});
        let changes: Vec<_> = numbers.map(change).collect();
        ("200 OK", json!({ "results": changes }).to_string().leak())
    };
    let changes = "GET /_node/a@x/shards%2F0%2Df%2Fdb%2E17/_changes";
    let after = |seq: u64| -> &'static str { format!("{changes}?since={seq}&limit=5000").leak() };
    let rules = vec![
        WELCOME,
        ("GET /db", answers([INFO])),
        ("GET /db/_shards", answers([shards])),
        (after(0), answers([page(1..5_001)])),
        (after(5_000), answers([page(5_001..10_000)])),
        ("GET /_node/b@x/*", answers([("200 OK", r#"{"results":[]}"#)])),
    ];
    let plan = CouchPlan::check(&scripted(rules).plan("db")).unwrap();
    let copies = plan.copies(&opening(), "db").await.unwrap().unwrap();
    let counts: Vec<_> = copies.nodes.iter().map(|it| (it.documents, it.missing)).collect();
    assert_eq!(counts, [(9_999, 0), (0, 9_999)]);
}

/// What a node answers with in place of changes, and what is reported about it.
#[tokio::test]
async fn a_copy_that_cannot_be_read_is_reported_with_the_reason() {
    let single = r#"{"shards":{"0-f":["a@x"]}}"#;
    let double = r#"{"shards":{"0-f":["a@x","b@x"]}}"#;
    let backwards = r#"{"results":[{"seq":2,"id":"d","changes":[{"rev":"1-a"}]},
        {"seq":2,"id":"e","changes":[{"rev":"1-a"}]}]}"#;
    let bare = r#"{"results":[{"seq":2,"id":"d","changes":[]}]}"#;
    for (shards, changes, wanted) in [
        (("200 OK", single), OK, None),
        (MISSING, OK, None),
        (("501 Not Implemented", "{}"), OK, None),
        (("200 OK", double), OK, Some("its answer is not a list of changes")),
        (("200 OK", double), ("200 OK", backwards), Some("its changes are not in order")),
        (("200 OK", double), ("200 OK", bare), Some("a change has no revision")),
        (("200 OK", double), ("500 Oops", "{}"), Some("status 500 (no reason given)")),
    ] {
        let rules = vec![
            WELCOME,
            ("GET /db", answers([INFO])),
            ("GET /db/_shards", answers([shards])),
            ("GET /_node/a@x/*", answers([changes])),
            ("GET /_node/b@x/*", answers([("200 OK", r#"{"results":[]}"#)])),
        ];
        let plan = CouchPlan::check(&scripted(rules).plan("db")).unwrap();
        let copies = plan.copies(&opening(), "db").await.unwrap();
        let problems = copies.map(|it| it.nodes.into_iter().map(|it| it.problem).collect());
        let wanted = wanted.map(|it| vec![Some(it.to_owned()), None]);
        assert_eq!(problems, wanted, "{changes:?}");
    }
    let rules = vec![WELCOME, ("GET /db", answers([BUSY]))];
    let plan = CouchPlan::check(&scripted(rules).plan("db")).unwrap();
    assert!(plan.copies(&opening(), "db").await.is_err(), "it has no answer");
    assert!(plan.copies(&opening(), "db").await.unwrap_err().to_string().contains("answers 503"));
}
