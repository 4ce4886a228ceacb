//! `springload clean`: leftovers of killed runs are found and removed, and nothing else.

use crate::proxy::{Message, Proxy};
use crate::pty::Pty;
use crate::relay::{Deed, Relay};
use crate::servers::Server;
use crate::springload::{Running, binary, springload};
use rustix::process::Signal;
use serde_json::{Value, json};
use springload::embedded::Options;
use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn server() -> Server {
    Server::stand_in(Options::default())
}

/// The body of the response to one request without credentials.
fn ask(server: &Server, method: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(server.url.trim_start_matches("http://")).expect("it");
    let head = format!("{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).expect("it listens");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("UTF-8");
    answer.split_once("\r\n\r\n").map_or_else(String::new, |(_, body)| body.to_owned())
}

fn all(server: &Server) -> String {
    ask(server, "GET", "/_all_dbs")
}

/// A run in progress, with its database.
fn started(server: &Server) -> Running {
    let words = ["run", &server.url, "--docs", "40", "-c", "2", "-d", "10m"];
    let run = Running::start(words);
    while !run.has_begun() {
        std::thread::sleep(Duration::from_millis(20));
    }
    run
}

/// A run that was killed.
fn killed(server: &Server) {
    let run = started(server);
    run.signal(Signal::KILL);
    drop(run);
}

#[test]
fn the_database_of_a_killed_run_is_removed_and_those_of_others_stay() {
    let server = server();
    killed(&server);
    let others = [
        "springload_results",
        "springload_1795000000_1_2_old",
        "springload_1795000000_1",
        "springload_1795000000_x_2",
        "my_springload_1795000000_1_2",
        "springload_01795000000_1_2",
    ];
    for name in others {
        ask(&server, "PUT", &format!("/{name}"));
    }
    let before = all(&server);
    assert_eq!(before.matches('"').count(), 2 * (others.len() + 1), "{before}");
    // It is young, so its run might still be in progress elsewhere.
    let kept = springload(["clean", &server.url, "--yes"]);
    assert_eq!((kept.code, kept.stdout.lines().count()), (0, 1), "{}", kept.stderr);
    assert!(
        kept.stdout.contains(" old, kept: younger than 24 h (--older-than)"),
        "{}",
        kept.stdout
    );
    let seen = springload(["clean", &server.url, "--older-than", "0s", "--dry-run"]);
    assert_eq!((seen.code, seen.stdout.lines().count()), (0, 1), "{}", seen.stderr);
    springload(["clean", &server.url, "--older-than", "0s"]);
    assert_eq!(all(&server), before);
    let cleaned = springload(["clean", &server.url, "--older-than", "0s", "--yes"]);
    assert_eq!(cleaned.code, 0, "{}", cleaned.stderr);
    assert!(cleaned.stderr.starts_with("removed 1 database from "), "{}", cleaned.stderr);
    let after = all(&server);
    assert!(others.iter().all(|name| after.contains(&format!("\"{name}\""))), "{after}");
    assert_eq!(after.matches('"').count(), 2 * others.len(), "{after}");
    let again = springload(["clean", &server.url, "--older-than", "0s", "--yes"]);
    assert_eq!((again.code, &again.stdout[..]), (0, ""), "{}", again.stderr);
    assert!(again.stderr.starts_with("nothing to remove on "), "{}", again.stderr);
}

#[test]
fn a_run_that_goes_on_here_keeps_its_database() {
    let server = server();
    let run = started(&server);
    let before = all(&server);
    let kept = springload(["clean", &server.url, "--older-than", "0s", "--yes"]);
    assert!(kept.stdout.contains("kept: its run, process "), "{}{}", kept.stdout, kept.stderr);
    assert_eq!(all(&server), before);
    drop(run);
}

#[test]
fn on_a_terminal_it_asks() {
    let server = server();
    killed(&server);
    for (answer, left) in [("n\n", true), ("\n", true), ("y\n", false)] {
        let mut pty = Pty::start(binary().args(["clean", &server.url, "--older-than", "0s"]));
        pty.wait_for("? [y/N] ");
        pty.press(answer);
        assert!(pty.finish().success(), "{}", pty.shown());
        assert_eq!(all(&server).contains("springload_"), left, "{}", pty.shown());
    }
}

#[test]
fn what_cannot_be_cleaned_is_refused() {
    let server = server();
    killed(&server);
    let before = all(&server);
    let url = &server.url[..];
    let no_terminal = springload(["clean", url, "--older-than", "0s"]);
    assert_eq!(no_terminal.code, 2);
    assert!(no_terminal.stderr.contains("--yes: there is no terminal"), "{}", no_terminal.stderr);
    springload(["clean", &format!("{url}/db")]).refused(2, &["TARGET: it names a database"]);
    springload(["clean", "line://127.0.0.1:1"]).refused(2, &["TARGET: ", "its own tools"]);
    springload(["clean"]).refused(2, &["TARGET: no server is named", "SPRINGLOAD_URL"]);
    springload(["clean", "http://127.0.0.1:1"]).refused(3, &["cannot reach 127.0.0.1:1"]);
    assert_eq!(all(&server), before);
    let admin = Some(("ann".to_owned(), "pw".to_owned()));
    let guarded = Server::stand_in(Options { admin, ..Options::default() });
    springload(["clean", &guarded.url]).refused(3, &["requires a log-in"]);
    let wrong = guarded.url.replace("://", "://ann:no@");
    springload(["clean", &wrong]).refused(3, &["refuses to log in \"ann\""]);
    let right = guarded.url.replace("://", "://ann:pw@");
    assert_eq!(springload(["clean", &right]).code, 0);
    let forbids = |request: &Message| {
        let refused = "HTTP/1.1 403 Forbidden\r\nContent-Length: 41\r\n\r\n\
            {\"error\":\"forbidden\",\"reason\":\"no admin\"}";
        (request.words().1 == "/_all_dbs").then(|| refused.as_bytes().to_vec())
    };
    let proxy = Proxy::with_answers(&guarded.url, Box::new(forbids));
    let right = proxy.url.replace("://", "://ann:pw@");
    springload(["clean", &right]).refused(3, &["refuses GET /_all_dbs: no admin"]);
}

/// Settings that a killed run with `--compaction off` left in the configuration are reverted;
/// settings made by others stay.
#[test]
fn settings_of_killed_runs_are_taken_back_on_every_node() {
    let server = server();
    let own = "shards/0-f/springload_1795000000_1_2.1795000001";
    let many = "shards/0-f/springload_1795000000_1_3_00001.1795000001";
    let others = ["shards/0-f/users.1795000001", "shards/0-f/springload_results.1795000001"];
    let set: Vec<&str> = [own, many].into_iter().chain(others).collect();
    let nodes: Vec<BTreeSet<String>> = vec![set.iter().map(|it| (*it).to_owned()).collect(); 2];
    let nodes = Arc::new(Mutex::new(nodes));
    let of_relay = nodes.clone();
    let relay = Relay::before(&server, move |request| {
        let mut words = request.head.split(' ');
        let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        if path == "/_membership" {
            return Deed::Answer(200, json!({"cluster_nodes": ["n0@h", "n1@h"]}));
        }
        let Some(rest) = path.strip_prefix("/_node/n") else { return Deed::Pass };
        let mut nodes = of_relay.lock().expect("not poisoned");
        let settings = &mut nodes[usize::from(rest.starts_with('1'))];
        let (_, name) = rest.split_once("smoosh.ignore").expect("that section");
        match (method, name.strip_prefix('/')) {
            ("GET", None) => {
                let all = settings.iter().map(|it| (it.clone(), json!("true")));
                Deed::Answer(200, Value::Object(all.collect()))
            }
            ("DELETE", Some(name)) => {
                assert!(request.head.contains("X-Couch-Persist: false"), "{}", request.head);
                let name = percent_encoding::percent_decode_str(name).decode_utf8_lossy();
                assert!(settings.remove(&*name), "{name}");
                Deed::Answer(200, json!("true"))
            }
            _ => Deed::Answer(405, json!({})),
        }
    });
    let seen = springload(["clean", &relay.url, "--dry-run"]);
    let line = "setting that keeps from compaction springload_1795000000_1_2 ";
    assert!(seen.code == 0 && seen.stdout.contains(line), "{}{}", seen.stdout, seen.stderr);
    assert!(nodes.lock().expect("not poisoned").iter().all(|it| it.len() == 4));
    let done = springload(["clean", &relay.url, "--yes"]);
    assert!(
        done.code == 0 && done.stderr.contains("removed 2 settings of compaction"),
        "{}",
        done.stderr
    );
    let left: BTreeSet<String> = others.map(str::to_owned).into();
    assert_eq!(*nodes.lock().expect("not poisoned"), vec![left; 2]);
}
