//! A load on many databases: how it is spread, what happens to the databases, and what is refused.

use crate::proxy::{Message, Proxy};
use crate::servers::Server;
use crate::springload::{Finished, Running, measure, number, springload};
use rustix::process::Signal;
use serde_json::{Value, json};
use springload::embedded::Options;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

fn stand_in() -> Server {
    Server::stand_in(Options::default())
}

fn get(server: &Server, path: &str) -> Value {
    let mut answer = ureq::get(format!("{}{path}", server.url)).call().expect("an answer");
    let text = answer.body_mut().read_to_string().expect("a body");
    serde_json::from_str(&text).expect("JSON")
}

fn put(server: &Server, path: &str, body: &str) {
    let request = ureq::put(format!("{}{path}", server.url));
    request.header("content-type", "application/json").send(body).expect("201");
}

fn databases(server: &Server) -> Vec<String> {
    serde_json::from_value(get(server, "/_all_dbs")).expect("names")
}

/// A run with this many databases.
fn run(url: &str, count: &str, more: &[&str]) -> Finished {
    let words = ["run", url, "--databases", count, "-c", "3"];
    measure(words.into_iter().chain(more.iter().copied()))
}

#[test]
fn each_database_gets_its_share_and_all_are_removed_at_the_end() {
    let server = stand_in();
    let more = ["--docs", "120", "-n", "600", "--verify", "--audit", "--keep"];
    let kept = run(&format!("{}/users", server.url), "12", &more).passed();
    let names: Vec<String> = (0..12).map(|number| format!("users-{number:05}")).collect();
    assert_eq!(databases(&server), names);
    assert_eq!(number(&kept.operation("database_create", "database_create")["ok"]), 12);
    let count = |name: &String| number(&get(&server, &format!("/{name}"))["doc_count"]);
    let counts: Vec<u64> = names.iter().map(count).collect();
    let created = kept.sum("create", "ok") - kept.sum("delete", "ok");
    assert_eq!(counts.iter().sum::<u64>(), 120 + created);
    assert!(counts.iter().all(|count| (10..=40).contains(count)), "{counts:?}");
    assert_eq!(number(&kept.record["extra_documents"]), 0);
    let looked_for = kept.operation("audit", "verify");
    assert!(number(&looked_for["ok"]) > 120 && looked_for["failures"] == json!({}));

    // The same names are taken, and existing databases are not touched.
    let before: Vec<u64> = names.iter().map(count).collect();
    let taken = run(&format!("{}/users", server.url), "12", &["--docs", "12", "-n", "12"]);
    taken.refused(3, &["of 12 databases", "\"users-00000\"", "and 9 more exist", "--use-existing"]);
    let more = ["--docs", "12", "-n", "12", "--use-existing", "--audit"];
    let used = run(&format!("{}/users", server.url), "12", &more).passed();
    assert!(used.stages().all(|stage| !stage["name"].as_str().unwrap().starts_with("database")));
    assert!(names.iter().map(count).sum::<u64>() > before.iter().sum());

    let removed = run(&server.url, "20", &["--docs", "40", "-n", "40", "--audit"]).passed();
    assert_eq!(number(&removed.operation("database_delete", "database_delete")["ok"]), 20);
    assert_eq!(databases(&server), names, "{}", removed.full_report());
}

#[test]
fn a_lie_in_one_database_is_found_with_its_name() {
    let server = stand_in();
    let more = ["--docs", "60", "-n", "60", "--audit", "--keep"];
    let kept = run(&server.url, "6", &more).passed();
    let name = format!("{}_00004", kept.database());
    let rows = get(&server, &format!("/{name}/_all_docs?limit=1"));
    let (id, rev) = (&rows["rows"][0]["id"], &rows["rows"][0]["value"]["rev"]);
    let id = id.as_str().expect("a document");
    put(&server, &format!("/{name}/{id}"), &json!({ "_rev": rev, "lie": 1 }).to_string());
    let output = kept.output();
    let audited = measure(["audit", output.to_str().expect("UTF-8"), &server.url]);
    assert_eq!(audited.code, 6, "{}", audited.stderr);
    // A document of unknown origin, in another database.
    put(&server, &format!("/{}_00001/extra", kept.database()), "{}");
    let audited = measure(["audit", output.to_str().expect("UTF-8"), &server.url]);
    let finding = &audited.operation("audit", "verify")["findings"][0];
    assert_eq!(finding["id"], json!(format!("{name}/{id}")), "{finding}");
    assert_eq!(number(&audited.record["extra_documents"]), 1);
    // No new one would have the documents of this one.
    ureq::delete(format!("{}/{name}", server.url)).call().expect("it is removed");
    let audited = measure(["audit", output.to_str().expect("UTF-8"), &server.url]);
    let gone = format!("of 6 databases, \"{name}\" do not exist on {}: they are gone", server.url);
    audited.refused(3, &[&gone[..], "give that as TARGET"]);
}

#[test]
fn what_a_killed_run_has_created_is_found_by_clean_and_what_others_have_is_not() {
    let server = stand_in();
    put(&server, "/springload_1795000000_1_2_000001", "");
    put(&server, "/users-00001", "");
    let words = ["run", &server.url, "--databases", "40", "--docs", "40", "-d", "10m"];
    let killed = Running::start(words);
    while !killed.has_begun() {
        std::thread::sleep(Duration::from_millis(20));
    }
    killed.signal(Signal::KILL);
    drop(killed);
    assert_eq!(databases(&server).len(), 42);
    let words = ["clean", &server.url, "--older-than", "0s", "--yes"];
    let cleaned = springload(words);
    assert!(cleaned.stdout.contains("_* (40 databases)"), "{}", cleaned.stdout);
    assert_eq!(databases(&server), ["springload_1795000000_1_2_000001", "users-00001"]);
}

#[test]
fn an_interrupted_run_removes_what_it_has_created() {
    let server = stand_in();
    let url = format!("{}/team", server.url);
    let words = ["run", &url, "--databases", "30", "--docs", "60", "-d", "10m"];
    let mut run = Running::start(words);
    while !run.has_begun() {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(databases(&server).len(), 30);
    run.interrupt();
    while !run.ended() {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(databases(&server), [""; 0]);
}

/// The server refuses three of the requests that create databases.
#[test]
fn a_run_ends_if_a_database_cannot_be_created_and_removes_the_others() {
    let server = stand_in();
    let answers = |request: &Message| {
        let refused = ["_00003 ", "_00005 "].iter().any(|it| request.first.contains(it));
        let refused = refused && request.first.starts_with("PUT ");
        let body = "{\"error\":\"internal_server_error\",\"reason\":\"No DB shards\"}";
        let head = "HTTP/1.1 500 Internal Server Error\r\nContent-Length:";
        refused.then(|| format!("{head} {}\r\n\r\n{body}", body.len()).into_bytes())
    };
    let proxy = Proxy::with_answers(&server.url, Box::new(answers));
    let failed = run(&proxy.url, "8", &["--docs", "16", "-n", "8"]);
    assert_eq!(failed.code, 3, "{}", failed.stderr);
    for words in ["2 of 8 databases could not be created", "internal_server_error: No DB shards"] {
        assert!(failed.stderr.contains(words), "{}", failed.stderr);
    }
    assert_eq!(failed.stages().count(), 1, "nothing is measured without them");
    assert_eq!(databases(&server), [""; 0]);
}

/// The response to one creation is lost: the request is sent again, and the database exists.
#[test]
fn a_creation_whose_answer_was_lost_is_sent_again_if_the_run_waits() {
    let server = stand_in();
    let (url, lost) = (server.url.clone(), AtomicBool::new(false));
    let answers = move |request: &Message| {
        let is_one = request.first.starts_with("PUT /u-00003 ");
        if !is_one || lost.swap(true, Ordering::Relaxed) {
            return None;
        }
        ureq::put(format!("{url}/u-00003")).send_empty().expect("201");
        // An empty response: the connection is closed.
        Some(Vec::new())
    };
    let proxy = Proxy::with_answers(&server.url, Box::new(answers));
    let more = ["--docs", "60", "-n", "0", "--wait-for-server", "20s"];
    let waits = run(&format!("{}/u", proxy.url), "6", &more);
    let created = waits.operation("database_create", "database_create");
    assert_eq!(number(&created["ok"]), 6, "{}", waits.full_report());
    assert_eq!(created["failures"], json!({ "unanswered": 1 }));
    assert_eq!(databases(&server), [""; 0], "all of them are its own");
}

#[test]
fn what_is_about_one_database_is_refused_with_both_flags() {
    let server = stand_in();
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("app.json"), "{\"views\":{}}").expect("a file");
    let ddocs = folder.path().to_str().expect("UTF-8");
    for (flags, words) in [
        (&["--follow", "2"][..], &["--follow: ", "--databases 9"][..]),
        (&["--probe", "visible"], &["--probe: ", "--databases 9"]),
        (&["--op", "a=all_docs", "--mix", "a=1"], &["--op: ", "--databases 9"]),
        (&["--ddocs", ddocs], &["--ddocs: ", "--databases 9"]),
        (&["--audit", "--audit-view", "a/b"], &["--audit-view: ", "--databases 9"]),
        (&["--docs", "8"], &["--databases: 8 documents", "too few for 9", "--databases 8"]),
        (&["--docs", "90", "--batch", "20"], &["--databases: 90 documents", "--batch 11 or less"]),
    ] {
        let run = run(&server.url, "9", &[&["-n", "9"], flags].concat());
        run.refused(2, words);
    }
    run(&server.url, "0", &[]).refused(2, &["--databases: 0 databases"]);
    run(&server.url, "100000", &[]).refused(2, &["--databases: 100000 databases", "99999"]);
    let growth = run(&server.url, "1001", &["--docs", "2000", "--growth"]);
    growth.refused(2, &["--growth: ", "1,000 databases"]);
    run("basic", "9", &[]).refused(2, &["--databases: ", "basic"]);
    run("redis://localhost", "9", &[]).refused(2, &["--databases: ", "redis"]);
    assert_eq!(databases(&server), [""; 0]);
}

#[test]
fn partitions_are_named_where_the_database_has_some() {
    let server = stand_in();
    let words = |url: &str| format!("{url}?partitioned=true");
    let plain = measure(["run", &server.url, "--docs", "20", "-n", "9", "--id", "partitions:4"]);
    plain.refused(2, &["--id: the database will not be partitioned", "?partitioned=true"]);
    let url = words(&server.url);
    let spread = ["--docs", "60", "-n", "30", "--id", "partitions:4", "--audit", "--verify"];
    run(&url, "3", &spread).passed();
    let embedded = measure(["run", "--docs", "20", "-n", "9", "--id", "partitions:4"]);
    embedded.passed();
}

/// Databases with names chosen by the user are removed by the process that created them.
#[test]
fn agents_share_many_databases() {
    let server = stand_in();
    let more = ["--docs", "60", "-n", "60", "--audit", "--agents", "2", "-c", "4"];
    let words = [&["run", &server.url, "--databases", "10"], &more[..]].concat();
    let shared = measure(words.clone()).passed();
    assert_eq!(number(&shared.operation("database_create", "database_create")["ok"]), 10);
    assert_eq!(number(&shared.operation("database_delete", "database_delete")["ok"]), 10);
    assert_eq!(databases(&server), [""; 0]);
    let named = format!("{}/users", server.url);
    let words = [&["run", &named, "--databases", "10"], &more[..]].concat();
    measure(words.clone()).refused(2, &["--agents: ", "leave their name out, or give --keep"]);
    measure([&words[..], &["--keep"]].concat()).passed();
    assert_eq!(databases(&server).len(), 10);
}
