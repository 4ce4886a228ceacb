//! Features of the stand-in only: its single user, its counters, its threads and the null
//! responder.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use hdrhistogram::Histogram;
use serde_json::{Value, json};
use springload::clock::{Clock, Nanos};
use springload::embedded::{Counters, Delay, Faults, Mode, Options, Stall};

use crate::client::{Client, Scratch, unused_name};
use crate::servers::Server;

const MS: Nanos = 1_000_000;

fn with_admin() -> Server {
    let admin = Some(("admin".to_owned(), "secret".to_owned()));
    Server::stand_in(Options { admin, ..Options::default() })
}

fn null(faults: Faults) -> Server {
    Server::stand_in(Options { mode: Mode::Null, faults, ..Options::default() })
}

fn counters(server: &Server) -> Counters {
    server.as_stand_in().unwrap().counters()
}

/// Waits until a request was dropped, which the client cannot see.
fn until_dropped(server: &Server) {
    let dropped = (0..3_000).any(|_| {
        thread::sleep(Duration::from_millis(10));
        counters(server).dropped == 1
    });
    assert!(dropped);
}

fn connect(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(server.as_stand_in().unwrap().address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream
}

/// The times of `answers` responses: the last may be recorded a moment after the client has
/// received it.
fn recorded(server: &Server, answers: u64) -> Histogram<u64> {
    for _ in 0..5000 {
        let times = server.as_stand_in().unwrap().served();
        if times.len() == answers {
            return times;
        }
        thread::sleep(Duration::from_millis(1));
    }
    panic!("never {answers} answers");
}

/// Reads everything until the other side closes.
fn rest(mut stream: TcpStream) -> String {
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn an_admin_shuts_everybody_else_out() {
    let server = with_admin();
    let nobody = Client::as_user(&server, None);
    nobody.get("/").expect(200);
    nobody.get("/_up").expect(200);
    assert_eq!(nobody.get("/_session").expect(200).json()["userCtx"]["roles"], json!([]));
    nobody.get("/_all_dbs").expect_error(401, "unauthorized");
    nobody.call("PUT", "/db").expect_error(401, "unauthorized");
    nobody.get("/db/a").expect_error(401, "unauthorized");
    assert_eq!(counters(&server).unauthorized, 3);
}

#[test]
fn five_wrong_passwords_lock_a_user_out() {
    let server = with_admin();
    let wrong = Client::as_user(&server, Some(("admin", "x")));
    for _ in 0..5 {
        wrong.get("/_all_dbs").expect_error(401, "unauthorized");
    }
    wrong.get("/_all_dbs").expect_error(403, "forbidden");
    Client::new(&server).get("/_all_dbs").expect_error(403, "forbidden");
}

#[test]
fn a_session_opens_by_form_and_by_json() {
    let server = with_admin();
    let nobody = Client::as_user(&server, None);
    let form = [("content-type", "application/x-www-form-urlencoded")];
    let body: &[u8] = b"name=admin&password=secret";
    let answer = nobody.send("POST", "/_session", &form, Some(body)).expect(200);
    assert_eq!(answer.json(), json!({"ok": true, "name": "admin", "roles": ["_admin"]}));
    let login = json!({"name": "admin", "password": "secret"});
    let answer = nobody.json("POST", "/_session", &login).expect(200);
    let cookie = answer.header("set-cookie").to_owned();
    assert!(cookie.contains("Max-Age=600") && cookie.contains("HttpOnly"), "{cookie}");
    let token = cookie.split(';').next().unwrap();
    let who = nobody.send("GET", "/_session", &[("cookie", token)], None).expect(200).json();
    assert_eq!(who["userCtx"], json!({"name": "admin", "roles": ["_admin"]}));
    assert_eq!(who["info"]["authenticated"], "cookie");
    nobody.send("PUT", "/db", &[("cookie", token)], None).expect(201);
    let wrong = json!({"name": "admin", "password": "x"});
    nobody.json("POST", "/_session", &wrong).expect_error(401, "unauthorized");
    let gone = nobody.call("DELETE", "/_session").expect(200);
    assert!(gone.header("set-cookie").starts_with("AuthSession=;"), "{gone:?}");
}

#[test]
fn counts_can_be_reconciled_exactly() {
    let server = Server::stand_in(Options::default());
    let scratch = Scratch::new(&server);
    let a = scratch.put("a", &json!({})).rev();
    let a = scratch.put("a", &json!({"_rev": a})).rev();
    scratch.put("a", &json!({})).expect(409);
    scratch.get("a").expect(200);
    scratch.delete(&format!("a?rev={a}")).expect(200);
    scratch.get("a").expect(404);
    scratch.post("_bulk_docs", &json!({"docs": [{"_id": "b"}, {"_id": "b"}, {}]})).expect(201);
    scratch.post("_bulk_get", &json!({"docs": [{"id": "b"}, {"id": "x"}]})).expect(200);
    scratch.get("_all_docs").expect(200);
    scratch.get("_changes").expect(200);
    scratch.put("c", &json!([])).expect(400);
    let expected = Counters {
        connections: 1,
        requests: 12,
        databases_created: 1,
        documents_created: 1,
        documents_read: 1,
        documents_updated: 1,
        documents_deleted: 1,
        bulk_requests: 1,
        documents_bulk: 2,
        documents_bulk_read: 1,
        listings: 1,
        listing_rows: 2,
        changes_requests: 1,
        conflicts: 2,
        not_found: 1,
        errors_other: 1,
        ..Counters::default()
    };
    let shown = scratch.client.get("/_springload/counters").expect(200).json();
    assert_eq!(shown, serde_json::to_value(expected).unwrap());
    assert_eq!(counters(&server), expected);
}

#[test]
fn what_is_refused_unread_ends_the_connection() {
    let server = Server::stand_in(Options::default());
    let mut stream = connect(&server);
    stream
        .write_all(b"PUT /none/a HTTP/1.1\r\nHost: x\r\nContent-Length: 7000000\r\n\r\n{")
        .unwrap();
    let answer = rest(stream).to_ascii_lowercase();
    assert!(answer.starts_with("http/1.1 404") && answer.contains("connection: close"), "{answer}");
}

#[test]
fn a_request_without_host_and_pipelined_requests_are_answered() {
    let server = Server::stand_in(Options::default());
    let mut stream = connect(&server);
    let requests = "GET /_up HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\nConnection: close\r\n\r\n";
    stream.write_all(requests.as_bytes()).unwrap();
    let answers = rest(stream);
    assert_eq!(answers.matches("HTTP/1.1 200 OK").count(), 2, "{answers}");
    assert!(answers.contains("springload-stand-in/"), "{answers}");
}

#[test]
fn a_feed_ends_with_its_database() {
    let server = Server::stand_in(Options::default());
    let scratch = Scratch::new(&server);
    thread::scope(|scope| {
        let feed = scope.spawn(|| scratch.get("_changes?feed=continuous&heartbeat=20").expect(200));
        while counters(&server).changes_requests == 0 {
            thread::yield_now();
        }
        scratch.client.call("DELETE", &scratch.path).expect(200);
        let answer = feed.join().unwrap();
        assert!(answer.text.contains("last_seq"), "{answer:?}");
    });
}

#[test]
fn threads_share_the_databases_and_stop_hangs_up() {
    let server = Server::stand_in(Options { threads: 3, ..Options::default() });
    let path = format!("/{}", unused_name());
    Client::new(&server).call("PUT", &path).expect(201);
    for _ in 0..6 {
        Client::new(&server).get(&path).expect(200);
    }
    let mut idle = connect(&server);
    idle.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    assert_ne!(idle.read(&mut [0; 10]).unwrap(), 0);
    let address = server.as_stand_in().unwrap().address();
    drop(server);
    rest(idle);
    assert!(TcpStream::connect(address).is_err());
}

#[test]
fn the_null_responder_answers_what_a_run_asks() {
    let server = null(Faults::default());
    let client = Client::new(&server);
    let get = client.get("/db/a").expect(200);
    assert_eq!((get.text.len(), get.header("content-length")), (250, "250"));
    let rev = get.json()["_rev"].as_str().unwrap().to_owned();
    assert_eq!(get.json()["_id"], "a");
    assert_eq!(get.header("etag"), format!("\"{rev}\""));
    assert_eq!(client.json("PUT", "/db/a", &json!({})).expect(201).rev(), rev);
    assert_eq!(client.json("POST", "/db", &json!({})).expect(201).rev(), rev);
    assert_eq!(client.call("DELETE", "/db/a?rev=1-x").expect(200).rev(), rev);
    assert_eq!(client.call("HEAD", "/db/a").expect(200).text, "");
    let docs = json!({"docs": [{"a": [{}]}, {}, {}]});
    let rows: Value = client.json("POST", "/db/_bulk_docs", &docs).expect(201).json();
    assert_eq!(rows.as_array().unwrap().len(), 3);
    let counted = counters(&server);
    assert_eq!((counted.requests, counted.documents_bulk, counted.connections), (6, 3, 1));
    recorded(&server, 6);
    assert_eq!(client.get("/").expect(200).json()["couchdb"], "Welcome");
    client.call("PUT", "/db").expect(201);
    client.get("/db").expect(200);
    client.call("DELETE", "/db").expect(200);
    let login = json!({"name": "a", "password": "b"});
    let cookie = client.json("POST", "/_session", &login).expect(200);
    assert!(cookie.header("set-cookie").starts_with("AuthSession="));
    client.get("/db/_all_docs").expect(501);
    let counted = counters(&server);
    let shown = client.get("/_springload/counters").expect(200).json();
    assert_eq!(shown, serde_json::to_value(counted).unwrap());
    assert_eq!((counted.requests, counted.errors_other), (12, 1));
}

#[test]
fn the_null_responder_answers_pipelined_and_split_requests() {
    let server = null(Faults::default());
    let mut stream = connect(&server);
    stream
        .write_all(b"GET /d/a HTTP/1.1\r\n\r\nPUT /d/b HTTP/1.1\r\nContent-Length: 2\r\n\r\n{")
        .unwrap();
    stream.write_all(b"}BREW / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n").unwrap();
    let answers = rest(stream);
    let statuses: Vec<&str> =
        answers.match_indices("HTTP/1.1 ").map(|(at, _)| &answers[at + 9..at + 12]).collect();
    assert_eq!(statuses, ["200", "201", "501"], "{answers}");
}

#[test]
fn a_delay_is_kept_and_measured() {
    let server = null(Faults { delay: Delay::Constant { ns: 2 * MS }, ..Faults::default() });
    let client = Client::new(&server);
    let clock = Clock::system();
    for _ in 0..20 {
        let began = clock.now();
        client.get("/db/a").expect(200);
        assert!(clock.now() - began >= 2 * MS);
    }
    // The histogram stores three digits.
    assert!(recorded(&server, 20).min() >= 1_998_000);
}

#[test]
fn a_stall_freezes_all_connections() {
    let stall = Stall { at_ns: 0, for_ns: 60 * MS, every_ns: None };
    let server = null(Faults { stalls: vec![stall], ..Faults::default() });
    let clock = Clock::system();
    let began = clock.now();
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| Client::new(&server).get("/db/a").expect(200));
        }
    });
    assert!(clock.now() - began >= 60 * MS);
    Client::new(&server).get("/db/a").expect(200);
    let times = recorded(&server, 4);
    assert!(times.max() >= 59 * MS && times.min() < 59 * MS);
}

#[test]
fn a_dropped_request_is_never_answered() {
    let server = null(Faults { drop_fraction: 1.0, ..Faults::default() });
    let mut stream = connect(&server);
    stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    stream.write_all(b"GET /d/a HTTP/1.1\r\n\r\n").unwrap();
    assert!(stream.read(&mut [0; 1]).is_err());
    until_dropped(&server);
    assert_eq!(counters(&server).requests, 1);
}

// CouchDB 3.5.0 does the same; pouchdb-server crashes.
#[test]
fn changes_of_no_list_are_refused() {
    let server = Server::stand_in(Options::default());
    let scratch = Scratch::new(&server);
    scratch.post("_changes?filter=_doc_ids", &json!({})).expect(400);
    scratch.post("_changes?filter=app/mine", &json!({})).expect(501);
}

#[test]
fn the_stand_in_plays_the_same_faults() {
    let faults = Faults { delay: Delay::Constant { ns: 2 * MS }, ..Faults::default() };
    let server = Server::stand_in(Options { faults, ..Options::default() });
    let clock = Clock::system();
    let began = clock.now();
    let scratch = Scratch::new(&server);
    scratch.put("a", &json!({})).expect(201);
    assert!(clock.now() - began >= 4 * MS);
}

#[test]
fn the_stand_in_carries_out_what_it_drops() {
    let faults = Faults { drop_fraction: 1.0, ..Faults::default() };
    let server = Server::stand_in(Options { faults, ..Options::default() });
    let mut stream = connect(&server);
    stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    stream.write_all(b"PUT /db HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    assert!(stream.read(&mut [0; 1]).is_err());
    until_dropped(&server);
    let shown = Client::new(&server).get("/_springload/counters").expect(200).json();
    assert_eq!(shown["databases_created"], 1);
}
