//! Replications, probes, followers and monitors: what is sent for them, and what is read.

use super::many::Many;
use super::scripted_tests::{Answer, MISSING, Rule, Scripted, answers, scripted};
use super::{CouchFollower, CouchMonitor, CouchProber, CouchReplicator, Credentials};
use crate::clock::SECOND_NS;
use crate::measure::{Change, document_hash};
use crate::op::Way;
use crate::{
    DocumentCount, FeedKind, FollowPlan, Follower as _, Monitor as _, NoReading, Prober as _,
    Replicated, ReplicationPhase, Replicator, Spread, Stored, Target as _,
};
use serde_json::{Value, json};

const OK: Answer = ("200 OK", r#"{"ok":true}"#);
const DONE: Answer = ("201 Created", r#"{"ok":true,"id":"a","rev":"1-a"}"#);
const CONFLICT: Answer = ("409 Conflict", r#"{"error":"conflict","reason":"No."}"#);
const EXPIRED: Answer = ("401 Unauthorized", "{}");
const GRANTED: Answer = ("200 OK\r\nSet-Cookie: AuthSession=new; Path=/", "{}");
const FAILED: Answer = ("500 Oops", r#"{"error":"badmatch"}"#);

fn cookie() -> Credentials {
    let (name, password) = ("ann".to_owned(), "secret".to_owned());
    Credentials::Cookie { name, password, cookie: "AuthSession=old".to_owned() }
}

fn replicator(server: &Scripted) -> Box<dyn Replicator> {
    server.database().replicator().unwrap()
}

#[tokio::test]
async fn a_replication_is_asked_for_and_forgotten_as_couchdb_does_it() {
    let rules = vec![
        ("GET /_replicator", &[OK, MISSING, FAILED][..]),
        ("PUT /_replicator/a%2Fb", &[DONE, MISSING, CONFLICT]),
        ("GET /_replicator/a%2Fb", &[("200 OK", r#"{"_rev":"1-a"}"#)]),
        ("DELETE /_replicator/a%2Fb?rev=1-a", &[CONFLICT, OK, CONFLICT]),
    ];
    let server = scripted(rules);
    let mut it = replicator(&server);
    let lacks = "has no database _replicator, in which replications are asked for; create it first";
    it.ready().await.unwrap();
    assert!(it.ready().await.unwrap_err().to_string().contains(lacks));
    assert!(it.ready().await.unwrap_err().to_string().contains("answers 500"));
    let end = it.end();
    it.start("a/b", &end, &end).await.unwrap();
    let url = format!("{}/db", server.url);
    let job = json!({"source": url, "target": url, "continuous": true});
    assert_eq!(server.seen()[3..], [format!("PUT /_replicator/a%2Fb {job}")]);
    assert!(it.start("a/b", &end, &end).await.unwrap_err().to_string().contains(lacks));
    assert!(it.start("a/b", &end, &end).await.unwrap_err().to_string().contains("answers 409"));
    server.seen();
    it.stop("a/b").await.unwrap();
    let delete = "DELETE /_replicator/a%2Fb?rev=1-a";
    let get = "GET /_replicator/a%2Fb";
    assert_eq!(server.seen(), [get, delete, get, delete], "it was changed in between");
    assert!(it.stop("a/b").await.unwrap_err().to_string().contains("answers 409"));
    assert_eq!(server.seen().len(), 6, "that is tried three times");
    it.stop("other").await.unwrap();
    assert_eq!(server.seen(), ["GET /_replicator/other"], "it is gone already");
}

#[tokio::test]
async fn the_state_of_a_replication_is_that_of_the_scheduler_if_there_is_one() {
    let scheduled = r#"{"state":"running","info":{"docs_written":7}}"#;
    let rules = vec![
        ("GET /_scheduler/docs/_replicator/a", answers([("200 OK", scheduled), OK, MISSING])),
        ("GET /_replicator/a", &[("200 OK", r#"{"_replication_state":"error"}"#)]),
    ];
    let server = scripted(rules);
    let mut it = replicator(&server);
    let state = it.state("a").await.unwrap();
    assert_eq!((state.phase, state.written), (ReplicationPhase::Running, Some(7)));
    assert_eq!(server.seen().len(), 1);
    for _ in 0..2 {
        assert_eq!(it.state("a").await.unwrap().phase, ReplicationPhase::Failed);
        assert_eq!(server.seen().len(), 2, "what the scheduler does not say, the document does");
    }
}

/// Servers log in to each other with what they are given, and with nothing else.
#[tokio::test]
async fn an_end_has_the_log_in_and_the_headers_of_the_plan() {
    let server = scripted(Vec::new());
    let url = format!("{}/db", server.url);
    let end =
        |credentials| CouchReplicator::new(&server.database_for(credentials)).unwrap().end().0;
    assert_eq!(end(Credentials::None), json!(url));
    let basic = json!({"url": url, "headers": {"Authorization": "Basic YW5uOnNlY3JldA=="}});
    assert_eq!(end(cookie()), basic, "a cookie would expire");
    let (name, password) = ("ann".to_owned(), "secret".to_owned());
    assert_eq!(end(Credentials::Basic { name, password }), basic);
}

#[tokio::test]
async fn documents_are_counted_found_and_compared_on_either_side() {
    let rows = r#"{"rows":[{"id":"a","value":{"rev":"1-a"}},{"key":"b","error":"not_found"},
        {"id":"c","value":{"rev":"2-c","deleted":true}},{"key":"d","error":"not_found"}]}"#;
    let changes = r#"{"last_seq":"9-x","results":[{"id":"a","changes":[{"rev":"1-a"}]},
        {"id":"c","changes":[{"rev":"2-c"}],"deleted":true},{"id":"d"}]}"#;
    let bulk = r#"[{"ok":true,"id":"a"},{"id":"b","error":"conflict"},{"ok":true,"id":"c"}]"#;
    let info = r#"{"doc_count":5,"doc_del_count":2}"#;
    let rules = vec![
        ("POST /db/_all_docs", answers([("200 OK", rows)])),
        ("POST /db/_revs_diff", answers([("200 OK", r#"{"c":{"missing":["2-c"]}}"#)])),
        ("GET /db/_changes?limit=1000&since=0", answers([("200 OK", changes)])),
        ("GET /db/_changes?limit=1000&since=9-x", &[("200 OK", r#"{"last_seq":12,"results":[]}"#)]),
        ("POST /db/_bulk_docs", answers([("201 Created", bulk)])),
        ("GET /db", answers([("200 OK", info)])),
        ("PUT /db/m%2F1", &[DONE]),
    ];
    let server = scripted(rules);
    let mut it = replicator(&server);
    let of = |id: &str, rev: &str, deleted| Replicated {
        id: id.to_owned(),
        rev: rev.to_owned(),
        deleted,
    };
    let (a, c) = (of("a", "1-a", false), of("c", "2-c", true));
    let ids = ["a", "b", "c", "d"].map(str::to_owned);
    assert_eq!(it.find(&ids).await.unwrap(), [Some(a.clone()), None, Some(c.clone()), None]);
    assert_eq!(it.unknown(&[a.clone(), c.clone()]).await.unwrap(), [1]);
    let page = it.changed("").await.unwrap();
    assert_eq!((page.documents, &*page.next), (vec![a, c], "9-x"));
    assert_eq!(it.changed("9-x").await.unwrap().next, "12");
    let revisions = [("a", "1-a"), ("b", "1-b"), ("c", "1-c")];
    let documents = revisions.map(|(id, rev)| (id.to_owned(), rev.to_owned()));
    assert_eq!(it.remove(&documents).await.unwrap(), 2, "one was refused");
    assert_eq!(it.count().await.unwrap(), DocumentCount { documents: 5, deleted: 2 });
    assert_eq!(it.store("m/1").await.unwrap(), "1-a");
    let seen = server.seen();
    assert_eq!(seen[0], r#"POST /db/_all_docs {"keys":["a","b","c","d"]}"#);
    assert_eq!(seen[1], r#"POST /db/_revs_diff {"a":["1-a"],"c":["2-c"]}"#);
    let deleted = r#"{"docs":[{"_id":"a","_rev":"1-a","_deleted":true},"#;
    assert!(seen[4].starts_with(&format!("POST /db/_bulk_docs {deleted}")), "{}", seen[4]);
    assert_eq!(server.connections(), 1, "they share one");
}

/// What is too much for one request is asked for in several.
#[tokio::test]
async fn a_thousand_documents_are_asked_for_at_once() {
    // The first of each request is there.
    let rows = |count: usize| {
        let mut rows = vec![json!({"key": "y", "error": "not_found"}); count];
        rows[0] = json!({"id": "x", "value": {"rev": "1-a"}});
        ("200 OK", &*json!({ "rows": rows }).to_string().leak())
    };
    let rules = vec![
        ("POST /db/_all_docs", answers([rows(1_000), rows(2)])),
        ("POST /db/_revs_diff", &[("200 OK", "{}"), ("200 OK", r#"{"1001":{}}"#)]),
        ("POST /db/_bulk_docs", &[("202 Accepted", r#"[{"ok":true}]"#)]),
    ];
    let server = scripted(rules);
    let mut it = replicator(&server);
    let ids: Vec<_> = (0..1_002).map(|n| n.to_string()).collect();
    let found = it.find(&ids).await.unwrap();
    let places: Vec<_> = (0..found.len()).filter(|&place| found[place].is_some()).collect();
    assert_eq!((found.len(), &places[..]), (1_002, &[0, 1_000][..]));
    let of = |id: &String| Replicated { id: id.clone(), rev: "1-a".to_owned(), deleted: false };
    let all: Vec<_> = ids.iter().map(of).collect();
    assert_eq!(it.unknown(&all).await.unwrap(), [1_001]);
    let all: Vec<_> = ids.iter().map(|id| (id.clone(), "1-a".to_owned())).collect();
    assert_eq!(it.remove(&all).await.unwrap(), 2);
    assert_eq!(server.seen().len(), 6);
}

#[tokio::test]
async fn a_log_in_that_has_expired_is_renewed_on_the_way() {
    let rules = vec![
        ("POST /_session", &[GRANTED][..]),
        ("GET /db", &[EXPIRED, ("200 OK", r#"{"doc_count":5}"#)]),
        ("GET /db/_all_docs?key=%22a%22", &[EXPIRED, OK]),
        (
            "GET /db/_changes?limit=1&since=now",
            &[EXPIRED, ("200 OK", r#"{"results":[],"last_seq":"1"}"#)],
        ),
        ("GET /_replicator/a", &[EXPIRED, MISSING]),
    ];
    let server = scripted(rules);
    let target = server.database_for(cookie());
    let mut it = CouchReplicator::new(&target).unwrap();
    assert_eq!(it.count().await.unwrap().documents, 5);
    let session = r#"POST /_session {"name":"ann","password":"secret"}"#;
    let wanted = ["GET /db", session, "GET /db [Cookie: AuthSession=new]"];
    assert_eq!(server.seen(), wanted);
    CouchReplicator::new(&target).unwrap().stop("a").await.unwrap();
    assert_eq!(server.seen()[1], session);
    let stored = Stored { id: "a".to_owned(), rev: String::new(), since: String::new() };
    let mut prober = CouchProber::each(&target, "m").remove(0);
    assert!(!prober.sees(Way::AllDocs, &stored).await.unwrap());
    assert_eq!(server.seen()[1], session);
    follower(&server, &target, FeedKind::Continuous, None).begin().await.unwrap();
    assert_eq!(server.seen()[1], session);
    let refusing = scripted(vec![("*", &[EXPIRED])]);
    let mut it = CouchReplicator::new(&refusing.database_for(cookie())).unwrap();
    assert!(it.count().await.unwrap_err().to_string().contains("wrong name or password"));
    assert_eq!(refusing.seen().len(), 2, "refusals are counted by the server");
}

#[tokio::test]
async fn a_probe_is_stored_looked_for_in_each_way_and_removed() {
    let rules = vec![
        ("GET /db/_changes?since=now&limit=1", &[("200 OK", r#"{"last_seq":"4-x"}"#)][..]),
        ("PUT /db/m_7", &[DONE]),
        ("GET /db/m_7", &[("200 OK", r#"{"_id":"m_7"}"#), MISSING]),
        ("GET /db/_all_docs?key=%22m_7%22", &[("200 OK", r#"{"rows":[{"id":"m_7"}]}"#)]),
        ("POST /db/_changes?filter=_doc_ids&since=4-x", &[("200 OK", r#"{"results":[]}"#)]),
        ("POST /db/_find", &[("200 OK", r#"{"docs":[{"_id":"m_7"}]}"#)]),
        ("GET /db/_design/m_view/_view/probe?key=%22m_7%22", &[("200 OK", r#"{"rows":[]}"#)]),
        ("DELETE /db/m_7?rev=1-a", &[OK]),
    ];
    let server = scripted(rules);
    let mut it = CouchProber::each(&server.database(), "m").remove(0);
    assert_eq!(it.node(), None, "there is only one");
    let stored = it.store(7).await.unwrap();
    let wanted = Stored { id: "m_7".to_owned(), rev: "1-a".to_owned(), since: "4-x".to_owned() };
    assert_eq!(stored, wanted);
    assert_eq!(server.seen()[1], r#"PUT /db/m_7 {"springload_probe":"m_7"}"#);
    for (way, seen, body) in [
        (Way::Get, true, ""),
        (Way::AllDocs, true, ""),
        (Way::Changes, false, r#"{"doc_ids":["m_7"]}"#),
        (Way::Find, true, r#"{"selector":{"springload_probe":"m_7"},"fields":["_id"],"limit":1}"#),
        (Way::View, false, ""),
    ] {
        assert_eq!(it.sees(way, &stored).await.unwrap(), seen, "{way}");
        let sent = server.seen();
        assert_eq!(sent.len(), 1);
        assert!(sent[0].ends_with(body), "{way}: {sent:?}");
    }
    assert!(!it.sees(Way::Get, &stored).await.unwrap(), "it is gone");
    it.remove(&stored).await.unwrap();
    assert_eq!(server.seen().len(), 2);
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn what_a_probe_needs_is_made_before_and_removed_after() {
    let rules = vec![
        ("POST /db/_index", &[OK, MISSING][..]),
        ("PUT /db/_design/m_view", &[DONE, CONFLICT]),
        ("GET /db/_design/m_view", &[("200 OK", r#"{"_rev":"1-v"}"#)]),
        ("DELETE /db/_design/m_view?rev=1-v", &[OK]),
        ("GET /db/_design/m_find", &[MISSING]),
        ("POST /db/_find", &[OK]),
        ("GET /db/*", &[OK]),
    ];
    let server = scripted(rules);
    let mut it = CouchProber::each(&server.database(), "m").remove(0);
    let index = r#"{"index":{"fields":["springload_probe"]},"ddoc":"m_find","name":"probe"}"#;
    let find = r#"{"selector":{"springload_probe":"m_"},"fields":["_id"],"limit":1}"#;
    it.prepare(Way::Find).await.unwrap();
    assert_eq!(
        server.seen(),
        [format!("POST /db/_index {index}"), format!("POST /db/_find {find}")]
    );
    let message = it.prepare(Way::Find).await.unwrap_err().to_string();
    assert_eq!(message, "this server does not support that (404)");
    server.seen();
    for _ in 0..2 {
        it.prepare(Way::View).await.unwrap();
        let seen = server.seen();
        assert!(seen[0].starts_with("PUT /db/_design/m_view {\"views\":{\"probe\":{\"map\":"));
        assert_eq!(seen[1], "GET /db/_design/m_view/_view/probe?key=%22m_%22", "which builds it");
    }
    it.prepare(Way::Get).await.unwrap();
    assert_eq!(server.seen(), ["GET /db/m_"]);
    for (way, sent) in [
        (Way::Get, vec![]),
        (Way::Changes, vec![]),
        (Way::Find, vec!["GET /db/_design/m_find"]),
        (Way::View, vec!["GET /db/_design/m_view", "DELETE /db/_design/m_view?rev=1-v"]),
    ] {
        it.clear(way).await.unwrap();
        assert_eq!(server.seen(), sent, "{way}");
    }
}

fn follower(
    server: &Scripted,
    target: &super::CouchDb,
    feed: FeedKind,
    filter: Option<&str>,
) -> CouchFollower {
    assert!(target.server.contains(&server.url));
    let plan = FollowPlan { followers: 2, feed, filter: filter.map(str::to_owned) };
    let mut all = CouchFollower::all(target, &plan);
    assert_eq!(all.len(), 2);
    all.remove(0)
}

const PAGE: &str = concat!(
    r#"{"results":[{"seq":"2-b","id":"a","#,
    r#""changes":[{"rev":"3-967a00dff5e02add41819138abb3284d"}]}],"last_seq":"2-b"}"#
);
const LINES: &str = concat!(
    r#"{"seq":"2-b","id":"a","changes":[{"rev":"3-967a00dff5e02add41819138abb3284d"}]}"#,
    "\n\n"
);

#[tokio::test]
async fn changes_are_followed_from_where_the_last_ones_ended() {
    const BEGIN: Rule = (
        "GET /db/_changes?limit=1&since=now*",
        &[("200 OK", r#"{"results":[],"last_seq":"1-a"}"#)],
    );
    for (feed, name, text) in
        [(FeedKind::Continuous, "continuous", LINES), (FeedKind::Longpoll, "longpoll", PAGE)]
    {
        for (filter, rest, body) in [
            (None, "", ""),
            (Some("app/mine?x=1"), "&filter=app/mine&x=1", ""),
            (Some(r#"{"a":1}"#), "&filter=_selector", r#" {"selector":{"a":1}}"#),
        ] {
            let method = if body.is_empty() { "GET" } else { "POST" };
            let begun = format!("{method} /db/_changes?limit=1&since=now{rest}");
            let open = format!("{method} /db/_changes?feed={name}&heartbeat=3333&since=1-a{rest}");
            let more = format!("{method} /db/_changes?limit=10000&since=2-b{rest}");
            let rules = vec![
                (&*begun.clone().leak(), BEGIN.1),
                (&*open.clone().leak(), answers([("200 OK", text)])),
                (
                    &*more.clone().leak(),
                    answers([("200 OK", r#"{"results":[],"last_seq":"2-b"}"#)]),
                ),
            ];
            let server = scripted(rules);
            let mut it = follower(&server, &server.database(), feed, filter);
            assert_eq!(it.node(), None, "there is only one");
            it.begin().await.unwrap();
            let mut changes = Vec::new();
            it.follow(|change: Change| changes.push(change)).await.unwrap();
            let received: Vec<_> =
                changes.iter().map(|it| (it.document, it.number, it.at.is_some())).collect();
            assert_eq!(received, [(document_hash(b"a"), 3, true)]);
            it.rest(|_| panic!("there is none")).await.unwrap();
            assert_eq!(server.seen(), [begun, open, more].map(|it| it + body));
        }
    }
}

/// A feed comes in pieces, and lasts until the server ends it.
#[tokio::test]
async fn a_feed_is_read_to_its_end() {
    let text: &'static str = LINES.repeat(5_000).leak();
    let rules = vec![
        ("GET /db/_changes?limit=1&since=now", answers([("200 OK", PAGE)])),
        ("GET /db/_changes?feed=*", answers([("200 OK", text)])),
    ];
    let server = scripted(rules);
    let mut it = follower(&server, &server.database(), FeedKind::Continuous, None);
    it.begin().await.unwrap();
    let mut changes = 0;
    it.follow(|_| changes += 1).await.unwrap();
    assert_eq!(changes, 5_000);
}

#[tokio::test]
async fn a_feed_that_cannot_be_opened_is_reported_with_what_the_server_says() {
    let limit = "GET /db/_changes?limit=1&since=1-a";
    let feed = "GET /db/_changes?feed=*";
    let page = ("200 OK", r#"{"results":[],"last_seq":"1-a"}"#);
    for (opened, asked, wanted) in [
        (MISSING, MISSING, "answers 404 to GET /db/_changes?limit=1&since=1-a: missing"),
        (FAILED, page, "the feed of changes cannot be opened"),
    ] {
        let rules = vec![
            ("GET /db/_changes?limit=1&since=now", answers([page])),
            (limit, answers([asked])),
            (feed, answers([opened])),
        ];
        let server = scripted(rules);
        let mut it = follower(&server, &server.database(), FeedKind::Continuous, None);
        it.begin().await.unwrap();
        let message = it.follow(|_| ()).await.unwrap_err().to_string();
        assert!(message.contains(wanted), "{message}");
        assert_eq!(server.seen().len(), 3);
    }
    // A log-in that has expired is renewed, once.
    for (again, ok) in [(("200 OK", LINES), true), (EXPIRED, false)] {
        let feeds = answers([EXPIRED, again]);
        let rules =
            vec![("POST /_session", &[GRANTED][..]), (feed, feeds), ("GET /db/*", answers([page]))];
        let server = scripted(rules);
        let target = server.database_for(cookie());
        let mut it = follower(&server, &target, FeedKind::Continuous, None);
        it.begin().await.unwrap();
        assert_eq!(it.follow(|_| ()).await.is_ok(), ok);
        let logged_in = server.seen().iter().filter(|it| it.starts_with("POST /_session")).count();
        assert_eq!(logged_in, 1);
    }
}

/// Many databases are asked about a hundred at a time, and the less often the more there are.
#[tokio::test]
async fn the_sizes_of_many_databases_are_observed_unless_there_are_too_many() {
    let info = json!([{"key": "u-00000", "info": {"doc_count": 2, "sizes": {"file": 8}}}]);
    for (count, requests) in [(5, 1), (1_000, 10), (1_001, 0)] {
        let info = ("200 OK", &*info.to_string().leak());
        let server = scripted(vec![("POST /_dbs_info", answers([info]))]);
        let spread = Spread { count, documents: 10_000, batch: 10 };
        let many = Many::new("u", spread, String::new());
        let nodes = server.database().nodes.to_vec();
        let target = super::CouchDb::on(nodes, super::Paths::of(many));
        let mut it = CouchMonitor::each(&target).remove(0);
        let seconds: Vec<_> = it.questions().iter().map(|it| it.every_ns / SECOND_NS).collect();
        assert_eq!(seconds, [2, 2, 1, 2 * u64::from(count.div_ceil(100))]);
        let read = it.ask(3).await;
        assert_eq!(server.seen().len(), requests);
        if requests == 0 {
            assert_eq!(read, Err(NoReading::Unknown), "that would cost too much");
            continue;
        }
        let read = read.unwrap();
        let documents = read.values.iter().find(|(it, _)| it.name == "documents");
        assert_eq!(documents.map(|(_, count)| *count), Some(2.0 * requests as f64));
    }
}

#[test]
fn followers_probers_and_monitors_are_spread_over_the_nodes() {
    let nodes =
        [scripted(Vec::new()), scripted(Vec::new())].map(|it| it.database().nodes[0].clone());
    let hosts = nodes.clone().map(|it| Some(it.endpoint.host().to_owned()));
    let target = super::CouchDb::on(nodes.to_vec(), super::Paths::one("db"));
    let plan = FollowPlan { followers: 3, feed: FeedKind::Continuous, filter: None };
    let followers: Vec<_> = target.followers(&plan).iter().map(crate::Follower::node).collect();
    assert_eq!(followers, [hosts[0].clone(), hosts[1].clone(), hosts[0].clone()]);
    let probers: Vec<_> = target.probers("m").iter().map(crate::Prober::node).collect();
    assert_eq!(probers, hosts);
    let monitors: Vec<_> = target.monitors().iter().map(|it| Some(it.name())).collect();
    assert_eq!(monitors, hosts);
}

/// The changes that are left come in pages; the first that is not full is the last.
#[tokio::test]
async fn the_rest_of_the_changes_is_read_to_its_end() {
    let row = json!({"id": "a", "changes": [{"rev": "1-967a00dff5e02add41819138abb3284d"}]});
    let page = |rows: usize, seq: &str| -> Answer {
        let rows: Vec<Value> = (0..rows).map(|_| row.clone()).collect();
        ("200 OK", json!({"results": rows, "last_seq": seq}).to_string().leak())
    };
    let rules = vec![
        ("GET /db/_changes?limit=10000&since=", answers([page(10_000, "5")])),
        ("GET /db/_changes?limit=10000&since=5", answers([page(9_999, "9")])),
    ];
    let server = scripted(rules);
    let mut it = follower(&server, &server.database(), FeedKind::Continuous, None);
    let mut count = 0;
    it.rest(|change| count += u32::from(change.at.is_none())).await.unwrap();
    assert_eq!((count, server.seen().len()), (19_999, 2));
}

#[tokio::test]
async fn what_a_server_is_set_to_is_shown_as_far_as_the_user_may_see_it() {
    let info = r#"{"doc_count":7,"cluster":{"q":2,"n":1}}"#;
    let config = r#"{"couchdb":{"max_dbs_open":"500"},"log":{"level":"debug"}}"#;
    for (config, wanted) in [(("200 OK", config), 3), (("401 Unauthorized", "{}"), 2)] {
        let rules = vec![
            ("GET /db", answers([("200 OK", info)])),
            ("GET /_node/_local/_config", answers([config])),
        ];
        let server = scripted(rules);
        let mut it = CouchMonitor::each(&server.database()).remove(0);
        let settings = it.settings().await;
        assert_eq!(settings.len(), wanted, "{settings:?}");
        assert_eq!(settings["cluster.q"], "2");
    }
    let questions = CouchMonitor::each(&scripted(Vec::new()).database())[0].questions();
    let asked: Vec<_> = questions.iter().map(|it| (it.every_ns / 1_000_000, it.of_all)).collect();
    assert_eq!(asked, [(2_000, false), (2_000, false), (1_000, true), (2_000, true)]);
    for (status, wanted) in [
        ("400 Bad Request", NoReading::Unknown),
        ("405 Method Not Allowed", NoReading::Unknown),
        ("501 Not Implemented", NoReading::Unknown),
        ("403 Forbidden", NoReading::Refused("no reason given".to_owned())),
        ("500 Oops", NoReading::Missed("answered 500".to_owned())),
    ] {
        let server = scripted(vec![("GET /_active_tasks", answers([(status, "{}")]))]);
        let mut it = CouchMonitor::each(&server.database()).remove(0);
        assert_eq!(it.ask(2).await, Err(wanted));
    }
}
