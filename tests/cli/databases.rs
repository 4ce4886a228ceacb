//! Which database is used, who may delete it, and servers that cannot be used.

use std::net::TcpListener;

use serde_json::Value;
use springload::embedded::Options;

use crate::servers::Server;
use crate::springload::measure;

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

fn databases(server: &Server) -> Value {
    get(server, "/_all_dbs")
}

/// A small run on `url` with more flags.
fn small<'a>(url: &'a str, flags: &[&'a str]) -> crate::springload::Finished {
    let fixed = ["run", url, "-c", "2", "--docs", "20", "--ops", "20"];
    measure(fixed.into_iter().chain(flags.iter().copied()))
}

#[test]
fn a_database_that_the_run_made_is_removed_unless_kept() {
    let server = stand_in();
    let run = small(&server.url, &[]).passed();
    assert!(run.database().starts_with("springload_"));
    assert_eq!(databases(&server), serde_json::json!([]));
    assert_eq!(run.record["server"]["deleted"], true);

    let run = small(&server.url, &["--keep"]).passed();
    assert_eq!(databases(&server), serde_json::json!([run.database()]));
    assert_eq!(run.record["server"]["deleted"], false);

    let named = format!("{}/named", server.url);
    small(&named, &[]).passed();
    assert_eq!(databases(&server), serde_json::json!([run.database()]));
    small(&named, &["--keep"]).passed();
    assert_eq!(databases(&server), serde_json::json!(["named", run.database()]));
}

#[test]
fn an_existing_database_is_refused_and_left_alone() {
    let server = stand_in();
    put(&server, "/mine", "");
    put(&server, "/mine/precious", "{\"a\":1}");
    let url = format!("{}/mine", server.url);
    small(&url, &[]).refused(3, &["\"mine\" exists", "--use-existing"]);
    small(&url, &["--keep"]).refused(3, &["--use-existing"]);
    assert_eq!(get(&server, "/mine")["doc_count"], 1);
    let run = small(&url, &["--use-existing"]).passed();
    assert_eq!(
        (&run.record["server"]["created"], &run.record["server"]["deleted"]),
        (&false.into(), &false.into())
    );
    assert_eq!(get(&server, "/mine/precious")["a"], 1);
    assert_eq!(server.as_stand_in().unwrap().counters().databases_deleted, 0);
}

#[test]
fn a_missing_database_is_not_made_where_it_must_exist() {
    let server = stand_in();
    let url = format!("{}/none", server.url);
    small(&url, &["--use-existing"]).refused(3, &["no database \"none\"", "create it first"]);
    let address = format!("--database_address={}", server.url);
    let schema = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/schemas/example.json");
    let schema = format!("--json_document_schema_filename={schema}");
    measure([
        "cushion",
        &address,
        "--database_name=none",
        &schema,
        "--num_documents_per_bulk_insert=5",
        "--num_bulk_insert_operations=1",
    ])
    .refused(3, &["no database \"none\"", "create it first"]);
    assert_eq!(databases(&server), serde_json::json!([]));
}

#[test]
fn a_server_that_is_not_there() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    // Nothing listens there now, and the port is not assigned again for a while.
    drop(listener);
    let run = small(&url, &[])
        .refused(3, &["cannot reach", "connection refused", "; start a server there"]);
    assert_eq!(run.record, Value::Null, "nothing was measured");
    small("http://no-such-host.invalid", &[]).refused(3, &["no-such-host.invalid"]);
}

#[test]
fn a_server_that_is_no_couchdb() {
    use std::io::{Read, Write};
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        while let Ok((mut peer, _)) = listener.accept() {
            let _ = peer.read(&mut [0; 1024]);
            let _ = peer.write_all(b"220 mail.example ESMTP\r\n");
        }
    });
    small(&url, &[]).refused(3, &["not an HTTP/1.1 server"]);
}

#[test]
fn passwords() {
    let admin = Some(("ann".to_owned(), "p@ss word".to_owned()));
    let server = Server::stand_in(Options { admin, ..Options::default() });
    let host = server.url.strip_prefix("http://").unwrap();
    let counters = || server.as_stand_in().unwrap().counters();
    let refused = small(&server.url, &[]).refused(3, &["requires a log-in", "-u USER", "--netrc"]);
    assert!(!refused.stderr.contains("password@"), "{}", refused.stderr);
    let user = format!("http://ann@{host}");
    small(&user, &[]).refused(3, &["refuses", "no password was given", "SPRINGLOAD_PASSWORD"]);
    let mistaken = ["-H", "Authorization: Bearer x"];
    small(&server.url, &mistaken).refused(3, &["refuses", "check the header Authorization"]);
    // The command lines of other programs have no such flags.
    let address = format!("--database_address={}", server.url);
    let words = ["cushion", &address, "--database_name=db", "--json_document_schema_filename="];
    let schema = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/schemas/example.json");
    let words = [words[0], words[1], words[2], &format!("{}{schema}", words[3])];
    let inserts = ["--num_documents_per_bulk_insert=5", "--num_bulk_insert_operations=1"];
    let refused = measure(words.into_iter().chain(inserts)).refused(3, &["; give user and"]);
    assert!(!refused.stderr.contains("-u USER"), "{}", refused.stderr);
    let before = counters().unauthorized;
    let wrong = format!("http://ann:wrong@{host}");
    let refused = small(&wrong, &[]).refused(3, &["wrong name or password"]);
    assert!(!refused.stderr.contains("ann:wrong"), "{}", refused.stderr);
    small(&wrong, &["--auth", "basic"]).refused(3, &["refuses"]);
    // CouchDB locks a user out after five attempts: each run may try only once.
    assert_eq!(counters().unauthorized - before, 2);
    assert_eq!((counters().databases_created, counters().documents_bulk), (0, 0));
    let right = format!("http://ann:p%40ss%20word@{host}");
    for auth in ["cookie", "basic"] {
        let run = small(&right, &["--auth", auth]).passed();
        assert_eq!(run.sum("bulk_insert", "ok"), 20);
        assert!(!run.record.to_string().contains("p@ss"), "the password is on record");
        assert!(!run.record.to_string().contains("p%40ss"), "the password is on record");
    }
    assert_eq!(counters().unauthorized - before, 2);
    assert_eq!(counters().databases_deleted, 2);
}

#[test]
fn a_stored_document_is_a_schema() {
    let admin = Some(("ann".to_owned(), "p@ss word".to_owned()));
    let server = Server::stand_in(Options { admin, ..Options::default() });
    let authority = format!("ann:p%40ss%20word@{}", server.url.strip_prefix("http://").unwrap());
    let made = ["run", &format!("http://{authority}/db"), "--keep", "--docs", "1", "--ops", "0"];
    measure(made).passed();
    let stored = format!("http://{authority}/db/0");
    let run = small(&format!("http://{authority}"), &["--schema", &stored]).passed();
    let schemas = &run.record["plan"]["schemas"];
    assert_eq!(schemas[0]["source"], format!("{}/db/0", server.url), "{schemas}");
    assert!(!run.record.to_string().contains("p%40ss"), "the password is on record");
    for (address, problem) in [
        (format!("http://{authority}/db/none"), "404"),
        (format!("{}/db/0", server.url), "refuses GET /db/0"),
    ] {
        let cure = "; give the URL of a stored document";
        small(&server.url, &["--schema", &address]).refused(2, &["--schema: ", problem, cure]);
    }
}
