//! Lost responses: the run finds out which requests were carried out, and counts each once.

use crate::proxy::Message;
use crate::springload::{measure, number};
use std::collections::BTreeMap;
use std::io::{self, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;

use springload::embedded::Options;

use crate::servers::Server;

/// For one kind of request: how many arrived, how many were carried out without a response to the
/// client, and how many were withheld from the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Losses {
    came: u64,
    carried_out: u64,
    kept_back: u64,
}

type Log = Arc<Mutex<BTreeMap<&'static str, Losses>>>;

/// A relay to `server` that hangs up on every tenth request of each kind: alternately after the
/// server has carried it out, and before it has seen it.
fn relay(server: &str) -> (String, Log) {
    let server = server.strip_prefix("http://").expect("an http URL").to_owned();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let log = Log::default();
    let losses = Arc::clone(&log);
    thread::spawn(move || {
        for client in listener.incoming() {
            let (server, losses) = (server.clone(), Arc::clone(&losses));
            // A peer that hangs up ends the relay of this connection.
            thread::spawn(move || serve(client?, &server, &losses));
        }
    });
    (url, log)
}

fn serve(client: TcpStream, server: &str, losses: &Log) -> io::Result<()> {
    client.set_nodelay(true)?;
    let mut client = BufReader::new(client);
    let mut server = BufReader::new(TcpStream::connect(server)?);
    loop {
        let request = Message::read(&mut client, false)?;
        let (mut passes, mut answers) = (true, true);
        if let Some(kind) = kind(&request) {
            let mut losses = losses.lock().expect("no panic");
            let losses = losses.entry(kind).or_default();
            losses.came += 1;
            answers = losses.came % 10 != 5;
            passes = answers || losses.came % 20 == 5;
            losses.carried_out += u64::from(!answers && passes);
            losses.kept_back += u64::from(!passes);
        }
        if passes {
            server.get_mut().write_all(&request.raw)?;
            let answer = Message::read(&mut server, true)?;
            if answers {
                client.get_mut().write_all(&answer.raw)?;
                continue;
            }
        }
        return Ok(());
    }
}

/// The name of a write in springload's words.
fn kind(request: &Message) -> Option<&'static str> {
    let mut words = request.first.split(' ');
    let (method, path) = (words.next()?, words.next()?);
    let changes = memchr::memmem::find(&request.raw, b"\"_rev\":").is_some();
    match method {
        "POST" if path.ends_with("/_bulk_docs") => Some("bulk_insert"),
        // Otherwise it is about the database.
        "PUT" if path.matches('/').count() < 2 => None,
        "PUT" => Some(if changes { "update" } else { "create" }),
        "DELETE" if path.contains("rev=") => Some("delete"),
        _ => None,
    }
}

#[test]
fn writes_without_an_answer_are_settled_by_looking() {
    settled_by_looking(&[]);
}

#[test]
fn what_agents_find_out_about_their_writes_is_in_the_record_of_all() {
    settled_by_looking(&["--agents=2"]);
}

/// Checks what a run says of writes whose answers were lost.
fn settled_by_looking(more: &[&str]) {
    let server = Server::stand_in(Options::default());
    let (url, log) = relay(&server.url);
    let mix = "create=1,read=1,update=2,delete=1";
    let load = ["-c4", "--docs=400", "--batch=10", "-n2000", "--mix", mix];
    let finished = measure([&["run", &url][..], &load, more].concat());
    let log = log.lock().expect("no panic");
    for (stage, kind, documents) in [
        ("bulk_insert", "bulk_insert", 10),
        ("crud", "create", 1),
        ("crud", "update", 1),
        ("crud", "delete", 1),
    ] {
        let Losses { came, carried_out, kept_back } = log[kind];
        let operation = finished.operation(stage, kind);
        assert!(carried_out > 0 && kept_back > 0, "{kind}: {log:?}");
        // Each was sent once, whatever happened to it.
        assert_eq!(number(&operation["issued"]), came * documents, "{kind}");
        let lost = (carried_out + kept_back) * documents;
        // The workload knows what is stored, so there are no conflicts, and nothing is missing.
        assert_eq!(operation["failures"], serde_json::json!({ "unanswered": lost }), "{kind}");
        assert_eq!(number(&operation["carried_out"]), carried_out * documents, "{kind}");
        assert_eq!(number(&operation["not_carried_out"]), kept_back * documents, "{kind}");
        let words = format!("{kind} unanswered: {lost}, of which {}", carried_out * documents);
        let report = finished.full_report();
        assert!(report.contains(&words), "no {words:?} in {report}");
    }
    let reads = finished.operation("crud", "read");
    assert_eq!((number(&reads["ok"]), &reads["failures"]), (400, &serde_json::json!({})));
}

/// The receivers of a signal that a document was looked for, by its path.
type Looks = Arc<Mutex<BTreeMap<String, Vec<mpsc::Sender<()>>>>>;

/// A relay to `server` that leaves every fifteenth write without a response: alternately it passes
/// the write on once its document has been looked for, and never.
fn late_relay(server: &str) -> (String, Log) {
    let server = server.strip_prefix("http://").expect("an http URL").to_owned();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let (log, looks) = (Log::default(), Looks::default());
    let losses = Arc::clone(&log);
    thread::spawn(move || {
        for client in listener.incoming() {
            let (server, losses, looks) = (server.clone(), Arc::clone(&losses), Arc::clone(&looks));
            // A peer that hangs up ends the relay of this connection.
            thread::spawn(move || serve_late(client?, &server, (&losses, &looks)));
        }
    });
    (url, log)
}

fn serve_late(client: TcpStream, server: &str, (losses, looks): (&Log, &Looks)) -> io::Result<()> {
    client.set_nodelay(true)?;
    let mut client = BufReader::new(client);
    let mut server = BufReader::new(TcpStream::connect(server)?);
    loop {
        let request = Message::read(&mut client, false)?;
        let mut lost = None;
        if let Some(kind) = kind(&request) {
            let mut losses = losses.lock().expect("no panic");
            let losses = losses.entry(kind).or_default();
            losses.came += 1;
            lost = (losses.came % 15 == 5).then_some(losses.came % 30 == 5);
            losses.carried_out += u64::from(lost == Some(true));
            losses.kept_back += u64::from(lost == Some(false));
        }
        let (method, path) = request.words();
        let path = path.split('?').next().unwrap_or_default().replace("_all_docs", "_bulk_docs");
        match lost {
            Some(true) => {
                let (looked, wait) = mpsc::channel();
                looks.lock().expect("no panic").entry(path).or_default().push(looked);
                let _ = wait.recv();
                server.get_mut().write_all(&request.raw)?;
                Message::read(&mut server, true)?;
                return Ok(());
            }
            // Until the client disconnects.
            Some(false) => return Message::read(&mut client, false).map(|_| ()),
            None => {}
        }
        server.get_mut().write_all(&request.raw)?;
        let answer = Message::read(&mut server, true)?;
        client.get_mut().write_all(&answer.raw)?;
        if kind(&request).is_none() && method != "PUT" {
            // The waiting thread may have ended.
            let waiting = looks.lock().expect("no panic").remove(&path).unwrap_or_default();
            for looked in waiting {
                let _ = looked.send(());
            }
        }
    }
}

#[test]
fn a_write_is_not_said_to_be_lost_while_a_server_may_carry_it_out() {
    let server = Server::stand_in(Options::default());
    let (url, log) = late_relay(&server.url);
    let mix = "create=1,read=1,update=1,delete=1";
    let load = ["-c4", "--docs=300", "--batch=10", "-n120", "--timeout=1s", "--mix", mix];
    let finished = measure([&["run", &url][..], &load].concat());
    let log = log.lock().expect("no panic");
    for (stage, kind, documents) in [
        ("bulk_insert", "bulk_insert", 10),
        ("crud", "create", 1),
        ("crud", "update", 1),
        ("crud", "delete", 1),
    ] {
        let Losses { carried_out, kept_back, .. } = log[kind];
        let operation = finished.operation(stage, kind);
        assert!(carried_out > 0 && kept_back > 0, "{kind}: {log:?}");
        let lost = (carried_out + kept_back) * documents;
        let unanswered = serde_json::json!({ "unanswered": lost });
        assert_eq!(operation["failures"], unanswered, "{kind}");
        assert_eq!(operation["carried_out"], carried_out * documents, "{kind}");
        // Withheld writes might still arrive.
        assert_eq!(operation.get("not_carried_out"), None, "{kind}");
        let words = format!("unknown: {}", kept_back * documents);
        let report = finished.full_report();
        assert!(report.contains(&words), "no {words:?} in {report}");
    }
}
