//! Design documents that a run provides: stored, built before the load, never replaced.

use crate::proxy::Proxy;
use crate::servers::Server;
use crate::springload::{Finished, measure, number};
use serde_json::{Value, json};
use springload::embedded::Options;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A folder with a design document of one view.
fn folder(map: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let views = folder.path().join("app/views/by_id");
    fs::create_dir_all(&views).expect("a folder");
    fs::write(views.join("map.js"), map).expect("a file");
    folder
}

const MAP: &str = "function (doc) { emit(doc._id, null); }";

/// 50 documents, and 20 requests for two rows of the view.
fn run(target: &str, folder: &tempfile::TempDir, more: &[&str]) -> Finished {
    let place = folder.path().to_str().expect("UTF-8");
    let words = ["run", target, "--docs", "50", "-c", "2", "-n", "20", "--ddocs", place];
    let view = ["--op", "first=view app/by_id?limit=2", "--mix", "first=1"];
    measure([&words[..], &view, more].concat())
}

#[test]
fn a_view_is_built_between_the_fill_and_the_load() {
    let Some(server) = Server::pouchdb() else { return };
    let proxy = Proxy::to(&server.url);
    let built = run(&proxy.url, &folder(MAP), &[]);
    let index = built.operation("index_build", "index_build");
    assert_eq!((number(&index["ok"]), number(&index["rows"])), (1, 50), "{}", built.stderr);
    let rows = built.operation("crud", "first");
    assert_eq!((number(&rows["ok"]), number(&rows["rows"])), (20, 40), "{}", built.stderr);
    // The design document was stored after the last document, and queried only after that.
    let exchanges = proxy.exchanges();
    let place = |method: &str, part: &str| {
        let found = |it: &crate::proxy::Exchange| it.method == method && it.path.contains(part);
        exchanges.iter().position(found).expect(part)
    };
    let filled = exchanges.iter().rposition(|it| it.path.contains("_bulk_docs")).expect("a fill");
    assert!(filled < place("PUT", "_design/app"));
    assert!(place("PUT", "_design/app") < place("GET", "_view/by_id?limit=0"));
    assert!(place("GET", "limit=0") < place("GET", "limit=2"));

    let proxy = Proxy::to(&server.url);
    let unbuilt = run(&proxy.url, &folder(MAP), &["--no-build"]);
    assert_eq!(unbuilt.stages().count(), 2, "a fill and the load: {}", unbuilt.stderr);
    let exchanges = proxy.exchanges();
    let place = |part: &str| exchanges.iter().position(|it| it.path.contains(part)).expect(part);
    assert!(place("_design/app") < place("_bulk_docs"), "it is there before the documents");
    assert!(exchanges.iter().all(|it| !it.path.contains("limit=0")));
}

#[test]
fn a_design_document_that_is_there_is_never_replaced() {
    let Some(server) = Server::pouchdb() else { return };
    let database = format!("{}/kept_{}", server.url, std::process::id());
    assert_eq!(ureq::put(&database).send_empty().expect("an answer").status(), 201);
    let first = run(&database, &folder(MAP), &["--use-existing"]);
    assert_eq!(number(&first.operation("crud", "first")["ok"]), 20, "{}", first.stderr);
    let same = run(&database, &folder(MAP), &["--use-existing"]);
    assert_eq!(number(&same.operation("crud", "first")["ok"]), 20, "{}", same.stderr);
    let other = folder("function (doc) { emit(1, null); }");
    for more in [&["--use-existing"][..], &["--use-existing", "--no-build"]] {
        let refused = run(&database, &other, more);
        assert_eq!((refused.code, refused.stages().count()), (3, 0), "{}", refused.stderr);
        let says = "_design/app of this database is another one; remove it first";
        assert!(refused.stderr.contains(says), "{}", refused.stderr);
    }
    let kept = ureq::get(format!("{database}/_design/app")).call().expect("an answer");
    let kept: Value = serde_json::from_reader(kept.into_body().into_reader()).expect("JSON");
    assert_eq!(kept["views"]["by_id"]["map"], MAP);
}

/// A server that builds an index while clients wait: it answers no query until its progress was
/// asked for `steps` times, or never makes progress.
fn slow(server: &Server, steps: Option<u64>) -> Proxy {
    let asked = Arc::new(AtomicU64::new(0));
    let answer = |status: &str, body: &Value| {
        let body = body.to_string();
        let length = body.len();
        format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n\r\n{body}").into_bytes()
    };
    Proxy::with_answers(
        &server.url,
        Box::new(move |request| {
            let (method, path) = request.words();
            let left = |asked: u64| steps.map_or(7, |steps| steps.saturating_sub(asked));
            if path.contains("_view/by_id") {
                if left(asked.load(Ordering::Relaxed)) > 0 {
                    std::thread::sleep(Duration::from_secs(3));
                    return Some(Vec::new());
                }
                return Some(answer("200 OK", &json!({ "rows": [1, 2] })));
            }
            if path.contains("_info") {
                let left = left(asked.fetch_add(1, Ordering::Relaxed) + 1);
                let index = json!({ "updates_pending": { "total": left } });
                return Some(answer("200 OK", &json!({ "view_index": index })));
            }
            let stores = method == "PUT" && path.contains("_design");
            stores.then(|| answer("201 Created", &json!({ "ok": true })))
        }),
    )
}

#[test]
fn an_index_that_takes_longer_than_a_request_may_is_waited_for_as_long_as_it_gets_on() {
    let server = Server::stand_in(Options::default());
    let proxy = slow(&server, Some(15));
    let built = run(&proxy.url, &folder(MAP), &["--timeout", "500ms"]);
    let index = built.operation("index_build", "index_build");
    assert_eq!(number(&index["ok"]), 1, "{index} {}", built.stderr);
    let looks = proxy.exchanges().iter().filter(|it| it.path.contains("_info")).count();
    assert_eq!(looks, 15);
    // Longer than a request's timeout, and several polls.
    assert!(index["response"]["max_us"].as_f64().expect("a time") > 1_500_000.0, "{index}");

    let stuck = slow(&server, None);
    let given_up = run(&stuck.url, &folder(MAP), &["--timeout", "500ms"]);
    let index = given_up.operation("index_build", "index_build");
    assert_eq!(number(&index["failures"]["timeout"]), 1, "{}", given_up.stderr);
}

#[test]
fn what_has_no_indexes_says_so() {
    let server = Server::stand_in(Options::default());
    let none = run(&server.url, &folder(MAP), &[]);
    let index = none.operation("index_build", "index_build");
    assert_eq!(index["ok"], 0, "{}", none.stderr);
    assert!(none.stderr.contains("The stand-in has no views"), "{}", none.stderr);
    let refused = run("basic", &folder(MAP), &[]);
    assert!(refused.stderr.contains("--ddocs: ") && refused.code == 2, "{}", refused.stderr);
    let partitioned = format!("{}/parts?partitioned=true", server.url);
    let refused = run(&partitioned, &folder(MAP), &["--id", "prefix:p:"]);
    assert!(refused.stderr.contains("belong to partitions"), "{}", refused.stderr);
}

/// A run of creates, updates and deletes, and the audit of its documents and of this view.
fn audited(map: &str, target: &str) -> Finished {
    let folder = folder(map);
    let place = folder.path().to_str().expect("UTF-8");
    let words = ["run", target, "--docs", "50", "-c", "2", "-n", "100", "--ddocs", place];
    let mix = ["--mix", "create=1,update=2,delete=1", "--audit", "--audit-view", "app/by_id"];
    measure([&words[..], &mix].concat())
}

#[test]
fn an_audit_finds_rows_that_are_missing_and_rows_that_are_doubled() {
    let Some(server) = Server::pouchdb() else { return };
    // Design documents and deleted documents are not taken for documents of others.
    let fine = audited(MAP, &server.url);
    let verify = fine.operation("audit", "verify");
    assert_eq!((fine.code, number(&verify["ok"])), (0, 150), "{}", fine.stderr);
    let index = fine.operation("audit", "index_audit");
    assert_eq!((number(&index["ok"]), number(&index["rows"])), (1, 50), "{index}");
    for (map, class, found) in [
        ("function (doc) { if (doc._id !== '51') emit(doc._id, null); }", "lost", "none"),
        (
            "function (doc) { emit(1); if (doc._id === '51') emit(doc._id, null); }",
            "extra",
            "2 rows",
        ),
    ] {
        let wrong = audited(map, &server.url);
        assert_eq!(wrong.code, 6, "{}", wrong.stderr);
        let verify = wrong.operation("audit", "verify");
        assert_eq!(verify["failures"], json!({ class: 1 }), "{verify}");
        let finding = &verify["findings"][0];
        assert_eq!((&finding["id"], &finding["found"]), (&"51".into(), &found.into()), "{verify}");
    }
    let none = measure(["run", &server.url, "--audit", "--audit-view", "app/none", "-n", "5"]);
    assert!(none.stderr.contains("--audit-view: there is no view \"none\""), "{}", none.stderr);
    let none = measure(["run", "basic", "--audit", "--audit-view", "app/none", "-n", "5"]);
    assert!(none.code == 2 && none.stderr.contains("audit"), "{}", none.stderr);
}

/// A view that waits for every update has the requested document; one that does not may lack the
/// last write, which is reported; and one that leaves a document out fails.
#[test]
fn outdated_answers_are_counted_where_they_are_allowed() {
    let Some(server) = Server::pouchdb() else { return };
    let asked = |map: &str, operation: &str| {
        let folder = folder(map);
        let place = folder.path().to_str().expect("UTF-8");
        let words = ["run", &server.url, "--docs", "20", "-c", "2", "-n", "200", "--ddocs", place];
        let op = format!(
            r#"asked={{"view":"app/by_id","params":{{"key":"{{{{doc.name}}}}"{operation}}},
                "expect":{{"document":true}}}}"#
        );
        let run = measure([&words[..], &["--mix", "update=3,asked=1", "--op", &op]].concat());
        (run.operation("crud", "asked"), run.stderr)
    };
    let map = "function (doc) { emit(doc.name, null); }";
    let (fresh, stderr) = asked(map, "");
    assert_eq!((number(&fresh["ok"]), &fresh["outdated"]), (50, &Value::Null), "{stderr}");
    let (as_it_is, stderr) = asked(map, r#","stale":"ok""#);
    let outdated = number(&as_it_is["outdated"]);
    assert!(number(&as_it_is["ok"]) == 50 && outdated > 0, "{as_it_is}: {stderr}");
    let (lacking, stderr) = asked("function (doc) { emit('x', null); }", "");
    assert_eq!(lacking["failures"], json!({ "unexpected": 50 }), "{stderr}");
}
