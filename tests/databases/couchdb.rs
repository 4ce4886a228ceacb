//! `pouchdb-server` in place of CouchDB, with its documents on disk, and a different HTTP client.

use crate::binary::{Run, measure};
use crate::servers::database::{Database, Lease, Recipe};
use crate::servers::{installed, write_certificates};
use crate::speech::Http;
use crate::trust::{Subject, checks_certificates, conforms};
use crate::ycsb::refused_where_there_is_none;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

/// It stores its documents in its folder.
fn command(folder: &Path, ports: &[u16]) -> Command {
    let script = installed("pouchdb-server").expect("it is not missing");
    let mut command = Command::new("node");
    command.arg(script).args(["--host", "127.0.0.1", "--port", &ports[0].to_string()]);
    command.args(["--no-stdout-logs", "--dir"]).arg(folder);
    command.arg("--config").arg(folder.join("config.json"));
    command
}

/// The same behind TLS, at its second port.
fn command_with_tls(folder: &Path, ports: &[u16]) -> Command {
    write_certificates(folder);
    let mut command = command(folder, ports);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/servers/tls.js");
    command.env("NODE_OPTIONS", format!("--require \"{script}\"")).env("FOLDER", folder);
    command.env("PORT", ports[0].to_string()).env("TLS_PORT", ports[1].to_string());
    command
}

fn started(
    name: &'static str,
    ports: usize,
    command: fn(&Path, &[u16]) -> Command,
) -> Option<Lease> {
    let missing = installed("pouchdb-server").is_none().then_some("run make test-servers");
    let up =
        |_: &_, ports: &[u16]| ureq::get(format!("http://127.0.0.1:{}", ports[0])).call().is_ok();
    Recipe { name, missing, ports, command, up }.lease()
}

fn pouchdb() -> Option<Lease> {
    started("PouchDB", 1, command)
}

const SUBJECT: Subject = Subject {
    name: "couch_db",
    many: "documents",
    server: pouchdb,
    address: |server| format!("http://127.0.0.1:{}", server.port(0)),
    made: |address, database| format!("{address}/{database}"),
    count: |server, database| get(&url(server, database))["doc_count"].as_u64().expect("a number"),
    set: |server, database, id| {
        let at = format!("{}/{id}", url(server, database));
        let mut document = get(&at);
        document["name"] = "lie".into();
        put(&at, &document);
    },
    // The contents of a revision cannot be changed.
    changed: "unknown_revision",
    remove: |server, database, id| {
        let at = format!("{}/{id}", url(server, database));
        let revision = get(&at)["_rev"].as_str().expect("a revision").to_owned();
        ureq::delete(format!("{at}?rev={revision}")).call().expect("an answer");
    },
    keeps: |_, _| true,
    clean: |server, database| {
        ureq::delete(url(server, database)).call().expect("an answer");
    },
};

fn url(server: &Database, database: &str) -> String {
    format!("http://127.0.0.1:{}/{database}", server.port(0))
}

/// A document, or an empty one.
fn get(url: &str) -> Value {
    let text = ureq::get(url).call().ok().and_then(|mut it| it.body_mut().read_to_string().ok());
    text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_else(|| json!({}))
}

fn put(url: &str, document: &Value) {
    let sent = ureq::put(url).header("content-type", "application/json").send(document.to_string());
    sent.expect("an answer");
}

#[test]
fn it_keeps_its_word_and_is_found_out_if_it_does_not() {
    SUBJECT.keeps_its_word();
}

#[test]
fn it_is_killed() {
    SUBJECT.is_killed();
}

#[test]
fn it_stands_still() {
    SUBJECT.is_frozen();
}

#[test]
fn writes_that_failed_are_looked_for() {
    SUBJECT.fails_writes(|_| Http, 0);
}

#[test]
fn what_is_not_there_is_refused() {
    let Some(server) = pouchdb() else { return };
    let address = (SUBJECT.address)(&server);
    let missing = measure(["run", &format!("{address}/missing"), "--use-existing"]);
    missing.refused(3, &["there is no database \"missing\"", "create it first"]);
    let there = format!("{address}/there");
    let small = ["--docs", "20", "--ops", "20", "-c", "2"];
    measure([&["run", &there, "--keep"], &small[..]].concat()).passed();
    let again = measure([&["run", &there], &small[..]].concat());
    again.refused(3, &["database \"there\" exists already", "--use-existing"]);
    conforms("couch_db", "wrong object");
    let login = address.replace("http://", "http://ann@");
    let mut run = Run::of(&["run", &login]).envs([("SPRINGLOAD_PASSWORD", "guessed")]).finish();
    assert!(!run.stderr.contains("guessed"), "{}", run.stderr);
    run = run.refused(3, &["refuses to log in \"ann\"", "wrong name or password"]);
    assert!(run.stages().next().is_none());
    conforms("couch_db", "wrong password");
}

#[test]
fn certificates_are_checked() {
    let Some(server) = started("PouchDB-TLS", 2, command_with_tls) else { return };
    let port = server.port(1);
    let (tls, plain) = (format!("https://127.0.0.1:{port}"), format!("http://127.0.0.1:{port}"));
    checks_certificates("couch_db", &server, &tls, &plain);
}

#[test]
fn other_peers_are_refused() {
    refused_where_there_is_none("couch_db", "answers 400 to GET /", |port| {
        format!("http://127.0.0.1:{port}/db")
    });
}
