//! `springload shell`, driven through a pipe and on a terminal; its effects are checked with
//! another HTTP client.

use std::io::{Read as _, Write as _};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use springload::embedded::Options;

use crate::pty::Pty;
use crate::servers::Server;
use crate::springload::BINARY;

/// The exit status and the output, without the lines about the time of a command.
fn shell(arguments: &[&str], script: &str) -> (i32, Vec<String>, String) {
    let output = assert_cmd::Command::new(BINARY)
        .arg("shell")
        .args(arguments)
        .write_stdin(script)
        .timeout(Duration::from_secs(60))
        .output()
        .expect("springload starts");
    let text = String::from_utf8(output.stdout).expect("text");
    let took = |line: &str| {
        line.strip_suffix(" ms").is_some_and(|ms| ms.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let lines = text.lines().filter(|line| !took(line)).map(str::to_owned).collect();
    let code = output.status.code().expect("no signal");
    (code, lines, String::from_utf8_lossy(&output.stderr).into_owned())
}

fn get(server: &Server, path: &str) -> Value {
    let agent: ureq::Agent =
        ureq::Agent::config_builder().timeout_global(Some(Duration::from_secs(30))).build().into();
    let answer = agent.get(format!("{}{path}", server.url)).call();
    let text = answer.expect("an answer").body_mut().read_to_string().expect("a body");
    serde_json::from_str(&text).expect("JSON")
}

fn commands_do_what_they_say(server: &Server) {
    let (first, second) = ("shell_a", "shell_b");
    let script = format!(
        "table {first}\n\
         insert k1 a=1 \"b=two words\" c=x=y\n\
         insert k2 a=2\n\
         update k1 a=3 d=new\n\
         read k1\n\
         read k1 d a\n\
         scan k 10 a\n\
         scan z 10\n\
         table {second}\n\
         insert k1 a=other\n\
         table\n\
         table {first}\n\
         delete k2"
    );
    let (code, lines, errors) = shell(&[&server.url], &script);
    let rule = "--------------------------------";
    let wanted = [
        "Using table \"shell_a\"",
        "Result: OK",
        "Result: OK",
        "Result: OK",
        "Return code: OK",
        "a=3",
        "b=two words",
        "c=x=y",
        "d=new",
        "Return code: OK",
        "a=3",
        "d=new",
        "Result: OK",
        rule,
        "Record 0",
        "a=3",
        rule,
        "Record 1",
        "a=2",
        rule,
        "Result: OK",
        "0 records",
        "Using table \"shell_b\"",
        "Result: OK",
        "Using table \"shell_b\"",
        "Using table \"shell_a\"",
        "Return result: OK",
    ];
    assert_eq!((code, lines), (0, wanted.map(str::to_owned).to_vec()), "{errors}");
    let stored = get(server, &format!("/{first}/k1"));
    assert_eq!(stored["a"], "3");
    assert_eq!((&stored["b"], &stored["c"]), (&"two words".into(), &"x=y".into()));
    assert_eq!(get(server, &format!("/{second}/k1"))["a"], "other");
    let rows = get(server, &format!("/{first}/_all_docs"));
    assert_eq!(rows["rows"].as_array().map(Vec::len), Some(1), "{rows}");
}

#[test]
fn commands_do_what_they_say_on_the_stand_in() {
    commands_do_what_they_say(&Server::stand_in(Options::default()));
}

#[test]
fn commands_do_what_they_say_on_pouchdb_server() {
    if let Some(server) = Server::pouchdb() {
        commands_do_what_they_say(&server);
    }
}

#[test]
fn a_script_learns_of_what_failed() {
    let server = Server::stand_in(Options::default());
    let url = format!("{}/db", server.url);
    let script = "insert k a=1\nread nothing\ninsert k a=1\nread k\n";
    let (code, lines, _) = shell(&[&url], script);
    let wanted =
        ["Result: OK", "Return code: NOT_FOUND", "Result: CONFLICT", "Return code: OK", "a=1"];
    assert_eq!((code, lines), (3, wanted.map(str::to_owned).to_vec()));
    let (code, lines, _) = shell(&[&url], "raed k\nread k\n");
    let wanted = ["Error: unknown command \"raed\"", "Return code: OK", "a=1"];
    assert_eq!((code, lines), (2, wanted.map(str::to_owned).to_vec()));
    drop(server);
    let (code, lines, errors) = shell(&[&url], "read k\n");
    assert_eq!((code, lines), (3, Vec::new()));
    assert!(errors.starts_with("error: cannot reach 127.0.0.1:"), "{errors}");
    let (code, _, errors) = shell(&["ftp://127.0.0.1"], "");
    assert_eq!(code, 2);
    assert!(errors.starts_with("error: TARGET: "), "{errors}");
}

#[test]
fn only_an_insert_makes_a_table() {
    let server = Server::stand_in(Options::default());
    let url = format!("{}/db", server.url);
    let script = "read k\nscan k 3\nupdate k a=1\ndelete k\n";
    let (code, lines, _) = shell(&[&url], script);
    let wanted = [
        "Return code: NOT_FOUND",
        "Result: NOT_FOUND",
        "0 records",
        "Result: NOT_FOUND",
        "Return result: NOT_FOUND",
    ];
    assert_eq!((code, lines), (3, wanted.map(str::to_owned).to_vec()));
    assert_eq!(get(&server, "/_all_dbs"), serde_json::json!([]));
    let (code, ..) = shell(&[&url], "insert k a=1\n");
    assert_eq!((code, get(&server, "/_all_dbs")), (0, serde_json::json!(["db"])));
}

#[test]
fn a_server_that_has_gone_is_reported_and_a_table_that_is_none_is_refused() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let server = std::thread::spawn(move || {
        let (mut client, _) = listener.accept().expect("a client");
        drop(listener);
        assert!(client.read(&mut [0; 1_024]).expect("a request") > 0);
        let welcome = "{\"couchdb\":\"Welcome\"}";
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", welcome.len());
        client.write_all((head + welcome).as_bytes()).expect("it listens");
    });
    let (code, lines, _) = shell(&[&url], "read k\n");
    server.join().expect("it has answered");
    assert_eq!(code, 3);
    let message = format!("Error: no answer from {url} (connect): ");
    assert!(lines.len() == 1 && lines[0].starts_with(&message), "{lines:?}");

    let server = Server::stand_in(Options::default());
    let (code, lines, _) = shell(&[&server.url], "table _users\nread k\ntable t\ninsert k a=1\n");
    assert_eq!((code, lines.len()), (2, 4), "{lines:?}");
    assert!(lines[1].starts_with("Error: TARGET: "), "{lines:?}");
    assert_eq!(lines[3], "Result: OK");
}

/// With a driver that has neither databases nor scans.
#[test]
fn any_driver_has_a_shell() {
    let script = "insert k a=1 \"b=two words\"\ninsert k a=1\nupdate k a=2\nread k\nscan k 2\n\
                  table other\nread k\ntable usertable\ndelete k\nread k\n";
    let (code, lines, _) = shell(&["line"], script);
    let wanted = [
        "Result: OK",
        "Result: CONFLICT",
        "Result: OK",
        "Return code: OK",
        "a=2",
        "b=two words",
        "Error: TARGET: a line protocol, the example of a driver does not support scan; ",
        "Using table \"other\"",
        "Error: TARGET: a database, although this server has none, in \"line\"; ",
        "Using table \"usertable\"",
        "Return result: OK",
        "Return code: NOT_FOUND",
    ];
    assert_eq!((code, lines.len()), (2, wanted.len()), "{lines:?}");
    for (line, wanted) in lines.iter().zip(wanted) {
        assert!(line.starts_with(wanted), "{lines:?}");
    }
}

/// The lines that YCSB's own shell prints with its `BasicDB`.
#[test]
fn basic_tells_what_would_be_done() {
    let script = "read user1\nread user1 f0 f1\nscan user1 3 f0\ninsert k a=b c=d\ntable x\n\
                  update k a=b\ndelete k\nquit\nread never\n";
    let (code, lines, _) = shell(&["basic"], script);
    let wanted = [
        "READ usertable user1 [ <all fields>]",
        "Return code: OK",
        "READ usertable user1 [ f0 f1 ]",
        "Return code: OK",
        "SCAN usertable user1 3 [ f0 ]",
        "Result: OK",
        "0 records",
        "INSERT usertable k [ a=b c=d ]",
        "Result: OK",
        "Using table \"x\"",
        "UPDATE x k [ a=b ]",
        "Result: OK",
        "DELETE x k",
        "Return result: OK",
    ];
    assert_eq!((code, lines), (0, wanted.map(str::to_owned).to_vec()));
}

#[test]
fn a_terminal_has_a_prompt_editing_and_a_history() {
    /// The sequence sent to a terminal once a line can be typed: it enables bracketed paste.
    const READY: &str = "\x1b[?2004h";
    let mut pty = Pty::start(Command::new(BINARY).args(["shell", "basic", "--table", "mine"]));
    pty.wait_for("Connected.");
    for (ready, (keys, shown)) in [
        // To the beginning of the line, three to the right, then insert the missing letter.
        ("rea user1\x01\x1b[C\x1b[C\x1b[Cd\r", "READ mine user1 [ <all fields>]"),
        ("delete user1\r", "DELETE mine user1"),
        // Two lines up in the history.
        ("\x1b[A\x1b[A f0\r", "READ mine user1 [ f0 ]"),
        ("nonsense\r", "Error: unknown command"),
    ]
    .into_iter()
    .enumerate()
    {
        pty.wait_for_times(READY, ready + 1);
        pty.press(keys);
        pty.wait_for(shown);
    }
    assert!(pty.shown().contains("> "), "{}", pty.shown());
    pty.wait_for_times(READY, 5);
    pty.press("\x04");
    assert_eq!(pty.finish().code(), Some(0), "{}", pty.shown());
}

/// The server's data match the responses, and nothing invalid is sent.
#[test]
fn operations_of_a_plan_are_done_one_at_a_time() {
    let server = Server::stand_in(Options::default());
    let url = server.url.replace("http://", "http://ann:sec%3Aret@");
    let folder = tempfile::tempdir().expect("a folder");
    let plan = folder.path().join("plan.toml");
    let text = r#"
        mix = { order = 1 }
        [data.city]
        one-of = ["Berlin"]
        [operation.post]
        request = "PUT {{uuid}} {\"city\":\"{{city}}\",\"n\":\"{{seq}}\"}"
        save = { id = "id", rev = "rev" }
        [operation.pay]
        request = "PUT {{saved id}} {\"_rev\":\"{{saved rev}}\",\"paid\":true}"
        [operation.order]
        steps = ["post", "pay"]
        [operation.recent]
        all_docs = "limit=5&startkey=\"{{key}}\""
        expect = { rows = 1 }
    "#;
    std::fs::write(&plan, text).expect("a file");
    ureq::put(format!("{}/db", server.url)).send_empty().expect("a database");
    let script = "do pay\ndo order\ndo pay\ndo post city=Rome seq=7\ndo recent\ndo recent key=0\n\
                  do recent kee=0\ndo nothing\n";
    let plan = plan.to_str().expect("UTF-8");
    let (code, lines, errors) = shell(&[&format!("{url}/db"), "--plan", plan], script);
    assert_eq!((code, &errors[..]), (2, ""), "{lines:?}");
    let mut lines = lines.into_iter();
    let mut next = |wanted: &str| {
        let line = lines.next().expect("a line");
        assert!(line.contains(wanted), "{line}, not {wanted}");
        line
    };
    // Nothing has been saved yet.
    next("Error: {{saved id}} is not known here: give it, as in do pay \"saved id=...\"");
    let put = next("PUT /db/");
    next("{\"city\":\"Berlin\",\"n\":");
    next("201 · ");
    next("{\"ok\":true");
    let id = next("saved id, from id: ").replace("saved id, from id: ", "");
    assert!(put.ends_with(&id), "{put}");
    let rev = next("saved rev, from rev: 1-").replace("saved rev, from rev: ", "");
    next(&format!("PUT /db/{id}"));
    next(&format!("{{\"_rev\":\"{rev}\",\"paid\":true}}"));
    next("201 · ");
    next("\"rev\":\"2-");
    // Repeated by hand: the document has another revision now.
    next(&format!("PUT /db/{id}"));
    next(&rev);
    next("409 · ");
    next("{\"error\":\"conflict\"");
    next("PUT /db/");
    next("{\"city\":\"Rome\",\"n\":7}");
    next("201 · ");
    next("{\"ok\":true");
    next("saved id");
    next("saved rev");
    next("Error: {{key}} is not known here");
    next("GET /db/_all_docs?limit=5&startkey=%220%22");
    let line = next("unexpected: 1 rows expected, 2 came");
    assert!(line.starts_with("200 · "), "{line}");
    let rest: Vec<String> = lines.collect();
    assert!(rest.iter().any(|line| line.contains("recent has no value \"kee\", but key")));
    assert!(rest.last().is_some_and(|line| line.contains("there are post, pay, order, recent")));
    assert_eq!(get(&server, &format!("/db/{id}"))["paid"], true);
    assert_eq!(get(&server, "/db")["doc_count"], 2);
    let (code, _, errors) = shell(&[&url, "--op", "x=vieuw a/b"], "");
    assert!(code == 2 && errors.contains("\"vieuw\" is not a word of CouchDB"), "{errors}");
}
